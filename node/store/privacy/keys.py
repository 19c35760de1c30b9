"""Keys, tokens, passwords and PINs: by the forms that their issuers gave them and by the words before them.

Pure, and without entropy: a random-looking word alone says nothing (CIDs and hashes look so, too). The forms
are the regular expressions of the ``detect-secrets`` plugins (their look-ups over the network are never
called), and those of issuers that came later. The foreign expressions are read in bounded pieces of the text
and only where a piece holds what each of them needs, as some of them take time that grows with the square of
a text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from node.store.privacy.text import Text

_PIECE = 1_024
_OVERLAP = 256

_FOREIGN: tuple[tuple[tuple[str, ...], type[RegexBasedDetector]], ...] = (
    (("akia", "asia", "abia", "acca", "a3t", "aws"), AWSKeyDetector),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), GitHubTokenDetector),
    (
        ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "gr1348941", "glcbt-", "glimt-", "glptt-"),
        GitLabTokenDetector,
    ),
    (("glagent-", "gloas-"), GitLabTokenDetector),
    (("xox", "hooks.slack"), SlackDetector),
    (("k_live_",), StripeDetector),
    (("accountkey=",), AzureStorageKeyDetector),
    (("AKC", "AP"), ArtifactoryDetector),
    (("cloudant",), CloudantDetector),
    (("softlayer", "sl_", "sl-"), SoftlayerDetector),
    (("ibm", "iam", "cloud"), IbmCloudIamDetector),
    (("secret_access", "secretaccess", "secret-access", "secret_key"), IbmCosHmacDetector),
    (("eyj",), JwtTokenDetector),
    (("-us",), MailchimpDetector),
    (("private key", "putty-user-key"), PrivateKeyDetector),
    (("pypi-age",), PypiTokenDetector),
    (("sg.",), SendGridDetector),
    (("sq0csp-",), SquareOAuthDetector),
    (("AC", "SK"), TwilioKeyDetector),
    ((":",), TelegramBotTokenDetector),
    ((".",), DiscordBotTokenDetector),
)

# What their issuers say their tokens begin with. A token is no part of a longer word.
_KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{20,}|[srp]k_(?:live|test)_[0-9A-Za-z]{10,}|whsec_[A-Za-z0-9+/=]{20,}"
    r"|(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[0-9A-Z]{12,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl[a-z]{2,6}-[A-Za-z0-9_-]{20,}"
    r"|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}|GOCSPX-[0-9A-Za-z_-]{20,}"
    r"|hf_[A-Za-z]{30,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{20,}"
    r"|dop_v1_[a-f0-9]{40,}|shp(?:at|ss|ca|pa)_[a-fA-F0-9]{20,}|sq0[a-z]{3}-[0-9A-Za-z_-]{20,}"
    r"|EAAA[0-9A-Za-z_-]{40,}"
    r"|hvs\.[A-Za-z0-9_-]{20,}|s\.[A-Za-z0-9]{24}|dapi[a-f0-9]{32}|dp\.[a-z]{2}\.[A-Za-z0-9]{30,}"
    r"|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|secret_[A-Za-z0-9]{40,}|PMAK-[a-f0-9]{20,}-[a-f0-9]{20,}"
    r"|NRAK-[A-Z0-9]{20,}|ATATT3[A-Za-z0-9_=-]{30,}|figd_[A-Za-z0-9_-]{30,}|gl(?:sa|c)_[A-Za-z0-9_=+/]{20,}"
    r"|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}"
    r"|sb[ps]_[A-Za-z0-9_]{30,}"
    r"|rubygems_[a-f0-9]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|HRKU-[A-Za-z0-9-]{30,}"
    r"|sntry[su]_[A-Za-z0-9_=+/]{20,}"
    r"|key-[0-9a-z]{32}|[0-9a-f]{32}-us\d{1,2}|(?:AC|SK)[0-9a-f]{32}|tskey-[a-z]{2,10}-[A-Za-z0-9-]{20,}"
    r"|AGE-SECRET-KEY-1[0-9A-Za-z]{30,}|pul-[a-f0-9]{40}|oy2[a-z0-9]{43}|AKC[A-Za-z0-9]{10,}"
    r"|AP[\dA-F](?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{8,}"
    r"|\d{8,10}:AA[0-9A-Za-z_-]{30,}|eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_=-]*)?"
    r"|[MNO][A-Za-z\d_-]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"
    r"|[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![1-9A-HJ-NP-Za-km-z])|[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,}"
    r")"
)
_KNOWN_URL = re.compile(
    r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{10,}|discord(?:app)?\.com/api/webhooks/\d{10,}/"
    r"|outlook\.office\.com/webhook/|[?&](?:api_?key|access_token|auth|token|sig|signature|secret"
    r"|key|password)="
    r"(?=[^&\s]{0,200}\d)[A-Za-z0-9%._~+/=-]{12,}",
    re.IGNORECASE,
)
_PEM = re.compile(r"BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY|PuTTY-User-Key-File-\d|BEGIN PGP MESSAGE")

_STRONG = (
    r"pass(?=\s?[:=])|pass[ _-]?words?|pass[ _-]?phrases?|passwd|passwrd|pwd|pass[ _-]?codes?"
    r"|passwort|kennwort|kennwörter|passwörter|losung"
    r"|mots? de passe|mdp|contraseñas?|contrasenas?|senhas?|palavras?-passe|wachtwoord|parola d'ordine|pw|psw"
)
_WEAK = (
    r"(?:api|access|secret|auth|private|service|account|encryption|signing|master|license|licence"
    r"|client|consumer|storage|"
    r"app|admin|deploy|bot|bearer|session|refresh|webhook|wifi|wi-fi|wlan|network|recovery|backup"
    r"|product|wpa2?|security)"
    r"[ _-]?(?:access[ _-]?)?(?:keys?|tokens?|secrets?|schlüssel|codes?|pass)"
    r"|secrets?|tokens?|bearer|credentials?|api[ _-]?schlüssel|zugangsschlüssel|geheimnis|clave(?: "
    r"secreta| de acceso| api)?"
    r"|clé(?: secrète| api| d'api| d'accès| privée)?|jeton|chiave|chave|sleutel|passkey|private[ "
    r"_-]?key|privater? schlüssel"
)
_CODES = (
    r"pins?(?:[ -]?(?:code|number|nummer))?|geheimzahl|code pin|cvv2?|cvc2?|csc|security code"
    r"|prüfnummer|cryptogramme"
    r"|(?:verification|one[ -]time|otp|2fa|mfa|sms|login|unlock|door|gate|alarm|safe|confirmation"
    r"|access|entry)[ -]?(?:pass)?code"
    r"|otp|tan|bestätigungscode|zugangscode|türcode|code d'(?:accès|entrée)|código(?: de "
    r"(?:verificación|acceso|seguridad))?"
    r"|combination|entsperrcode"
)
_IS = (
    r"(?: (?:for|to|of|für|zum|zur|pour|de|del|on|at|in|para|da|do|von)(?: [\w'.@-]{1,40}){1,5}?)?"
    r"(?: ?[:=]{1,2}>? ?| (?:is|was|are|ist|war|lautet|est|es|era|é|è|set to|remains|will be)[ :]{1,2}"
    r"| ?-> ?|'s |\"? ?[:=] ?)"
    r"(?:still |now |currently |set to |jetzt |immer noch |always )?"
)
_ASSIGNED = re.compile(
    rf"(?<![^\W_])(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK})|(?P<code>{_CODES})){_IS}"
    r"(?P<quote>[\"'*]?)(?P<value>[^\s\"']{3,200})(?P<closed>[\"']?)",
)
_PLAIN_CODE = re.compile(
    r"(?<![^\W_])(?:pin|pin ?code|geheimzahl|code pin|cvv2?|cvc2?|otp|(?:verification|one[ -]time"
    r"|2fa|sms|unlock|door|alarm|"
    r"security|bestätigungs|zugangs|tür) ?code) ?#?(?:\d{4,8}|(?<=v |c )\d{3})(?!\w)"
)
_VALUE_AFTER = re.compile(  # password Sommer2024, password for my account at work is Blue42
    rf"(?<![^\W_])(?:{_STRONG}|pass|wifi key|wlan-?schlüssel|login|creds?|credentials|zugangsdaten"
    rf"|clave|pin)\b[:=]?(?P<gap>(?: [\w'@./&-]{{1,24}}){{0,8}}?)"
    r"(?P<is> ?[:=(,→–] ?| ?-> ?| - | (?:is|was|to|as|ist|war|lautet|heißt|est|c'est|es|era|é|auf|à"
    r"|a|with|mit|using|set to) | )(?P<value>[^\s\"']{4,64}|[\"'][^\"'\n]{3,64}[\"'])",
)
_VALUE_BEFORE = re.compile(
    (
        rf"(?<=[^\s\"'])[\"']? (?:is|as|for|ist|als|est|comme|es|como|was) (?:(?P<own>my"
        rf"|our|the|mein|unser|das|mon|le|notre|mi|la|nuestra|meu|a) )?(?:[\w-]{{1,16}} "
        rf"){{0,3}}?(?:{_STRONG}|pin|passcode|clave)\b"
    ),
)
_LAST_WORD = re.compile(r"[^\s\"']+$")
_ALGORITHM = re.compile(
    r"^(?:sha-?\d+|md\d|base\d+|2fa|mfa|oauth\d|utf-?\d+|aes-?\d+|rsa-?\d+|h\d+|s3|ipv\d|wpa\d"
    r"|ntlmv?\d|bcrypt|argon2\w*|scrypt|pbkdf2|\d+(?:-|\w)*(?:characters?|chars?|bits?|digits?"
    r"|letters?|letras|zeichen|caractères|times|days?|attempts?|minutes?|hours?|years?|mal|fois|th"
    r"|st|nd|rd)?|"
    r"[\w.]+\(.*|[a-z_-]+\d{0,2}\.[a-z]\w{0,4}|[a-z]+(?:[-'/][a-z]+)+|i'm|[a-z]+'[a-z]+|https?:.*"
    r"|/.*|--?\w.*)$",
    re.IGNORECASE,
)
_LABELLED = re.compile(  # DB_PASSWORD=…, "apiKey": "…", --password …
    r"(?:password|passwd|pwd|passphrase|\bpass|secret|token|api_?key|access_?key|auth_?key"
    r"|private_?key|account_?key|"
    r"credentials?)[\"']?\s{0,4}(?::=|=>|:|=)\s{0,4}[\"'`]?(?P<value>[^\s\"'`,;)}\]]{4,200})"
    r"|--?(?:password|passwd|pass|token|secret|api-key)[ =][\"']?(?P<option>[^\s\"'-][^\s\"']{3,200})"
    r"|\b(?:bearer|basic) (?P<bearer>[a-z0-9_.~+/=-]{12,})"
    r"|\bcurl -u [^\s:]{1,64}:(?P<curl>[^\s]{3,})|\bsshpass -p ?['\"]?(?P<ssh>[^\s]{3,})"
    r"|\bidentified by ['\"](?P<sql>[^'\"]{3,})",
)
_COMMAND = re.compile(  # mysql -u root -pSecret1, curl -u user:pass, redis-cli -a Secret1
    r"(?<!\S)(?:mysql(?:dump|admin)?|mariadb|psql|mongo(?:sh|dump)?|sqlcmd|sshpass|redis-cli|curl"
    r"|wget|ldap\w+|smbclient"
    r"|net use|docker login|az login|rsync|http|xfreerdp|plink|winscp|ftp|lftp|vault login"
    r"|htpasswd|svn|git|snmpwalk|ipmitool"
    r"|7z|zip|unzip|openssl|gpg|sqlplus|mosquitto_\w+|influx|clickhouse-client)\b[^\n]{0,160}? "
    r"(?:-p ?(?P<p>[^\s\d:-][^\s:]{4,64}|\d[^\s:]{0,63}[^\s\d:][^\s:]{0,63})"
    r"|-[uU] ?[^\s:]{1,64}:(?P<u>[^\s\"']{3,64})"
    r"|-[aPw] ?(?P<a>[^\s-][^\s]{5,64})|--(?:user|basic|auth)[ =][^\s:]{1,64}:(?P<user>[^\s]{3,64}))"
)
_STRENGTH = re.compile(  # is kMk1f^d1Sa3 a strong password?
    r"(?:^|[\s\"'(,.])(?:is|ist|est|es|would|wäre|è|é)(?: the password| das passwort"
    r"| it)? [\"'`]?(?P<value>[^\s\"'`]{5,64})[\"'`]?"
    r"(?: be)?(?: still| really)? (?:(?:a|an|ein|un|una|uma|een) )?(?:[\w-]+ ){0,2}?(?:strong"
    r"|good|secure|safe|weak|decent|okay|ok"
    r"|valid|sicheres?|gutes|starkes|bon|segura?|buena|sicura|boa|sterk"
    r"|fort)? ?(?:enough )?(?:as an? |for an? |pass(?:word|phrase|code)"
    r"|passwort|mot de passe|contraseña|senha|wachtwoord)",
)
_PAIR = re.compile(  # login jane / Blue42, "user;Blue42", creds: jane:Blue42
    r"\b(?:log ?in|logon|creds?|credentials|zugang\w*|anmeldung|user(?:name)?(?:/| and "
    r"| & )?pass(?:word)?|accès|acceso|identifiants)\b"
    r"[^\n]{0,24}?[ :=\"'](?!https?:)[\w.@+-]{2,40}(?: [/|:;] |[/|:;])(?P<value>[^\s\"'/|;]{5,64})",
)
_FAMOUS = frozenset(
    [
        "password",
        "password1",
        "password123",
        "123456",
        "12345678",
        "qwerty",
        "letmein",
        "hunter2",
        "admin",
        "p@ssw0rd",
    ]
)
_FIRST = re.compile(
    r"\b(?:my|our|his|her|mein\w{0,2}|unser\w{0,2}|mon|ma|notre|mi|nuestr[oa]|meu|minha|mijn|mio"
    r"|mia)\b[^.?!\n]{0,40}$"
)
_CODE_WORDS = re.compile(
    r"^(?:str(?:ing)?|int(?:eger)?|bool(?:ean)?|bytes|optional|any|object|char|varchar|text|none"
    r"|null|nil|true|false|undefined|"
    r"os|env|process|environ|getenv|input|request|req|self|this|config|settings|params?|args|user"
    r"|form|data|\w+\(|\w+\[|"
    r"required|hidden|invalid|incorrect|wrong|missing|expired|needed|not|never|always|too|so|very|a"
    r"|an|the|what|how|why|when|"
    r"which|who|where|is|it|its|still|only|one|in|on|of|to|for|and|or|with|by|at|that|safe|secure"
    r"|strong|weak|stored|hashed|"
    r"encrypted|correct|valid|being|used|protected|longer|case|sensitive|like|no|falsch|ungültig"
    r"|nicht|sicher|richtig|zu|ein|"
    r"eine|der|die|das|incorrecta?|segura|obligatoria|muy|una?|pas|trop|sûr|invalide|incorrect|un"
    r"|une|de|le|la|"
    r"your\w*|my\w*|example\w*|change\w*|placeholder|todo|here|min|max|authentication|manager|reset"
    r"|hash|length|field|"
    r"known|called|also|about|just|made|kept|sent|shared|given|generated|from|different|important"
    r"|more|most|better|best|"
    r"considered|compromised|public|private|recommended|based|visible|changed|lost|forgotten|leaked"
    r"|stolen|vergessen|oublié|olvidada)$"
)
_HOLDER = re.compile(
    r"^[<{$\[(%]|^(?:x{3,}|\*{3,}|\.{3,}|_{3,})|\.\.\.|…|^(?:your|my|the)[_-]|^<|^process\.env|^os\.|\w\("
)

_LONG = re.compile(r"(?<![\w/+=.-])[A-Za-z0-9_+/=-]{32,256}(?![\w/+=-])")
_NOT_SECRET = re.compile(
    r"^(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{40,}|z[1-9A-HJ-NP-Za-km-z]{40,}|k[0-9a-z]{50,}"
    r"|0x[0-9a-fA-F]+|[13][1-9A-HJ-NP-Za-km-z]{25,34}|f01[0-9a-f]{40,})$"
)
_HASH_WORDS = frozenset(
    [
        "cid",
        "ipfs",
        "hash",
        "base64",
        "decode",
        "decoded",
        "encode",
        "encoded",
        "encoding",
        "sha256",
        "sha",
        "md5",
        "commit",
        "digest",
        "checksum",
        "transaction",
        "tx",
        "signature",
        "fingerprint",
        "public",
        "dnssec",
        "spki",
    ]
)
_NEAR_KEY = re.compile(
    r"\b(?:key|token|secret|password|credential|bearer|authorization|schlüssel|clave|clé)\w{0,2}\b"
)
_SHORT_KEY = re.compile(
    r"(?<![\w/+=.-])(?=[A-Za-z_+/=-]{0,40}\d)(?=[\d_+/=-]{0,40}[A-Za-z])[A-Za-z0-9_+/=-]{16,256}(?![\w/+=-])"
)
_PHRASE = re.compile(
    r"\b(?:seed|recovery|backup|mnemonic|secret|wiederherstellungs)[ -]?(?:phrase|words?|wörter"
    r"|mnemonic)?(?: phrase)?"
    r"(?: (?:is|ist|are|was|for)[^:]{0,30}?)?[ :\"']{1,4}(?:\d{1,2}[.)] ?)?(?:[a-z]{3,8}[ "
    r",]{1,2}){10,}[a-z]{3,8}"
)


def find(read: Text) -> str | None:
    """``private_key``, ``secret`` (a key, token, password or PIN) or None."""
    if _PEM.search(read.text) is not None:
        return "private_key"
    if read.longest >= 14 and (
        _KNOWN.search(read.text) or ("/" in read.text and _KNOWN_URL.search(read.text))
    ):
        return "secret"
    if _assigned(read) or _by_context(read):
        return "secret"
    if ("phrase" in read.lower or "seed" in read.words or "mnemonic" in read.words) and _PHRASE.search(
        read.lower
    ):
        return "secret"
    if _in_command(read):
        return "secret"
    return "secret" if read.longest >= 16 and _foreign(read) else None


def _in_command(read: Text) -> bool:
    if " -" not in read.text:
        return False
    for found in _COMMAND.finditer(read.text):
        value = next(filter(None, found.groups()), "").strip("\"'")
        if not _HOLDER.search(value) and not value.isupper() and value.lower() not in _PLAIN_OPTION:
            return True
    return False


_PLAIN_OPTION = frozenset(
    ["password", "passwd", "secret", "pass", "pwd", "yourpassword", "passwort", "recursive"]
)


_KEY_WORDS = (
    *(
        "pass",
        "pwd",
        "pw",
        "psw",
        "secret",
        "token",
        "bearer",
        "key",
        "code",
        "kennwort",
        "losung",
        "mdp",
        "contrase",
        "senha",
    ),
    *(
        "wachtwoord",
        "parola",
        "credential",
        "schlüssel",
        "geheim",
        "clave",
        "clé",
        "jeton",
        "chiave",
        "chave",
        "sleutel",
        "código",
    ),
    *("cvv", "cvc", "csc", "otp", "combination", "crypto", "prüfnummer", "identified by", "curl ", "basic "),
    *("login", "log in", "logon", "creds"),
)
_KEY_SHORT = frozenset(["pin", "pins", "tan", "pw"])


def _has_key_word(read: Text) -> bool:
    return any(word in read.lower for word in _KEY_WORDS) or not _KEY_SHORT.isdisjoint(read.words)


def _assigned(read: Text) -> bool:
    """Whether a value stands near the word for a key or a password."""
    if not _has_key_word(read):
        return False
    return any(_assigned_in(part) for part in read.windows((*_KEY_WORDS, "pin", "tan"), 120, 280))


def _shown(read: Text, found: re.Match[str], name: str) -> str:
    """A group of a match in the small letters, as the text shows it."""
    start, end = found.span(name)
    return read.text[start:end] if start >= 0 else ""


def _assigned_in(read: Text) -> bool:
    if _PLAIN_CODE.search(read.lower):
        return True
    for found in _ASSIGNED.finditer(read.lower):
        value = _shown(read, found, "value").rstrip(".,;:!?)*")
        if _HOLDER.search(value) or len(value) < 3:
            continue
        plain = value.lower()
        is_word = value.isalpha()
        if found["code"]:
            if sum(char.isdigit() for char in value) >= 3 and not _is_numbers_question(read, found.start()):
                return True
            continue
        if _CODE_WORDS.match(plain):
            continue
        quoted = bool(found["quote"]) and bool(found["closed"])
        labelled = (
            ":" in found[0][: found.start("value") - found.start()]
            or "=" in found[0][: found.start("value") - found.start()]
        )
        own = _FIRST.search(read.before(found.start(), 60)) is not None
        if found["strong"]:
            if (
                not is_word
                and (labelled or own or quoted or _mixed(value) or value.isdigit())
                and _is_value(value)
            ):
                return True
            if is_word and len(value) > 3 and (own or (labelled and not _is_prose(read, found.end()))):
                return True
            if quoted and (own or labelled):
                return True
        elif found["weak"] and len(value) >= 6 and _mixed(value) and (own or labelled or len(value) >= 12):
            return True
    if _told(read) or _in_use(read):
        return True
    for found in _LABELLED.finditer(read.lower):
        names = ("value", "option", "bearer", "curl", "ssh", "sql")
        value = next(filter(None, (_shown(read, found, name) for name in names)), "")
        if _HOLDER.search(value) or _CODE_WORDS.match(value.lower()):
            continue
        if (
            _mixed(value)
            or (found["value"] and len(value) >= 8 and not value.isalpha())
            or found["curl"]
            or found["sql"]
        ):
            return True
    return False


_STRONG_WORD = re.compile(rf"(?<![^\W_])(?:{_STRONG})(?![^\W_])")
_TOKEN = re.compile(r"[^\s\"'`,;()<>]{6,64}")
_PRODUCT = re.compile(
    r"(?:windows|win|office|python|ubuntu|debian|iphone|ipad|galaxy|java|ios|android|macos|pixel"
    r"|node|php|mysql|postgres\w*"
    r"|sql|chrome|firefox|sha|aes|rsa|md|bcrypt|argon|pbkdf|base|oauth|utf|wpa|http|https|ipv"
    r"|microsoft|o)-?\d",
    re.IGNORECASE,
)


def _beside(read: Text) -> bool:
    """A word of letters with digits or signs near the word for a password, on the same line."""
    for word in _STRONG_WORD.finditer(read.lower):
        start = max(read.text.rfind("\n", 0, word.start()) + 1, word.start() - 64)
        line = read.text[start : word.end() + 64].split("\n")
        near = line[0]
        own = _OWN_NEAR.search(near.lower()) is not None
        for token in _TOKEN.finditer(near):
            value = token[0].rstrip(".,;:!?")
            if _HOLDER.search(value) or _ALGORITHM.match(value) or _PRODUCT.match(value) or "/" in value:
                continue
            if (
                "=" in value
                or "_" in value
                or ":" in value
                or "@" in value[1:-1]
                or not (_cases(value) or _turns(value) >= 5)
            ):
                continue
            digits = sum(map(str.isdigit, value))
            signs = any(char in "!#$%^&*+?~" for char in value)
            if digits and len(value) >= 8 and ((signs and _turns(value) >= 3) or _turns(value) >= 6):
                return True
            if own and digits >= 2 and len(value) >= 7:
                return True
    return False


_OWN_NEAR = re.compile(
    r"\b(?:my|our|his|her|mein\w{0,2}|unser\w{0,2}|mon|ma|notre|mi|nuestr[oa]|meu|minha|mijn|mio|mia)\b"
)


def _in_use(read: Text) -> bool:
    """A password beside a user's name, or asked about whether it is strong."""
    if _beside(read):
        return True
    for found in _STRENGTH.finditer(read.lower):
        value = _shown(read, found, "value").rstrip(".,;:!?)")
        if (
            _mixed(value)
            and value.lower() not in _FAMOUS
            and not _HOLDER.search(value)
            and not _ALGORITHM.match(value)
        ):
            return True
    for found in _PAIR.finditer(read.lower):
        value = _shown(read, found, "value").rstrip(".,;:!?)")
        if (
            (_mixed(value) or any(map(str.isupper, value[1:])) or value.count("-") > 1)
            and not _HOLDER.search(value)
            and "//" not in found[0]
        ):
            return True
    return False


