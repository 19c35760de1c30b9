"""DAG-PB: the blocks that UnixFS files and directories are made of.

Source: DAG-PB specification of IPLD. Strict as it asks for: only the fields of its two messages, none twice,
a link's fields in their order, every link with a CID; links and data in either order, but not interleaved.
The order of links is kept and not checked: sorting is the encoder's part. Pure and bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from node.core.errors import Rejected
from node.core.ipld import protobuf
from node.core.ipld.cid import Cid
from node.core.ipld.limits import LINKS_MAX, check_bytes, check_links

_DATA = 1
_LINKS = 2
_HASH, _NAME, _TSIZE = 1, 2, 3
_LINK_FIELDS_MAX = 4
"""One more than a link can have, so that the reason is named."""
_TSIZE_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class PbLink:
    """``size``: what the maker says that everything below takes, in bytes; a hint that nobody checked."""

    cid: Cid
    name: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class PbNode:
    data: bytes | None
    links: tuple[PbLink, ...]


def decode(data: bytes) -> PbNode:
    """Raises ``Rejected`` for what is no canonical DAG-PB or over the limits."""
    check_bytes(data)
    content: bytes | None = None
    links: list[PbLink] = []
    links_ended = False
    for number, wire, _, value in protobuf.fields(data, LINKS_MAX + 2):
        if number not in (_DATA, _LINKS) or wire != protobuf.BYTES:
            raise Rejected("DAG-PB: a node has a field that does not belong there")
        if number == _DATA:
            if content is not None:
                raise Rejected("DAG-PB: a node has its data twice")
            content = value
            links_ended = bool(links)
        else:
            if links_ended:
                raise Rejected("DAG-PB: a node's links stand on both sides of its data")
            links.append(_decode_link(value))
            check_links(len(links))
    return PbNode(content, tuple(links))


def _decode_link(data: bytes) -> PbLink:
    cid: Cid | None = None
    name: str | None = None
    size: int | None = None
    before = 0
    for number, wire, count, value in protobuf.fields(data, _LINK_FIELDS_MAX):
        if number <= before:
            raise Rejected("DAG-PB: a link has a field twice or out of order")
        before = number
        if number == _HASH and wire == protobuf.BYTES:
            cid = Cid.from_bytes(value, any_hash=True)
        elif number == _NAME and wire == protobuf.BYTES:
            try:
                name = value.decode()
            except UnicodeDecodeError as exc:
                raise Rejected("DAG-PB: a link's name is not UTF-8") from exc
        elif number == _TSIZE and wire == protobuf.VARINT:
            size = count
        else:
            raise Rejected("DAG-PB: a link has a field that does not belong there")
    if cid is None:
        raise Rejected("DAG-PB: a link has no CID")
    return PbLink(cid, name, size)


def encode(node: PbNode) -> bytes:
    """The canonical bytes: links first, sorted by the bytes of their names. Raises ``Rejected`` for what is
    over the limits of ``decode``."""
    check_links(len(node.links))
    parts = [protobuf.bytes_field(_LINKS, _encode_link(link)) for link in sorted(node.links, key=_name)]
    if node.data is not None:
        parts.append(protobuf.bytes_field(_DATA, node.data))
    data = b"".join(parts)
    check_bytes(data)
    return data


def _name(link: PbLink) -> bytes:
    try:
        return (link.name or "").encode()
    except UnicodeEncodeError as exc:
        raise Rejected("DAG-PB: a link's name is not UTF-8") from exc


def _encode_link(link: PbLink) -> bytes:
    parts = [protobuf.bytes_field(_HASH, bytes(link.cid))]
    if link.name is not None:
        parts.append(protobuf.bytes_field(_NAME, _name(link)))
    if link.size is not None:
        if not 0 <= link.size <= _TSIZE_MAX:
            raise Rejected("DAG-PB: a link's size is out of range")
        parts.append(protobuf.number_field(_TSIZE, link.size))
    return b"".join(parts)
