"""Which parts of a text are kept byte for byte: code, tables, mathematics and quotations.

Rules:
- blocks are whole lines: fenced code (an unclosed last fence reaches to the end), lines indented as code,
  tables, lines quoted with ``>``, displayed mathematics at the start of a line;
- inside the prose that is left: code between backticks, mathematics, text between quotation marks. These
  stay within a paragraph, but for marks of which the end differs from the beginning;
- a mark without its partner protects nothing;
- the spans are in order and do not overlap; the work is linear in the length of the text.
Pure and total. Knows nothing of prompts, models or citations.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from node.language.sentences import cut_to_sentence

FAR_CHARS = 4_000
"""A mark of mathematics or quotation is closed within so many characters, or not at all."""
_SINGLE_QUOTE_CHARS = 300


class Form(StrEnum):
    FENCE = "fence"
    LINES = "lines"
    """Other whole lines: indented code, a table, a quotation, displayed mathematics."""
    CODE = "code"
    MATHS = "maths"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class Span:
    """``text[start:end]`` is kept as it is. ``closed`` is False for a fence that nothing closes; ``fence`` is
    then what would close it."""

    start: int
    end: int
    form: Form
    closed: bool = True
    fence: str = ""

    @property
    def is_block(self) -> bool:
        return self.form in (Form.FENCE, Form.LINES)

    @property
    def is_code(self) -> bool:
        return self.is_block or self.form is Form.CODE


# --- blocks ---------------------------------------------------------------------------------------

_FENCE = re.compile(r"[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*[^\s]")
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_TABLE_LINE = re.compile(r"[ \t]*(?:\||\+[-=+]{2,}[-=+\s]*\Z)")
_QUOTE_LINE = re.compile(r" {0,3}>")
_DISPLAY = re.compile(r"[ \t]*(\\\[|\$\$|\\begin\{([A-Za-z]{1,20}\*?)\})")


def spans(text: str, *, quotes: bool = True) -> tuple[Span, ...]:
    """The parts of ``text`` that are kept as they are. Without ``quotes``, quotations are prose like any
    other, and the code in them is found."""
    found: list[Span] = []
    at = 0
    for block in _blocks(text, quotes=quotes):
        found.extend(_inline(text, at, block.start, quotes=quotes))
        found.append(block)
        at = block.end
    found.extend(_inline(text, at, len(text), quotes=quotes))
    return tuple(found)


def blocks(text: str) -> tuple[Span, ...]:
    """The code, tables and displayed mathematics of ``text`` that take whole lines."""
    return tuple(_blocks(text, quotes=False))


def _blocks(text: str, *, quotes: bool) -> Iterator[Span]:
    """Blocks in order. A run of lines of one kind is one block."""
    at, length = 0, len(text)
    listed = False
    while at < length:
        line_end = _line_end(text, at)
        line = text[at:line_end]
        block = _fenced(text, at, line) or _displayed(text, at, line)
        if block is None and _is_tabular(text, at, line, line_end):
            block = _run(text, at, _goes_on_as_table)
        if block is None and quotes and _QUOTE_LINE.match(line):
            block = _run(text, at, lambda following: _QUOTE_LINE.match(following) is not None)
        if block is None and _INDENTED.match(line) and not (listed and _LIST_LINE.match(line)):
            block = _run(text, at, lambda following: _INDENTED.match(following) is not None, over_blank=True)
        if line.strip():
            listed = _LIST_LINE.match(line) is not None
        if block is None:
            at = line_end + 1
            continue
        yield block
        # Behind displayed mathematics its line may go on.
        at = block.end + 1 if text[block.end : block.end + 1] == "\n" else _line_end(text, block.end) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _fenced(text: str, at: int, line: str) -> Span | None:
    opened = _FENCE.match(line)
    if opened is None or (opened.group(1)[0] == "`" and "`" in opened.group(2)):
        return None
    mark = opened.group(1)
    closing = re.compile(rf"(?m)^[ \t]*(?:>[ \t]?)*{mark[0]}{{{len(mark)},}}[ \t]*$")
    closed = closing.search(text, at + len(line))
    if closed is None:
        return Span(at, len(text), Form.FENCE, closed=False, fence=mark)
    return Span(at, closed.end(), Form.FENCE)


def _displayed(text: str, at: int, line: str) -> Span | None:
    opened = _DISPLAY.match(line)
    if opened is None:
        return None
    mark, name = opened.group(1), opened.group(2)
    closer = {"\\[": "\\]", "$$": "$$"}.get(mark, f"\\end{{{name}}}")
    end = text.find(closer, at + opened.end(), at + FAR_CHARS)
    if end < 0 or (mark == "$$" and "\n\n" in text[at:end]):
        return None
    return Span(at, end + len(closer), Form.LINES)


def _is_tabular(text: str, at: int, line: str, line_end: int) -> bool:
    """Whether a table begins at this line: one drawn with bars at its edge, or a header above a rule."""
    if _TABLE_LINE.match(line):
        return True
    if "|" not in line:
        return False
    return _is_rule(text[line_end + 1 : _line_end(text, line_end + 1)])


def _is_rule(line: str) -> bool:
    """A row of ``---`` between bars. A set is compared, for a pattern of repeats could take long."""
    return "|" in line and "-" in line and not set(line) - set(" \t|:-")


def _goes_on_as_table(line: str) -> bool:
    return "|" in line or _TABLE_LINE.match(line) is not None


def _run(text: str, at: int, fits: Callable[[str], bool], *, over_blank: bool = False) -> Span:
    """The line at ``at`` and those below it that fit, blank ones between them included if ``over_blank``."""
    end = following = _line_end(text, at)
    while following < len(text):
        start = following + 1
        following = _line_end(text, start)
        line = text[start:following]
        if fits(line) and not _FENCE.match(line):
            end = following
        elif not (over_blank and not line.strip()):
            break
    return Span(at, end, Form.LINES)


# --- inside prose ---------------------------------------------------------------------------------

_OPENER = re.compile(r"`+|\\[(\[]|\\\$|\$\$?|[\"'“„‘‚«»‹›「『]")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_BREAK = "\n\n"
_FORMS = {"`": Form.CODE, "$": Form.MATHS, "\\": Form.MATHS}
_CLOSERS = {
    "\\(": ("\\)",),
    "\\[": ("\\]",),
    "“": ("”",),
    "„": ("“", "”"),
    "‘": ("’",),
    "‚": ("‘", "’"),
    "«": ("»",),
    "»": ("«",),
    "‹": ("›",),
    "›": ("‹",),
    "「": ("」",),
    "『": ("』",),
}


def _inline(text: str, start: int, end: int, *, quotes: bool) -> Iterator[Span]:
    marks = _Marks(text, start, end)
    at = start
    while (opened := _OPENER.search(text, at, end)) is not None:
        form = _FORMS.get(opened.group()[0], Form.QUOTE)
        is_mark = opened.group() != "\\$" and (quotes or form is not Form.QUOTE)
        closed = marks.closing(opened) if is_mark else None
        if closed is not None:
            yield Span(opened.start(), closed, form)
        at = closed or opened.end()


class _Marks:
    """The closing marks of one stretch of prose. Each list is made once, so that a look-up is a bisection."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text, self._start, self._end = text, start, end
        self._lists: dict[str, list[int]] = {}

    def closing(self, opened: re.Match[str]) -> int | None:
        """Where the span ends that ``opened`` begins, None where nothing closes it."""
        mark, begin = opened.group(), opened.end()
        if mark in ("$", '"', "'") and self._char(begin).isspace():
            return None
        if mark in "\"'" and self._char(begin - 2).isalnum():
            return None
        far = _SINGLE_QUOTE_CHARS if mark == "'" else FAR_CHARS
        closers = _CLOSERS.get(mark, (mark,))
        found = [at for closer in closers if (at := self._next(closer, begin, far)) is not None]
        if not found or (mark not in _CLOSERS and self._parts(begin, min(found))):
            return None
        return min(found) + len(closers[0])

    def _next(self, closer: str, at: int, far: int) -> int | None:
        if closer not in self._lists:
            self._lists[closer] = self._places(closer)
        places = self._lists[closer]
        found = bisect_left(places, at)
        return None if found == len(places) or places[found] > at + far else places[found]

    def _places(self, closer: str) -> list[int]:
        """Where ``closer`` may close something."""
        pattern = r"(?<!`)" + closer + r"(?!`)" if closer[0] == "`" else re.escape(closer)
        found = re.compile(pattern).finditer(self._text, self._start, self._end)
        return [match.start() for match in found if self._may_close(closer, match.start())]

    def _may_close(self, closer: str, at: int) -> bool:
        before, behind = self._char(at - 1), self._char(at + 1)
        if closer == "$":
            return not before.isspace() and before != "\\" and not behind.isdigit()
        if closer in "\"'’":
            return not before.isspace() and not behind.isalnum()
        return True

    def _parts(self, begin: int, end: int) -> bool:
        """Whether a paragraph ends between."""
        if _BREAK not in self._lists:
            found = _PARAGRAPH_END.finditer(self._text, self._start, self._end)
            self._lists[_BREAK] = [match.start() for match in found]
        border = bisect_left(self._lists[_BREAK], begin)
        return border < len(self._lists[_BREAK]) and self._lists[_BREAK][border] < end

    def _char(self, at: int) -> str:
        return self._text[at] if self._start <= at < self._end else " "


