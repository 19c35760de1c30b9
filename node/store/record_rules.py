"""What every record store does alike, without I/O: check a record on its way in, say whose word withdraws.

Rules:
1. A record enters only as the bytes that strict decoding accepts, signature included; what is kept is
   what those bytes say.
2. Our own word is a record of our issuer that our own code brought in (``origin`` local). A record that
   merely claims our issuer is a stranger's: ``issuer`` is text until the peers room has checked the
   certificate of ``key``.
3. A tombstone withdraws its target when it is our own word or comes from the target's issuer; nobody
   else can take a record from anybody.
4. A verdict ``invalid`` withdraws its target when it is our own word and was given for everybody here (no
   ``VOICE`` beside it). Verdicts are counted once per voice, the latest: of our own the operator's and each
   tenant's, of others one per issuer. Of a private record there is one voice here, for one tenant reads it.
5. Withdrawn is for good: an equal record that arrives again stays withdrawn.
6. Two answers merge only within one scope, context, embedding model, slot key and kind of source, both our
   own or both of one origin, and only if they say the same. The survivor answers for the other's wording.
   A verdict ``invalid`` of ours on a merged record withdraws its survivor too, for that is what is served; a
   tombstone takes only its wording away.
7. Value of a record = cost x uses / bytes. ``uses`` is an exponentially decayed counter that starts at 1 when
   the record is written and halves every ``HALF_LIFE_S``: after ``n`` servings at time t it is
   ``uses * 2 ** (-(t - used) / HALF_LIFE_S) + n``. All records decay alike, so their order does not depend on
   the moment: ``worth`` = log2(cost * uses / bytes) + used / HALF_LIFE_S is stored and compared.
8. A private record that was superseded or has expired is deleted with the key that opens it, though it could
   explain older decisions; one of another scope keeps its block until room is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.model import Json, SourceRef
from node.core.normalise import normalise
from node.core.ports import Selection, Use
from node.core.record import QUERY_CHARS_MAX, AnswerRecord, Record, block_of, decode

LOCAL = "local"
VOICE = "voice"
"""Key beside a verdict of ours (``StoredRecord.kept``): the tenant whom it holds for; absent: everybody."""
OPEN_SCOPES = (SCOPE_SHARED, SCOPE_PUBLIC)
"""What everybody here may see."""
LIVE = "live"
WITHDRAWN = "withdrawn"
FIND_COLUMNS = ("query_hash", "slot_key", "keyword_key")
LIMIT_MAX = 10_000
SCOPES_MAX = 64
KEPT_BYTES_MAX = 256 * 1024
_ORIGIN_CHARS_MAX = 256

HALF_LIFE_S = 7 * 86_400
"""Of what was used: a week without a question costs a record half of its value."""
ALIASES_MAX = 64
"""Wordings that one survivor answers for; the oldest give way."""
COST_US: Mapping[str, int] = {
    "llm": 3_000_000,
    "client": 1_000_000,
    "documents": 500_000,
    "adapter": 300_000,
    "extractive": 100_000,
}
"""What an answer is taken to have cost whose making nobody timed, by kind of source: a small model on a CPU,
a model or service behind somebody's client, a search in documents, one call outside."""
COST_DEFAULT_US = 200_000
COST_MAX_US = 3_600_000_000
_HITS_MAX = 10**9
_SECONDS_MAX = 2**40
_USES_CAP = 1e12


@dataclass(frozen=True, slots=True)
class Checked:
    """A record that may be stored: ``record`` is what ``data`` decodes to."""

    cid: Cid
    data: bytes
    record: Record
    origin: str
    keyword_key: str | None
    kept: bytes | None
    cost_us: int | None = None
    """None: nobody timed it."""

    @property
    def voice(self) -> str:
        """Rule 4: the tenant whom a verdict of ours holds for; empty: everybody."""
        if self.kept is None or is_private(self.record.scope):
            return ""
        return str(orjson.loads(self.kept).get(VOICE, ""))

    @property
    def value(self) -> Value:
        """What it is worth at birth; only an answer is worth anything."""
        kind = self.record.source.kind if isinstance(self.record, AnswerRecord) else ""
        cost_us = default_cost_us(kind) if self.cost_us is None else self.cost_us
        return Value(cost_us, 1.0, int(self.record.timestamp.timestamp()), len(self.data))


