"""The values that walk through the node. Frozen, typed, no I/O; stations return new ones.

Conventions: scores and similarities are floats in [0, 1] ([-1, 1] for cosine) in memory and
integers in millionths (ppm) on the wire; times are aware UTC datetimes; durations end in ``_s`` or
``_ms``; deadlines are monotonic seconds from ``Clock.monotonic``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, tzinfo
from enum import StrEnum
from typing import TypeAlias

import msgspec

from node.core.caller import Caller
from node.core.talk import Talk
from node.core.tools import Call

SlotValue: TypeAlias = str | int | bool | tuple[str, ...] | None
Slots: TypeAlias = Mapping[str, SlotValue]
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

PPM = 1_000_000


def ppm(score: float) -> int:
    """A score in [0, 1] as whole millionths, clamped: what records and log leaves hold."""
    return max(0, min(PPM, round(score * PPM)))


class Kind(StrEnum):
    """What kind of question a text is; the reply's ``route``."""

    STATEMENT = "statement"
    DETERMINISTIC = "deterministic"
    HISTORICAL = "historical"
    GENERATIVE = "generative"
    UNCLASSIFIED = "unclassified"


class Source(StrEnum):
    """The stations a route may try, in the order that its row of the route table gives."""

    ACKNOWLEDGE = "acknowledge"
    ADAPTER = "adapter"
    CACHE = "cache"
    STALE = "stale"
    DOCUMENTS = "documents"
    MODEL = "model"


class Freshness(StrEnum):
    """Classes of volatility; ``score.freshness`` gives each its lifetime."""

    COMPUTED = "computed"
    CLOCK = "clock"
    PRICE = "price"
    PAST_PRICE = "past_price"
    LIVE_SCORE = "live_score"
    FINAL_SCORE = "final_score"
    WEATHER_NOW = "weather_now"
    FORECAST = "forecast"
    NEWS = "news"
    CURRENCY = "currency"
    GOVERNANCE = "governance"
    DEFINITION = "definition"
    GENERAL = "general"
    TIME_SENSITIVE = "time_sensitive"
    MODEL_ALONE = "model_alone"


# --- arrive ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Query:
    """One question on its way.

    ``text`` is normalised; ``asked`` is what the caller sent. ``context`` is null for plain questions, else
    the hex SHA-256 that partitions the cache: for OpenAI-style calls, and for each text that was ``pasted``
    with the question.
    """

    id: str
    asked: str
    text: str
    caller: Caller
    received: datetime
    deadline: float
    session: str | None = None
    context: str | None = None
    max_age_s: int | None = None
    no_cache: bool = False
    no_store: bool = False
    ttl_s: int | None = None
    tags: tuple[str, ...] = ()
    zone: tzinfo = UTC
    pasted: str = ""
    talk: Talk | None = None
    only_cached: bool = False

    @property
    def local(self) -> datetime:
        """The moment of asking on the asker's own clock: what "today" and "tomorrow" are said of."""
        return self.received.astimezone(self.zone)


# --- understand -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recognition:
    """An adapter's claim that it can answer a text.

    ``key`` is the canonical slot key, e.g. ``price:bitcoin:usd``: equal keys mean that the same
    answer serves; None while something (``unresolved``) still has to be looked up by ``ask``.
    ``reason`` names the pattern in words. ``strength`` in (0, 1] orders rival claims and says what they mean:
    from ``CERTAIN`` every word of the text is accounted for, so it is the question whether or not it sounds
    like one; from ``CLAIM`` the topic is the adapter's, if the text asks at all; below, the adapter can add
    part of an answer as context. ``kind`` is the row of the route table that a claim leads to.
    ``about_node``: see ``Route``.
    """

    adapter: str
    slots: Slots
    key: str | None
    local: bool
    reason: str
    strength: float = 1.0
    unresolved: tuple[str, ...] = ()
    kind: Kind = Kind.DETERMINISTIC
    about_node: bool = False


CERTAIN = 0.9
CLAIM = 0.5


