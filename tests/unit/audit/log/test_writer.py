"""The writer of a log: what it promises to whoever appends, publishes, rotates and reads the folder."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.log.reader import FolderSource
from node.audit.log.writer import Pace, Published, TileLog
from node.audit.tlog.right_edge import Growth
from node.audit.tlog.tiles import ENTRIES, Tile, decode_bundle, tiles_between
from node.core.errors import CorruptState, Misconfigured, Rejected, Unavailable
from node.core.files import Files
from node.core.merkle import EMPTY_ROOT, leaf_hash, root_of
from node.core.record import time_us
from node.core.signed_note import (
    Checkpoint,
    CosignatureSigner,
    Ed25519Signer,
    Note,
    Signature,
    Signer,
    Verifier,
    cosigned,
    open_checkpoint,
)
from tests.log_folders import unpack_bundles
from tests.manual_clock import ManualClock

ORIGIN = "test.neuroswarm/decisions"


def key(letter: str, origin: str = ORIGIN) -> Ed25519Signer:
    return Ed25519Signer(origin, Ed25519PrivateKey.from_private_bytes(letter.encode() * 32))


KEY, NEW_KEY = key("k"), key("n")
OPEN: list[TileLog] = []
WITNESS = CosignatureSigner("witness", Ed25519PrivateKey.from_private_bytes(b"w" * 32))


class Unsynced(Files):
    """A real disk without its slow part: what power cuts do is tested elsewhere."""

    def sync(self, fd: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


class Interruptible:
    """Signs as ``KEY`` does, once ``may_sign`` is set, but for the next ``failures`` times."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self.may_sign = threading.Event()
        self.may_sign.set()

    @property
    def verifier(self) -> Verifier:
        return KEY.verifier

    def sign(self, text: bytes, time_s: int) -> Signature:
        self.may_sign.wait()
        if self.failures:
            raise self.failures.pop()
        return KEY.sign(text, time_s)


async def opened(
    folder: Path,
    signers: Sequence[Signer] = (KEY,),
    clock: ManualClock | None = None,
    **options: object,
) -> TileLog:
    more = {name: options.pop(name) for name in ("files", "prepare") if name in options}
    pace = Pace(**{"every_s": 1_000.0, **options})
    made = await TileLog.open(
        folder / "log",
        ORIGIN,
        signers,
        clock or ManualClock(),
        high_water=folder / "keys" / "mark",
        pace=pace,
        **{"files": Unsynced(), **more},
    )
    OPEN.append(made)
    return made


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    """Logs that a test leaves open are closed behind it."""
    yield
    while OPEN:
        await OPEN.pop().close()


@pytest.fixture
async def log(tmp_path: Path) -> TileLog:
    return await opened(tmp_path)


@pytest.fixture
async def held(tmp_path: Path, log: TileLog) -> TileLog:
    """A log of 300 entries that is opened again to wait for its witnesses, with ten more entries."""
    await add(log, 300)
    await log.close()
    again = await opened(tmp_path, is_held=True)
    await add(again, 10)
    return again


def numbered(index: int, time: int) -> bytes:
    return b"entry %d at %d" % (index, time)


async def add(log: TileLog, count: int) -> list[int]:
    return await asyncio.gather(*(log.append(numbered) for _ in range(count)))


def newest(folder: Path, *signers: Ed25519Signer) -> Checkpoint:
    data = (folder / "log" / "checkpoint").read_bytes()
    return open_checkpoint(data, [one.verifier for one in signers or (KEY,)]).checkpoint


def stored(folder: Path) -> list[bytes]:
    """All entries, after the root of their hashes was checked and each tile read."""
    size = newest(folder).size
    entries: list[bytes] = []
    for tile in tiles_between(0, size):
        data = FolderSource(folder / "log").read_now(tile.path, tile.bytes_max)
        if tile.level == ENTRIES:
            entries += decode_bundle(data, tile.width)
        else:
            assert len(data) == 32 * tile.width
    assert root_of([leaf_hash(entry) for entry in entries]) == newest(folder).root
    return entries


# --- the growing edge -----------------------------------------------------------------------------


