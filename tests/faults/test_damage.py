"""Damage in the data directory: what is whole stays, what is lost is said, and nothing wrong is served."""

from __future__ import annotations

import asyncio
import json
import operator
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from node.app.fix import Fixed, fix
from node.core.errors import Damaged
from node.core.ipld.car import header, section
from node.core.ipld.cid import Cid
from node.core.settings import load
from node.store.guard import accept_loss, read_loss
from node.store.salvage.files import problem
from tests.faults.damage_kit import COUNT, PAGE_BYTES, QUESTIONS, answer, asked, filled, flip, ruin_page
from tests.faults.node_kit import Jumping, environ_of, eventually, start


async def fixed(folder: Path, *sources: Path) -> Fixed:
    """What ``doctor --fix`` does."""
    return await fix(load(environ_of(folder)), sources)


def exported(folder: Path, name: str = "knowledge-index.json") -> set[str]:
    return {entry["query"] for entry in json.loads((folder / "data" / name).read_bytes())["entries"]}


@pytest.mark.slow
async def test_a_store_that_is_gone_is_said_and_its_export_is_kept(tmp_path: Path) -> None:
    cids = await filled(tmp_path)
    assert exported(tmp_path) >= set(QUESTIONS)
    for path in (tmp_path / "data").glob("blocks.sqlite*"):
        path.unlink()
    for _ in range(2):  # also the start after the next
        async with start(tmp_path) as node:
            check = await node.check("ipfs:blocks")
            assert check["status"] == "fail"
            assert "doctor --fix" in check["output"]
            assert "doctor --accept-loss" in check["output"]
            assert (await node.get("/health"))[0] == 503
            assert (await node.ask("What is 2+2?"))["answer"], "it goes on answering"
            await node.store("What is new here?", "This is new here.")
        assert not exported(tmp_path) & set(QUESTIONS)
        assert exported(tmp_path, "knowledge-index.kept.json") >= set(QUESTIONS), "the last copy"
    loss = json.loads((tmp_path / "data" / "loss.json").read_bytes())
    assert set(loss["cids"]) >= set(cids.values())


