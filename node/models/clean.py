"""What a model wrote, made fit to be read, or found unfit.

In this order: control characters go; thinking blocks go and are counted; everything from the first stop mark
goes; echoes of the prompt go; a loop is cut where it first repeats; a cut-off end goes back to the last whole
sentence; the length is bounded. Code, tables, mathematics and quotations (``verbatim``) keep every byte, and
a loop that is cut takes none of them that was not said before. Pure, total, linear; cleaning again what was
cleaned changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.language.markup import ANSWER_LABEL, DATA_MARK, LABEL_LINE, PROMPT_LABELS, THINK_TAG
from node.language.orders import CHAT_TOKEN
from node.language.sentences import cut_to_sentence, is_closed, plain, sentence_spans
from node.language.verbatim import Span, inside, outside, spans, squeeze_prose, units
from node.models.stops import overlap

RAW_CHARS_MAX = 65_536
ANSWER_CHARS_MAX = 16_000
LOOP_TIMES = 3
"""Said so often, a sentence is a loop; twice may be a refrain."""
_LOOP_SENTENCE_CHARS = 15
_PERIOD_WORDS_MAX = 12
_PERIOD_TIMES = 4
_STUTTER_TIMES = 5
_ECHO_LINE_CHARS = 25

_LEAD_LABEL = re.compile(
    rf"\A\s*(?:\**(?:{ANSWER_LABEL}|final answer|response|assistant)\**\s*:\**\s*)+", re.IGNORECASE
)
_LEAD_OPEN = re.compile(
    r"\s*\**(?:"
    + "|".join(
        f"{word[:size]}" + (r"\**\s*" if size == len(word) else "")
        for word in (ANSWER_LABEL.lower(), "final answer", "response", "assistant")
        for size in range(len(word) + 1)
    )
    + r")",
    re.IGNORECASE,
)
"""The text so far, where it may become a leading label."""
_TAG_CHARS_MAX = 100
_LINE = re.compile(r"[^\n]+")
_TOKEN = re.compile(r"\S+")
_ROLE = re.compile(r"\s*(?:assistant|model)\b\s*", re.IGNORECASE)
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """``text`` is empty when nothing usable is left; ``reason`` then says why. ``complete`` is False for an
    answer that was cut, by its length or by us."""

    text: str
    complete: bool
    think_blocks: int = 0
    looped: bool = False
    echoed: bool = False
    reason: str = ""

    @property
    def usable(self) -> bool:
        return bool(self.text)


def strip_thinking(text: str) -> tuple[str, int]:
    """The text without thinking blocks, and how many there were.

    Nested blocks count once. An unclosed block reaches to the end; a closing tag without an opening one ends
    a block that began with the text (templates often put the opening tag into the prompt)."""
    kept: list[str] = []
    blocks = depth = 0
    at = 0
    code = [span for span in spans(text) if span.is_code and span.closed] if THINK_TAG.search(text) else []
    for match in THINK_TAG.finditer(text):
        span = inside(code, match.start())
        if depth == 0 and span is not None and span.start >= at:  # what began in a block went with it
            continue
        if not match.group(1):
            if depth == 0:
                kept.append(text[at : match.start()])
                blocks += 1
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
            blocks += 1
        at = match.end()
    if depth == 0:
        kept.append(text[at:])
    # A line break where a block stood: joining what it parted could make a new tag.
    return "\n".join(kept) if blocks else text, blocks


def find_loop(text: str) -> int | None:
    """Where a loop first repeats itself, or None. Sentences and lines first, then runs of words. What is kept
    byte for byte counts as one word, and a loop begins behind the last of it that was not said before."""
    if _earliest_loop(text, 0, ()) is None:
        return None
    protected = spans(text)
    return _earliest_loop(text, _novel(text, protected), protected)


def _earliest_loop(text: str, begin: int, protected: Sequence[Span]) -> int | None:
    found = (
        _unit_loop(text, begin, units(text, sentence_spans(text), protected)),
        _unit_loop(text, begin, units(text, _line_spans(text), protected)),
        _word_loop(text, begin, units(text, [match.span() for match in _TOKEN.finditer(text)], protected)),
    )
    return min((at for at in found if at is not None), default=None)


def _novel(text: str, protected: Sequence[Span]) -> int:
    """Where the last span begins that is not the same as one before it, or its unfinished beginning."""
    seen: set[str] = set()
    begin = 0
    for span in protected:
        said = text[span.start : span.end]
        if said not in seen and (span.closed or not any(known.startswith(said) for known in seen)):
            begin = span.start
        seen.add(said)
    return begin


def _flat(text: str) -> str:
    """For comparing: small letters, one blank between words."""
    return " ".join(text.casefold().split())


def _line_spans(text: str) -> list[tuple[int, int]]:
    return [(match.start(), match.end()) for match in _LINE.finditer(text)]


def _unit_loop(text: str, begin: int, found: Sequence[tuple[int, int]]) -> int | None:
    """Where a sentence or line that ends behind ``begin`` is said for the second time that is said
    ``LOOP_TIMES`` times in a row, or at all when it is long enough not to be a refrain."""
    times: dict[str, int] = {}
    second: dict[str, int] = {}
    previous, run, run_second = "", 0, 0
    for start, end in found:
        if end <= begin:
            continue
        said = _flat(text[start:end])
        if not any(char.isalpha() for char in said):
            continue
        run = run + 1 if said == previous else 1
        if run == 2:
            run_second = start
        if run >= LOOP_TIMES:
            return run_second
        previous = said
        if len(said) < _LOOP_SENTENCE_CHARS:
            continue
        times[said] = times.get(said, 0) + 1
        if times[said] == 2:
            second[said] = start
        if times[said] >= LOOP_TIMES:
            return second[said]
    return None


def _word_loop(text: str, begin: int, tokens: Sequence[tuple[int, int]]) -> int | None:
    places = [(start, end) for start, end in tokens if end > begin]
    words = [text[start:end].casefold() for start, end in places]
    first: int | None = None
    for period in range(1, _PERIOD_WORDS_MAX + 1):
        needed = period * ((_STUTTER_TIMES if period == 1 else _PERIOD_TIMES) - 1)
        run = 0
        for index in range(period, len(words)):
            run = run + 1 if words[index] == words[index - period] else 0
            if run >= needed:
                again = index - run + 1
                cycle = words[again - period : again]
                # Digits, rules and table bars repeat lawfully ("0 0 0 0", "| | | |").
                if any(char.isalpha() for word in cycle for char in word):
                    at = places[again][0]
                    first = at if first is None else min(first, at)
                    break
                run = 0
    return first


def _cut_at_stop(text: str, stop: Sequence[str]) -> str:
    if not any(mark in text for mark in stop if mark):
        return text
    kept = spans(text)
    # What an unclosed fence holds may be the next turn: there the marks of turns keep their meaning.
    closed = [span for span in kept if span.closed]
    ends = [
        at
        for mark in stop
        if mark and (at := _find_outside(text, mark, closed if CHAT_TOKEN.fullmatch(mark) else kept)) >= 0
    ]
    return text[: min(ends)] if ends else text


def _find_outside(text: str, mark: str, protected: Sequence[Span]) -> int:
    at = text.find(mark)
    while at >= 0 and (span := inside(protected, at)) is not None:
        at = text.find(mark, span.end)
    return at


def _drop_echo(text: str, echo: Sequence[str]) -> tuple[str, bool]:
    """Without the prompt's own words: its labels and marks, and whole lines of the texts in ``echo``."""
    echoed = False
    unmarked = outside(text, lambda prose: DATA_MARK.sub("\n", prose))
    if unmarked != text:
        echoed, text = True, unmarked
    lines_known = {
        _flat(line) for known in echo for line in known.splitlines() if len(line.strip()) >= _ECHO_LINE_CHARS
    }
    kept: list[str] = []
    begun = False
    protected = spans(text)
    behind = 0
    for raw_line in text.split("\n"):
        at, behind = behind, behind + len(raw_line) + 1
        span = inside(protected, at)
        if span is not None and (span.is_block or span.start < at):
            begun = True
            kept.append(raw_line)
            continue
        line = raw_line if begun else _LEAD_LABEL.sub("", raw_line)
        if LABEL_LINE.match(line):
            echoed = True
            if begun:
                break  # after its answer the model goes on to write the next prompt
            continue
        if _flat(line) in lines_known:
            echoed = True
            continue
        begun = begun or bool(line.strip())
        kept.append(line)
    text = "\n".join(kept)
    flat = _flat(text).rstrip("?.! ")
    if flat and any(flat == _flat(known).rstrip("?.! ") for known in echo):
        return "", True
    return text, echoed