def test_growth_writes_the_tiles_of_the_specification_at_each_size() -> None:
    growth, disk = Growth(), dict[Tile, bytes]()
    entries: list[bytes] = []
    before = 0
    for size in (0, 1, 2, 255, 256, 257, 300, 511, 512, 513, 1_024, 1_100):
        while growth.size < size:
            entries.append(numbered(growth.size, 0))
            growth.append(entries[-1])
        tiles = growth.unwritten()
        assert set(tiles_between(before, size)) <= set(tiles)
        growth.written(tiles)
        disk |= tiles
        again = Growth.at(size, disk.__getitem__)
        assert growth.root() == again.root() == root_of([leaf_hash(entry) for entry in entries])
        assert again.root_with([b"more"]) == root_of([leaf_hash(entry) for entry in [*entries, b"more"]])
        before = size
    assert not growth.full


def test_growth_refuses_a_bundle_that_is_not_of_its_tile() -> None:
    growth = Growth()
    for index in range(256):
        growth.append(numbered(index, 0))
    disk = growth.unwritten()
    with pytest.raises(Rejected, match="tile/entries/000 are not those"):
        Growth.at(256, {**disk, Tile(ENTRIES, 0): disk[Tile(ENTRIES, 0)][:-1] + b"9"}.__getitem__)


# --- appending and publishing ---------------------------------------------------------------------


async def test_a_new_log_has_an_empty_checkpoint_at_once(tmp_path: Path, log: TileLog) -> None:
    assert newest(tmp_path) == Checkpoint(ORIGIN, 0, EMPTY_ROOT)
    assert (tmp_path / "log" / "vkey").read_text() == f"{KEY.verifier.vkey}\n"
    assert log.published is not None
    assert (log.published.size, log.size(), log.repair, log.suspended) == (0, 0, None, "")
    assert log.health().status == "pass"
    await log.close()
    assert (tmp_path / "keys" / "mark").stat().st_mode & 0o777 == 0o600


