"""The embedder that serves, and how one takes over from another without their vectors ever meeting.

Implements ``node.core.ports.Semantics``. It promises:
1. What ``embed`` gives is checked and carries the model that it was loaded as. An engine that suddenly
   answers with another model or dimension is refused until it answers as before, or until a restart, which
   embeds everything anew.
2. Whatever fails here costs the semantic tier only, and ``health`` says what and why.
3. The wanted engine (the settings) may be away at the start: it is tried again, at least every 30 s, and
   serves as soon as it comes. Only ``Misconfigured`` at the first try stops the start.
4. Another engine or model than the one that served last: the former one, where it can be loaded, goes on
   serving from its index while every question that had a vector is embedded anew for the wanted one, in small
   batches that let questions go first. Then, in this order: the new index is saved, the choice is saved,
   look-ups go to the new one, the old file is deleted, the old engine is closed when nobody waits for it.
   Killed anywhere, the next start goes on from what was saved. Where the former one cannot be loaded, the new
   index serves at once with what it has. While the wanted one is away or hangs, the former one serves.
5. Nothing is missed: records are followed by the store's sequence (``jobs.vectors``), before and after the
   take-over, so a record stored with the former's vector, or with none because the engine was away, gets its
   vector a moment later.

It must not know which engines there are (``load`` is handed in), nor what is looked up.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from node.core.clock import Clock
from node.core.errors import Misconfigured, NodeError, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Check
from node.core.ports import (
    Embedded,
    Embedder,
    EmbedderInfo,
    RecordStore,
    SemanticFacts,
    StoredRecord,
    Vector,
    VectorIndex,
)
from node.store.remember import owes_vector
from node.store.state import StateStore

if TYPE_CHECKING:
    from node.cache.index.vectors import IndexKeeper  # needs numpy, which may be missing

log = logging.getLogger("neuroswarm.semantics")

START_WAIT_S = 10.0
"""How long a start waits for an engine outside this process before it goes on without."""
EMBED_WAIT_S = 10.0
"""How long a question waits for its vector before it goes on without."""
REST_S = 2.0
"""How long an engine that said it is not well is left alone by questions."""
PROBE_AFTER_S = 2.0
PROBE_WAIT_S = 1.0
BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 30.0
BATCH = 16
PAGE = 64
"""Records whose questions are in memory at once while they are embedded anew."""
QUIET_WAIT_S = 1.0
"""How long a batch of old questions waits at most for a moment without new ones."""
SAVE_EVERY = 256
SAVE_SHARE = 8
"""A growing file is saved when it has grown by this part, so that saving stays cheap beside embedding."""
RETIRED_S = 60.0
"""How long an index that no longer serves stays for the questions that hold a vector of its model."""
LEAVE_WAIT_S = 10.0
TRIES_PER_TEXT = 3
SAME_COSINE_MIN = 0.99
"""How near a model's vector of one fixed sentence must be to the one it gave before."""

HNSW_ABOVE = 20_000
"""Rows of one (scope, context) beyond which they are searched by HNSW (``cache.hnsw_above``)."""

