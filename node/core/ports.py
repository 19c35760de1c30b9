"""What the node needs from the outside, one Protocol each; those of the stores are in ``stores`` and may be
had from here too. The docstring is the contract, and ``tests/contracts`` runs it over every implementation,
the in-memory one included.

For all: methods may be called concurrently from one event loop; cancelling a call leaves the object usable;
foreign exceptions never escape (``node.core.errors`` only); ``close`` is idempotent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from node.core.ipld.cid import Cid
from node.core.model import Budget, Check, Draft, Json, Outcome, Query, Recognition
from node.core.stores import Alias as Alias
from node.core.stores import BlockChanges as BlockChanges
from node.core.stores import BlockRef as BlockRef
from node.core.stores import BlockStore as BlockStore
from node.core.stores import Gets as Gets
from node.core.stores import RecordStore as RecordStore
from node.core.stores import Selection as Selection
from node.core.stores import StoredRecord as StoredRecord
from node.core.stores import Use as Use
from node.core.tools import Called, Offered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
else:
    # The node starts without numpy too (semantic look-up is then off), so ports may not need it.
    Vector = object

# --- engines --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """``model`` is the id stored with every vector, ``digest`` the hex SHA-256 of the weights,
    ``tokens_max`` the window: a longer text is not embeddable and is cached by exact match only."""

    model: str
    digest: str
    dim: int
    tokens_max: int


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A vector and the model that made it. They travel together from the moment the vector is made, so that
    it is compared with, and stored as, vectors of that model only."""

    vector: Vector
    info: EmbedderInfo


class Embedder(Protocol):
    """Text to unit vector. One per index: vectors of different models never meet."""

    @property
    def info(self) -> EmbedderInfo: ...

    @property
    def sample(self) -> Vector | None:
        """Its vector of one fixed sentence, for an engine whose ``info.digest`` is not made from the weights
        and so cannot tell that the model behind a name was exchanged; None for all others."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One float32 unit vector of shape (dim,) per text, in order; None for a text longer than
        the window. Deterministic. Raises ``Unavailable``. Never returns a zero, constant or
        non-finite vector: such output raises ``Unavailable`` too."""
        ...

    def health(self) -> Check:
        """Without I/O: what is known now."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a generator reads. ``system`` instructs; ``user`` holds the question and the marked evidence.
    ``continuation`` is the same for a base model, which knows no turns: examples and the beginning of the
    next, to be continued on one line; empty where there is no such form. ``temperature`` 0 asks for the
    likeliest answer; with more of it another ``seed`` gives another sample. ``turns``: (asked, answered)
    before ``user``, as the chat's own messages; a base model finds them in ``continuation``."""

    system: str
    user: str
    tokens_max: int = 200
    stop: tuple[str, ...] = ()
    continuation: str = ""
    temperature: float = 0.0
    seed: int = 0
    alternatives: int = 0
    """So many of the likeliest first tokens are wanted with the draft (``Draft.first_tokens``)."""
    turns: tuple[tuple[str, str], ...] = ()
    schema: str = ""
    """A JSON Schema, as text, that the answer has to fit: an engine that can hold to it does."""
    tools: tuple[Offered, ...] = ()
    """What may be called (``Draft.calls``), by an engine whose model knows how; all others take ``plain``."""
    called: tuple[Called, ...] = ()
    """What was called in this turn already, after ``user``."""
    plain: Prompt | None = None
    """The same in words and a schema, for an engine or a model without calls."""


Tell = Callable[[str, Mapping[str, Json]], None]
"""Hears what goes on while an answer is made, an event's name and its facts: ``wait`` (``engine``, ``ahead``,
``wait_s``), ``step`` (a station of the walk as it happens: ``stage``, ``outcome``, ``reason``, ``ms``),
``delta`` (``text`` to show), ``reset`` (what was shown is void). It is quick, never raises."""
OnText = Callable[[str], None]
"""Takes a piece of an answer as the engine says it: raw, as it comes. It is quick and never raises."""