# --- what others do with the spans ----------------------------------------------------------------


def inside(protected: Sequence[Span], at: int) -> Span | None:
    """The span that holds the character at ``at``."""
    place = bisect_right(protected, at, key=lambda span: span.start) - 1
    return protected[place] if place >= 0 and at < protected[place].end else None


def outside(text: str, change: Callable[[str], str], protected: Sequence[Span] | None = None) -> str:
    """``text`` with ``change`` made to each stretch between the spans, which stay as they are."""
    pieces: list[str] = []
    at = 0
    for span in spans(text) if protected is None else protected:
        pieces += [change(text[at : span.start]), text[span.start : span.end]]
        at = span.end
    return "".join([*pieces, change(text[at:])])


def squeeze_prose(text: str) -> str:
    """Blanks at line ends and at both ends go, runs of blank lines become one, outside of what is kept."""
    protected = spans(text)
    pieces: list[str] = []
    at = 0
    for span in (*protected, Span(len(text), len(text), Form.QUOTE)):
        *lines, last = text[at : span.start].split("\n")
        stretch = "\n".join([*(line.rstrip() for line in lines), last])
        pieces += [re.sub(r"\n{3,}", "\n\n", stretch), text[span.start : span.end]]
        at = span.end
    pieces[0] = pieces[0].lstrip()
    pieces[-2] = pieces[-2].rstrip()
    if not pieces[-2] and protected:
        pieces[-3] = pieces[-3].rstrip("\n")
    return "".join(pieces)


