"""A log of several epochs over HTTP: which one an address means, for how long, and while one gives way."""

from __future__ import annotations

import asyncio
import base64
import gzip
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest

from node.audit.decisions import epochs
from node.audit.decisions.epochs import Turn
from node.audit.decisions.moving import move
from node.audit.log.archive import FolderArchive
from node.audit.upkeep.away import AWAY_AT_ONCE, Away
from node.core.signed_note import Checkpoint
from tests import log_folders, log_kit
from tests.epoch_kit import folders
from tests.manual_clock import ManualClock
from tests.simulators import rfc6962
from tests.unit.api.door import Door, served

FIRST, SECOND = log_folders.ORIGIN, f"{log_folders.ORIGIN}/2"
OLD, NEW = log_folders.leaves(5, "old"), log_folders.leaves(3, "new")
TURN = Turn(
    number=1,
    origin=FIRST,
    size=5,
    root=rfc6962.tree_hash(OLD).hex(),
    kept_size=5,
    reason="size",
    following=2,
    place="1",
)
BASE = "/logs/decisions"
FOR_EVER, A_MINUTE, A_SECOND = (
    "public, max-age=31536000, immutable",
    "public, max-age=60",
    "public, max-age=1",
)


def entry_of(receipt: bytes) -> bytes:
    """What a receipt is about, after its proof was checked."""
    head, _, note = receipt.partition(b"\n\n")
    _, extra, index, *hashes = head.decode().split("\n")
    entry = base64.b64decode(extra.removeprefix("extra "))
    _, size, root, *_ = rfc6962.read_note(note)
    proof = [base64.b64decode(one) for one in hashes]
    leaf = rfc6962.sha256(b"\x00" + entry)
    assert rfc6962.is_included(leaf, int(index.removeprefix("index ")), size, root, proof)
    return entry


def two_epochs(folder: Path) -> None:
    log_folders.write_log(folder, NEW, origin=SECOND)
    log_folders.write_log(folder / "epochs" / "1", OLD, origin=FIRST)


async def test_only_an_address_that_names_its_epoch_is_for_ever(tmp_path: Path) -> None:
    log_folders.write_log(tmp_path, OLD, origin=FIRST)
    async with served({"decisions": tmp_path}) as door:
        before = {}
        for path in ("tile/0/000.p/2", "tile/entries/000.p/2"):
            _, numbered, headers = await door.get(f"{BASE}/epochs/1/{path}")
            assert headers["Cache-Control"] == FOR_EVER
            status, data, headers = await door.get(f"{BASE}/{path}")
            assert (status, data, headers["Cache-Control"]) == (200, numbered, A_MINUTE)
            before[path] = data, headers["ETag"]
        epochs.begin(tmp_path, TURN)
        epochs.end(tmp_path)
        log_folders.write_log(tmp_path, NEW, origin=SECOND)
        for path, (data, etag) in before.items():
            known = {"If-None-Match": etag}
            status, newest, headers = await door.get(f"{BASE}/{path}", headers=known)
            assert (status, headers["Cache-Control"]) == (200, A_MINUTE)
            assert (await door.get(f"{BASE}/epochs/2/{path}"))[1] == newest != data
            assert (await door.get(f"{BASE}/epochs/1/{path}"))[1] == data
            assert (await door.get(f"{BASE}/epochs/1/{path}", headers=known))[0] == 304
        for prefix in ("", "/epochs/1", "/epochs/2"):
            for path in ("checkpoint", "vkey", "proof/0"):
                status, _, headers = await door.get(f"{BASE}{prefix}/{path}")
                assert (status, headers["Cache-Control"]) == (200, A_SECOND)


async def test_each_epoch_has_its_number(tmp_path: Path) -> None:
    two_epochs(tmp_path)
    async with served({"decisions": tmp_path}) as door:
        for prefix, origin in (("", SECOND), ("/epochs/2", SECOND), ("/epochs/1", FIRST)):
            _, note, _ = await door.get(f"{BASE}{prefix}/checkpoint")
            _, vkey, _ = await door.get(f"{BASE}{prefix}/vkey")
            assert rfc6962.read_note(note)[0] == origin
            assert rfc6962.verify(vkey.decode().strip(), note) == 0
        assert (await door.get(f"{BASE}/epochs/3/checkpoint"))[0] == 404
        assert (await door.get(f"{BASE}/epochs/2/tile/0/000.p/5"))[0] == 404


