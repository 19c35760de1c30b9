"""What looks private and belongs to nobody: numbers that standards and handbooks print as samples, lines of
films.

Pure. The lists are closed and their sources named; a sample that somebody calls their own stays private, and
so does one that stands alone with no word saying that it is a sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from node.privacy.text import Text
from node.privacy.words import entries, fill, listed, word

_MARKS_MAX = 64
_ALONE = 24
_NEAR = 240

_SHOWN = re.compile(fill(r"(?<![\w@./-])<samples>(?![^\W_]|\.\w)"))
_NUMBER = re.compile(r"(?<![\w.])\d(?:[ .-]?\d){8,18}(?![\w]|[.-]\d)")
_ACCOUNT = re.compile(r"(?<![^\W_])[A-Za-z]{2}\d\d(?:[ -]?[A-Za-z0-9]{1,4}){3,8}(?![^\W_])")
_MAIL = re.compile(
    r"(?<![\w.+%:/-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){0,3}(?:example\.(?:com|org|net|edu)|test|example|invalid"
    r"|localhost)(?![\w-]|\.\w)"
)
_FICTION_PHONE = re.compile(  # 555-01xx of North America; Ofcom's numbers for drama
    r"(?<![\w.])(?:\+?1[ .-]?)?(?:\(?\d{3}\)?[ .-]{0,2})?555[ .-]?01\d\d(?!\d)"
    + fill(r"|(?<!\w)(?:\+44 ?(?:\(0\) ?)?|0)<fiction_phones> ?\d{3}(?!\d)")
)
_ALWAYS = re.compile(  # numbers void because they were printed; never issued; constants of nature
    r"(?<!\w)(?=[\daA])(?:"
    r"(?<!-)(?:078-?05-?1120|219-?09-?9999|457-?55-?5462|987-65-432\d|666-\d\d-\d{4})(?![\w-])"
    r"|(?<![\w.])(\d)\1{2}[ .-]?(?:\1{3}[ .-]?){1,3}\1{0,4}(?![\w]|[.-]\d)"
    r"|(?<![\w.:])\d{1,3}\.\d{2,12}e[+-]?\d{1,3}(?![\w.:])"
    r"|\b1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\b"
    r"|(?<![\w.:-])(?i:00([:-])?11\2?22[.:-]?33\2?44[.:-]?55|aa([:-])bb\3cc\3dd\3ee\3ff)(?![\w:-])"
    rf"|(?<![\w.:])(?:{'|'.join(map(re.escape, entries('resolvers')))})(?![\w:/]|\.\d))"
)
_QUOTED_LINE = re.compile(fill(r"\"[^\"\n]{0,60}?(?<![^\W_])<said>(?![^\W_])[^\"\n]{0,160}\""), re.IGNORECASE)
_BARE_LINE = re.compile(
    fill(r"(?<![^\W_])<said> (?-i:[^\W\d_][\w'-]{1,20})(?: (?-i:[^\W\d_a-zß-ÿ][\w'-]{1,20})){0,2}"),
    re.IGNORECASE,
)
_NAMED_LINE = re.compile(fill(r"(?<![^\W_])<said> <heroes>\b"), re.IGNORECASE)
_OTHERS_OWN = re.compile(r"(?<![^\W_])(?:my|our|mein\w{0,2}|mon|ma|mi|mio|mia|meu|minha|mijn)(?![^\W_])")


def bared(read: Text) -> Text:
    """The text without samples and lines of fiction; itself where it holds none."""
    text = read.text
    if read.clusters or "@" in text or text.count(".") > 2 or text.count(":") > 4:
        if len(text) > _ALONE:
            text = _ALWAYS.sub(_unless(_is_owned), text)
        if _SHOWN.search(read.lower) is not None:
            some = _unless(lambda found: _is_owned(found) or not _is_shown(found))
            text = _ACCOUNT.sub(lambda found: some(found) if _is_sample_iban(found[0]) else found[0], text)
            text = _NUMBER.sub(lambda found: some(found) if _is_sample_card(found[0]) else found[0], text)
            text = _FICTION_PHONE.sub(some, _MAIL.sub(some, text))
    if word("said").search(read.lower) is not None:
        text = _without_lines(text)
    return read if text == read.text else Text(text, text.lower())


def _is_sample_iban(shown: str) -> bool:
    return re.sub(r"[ .-]", "", shown).upper().startswith(entries("sample_ibans"))


def _is_sample_card(shown: str) -> bool:
    digits = re.sub(r"[ .-]", "", shown)
    is_stripe = len(digits) == 16 and digits.startswith("4000") and "0000" in digits[5:]
    return is_stripe or digits in listed("sample_cards") or digits in "01234567890123"


def _unless(is_kept: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], str]:
    """A replacement that leaves what ``is_kept`` says of, and everything after ``_MARKS_MAX`` matches."""
    count = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return found[0] if count > _MARKS_MAX or is_kept(found) else "some"

    return replace


def _is_shown(found: re.Match[str]) -> bool:
    """Whether a word near it says that it is a sample."""
    around = found.string[max(0, found.start() - _NEAR) : found.end() + _NEAR].lower()
    return _SHOWN.search(around) is not None


def _is_owned(found: re.Match[str]) -> bool:
    around = Text(found.string, found.string.lower()).around(*found.span(), 40)
    return word("me", "theirs", "charges").search(around) is not None


def _without_lines(text: str) -> str:
    """The text without what a story's person says of themselves."""
    text = _NAMED_LINE.sub("some words", text)
    if word("fiction").search(text.lower()) is None:
        return text
    outside = _QUOTED_LINE.sub("some words", text)
    if outside == text and ("?" in text or " - " in text):
        outside = _BARE_LINE.sub("some words", text)
    return outside if _OTHERS_OWN.search(outside.lower()) is None else text
