"""Which of two records that say the same goes on, and when an equal answer is stored anew. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from node.core.model import ppm
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord

if TYPE_CHECKING:
    from node.store.remember import Memory

_OUTLIVES_S = 60
"""A record that lives on for less than this after another gains nobody anything by taking its place."""
_RENEWED_BELOW = 0.5
"""The same answer is stored anew where the one there lives less than this share of what the new one would:
its life is renewed, and at most once in half a life."""


def lives_until(stored: StoredRecord) -> float:
    expires = stored.record.expires
    return float("inf") if expires is None else expires.timestamp()


def ends(memory: Memory, now: datetime) -> float:
    return float("inf") if memory.lifetime_s is None else now.timestamp() + memory.lifetime_s


def stands_for(twin: StoredRecord, memory: Memory, now: datetime) -> bool:
    """Whether the older record loses nothing against the newcomer, who says the same."""
    assert isinstance(twin.record, AnswerRecord)
    is_as_sure = twin.record.confidence >= ppm(memory.confidence.value)
    return is_as_sure and lives_until(twin) + _OUTLIVES_S >= ends(memory, now)


def gives_way(twin: StoredRecord, memory: Memory, now: datetime) -> bool:
    """Whether the newcomer loses nothing against the older record."""
    assert isinstance(twin.record, AnswerRecord)
    is_as_sure = ppm(memory.confidence.value) >= twin.record.confidence
    return is_as_sure and ends(memory, now) + _OUTLIVES_S >= lives_until(twin)


def same_answer(rival: StoredRecord, memory: Memory, now: datetime) -> bool:
    record = rival.record
    return (
        isinstance(record, AnswerRecord)
        and record.answer == memory.answer
        and (record.query == memory.query or memory.slot_key is not None)
        and (record.expires is None) == (memory.lifetime_s is None)
        and (record.expires is None or record.expires > now)
        and record.confidence == ppm(memory.confidence.value)
        and (
            memory.lifetime_s is None
            or lives_until(rival) - now.timestamp() >= _RENEWED_BELOW * memory.lifetime_s
        )
    )
