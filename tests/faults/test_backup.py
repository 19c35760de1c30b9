"""Backups of a node that goes on, and what becomes of them: restored elsewhere, damaged, told of erasures."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from node.app.operator import opened
from node.app.operator_desk import OperatorDesk
from node.app.restore import restore as put_back
from node.audit.decisions.keeper import Bounds, EpochKeeper
from node.audit.decisions.log import DecisionLog
from node.audit.log.archive import FolderArchive
from node.audit.witnesses.ours import origin_hash
from node.core.clock import SystemClock
from node.core.errors import BadInput, CorruptState, Misconfigured, Unavailable
from node.core.settings import Settings, load
from node.core.signed_note import Checkpoint
from node.store.backup.folder import BackupFolder
from node.store.backup.restoring import STAGING
from tests.faults.node_kit import Client, Done, environ_of, eventually, start, typed
from tests.journeys.test_independent_checker import check as independent

SECRET = "Under the third stone of the zanzibarquux."
QUESTION = "Where does the spare key of the boat house lie?"
PASSPHRASE = "four words of no meaning"


def settings_of(folder: Path, **more: Any) -> Settings:
    flags = {
        "data_dir": str(folder / "data"),
        "governance_dir": str(folder / "governance_logs"),
        "index_file": str(folder / "none.json"),
        "embed": {"engine": "none"},
        "models": {"ollama_url": ""},
        **more,
    }
    return load({}, flags=flags)


@asynccontextmanager
async def desk(folder: Path, **more: Any) -> AsyncIterator[OperatorDesk]:
    async with opened(settings_of(folder, **more)) as one:
        yield one


async def command(folder: Path, *words: str) -> Done:
    return await typed(environ_of(folder), *words)


async def backup(folder: Path, into: Path, *more: str) -> dict[str, Any]:
    done = await command(folder, "backup", str(into), "--json", *more)
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert isinstance(reply, dict)
    return reply


async def restore(folder: Path, source: Path, *more: str) -> Done:
    return await command(folder, "restore", str(source), "--json", *more)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "pass").write_text(PASSPHRASE)
    return tmp_path


def with_keys(home: Path) -> tuple[str, ...]:
    return ("--keys", str(home / "keys.json"), "--passphrase-file", str(home / "pass"))


def holds(folder: Path, text: str) -> list[Path]:
    """The files below a folder that hold these bytes."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def answered(node: Client, question: str) -> str:
    return str((await node.ask(question))["answer"])


@pytest.mark.slow
async def test_a_backup_beside_writes_is_a_whole_node_elsewhere(home: Path) -> None:
    """What was acknowledged before the backup began is in it, whatever is written meanwhile."""
    before: list[str] = []
    async with start(home / "one") as node:
        for number in range(20):
            before.append(f"What is the name of wharf {number * 7}?")
            await node.store(before[-1], f"Wharf {number * 7} is called Pier {number}.")
        await node.store(QUESTION, SECRET, scope="private")
        is_done = asyncio.Event()

        async def go_on() -> int:
            stored = 0
            while not is_done.is_set():
                await node.store(f"How deep is basin {stored * 11}?", f"It is {stored} metres deep.")
                stored += 1
            return stored

        writing = asyncio.create_task(go_on())
        made = await backup(home / "one", home / "bak", *with_keys(home))
        is_done.set()
        assert await writing > 0
        root = (await node.get("/peers/identity"))[1]["root"]
    assert made["entries"] > 20
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["entries"] == made["entries"]
    checked = await command(home / "two", "log", "verify", "--json")
    assert json.loads(checked.stdout)["entries"] == made["entries"]
    async with start(home / "two") as node:
        for number, question in enumerate(before):
            assert await answered(node, question) == f"Wharf {number * 7} is called Pier {number}."
        assert await answered(node, QUESTION) == SECRET
        assert (await node.get("/peers/identity"))[1]["root"] == root
        assert (await node.check("restored"))["status"] == "warn"
        assert (await node.check("log"))["output"].startswith(
            "no checkpoint is signed before witnesses were asked"
        )
    again = await command(home / "two", "log", "recover", "--new-epoch")
    assert again.returncode == 0, again.stderr
    async with start(home / "two") as node:
        assert (await node.check("log"))["status"] == "pass"
        assert "publications" in (await node.check("restored"))["output"]
    folder = home / "two" / "governance_logs"
    assert (await command(home / "two", "log", "verify")).returncode == 0
    if shutil.which("node") is not None:  # a checker that shares no code with ours
        status, report = await independent("--dir", str(folder), "--vkey", f"@{folder / 'vkey'}")
        assert (status, report["ok"]) == (0, True), report