def units(text: str, found: Sequence[tuple[int, int]], protected: Sequence[Span]) -> list[tuple[int, int]]:
    """Sentences or lines (start, end) of which none ends inside of what is kept: those are joined."""
    joined: list[tuple[int, int]] = []
    open_end = False
    for start, end in found:
        if open_end:
            start = joined.pop()[0]
        joined.append((start, end))
        span = inside(protected, end)
        open_end = span is not None and span.start < end
    return joined


def prose(text: str) -> str:
    """``text`` without its code and other blocks: what it says in words of its own."""
    kept: list[str] = []
    at = 0
    for span in spans(text):
        if span.is_code:
            kept.append(text[at : span.start])
            at = span.end
    return "\n".join([*kept, text[at:]])


def begins_with_block(text: str) -> bool:
    return any(span.is_block and span.start == 0 for span in spans(text)[:1])


def cut(text: str, chars_max: int) -> str:
    """The beginning of ``text`` that fits, with its last fence closed: whole sentences, or whole lines of the
    block that does not fit."""
    room = chars_max
    while (size := len(closed := with_fence_closed(_beginning(text, room)))) > chars_max and room > 0:
        room -= size - chars_max
    return closed if size <= chars_max else ""


def _beginning(text: str, chars_max: int) -> str:
    if len(text) <= chars_max:
        return text
    found = blocks(text)
    block = inside(found, chars_max)
    if block is not None:
        line = text.rfind("\n", block.start, max(0, chars_max))
        if before := text[: max(line, block.start)].rstrip():
            return before
    end = max((block.end for block in found if block.end <= chars_max), default=0)
    sentences = cut_to_sentence(text, max(1, chars_max))
    return sentences if len(sentences) > end else text[:end]


def with_fence_closed(text: str) -> str:
    """``text`` with its last fence closed, so that something can stand behind it."""
    protected = spans(text)
    if not protected or protected[-1].closed:
        return text
    return f"{text}\n{protected[-1].fence}"
