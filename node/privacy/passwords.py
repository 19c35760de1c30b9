"""Secrets told in running words: passwords, PINs, codes of doors and cards, passphrases, recovery "
"words, unlock
patterns, answers to security questions.

Pure. Three things make a secret told: a word of the family of secrets, in any of some twenty languages and
with the commonest slips of the pen; a bond (a colon, "is", nothing at all, a few words between); and a value,
which is no ordinary continuation of a sentence. The odder the value (letters with digits, signs, capitals
inside, words in quotation marks), the looser the bond may be; a plain word needs a close bond and somebody
whose secret it is, or a complaint that it does not work. What is said of secrets in general (the default, the
commonest, an example, a film) stays free unless somebody calls it their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from node.privacy import personal
from node.privacy.text import Text


def _words(shown: str) -> frozenset[str]:
    return frozenset(shown.split())


_HITS_MAX = 200
_BEFORE, _AFTER = 110, 190

_WORD_FOR = (
    r"(?<![^\W\d_])(?:pa?ss?w(?:or|ro|rd|oo?r|r)?[dt]?s?|pass?code|pass?word|pass[ _-]?phrases?"
    r"|pass(?:ord(?:et)?)?"
    r"|pa?ss?wd|pswd?|pwd?|p/w|mdp|mots? de passe|phrase (?:de passe|secrète)|contrase[ñn]as?|clave"
    r"|frase de paso"
    r"|senhas?|palavra-?(?:chave|passe)|parola d'ordine|has[łl]o|hes(?:lo|la)|lösenord(?:et)?|losenord"
    r"|adgangskoden?|salasanani?|[şs]ifrem?|parolam|jelsz(?:ó|avam)|п[аa][рp][оo]ль|psk|requirepass|key "
    r"(?:to|for) (?:the|my|our) [\w ]{2,24}?(?= is|:)|master"
    r"|(?:wpa2?|wi-?fi|wlan|network|netzwerk)[ -]?(?:key|schl(?:ü|ue)ssel|code|clé)"
    r"|clé wi-?fi|c(?:ode|lé|odice|lave|ódigo|hiave) (?:de la |del |do |du )?wi-?fi)(?![^\W_])"
    r"|(?:passwor[td]|kennwort|losungswort|(?:wacht|pas)woord|schlüssel(?=[ :]))(?![^\W_])"
    r"|パスワード|密码|비밀번호"
)
_CODE = (
    r"(?<![^\W\d_])(?:pins?|pin-?(?:code|nummer|number)|pass?code|puk|tan|otp|cvv2?|cvc2?|code|codes|kod"
    r"|kode|koden"
    r"|koda|koodi|código|codigo|codice|пин(?:-?к[оo]д)?|digicode|combo|combination|kombination"
    r"|combinaison|combinación|combinazione|geheimzahl"
    r"|keypad|kluiscode|safe|tresor|coffre|lock|locker|alarm|alarme|alarma|alarmanlage|padlock|lockbox"
    r"|opens?|unlocks?|doors?|gate"
    r"|suitcase|haustür|tür|porte|puerta|cancello|deur|atm)"
    r"(?![^\W_])|(?:pin|kombination|code)(?![^\W_])"
)
_LOGIN = (
    r"(?<![^\W\d_])(?:login|log(?:ged)? ?in|logon|sign in|creds?|credentials|zugangsdaten|anmeldedaten"
    r"|identifiants|ssid"
    r"|credenziali|credenciales|inloggegevens|user(?:name)?s?|utente|utilisateur|usuario"
    r"|benutzer(?:name)?|gebruiker"
    r"|router|admin page|account|wi-?fi|wlan)(?![^\W_])"
)
_PHRASE = (
    r"(?<![^\W\d_])(?:seed(?:[ -]?(?:phrase|words?))?|recovery[ -]?(?:phrase|words?)|(?:12|24|twelve"
    r"|twenty-four) words"
    r"|mnemonic|diceware|backup[ -]?(?:phrase|words)|pass ?phrase|secret phrase|wiederherstellungs\w+"
    r"|phrase de récupération|frase (?:semilla|di recupero|de recuperación|de recuperação)|wallet(?= is| "
    r":|:))(?![^\W_])"
)
_ANSWER = (
    r"(?<![^\W\d_])(?:security|secret|sicherheits|geheim)[ -]?(?:questions?|answers?|fragen?)|question "
    r"(?:secrète|de "
    r"sécurité)|pregunta (?:secreta|de seguridad)|domanda (?:segreta|di sicurezza)|pergunta (?:secreta"
    r"|de segurança)"
    r"|sicherheitsantwort|réponse secrète|(?:parola|palabra|palavra) (?:segreta|secreta|clave)|answer to "
    r"(?:the |my )?\"?(?:favou?rite|first|mother)[^\"\n]{0,24}\"?"
    r"|(?:memorable|secret|safe|code|magic|familien)[ -]?(?:word|wort|name)|codeword|maiden name|reset "
    r"answers?"
)
_HINT = re.compile(
    rf"(?P<answer>{_ANSWER})|(?P<phrase>{_PHRASE})|(?P<pass>{_WORD_FOR})|(?P<code>{_CODE})"
    rf"|(?P<login>{_LOGIN})"
)
_TOKEN = re.compile(
    r"\"(?P<double>[^\"\n]{1,80})\""
    r"|(?<![^\s(=:,>\[-])'(?P<single>[^'\n]{1,80})'(?![^\W_])"
    r"|`(?P<back>[^`\n]{1,80})`"
    r"|(?P<chunk>[^\s\"`]{1,96})"
)
_BONDS = _words(
    "is was are were be been ist war lautet lautete heißt heisst est c'est était es era son "
    "è é är jest było this "
    "becomes became says reads - 's は : ="
)
_LOOSE = _words("to has as als comme como come zu auf à en on er met mit avec con com using with remains")
_FILL = _words(
    "still now currently just always originally already set jetzt immer noch bisher früher "
    "toujours maintenant ahora "
    "sigue siendo siempre ancora sempre ainda nog likely probably maybe actually simply literally my the "
    "a an to as "
    "only lowercase in user called"
)
_OWN = re.compile(
    r"(?<![^\W_])(?:my|our|ours|mine|his|her|their|i|i'm|i've|we|us|me|mein\w{0,2}|unser\w{0,2}|ich|wir"
    r"|mir|mon|ma|mes"
    r"|notre|nos|je|j'ai|mi|mis|nuestr[oa]|mio|mia|ho|il mio|la mia|meu|minha|mijn|ons|onze|ik|mitt|min"
    r"|mit|moj[ea]|мой"
    r"|(?:wife|husband|dad|mom|mum|son|daughter|boss|friend)'?s|they (?:gave|sent|mailed)|you (?:gave"
    r"|sent)|eigene\w?|your (?=old|new|temp))(?![^\W_]|-\w)"
)
_FAILS = re.compile(
    r"(?<![^\W_])(?:wrong|denied|fail\w*|refus\w+|reject\w+|accept\w*|angenommen|akzeptiert|doesn'?t"
    r"|does not|won'?t|wont"
    r"|isn'?t work\w*|not work\w*|lock\w*|gesperrt|incorrect\w*|invalid\w*|ungültig\w*|error|noauth"
    r"|access|40[13]|422|535"
    r"|1045|expired|help|não (?:liga|entra|funciona|aceita|conecta)|marche (?:pas|plus)|(?:funktioniert"
    r"|geht) nicht|werkt niet|non (?:va|funziona)|no (?:funciona|me deja|entra|abre|va)|forg[eo]t\w*"
    r"|vergessen|oublié|olvid\w+|stopped|drops?|bloqu\w+|bloccat\w+|verrouillé|falsch|hacked|kick|leaked"
    r"|breach|stolen|crack"
    r"|brute|entropy|bits|guess\w*|keeps?|hilfe|reset|change it|nie działa|nie łączy|virker ikke|hyväksy"
    r"|godkänns)"
    r"(?![^\W_])"
)
_GENERAL = re.compile(
    r"(?<![^\W_])(?:factory|ali baba|fairy tales?|legend|unit tests?|trying out|(?<!to )defaults?"
    r"|examples?|beispiel\w*|exemple|ejemplo|esempio|exemplo|samples?|placeholder"
    r"|dummy|demo|common\w*"
    r"|commonest|popular|häufig\w*|beliebt\w*|film|movie|novel|story|stories|book|fiction\w*|game|quest"
    r"|series|docs"
    r"|documentation|wordlist|standard\w*|e\.g|z\.b|typical\w*|famous|worst|weakest|utilisés?|usadas?"
    r"|comune|rockyou"
    r"|template|tutorial|regex|castle|potter|rings|xkcd|manual|man page|official|syntax|means|bedeutet"
    r"|signifie|cartoon"
    r"|joke|riddle|cipher|plaintext|vigenère|caesar|bible|stands for|form)(?![^\W_])"
)
_FAMOUS = _words(
    "password passwort admin root user guest test username secret changeme changeit example "
    "string mypassword s3cret "
    "yourpassword newpassword oldpassword johnpassword none null empty blank welcome postgres mysql "
    "mongo redis default "
    "tr0ub4dor&3 p@ssw0rd passw0rd password1 password123 passwort123"
)
_HOLDS = _words(
    "my your the a new old secret password pass passwd pw pwd word very change changeme me "
    "me here example sample some "
    "user name username db app admin root strong long value string placeholder key token phrase foo bar "
    "baz xxx todo "
    "insert enter type passphrase correct horse battery staple test"
)
_PLAIN = _words(
    "hashed salted encrypted required optional correct incorrect hidden visible empty blank "
    "unknown known mandatory "
    "obsolete outdated unique random numeric alphanumeric lowercase uppercase symbol symbols policy "
    "policies manager "
    "managers generator hygiene rotation reuse hash hashes hashing spraying stuffing cracking prompt "
    "prompts field "
    "fields input form forms reset resets recovery protection protected authentication login logins "
    "change changes "
    "checker vault vaults sharing length strength rules rule requirements safe secure weak strong sicher "
    "unsicher "
    "schlecht lang kurz falsch richtig vergessen leer abgelaufen ungültig gültig faible fort oublié "
    "perdu correct "
    "correcta incorrecta débil fuerte segura olvidada corretta sbagliata debole sicura forte fraca "
    "correta errada "
    "segura fout juist vergeten zwak sterk string str text bytes varchar char int integer boolean number "
    "true false "
    "none null undefined object getpass input env prompt argon2 bcrypt scrypt crypt shadow plain "
    "plaintext cleartext "
    "ascii unicode utf base64 hex hexadecimal binary obvious easy hard difficult complex simple "
    "guessable crackable "
    "wrong invalid expired rejected refused denied ignored gone lost missing saved stored sent typed "
    "entered displayed "
    "masked showing shown asked needed used reused shared leaked compromised breached stolen changed "
    "generated "
    "meaningless useless pointless important essential sensitive confidential private public temporary "
    "permanent "
    "identical different similar same again anyway anymore later first twice once daily yearly monthly "
    "weekly "
    "fingerprint biometrics face faceid touchid passkey passkeys keychain authenticator yubikey"
    " token tokens "
    "windows linux macos android iphone gmail google facebook instagram outlook netflix spotify paypal "
    "amazon apple "
    "microsoft steam roblox snapchat tiktok twitter whatsapp telegram yahoo hotmail icloud linkedin "
    "reddit discord "
    "english german french spanish italian dutch password-protected case-sensitive one-time two-factor "
    "passwordless single-sign-on time-based"
)
_INFLECTED = re.compile(
    r"(?:ed|ing|ly|able|ible|ous|ful|less|ness|ment|tion|sion|ive|isch|lich|bar|ität|é|ée|ado|ada|ato|ata"
    r"|iert|ized|ised|ability|ically)$"
)
_FUNCTION = _words(
    "the a an and or of to in on at by for with from as is are was were be been it its "
    "this that these those i you he "
    "she we they my your our their not no if then than so too very can could should would will do does "
    "did have has had "
    "what which who how why when where but because about into over under after before per der die das "
    "und oder ist ein "
    "eine zu mit von für nicht wie was le la les et ou de du des un une est pas pour que el los las y es "
    "por con no"
)
_TECHNICAL = re.compile(
    r"^(?:sha-?\d+.*|[0-9a-f]{32,}|[a-z-]+:\d[\w.]*|\^.*|.*\(\?.*|md[45]|base\d+|[26]fa|mfa|oauth\d.*"
    r"|utf-?\d+|aes-?\d.*|rsa-?\d+|ed\d+|h\d+|s3|ipv\d|wpa\d?.*|ntlmv?\d"
    r"|bcrypt|argon2\w*|scrypt|pbkdf2.*|x\d+|x\.\d+|rfc-?\d+|cve-.*|nist.*|iso-?\d.*|tls.*|http\d?s?"
    r"|web\d|win(?:dows)?\d+"
    r"|ubuntu\d.*|ios-?\d+|python\d.*|php\d.*|mysql\d.*|mysqli|postgres\w*\d.*|office\d+|o365|m365|k8s"
    r"|log4j\w*|0x[0-9a-f]+"
    r"|\d+(?:[.,]\d+)?-?(?:x|bits?|bytes?|chars?|characters?|digits?|letters?|words?|zeichen|stellig\w*"
    r"|caractères"
    r"|times|days?|day|months?|minutes?|min|hours?|h|s|sec|ms|years?|mal|fois|st|nd|rd|th|ghz|mhz|gb|mb"
    r"|kb|tb|k|m|mm|cm|km|kg|g"
    r"|v|w|mah|€|\$|%|am|pm)|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d+(?:[.,:-]\d+)*[.%€$]?|[a-z]\d{1,2}"
    r"|[a-z]{1,3}-?\d{1,3}"
    r"|1password|rockyou.*|[a-z]{2}-?\d{2,3}[a-z]?|.*\.(?:com|org|net|io|de|txt|py|js|ts|json|ya?ml|conf"
    r"|cfg|ini|sh|exe|pdf|html?"
    r"|xml|php|md|env|go|rs|java|co\.uk|fr|es|it|nl)\W?|version\d.*|v\d[\d.]*|level\d|part\d|pin\d+"
    r"|gpio\d+|usb-?\w?\d*"
    r"|covid-?19|f\d{1,2}|ps[2345]|mp[34]|[ivx]+|qr.*|\w+\d?\(.*|.*[{}<>$\[\]].*[{}<>\]\[(/].*"
    r"|.*\(\)?|.*::.*"
    r"|(?:/|~/|\./|https?:|www\.|[a-z]:\\|--?[a-z]).*|\$\w+.*|\\\w.*|.*\\[dws].*|[\w.+-]+@[\w-]+\.[\w.]+"
    r"|[a-z_-]+\d{0,2}@[a-z_-]+\d{0,2}|@\w+|#\d+|#[0-9a-f]{3,8}"
    r"|.*(?:/[^/]*){3}|[^\w]+|\w+\.\w+\(.*|[\w.]+=.*|\w{1,12}-\w{2,10}\d?=.*|\w{1,8}[-/]\d{1,2}"
    r"|\d{1,2}[-/]\w+)$",
    re.IGNORECASE,
)
_SIGNS = frozenset("!#$%&*+?^~@§<>;=")
_NUMBER = (
    r"(?:\d(?:[-,. *]{1,2}\d){3,7}(?!\d)|\d{1,2}-\d{1,2}-\d{1,2}|\d{2,4}[- ]\d{2,4}(?:[- ]\d{2,4})?"
    r"|\d{3,8})"
)
_DIGITS = re.compile(
    rf"(?P<gap>(?:\"(?= ?[:=]))?[^.?!\n\d\"]{{0,44}}?)(?P<sign>[\s(\"'#:=,;-]|\b[A-Za-z]-)"
    rf"(?P<value>(?:{_NUMBER}|\d{{1,2}}[A-Fa-f]\d{{1,3}}|[A-F]\d{{3,5}}|\d{{3,5}}[A-F]))"
    r"(?P<hash>[#*]?)(?![\w%°€$]|[.,:/]\d|-\w| ?(?:mm|cm|km|kg|g|m|w|v|mah|hz|mhz|x|°|%|€|usd|eur"
    r"|dollars?|people|words|times"
    r"|characters|digits|bits|points?|hours?|days?|years?|seats|entries|different|combinations?|possible"
    r"|possibilit\w+"
    r"|ft|lbs?|pounds|ohm|rpm|psi)\b)",
    re.IGNORECASE,
)
_CODE_BOND = re.compile(
    r"^[\s\"'#(,:=-]*$|(?:^|[\s\"'])(?:used to be|has been|had been|is|was|are|be|ist|war|lautet"
    r"|est|c'est|es|era|è|é|er|är|jest|to"
    r"|of|with|mit|avec|con|com"
    r"|met|opens?|from|auf|on|says|set|used?|using|sea|fue|sia|seja|na|me|him|her|them|number|die|der"
    r"|das|el|il|le|la|'s|s|nr|no)[\s:\"'#(]*$|[:=(,]\s*$"
    r"|(?:sms|got|sent|texted|saw|received|choose|chose|genommen|take|took|picked)\b[^.?!]{0,16}$"
)
_OPENING = re.compile(
    r"(?<![^\W_])(?:doors?|gates?|alarm\w*|garage|box|safe|lock\w*|building|house|flat|apartment|gym"
    r"|shed|tür\w*|haus\w*|wohnung"
    r"|porte|immeuble|maison|puerta|casa|portal|porta|deur|huis|digicode|phone|handy|tablet|ipad|iphone"
    r"|card|karte|carte|tarjeta"
    r"|tarjeta|bancomat|pas|suitcase|bike|sim|dør\w*|dörr\w*|drzwi|fahrrad\w*|fiets\w*|maleta|valise"
    r"|koffer\w*|valigia|mala|ove\w{0,2}|bram\w|portail|portone|cancello|bici\w*|vélo|garagen\w*|luggage"
    r"|office|thief|combinaison|puk|verif\w+|one[- ]?time|sms\w*|2fa|backup|unlock\w*|voicemail|login"
    r"|keypad|cottage|cabin"
    r"|airbnb|bluetooth|pairing|account|bank\w*|whatsapp|google|registration|confirmation|entry"
    r"|access|screen[ -]?time|screen|parental|profile|console|xbox|garage"
    r"|app|atm|keyless|opener|cadenas|cadeado|lucchetto|candado|hangslot|\w*schloss"
    r"|tresor|coffre|locker|padlock|kombination|combination|combo|code voice|voice|kid'?s?|parents'?"
    r"|combinaison|entsperr\w*)(?![^\W_])"
)
_OTHER_CODES = re.compile(
    r"(?<![^\W_])(?:http|status|error|exit|zip|postal|post|postcode|area|country|dialling|gpio|ascii"
    r"|unicode|hex|source|colou?r|dress"
    r"|promo|discount|coupon|voucher|ean|bar|barcode|qr|morse|binary|hamming|beep|blink|obd|dtc|fault"
    r"|fehler\w*|civil|arduino|esp32|pico"
    r"|raspberry|timer|header|connector|vcc|gnd|bga|dip|usb|resistor|ic|chip|ohm|routing|swift|country"
    r"|hsn|sac|naics|icd\w*|cpt|tax"
    r"|airport|iata|icao|language|district|gpo|postleitzahl|vorwahl|plz|building code|section|article|§"
    r"|art|din|chapter|page|line|lines"
    r"|repeat\w*|snooze|fire|smoke|firmware|version|model|sku|part|course|subject|room|flight|bus|train"
    r"|kindle|react|python|java|c\+\+"
    r"|hotel|motel|codes? of conduct)(?![^\W_])"
)
_OFTEN = _words("1234 0000 1111 12345 123456 2580 4321 1212 7777 5555 9999 00000000 000000 12345678")
_PATTERN = re.compile(
    r"(?<![^\W_])(?:unlock|entsperr|lock ?screen|screen lock|schéma|wisch|my|old|new|mein|phone|android"
    r"|el|le|mi|il mio|o)[\w ]{0,12}[- ]?"
    r"(?:pattern|muster|schéma|patrón|desenho|segno)(?: (?:de mi|de mon|do meu|del mio|of my|of the|für "
    r"mein) \w+)?\b[^.?!\n]{0,48}?(?:\d(?:-\d){3,8}(?![\d-])|\d(?:[, >]{1,2}\d){3,8}(?!\d)"
    r"|(?:top|upper|bottom|lower|oben|unten|left|right|links|rechts|haut|bas|centre|center"
    r"|middle)\b[^.?!\n]{2,40}?"
    r"(?:left|right|bottom|top|links|rechts|unten|oben|gauche|droite|middle|centre|center)\b"
    r"|(?:is|ist|est|es|looks like|sieht aus wie|like)(?: \w+){0,3} (?:letter |buchstabe "
    r")?['\"]?[a-z]['\"]?(?![\w'])(?! pattern))"
)
_REPLY = re.compile(
    r"(?:\b(?:answer|antwort|réponse|respuesta|risposta|resposta|antwoord|is|was|were|ist|war|lautet|est"
    r"|es|è|é)\b(?: is| ist| est"
    r"| es| è| was)?[\s:=,-]{1,4}|[=:>?]\s{0,2}|\) ?(?:is|was)\s|answers?\W{1,3})(?:(?:that|the|a|my"
    r"|mr\.?|mrs\.?)\s)?"
    r"(?P<quote>[\"'])?(?P<value>[^\W\d_][\w'-]{2,24})",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?:[^\W\d_]{2,14}[ ,/-]{1,3}){3,26}[^\W\d_]{2,14}")
_USED = re.compile(
    r"(?<![^\W_])(?:i|we|ich|je|yo|io|eu|ik|uses?|used|using|mine|both)\b[^.?!\n]{0,24}?(?:use[ds]?"
    r"|reuse[ds]?|nutze\w?|nehme|benutze|verwende"
    r"|utilise|uso|usato|gebruik|have|set|mine)(?![^\W_])(?=[^.?!\n]{0,60}\b(?:for|everywhere|on|für"
    r"|überall|partout|pour|para|per|voor|as|that|it"
    r"|\d+ sites|both)\b|\b)"
)
_ABOUT = re.compile(
    r"(?<![^\W_])(?:crack\w*|brute\w*|leak\w*|breach\w*|pwned|hacked|guess\w*|entropy|bits|stronger"
    r"|strong|strength|secure|safe|sudo|base64"
    r"|unlock|protected|locked|decrypt|encrypted|good|better|weak|rate|log ?in|sign in|vault|everywhere"
    r"|everything|overall|überall|partout)"
    r"(?![^\W_])"
)
_BARE_USE = re.compile(
    r"\b(?:everywhere|überall|partout|on \d+ sites|for (?:all|every|my (?:bank|e-?mail|paypal|mail"
    r"|accounts?)|paypal|everything)|"
    r"that for|it for|as (?:a )?(?:new |old |initial )?pass)"
)


@dataclass(frozen=True, slots=True)
class _Token:
    """A run without blanks or what quotation marks hold, bare of signs round it; ``sign``: of a bond "
    "before it;
    ``ends``: whether a clause ends behind it; ``stops``: a sentence."""

    text: str
    start: int
    is_quoted: bool
    sign: bool
    ends: bool
    stops: bool


def find(read: Text) -> str | None:
    """``secret`` or None."""
    if not any(len(word) > 1 for word in read.words):
        return None
    if _BARE_USE.search(read.lower) is not None and _in_use(read):
        return "secret"
    if (
        _logged_on(read)
        or _PATTERN.search(read.lower) is not None
        or _configured(read)
        or _sent(read)
        or _weighed(read)
    ):
        return "secret"
    for count, hint in enumerate(_HINT.finditer(read.lower)):
        if count >= _HITS_MAX or _is_told(read, hint):
            return "secret"
    return None


def _is_told(read: Text, hint: re.Match[str]) -> bool:
    kind = hint.lastgroup
    if kind == "code":
        return (read.has_digit and _code(read, hint)) or _SPELT.match(read.lower, hint.end()) is not None
    if kind == "login":
        return _paired(read, hint)
    if kind == "answer":
        return _answered(read, hint)
    if _SPELT.match(read.lower, hint.end()) is not None:
        return True
    if _after(read, hint) or _before(read, hint.start()) or (read.has_digit and _code(read, hint)):
        return True
    return _phrase(read, hint)


@dataclass(frozen=True, slots=True)
class _Around:
    """What the words round a hint say: somebody's own, does not work, spoken of in general."""

    own: bool
    fails: bool
    general: bool

    @classmethod
    def of(cls, read: Text, start: int, end: int) -> _Around:
        near = read.lower[max(0, start - _BEFORE) : end + _AFTER]
        return cls(
            _OWN.search(near) is not None, _FAILS.search(near) is not None, _GENERAL.search(near) is not None
        )