async def test_a_receipt_is_of_the_log_that_was_asked_for(tmp_path: Path) -> None:
    two_epochs(tmp_path)
    quoted = {one: one.replace("/", "%2F") for one in (FIRST, SECOND)}
    async with served({"decisions": tmp_path}) as door:
        for path, entries in (
            ("proof/1", NEW),
            (f"proof/1?log={SECOND}", NEW),
            (f"proof/1?log={quoted[SECOND]}&size=3", NEW),
            (f"proof/1?log={FIRST}", OLD),
            (f"proof/1?size=5&log={quoted[FIRST]}", OLD),
            (f"epochs/1/proof/1?log={quoted[FIRST]}", OLD),
        ):
            assert entry_of(await door.body(f"{BASE}/{path}")) == entries[1], path
        for path in (
            f"proof/4?log={SECOND}",
            f"proof/1?log={FIRST}/3",
            f"proof/1?log={FIRST}/1",
            f"proof/1?log={FIRST}/02",
            f"epochs/2/proof/1?log={FIRST}",
            f"proof/1?log={FIRST.replace('decisions', 'publications')}",
            "proof/1?log=",
            "proof/1?log=..%2F..%2F1",
            f"proof/1?log={'9' * 4_000}",
            f"proof/1?log={SECOND}&size=5",
        ):
            status, body, _ = await door.get(f"{BASE}/{path}")
            assert status == 404, (path, body)
        assert (await door.get(f"{BASE}/proof/4?log={FIRST}"))[0] == 200


async def later(door: Door, path: str) -> bool:
    """Whether the answer is to come back in a second; a 404 would say that there is no such log."""
    status, body, headers = await door.get(f"{BASE}/{path}")
    assert status in (200, 503), (path, body)
    assert (headers.get("Retry-After") == "1") == (status == 503)
    return status == 503


async def test_nothing_of_a_log_is_denied_while_it_is_moved(tmp_path: Path) -> None:
    """Each step of the move as a disk would have it after a crash there."""
    log_folders.write_log(tmp_path, OLD, origin=FIRST)
    (tmp_path / "checkpoint.witnessed").write_bytes((tmp_path / "checkpoint").read_bytes())
    old = ["checkpoint", "checkpoint.witnessed", "vkey", "tile/0/000.p/5", "tile/0/000.p/2", "proof/1"]
    every = [f"{prefix}{path}" for prefix in ("", "epochs/1/") for path in old]

    def mark(state: Turn) -> None:
        (tmp_path / "epochs").mkdir(exist_ok=True)
        (tmp_path / "epochs" / "turn.json").write_bytes(orjson.dumps(asdict(state)))

    async with served({"decisions": tmp_path}) as door:
        mark(TURN)
        assert not any([await later(door, path) for path in every])
        (tmp_path / "epochs" / "1").mkdir()
        for name in epochs.MOVED:
            if (tmp_path / name).exists():
                (tmp_path / name).rename(tmp_path / "epochs" / "1" / name)
            waits = [await later(door, path) for path in every]
            assert any(waits), name
        mark(replace(TURN, is_moved=True))
        assert not any([await later(door, f"epochs/1/{path}") for path in old])
        assert (await door.get(f"{BASE}/epochs/1/tile/0/000.p/6"))[0] == 404
        assert not await later(door, f"proof/1?log={FIRST}")
        coming = [
            f"{prefix}{path}" for prefix in ("", "epochs/2/") for path in ("checkpoint", "vkey", "proof/0")
        ]
        assert all([await later(door, path) for path in coming])

        files = log_folders.log_files(NEW, origin=SECOND)
        (tmp_path / "vkey").write_bytes(files["vkey"])
        epochs.end(tmp_path)  # its first leaf is durable; no checkpoint was written yet
        assert await later(door, "checkpoint")
        assert await later(door, "epochs/2/tile/0/000.p/1")
        assert not await later(door, "vkey")
        assert (await door.get(f"{BASE}/epochs/3/checkpoint"))[0] == 404
        log_folders.write_log(tmp_path, NEW, origin=SECOND)
        assert not any([await later(door, path) for path in coming])
        assert (await door.get(f"{BASE}/checkpoint.witnessed"))[0] == 404


@pytest.mark.parametrize("path", ["checkpoint", "epochs/1/checkpoint", f"proof/0?log={FIRST}"])
async def test_a_damaged_mark_is_said(tmp_path: Path, path: str) -> None:
    (tmp_path / "epochs").mkdir()
    (tmp_path / "epochs" / "turn.json").write_bytes(b"{")
    async with served({"decisions": tmp_path}) as door:
        status, body, _ = await door.get(f"{BASE}/{path}")
        assert status == 500
        assert str(tmp_path).encode() not in body


