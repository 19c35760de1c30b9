"""A backup of a running node, carried to another machine: another home, host name, umask and place, with the
keys and without; and what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from node.core.errors import Misconfigured
from node.core.signed_note import Checkpoint
from node.store.backup.folder import MARKER, BackupFolder
from node.store.backup.manifest import FORMAT
from tests import old_world
from tests.faults.node_kit import ROOT, Client, Done, child, environ_of, start, typed
from tests.faults.test_backup import PASSPHRASE, QUESTION, SECRET, holds
from tests.journeys.test_independent_checker import check as independent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SHARING = {"NEUROSWARM_SHARING__PUBLISH": "all"}
OURS = old_world.Version()


class Machine:
    """Another machine: a home, a host name, a umask and places of its own, and nothing of the first one but
    what was carried here."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "srv" / "swarm"
        self.folder.mkdir(parents=True)
        (place / "home").mkdir()
        self.environ = {**environ_of(self.folder), "HOME": str(place / "home"), "HOSTNAME": "elsewhere"}

    async def type(self, *words: str) -> Done:
        """A command under umask 0, so that nothing is private by the shell's grace."""
        script = 'umask 0; exec "$@"'
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", script, "sh", sys.executable, "-m", "node", *words),
            cwd=ROOT,
            env=self.environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 120)
        return Done(process.returncode, out, err.decode())

    async def restore(self, *words: str) -> Done:
        """From what was carried here."""
        return await self.type("restore", str(self.place / "carried"), "--json", *words)

    @asynccontextmanager
    async def serving(self, **settings: str) -> AsyncIterator[Client]:
        """The restored node as a process."""
        home = {"HOME": self.environ["HOME"], "HOSTNAME": "elsewhere"}
        own = {**home, **SHARING, **settings}
        async with child(self.folder, patience_s=old_world.PATIENCE_S, **own) as (process, node):
            yield node
            assert await process.end() == 0


async def backup(folder: Path, into: Path, *more: str) -> dict[str, Any]:
    done = await typed(environ_of(folder), "backup", str(into), "--json", *more)
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert isinstance(reply, dict)
    return reply


def with_keys(place: Path) -> tuple[str, ...]:
    (place / "pass").write_text(PASSPHRASE)
    return ("--keys", str(place / "keys.json"), "--passphrase-file", str(place / "pass"))


def size(folder: Path) -> int:
    return Checkpoint.of_note((folder / "governance_logs" / "checkpoint").read_bytes()).size


def stays(backups: Path, made: list[dict[str, Any]]) -> None:
    """What never changes is put in once, however long the load went on between two backups."""
    folder = BackupFolder.at(backups)
    kept = [folder.read(row["backup"]) for row in made]
    for before, after, row in zip(kept, kept[1:], made[1:], strict=False):
        full = [one for one in before.files if "/tile/" in one.path and ".p/" not in one.path]
        same = [one for one in (*full, before.file("log/vkey")) if one is not None]
        assert all(after.file(one.path) == one for one in same)
        assert row["written_bytes"] <= row["bytes"] - sum(one.size for one in same)