def _told(read: Text) -> bool:
    """A password in running words, before or after the word for it."""
    for found in _VALUE_AFTER.finditer(read.lower):
        shown = _shown(read, found, "value")
        value = shown.strip("\"'").rstrip(".,;:!?)")
        if len(value) < 4 or _HOLDER.search(value) or _ALGORITHM.match(value):
            continue
        own = _FIRST.search(read.before(found.start(), 60)) is not None
        if _mixed(value) and any(map(str.isdigit, value)):
            return True
        if (
            found["is"].strip()
            and not value.lower().endswith(("ed", "ing", "en"))
            and (own or shown[0] in "\"'")
            and not found["gap"]
            and not _CODE_WORDS.match(value.lower())
        ):
            return True
    for found in _VALUE_BEFORE.finditer(read.lower):
        word = _LAST_WORD.search(read.text[max(0, found.start() - 64) : found.start()])
        value = word[0].rstrip(".,;:!?)") if word is not None else ""
        if (
            len(value) >= 4
            and not _HOLDER.search(value)
            and not _ALGORITHM.match(value)
            and _mixed(value)
            and any(map(str.isdigit, value))
        ):
            return True
        if (found["own"] or "").lower() in ("my", "our", "mein", "mon", "mi") and value.isdigit():
            return True
    if _DOOR.search(read.lower) is not None or _login(read):
        return True
    if _USER_AND.search(read.lower) is not None:
        return True
    return (
        _PASSPHRASE.search(read.lower) is not None
        or _THE_PHRASE.search(read.lower) is not None
        or _IS_PLAIN.search(read.lower) is not None
    )


