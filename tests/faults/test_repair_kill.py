"""Repairs that are cut off by kill -9 at any of their changes of the disk, and two of each at once: run again
they end as if they had run once, nothing is lost that was not, and nothing erased comes back."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from node.app import restore as restoring
from node.app.fix import fix
from node.audit.upkeep import offline
from node.cli.log_location import own_keys
from node.core.clock import SystemClock
from node.core.errors import BadInput, Misconfigured, NodeError, Unavailable
from node.core.ipld.cid import Cid
from node.core.settings import load
from node.store.backup.folder import BackupFolder
from node.store.backup.restoring import STAGING, step_of
from node.store.lock import DataLock
from tests import upkeep_kit
from tests.faults.cut_kit import cut_off
from tests.faults.damage_kit import QUESTIONS, answer, filled, flip, ruin_page
from tests.faults.node_kit import environ_of, start, typed

CUTS = 8
"""So many moments of each repair, spread over it."""


class World(NamedTuple):
    """A node that was stopped. ``erased`` and ``invalid``: what must not come back."""

    folder: Path
    gone: frozenset[str]


class Standing(NamedTuple):
    """What is in a store: how many answers are live, and their CIDs; what is noted as lost."""

    count: int
    live: frozenset[str]
    lost: frozenset[str]
    unnamed: int | None


def standing(folder: Path) -> Standing:
    path = folder / "data" / "blocks.sqlite"
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    rows = connection.execute("SELECT multihash FROM record WHERE kind = 'answer' AND state = 'live'")
    live = frozenset(str(Cid(0x71, multihash[2:])) for (multihash,) in rows)
    connection.close()
    noted = folder / "data" / "loss.json"
    loss = json.loads(noted.read_bytes()) if noted.exists() else {"cids": [], "unnamed": 0}
    return Standing(len(live), live, frozenset(loss["cids"]), loss["unnamed"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Shared answers, which the export holds too, and private ones, which it does not."""

    async def make(folder: Path) -> frozenset[str]:
        cids = await filled(folder)
        gone = [cids[text] for text in QUESTIONS[:5]]
        async with start(folder) as node:
            for cid in gone[:4]:
                assert await node.delete(cid) == 200
            await node.judge("invalid", cid=gone[4])
            for number in range(12):
                await node.store(f"{QUESTIONS[number]} of ours", answer(number), scope="private")
        return frozenset(gone)

    folder = tmp_path_factory.mktemp("world")
    return World(folder, asyncio.run(make(folder)))


def mended(folder: Path) -> tuple[list[str], int | None]:
    """``doctor --fix``, in a child."""
    done = asyncio.run(fix(load(environ_of(folder))))
    return sorted(done.lost), done.unnamed