@dataclass(frozen=True, slots=True)
class Value:
    """Rule 7. ``uses`` as of ``used_s``, seconds since 1970."""

    cost_us: int
    uses: float
    used_s: int
    size: int

    @property
    def worth(self) -> float:
        """Comparable between records at any moment; greater is worth more."""
        return math.log2(self.cost_us * self.uses / self.size) + self.used_s / HALF_LIFE_S

    def used(self, uses: float, at_s: int) -> Value:
        """With ``uses`` more, as of ``at_s``; the order in which they are told does not matter but for
        rounding."""
        if at_s >= self.used_s:
            total, at = self.uses * 2 ** ((self.used_s - at_s) / HALF_LIFE_S) + uses, at_s
        else:
            total, at = self.uses + uses * 2 ** ((at_s - self.used_s) / HALF_LIFE_S), self.used_s
        return Value(self.cost_us, max(1e-12, min(total, _USES_CAP)), at, self.size)

    def following(self, other: Value, *, timed: bool) -> Value:
        """Of the record that takes the place of one of value ``other``; ``timed``: its own cost is known."""
        cost_us = self.cost_us if timed else other.cost_us
        return Value(cost_us, self.uses, self.used_s, self.size).used(other.uses, other.used_s)


def default_cost_us(source_kind: str) -> int:
    """What an answer of this kind is taken to cost."""
    return COST_US.get(source_kind, COST_DEFAULT_US)


def check(
    record: Record,
    *,
    origin: str,
    keyword_key: str | None,
    kept: Mapping[str, Json] | None,
    cost_us: int | None = None,
) -> Checked:
    """Apply rule 1. Takes about half a millisecond (Ed25519): not for the event loop. Raises ``Rejected``."""
    if not 0 < len(origin) <= _ORIGIN_CHARS_MAX:
        raise Rejected(f"origin is not text of 1 to {_ORIGIN_CHARS_MAX} characters")
    if keyword_key is not None and len(keyword_key) > QUERY_CHARS_MAX:
        raise Rejected(f"keyword_key is over {QUERY_CHARS_MAX} characters")
    try:
        cid, data = block_of(record)
    except UnicodeEncodeError as exc:
        raise Rejected("record: a text is not valid Unicode") from exc
    kept_json = None
    if kept is not None:
        try:
            kept_json = orjson.dumps(dict(kept))
        except TypeError as exc:
            raise Rejected(f"kept is not JSON: {exc}") from exc
        if len(kept_json) > KEPT_BYTES_MAX:
            raise Rejected(f"kept is over {KEPT_BYTES_MAX} bytes")
    cost = None if cost_us is None else max(1, min(cost_us, COST_MAX_US))
    return Checked(cid, data, decode(data), origin, keyword_key, kept_json, cost)


def is_own_word(issuer: str, origin: str, own_issuer: str) -> bool:
    """Rule 2."""
    return origin == LOCAL and issuer == own_issuer


def may_tombstone(issuer: str, origin: str, target_issuer: str, own_issuer: str) -> bool:
    """Rule 3."""
    if issuer == own_issuer:
        return origin == LOCAL
    return issuer == target_issuer


def check_find(column: str, scopes: int) -> None:
    """Raise ``Rejected`` for a column that cannot be searched or an unbounded list of scopes."""
    if column not in FIND_COLUMNS:
        raise Rejected(f"records are found by {', '.join(FIND_COLUMNS)}, not by {column[:64]!r}")
    check_scopes(scopes)


