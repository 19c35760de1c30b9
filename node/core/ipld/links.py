"""What a block links to, and how far a path goes inside it, whatever its codec.

Pure. The block is taken as already checked against its CID. Codecs: raw, CBOR and JSON (which have no
links), DAG-PB, DAG-CBOR and DAG-JSON; UnixFS paths are the business of ``unixfs`` and ``hamt``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from node.core.errors import Rejected
from node.core.ipld import dagcbor, dagjson, dagpb
from node.core.ipld.cid import CBOR, DAG_CBOR, DAG_JSON, DAG_PB, JSON, RAW, Cid

_LEAVES = frozenset({RAW, CBOR, JSON})


@dataclass(frozen=True, slots=True)
class Step:
    """Where a path got to inside one block: at a ``link`` after ``used`` segments, or at a value.

    ``link`` is None and ``used`` less than the number of segments: there is no such path.
    """

    link: Cid | None
    used: int


def links(cid: Cid, data: bytes) -> list[Cid]:
    """The links of a block in the order of its bytes, with repetitions. Raises ``Rejected`` for a block that
    is not in its codec's form, and for a codec that is not known here."""
    if cid.codec in _LEAVES:
        return []
    if cid.codec == DAG_PB:
        return [link.cid for link in dagpb.decode(data).links]
    return _decode(cid, data)[1]


def step(cid: Cid, data: bytes, segments: Sequence[str]) -> Step:
    """Follow ``segments`` through the maps and lists of a DAG-CBOR or DAG-JSON block up to the first link.

    A list is indexed by its decimal number, from 0. Raises ``Rejected`` as ``links`` does.
    """
    if cid.codec in _LEAVES:
        return Step(None, 0)
    value = _decode(cid, data)[0]
    for used, segment in enumerate(segments):
        if isinstance(value, Cid):
            return Step(value, used)
        if isinstance(value, dict) and segment in value:
            value = value[segment]
        elif isinstance(value, list) and _is_index(segment, len(value)):
            value = value[int(segment)]
        else:
            return Step(None, used)
    return Step(value if isinstance(value, Cid) else None, len(segments))


def _decode(cid: Cid, data: bytes) -> tuple[Any, list[Cid]]:
    if cid.codec == DAG_CBOR:
        return dagcbor.decode_foreign(data)
    if cid.codec == DAG_JSON:
        return dagjson.decode(data)
    raise Rejected(f"links of blocks with codec 0x{cid.codec:x} cannot be read here")


def _is_index(segment: str, length: int) -> bool:
    """Canonical decimal within the list; bounded before it is turned into a number."""
    if not (segment.isascii() and segment.isdecimal() and len(segment) <= 9):
        return False
    return str(int(segment)) == segment and int(segment) < length
