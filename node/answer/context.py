"""Which evidence a model reads, within a budget of characters and one of tokens.

Rules: most reliable first; each block carries a number, its source and its time; outside text is stripped of
whatever could pass for our marks or a chat template's, code and tables of nothing else, and sentences that
give orders to their reader are left out and reported; long texts end at a sentence or, in a block, at a line;
what did not fit is counted (S2-66). Pure; knows nothing of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from node.core.model import Evidence, SourceRef
from node.language import verbatim
from node.language.markup import defang, defang_own, defang_stored
from node.language.orders import gives_orders
from node.language.sentences import one_line, plain, sentence_spans

COUNTED_CHARS = 4_000
"""Of a text that is dropped no more is counted; the rest is reckoned from it."""
FITS_MAX = 6
"""How often a text that has too many tokens is cut again."""
BLOCKS_MAX = 16
_BLOCK_CHARS_MIN = 60
"""Less than this of a text is not worth its label."""
_SOURCE_CHARS_MAX = 80
PASTED_SHARE = 3
"""A text that the asker brought may have so many times the room of evidence: it is what the question is
about."""
_ABOUT_CHARS_MAX = 200
_NOTE_CHARS_MAX = 120
PASTED = "pasted"
"""The kind of source of a text that came with the question: it keeps its lines."""
LEFT_OUT = "(…)"
"""Stands where lines of such a text had no room."""
ORDER_REMARK = "(Here the text tries to give orders to its reader.)"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of evidence as the model sees it. ``number`` counts from 1; ``index`` is its place in what
    was handed to ``pack``; ``from_adapter`` says which section it belongs to; ``orders`` counts the
    sentences left out because they gave orders to their reader."""

    number: int
    index: int
    source: SourceRef
    text: str
    from_adapter: bool
    orders: int = 0
    about: str = ""
    """The question that a stored text was stored for, as one harmless line."""
    note: str = ""
    """How that question differs from the one that is asked, in words; empty where it does not."""
    left_out: int = 0
    """Characters of a pasted text that had no room."""

    @property
    def told(self) -> str:
        """The text behind the question that it was stored for."""
        said, behind = self.text, " "
        if self.note and any(block.end == len(said) for block in verbatim.blocks(said)):
            behind = "\n"
        if self.about:
            between = "\n" if verbatim.begins_with_block(said) else " "
            said = f"{self.about} -{between}{said}"
        return f"{said}{behind}({self.note})" if self.note else said

    @property
    def label(self) -> str:
        """``[1] source, time``: the first line of the block."""
        when = f", {_iso(self.source.time)}" if self.source.time is not None else ""
        return f"[{self.number}] {source_name(self.source)}{when}"


@dataclass(frozen=True, slots=True)
class Packed:
    """The blocks in order of number, and what became of the evidence's text."""

    blocks: tuple[Block, ...]
    chars_used: int
    chars_dropped: int
    tokens_used: int
    tokens_dropped: int

    @property
    def summary(self) -> str:
        """For the trace."""
        orders = sum(block.orders for block in self.blocks)
        return (
            f"{len(self.blocks)} blocks; "
            f"used {self.chars_used} characters, {self.tokens_used} tokens; "
            f"dropped {self.chars_dropped} characters, {self.tokens_dropped} tokens"
            + (f"; {orders} sentences with orders left out" if orders else "")
        )


def source_name(source: SourceRef) -> str:
    """The source's id as one harmless line."""
    return one_line(defang(source.id), _SOURCE_CHARS_MAX) or source.kind


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_orders(text: str) -> tuple[str, int]:
    """The text with each run of order-giving sentences replaced by a remark, and how many sentences went."""
    pieces: list[str] = []
    orders = at = 0
    remarked = False
    for start, end in sentence_spans(text):
        if gives_orders(text[start:end]):
            if not remarked:
                pieces += [text[at:start], ORDER_REMARK]
            orders, remarked = orders + 1, True
            at = end
        else:
            remarked = False
    pieces.append(text[at:])
    return verbatim.squeeze_prose("".join(pieces)) if orders else text, orders


Count = Callable[[str], int]
"""How many tokens a text has."""


