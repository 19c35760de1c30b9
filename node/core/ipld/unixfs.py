"""UnixFS: what the data of a DAG-PB node says about the file or directory it is.

Source: UnixFS specification (specs.ipfs.tech/unixfs). Reads only; mode and time of change are passed over.
Pure and bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from node.core.errors import Rejected
from node.core.ipld import protobuf
from node.core.ipld.dagpb import PbNode
from node.core.ipld.limits import LINKS_MAX, check_bytes, check_links

_TYPE, _DATA, _FILESIZE, _BLOCKSIZES, _HASH_TYPE, _FANOUT = 1, 2, 3, 4, 5, 6
_NUMBERS = frozenset({_TYPE, _FILESIZE, _HASH_TYPE, _FANOUT})
_FIELDS_MAX = LINKS_MAX + 16
"""A size for each link, the other fields, and some of a later version."""


class Kind(IntEnum):
    RAW = 0
    DIRECTORY = 1
    FILE = 2
    METADATA = 3
    SYMLINK = 4
    HAMT = 5


RAW, DIRECTORY, FILE, METADATA, SYMLINK, HAMT = Kind
IS_FILE = frozenset({RAW, FILE})


@dataclass(frozen=True, slots=True)
class UnixFs:
    """``data``: bytes of the file that stand before its children's, the bit field of a shard, or the target
    of a symlink. ``filesize``: bytes of the whole file. ``blocksizes``: of each child, in the order of links.
    """

    kind: Kind
    data: bytes = b""
    filesize: int = 0
    blocksizes: tuple[int, ...] = ()
    hash_type: int | None = None
    fanout: int | None = None


def decode(data: bytes) -> UnixFs:
    """Raises ``Rejected``."""
    check_bytes(data)
    numbers: dict[int, int] = {}
    content: bytes | None = None
    sizes: list[int] = []
    for number, wire, count, value in protobuf.fields(data, _FIELDS_MAX):
        if number in _NUMBERS and wire == protobuf.VARINT and number not in numbers:
            numbers[number] = count
        elif number == _DATA and wire == protobuf.BYTES and content is None:
            content = value
        elif number == _BLOCKSIZES and wire == protobuf.VARINT:
            sizes.append(count)
        elif number == _BLOCKSIZES and wire == protobuf.BYTES:
            sizes.extend(protobuf.varints(value, LINKS_MAX))
        elif number <= _FANOUT:
            raise Rejected("UnixFS: a field is there twice or has the wrong type")
        check_links(len(sizes))
    try:
        kind = Kind(numbers[_TYPE])
    except (KeyError, ValueError) as exc:
        raise Rejected("UnixFS: the type is missing or not known") from exc
    return UnixFs(
        kind,
        content or b"",
        numbers.get(_FILESIZE, 0),
        tuple(sizes),
        numbers.get(_HASH_TYPE),
        numbers.get(_FANOUT),
    )


def of(node: PbNode) -> UnixFs:
    """What ``node`` is, where its links must fit what it says: a file has a size for each link, and a symlink
    has no links. Raises ``Rejected``, also for a node without UnixFS data."""
    if not node.data:
        raise Rejected("a DAG-PB node has no UnixFS data")
    found = decode(node.data)
    if found.kind in IS_FILE and len(found.blocksizes) != len(node.links):
        raise Rejected("UnixFS: a file has not one size for each link")
    if found.kind == SYMLINK and node.links:
        raise Rejected("UnixFS: a symlink has links")
    return found
