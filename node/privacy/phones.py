"""Telephone numbers, international and national.

Pure. An international number needs no word beside it; a national one is taken for one where it is grouped or
begins as numbers of some country do and is valid there, or where a word for telephones stands beside it.
Free are prices, dates, counts, versions and catalogue numbers, calling codes, short numbers (112), free-phone
lines, which belong to organisations, and lines that are said to be a public service's.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberType

from node.language.tables import read_table
from node.privacy.numbers import CANDIDATES_MAX, is_figure
from node.privacy.text import Cluster, Text
from node.privacy.words import fill, word

_TABLE = read_table("node.privacy", "phones.toml")
_SHAPES = {tuple(map(int, shape.split("-"))): region for shape, region in _TABLE["shapes"].items()}
_SCRIPTS: tuple[tuple[re.Pattern[str], list[str]], ...] = tuple(
    (re.compile(script), regions.split()) for script, regions in _TABLE["scripts"].items()
)
_LABEL = re.compile(fill(r"\b<call_labels>[ .:#]{0,3}(?:number|no|nr)?[ .:]{0,2}$"))
_CALLING = re.compile(fill(r"<calling>"))
_TRUNK_ZERO = re.compile(r"^(49|43|41|44|33|31|39|32|46|61|27|353)0(?=\d{7})")  # +49 (0) 30
_FREE = (
    PhoneNumberType.TOLL_FREE,
    PhoneNumberType.PREMIUM_RATE,
    PhoneNumberType.SHARED_COST,
    PhoneNumberType.UAN,
)
_NORTH_AMERICAN = re.compile(r"1?[2-9]\d\d[2-9]\d{6}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_TRIES_MAX = 24


@cache
def _tongues() -> tuple[tuple[re.Pattern[str], list[str]], ...]:
    return tuple(
        (re.compile(rf"(?<![^\W_])(?:{'|'.join(words.split())})(?![^\W_])"), regions.split())
        for regions, words in _TABLE["tongues"].items()
    )


def load() -> None:
    """Read the numbering plans now, not at the first number."""
    phonenumbers.PhoneMetadata.load_all()
    _tongues()


def find(read: Text) -> str | None:
    """``phone`` or None."""
    tries = 0
    regions = _regions(read) if read.clusters else []
    for cluster in read.clusters[:CANDIDATES_MAX]:
        start, groups = cluster.start, cluster.groups
        if len(cluster.digits) < 7 or cluster.is_dotted_quad or _is_public(read, cluster):
            continue
        if start and (read.text[start - 1].isalpha() or read.text[start - 1] == "_"):
            continue
        sign = read.text[max(0, start - 3) : start].rstrip("( ").endswith("+")
        if sign or (groups[0].startswith("00") and len(groups[0]) != 3):
            tries += 1
            if _international(read, cluster, sign):
                return "phone"
        if (
            _in_brackets(read, cluster)
            or _is_dialled(read, cluster)
            or _national(read, cluster)
            or (regions and _of_region(read, cluster, regions))
        ):
            return "phone"
        if tries > _TRIES_MAX:
            return "too_many_numbers"
    return None


def _is_public(read: Text, cluster: Cluster) -> bool:
    """Whether it is said to be a public service's, a sight's or a story's line, nobody's own."""
    around = read.around(cluster.start, cluster.end, 110, 70)
    return word("public_lines").search(around) is not None and word("me").search(around) is None


def _international(read: Text, cluster: Cluster, sign: bool) -> bool:
    groups = cluster.groups
    for last in range(len(groups), max(0, len(groups) - 3), -1):
        digits = "".join(groups[:last])
        if not 8 <= len(digits) <= 17:
            continue
        try:
            parsed = phonenumbers.parse("+" + _TRUNK_ZERO.sub(r"\1", digits if sign else digits[2:]))
        except NumberParseException:
            continue
        if not phonenumbers.is_possible_number(parsed):
            continue
        if phonenumbers.number_type(parsed) in _FREE:
            return _is_told(read, cluster)
        is_count = not sign and is_figure(read, cluster.start, cluster.end, grouped=len(groups) > 1)
        if (phonenumbers.is_valid_number(parsed) and not is_count) or _is_told(read, cluster):
            return True
        if sign and last > 1:
            return True
    return False


def _in_brackets(read: Text, cluster: Cluster) -> bool:
    """Whether it begins with an area code in brackets: ``(022) 19673``."""
    area = cluster.groups[0]
    return (
        len(cluster.groups) > 1
        and area.startswith("0")
        and 2 <= len(area) <= 6
        and cluster.between[0].startswith(")")
        and read.text[cluster.start - 1 : cluster.start] == "("
    )


def _is_dialled(read: Text, cluster: Cluster) -> bool:
    """Whether words of dialling stand near a number that is grouped or long as telephone numbers are."""
    digits, start, end = cluster.digits, cluster.start, cluster.end
    if len(cluster.groups) == 1:
        is_one = len(digits) == 10 and _NORTH_AMERICAN.fullmatch(digits) is not None
    else:
        is_one = _is_zero_number(digits)
    is_one = is_one and read.stands_alone(start, end)
    return is_one and word("dials").search(read.around(start, end, 48, 56)) is not None


def _national(read: Text, cluster: Cluster) -> bool:
    start, end, groups = cluster.start, cluster.end, cluster.groups
    is_grouped = len(groups) > 2 and not cluster.is_thousands
    if not read.stands_alone(start, end) or is_figure(read, start, end, grouped=is_grouped):
        return False
    if len(groups) > 3 and len({int(two) - int(one) for one, two in pairwise(groups)}) == 1:
        return False  # a series
    if (
        len(groups) == 2
        and cluster.separator == "."
        and not (groups[0].startswith("0") and len(groups[0]) > 2)
    ):
        return _LABEL.search(read.before(start)) is not None
    for first in range(min(len(groups), 4)):
        if first and "." in cluster.between[first - 1]:
            continue  # the decimals of a fraction
        for last in range(min(len(groups), first + 6), first, -1):
            part = groups[first:last]
            shape, digits = tuple(map(len, part)), "".join(part)
            if not 9 <= len(digits) <= 12:
                continue
            if shape in ((3, 3, 4), (1, 3, 3, 4)) and _NORTH_AMERICAN.fullmatch(digits):
                return digits[-10:-7] not in _TABLE["free_areas"].split() or _is_told(read, cluster)
            if part == groups and shape in _SHAPES and _is_valid(digits, _SHAPES[shape]):
                return True
            if len(part[0]) > 1 and set(digits) - {"0", "1"} and _is_zero_number(digits):
                return True
    return _is_told(read, cluster)


def _is_zero_number(digits: str) -> bool:
    if not digits.startswith("0") or not 9 <= len(digits) <= 12:
        return False
    return any(_is_valid(digits, region) for region in _TABLE["zero_regions"].split())


def _is_valid(digits: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except NumberParseException:
        return False


def _regions(read: Text) -> list[str]:
    """The countries where a text's writing or commonest words are at home; none for English."""
    shown = read.lower[:2_000]
    for script, regions in _SCRIPTS:
        if not shown.isascii() and script.search(shown) is not None:
            return regions
    counts = [(len(set(words.findall(shown))), regions) for words, regions in _tongues()]
    most = max(count for count, _ in counts)
    return [region for count, regions in counts if count > 1 and count >= most - 1 for region in regions]


