"""Where somebody is to be found: precise coordinates, street addresses with a house number, licence plates.

Pure. Coordinates count from four decimals on (eleven metres) or with seconds; a city's rounded ones do not.
A street and house number count with a postal code and a town, or beside words for somebody's home or a
delivery: famous houses are asked about without either. A plate counts after the words for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from node.privacy.text import Text

_PAIR = re.compile(
    r"(?<![\w.])[-+]?\d{1,2}\.\d{4,15}\s{0,2}°?\s{0,2}[NSns]?\s{0,2}[,;/ "
    r"]\s{0,2}[-+]?1?\d{1,2}\.\d{4,15}(?!\d)"
    r"|(?<![\w.])\d{1,2}\.\d{4,15}\s?°\s?[NSns]\b"
    r"|\blat(?:itude)?\b\"?\s{0,2}[:=]?\s{0,2}[-+]?\d{1,2}\.\d{4,15}[^&\n]{1,12}?\b(?:lon|lng|long"
    r"|longitude)\b\"?\s{0,2}[:=]?\s{0,2}[-+]?\d{1,3}\.\d{4,15}"
    r"|(?:breite|latitude|latitud|breitengrad)\w{0,6} (?:is |ist |est |es |of )?[-+]?\d{1,2}\.\d{4,15}"
    r"|geo:[-+]?\d{1,2}\.\d{4,15},[-+]?\d{1,3}\.\d{4,15}",
    re.IGNORECASE,
)
_SEXAGESIMAL = re.compile(
    r"\b\d{1,2}\s?[°º]\s?\d{1,2}\s?['′m]\s?\d{1,2}(?:[.,]\d{1,6})?\s?(?:\"|''|″|s)?\s?[NSns]?[, "
    r"]{1,3}\d{1,3}\s?[°º]\s?\d{1,2}\s?['′m]\s?\d{1,2}(?:[.,]\d{1,6})?"
    r"|\b\d{1,2}\s?[°º]\s?\d{1,2}\.\d{3,8}\s?['′]"
    r"|\b[NSns]\s?\d{1,2}\s?[°º]\s?\d{1,2}(?:[.,]\d{2,6}|\s?['′]\s?\d{1,2})"
)
_PLUS_CODE = re.compile(
    r"(?<![0-9A-Z])[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,3}(?![0-9A-Z])"
    r"|///[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}\b"
)

_EN_STREET = (
    r"\b\d{1,5}[a-z]?,? (?:[NSEW]\.? |north |south |east |west )?(?:[\w'-]{2,20} ){1,3}"
    r"(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|boulevard|blvd|way|place|pl|square"
    r"|sq|terrace|close|crescent|cres|parkway|pkwy|circle|cir|highway|hwy|"
    r"gardens|grove|mews|row|hill|park|walk|view|quay|trail|alley|parade|pde|esplanade|turnpike|pike|croft"
    r"|villas|loop|causeway|rise|heights|landing|crossing|ridge|glen|meadows)\b"
)
_BY_PLACE = re.compile(
    r"\b(?:am|im|an der|an den|auf der|auf dem|in der|zum|zur|unter den|hinter der|vor dem) [\w-]{3,20}$"
)
_STREET_ENDS = (
    *(
        "straße",
        "strasse",
        "str.",
        "str",
        "weg",
        "platz",
        "allee",
        "gasse",
        "ring",
        "damm",
        "ufer",
        "steig",
        "chaussee",
        "hof",
    ),
    *(
        "straat",
        "laan",
        "plein",
        "gracht",
        "kade",
        "dijk",
        "singel",
        "gatan",
        "vägen",
        "gade",
        "vej",
        "veien",
        "katu",
    ),
)
_TOWN = re.compile(r",? \d{5} ")
_HOUSE = re.compile(r" \d{1,4} ?[a-z]?\b(?!\.\d|,\d)")
_FR_STREET = (
    r"\b\d{1,4}(?: ?bis| ?ter)?,? ?(?:rue|avenue|av\.?|boulevard|bd\.?|place|chemin|impasse|allée|quai"
    r"|route|cours|passage|square|faubourg) [\w'-]{2,20}"
)
_ES_STREET = (
    r"(?:\b(?:calle|avenida|avda\.?|plaza|paseo|carrer|camino|ronda|travesía|carretera|via|viale"
    r"|piazza|corso|rua|travessa|praça|largo)|\bc/) ?"
    r"(?:[\w'.-]{1,20},? ){1,5}(?:n[º°.o]{0,2} ?|número |numero )?\d{1,4}\b"
)
_BOX = r"\b(?:p\.? ?o\.? box|postfach|apartado|boîte postale|bp) \d{2,6}\b"
_NUMBER_FIRST = re.compile("|".join((_EN_STREET, _FR_STREET)))
_STREET_FIRST = re.compile("|".join((_ES_STREET, _BOX)))
_STREET_WORDS = frozenset(
    [
        "calle",
        "avenida",
        "avda",
        "plaza",
        "paseo",
        "carrer",
        "camino",
        "ronda",
        "travesía",
        "carretera",
        "c",
        "via",
        "viale",
        "piazza",
        "corso",
        "rua",
        "travessa",
        "praça",
        "largo",
        "box",
        "postfach",
        "apartado",
        "postale",
        "bp",
    ]
)
_FIVE_DECIMALS = re.compile(r"\d\.\d{5}")
_SIGHT = re.compile(
    r"\b(?:coordinates of|koordinaten von|coordonnées de|coordenadas de|coordinate di|where (?:is"
    r"|are|on earth)|which"
    r" (?:city|town|country|place)|what (?:city|town|country|place) (?:is|lies)|capital"
    r"|observatory|tower|mount|city)\b"
)
_PROPER = re.compile(
    r"(?<![\w\"])(?!(?:What|Where|Which|How|The|This|Is|Are|Why|Please|Can|Could|Find|Show|Route"
    r"|Location|Position|Koordinaten"
    r"|Coordinates|Coords|Coordonnées|Coordenadas|Coordinate|Standort|North|South|East|West|Point"
    r"|Feature|Latitude|Longitude"
    r"|Lat|Lon|Long|GPS|Google|Maps|Answer|Treffpunkt|Meet|Exif|Wo|Was|Wie|Dove|Qué|Dónde|Où|Quel|User)\b)"
    r"[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{3,}"
)
_OPEN_TO_ALL = re.compile(
    r"\b(?:\w*museum|museo|musée|muster\w*|sample|headquarters|embassy|parliament|reichstag|palace"
    r"|cathedral"
    r"|stadium|open(?:s|ing)? (?:hours|daily|from|at|until|\d)|closed on|geöffnet|öffnungszeiten|horario"
    r"|horaires|orari)\b"
)
_SOMEBODYS = re.compile(
    r"\b(?:i|i'm|my|our|we|me|us|his|her|their|home|house|meet|pick|parked|mein\w{0,2}|ich|wir"
    r"|mon|ma|je|mi|vivo|casa)\b"
)
_DECIMALS = re.compile(r"\d\.\d{4}")
_POSTAL = re.compile(
    r"^[^?!\n]{0,40}?(?:\b(?:nsw|vic|qld|wa|sa|tas|act|nt) \d{4}\b|\b\d{5}(?:-\d{4})?\b"
    r"|\b[a-z]{1,2}\d[a-z0-9]? ?\d[a-z]{2}\b|\b[a-z]\d[a-z] "
    r"?\d[a-z]\d\b|\b\d{4} ?[a-z]{2}\b|\b\d{4} [a-zäöü]{3,})|^,? ?(?:apt|apartment|unit|suite|flat"
    r"|wohnung|appt|piso)\b"
)
_HOME = re.compile(
    r"\b(?:i|i'm|my|our|we|me|us|ich|mein\w{0,2}|unser\w{0,2}|wir|mir|je|j'\w+|mon|ma|notre|nous|moi"
    r"|vivo|mi|mis|nuestr[oa]|vivimos|me|yo|"
    r"he|she|his|her|their|they|abito|abitiamo|moro|moramos|woon|live[sd]?|living|resid\w+|move[sd]?"
    r"|wohn\w*|habit\w*|domicili\w*|viv\w+|"
    r"ship\w*|deliver\w*|send|mail|parcel|package|address|invoice|bill(?:ed|ing)?|pick(?:ed)? (?:me "
    r")?up|home|house|apartment|flat|"
    r"adresse|anschrift|liefer\w*|paket|schick\w*|zustell\w*|livr\w*|envoy\w*|colis|envía\w*|enviar"
    r"|envíen|entreg\w*|paquete|dirección|domicilio|casa|"
    r"indirizzo|endereço|adres|customer|patient|tenant|mr|mrs|ms|herr|frau|monsieur|madame|señora?"
    r"|resident|name)\b"
)
_FAMOUS = re.compile(
    r"\b(?:10 downing|11 downing|1600 pennsylvania|221b? baker|350 (?:fifth|5th)|4 privet|742 "
    r"evergreen|12 grimmauld|124 conch|1 infinite|1600 amphitheatre|"
    r"42 wallaby way|55 (?:rue )?du faubourg|30 rockefeller|1313 mockingbird|20 w 34th|1 apple park"
    r"|1 hacker way|1 microsoft)\b"
)
_PLATE_WORD = re.compile(
    r"\b(?:licen[cs]e plates?|number ?plates?|plate(?: number| no)?|vehicle registration|car "
    r"registration|registration(?: number| plate)?|reg(?:istered)? (?:number|no)|tags? number|"
    r"kennzeichen|nummernschild|autokennzeichen|plaque(?: d'immatriculation)?|immatricul\w*"
    r"|matr[íi]cula|targa|placa|kenteken|plates?)\b"
)
_PLATE = re.compile(
    r"(?<![\w])(?:[A-ZÄÖÜ]{1,3}[- ·]{1,3}[A-Z]{1,2}[- ]?\d{1,4}[EH]?|[A-Z]{2}[- ]?\d{2}[- ]?[A-Z]{3}"
    r"|[A-Z]{2}[- ]?\d{3}[- ]?[A-Z]{2}|\d{4}[- ]?[A-Z]{3}|[A-Z]{2,3}[- ]?\d{3,4}|"
    r"\d[A-Z]{3}\d{3}|\d{3}[- ]?[A-Z]{3}|[A-Z]\d{1,3}[- ]?[A-Z]{3}|[A-Z]{3}[- ]?\d{1,3}[A-Z]"
    r"|[A-Z]{1,3}[- ]\d{2,6}|\d{1,2}-[A-Z]{2,3}-\d{1,2}|[A-Z]{3}\d[A-Z]\d\d|[A-Z]{2} ?\d{2} "
    r"?[A-Z]{1,2} ?\d{4}|"
    r"[A-Z]{2}-\d{3}-[A-Z]|\d[A-Z]{2}\d{3}|[A-Z]\d{3}[A-Z]{2}\d{0,3})(?!\w)",
    re.IGNORECASE,
)
_NO_PLATE = re.compile(
    r"(?:in|the|of|is|a|an|to|on|at|for|year|since|by|from|until|rule|size|no)\b", re.IGNORECASE
)
_STREETS_MAX = 256


def find(read: Text) -> str | None:
    """``coordinates``, ``plate`` or None."""
    if ("+" in read.text or "///" in read.text) and _PLUS_CODE.search(read.text):
        return "coordinates"
    if not read.has_digit:
        return None
    if _pair(read) and not _is_sight(read):
        return "coordinates"
    if ("°" in read.text or "º" in read.text) and _SEXAGESIMAL.search(read.text) and not _is_sight(read):
        return "coordinates"
    return "plate" if _plate(read) else None


def find_address(read: Text) -> str | None:
    """``address`` or None."""
    if _OPEN_TO_ALL.search(read.lower) is not None and _HOME.search(read.lower) is None:
        return None
    if not (read.has_digit and (_street(read) or _with_code(read) or _with_home(read))):
        return None
    is_public = _SPEAKER.search(read.lower) is None and _OF_NOTE.search(read.lower) is not None
    return None if is_public else "address"


_OF_NOTE = re.compile(
    r"^(?:the|der|die|das|le|la|el|il) [^\n:\d]{3,40}: |\b(?:(?:he|she|they|who) (?:once )?lived"
    r" (?:at|in|on)|[^\W\d_]{3,20} lived (?:at|in)|museums?|[^\W\d_]+-haus|museo|musée"
    r"|museet|muzeum|born (?:on )?\d|born (?:at|in)|died|palace|castle|cathedral|headquarters|head office"
    r"|address of (?:the )?[^\W\d_]+|central bank|embassy|consulate|ministry|parliament|town hall|city hall"
    r"|better known as|known as|poet|painter|composer|president|prime minister|queen|king|emperor|novelist"
    r"|philosopher|architect|built in|designed by|listed building|landmark|memorial|assassinat\w+|shot at"
    r"|blue plaque|plaque at|founded|geburtshaus|wohnhaus|gedenktafel|wohnte (?:in|im|am)|lebte"
    r" (?:in|im|am)"
    r"|sitz (?:der|des|von)|hauptsitz|maison natale|siège (?:de|du|social)|vécut|casa natal|sede d\w+"
    r"|vivió en|casa natale|visse|sample|handbook|muster\w*|template|specimen|fictional)\b"
)
_SPEAKER = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|mine|our|we|we're|we've|me|us|ich|mein\w{0,2}|unser\w{0,2}|wir"
    r"|mir|mich|uns|je"
    r"|j'\w+|mon|ma|mes|notre|nos|nous|moi|mi|mis|yo|nuestr[oa]|vivo|vivimos|abito|abitiamo|mio|mia"
    r"|moro|meu"
    r"|minha|ik|mijn|ons|onze|wij|customer|patient|tenant|client|deliver\w*|ship|shipping)\b"
)
_UPPER = r"[A-ZÀ-ÖØ-ÞŁŚŽŠČ][\w'-]{1,20}"
_CODED = re.compile(
    rf"(?<![\w.,-])\d{{1,5}}[A-Za-z]?,? (?:{_UPPER},? ){{2,6}}(?:[A-Z]{{1,2}}\d[A-Z0-9]? \d[A-Z]{{2}}"
    rf"|[A-Z]{{2}},? \d{{5}}"
    rf"|[A-Z]{{2}} [A-Z]\d[A-Z] ?\d[A-Z]\d|(?:NSW|VIC|QLD|WA|SA|TAS|ACT|NT) \d{{4}}|\d{{6}})(?!\w)"
    rf"|(?:{_UPPER}[ -]){{1,3}}\d{{1,4}}[a-z]?(?:[/-]\d{{1,3}}){{0,2}}, (?:[A-Z]{{1,2}}-)?(?:\d{{4,5}}"
    rf"|\d{{4}} [A-Z]{{2}}) {_UPPER}"
)
"""A house number, capitalised words and a post code, in the orders of English and of continental letters."""
_HOUSE_NAMED = re.compile(
    rf"\b(?:(?i:i live|we live|i'm (?:now )?at|we're at|i own (?:\w+ ){{1,3}}at|my (?:new |old )?(?:house"
    rf"|home|flat|place|apartment|address|cottage"
    rf"|room|bike|parcel|delivery|package)|at mine|by mine|mine|my home|our (?:house|home|flat|place)"
    rf"|residence|residing"
    rf"|shipping|ship|deliver(?:ed|y)?|my (?:grand)?(?:ma|pa|mother|father|mom|dad|parents|sister|brother"
    rf"|son|daughter)"
    rf"(?:'s| lives?)?|pick(?: me)? up|collect|drop(?: it)? off|left it|instead of my|home address)"
    rf"[^.?!\n]{{0,24}}?[ ,:])(?!(?:19|20)\d\d )\d{{1,4}}[A-Za-z]? {_UPPER} {_UPPER}(?=\s{{0,2}}[,.;!\n]|$|"
    rf" [A-Z]| (?:around|instead|is|at|by|before|and)\b)"
    rf"|(?<![\w.,])\d{{1,4}}[A-Za-z]? {_UPPER} {_UPPER}[^.\n]{{0,24}}\b(?i:is where (?:i|we) live|where"
    rf" (?:i|we) live"
    rf"|(?:i|we) (?:just )?moved in|is my (?:home|house|place|address)|is our (?:home|house))\b"
)


def _with_code(read: Text) -> bool:
    return any(
        _FAMOUS.search(read.lower, max(0, found.start() - 4), found.end() + 8) is None
        for found in _CODED.finditer(read.text)
    )


def _with_home(read: Text) -> bool:
    return not _HOUSE_FIRST.isdisjoint(read.words) and _HOUSE_NAMED.search(read.text) is not None


_HOUSE_FIRST = frozenset(
    [
        "i",
        "we",
        "my",
        "mine",
        "our",
        "residence",
        "residing",
        "shipping",
        "ship",
        "deliver",
        "delivered",
        "delivery",
        "collect",
        "pick",
        "drop",
        "left",
        "home",
    ]
)
_LIES = re.compile(
    r"(?:^|[.!?\n] ?)[^\W\d_][^.?!\n\d]{2,32} (?:lies at|is at|is located at|liegt bei|liegt auf|se trouve"
    r" à|est à|está a|está en"
    r"|se encuentra en|fica a|si trova a|ligt op) "
)


def _pair(read: Text) -> bool:
    """Whether two numbers of many decimals stand together as coordinates do."""
    return any(
        _PAIR.search(read.text, max(0, found.start() - 40), found.end() + 80)
        for found in _DECIMALS.finditer(read.text)
    )


def _is_sight(read: Text) -> bool:
    """Whether a town or a sight is named or asked for, by nobody as theirs, with no more than four "
    "decimals."""
    return (
        (
            _SIGHT.search(read.lower) is not None
            or _LIES.search(read.lower) is not None
            or _PROPER.search(read.text) is not None
        )
        and _FIVE_DECIMALS.search(read.text) is None
        and _SOMEBODYS.search(read.lower) is None
    )