class Generator(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """``ollama``, ``extractive`` …"""
        ...

    @property
    def slots(self) -> int:
        """How many completions it works on at once; more wait for their turn. May change."""
        ...

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """One completion at the prompt's temperature, think-tags stripped, an unfinished end cut back.
        ``on_text`` hears the answer while it is made. Raises ``Unavailable`` (not there), ``BrokeOff`` (it
        ended meanwhile), ``TimedOut``, ``Rejected`` (an empty or unusable answer). Cancelling ends the work
        at the engine within a moment and frees its slot. The message is a clause that tells a person what
        failed and, where something can be done, what to do."""
        ...

    async def probe(self) -> Check:
        """Ask the engine whether it lives, within a second or so; never raises. Updates nothing else."""
        ...

    async def close(self) -> None: ...


class Adapter(Protocol):
    """A source of precise answers. Adding one edits no other file than ``adapters.registry``."""

    @property
    def name(self) -> str: ...

    @property
    def is_local(self) -> bool:
        """True when ``ask`` computes here and reaches nothing outside."""
        ...

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """The adapter's own patterns and slot grammar. Pure, total, bounded (a millisecond or so on
        any text of 64 KiB), case-insensitive where that is safe. None when the text is not for it.

        ``now`` is on the asker's clock: its date is their today. ``hinted``: something else (the semantic
        classifier) already found that the text is on this adapter's topic; only its traps and slots are
        looked at then, not its patterns."""
        ...

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """The self-contained question that ``fragment`` ("and ETH?", "tomorrow?") asks after the question
        ``earlier``, in words that ``recognise`` claims with certainty; None when ``earlier`` is not this
        adapter's or the fragment does not fill one of its slots beyond doubt. Pure, total, bounded."""
        ...

    def warm(self) -> None:
        """Load what is slow to load. Blocks; called once at start, in a thread."""
        ...

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """Answer within ``query.deadline``; never raises anything but ``CancelledError``."""
        ...

    def health(self) -> Check:
        """Without I/O."""
        ...

    def budgets(self) -> Sequence[Budget]:
        """What is left of each limit of the sources behind it; empty for one that reaches nothing outside.
        Without I/O."""
        ...

    async def close(self) -> None: ...


# --- finding records ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A stored vector near the query's. ``similarity`` is the cosine in [-1, 1]."""

    cid: Cid
    similarity: float


class VectorIndex(Protocol):
    """Nearest stored vectors of one embedding model; never the truth, always rebuildable.
    Partitioned hard by (scope, context)."""

    def add(self, cid: Cid, vector: Vector, *, scope: str, context: str | None) -> None:
        """Idempotent by CID. Raises ``Rejected`` on a wrong dimension or a degenerate vector."""
        ...

    def remove(self, cid: Cid) -> bool: ...

    def search(
        self, vector: Vector, *, scopes: Sequence[str], context: str | None, k: int
    ) -> list[Neighbour]:
        """The k most similar in those partitions, best first; ties by CID. Safe in a thread while the event
        loop adds and removes. Raises ``Rejected``."""
        ...

    @property
    def is_quick(self) -> bool:
        """Whether a search now costs the event loop no more than handing it to a thread."""
        ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SemanticFacts:
    """For metrics: vectors that can be found, their length, and how many of the records that needed a new
    vector (another model, or an engine that was away) have got it since the start. 0 where nothing serves."""

    vectors: int
    dim: int
    done: int
    total: int


class Semantics(Protocol):
    """The embedder that serves now and the index of each model that is in memory. Either may change between
    two calls, which is why vectors carry their model."""

    @property
    def info(self) -> EmbedderInfo:
        """The model that serves now; ``dim`` is 0 while none does, and then ``embed`` need not be tried."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        """One result per text, in order, all of one model; None for a text longer than the window. Bounded in
        time. Raises ``Unavailable``: no engine, or one that failed or answered with another model."""
        ...

    def index(self, info: EmbedderInfo) -> VectorIndex | None:
        """The index that holds vectors of this model and length, if it is (still) in memory."""
        ...

    def remove(self, cid: Cid) -> bool:
        """Forget what is kept of a record that is no longer served; True if there was anything."""
        ...

    def keep(self, stored: StoredRecord, embedded: Embedded | None) -> None:
        """A record was stored, with this vector or without: make it findable, now or later. Never raises."""
        ...

    async def probe(self) -> None:
        """Find out whether the engine lives, unless that is known from a moment ago; about a second at most.
        Never raises; ``health`` tells the result."""
        ...

    def health(self) -> Sequence[Check]:
        """``embedder`` and ``semantic``, and ``reembedding`` while vectors are made anew. Without I/O."""
        ...

    def facts(self) -> SemanticFacts: ...


@dataclass(frozen=True, slots=True)
class Relevant:
    """A stored entry that is about what is asked; whether it answers is not said. ``relevance`` orders them;
    ``cosine`` in [-1, 1] to the nearer of its question and its answer (at most that, where words found it
    and its vectors are not among the nearest), None without an embedder;
    ``coverage`` in [0, 1]: the part of the question's words, by their rarity, that stand in it."""

    stored: StoredRecord
    relevance: float
    cosine: float | None
    coverage: float


class NoteReader(Protocol):
    """Says of stored notes whether they hold the answer to a question."""

    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        """The log odds that each note does, in their order. Raises ``Unavailable``."""
        ...

    async def close(self) -> None: ...


# --- the log --------------------------------------------------------------------------------------


class Appended(msgspec.Struct, frozen=True, gc=False):
    """Where an entry stands: the log's origin and the entry's index, from 0."""

    log: str
    index: int


class Sealed(msgspec.Struct, frozen=True):
    """An entry's canonical bytes with its commitments in it, the fresh key they were made with (None: there
    are none), and the CIDs of the records that it is about. ``at``: when it was decided; None: now.
    ``subject``: the CID of the record that it commits to as stored or withdrawn, else empty."""

    entry: bytes
    key: bytes | None
    about: tuple[str, ...]
    at: datetime | None = None
    subject: str = ""


class AuditLog(Protocol):
    """Append-only decisions. Entries hold commitments, never question or answer text.

    Some entries are critical (a key, a tombstone, a quarantine, a validation, a change of the rules): they
    are published at once, without keeping whoever appended them. The log knows them by their kind."""

    @property
    def origin(self) -> str:
        """The name of the log that is written now, as in ``Appended.log``."""
        ...

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        """Durable on return (or within the configured delay). ``entry`` holds integers, ASCII text,
        lists and maps; each of ``private_texts`` enters as ``HMAC-SHA-256`` under one fresh random key
        of this entry, which can be destroyed. Raises ``Rejected`` (a float, an over-long entry),
        ``Unavailable``."""
        ...

    def begin(self, what: Sealed) -> Appended | Awaitable[Appended]:
        """``append`` without the wait, for an entry that was sealed before and is neither critical nor about
        an erasure: where it stands, or what that will come from."""
        ...

    async def receipt(self, index: int, *, timeout_s: float, log: str | None = None) -> bytes | None:
        """What proves entry ``index`` of the log with origin ``log`` (None: the one that is written now) to
        anybody who has the log's key: tlog-proof text, the leaf's bytes in its ``extra`` line. Waits up to
        ``timeout_s`` for a checkpoint that covers the entry, never for witnesses. None when there is none in
        time, or where the log is not published at all. Raises ``NotFound`` (no such entry),
        ``Unavailable``."""
        ...

    async def forget(self, index: int) -> bool:
        """Destroy the commitment key of an entry; True if there was one. Raises ``Unavailable``."""
        ...

    async def forget_record(self, cid: str) -> int:
        """Destroy the commitment keys of the entries about a record, so that they say nothing of it any
        more; how many. Raises ``Unavailable``."""
        ...

    async def renew_signers(self) -> None:
        """The log's key has changed: checkpoints are signed by what signs now, the next one at once. Raises
        ``Unavailable``; the change then shows with the next checkpoint that can be written."""
        ...

    def size(self) -> int:
        """Entries that have been acknowledged in the log that is written now."""
        ...

    def health(self) -> Check: ...

    async def close(self) -> None: ...
