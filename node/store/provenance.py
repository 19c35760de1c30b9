"""Whose word a client's entry is, what it may replace, and whose verdict takes a record from whom.

Rules:
1. An entry belongs to whoever stored it (``Caller.by``): a key, or ``local`` for everybody who asks from this
   machine without one. What it names as its source is a claim and gives no right.
2. Another client's entry with the same answer stays beside it: each has its own source and its own life.
3. Another answer to the same question contradicts what stands there. It takes its place where that is the
   caller's own word beyond doubt; where the caller says ``replace`` and is the operator; or where that has
   expired and was stored by the same. Else it is not stored.
4. A record is the caller's to take from everybody where the caller is the operator, may alone read it, or
   stored it. Of anybody else the verdict ``invalid`` counts for the own tenant, and for everybody once as
   many tenants as a setting says agree.

Two questions are the same by their very words, or where write-back would merge them
(``cache.keys.same_question``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from node.core.caller import Caller, private_scope
from node.core.normalise import normalise
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, format_time

if TYPE_CHECKING:
    from node.store.remember import Memory

_SHOWN_CHARS = 300


def is_own(caller: Caller, record: AnswerRecord) -> bool:
    """Rule 1, beyond doubt."""
    client = record.source.client
    return client is not None and caller.owns(client.by)


def is_of_the_same(caller: Caller, record: AnswerRecord) -> bool:
    """Rule 1, as far as it can be told: callers without a key are one."""
    client = record.source.client
    return client is not None and client.by == caller.by


def says_the_same(answer: str, record: AnswerRecord) -> bool:
    """Whether the answers are equal but for Unicode form and white space."""
    return normalise(answer) == normalise(record.answer)


def may_replace(caller: Caller, record: AnswerRecord, *, replace: bool, now: datetime) -> bool:
    """Rule 3."""
    if is_own(caller, record) or (replace and caller.is_operator):
        return True
    return is_of_the_same(caller, record) and record.expires is not None and record.expires <= now


def replaced(
    memory: Memory, caller: Caller, met: Sequence[StoredRecord], now: datetime
) -> tuple[list[StoredRecord], StoredRecord | None]:
    """What a client's entry takes the place of, and what forbids it, if anything does. ``met``: clients'
    entries to the same question that the same people may see."""
    given_up: list[StoredRecord] = []
    for stored in met:
        record = stored.record
        assert isinstance(record, AnswerRecord)
        if says_the_same(memory.answer, record):
            is_it = (record.query, record.scope) == (memory.query, memory.scope)
            given_up += [stored] if is_it and is_of_the_same(caller, record) else []
        elif may_replace(caller, record, replace=memory.replace, now=now):
            given_up.append(stored)
        elif record.expires is None or record.expires > now:
            return [], stored
    return given_up, None


def may_take_from_all(caller: Caller, record: AnswerRecord) -> bool:
    """Rule 4."""
    return caller.is_operator or record.scope == private_scope(caller.tenant) or is_own(caller, record)


def agreed(voices: Mapping[str, tuple[str, object]]) -> int:
    """How many tenants call a record invalid. ``voices``: ``RecordStore.voices``."""
    return sum(1 for voice, (verdict, _) in voices.items() if voice and verdict == "invalid")


def stands_there(record: AnswerRecord, query: str) -> str:
    """The answer that stands there for ``query``, and whose it is, as a clause."""
    answer = " ".join(record.answer.split())
    cut = answer if len(answer) <= _SHOWN_CHARS else f"{answer[:_SHOWN_CHARS]}…"
    client = record.source.client
    who = record.source.id if client is None else client.told
    asked = "" if record.query == query else f" (to {record.query[:_SHOWN_CHARS]!r})"
    return f'"{cut}"{asked}, stored by {who} at {format_time(record.timestamp)}'