_DOOR = re.compile(
    r"\b(?:codes?|pins?|combination|passcode) (?:to|for|of|on|für|zum|zur|pour|de|del|para) "
    r"(?:[\w'-]{1,16} ){1,5}(?:is|are|ist|lautet|est|es|:) ?#?\d{4,8}\b|\bpins? (?:of|is still|=|#) "
    r"?\d{4,8}\b"
)
_LOGIN = re.compile(
    r"\b(?:log ?in|log on|sign in|unlock|decrypt|wifi|wi-fi|wlan|ssid|router|root|admin"
    r"|user(?:name)?|creds?|account|anmeld\w+|einlogg\w+|connexion|connecter|iniciar sesión|acceder"
    r"|pass|vault|vpn)\b"
)
_FOUR_KINDS = re.compile(
    r"(?<!\S)(?=\S{0,31}[a-z])(?=\S{0,31}[A-Z])(?=\S{0,31}\d)(?=\S{0,31}[!@#$%^&*?+=~])[^\s/\\<>{}()"
    r"\"']{7,32}(?=[\s.,;]|$)"
)


def _login(read: Text) -> bool:
    """A word of small and capital letters, digits and signs beside the words for logging in."""
    for found in _FOUR_KINDS.finditer(read.text):
        if "=" in found[0][1:-1] or "http" in found[0] or ("@" in found[0][1:-1] and "." in found[0]):
            continue
        if _LOGIN.search(read.before(found.start(), 64)) or _LOGIN.search(read.after(found.end(), 40)):
            return True
    return False


