"""Text to chunks: by sections, then paragraphs, lines, sentences; a word is cut where it alone is too long.

Pure. Offsets are code points of the extracted text; a chunk is always an exact piece of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from node.knowledge.model import Chunk
from node.language.sentences import sentence_spans
from node.language.tables import read_table

Count = Callable[[str], int]
"""How many tokens a text has."""

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t#]*$|^[ \t]*(```|~~~)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_LINE = re.compile(r"\n\s*")
_WORD = re.compile(r"\S+\s*")
_HEADING_CHARS_MAX = 200
_PARAGRAPH_END, _LINE_END, _SENTENCE_END, _WORD_END = 3, 2, 1, 0


@dataclass(frozen=True, slots=True)
class Profile:
    """See ``chunking.toml``."""

    name: str
    unit: str
    size: int
    overlap: int
    least: int
    sections: bool


def profile(name: str) -> Profile:
    """Raises ``KeyError``."""
    return Profile(name, **read_table("node.knowledge", "chunking.toml")[name])


def profiles() -> tuple[str, ...]:
    """Their names."""
    return tuple(read_table("node.knowledge", "chunking.toml"))


@dataclass(frozen=True, slots=True)
class Text:
    """What is cut. ``pages``: where each begins; ``is_marked``: lines with ``#`` are headings; ``is_lines``:
    each line stands for itself (a message, a row)."""

    text: str
    pages: Sequence[int] = ()
    is_marked: bool = False
    is_lines: bool = False


@dataclass(frozen=True, slots=True)
class _Section:
    heading: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """A piece that is not cut. ``level``: what ends with it; ``cost``: its tokens."""

    start: int
    end: int
    level: int
    cost: int


def chunks(text: Text, how: Profile, count: Count) -> list[Chunk]:
    """In the text's order; ids are 0 until they are stored. A chunk has at most ``size`` of the unit, or
    ``least`` more where the rest of its section would be less than that."""
    found: list[Chunk] = []
    for section in _sections(text) if how.sections else [_Section((), 0, len(text.text))]:
        for start, end in _cut(text, section, how, count):
            page = bisect_right(text.pages, start) if text.pages else None
            found.append(Chunk(0, 0, len(found), text.text[start:end], section.heading, start, end, page))
    return found


def windows(chunk: Chunk, tokens_max: int, count: Count) -> list[str]:
    """What of a chunk is embedded: all of it where it fits ``tokens_max``, else pieces that do, each with the
    headings in front."""
    if len(chunk.text) <= 16 * tokens_max and count(chunk.searched) <= tokens_max:
        return [chunk.searched]
    head = " > ".join(chunk.heading)
    room = tokens_max - count(head)
    if room < tokens_max // 2:
        head, room = "", tokens_max
    how = Profile("", "tokens", room, 0, 0, sections=False)
    pieces = _cut(Text(chunk.text), _Section((), 0, len(chunk.text)), how, count)
    return [f"{head}\n{chunk.text[start:end]}" if head else chunk.text[start:end] for start, end in pieces]


# --- sections ---------------------------------------------------------------------------------------


def headings(text: Text) -> list[tuple[int, int, int, str]]:
    """(start, end, level, words) of each heading; a ``#`` within a block of code is none."""
    found: list[tuple[int, int, int, str]] = []
    fence = ""
    for match in _HEADING.finditer(text.text) if text.is_marked else ():
        if match[3]:
            fence = "" if fence == match[3] else fence or match[3]
        elif not fence:
            found.append((match.start(), match.end(), len(match[1]), match[2][:_HEADING_CHARS_MAX]))
    return found


def _sections(text: Text) -> Iterator[_Section]:
    path: list[tuple[int, str]] = []
    start = 0
    for begins, ends, level, words in headings(text):
        yield _Section(tuple(one for _, one in path), start, begins)
        path = [*(above for above in path if above[0] < level), (level, words)]
        start = ends
    yield _Section(tuple(one for _, one in path), start, len(text.text))


# --- pieces -----------------------------------------------------------------------------------------