def _tokens(text: str) -> list[_Token]:
    out: list[_Token] = []
    for found in _TOKEN.finditer(text):
        quoted = found["double"] or found["single"] or found["back"]
        if quoted is not None:
            behind = text[found.end() : found.end() + 2]
            out.append(
                _Token(
                    quoted.strip(), found.start(), True, False, True, behind[:1] in ".?!" or "\n" in behind
                )
            )
            continue
        chunk = found["chunk"]
        bare = chunk.lstrip(":=>([{,'") if chunk not in _ARROWS else ""
        lead = chunk[: len(chunk) - len(bare)]
        shown = bare.rstrip(".,;:?!)'\"]")
        tail = bare[len(shown) :]
        behind = text[found.end() : found.end() + 1]
        if shown or lead or tail:
            out.append(
                _Token(
                    shown + ("!" if tail.startswith("!") and any(map(str.isdigit, shown)) else ""),
                    found.start(),
                    False,
                    any(sign in lead for sign in ":=>"),
                    bool(tail) or behind in ("", "\n"),
                    any(sign in ".?!" for sign in tail) or behind == "\n",
                )
            )
            if shown and tail.endswith((":", "=")):
                out.append(_Token(":", found.end(), False, False, False, False))
    return out


_ARROWS = _words("-> => --> → |> ->> :: :-")