async def test_readers_of_a_log_that_turns_over_see_one_log_at_a_time(tmp_path: Path) -> None:
    """What is cached for ever stays true, receipts are of the entry asked for, nothing is denied."""
    log = await log_kit.opened(tmp_path, shard_entries=5)
    is_over = asyncio.Event()
    tiles: dict[str, bytes] = {}
    entries: dict[tuple[str, int], bytes] = {}

    async def read(door: Door) -> None:
        while not is_over.is_set():
            if await later(door, "checkpoint"):
                continue
            status, note, _ = await door.get(f"{BASE}/checkpoint")
            if status != 200:
                continue
            origin, size, *_ = rfc6962.read_note(note)
            number = origin.removeprefix(log_kit.ORIGIN).removeprefix("/") or "1"
            if not size:
                continue
            paths = [f"tile/0/000.p/{size}", f"tile/entries/000.p/{size}", "vkey"]
            for path in [f"epochs/{number}/{one}" for one in paths]:
                status, data, _ = await door.get(f"{BASE}/{path}")
                assert status in (200, 503), (path, data)
                if status == 200:
                    assert tiles.setdefault(path, data) == data
            status, data, _ = await door.get(f"{BASE}/proof/{size - 1}?log={origin}")
            assert status in (200, 503), data
            if status == 200:
                leaf = entry_of(data)
                assert entries.setdefault((origin, size - 1), leaf) == leaf

    async with served({"decisions": tmp_path / "log"}) as door:
        readers = [asyncio.create_task(read(door)) for _ in range(3)]
        try:
            places = [await log.append({"kind": "answer", "n": n}, private_texts={}) for n in range(24)]
        finally:
            is_over.set()
            await asyncio.gather(*readers)
        await log.close()
        assert len({place.log for place in places}) > 5
        assert tiles
        for n, place in enumerate(places):
            data = await door.body(f"{BASE}/proof/{place.index}?log={place.log}")
            assert orjson.loads(entry_of(data))["entry"]["n"] == n
            assert entries.get((place.log, place.index), entry_of(data)) == entry_of(data)
        for path, data in tiles.items():
            status, again, _ = await door.get(f"{BASE}/{path}")
            assert (status, again) == (200, data)


async def moved(folder: Path, count: int) -> Path:
    """Two epochs, the first of which was moved away; the archive."""
    log_folders.write_log(folder / "log", NEW, origin=SECOND)
    log_folders.write_log(folder / "log/epochs/1", log_folders.leaves(count, "old"), origin=FIRST)
    archive = folder / "archive"
    archive.mkdir()
    await move(folder / "log", 1, FolderArchive(archive), ManualClock())
    return archive


async def test_what_was_moved_to_an_archive_is_served_as_before(tmp_path: Path) -> None:
    count = 600
    entries = log_folders.leaves(count, "old")
    await moved(tmp_path, count)
    written = log_folders.log_files(entries, origin=FIRST)
    async with served({"decisions": tmp_path / "log"}, away=Away(folders)) as door:
        for path, data in written.items():
            assert await door.body(f"{BASE}/epochs/1/{path}") == data, path
        assert await door.body(f"{BASE}/epochs/1/tile/0/002.p/7") == written["tile/0/002.p/88"][: 7 * 32]
        status, _, headers = await door.get(f"{BASE}/epochs/1/tile/0/000")
        assert (status, headers["Cache-Control"]) == (200, FOR_EVER)
        status, data, headers = await door.get(
            f"{BASE}/epochs/1/tile/entries/000", headers={"Accept-Encoding": "gzip"}
        )
        assert (status, headers["Content-Encoding"]) == (200, "gzip")
        assert gzip.decompress(data) == written["tile/entries/000"]
        assert entry_of(await door.body(f"{BASE}/proof/599?log={FIRST}")) == entries[599]
        assert entry_of(await door.body(f"{BASE}/epochs/1/proof/0")) == entries[0]
        for path in ("tile/0/003", "tile/0/002.p/89", "tile/3/000", "proof/600"):
            assert (await door.get(f"{BASE}/epochs/1/{path}"))[0] == 404, path
        assert (await door.get(f"{BASE}/epochs/7/tile/0/000"))[0] == 404


async def test_who_asks_the_newest_epoch_for_an_earlier_one_is_told_where_that_is(tmp_path: Path) -> None:
    """A reader that knows no epochs goes on at the address that it knows."""
    await moved(tmp_path, 600)
    async with served({"decisions": tmp_path / "log"}, away=Away(folders)) as door:
        for path in ("tile/0/001", "tile/entries/002.p/88", "proof/599"):
            status, data, _ = await door.get(f"{BASE}/{path}")
            assert status == 404
            assert b"this is epoch 2 of the log: epoch 1 is at epochs/<number>/ below this address" in data
        status, data, _ = await door.get(f"{BASE}/epochs/1/tile/0/003")
        assert (status, b"this is epoch" in data) == (404, False)
        note = Checkpoint.of_note(await door.body(f"{BASE}/epochs/1/checkpoint"))
        assert (note.origin, note.size) == (FIRST, 600)