def spread(count: int, cuts: int = CUTS) -> list[int]:
    return sorted({1 + number * (count - 1) // (cuts - 1) for number in range(cuts)})


def damaged_pages(data: Path) -> None:
    ruin_page(data / "blocks.sqlite", QUESTIONS[30])
    whole = bytearray((data / "blocks.sqlite").read_bytes())
    for page in range(6, len(whole) // 16_384, 9):
        whole[page * 16_384 : page * 16_384 + 8] = b"\xee" * 8
    (data / "blocks.sqlite").write_bytes(whole)


def damaged_blocks(data: Path) -> None:
    for text in QUESTIONS[10:14]:
        flip(data / "blocks.sqlite", text)
    for name in ("head_blocks.sqlite", "state.sqlite"):
        whole = (data / name).read_bytes()
        (data / name).write_bytes(whole[:8] + bytes(byte ^ 0xA5 for byte in whole[8:4_000]) + whole[4_000:])


def no_store(data: Path) -> None:
    for path in data.glob("blocks.sqlite*"):
        path.unlink()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("damage", [damaged_pages, damaged_blocks, no_store])
def test_whenever_a_fix_is_killed_the_next_one_ends_as_if_it_were_the_first(
    world: World, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    before = standing(world.folder)
    once = Path(shutil.copytree(world.folder, tmp_path / "once"))
    damage(once / "data")
    damaged = Path(shutil.copytree(once, tmp_path / "damaged"))
    ended = cut_off(mended, once, once)
    assert ended is not None
    changes, said = ended
    wanted = standing(once)
    assert not wanted.live & world.gone
    assert wanted.count + len(wanted.lost) + (wanted.unnamed or 0) == before.count, "nothing goes unsaid"
    for cut in spread(changes):
        copy = Path(shutil.copytree(damaged, tmp_path / "copy"))
        assert cut_off(mended, copy, copy, last=cut) is None
        again = cut_off(mended, copy, copy)
        assert again is not None
        assert again[1] == said, cut
        found = standing(copy)
        assert found._replace(live=found.live & before.live) == wanted._replace(
            live=wanted.live & before.live
        ), cut
        if damage is not no_store:
            assert list((copy / "data" / "damaged").iterdir()), "the damaged file is kept"
        shutil.rmtree(copy)


async def test_a_fix_holds_the_directory_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the files and the records nobody else gets in, who would not know what is lost."""
    await filled(tmp_path)
    seen: list[str] = []
    real = fix.__globals__["_files"]

    def files(*args: Any) -> Any:
        found = real(*args)
        for _ in range(2):
            with pytest.raises(Misconfigured, match="in use by another node"):
                DataLock.acquire(tmp_path / "data")
            seen.append("held")
        return found

    monkeypatch.setitem(fix.__globals__, "_files", files)
    opened = fix.__globals__["open_ground"]

    async def open_ground(*args: Any, **more: Any) -> Any:
        with pytest.raises(Misconfigured, match="in use by another node"):
            DataLock.acquire(tmp_path / "data")
        seen.append("held still")
        return await opened(*args, **more)

    monkeypatch.setitem(fix.__globals__, "open_ground", open_ground)
    await fix(load(environ_of(tmp_path)))
    assert seen == ["held", "held", "held still"]


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_two_repairs_at_once_and_one_beside_a_node(tmp_path: Path) -> None:
    cids = await filled(tmp_path)
    environ = environ_of(tmp_path)
    async with start(tmp_path) as node:
        await upkeep_kit.fill(node.service._p.log, 300)
        for words, why in (
            (("doctor", "--fix"), "nothing was mended: the data directory"),
            (("log", "repair"), "in use by another process; stop it first"),
            (("restore", str(tmp_path / "bak"), "--replace"), "is in use by another node"),
        ):
            if words[0] == "restore":
                assert (await typed(environ, "backup", str(tmp_path / "bak"))).returncode == 0
            done = await typed(environ, *words)
            assert done.returncode in (1, 2), done
            assert why in done.stderr, done.stderr
    flip(tmp_path / "data" / "blocks.sqlite", QUESTIONS[7])
    upkeep_kit.flip(upkeep_kit.bundle(tmp_path / "governance_logs"))
    for words in (("doctor", "--fix"), ("log", "repair"), ("restore", str(tmp_path / "bak"), "--replace")):
        both = await asyncio.gather(*(typed(environ, *words) for _ in range(2)))
        ended = [one for one in both if "in use by another" not in one.stderr]
        assert ended, both
        assert all(one.returncode == 0 for one in ended), both
    # The keys, which stay, know of more entries than the backup: as a restore says.
    assert (await typed(environ, "log", "recover", "--new-epoch")).returncode == 0
    async with start(tmp_path) as node:
        for number, text in enumerate(QUESTIONS):
            assert (await node.search(text))["answer"] == answer(number)
        assert (await node.check("ipfs:blocks"))["status"] == "pass"
    assert len(cids) == len(QUESTIONS)


# --- log repair -----------------------------------------------------------------------------------


def repaired(folder: Path) -> tuple[int, str]:
    log, keys = folder / "governance_logs", folder / "data" / "keys"
    found = asyncio.run(
        offline.repair(
            log,
            lambda origin: own_keys(keys, origin),
            lambda number: keys / f"decisions-{number}.checkpoint",
            [],
            SystemClock(),
            lambda _: None,
        )
    )
    return len(found.damages), str(found.damages)


def tree(folder: Path) -> dict[str, bytes]:
    """All files but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("lock", ".lock") and not path.name.endswith(".new")
    }


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_whenever_a_log_repair_is_killed_the_next_one_ends_as_if_it_were_the_first(
    tmp_path: Path,
) -> None:
    async with start(tmp_path / "one") as node:
        for _ in range(2):
            await upkeep_kit.fill(node.service._p.log, 300)
            await node.service._p.log.end_epoch("age")
        await upkeep_kit.fill(node.service._p.log, 300)
    whole = tree(tmp_path / "one")
    log = tmp_path / "one" / "governance_logs"
    for path in ("tile/0/000", "epochs/1/tile/1/000.p/1", "epochs/2/tile/0/000", "epochs/1/checkpoint"):
        upkeep_kit.flip(log / path)
    upkeep_kit.flip(upkeep_kit.bundle(log))
    (log / "epochs/2/checkpoint").unlink()
    damaged = Path(shutil.copytree(tmp_path / "one", tmp_path / "damaged"))
    ended = await asyncio.to_thread(cut_off, repaired, log, tmp_path / "one")
    assert ended is not None
    assert ended[1] == (0, "")
    assert tree(tmp_path / "one") == whole
    for cut in spread(ended[0]):
        copy = Path(shutil.copytree(damaged, tmp_path / "copy"))
        place = copy / "governance_logs"
        assert await asyncio.to_thread(cut_off, repaired, place, copy, last=cut) is None
        again = await asyncio.to_thread(cut_off, repaired, place, copy)
        assert again is not None
        assert again[1] == (0, ""), cut
        assert tree(copy) == whole, cut
        shutil.rmtree(copy)


# --- restore --------------------------------------------------------------------------------------


def put_back(folder: Path, backup: Path, keys_of: Path | None, name: str = "") -> tuple[int, int, int]:
    made = BackupFolder.at(backup)
    manifest = made.read(name or made.names()[-1])
    keys = None
    if keys_of is not None:
        keys = restoring.keys_before(keys_of) | restoring.keys_after(keys_of)
    done = restoring.restore(
        load(environ_of(folder)),
        made,
        manifest,
        keys,
        SystemClock().now(),
        replace=keys_of is None,
        show=lambda _done, _of: None,
    )
    return done.entries, done.erased, len(done.aside)


async def backed_up(folder: Path) -> str:
    """A node with a backup in ``bak``, of which a record was erased since; its CID."""
    async with start(folder / "one") as node:
        cid = await node.store("Where is the key?", "Under the third stone.")
        for number in range(8):
            await node.store(QUESTIONS[number], answer(number))
        done = await typed(environ_of(folder / "one"), "backup", str(folder / "bak"))
        assert done.returncode == 0, done.stderr
        assert await node.delete(cid) == 200
        await node.store("What came later?", "This came later.")
    return cid


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("into", ["what is there", "nothing"])
async def test_whenever_a_restore_is_killed_the_same_command_ends_it(tmp_path: Path, into: str) -> None:
    erased = await backed_up(tmp_path)
    one = tmp_path / "one"
    before = tmp_path / "before"
    if into == "nothing":
        (before / "governance_logs").mkdir(parents=True)
        (before / "governance_logs" / "README.md").write_text("as in a checkout")
        keys = one / "data"
    else:
        shutil.copytree(one, before)
        keys = None
    once = Path(shutil.copytree(before, tmp_path / "once"))
    ended = await asyncio.to_thread(cut_off, put_back, once, once, tmp_path / "bak", keys)
    assert ended is not None
    assert not isinstance(ended[1], Exception), ended[1]
    wanted = tree(once)
    for cut in spread(ended[0] - 2):  # the last two delete what an ended restore leaves behind
        copy = Path(shutil.copytree(before, tmp_path / "copy"))
        assert (
            await asyncio.to_thread(cut_off, put_back, copy, copy, tmp_path / "bak", keys, last=cut) is None
        )
        again = await asyncio.to_thread(cut_off, put_back, copy, copy, tmp_path / "bak", keys)
        assert again is not None
        assert again[1] == ended[1], cut
        assert tree(copy) == wanted, cut
        assert erased not in standing(copy).live
        shutil.rmtree(copy)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_until_a_restore_that_was_cut_off_is_ended_nothing_else_touches_it(tmp_path: Path) -> None:
    """Neither a node, nor a repair, nor another backup."""
    await backed_up(tmp_path)
    async with start(tmp_path / "one"):
        done = await typed(environ_of(tmp_path / "one"), "backup", str(tmp_path / "bak"))
        assert done.returncode == 0, done.stderr
    first, second = BackupFolder.at(tmp_path / "bak").names()
    one = tmp_path / "one"
    cut = 1
    while True:  # into the middle of its last steps
        copy = Path(shutil.copytree(one, tmp_path / "copy"))
        args = (copy, tmp_path / "bak", None, first)
        assert await asyncio.to_thread(cut_off, put_back, copy, *args, last=cut) is None
        step = step_of(copy / "data")
        if step is not None and step.is_aside:
            break
        shutil.rmtree(copy)
        cut += 1 if step else 25
    with pytest.raises(Misconfigured, match="was cut short: run it again"):
        async with start(copy):
            pass
    with pytest.raises(Misconfigured, match=r"nothing was mended: a restore into .* was cut short"):
        await fix(load(environ_of(copy)))
    for words in (("log", "repair"), ("log", "recover", "--new-epoch")):
        done = await typed(environ_of(copy), *words)
        assert done.returncode != 0
        assert "was cut short: run it again" in done.stderr, done.stderr
    ended = await asyncio.to_thread(cut_off, put_back, copy, copy, tmp_path / "bak", None, second)
    assert ended is not None
    assert isinstance(ended[1], BadInput)
    assert f"--at {first}" in str(ended[1])
    ended = await asyncio.to_thread(cut_off, put_back, copy, *args)
    assert ended is not None
    assert not isinstance(ended[1], NodeError), ended[1]
    assert not (copy / "data" / STAGING).exists()


async def test_no_restore_goes_into_a_log_that_is_being_mended(tmp_path: Path) -> None:
    async with start(tmp_path / "one"):
        done = await typed(environ_of(tmp_path / "one"), "backup", str(tmp_path / "bak"))
        assert done.returncode == 0, done.stderr
    with (
        offline.locked(tmp_path / "one" / "governance_logs"),
        pytest.raises(Unavailable, match="in use by another process"),
    ):
        await asyncio.to_thread(put_back, tmp_path / "one", tmp_path / "bak", None)
