"""Erasure by the operator: what is meant is gone from the disk, logged, and nothing else is touched."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.app.operator_desk import LaterSemantics
from node.audit.decisions.memory import MemoryLog
from node.audit.recorder import Recorder
from node.cache.keys import keyword_key
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import BLAKE2B_256, RAW, SHA2_512, Cid
from node.core.metrics import Metrics
from node.core.model import Json, SourceRef
from node.core.ports import Appended, StoredRecord
from node.core.record import block_of
from node.store.imported_blocks import ForeignStore, WithForeign
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.retention.erasure import Erasure
from node.store.sqlite import SqliteStore
from tests.manual_clock import ManualClock
from tests.record_builders import START
from tests.unit.cache.index.semantic_bench import memory, rememberer
from tests.unit.store.conftest import Opened, Start

CANARY = "zanzibarquux"
QUESTION = f"What does {CANARY} mean?"


class FailingLog(MemoryLog):
    """Takes entries until it is told not to."""

    is_full = False

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        if self.is_full:
            raise Unavailable("the disk is full")
        return await super().append(entry, private_texts=private_texts)


@dataclass
class Bench:
    folder: Path
    store: SqliteStore
    foreign: ForeignStore
    log: FailingLog
    rememberer: Rememberer
    eraser: Eraser

    def erasure(self, *, refuse_unlogged: bool = False) -> Erasure:
        recorder = Recorder(self.log, Metrics().unlogged, refuses=refuse_unlogged)
        return Erasure(self.store.records, self.eraser, self.foreign, recorder, "test")

    async def keep(self, query: str, answer: str, **more: Any) -> StoredRecord:
        kept = await self.rememberer.keep(memory(query, answer, source=SourceRef("client", "ana"), **more))
        assert kept.stored is not None
        return kept.stored

    def on_disk(self) -> list[str]:
        word = CANARY.encode()
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        return [path.name for path in files if word in path.read_bytes().lower()]

    async def live(self) -> int:
        return (await self.store.records.counts())["live"]


@pytest.fixture
async def bench(tmp_path: Path, start: Start, opened: Opened[ForeignStore]) -> Bench:
    clock = ManualClock(START)
    store = await start(keyword_key=keyword_key)
    foreign = await opened(ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=2**20))
    log = FailingLog("test.example/log", clock)
    ours = rememberer(store.records, LaterSemantics(), clock)
    blocks = WithForeign(store.blocks, foreign.blocks)
    eraser = Eraser(store.records, blocks, ours, log, (store.scrub, foreign.scrub))
    return Bench(tmp_path, store, foreign, log, ours, eraser)


async def test_by_question_in_every_scope_live_and_withdrawn(bench: Bench) -> None:
    for scope in ("public", "shared", "private:acme"):
        await bench.keep(QUESTION, f"{CANARY} in {scope}", scope=scope)
    old = await bench.keep(QUESTION, f"an older {CANARY}", context="a" * 64)
    await bench.store.records.withdraw(old.cid, "expired")
    await bench.keep("What is a keel?", "The spine of a ship.")
    assert bench.on_disk()
    would, _ = await bench.erasure().of_question(QUESTION, most=10, dry_run=True)
    assert len(would) == 4
    assert await bench.live() == 4, "a dry run changes nothing"
    size = bench.log.size()
    erased, more = await bench.erasure().of_question(f"  {QUESTION[:-1]} ", most=10)
    scopes = ["private:acme", "public", "shared", "shared"]
    assert (sorted(one.scope for one in erased), more) == (scopes, False)
    assert all(one.tombstone is not None and one.decision is not None for one in erased)
    assert bench.log.size() == size + 4
    assert bench.on_disk() == []
    assert await bench.live() == 1
    assert await bench.erasure().of_question(QUESTION, most=10) == ([], False)


async def test_more_than_one_call_takes_says_so(bench: Bench) -> None:
    for number in range(5):
        await bench.keep(QUESTION, f"answer {number}", context=f"{number}" * 64)
    for most, is_more in ((2, True), (3, False)):
        erased, more = await bench.erasure().of_question(QUESTION, most=most)
        assert (len(erased), more) == (most, is_more)


async def test_by_cid_with_versions_and_the_imported_copy(bench: Bench) -> None:
    await bench.keep(QUESTION, f"first {CANARY}", scope="public")
    stored = await bench.keep(QUESTION, f"second {CANARY}", scope="public")
    cid, data = block_of(stored.record)
    await bench.foreign.blocks.put(cid, data)
    done = await bench.erasure().of_cid(cid)
    assert (done.cid, done.scope) == (cid, "public")
    assert bench.on_disk() == []
    with pytest.raises(NotFound):
        await bench.erasure().of_cid(cid)


async def test_an_imported_block_by_its_cid(bench: Bench) -> None:
    cid = Cid.of(CANARY.encode(), RAW)
    await bench.foreign.blocks.put(cid, CANARY.encode())
    assert (await bench.erasure().of_cid(cid, dry_run=True)).tombstone is None
    assert await bench.foreign.blocks.has(cid)
    done = await bench.erasure().of_cid(cid)
    assert (done.scope, done.tombstone, done.decision) == ("", None, None)
    assert bench.on_disk() == []
    with pytest.raises(NotFound, match=str(cid)):
        await bench.erasure().of_cid(cid)


async def test_where_the_log_cannot_have_it_nothing_is_begun_or_it_is_said(bench: Bench) -> None:
    stored = await bench.keep(QUESTION, "x")
    bench.log.is_full = True
    with pytest.raises(Unavailable, match="nothing was erased"):
        await bench.erasure(refuse_unlogged=True).of_cid(stored.cid)
    assert await bench.live() == 1
    assert (await bench.erasure().of_cid(stored.cid)).decision is None
    assert await bench.live() == 0


def spoil(folder: Path, cid: Cid) -> None:
    """Other bytes where the record lies."""
    connection = sqlite3.connect(folder / "blocks.sqlite")
    done = connection.execute("UPDATE block SET data = zeroblob(200) WHERE multihash = ?", (cid.multihash,))
    assert done.rowcount == 1
    connection.commit()
    connection.close()


@pytest.mark.parametrize("scope", ["public", "private:acme"])
@pytest.mark.parametrize("by", ["cid", "question"])
async def test_a_damaged_record_can_be_erased(bench: Bench, scope: str, by: str) -> None:
    stored = await bench.keep(QUESTION, f"{CANARY}!", scope=scope)
    await bench.rememberer.validate(stored, "valid", f"My {CANARY}.")
    spoil(bench.folder, stored.cid)
    with pytest.raises(CorruptState):
        await bench.store.records.get(stored.cid)
    if by == "cid":
        would = await bench.erasure().of_cid(stored.cid, dry_run=True)
        assert (would.cid, would.scope, would.tombstone) == (stored.cid, scope, None)
        erased = await bench.erasure().of_cid(stored.cid)
    else:
        [erased], _ = await bench.erasure().of_question(QUESTION, most=9)
    assert (erased.cid, erased.scope) == (stored.cid, scope)
    assert erased.tombstone is not None
    assert erased.decision is not None
    assert not await bench.store.blocks.has(stored.cid)
    assert bench.on_disk() == []
    with pytest.raises(NotFound):
        await bench.erasure().of_cid(stored.cid)


async def test_an_erasure_that_failed_once_the_key_was_gone_can_be_asked_for_again(bench: Bench) -> None:
    first, second = [await bench.keep(f"{QUESTION} {n}", f"{CANARY} {n}", scope="private") for n in range(2)]
    await bench.store.records.shred([first.cid, second.cid])
    assert (await bench.erasure().of_cid(first.cid, dry_run=True)).scope == "private"
    erased = await bench.erasure().of_cid(first.cid)
    assert (erased.scope, erased.tombstone is None) == ("private", False)
    assert await bench.store.records.shredded() == [], "and what else was left is finished with it"


async def test_a_question_finishes_what_was_left_of_its_erasure(bench: Bench) -> None:
    stored = await bench.keep(QUESTION, f"{CANARY}!", scope="private")
    await bench.store.records.shred([stored.cid])
    assert await bench.erasure().of_question(QUESTION, most=9) == ([], False)
    assert not await bench.store.blocks.has(stored.cid)


@pytest.mark.parametrize(
    ("function", "scope"), [(None, "public"), (SHA2_512, "public"), (BLAKE2B_256, "private")]
)
async def test_any_cid_of_its_bytes_names_the_record_and_all_copies_go(
    bench: Bench, function: int | None, scope: str
) -> None:
    stored = await bench.keep(QUESTION, f"{CANARY}!", scope=scope)
    _, data = block_of(stored.record)
    copies = {
        SHA2_512: Cid(RAW, hashlib.sha512(data).digest(), SHA2_512),
        BLAKE2B_256: Cid(RAW, hashlib.blake2b(data, digest_size=32).digest(), BLAKE2B_256),
    }
    for copy in copies.values():
        await bench.foreign.blocks.put(copy, data)
    named = Cid(RAW, stored.cid.digest) if function is None else copies[function]
    erased = await bench.erasure().of_cid(named)
    assert (erased.cid, erased.scope) == (stored.cid, scope)
    assert not await bench.store.blocks.has(stored.cid)
    assert [await bench.foreign.blocks.has(copy) for copy in copies.values()] == [False, False]
    assert bench.on_disk() == []