@lru_cache(maxsize=4_096)
def oddness(shown: str, is_quoted: bool) -> int:
    """How little a run looks like a word of a sentence: 0 ordinary, 1 a rare word, 2 joined or several "
    "words in
    quotation marks or capitals inside, 3 letters with digits or signs."""
    lower = shown.lower()
    if not 3 <= len(shown) <= 64 or lower in _FAMOUS or _HOLDER.search(lower) is not None:
        return 0
    if "/" in lower and lower.rpartition("/")[2] in _FAMOUS:
        return 0
    parts = _LETTERS.findall(lower)
    if parts and all(part in _HOLDS for part in parts) and sum(map(str.isdigit, shown)) < 4:
        return 0
    if " " in shown:
        words = lower.split()
        return 2 if 2 <= len(words) <= 10 and any(word not in _everyday() for word in words) else 0
    if not parts:
        return 1 if shown.isdigit() and len(shown) >= 4 else 0
    if _TECHNICAL.match(lower) is not None and not ("@" in shown and "." not in shown and _is_made(shown)):
        return 0
    if any(map(str.isdigit, shown)):
        return 3 if len(shown) >= 5 else 0
    if len(shown) >= 6 and any(char in _SIGNS for char in shown[1:]):
        return 3
    if len(parts) >= 3:
        if all(map(_is_ordinary, parts)) and any(part in _FUNCTION for part in parts):
            return 0
        return 1 if any(part in _FUNCTION for part in parts) else 2
    is_known = all(map(_is_ordinary, parts))
    if len(parts) == 2:
        cased = shown[0].isupper() and not shown.isupper()
        return 0 if is_known else 2 if cased or is_quoted or "_" in shown or "." in shown else 1
    if _CAMEL.search(shown) is not None:
        return 0 if all(map(_is_ordinary, map(str.lower, _CAMELS.findall(shown)))) else 2
    return 0 if is_known or len(shown) < 4 else 1


