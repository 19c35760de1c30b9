"""Give index entries the embeddings that they lack: the work behind ``batch_embed.py``.

Promises:
1. Idempotent: an entry with an embedding of this embedder's model is left alone; when nothing is missing, the
   file is not touched. An entry with a vector of another model gets a new one, unless asked otherwise.
2. Resumable: vectors are kept in a scratch file (``<index>.embedding``) as they are made; a later run takes
   them up, whatever ended this one. The index is rewritten once, atomically, at the end.
3. Nothing is lost: what does not change comes out byte for byte, unusable entries included.
4. An index that somebody else changed meanwhile is not overwritten; two runs never work on one index.
5. Memory does not grow with the file.

Steps: 1 check the whole file; 2 count; 3 embed what lacks a vector, batch by batch, into the scratch file;
4 rewrite. A text that the engine cannot do is reported and passed over as long as the engine does others.
Must not know which embedder it has, and does no blocking work on the event loop.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from node.app.transfer import index_file
from node.app.transfer.embed_scratch import Scratch, scratch_path
from node.app.transfer.index_entry import IndexEntry, Place, decode_vector, encode_vector
from node.app.transfer.index_file import Edit, OpenIndex
from node.core.blocking import in_thread
from node.core.clock import Clock, SystemClock, new_id
from node.core.errors import BadInput, RateLimited, Rejected, Unavailable
from node.core.normalise import normalise
from node.core.ports import Embedder, EmbedderInfo, Vector
from node.core.settings import Settings

Progress: TypeAlias = Callable[[int, int], None]
T = TypeVar("T")

PROBLEMS_MAX = 100
BATCH_MAX = 1_024
FAILED_MAX = 1_000
"""An engine that cannot do more texts than this is broken in a way that it does not tell."""
_PROBE = "Is anybody there?"
_LIMITED_ATTEMPTS = 5
_LIMITED_WAIT_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """What a run found and did, in entries.

    ``total`` counts usable ones; ``already`` had an embedding of this model; ``embedded`` got one now, of
    which ``resumed`` were left by an interrupted run; ``too_long`` exceed the embedder's window; ``failed``
    the engine could not do; ``without_text`` have only a hash; ``pending`` still lack one (a limit, or a dry
    run); ``others`` had a vector of another model when the run began; ``rejected`` are unusable; ``problems``
    name up to 100 of those and of what was left out of others. ``model`` is the embedder's.
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
    failed: int = 0
    others: int = 0
    model: str = ""
    problems: tuple[str, ...] = ()


class _Stopped(Exception):
    """Ends what a thread does for a run that was cancelled."""


@dataclass(frozen=True, slots=True)
class _Todo:
    """A text that lacks a vector."""

    position: int
    key: str
    text: str
    leans: bool


