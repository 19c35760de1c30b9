"""The bytes of one leaf of the decision log: canonical JSON, with commitments for what must not be readable.

Pure: no file, clock or randomness.

1. A leaf is RFC 8785 JSON: ``{"entry": {…}, "seq": <index>, "time_us": <µs since 1970 UTC>, "v": 2}``, at
   most 65,535 bytes (the two-byte length of an entry bundle, C2SP tlog-tiles).
2. Values are integers of at most 2^53 - 1, ASCII text, booleans, null, lists and maps with ASCII keys. There
   are no floats, so sorted ``orjson`` output is byte-equal to RFC 8785.
3. A commitment is HMAC-SHA-256 of a text under the 32-byte key of its entry, in hex, in the entry's member
   ``commitments``. Without the key it says nothing: a plain hash of a short question could be guessed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from node.core.errors import Rejected
from node.core.model import Json

VERSION = 2
LEAF_BYTES_MAX = 65_535
COMMITMENTS = "commitments"
"""The member of an entry that holds its keyed commitments; only the log fills it in."""
KEY_BYTES = 32

_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_BLOCK_BYTES = hashlib.sha256().block_size
_INTEGER_MAX = 2**53 - 1  # beyond it RFC 8785 (IEEE doubles) is not exact
_DEPTH_MAX = 12
_HEAD = b'{"entry":'
_NUMBER = rb"(0|[1-9][0-9]{0,15})"
_TAIL = re.compile(rb',"seq":%b,"time_us":%b,"v":%d}' % (_NUMBER, _NUMBER, VERSION))
_TAIL_BEGINS = b',"seq":'
_ENVELOPE_BYTES_MAX = 80
"""More than everything but the entry can take in a leaf: two numbers of 16 digits, four names."""

ENTRY_BYTES_MAX = LEAF_BYTES_MAX - _ENVELOPE_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf, read. ``seq`` is its index in its log."""

    seq: int
    time_us: int
    entry: Mapping[str, Any]


def commitment(key: bytes, text: str) -> str:
    """Hex HMAC-SHA-256 of ``text`` in UTF-8 under a 32-byte key.

    A lone surrogate, which JSON input can smuggle in, is encoded rather than refused: every text commits.
    """
    return hmac.digest(key, encoded(text), "sha256").hex()


def encoded(text: str) -> bytes:
    """What is committed to."""
    return text.encode("utf-8", "surrogatepass")


def commitments(key: bytes, texts: Iterable[bytes]) -> list[str]:
    """``commitment`` of each, encoded before. What HMAC (RFC 2104) does with the key is done once for all of
    them: that takes a third of the time."""
    block = key.ljust(_BLOCK_BYTES, b"\0")
    inner, outer = hashlib.sha256(block.translate(_INNER)), hashlib.sha256(block.translate(_OUTER))
    found = []
    for text in texts:
        within, around = inner.copy(), outer.copy()
        within.update(text)
        around.update(within.digest())
        found.append(around.hexdigest())
    return found


def canonical(entry: Mapping[str, Json]) -> bytes:
    """RFC 8785 bytes of an entry. Raises ``Rejected`` (a float, not ASCII, too deep, too long)."""
    if not _holds_plain(entry.values(), 0):
        _check(entry, "entry", 0)
    try:
        data = orjson.dumps(entry, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError as exc:
        _check(entry, "entry", 0)
        raise Rejected(f"log: the entry cannot be written as JSON: {exc}") from exc
    if not data.isascii():
        _check(entry, "entry", 0)
    if len(data) > ENTRY_BYTES_MAX:
        raise Rejected(f"log: an entry has {len(data)} bytes, more than {ENTRY_BYTES_MAX}")
    return data


_PLAIN = frozenset({str, int, bool, type(None)})


def _holds_plain(values: Iterable[object], depth: int) -> bool:
    """Whether ``_check`` has nothing to say of their types and depth; the rest is seen in the bytes."""
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        if inner is None or depth + 1 >= _DEPTH_MAX or not _holds_plain(inner, depth + 1):
            return False
    return True


def _check(value: object, where: str, depth: int) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if not value.isascii():
            raise Rejected(f"log: {where} is not ASCII")
    elif isinstance(value, int):
        if not -_INTEGER_MAX <= value <= _INTEGER_MAX:
            raise Rejected(f"log: {where} is an integer outside +-(2^53 - 1)")
    elif depth >= _DEPTH_MAX:
        raise Rejected(f"log: nested deeper than {_DEPTH_MAX}")
    elif isinstance(value, list):
        for item in value:
            _check(item, where, depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str) or not name.isascii():
                raise Rejected(f"log: a key in {where} is not ASCII text")
            _check(item, name, depth + 1)
    else:
        raise Rejected(f"log: {where} is a {type(value).__name__}, which entries do not hold")


def compose(entry: bytes, seq: int, time_us: int) -> bytes:
    """The leaf of an entry that ``canonical`` wrote."""
    return b'{"entry":%b,"seq":%d,"time_us":%d,"v":%d}' % (entry, seq, time_us, VERSION)


def read_leaf(data: bytes) -> Leaf:
    """One leaf, strictly: the one canonical form of allowed values. Raises ``Rejected``.

    Whether ``seq`` is the index that it was found at is for the caller to compare.
    """
    if len(data) > LEAF_BYTES_MAX:
        raise Rejected(f"log: the leaf is longer than {LEAF_BYTES_MAX} bytes")
    at = data.rfind(_TAIL_BEGINS)  # quotes inside the entry's texts are escaped: the last one begins the tail
    match = _TAIL.fullmatch(data, at) if at > 0 and data.startswith(_HEAD) else None
    if match is None:
        raise Rejected("log: the leaf does not have the form of one")
    body = data[len(_HEAD) : at]
    try:
        entry = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise Rejected("log: the leaf's entry is not JSON") from exc
    if not isinstance(entry, dict) or canonical(entry) != body:
        raise Rejected("log: the leaf is not in canonical form")
    seq, moment = (int(number) for number in match.groups())
    if max(seq, moment) > _INTEGER_MAX:
        raise Rejected("log: the leaf has an integer beyond 2^53 - 1")
    return Leaf(seq, moment, entry)