async def test_four_backups_under_load_are_the_same_node_on_another_machine(tmp_path: Path) -> None:
    """Full and three incremental ones, an erasure between them; the first node is still running when the
    copy is started."""
    one, other = tmp_path / "one", Machine(tmp_path / "other")
    one.mkdir()
    is_done = asyncio.Event()

    async def load(node: Client) -> None:
        number = 0
        while not is_done.is_set():
            number += 1
            await node.store(f"How deep is basin {number * 11}?", f"It is {number} metres deep.")
            await node.ask(f"How deep is basin {number * 11}?")

    async with child(one, patience_s=old_world.PATIENCE_S, **SHARING) as (_, node):
        world = await old_world.fill(node, OURS, hits=40)
        secret = await node.store(QUESTION, SECRET)
        busy = asyncio.create_task(load(node))
        made = [await backup(one, tmp_path / "bak") for _ in range(3)]
        assert await node.delete(secret) == 200
        made.append(await backup(one, tmp_path / "bak", *with_keys(tmp_path)))
        assert [row["entries"] for row in made] == sorted({row["entries"] for row in made})
        stays(tmp_path / "bak", made[:3])
        await asyncio.to_thread(shutil.copytree, tmp_path / "bak", other.place / "carried")
        done = await other.restore(*with_keys(tmp_path))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["entries"] == made[-1]["entries"]
        assert not holds(other.folder, SECRET)
        open_to_others = [path for path in other.folder.rglob("*") if path.stat().st_mode & 0o077]
        assert not open_to_others
        # The first one runs: its copy does not start beside it, nor begins a new log.
        for words in (["serve", "--port", "0"], ["log", "recover", "--new-epoch"]):
            done = await other.type(*words)
            assert done.returncode != 0
            assert "a copy of this node runs on this machine" in done.stderr
        is_done.set()
        await busy
    old_world.stopped(world, one)
    assert size(one) > made[-1]["entries"]

    before = (other.folder / "governance_logs" / "checkpoint").read_bytes()
    async with other.serving() as node:
        assert await old_world.answered(node, world) == []
        assert await old_world.healthy(node) == []
        assert (await node.get(f"/v1/cache/entries/{secret}"))[0] == 404
        assert (await node.ask(QUESTION))["answer"] != SECRET
        assert (await node.check("restored"))["status"] == "warn"
        assert (await node.check("log"))["status"] == "warn"
        reply = await node.ask(world.live[0].question)
        assert reply["logged"]
    # It entered what it decided, and signed nothing: what it shows is the start of the first one's log.
    shown = other.folder / "governance_logs" / "checkpoint"
    assert shown.read_bytes() == before
    assert await old_world.verified(other.folder) == []
    log = one / "governance_logs"
    status, report = await independent("--dir", str(log), "--vkey", f"@{log / 'vkey'}", "--since", str(shown))
    assert (status, report["since"]["size"]) == (0, made[-1]["entries"])
    # Receipts that the first one gave out hold in the copy; so do those of the copy, once it may sign.
    world.size = made[-1]["entries"]
    await asyncio.to_thread(shutil.copy, shown, one / "signed")
    assert await old_world.verified(other.folder, world, beside=one) == []
    done = await other.type("log", "recover", "--new-epoch")
    assert done.returncode == 0, done.stderr
    async with other.serving() as node:
        assert (await node.check("log"))["status"] == "pass"
        assert (await node.check("restored"))["status"] == "warn"
        assert await old_world.answered(node, world) == []
    assert await old_world.verified(other.folder) == []


async def test_without_its_keys_a_backup_becomes_a_new_node_that_says_so(tmp_path: Path) -> None:
    one, other = tmp_path / "one", Machine(tmp_path / "other")
    one.mkdir()
    async with child(one, patience_s=old_world.PATIENCE_S, **SHARING) as (_, node):
        world = await old_world.fill(node, OURS, hits=20)
        await backup(one, other.place / "carried")
        before = (await node.get("/peers/identity"))[1]["root"]
    done = await other.restore()
    assert done.returncode == 1
    assert "--new-identity" in done.stderr
    assert not (other.folder / "data" / "blocks.sqlite").exists()
    done = await other.type("restore", str(other.place / "carried"), "--new-identity")
    assert done.returncode == 0, done.stderr
    assert "this is a new node, did:key:" in done.stdout
    assert f"the log of {before} is in" in done.stdout
    again = await other.restore("--new-identity", "--replace")
    assert again.returncode == 1
    assert "restore without --new-identity" in again.stderr
    async with other.serving() as node:
        _, identity = await node.get("/peers/identity")
        assert identity["root"] != before
        assert (await node.check("log"))["status"] == "pass"  # it signs, a log of its own
        assert await old_world.healthy(node) == []
        for entry in world.live:
            answer = (await node.ask(entry.question))["answer"]
            assert (answer == entry.answer) == (entry.scope != "private"), (entry, answer)
        public = next(entry for entry in world.live if entry.scope == "public")
        assert await node.delete(public.cid) == 200
        assert (await node.get(f"/v1/cache/entries/{public.cid}"))[0] == 404
    assert await old_world.verified(other.folder) == []
    [former] = (other.folder / "governance_logs").glob("before-restore-*-former")
    status, report = await independent("--dir", str(former), "--vkey", f"@{former / 'vkey'}")
    assert (status, report["ok"]) == (0, True)
    assert before.removeprefix("did:key:") in report["origin"]
    # The next backup is of the new node alone.
    await backup(other.folder, tmp_path / "second")
    folder = BackupFolder.at(tmp_path / "second")
    [name] = folder.names()
    assert not [file.path for file in folder.read(name).files if "former" in file.path]


