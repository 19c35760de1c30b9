"""Numbers that name a person or a person's account, by their check digits and grouping: cards, IBANs, numbers
of states, taxes and health, device numbers.

Pure. The forms and their checks stand in ``formats.toml``; what only the words beside a number tell is found
by ``labelled`` and ``personal``. Figures of sums, versions, ISBNs, dates and populations are no identifiers,
though one in ten long figures has a fitting check digit: the words and signs of arithmetic beside a number
tell them apart, unless somebody calls the number theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from stdnum import ean, iban, isbn, luhn
from stdnum.eu import vat

from node.language.tables import read_table
from node.privacy.text import Cluster, Text
from node.privacy.words import entries, fill, word

CANDIDATES_MAX = 256
"""A text with more groups of long numbers than this is a table, and private: nothing checks it all."""
_Check = Callable[[str], bool]
_TABLE = read_table("node.privacy", "formats.toml")

_EQUALS = r"(?:[*^×÷√{money}]|(?:(?<![^\W_])[^\W\d_]|[\d)])\s?=)\s?"
_UNIT_AFTER = re.compile(fill(r"\s*(?:[*^×÷=%€$£¥₿]|<units>\b)|\s+[+/-]\s+\d"))
_OPERATOR_AFTER = re.compile(r"\s*[*^×÷=%]|\s+[+/-]\s+\d")
_SIGN_BEFORE = re.compile(
    fill("(?:" + _EQUALS.replace("{money}", "$€£¥") + r"|\d\s+[+/-]\s+|\b<functions>\s?\(\s?)$")
)
_SUM_BEFORE = re.compile(
    fill("(?:" + _EQUALS.replace("{money}", "") + r"|\b<functions>\s?\(\s?|\d\s+[+-]\s+|\b<of_sum>\s?:?\s*)$")
)
_SUM_AFTER = re.compile(fill(r"\s*(?:[*×÷%]|\^\d|<is_sum>\b)|\s+[+]\s+\d|\s+/\s+\d{1,3}\s*[?=]"))
_FOURS = re.compile(r"(\d{4})(?<!\d\d{4})([^\w\s]{1,3}|\s|[^\w]{2,3}|_)(\d{4})\2(\d{4})\2(\d{4})(?!\d)")
_AMEX = re.compile(r"(3[47]\d\d)(?<!\d\d{4})([^\w\s]{1,3}|\s|_)(\d{6})\2(\d{5})(?!\d)")
_CARD_START = re.compile("|".join(entries("card_start")))
_CARD_GROUPS = frozenset(tuple(map(int, shape.split("-"))) for shape in entries("card_groups"))
_GLUED_BEFORE = re.compile(r"(?:(?<![\d.,])[^\W\d_]{0,16}_?|(?<!\d)[.,])$")
_GLUED_AFTER = re.compile(r"_?(?:(?:exp|cvv|cvc|valid)\d{2,6}|[^\W\d_]{0,8})(?![^\W_])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}[ .-]?[A-Za-z0-9]{4}[ .-]?[A-Za-z0-9]{3}")
_SORT_CODE = re.compile(r"(?<![\d-])\d\d-\d\d-\d\d[ ,/;]{1,3}(?:acc?\w{0,6}\.? ?(?:no\.? ?)?)?\d{8}(?!\d)")
"""A British sort code and the account after it."""
_MAY_BE_CODE = re.compile(r"\d(?:(?:[ .-]?\d){4}|\d{3}[A-Za-z]|\d ?[A-Za-z]\d\d)")
_NINO = re.compile(
    r"(?![DFIUV])[A-Z](?![DFIOUV])[A-Z](?<!BG)(?<!GB)(?<!NK)(?<!KN)(?<!TN)(?<!NT)(?<!ZZ)\d{6}[A-D]"
)
_PENSION_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)


def load() -> None:
    """Read the libraries' tables now, not at the first number."""
    iban.is_valid("DE89370400440532013000", check_country=False)
    isbn.is_valid("9783161484100")
    _check("us.ssn")("536-90-4399")
    _check("cn.ric")("11010519491231002X")
    for country in vat.MEMBER_STATES:
        vat.is_valid(f"{country}00000000")
    _groups()
    _codes()


def find(read: Text) -> str | None:
    """``card``, ``iban``, ``national_id``, ``device_id``, ``account``, ``too_many_numbers`` or None."""
    clusters = read.clusters
    if len(clusters) > CANDIDATES_MAX:
        return "too_many_numbers"
    if _iban(read):
        return "iban"
    for cluster in clusters:
        if (reason := _checked(read, cluster)) is not None:
            return reason
    if _card_in_fours(read):
        return "card"
    if clusters and _SORT_CODE.search(read.lower) is not None:
        return "account"
    return "national_id" if _coded(read) else None


