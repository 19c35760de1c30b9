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
5. Nothing is missed: records are followed by the store's sequence (``vectors``), before and after the
   take-over, so a record stored with the former's vector, or with none because the engine was away, gets its
   vector a moment later.

It must not know which engines there are (``load`` is handed in), nor what is looked up.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.cache.index import semantic_health
from node.cache.index.engine import Choice, Engine, Load, Served
from node.cache.index.filling import Filler, backoff_s
from node.core.clock import Clock
from node.core.errors import Misconfigured, NodeError, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Check
from node.core.ports import (
    Embedded,
    EmbedderInfo,
    RecordStore,
    SemanticFacts,
    StoredRecord,
    VectorIndex,
)
from node.models.names import EXCHANGED, SAME_COSINE_MIN
from node.store.remember import owes_vector
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.semantics")

RETIRED_S = 60.0
"""How long an index that no longer serves stays for the questions that hold a vector of its model."""
LEAVE_WAIT_S = 10.0
_SERVED = "embedder"
_NONE = EmbedderInfo(model="none", digest="", dim=0, tokens_max=0)


@dataclass(frozen=True, slots=True)
class Pace:
    """``start_wait_s``: how long a start waits for an engine outside this process before it goes on without;
    ``save_every``: so many new vectors are saved at once; ``hnsw_above``: beyond so many rows of one (scope,
    context) they are searched by HNSW (``cache.hnsw_above``)."""

    start_wait_s: float = 10.0
    save_every: int = 256
    hnsw_above: int = 20_000


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
        pace: Pace,
    ) -> None:
        self._directory = directory
        self._choice = choice
        self._load = load
        self._records = records
        self._state = state
        self._clock = clock
        self._start_wait_s = pace.start_wait_s
        self._hnsw_above = pace.hnsw_above
        self._filler = Filler(clock, pace.save_every, self._asked)
        self._growing: dict[Engine, asyncio.Task[None]] = {}
        self._serving: Engine | None = None
        self._coming: Engine | None = None
        self._retired: list[Engine] = []
        self._loaded: list[Engine] = []
        """Whatever has to be closed."""
        self._saved: Served | None = None
        self._trouble = ""
        """Why the wanted engine is not (wholly) in place; empty when it is."""
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
        pace: Pace,
    ) -> SwitchingSemantics:
        """Returns once look-ups have what can be had at once. Raises ``Misconfigured``, and what the store
        raises."""
        self = cls(directory, choice, load, records, state, clock, pace)
        work = self._begin(self._work())
        started = asyncio.create_task(self._started.wait())
        try:
            limit = None if choice.is_here else pace.start_wait_s
            await asyncio.wait({work, started}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not self._started.is_set():
                work.result()
            if not self._started.is_set():
                self._trouble = f"the {choice.engine} embedder gave no answer within {pace.start_wait_s:g} s"
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
            raise Unavailable(semantic_health.why_none(self._trouble))
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

    def _asked(self) -> list[Engine]:
        return [one for one in (self._serving, self._coming) if one is not None]

    def _with_index(self) -> list[Engine]:
        return [*self._asked(), *self._retired]

    def _engine_of(self, info: EmbedderInfo) -> Engine | None:
        for engine in self._with_index():
            if (engine.info.digest, engine.info.dim) == (info.digest, info.dim):
                return engine
        return None

    # --- health -----------------------------------------------------------------------------------

    async def probe(self) -> None:
        if self._serving is not None:
            await self._serving.probe()

    def health(self) -> list[Check]:
        return semantic_health.checks(
            self._serving, self._coming, self._choice, self._trouble, self._filler.left_out
        )

    def facts(self) -> SemanticFacts:
        wanted, serving = self._coming or self._serving, self._serving
        return SemanticFacts(
            vectors=0 if serving is None else len(serving.keeper.index),
            dim=self.info.dim,
            done=0 if wanted is None else wanted.keeper.done,
            total=0 if wanted is None else wanted.keeper.total,
        )

    # --- the work behind --------------------------------------------------------------------------

    async def _work(self) -> None:
        if self._choice.is_none:
            self._trouble = "embeddings are switched off (embed.engine = none)"
            self._started.set()
            return
        self._saved = Served.read(await self._state.get_meta(_SERVED))
        wanted: Engine | None = None
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
                await self._clock.sleep(backoff_s(self._clock, failures))
            self._woken.clear()
            try:
                if wanted is None:
                    wanted = await self._bring(self._choice)
                if wanted not in (self._serving, self._coming):
                    await self._join(wanted)
                    self._trouble = ""
                await self._filler.fill(wanted)
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

    def _done(self, engine: Engine) -> int:
        return engine.keeper.done if engine in (self._serving, self._coming) else 0

    async def _bring(self, choice: Choice) -> Engine:
        engine = Engine(choice, await self._load(choice), self._clock)
        self._loaded.append(engine)
        if self._was_exchanged(engine):
            await self._let_go(engine)
            raise Unavailable(f"{engine.info.model} {EXCHANGED}")
        return engine

    def _was_exchanged(self, engine: Engine) -> bool:
        """Whether another model came behind the same name while this node was down."""
        saved, sample = self._saved, engine.embedder.sample
        if saved is None or sample is None or len(saved.sample) != len(sample) or not saved.is_of(engine):
            return False
        cosine = math.fsum(one * float(other) for one, other in zip(saved.sample, sample, strict=True))
        return cosine < SAME_COSINE_MIN

    async def _bring_wanted(self) -> Engine:
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

    async def _join(self, engine: Engine) -> None:
        """Let it serve, or, while another one does, grow beside it."""
        await engine.open_index(self._directory, self._records, self._hnsw_above)
        self._growing[engine] = self._begin(engine.keeper.grow(self._clock))
        if self._serving is None:
            self._serving = engine
        else:
            self._coming = engine

    async def _bring_former(self, wanted: Engine | None) -> None:
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

    async def _settle(self, wanted: Engine) -> None:
        """The wanted index is complete: from here on it serves alone. Raises ``NodeError`` before anything is
        changed."""
        sample = wanted.embedder.sample
        choice = wanted.choice
        served = Served(
            choice.engine,
            choice.model,
            choice.gguf_path,
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

    async def _retire(self, engine: Engine) -> None:
        try:
            async with asyncio.timeout(LEAVE_WAIT_S):
                await engine.idle.wait()
        except TimeoutError:
            log.warning("%s is closed although somebody waits for it", engine.info.model)
        await self._let_go(engine)
        await self._clock.sleep(RETIRED_S)
        self._retired.remove(engine)
        self._growing.pop(engine).cancel()

    async def _let_go(self, engine: Engine) -> None:
        self._loaded.remove(engine)
        await engine.embedder.close()

    # --- the end ----------------------------------------------------------------------------------

    async def save(self) -> None:
        """Write the index files. They are copies: a failure is logged and costs a longer replay."""
        for engine in self._asked():
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
