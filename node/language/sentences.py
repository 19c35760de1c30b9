"""Text as the composing files see it: plain characters, sentences, content words, figures.

Rules: pure and total; linear in the length of the text; whatever comes from outside passes ``plain`` once
before anything else looks at it. Knows nothing of prompts, models or sources.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from node.language.tables import ENGLISH, language_table, words

_KEPT_FORMATS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Format characters that carry meaning (emoji, Persian, Indic scripts); all others can hide text or turn it
round."""


def plain(text: str) -> str:
    """``text`` without control, format, private-use and surrogate characters; line ends become ``\\n``.

    Tabs stay. What is left can always be encoded, shown and logged.
    """
    unified = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    if unified.isascii() and unified.replace("\n", "").replace("\t", "").isprintable():
        return unified
    return "".join(
        char
        for char in unified
        if char in "\n\t"
        or char in _KEPT_FORMATS
        or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
    )


def one_line(text: str, chars_max: int) -> str:
    """``text`` on one line, at most ``chars_max`` characters, an ellipsis where it was cut."""
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= chars_max else flat[: max(0, chars_max - 1)].rstrip() + "…"


# --- sentences ------------------------------------------------------------------------------------

_END = re.compile(r"(?:[.!?…]+[\"'”’»)\]*_]*(?=\s|$))|(?:[。！？]+[」』”’）]*)|\n(?:[ \t]*\n)*")
_LAST_TOKEN = re.compile(r"[^\s(\[\"'“‘]*\Z")
_NEXT_WORD = re.compile(r"\s*([^\W_]+)")
_LINE_OPENER = re.compile(r"[ \t]*(?:[-*+•|#>]|\d{1,3}[.)]\s|```)")
_TABLE = language_table(ENGLISH, "sentences")
_NEVER_END, _NUMBER_FOLLOWS, _MAY_END, _STARTERS = (
    words(_TABLE[name]) for name in ("never_end", "number_follows", "may_end", "starters")
)
_LOOKBACK = 24


def _is_break(text: str, match: re.Match[str]) -> bool:
    """Whether a candidate end really ends a sentence."""
    mark = match.group()
    if mark[0] == "\n":
        # A single line break inside running text is only wrapping; before a list item, heading or table row,
        # or after a blank line, it ends what stood before.
        return (
            len(mark) > 1
            or _LINE_OPENER.match(text, match.end()) is not None
            or _LINE_OPENER.match(text, text.rfind("\n", 0, match.start()) + 1) is not None
        )
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = _LAST_TOKEN.search(text, max(0, match.start() - _LOOKBACK), match.start())
    token = before.group() if before else ""
    following = _NEXT_WORD.match(text, match.end(), match.end() + _LOOKBACK)
    after = following.group(1) if following else ""
    lowered = token.lower()
    if lowered in _NEVER_END:
        return False
    if lowered in _NUMBER_FOLLOWS:
        return not after[:1].isdigit()
    if lowered in _MAY_END:
        return not after or (after[0].isupper() and after.lower() in _STARTERS)
    if len(token) == 1 and token.isupper():
        # An initial ("J. Smith"), or a letter that ends a sentence ("vitamin C. It …").
        return not after or (after[0].isupper() and after.lower() in _STARTERS)
    if token.isdigit() and len(token) <= 3:
        window = text[max(0, match.start() - _LOOKBACK) : match.start()]
        alone = "\n" in window or match.start() <= _LOOKBACK
        if alone and window.rpartition("\n")[2].strip() == token:
            return False  # "1." opens a list item
    return not after[:1].islower()


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence, list item or line, in order, blanks at both ends left out."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if not _is_break(text, match):
            continue
        end = match.start() if match.group()[0] == "\n" else match.end()
        _append_trimmed(spans, text, start, end)
        start = match.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        spans.append((start, end))


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, each an exact piece of it."""
    return [text[start:end] for start, end in sentence_spans(text)]


_TERMINAL = re.compile(r"[.!?…。！？][\"'”’»)\]」』）*_`]*\s*\Z")
_CITATION_TAIL = re.compile(r"(?:\s*\[\d{1,3}\])+\s*\Z")


def is_closed(text: str) -> bool:
    """Whether ``text`` ends as a sentence ends; citation marks behind the full stop do not matter."""
    tail = text[-200:]
    return _TERMINAL.search(_CITATION_TAIL.sub("", tail)) is not None


def cut_to_sentence(text: str, chars_max: int) -> str:
    """The whole sentences of ``text`` that fit ``chars_max``; a first one that does not fit is cut hard."""
    if len(text) <= chars_max:
        return text
    end = 0
    for _, stop in sentence_spans(text[: chars_max + 1]):
        if stop <= chars_max and is_closed(text[:stop]):
            end = stop
    if end:
        return text[:end]
    hard = text[: max(0, chars_max - 1)]
    blank = hard.rfind(" ")
    return (hard[:blank] if blank > chars_max // 2 else hard).rstrip() + "…"


# --- words ----------------------------------------------------------------------------------------

WORD = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
_STOPWORDS_TEXT = (
    "a an the this that these those it its he she they them his her their i me my we us our you your is "
    "are was were be been being am do does did doing done has have had having will would shall should "
    "can could may might must of in on at by for from to into onto with without about as than then so "
    "if or and but nor not no what which who whom whose when where why how there here also just only "
    "very much many more most some any each every all both such other another same own out up down over "
    "under again once please tell explain describe give show say know want need let get got make made "
    "like one ones s t re ve ll d m don doesn didn isn aren wasn use used using between during while "
    "because through per via etc "
)
_STOPWORDS = frozenset(_STOPWORDS_TEXT.split())
_JOINT_STEMS = frozenset(
    {"i", "it", "he", "she", "we", "they", "you", "that", "there", "what", "who", "how", "let"}
)
_SUFFIX = re.compile(r"(?<=...)(?:ations?|ings?|ions?|ers?|ie[ds]|ed|es|ly|[sye])\Z")
"""The longest ending that leaves three letters."""


def stem(word: str) -> str:
    """A rough stem, enough to match *votes*, *voted* and *voting*; never meant to be shown."""
    lowered = word.lower().replace("’", "'").removesuffix("'s").strip("'.,-")
    if not lowered.isascii() or (not lowered.isalpha() and any(char.isdigit() for char in lowered)):
        return lowered.replace(",", "")
    return lowered if lowered.endswith("ss") else _SUFFIX.sub("", lowered)


def content_words(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, repeats kept."""
    return [stem(word) for word in WORD.findall(text) if not _is_joint(word)]