def _tidy(text: str) -> str:
    """``text`` without needless blanks, and without rules (``---``) at its end, which part the answer from a
    turn that was cut off."""
    protected = spans(text)
    while (rest := text.rstrip()) and not set(rest[rest.rfind("\n") + 1 :].strip()) - {"-"}:
        start = rest.rfind("\n") + 1
        if len(rest[start:].strip()) < 3 or inside(protected, start) is not None:
            break
        text = text[:start]
    return squeeze_prose(text)


def _cut_back(text: str) -> str:
    """``text`` up to its last whole sentence or list line, or its last block of code, whole or not; empty
    when there is none. The cut goes through nothing that is kept byte for byte."""
    if is_closed(text):
        return text
    protected = spans(text)
    end = max((span.end for span in protected if span.is_block), default=0)
    for start, stop in units(text, sentence_spans(text), protected):
        whole_line = stop < len(text) and _LIST_LINE.match(text, text.rfind("\n", 0, start) + 1) is not None
        if is_closed(text[start:stop]) or (whole_line and text[stop : stop + 1] == "\n"):
            end = max(end, stop)
    return text[:end]


def _bounded(text: str, chars_max: int) -> str:
    """The beginning of ``text`` that fits: whole sentences, or whole lines of the block that does not."""
    cut = inside(spans(text), chars_max)
    if cut is None or not cut.is_block:
        return cut_to_sentence(text, chars_max)
    line = text.rfind("\n", cut.start, chars_max)
    return text[: max(line, cut.start) or chars_max].rstrip("\n")


