"""Passwords, PINs and door codes in running words: what protects or opens something, keys of wireless
networks, passphrases of several words, "the alarm code is …".

Pure. What ``keys`` finds by the word for a password right before a value is not looked for again. A PIN or
code that is asked about as such ("Is 1234 a common PIN?") stays free.
"""

from __future__ import annotations

import re

from node.store.privacy.text import Text

_VALUE = r"[\"'`]?(?P<value>[^\s\"'`]{6,64})"
_PROTECTED = re.compile(
    r"\b(?:protected|locked|encrypted|secured|unlock(?:s|ed)?|opens?|opened|geschützt|verschlüsselt|gesperrt"
    r"|protégée?|chiffrée?|verrouillée?|protegid[oa]|cifrad[oa]|bloquead[oa]|protett[oa]|cifrat[oa]"
    r"|beveiligd)"
    rf" (?:with|by|mit|avec|par|con|com|using|met) {_VALUE}"
)
_EVERYWHERE = re.compile(
    rf"\b(?:use[ds]?|reuse|using|nutze|benutze|verwende|utilise|uso|gebruik) {_VALUE} "
    r"(?:for|on|everywhere|für|überall|pour|partout|para|per|voor|as)\b"
)
_NETWORK_KEY = re.compile(
    r"\b(?:wpa[23]?|wep|wi-?fi|wlan|router|hotspot|ssid|network|netzwerk)[- ]?(?:[\w'-]{1,12} ){0,2}?"
    r"(?:key|code|pass|pw|psk|schlüssel|clé|clave|chiave|senha|sleutel)(?: ?(?:is|says|ist|est|es|è|é"
    r"|[:=]))? "
    rf"{_VALUE}"
)
_LABELLED = re.compile(
    r"(?<![:\w])(?:password|passwort|kennwort|mot de passe|contraseña|senha|wachtwoord)\b[^.?!\n:=]{0,24}"
    r" ?[:=] ?"
    rf"{_VALUE}"
    rf"|\bwi-?fi:? [\w.-]{{2,24}} / ?[\"']?(?P<wifi>[^\s\"']{{6,64}})"
    rf"|\bkey (?:for|to) [^.?!\n]{{0,24}}(?:zip|vault|archive|disk|drive|safe|backup|encrypted \w+|wi-?fi)"
    rf" is "
    rf"[\"']?(?P<key>[^\s\"']{{6,64}})"
)
_PLAIN = re.compile(
    r"\b(?:sudo|root|admin|wi-?fi|wlan|router|netflix|login|vpn|e-?mail|bank\w*|laptop|windows|gmail|spotify)"
    r" (?:password|pw|passwort|passwd) (?:is|ist|:|=) (?!\w+(?:ed|en|ing|able|ible|ly|t)\b|(?:wrong|weak"
    r"|safe|secure|invalid"
    r"|visible|required|known|the|in|on|at|for|to|too|so|very|not|only|just|also|always|never|your|what|how"
    r"|case"
    r"|plain|empty|missing|always|falsch|sicher|blank|none|admin|password)\b)[a-zäöüß]{5,24}(?=[.!,\n]|$)"
)
_TURNED = re.compile(
    r"\b(?:combination|combo|kombination|combinación|combinaison)\b[^.?!\n\d]{0,24}\d{1,2}[- ]\d{1,2}[-"
    r" ]\d{1,2}(?![\d-])"
)
_PIN = re.compile(
    r"(?<![^\W_])(?:pins?|pin-?code|geheimzahl|passcode|bankpin)\b(?P<of>[^.?!\n]{0,40}?)"
    r"(?: is| ist| est| es| è| é| lautet| war| was| to| auf| en| à| a| of|:|="
    r"|,)\s?[\"'#]?(?P<value>\d{4,8})(?!\w)"
)
_OPENS = re.compile(
    r"\b(?:door|gate|alarm|garage|key ?box|lock ?box|safe|locker|entry|buzzer|bike lock|suitcase|padlock"
    r"|building"
    r"|lobby|gym|luggage|lock|airbnb|keypad|security system|voicemail|sim|haustür|tür|garagen|tresor"
    r"|alarmanlagen?|schließfach|fahrradschloss|porte|portail|immeuble|alarme|coffre|puerta|portal|alarma"
    r"|caja fuerte"
    r"|candado|porta|cancello|allarme|cassaforte|alarme|cofre|deur|kluis|poort)(?:'s)?[- ]?"
    r"(?:code|combo|combination|pin|number|kombination|clave|código|codice)?(?: (?:to|for|of|at|in|für|am"
    r"|zum|du|de"
    r"|del|della|da|van) [\w' -]{1,24}?)?(?: is| ist| est| es| è| é| lautet|:|=)?"
    r" ?[\"'#]{0,2}(?P<value>\d{4,8})(?!\w)"
)
_CODE_WORD = re.compile(
    r"(?:codes?|combo|combination|pins?|kombination|clave|código|codice|digicode|zahlencode|passcode"
    r"|keypad)\b"
)
_CODE_TO = re.compile(
    r"\b(?:code|combo|combination|pin|kombination|clave|código|codice|digicode)\b"
    r"(?: (?:to|for|of|at|on|für|vom|von|am|zum|zur|du|de|del|della|da|van|à)\b[^.?!\n]{1,32}?)?"
    r"(?: is| ist| est| es| è| é| lautet| are|:|=),? ?[\"'#]{0,2}(?P<value>\d{4,8})(?!\w)"
)
_BEFORE = re.compile(
    r"(?<!\w)(?P<value>\d{4,8})#? (?:is|was|ist|est|es|è|é|opens|unlocks|disarms) (?:still )?"
    r"(?:my|our|the|mein\w*|unser\w*|die|der|mon|ma|notre|le|la|mi|nuestr[oa]|il mio|meu|mijn|his|her)\b"
    r"[\w' -]{0,30}?\b(?:pin|code|passcode|combination|combo|kombination|clave|código|codice|door|gate"
    r"|alarm|safe)\b"
)
_OWN = re.compile(
    r"\b(?:my|our|his|her|their|mein\w{0,2}|unser\w{0,2}|mon|ma|mes|notre|mi|mis|nuestr[oa]|meu|minha|mio"
    r"|mia|mijn"
    r"|i|we|ich|je|card|phone|karte|handy)\b"
)
_OFTEN = frozenset(
    ["1234", "0000", "1111", "12345", "123456", "2580", "4321", "1212", "7777", "5555", "9999"]
)
_ASKED = re.compile(
    r"\b(?:http|status|error|zip|postal|area|country|most common|common pins?|gpio|dtc|obd|postcode)\b"
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
_PIECES = (
    "code",
    "pin",
    "combo",
    "combin",
    "geheimzahl",
    "kombination",
    "clave",
    "código",
    "codice",
    "keypad",
    "alarm",
)
_HITS_MAX = 128


def find(read: Text) -> str | None:
    """``secret`` or None."""
    lower = read.lower
    if ("phrase" in lower or "frase" in lower or "satz" in lower or "zin" in lower) and _PHRASE.search(lower):
        return "secret"
    if (" pass" in lower or " pw " in lower) and _PLAIN.search(lower) is not None:
        return "secret"
    if not any(map(str.isdigit, lower)):
        return None
    if "comb" in lower and _TURNED.search(lower) is not None:
        return "secret"
    for count, found in enumerate(_LABELLED.finditer(lower)):
        group = found.lastgroup or "value"
        if count >= _HITS_MAX or _is_secret(read.text[slice(*found.span(group))], loose=True):
            return "secret"
    for expression in (_PROTECTED, _EVERYWHERE, _NETWORK_KEY):
        for count, found in enumerate(expression.finditer(lower)):
            start, end = found.span("value")
            if count >= _HITS_MAX or _is_secret(read.text[start:end], loose=expression is not _EVERYWHERE):
                return "secret"
    if _LOGIN.search(lower) is not None:
        for count, found in enumerate(_QUOTED.finditer(read.text)):
            if count >= _HITS_MAX or _is_secret(found["value"], loose=False):
                return "secret"
    return "secret" if any(piece in lower for piece in _PIECES) and _code(read) else None


def _is_secret(value: str, *, loose: bool) -> bool:
    """Letters with digits, and unless ``loose`` a sign or both small and capital letters as well."""
    shown = value.rstrip(".,;:!?)")
    if len(shown) < 6 or _NO_SECRET.match(shown) is not None:
        return False
    letters, digits = any(map(str.isalpha, shown)), any(map(str.isdigit, shown))
    signs = any(char in "!#$%^&*+?~@=§" for char in shown)
    cases = any(map(str.islower, shown)) and any(map(str.isupper, shown))
    return letters and digits and (loose or (signs and cases))


def _code(read: Text) -> bool:
    """Whether a PIN or the code of a door, an alarm or a lock is told."""
    lower = read.lower
    if _BEFORE.search(lower) is not None:
        return True
    if _ASKED.search(lower) is not None:
        return False
    for count, found in enumerate(_PIN.finditer(lower)):
        own = _OWN.search(found["of"]) or _OWN.search(read.before(found.start(), 32))
        if count >= _HITS_MAX or own or found["value"] not in _OFTEN:
            return True
    for count, found in enumerate(_OPENS.finditer(lower)):
        if count >= _HITS_MAX or _CODE_WORD.search(found[0]) or read.after(found.end(), 1) == "#":
            return True
    for count, found in enumerate(_CODE_TO.finditer(lower)):
        if count >= _HITS_MAX or (" " in found[0] and _OPENING.search(found[0]) is not None):
            return True
    return False


_OPENING = re.compile(
    r"\b(?:door|gate|alarm|garage|box|safe|locker|lock|building|house|flat|apartment|office|gym|shed|tür"
    r"|haus|wohnung"
    r"|porte|immeuble|maison|puerta|casa|portal|porta|deur|huis|digicode|phone|card|suitcase|bike)\w{0,3}\b"
)