@pytest.mark.slow
async def test_no_key_is_in_a_backup_and_those_beside_it_are_sealed(home: Path) -> None:
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET, scope="private")
        await backup(home / "one", home / "bak", *with_keys(home))
    keys = {path.name: path.read_bytes() for path in (home / "one" / "data" / "keys").iterdir()}
    secret = [data for name, data in keys.items() if name.endswith(".pem")]
    slots = keys["commitments-2-1"]
    of_leaves = [slots[at : at + 32] for at in range(64, len(slots), 72)]
    secret += [keys["record_keys"][128:160], *(key for key in of_leaves if any(key))]
    assert len(secret) >= 7
    assert (home / "keys.json").stat().st_mode & 0o777 == 0o600
    for file in [home / "keys.json", *(path for path in (home / "bak").rglob("*") if path.is_file())]:
        data = file.read_bytes()
        assert not [key for key in secret if key in data or key.hex().encode() in data], file
        assert SECRET.encode() not in data
        assert file.stat().st_mode & 0o077 == 0
    for folder in [home / "bak", *(path for path in (home / "bak").rglob("*") if path.is_dir())]:
        assert folder.stat().st_mode & 0o077 == 0
    done = await restore(home / "two", home / "bak")
    assert done.returncode == 1
    assert "--keys FILE" in done.stderr
    (home / "pass").write_text("something else")
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 1
    assert "passphrase is not that of the key file" in done.stderr
    assert not (home / "two" / "data" / "blocks.sqlite").exists()


async def test_what_has_not_changed_is_not_copied_again_and_the_number_is_bounded(home: Path) -> None:
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
    async with desk(home / "one") as one:
        made = [await one.backups.run(home / "bak", 2) for _ in range(3)]
    assert made[0].written_bytes >= 100_000
    assert [one.written_bytes for one in made[1:]] == [0, 0]
    folder = BackupFolder.at(home / "bak")
    assert folder.names() == [made[1].name, made[2].name]
    assert made[2].dropped == (made[0].name,)
    wanted = {part for name in folder.names() for part in folder.read(name).parts()}
    assert {path.name for path in (home / "bak" / "parts").rglob("*") if path.is_file()} == wanted


@pytest.mark.slow
async def test_one_more_answer_costs_some_pages_and_not_the_whole_file(home: Path) -> None:
    async with start(home / "one") as node:
        for number in range(40):
            await node.store(f"What lies in shed {number * 13}?", f"{number} " + "ropes and nets " * 600)
        first = await backup(home / "one", home / "bak")
        await node.store(QUESTION, SECRET)
        second = await backup(home / "one", home / "bak")
    assert second["bytes"] >= first["bytes"]
    assert second["written_bytes"] < first["written_bytes"] / 2


@pytest.mark.slow
async def test_a_restore_asks_before_it_moves_anything_aside(home: Path) -> None:
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
        await backup(home / "one", home / "bak")
        done = await restore(home / "one", home / "bak", "--replace")
        assert done.returncode == 1
        assert "in use by another node" in done.stderr
        await node.store("What came after the backup?", "A heron.")
    done = await restore(home / "one", home / "bak")
    assert done.returncode == 1
    assert "is not empty" in done.stderr
    done = await restore(home / "one", home / "bak", "--replace")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["signed"] > said["entries"]  # its own keys know of more
    assert len(holds(Path(said["aside"][1]), "A heron.")) > 0
    assert (home / "one" / "data" / "keys" / "root.pem").exists()
    assert (await command(home / "one", "log", "recover", "--new-epoch")).returncode == 0
    async with start(home / "one") as node:
        assert await answered(node, QUESTION) == SECRET
        assert (await node.check("log"))["status"] == "pass"


@pytest.mark.slow
async def test_nothing_that_was_erased_comes_back(home: Path) -> None:
    """Not from a backup made before, not even where the node had no time to take it out of there."""
    async with start(home / "one") as node:
        shared = await node.store(QUESTION, SECRET)
        kept = await node.store("Who waters the plants?", "The neighbour.")
        await backup(home / "one", home / "old")
        shutil.copytree(home / "old", home / "copy")
        assert holds(home / "old" / "parts", SECRET)
        assert await node.delete(shared) == 200
        made = await backup(home / "one", home / "old")
    assert made["struck"] == 1
    assert not holds(home / "old" / "parts", SECRET)
    folder = BackupFolder.at(home / "old")
    assert len(folder.names()) == 2
    shutil.copy(home / "old" / "erased", home / "copy" / "erased")
    for number, source in enumerate(("old", "copy")):
        target = home / f"two{number}"
        (target / "data").mkdir(parents=True)
        shutil.copytree(home / "one" / "data" / "keys", target / "data" / "keys")
        first = BackupFolder.at(home / source).names()[0]
        done = await restore(target, home / source, "--replace", "--at", first)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["erased"] == 1
        assert not holds(target, SECRET)
        assert (await command(target, "log", "recover", "--new-epoch")).returncode == 0
        async with start(target) as node:
            assert (await node.get(f"/v1/cache/entries/{shared}"))[0] == 404
            assert (await node.entry(kept))["answer"] == "The neighbour."
            assert await answered(node, QUESTION) != SECRET


