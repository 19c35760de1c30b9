"""What the node replies, as values named as in docs/http-api.md. ``raw`` is the whole reply, with whatever
later versions add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer comes from. ``client``: of what a client stored, ``by`` and ``claim``."""

    kind: str
    id: str
    client: Json | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """``locator`` says where in the source, ``snippet`` is cut."""

    source: str
    locator: str = ""
    snippet: str = ""
    url: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """How a stored answer was found. ``kind``: exact, slot, semantic or read; ``similarity`` is None for a
    slot."""

    kind: str
    similarity: float | None
    score: float
    age_s: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a decision stands in the node's log. ``receipt`` proves it, where that was asked for."""

    log: str
    index: int
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a question. ``confidence``: the probability that it is right; ``stale``: out of date, and
    said so; ``unverified``: a model said it, and nothing that the node knows supports it."""

    answer: str
    confidence: float
    source: Source
    route: str
    request_id: str
    cid: str | None
    stored: bool
    hit: Hit | None
    stale: bool
    citations: tuple[Citation, ...]
    decision: Decision | None
    unverified: bool = False
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Event:
    """What goes on while an answer is made: ``route``, ``wait``, ``delta`` (``text`` to show), ``reset``
    (what was shown is void), and last ``done`` with the answer."""

    name: str
    facts: Json
    answer: Answer | None = None

    @property
    def text(self) -> str:
        return str(self.facts.get("text", "")) if self.name == "delta" else ""


@dataclass(frozen=True, slots=True)
class Found:
    """What the cache holds: ``answer`` is None on a miss, and ``reason`` says why."""

    answer: str | None
    cid: str | None
    confidence: float | None
    source: Source | None
    hit: Hit | None
    reason: str
    decision: Decision | None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of an entry: its record, who may see it, whose word it is; ``reason`` where the scope is
    not the one that was asked for."""

    cid: str
    scope: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a verdict came to: whether the answer is still served, and the record of the correction."""

    cid: str | None
    verdict: str
    served: bool
    correction: str | None


@dataclass(frozen=True, slots=True)
class Health:
    """``status``: pass, warn (something is missing, and the node goes on without it) or fail."""

    status: str
    checks: Json = field(repr=False)


_WITHIN: Mapping[str, type] = {"source": Source, "hit": Hit, "decision": Decision, "citations": Citation}
"""Members that are values themselves, or lists of them."""


def made(kind: type[T], reply: Json) -> T:
    """The value of a reply. Raises ``KeyError`` and ``TypeError`` for one that is something else."""
    given: dict[str, Any] = {}
    for one in fields(kind):  # type: ignore[arg-type]  # each kind is a dataclass
        if one.name == "raw":
            given["raw"] = reply
        elif one.name in reply or one.default is MISSING:
            given[one.name] = _inner(_WITHIN.get(one.name), reply[one.name])
    return kind(**given)


def _inner(kind: type | None, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value if kind is None else (made(kind, one) for one in value))
    return made(kind, value) if kind is not None and isinstance(value, Mapping) else value