_HOLDER = re.compile(
    r"^[<{$\[(%\\]|x{3,}|\*{2,}|\.{3,}|_{3,}|…|^your|^my[_-]|^(?:process|os|env|config|self|this)\.|\w\("
)
_LETTERS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[a-zß-öø-ÿ][A-ZÀ-Þ]")
_CAMELS = re.compile(r"[A-ZÀ-Þ]?[a-zß-öø-ÿ]+|[A-ZÀ-Þ]+(?![a-zß-öø-ÿ])")


def _everyday() -> frozenset[str]:
    return personal.packaged().words


def _is_ordinary(lower: str) -> bool:
    return (
        lower in _PLAIN or lower in _FUNCTION or lower in _everyday() or _INFLECTED.search(lower) is not None
    )


def _after(read: Text, hint: re.Match[str]) -> bool:
    """Whether a value follows the word for a secret."""
    end = hint.end()
    mark = read.text[end : end + 1]
    if mark in ('"', "'") and mark and mark in read.text[max(0, hint.start() - 24) : hint.start()]:
        end += 1  # the word for a secret is the name of a field
    tokens = _tokens(read.text[end : end + _AFTER])
    around = _Around.of(read, hint.start(), end)
    if (around.general and not around.own) or _WITHOUT.search(read.before(hint.start(), 12)) is not None:
        return False
    bond, near, gap = "", 0, 0
    is_past = False  # in the next sentence already
    for token in tokens[:14]:
        lower = token.text.lower()
        if token.sign:
            bond, near = "sign", 0
        if not lower:
            bond = bond if token.sign else ""
            continue
        if not token.is_quoted and (lower in _BONDS or lower in _LOOSE):
            bond, near = (
                "sign" if lower in (":", "=", "-") else "is" if lower in _BONDS else bond or "loose",
                0,
            )
            is_past = is_past or token.stops
            continue
        odd = oddness(token.text, token.is_quoted)
        if odd < 3 and not bond and hint[0] == "pass" and not token.is_quoted:
            odd = 0  # a mountain's, a boarding pass
        if is_past:
            if odd == 3 and around.own and _is_made(token.text):
                return True
        elif odd and _fits(token, odd, bond if near == 0 else "", gap, around):
            return True
        is_past = is_past or (token.stops and (gap > 0 or odd == 0))
        if not (lower in _FILL and bond):
            near += 1
            gap += 1
    return False