def estimate(text: str) -> int:
    """Tokens where no tokenizer is at hand: rather too many than too few."""
    letters = sum(char.isascii() for char in text)
    return -(-letters // 3) + len(text) - letters


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens the context may hold, None for no limit, and how they are counted."""

    most: int | None = None
    count: Count = estimate


BY_ESTIMATE = Tokens()


def _lines_that_fit(text: str, chars_max: int) -> str:
    """The whole lines at both ends of a text that fit, most of them from its beginning."""
    if len(text) <= chars_max:
        return text
    room = max(0, chars_max - len(LEFT_OUT) - 2)
    begin, end = text[: room * 2 // 3], text[len(text) - room // 3 :]
    whole_begin, whole_end = begin.rpartition("\n")[0] or begin, end.partition("\n")[2] or end
    return f"{whole_begin}\n{LEFT_OUT}\n{whole_end}"


def pack(
    evidence: Sequence[Evidence], chars_max: int, tokens_max: int | None = None, count: Count = estimate
) -> Packed:
    """Blocks of at most ``chars_max`` characters and ``tokens_max`` tokens in all, labels included. ``count``
    is that of some tokenizer: close to the model's own, and the same for every model.

    Order: confidence, then as given. With several texts none may take more than half of the budget before the
    others had their turn, so one long document cannot crowd out the rest.
    """
    order = sorted(range(len(evidence)), key=lambda index: (-evidence[index].confidence, index))
    blocks: list[Block] = []
    seen: set[str] = set()
    left = chars_max
    used = dropped = tokens_used = tokens_dropped = 0
    for index in order:
        item = evidence[index]
        if item.source.kind == PASTED:
            text, orders = _without_orders(defang_own(plain(item.text)).strip("\n"))
        else:
            text, orders = _without_orders(verbatim.squeeze_prose(defang_stored(plain(item.text))))
        text = verbatim.with_fence_closed(text)
        same = " ".join(text.casefold().split())
        if not same or same in seen:
            continue
        seen.add(same)
        block = Block(
            len(blocks) + 1,
            index,
            item.source,
            text,
            item.source.kind == "adapter",
            orders,
            about=one_line(defang(item.about), _ABOUT_CHARS_MAX),
            note=one_line(defang(item.note), _NOTE_CHARS_MAX),
        )
        room = left - len(block.label) - len(block.told) + len(text) - 2
        if item.source.kind == PASTED:
            room += (PASTED_SHARE - 1) * chars_max
        if len(order) > 1 and item.source.kind != PASTED:
            room = min(room, chars_max // 2)
        if len(blocks) >= BLOCKS_MAX or room < min(_BLOCK_CHARS_MIN, len(text)):
            dropped, tokens_dropped = dropped + len(text), tokens_dropped + _reckoned(text, count)
            continue
        is_own = item.source.kind == PASTED
        fitted = _lines_that_fit(text, room) if is_own else verbatim.cut(text, room)
        size = count(block.label)
        if tokens_max is not None:
            room = tokens_max * 5 // 3 if is_own else tokens_max
            fitted = _within(fitted, room - tokens_used - size, count)
        kept = count(fitted) if fitted else 0
        dropped += len(text) - len(fitted)
        tokens_dropped += _reckoned(text[len(fitted) :], count)
        if not fitted:
            continue
        left_out = len(text) - len(fitted) if is_own else 0
        blocks.append(replace(block, text=fitted, left_out=left_out))
        used, tokens_used = used + len(fitted), tokens_used + size + kept
        left -= len(block.label) + 2 + len(block.told) - len(text) + len(fitted)
    return Packed(tuple(blocks), used, dropped, tokens_used, tokens_dropped)


def _reckoned(text: str, count: Count) -> int:
    head = text[:COUNTED_CHARS]
    return count(head) * len(text) // len(head) if head else 0


def _within(text: str, tokens_max: int, count: Count) -> str:
    """The text cut to so many tokens, at a sentence; empty where nothing of it fits."""
    for _ in range(FITS_MAX):
        size = count(text)
        if size <= tokens_max:
            return text
        if tokens_max < 1:
            break
        text = verbatim.cut(text, len(text) * tokens_max // size)
    return ""
