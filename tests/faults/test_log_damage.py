"""A node whose log is damaged on disk: never served wrong, mended where it can be, and health says so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from node.audit.upkeep import upkeep
from tests.faults.node_kit import Client, environ_of, eventually, start, typed
from tests.upkeep_kit import bundle, copied, fill, flip, is_whole, without_journal

FIRST = "/logs/decisions/tile/entries/000"
ENTRIES = 700


@pytest.fixture(autouse=True)
def _rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is long for a test: the rounds follow each other."""
    monkeypatch.setattr(upkeep, "EVERY_S", 0.05)
    monkeypatch.setattr(upkeep, "PAUSE_MIN_S", 0.05)


async def node_with_log(folder: Path) -> bytes:
    """A node's folder whose decision log has some bundles; the first one as it is served."""
    async with start(folder) as node:
        await fill(node.service._p.log, ENTRIES)
        status, data, _ = await node.raw(FIRST)
        assert status == 200
        return data


async def files(node: Client) -> dict[str, Any]:
    return await node.check("log:files")


def nothing_left(log: Path) -> None:
    """Neither the journal nor partial files have the entries of complete bundles any more."""
    without_journal(log)
    for number in (0, 1):
        shutil.rmtree(log / f"tile/entries/00{number}.p", ignore_errors=True)


async def test_a_flipped_bit_is_mended_from_the_journal_and_never_served(tmp_path: Path) -> None:
    good = await node_with_log(tmp_path)
    log = tmp_path / "governance_logs"
    flip(bundle(log))
    async with start(tmp_path) as node:
        status, data, _ = await node.raw(FIRST)
        assert (status, data) == (200, good)
        assert (await files(node))["status"] == "pass"
    assert await is_whole(log)


async def test_what_cannot_be_mended_is_refused_by_its_numbers_until_a_copy_comes(tmp_path: Path) -> None:
    good = await node_with_log(tmp_path)
    log = tmp_path / "governance_logs"
    copy = copied(log, tmp_path / "backup")
    nothing_left(log)
    bundle(log).write_bytes(b"\x1f\x8b not gzip")
    async with start(tmp_path) as node:
        for path in (FIRST, f"{FIRST}.p/9", "/logs/decisions/proof/17"):
            status, data, headers = await node.raw(path)
            assert status == 500
            assert b"entries 0 to 255 of the log" in data
            assert str(tmp_path).encode() not in data
            assert headers["Cache-Control"] == "no-store"
        assert (await node.raw("/logs/decisions/proof/300"))[0] == 200
        status, page = await node.get("/health")
        assert (status, page["status"]) == (503, "fail")
        assert "entries 0 to 255 are lost here" in (await files(node))["output"]
        assert (await node.ask("What is 2 plus 2?"))["decision"]["receipt"], "it goes on deciding"
    async with start(tmp_path, log={"copies": [str(copy)]}) as node:
        status, data, _ = await node.raw(FIRST)
        assert (status, data) == (200, good)
        assert (await files(node))["status"] == "pass"
    assert await is_whole(log)


@pytest.mark.parametrize("way", ["shrinks", "vanishes", "flips"])
async def test_damage_while_it_runs_is_told_and_mended(tmp_path: Path, way: str) -> None:
    await node_with_log(tmp_path)
    log = tmp_path / "governance_logs"
    async with start(tmp_path) as node:
        await eventually(lambda: files(node), lambda check: check["output"].startswith("all files were read"))
        nothing_left(log)
        if way == "shrinks":
            os.truncate(bundle(log), 5)
        elif way == "vanishes":
            bundle(log).unlink()
        else:
            flip(bundle(log), at=12)
        told = await eventually(lambda: files(node), lambda check: check["status"] == "fail")
        assert "entries" in told["output"]
        assert (await node.raw(FIRST))[0] == 500


async def test_checkpoint_and_right_edge_do_not_stop_the_start(tmp_path: Path) -> None:
    await node_with_log(tmp_path)
    log = tmp_path / "governance_logs"
    flip(log / "checkpoint")
    for path in (log / "tile/0/002.p").iterdir():
        flip(path)
    async with start(tmp_path) as node:
        assert (await node.raw("/logs/decisions/checkpoint"))[0] == 200
        assert (await node.check("log"))["status"] == "pass"
        # Narrower tiles of an earlier edge, which only other readers of the folder look at, are mended later.
        await eventually(lambda: files(node), lambda check: check["output"].startswith("all files were read"))
    assert await is_whole(log)


@pytest.mark.slow
async def test_the_command_mends_a_log_that_no_node_uses(tmp_path: Path) -> None:
    await node_with_log(tmp_path)
    log, environ = tmp_path / "governance_logs", environ_of(tmp_path)
    copy = copied(log, tmp_path / "backup")
    nothing_left(log)
    bundle(log, 1).unlink()
    flip(log / "tile/0/000")
    done = await typed(environ, "log", "repair")
    assert done.returncode == 1
    assert "1 damaged files were mended" in done.stdout
    assert "entries 256 to 511 are lost here" in done.stdout
    assert (await typed(environ, "log", "verify")).returncode == 1
    done = await typed(environ, "log", "repair", "--from", str(copy))
    assert (done.returncode, "ok: every file" in done.stdout) == (0, True), done
    assert (await typed(environ, "log", "verify")).returncode == 0
    async with start(tmp_path):
        done = await typed(environ, "log", "repair")
        assert (done.returncode, "in use" in done.stderr) == (2, True)