@pytest.mark.slow
async def test_a_folder_that_was_away_hears_of_an_erasure_later(home: Path) -> None:
    async with start(home / "one") as node:
        cid = await node.store(QUESTION, SECRET)
        await backup(home / "one", home / "bak")
        (home / "bak").rename(home / "away")
        assert await node.delete(cid) == 200
    (home / "away").rename(home / "bak")
    assert BackupFolder.at(home / "bak").erased() == []
    async with desk(home / "one") as one:
        await one.backups.tick()
    assert BackupFolder.at(home / "bak").erased() == [cid]
    assert not holds(home / "bak", SECRET)


async def test_the_clock_makes_a_backup_when_one_is_due(home: Path) -> None:
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
    wanted = {"folder": str(home / "bak"), "every_s": 86_400, "keep": 3}
    for names in (1, 1):  # a restart makes no second one
        async with desk(home / "one", backup=wanted) as one:
            await one.backups.tick()
            await one.backups.tick()
            assert (await one.backups.probe()).status == "pass"
        assert len(BackupFolder.at(home / "bak").names()) == names
    (home / "blocked").write_text("a file is no folder")
    async with desk(home / "one", backup={**wanted, "folder": str(home / "blocked")}) as one:
        await one.backups.tick()
        found = await one.backups.probe()
    assert found.status == "warn"
    assert "blocked: File exists" in found.output


@pytest.mark.slow
async def test_a_damaged_file_is_not_taken_for_a_backup(home: Path) -> None:
    """The older backup stays, and the node's file is named."""
    async with start(home / "one") as node:
        for number in range(60):
            await node.store(f"What lies in shed {number * 13}?", f"{number} " + "ropes and nets " * 600)
        await backup(home / "one", home / "bak")
        damage(home / "one" / "data" / "blocks.sqlite")
        done = await command(home / "one", "backup", str(home / "bak"))
    assert done.returncode == 1
    assert "blocks.sqlite is damaged" in done.stderr
    folder = BackupFolder.at(home / "bak")
    [name] = folder.names()
    folder.check(folder.read(name))


def damage(path: Path) -> None:
    """Pages in the middle of a SQLite file, all of whose bytes are something else now."""
    data = bytearray(path.read_bytes())
    for page in range(4, len(data) // 16_384, 3):
        data[page * 16_384 : page * 16_384 + 64] = bytes([0x5A]) * 64
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["part", "missing", "list", "log"])
async def test_a_backup_that_does_not_hold_is_refused_whole(home: Path, what: str) -> None:
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
        await backup(home / "one", home / "bak", *with_keys(home))
    folder = BackupFolder.at(home / "bak")
    [name] = folder.names()
    manifest = folder.read(name)
    if what in ("part", "missing"):
        kept = manifest.file("data/blocks.sqlite")
        assert kept is not None
        part = home / "bak" / "parts" / kept.parts[-1][:2] / kept.parts[-1]
        part.write_bytes(b"x" * part.stat().st_size) if what == "part" else part.unlink()
    elif what == "list":
        path = home / "bak" / "backups" / name
        path.write_bytes(path.read_bytes().replace(b"blocks.sqlite", b"blocks.sqlitf"))
    else:  # by somebody who makes the hashes right
        [bundle] = [one for one in manifest.files if one.path.startswith("log/tile/entries/")]
        data = b"".join(map(folder.parts.get, bundle.parts)).replace(b"policy", b"pOlicy")
        (folder.path / "work").mkdir(exist_ok=True)
        changed = replace(folder.put_bytes(bundle.path, data), size=len(data))
        folder.write(manifest.with_file(changed))
    checked = await command(home / "one", "backup", str(home / "bak"), "--check")
    assert checked.returncode == (0 if what == "log" else 1)
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 1
    assert ("log in the backup does not hold" if what == "log" else "backup") in done.stderr
    found = {path.name for path in (home / "two" / "data").iterdir()} if (home / "two").exists() else set()
    assert found <= {"lock", STAGING}
    if STAGING in found:
        with pytest.raises(Misconfigured, match="cut short"):
            async with start(home / "two"):
                pass