async def test_entries_get_their_places_and_are_published(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    log = await opened(tmp_path, clock=clock)
    assert sorted(await add(log, 300)) == list(range(300))
    published = await log.publish()
    assert published.size == log.size() == 300
    assert stored(tmp_path) == [numbered(index, time_us(clock.now())) for index in range(300)]
    assert published.note == (tmp_path / "log" / "checkpoint").read_bytes()
    assert published.note == (tmp_path / "keys" / "mark").read_bytes()
    assert published.at == clock.now()
    assert await log.publish() == published, "nothing new"


async def test_close_publishes_and_a_new_writer_goes_on(tmp_path: Path) -> None:
    for count, size in ((3, 3), (253, 256), (1, 257), (255, 512), (0, 512)):
        log = await opened(tmp_path)
        assert log.repair is None
        await add(log, count)
        await log.close()
        assert len(stored(tmp_path)) == size
    with pytest.raises(Unavailable, match="closed"):
        await log.append(numbered)
    assert log.health().status == "fail"


async def test_a_full_tile_is_published_at_once_and_time_does_it_too(tmp_path: Path, log: TileLog) -> None:
    seen: asyncio.Queue[Published] = asyncio.Queue()
    log.on_published(seen.put_nowait)
    await add(log, 256)
    assert (await seen.get()).size == 256
    await log.close()
    log = await opened(tmp_path, every_s=0.01)
    log.on_published(seen.put_nowait)
    await add(log, 1)
    assert (await seen.get()).size == 257


async def test_waiting_for_publication_asks_for_it(log: TileLog) -> None:
    index = await log.append(numbered)
    published = await log.wait_published(index, 30)
    assert published is not None
    assert published.size == 1
    assert await log.wait_published(index, 30) == published
    assert await log.wait_published(1, 30) is None, "there is no such entry"
    await log.close()
    assert await log.wait_published(1, 30) is None


async def test_waiting_ends_in_time(tmp_path: Path) -> None:
    signer = Interruptible()
    log = await opened(tmp_path, [signer])
    signer.may_sign.clear()
    index = await log.append(numbered)
    assert await log.wait_published(index, 0.001) is None
    signer.may_sign.set()


async def test_nobody_waits_for_a_checkpoint_while_none_is_signed(tmp_path: Path) -> None:
    """The waits have no end of their own: pytest's would end the test."""
    log = await opened(tmp_path, is_held=True)
    index = await log.append(numbered)
    assert await log.wait_published(index, 1e6) is None, "held"
    await log.release([])
    assert await log.wait_published(index, 1e6) == log.published
    await log.close()
    log = await opened(tmp_path, is_held=True)
    await log.release([Checkpoint(ORIGIN, 2, b"x" * 32)])
    index = log.size()
    assert "rolled back" in log.suspended
    assert await log.wait_published(index, 1e6) is None, "suspended"


async def test_who_waits_for_a_checkpoint_is_told_when_the_log_closes(tmp_path: Path) -> None:
    signer = Interruptible()
    log = await opened(tmp_path, [signer])
    index = await log.append(numbered)
    signer.failures.append(OSError(5, "Input/output error"))
    waiting = asyncio.create_task(log.wait_published(index, 1e6))
    await asyncio.sleep(0)
    await log.close()
    assert await waiting is None


async def test_waiting_for_the_journal(tmp_path: Path) -> None:
    log = await opened(tmp_path, is_behind=True)
    indexes = [await log.append(numbered) for _ in range(3)]
    await log.wait_durable(indexes[1])
    path = tmp_path / "log" / "journal" / f"{0:020}"
    assert numbered(indexes[1], time_us(ManualClock().now())) in path.read_bytes()
    await log.wait_durable(indexes[0])
    with pytest.raises(Unavailable, match="no entry 3"):
        await log.wait_durable(3)
    await log.append(numbered)
    waiting = asyncio.create_task(log.wait_durable(3))
    await asyncio.sleep(0)
    await log.close()
    await waiting
    await log.wait_durable(3)


# --- errors that nobody expects -------------------------------------------------------------------


@pytest.mark.parametrize("error", [MemoryError(), SystemExit(1)])
async def test_a_publisher_that_breaks_off_is_said_and_hangs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    signer = Interruptible()
    log = await opened(tmp_path, [signer])
    await add(log, 3)
    signer.failures.append(error)
    signer.may_sign.clear()
    first = asyncio.create_task(log.wait_published(2, 1e6))
    jobs = [asyncio.create_task(log.publish()) for _ in range(2)]
    await asyncio.sleep(0)
    signer.may_sign.set()
    assert await first is None
    why = f"the publisher has stopped: {type(error).__name__}"
    for job in jobs:
        with pytest.raises(Unavailable, match=why):
            await job
    assert log.suspended.startswith(why)
    assert (log.health().status, log.health().output) == ("fail", log.suspended)
    assert await log.wait_published(2, 1e6) is None
    cosigned_note = (tmp_path / "log" / "checkpoint").read_bytes()
    for refused in (
        log.append(numbered),
        log.publish(),
        log.set_signers([signer, NEW_KEY]),
        log.release([]),
        log.add_cosignatures(cosigned_note),
    ):
        with pytest.raises(Unavailable, match=why):
            await refused
    assert "Traceback" in caplog.text
    assert "raise self.failures.pop()" in caplog.text
    await log.close()
    assert newest(tmp_path).size == 0
    log = await opened(tmp_path)
    assert newest(tmp_path).size == 3, "what was acknowledged is published by the next process"


@pytest.mark.parametrize("is_behind", [False, True])
async def test_a_journal_thread_that_breaks_off_is_said_and_hangs_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, is_behind: bool
) -> None:
    may_fail = threading.Event()

    def prepare(_first: int, attachments: Sequence[bytes | None]) -> None:
        if b"bad" in attachments:
            may_fail.wait()
            raise MemoryError

    log = await opened(tmp_path, prepare=prepare, is_behind=is_behind)
    await add(log, 2)
    await log.wait_durable(1)
    waiting = [asyncio.create_task(log.append(numbered, b"bad")) for _ in range(3)]
    await asyncio.sleep(0)
    durable = asyncio.create_task(log.wait_durable(4))
    await asyncio.sleep(0)
    may_fail.set()
    why = "the log has stopped: MemoryError"
    outcomes = await asyncio.gather(*waiting, durable, return_exceptions=True)
    assert outcomes[:3] == [2, 3, 4] if is_behind else all(why in str(one) for one in outcomes[:3])
    assert isinstance(outcomes[3], Unavailable)
    while log.health().status == "pass":
        await asyncio.sleep(0)
    assert why in log.health().output
    for refused in (log.append(numbered), log.release([]), *([log.wait_durable(4)] if is_behind else [])):
        with pytest.raises(Unavailable, match=why):
            await refused
    assert await log.wait_published(4, 1e6) is None
    assert "raise MemoryError" in caplog.text
    if is_behind:
        with pytest.raises(Unavailable, match=f"3 acknowledged log entries could not be written: {why}"):
            await log.close()
    await log.close()
    assert len(stored(tmp_path)) == 2