def _street(read: Text) -> bool:
    count = 0
    for start, end in _streets(read):
        count += 1
        if count > _STREETS_MAX:
            return True
        if _FAMOUS.search(read.lower, max(0, start - 4), end + 8):
            continue
        has_code = _POSTAL.search(read.after(end, 56)) is not None
        shown = read.text[start:end]
        if (
            not has_code
            and not any(char.isupper() for char in shown)
            and not _LIVE_AT.search(read.before(start, 40))
        ):
            continue
        if has_code or _HOME.search(read.before(start, 72)) or _HOME_AFTER.search(read.after(end, 40)):
            return True
    return False


def _streets(read: Text) -> Iterator[tuple[int, int]]:
    """Where a street and a house number stand."""
    for found in _NUMBER_FIRST.finditer(read.lower):
        yield found.start(), found.end()
    if not _STREET_WORDS.isdisjoint(read.words):
        for found in _STREET_FIRST.finditer(read.lower):
            yield found.start(), found.end()
    for found in _HOUSE.finditer(read.lower):
        if read.lower.endswith(_STREET_ENDS, max(0, found.start() - 30), found.start()):
            word = read.lower.rfind(" ", max(0, found.start() - 30), found.start()) + 1
            yield word or found.start(), found.end()
        elif _TOWN.match(read.lower, found.end()):
            place = _BY_PLACE.search(read.lower, max(0, found.start() - 36), found.start())
            if place is not None:
                yield place.start(), found.end()


_LIVE_AT = re.compile(
    r"\b(?:i live|we live|my (?:\w+ )?address|wohnen?|anschrift|adresse|j'habite|habitons|vivo"
    r"|vivimos|mi dirección|domicilio)\b"
)
_HOME_AFTER = re.compile(
    r"^[^?!\n]{0,24}\b(?:my|our|mein\w{0,2}|mon|ma|mi|is where (?:i|we)|wohne|lebe|leb)\b"
)


def _plate(read: Text) -> bool:
    for count, found in enumerate(_PLATE_WORD.finditer(read.lower)):
        if count >= _STREETS_MAX:
            return True
        place, last = found.end(), found.end() + 56
        while (plate := _PLATE.search(read.text, place, last)) is not None:
            word = _NO_PLATE.match(plate[0])
            if word is None:
                return True
            place = plate.start() + word.end()
        if _PLATE.search(read.text, max(0, found.start() - 24), found.start()):
            return True
    return False
