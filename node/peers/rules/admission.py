"""What a peer's record must be before it counts for anything (design section 9, facts on trust B,
"Admission").

Rules, in the order of their cost, so that what is cheap to send is cheap to refuse:
1. ``size``: no larger than a record may be.
2. ``cid``: its bytes match the CID that was asked for.
3. ``schema``: strict form and signature (``node.core.record.decode``), in the normal form that we have as
   well.
4. ``kind``, ``issuer``, ``scope``, ``unverified``: an answer, of the root whose log it is in, public and
   without a context, and not what a model said on no evidence.
5. ``unknown_key`` and the like: the root has certified the signing key for the time that the record bears.
6. ``entry``: it is what the log's entry said.
7. ``clock``, ``lifetime``, ``expired``: dated at most ``AHEAD_MAX`` ahead, not ended, and never longer-lived
   than our own class of the question allows, counted from its date or from now, whichever is earlier.
8. ``empty``, ``size``: it says something, and no more than somebody reads.
9. ``vector``: its embedding, which is used for nothing, is one at least: finite, and not of length nothing.
10. ``injection``: none of its texts is written for a model, none of its addresses is a program.

Whatever a record says of its own confidence, validations or embedding counts for nothing here: the first is
an upper bound that standing scales, the vector is made anew. The class is the caller's own reading of the
question. Pure. Every refusal is one of ``CODES``.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, SHA2_256, Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.normalise import VERSION as NORMALISER
from node.core.normalise import normalise
from node.core.record import AnswerRecord, TombstoneRecord, ValidationRecord, decode
from node.peers.rules import injection
from node.peers.rules.entry import Publish
from node.peers.rules.keys import AHEAD_MAX, KeyRing
from node.peers.rules.values import Tier

QUERY_CHARS_MAX = 4_096
"""A question that others may ask as well is not longer."""
ANSWER_CHARS_MAX = 32_768
TAG_CHARS_MAX = 128
STATEMENT_BYTES_MAX = 8_192
"""Of a validation or a tombstone, which hold a few ids and a short note."""

CODES: dict[str, str] = {
    "size": "it is larger than a record may be, or its texts are",
    "cid": "its bytes do not match its CID",
    "schema": "it is no canonical record in a form that is known here, or its signature does not verify",
    "kind": "it is no answer",
    "issuer": "it names another issuer than the log it came from",
    "scope": "it is not public, or belongs to a context",
    "unverified": "a model said it on no evidence",
    "unknown_key": "its key is not certified by its issuer",
    "key_revoked": "its key was revoked",
    "key_not_yet": "it is dated before its key was certified",
    "key_ended": "it is dated after its key had ended",
    "entry": "it is not what the log's entry said",
    "clock": "it is dated in the future",
    "expired": "it has ended",
    "lifetime": "its life ends before it begins",
    "empty": "it holds no question or no answer",
    "vector": "its embedding is no vector",
    "injection": "it is written for a model, not for people",
    # what the rules outside of this file may say
    "own": "it is this node's own",
    "private": "the privacy gate finds something in it",
    "tombstoned": "its issuer has withdrawn it for good",
    "superseded": "its issuer has said something newer to the same question",
    "quota_records": "its issuer has as many records here as it may",
    "quota_bytes": "its issuer takes as much room here as it may",
    "quota_validations": "its issuer made as many statements this hour as it may",
    "crowd": "its issuer has enough near-duplicates of it here",
    "degenerate": "its question has no usable embedding",
    "refuted": "recomputing it gave another answer",
    "outvoted": "more trust groups call it invalid than valid",
    "unusable": "no record store can hold it",
    "withdrawn": "it was withdrawn here for good",
    "malformed": "its log's entry cannot be read",
    "retracted": "a later entry of its log takes it back",
    "missing": "nobody who was asked has its block",
    "key": "it is no key record of its root",
    "keys": "its root has more key records than are kept",
    "blocked": "the operator has blocked its issuer",
    "dropped": "its issuer has contradicted itself",
}
"""Code → a clause for people."""
ADMISSION_REASONS = frozenset({*map(str, Tier), *CODES, "held", "retracted", "withdrawn", "valid", "invalid"})
"""What becomes of a peer's record is counted under these words."""


@dataclass(frozen=True, slots=True)
class ClassLimit:
    """The class of a question by our own reading, and the longest life of an answer to it in seconds (None:
    as long as the record says). ``is_live``: prices, weather and the like; ``is_ours``: an adapter here
    may claim the question."""

    name: str
    limit_s: int | None
    is_live: bool
    is_ours: bool = True


@dataclass(frozen=True, slots=True)
class Read:
    """A block that holds an answer. ``written_for_a_model``: the rule of ``injection`` that one of its texts
    breaks."""

    record: AnswerRecord
    written_for_a_model: str | None


@dataclass(frozen=True, slots=True)
class Examined:
    """A record that may count. ``until``: when it ends here; None: it does not by itself; ``is_ours``: an
    adapter here claims its question."""

    record: AnswerRecord
    until: datetime | None
    is_ours: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """``code`` is one of ``CODES``, ``text`` a clause for people."""

    code: str
    text: str