async def test_a_compose_that_breaks_off_stops_the_log(log: TileLog) -> None:
    def mistaken(_index: int, _time: int) -> bytes:
        raise KeyError("no such thing")

    first, later = asyncio.create_task(log.append(mistaken)), asyncio.create_task(log.append(numbered))
    for one in (first, later):
        with pytest.raises(Unavailable, match="the log has stopped: KeyError"):
            await one


async def test_what_cannot_be_an_entry_fails_alone(tmp_path: Path, log: TileLog) -> None:
    def refuse(_index: int, _time: int) -> bytes:
        raise Rejected("not this one")

    outcomes = await asyncio.gather(
        log.append(numbered),
        log.append(refuse),
        log.append(lambda _index, _time: b"x" * 65_536),
        log.append(lambda _index, _time: b"x" * 65_535),
        return_exceptions=True,
    )
    assert [one for one in outcomes if isinstance(one, int)] == [0, 1]
    assert str(outcomes[1]) == "not this one"
    assert isinstance(outcomes[2], Rejected)
    await log.close()
    assert len(stored(tmp_path)) == 2


async def test_attachments_are_prepared_before_their_entries(tmp_path: Path) -> None:
    prepared: dict[int, bytes | None] = {}

    def prepare(first: int, attachments: Sequence[bytes | None]) -> None:
        if b"bad" in attachments:
            raise OSError(28, "No space left on device")
        prepared.update(enumerate(attachments, start=first))

    log = await opened(tmp_path, prepare=prepare)
    await log.append(numbered, b"key 0")
    with pytest.raises(Unavailable, match="No space"):
        await log.append(numbered, b"bad")
    assert log.health().status == "fail"
    assert await log.append(numbered) == 1
    assert prepared == {0: b"key 0", 1: None}
    assert log.health().status == "pass"


async def test_behind_answers_at_once_and_loses_nothing(tmp_path: Path) -> None:
    log = await opened(tmp_path, is_behind=True)
    assert [await log.append(numbered) for _ in range(5)] == list(range(5))
    with pytest.raises(Rejected):
        await log.append(lambda _index, _time: b"x" * 65_536)
    assert log.size() == 5
    assert (await log.publish()).size == 5
    await log.append(numbered)
    await log.close()
    assert len(stored(tmp_path)) == 6


async def test_a_cancelled_append_leaves_the_log_well(tmp_path: Path, log: TileLog) -> None:
    task = asyncio.create_task(log.append(numbered))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    index = await log.append(numbered)
    await log.close()
    assert len(stored(tmp_path)) == index + 1


async def test_the_clock_may_jump(tmp_path: Path) -> None:
    clock = ManualClock()
    log = await opened(tmp_path, clock=clock)
    for year in (2030, 1969, 2026):
        clock.set_wall(datetime(year, 1, 1, tzinfo=UTC))
        await log.append(numbered)
        await log.publish()
    await log.close()
    times = [int(entry.split()[-1]) for entry in stored(tmp_path)]
    assert times == [time_us(datetime(year, 1, 1, tzinfo=UTC)) for year in (2030, 1970, 2026)]


async def test_a_log_takes_one_writer_at_a_time(tmp_path: Path, log: TileLog) -> None:
    with pytest.raises(Unavailable, match="another process"):
        await opened(tmp_path)
    await log.close()
    await (await opened(tmp_path)).close()


async def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"")
    with pytest.raises(Unavailable, match="cannot be opened"):
        await opened(tmp_path)


# --- keys -----------------------------------------------------------------------------------------


