"""A key of the log is changed while it is written: nobody is refused, and every checkpoint can be checked."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from node.audit.decisions.log import DecisionLog
from node.audit.decisions.memory import MemoryLog
from node.audit.decisions.rotation import KeyRotation
from node.audit.decisions.shards import Terms
from node.core.errors import BadInput, Misconfigured, Unavailable
from node.core.identity import Identity
from node.core.key_ring import OVERLAP_DAYS, Rotation
from node.core.signed_note import Note, Verifier, open_checkpoint
from tests.log_kit import leaves
from tests.manual_clock import ManualClock
from tests.references.record_store import MemoryStore


class Desk:
    """An identity, its log, and what rotates its keys."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.folder = folder
        self.clock = clock
        self.identity = Identity.load_or_create(folder / "keys", clock.now())
        self.store = MemoryStore(own_issuer=self.identity.root)
        self.log: DecisionLog
        self.rotation: KeyRotation
        self.told: list[Rotation] = []
        self.events: list[str] = []
        self.failing = ""

    @asynccontextmanager
    async def note(self, rotation: Rotation) -> AsyncIterator[None]:
        if self.failing:
            raise Unavailable(self.failing)
        self.events.append(f"leave {self.identity.node == rotation.old}")
        try:
            yield
        finally:
            self.told.append(rotation)
            self.events.append(f"settle {self.identity.node == rotation.new}")

    async def open(self, **options: Any) -> DecisionLog:
        self.log = await DecisionLog.open(
            self.folder / "log",
            self.identity.decisions_origin,
            self.identity.log_signers,
            self.clock,
            keys=self.folder / "keys",
            is_held=options.pop("is_held", False),
            terms=Terms(**options),
        )
        self.rotation = KeyRotation(self.identity, self.log, self.store.records, self.clock, "p", self.note)
        return self.log

    def checkpoint(self) -> bytes:
        return (self.folder / "log" / "checkpoint").read_bytes()

    def vkeys(self) -> list[str]:
        return (self.folder / "log" / "vkey").read_text().splitlines()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, ManualClock())


async def test_under_load_nothing_is_refused_and_the_origin_stays(desk: Desk) -> None:
    old = Verifier.from_vkey(desk.identity.vkey("decisions"))
    log = await desk.open(publish_every_s=0.01)
    notes: list[bytes] = []
    log.on_published(lambda published: notes.append(published.note))
    ended = asyncio.Event()
    indexes: list[int] = []

    async def work(worker: int) -> None:
        while not ended.is_set():
            place = await log.append({"kind": "answer", "n": worker}, private_texts={"query": "x"})
            indexes.append(place.index)

    workers = [asyncio.create_task(work(number)) for number in range(8)]
    done = await desk.rotation.rotate("decisions")
    ended.set()
    await asyncio.gather(*workers)
    await log.close()
    new = Verifier.from_vkey(done.new_vkey)
    assert (done.old_vkey, new.name) == (old.vkey, log.origin)
    assert desk.vkeys() == [new.vkey, old.vkey]
    assert desk.told == [done.rotation]
    assert len(set(indexes)) == len(indexes) > 0
    for note in notes:
        assert open_checkpoint(note, [old]).signed_by == (old,), "whoever knows the old key is led over"
    assert set(open_checkpoint(desk.checkpoint(), [new, old]).signed_by) == {new, old}
    found = await leaves(desk.folder / "log", verifiers=[new])
    assert len(found) == len(indexes) + 1
    [entry] = [leaf.entry for leaf in found if leaf.entry["kind"] == "key"]
    assert done.decision is not None
    assert found[done.decision.index].entry == entry
    assert entry["old"]["key"] == done.rotation.old
    assert (entry["old"]["vkey"], entry["new"]["vkey"]) == (old.vkey, new.vkey)
    until = desk.clock.now() + timedelta(days=OVERLAP_DAYS)
    assert entry["old"]["until_s"] == int(until.timestamp())
    assert len(entry["certificates"]) == 2
    assert (await desk.store.records.counts())["records"] == 2


async def test_after_the_overlap_only_the_new_key_signs(desk: Desk) -> None:
    log = await desk.open()
    await log.append({"kind": "answer"}, private_texts={})
    done = await desk.rotation.rotate("decisions")
    await log.close()
    desk.clock.advance(OVERLAP_DAYS * 86_400)
    desk.identity = Identity.load_or_create(desk.folder / "keys", desk.clock.now())
    log = await desk.open()
    assert log.health().status == "pass"
    await log.append({"kind": "answer"}, private_texts={})
    await log.close()
    assert desk.vkeys() == [done.new_vkey]
    new = Verifier.from_vkey(done.new_vkey)
    assert len(Note.parse(desk.checkpoint()).signatures) == 1
    assert len(await leaves(desk.folder / "log", verifiers=[new])) == 3


