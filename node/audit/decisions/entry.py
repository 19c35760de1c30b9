"""What a decision leaves behind: pure builders of log entries.

Each returns ``(entry, private_texts)``: the first goes into the log as it is, the second enters only as keyed
commitments (``node.core.ports.AuditLog.append``).

1. No question, answer, slot value, note, tenant or session name is in an entry, nor free words from the
   trace. Words become stable codes (``safe_code``); what is not a code becomes ``other``.
2. The CID of anything that is not public is a commitment: a CID is a hash, and a short text can be guessed.
3. Scores are integers in millionths (``_ppm``), durations integer microseconds (``_us``), moments whole
   seconds since 1970 UTC (``_s``). Text is ASCII. What is absent is null: equal kinds have equal members.
4. A builder never fails on what a station produced: a score that is not a number becomes null.

``docs/audit-log.md`` describes every member. Pure: no clock, no randomness, no I/O.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.model import (
    PPM,
    SCOPE_PUBLIC,
    SCOPE_SHARED,
    Answer,
    Confidence,
    HitInfo,
    Json,
    Route,
    SourceRef,
    Step,
)
from node.core.ports import EmbedderInfo

Entry: TypeAlias = tuple[dict[str, Json], dict[str, str]]

VERSION = 1

STEPS_MAX = 32
PARTS_MAX = 10
PART_STEPS_MAX = 12
"""Together these keep the longest entry under the log's 65,535 bytes."""
NAMES_MAX = 12

KNOWN_CODES = frozenset(
    {
        *("timeout", "rate_limited", "breaker_open", "bad_answer", "unreachable", "refused", "unavailable"),
        *("found", "missed", "failed", "skipped", "partial", "missing", "bypassed", "joined", "passed"),
        *(
            "hit",
            "miss",
            "stale",
            "expired",
            "exact",
            "slot",
            "semantic",
            "read",
            "veto",
            "withdrawn",
            "too_long",
        ),
        *("statement", "deterministic", "historical", "generative", "unclassified", "composite", "served"),
        *("adapter", "cache", "documents", "llm", "extractive", "fallback", "client"),
        *("ok", "stored", "known", "queued", "valid", "invalid", "start", "stop", "change"),
        *("node", "decisions", "publications", "witness"),
        *("right", "wrong", "undecided", "shadow", "rescored", "samples_disagree", "known_invalid"),
        *("epoch", "shard_closed", "chain_closed", "size", "recover", "rotated"),
        *("queued", "submitted", "pending", "attested", "verified"),
    }
)
"""Codes that stay readable even where the question happens to hold the same word."""

_CODE = re.compile(r"[a-z0-9_]{1,40}\Z")
_STAGE = re.compile(r"[a-z0-9_.:-]{1,40}\Z")  # too short for a CID or a hash
_TOKEN = re.compile(r"[A-Za-z0-9_.:@/+-]{1,128}\Z")
_VKEY = re.compile(r"[A-Za-z0-9./:_-]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+\Z")
_VKEY_CHARS_MAX = 512
_REQUEST = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_HEX_64 = re.compile(r"[0-9a-f]{64}\Z")

_NAMED_SOURCES = frozenset({"adapter", "llm", "fallback", "statement", "composite"})
"""Kinds of source whose id is a name from this program or its settings; a document's is a user's text."""
_MODEL_SOURCES = frozenset({"llm"})


# --- pieces ---------------------------------------------------------------------------------------


def safe_code(words: str, *, asked: str = "") -> str:
    """``words`` if it is a code (``[a-z0-9_]{1,40}``), else ``other``; empty stays empty.

    A code that also occurs in ``asked`` (what users wrote, in lower case) may be a slot value or name that a
    station passed on, so it is kept only when this program is known to use it.
    """
    if not words or words in KNOWN_CODES:
        return words
    if not _CODE.match(words) or words in asked:
        return "other"
    return words


def safe_step(step: Step, *, asked: str = "") -> dict[str, Json]:
    """One line of the trace as it may be published: stage, outcome and reason as codes, and the time."""
    return {
        "stage": step.stage if _STAGE.match(step.stage) else "other",
        "outcome": safe_code(step.outcome, asked=asked),
        "reason": safe_code(step.code or step.reason, asked=asked),
        "latency_us": _microseconds(step.ms),
    }


def scope_class(scope: str) -> str:
    """public, shared or private: who may see it, without naming the tenant."""
    return scope if scope in (SCOPE_PUBLIC, SCOPE_SHARED) else "private"


