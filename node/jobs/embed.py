"""Give index entries the embeddings that they lack: the work behind ``batch_embed.py``.

Promises:
1. Idempotent: an entry with an embedding of this embedder's model is left alone; when nothing is missing, the
   file is not touched.
2. Resumable: vectors are kept in a side file (``<index>.embedding``) as they are made, synced every
   ``checkpoint_every``; a later run takes them up. The index is rewritten once, atomically, at the end.
3. Nothing is lost: unknown keys, order, unusable entries, vectors of other models that were not replaced.
4. An index that somebody else changed meanwhile is not overwritten; the side file stays for the next run.

Must not know which embedder it has, and does no blocking work on the event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import orjson

from node.clock import Clock, SystemClock
from node.errors import BadInput, Rejected, Unavailable
from node.jobs import index_file
from node.jobs.index_file import EntryVector, IndexEntry, IndexFile
from node.normalise import normalise
from node.ports import Embedder, EmbedderInfo, Vector

Progress: TypeAlias = Callable[[int, int], None]

PROBLEMS_MAX = 100
_SIDE_LINE_BYTES_MAX = 64 * 2**10
_Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What a run found and did, in entries.

    ``total`` counts usable ones; ``already`` had an embedding of this model; ``embedded`` got one now, of
    which ``resumed`` were left by an interrupted run; ``too_long`` exceed the embedder's window;
    ``without_text`` have only a hash; ``pending`` still lack one (a limit, or a dry run); ``rejected`` are
    unusable; ``problems`` name up to 100 of those and of what was left out of others.
    """

    total: int
    already: int
    embedded: int
    too_long: int
    rejected: int
    seconds: float
    pending: int = 0
    resumed: int = 0
    without_text: int = 0
    problems: tuple[str, ...] = ()


def side_file(path: Path) -> Path:
    """Where an unfinished run keeps its vectors."""
    return path.with_name(path.name + ".embedding")


async def embed_index(
    path: Path,
    embedder: Embedder,
    *,
    batch: int = 16,
    limit: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    checkpoint_every: int = 256,
    clock: Clock | None = None,
) -> EmbedReport:
    """Embed what lacks an embedding, at most ``limit`` entries. ``progress(done, of)`` is called on the loop.

    Raises ``BadInput`` (a number below 1), and what ``index_file.read``, ``index_file.write`` and
    ``Embedder.embed`` raise.
    """
    for name, number in (("batch", batch), ("limit", limit), ("checkpoint_every", checkpoint_every)):
        if number is not None and number < 1:
            raise BadInput(f"{name} must be at least 1, not {number}", field=name)
    clock = clock or SystemClock()
    started = clock.monotonic()
    file, stamp = await asyncio.to_thread(_open, path)
    info = embedder.info
    missing = {
        position: normalise(entry.query)
        for position, entry in enumerate(file.entries)
        if entry.query is not None and not _has(entry, info)
    }
    kept = await asyncio.to_thread(_read_side, side_file(path), info)
    made = {at: kept[key] for at in missing if (key := file.entries[at].key) in kept}
    made = dict(list(made.items())[:limit])
    resumed, too_long = len(made), 0
    todo = [at for at in missing if at not in made]
    if limit is not None:
        todo = todo[: limit - resumed]
    if not dry_run and todo:
        too_long = await _embed(path, embedder, file, missing, todo, made, batch, checkpoint_every, progress)
    if not dry_run and made:
        await asyncio.to_thread(_finish, path, stamp, file, made, info)
    embedded = 0 if dry_run else len(made)
    without_text = sum(entry.query is None and not _has(entry, info) for entry in file.entries)
    problems = [f"entry {bad.position}: {bad.reason}" for bad in file.rejected[:PROBLEMS_MAX]]
    return EmbedReport(
        total=len(file.entries),
        already=len(file.entries) - len(missing) - without_text,
        embedded=embedded,
        too_long=too_long,
        rejected=len(file.rejected),
        seconds=clock.monotonic() - started,
        pending=len(missing) - embedded - too_long,
        resumed=0 if dry_run else resumed,
        without_text=without_text,
        problems=(*problems, *file.notes[: PROBLEMS_MAX - len(problems)]),
    )