def is_figure(read: Text, start: int, end: int, *, grouped: bool = False) -> bool:
    """Whether a number is an operand, a count or a catalogue's number, and nobody calls it theirs. Of one
    that is ``grouped`` as identifiers are, only signs right beside it say so."""
    before = read.before(start, 56)
    if (
        (_OPERATOR_AFTER if grouped else _UNIT_AFTER).match(read.lower, end)
        or _SIGN_BEFORE.search(before)
        or (not grouped and word("arithmetic").search(before + " # " + read.after(end, 32)))
    ):
        return word("me", "theirs", "holders").search(before) is None
    return False


# --- the checks -----------------------------------------------------------------------------------


@cache
def _check(names: str) -> _Check:
    """The check of these names joined by "+": of this file, or the validator of a module of stdnum."""
    checks = [
        _OWN_CHECKS[name] if name in _OWN_CHECKS else import_module(f"stdnum.{name}").is_valid
        for name in names.split("+")
    ]
    return checks[0] if len(checks) == 1 else lambda code: all(check(code) for check in checks)


def _is_date(six: str) -> bool:
    """Whether the first six digits are a date as ddmmyy or yymmdd."""
    first, middle, last = int(six[:2]), int(six[2:4]), int(six[4:6])
    return 1 <= middle <= 12 and (1 <= first <= 31 or 1 <= last <= 31)


def _is_pension(code: str) -> bool:
    """Whether it is a German pension insurance number: the check digit (§ 4 VKVV) and the birth date fit."""
    digits = f"{code[:8]}{ord(code[8]) - 64:02d}{code[9:11]}"
    products = (int(digit) * weight for digit, weight in zip(digits, _PENSION_WEIGHTS, strict=True))
    total = sum(sum(map(int, str(product))) for product in products)
    return total % 10 == int(code[11]) and 1 <= int(code[4:6]) <= 12


