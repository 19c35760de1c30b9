"""The bytes of the decision log: canonical JSON lines, each bound to itself and to the one before.

Pure: no file, clock or randomness. It is all that the writer (``log``) and the checker (``verify``) share.

1. A line is RFC 8785 JSON ended by one LF: ``{"entry", "hash", "index", "prev", "time_us", "v"}``.
2. Values are integers of at most 2^53 - 1, ASCII text, booleans, null, lists and maps with ASCII keys. There
   are no floats, so sorted ``orjson`` output is byte-equal to RFC 8785.
3. ``hash`` is the hex SHA-256 of the same line without its ``hash`` member: a flipped byte shows in its own
   line, the last one included.
4. ``prev`` is the hex SHA-256 of the previous line's bytes without the LF; in line 0 it is the SHA-256 of
   ``neuroswarm/log/v1`` LF and the log's origin. A line that was exchanged whole shows in the next one.
5. ``index`` counts from 0. A line without its LF has at most 65,535 bytes.

What a chain cannot show: lines cut off at the end, or a rewrite of everything from some line on. That takes
checkpoints that others have signed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from node.errors import Rejected
from node.model import Json

VERSION = 1
FILE_NAME = "decisions.jsonl"
LINE_BYTES_MAX = 65_535
COMMITMENTS = "commitments"
"""The member of an entry that holds its keyed commitments; only the log fills it in."""
KEY_BYTES = 32

_INTEGER_MAX = 2**53 - 1  # beyond it RFC 8785 (IEEE doubles) is not exact
_DEPTH_MAX = 12
_HEAD = b'{"entry":'
_TAIL_BEGINS = b',"hash":"'
_NUMBER = rb"(0|[1-9][0-9]{0,15})"
_TAIL = re.compile(
    rb',"hash":"([0-9a-f]{64})","index":%b,"prev":"([0-9a-f]{64})","time_us":%b,"v":%d}'
    % (_NUMBER, _NUMBER, VERSION)
)
_ENVELOPE_BYTES_MAX = 256
"""More than everything but the entry can take in a line: two hashes, two numbers, six names."""

ENTRY_BYTES_MAX = LINE_BYTES_MAX - _ENVELOPE_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Frame:
    """One line that agrees with its own hash; ``entry`` is not read yet. ``digest`` is the next ``prev``."""

    index: int
    time_us: int
    prev: str
    entry: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class Link:
    """One line, read."""

    index: int
    time_us: int
    prev: str
    entry: Mapping[str, Any]
    digest: str


def commitment(key: bytes, text: str) -> str:
    """Hex HMAC-SHA-256 of ``text`` in UTF-8 under a 32-byte key; without the key it says nothing.

    A lone surrogate, which JSON input can smuggle in, is encoded rather than refused: every text commits.
    """
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def genesis(origin: str) -> str:
    """The ``prev`` of line 0."""
    return hashlib.sha256(b"neuroswarm/log/v1\n" + origin.encode()).hexdigest()


def digest_of(line: bytes) -> str:
    """The ``prev`` of the line after ``line`` (given without its LF)."""
    return hashlib.sha256(line).hexdigest()


def canonical(entry: Mapping[str, Json]) -> bytes:
    """RFC 8785 bytes of an entry. Raises ``Rejected`` (a float, not ASCII, too deep, too long)."""
    _check(entry, "entry", 0)
    try:
        data = orjson.dumps(entry, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as exc:
        raise Rejected(f"log: the entry cannot be written as JSON: {exc}") from exc
    if len(data) > ENTRY_BYTES_MAX:
        raise Rejected(f"log: an entry has {len(data)} bytes, more than {ENTRY_BYTES_MAX}")
    return data


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


def compose(entry: bytes, *, index: int, prev: str, time_us: int) -> bytes:
    """The line, without LF, of an entry that ``canonical`` wrote."""
    tail = b'"index":%d,"prev":"%b","time_us":%d,"v":%d}' % (index, prev.encode(), time_us, VERSION)
    body = b'{"entry":%b,%b' % (entry, tail)
    own = hashlib.sha256(body).hexdigest().encode()
    return b'{"entry":%b,"hash":"%b",%b' % (entry, own, tail)


def unframe(line: bytes) -> Frame:
    """Check one line (without LF) against its own hash. Raises ``Rejected`` with what is wrong with it.

    Reads no JSON: the members after the entry have one possible form, and quotes inside the entry's texts
    are escaped, so the last ``,"hash":"`` begins them.
    """
    if len(line) > LINE_BYTES_MAX:
        raise Rejected(f"the line is longer than {LINE_BYTES_MAX} bytes")
    at = line.rfind(_TAIL_BEGINS)
    match = _TAIL.fullmatch(line, at) if at > 0 and line.startswith(_HEAD) else None
    if match is None:
        raise Rejected("the line does not have the form of an entry")
    own, index, prev, moment = match.groups()
    body = line[: at + 1] + line[match.end(1) + 2 :]
    if hashlib.sha256(body).hexdigest().encode() != own:
        raise Rejected("the line's bytes do not match its own hash")
    return Frame(int(index), int(moment), prev.decode(), line[len(_HEAD) : at], digest_of(line))


def in_place(frame: Frame, *, index: int, prev: str) -> Frame:
    """Check that the line is number ``index``, after the line with digest ``prev``. Raises ``Rejected``."""
    if frame.index != index:
        raise Rejected(f"the line says that it is entry {frame.index}")
    if frame.prev != prev:
        raise Rejected("the line does not follow from the one before it")
    return frame


def read(frame: Frame) -> Link:
    """The entry itself, strictly: canonical bytes of allowed values. Raises ``Rejected``."""
    try:
        entry = orjson.loads(frame.entry)
    except orjson.JSONDecodeError as exc:
        raise Rejected("the entry is not JSON") from exc
    if not isinstance(entry, dict) or canonical(entry) != frame.entry:
        raise Rejected("the entry is not in canonical form")
    return Link(frame.index, frame.time_us, frame.prev, entry, frame.digest)
