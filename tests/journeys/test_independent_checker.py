"""A log's folder and its URL before a checker in another language, which shares nothing with ours."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from node.audit.log.writer import TileLog
from node.audit.tlog.tiles import Tile, tiles_between
from node.core.signed_note import Note
from tests.journeys.tables import rows
from tests.log_folders import pack_bundles
from tests.manual_clock import ManualClock
from tests.tlog_memory import ORIGIN, MemoryLog, leaf, log_signer, witness_signer

pytestmark = [
    pytest.mark.engine("node_js"),
    pytest.mark.skipif(shutil.which("node") is None, reason="no independent checker: Node is not installed"),
]

CHECKER = Path(__file__).resolve().parents[1] / "independent" / "check_log.mjs"
SIZE = 600
KEY = log_signer().verifier


async def run(script: Path, *words: str, given: bytes = b"") -> tuple[int, Any]:
    """The exit status and what was printed: one line of JSON."""
    child = await asyncio.create_subprocess_exec(
        "node", str(script), *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(child.communicate(given), 100)
    lines = out.decode("utf-8").splitlines()
    assert len(lines) == 1
    return child.returncode or 0, json.loads(lines[0])


async def check(*words: str) -> tuple[int, Any]:
    return await run(CHECKER, *words)


async def check_many(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    status, reports = await run(CHECKER.with_name("check_many.mjs"), given=json.dumps(cases).encode())
    assert status == 0
    assert len(reports) == len(cases)
    return list(reports)


@pytest.fixture(scope="module")
def log() -> MemoryLog:
    return MemoryLog.of(SIZE)


@pytest.fixture
def folder(log: MemoryLog, tmp_path: Path) -> Path:
    """The log with the partial tiles of an earlier size and a checkpoint that a witness has cosigned."""
    directory = tmp_path / "log"
    log.write(directory, 520)
    log.write(directory)
    note = Note.parse(log.note(520))
    cosigned = note.with_signatures([witness_signer(1).sign(note.text, 1_700_000_000)])
    (directory / "checkpoint.witnessed").write_bytes(cosigned.encode())
    return directory


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


async def test_a_whole_log_is_accepted(log: MemoryLog, folder: Path, tmp_path: Path) -> None:
    given = {"since": log.note(300), "receipt": log.receipt(123, 400).encode(), "leaf": leaf(123)}
    for name, data in given.items():
        (tmp_path / name).write_bytes(data)
    witness = witness_signer(1).verifier
    status, report = await check(
        *("--dir", str(folder), "--vkey", f"@{folder / 'vkey'}", "--vkey", witness.vkey),
        *(word for name in given for word in (f"--{name}", str(tmp_path / name))),
    )
    assert (status, report["ok"]) == (0, True)
    assert (report["origin"], report["size"], report["signed_by"]) == (ORIGIN, SIZE, {ORIGIN: None})
    assert report["since"] == {"size": 300}
    assert report["receipt"] == {"index": 123, "size": 400}
    assert report["witnessed"] == {"size": 520, "signed_by": {ORIGIN: None, witness.name: 1_700_000_000}}
    assert (report["bundles"], report["tiles"], report["ahead"]) == (3, 4, 0)
    # with the bundle and the tile of width 8 of size 520; level 1 has not changed
    assert report["files"] == 9


async def test_logs_of_all_shapes_are_accepted(tmp_path: Path) -> None:
    sizes = [0, 1, 2, 255, 256, 257, 511, 512]
    log = MemoryLog.of(max(sizes))
    for size in sizes:
        log.write(tmp_path / str(size), size)
    reports = await check_many([{"dir": str(tmp_path / str(size)), "vkey": [KEY.vkey]} for size in sizes])
    assert [(report["ok"], report.get("size")) for report in reports] == [(True, size) for size in sizes]


async def test_a_log_with_packed_bundles_is_accepted_and_a_damaged_one_is_not(
    log: MemoryLog, folder: Path
) -> None:
    packed = pack_bundles(folder)
    assert len(packed) == 2
    status, report = await check("--dir", str(folder), "--vkey", KEY.vkey)
    assert (status, report["bundles"], report["files"]) == (0, 3, 9)
    packed[1].write_bytes(packed[0].read_bytes())
    assert (await check("--dir", str(folder), "--vkey", KEY.vkey))[0] == 1


@pytest.mark.slow
async def test_a_log_with_three_levels_is_accepted(tmp_path: Path) -> None:
    MemoryLog.of(70_000).write(tmp_path)
    status, report = await check("--dir", str(tmp_path), "--vkey", KEY.vkey)
    assert (status, report["tiles"], report["bundles"]) == (0, 274 + 2 + 1, 274)


async def test_tiles_that_wait_for_their_checkpoint_are_not_judged(log: MemoryLog, tmp_path: Path) -> None:
    log.write(tmp_path, 300)
    for tile in tiles_between(300, 310):
        (tmp_path / tile.path).parent.mkdir(exist_ok=True)
        (tmp_path / tile.path).write_bytes(log.tile_bytes(tile))
    status, report = await check("--dir", str(tmp_path), "--vkey", KEY.vkey)
    assert (status, report["ahead"]) == (0, 2)


async def test_a_full_tile_stands_for_the_partial_one(log: MemoryLog, tmp_path: Path) -> None:
    """tlog-tiles: a log may delete a partial tile once the full one is there."""
    log.write(tmp_path, 300)
    log.write(tmp_path, 512)
    (tmp_path / "checkpoint").write_bytes(log.note(300))
    for name in ("tile/0/001.p/44", "tile/entries/001.p/44"):
        (tmp_path / name).unlink()
    status, report = await check("--dir", str(tmp_path), "--vkey", KEY.vkey)
    assert (status, report["size"], report["ahead"]) == (0, 300, 3)


async def test_what_the_writer_writes_is_accepted(tmp_path: Path) -> None:
    """Several publications, a key rotation and a restart."""
    directory, mark = tmp_path / "log", tmp_path / "high-water"
    clock = ManualClock(datetime(2026, 11, 22, tzinfo=UTC))
    old, new = log_signer(0), log_signer(1)
    older = b""
    for signers in ([old], [new]):
        tile_log = await TileLog.open(directory, ORIGIN, signers, clock, high_water=mark)
        for count in (1, 3, 260, 7):
            await asyncio.gather(*(tile_log.append(lambda index, time_us: leaf(index)) for _ in range(count)))
            older, newest = (await tile_log.publish()).note, older
        if signers == [old]:
            await tile_log.set_signers([old, new])
        await tile_log.close()
    (tmp_path / "since").write_bytes(newest)
    status, report = await check(
        "--dir", str(directory), "--vkey", new.verifier.vkey, "--since", str(tmp_path / "since")
    )
    assert (status, report["ok"], report["size"], report["ahead"]) == (0, True, 542, 0)
    status, report = await check("--dir", str(directory), "--vkey", old.verifier.vkey)
    assert status == 1
    assert "no given key" in report["error"]


@pytest.mark.parametrize("per_file", [6, pytest.param(80, marks=pytest.mark.slow)])
async def test_single_changed_bytes_are_refused(folder: Path, per_file: int) -> None:
    """Of every file of the folder, and every file cut short."""
    chance = random.Random(7)
    untouched = {"dir": str(folder), "vkey": [KEY.vkey]}
    changes: list[dict[str, Any]] = []
    for name in files_of(folder):
        length = (folder / name).stat().st_size
        places = {0, length - 1, *(chance.randrange(length) for _ in range(per_file))}
        bent = [{"at": at, "mask": 1 << chance.randrange(8)} for at in sorted(places)]
        cut = [{"at": at, "cut": True} for at in (chance.randrange(length), length - 1)]
        changes += [{"file": name, **change} for change in (*bent, *cut)]
    *reports, whole = await check_many([*({**untouched, "change": one} for one in changes), untouched])
    assert whole["ok"]
    accepted = [change for change, report in zip(changes, reports, strict=True) if report["ok"]]
    # A witness whose key was not given may be changed in its line: nobody here can judge it.
    start = (folder / "checkpoint.witnessed").read_bytes().rindex("—".encode())
    assert [one for one in accepted if one["file"] != "checkpoint.witnessed" or one["at"] < start] == []


@pytest.mark.parametrize("name", ["checkpoint", "tile/0/001", "tile/entries/002.p/88", "tile/1/000.p/2"])
async def test_missing_files_are_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    status, report = await check("--dir", str(folder), "--vkey", KEY.vkey)
    assert status == 1
    assert name.removesuffix(".p/88").removesuffix(".p/2") in report["error"]


@pytest.mark.parametrize(
    "name", ["tile/0/003x", "tile/00/000", "tile/0/000.p/256", "tile/notes", "tile/0/x000/001"]
)
async def test_other_files_among_the_tiles_are_refused(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"x")
    status, report = await check("--dir", str(folder), "--vkey", KEY.vkey)
    assert (status, report["error"]) == (1, f"{name}: not the name of a tile")


async def test_another_history_is_refused(log: MemoryLog, folder: Path, tmp_path: Path) -> None:
    """Roll-back, a split view, receipts of other trees and leaves, and keys of others."""
    split = MemoryLog([leaf(index, view=2) for index in range(700)])
    for name, data in {
        "ahead": MemoryLog.of(700).note(),
        "split": split.note(300),
        "unsigned": MemoryLog([leaf(0)], log_signer(5)).note(),
        "receipt": log.receipt(123, 400).encode(),
        "split-receipt": split.receipt(123, 400).encode(),
        "leaf": leaf(123),
        "split-leaf": leaf(123, view=2),
        "other-leaf": leaf(124),
    }.items():
        (tmp_path / name).write_bytes(data)

    def case(vkey: str = KEY.vkey, **more: str) -> dict[str, Any]:
        files = {key: str(tmp_path / name) for key, name in more.items()}
        return {"dir": str(folder), "vkey": [vkey], **files}

    cases = [
        (case(since="ahead"), "gone back"),
        (case(since="split"), "not this log's root"),
        (case(since="unsigned"), "no given key"),
        (case(receipt="receipt", leaf="other-leaf"), "does not prove"),
        (case(receipt="split-receipt", leaf="split-leaf"), "not this log's root"),
        (case(receipt="split-receipt", leaf="leaf"), "does not prove"),
        (case(vkey=log_signer(9).verifier.vkey), "no given key"),
        (case(vkey=witness_signer(1).verifier.vkey), "no given key"),
        (case(vkey=KEY.vkey.replace("log+", "lag+")), "key id"),
        (case(receipt="receipt", leaf="leaf"), None),
    ]
    reports = await check_many([one for one, _ in cases])
    for (one, complaint), report in zip(cases, reports, strict=True):
        assert report["ok"] is (complaint is None), (one, report)
        assert (complaint or "") in report.get("error", "")


@pytest.mark.parametrize("kind", ["good", "bad"])
async def test_leaves_have_one_form(tmp_path: Path, kind: str) -> None:
    """Trees that are right over leaves that are not: only the form tells. The table has backslashes as they
    are, and ``<tab>`` for one, ``<nl>`` for a line's end, ``<del>`` for that character."""
    cases = []
    leaves = [text for what, text in rows("leaves.txt") if what == kind]
    for number, text in enumerate(leaves):
        for name, mark in (("<tab>", "\t"), ("<nl>", "\n"), ("<del>", "\x7f")):
            text = text.replace(name, mark)
        MemoryLog([text.encode("utf-8")]).write(tmp_path / str(number))
        cases.append({"dir": str(tmp_path / str(number)), "vkey": [KEY.vkey]})
    for text, report in zip(leaves, await check_many(cases), strict=True):
        assert report["ok"] is (kind == "good"), (text, report)
        assert report["ok"] or report["error"].startswith("entry 0: ")


