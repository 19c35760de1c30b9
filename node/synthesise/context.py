"""Which evidence a model reads, within a budget of characters.

Rules: most reliable first; each block carries a number, its source and its time; outside text is stripped of
whatever could pass for our marks or a chat template's, and sentences that give orders to their reader are
left out and reported; long texts end at a sentence; what did not fit is counted (S2-66). Pure; knows nothing
of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from node.model import Evidence, SourceRef
from node.orders import gives_orders
from node.synthesise.markup import defang
from node.synthesise.sentences import cut_to_sentence, one_line, plain, sentence_spans, squeeze

CHARS_PER_TOKEN = 4
"""English prose through common tokenizers; used for reports only, never for limits."""
BLOCKS_MAX = 16
_BLOCK_CHARS_MIN = 60
"""Less than this of a text is not worth its label."""
_SOURCE_CHARS_MAX = 80
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

    @property
    def label(self) -> str:
        """``[1] source, time``: the first line of the block."""
        when = f", {_iso(self.source.time)}" if self.source.time is not None else ""
        return f"[{self.number}] {source_name(self.source)}{when}"


@dataclass(frozen=True, slots=True)
class Packed:
    """The blocks in order of number, and what became of the evidence's text, in characters."""

    blocks: tuple[Block, ...]
    chars_used: int
    chars_dropped: int

    @property
    def summary(self) -> str:
        """For the trace; tokens are estimated."""
        orders = sum(block.orders for block in self.blocks)
        return (
            f"{len(self.blocks)} blocks; "
            f"used {self.chars_used} characters, about {self.chars_used // CHARS_PER_TOKEN} tokens; "
            f"dropped {self.chars_dropped} characters, about {self.chars_dropped // CHARS_PER_TOKEN} tokens"
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
    return squeeze("".join(pieces)) if orders else text, orders


def pack(evidence: Sequence[Evidence], chars_max: int) -> Packed:
    """Blocks of at most ``chars_max`` characters in all, labels included.

    Order: confidence, then as given. With several texts none may take more than half of the budget before the
    others had their turn, so one long document cannot crowd out the rest.
    """
    order = sorted(range(len(evidence)), key=lambda index: (-evidence[index].confidence, index))
    blocks: list[Block] = []
    seen: set[str] = set()
    left = chars_max
    used = dropped = 0
    for index in order:
        item = evidence[index]
        text, orders = _without_orders(squeeze(defang(squeeze(plain(item.text)))))
        same = " ".join(text.casefold().split())
        if not same or same in seen:
            continue
        seen.add(same)
        block = Block(len(blocks) + 1, index, item.source, text, item.source.kind == "adapter", orders)
        room = left - len(block.label) - 2
        if len(order) > 1:
            room = min(room, chars_max // 2)
        if len(blocks) >= BLOCKS_MAX or room < min(_BLOCK_CHARS_MIN, len(text)):
            dropped += len(text)
            continue
        fitted = cut_to_sentence(text, room)
        blocks.append(replace(block, text=fitted))
        used += len(fitted)
        dropped += len(text) - len(fitted)
        left -= len(block.label) + 2 + len(fitted)
    return Packed(tuple(blocks), used, dropped)