def _is_joint(word: str) -> bool:
    """Whether a word only holds others together; contractions ("don't", "it's") go by their first part."""
    lowered = word.lower().replace("’", "'")
    return lowered in _STOPWORDS or lowered.endswith("n't") or lowered.partition("'")[0] in _JOINT_STEMS


def coverage(answer: str, texts: Iterable[str], *, beyond: str = "") -> float:
    """The share of the answer's different content words that occur in ``texts``; 0 without any. Words of
    ``beyond`` do not count where the answer has others: to repeat the question proves nothing."""
    words = set(content_words(answer))
    wanted = words - set(content_words(beyond)) or words
    if not wanted:
        return 0.0
    given: set[str] = set()
    for text in texts:
        given.update(content_words(text))
    return len(wanted & given) / len(wanted)


# --- figures --------------------------------------------------------------------------------------

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_CITATION_MARK = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")
_LIST_MARK = re.compile(r"(?m)^[ \t]*\d{1,3}[.)][ \t]")
_NUMBER_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|hundreds?|thousands?|millions?|billions?|trillions?|dozens?|half|quarter|double|twice|triple)\b",
    re.IGNORECASE,
)
_FIGURES_MAX = 500
_VALUE_MAX = 1e300
"""Beyond it floats become infinite and equal."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")


def figures(text: str) -> list[str]:
    """The numbers in ``text`` in digits, thousands separators removed; citation and list marks are not
    numbers."""
    bare = _LIST_MARK.sub(" ", _CITATION_MARK.sub(" ", text))
    found: list[str] = []
    for match in _FIGURE.finditer(bare):
        token = match.group()
        found.append(token.replace(",", "") if _THOUSANDS.match(token) else token.replace(",", "."))
        if len(found) >= _FIGURES_MAX:
            break
    return found


def says_number(text: str) -> bool:
    """Whether ``text`` states a number in digits or in words."""
    return bool(figures(text)) or _NUMBER_WORDS.search(text) is not None


def _value(figure: str) -> float | None:
    try:
        value = float(figure)
    except ValueError:  # dotted dates and versions: compared as text only
        return None
    return value if value < _VALUE_MAX else None


def unsupported_figures(answer: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Numbers of the answer that no text gives, not even rounded: 67,000 is supported by 67,187.34."""
    given = {figure for text in texts for figure in figures(text)}
    values = [value for figure in given if (value := _value(figure)) is not None]
    missing: list[str] = []
    for figure in dict.fromkeys(figures(answer)):
        if figure in given:
            continue
        stated = _value(figure)
        if stated is not None and any(_rounds_to(value, stated, figure) for value in values):
            continue
        missing.append(figure)
    return tuple(missing)


def _rounds_to(value: float, stated: float, figure: str) -> bool:
    if value == stated:
        return True
    digits = figure.replace(".", "").lstrip("0")
    significant = len(digits) if "." in figure else len(digits.rstrip("0"))
    # One significant digit ("5", "70,000") would accept far too much.
    if not 2 <= significant <= 15:
        return False
    return float(f"{value:.{significant}g}") == stated