_SERVED = "embedder"
_NONE = EmbedderInfo(model="none", digest="", dim=0, tokens_max=0)
_EXACT_GOES_ON = "exact, slot and keyword look-up go on"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which engine and model the settings name. ``here``: it runs in this process, so loading cannot hang."""

    engine: str
    model: str = ""
    gguf_path: str = ""

    @property
    def is_none(self) -> bool:
        return self.engine == "none"

    @property
    def is_here(self) -> bool:
        return self.engine in ("none", "local")


Load = Callable[[Choice], Awaitable[Embedder]]
"""Load and try an engine. Raises ``Unavailable``, ``Misconfigured``."""


@dataclass(frozen=True, slots=True)
class _Served:
    """The model whose index was complete when it last served, and how it was loaded."""

    choice: Choice
    digest: str
    dim: int
    sample: tuple[float, ...] = ()
    """``Embedder.sample`` as it was then; empty where there is none."""

    def dump(self) -> str:
        more = {"digest": self.digest, "dim": self.dim, "sample": self.sample}
        return orjson.dumps({**asdict(self.choice), **more}).decode()

    @classmethod
    def read(cls, text: str | None) -> _Served | None:
        """None for what was never written, or not by this program."""
        try:
            data = orjson.loads(text or "null")
            choice = Choice(str(data["engine"]), str(data["model"]), str(data["gguf_path"]))
            sample = tuple(map(float, data.get("sample", ())))
            return cls(choice, str(data["digest"]), int(data["dim"]), sample)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def is_like(self, other: _Served) -> bool:
        """Equal but for the last digits of a sample, which servers do not always repeat."""
        return replace(self, sample=other.sample) == other and bool(self.sample) == bool(other.sample)

    def is_of(self, engine: _Engine) -> bool:
        """Whether the engine has the model that served, as far as its digest tells."""
        return (engine.info.digest, engine.info.dim) == (self.digest, self.dim)


class _Engine:
    """One loaded embedder under watch, with the index of its model."""

    def __init__(self, choice: Choice, embedder: Embedder, clock: Clock) -> None:
        self.choice = choice
        self.embedder = embedder
        self.info = embedder.info
        self.failure = ""
        """Why the last call failed; empty when it went well."""
        self.asking = 0
        """Questions that wait for a vector now."""
        self.idle = asyncio.Event()
        self.idle.set()
        self._clock = clock
        self._keeper: IndexKeeper | None = None
        self._heard = clock.monotonic()
        self._rest_until = 0.0
        self._greetings = 0

    @property
    def keeper(self) -> IndexKeeper:
        assert self._keeper is not None, "an engine joins only with its index"
        return self._keeper

    async def open_index(self, directory: Path, records: RecordStore, hnsw_above: int) -> None:
        from node.cache.index.vectors import IndexKeeper

        self._keeper = await IndexKeeper.open(directory, self.info, records, hnsw_above=hnsw_above)

    async def ask(self, texts: Sequence[str]) -> list[Embedded | None]:
        """For a question: bounded, and refused at once while the engine is known to be unwell."""
        if self._clock.monotonic() < self._rest_until:
            raise Unavailable(self.failure)
        self.asking += 1
        self.idle.clear()
        try:
            async with asyncio.timeout(EMBED_WAIT_S):
                vectors = await self.embed(texts)
        except TimeoutError as exc:
            self._failed(f"the embedder gave no answer within {EMBED_WAIT_S:g} s", rest=True)
            raise TimedOut(self.failure) from exc
        finally:
            self.asking -= 1
            if not self.asking:
                self.idle.set()
        return [None if vector is None else Embedded(vector, self.info) for vector in vectors]

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Vectors of this engine's model for certain. Raises ``Unavailable``."""
        try:
            self._check_model()
            vectors = await self.embedder.embed(texts)
            self._check_model()
            self._check(vectors, len(texts))
        except Unavailable as exc:
            self._failed(str(exc), rest=self.embedder.health().status != "pass")
            raise
        self.failure, self._rest_until, self._heard = "", 0.0, self._clock.monotonic()
        return vectors

    def _failed(self, why: str, *, rest: bool) -> None:
        self.failure = why
        self._heard = self._clock.monotonic()
        self._rest_until = self._heard + REST_S if rest else 0.0

    def _check_model(self) -> None:
        found, mine = self.embedder.info, self.info
        if (found.digest, found.dim) != (mine.digest, mine.dim):
            raise Unavailable(
                f"the engine now has {found.model} ({found.dim} dimensions), and the vectors here are of "
                f"{mine.model} ({mine.dim}); none of its vectors is compared or stored: restart the node to "
                "embed everything anew, or give the engine its model back"
            )

    def _check(self, vectors: Sequence[Vector | None], count: int) -> None:
        from node.models.embedders.vectors import why_degenerate

        if len(vectors) != count:
            raise Unavailable(f"the embedder gave {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            if vector is None:
                continue
            if vector.shape != (self.info.dim,):
                raise Unavailable(
                    f"the engine now gives vectors of shape {vector.shape}, not ({self.info.dim},); none of "
                    "them is compared or stored: restart the node to embed everything anew"
                )
            if reason := why_degenerate(vector, self.info.dim):
                raise Unavailable(f"the embedder gave an unusable vector: {reason}")

    async def probe(self) -> None:
        """Find out whether it lives, unless it was heard of a moment ago."""
        if self._clock.monotonic() - self._heard < PROBE_AFTER_S:
            return
        try:
            async with asyncio.timeout(PROBE_WAIT_S):
                await self.greet()
        except TimeoutError:
            self._failed(f"the embedder gave no answer within {PROBE_WAIT_S:g} s", rest=False)
        except Unavailable:
            return  # noted

    async def greet(self) -> None:
        """Have something embedded that no cache knows. Raises ``Unavailable``."""
        self._greetings += 1
        await self.embed([f"Are you there, engine? Greeting number {self._greetings}."])

    def why_unwell(self) -> str:
        """Empty while it works."""
        check = self.embedder.health()
        return self.failure or ("" if check.status == "pass" else check.output or "the embedder is unwell")


class SwitchingSemantics:
    """Build with ``open``; everything on one event loop."""

    def __init__(
        self,
        directory: Path,
        choice: Choice,
        load: Load,
        records: RecordStore,
        state: StateStore,
        clock: Clock,
        start_wait_s: float,
        save_every: int,
        hnsw_above: int,
    ) -> None:
        self._directory = directory
        self._choice = choice
        self._load = load
        self._records = records
        self._state = state
        self._clock = clock
        self._start_wait_s = start_wait_s
        self._save_every = save_every
        self._hnsw_above = hnsw_above
        self._growing: dict[_Engine, asyncio.Task[None]] = {}
        self._serving: _Engine | None = None
        self._coming: _Engine | None = None
        self._retired: list[_Engine] = []
        self._loaded: list[_Engine] = []
        """Whatever has to be closed."""
        self._saved: _Served | None = None
        self._trouble = ""
        """Why the wanted engine is not (wholly) in place; empty when it is."""
        self._left_out = 0
        self._started = asyncio.Event()
        self._woken = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_tidy = False
        self._is_open = False
        self._is_closed = False

    @classmethod
    async def open(
        cls,
        directory: Path,
        choice: Choice,
        load: Load,
        records: RecordStore,
        state: StateStore,
        clock: Clock,
        *,
        start_wait_s: float = START_WAIT_S,
        save_every: int = SAVE_EVERY,
        hnsw_above: int = HNSW_ABOVE,
    ) -> SwitchingSemantics:
        """Returns once look-ups have what can be had at once. Raises ``Misconfigured``, and what the store
        raises."""
        self = cls(directory, choice, load, records, state, clock, start_wait_s, save_every, hnsw_above)
        work = self._begin(self._work())
        started = asyncio.create_task(self._started.wait())
        try:
            limit = None if choice.is_here else start_wait_s
            await asyncio.wait({work, started}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not self._started.is_set():
                work.result()
            if not self._started.is_set():
                self._trouble = f"the {choice.engine} embedder gave no answer within {start_wait_s:g} s"
        except BaseException:
            await self.close()
            raise
        finally:
            started.cancel()
        self._is_open = True
        return self

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None and self._is_open:
            self._trouble = f"the background work on embeddings ended ({failure!r}); restart the node"
            log.error("%s", self._trouble)

    # --- what the node asks -----------------------------------------------------------------------

    @property
    def info(self) -> EmbedderInfo:
        return _NONE if self._serving is None else self._serving.info

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        """By the serving engine; where that fails and the wanted one is being brought in, by that: its
        vectors are compared in its own growing index."""
        serving, coming = self._serving, self._coming
        if serving is None:
            raise Unavailable(self._why_none())
        try:
            return await serving.ask(texts)
        except Unavailable:
            if coming is None:
                raise
        return await coming.ask(texts)

    def index(self, info: EmbedderInfo) -> VectorIndex | None:
        engine = self._engine_of(info)
        return None if engine is None else engine.keeper.index

    def keep(self, stored: StoredRecord, embedded: Embedded | None) -> None:
        wanted = self._coming or self._serving
        if embedded is None:
            is_missing = owes_vector(stored)
        else:
            engine = self._engine_of(embedded.info)
            if engine is not None:
                engine.keeper.add(stored, embedded.vector)
            is_missing = wanted is None or embedded.info.digest != wanted.info.digest
        if is_missing:
            self._woken.set()

    def remove(self, cid: Cid) -> bool:
        found = [engine.keeper.remove(cid) for engine in self._with_index()]
        return any(found)

    def _with_index(self) -> list[_Engine]:
        return [one for one in (self._serving, self._coming, *self._retired) if one is not None]

    def _engine_of(self, info: EmbedderInfo) -> _Engine | None:
        for engine in self._with_index():
            if (engine.info.digest, engine.info.dim) == (info.digest, info.dim):
                return engine
        return None

    # --- health -----------------------------------------------------------------------------------

    async def probe(self) -> None:
        if self._serving is not None:
            await self._serving.probe()

    def health(self) -> list[Check]:
        checks = [self._embedder_check(), self._semantic_check()]
        if (progress := self._progress_check()) is not None:
            checks.append(progress)
        return checks

    def facts(self) -> SemanticFacts:
        wanted, serving = self._coming or self._serving, self._serving
        return SemanticFacts(
            vectors=0 if serving is None else len(serving.keeper.index),
            dim=self.info.dim,
            done=0 if wanted is None else wanted.keeper.done,
            total=0 if wanted is None else wanted.keeper.total,
        )

    def _why_none(self) -> str:
        return self._trouble or "no embedder is loaded yet"

    def _embedder_check(self) -> Check:
        serving = self._serving
        if serving is None:
            again = "" if self._choice.is_none else "; it is tried again"
            said = f"semantic look-up is off: {self._why_none()}{again}; {_EXACT_GOES_ON}"
            return Check("embedder", "warn", said)
        if why := serving.why_unwell():
            return Check("embedder", "warn", f"{why}; {_EXACT_GOES_ON}")
        if self._trouble:
            return Check("embedder", "warn", f"{serving.info.model} serves meanwhile: {self._trouble}")
        return serving.embedder.health()

    def _semantic_check(self) -> Check:
        serving = self._serving
        if serving is None:
            return Check("semantic", "warn", f"disabled: {self._why_none()}")
        vectors = len(serving.keeper.index)
        if why := serving.why_unwell():
            return Check("semantic", "warn", f"disabled: {why}", observed=vectors, unit="vectors")
        if why := serving.keeper.index.trouble:
            return Check("semantic", "warn", f"enabled, but {why}", observed=vectors, unit="vectors")
        return Check("semantic", "pass", "enabled", observed=vectors, unit="vectors")

    def _progress_check(self) -> Check | None:
        wanted = self._coming or self._serving
        if wanted is None:
            return None
        done, total = wanted.keeper.done, wanted.keeper.total
        left_out = f"; {self._left_out} questions were left out" if self._left_out else ""
        if done >= total and self._coming is None:
            if not self._left_out:
                return None
            return Check("reembedding", "warn", f"done{left_out}: {wanted.info.model} fails on them")
        if self._coming is not None and self._serving is not None:
            meanwhile, status = f"{self._serving.info.model} serves meanwhile", "pass"
        else:
            meanwhile, status = "look-up by meaning finds only what is done", "warn"
        said = f"{done} of {total} stored questions are embedded anew by {wanted.info.model}; {meanwhile}"
        return Check("reembedding", status, said + left_out, observed=done, unit=f"of {total} questions")

    # --- the work behind --------------------------------------------------------------------------

    async def _work(self) -> None:
        if self._choice.is_none:
            self._trouble = "embeddings are switched off (embed.engine = none)"
            self._started.set()
            return
        self._saved = _Served.read(await self._state.get_meta(_SERVED))
        wanted: _Engine | None = None
        try:
            wanted = await self._bring_wanted()
        except (Unavailable, Misconfigured) as exc:
            if isinstance(exc, Misconfigured) and not self._is_open:
                raise
            self._trouble = str(exc)
            log.warning("no embedder: %s", exc)
        if self._serving is None:
            await self._bring_former(wanted)
        if wanted is not None and self._serving is None:
            await self._join(wanted)
        self._started.set()
        failures, done_before = int(wanted is None), 0
        while True:
            if failures:
                await self._clock.sleep(self._backoff_s(failures))
            self._woken.clear()
            try:
                if wanted is None:
                    wanted = await self._bring(self._choice)
                if wanted not in (self._serving, self._coming):
                    await self._join(wanted)
                    self._trouble = ""
                await self._fill(wanted)
                self._trouble = ""
                await self._settle(wanted)
            except NodeError as exc:
                self._trouble = str(exc)
                done = 0 if wanted is None else self._done(wanted)
                failures = 1 if done > done_before else failures + 1
                done_before = done
                log.info("embedding has to wait: %s", exc)
                continue
            failures = 0
            await self._woken.wait()

    def _done(self, engine: _Engine) -> int:
        return engine.keeper.done if engine in (self._serving, self._coming) else 0

    def _backoff_s(self, failures: int) -> float:
        whole = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, 10))
        return whole * (0.5 + self._clock.random() / 2)

    async def _bring(self, choice: Choice) -> _Engine:
        engine = _Engine(choice, await self._load(choice), self._clock)
        self._loaded.append(engine)
        if self._was_exchanged(engine):
            await self._let_go(engine)
            raise Unavailable(
                f"{engine.info.model} is another one now (its vectors are others than before, under the same "
                "name): give it its model back, or set embed.model to a name of its own for the new one"
            )
        return engine

    def _was_exchanged(self, engine: _Engine) -> bool:
        """Whether another model came behind the same name while this node was down."""
        saved, sample = self._saved, engine.embedder.sample
        if saved is None or sample is None or len(saved.sample) != len(sample) or not saved.is_of(engine):
            return False
        cosine = math.fsum(one * float(other) for one, other in zip(saved.sample, sample, strict=True))
        return cosine < SAME_COSINE_MIN

    async def _bring_wanted(self) -> _Engine:
        """The engine of the settings. While it does not say whether it is there, the former one serves."""
        bringing = asyncio.ensure_future(self._bring(self._choice))
        try:
            wait_s = self._start_wait_s / 2  # the rest of the start's time is the former's
            await asyncio.wait({bringing}, timeout=None if self._choice.is_here else wait_s)
            if not bringing.done():
                self._trouble = f"the {self._choice.engine} embedder gave no answer within {wait_s:g} s"
                await self._bring_former(None)
                if self._serving is not None:
                    self._started.set()
            return await bringing
        finally:
            bringing.cancel()
            await asyncio.gather(bringing, return_exceptions=True)

    async def _join(self, engine: _Engine) -> None:
        """Let it serve, or, while another one does, grow beside it."""
        await engine.open_index(self._directory, self._records, self._hnsw_above)
        self._growing[engine] = self._begin(engine.keeper.grow(self._clock))
        if self._serving is None:
            self._serving = engine
        else:
            self._coming = engine

    async def _bring_former(self, wanted: _Engine | None) -> None:
        """Where another model served last: that one, to serve until the wanted one can."""
        saved = self._saved
        if saved is None or saved.choice == self._choice:
            return
        if wanted is not None and saved.is_of(wanted):
            return
        try:
            try:
                async with asyncio.timeout(None if saved.choice.is_here else self._start_wait_s):
                    former = await self._bring(saved.choice)
            except TimeoutError as exc:
                raise TimedOut(f"no answer within {self._start_wait_s:g} s") from exc
            if not saved.is_of(former):
                await self._let_go(former)
                raise Unavailable(f"{saved.choice.engine} has another model now: {former.info.model}")
        except NodeError as exc:
            log.warning("the embedder that served last cannot be loaded, so its vectors rest: %s", exc)
            return
        await self._join(former)

    async def _fill(self, engine: _Engine) -> None:
        """Give the engine's index what it lacks, up to the end of the store. Raises ``NodeError``; what was
        done stays done."""
        keeper, unsaved = engine.keeper, 0
        while True:
            await keeper.follow()
            lacking = await keeper.lacking(PAGE)
            if lacking is None:
                break
            texts, vectors = lacking.texts, []
            for start in range(0, len(texts), BATCH):
                await self._let_questions_go_first()
                began = self._clock.monotonic()
                vectors += await self._embed_anew(engine, texts[start : start + BATCH])
                # As much rest as work: half of a core, or of an engine, is left to whoever asks.
                await self._clock.sleep(self._clock.monotonic() - began)
            await keeper.settle(lacking, vectors)
            unsaved += len(texts)
            if unsaved >= max(self._save_every, len(keeper.index) // SAVE_SHARE):
                await keeper.save()
                unsaved = 0
        if unsaved:
            await keeper.save()

    async def _let_questions_go_first(self) -> None:
        for engine in (self._serving, self._coming):
            if engine is not None and engine.asking:
                try:
                    async with asyncio.timeout(QUIET_WAIT_S):
                        await engine.idle.wait()
                except TimeoutError:
                    return  # a constant stream of questions does not stop it for ever

    async def _embed_anew(self, engine: _Engine, texts: Sequence[str]) -> list[Vector | None]:
        """Vectors of stored questions. One on which the engine fails again and again, while it answers
        others, is left out rather than holding up the rest. Raises ``Unavailable`` while it answers none."""
        try:
            return await engine.embed(texts)
        except Unavailable:
            await engine.greet()
        return [await self._embed_one(engine, text) for text in texts]

    async def _embed_one(self, engine: _Engine, text: str) -> Vector | None:
        for tries in range(1, TRIES_PER_TEXT + 1):
            try:
                [vector] = await engine.embed([text])
            except Unavailable as exc:
                await engine.greet()
                log.info("a stored question could not be embedded: %s", exc)
                await self._clock.sleep(self._backoff_s(tries))
            else:
                return vector
        self._left_out += 1
        return None

    async def _settle(self, wanted: _Engine) -> None:
        """The wanted index is complete: from here on it serves alone. Raises ``NodeError`` before anything is
        changed."""
        sample = wanted.embedder.sample
        served = _Served(
            wanted.choice,
            wanted.info.digest,
            wanted.info.dim,
            () if sample is None else tuple(map(float, sample)),
        )
        if self._saved is None or not self._saved.is_like(served):
            await wanted.keeper.save()
            await self._state.set_meta(_SERVED, served.dump())
            self._saved = served
        former = self._serving
        if former is not wanted:
            # One step for everybody on the loop: a question has been embedded by the former, whose index
            # stays for a while, or will be by the wanted.
            self._serving, self._coming = wanted, None
            log.info("%s serves now, after %s", wanted.info.model, former.info.model if former else "none")
            if former is not None:
                self._retired.append(former)
                self._begin(self._retire(former))
        if not self._is_tidy:
            await wanted.keeper.remove_others()
            self._is_tidy = True

    async def _retire(self, engine: _Engine) -> None:
        try:
            async with asyncio.timeout(LEAVE_WAIT_S):
                await engine.idle.wait()
        except TimeoutError:
            log.warning("%s is closed although somebody waits for it", engine.info.model)
        await self._let_go(engine)
        await self._clock.sleep(RETIRED_S)
        self._retired.remove(engine)
        self._growing.pop(engine).cancel()

    async def _let_go(self, engine: _Engine) -> None:
        self._loaded.remove(engine)
        await engine.embedder.close()

    # --- the end ----------------------------------------------------------------------------------

    async def save(self) -> None:
        """Write the index files. They are copies: a failure is logged and costs a longer replay."""
        for engine in (self._serving, self._coming):
            if engine is not None:
                try:
                    await engine.keeper.save()
                except NodeError as exc:
                    log.warning("vector index not saved: %s", exc)
        if self._serving is not None:
            self._woken.set()  # following may have met records that lack a vector

    async def close(self) -> None:
        """Stop the work, save, close the engines. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.save()
        for engine in tuple(self._loaded):
            await self._let_go(engine)