def _ppm(score: float | None) -> int | None:
    """Whole millionths, clamped to [-1, 1] (a cosine may be negative); None for what is not a number."""
    if score is None or not math.isfinite(score):
        return None
    return max(-PPM, min(PPM, round(score * PPM)))


def _microseconds(milliseconds: float) -> int | None:
    if not math.isfinite(milliseconds) or not 0 <= milliseconds < 1e9:
        return None
    return round(milliseconds * 1_000)


def _seconds(when: datetime | None) -> int | None:
    return None if when is None else int(when.astimezone(UTC).timestamp())


def _token(text: str | None) -> str | None:
    """A name from this program or its settings, or None when it does not look like one."""
    return text if text is not None and _TOKEN.match(text) else None


def _vkey(text: str) -> str | None:
    """A verifier key: longer than other names."""
    return text if text and len(text) <= _VKEY_CHARS_MAX and _VKEY.match(text) else None


def _digest(text: str | None) -> str | None:
    return text if text is not None and _HEX_64.match(text) else None


def _is_cid(text: str) -> bool:
    try:
        Cid.parse(text)
    except Rejected:
        return False
    return True


def _request(request: str, private: dict[str, str]) -> str | None:
    """The request's id if it has the shape of one; else it is kept as a commitment only."""
    if _REQUEST.match(request):
        return request
    private["request"] = request
    return None


def _cid(cid: str | None, scope: str, private: dict[str, str], *, name: str = "cid") -> str | None:
    """The CID itself for public records; else None, and a commitment to it."""
    if cid is None:
        return None
    if scope == SCOPE_PUBLIC and _is_cid(cid):
        return cid
    private[name] = cid
    return None


def _confidence(confidence: Confidence) -> dict[str, Json]:
    parts: dict[str, Json] = {
        name: _ppm(part) for name, part in sorted(confidence.parts.items())[:NAMES_MAX] if _CODE.match(name)
    }
    return {"confidence_ppm": _ppm(confidence.value), "confidence_parts_ppm": parts}


def _source(
    source: SourceRef, scope: str, private: dict[str, str], *, name: str = "source"
) -> dict[str, Json]:
    """Kind and id; an id that could carry a user's words or a private CID is committed to instead."""
    kind = safe_code(source.kind)
    named = kind in _NAMED_SOURCES and _token(source.id) is not None and not _is_cid(source.id)
    public_record = kind == "cache" and scope == SCOPE_PUBLIC and _is_cid(source.id)
    if not named and not public_record and source.id:
        private[name] = source.id
    return {"kind": kind, "id": source.id if named or public_record else None}


def _model(source: SourceRef) -> dict[str, Json] | None:
    if source.kind not in _MODEL_SOURCES:
        return None
    return {"id": _token(source.id), "digest": _digest(source.digest)}


def _hit(hit: HitInfo | None, confidence: Confidence, asked: str) -> dict[str, Json] | None:
    """How a stored answer was matched: the record's part of the decision."""
    if hit is None:
        return None
    origin = _token(hit.origin)
    return {
        "kind": safe_code(hit.kind),
        "similarity_ppm": _ppm(hit.similarity),
        "confidence_ppm": _ppm(confidence.value),
        "threshold_ppm": _ppm(hit.threshold),
        "score_ppm": _ppm(hit.score),
        "p_correct_ppm": _ppm(hit.p_correct),
        "age_s": max(0, hit.age_s),
        "origin": None if origin is None or _is_cid(origin) else origin,
        "reason": safe_code(hit.code or hit.reason, asked=asked),
    }


def _adapters(route: Route, trace: Sequence[Step], asked: str) -> list[Json]:
    """Which adapters were asked, and why: the names of the slots that matched, never their values. One that
    was due and never asked, because the cache answered, stands there as such."""
    steps: dict[str, Step | None] = {
        name: step
        for step in trace
        if (name := step.stage.removeprefix("adapter:")) != step.stage and _token(name) is not None
    }
    rows = list(steps.items())[:NAMES_MAX]
    if route.adapter is not None and _token(route.adapter) is not None and route.adapter not in steps:
        rows.insert(0, (route.adapter, None))
    return [
        {
            "name": name,
            "why": "slots_matched" if route.slots else "pattern_matched",
            "slots": [slot for slot in sorted(route.slots)[:NAMES_MAX] if _CODE.match(slot)],
            "asked": step is not None,
            "outcome": None if step is None else safe_code(step.outcome, asked=asked),
            "latency_us": None if step is None else _microseconds(step.ms),
        }
        for name, step in rows
    ]


