"""Everything that the service reaches, wired by ``app``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol

from node.cache.recall import Recaller
from node.cache.refuted import Refuted
from node.cache.watch import Watch
from node.core.clock import Clock
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.model import Answer, Check, Json, Query
from node.core.ports import Adapter, AuditLog, Generator, RecordStore, Semantics, Tell
from node.core.record import AnswerRecord
from node.ipfs.mirror import Mirror
from node.pipeline.drafts import Drafts
from node.pipeline.through import PassThrough
from node.pipeline.under_way import Policy
from node.pipeline.understanding.understand import Understanding
from node.pipeline.walk import Pipeline
from node.store.hit_counts import UseTally
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.state import StateStore


class Refutes(Refuted, Protocol):
    """What was called invalid, by its meaning: ``node.cache.quality.refuted_answers``."""

    async def invalid(
        self, cid: Cid, record: AnswerRecord, *, asked: str | None, tenant: str, scope: str | None = None
    ) -> None: ...

    async def take_back(self, cid: str, *, scope: str) -> None: ...

    def invalid_draft(self, question: str, answer: str, *, scope: str, tenant: str) -> None: ...


class Agent(Protocol):
    """A model that chooses tools itself: ``node.agent``."""

    def listed(self) -> list[dict[str, Json]]:
        """Its tools, each with its JSON Schema."""
        ...

    async def answer(self, query: Query, tell: Tell | None = None) -> Answer:
        """As ``Pipeline.answer``; ``tell`` hears ``tool`` (``name``, ``arguments``) too."""
        ...


class Remembers(Protocol):
    """Memory of people and their organisation: ``node.app.remembering``."""

    def hear(self, query: Query, *, is_agent: bool) -> None:
        """A turn is over; what its user said may be kept, later."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """See the module."""

    clock: Clock
    pipeline: Pipeline
    understanding: Understanding
    recaller: Recaller
    rememberer: Rememberer
    records: RecordStore
    state: StateStore
    semantics: Semantics
    log: AuditLog
    adapters: Sequence[Adapter]
    generators: Sequence[Generator]
    probes: Sequence[Callable[[], Awaitable[Check]]]
    store_check: Callable[[], Awaitable[Check]]
    metrics: Metrics
    policy: Policy
    request_timeout_s: float
    floor_default: float
    zone: tzinfo
    watch: Watch
    eraser: Eraser
    drafts: Drafts[Any]
    refuted: Refutes
    count_tokens: Callable[[str], int]
    through: PassThrough | None = None
    uses: UseTally | None = None
    mirror: Mirror | None = None
    agent: Agent | None = None
    memory: Remembers | None = None