async def test_a_copy_beside_its_original_does_not_start(tmp_path: Path) -> None:
    async with start(tmp_path / "one") as node:
        await node.store(QUESTION, SECRET)
    await asyncio.to_thread(shutil.copytree, tmp_path / "one", tmp_path / "two")
    async with start(tmp_path / "one"):
        with pytest.raises(Misconfigured, match="with the same keys"):
            async with start(tmp_path / "two"):
                pass
    async with start(tmp_path / "two") as node:
        assert (await node.ask(QUESTION))["answer"] == SECRET


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("folder", "reads neuroswarm/backup/v1"),
        ("list", "reads neuroswarm/backup/v1"),
        ("file", "blocks.sqlite in the backup is in format 9, and this version reads 3 at most"),
        ("damaged part", "data/blocks.sqlite is not whole in the backup: the part"),
        ("missing part", "data/blocks.sqlite is not whole in the backup: the part"),
    ],
)
async def test_what_cannot_be_restored_is_named(tmp_path: Path, what: str, said: str) -> None:
    one, other = tmp_path / "one", Machine(tmp_path / "other")
    async with start(one) as node:
        await node.store(QUESTION, SECRET)
        await backup(one, other.place / "carried", *with_keys(tmp_path))
    folder = BackupFolder.at(other.place / "carried")
    [name] = folder.names()
    manifest = folder.read(name)
    kept = manifest.file("data/blocks.sqlite")
    assert kept is not None
    part = folder.path / "parts" / kept.parts[0][:2] / kept.parts[0]
    if what == "folder":
        (folder.path / MARKER).write_text(f"neuroswarm/backup/v2\n{folder.root}\n")
    elif what == "list":
        path = folder.path / "backups" / name
        path.write_bytes(renamed(path.read_bytes(), FORMAT, "neuroswarm/backup/v2"))
    elif what == "file":
        copied = tmp_path / "newer.sqlite"
        folder.take(kept, copied)
        connection = sqlite3.connect(copied)
        connection.executescript("DROP TABLE record; PRAGMA user_version = 9")
        connection.close()
        folder.write(manifest.with_file(folder.put(kept.path, copied)))
    else:
        part.write_bytes(b"x" * part.stat().st_size) if what == "damaged part" else part.unlink()
    done = await other.restore(*with_keys(tmp_path))
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (other.folder / "data" / "blocks.sqlite").exists()


def renamed(data: bytes, old: str, new: str) -> bytes:
    """A list whose format is another one, as that version would write it."""
    import hashlib

    said = orjson.loads(data.partition(b"\n")[2])
    assert said["format"] == old
    body = orjson.dumps(said | {"format": new})
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


async def test_nothing_erased_comes_back_by_what_lies_beside_the_store(tmp_path: Path) -> None:
    """Copies of damaged files, which no erasure reaches, are in no backup; what a former export is kept for
    loses what was erased, in the backups too."""
    one, other = tmp_path / "one", Machine(tmp_path / "other")
    async with start(one) as node:
        cid = await node.store(QUESTION, SECRET)
    data = one / "data"
    (data / "damaged").mkdir()
    await asyncio.to_thread(shutil.copy, data / "blocks.sqlite", data / "damaged" / "20261128-blocks.sqlite")
    entry = {"cid": cid, "query": QUESTION, "answer": SECRET, "source": "local", "confidence": 0.85}
    kept = {"version": 1, "model": "none", "entries": [entry]}
    # As it was while the record was lost; ``doctor --fix`` has brought it back since.
    async with start(one):
        (data / "knowledge-index.kept.json").write_bytes(orjson.dumps(kept))
        await backup(one, other.place / "carried")
        assert holds(other.place / "carried" / "parts", SECRET)
        environ = environ_of(one)
        done = await typed(environ, "cache", "erase", cid, "--json")
        assert done.returncode == 0, done.stderr
        places = {row["place"]: row["state"] for row in json.loads(done.stdout)["places"]}
        assert places[str(data / "damaged")] == "not reached"
        made = await backup(one, other.place / "carried", *with_keys(tmp_path))
    assert made["struck"] == 1
    assert not holds(other.place / "carried" / "parts", SECRET)
    first = BackupFolder.at(other.place / "carried").names()[0]
    done = await other.restore(*with_keys(tmp_path), "--at", first)
    assert done.returncode == 0, done.stderr
    assert not holds(other.folder, SECRET)
    assert not (other.folder / "data" / "damaged").exists()


async def test_what_a_restore_moved_aside_is_in_no_backup(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        await node.store(QUESTION, SECRET)
        await backup(tmp_path, tmp_path / "bak")
    done = await typed(environ_of(tmp_path), "restore", str(tmp_path / "bak"), "--replace")
    assert done.returncode == 0, done.stderr
    assert [*(tmp_path / "governance_logs").glob("before-restore-*")]
    await backup(tmp_path, tmp_path / "bak")
    folder = BackupFolder.at(tmp_path / "bak")
    files = folder.read(folder.names()[-1]).files
    assert not [file.path for file in files if "before-restore" in file.path]
    assert os.path.commonpath([file.path for file in files]) == ""