async def test_keys_rotate_over_a_checkpoint_of_both(tmp_path: Path, log: TileLog) -> None:
    await add(log, 2)
    await log.set_signers([KEY, NEW_KEY])
    assert newest(tmp_path, KEY).size == newest(tmp_path, NEW_KEY).size == 2
    vkeys = f"{KEY.verifier.vkey}\n{NEW_KEY.verifier.vkey}\n"
    assert (tmp_path / "log" / "vkey").read_text() == vkeys
    await log.set_signers([NEW_KEY])
    assert newest(tmp_path, NEW_KEY).size == 2
    await log.close()
    with pytest.raises(CorruptState, match="no checkpoint of this log"):
        await opened(tmp_path)
    log = await opened(tmp_path, [NEW_KEY])
    assert log.size() == 2


async def test_a_key_that_comes_with_a_restart_signs_at_once(tmp_path: Path) -> None:
    await (await opened(tmp_path)).close()
    await opened(tmp_path, [KEY, NEW_KEY])
    assert newest(tmp_path, NEW_KEY).size == 0
    assert NEW_KEY.verifier.vkey in (tmp_path / "log" / "vkey").read_text()


async def test_keys_are_not_exchanged_without_a_checkpoint_of_both(tmp_path: Path, log: TileLog) -> None:
    with pytest.raises(Misconfigured, match="together with the old one"):
        await log.set_signers([NEW_KEY])
    for signers in ([], [key("o", "other/log")], [KEY, key("o", "other/log")]):
        with pytest.raises(Misconfigured, match="keys of its own name"):
            await log.set_signers(signers)
    await add(log, 1)
    await log.close()
    assert newest(tmp_path, KEY).size == 1
    with pytest.raises(Misconfigured):
        await opened(tmp_path, [])


# --- witnesses ------------------------------------------------------------------------------------


async def test_cosignatures_are_added_to_the_newest_checkpoint_only(tmp_path: Path, log: TileLog) -> None:
    await add(log, 1)
    old = await log.publish()
    note = Note.parse(old.note)
    with_witness = note.with_signatures([WITNESS.sign(note.text, 1_000)])
    await log.add_cosignatures(with_witness.encode())
    assert (tmp_path / "log" / "checkpoint").read_bytes() == with_witness.encode()
    assert log.published == old, "the log's own signatures only"
    await log.set_signers([KEY, NEW_KEY])
    both = Note.parse((tmp_path / "log" / "checkpoint").read_bytes())
    assert cosigned(both, [WITNESS.verifier]) == {"witness": 1_000}, "the same text keeps its cosignatures"
    await add(log, 1)
    newer = await log.publish()
    await log.add_cosignatures(with_witness.encode())
    assert (tmp_path / "log" / "checkpoint").read_bytes() == newer.note
    with pytest.raises(Rejected):
        await log.add_cosignatures(b"no note")
    await log.close()
    log = await opened(tmp_path, [KEY, NEW_KEY])
    assert log.published is not None
    assert log.published.note == newer.note


async def test_a_held_log_takes_entries_and_signs_nothing(tmp_path: Path) -> None:
    log = await opened(tmp_path, is_held=True)
    await add(log, 300)
    assert not (tmp_path / "log" / "checkpoint").exists()
    assert log.health().status == "warn"
    with pytest.raises(Unavailable, match="witnesses"):
        await log.publish()
    await log.close()
    log = await opened(tmp_path, is_held=True)
    assert log.size() == 300
    await log.release([])
    assert newest(tmp_path).size == 300
    assert not log.is_held
    await add(log, 1)
    await log.close()
    assert len(stored(tmp_path)) == 301


def tree(size: int) -> Checkpoint:
    hashes = [leaf_hash(numbered(index, time_us(ManualClock().now()))) for index in range(size)]
    return Checkpoint(ORIGIN, size, root_of(hashes))