def _decision(source: SourceRef) -> str:
    """acknowledged (nothing was asked), refused (nothing could be found out) or served."""
    return {"statement": "acknowledged", "fallback": "refused"}.get(source.kind, "served")


# --- one request ----------------------------------------------------------------------------------


def _user_texts(answer: Answer) -> str:
    """Everything about the request that came from people, in lower case: no code may repeat it."""
    query = answer.query
    texts = [query.asked, query.text, query.session or "", query.caller.tenant]
    for one in (answer, *answer.parts[:PARTS_MAX]):
        texts += [one.text, one.query.text]
        texts += [str(value) for value in one.route.slots.values() if value is not None]
        if one.source.kind not in _NAMED_SOURCES:
            texts.append(one.source.id)
    return "\n".join(texts).lower()


def _route_reason(answer: Answer, asked: str) -> str:
    """Why the question went where it went: the code of the step that understood it."""
    understood = next((step.code for step in answer.trace if step.stage == "understand"), "")
    return safe_code(understood or answer.route.reason, asked=asked)


def _walked(
    answer: Answer, scope: str, asked: str, private: dict[str, str], *, suffix: str = ""
) -> dict[str, Json]:
    """What an answer and each part of a composite one have in common."""
    steps_max = PART_STEPS_MAX if suffix else STEPS_MAX
    cid = _cid(answer.cid, scope, private, name="cid" + suffix)
    hit = _hit(answer.hit, answer.confidence, asked)
    return {
        "class": answer.route.kind.value,
        "route_reason": _route_reason(answer, asked),
        "floor_ppm": _ppm(answer.route.floor),
        "sources": [source.value for source in answer.route.sources[:NAMES_MAX]],
        "adapters": _adapters(answer.route, answer.trace, asked),
        "steps": [safe_step(step, asked=asked) for step in answer.trace[:steps_max]],
        "steps_left_out": max(0, len(answer.trace) - steps_max),
        "source": _source(answer.source, scope, private, name="source" + suffix),
        "model": _model(answer.source),
        "cid": cid,
        "hit": hit,
        "stale": answer.stale,
        "freshness": answer.freshness.value,
        "decision": _decision(answer.source),
        **_confidence(answer.confidence),
    }


def decision_entry(
    answer: Answer,
    *,
    policy: str,
    embedder: EmbedderInfo | None,
    will_store: bool,
    store_reason: str,
    scope: str,
) -> Entry:
    """The entry of one answered request (kind ``answer``, or ``refuse`` when nothing could be found out).

    ``policy`` names the rules in force; ``scope`` is that of the answer and of its record, if it has one;
    ``store_reason`` is a code. Private texts: ``query``, ``answer``, ``tenant``, and where they
    apply ``cid``, ``source``, ``request`` and ``cid_1``, ``source_1`` … of the parts.
    """
    asked = _user_texts(answer)
    private = {"query": answer.query.text, "answer": answer.text, "tenant": answer.query.caller.tenant}
    walked = _walked(answer, scope, asked, private)
    parts: list[Json] = [
        _walked(part, scope, asked, private, suffix=f"_{number}")
        for number, part in enumerate(answer.parts[:PARTS_MAX], start=1)
    ]
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "refuse" if walked["decision"] == "refused" else "answer",
        "request": _request(answer.query.id, private),
        "policy": _token(policy),
        "scope": scope_class(scope),
        "has_context": answer.query.context is not None,
        "embedder": None
        if embedder is None
        else {"id": _token(embedder.model), "digest": _digest(embedder.digest)},
        "storage": {
            "decision": "will_store" if will_store else "skipped",
            "reason": safe_code(store_reason, asked=asked),
        },
        "tokens": {"prompt": answer.usage.prompt_tokens, "completion": answer.usage.completion_tokens},
        **walked,
        "parts": parts,
        "parts_left_out": max(0, len(answer.parts) - PARTS_MAX),
    }
    return entry, private


