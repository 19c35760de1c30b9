"""Texts that were overwritten go off the disk, when they have been kept long enough and not before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.app.operator_desk import LaterSemantics
from node.cache.keys import keyword_key
from node.core.errors import NotFound
from node.core.model import SourceRef
from node.store.overwritten import NOTES_MAX, noted
from node.store.retention.sweeps import scrub_withdrawn
from node.store.state import StateStore
from tests.manual_clock import ManualClock
from tests.record_builders import START
from tests.unit.cache.index.semantic_bench import memory, rememberer
from tests.unit.store.conftest import Opened, Start

CANARY = "zanzibarquux"
QUESTION = "Where does the spare key lie?"
WEEK_S = 7 * 86_400


def on_disk(folder: Path) -> list[str]:
    word = CANARY.encode()
    return [path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()]


async def test_an_overwritten_shared_text_is_scrubbed_after_its_time(
    tmp_path: Path, start: Start, opened: Opened[Any]
) -> None:
    clock = ManualClock(START)
    store = await start(keyword_key=keyword_key)
    state = await opened(StateStore.open(tmp_path / "state.sqlite"))
    ours = rememberer(store.records, LaterSemantics(), clock)

    async def keep(answer: str) -> Any:
        kept = await ours.keep(memory(QUESTION, answer, source=SourceRef("client", "ana"), scope="shared"))
        assert kept.stored is not None
        return kept.stored

    async def tick() -> int:
        return await scrub_withdrawn(store, state, clock, kept_s=WEEK_S)

    first = await keep(f"Under the {CANARY}.")
    assert await tick() == 0
    clock.advance(60)
    await keep("Under the mat.")
    assert (await store.records.get(first.cid)).state == "withdrawn"
    assert on_disk(tmp_path)
    for _ in range(7):
        clock.advance(86_400 - 60)
        assert await tick() == 0
        assert (await store.records.get(first.cid)).state == "withdrawn"
    clock.advance(86_400 + 7 * 60)
    assert await tick() == 1
    assert on_disk(tmp_path) == []
    with pytest.raises(NotFound):
        await store.records.get(first.cid)
    assert (await store.records.counts())["live"] == 1
    assert await tick() == 0


def test_notes_are_bounded_and_those_of_the_future_are_made_anew() -> None:
    notes: list[tuple[int, int]] = []
    until = 0
    for tick in range(10_000):
        notes, until = noted(notes, tick * 900, tick, WEEK_S)
        assert len(notes) <= NOTES_MAX
        assert tick * 900 - WEEK_S - WEEK_S / 100 <= until * 900 <= max(0, tick * 900 - WEEK_S)
    assert until > 0
    assert noted(notes, 900, 12_000, WEEK_S)[1] == 0
    assert noted([], 900, 5, 0) == ([(900, 5)], 5)
