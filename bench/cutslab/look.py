"""Whether each promise still holds: through the node's door, and in its files as a stranger reads them."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.cutslab.book import Book, Item, question
from node.app.restore import restore
from node.audit.decisions.epoch_check import EpochReport, verify_epochs
from node.audit.decisions.moved import source_in
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import archives_of
from node.audit.log.reader import CHECKPOINT, LogReader, Source
from node.audit.log.verify import Report, verify_log
from node.audit.tlog.leaf import read_leaf
from node.cli.log_location import own_keys
from node.core.clock import SystemClock
from node.core.errors import NodeError, NotFound, Unavailable
from node.core.ipld.cid import Cid
from node.core.settings import Settings
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint
from node.store.backup.folder import BackupFolder
from node.store.backup.manifest import Manifest

SAMPLE = 12
"""Newest questions, and older ones, that are asked after each cut; at the end all are."""
_RECENT_EPOCHS = 4
"""In which acknowledged entries are looked up after each cut; at the end in all."""
_TRIES = 5


class Looks:
    """``settings_in(folder)``: those of the node, or of one restored into another folder."""

    def __init__(self, book: Book, root: Path, settings_in: Callable[[Path], Settings]) -> None:
        self._book = book
        self._root = root
        self._data = root / "data"
        self._settings_in = settings_in
        self._restored: Manifest | None = None

    async def look(self, url: str, rng: random.Random, *, is_all: bool = False) -> None:
        """At everything that was promised by now."""
        self._look_for_erased()
        async with aiohttp.ClientSession(trust_env=False) as http:
            await self._ask(http, url, self._asked(rng, is_all))
            await _post(http, f"{url}/chat", {"query": "What is 2+2?", "verbose": True})  # which publishes
        try:
            await self._verify(is_all=is_all)
        except (NodeError, OSError, AssertionError) as exc:
            self._book.find("unverified", repr(exc))
        try:
            await asyncio.to_thread(self._look_at_backups, is_all=is_all)
        except (NodeError, OSError, sqlite3.Error, AssertionError) as exc:
            self._book.find("unrestored", repr(exc))

    # --- answers ----------------------------------------------------------------------------------

    def _asked(self, rng: random.Random, is_all: bool) -> Sequence[Item]:
        every = list(self._book.items.values())
        if is_all:
            return every
        older = every[:-SAMPLE]
        unsure = [one for one in older if len(one.may_say) > 1]
        return [*every[-SAMPLE:], *unsure, *rng.sample(older, min(SAMPLE, len(older)))]

    async def _ask(self, http: aiohttp.ClientSession, url: str, items: Sequence[Item]) -> None:
        for item in items:
            status, reply = await _post(http, f"{url}/v1/cache/search", {"query": question(item.number)})
            if status != 200:
                self._book.find("refused", f"search {item.number}: {status} {reply}")
                continue
            said = reply["answer"] if reply["hit"] is not None else None
            if said not in item.may_say:
                what = "lost" if said is None else "revived" if item.may_say == {None} else "wrong"
                may = [one and one[:60] for one in item.may_say]
                self._book.find(what, f"answer {item.number}: {said and said[:60]!r} of {may}")

    def _look_for_erased(self) -> None:
        """No export and no other plain file says what was erased. In the pages of a database it may be left
        until the next scrub, which is counted."""
        words, is_left = self._book.erased_words(), False
        for path in [*self._data.rglob("*"), *(self._root / "governance_logs").rglob("*")]:
            found = set() if path.name.endswith("-shm") else _words_in(path, words)
            if ".sqlite" in path.name:
                is_left |= bool(found)
            elif found:
                self._book.find("revived", f"{found} in {path.relative_to(self._root)}")
        self._book.counts["starts that found erased text in a database's pages"] += is_left

    # --- logs -------------------------------------------------------------------------------------

    async def _verify(self, *, is_all: bool) -> None:
        folder, archives = self._root / "governance_logs", archives_of(self._settings_in(self._root).archive)

        def below(path: str) -> Source:
            return source_in(folder, archives, path)

        for last in range(_TRIES):
            try:
                report, closed = await self._verified(below)
                break
            except Unavailable:  # an epoch begins just now
                if last == _TRIES - 1:
                    raise
                await asyncio.sleep(0.5)
        assert report.checkpoint is not None
        number = epoch_of(report.checkpoint.origin)[1]
        wrong = [one for one in closed if not one.ok or one.lost or one.is_absent]
        assert not wrong, wrong
        assert len(closed) == number - 1, (number, closed)
        entries = report.entries + sum(one.entries for one in closed)
        self._book.counts["epochs"] = max(self._book.counts["epochs"], number)
        self._book.counts["log entries"] = max(self._book.counts["log entries"], entries)
        await self._look_up_entries(number, below, is_all=is_all)
        published = self._data / "publications"
        if (published / CHECKPOINT).exists():
            await self._verified(lambda path: source_in(published, archives, path))

    async def _verified(self, below: Callable[[str], Source]) -> tuple[Report, list[EpochReport]]:
        source = below("")
        note = await source.read(CHECKPOINT, NOTE_BYTES_MAX)
        keys = own_keys(self._data / "keys", Checkpoint.of_note(note).origin)
        report = await verify_log(source, keys)
        assert report.ok, report
        assert report.checkpoint is not None
        return report, await verify_epochs(source, report.checkpoint, keys, below)

    async def _look_up_entries(self, newest: int, below: Callable[[str], Source], *, is_all: bool) -> None:
        """Each acknowledged entry is at its place."""
        wanted: dict[int, dict[int, str]] = defaultdict(dict)
        for (log, index), request in self._book.places.items():
            wanted[epoch_of(log)[1]][index] = request
        for number in sorted(wanted)[0 if is_all else -_RECENT_EPOCHS :]:
            reader = LogReader(below("" if number == newest else f"epochs/{number}"))
            size = Checkpoint.of_note(await reader.checkpoint()).size
            there: list[bytes] = []
            while len(there) < size:
                there += await reader.entries(len(there), min(256, size - len(there)), size)
            for index, request in wanted[number].items():
                said = read_leaf(there[index]).entry.get("request") if index < size else "nobody"
                if said != request:
                    self._book.find("lost", f"entry {index} of epoch {number} is of {said}, not of {request}")

    # --- backups ----------------------------------------------------------------------------------

    def _look_at_backups(self, *, is_all: bool) -> None:
        """Each finished one is there, and the newest goes into an empty folder."""
        folders = sorted(self._root.glob("bak*"), key=lambda one: int(one.name[3:]))
        for path in folders:
            made = [one.partition("/")[2] for one in self._book.backups if one.startswith(f"{path.name}/")]
            if made and made[-1] not in (names := BackupFolder.at(path).names()):
                self._book.find("lost", f"backup {made[-1]} of {path.name}, which has {names}")
        whole = [path for path in folders if any((path / "backups").glob("[0-9]*"))]
        for path in whole if is_all else whole[-1:]:
            for last in range(_TRIES):
                try:
                    self._look_at_newest(BackupFolder.at(path))
                    break
                except NotFound:  # the node may just be taking out what was erased
                    if last == _TRIES - 1:
                        raise

    def _look_at_newest(self, folder: BackupFolder) -> None:
        manifest = folder.read(folder.names()[-1])
        folder.check(manifest)
        if manifest != self._restored:  # else it is, part by part, what was restored before
            self._restore(folder, manifest)
            self._restored = manifest

    def _restore(self, folder: BackupFolder, manifest: Manifest) -> None:
        target = self._root.parent / "restored"
        shutil.rmtree(target, ignore_errors=True)
        (target / "data").mkdir(parents=True)
        shutil.copytree(self._data / "keys", target / "data" / "keys")
        now = SystemClock().now()
        done = restore(
            self._settings_in(target), folder, manifest, None, now, replace=True, show=lambda *_: None
        )
        assert not done.unchecked, done
        self._book.counts["restores"] += 1
        connection = sqlite3.connect(target / "data" / "blocks.sqlite")
        held = {bytes(row[0]) for row in connection.execute("SELECT multihash FROM block")}
        connection.close()
        must = self._book.backups.get(f"{folder.path.name}/{manifest.id}", set())
        gone = {
            cid for one in self._book.items.values() if not one.is_sure or one.version for cid in one.cids
        }
        lacks = [cid for cid in must - gone if Cid.parse(cid).multihash not in held]
        assert not lacks, f"{folder.path.name}/{manifest.id} lacks {len(lacks)} of {len(must)} answers"
        words = self._book.erased_words()
        for path in target.rglob("*"):
            if found := _words_in(path, words):
                self._book.find("revived", f"{found} restored in {path.relative_to(target)}")
        shutil.rmtree(target)


async def _post(http: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, Any]:
    async with http.post(url, json=body) as response:
        return response.status, orjson.loads(await response.read())


def _words_in(path: Path, words: Iterable[bytes]) -> set[bytes]:
    if not path.is_file():
        return set()
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # a node runs here
        return set()
    return {word for word in words if word in data} if b"zan" in data else set()