def _is_singapore(code: str) -> bool:
    total = sum(int(digit) * weight for digit, weight in zip(code[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    total += {"T": 4, "G": 4, "M": 3}.get(code[0], 0)
    letters = {"F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}.get(code[0], "JZIHGFEDCBA")
    return code[-1] == letters[total % 11]


_OWN_CHECKS: dict[str, _Check] = {
    "any": lambda _: True,
    "area": lambda digits: not digits.startswith("000"),
    "date": _is_date,
    "date_behind": lambda digits: _is_date(digits[4:]),
    "nino": lambda code: _NINO.fullmatch(code) is not None,
    "pension": _is_pension,
    "singapore": _is_singapore,
}


@cache
def _groups() -> dict[tuple[int, ...], list[tuple[str, _Check]]]:
    """By the lengths of the groups: what may stand between them, and the check."""
    out = {}
    for shape, rows in _TABLE["groups"].items():
        pairs = (row.rpartition(":") for row in rows.split())
        out[tuple(map(int, shape.split("-")))] = [(signs, _check(name)) for signs, _, name in pairs]
    return out


@cache
def _codes() -> tuple[tuple[re.Pattern[str], _Check, bool], ...]:
    return tuple(
        (re.compile(rf"(?<![A-Za-z0-9])(?:{form})(?![A-Za-z0-9(])"), _check(name), name == "fi.hetu")
        for name, form in _TABLE["codes"].items()
    )


@cache
def _issuers() -> tuple[tuple[re.Pattern[str], frozenset[int]], ...]:
    return tuple(
        (re.compile(start), frozenset(map(int, lengths.split())))
        for start, lengths in _TABLE["cards"].items()
    )


# --- groups of digits -----------------------------------------------------------------------------


def _checked(read: Text, cluster: Cluster) -> str | None:
    if len(cluster.digits) < 9 or cluster.is_dotted_quad:
        return None
    for one in _parts(cluster):
        start, end = one.start, one.end
        alone = read.stands_alone(start, end)
        if (alone or _is_glued(read, start, end)) and _is_card(read, one):
            is_operand = _SUM_BEFORE.search(read.before(start, 40)) or _SUM_AFTER.match(read.after(end, 24))
            return None if is_operand else "card"
        if not alone and one.lengths != (3, 2, 4):
            continue
        reason = _national(read, one)
        if reason is not None and not is_figure(read, start, end, grouped=len(one.groups) > 1):
            return reason
    return None


def _parts(cluster: Cluster) -> Iterator[Cluster]:
    """The runs of neighbouring groups of 9 to 19 digits: a number and the date after it stand close together
    as well."""
    starts, ends, place = [], [], cluster.start
    for group, gap in zip(cluster.groups, (*cluster.between, ""), strict=True):
        starts.append(place)
        ends.append(place + len(group))
        place = ends[-1] + len(gap)
    groups = cluster.groups
    if all(len(group) == 1 for group in groups):
        if 9 <= len(groups) <= 19:
            yield cluster
        return
    for first in range(min(len(groups), 64)):
        total = 0
        for last in range(first, min(len(groups), first + 8)):
            total += len(groups[last])
            if total > 19:
                break
            if total >= 9:
                between = cluster.between[first:last]
                yield Cluster(starts[first], ends[last], groups[first : last + 1], between)


def _is_glued(read: Text, start: int, end: int) -> bool:
    """Whether only letters of a word are written together with the number: ``card4111…``, ``…1111exp``."""
    return (
        _GLUED_BEFORE.search(read.before(start, 20)) is not None
        and _GLUED_AFTER.match(read.after(end, 12)) is not None
        and read.text[end : end + 1] not in (".", ",")
    )


def _is_issued(digits: str) -> bool:
    """Whether an issuer gives out cards that begin so and have that many digits."""
    return any(len(digits) in lengths and start.match(digits) for start, lengths in _issuers())


def _is_card(read: Text, one: Cluster) -> bool:
    digits, lengths = one.digits, one.lengths
    if not 13 <= len(digits) <= 19:
        return False
    around = read.around(one.start, one.end, 64, 40)
    named = word("cards").search(around) is not None
    owned = word("me", "theirs", "holders").search(around) is not None
    personal = owned or "cvv" in around or "exp" in around
    if not _CARD_START.match(digits):
        return named and personal and len(digits) in (15, 16)
    usual = lengths in _CARD_GROUPS
    single = len(lengths) == 1 or set(lengths) == {1}
    if not (single or usual or named) and (min(lengths) < 2 or one.is_thousands or not _is_issued(digits)):
        return False
    if all(len(group) == 4 and "1500" <= group <= "2100" for group in one.groups):
        return False
    if luhn.is_valid(digits):
        return named or not single or (_is_issued(digits) and not _is_catalogued(read, digits, one.start))
    return named and (personal or usual)


def _is_catalogued(read: Text, digits: str, start: int) -> bool:
    """Whether a number of thirteen digits is as likely a product's or a point of time."""
    before = read.before(start)
    return len(digits) == 13 and (ean.is_valid(digits) or word("catalogues").search(before) is not None)


def _card_in_fours(read: Text) -> bool:
    """Cards whose groups are parted by signs that no other number has between its groups."""
    for expression in (_FOURS, _AMEX):
        for found in expression.finditer(read.text):
            digits = re.sub(r"\D", "", found[0])
            is_list = found[2] == "," and read.after(found.end(), 2).strip()[:1] == ","
            if not is_list and _is_issued(digits) and luhn.is_valid(digits):
                return True
    return False


def _national(read: Text, one: Cluster) -> str | None:
    digits = one.digits
    if len(digits) == 13 and digits.startswith(("978", "979")) and isbn.is_valid(digits):
        return None
    if not one.between and one.start > 1 and re.match(r"[^\W_]-", read.text[one.start - 2 : one.start]):
        return None  # the end of a UUID or of a part number
    for signs, fits in _groups().get(one.lengths, ()):
        if all(part.strip() in (signs[0] if signs.endswith("!") else ("", *signs)) for part in one.between):
            if signs.endswith("!") and any(not part.strip() for part in one.between):
                continue
            if fits(digits):
                return "national_id"
    is_device = len(digits) == 15 and word("handsets").search(read.before(one.start, 64)) is not None
    return "device_id" if is_device and luhn.is_valid(digits) else None


# --- letters and digits ---------------------------------------------------------------------------


def _coded(read: Text) -> bool:
    """Identifiers of letters and digits that their form and check letters tell."""
    if _MAY_BE_CODE.search(read.text) is None:
        return False
    for expression, fits, with_signs in _codes():
        for count, found in enumerate(expression.finditer(read.text)):
            code = found[0].upper() if with_signs else re.sub(r"[ .-]", "", found[0]).upper()
            if count >= CANDIDATES_MAX or fits(code):
                return True
    return False


def _iban(read: Text) -> bool:
    for count, found in enumerate(_IBAN.finditer(read.text)):
        if count >= CANDIDATES_MAX:
            return True
        code = ""
        for part in re.finditer(r"[A-Za-z0-9]+|[^A-Za-z0-9]+", read.text[found.start() : found.start() + 48]):
            if not part[0][0].isalnum():
                if len(part[0]) > 2 or part[0].strip(" .-\t"):
                    break
                continue
            code += part[0]
            if len(code) > 34:
                break
            if len(code) >= 15 and iban.is_valid(code, check_country=False):
                return True
        if len(code) >= 15 and sum(map(str.isdigit, code)) >= 10 and "iban" in read.before(found.start()):
            return True
    return False