_WITHOUT = re.compile(r"\b(?:without|no|ohne|sans|sin|senza|sem|zonder)(?: an?| ein| un)? $")


def _is_made(value: str) -> bool:
    """Whether a run has what people put into passwords alone: digits beside letters of both cases or "
    "signs."""
    signs = any(char in _SIGNS or char in "-_." for char in value[1:-1])
    cases = any(map(str.isupper, value)) and any(map(str.islower, value))
    return (
        len(value) >= 7
        and (cases or signs)
        and any(map(str.isdigit, value))
        and sum(map(str.isalpha, value)) >= 4
    )


def _fits(token: _Token, odd: int, bond: str, gap: int, around: _Around) -> bool:
    """Whether a value so odd may stand for a secret behind such a bond, ``gap`` words from the word for "
    "it."""
    real = around.own or around.fails
    close = bool(bond)
    adjacent = gap == 0 and not bond
    if odd == 3:
        if gap <= 3 and token.ends and token.text[:1].islower() and _WORDED.fullmatch(token.text) is not None:
            return True
        return close or adjacent or (gap <= 10 and (real or token.is_quoted))
    if bond == "loose" and not (odd == 2 and around.own and token.is_quoted):
        return False
    if odd == 2:
        if close:
            return gap < 4 or real or token.is_quoted
        return (adjacent and (real or token.is_quoted)) or (token.is_quoted and around.own)
    capital = token.text[:1].isupper() or token.text.isdigit()
    if token.is_quoted:
        return (close and (real or gap == 0)) or (adjacent and real)
    if bond == "sign" and gap == 0:
        return real or token.ends or (capital and not token.text.isdigit())
    if close:
        return real and (token.ends or capital)
    return adjacent and capital and real and not token.text.isdigit()


def _before(read: Text, start: int) -> bool:
    """Whether "… is my", "… as the" stands between a value and the word for a secret."""
    tokens = _tokens(read.text[max(0, start - 90) : start])
    between: list[str] = []
    for place in range(len(tokens) - 1, max(-1, len(tokens) - 9), -1):
        token = tokens[place]
        if _is_made(token.text) and oddness(token.text, token.is_quoted) == 3:
            around = _Around.of(read, start, start)
            if around.own and not around.general:
                return True
        if token.stops and place < len(tokens) - 1:
            return False
        if token.text.lower() not in _BACK:
            between.append(token.text.lower())
            continue
        if not place:
            return False
        value = tokens[place - 1]
        odd = oddness(value.text, value.is_quoted)
        own = any(_OWN.fullmatch(word) for word in between)
        around = _Around.of(read, start, start)
        if around.general and not own:
            return False
        if (
            odd == 3
            and (own or around.fails or around.own or (token.text.lower() in _AS and _is_made(value.text)))
        ) or (odd == 2 and (own or value.is_quoted or around.own)):
            return True
        if odd == 1 and value.is_quoted and (own or token.text.lower() in _AS):
            return True
        between.append(token.text.lower())
    return False


def _configured(read: Text) -> bool:
    """A value where only a password can stand: piped to a program that asks for one, behind an option."""
    if not any(hint in read.lower for hint in _PIPED_HINTS):
        return _NUMBERED.search(read.lower) is not None
    for found in _PIPED.finditer(read.lower):
        start, end = found.span(found.lastgroup or 0)
        least = {"strong": 2, "root": 3, "one": 3, "again": 3}.get(found.lastgroup or "", 1)
        if oddness(read.text[start:end].rstrip(".,;:?!)"), found.lastgroup != "strong") >= least:
            return True
    return _NUMBERED.search(read.lower) is not None


_LOGGED_ON = re.compile(
    r"\b(?:as|als|user|comme|como|come|account|benutzer|utilisateur|usuario) [\w.@-]{2,40},?"
    r" (?:with|and|/|mit|und"
    r"|avec|et|con|y|e) (?P<with>[^\s\"'()]{7,64})"
    r"|\b(?:log\w* (?:on|in|into)|sign\w* in|ssh|login|account|einlogg\w*|anmeld\w*|netflix|spotify"
    r"|disney|hulu"
    r"|paypal|e-?mail|gmail|steam|roblox|instagram|facebook|router|wi-?fi)\b[^.?!\n()]{0,48}\("
    r"(?P<aside>[^\s()\"']{7,64})\)"
    r"|\b(?:wi-?fi|wlan|hotspot|netflix|guest network|gastnetz)\b[^.?!\n:\"]{0,48}? (?:is|ist"
    r"|lautet|est|es|è|é|er|är)"
    r" (?P<guest>[^\W\d_]{8,40})(?=[,.;!\n]|$)"
    r"|\b(?:i|we|ich|je|yo|ik) (?:\w{3,8} )?(?:use|used|nutze|benutze|verwende|utilise|uso|gebruik)"
    r" (?P<use>[^\s\"'(),]{8,40})(?=[^\n]{0,90}\b(?:sites?|everywhere|accounts?|bank|dumb|clever"
    r"|safe|secure|logins?"
    r"|crack\w*|hack\w*|guess\w*|überall|partout)\b)"
    r"|\b(?:crack|guess|hack|brute[- ]?force|strong|secure|rate|mine|knacken|casser)\b[^\n\"]{0,60}"
    r"\"(?P<quoted>[^\s\"]{7,64})\""
    r"|\b(?:make|improve|strengthen|replace|change) (?P<better>[^\s\"',]{7,40}) (?:better|stronger"
    r"|longer|safer|more secure)\b"
    r"|\b(?:tried|typed|entered|keep typing|probiert|eingegeben|essayé|probado) (?P<tried>[^\s\"',]{6,40})"
    r"(?:,| and\b| or\b| which\b| that\b| but\b| und\b| et\b| y\b|[.;!?]|$)"
    r"|\"(?P<cracked>[^\s\"]{7,64})\" [^\n\"]{0,40}\b(?:crack\w*|guess\w*|hack\w*|strong|safe"
    r"|secure|hold up|survive)\b"
    r"|(?<![\w/])(?:root|admin|pi|administrator|sa|postgres) / (?P<slash>[^\s\"'/]{7,64})"
    r"|\b(?:logs?|logged|signs?) (?:in|on) with (?P<logs>[^\s\"',]{7,40})"
    r"|\b(?:use|try|enter|nimm|gib) \w{2,20}, (?P<pair>[^\s\"',]{7,40})(?=[.\s]{0,2}$|\n)"
    r"|\"(?P<as>[^\"\n]{4,40})\" (?:as|als|comme|como|come) (?:the|a|my|our|his|her|den|das|mein\w*"
    r"|mon|le|mi|el) "
    r"(?:\w{1,10} ){0,1}(?:code|pin|passcode|password|passwort|code d'accès|código|clave|codice)\b"
)
_GUESTS = re.compile(
    r"\b(?:guests?|my|our|sign|put it|cute|print|gäste|unser\w*|invités|notre|nuestr[oa]|mein\w*)\b"
)


