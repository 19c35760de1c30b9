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

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from node.audit.decisions.entry_fields import (
    VERSION,
    Entry,
    cid_of,
    digest_of,
    is_cid,
    ppm,
    safe_code,
    scope_class,
    seconds,
    token,
    vkey_of,
)
from node.core.model import (
    Json,
)

# --- records --------------------------------------------------------------------------------------


def validation_entry(
    *,
    target: str,
    verdict: str,
    scope: str,
    policy: str,
    tenant: str | None = None,
    by: str = "",
    cid: str | None = None,
) -> Entry:
    """A verdict (``valid`` or ``invalid``) on the record ``target``; ``cid`` is the validation record's own.
    ``by``: operator, client (who stored the record, or alone reads it) or tenant, whose verdict takes the
    record from nobody else before others agree.

    A note that came with the verdict is user text and stays out.
    """
    private: dict[str, str] = {} if tenant is None else {"tenant": tenant}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "validation",
        "policy": token(policy),
        "decision": "validated",
        "verdict": safe_code(verdict),
        "by": safe_code(by) or None,
        "scope": scope_class(scope),
        "target": cid_of(target, scope, private, name="target"),
        "cid": cid_of(cid, scope, private),
    }
    return entry, private


def tombstone_entry(*, target: str, reason: str, scope: str, policy: str, cid: str | None = None) -> Entry:
    """The record ``target`` is withdrawn for good; ``cid`` is the tombstone's own."""
    private: dict[str, str] = {}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "tombstone",
        "policy": token(policy),
        "decision": "tombstoned",
        "reason": safe_code(reason),
        "scope": scope_class(scope),
        "target": cid_of(target, scope, private, name="target"),
        "cid": cid_of(cid, scope, private),
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
        "policy": token(policy),
        "decision": "quarantined",
        "reason": safe_code(reason),
        "held_back_ppm": ppm(held_back_at),
        "scope": scope_class(scope),
        "target": cid_of(target, scope, private, name="target"),
    }
    return entry, private


def documents_entry(
    *, event: str, scope: str, counts: Mapping[str, int], documents: Sequence[str], policy: str
) -> Entry:
    """What became of documents: ``event`` changed, removed or erased. ``counts``: how many by what happened
    (new, changed, again, holds, missing, removed, erased). ``documents``: of each the CID where it is public,
    else 32 hex digits (HMAC-SHA-256 of the CID under a nonce that goes with the document)."""
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "documents",
        "policy": token(policy),
        "decision": f"documents_{safe_code(event)}",
        "event": safe_code(event),
        "scope": scope_class(scope),
        "counts": {safe_code(name): count for name, count in sorted(counts.items())},
        "documents": [name for name in documents if _NAME.match(name) or is_cid(name)],
    }
    return entry, {}


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
        "policy": token(policy),
        "decision": "audited",
        "verdict": safe_code(verdict, asked=asked),
        "reason": safe_code(reason, asked=asked),
        "class": safe_code(question_class),
        "tier": safe_code(tier),
        "similarity_ppm": ppm(similarity),
        "u_ppm": ppm(u),
        "compared_with": safe_code(compared_with),
        "scope": scope_class(scope),
        "target": cid_of(target, scope, private, name="target"),
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
    - epoch: the first leaf of a log that follows ``previous``; ``reason`` is size, bytes, age or recover,
      ``kept_size`` how many leaves of it a checkpoint in the folder covers;
    - shard_closed: the last leaf of a log that is full, or (``reason``) large or old enough; ``next_origin``
      goes on;
    - chain_closed: an older log lies beside this one, the file with this SHA-256 and length;
    - peer_standing: ``peer`` has another level or trust group from here on, which decides whose answers are
      served; peer_followed, peer_unfollowed: its address is polled, or is no more; peer_dropped: it is not
      listened to any more, for ``reason``. The address is a commitment;
    - clock_accepted: the operator has said that the wall clock is right, against what spoke for another time.
    """
    private = {} if peer is None or peer.address is None else {"address": peer.address}
    entry: dict[str, Json] = {
        "v": VERSION,
        "kind": "policy",
        "event": safe_code(event),
        "policy": token(policy),
        "software": token(software),
        "settings_digest": digest_of(settings_digest),
        "reason": safe_code(reason) or None,
        "previous": None
        if previous is None
        else {"origin": token(previous.origin), "size": previous.size, "root": digest_of(previous.root)},
        "kept_size": kept_size,
        "next_origin": token(next_origin),
        "file": None if file_bytes is None else {"sha256": digest_of(file_digest), "bytes": file_bytes},
        "peer": None if peer is None else _peer(peer),
    }
    return entry, private


def _peer(peer: PeerChange) -> dict[str, Json]:
    level, group = peer.level, peer.group
    return {
        "by": safe_code(peer.by),
        "root": token(peer.root),
        "level": None if level is None else {"from": safe_code(level[0]), "to": safe_code(level[1])},
        "group": None if group is None else {"from": token(group[0]), "to": token(group[1])},
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
        "policy": token(policy),
        "decision": "key_rotated",
        "event": safe_code(event),
        "use": safe_code(use),
        "old": {"key": token(old), "vkey": vkey_of(old_vkey), "until_s": seconds(old_until)},
        "new": {"key": token(new), "vkey": vkey_of(new_vkey)},
        "certificates": [cid for cid in certificates if is_cid(cid)],
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
        "policy": token(policy),
        "decision": "anchored" if state in ("attested", "verified") else "submitted",
        "log": token(log),
        "size": size,
        "digest": digest_of(digest),
        "calendar": token(calendar),
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

_NAME = re.compile(r"[0-9a-f]{32}\Z")
_ABOUT = re.compile(r"(?:cid|target)(?:_\d+)?\Z")
_FOR_GOOD = frozenset({"invalid", "rescored"})
"""Reasons of a quarantine after which the record is not served again."""

CRITICAL_KINDS = frozenset({"key", "tombstone", "quarantine", "validation"})
_CRITICAL_EVENTS = frozenset(
    {"change", "epoch", "shard_closed", "chain_closed", "peer_standing", "peer_dropped"}
)


def is_critical(entry: Mapping[str, Json]) -> bool:
    """Whether the entry has to come under a checkpoint, and under an anchor, at once."""
    kind = entry.get("kind")
    if kind == "documents":
        return entry.get("event") != "changed"
    return kind in CRITICAL_KINDS or (kind == "policy" and entry.get("event") in _CRITICAL_EVENTS)


def records_of(entry: Mapping[str, Json], private_texts: Mapping[str, str]) -> tuple[str, ...]:
    """The CIDs of the records that an entry names or commits to: an erasure of one concerns this entry."""
    parts = entry.get("parts")
    named: list[object] = [entry.get("cid"), entry.get("target")]
    named += [part.get("cid") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    committed = [text for name, text in private_texts.items() if _ABOUT.match(name)]
    return tuple(dict.fromkeys([cid for cid in named if isinstance(cid, str)] + committed))


def subject_of(entry: Mapping[str, Json]) -> str:
    """The name under which an entry says which record was stored (``cid``) or withdrawn for good
    (``target``), in the clear or as a commitment; empty where it says neither."""
    kind = entry.get("kind")
    if kind == "store":
        return "cid" if entry.get("decision") == "stored" else ""
    is_withdrawn = kind == "tombstone" or (kind == "quarantine" and entry.get("reason") in _FOR_GOOD)
    return "target" if is_withdrawn else ""
