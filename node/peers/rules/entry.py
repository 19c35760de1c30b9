"""Entries of a publications log: what a node shares with its peers, takes back, says of others and signs
with.

Format: a leaf of the log format (``node.audit.tlog.leaf``: canonical JSON, version 2) whose ``entry`` is one
of

    {"cid", "class", "expires_s": s | null, "kind": "publish", "query_hash"}
    {"cid": <target>, "kind": "retract", "reason", "tombstone": <CID> | null}
    {"cid": <of the validation record>, "kind": "validate", "target", "verdict"}
    {"cid": <of the key record>, "kind": "key", "subject", "use"}

CIDs as text (CIDv1, base32), ``expires_s`` in whole seconds since 1970, ``query_hash`` the hex SHA-256 of the
normalised question, ``class`` and ``reason`` short ASCII words. What an entry says is a hint for whoever
reads the feed; the signed record that it names is the statement.
Pure. ``read`` treats its input as hostile and raises ``Rejected`` only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from node.audit.tlog.leaf import canonical, read_leaf
from node.core.errors import Rejected
from node.core.ipld.cid import DAG_CBOR, SHA2_256, Cid
from node.core.model import Json
from node.core.record import UNIX_EPOCH, public_key_of

_SECONDS_MAX = 2**37
_HASH = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}")
_USES = ("node", "decisions", "publications", "witness")
_VERDICTS = ("valid", "invalid")


@dataclass(frozen=True, slots=True)
class Publish:
    """An answer record that anybody may have."""

    cid: Cid
    class_: str
    query_hash: str
    expires: datetime | None


@dataclass(frozen=True, slots=True)
class Retract:
    """A record that is taken back; ``tombstone``: the signed record that says so for good."""

    cid: Cid
    reason: str
    tombstone: Cid | None


@dataclass(frozen=True, slots=True)
class Validate:
    """A signed validation, by the CID of its record."""

    cid: Cid
    target: Cid
    verdict: str


@dataclass(frozen=True, slots=True)
class Key:
    """The root's record of a key."""

    cid: Cid
    subject: str
    use: str


PublicationEntry: TypeAlias = Publish | Retract | Validate | Key


def encode(entry: PublicationEntry) -> bytes:
    """The canonical bytes of the entry, to be composed into a leaf. Raises ``Rejected`` for one that ``read``
    would refuse: it could never be taken out of the log again."""
    body = _body(entry)
    _read(body)
    return canonical(body)


def word(text: str, other: str) -> str:
    """``text`` where it can stand as a class or a reason, else ``other``."""
    return text if _WORD.fullmatch(text) else other


def read(index: int, data: bytes) -> PublicationEntry:
    """The entry of the leaf at ``index``. Raises ``Rejected``."""
    leaf = read_leaf(data)
    if leaf.seq != index:
        raise Rejected(f"publications: the entry at {index} says that it is number {leaf.seq}")
    return _read(leaf.entry)


def _body(entry: PublicationEntry) -> dict[str, Json]:
    match entry:
        case Publish():
            return {
                "kind": "publish",
                "cid": str(entry.cid),
                "class": entry.class_,
                "query_hash": entry.query_hash,
                "expires_s": None
                if entry.expires is None
                else (entry.expires - UNIX_EPOCH) // timedelta(seconds=1),
            }
        case Retract():
            tombstone = None if entry.tombstone is None else str(entry.tombstone)
            return {"kind": "retract", "cid": str(entry.cid), "reason": entry.reason, "tombstone": tombstone}
        case Validate():
            return {
                "kind": "validate",
                "cid": str(entry.cid),
                "target": str(entry.target),
                "verdict": entry.verdict,
            }
        case Key():
            return {"kind": "key", "cid": str(entry.cid), "subject": entry.subject, "use": entry.use}


def _read(entry: Mapping[str, Any]) -> PublicationEntry:
    kind = str(entry.get("kind"))
    if kind not in _FIELDS:
        raise Rejected("publications: an entry of an unknown kind")
    if entry.keys() != _FIELDS[kind]:
        raise Rejected(f"publications: an entry of kind {kind} has other fields than one has")
    cid = _cid(entry["cid"])
    if kind == "publish":
        expires_s = entry["expires_s"]
        if expires_s is not None and (type(expires_s) is not int or not 0 <= expires_s <= _SECONDS_MAX):
            raise Rejected("publications: expires_s is no time")
        expires = None if expires_s is None else UNIX_EPOCH + timedelta(seconds=expires_s)
        return Publish(cid, _text(entry, "class", _WORD), _text(entry, "query_hash", _HASH), expires)
    if kind == "retract":
        stone = entry["tombstone"]
        return Retract(cid, _text(entry, "reason", _WORD), None if stone is None else _cid(stone))
    if kind == "validate":
        return Validate(cid, _cid(entry["target"]), _one_of(entry, "verdict", _VERDICTS))
    subject = entry["subject"]
    public_key_of(subject if isinstance(subject, str) else "")
    return Key(cid, subject, _one_of(entry, "use", _USES))


_FIELDS: Mapping[str, frozenset[str]] = {
    "publish": frozenset({"kind", "cid", "class", "query_hash", "expires_s"}),
    "retract": frozenset({"kind", "cid", "reason", "tombstone"}),
    "validate": frozenset({"kind", "cid", "target", "verdict"}),
    "key": frozenset({"kind", "cid", "subject", "use"}),
}


def _cid(value: object) -> Cid:
    """A record's CID in its one spelling."""
    if not isinstance(value, str) or len(value) > 128:
        raise Rejected("publications: a CID is no text")
    cid = Cid.parse(value)
    if cid.codec != DAG_CBOR or cid.function != SHA2_256 or str(cid) != value:
        raise Rejected("publications: a CID that no record has")
    return cid


def _text(entry: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str:
    value = entry[name]
    if not isinstance(value, str) or not form.fullmatch(value):
        raise Rejected(f"publications: {name} does not have its form")
    return value


def _one_of(entry: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = entry[name]
    if value not in known:
        raise Rejected(f"publications: {name} is none of {', '.join(known)}")
    return str(value)
