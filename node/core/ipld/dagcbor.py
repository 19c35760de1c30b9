"""Canonical DAG-CBOR by ``cbrrr``, with the bounds that the library leaves to its caller.

cbrrr refuses duplicate or unsorted keys, non-minimal integers, short floats, NaN, indefinite lengths,
tags other than 42, non-string keys and trailing bytes. It does accept very deep nesting, integers down to
-2^64 and any bytes as a link, so depth, size, number of items and links are checked here; the first three
before anything is built.

``encode`` and ``decode`` are for what this node makes and stores as records; ``decode_foreign`` reads blocks
of others, which may be larger and deeper but are as strictly canonical (DAG-CBOR specification, Strictness).
"""

from __future__ import annotations

from typing import Any

import cbrrr

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.limits import ITEMS_MAX, check_bytes, check_links

BLOCK_BYTES_MAX = 256 * 1024
DEPTH_MAX = 16

FOREIGN_DEPTH_MAX = 1_024

_CONTAINERS = (4, 5)
_TAG = 6


def link(cid: Cid | None) -> cbrrr.CID | None:
    """A CID as a value of a block."""
    return None if cid is None else cbrrr.CID(bytes(cid))


def linked(value: object, codec: int, name: str) -> Cid:
    """The CID that a value of the block ``name`` links to, a block of ``codec``. Raises ``Rejected``."""
    if not isinstance(value, cbrrr.CID):
        raise Rejected(f"{name} has something else where a link belongs")
    cid = Cid.from_bytes(value.cid_bytes)
    if cid.codec != codec:
        raise Rejected(f"{name} links to a block of codec {cid.codec:#x}")
    return cid


def _check_shape(data: bytes, depth_max: int) -> None:
    """Walk the heads once, without recursion, and refuse nesting deeper than ``depth_max`` and more items
    than ``ITEMS_MAX``."""
    open_items: list[int] = []
    offset = announced = 0
    while offset < len(data):
        head = data[offset]
        major, minor = head >> 5, head & 0x1F
        offset += 1
        length = minor
        if 24 <= minor <= 27:
            width = 1 << (minor - 24)
            length = int.from_bytes(data[offset : offset + width], "big")
            offset += width
        elif minor > 27:
            raise Rejected("DAG-CBOR: indefinite lengths are not allowed")
        if major in (2, 3):
            offset += length
        elif major in _CONTAINERS:
            items = length * (2 if major == 5 else 1)
            if items:
                announced += items
                if announced > ITEMS_MAX:
                    raise Rejected(f"DAG-CBOR: more than {ITEMS_MAX} items in a block")
                open_items.append(items)
                if len(open_items) > depth_max:
                    raise Rejected(f"DAG-CBOR: nested deeper than {depth_max}")
                continue
        elif major == _TAG:
            continue
        while open_items:
            open_items[-1] -= 1
            if open_items[-1]:
                break
            open_items.pop()
        if not open_items:
            return


def encode(value: Any) -> bytes:
    """Canonical bytes of ``value`` (maps with text keys, lists, text, bytes, ints, bools, None)."""
    try:
        data: bytes = cbrrr.encode_dag_cbor(value)
    except (TypeError, ValueError, OverflowError) as exc:
        raise Rejected(f"not encodable as DAG-CBOR: {exc}") from exc
    if len(data) > BLOCK_BYTES_MAX:
        raise Rejected(f"a block of {len(data)} bytes is over the limit of {BLOCK_BYTES_MAX}")
    return data


def decode(data: bytes) -> Any:
    """Strict decode of untrusted bytes. Raises ``Rejected``; never recurses, never over-allocates."""
    if len(data) > BLOCK_BYTES_MAX:
        raise Rejected(f"a block of {len(data)} bytes is over the limit of {BLOCK_BYTES_MAX}")
    _check_shape(data, DEPTH_MAX)
    try:
        return cbrrr.decode_dag_cbor(data)
    except (TypeError, ValueError, OverflowError) as exc:
        raise Rejected(f"not canonical DAG-CBOR: {exc}") from exc


def decode_foreign(data: bytes) -> tuple[Any, list[Cid]]:
    """Strict decode of a block of others: its value, where links are ``Cid``, and the links in their order.

    Raises ``Rejected``, also for a link that is no CID.
    """
    check_bytes(data)
    _check_shape(data, FOREIGN_DEPTH_MAX)
    links: list[Cid] = []

    def link(binary: bytes) -> Cid:
        cid = Cid.from_bytes(binary, any_hash=True)
        links.append(cid)
        check_links(len(links))
        return cid

    try:
        return cbrrr.decode_dag_cbor(data, cid_ctor=link), links
    except (TypeError, ValueError, OverflowError) as exc:
        raise Rejected(f"not canonical DAG-CBOR: {exc}") from exc