async def test_a_signed_false_root_is_refused(log: MemoryLog, tmp_path: Path) -> None:
    """The checker recomputes: a signature alone convinces it of nothing."""
    log.write(tmp_path, 300)
    other = MemoryLog([leaf(index, view=2) for index in range(300)])
    (tmp_path / "checkpoint").write_bytes(other.note())
    status, report = await check("--dir", str(tmp_path), "--vkey", KEY.vkey)
    assert (status, report["error"]) == (1, "checkpoint: its root is not the root of the entries")


@asynccontextmanager
async def served(folder: Path, tile_type: str = "application/octet-stream") -> AsyncIterator[str]:
    """The folder's checkpoint and tiles at a loopback URL below a prefix."""

    async def answer(request: web.Request) -> web.Response:
        path = folder / request.match_info["path"]
        is_tile = request.match_info["path"].startswith("tile/")
        if not path.is_file() or not (is_tile or path.name == "checkpoint"):
            raise web.HTTPNotFound
        kind = tile_type if is_tile else "text/plain; charset=utf-8"
        return web.Response(body=path.read_bytes(), headers={"Content-Type": kind})

    app = web.Application()
    app.router.add_get("/logs/decisions/{path:.+}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/logs/decisions"
    finally:
        await runner.cleanup()


async def test_a_log_is_checked_by_its_url(folder: Path) -> None:
    async with served(folder) as url:
        for base in (url, f"{url}/"):
            status, report = await check("--url", base, "--vkey", KEY.vkey)
            assert (status, report["ok"], report["size"]) == (0, True, SIZE)
        tile = folder / Tile(0, 1).path
        data = bytearray(tile.read_bytes())
        data[100] ^= 1
        tile.write_bytes(data)
        status, report = await check("--url", url, "--vkey", KEY.vkey)
        assert (status, report["error"]) == (1, "tile/0/001: a hash that is not the tree's")


@pytest.mark.slow
async def test_a_server_with_wrong_types_is_refused(folder: Path) -> None:
    async with served(folder, "text/html") as url:
        status, report = await check("--url", url, "--vkey", KEY.vkey)
        assert (status, report["error"]) == (
            1,
            "tile/entries/000: its Content-Type is not application/octet-stream",
        )
