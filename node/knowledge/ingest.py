"""A folder's files, or one upload, into the store: only what is new or has changed, each file by itself.

Promises: a file with the bytes that are here costs a look, or a hash where its times have changed; one that
cannot be read costs no other one anything and is told with its reason; what is not there any more is marked;
killed at any moment, the next run goes on where the store stands. Without an embedder keywords come first and
vectors later. What is to be public and holds what may not be is kept for this node's own users, and told.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson

from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED
from node.core.errors import BadInput, CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.ipld import unixfs_file
from node.core.settings import Documents
from node.knowledge import folder as folders
from node.knowledge.accounts import AT_ONCE, ERASED, REMOVED, Accounts
from node.knowledge.chunks import Count, Text, chunks, headings, profile
from node.knowledge.folder import File, FolderBounds
from node.knowledge.formats.extracted import Bounds, Extracted, kind_of
from node.knowledge.formats.process import FileReader
from node.knowledge.metadata import EFFECTIVE_IN_TEXT, Known, settled
from node.knowledge.model import Chunk
from node.knowledge.rows import Row, Taken, Vectors
from node.knowledge.standing import effective_in
from node.knowledge.store import DocumentStore, stamped
from node.knowledge.vectors import DocumentVectors
from node.language.sentences import one_line
from node.language.tongue import language_of

log = logging.getLogger("neuroswarm.documents")

SAMPLES = 5
_SAMPLE_CHARS = 160
_TOLD_MAX = 200
LARGE_CHUNKS = 256
"""A document of more chunks (an upload, for which somebody waits: of a quarter) is found by its keywords
before its vectors are made."""
_LANGUAGE_CHARS = 4_000
_NO_VECTORS: Vectors = MappingProxyType({})
UPLOADED = "@"
KEPT = "kept from the public"
UNKNOWN_KIND = "files of this kind are not read"

Screen: TypeAlias = Callable[..., str | None]
"""The privacy gate: why one of some texts may not be public."""


@dataclass(slots=True)
class Run:
    """How far a run is, and what came of it. ``notes``: path and what there is to know; ``samples``: path,
    title and first words, or the description, of some of them."""

    folder: str
    scope: str
    total: int = 0
    done: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    missing: int = 0
    failed: int = 0
    left_out: int = 0
    chunks: int = 0
    notes: list[tuple[str, str]] = field(default_factory=list)
    samples: list[tuple[str, str, str]] = field(default_factory=list)
    is_over: bool = False
    error: str = ""

    def note(self, path: str, why: str) -> None:
        if len(self.notes) < _TOLD_MAX:
            self.notes.append((path, why))

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class Ingestor:
    """Build one for a store. One run at a time."""

    def __init__(
        self,
        store: DocumentStore,
        vectors: DocumentVectors | None,
        settings: Documents,
        count: Count,
        screen: Screen,
        accounts: Accounts | None = None,
    ) -> None:
        """``vectors``: None where no node runs; they are made when one does. ``accounts``: None where nobody
        is told."""
        self._store = store
        self._vectors = vectors
        self._settings = settings
        self._count = count
        self._screen = screen
        self._accounts = accounts
        self._busy = asyncio.Lock()

    # --- a folder ---------------------------------------------------------------------------------

    async def folder(self, path: str, scope: str, tell: Callable[[Run], None], *, again: bool = False) -> Run:
        """Bring the store to what lies in a folder, by its absolute path. ``again``: also what is unchanged,
        or was removed by hand. ``tell`` hears of each step. Raises ``BadInput``, ``Unavailable``; what was
        stored before stays."""
        root = Path(path)
        run = Run(str(root), scope)
        async with self._busy:
            bounds = FolderBounds(
                self._settings.files_max, self._settings.depth_max, self._settings.file_bytes_max
            )
            found = await asyncio.to_thread(folders.walk, root, self._settings.skip, bounds)
            run.total, run.left_out = len(found.files), len(found.left_out)
            for one in found.left_out:
                run.note(*one)
            tell(run)
            known = {row["path"]: row for row in await self._store.of_folder(str(root))}
            removed = {} if again else await self._store.removed(str(root))
            reader = self._reader()
            try:
                for file in found.files:
                    await self._file(run, root, file, known.get(file.path), removed, reader, again)
                    run.done += 1
                    if run.done % AT_ONCE == 0:
                        await self._tell()
                    tell(run)
            finally:
                await reader.close()
            gone = [row for name, row in known.items() if row["sha256"] and found.is_gone(name)]
            run.missing = (await self._store.remove([row["id"] for row in gone], missing=True)).count
            for row in gone:
                run.note(row["path"], "its file is not there any more")
            await self._settle(str(root), scope)
            await self._tell()
            if run.changed or run.missing:
                await self._store.scrub()
            await self._sample(run)
        run.is_over = True
        tell(run)
        return run

    async def _tell(self) -> None:
        if self._accounts is not None:
            await self._accounts.tell()

    def _reader(self) -> FileReader:
        limits = self._settings
        bounds = Bounds(pages=limits.pages_max, chars=limits.chars_max)
        return FileReader(bounds, timeout_s=limits.timeout_s, memory_bytes=limits.memory_bytes)

    async def _file(
        self,
        run: Run,
        root: Path,
        file: File,
        row: Row | None,
        removed: Mapping[str, str],
        reader: FileReader,
        again: bool,
    ) -> None:
        is_here = row is not None and row["sha256"] != "" and row["scope"] == self._scope_of(row, run.scope)
        is_same_profile = row is not None and row["profile"] == self._settings.profile
        if row is not None and is_here and is_same_profile and row["stamp"] == file.stamp and not again:
            run.unchanged += 1
            return
        try:
            data = await asyncio.to_thread(folders.read, root, file.path, self._settings.file_bytes_max)
            sha256 = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
            if self._store.is_removed(removed, str(root), file.path, sha256):
                run.left_out += 1
                run.note(file.path, "deleted here before, and still the same file")
                return
            if row is not None and is_here and is_same_profile and row["sha256"] == sha256 and not again:
                await self._store.touch(row["id"], file.stamp)
                run.unchanged += 1
                return
            modified = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
            where = {"scope": run.scope, "folder": str(root), "path": file.path}
            key = await self._store.key(run.scope)
            taken = await self._taken(where, data, sha256, modified, file.stamp, reader)
            taken = replace(taken, key=key, before=None if row is None else row["id"])
            await self._check_room(len(data), row)
            run.chunks += await self._put(taken, LARGE_CHUNKS)
        except Rejected as exc:
            run.failed += 1
            run.note(file.path, str(exc))
            return
        run.new += row is None or not row["sha256"]
        run.changed += row is not None and bool(row["sha256"])
        if taken.row["note"]:
            run.note(file.path, taken.row["note"])

    def _scope_of(self, row: Row, scope: str) -> str:
        """What was kept back from the public stays so while it is the same."""
        return SCOPE_SHARED if scope == SCOPE_PUBLIC and KEPT in row["note"] else scope

    async def _check_room(self, size: int, row: Row | None) -> None:
        used = (await self._store.counts())["bytes"] - (0 if row is None else row["size"])
        if used + size > self._settings.bytes_max:
            raise Rejected(f"documents may take {self._settings.bytes_max} bytes (documents.bytes_max)")

    async def settle(self) -> None:
        """What a run that was cut off has left: what holds of its documents. For the start."""
        for folder, scope in await self._store.folders():
            await self._settle(folder, scope)

    async def _settle(self, folder: str, scope: str) -> None:
        rows = await self._store.of_folder(folder)
        known = [
            Known(
                row["path"],
                orjson.loads(row["fields"]),
                orjson.loads(row["manifest"]),
                row["own_title"],
                datetime.fromisoformat(row["modified"]),
                row["sha256"] != "",
            )
            for row in rows
            if row["modified"]
        ]
        await self._store.settle(folder, scope, await asyncio.to_thread(settled, known))

    async def _sample(self, run: Run) -> None:
        rows = [row for row in await self._store.of_folder(run.folder) if row["sha256"]]
        for row in rows[:: max(1, len(rows) // SAMPLES)][:SAMPLES]:
            words = row["description"] or "".join(await self._store.texts(row["id"], 1))
            run.samples.append((row["path"], row["title"], one_line(words, _SAMPLE_CHARS)))

    # --- one file ---------------------------------------------------------------------------------

    async def upload(
        self, path: str, data: bytes, scope: str, now: datetime, kept: str = SCOPE_SHARED
    ) -> Row:
        """One file by its name in place of the one of that name; its row. ``kept``: the scope of what is to
        be public and may not be. Raises ``BadInput``, ``Rejected``, ``Unavailable``."""
        parts = path.split("/")
        if (
            not path
            or len(path) > 512
            or path.startswith("/")
            or {"", ".", ".."} & set(parts)
            or "\0" in path
        ):
            raise BadInput(
                "path must be a file's name, below no folder outside", field="path", limit="512 characters"
            )
        if kind_of(path) is None:
            raise BadInput(UNKNOWN_KIND, field="path")
        folder = UPLOADED + scope
        keys = {one: await self._store.key(one) for one in dict.fromkeys((scope, kept))}
        async with self._busy:
            row = next((row for row in await self._store.of_folder(folder) if row["path"] == path), None)
            await self._check_room(len(data), row)
            reader = self._reader()
            try:
                where = {"scope": scope, "folder": folder, "path": path}
                sha256 = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
                taken = await self._taken(where, data, sha256, now, sha256, reader, kept)
            finally:
                await reader.close()
            await self._put(replace(taken, key=keys[taken.row["scope"]]), LARGE_CHUNKS // 4)
            await self._settle(folder, scope)
            await self._tell()
            return next(row for row in await self._store.of_folder(folder) if row["path"] == path)

    async def remove(self, rows: Sequence[Row]) -> None:
        """Documents and all that was made of them. Raises ``Unavailable``."""
        async with self._busy:
            if self._accounts is not None:
                await self._accounts.going(REMOVED, rows)
            await self._store.remove([row["id"] for row in rows])
            for folder, scope in {row["folder"]: row["scope"] for row in rows}.items():
                await self._settle(folder, scope)
            await self._tell()
            await self._store.scrub()

    async def reread(self) -> int:
        """Documents of which rows were lost or damaged, from their own bytes; how many. Those whose bytes are
        gone are missing from then on, until their file is read again or sent again. Raises
        ``Unavailable``."""
        rows = await self._store.owed_again()
        if not rows:
            return 0
        async with self._busy:
            reader = self._reader()
            try:
                for row in rows:
                    await self._reread(row, reader)
            finally:
                await reader.close()
            for folder, scope in {row["folder"]: row["scope"] for row in rows}.items():
                await self._settle(folder, scope)
            await self._tell()
        return len(rows)

    async def _reread(self, row: Row, reader: FileReader) -> None:
        try:
            data = await self._store.bytes_of(row)
            if hashlib.sha256(data).hexdigest() != row["sha256"]:
                raise CorruptState("its bytes are damaged")
            where = {name: row[name] for name in ("scope", "folder", "path")}
            modified = datetime.fromisoformat(row["modified"])
            taken = await self._taken(where, data, row["sha256"], modified, row["stamp"], reader)
            key = await self._store.key(row["scope"])
            await self._put(replace(taken, key=key, before=row["id"]), LARGE_CHUNKS)
        except (CorruptState, NotFound, Rejected) as exc:
            log.warning("event=document_lost path=%r reason=%s", row["path"], exc)
            await self._store.remove([row["id"]], missing=True)

    async def erase(self, scope: str) -> int:
        """All that a private scope has, its key first; how many documents. Does not wait for what is being
        taken in: that is refused when it is there. Raises ``Unavailable``."""
        if self._accounts is not None:
            rows = await self._store.of_scope(scope)
            await self._accounts.going(ERASED, rows, await self._store.uids(scope))
        return await self._store.erase(scope)

    async def _taken(
        self,
        where: dict[str, str],
        data: bytes,
        sha256: str,
        modified: datetime,
        stamp: str,
        reader: FileReader,
        kept: str = SCOPE_SHARED,
    ) -> Taken:
        """What is stored of these bytes. A file that cannot be read is stored as that, with the reason, so
        that it is not tried again. Raises ``Unavailable``."""
        kind = kind_of(where["path"])
        assert kind is not None
        try:
            found = await reader.read(kind[0], data, where["path"])
        except Rejected as exc:
            found = Extracted("", note=f"not read: {exc}")
        cut = await asyncio.to_thread(self._cut, found)
        blocks = await asyncio.to_thread(lambda: list(unixfs_file.blocks(data)))
        scope, note = where["scope"], found.note
        if scope == SCOPE_PUBLIC and (why := await asyncio.to_thread(self._why_not_public, found, cut)):
            scope, note = kept, "; ".join(filter(None, (note, f"{KEPT}: {why}")))
        row = {
            **where,
            "scope": scope,
            "cid": str(blocks[-1][0]),
            "sha256": sha256,
            "stamp": stamp,
            "media_type": kind[1] + ("; profile=manifest" if found.rows else ""),
            "size": len(data),
            "modified": stamped(modified),
            "own_title": found.title or _first_heading(found),
            "fields": orjson.dumps(_fields(found)).decode(),
            "manifest": orjson.dumps(found.rows).decode(),
            "note": note,
            "profile": self._settings.profile,
            "language": language_of(found.text[:_LANGUAGE_CHARS]) or "",
        }
        return Taken(row, cut, blocks)

    def _cut(self, found: Extracted) -> list[Chunk]:
        text = Text(found.text, found.pages, found.is_marked, found.is_lines)
        return chunks(text, profile(self._settings.profile), self._count)

    def _why_not_public(self, found: Extracted, cut: Sequence[Chunk]) -> str:
        """A file of which not all was read has not been screened."""
        if found.note:
            return "not all of it could be read"
        texts = [found.title, *(value for values in found.fields.values() for value in values)]
        return self._screen(*texts, *(chunk.searched for chunk in cut)) or ""

    async def _put(self, taken: Taken, large: int) -> int:
        model, vectors = "", _NO_VECTORS
        if self._vectors is not None and len(taken.chunks) <= large:
            try:
                named = dict(zip(taken.hashes, taken.chunks, strict=True))
                model, vectors = await self._vectors.of(named)
            except Unavailable as exc:
                log.info("event=document_without_vectors path=%r reason=%s", taken.row["path"], exc)
        return (await self._store.put(taken, model, vectors)).count


def _fields(found: Extracted) -> Mapping[str, Sequence[str]]:
    """Its fields, with the day from which its text says that it holds."""
    day = effective_in(found.text)
    return found.fields if day is None else {**found.fields, EFFECTIVE_IN_TEXT: (day.isoformat(),)}


def _first_heading(found: Extracted) -> str:
    text = Text(found.text[:_LANGUAGE_CHARS], is_marked=found.is_marked)
    return next((words for _, _, _, words in headings(text)), "")


class Runs:
    """The run that is under way and the last of each folder, for whoever asks how far they are."""

    def __init__(self, ingestor: Ingestor) -> None:
        self._ingestor = ingestor
        self._runs: dict[str, Run] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._moved = asyncio.Event()

    def begin(self, folder: Path, scope: str, *, again: bool = False) -> str:
        """Start a run, unless one over this folder is under way; the folder's name in ``status``."""
        name = str(folder.absolute())
        if name not in self._tasks:
            self._runs[name] = Run(name, scope)
            work = asyncio.create_task(self._run(name, scope, again=again), name=f"ingest {name}")
            self._tasks[name] = work
            work.add_done_callback(lambda _: self._tasks.pop(name, None))
        return name

    async def stop(self, scope: str) -> None:
        """Stop what brings documents into a scope."""
        tasks = [task for name, task in self._tasks.items() if self._runs[name].scope == scope]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def run(self, folder: Path, scope: str) -> None:
        """One run to its end. Raises ``Unavailable`` where it failed."""
        name = self.begin(folder, scope)
        await asyncio.wait({self._tasks[name]})
        if self._runs[name].error:
            raise Unavailable(f"{name}: {self._runs[name].error}")

    async def _run(self, name: str, scope: str, *, again: bool) -> None:
        try:
            await self._ingestor.folder(name, scope, partial(self._tell, name), again=again)
        except NodeError as exc:
            self._runs[name].error = str(exc)
        except Exception as exc:  # the run's end: whoever waits for it has to hear of a fault of ours
            log.exception("event=ingest_failed folder=%s", name)
            self._runs[name].error = f"{type(exc).__name__} (see the program's log)"
        finally:
            self._runs[name].is_over = True
            self._moved.set()

    def _tell(self, name: str, run: Run) -> None:
        self._runs[name] = run
        self._moved.set()

    async def status(self, folder: str | None = None, *, wait_s: float = 0.0) -> list[Run]:
        """Of one folder or all; with ``wait_s`` after something has moved, or that time."""
        if wait_s > 0 and self._tasks:
            self._moved.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._moved.wait()
        return [run for name, run in self._runs.items() if folder in (None, name)]

    async def close(self) -> None:
        """Stop what is under way: the next run goes on there."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