def clean(
    raw: str,
    *,
    complete: bool = True,
    stop: Sequence[str] = (),
    echo: Sequence[str] = (),
    chars_max: int = ANSWER_CHARS_MAX,
) -> Cleaned:
    """Clean ``raw``. ``complete`` is what the engine says of it; ``echo`` are texts of the prompt that are no
    answer (instructions, the question), never the evidence, which may be quoted."""
    if len(raw) > RAW_CHARS_MAX:
        raw, complete = raw[:RAW_CHARS_MAX], False
    text, think_blocks = strip_thinking(plain(raw))
    text = _cut_at_stop(_strip_leading_tokens(text), stop)
    text = outside(text, lambda prose: CHAT_TOKEN.sub("\n", prose))
    text, echoed = _drop_echo(text, echo)
    text = _tidy(text)
    looped = False
    if (at := find_loop(text)) is not None:
        # A loop of lines is cut between lines, and what stands before is whole.
        whole = text[:at].endswith("\n")
        text, looped, complete = _tidy(text[:at]), True, False
        text = text if whole else _tidy(_cut_back(text))
    elif not complete:
        text = _tidy(_cut_back(text))
    if len(text) > chars_max:
        text, complete = _bounded(text, chars_max), False
    if any(char.isalnum() for char in text):
        return Cleaned(text, complete, think_blocks, looped, echoed)
    reasons = (
        (looped, "it ran in circles"),
        (echoed, "it repeated the prompt"),
        (not complete, "it was cut off before the first whole sentence"),
        (think_blocks, "it was thinking only"),
        (True, "it was empty"),
    )
    reason = next(said for holds, said in reasons if holds)
    return Cleaned("", complete, think_blocks, looped, echoed, reason)


def showable(raw: str, *, stop: Sequence[str] = (), echo: Sequence[str] = (), thinks: bool = False) -> str:
    """The beginning of ``clean(raw)`` as far as it can be told while ``raw`` still grows. What may become a
    tag, a mark, a label or an echo is held back; with ``thinks`` all that stands before the end of a thinking
    block."""
    text, blocks = strip_thinking(_without_open_tag(plain(raw)))
    if thinks and not blocks:
        return ""
    text = _cut_at_stop(_strip_leading_tokens(text), stop)
    text = CHAT_TOKEN.sub("\n", text)
    held = max((overlap(text, mark) for mark in stop), default=0)
    text = text[: len(text) - held]
    if (at := text.rfind("\n") + 1) < len(text) and _may_be_the_prompts(text[at:], echo):
        text = text[:at]
    if _LEAD_OPEN.fullmatch(text) or _is_beginning(text, echo):
        return ""
    return squeeze_prose(_drop_echo(text, echo)[0])


def _without_open_tag(text: str) -> str:
    """Without an end that may be the beginning of a tag or of a mark in brackets."""
    at = max(text.rfind("<"), text.rfind("["))
    while at > 0 and text[at - 1] == text[at]:
        at -= 1
    if at < 0 or len(text) - at > _TAG_CHARS_MAX or text[-1] in ">]" or "\n" in text[at:]:
        return text
    return text if any(end in text[at:] for end in ">]") else text[:at]


def _may_be_the_prompts(line: str, echo: Sequence[str]) -> bool:
    """Whether a line that still grows may become a label or a line of the prompt."""
    label = line.lstrip(" \t#*")
    if len(line) < _TAG_CHARS_MAX and any(
        label.startswith(one) or one.startswith(label) for one in PROMPT_LABELS
    ):
        return True
    return any(_is_beginning(line, (known,)) for text in echo for known in text.splitlines())


def _is_beginning(text: str, echo: Sequence[str]) -> bool:
    return any(_flat(known).startswith(_flat(text)) for known in echo)


def _strip_leading_tokens(text: str) -> str:
    """Turn marks that open the text are the template's; only a later one is a stop."""
    at = behind = 0
    protected = spans(text)
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        match = CHAT_TOKEN.match(text, at)
        if match is None or inside(protected, at) is not None:
            return text[behind:]
        role = _ROLE.match(text, match.end())
        at = behind = match.end() if role is None else role.end()