def _of_region(read: Text, cluster: Cluster, regions: list[str]) -> bool:
    """Whether it is a valid number of one of ``regions``, and words of calling or owning stand near, or it
    begins as only telephone numbers do."""
    start, end, digits = cluster.start, cluster.end, cluster.digits
    if not 7 <= len(digits) <= 12 or not read.stands_alone(start, end) or is_figure(read, start, end):
        return False
    if digits.startswith(tuple(_TABLE["services"].split())) or set(digits) <= {"0", "1"}:
        return False
    zero = digits.startswith("0")
    if "." in cluster.separator or (len(cluster.groups) == 2 and min(cluster.lengths) < 3 and not zero):
        return False
    if cluster.is_thousands and not zero and cluster.lengths != (3, 3, 3):
        return False
    begins = zero and len(cluster.groups) > 1 and len(digits) > 8
    if not begins and _CALLING.search(read.around(start, end, 60, 40)) is None:
        return False
    return any(_is_valid(digits, region) for region in regions)


def _is_told(read: Text, cluster: Cluster) -> bool:
    """Whether words beside the number say that it is for calling somebody."""
    start, end, digits = cluster.start, cluster.end, cluster.digits
    if not 7 <= len(digits) <= 17 or (digits.endswith("000") and len(cluster.groups) == 1):
        return False
    if len(cluster.groups) == 2 and any(map(_YEAR.fullmatch, cluster.groups)):
        return False
    before, around = read.before(start), read.around(start, end)
    if _LABEL.search(before):
        is_own = word("me", "theirs", "holders").search(before) is not None
        return is_own or word("arithmetic").search(read.after(end)) is None
    if word("calls").search(around) is None:
        return False
    if word("me", "theirs", "holders").search(around) is not None:
        return True
    return 9 <= len(digits) <= 13 and not is_figure(read, start, end, grouped=len(cluster.groups) > 1)
