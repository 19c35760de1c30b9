"""Passwords by what stands round them where no word for a password does: what protects or opens something,
keys of wireless networks, passphrases of several words, odd words in quotation marks beside a login.

Pure. What is told of by its name (``passwords``) or assigned to it (``keys``) is not looked for again.
"""

from __future__ import annotations

import re

from node.privacy.text import Text

_VALUE = r"[\"'`]?(?P<value>[^\s\"'`]{6,64})"
_PROTECTED = re.compile(
    r"\b(?:protected|locked|encrypted|secured|unlock(?:s|ed)?|opens?|opened|geschützt|verschlüsselt|gesperrt"
    r"|protégée?|chiffrée?|verrouillée?|protegid[oa]|cifrad[oa]|bloquead[oa]|protett[oa]|cifrat[oa]"
    r"|beveiligd)"
    rf" (?:with|by|mit|avec|par|con|com|using|met) {_VALUE}"
)
_NETWORK_KEY = re.compile(
    r"\b(?:wpa[23]?|wep|wi-?fi|wlan|router|hotspot|ssid|network|netzwerk)[- ]?(?:[\w'-]{1,12} ){0,2}?"
    r"(?:key|code|pass|pw|psk|schlüssel|clé|clave|chiave|senha|sleutel)(?: ?(?:is|says|ist|est|es|è|é"
    r"|[:=]))? "
    rf"{_VALUE}"
)
_PHRASE = re.compile(
    r"\b(?:pass ?phrase|passwortsatz|phrase secrète|phrase de passe|frase de paso|frase secreta"
    r"|wachtwoordzin)"
    r"(?: (?:for|to|of|on|für|zu|pour|de|del|para|voor)\b[^.?!\n]{1,32}?)?(?: is| ist| est| es| è| é|:|=)"
    r" ?[\"']?"
    r"(?!\w+(?:ed|ing|en)\b|(?:a|an|the|not|too|so|very|only|used|wrong|what|at|in|for|to|your|case|weak"
    r"|long|just)\b)"
    r"(?:[a-zäöüßéè]{2,14}[ -]){2,9}[a-zäöüßéè]{2,14}(?=[\"'.,!\n]|$)"
)
_QUOTED = re.compile(r"[\"'`](?P<value>[^\s\"'`]{7,40})[\"'`]")
_LOGIN = re.compile(
    r"\b(?:sudo|log(?:ged|ging)?[ -]?(?:in|on)|login|sign in|unlock|decrypt|vault|account|root|admin|wi-?fi"
    r"|wlan|router"
    r"|passw\w*|passphrase|anmeld\w*|einlogg\w*|connexion|mot de passe|contraseña|senha|wachtwoord|refused"
    r"|rejected)\b"
)
_NO_SECRET = re.compile(
    r"^(?:(?:aes|sha|rsa|md|wpa|tls|ssl|ed|utf|base|oauth|bitlocker|argon|bcrypt|python|windows|office"
    r"|excel|iphone"
    r"|ipv|http|ios|android|veracrypt|luks|curve|x)[-_]?\d.*|\d+-?(?:bits?|bytes?|chars?|characters?"
    r"|digits?).*"
    r"|https?:.*|/.*|<.*|\{.*|\$\{.*|.*\(.*|[\w-]+\.[a-z]{1,5}|\d[\d.,:/-]*)$",
    re.IGNORECASE,
)
_HITS_MAX = 128


def find(read: Text) -> str | None:
    """``secret`` or None."""
    lower = read.lower
    if ("phrase" in lower or "frase" in lower or "satz" in lower or "zin" in lower) and _PHRASE.search(lower):
        return "secret"
    if not any(map(str.isdigit, lower)):
        return None
    for expression in (_PROTECTED, _NETWORK_KEY):
        for count, found in enumerate(expression.finditer(lower)):
            start, end = found.span("value")
            if count >= _HITS_MAX or _is_secret(read.text[start:end], loose=True):
                return "secret"
    if _LOGIN.search(lower) is not None:
        for count, found in enumerate(_QUOTED.finditer(read.text)):
            if count >= _HITS_MAX or _is_secret(found["value"], loose=False):
                return "secret"
    return None


def _is_secret(value: str, *, loose: bool) -> bool:
    """Letters with digits, and unless ``loose`` a sign or both small and capital letters as well."""
    shown = value.rstrip(".,;:!?)")
    if len(shown) < 6 or _NO_SECRET.match(shown) is not None:
        return False
    letters, digits = any(map(str.isalpha, shown)), any(map(str.isdigit, shown))
    signs = any(char in "!#$%^&*+?~@=§" for char in shown)
    cases = any(map(str.islower, shown)) and any(map(str.isupper, shown))
    return letters and digits and (loose or (signs and cases))
