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

from node.privacy.passwords import oddness
from node.privacy.text import Text

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
    r"|sq[apu]_[a-f0-9]{30,}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}"
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
_IS = (
    r"(?: (?:for|to|of|für|zum|zur|pour|de|del|on|at|in|para|da|do|von)(?: [\w'.@-]{1,40}){1,5}?)?"
    r"(?: ?[:=]{1,2}>? ?| (?:is|was|are|ist|war|lautet|est|es|era|é|è|set to|remains|will be)[ :]{1,2}"
    r"| ?-> ?|'s |\"? ?[:=] ?)"
    r"(?:still |now |currently |set to |jetzt |immer noch |always )?"
)
_ASSIGNED = re.compile(
    rf"(?<![^\W_])(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK})){_IS}"
    r"(?P<quote>[\"'*]?)(?P<value>[^\s\"']{3,200})(?P<closed>[\"']?)",
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
    r"\b(?:key|token|secret|password|credential|bearer|authorization|schlüssel|clave|clé|klucz|ключ)\w{0,2}\b"
)
_SHORT_KEY = re.compile(
    r"(?<![\w/+=.-])(?=[A-Za-z_+/=-]{0,40}\d)(?=[\d_+/=-]{0,40}[A-Za-z])[A-Za-z0-9_+/=-]{16,256}(?![\w/+=-])"
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
        "klucz",
        "ключ",
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
    for found in _ASSIGNED.finditer(read.lower):
        value = _shown(read, found, "value").rstrip(".,;:!?)*")
        if _HOLDER.search(value) or len(value) < 3:
            continue
        plain = value.lower()
        is_word = value.isalpha()
        if _CODE_WORDS.match(plain) or (found["strong"] and not oddness(value, False)):
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
    for found in _LABELLED.finditer(read.lower):
        names = ("value", "option", "bearer", "curl", "ssh", "sql")
        value = next(filter(None, (_shown(read, found, name) for name in names)), "")
        if _HOLDER.search(value) or _CODE_WORDS.match(value.lower()) or not oddness(value, True):
            continue
        if (
            _mixed(value)
            or (found["value"] and len(value) >= 8 and not value.isalpha())
            or found["curl"]
            or found["sql"]
        ):
            return True
    return False


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