def check_scopes(scopes: int) -> None:
    """Raise ``Rejected`` for an unbounded list of scopes."""
    if scopes > SCOPES_MAX:
        raise Rejected(f"at most {SCOPES_MAX} scopes are searched at once")


def is_private(scope: str) -> bool:
    """Whether a scope is one person's or tenant's: whatever is neither shared nor public."""
    return scope not in OPEN_SCOPES


def scope_for(
    memory_scope: str,
    publish: str,
    source: SourceRef,
    grounded: bool,
    *,
    made_from: Iterable[str] = (),
) -> str:
    """The scope with which an answer is to be stored, by ``sharing.publish``; the privacy gate has the last
    word (``remember.Rememberer.keep``).

    sourced: answers of adapters and checked documents; grounded: also model answers on evidence; all: also
    what clients store with ``scope: public`` (the caller passes ``public`` in for those). What is made from
    stored records (``made_from``: their scopes) is never seen by more people than they are.
    """
    for scope in made_from:
        if is_private(scope):
            return scope  # the asker's own private records: no other tenant's are ever evidence
        if scope == SCOPE_SHARED:
            publish = "none"
    if source.kind == "client":
        wanted = publish == "all" and memory_scope == SCOPE_PUBLIC
    else:
        sourced = source.kind in ("adapter", "documents") and publish in ("sourced", "grounded", "all")
        wanted = sourced or (source.kind == "llm" and grounded and publish in ("grounded", "all"))
    if is_private(memory_scope):
        return memory_scope
    return SCOPE_PUBLIC if wanted else SCOPE_SHARED


def says_the_same(one: AnswerRecord, other: AnswerRecord) -> bool:
    """Whether two answers are equal but for Unicode form and white space."""
    return normalise(one.answer) == normalise(other.answer)


def inherits(record: Record, old: Record) -> bool:
    """Whether ``record`` says again what ``old`` said: then what was merged into ``old`` stays merged."""
    return (
        isinstance(record, AnswerRecord)
        and isinstance(old, AnswerRecord)
        and (record.query_hash, record.scope, record.context) == (old.query_hash, old.scope, old.context)
        and says_the_same(record, old)
    )


def check_merge(one: Record, one_origin: str, other: Record, other_origin: str) -> None:
    """Apply rule 6. Raises ``Rejected``, naming what differs."""
    if not isinstance(one, AnswerRecord) or not isinstance(other, AnswerRecord):
        raise Rejected("only answers are merged")
    digests = [None if each.embedding is None else each.embedding.digest for each in (one, other)]
    for what, differ in (
        ("scope", one.scope != other.scope),
        ("context", one.context != other.context),
        ("embedding model", digests[0] != digests[1]),
        ("slot key", one.slot_key != other.slot_key),
        ("kind of source", one.source.kind != other.source.kind),
        ("origin", one_origin != other_origin),
        ("answer", not says_the_same(one, other)),
    ):
        if differ:
            raise Rejected(f"two answers are not merged: {what} differs")


def check_uses(uses: Sequence[Use]) -> None:
    """Raise ``Rejected`` for a flood, and for counts and times out of range."""
    if len(uses) > LIMIT_MAX:
        raise Rejected(f"at most {LIMIT_MAX} uses are noted at once")
    for use in uses:
        if not 1 <= use.hits <= _HITS_MAX or not 0 <= use.at_s <= _SECONDS_MAX:
            raise Rejected(f"a use has 1 to {_HITS_MAX} hits, at a time since 1970")


def check_selection(selection: Selection) -> None:
    """Raise ``Rejected`` for a selection that names nothing, or too many scopes."""
    if selection == Selection():
        raise Rejected("a selection names at least one of cid, query, source, age, tag and scope")
    if selection.scopes is not None and len(selection.scopes) > SCOPES_MAX:
        raise Rejected(f"at most {SCOPES_MAX} scopes are searched at once")


def clamp_limit(limit: int) -> int:
    """A limit within what one call may return."""
    return max(0, min(limit, LIMIT_MAX))
