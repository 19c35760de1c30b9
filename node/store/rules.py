"""What every record store does alike, without I/O: check a record on its way in, say whose word withdraws.

Rules:
1. A record enters only as the bytes that strict decoding accepts, signature included; what is kept is
   what those bytes say.
2. Our own word is a record of our issuer that our own code brought in (``origin`` local). A record that
   merely claims our issuer is a stranger's: ``issuer`` is text until the peers room has checked the
   certificate of ``key``.
3. A tombstone withdraws its target when it is our own word or comes from the target's issuer; nobody
   else can take a record from anybody.
4. A verdict ``invalid`` withdraws its target when it is our own word. Our own verdicts are counted each, for
   they are our users' feedback; others' once per issuer, the latest.
5. Withdrawn is for good: an equal record that arrives again stays withdrawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from node.errors import Rejected
from node.ipfs.cid import Cid
from node.model import Json
from node.record import QUERY_CHARS_MAX, Record, block_of, decode

LOCAL = "local"
LIVE = "live"
WITHDRAWN = "withdrawn"
FIND_COLUMNS = ("query_hash", "slot_key", "keyword_key")
LIMIT_MAX = 10_000
SCOPES_MAX = 64
KEPT_BYTES_MAX = 256 * 1024
_ORIGIN_CHARS_MAX = 256


@dataclass(frozen=True, slots=True)
class Checked:
    """A record that may be stored: ``record`` is what ``data`` decodes to."""

    cid: Cid
    data: bytes
    record: Record
    origin: str
    keyword_key: str | None
    kept: bytes | None


def check(
    record: Record, *, origin: str, keyword_key: str | None, kept: Mapping[str, Json] | None
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
    return Checked(cid, data, decode(data), origin, keyword_key, kept_json)


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
    if scopes > SCOPES_MAX:
        raise Rejected(f"at most {SCOPES_MAX} scopes are searched at once")


def clamp_limit(limit: int) -> int:
    """A limit within what one call may return."""
    return max(0, min(limit, LIMIT_MAX))