_USER_AND = re.compile(
    r"\b(?:user(?:name)?|login|benutzer(?:name)?|utilisateur|usuario|e-?mail|id)(?: is|:|=)? "
    r"?(?!and\b|or\b|und\b|oder\b|et\b|y\b|versus\b|vs\b)[^\s,;/]{2,40}(?:,| and| und| et| y| /|;"
    r"| \||)? ?(?:the )?(?:pw|pass|password|pwd|passwort"
    r"|mdp|mot de passe|contraseña|clave)(?: is|:|=)? ?"
    r"(?!is\b|reset|field|manager|hash|for\b|on\b|in\b|to\b|authentication|combination|change|and\b"
    r"|or\b|are\b|prompt|does|do\b|not\b|wrong|policy)[^\s,;<>{}$]{4,40}(?=[.,;!?\s]|$)"
    r"|\b(?:creds?|credentials|zugangsdaten|identifiants|credenciales)(?: (?:is|are|sind|sont"
    r"|son))?:? [^\s:/]{2,32} ?[:/] ?[^\s:/]{4,32}"
)


_PASSPHRASE = re.compile(
    r"\b(?:my|our|mein\w{0,2}|mon|ma|mi) (?:[\w-]{1,16} ){0,2}(?:pass ?phrase|password|passwort|mot "
    r"de passe|contraseña) (?:is|ist|est|es|:|lautet) "
    r"(?!(?:not|too|so|very|being|no|never|always|going|wrong|incorrect|invalid|expired|hashed"
    r"|stored|nicht|falsch|zu|pas|trop|muy)\b)[a-z]{2,12}(?:[ -][a-z]{2,12}){2,}(?:[.!\n]|$)"
)
_THE_PHRASE = re.compile(
    r"\b(?:the|our|its) (?:[\w-]{1,16} )?(?:pass ?phrase|recovery phrase|password) (?:is|="
    r"|:) (?!\w+(?:ed|ing|en)\b)"
    r"(?:(?!(?:to|the|of|is|a|an|for|in|with|and|or|by|not|as|it|that|you|your|when|if|on|too"
    r"|very|so|long|stored|sent|kept"
    r"|only|always|never|what|how|why|wrong|correct|weak|strong|case|at|from|still|just|longer"
    r"|shorter|safe)\b)[a-z]{2,12}[ -]){2,8}"
    r"[a-z]{2,12}(?:[.!\n]|$)"
)
_IS_PLAIN = re.compile(
    r"\b(?:the|our|das|le|la) (?:[\w-]{1,16} ){0,2}(?:password|passcode|passwort|kennwort|mot de "
    r"passe|contraseña) (?:is|ist|est|es|lautet) "
    r"(?!\w+(?:ed|en|ing|able|ible|ly|é|ée|ado|ada|t)\b|(?:wrong|incorrect|weak|safe|secure|invalid"
    r"|visible|required|known|a|an|the|in|on|at|for|to|too|so|very|not|only|just|also|always|never"
    r"|your|my|what|how|case|plain|"
    r"falsch|sicher|richtig|zu|nicht|faible|incorrecte|incorrecta|segura|débil)\b)[a-z]{4,24}(?:[.!,\n]|$)"
)