def look(entry: Publish, *, now: datetime, limit_s: int | None = None) -> str:
    """What an entry alone tells before its record is fetched: empty, or the code of its refusal. ``limit_s``:
    the longest life of any class; None where there is none."""
    if entry.cid.codec != DAG_CBOR or entry.cid.function != SHA2_256:
        return "cid"
    if entry.expires is not None and entry.expires <= now:
        return "expired"
    if limit_s is not None and entry.expires is not None and entry.expires > now + timedelta(seconds=limit_s):
        return "lifetime"
    return ""


def read_block(cid: Cid, data: bytes) -> Read | Refused:
    """The answer that a block holds, and whether any of its texts is written for a model. Never raises. One
    or two milliseconds, half of them for the signature; nothing else is asked, so it may run in a thread."""
    if len(data) > BLOCK_BYTES_MAX:
        return _refused("size")
    if cid.codec != DAG_CBOR or cid.function != SHA2_256 or not cid.matches(data):
        return _refused("cid")
    try:
        record = decode(data)
    except Rejected as exc:
        return Refused("schema", str(exc))
    if not isinstance(record, AnswerRecord):
        return _refused("kind")
    return Read(record, _written_for_a_model(record))


def examine(
    block: Read | Refused,
    *,
    issuer_root: str,
    entry: Publish | None,
    ring: KeyRing,
    now: datetime,
    limit: Callable[[AnswerRecord], ClassLimit],
) -> Examined | Refused:
    """Look at a block (``read_block``) that ``issuer_root`` has published. ``entry``: what its log says of
    it, where that is known; ``limit``: our own reading of the question. Never raises."""
    if isinstance(block, Refused):
        return block
    record = block.record
    code = _code(record, issuer_root, entry, ring, now)
    if code:
        return _refused(code)
    if block.written_for_a_model is not None:
        return Refused("injection", f"{CODES['injection']} ({block.written_for_a_model})")
    until = record.expires
    ours = limit(record)
    if ours.limit_s is not None:
        capped = min(record.timestamp, now) + timedelta(seconds=ours.limit_s)
        until = capped if until is None else min(until, capped)
    if until is not None and until <= now:
        return _refused("expired")
    return Examined(record, until, ours.is_ours)


def _code(record: AnswerRecord, issuer_root: str, entry: Publish | None, ring: KeyRing, now: datetime) -> str:
    if record.issuer != issuer_root:
        return "issuer"
    if record.scope != SCOPE_PUBLIC or record.context is not None:
        return "scope"
    if record.is_unverified:
        return "unverified"
    if code := ring.good(record.key, "node", record.timestamp):
        return code
    if entry is not None and (entry.query_hash != record.query_hash or entry.expires != record.expires):
        return "entry"
    if record.timestamp > now + AHEAD_MAX:
        return "clock"
    if record.expires is not None and record.expires <= record.timestamp:
        return "lifetime"
    if record.normaliser != NORMALISER:
        return "schema"
    if not normalise(record.query) or not record.answer.strip():
        return "empty"
    if len(record.query) > QUERY_CHARS_MAX or len(record.answer) > ANSWER_CHARS_MAX:
        return "size"
    if any(len(tag) > TAG_CHARS_MAX for tag in record.tags):
        return "size"
    return "" if record.embedding is None or _is_vector(record.embedding.vector) else "vector"


def _is_vector(data: bytes) -> bool:
    """Whether these are finite numbers (float32, little endian) of which one at least is not nothing."""
    numbers = array("f", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    squares = math.fsum(number * number for number in numbers)
    return math.isfinite(squares) and squares > 0


def _written_for_a_model(record: AnswerRecord) -> str | None:
    """Which rule of ``injection`` any text breaks that a person or a model may see."""
    source = record.source
    texts = [record.query, record.answer, *record.tags, source.kind, source.id, source.by or ""]
    addresses = [source.url]
    for one in record.citations:
        texts += [one.source, one.locator, one.snippet]
        addresses.append(one.url)
    return injection.screen_all(texts, addresses)


def statement(
    cid: Cid, data: bytes, *, issuer_root: str, ring: KeyRing, now: datetime
) -> ValidationRecord | TombstoneRecord | str:
    """A validation or tombstone of this root, or the code of what is wrong with it."""
    if len(data) > STATEMENT_BYTES_MAX:
        return "size"
    if Cid.of(data) != cid:
        return "cid"
    try:
        record = decode(data)
    except Rejected:
        return "schema"
    if record.issuer != issuer_root:
        return "issuer"
    if record.scope != SCOPE_PUBLIC:
        return "scope"
    if record.timestamp > now + AHEAD_MAX:
        return "clock"
    if code := ring.good(record.key, "node", record.timestamp):
        return code
    return record if isinstance(record, ValidationRecord | TombstoneRecord) else "kind"


def _refused(code: str) -> Refused:
    return Refused(code, CODES[code])
