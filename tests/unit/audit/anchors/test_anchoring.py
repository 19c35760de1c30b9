"""Anchoring over loopback calendars and real files: states, the queue over restarts, what becomes a leaf."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from opentimestamps.core.serialize import StreamDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile

from node.audit.anchors.anchor import (
    ATTESTED,
    OFF,
    PENDING,
    QUEUED,
    SUBMITTED,
    VERIFIED,
    Anchor,
    AnchorState,
    NoAnchor,
    Standing,
)
from node.audit.anchors.anchoring import (
    ATTESTATION_PATIENCE_S,
    NOW_SPACING_S,
    PATIENCE_S,
    QUEUED_MAX,
    TAKEN_MAX,
    Anchoring,
)
from node.audit.anchors.files import NOTE, RECEIPT, STATE, AnchorFiles, AnchorStatus
from node.audit.anchors.opentimestamps import OpenTimestamps
from node.audit.log.writer import Published
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.files import Files
from node.core.model import Check
from tests.manual_clock import ManualClock
from tests.simulators.calendar import FIRST_HEIGHT, REGTEST_TARGET_MAX, CalendarStandIn, HeaderStandIn

HOUR = 3_600.0
DAY = 86_400.0
DONE = [(SUBMITTED, 5), (ATTESTED, 5), (VERIFIED, 5)]


class Log:
    """A log that grows when told, publishes at once, and takes anchors' leaves unless it ``fails``."""

    def __init__(self, clock: ManualClock, origin: str = "example.org/decisions") -> None:
        self.clock = clock
        self.origin = origin
        self.size = 0
        self.leaves: list[AnchorState] = []
        self.first: Published
        self.fails = False

    def grow(self, count: int = 1) -> Published:
        self.size += count
        published = self.newest()
        assert published is not None
        return published

    def newest(self) -> Published | None:
        if not self.size:
            return None
        root = hashlib.sha256(f"{self.origin} {self.size}".encode()).digest()
        note = f"{self.origin}\n{self.size}\n{root.hex()}\n\n— {self.origin} c2ln\n".encode()
        return Published(self.size, root, note, self.clock.now())

    async def report(self, state: AnchorState) -> None:
        if self.fails:
            raise Unavailable("the log takes no entry")
        self.leaves.append(state)
        self.size += 1

    @property
    def told(self) -> list[tuple[str, int]]:
        return [(leaf.state, leaf.size) for leaf in self.leaves]


@dataclass
class World:
    """A log, a folder, a calendar, a chain, and anchoring that may be stopped and started."""

    directory: Path
    chain: HeaderStandIn
    calendar: CalendarStandIn
    http: aiohttp.ClientSession
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.log = Log(self.clock)
        self.calendars: tuple[str, ...] = (self.calendar.url,)
        self.headers_url = self.chain.url

    def service(self) -> Anchor:
        if not self.calendars:
            return NoAnchor()
        return OpenTimestamps(
            self.calendars,
            self.http,
            self.clock,
            block_headers_url=self.headers_url,
            attempts=1,
            target_max=REGTEST_TARGET_MAX,
        )

    async def start(self, service: Anchor | None = None) -> Anchoring:
        return await Anchoring.open(
            self.directory,
            service or self.service(),
            self.clock,
            newest=self.log.newest,
            report=self.log.report,
            every_s=HOUR,
        )

    async def begun(self, service: Anchor | None = None) -> Anchoring:
        """Anchoring that has seen a checkpoint of five entries, or of what the log has."""
        self.log.first = self.log.newest() or self.log.grow(5)
        anchoring = await self.start(service)
        await anchoring.tick()
        return anchoring

    async def again(self, anchoring: Anchoring, service: Anchor | None = None) -> Anchoring:
        """Another run of the program."""
        await anchoring.close()
        return await self.start(service)

    def stored(self, disk: Files, log: Log | None = None, service: Anchor | None = None) -> Anchoring:
        """New anchoring on another disk."""
        files, log = AnchorFiles(self.directory, disk), log or self.log
        return Anchoring(files, [], service or Willing(), self.clock, log.newest, log.report, HOUR)

    def path(self, suffix: str) -> Path:
        """The file of the one anchor that there is."""
        (status,) = self.on_disk()
        return self.directory / (status.name + suffix)

    def on_disk(self) -> list[AnchorStatus]:
        return AnchorFiles(self.directory).load()

    def states(self) -> list[tuple[str, int]]:
        """(state, size), newest first."""
        return [(one.state, one.size) for one in self.on_disk()]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        chain = await stack.enter_async_context(HeaderStandIn())
        calendar = await stack.enter_async_context(CalendarStandIn(chain))
        http = await stack.enter_async_context(aiohttp.ClientSession(auto_decompress=False, trust_env=False))
        yield World(tmp_path / "anchors", chain, calendar, http)