def store_entry(
    *,
    request: str,
    outcome: str,
    reason: str,
    scope: str,
    policy: str,
    cid: str | None = None,
    expires: datetime | None = None,
    confidence: float | None = None,
) -> Entry:
    """What became of a write-back. ``outcome``: stored, failed or skipped; ``reason``: a code."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "store",
        "request": _request(request, private),
        "policy": _token(policy),
        "decision": {"stored": "stored"}.get(outcome, "not_stored"),
        "outcome": safe_code(outcome),
        "reason": safe_code(reason),
        "scope": scope_class(scope),
        "cid": _cid(cid, scope, private),
        "expires_s": _seconds(expires),
        "confidence_ppm": _ppm(confidence),
    }
    return entry, private


# --- records --------------------------------------------------------------------------------------


def validation_entry(
    *, target: str, verdict: str, scope: str, policy: str, tenant: str | None = None, cid: str | None = None
) -> Entry:
    """A verdict (``valid`` or ``invalid``) on the record ``target``; ``cid`` is the validation record's own.

    A note that came with the verdict is user text and stays out.
    """
    private: dict[str, str] = {} if tenant is None else {"tenant": tenant}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "validation",
        "policy": _token(policy),
        "decision": "validated",
        "verdict": safe_code(verdict),
        "scope": scope_class(scope),
        "target": _cid(target, scope, private, name="target"),
        "cid": _cid(cid, scope, private),
    }
    return entry, private


def tombstone_entry(*, target: str, reason: str, scope: str, policy: str, cid: str | None = None) -> Entry:
    """The record ``target`` is withdrawn for good; ``cid`` is the tombstone's own."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "tombstone",
        "policy": _token(policy),
        "decision": "tombstoned",
        "reason": safe_code(reason),
        "scope": scope_class(scope),
        "target": _cid(target, scope, private, name="target"),
        "cid": _cid(cid, scope, private),
    }
    return entry, private


def quarantine_entry(
    *, target: str, reason: str, scope: str, policy: str, held_back_at: float | None = None
) -> Entry:
    """The record ``target`` is taken out of service without being deleted. ``reason`` is a code: invalid (a
    verdict of this node), wrong (an audit of a served hit) or rescored (a later rule of confidence puts it
    below the bar). ``held_back_at``: it is held back only from
    questions that are no nearer to its own than this score; None: from all."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "quarantine",
        "policy": _token(policy),
        "decision": "quarantined",
        "reason": safe_code(reason),
        "held_back_ppm": _ppm(held_back_at),
        "scope": scope_class(scope),
        "target": _cid(target, scope, private, name="target"),
    }
    return entry, private


def audit_entry(
    *,
    target: str,
    verdict: str,
    reason: str,
    question_class: str,
    tier: str,
    similarity: float | None,
    u: float | None,
    compared_with: str,
    scope: str,
    policy: str,
    asked: str = "",
) -> Entry:
    """A served hit was checked against a fresh answer: ``verdict`` right, wrong or undecided; ``reason`` the
    rule that decided; ``compared_with`` the kind of source of the fresh answer; ``asked`` as in
    ``safe_code``. Neither answer is stored or logged."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "audit",
        "policy": _token(policy),
        "decision": "audited",
        "verdict": safe_code(verdict, asked=asked),
        "reason": safe_code(reason, asked=asked),
        "class": safe_code(question_class),
        "tier": safe_code(tier),
        "similarity_ppm": _ppm(similarity),
        "u_ppm": _ppm(u),
        "compared_with": safe_code(compared_with),
        "scope": scope_class(scope),
        "target": _cid(target, scope, private, name="target"),
    }
    return entry, private


# --- the node itself ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Closed:
    """A log that is not written any more: its origin, and the newest checkpoint of it that was signed."""

    origin: str
    size: int
    root: str
    """Hex."""


@dataclass(frozen=True, slots=True)
class PeerChange:
    """``by``: operator, settings or node. ``root``: the peer's did:key, None where nobody has answered at
    ``address`` yet. ``level`` and ``group``: from what, to what; None where it is not about them."""

    by: str
    root: str | None
    level: tuple[str, str] | None = None
    group: tuple[str | None, str | None] | None = None
    address: str | None = None


def policy_entry(
    *,
    event: str,
    policy: str,
    software: str = "",
    settings_digest: str = "",
    reason: str = "",
    previous: Closed | None = None,
    kept_size: int | None = None,
    next_origin: str = "",
    file_digest: str = "",
    file_bytes: int | None = None,
    peer: PeerChange | None = None,
) -> Entry:
    """The rules in force from here on, and where the log itself begins and ends. ``event``:

    - start, stop, change: ``settings_digest`` is the hex SHA-256 of the settings without their secrets;
    - epoch: the first leaf of a log that follows ``previous``; ``reason`` is size or recover, ``kept_size``
      how many leaves of it a checkpoint in the folder covers;
    - shard_closed: the last leaf of a log that is full; ``next_origin`` goes on;
    - chain_closed: an older log lies beside this one, the file with this SHA-256 and length;
    - peer_standing: ``peer`` has another level or trust group from here on, which decides whose answers are
      served; peer_followed, peer_unfollowed: its address is polled, or is no more; peer_dropped: it is not
      listened to any more, for ``reason``. The address is a commitment.
    """
    private = {} if peer is None or peer.address is None else {"address": peer.address}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "policy",
        "event": safe_code(event),
        "policy": _token(policy),
        "software": _token(software),
        "settings_digest": _digest(settings_digest),
        "reason": safe_code(reason) or None,
        "previous": None
        if previous is None
        else {"origin": _token(previous.origin), "size": previous.size, "root": _digest(previous.root)},
        "kept_size": kept_size,
        "next_origin": _token(next_origin),
        "file": None if file_bytes is None else {"sha256": _digest(file_digest), "bytes": file_bytes},
        "peer": None if peer is None else _peer(peer),
    }
    return entry, private