def _mixed(value: str) -> bool:
    """Letters with digits, or with signs that are not part of words."""
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    signs = any(not char.isalnum() and char not in "-_.'/()" for char in value)
    return (letters and (digits or signs)) or (digits and len(value) >= 6 and signs)


def _is_value(value: str) -> bool:
    return len(value) >= 4 and not re.fullmatch(
        r"[\w.]+\(.*|\d{1,3}(?:%|\w{0,2})|\d{1,2}-\w+|[a-z]+-[a-z]+", value
    )


def _is_prose(read: Text, end: int) -> bool:
    """Whether what follows a colon goes on as a sentence does."""
    return re.match(r"[ ,]*[a-z]+ [a-z]+", read.text[end : end + 40]) is not None


def _is_numbers_question(read: Text, start: int) -> bool:
    return (
        re.search(
            (
                r"\b(?:http|status|error|exit|zip|postal|country|area|gpio|ascii|unicode|hex|source"
                r"|color|colour)[ -]?$"
            ),
            read.before(start, 16),
        )
        is not None
    )


def _by_context(read: Text) -> bool:
    if _has_key_word(read):
        for found in _SHORT_KEY.finditer(read.text):
            if _NOT_SECRET.match(found[0]) or not _is_random(found[0]):
                continue
            if _NEAR_KEY.search(read.before(found.start(), 40)) and not _HASH_WORDS & set(
                re.findall(r"\w+", read.before(found.start(), 40))
            ):
                return True
    for found in _LONG.finditer(read.text) if read.longest >= 32 else ():
        if _NOT_SECRET.match(found[0]) or not _HASH_WORDS.isdisjoint(read.words):
            continue
        word = found[0]
        if (
            any(char.isdigit() for char in word)
            and _cases(word)
            and word.count("/") < 3
            and _turns(word) >= 12
        ):
            return True
    return False