async def after(world: World, anchoring: Anchoring, seconds: float, *, step_s: float = 600.0) -> None:
    """Let the time pass as the scheduler would, in coarse ticks."""
    passed = 0.0
    while passed < seconds:
        world.clock.advance(min(step_s, seconds - passed))
        passed += step_s
        await anchoring.tick()


class Unsynced(Files):
    """A disk for tests of many writes that no power cut is part of."""

    def sync(self, fd: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


class Willing:
    """A service in memory that takes everything; ``height`` is the block that holds it, once there is one."""

    name = "memory"
    is_off = False
    verifies = False

    def __init__(self) -> None:
        self.height: int | None = None
        self.submitted = 0

    async def submit(self, digest: bytes) -> bytes:
        self.submitted += 1
        return digest

    async def upgrade(self, digest: bytes, receipt: bytes) -> bytes:
        return receipt

    async def read(self, digest: bytes, receipt: bytes) -> Standing:
        if receipt != digest:
            raise Rejected("it is of another digest")
        return Standing(PENDING) if self.height is None else Standing(ATTESTED, self.height)

    async def verify(self, digest: bytes, receipt: bytes) -> Standing:
        raise Unavailable("no source of headers")

    def health(self) -> Check:
        return Check("log:anchor", "pass")


# --- the way --------------------------------------------------------------------------------------


async def test_a_checkpoint_goes_from_queued_to_verified_and_the_log_hears_of_it(world: World) -> None:
    anchoring = await world.begun()
    published = world.log.first
    assert world.states() == [(PENDING, 5)]
    assert world.log.told == [(SUBMITTED, 5)]

    await after(world, anchoring, HOUR)
    assert world.states() == [(PENDING, 5)]
    world.calendar.attest()
    await after(world, anchoring, HOUR)
    (status,) = world.on_disk()
    assert (status.state, status.height) == (VERIFIED, FIRST_HEIGHT)
    assert status.block_hash == HeaderStandIn.hash_of(world.chain.headers[FIRST_HEIGHT])
    assert world.log.told == DONE
    digest = hashlib.sha256(published.note).digest()
    assert all((leaf.digest, leaf.origin) == (digest, world.log.origin) for leaf in world.log.leaves)
    assert [leaf.height for leaf in world.log.leaves] == [None, FIRST_HEIGHT, FIRST_HEIGHT]
    assert anchoring.status() == [status]
    assert anchoring.health().observed == VERIFIED
    assert anchoring.numbers() == {"anchor_queue": 0, "anchor_attested_size": 5, "anchor_verified_size": 5}


async def test_note_and_proof_lie_side_by_side_for_others(world: World) -> None:
    anchoring = await world.begun()
    published = world.log.first
    world.calendar.attest()
    await after(world, anchoring, HOUR)
    note, proof_file = world.path(NOTE), world.path(RECEIPT)
    assert proof_file.name == f"{note.name}.ots"
    assert note.read_bytes() == published.note
    with proof_file.open("rb") as file, note.open("rb") as noted:
        proof = DetachedTimestampFile.deserialize(StreamDeserializationContext(file))
        assert proof.file_hash_op.hash_fd(noted) == proof.file_digest
    roots = [message for message, _ in proof.timestamp.all_attestations()]
    assert world.chain.headers[FIRST_HEIGHT][36:68] in roots


async def test_the_same_over_a_restart_in_every_state(world: World) -> None:
    world.log.grow(5)
    world.calendar.misbehave("status", times=1, status=503)
    seen: list[str] = []
    for attest in (False, False, True, False):
        if attest:
            world.calendar.attest()
        anchoring = await world.start()
        world.clock.advance(HOUR / 2)
        await anchoring.tick()
        seen.append(anchoring.status()[0].state)
        await anchoring.close()
        assert [one.state for one in world.on_disk()] == [seen[-1]]
    assert seen == [SUBMITTED, PENDING, VERIFIED, VERIFIED]
    assert world.log.told == DONE


async def test_offline_it_is_queued_for_ever_and_only_the_newest_waits(world: World) -> None:
    await world.calendar.__aexit__(None, None, None)
    for _ in range(3):
        world.log.grow(10)
        anchoring = await world.start()
        await after(world, anchoring, DAY, step_s=HOUR)
        assert world.states() == [(QUEUED, world.log.size)]
        await anchoring.close()
    assert world.log.told == []
    assert len(list(world.directory.iterdir())) == 2  # a note and a state
    anchoring = await world.start()
    await after(world, anchoring, 2 * PATIENCE_S)
    health = anchoring.health()
    assert (health.status, health.observed) == ("warn", QUEUED)
    assert "nothing of it has left this machine" in health.output
    assert "could not be reached" in health.output


async def test_tries_lie_ever_further_apart(world: World) -> None:
    world.calendar.misbehave("status", times=None, status=500)
    world.log.grow(5)
    anchoring = await world.start()
    await after(world, anchoring, DAY, step_s=60.0)
    assert 20 <= world.calendar.count("/digest") <= 40
    assert world.states() == [(SUBMITTED, 5)]
    assert world.log.told == [(SUBMITTED, 5)]
    assert "nobody has answered" in anchoring.health().output


async def test_a_calendar_is_asked_ever_less_often_for_an_old_digest(world: World) -> None:
    world.log.grow(5)
    anchoring = await world.start()
    await after(world, anchoring, 4 * DAY)
    asked = world.calendar.count() - world.calendar.count("/digest")
    assert 10 <= asked <= 40
    assert world.states() == [(PENDING, 5)]
    health = anchoring.health()
    assert (health.status, health.observed) == ("warn", PENDING)
    assert "no block holds" in health.output


# --- when -----------------------------------------------------------------------------------------


async def test_its_own_leaves_are_no_reason_for_another_anchor(world: World) -> None:
    anchoring = await world.begun()
    await after(world, anchoring, DAY, step_s=HOUR)
    world.calendar.attest()
    await after(world, anchoring, 10 * DAY, step_s=HOUR)
    assert world.states() == [(VERIFIED, 5)]
    assert world.log.size == 5 + 3
    world.log.grow()
    await after(world, anchoring, HOUR)
    assert [size for _, size in world.states()] == [9, 5]


async def test_there_is_one_anchor_a_period_however_much_happens(world: World) -> None:
    anchoring = await world.start()
    await anchoring.tick()
    assert world.states() == []  # an empty log has nothing to anchor
    for _ in range(6 * 5):
        world.log.grow()
        await after(world, anchoring, 600.0)
    assert len(world.states()) == 5


async def test_a_critical_decision_is_anchored_at_once_and_a_flood_of_them_is_not(world: World) -> None:
    anchoring = await world.begun()
    world.clock.advance(NOW_SPACING_S)
    anchoring.now(world.log.grow())
    await world.calendar.wait_for(2, "/digest")
    await anchoring.tick()
    assert world.states()[0] == (PENDING, 7)
    for _ in range(50):
        anchoring.now(world.log.grow())
    await anchoring.tick()
    assert len(world.states()) == 2
    world.clock.advance(NOW_SPACING_S)
    await anchoring.tick()
    assert len(world.states()) == 3
    assert world.states()[0][1] >= 7 + 50
    await after(world, anchoring, HOUR / 2)
    assert len(world.states()) == 3


async def test_a_critical_decision_that_is_covered_asks_nothing(world: World) -> None:
    anchoring = await world.begun()
    published = world.log.first
    anchoring.now(published)
    await anchoring.tick()
    world.log.grow()
    await after(world, anchoring, HOUR / 2)
    assert [size for _, size in world.states()] == [5]


async def test_a_flood_pushes_no_old_one_out_before_it_is_attested(world: World) -> None:
    service = Willing()
    anchoring = world.stored(Unsynced(), service=service)
    sizes: list[int] = []
    for _ in range(3 * TAKEN_MAX):
        world.clock.advance(NOW_SPACING_S)
        anchoring.now(world.log.grow())
        await anchoring.tick()
        sizes.append(anchoring.status()[0].size)
    kept = world.states()
    assert len(kept) <= TAKEN_MAX + 1
    assert kept[0][1] == sizes[-1]
    assert kept[-1][1] == sizes[0]
    older = [size for _, size in kept if size <= sizes[len(sizes) // 2]]
    assert 5 <= len(older) <= len(kept) / 2
    service.height = 7
    await after(world, anchoring, DAY, step_s=HOUR)
    assert {state for state, _ in world.states()} == {ATTESTED}
    assert len(world.states()) >= len(kept)  # what is attested is kept


async def test_what_a_newer_block_covers_is_given_up_after_a_while(world: World) -> None:
    world.log.grow()
    anchoring = await world.begun(Willing())
    (first,) = world.on_disk()

    class Forgetful(Willing):
        """Has lost the first digest."""

        async def read(self, digest: bytes, receipt: bytes) -> Standing:
            return Standing(PENDING) if digest.hex() == first.digest else Standing(ATTESTED, 9)

    anchoring = await world.again(anchoring, Forgetful())
    world.log.grow()
    await after(world, anchoring, HOUR)
    assert [state for state, _ in world.states()] == [ATTESTED, PENDING]
    await after(world, anchoring, ATTESTATION_PATIENCE_S, step_s=HOUR)
    assert anchoring.health().status == "pass"
    world.log.grow()
    await after(world, anchoring, HOUR)
    assert [state for state, _ in world.states()] == [ATTESTED, ATTESTED]


async def test_a_new_log_is_anchored_although_it_is_shorter(world: World) -> None:
    """A new epoch or shard."""
    world.log.grow(500)
    anchoring = await world.begun()
    world.log.origin, world.log.size = "example.org/decisions/2", 3
    await after(world, anchoring, HOUR)
    assert [(one.origin, one.size) for one in world.on_disk()] == [
        ("example.org/decisions/2", 3),
        ("example.org/decisions", 500),
    ]


async def test_of_each_log_one_checkpoint_waits_and_of_few_logs(world: World) -> None:
    await world.calendar.__aexit__(None, None, None)
    anchoring = await world.start()
    for number in range(2, 10):
        world.log.origin = f"example.org/decisions/{number}"
        world.log.grow()
        await after(world, anchoring, HOUR)
    assert [one.origin[-1] for one in world.on_disk()] == ["9", "8", "7", "6"]
    assert len(world.on_disk()) == QUEUED_MAX


async def test_a_clock_that_is_set_back_stops_nothing(world: World) -> None:
    world.calendar.misbehave("status", times=1, status=500)
    anchoring = await world.begun()
    world.clock.set_wall(world.clock.now() - timedelta(days=400))
    await anchoring.tick()
    assert world.states() == [(PENDING, 5)]
    world.log.grow()
    await after(world, anchoring, HOUR)
    assert 7 in [size for _, size in world.states()]


# --- liars ----------------------------------------------------------------------------------------


async def test_an_attestation_that_its_block_denies_is_not_told(world: World) -> None:
    anchoring = await world.begun()
    world.calendar.lies_about_digest = True
    world.calendar.attest()
    await after(world, anchoring, HOUR)
    (status,) = world.on_disk()
    assert (status.state, status.height) == (PENDING, None)
    assert "does not hold" in status.error
    assert world.log.told == [(SUBMITTED, 5)]

    world.calendar.lies_about_digest = False
    world.calendar.commitments = dict.fromkeys(world.calendar.commitments, b"")
    world.calendar.attest()
    await after(world, anchoring, 2 * HOUR)
    assert world.states() == [(VERIFIED, 5)]
    assert world.log.told == DONE


async def test_without_a_header_source_it_stays_attested_until_one_is_named(world: World) -> None:
    world.headers_url = ""
    anchoring = await world.begun()
    world.calendar.attest()
    await after(world, anchoring, DAY, step_s=HOUR)
    assert world.states() == [(ATTESTED, 5)]
    assert world.log.told == [(SUBMITTED, 5), (ATTESTED, 5)]
    assert "was not looked up" in anchoring.health().output
    world.headers_url = world.chain.url
    anchoring = await world.again(anchoring)
    await after(world, anchoring, HOUR)
    assert world.states() == [(VERIFIED, 5)]
    assert world.log.told[-1] == (VERIFIED, 5)


async def test_while_a_header_source_is_away_it_stays_attested(world: World) -> None:
    anchoring = await world.begun()
    world.calendar.attest()
    world.chain.misbehave("status", times=None, status=500)
    await after(world, anchoring, HOUR)
    assert world.states() == [(ATTESTED, 5)]
    assert "status 500" in world.on_disk()[0].error
    world.chain.behave()
    await after(world, anchoring, 2 * HOUR)
    assert world.states() == [(VERIFIED, 5)]


# --- the null -------------------------------------------------------------------------------------


async def test_without_calendars_it_is_off_and_nothing_is_queued_or_written(world: World) -> None:
    world.calendars = ()
    anchoring = await world.start()
    anchoring.now(world.log.grow(5))
    await after(world, anchoring, DAY, step_s=HOUR)
    assert anchoring.status() == []
    assert anchoring.health().observed == OFF
    assert anchoring.numbers()["anchor_queue"] == 0
    assert not world.directory.exists()
    assert world.log.told == []
    await anchoring.close()


async def test_anchors_of_another_service_are_left_alone(world: World) -> None:
    anchoring = await world.again(await world.begun(Willing()))
    await after(world, anchoring, DAY, step_s=HOUR)
    assert [(one.service, one.state) for one in world.on_disk()] == [("memory", PENDING)]
    assert world.calendar.count() == 0


# --- leaves ---------------------------------------------------------------------------------------


async def test_what_the_log_does_not_take_is_told_again_and_each_state_once(world: World) -> None:
    world.log.fails = True
    anchoring = await world.begun()
    assert world.states() == [(PENDING, 5)]
    assert anchoring.health().status == "warn"
    assert "takes no entry" in anchoring.health().output
    world.calendar.attest()
    await after(world, anchoring, HOUR)
    assert world.states() == [(VERIFIED, 5)]
    world.log.fails = False
    anchoring = await world.again(anchoring)
    for _ in range(3):
        await anchoring.tick()
    assert world.log.told == DONE
    assert anchoring.health().status == "pass"


# --- disks ----------------------------------------------------------------------------------------


class Faulty(Files):
    """The disk is full from the ``n``-th change on, or for that one only (``once``)."""

    def __init__(self, n: int, *, once: bool) -> None:
        self.left = n
        self.once = once

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0 or (self.left < 0 and not self.once):
            raise OSError(errno.ENOSPC, "No space left on device")

    def create(self, path: Path, mode: int = 0o644) -> int:
        self._count()
        return super().create(path, mode)

    def sync(self, fd: int) -> None:
        self._count()
        super().sync(fd)

    def rename(self, old: Path, new: Path) -> None:
        self._count()
        super().rename(old, new)

    def sync_directory(self, path: Path) -> None:
        self._count()
        super().sync_directory(path)


@pytest.mark.parametrize("once", [True, False])
async def test_each_write_that_fails_leaves_whole_anchors(world: World, tmp_path: Path, once: bool) -> None:
    """After each fault the folder loads without damage, no state is stronger than what lies beside it, and
    the next start brings it to its end."""
    number = 0
    has_failed = True
    while has_failed:
        number += 1
        world.directory = tmp_path / str(number)
        log = world.log = Log(world.clock)
        service, disk = Willing(), Faulty(number, once=once)
        log.grow(5)
        anchoring = world.stored(disk, service=service)
        await anchoring.tick()
        service.height = 8
        world.clock.advance(HOUR)
        await anchoring.tick()
        await anchoring.close()
        has_failed = disk.left <= 0

        after_fault = AnchorFiles(world.directory)
        for status in after_fault.load():
            assert hashlib.sha256(after_fault.note(status)).hexdigest() == status.digest
            if status.has_receipt:
                assert after_fault.receipt(status).hex() == status.digest
        assert after_fault.damaged == ()

        again = await world.start(service)
        for _ in range(4):
            world.clock.advance(HOUR)
            await again.tick()
        await again.close()
        assert {status.state for status in after_fault.load()} == {ATTESTED}
        stems = {status.name for status in after_fault.load()}
        assert {
            path.name.split(".")[0] for path in world.directory.iterdir()
        } == stems  # nothing is left over
    assert number > 20


async def test_a_full_disk_is_said_and_costs_no_second_leaf(world: World) -> None:
    disk = Faulty(10**6, once=False)

    class Filling(Log):
        """Once the leaf is in, the disk is full."""

        async def report(self, state: AnchorState) -> None:
            await super().report(state)
            disk.left = 1

    log = Filling(world.clock)
    log.grow(5)
    anchoring = world.stored(disk, log)
    for _ in range(5):
        await anchoring.tick()
        world.clock.advance(60.0)
    assert log.told == [(SUBMITTED, 5)]
    await anchoring.close()


async def test_a_folder_that_cannot_be_written_warns(world: World) -> None:
    world.log.grow(5)
    world.directory.write_text("in the way")
    with pytest.raises(Unavailable, match="cannot read anchors"):
        await world.start()
    world.directory.unlink()
    anchoring = await world.start()
    world.directory.write_text("in the way")
    await anchoring.tick()
    assert anchoring.health().status == "warn"
    assert "cannot write anchors" in anchoring.health().output
    world.directory.unlink()
    await anchoring.tick()
    assert anchoring.health().status == "pass"
    assert world.states() == [(PENDING, 5)]


async def test_what_a_killed_process_left_is_cleared_away(world: World) -> None:
    anchoring = await world.begun()
    await anchoring.close()
    (status,) = world.on_disk()
    for name in ("000000000009-0123456789abcdef.checkpoint", f".{status.name}.json.new", "readme.txt"):
        (world.directory / name).write_bytes(b"x")
    await world.start()
    assert sorted(path.name for path in world.directory.iterdir()) == sorted(
        [status.name + NOTE, status.name + RECEIPT, status.name + STATE, "readme.txt"]
    )


async def test_a_damaged_proof_is_made_anew(world: World) -> None:
    anchoring = await world.begun()
    world.path(RECEIPT).write_bytes(b"\x00OpenTimestamps, or not")
    await after(world, anchoring, HOUR)
    assert world.states() == [(PENDING, 5)]
    assert world.calendar.count("/digest") == 2
    proof = world.path(RECEIPT).read_bytes()
    assert DetachedTimestampFile.deserialize(StreamDeserializationContext(io.BytesIO(proof)))


@pytest.mark.parametrize(
    "change",
    [
        {"digest": None},  # it is not there
        {"more": 1},
        *({"v": 2}, {"state": "anchored"}, {"reported": "told"}, {"error": None}),
        {"state": VERIFIED},  # without the block
        {"state": QUEUED, "height": 9},
        *({"size": size} for size in (-1, True, "5", 6)),
        *({"digest": digest} for digest in ("00", "f" * 64)),
        *({"queued_at": time} for time in ("yesterday", "2026-01-01T00:00:00")),
    ],
    ids=str,
)
async def test_a_state_that_is_none_is_kept_and_named(world: World, change: dict[str, Any]) -> None:
    await (await world.begun()).close()
    path = world.path(STATE)
    value = json.loads(path.read_text()) | change
    if value["digest"] is None:
        del value["digest"]
    path.write_text(json.dumps(value))
    anchoring = await world.start()
    assert anchoring.status() == []
    health = anchoring.health()
    assert health.status == "warn"
    assert path.name in health.output
    assert len(list(world.directory.iterdir())) == 3  # for a person to look at


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b" " * 20_000])
async def test_a_state_file_that_is_no_json_is_passed_over(world: World, data: bytes) -> None:
    world.directory.mkdir()
    (world.directory / "000000000005-0123456789abcdef.json").write_bytes(data)
    files = AnchorFiles(world.directory)
    assert files.load() == []
    assert files.damaged == ("000000000005-0123456789abcdef.json",)


@pytest.mark.parametrize("suffix", [NOTE, RECEIPT])
async def test_a_state_without_its_files_is_passed_over(world: World, suffix: str) -> None:
    await world.begun()
    (status,) = world.on_disk()
    files = AnchorFiles(world.directory)
    (world.directory / (status.name + suffix)).unlink()
    assert files.load() == []
    assert files.damaged == (status.name + STATE,)
    read = files.note if suffix == NOTE else files.receipt
    with pytest.raises(NotFound):
        read(status)


async def test_a_changed_note_is_not_sent_and_the_next_checkpoint_takes_its_place(world: World) -> None:
    world.calendar.misbehave("status", times=1, status=500)
    anchoring = await world.begun()
    (status,) = world.on_disk()
    world.path(NOTE).write_bytes(b"another")
    with pytest.raises(Rejected, match="not the note"):
        AnchorFiles(world.directory).note(status)
    await after(world, anchoring, HOUR / 2)
    assert world.calendar.count() == 1
    assert "not the note" in anchoring.status()[0].error
    world.log.grow()
    await after(world, anchoring, HOUR)
    assert world.states() == [(PENDING, 7)]


# --- the end --------------------------------------------------------------------------------------


async def test_close_does_not_wait_for_a_calendar_and_nothing_begins_after_it(world: World) -> None:
    world.calendar.misbehave("hang", times=None)
    published = world.log.grow(5)
    anchoring = await world.start()
    anchoring.now(published)
    tick = asyncio.create_task(anchoring.tick())
    await world.calendar.wait_for(1)
    await anchoring.close()
    await tick
    assert world.states() == [(QUEUED, 5)]
    anchoring.now(world.log.grow())
    await anchoring.tick()
    await anchoring.close()
    assert world.calendar.count() == 1
    assert len(world.states()) == 1


async def test_two_ticks_share_one_round(world: World) -> None:
    world.log.grow(5)
    anchoring = await world.start()
    await asyncio.gather(anchoring.tick(), anchoring.tick(), anchoring.tick())
    assert world.calendar.count() == 1