_WORDED = re.compile(r"(?:[^\W\d_]{3,24}[-_.]?){1,3}\d{1,6}[!?*#$]?")
_LOCKED = re.compile(
    r"\b(?:get into|unlock\w*|locked|log ?in|sign in|open\w*|password|passwd|pin|pdf|zip|laptop"
    r"|wi-?fi|account|router)\b"
)


_MIXED = re.compile(r"[^\W\d_][^\s\w]?_?\d|\d[^\s\w]?_?[^\W\d_]")
_GUEST_OF = ("wifi", "wi-fi", "wlan", "hotspot", "netflix", "guest network", "gastnetz")


def _logged_on(read: Text) -> bool:
    """A value behind the name to log on with, in brackets behind what it opens, said to be used."""
    lower = read.lower
    if _MIXED.search(lower) is None and '"' not in lower and not any(word in lower for word in _GUEST_OF):
        return False
    for count, found in enumerate(_LOGGED_ON.finditer(lower)):
        if count >= _HITS_MAX:
            return True
        kind = found.lastgroup or ""
        start, end = found.span(kind)
        shown = read.text[start:end].rstrip(".,;:?)")
        odd = oddness(shown, kind in ("quoted", "as"))
        around = _Around.of(read, start, end)
        if around.general and not around.own:
            continue
        if kind == "as":
            if odd >= 1:
                return True
        elif kind == "guest":
            ordinary = _is_ordinary(shown.lower()) or _INFLECTED.search(shown.lower()) is not None
            if not ordinary and _GUESTS.search(read.lower[max(0, start - 60) : end + 60]) is not None:
                return True
        elif kind in ("better", "logs", "pair", "cracked", "slash"):
            if odd == 3 and (_is_made(shown) or kind == "slash"):
                return True
        elif kind == "tried":
            if odd == 3 and _WORDED.fullmatch(shown) is not None and _LOCKED.search(read.lower) is not None:
                return True
        elif kind == "use":
            if (
                odd == 3
                and _is_made(shown)
                and re.search(r"[^\W\d_]{4}\D*\d{2,}|[!?*#$&]", shown) is not None
            ):
                return True
        elif odd == 3 and _is_made(shown) and (around.own or around.fails):
            return True
    return False


_PIPED_HINTS = (
    *(
        "echo ",
        "requirepass",
        "masterauth",
        "bindpw",
        "-pass",
        "-pw",
        "identified by",
        "ssh-keygen",
        "wifi",
        "wi-fi",
    ),
    *(
        "wlan",
        "netz",
        "network",
        "ssid",
        "rete",
        "réseau",
        "begin(",
        "connect(",
        "login(",
        "auth(",
        "authenticate(",
    ),
    *("name:", "with password", "chpasswd", "htpasswd", "net use", "/p:", "/pass", "root:", "admin:", "pi:"),
    *(
        "administrator:",
        "ubuntu:",
        "one is",
        "one was",
        "one were",
        "pw is",
        "pw was",
        "pw were",
        "reuse",
        "recycle",
    ),
    *(
        "same old",
        "base64",
        "user",
        "how strong",
        "how secure",
        "how safe",
        "how good",
        "pass=",
        "pwd=",
        "pw=",
    ),
    *("password=", "psk="),
)
_PIPED = re.compile(
    r"\becho (?:-n )?[\"']?(?P<piped>[^\s\"'|$]{4,64})[\"']? ?\| ?(?:sudo|su\b|passwd|chpasswd"
    r"|cryptsetup|docker login|openssl|gpg"
    r"|base64|htpasswd|smbpasswd|vault|ansible)"
    r"|\b(?:requirepass|masterauth|bindpw|--?(?:pass(?:word|phrase)?|pw)|identified by"
    r"|ssh-keygen[^\n]{0,40} -n)[ =]{1,2}[\"']?"
    r"(?P<option>[^\s\"'<{$;)]{4,64})"
    r"|\bwifi:(?:[^\s:;]{1,10}:[^\s;]{0,40};){0,3}p:(?P<network>[^\s;]{4,64});"
    r"|(?:begin|connect|login|auth|authenticate)\( ?[\"'][^\"'\n]{1,40}[\"'], "
    r"?[\"'](?P<call>[^\"'\n]{4,64})[\"']"
    r"|\bname: ?\w{0,24}(?:pass|pw|secret)\w{0,12}\s{1,12}value: ?[\"']?(?P<manifest>[^\s\"'<{$]{4,64})"
    r"|\bwith password [\"'](?P<sql>[^\s\"'<{$]{4,64})[\"']|\schpasswd "
    r"[<\s]{0,4}[\"']?\w{1,32}:(?P<changed>[^\s\"']{4,64})"
    r"|\bhtpasswd -\w{0,4}b\w{0,4} \S{1,40} \S{1,32} (?P<web>\S{4,64})|\bnet use [^\n]{1,48}?\\\S{1,40} "
    r"(?P<share>[^\s/*:]{5,64})(?= /user)"
    r"|\s/p(?:ass(?:word)?)?:(?P<slash>[^\s\"'<{$/]{4,64})"
    r"|\b(?:wi-?fi|wlan|netzwerk|network|ssid|rete|réseau|netz)\b[^.?!\n]{0,40}[,/;(] ?(?:key|code|pw"
    r"|pass|schlüssel|clé|clave|chiave)"
    r"(?: is|:|=)? [\"']?(?P<key>[^\s\"'<{$),]{6,64})"
    r"|\bnet user \S{1,32} (?P<account>[^\s/*]{5,64})(?= /)|\b(?:root|admin|administrator|pi"
    r"|ubuntu):(?P<root>[^\s/@]{6,64})(?=\s|$)"
    r"|\b(?:old|new|last|current|previous) (?:one|pw) (?:is|was|were) (?P<one>[^\s]{6,64})"
    r"|\b(?:reuse[ds]?|recycle[ds]?|same old) (?P<again>[^\s\"',]{7,64}) (?:for|on|at|in|everywhere)\b"
    r"|\bbase64 (?:of|von|de|for) [\w.@-]{1,32}:(?P<basic>[^\s]{4,64})"
    r"|\buser(?:name)? [\w.@-]{2,32},? (?:with |and |und |mit )?(?:the )?(?:password|pass|pw|passwort"
    r"|kennwort) (?P<user>[^\s\"'<{$]{4,64})"
    r"|\bhow (?:strong|secure|safe|good) (?:is|would be) [\"']?(?P<strong>[^\s\"'?,]{8,64})"
    r"|(?<=[\s;,?&])(?:pass|pwd|pw|password|psk)=(?P<set>[^\s\"'<{$;,&()]{5,64})(?=[\s;,&.]|$)"
)