def _peer(peer: PeerChange) -> dict[str, Json]:
    level, group = peer.level, peer.group
    return {
        "by": safe_code(peer.by),
        "root": _token(peer.root),
        "level": None if level is None else {"from": safe_code(level[0]), "to": safe_code(level[1])},
        "group": None if group is None else {"from": _token(group[0]), "to": _token(group[1])},
    }


def key_entry(
    *,
    use: str,
    event: str,
    old: str,
    new: str,
    old_vkey: str,
    new_vkey: str,
    certificates: Sequence[str],
    old_until: datetime,
    policy: str,
) -> Entry:
    """A key of this node changed. ``event``: rotated; ``old`` and ``new`` are did:keys, the vkeys empty for a
    key that signs no notes; ``certificates`` the CIDs of the root's word on the new key and on the end of the
    old one, ``old_until``."""
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "key",
        "policy": _token(policy),
        "decision": "key_rotated",
        "event": safe_code(event),
        "use": safe_code(use),
        "old": {"key": _token(old), "vkey": _vkey(old_vkey), "until_s": _seconds(old_until)},
        "new": {"key": _token(new), "vkey": _vkey(new_vkey)},
        "certificates": [cid for cid in certificates if _is_cid(cid)],
    }
    return entry, {}


def anchor_entry(
    *,
    log: str,
    size: int,
    digest: str,
    calendar: str,
    state: str,
    policy: str,
    block_height: int | None = None,
) -> Entry:
    """A checkpoint was anchored outside, as far as ``state`` says (submitted, pending, attested, verified).

    ``log`` and ``size`` name the checkpoint, ``digest`` is the hex SHA-256 of its note, ``calendar`` the
    host that took it, ``block_height`` what it is attested by.
    """
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "anchor",
        "policy": _token(policy),
        "decision": "anchored" if state in ("attested", "verified") else "submitted",
        "log": _token(log),
        "size": size,
        "digest": _digest(digest),
        "calendar": _token(calendar),
        "state": safe_code(state),
        "block_height": block_height,
    }
    return entry, {}


def repair_entry(*, bytes_cut: int, entries_replayed: int, keys_without_entry: int) -> Entry:
    """The log was opened after a crash: how many bytes of a half-written end were cut off and how many
    entries were found in the journal and not yet in the tree.

    ``keys_without_entry`` is 0 unless the key table knows of more entries than one batch could have left
    unfinished: then the folder is older than the table, or lost its end.
    """
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "repair",
        "bytes_cut": bytes_cut,
        "entries_replayed": entries_replayed,
        "keys_without_entry": keys_without_entry,
    }
    return entry, {}


# --- what an entry is about -----------------------------------------------------------------------

_ABOUT = re.compile(r"(?:cid|target)(?:_\d+)?\Z")

CRITICAL_KINDS = frozenset({"key", "tombstone", "quarantine", "validation"})
_CRITICAL_EVENTS = frozenset(
    {"change", "epoch", "shard_closed", "chain_closed", "peer_standing", "peer_dropped"}
)


def is_critical(entry: Mapping[str, Json]) -> bool:
    """Whether the entry has to come under a checkpoint, and under an anchor, at once."""
    kind = entry.get("kind")
    return kind in CRITICAL_KINDS or (kind == "policy" and entry.get("event") in _CRITICAL_EVENTS)


def records_of(entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> tuple[str, ...]:
    """The CIDs of the records that an entry names or commits to: an erasure of one concerns this entry."""
    parts = entry.get("parts")
    named: list[object] = [entry.get("cid"), entry.get("target")]
    named += [part.get("cid") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    committed = [text for name, text in private_texts.items() if _ABOUT.match(name)]
    return tuple(dict.fromkeys([cid for cid in named if isinstance(cid, str)] + committed))