async def test_what_was_erased_is_not_kept_beside_the_export(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with start(tmp_path) as node:
        cid = await node.store("What was the secret?", "Under the third stone.")
        assert await node.delete(cid) == 200
    kept = tmp_path / "data" / "knowledge-index.kept.json"
    assert not kept.exists(), "nothing is lost"
    for path in (tmp_path / "data").rglob("*"):
        if path.is_file():
            assert b"third stone" not in path.read_bytes(), path


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_health_sees_a_damaged_block(
    tmp_path: Path, is_restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.store.scan.EVERY_S", 0.05)
    cids = await filled(tmp_path)
    path = tmp_path / "data" / "blocks.sqlite"
    if is_restarted:
        flip(path, QUESTIONS[3])
    async with start(tmp_path) as node:
        if not is_restarted:
            flip(path, QUESTIONS[3])
        reply = await node.search(QUESTIONS[3])
        assert not is_restarted or reply["hit"] is None, "a miss, not a 500"
        await node.get(f"/v1/cache/entries/{cids[QUESTIONS[3]]}")
        check = await eventually(lambda: node.check("ipfs:blocks"), lambda check: check["status"] == "fail")
        assert cids[QUESTIONS[3]] in check["output"]
        assert (await asked(node, cids))["wrong"] == 0


async def test_a_damaged_page_takes_only_what_lies_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file that is too large to be looked at as a whole at the start."""
    cids = await filled(tmp_path)
    rows = ruin_page(tmp_path / "data" / "blocks.sqlite", QUESTIONS[30])
    monkeypatch.setattr("node.store.writer.CHECK_BYTES_MAX", 0)
    async with start(tmp_path) as node:
        said = await asked(node, cids)
        assert not said["error"] + said["wrong"]
        assert said["right"] >= COUNT - rows
        check = await eventually(lambda: node.check("ipfs:blocks"), lambda check: check["status"] == "fail")
        assert "doctor --fix" in check["output"]


@pytest.mark.slow
async def test_every_whole_row_of_a_damaged_file_comes_back(tmp_path: Path) -> None:
    cids = await filled(tmp_path)
    path = tmp_path / "data" / "blocks.sqlite"
    rows = ruin_page(path, QUESTIONS[30])
    assert rows
    (tmp_path / "data" / "knowledge-index.json").unlink()
    with pytest.raises(Damaged, match="doctor --fix"):
        async with start(tmp_path):
            pass
    done = await fixed(tmp_path)
    assert len(done.lost) == rows, done
    assert set(done.lost) <= set(cids.values()), "by CID"
    for _ in range(2):
        async with start(tmp_path) as node:
            assert await asked(node, cids) == {"right": COUNT - rows, "none": rows}
            check = await node.check("ipfs:blocks")
            assert check["status"] == "fail"
            assert f"lost: {rows} records named" in check["output"]
    assert list((tmp_path / "data" / "damaged").iterdir()), "the damaged file is kept"
    assert (await fixed(tmp_path)).lost == done.lost, "once more changes nothing"
    assert doctor_accepts(tmp_path) == done.lost
    async with start(tmp_path) as node:
        assert (await node.check("ipfs:blocks"))["status"] == "pass"


def doctor_accepts(folder: Path) -> list[str]:
    loss = accept_loss(folder / "data")
    assert loss is not None
    return list(loss.cids)


@pytest.mark.slow
async def test_what_is_lost_comes_back_from_export_and_car(tmp_path: Path) -> None:
    cids = await filled(tmp_path)
    data = tmp_path / "data"
    car = tmp_path / "given" / "some.car"
    car.parent.mkdir()
    blocks = dict(sqlite3.connect(data / "blocks.sqlite").execute("SELECT multihash, data FROM block"))
    named = [Cid.parse(cids[text]) for text in QUESTIONS[:5]]
    car.write_bytes(header(named[:1]) + b"".join(section(cid, blocks[cid.multihash]) for cid in named))
    for path in data.glob("blocks.sqlite*"):
        path.unlink()
    async with start(tmp_path) as node:
        assert (await node.check("ipfs:blocks"))["status"] == "fail"
    done = await fixed(tmp_path, car.parent)
    assert done.lost == []
    async with start(tmp_path) as node:
        assert (await node.check("ipfs:blocks"))["status"] == "pass"
        assert await asked(node, cids) == {"right": COUNT}
        for text in QUESTIONS[:5]:
            assert (await node.search(text))["cid"] == cids[text], "as it was"


@pytest.mark.slow
async def test_nothing_erased_comes_back(tmp_path: Path) -> None:
    """Neither out of the damaged file, nor out of an export from before, with and without the store's own
    tombstones."""
    cids = await filled(tmp_path)
    data = tmp_path / "data"
    before = tmp_path / "before" / "knowledge-index.json"
    before.parent.mkdir()
    before.write_bytes((data / "knowledge-index.json").read_bytes())
    async with start(tmp_path) as node:
        for text in QUESTIONS[:3]:
            assert await node.delete(cids[text]) == 200
        await node.judge("invalid", cid=cids[QUESTIONS[4]])
    gone = {*QUESTIONS[:3], QUESTIONS[4]}
    ruin_page(data / "blocks.sqlite", QUESTIONS[30])
    for is_store_there in (True, False):
        if not is_store_there:
            for path in data.glob("blocks.sqlite*"):
                path.unlink()
        done = await fixed(tmp_path, before.parent)
        assert not set(done.lost) & {cids[text] for text in QUESTIONS[:3]}
        async with start(tmp_path) as node:
            for number, text in enumerate(QUESTIONS):
                if text in gone:
                    assert (await node.search(text))["hit"] is None, text
                else:
                    assert (await node.search(text))["answer"] == answer(number)


@pytest.mark.parametrize("name", ["head_blocks", "log_blocks", "names", "state"])
async def test_a_damaged_derived_file_does_not_stop_the_start(tmp_path: Path, name: str) -> None:
    cids = await filled(tmp_path)
    path = tmp_path / "data" / f"{name}.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[:8] + bytes(byte ^ 0xA5 for byte in data[8:4_000]) + data[4_000:])
    async with start(tmp_path) as node:
        assert await asked(node, cids) == {"right": COUNT}
        assert (await node.get("/readyz"))[0] == 200
    assert problem(path) == ""
    assert [one for one in (tmp_path / "data" / "damaged").iterdir() if name in one.name]


async def test_a_state_file_that_lost_its_notes_brings_nothing_back(tmp_path: Path) -> None:
    """What was erased of the file that is imported at a start."""
    index = tmp_path / "starter.json"
    entries = [{"query": f"Who built boat {n}?", "answer": f"Yard {n}.", "confidence": 0.9} for n in range(5)]
    index.write_text(json.dumps({"version": 1, "entries": entries}))
    async with start(tmp_path, index_file=index) as node:
        assert await node.delete((await node.search("Who built boat 3?"))["cid"]) == 200
    path = tmp_path / "data" / "state.sqlite"
    path.write_bytes(b"\xee" * path.stat().st_size)
    async with start(tmp_path, index_file=index) as node:
        assert (await node.search("Who built boat 3?"))["hit"] is None
        assert (await node.search("Who built boat 2?"))["answer"] == "Yard 2."


async def test_a_damaged_text_in_a_sound_file_is_damage(tmp_path: Path) -> None:
    """SQLite's checks of a file do not look at what its texts consist of."""
    async with start(tmp_path) as node:
        cid = await node.store(QUESTIONS[0], answer(0))
        await node.judge("invalid", cid=cid)
    path = tmp_path / "data" / "refuted.sqlite"
    data = path.read_bytes()
    assert b"was built in yard" in data
    path.write_bytes(data.replace(b"was built in yard", b"was built \xff\xfe yard"))
    with pytest.raises(Damaged, match=r"a text in it is no UTF-8.*doctor --fix") as told:
        async with start(tmp_path):
            pass
    assert "Boat 0" not in str(told.value), "what is stored is not told"
    await fixed(tmp_path)
    async with start(tmp_path) as node:
        assert (await node.search(QUESTIONS[0]))["hit"] is None
    assert problem(path) == ""


# --- what a kill leaves, and a damaged WAL --------------------------------------------------------


def killed(folder: Path, into: Path) -> Path:
    """A copy of a running node's folders: what a kill would leave now."""
    for name in ("data", "governance_logs"):
        shutil.copytree(folder / name, into / name, ignore=shutil.ignore_patterns("*.sock"))
    return into


def spoil(wal: Path, how: str, before: int) -> None:
    """Damage a WAL just behind its first ``before`` bytes, which are whole frames."""
    data = bytearray(wal.read_bytes())
    assert len(data) > before + 2 * PAGE_BYTES
    if how == "deleted":
        wal.unlink()
        return
    if how == "cut":
        del data[before + 24 + 100 :]
    else:
        data[before + 24 + 100] ^= 1
    wal.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["shared", "private", "public"])
@pytest.mark.parametrize("how", ["flipped", "cut", "deleted"])
async def test_what_a_damaged_wal_has_lost_is_named(tmp_path: Path, how: str, scope: str) -> None:
    """SQLite drops what lies behind the damage without a word; the decision log knows of it."""
    made, name = tmp_path / "made", "data/blocks.sqlite-wal"
    cids: dict[str, str] = {}
    async with start(made) as node:
        for number in range(6):
            before = (made / name).stat().st_size if (made / name).exists() else 0
            text = QUESTIONS[number]
            cids[text] = await node.store(text, answer(number), scope=scope)
        folder = killed(made, tmp_path / "killed")
    spoil(folder / name, how, before)
    for _ in range(2):  # also the start after the next
        async with start(folder) as node:
            gone = {text for text in cids if (await node.search(text))["hit"] is None}
            assert gone
            assert how == "deleted" or gone == {QUESTIONS[5]}
            check = await node.check("ipfs:blocks")
            assert check["status"] == "fail"
            assert f"lost: {len(gone)} records named" in check["output"]
            assert "doctor --fix" in check["output"]
    loss = json.loads((folder / "data" / "loss.json").read_bytes())
    assert set(loss["cids"]) == {cids[text] for text in gone}, "by CID"
    (folder / "data" / "knowledge-index.json").unlink(missing_ok=True)
    done = await fixed(folder)
    if how == "flipped" or (how == "deleted" and not done.lost):
        assert done.lost == [], "whole frames behind the damage were kept"
        async with start(folder) as node:
            assert (await node.check("ipfs:blocks"))["status"] == "pass"
            for number, text in enumerate(cids):
                found = await node.search(text)
                assert (found["cid"], found["answer"]) == (cids[text], answer(number)), "as it was"
        return
    assert set(done.lost) == {cids[text] for text in gone}
    doctor_accepts(folder)
    async with start(folder) as node:
        assert (await node.check("ipfs:blocks"))["status"] == "pass"


async def test_the_repair_itself_keeps_a_damaged_wal(tmp_path: Path) -> None:
    """Where no node has started since the damage."""
    made, name = tmp_path / "made", "data/blocks.sqlite-wal"
    async with start(made) as node:
        await node.store(QUESTIONS[0], answer(0))
        before = (made / name).stat().st_size
        cid = await node.store(QUESTIONS[1], answer(1))
        folder = killed(made, tmp_path / "killed")
    spoil(folder / name, "flipped", before)
    done = await fixed(folder)
    assert done.lost == []
    async with start(folder) as node:
        assert (await node.search(QUESTIONS[1]))["cid"] == cid


async def test_a_kill_alone_loses_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    cids: dict[str, str] = {}
    async with start(made) as node:
        for number, text in enumerate(QUESTIONS[:6]):
            cids[text] = await node.store(text, answer(number))
        await node.delete(cids.pop(QUESTIONS[2]))
        await node.judge("invalid", cid=cids.pop(QUESTIONS[4]))
        cids[QUESTIONS[0]] = await node.store(QUESTIONS[0], answer(7), replace=True)
        folder = killed(made, tmp_path / "killed")
    for _ in range(2):
        async with start(folder) as node:
            for text, cid in cids.items():
                assert (await node.search(text))["cid"] == cid
            assert (await node.check("ipfs:blocks"))["status"] == "pass"
    assert not (folder / "data" / "damaged").exists()


@pytest.mark.parametrize("scope", ["shared", "public"])
async def test_a_withdrawal_that_a_damaged_wal_has_lost_is_done_again(tmp_path: Path, scope: str) -> None:
    made = tmp_path / "made"
    async with start(made) as node:
        cid = await node.store(QUESTIONS[0], answer(0), scope=scope)
        kept = await node.store(QUESTIONS[1], answer(1), scope=scope)
        before = (made / "data/blocks.sqlite-wal").stat().st_size
        await node.judge("invalid", cid=cid)
        folder = killed(made, tmp_path / "killed")
    spoil(folder / "data/blocks.sqlite-wal", "cut", before)
    for _ in range(2):
        async with start(folder) as node:
            assert (await node.search(QUESTIONS[0]))["hit"] is None
            assert (await node.search(QUESTIONS[1]))["cid"] == kept


async def test_what_expired_or_was_erased_meanwhile_is_not_lost(tmp_path: Path) -> None:
    made, clock = tmp_path / "made", Jumping()
    async with start(made, clock=clock) as node:
        expired = await node.store(QUESTIONS[0], answer(0), ttl_s=60)
        erased = await node.store(QUESTIONS[1], answer(1))
        await node.delete(erased)
        lost = await node.store(QUESTIONS[2], answer(2))
        folder = killed(made, tmp_path / "killed")
    for path in (folder / "data").glob("blocks.sqlite*"):
        path.unlink()
    (folder / "data" / "knowledge-index.json").unlink()  # it names what was live when it was written
    clock.sleep_through(seconds=120)
    async with start(folder, clock=clock):
        loss = read_loss(folder / "data")
        assert loss is not None
        assert lost in loss.cids
        assert not {expired, erased} & set(loss.cids)


async def test_another_store_s_damaged_wal_is_kept_and_told(tmp_path: Path) -> None:
    made, name = tmp_path / "made", "data/labels.sqlite-wal"
    async with start(made) as node:
        await node.store(QUESTIONS[0], answer(0))
        for _ in range(3):  # a hit by its words is kept each time
            before = (made / name).stat().st_size if (made / name).exists() else 0
            assert (await node.ask("Name colour of boat number 0"))["hit"]["kind"] == "slot"
            await eventually(
                lambda: asyncio.sleep(0, (made / name).stat().st_size), partial(operator.lt, before)
            )
        folder = killed(made, tmp_path / "killed")
    wal = folder / name
    data = bytearray(wal.read_bytes())
    data[32 + 24 + 10] ^= 1  # the first page of the first frame
    wal.write_bytes(data)
    async with start(folder) as node:
        check = await node.check("stores")
        assert check["status"] == "warn"
        assert "labels.sqlite-wal" in check["output"]
    [kept] = (folder / "data" / "damaged").iterdir()
    assert kept.read_bytes() == data
    async with start(folder) as node:
        assert (await node.check("stores"))["status"] == "pass"