async def embed_index(
    path: Path,
    embedder: Embedder,
    *,
    batch: int = 16,
    limit: int | None = None,
    dry_run: bool = False,
    only_missing: bool = False,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> EmbedReport:
    """Embed what lacks an embedding, at most ``limit`` entries; with ``only_missing`` vectors of other models
    stay. ``progress(done, of)`` is called on the loop.

    Raises ``BadInput`` (a number out of range, an engine without embeddings), and what ``OpenIndex.open``,
    ``OpenIndex.rewrite`` and ``Embedder.embed`` raise.
    """
    if not 1 <= batch <= BATCH_MAX:
        raise BadInput(f"batch must be from 1 to {BATCH_MAX}, not {batch}", field="batch")
    if limit is not None and limit < 1:
        raise BadInput(f"limit must be at least 1, not {limit}", field="limit")
    if not embedder.info.dim:
        raise BadInput("there is no embedding engine: choose one with --engine", field="engine")
    clock = clock or SystemClock()
    started = clock.monotonic()
    run = _Run(path, embedder.info, only_missing=only_missing, limit=limit)
    try:
        await run.in_thread(partial(run.open, lock=not dry_run))
        await run.in_thread(run.count)
        if not dry_run and await run.in_thread(run.begin):
            await _embed(run, embedder, batch, progress, clock)
            if run.counted:
                await run.in_thread(run.rewrite)
            await run.in_thread(run.end)
    finally:
        run.close()
    return run.report(clock.monotonic() - started, dry_run=dry_run)


async def _embed(run: _Run, embedder: Embedder, batch: int, progress: Progress | None, clock: Clock) -> None:
    """Step 3. The batch is halved whenever the engine lives and cannot do it at once."""
    of = run.missing if run.limit is None else min(run.missing, run.limit)
    while todo := await run.in_thread(partial(run.take, batch)):
        texts = list(dict.fromkeys(one.text for one in todo))
        try:
            vectors = await _vectors(embedder, texts, clock)
        except Unavailable as exc:
            if not await _answers(embedder, clock):
                raise
            batch = max(1, batch // 2)
            vectors = await _one_by_one(embedder, texts, exc, clock)
        made = dict(zip(texts, vectors, strict=True))
        await run.in_thread(partial(run.keep, todo, made))
        if progress is not None:
            progress(run.counted + run.too_long + run.failed, of)


async def _one_by_one(
    embedder: Embedder, texts: Sequence[str], error: Unavailable, clock: Clock
) -> list[bytes | str | None]:
    if len(texts) == 1:
        return [str(error)]
    out: list[bytes | str | None] = []
    for text in texts:
        try:
            out += await _vectors(embedder, [text], clock)
        except Unavailable as exc:
            if not await _answers(embedder, clock):
                raise
            out.append(str(exc))
    return out


async def _vectors(embedder: Embedder, texts: Sequence[str], clock: Clock) -> list[bytes | str | None]:
    """The vectors as bytes, checked; None for a text beyond the window. Waits a bounded time where the engine
    says how long."""
    for attempt in range(_LIMITED_ATTEMPTS):
        try:
            vectors = await embedder.embed(texts)
            break
        except RateLimited as exc:
            if attempt + 1 == _LIMITED_ATTEMPTS:
                raise
            await clock.sleep(min(max(exc.retry_after_s, 0.0), _LIMITED_WAIT_S_MAX))
    if len(vectors) != len(texts):
        raise Unavailable(
            f"the embedder {embedder.info.model} returned {len(vectors)} vectors for {len(texts)} texts"
        )
    return [None if vector is None else _bytes_of(vector, embedder.info) for vector in vectors]


async def _answers(embedder: Embedder, clock: Clock) -> bool:
    """Whether the engine lives and works: then a text is at fault. The words are new ones each time, so that
    no memory answers for it."""
    try:
        return await _vectors(embedder, [f"{_PROBE} {new_id()}"], clock) != [None]
    except Unavailable:
        return False


def _bytes_of(vector: Vector, info: EmbedderInfo) -> bytes:
    try:
        data = decode_vector(encode_vector(vector))
    except Rejected as exc:
        raise Unavailable(f"the embedder {info.model} returned an unusable vector: {exc}") from exc
    if len(data) != 4 * info.dim:
        raise Unavailable(f"the embedder {info.model} returned {len(data) // 4} dimensions, not {info.dim}")
    return data


class _Run:
    """What one run knows. The methods without ``async`` block and are called in a thread, one at a time."""

    def __init__(self, path: Path, info: EmbedderInfo, *, only_missing: bool, limit: int | None) -> None:
        self._path = path
        self._info = info
        self._only_missing = only_missing
        self._stop = threading.Event()
        self._index: OpenIndex | None = None
        self._scratch: Scratch | None = None
        self._todo: Iterator[_Todo] = iter(())
        self._problems: list[str] = []
        self._failed: set[str] = set()
        self._total = self._already = self._without_text = self._rejected = self._others = 0
        self._leaning = self._replaced = self._resumed = 0
        self.limit = limit
        self.missing = self.counted = self.too_long = self.failed = 0

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a thread; cancelled, end it soon."""
        return await in_thread(work, stop=self._stop.set)

    def open(self, *, lock: bool) -> None:
        self._index = OpenIndex.open(self._path, lock=lock, watch=self._watch)
        if lock:
            self._index.check_writable()

    def count(self) -> None:
        """Step 2."""
        for place in self._places():
            self._say(place.problems)
            self._leaning += place.leans
            if place.entry is None:
                self._rejected += 1
                continue
            self._total += 1
            if self._has(place.entry):
                self._already += 1
                continue
            self._others += place.entry.embedding is not None
            if place.entry.query is None:
                self._without_text += 1
            elif self._todo_of(place) is not None:
                self.missing += 1

    def begin(self) -> bool:
        """Whether there is anything to do; else clears what a run killed after its last step left."""
        assert self._index is not None
        path = scratch_path(self._index.path)
        if self.missing:
            self._scratch = Scratch.open(path, self._info)
            self._todo = self._lacking()
        elif path.exists():
            Scratch.open(path, self._info).delete()
        return bool(self.missing)

    def take(self, size: int) -> list[_Todo]:
        """The next texts that have no vector yet, at most ``size``; empty at the end."""
        assert self._scratch is not None
        todo: list[_Todo] = []
        while len(todo) < size and not self._is_full(len(todo)):
            one = next(self._todo, None)
            if one is None:
                break
            if one.key in self._failed:
                self.failed += 1
                continue
            is_older = self._scratch.is_older(one.key)
            if is_older is None:
                todo.append(one)
            else:
                self._resumed += is_older
                self._count_in(one)
        return todo

    def keep(self, todo: Sequence[_Todo], made: dict[str, bytes | str | None]) -> None:
        """Vectors into the scratch file; a text instead of a vector is the reason why there is none."""
        assert self._scratch is not None
        self._scratch.put((one.key, data) for one in todo if isinstance(data := made[one.text], bytes))
        for one in todo:
            data = made[one.text]
            if isinstance(data, bytes):
                self._count_in(one)
            elif data is None:
                self.too_long += 1
            else:
                self.failed += 1
                self._failed.add(one.key)
                self._say([f"entry {one.position}: it was not embedded: {data}"])
                if len(self._failed) > FAILED_MAX:
                    raise Unavailable(f"the engine failed for more than {FAILED_MAX} texts, at last: {data}")

    def rewrite(self) -> None:
        """Step 4."""
        assert self._index is not None
        self._index.rewrite(self._edits(self._index))

    def end(self) -> None:
        """The scratch file goes, unless it holds vectors of an earlier run that this one was not to use."""
        assert self._scratch is not None
        if self.limit is not None and self._is_full(0) and self._scratch.older() > self._resumed:
            self._scratch.close()
        else:
            self._scratch.delete()

    def close(self) -> None:
        if self._scratch is not None:
            self._scratch.close()
        if self._index is not None:
            self._index.close()

    def report(self, seconds: float, *, dry_run: bool) -> EmbedReport:
        embedded = 0 if dry_run else self.counted
        return EmbedReport(
            total=self._total,
            already=self._already,
            embedded=embedded,
            too_long=self.too_long,
            rejected=self._rejected,
            seconds=seconds,
            pending=self.missing - embedded - self.too_long - self.failed,
            resumed=self._resumed,
            without_text=self._without_text,
            failed=self.failed,
            others=self._others,
            model=self._info.model,
            problems=tuple(self._problems),
        )

    # --- within -----------------------------------------------------------------------------------

    def _watch(self, _: int) -> None:
        if self._stop.is_set():
            raise _Stopped

    def _places(self) -> Iterator[Place]:
        assert self._index is not None
        return self._index.places(self._watch)

    def _say(self, problems: Sequence[str]) -> None:
        self._problems += problems[: max(0, PROBLEMS_MAX - len(self._problems))]

    def _has(self, entry: IndexEntry) -> bool:
        vector = entry.embedding
        return vector is not None and vector.model == self._info.model and vector.dim == self._info.dim

    def _todo_of(self, place: Place) -> _Todo | None:
        """What is to be embedded at this place, if anything."""
        entry = place.entry
        if entry is None or entry.query is None or self._has(entry):
            return None
        if self._only_missing and entry.embedding is not None:
            return None
        return _Todo(place.position, entry.key, normalise(entry.query), place.leans)

    def _lacking(self) -> Iterator[_Todo]:
        return (todo for place in self._places() if (todo := self._todo_of(place)) is not None)

    def _is_full(self, more: int) -> bool:
        return self.limit is not None and self.counted + more >= self.limit

    def _count_in(self, one: _Todo) -> None:
        self.counted += 1
        self._replaced += one.leans

    def _edits(self, index: OpenIndex) -> Iterator[Edit]:
        """The same entries as were counted, in the same order. The file's model changes if no vector is left
        that would change hands by it; else the new ones name theirs."""
        assert self._scratch is not None
        top = None
        if self._leaning == self._replaced:
            top = index_file.model_edit(index.layout, self._info.model)
        is_files = top is not None or index.layout.model == self._info.model
        count = 0
        for place in self._places():
            if count == self.counted or (todo := self._todo_of(place)) is None or todo.key in self._failed:
                continue
            if (data := self._scratch.get(todo.key)) is None:
                continue
            count += 1
            part = place.part
            assert part.raw is not None
            if top is not None and top.start < part.start:
                yield top
                top = None
            text = index_file.with_embedding(part.raw, data, self._info.model, state=not is_files)
            yield Edit(part.start, part.end, text)
        if top is not None:
            yield top


# --- and then -------------------------------------------------------------------------------------


def next_step(index: Path, settings: Settings) -> str:
    """What a person has to do so that a node uses the embeddings that ``index`` got. Touches the disk."""
    data_dir = Path(settings.data_dir)
    if _is_one(index, data_dir / "knowledge-index.json"):
        return (
            f"the node writes {index} itself, from its own records: copy it, name the copy in the setting "
            "index_file and start the node"
        )
    if not _is_one(index, Path(settings.index_file)):
        return f"this is not the index of the settings: name it there (index_file = {str(index)!r}) to use it"
    if _is_running(data_dir):
        return f"a node is running on {data_dir}: restart it, it takes the embeddings up when it starts"
    return "a node takes the embeddings up when it starts: neuroswarm serve"


def _is_one(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_running(data_dir: Path) -> bool:
    """Whether a process holds the lock of the data directory (``store.lock``), which is not touched."""
    try:
        with (data_dir / "lock").open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