async def test_a_backup_folder_is_for_one_node_and_apart_from_it(home: Path) -> None:
    async with desk(home / "one") as one:
        await one.backups.run(home / "bak", 3)
        with pytest.raises(Misconfigured, match="lies inside"):
            await one.backups.run(home / "one" / "data" / "bak", 3)
        (home / "mine").mkdir()
        (home / "mine" / "letter.txt").write_text("not a backup")
        with pytest.raises(BadInput, match="no backup folder"):
            await one.backups.run(home / "mine", 3)
        with BackupFolder.at(home / "bak").held(), pytest.raises(Unavailable, match="another backup"):
            await one.backups.run(home / "bak", 3)
    async with desk(home / "two") as two:
        with pytest.raises(Misconfigured, match="another node"):
            await two.backups.run(home / "bak", 3)


@pytest.mark.parametrize(
    "path", ["data/../../etc/passwd", "/etc/passwd", "data", "data/", "keys/root.pem", "data//x"]
)
async def test_no_list_leads_out_of_the_directories(home: Path, path: str) -> None:
    async with desk(home / "one") as one:
        await one.backups.run(home / "bak", 3)
    folder = BackupFolder.at(home / "bak")
    [name] = folder.names()
    manifest = folder.read(name)
    files = (*manifest.files, replace(manifest.files[0], path=path))
    folder.write(replace(manifest, files=files))
    with pytest.raises(CorruptState, match="no path of a backup"):
        folder.read(name)


@asynccontextmanager
async def peer(notes: dict[str, bytes]) -> AsyncIterator[str]:
    """Somebody who shows the checkpoints that he has cosigned, by origin."""

    async def shown(request: web.Request) -> web.Response:
        for origin, note in notes.items():
            if origin_hash(origin) == request.match_info["hash"]:
                return web.Response(body=note, content_type="text/plain")
        raise web.HTTPNotFound

    app = web.Application()
    app.router.add_get("/witness/{hash}/checkpoint", shown)
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.mark.slow
@pytest.mark.parametrize("shown", ["as much", "more", "nothing"])
async def test_after_a_restore_nothing_is_signed_before_a_peer_has_shown_what_it_holds(
    home: Path, shown: str
) -> None:
    checkpoint = home / "one" / "governance_logs" / "checkpoint"
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
        await backup(home / "one", home / "bak", *with_keys(home))
        await node.ask(QUESTION)
    note = checkpoint.read_bytes()  # as of the stop: more than the backup
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 0, done.stderr
    restored = home / "two" / "governance_logs" / "checkpoint"
    before = restored.read_bytes()
    origin = Checkpoint.of_note(note).origin
    assert Checkpoint.of_note(note).size > Checkpoint.of_note(before).size
    notes = {"as much": {origin: before}, "more": {origin: note}, "nothing": {}}[shown]
    async with peer(notes) as url, start(home / "two", peers={"urls": [url]}) as node:

        async def log() -> str:
            return str((await node.check("log"))["output"])

        if shown == "as much":
            await eventually(log, lambda said: "witnesses" not in said)
            assert (await node.check("log"))["status"] == "pass"
            mark = home / "two" / "data" / "restored"

            async def held() -> object:
                return json.loads(mark.read_text())

            await eventually(held, lambda names: names == ["publications"])
        elif shown == "more":
            await eventually(log, lambda said: "--new-epoch" in said)
            assert restored.read_bytes() == before
        else:
            said = await eventually(
                lambda: node.check("restored"), lambda one: "holds none of it" in one["output"]
            )
            assert said["status"] == "warn"
            assert restored.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("moved", ["nothing", "some keys", "all but the end"])
async def test_a_restore_that_was_cut_short_is_run_again(home: Path, moved: str) -> None:
    """Until then no node starts there: it would make itself new keys beside an old log."""
    async with start(home / "one") as node:
        await node.store(QUESTION, SECRET)
        await backup(home / "one", home / "bak", *with_keys(home))
    data, log = home / "two" / "data", home / "two" / "governance_logs"
    log.mkdir(parents=True)
    (log / "README.md").write_text("as in a checkout")
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 0, done.stderr
    (data / STAGING / "keys").mkdir(parents=True)
    (log / STAGING).mkdir()
    if moved == "nothing":
        shutil.move(data / "keys", home / "lost")
    elif moved == "some keys":
        for name in ("root.pem", "node.pem", "decisions.pem"):
            (data / "keys" / name).rename(data / STAGING / "keys" / name)
    with pytest.raises(Misconfigured, match="cut short"):
        async with start(home / "two"):
            pass
    done = await restore(home / "two", home / "bak", "--replace")
    assert done.returncode == 1
    assert "--keys FILE" in done.stderr
    done = await restore(home / "two", home / "bak", "--replace", *with_keys(home))
    assert done.returncode == 0, done.stderr
    assert (log / "README.md").exists()
    async with start(home / "two") as node:
        assert await answered(node, QUESTION) == SECRET


