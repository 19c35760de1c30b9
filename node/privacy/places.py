"""Where somebody is to be found: precise coordinates, street addresses with a house number, licence plates.

Pure. Coordinates count from four decimals on (eleven metres) or with seconds; a city's rounded ones do not.
A street and house number count with a postal code and a town, or beside words for somebody's home or a
delivery: famous houses are asked about without either. A plate counts after the words for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from node.privacy.text import Text
from node.privacy.words import entries, fill, listed, word

_FINE = r"\.\d{4,15}"
_PAIR = re.compile(
    rf"(?<![\w.])[-+]?\d{{1,2}}{_FINE}\s{{0,2}}°?\s{{0,2}}[NSns]?\s{{0,2}}[,;/ ]\s{{0,2}}[-+]?1?\d{{1,2}}"
    rf"{_FINE}(?!\d)|(?<![\w.])\d{{1,2}}{_FINE}\s?°\s?[NSns]\b"
    rf"|\blat(?:itude)?\b\"?\s{{0,2}}[:=]?\s{{0,2}}[-+]?\d{{1,2}}{_FINE}[^&\n]{{1,12}}?\b(?:lon|lng|long"
    rf"|longitude)\b\"?\s{{0,2}}[:=]?\s{{0,2}}[-+]?\d{{1,3}}{_FINE}"
    rf"|(?:breite|latitude|latitud|breitengrad)\w{{0,6}} (?:is |ist |est |es |of )?[-+]?\d{{1,2}}{_FINE}"
    rf"|geo:[-+]?\d{{1,2}}{_FINE},[-+]?\d{{1,3}}{_FINE}",
    re.IGNORECASE,
)
_MINUTES = r"\d{1,2}\s?[°º]\s?\d{1,2}\s?['′m]\s?\d{1,2}(?:[.,]\d{1,6})?"
_SEXAGESIMAL = re.compile(
    rf"\b{_MINUTES}\s?(?:\"|''|″|s)?\s?[NSns]?[, ]{{1,3}}\d?{_MINUTES}"
    r"|\b\d{1,2}\s?[°º]\s?\d{1,2}\.\d{3,8}\s?['′]"
    r"|\b[NSns]\s?\d{1,2}\s?[°º]\s?\d{1,2}(?:[.,]\d{2,6}|\s?['′]\s?\d{1,2})"
)
_PLUS_CODE = re.compile(
    r"(?<![0-9A-Z])[23456789CFGHJMPQRVWX]{8}\+[23456789CFGHJMPQRVWX]{2,3}(?![0-9A-Z])"
    r"|///[a-z]{3,20}\.[a-z]{3,20}\.[a-z]{3,20}\b"
)
_DECIMALS = re.compile(r"\d\.\d{4}")
_FIVE_DECIMALS = re.compile(r"\d\.\d{5}")
_PROPER = re.compile(fill(r"(?<![\w\"])(?!<no_place>\b)[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{3,}"))
_LIES = re.compile(fill(r"(?:^|[.!?\n] ?)[^\W\d_][^.?!\n\d]{2,32} <lies_at> "))

_NUMBER_FIRST = re.compile(
    fill(
        r"\b\d{1,5}[a-z]?,? (?:[NSEW]\.? |north |south |east |west )?(?:[\w'-]{2,20} ){1,3}<street>\b"
        r"|\b\d{1,4}(?: ?bis| ?ter)?,? ?<street_fr> [\w'-]{2,20}"
    )
)
_STREET_FIRST = re.compile(
    fill(
        r"\b<street_es> ?(?:[\w'.-]{1,20},? ){1,5}(?:n[º°.o]{0,2} ?|número |numero )?\d{1,4}\b"
        r"|\b<box> \d{2,6}\b"
    )
)
_TOWN = re.compile(r",? \d{5} ")
_HOUSE = re.compile(r" \d{1,4} ?[a-z]?\b(?!\.\d|,\d)")
_BY_PLACE = re.compile(
    r"\b(?:am|im|an der|an den|auf der|auf dem|in der|zum|zur|unter den|hinter der|vor dem) [\w-]{3,20}$"
)
_POSTAL = re.compile(fill(r"^[^?!\n]{0,40}?\b(?:<post_code>\b|<post_code>)|^,? ?<flat>\b"))
_HOME_AFTER = re.compile(fill(r"^[^?!\n]{0,24}\b<me home_after>\b"))
_UPPER = r"[A-ZÀ-ÖØ-ÞŁŚŽŠČ][\w'-]{1,20}"
_CODED = re.compile(
    rf"(?<![\w.,-])\d{{1,5}}[A-Za-z]?,? (?:{_UPPER},? ){{2,6}}(?:[A-Z]{{1,2}}\d[A-Z0-9]? \d[A-Z]{{2}}"
    rf"|[A-Z]{{2}},? \d{{5}}|[A-Z]{{2}} [A-Z]\d[A-Z] ?\d[A-Z]\d|(?:NSW|VIC|QLD|WA|SA|TAS|ACT|NT) \d{{4}}"
    rf"|\d{{6}})(?!\w)"
    rf"|(?:{_UPPER}[ -]){{1,3}}\d{{1,4}}[a-z]?(?:[/-]\d{{1,3}}){{0,2}}, (?:[A-Z]{{1,2}}-)?(?:\d{{4,5}}"
    rf"|\d{{4}} [A-Z]{{2}}) {_UPPER}"
)
"""A house number, capitalised words and a post code, in the orders of English and of continental letters."""
_HOUSE_NAMED = re.compile(
    fill(
        r"\b(?i:<house_is>[^.?!\n]{0,24}?[ ,:])(?!(?:19|20)\d\d )\d{1,4}[A-Za-z]? UPPER UPPER"
        r"(?=\s{0,2}[,.;!\n]|$| [A-Z]| (?:around|instead|is|at|by|before|and)\b)"
        r"|(?<![\w.,])\d{1,4}[A-Za-z]? UPPER UPPER[^.\n]{0,24}\b(?i:<house_was>)\b"
    ).replace("UPPER", _UPPER)
)
_OF_NOTE = re.compile(fill(r"^(?:the|der|die|das|le|la|el|il) [^\n:\d]{3,40}: |\b<of_note>\b"))
_PLATE = re.compile(fill(r"(?<!\w)<plate_forms>(?!\w)"), re.IGNORECASE)
_NO_PLATE = re.compile(fill(r"<no_plate>\b"), re.IGNORECASE)
_STREETS_MAX = 256


def find(read: Text) -> str | None:
    """``coordinates``, ``plate`` or None."""
    if ("+" in read.text or "///" in read.text) and _PLUS_CODE.search(read.text):
        return "coordinates"
    if not read.has_digit:
        return None
    is_minutes = ("°" in read.text or "º" in read.text) and _SEXAGESIMAL.search(read.text) is not None
    if (is_minutes or _pair(read)) and not _is_sight(read):
        return "coordinates"
    return "plate" if _plate(read) else None


def find_address(read: Text) -> str | None:
    """``address`` or None."""
    if not read.has_digit or not (_street(read) or _with_code(read) or _with_home(read)):
        return None
    if word("open_to_all").search(read.lower) and not word("me", "theirs", "home").search(read.lower):
        return None
    is_public = word("me", "served").search(read.lower) is None and _OF_NOTE.search(read.lower) is not None
    return None if is_public else "address"


def _pair(read: Text) -> bool:
    """Whether two numbers of many decimals stand together as coordinates do."""
    return any(
        _PAIR.search(read.text, max(0, found.start() - 40), found.end() + 80)
        for found in _DECIMALS.finditer(read.text)
    )


def _is_sight(read: Text) -> bool:
    """Whether a town or a sight is named or asked for, by nobody as theirs, with four decimals at most."""
    lower = read.lower
    if _FIVE_DECIMALS.search(lower) or word("me", "theirs", "near_home").search(lower):
        return False
    is_asked = word("sights").search(lower) or _LIES.search(lower) or _PROPER.search(read.text)
    return is_asked is not None


def _with_code(read: Text) -> bool:
    return any(not _is_famous(read, *found.span()) for found in _CODED.finditer(read.text))


def _with_home(read: Text) -> bool:
    is_home = word("house_is", "house_was").search(read.lower) is not None
    return is_home and _HOUSE_NAMED.search(read.text) is not None


def _is_famous(read: Text, start: int, end: int) -> bool:
    return word("famous_houses").search(read.lower, max(0, start - 4), end + 8) is not None


def _street(read: Text) -> bool:
    for count, (start, end) in enumerate(_streets(read)):
        if count >= _STREETS_MAX:
            return True
        if _is_famous(read, start, end):
            continue
        if _POSTAL.search(read.after(end, 56)) is not None:
            return True
        is_name = any(map(str.isupper, read.text[start:end]))
        if not is_name and not word("lives_at").search(read.before(start, 40)):
            continue
        if word("me", "theirs", "home").search(read.before(start, 72)) or _HOME_AFTER.search(
            read.after(end, 40)
        ):
            return True
    return False


def _streets(read: Text) -> Iterator[tuple[int, int]]:
    """Where a street and a house number stand."""
    for expression, hints in ((_NUMBER_FIRST, "number_first"), (_STREET_FIRST, "street_first")):
        for found in expression.finditer(read.lower) if not listed(hints).isdisjoint(read.words) else ():
            yield found.span()
    for found in _HOUSE.finditer(read.lower):
        start = max(0, found.start() - 30)
        if read.lower.endswith(entries("street_ends"), start, found.start()):
            yield read.lower.rfind(" ", start, found.start()) + 1 or found.start(), found.end()
        elif _TOWN.match(read.lower, found.end()):
            place = _BY_PLACE.search(read.lower, max(0, start - 6), found.start())
            if place is not None:
                yield place.start(), found.end()


def _plate(read: Text) -> bool:
    for count, found in enumerate(word("plates").finditer(read.lower)):
        if count >= _STREETS_MAX or _PLATE.search(read.text, max(0, found.start() - 24), found.start()):
            return True
        place, last = found.end(), found.end() + 56
        while (plate := _PLATE.search(read.text, place, last)) is not None:
            other = _NO_PLATE.match(plate[0])
            if other is None:
                return True
            place = plate.start() + other.end()
    return False