@dataclass(frozen=True, slots=True)
class Route:
    """Where a question goes, and why. ``floor`` is None where no similarity search is made."""

    kind: Kind
    sources: tuple[Source, ...]
    floor: float | None
    reason: str
    adapter: str | None = None
    slots: Slots = field(default_factory=dict)
    key: str | None = None
    unresolved: tuple[str, ...] = ()
    strength: float = 1.0
    """How strongly the adapter recognised the text: its relevance when results are weighed."""
    others: tuple[Recognition, ...] = ()
    """What further adapters recognised under the same key: asked too, so that figures can be compared."""
    sure: bool = False
    """Rules decided; otherwise a semantic classifier may."""
    time_sensitive: bool = False
    needs_history: bool = False
    """A follow-up that only the session's turns make a question: neither looked up nor stored."""
    about_node: bool = False
    """About the node, this asker and this moment: besides, it is no turn of the session."""

    def claim(self, adapter: str, *, local: bool) -> Recognition:
        """What the adapter of this route recognised, to ask it by."""
        return Recognition(
            adapter=adapter,
            slots=self.slots,
            key=self.key,
            local=local,
            reason=self.reason,
            strength=self.strength,
            unresolved=self.unresolved,
            kind=self.kind,
        )


# --- recall, ask, compose -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Client:
    """Who stored an answer through a door (``by``: the id of a key, or ``local``), and what it names as its
    source, which nobody has checked (``claim``)."""

    by: str
    claim: str | None = None

    @property
    def told(self) -> str:
        """As the name of a source, which no adapter and no document has."""
        return self.by if self.claim is None else f"{self.by} (claimed source: {self.claim})"


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where a text comes from. ``kind``: adapter, cache, documents, pasted, llm, extractive, fallback,
    statement, client. ``digest`` is the hex SHA-256 of what was read, of a model its digest, where there is
    one. ``client``: of what a client stored, who that was; its ``id`` is then what it calls itself."""

    kind: str
    id: str
    url: str | None = None
    time: datetime | None = None
    digest: str | None = None
    client: Client | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a source found: the uniform result of every adapter and document.

    ``text`` is a natural sentence a person can read as the whole answer, source and time included where live.
    ``confidence`` is the reliability of the source in [0, 1]; ``partial`` means context for a
    model rather than an answer; ``data`` holds the figures. ``key`` and ``slots`` are the fully resolved
    form of the route's, with which the record is stored.
    """

    text: str
    source: SourceRef
    confidence: float
    freshness: Freshness
    partial: bool = False
    data: Mapping[str, Json] = field(default_factory=dict)
    slots: Slots = field(default_factory=dict)
    key: str | None = None
    citations: tuple[Citation, ...] = ()
    about: str = ""
    """The question that a stored text was stored for: what it speaks of."""
    note: str = ""
    """What a reader should know of it: how its question differs from the one that is asked."""
    relevance: float | None = None
    """How near a stored text is to the question (``ports.Relevant``); None for all others."""
    cosine: float | None = None
    """The same by its vectors alone."""
    is_same: bool = False
    """Whether it was stored for the very question that is asked, by the gate's word."""
    lacks: str = ""
    """The weekday that the question names and this does not, though it names others; in the asker's words."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """Decimals by name that another source of the same key may state too (``bitcoin`` -> ``76975``)."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One source shown with an answer. ``locator`` says where in the source, ``snippet`` is cut. Of a
    document: the ``cid`` of its bytes, its ``status``, and in ``time`` when it was last modified."""

    source: str
    locator: str = ""
    snippet: str = ""
    url: str | None = None
    time: datetime | None = None
    cid: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two documents that say different things. ``kind``: supersedes, conflict_with, or values, which is read
    out of their words and only a suggestion. ``holds``: the one that holds since ``since``, None where
    nothing says which. ``said``: what each says, where it was found."""

    kind: str
    one: str
    other: str
    holds: str | None = None
    since: date | None = None
    said: tuple[str, str] = ("", "")

    @property
    def is_suggestion(self) -> bool:
        """Whether it was read out of the words, and may be wrong."""
        return self.kind == "values"