@pytest.mark.slow
async def test_a_publications_log_that_nobody_knows_goes_on_by_the_operators_word(home: Path) -> None:
    """There is no peer that could be asked: health says what waits, and what ends that."""
    async with start(home / "one"):
        await backup(home / "one", home / "bak", *with_keys(home))
    done = await restore(home / "two", home / "bak", *with_keys(home))
    assert done.returncode == 0, done.stderr
    async with start(home / "two") as node:
        said = await node.check("restored")
        assert said["status"] == "warn"
        assert "publications: there is no peer in peers.urls that could be asked" in said["output"]
        assert "neuroswarm log recover --publications" in said["output"]
        done = await command(home / "two", "log", "recover", "--publications")
        assert done.returncode == 2
        assert "in use by another node" in done.stderr
    done = await command(home / "two", "log", "recover")
    assert done.returncode == 2, "one of the two has to be said"
    done = await command(home / "two", "log", "recover", "--publications")
    assert done.returncode == 0, done.stderr
    assert json.loads((home / "two" / "data" / "restored").read_text()) == ["decisions"]
    async with start(home / "two") as node:
        said = await node.check("restored")
        assert "publications" not in said["output"]
        assert "--new-epoch" in said["output"]
        assert (await node.check("log:publications"))["status"] == "pass"
    await command(home / "two", "log", "recover", "--new-epoch")
    async with start(home / "two") as node:
        assert (await node.get("/health"))[1]["checks"].get("restored") is None


async def test_the_operators_word_does_not_stand_against_the_keys(home: Path) -> None:
    """They know of a checkpoint that the backup does not hold."""
    async with start(home / "one"):
        await backup(home / "one", home / "bak", *with_keys(home))
    done = await restore(home / "one", home / "bak", "--replace")
    assert done.returncode == 0, done.stderr
    signed = home / "one" / "data" / "keys" / "publications.signed"
    note = signed.read_bytes().split(b"\n")
    note[1] = b"%d" % (int(note[1]) + 3)
    signed.write_bytes(b"\n".join(note))
    done = await command(home / "one", "log", "recover", "--publications")
    assert done.returncode == 1
    assert "peers drop a node that signs two histories" in done.stderr
    assert "publications" in json.loads((home / "one" / "data" / "restored").read_text())


async def test_a_backup_of_a_log_whose_epochs_were_moved_goes_back(home: Path) -> None:
    """They are checked in the archive; where that is away, the restore says so and goes on."""
    (home / "archive").mkdir()
    place = {"archive": {"to": str(home / "archive"), "epochs_here": 0}}
    async with desk(home / "one", **place) as one:
        decisions = one.backups.ground.decisions
        assert isinstance(decisions, DecisionLog)
        for number in range(2):
            await decisions.append({"kind": "answer", "n": number}, private_texts={})
            await decisions.end_epoch("age")
        await decisions.append({"kind": "answer", "n": 2}, private_texts={})
        keeper = EpochKeeper(
            decisions,
            SystemClock(),
            Bounds(kept_here=0),
            FolderArchive(home / "archive"),
            followed=lambda: decisions.epoch,
        )
        await eventually(lambda: ticked(keeper), lambda moved: moved == 2)
        await one.backups.run(home / "bak", 2)
    for name, is_away in (("two", False), ("three", True)):
        target = home / name
        shutil.copytree(home / "one" / "data" / "keys", target / "data" / "keys")
        if is_away:
            (home / "archive").rename(home / "elsewhere")
        folder = BackupFolder.at(home / "bak")
        manifest = folder.read(folder.names()[-1])
        now, settings = SystemClock().now(), settings_of(target, **place)
        done = await asyncio.to_thread(
            put_back, settings, folder, manifest, None, now, replace=True, show=lambda *_: None
        )
        assert ("mount it" in done.unchecked) is is_away
        assert done.epochs == (0 if is_away else 2)


async def ticked(keeper: EpochKeeper) -> int:
    await keeper.tick()
    return keeper.moved