_COMPARED = re.compile(
    r"\b(?:stronger|safer|more secure|better|sicherer|besser|plus sûr|más segur[oa])\b[^.?!\n]{0,60}?"
    r"\b(?:i have|i use|mine|now|currently|which is|than)[, ]{1,2}(?:now |today |is |which is ){0,2}"
    r"(?P<value>[^\s\"']{7,64})"
)
_NUMBERED = re.compile(
    r"\b(?:words?|phrase|seed|wallet|recovery|mnemonic)\b[^.?!\n]{0,24}?[\s:](?:\d{1,2}[.):]? "
    r"?[a-z]{3,8}[\s,;]{1,2}){6}"
)


def _weighed(read: Text) -> bool:
    """A password asked about: whether it is good, how fast it is cracked."""
    for asked in (*_WEIGHED.finditer(read.lower), *_COMPARED.finditer(read.lower)):
        start, end = asked.span("value")
        shown = read.text[start:end].strip("\"'").rstrip(".,;:?!)")
        odd = oddness(shown, asked["value"][0] in "\"'")
        if (
            odd == 3
            and sum(map(str.isalpha, shown)) >= 4
            and len(shown) >= 7
            and any(map(str.isdigit, shown))
        ):
            around = _Around.of(read, start, end)
            if not around.general or around.own:
                return True
    return False


_WEIGHED = re.compile(
    r"\b(?:is|ist|est|es|crack|casser|knacken|break|brute[- ]?force|rate|guess|hack|than|sehen, wann "
    r"ich)[\s:]{1,2}"
    r"(?P<value>[\"'][^\"'\s]{6,64}[\"']|[^\s\"']{6,64})"
    r"(?=[^\n]{0,60}\b(?:strong|good|safe|secure|enough|weak|ok|okay|sicher|gut|lang genug|reicht"
    r"|segur[oa]|buena|bon|fort|sûr|sicura"
    r"|bank|banque|banca|banco|account|mine|yours|password|passwort)\b)"
)


def _sent(read: Text) -> bool:
    """A code that was sent to somebody: ``G-552910 is your verification code``."""
    if not read.has_digit or not any(part in read.lower for part in _CODE_PARTS):
        return False
    for found in _CODE_SENT.finditer(read.lower):
        if _OTHER_CODES.search(found[0]) is None and (found["as"] or "") not in _OFTEN:
            return True
    return False


_CODE_PARTS = _words("cod pin otp tan pass type typing press enter digit stellig comb")
_CODE_SENT = re.compile(
    r"(?<![\w-])(?:[a-z]-)?(?:\d{3}[ -]?\d{3}|\d{4,8}|\d{2,4}[ -]\d{2,4})#? (?:is|ist|est|es|è|é|est "
    r"votre) (?:your|dein|ihr|votre|ton|tu|su"
    r"|il tuo|o seu|je)\b[^.?!\n]{0,32}?(?:code|pin|passcode|otp|tan|código|codice)\b"
    r"|(?<![\w.-])(?P<as>\d{4,8}) (?:as|als|comme|como|come) (?:the|my|our|a|mein\w*|mon|ma|mi|meu)\b[\w "
    r"]{0,20}\b(?:code|pin|passcode|password)\b"
    r"|\b(?:the|my|our|die|der|meine?|same) (?:same )?(?:[4-8]|six|eight)[ -]?(?:digits?"
    r"|stellige\w?)\b[^.?!\n\d]{0,40}(?<![\w.-])\d{4,8}(?![\w.-]\d)"
    r"|\b(?:typ(?:e|ed|ing)|press(?:ed)?|enter(?:ed)?) (?:in )?(?:\d(?:, ?| and | "
    r")){0,6}\d{1,8}\b[^?!\n]{0,48}\b(?:atm|keypad|door|alarm|safe)\b"
    r"|\b(?:keypad|door|alarm|safe|lock ?box)\b[^.?!\n\d]{0,32}\b(?:press|type|enter) (?:\d(?:, ?| then "
    r"| )){2,6}\d\b"
    r"|\b(?:the|our|my) (?:[\w'-]{1,12} ){0,2}(?:code|combo|combination|pin) from \d{4,8} to \d{4,8}(?!\w)"
)
_AS = _words("as als comme como come")
_BACK = _words("is was as for ist war als est comme es como è come é to jest är er mine are both")


def _in_use(read: Text) -> bool:
    """A value that somebody says to use for something, with no word for a secret beside it."""
    for use in _BARE_USE.finditer(read.lower):
        start = max(0, use.start() - 140)
        near = read.lower[start : use.end() + 60]
        if _USED.search(near) is None or _ABOUT.search(near) is None:
            continue
        for token in _tokens(read.text[start : use.end() + 60])[:48]:
            odd = oddness(token.text, token.is_quoted)
            letters = sum(map(str.isalpha, token.text))
            if (odd == 3 and letters >= 4 and len(token.text) >= 7) or (odd == 2 and token.is_quoted):
                return True
    return False


def _paired(read: Text, hint: re.Match[str]) -> bool:
    """A user's name and a password: ``bob / Sommer2019!``, ``"Loft" / "bringyourowncheese"``."""
    behind = read.text[hint.end() : hint.end() + 90].split("\n")[0]
    if "wi" in hint[0] or "wl" in hint[0]:
        named = re.match(r"\w? ?(?:\w{1,12} )?[:=] ?[\"']?([^\s\"']{7,64})", behind)
        if (
            named is not None
            and _is_made(named[1].rstrip(".,;:?!)"))
            and oddness(named[1].rstrip(".,;:?!)"), False) == 3
        ):
            return True
    comma = _COMMA.match(behind)
    if comma is not None and oddness(comma[1].rstrip(".,;:?!)"), False) == 3:
        around = _Around.of(read, hint.start(), hint.end())
        if around.own or around.fails:
            return True
    for found in _PAIR.finditer(behind):
        shown = found["value"] or found["quoted"]
        odd = oddness(shown.rstrip(".,;:?!)"), found["quoted"] is not None)
        around = _Around.of(read, hint.start(), hint.end())
        if (around.general and not around.own) or _OTHER_PAIR.search(found[0].lower()) is not None:
            return False
        real = around.own or around.fails or (found["quoted"] is not None and hint[0][:1] == "w")
        real = real or read.before(hint.start(), 8).endswith(("use ", "with ", "as "))
        if odd >= 2 or (odd == 1 and real and (found["slash"].startswith(" ") or shown[0].isupper())):
            return True
    return False


_PAIR = re.compile(
    r"(?<![^\s(=:\"',])[\"']?(?P<name>[^\W_][\w.@+-]{1,40}|[^\"'\n/]{2,24}(?=[\"']))[\"']?(?P<slash> ?[/"
    r"|] ?|:(?=\S)|;)"
    r"(?:\"(?P<quoted>[^\"\n]{3,64})\"|(?P<value>[^\s\"'/|;:]{4,64}))(?=[\s.,;)\"'?!]|$)"
)
_COMMA = re.compile(r"(?: is|s are|:| =) ?[\w.@+-]{2,40}, (?!\d)([^\s\"']{6,64})")
_OTHER_PAIR = re.compile(r"(?:https?|tcp|udp|ssh|ftp|smtp|imap|and/or|ip|and|or)[:/]|[/:]\d+$")


