"""What comes in through a door, and what goes out of it again, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo

from node.cache.watch import Facts
from node.core.caller import Caller
from node.core.ipld.cid import Cid
from node.core.model import DecisionRef
from node.core.ports import Alias, SemanticFacts
from node.core.talk import Talk


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as it came through a door, not yet a query."""

    text: str
    caller: Caller
    session: str | None = None
    context: str | None = None
    max_age_s: int | None = None
    no_cache: bool = False
    no_store: bool = False
    ttl_s: int | None = None
    tags: tuple[str, ...] = ()
    zone: tzinfo | None = None
    """The asker's time zone; None: the node's own (setting ``time_zone``)."""
    talk: Talk | None = None
    agent: bool = False
    """A model chooses tools for it."""
    only_cached: bool = False
    """Nobody is asked: what is not in the cache has no answer (``not_cached``)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer that a client wants stored."""

    query: str
    answer: str
    caller: Caller
    confidence: float = 0.85
    ttl_s: int | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    scope: str | None = None
    replace: bool = False
    """It is to take the place of what says otherwise, if the caller may replace that."""
    corrects: Cid | None = None
    """The withdrawn record whose place it takes."""
    context: str | None = None
    """See ``Query.context``."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a client's entry: its CID, the scope that it really has, whose word it is, and until
    when it answers (RFC 3339, None: until superseded). ``ends``: why so soon, where the wording of the
    question shortens its time."""

    cid: str
    scope: str
    reason: str
    by: str
    expires: str | None = None
    ends: str = ""


@dataclass(frozen=True, slots=True)
class Invalidation:
    """Which stored answers are to go: fields are combined with "and". ``like`` extends ``query`` to other
    wordings with the same keyword key."""

    cid: str | None = None
    query: str | None = None
    like: bool = False
    source: str | None = None
    older_than_s: int | None = None
    tag: str | None = None
    scope: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Merged:
    """The records that were merged into one, and what it was itself merged into."""

    aliases: tuple[Alias, ...]
    into: Cid | None


@dataclass(frozen=True, slots=True)
class Said:
    """What a caller says of an answer, by its record (``cid``) or its request; ``correction`` is what is
    right."""

    caller: Caller
    verdict: str
    cid: str | None = None
    request_id: str | None = None
    note: str | None = None
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A validation as stored: the target's counts afterwards, and whether it is still served. A draft has no
    record (``cid``) and gets no validation. ``correction`` is the CID of the person's entry that takes its
    place."""

    cid: str | None
    verdict: str
    validation: str | None
    valid: int
    invalid: int
    served: bool
    decision: DecisionRef | None
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The cache in figures. ``counts`` are the store's; ``saved_s`` is what the answers from the cache would
    have taken on the average of those that were made, less what they took; None before the first was made.
    ``evicted`` since the start."""

    counts: Mapping[str, int]
    semantic: SemanticFacts
    facts: Facts
    served: int
    made: int
    saved_s: float | None
    evicted: int