def _is_random(word: str) -> bool:
    """Not a number, a slug or a name: many turns between letters and digits, or small and capital letters."""
    return _turns(word) >= 4 and any(char.isdigit() for char in word) and "--" not in word


def _cases(word: str) -> bool:
    return any(char.islower() for char in word) and any(char.isupper() for char in word)


def _turns(word: str) -> int:
    kinds = [
        "d" if char.isdigit() else "u" if char.isupper() else "l" if char.isalpha() else "s" for char in word
    ]
    return sum(one != other for one, other in pairwise(kinds))


@cache
def _expressions() -> tuple[tuple[tuple[str, ...], tuple[re.Pattern[str], ...]], ...]:
    return tuple((needed, tuple(plugin().denylist)) for needed, plugin in _FOREIGN)


def _foreign(read: Text) -> bool:
    for start in range(0, len(read.text), _PIECE):
        piece = read.text[start : start + _PIECE + _OVERLAP]
        lower = read.lower[start : start + _PIECE + _OVERLAP]
        if not any(char.isdigit() for char in piece):
            continue
        for needed, expressions in _expressions():
            if any(part in lower or part in piece for part in needed):
                for expression in expressions:
                    found = expression.search(piece)
                    if found is not None and any(char.isdigit() for char in found[0]):
                        return True
    return False