@pytest.mark.parametrize("seen", [0, 1, 255, 256, 290, 300, 301, 310])
async def test_release_takes_what_witnesses_hold_of_it(tmp_path: Path, held: TileLog, seen: int) -> None:
    await held.release([tree(0), tree(seen)])
    assert held.suspended == ""
    assert newest(tmp_path) == tree(310)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (Checkpoint(ORIGIN, 311, b"x" * 32), "rolled back"),
        *((Checkpoint(ORIGIN, size, b"x" * 32), "exchanged") for size in (310, 305, 256)),
        (Checkpoint("other/log", 0, EMPTY_ROOT), "other/log"),
    ],
)
async def test_release_suspends_on_another_tree(
    tmp_path: Path, held: TileLog, seen: Checkpoint, why: str
) -> None:
    await held.release([tree(3), seen])
    assert why in held.suspended
    assert newest(tmp_path).size == 300
    assert held.health().status == "fail"
    for refused in (held.append(numbered), held.publish(), held.set_signers([KEY, NEW_KEY])):
        with pytest.raises(Unavailable, match=why):
            await refused
    await held.close()
    assert newest(tmp_path).size == 300


# --- what the folder keeps ------------------------------------------------------------------------


async def test_partial_tiles_stay_for_some_time_beside_their_full_one(tmp_path: Path, log: TileLog) -> None:
    for _ in range(3):
        await add(log, 10)
        await log.publish()
    entries = tmp_path / "log" / "tile" / "entries"
    assert sorted(path.name for path in (entries / "000.p").iterdir()) == ["10", "20", "30"]
    await add(log, 226)
    await log.publish()
    for _ in range(32):
        assert (entries / "000.p" / "10").exists()
        await add(log, 1)
        await log.publish()
    await add(log, 1)
    await log.publish()
    assert not (entries / "000.p").exists()
    assert not (tmp_path / "log" / "tile" / "0" / "000.p").exists()
    assert len(list((entries / "001.p").iterdir())) == 33
    await log.close()
    assert len(stored(tmp_path)) == 289


async def test_opening_sweeps_away_what_is_left_over(tmp_path: Path, log: TileLog) -> None:
    await add(log, 10)
    await log.publish()
    await add(log, 250)
    await log.close()
    folder = tmp_path / "log"
    assert (folder / "tile/entries/000.p/10").exists()
    (folder / ".staging" / "7").write_bytes(b"half a tile")
    await (await opened(tmp_path)).close()
    assert list((folder / ".staging").iterdir()) == []
    assert not (folder / "tile/entries/000.p").exists()
    assert not (folder / "tile/0/000.p").exists()
    assert (folder / "tile/entries/001.p/4").exists()
    assert len(stored(tmp_path)) == 260


@pytest.mark.parametrize("size", [256, 300, 512])
async def test_complete_bundles_are_packed_and_a_plain_folder_of_an_older_version_is_gone_on_with(
    tmp_path: Path, log: TileLog, size: int
) -> None:
    await add(log, size)
    await log.close()
    entries = tmp_path / "log" / "tile" / "entries"
    whole = [f"{number:03}.gz" for number in range(size // 256)]
    assert [path.name for path in sorted(entries.iterdir()) if path.is_file()] == whole
    plain = decode_bundle(gzip.decompress((entries / "000.gz").read_bytes()), 256)
    unpack_bundles(tmp_path / "log")
    assert stored(tmp_path)[:256] == plain
    again = await opened(tmp_path)
    await add(again, 300)
    await again.close()
    names = [path.name for path in sorted(entries.iterdir()) if path.is_file()]
    assert names == [*(name[:3] for name in whole), *(f"{n:03}.gz" for n in range(len(whole), len(names)))]
    assert len(stored(tmp_path)) == size + 300


async def test_a_last_bundle_that_does_not_unpack_is_damage_and_nothing_is_changed(
    tmp_path: Path, log: TileLog
) -> None:
    await add(log, 256)
    await log.close()
    path = tmp_path / "log/tile/entries/000.gz"
    path.write_bytes(gzip.compress(bytes(2**25)))
    with pytest.raises(CorruptState, match=r"tile/entries/000\.gz is damaged: it holds more than"):
        await opened(tmp_path)
    path.unlink()
    with pytest.raises(CorruptState, match="tile/entries/000 is missing"):
        await opened(tmp_path)


async def test_the_journal_does_not_grow_with_the_log(tmp_path: Path, log: TileLog) -> None:
    for _ in range(4):
        await add(log, 4_096)
        await log.publish()
    assert len(list((tmp_path / "log" / "journal").iterdir())) <= 2
    await log.close()
    assert list((tmp_path / "log" / "journal").iterdir()) == []
    assert len(stored(tmp_path)) == 4 * 4_096
