"""What the node needs from the outside, one Protocol each. The docstring is the contract, and
``tests/contracts`` runs it over every implementation, the in-memory one included.

For all: methods may be called concurrently from one event loop; cancelling a call leaves the object usable;
foreign exceptions never escape (``node.core.errors`` only); ``close`` is idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from node.core.ipld.cid import Cid
from node.core.model import Budget, Check, Draft, Evidence, Json, Outcome, Query, Recognition, Slots
from node.core.record import Record

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


Tell = Callable[[str, Mapping[str, Json]], None]
"""Hears what goes on while an answer is made, an event's name and its facts: ``wait`` (``engine``, ``ahead``,
``wait_s``), ``delta`` (``text`` to show), ``reset`` (what was shown is void). It is quick, never raises."""
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


# --- blocks and records ---------------------------------------------------------------------------


class BlockStore(Protocol):
    """Immutable bytes by CID, found by multihash."""

    async def put(self, cid: Cid, data: bytes) -> None:
        """Durable on return; idempotent. Raises ``Rejected`` if ``data`` does not hash to ``cid``,
        ``Unavailable`` when it cannot be written."""
        ...

    async def get(self, cid: Cid) -> bytes:
        """The bytes; their hash has been checked. Raises ``NotFound``, ``CorruptState``."""
        ...

    async def has(self, cid: Cid) -> bool: ...

    async def delete(self, cid: Cid) -> None:
        """Idempotent."""
        ...

    async def close(self) -> None: ...


class PublicBlocks(Protocol):
    """What anybody may have: blocks of public records, of the logs, of the head, and imported ones."""

    async def get(self, cid: Cid) -> bytes:
        """The block's bytes, by multihash. Raises ``NotFound`` for what is absent and for what is not public,
        without a difference; ``Unavailable``."""

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        """Some of these blocks, those in front first, until they have ``bytes_max`` or more. What is left out
        says nothing: ``get`` does. Raises ``Unavailable``."""

    async def has(self, cid: Cid) -> bool: ...


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record in the store. ``sequence`` grows with every write and never repeats: the index's
    watermark. ``state``: live, withdrawn (invalidated, tombstoned or superseded). ``origin`` is
    ``local`` or the issuer's id. ``kept`` holds unknown keys of an imported index entry."""

    sequence: int
    cid: Cid
    record: Record
    state: str = "live"
    origin: str = "local"
    valid: int = 0
    invalid: int = 0
    kept: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A record's block and who may see it. ``number``: the record's sequence, or a change number.
    ``gave_way``: of a withdrawn one, that it merely expired or was deleted while live, for room."""

    number: int
    cid: Cid
    scope: str
    gave_way: bool = False


@dataclass(frozen=True, slots=True)
class BlockChanges:
    """What a copy of the blocks has to follow, each in order of its numbers: apply ``withdrawn`` first."""

    withdrawn: tuple[BlockRef, ...]
    written: tuple[BlockRef, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A record was served ``hits`` times, last at ``at_s`` (whole seconds since 1970)."""

    cid: Cid
    hits: int
    at_s: int


