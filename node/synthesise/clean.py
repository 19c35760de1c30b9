"""What a model wrote, made fit to be read, or found unfit.

In this order: control characters go; thinking blocks go and are counted; everything from the first stop mark
goes; echoes of the prompt go; a loop is cut where it first repeats; a cut-off end goes back to the last whole
sentence; the length is bounded. Pure, total, linear; cleaning again what was cleaned changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.orders import CHAT_TOKEN
from node.synthesise.markup import ANSWER_LABEL, DATA_MARK, LABEL_LINE, THINK_TAG
from node.synthesise.sentences import cut_to_sentence, is_closed, plain, sentence_spans, squeeze

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
    for match in THINK_TAG.finditer(text):
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
    """Where a loop first repeats itself, or None. Sentences and lines first, then runs of words."""
    found = (_unit_loop(text, sentence_spans(text)), _unit_loop(text, _line_spans(text)), _word_loop(text))
    return min((at for at in found if at is not None), default=None)


def _line_spans(text: str) -> list[tuple[int, int]]:
    return [(match.start(), match.end()) for match in _LINE.finditer(text)]


def _unit_loop(text: str, spans: Sequence[tuple[int, int]]) -> int | None:
    """Where a sentence or line is said for the second time that is said ``LOOP_TIMES`` times in a row, or at
    all when it is long enough not to be a refrain."""
    times: dict[str, int] = {}
    second: dict[str, int] = {}
    previous, run, run_second = "", 0, 0
    for start, end in spans:
        said = " ".join(text[start:end].casefold().split())
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


def _word_loop(text: str) -> int | None:
    spans = [(match.start(), match.end()) for match in _TOKEN.finditer(text)]
    words = [text[start:end].casefold() for start, end in spans]
    first: int | None = None
    for period in range(1, _PERIOD_WORDS_MAX + 1):
        needed = period * ((_STUTTER_TIMES if period == 1 else _PERIOD_TIMES) - 1)
        run = 0
        for index in range(period, len(words)):
            run = run + 1 if words[index] == words[index - period] else 0
            if run >= needed:
                begin = index - run + 1
                cycle = words[begin - period : begin]
                # Digits, rules and table bars repeat lawfully ("0 0 0 0", "| | | |").
                if any(char.isalpha() for word in cycle for char in word):
                    at = spans[begin][0]
                    first = at if first is None else min(first, at)
                    break
                run = 0
    return first


def _cut_at_stop(text: str, stop: Sequence[str]) -> str:
    ends = [at for mark in stop if mark and (at := text.find(mark)) >= 0]
    return text[: min(ends)] if ends else text


def _drop_echo(text: str, echo: Sequence[str]) -> tuple[str, bool]:
    """Without the prompt's own words: its labels and marks, and whole lines of the texts in ``echo``."""
    echoed = False
    unmarked = DATA_MARK.sub("\n", text)
    if unmarked != text:
        echoed, text = True, unmarked
    lines_known = {
        " ".join(line.casefold().split())
        for known in echo
        for line in known.splitlines()
        if len(line.strip()) >= _ECHO_LINE_CHARS
    }
    kept: list[str] = []
    begun = False
    for raw_line in text.split("\n"):
        line = raw_line if begun else _LEAD_LABEL.sub("", raw_line)
        if LABEL_LINE.match(line):
            echoed = True
            if begun:
                break  # after its answer the model goes on to write the next prompt
            continue
        if " ".join(line.casefold().split()) in lines_known:
            echoed = True
            continue
        begun = begun or bool(line.strip())
        kept.append(line)
    text = "\n".join(kept)
    flat = " ".join(text.casefold().split()).rstrip("?.! ")
    if flat and any(flat == " ".join(known.casefold().split()).rstrip("?.! ") for known in echo):
        return "", True
    return text, echoed


def _cut_back(text: str) -> str:
    """``text`` up to its last whole sentence or list line; empty when there is none."""
    if is_closed(text):
        return text
    end = 0
    for start, stop in sentence_spans(text):
        whole_line = stop < len(text) and _LIST_LINE.match(text, text.rfind("\n", 0, start) + 1) is not None
        if is_closed(text[start:stop]) or (whole_line and text[stop : stop + 1] == "\n"):
            end = stop
    return text[:end]


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
    text = CHAT_TOKEN.sub("\n", text)
    text, echoed = _drop_echo(text, echo)
    text = squeeze(text)
    looped = False
    if (at := find_loop(text)) is not None:
        # A loop of lines is cut between lines, and what stands before is whole.
        whole = text[:at].endswith("\n")
        text, looped, complete = squeeze(text[:at]), True, False
        text = text if whole else squeeze(_cut_back(text))
    elif not complete:
        text = squeeze(_cut_back(text))
    if len(text) > chars_max:
        text, complete = cut_to_sentence(text, chars_max), False
    if any(char.isalnum() for char in text):
        return Cleaned(text, complete, think_blocks, looped, echoed)
    if looped:
        reason = "it ran in circles"
    elif echoed:
        reason = "it repeated the prompt"
    elif not complete:
        reason = "it was cut off before the first whole sentence"
    elif think_blocks:
        reason = "it was thinking only"
    else:
        reason = "it was empty"
    return Cleaned("", complete, think_blocks, looped, echoed, reason)


def _strip_leading_tokens(text: str) -> str:
    """Turn marks that open the text are the template's; only a later one is a stop."""
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        match = CHAT_TOKEN.match(text, at)
        if match is None:
            return text[at:]
        at = match.end()
        role = _ROLE.match(text, at)
        at = role.end() if role is not None else at