@dataclass(frozen=True, slots=True)
class InDocuments:
    """What an answer owes to documents. ``has_contradiction``: two of them that speak to the question are
    known to disagree, and nothing says which holds. ``orders``: documents with sentences that give orders to
    their reader, which were not followed. ``uncited``: figures of the answer that stand in none of them.
    ``used``: CIDs of all documents that it was made from, each with what held of it."""

    has_contradiction: bool = False
    disputes: tuple[Dispute, ...] = ()
    orders: tuple[str, ...] = ()
    uncited: tuple[str, ...] = ()
    used: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The source answered."""

    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Missed:
    """The source works and has nothing; ``reason`` in words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The source could not be asked; ``code`` is a short stable word for the log (``timeout``,
    ``rate_limited``, ``breaker_open``, ``bad_answer``, ``unreachable``, ``refused``)."""

    code: str
    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Unclear:
    """The source could answer if the asker said more. ``ask`` is the sentence to put to them, such as which
    place is meant; ``reason`` is for the trace."""

    ask: str
    reason: str


Outcome: TypeAlias = Found | Missed | Failed | Unclear


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of one limit of one outside source: ``remaining`` of ``limit`` calls in any ``window_s``;
    ``wait_s`` is the rest of a wait that the source asked for."""

    source: str
    limit: int
    window_s: float
    remaining: int
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator wrote, before it is judged.

    ``engine`` e.g. ``ollama``; ``model`` its id; ``model_digest`` hex SHA-256. A draft that is not
    ``complete`` ends with its last whole sentence or list line. ``think_blocks`` counts the thinking blocks
    taken out of it; ``looped``: it ran in circles and was cut there. ``token_logprobs``: the natural log
    probability of each generated token, at most 0; empty where the engine gives none."""

    text: str
    engine: str
    model: str
    model_digest: str | None = None
    complete: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    think_blocks: int = 0
    looped: bool = False
    token_logprobs: tuple[float, ...] = ()
    first_tokens: tuple[tuple[str, float], ...] = ()
    """The likeliest first tokens with their log probabilities, where the prompt wants them and the engine
    gives them."""
    calls: tuple[Call, ...] = ()
    """What it wants done before it answers, where the prompt offers tools; the text may then be empty."""


@dataclass(frozen=True, slots=True)
class Support:
    """How far the evidence offered holds an answer, sentence by sentence; all in [0, 1].

    ``words``: the mean over its sentences of the share of content words that the evidence holds;
    ``weakest``: the same of its weakest sentence; ``figures`` and ``names``: the share of its figures and
    names that evidence or question give, 1 where it has none; ``question``: the share of the question's
    content words that the evidence used holds; ``cited``: it cites, and what it cites holds its words;
    ``compares``: the question gives a figure that the evidence lacks ("my boat is 8 metres"), asks how much
    more one thing is than another or what several come to, so that something had to be computed; ``answers``:
    how probable it is, by the packaged reader of notes, that the answer says what was asked for, None where
    that did not read it."""

    words: float
    weakest: float
    figures: float
    names: float
    question: float
    cited: bool
    compares: bool = False
    answers: float | None = None


@dataclass(frozen=True, slots=True)
class Confidence:
    """The judged confidence and its parts in [0, 1]; a part that does not apply is absent. ``value`` is the
    parts' weighted mean, and for a model's answer the calibrated probability that it is right. ``found``: how
    sure it is that the right evidence was found; ``support``: how far the evidence supports the answer; None
    where no evidence stood beside a model's answer."""

    value: float
    parts: Mapping[str, float]
    found: float | None = None
    support: float | None = None


@dataclass(frozen=True, slots=True)
class HitInfo:
    """How a stored answer was matched. ``kind``: exact, slot, semantic, or read (``pipeline.walk``);
    ``similarity`` is 1.0 for exact, None for slot; ``score`` = similarity x confidence, of what was read the
    probability that it answers x confidence."""

    kind: str
    similarity: float | None
    score: float
    threshold: float | None
    p_correct: float | None
    age_s: int
    origin: str
    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the trace: which station, what came of it, why (in words), how long. ``code`` is the
    reason as a stable word: all of it that the decision log may hold, for words may quote the question."""

    stage: str
    outcome: str
    reason: str = ""
    ms: float = 0.0
    code: str = ""


class DecisionRef(msgspec.Struct, frozen=True, gc=False):
    """Names a leaf of the decision log."""

    log: str
    index: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a model read and wrote for this answer."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back to the caller."""

    query: Query
    text: str
    route: Route
    source: SourceRef
    confidence: Confidence
    freshness: Freshness
    citations: tuple[Citation, ...] = ()
    cid: str | None = None
    stored: bool = False
    hit: HitInfo | None = None
    parts: tuple[Answer, ...] = ()
    stale: bool = False
    draft: bool = False
    """What a model said to these very words within the last hour, which was not sure enough to be stored."""
    unverified: bool = False
    """A model said it and no evidence that this node has supports it."""
    store_reason: str | None = None
    """Why it is not stored, in words; None where it is."""
    decision: DecisionRef | None = None
    trace: tuple[Step, ...] = ()
    usage: Usage = Usage()
    retry_after_s: int | None = None
    """No language model had time for it: when it is worth asking again."""
    documents: InDocuments | None = None
    """Where it was made from documents, or looked for in them in vain."""


@dataclass(frozen=True, slots=True)
class Check:
    """One health fact. ``status``: pass, warn, fail. ``output`` says what it disables and what to do."""

    name: str
    status: str
    output: str = ""
    since: datetime | None = None
    observed: float | str | None = None
    unit: str | None = None