async def _embed(
    path: Path,
    embedder: Embedder,
    file: IndexFile,
    texts: dict[int, str],
    todo: Sequence[int],
    made: dict[int, bytes],
    batch: int,
    checkpoint_every: int,
    progress: Progress | None,
) -> int:
    """Fill ``made`` for the positions ``todo``, and the side file; returns how many were too long."""
    too_long = unsynced = 0
    for start in range(0, len(todo), batch):
        chunk = todo[start : start + batch]
        vectors = await embedder.embed([texts[at] for at in chunk])
        fresh = {
            at: _bytes_of(vector, embedder.info)
            for at, vector in zip(chunk, vectors, strict=True)
            if vector is not None
        }
        too_long += len(chunk) - len(fresh)
        unsynced += len(fresh)
        sync = unsynced >= checkpoint_every
        lines = {file.entries[at].key: data for at, data in fresh.items()}
        if lines:
            await asyncio.to_thread(_append_side, side_file(path), lines, embedder.info, sync)
        unsynced = 0 if sync else unsynced
        made |= fresh
        if progress is not None:
            progress(start + len(chunk), len(todo))
    return too_long


def _has(entry: IndexEntry, info: EmbedderInfo) -> bool:
    vector = entry.embedding
    return vector is not None and vector.model == info.model and vector.dim == info.dim


def _bytes_of(vector: Vector, info: EmbedderInfo) -> bytes:
    data = index_file.decode_vector(index_file.encode_vector(vector))
    if len(data) != 4 * info.dim:
        raise Unavailable(f"the embedder {info.model} returned {len(data) // 4} dimensions, not {info.dim}")
    return data


# --- files (in a thread) --------------------------------------------------------------------------


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _open(path: Path) -> tuple[IndexFile, _Stamp]:
    try:
        stamp = _stamp(path)
    except OSError:
        return index_file.read(path), (0, 0, 0)  # says in words what is wrong
    return index_file.read(path), stamp


def _finish(path: Path, stamp: _Stamp, file: IndexFile, made: dict[int, bytes], info: EmbedderInfo) -> None:
    entries = [
        replace(entry, embedding=EntryVector(made[at], info.model)) if at in made else entry
        for at, entry in enumerate(file.entries)
    ]
    try:
        is_same = _stamp(path) == stamp
    except OSError as exc:
        raise Unavailable(f"{path} cannot be read again: {exc.strerror or exc}") from exc
    if not is_same:
        raise Unavailable(
            f"{path} was changed by another program meanwhile; run again, nothing has to be redone"
        )
    index_file.write(path, entries, info.model, rejected=file.rejected, extra=file.extra)
    side_file(path).unlink(missing_ok=True)


def _read_side(path: Path, info: EmbedderInfo) -> dict[str, bytes]:
    """Vectors of this model by query hash. What is torn, strange or of another model is passed over."""
    try:
        return {
            key: data
            for key, model, data in _side_lines(path)
            if model == info.model and len(data) == 4 * info.dim
        }
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise Unavailable(f"{path} cannot be read: {exc.strerror or exc}") from exc


def _side_lines(path: Path) -> Iterator[tuple[str, str, bytes]]:
    with path.open("rb") as lines:
        while line := lines.readline(_SIDE_LINE_BYTES_MAX):
            try:
                value = orjson.loads(line)
                key, model, data = value["key"], value["model"], index_file.decode_vector(value["embedding"])
            except (orjson.JSONDecodeError, KeyError, TypeError, Rejected):
                continue
            if isinstance(key, str) and isinstance(model, str):
                yield key, model, data


def _append_side(path: Path, vectors: dict[str, bytes], info: EmbedderInfo, sync: bool) -> None:
    lines = [
        orjson.dumps({"key": key, "model": info.model, "embedding": index_file.encode_bytes(data)}) + b"\n"
        for key, data in vectors.items()
    ]
    try:
        with path.open("ab") as out:
            if out.tell():
                out.write(b"\n")  # ends a line that a crash may have torn; empty lines are passed over
            out.writelines(lines)
            out.flush()
            if sync:
                os.fsync(out.fileno())
    except OSError as exc:
        raise Unavailable(f"{path} cannot be written: {exc.strerror or exc}") from exc