async def test_a_key_that_is_dropped_signs_once_more_to_lead_over(desk: Desk) -> None:
    old = Verifier.from_vkey(desk.identity.vkey("decisions"))
    log = await desk.open()
    await log.append({"kind": "answer"}, private_texts={})
    notes: list[bytes] = []
    log.on_published(lambda published: notes.append(published.note))
    done = await desk.rotation.rotate("decisions", drop_old=True)
    await log.close()
    new = Verifier.from_vkey(done.new_vkey)
    assert set(open_checkpoint(notes[0], [old, new]).signed_by) == {old, new}
    assert open_checkpoint(desk.checkpoint(), [old, new]).signed_by == (new,)
    assert desk.vkeys() == [new.vkey]
    desk.identity = Identity.load_or_create(desk.folder / "keys", desk.clock.now())
    log = await desk.open()
    assert log.health().status == "pass"
    await log.close()


async def test_rotation_in_a_later_epoch_names_that_log_s_keys(desk: Desk) -> None:
    log = await desk.open(shard_entries=6)
    for _ in range(7):
        await log.append({"kind": "answer"}, private_texts={})
    done = await desk.rotation.rotate("decisions")
    assert Verifier.from_vkey(done.new_vkey).name == log.origin != desk.identity.decisions_origin
    await log.close()
    assert desk.vkeys() == [done.new_vkey, done.old_vkey]


@pytest.mark.parametrize("use", ["node", "publications", "witness"])
async def test_other_keys_leave_the_log_s_alone(desk: Desk, use: str) -> None:
    log = await desk.open()
    before = desk.identity.node
    done = await desk.rotation.rotate(use)
    await log.close()
    assert done.rotation.use == use
    assert (desk.identity.node == before) is (use != "node")
    assert desk.vkeys() == [desk.identity.vkey("decisions")]
    [leaf] = await leaves(desk.folder / "log", verifiers=[Verifier.from_vkey(desk.vkeys()[0])])
    assert (leaf.entry["kind"], leaf.entry["use"]) == ("key", use)
    assert (leaf.entry["new"]["vkey"] is None) is (use == "node")


async def test_two_rotations_wait_for_each_other(desk: Desk) -> None:
    log = await desk.open()
    one, two = await asyncio.gather(*(desk.rotation.rotate("decisions") for _ in range(2)))
    assert two.rotation.old == one.rotation.new
    await log.close()
    assert desk.vkeys() == [two.new_vkey, one.new_vkey, one.old_vkey]


async def test_a_log_that_cannot_publish_keeps_its_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = await desk.open()
    before = desk.identity.vkey("decisions")
    real = os.fsync

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="No space"):
        await desk.rotation.rotate("decisions")
    monkeypatch.setattr(os, "fsync", real)
    assert desk.identity.vkey("decisions") == before
    await log.append({"kind": "answer"}, private_texts={})
    await log.tile_log.publish()
    await log.close()
    desk.identity = Identity.load_or_create(desk.folder / "keys", desk.clock.now())
    assert desk.identity.vkey("decisions") == before
    log = await desk.open()
    await log.close()
    assert desk.vkeys() == [before]


async def test_what_cannot_be_rotated(desk: Desk) -> None:
    log = MemoryLog(desk.identity.decisions_origin, desk.clock)
    rotation = KeyRotation(desk.identity, log, desk.store.records, desk.clock, "p", desk.note)
    with pytest.raises(BadInput, match="known are"):
        await rotation.rotate("root")
    (desk.folder / "keys" / "root.pem").rename(desk.folder / "root.pem")
    with pytest.raises(Misconfigured, match=r"put root\.pem"):
        await rotation.rotate("decisions")


@pytest.mark.parametrize("drop_old", [False, True])
async def test_the_old_key_has_its_last_word_before_it_goes(desk: Desk, drop_old: bool) -> None:
    log = await desk.open()
    await desk.rotation.rotate("node", drop_old=drop_old)
    assert desk.events == ["leave True", "settle True"]
    before = desk.identity.node
    desk.failing = "the name store is full"
    with pytest.raises(Unavailable, match="name store is full"):
        await desk.rotation.rotate("node", drop_old=drop_old)
    await log.close()
    assert (
        desk.identity.node == before == Identity.load_or_create(desk.folder / "keys", desk.clock.now()).node
    )


async def test_a_key_that_cannot_be_written_ends_the_leave_too(desk: Desk) -> None:
    log = await desk.open()
    before = desk.identity.node
    (desk.folder / "keys" / "node.next.pem").mkdir()
    with pytest.raises(Misconfigured):
        await desk.rotation.rotate("node", drop_old=True)
    await log.close()
    assert desk.events == ["leave True", "settle False"]
    assert desk.identity.node == before