def _code(read: Text, hint: re.Match[str]) -> bool:
    """Whether digits that open something follow the word for a code, a lock or what it opens."""
    found = _DIGITS.match(read.text, hint.end(), min(len(read.text), hint.end() + 72))
    if found is None:
        return False
    gap = (found["gap"] + found["sign"]).lower()
    value = "".join(filter(str.isdigit, found["value"]))
    word = hint[0]
    least = 3 if "-" in found["value"] or _DIAL.search(read.before(hint.start(), 24) + word + gap) else 4
    if len(value) < least and not (found["hash"] or not found["value"].isdigit()):
        return False
    before = read.before(hint.start(), 28)
    if set(value) == {"0"} and _OWN.search(before + gap) is None:
        return False
    if _CODE_BOND.search(gap) is None and not (
        _CODE_ASIDE.search(gap) is not None and _OWN.search(before + gap) and value[:2] not in ("19", "20")
    ):
        goes_on = found["value"].isdigit() and _GOES_ON.match(read.lower, found.end()) is not None
        if (
            goes_on
            or len(gap) > 28
            or _OPENING.search(before + word + gap) is None
            or (found["value"].isdigit() and _OWN.search(before) is None)
        ):
            return False
    if _OTHER_CODES.search(before + word + gap) is not None:
        return False
    start, end = max(0, hint.start() - 70), found.end() + 60
    near = read.lower[start:end]
    around = _Around.of(read, hint.start(), found.end())
    if not around.own and (
        around.general or (value in _OFTEN and not found["hash"]) or _OTHER_CODES.search(near) is not None
    ):
        return False
    if _SURE.search(word) is not None:  # six digits: an Indian postcode is called so as well
        return (
            around.own
            or around.fails
            or any(sign in gap for sign in ":=#(")
            or len(value) != 6
            or word[0] != "p"
        )
    opening = _OPENING.search(before + word + gap) is not None or (
        _OPENING.search(near) is not None and (around.own or around.fails)
    )
    if not opening:
        return False
    if _THING.fullmatch(word) is not None:
        is_year = len(value) == 4 and value[:2] in ("18", "19", "20")
        bare = found["value"].isdigit() and not found["hash"]
        if bare and (is_year or _GOES_ON.match(read.lower, found.end()) is not None):
            return False
        return bool(gap.strip(" \"'("))
    return True


_CODE_ASIDE = re.compile(r"\b(?:is|was|ist|war|est|es|è|é)\b [^.?!:;=\d]{1,28} $")
_ALPHABET = _words(
    "alpha bravo charlie delta echo foxtrot golf hotel india kilo lima mike november oscar papa"
    " quebec romeo "
    "sierra tango uniform victor whiskey yankee zulu capital underscore dash hash"
)
_SPOKEN = "|".join(sorted({*personal.alike("Digit"), *_ALPHABET}, key=lambda word: (-len(word), word)))
_SPELT = re.compile(
    rf"(?:'s| [^.?!\n]{{0,24}}?\b(?:is|ist|est|es|è|é)|:) (?:(?:{_SPOKEN})["
    rf" ,-]{{1,2}}){{2,9}}(?:{_SPOKEN})\b"
)
_SURE = re.compile(r"pin|пин|puk|tan$|otp|cvv|cvc|digicode|geheimzahl|pass|kennwort|mdp|clave")
_THING = re.compile(
    r"safe|tresor|coffre|lock|locker|alarm[ea]?|alarmanlage|padlock|lockbox|opens?|unlocks?|doors?|gate"
    r"|suitcase|haustür|tür"
    r"|porte|puerta|cancello|deur|atm|keypad"
)
_GOES_ON = re.compile(
    r" ?(?:(?!(?:and|but|then|plus|followed|dann|puis|und|so|by|when|on|why|how|et|y|e|i|a)\b)[a-z]+\b"
    r"|[€$%])"
)


_DIAL = re.compile(
    r"\b(?:bike|luggage|suitcase|padlock|dial|cvv2?|cvc2?|maleta|valise|koffer\w*|valigia|cadenas"
    r"|candado|fahrrad\w*|fiets"
    r"|vélo|lucchetto|cadeado|zahlenschloss)\b"
)


def _phrase(read: Text, hint: re.Match[str]) -> bool:
    """Whether a row of words follows that make no sentence: recovery words, a passphrase."""
    behind = read.text[hint.end() : hint.end() + 260]
    is_pass = hint.lastgroup == "pass"
    around = _Around.of(read, hint.start(), hint.end())
    if around.general and not around.own:
        return False
    quoted = _QUOTED_PHRASE.match(behind)
    if (
        quoted is not None
        and not is_pass
        and (around.own or around.fails or "with" in read.before(hint.start(), 12))
    ):
        return True
    start = _PHRASE_BOND.match(behind)
    if start is None:
        return False
    row = _WORDS.match(behind, start.end())
    if row is None:
        return False
    words = _LETTERS.findall(row[0].lower())
    first = words[:8]
    plain = sum(word in _FUNCTION or word in _PLAIN for word in first)
    if len(words) >= 8 and plain <= 1 and not is_pass:
        return True
    if is_pass and not ((around.own and "phrase" in hint[0]) or (around.own and row[0].count(",") == 0)):
        return False
    first = words[:5]
    common = sum(_is_ordinary(word) for word in first)
    if len(words) < 4 or any(word in _FUNCTION or word in _PLAIN for word in first):
        return False
    return common <= 3 or (around.own and "phrase" in hint[0] and bool(start[0].strip()))


_QUOTED_PHRASE = re.compile(r"[^.?!\n\"]{0,24}?[\s:=(,-]\"(?:[^\s\"]{2,20} ){2,12}[^\s\"]{2,20}\"")


_PHRASE_BOND = re.compile(
    r"(?:[^.?!\n:=]{0,40}?(?:\b(?:is|are|was|were|ist|sind|lautet|est|es|sont|son|è|sono|start\w*"
    r"|begin\w*)\b(?: (?:with|mit|par|con))?"
    r"|[:=>,])|)[\s:=>,\"'-]{1,4}(?:\d{1,2}[.)] ?)?(?=[^\W\d_])"
)


def _answered(read: Text, hint: re.Match[str]) -> bool:
    """Whether the answer to a question of security, or a memorable word, is told."""
    around = _Around.of(read, hint.start(), hint.end())
    if around.general and not around.own:
        return False
    behind = read.text[hint.end() : hint.end() + 110]
    is_word = "word" in hint[0] or "wort" in hint[0] or "name" in hint[0]
    quoted = re.match(r"[\s:=,(-]{0,4}(?:is |are |was )?\"([^\"\n]{3,40})\"", behind)
    if quoted is not None and is_word:
        return True
    for found in _REPLY.finditer(behind):
        value = found["value"]
        if value.lower() in _FUNCTION or value.lower() in _PLAIN:
            continue
        if found["quote"] or (value[0].isupper() and not value.isupper() and (around.own or not is_word)):
            return True
        if is_word and around.own and not _is_ordinary(value.lower()) and found.start() < 30:
            return True
    return False