async def answers(door: Door, written: dict[str, bytes], tmp_path: Path) -> int:
    """How many of the files, and of receipts, are refused; what is given out is what was written."""
    refused = 0
    for path, right in {**written, "tile/entries/001.p/7": b"", "proof/599": b"", "proof/3": b""}.items():
        status, data, _ = await door.get(f"{BASE}/epochs/1/{path}")
        if status == 200:
            assert data == right or not right, path
            if path.startswith("proof"):
                entry_of(data)
            continue
        refused += 1
        assert status == 500, (path, status)
        assert b"entries " in data, (path, data)
        assert str(tmp_path).encode() not in data, "no path of this machine"
    return refused


def _other_entry(data: bytes) -> bytes:
    plain = bytearray(gzip.decompress(data))
    plain[40] ^= 1
    return gzip.compress(bytes(plain))


def _flipped(data: bytes) -> bytes:
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


@pytest.mark.parametrize("name", ["entries/001.gz", "entries/002.p/88", "0/001", "0/002.p/88", "1/000.p/2"])
@pytest.mark.parametrize("way", [_flipped, lambda data: data[:-1], lambda data: data * 2**9])
async def test_damage_in_an_archive_is_refused_and_never_served(
    tmp_path: Path, name: str, way: Callable[[bytes], bytes]
) -> None:
    archive = await moved(tmp_path, 600)
    written = dict(log_folders.log_files(log_folders.leaves(600, "old"), origin=FIRST))
    away = Away(folders)
    async with served({"decisions": tmp_path / "log"}, away=away) as door:
        path = archive / FIRST / "1/tile" / name
        whole = path.read_bytes()
        path.write_bytes(way(whole))
        assert await answers(door, written, tmp_path)
        check = away.health()
        assert (check.status, "damaged" in check.output) == ("warn", True)
        path.write_bytes(whole)
        assert not await answers(door, written, tmp_path)
        assert away.health().status == "pass"


async def test_an_archive_that_lies_serves_nothing(tmp_path: Path) -> None:
    archive = await moved(tmp_path, 600)
    written = dict(log_folders.log_files(log_folders.leaves(600, "old"), origin=FIRST))
    place = archive / FIRST / "1"
    async with served({"decisions": tmp_path / "log"}, away=Away(folders)) as door:
        bundle = place / "tile/entries/000.gz"
        bundle.write_bytes(_other_entry(bundle.read_bytes()))
        assert (await door.get(f"{BASE}/epochs/1/tile/entries/000"))[0] == 500
        assert (await door.get(f"{BASE}/epochs/1/tile/entries/001"))[0] == 200
    shutil.rmtree(place)  # a log that is whole in itself, under the same key, and another one
    log_folders.write_log(place, log_folders.leaves(600, "evil"), origin=FIRST)
    async with served({"decisions": tmp_path / "log"}, away=Away(folders)) as door:
        beside = {"checkpoint", "vkey"}
        assert await answers(door, written, tmp_path) == len(set(written) - beside) + 3
        for path in beside & set(written):
            assert await door.body(f"{BASE}/epochs/1/{path}") == written[path]


async def test_an_archive_that_is_away_is_503_and_a_lost_file_no_404(tmp_path: Path) -> None:
    archive = await moved(tmp_path, 300)
    async with served({"decisions": tmp_path / "log"}, away=Away(folders)) as door:
        lost = archive / FIRST / "1/tile/0/000"
        lost.rename(archive / "lost")
        assert (await door.get(f"{BASE}/epochs/1/tile/0/000"))[0] == 500
        (archive / "lost").rename(lost)
        archive.rename(tmp_path / "unmounted")
        status, data, _ = await door.get(f"{BASE}/epochs/1/tile/0/000")
        assert (status, b"unmounted" in data, str(tmp_path).encode() in data) == (503, False, False)
        assert (await door.get(f"{BASE}/epochs/1/checkpoint"))[0] == 200
        (tmp_path / "unmounted").rename(archive)
        assert (await door.get(f"{BASE}/epochs/1/tile/0/000"))[0] == 200


async def test_few_read_an_archive_at_once(tmp_path: Path) -> None:
    await moved(tmp_path, 300)
    held, asked = asyncio.Event(), asyncio.Queue[None]()

    class Slow(FolderArchive):
        async def get(self, path: str, bytes_max: int) -> bytes:
            asked.put_nowait(None)
            await held.wait()
            return await super().get(path, bytes_max)

    away = Away(lambda address: Slow(Path(address)))
    async with served({"decisions": tmp_path / "log"}, away=away) as door:
        asking = [asyncio.create_task(door.get(f"{BASE}/epochs/1/tile/0/000")) for _ in range(AWAY_AT_ONCE)]
        for _ in asking:
            await asked.get()
        assert (await door.get(f"{BASE}/epochs/1/tile/0/000"))[0] == 503
        assert (await door.get(f"{BASE}/epochs/2/checkpoint"))[0] == 200
        held.set()
        assert {status for status, _, _ in await asyncio.gather(*asking)} == {200}