@dataclass(frozen=True, slots=True)
class Alias:
    """A record that was merged into another and from then on answers under its wording. ``query`` is None
    once its block was reclaimed."""

    cid: Cid
    query_hash: str
    query: str | None
    source_kind: str
    source_id: str
    timestamp: datetime
    origin: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which live answers are meant; fields are combined with "and", at least one is given.

    ``query_hash`` is the exact question, ``keyword_key`` also its other wordings (aliases lead to their
    survivors); ``before``: written before that time; ``scopes``: any of these; ``source`` is a kind or an id.
    """

    cid: Cid | None = None
    query_hash: str | None = None
    keyword_key: str | None = None
    source: str | None = None
    before: datetime | None = None
    tag: str | None = None
    scopes: tuple[str, ...] | None = None


class RecordStore(Protocol):
    """Records with what is needed to find them. Block and row commit together."""

    async def add(
        self,
        record: Record,
        *,
        origin: str = "local",
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        """Store a signed record. Durable on return; idempotent by CID; withdraws ``supersede``
        in the same commit. A validation counts on its target and a verdict ``invalid`` by this node's own
        key withdraws it; a tombstone withdraws its target, now or whenever it arrives later.

        ``cost_us``: what the answer took to make, in microseconds; None: a default by kind of source.
        ``merge``: live answers that say the same as this one; they are withdrawn and become its aliases.
        ``into``: a live answer that says the same; this record is stored withdrawn and becomes its alias
        (if that one is no longer live, this record is stored as usual). Whoever calls has found the
        questions to be the same; that scope, context, embedding model, slot key, kind of source and answer
        agree is checked here.
        A new live record of ours takes over the wording of an alias with its very question. Uses and aliases
        of a superseded record with the same question and answer pass on to the new one.
        Raises ``Rejected``, ``Unavailable``."""
        ...

    async def get(self, cid: Cid) -> StoredRecord:
        """Whatever its state. Raises ``NotFound``, ``CorruptState``."""
        ...

    async def find(
        self,
        column: str,
        key: str,
        *,
        scopes: Sequence[str],
        context: str | None,
        limit: int = 8,
    ) -> list[StoredRecord]:
        """Live answer records, newest first, by ``column``: ``query_hash``, ``slot_key`` or ``keyword_key``.
        An alias's query hash and keyword key find its survivor. Expired ones are included: whoever serves
        decides."""
        ...

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        """Those of ``cids`` that are live answer records at this moment."""
        ...

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        """Live answer records written after ``sequence``, in order: what an index replays."""
        ...

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        """(change number, CID) of records withdrawn or removed after change number ``change``."""
        ...

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        """What a copy of the blocks that has followed up to both numbers lacks: live records of every kind
        written after ``sequence``, and records withdrawn or removed after ``change``, at most ``limit`` of
        each, in order, as of one moment. Records that ended before they were copied are only withdrawn."""
        ...

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        """Stop serving a record; True if it was live. The block stays."""
        ...

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        """Withdraw live answer records whose ``expires`` lies more than ``grace_s`` before ``now``;
        return them."""
        ...

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        """Delete the blocks of up to ``limit`` answer records that are worth least: withdrawn and merged ones
        first, then those expired at ``now``, then live ones by value (cost x decayed uses per byte), less
        sure and older first among equals. Return them all; the live ones are withdrawn. An alias outlives
        its own block, not its survivor's."""
        ...

    async def note_uses(self, uses: Sequence[Use]) -> None:
        """Count servings of live answers, in one commit. Others are passed over. Raises ``Rejected`` for
        more than 10,000 at once, ``Unavailable``."""
        ...

    async def aliases(self, cid: Cid) -> list[Alias]:
        """What was merged into this record, oldest first."""
        ...

    async def survivor(self, cid: Cid) -> Cid | None:
        """The record that this one was merged into, if it was."""
        ...

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        """Live answer records that fit every field given, written after sequence ``after``, in order.
        Raises ``Rejected`` for a selection without a field."""
        ...

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        """What an index of the public answers lists: for each query hash with ``first`` <= hash < ``last``
        (lower-case hex; an empty ``last`` sets no end) the newest live answer of scope public without a
        context, whether expired or not, ordered by hash. Aliases are not looked at."""
        ...

    async def newest(self, *, scopes: Sequence[str], limit: int = 100) -> list[StoredRecord]:
        """Live answer records of these scopes, the last written first, whether expired or not."""
        ...

    async def tally(
        self, *, scopes: Sequence[str], since: datetime | None = None, before: datetime | None = None
    ) -> int:
        """How many live answer records of these scopes were made at or after ``since`` and before
        ``before``."""
        ...

    async def counts(self) -> dict[str, int]:
        """``records``, ``live``, ``blocks``, ``bytes``, ``last_sequence``."""
        ...

    async def close(self) -> None: ...


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


class Forgets(Protocol):
    """What keeps something of a record and is told when the record is no longer served."""

    def remove(self, cid: Cid) -> bool:
        """Forget what is kept of it; True if there was anything."""
        ...


@dataclass(frozen=True, slots=True)
class SemanticFacts:
    """For metrics: vectors that can be found, their length, and how many of the records that needed a new
    vector (another model, or an engine that was away) have got it since the start. 0 where nothing serves."""

    vectors: int
    dim: int
    done: int
    total: int


class Semantics(Forgets, Protocol):
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


class Retriever(Protocol):
    """What is stored and worth reading for a question."""

    async def retrieve(
        self, question: str, embedded: Embedded | None, *, scopes: Sequence[str], context: str | None, k: int
    ) -> list[Relevant]:
        """At most ``k`` live entries of these scopes and this context that are relevant enough, most relevant
        first; none rather than something that is beside the question. ``embedded``: the question's vector,
        None where there is no embedder: keywords alone then decide. What a model alone said is never among
        them. Raises ``Unavailable``, ``CorruptState``."""
        ...


# --- the log --------------------------------------------------------------------------------------


class NoteReader(Protocol):
    """Says of stored notes whether they hold the answer to a question."""

    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        """The log odds that each note does, in their order. Raises ``Unavailable``."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an entry stands: the log's origin and the entry's index, from 0."""

    log: str
    index: int


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

    async def receipt(self, index: int, *, timeout_s: float, log: str | None = None) -> bytes | None:
        """What proves entry ``index`` of the log with origin ``log`` (None: the one that is written now) to
        anybody who has the log's key: tlog-proof text, the leaf's bytes in its ``extra`` line. Waits up to
        ``timeout_s`` for a checkpoint that covers the entry, never for witnesses. None when there is none in
        time, or where the log is not published at all. Raises ``NotFound`` (no such entry),
        ``Unavailable``."""
        ...

    def on_critical(self, callback: Callable[[Appended], None]) -> None:
        """Call ``callback`` on the event loop when a critical entry has come under a checkpoint. It must be
        quick and must not raise."""
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


__all__ = [
    "Adapter",
    "Alias",
    "Appended",
    "AuditLog",
    "BlockChanges",
    "BlockRef",
    "BlockStore",
    "Embedded",
    "Embedder",
    "EmbedderInfo",
    "Evidence",
    "Forgets",
    "Generator",
    "Neighbour",
    "OnText",
    "Prompt",
    "RecordStore",
    "Selection",
    "SemanticFacts",
    "Semantics",
    "Slots",
    "StoredRecord",
    "Tell",
    "Use",
    "Vector",
    "VectorIndex",
]