def _cut(text: Text, section: _Section, how: Profile, count: Count) -> Iterator[tuple[int, int]]:
    """(start, end) of each chunk of a section."""
    if not how.size:
        body = text.text[section.start : section.end]
        if body.strip():
            start = section.start + len(body) - len(body.lstrip())
            yield start, start + len(body.strip())
        return
    measure = len if how.unit == "characters" else count
    units = list(_units(text, section, how.size, measure))
    in_characters = how.unit == "characters"
    first = 0
    while first < len(units):
        last = first
        used = units[first].cost
        while last + 1 < len(units):
            following = units[last + 1]
            more = following.end - units[first].start if in_characters else used + following.cost
            if more > how.size:
                break
            last, used = last + 1, more
        if last + 1 < len(units):
            last = _best_end(units, first, last)
            rest = sum(one.cost for one in units[last + 1 :][: how.least + 1])
            if rest < how.least:
                last = len(units) - 1
        yield units[first].start, units[last].end
        if last + 1 >= len(units):
            return
        first = _overlapped(units, first, last, how, in_characters=in_characters)


def _best_end(units: Sequence[_Unit], first: int, last: int) -> int:
    """The last end of the highest kind in the second half of what fits."""
    half = (units[first].start + units[last].end) // 2
    ends = [number for number in range(first, last + 1) if units[number].end > half]
    return max(ends, key=lambda number: (units[number].level, number))


def _overlapped(units: Sequence[_Unit], first: int, last: int, how: Profile, *, in_characters: bool) -> int:
    """Where the next chunk begins: as many whole units before ``last``'s end as the overlap has room for,
    and always further on than this one."""
    begin, used = last + 1, 0
    while begin - 1 > first:
        before = units[begin - 1]
        used = units[last].end - before.start if in_characters else used + before.cost
        following = units[last + 1]
        whole = following.end - before.start if in_characters else used + following.cost
        if used > how.overlap or whole > how.size:
            break
        begin -= 1
    return begin


def _units(text: Text, section: _Section, size: int, measure: Count) -> Iterator[_Unit]:
    for start, end in _split(text.text, section.start, section.end, _PARAGRAPH):
        spans = list(_lines_or_sentences(text, start, end))
        for number, (begins, ends, level) in enumerate(spans):
            is_last = number + 1 == len(spans)
            cost = measure(text.text[begins:ends])
            if cost <= size:
                yield _Unit(begins, ends, _PARAGRAPH_END if is_last else level, cost)
                continue
            words = list(_words(text.text, begins, ends, size, measure))
            for at, (one, other, words_cost) in enumerate(words):
                closes = at + 1 == len(words)
                ended = (_PARAGRAPH_END if is_last else level) if closes else _WORD_END
                yield _Unit(one, other, ended, words_cost)


def _lines_or_sentences(text: Text, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    if text.is_lines:
        for begins, ends in _split(text.text, start, end, _LINE):
            yield begins, ends, _LINE_END
        return
    for begins, ends in sentence_spans(text.text[start:end]):
        yield start + begins, start + ends, _SENTENCE_END


def _split(text: str, start: int, end: int, mark: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The pieces between marks, blanks at both ends left out."""
    at = start
    for begins, ends in [*((one.start(), one.end()) for one in mark.finditer(text, start, end)), (end, end)]:
        piece = text[at:begins]
        if piece.strip():
            lead = len(piece) - len(piece.lstrip())
            yield at + lead, at + lead + len(piece.strip())
        at = ends


def _words(text: str, start: int, end: int, size: int, measure: Count) -> Iterator[tuple[int, int, int]]:
    """Runs of words of at most ``size``; a word that is longer is cut."""
    begin = at = start
    used = 0
    for word in _WORD.finditer(text, start, end):
        for piece, close in _slices(text, word.start(), word.end(), size, measure):
            cost = measure(text[piece:close])
            if used + cost > size and at > begin:
                yield from _bare(text, begin, at, used)
                begin, used = piece, 0
            at, used = close, used + cost
    yield from _bare(text, begin, at, used)


def _slices(text: str, start: int, end: int, size: int, measure: Count) -> Iterator[tuple[int, int]]:
    if end - start <= size or measure(text[start:end]) <= size:
        yield start, end
        return
    for begin in range(start, end, max(1, size // 2)):
        yield begin, min(end, begin + max(1, size // 2))


def _bare(text: str, start: int, end: int, cost: int) -> Iterator[tuple[int, int, int]]:
    """Without blanks at both ends; nothing where it is blank."""
    said = text[start:end]
    if said.strip():
        lead = len(said) - len(said.lstrip())
        yield start + lead, start + lead + len(said.strip()), cost
