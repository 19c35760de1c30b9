"""DAG-JSON: read for its links and for paths into it, and written to show what a block holds.

Source: DAG-JSON specification of IPLD. Order of keys and white space are free in what is read, as it asks of
decoders, and sorted by bytes and absent in what is written; the reserved namespace (``{"/": …}``), doubled
keys and numbers outside the data model are refused. Pure and bounded: bytes, depth and items are checked
before the text is parsed.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.limits import ITEMS_MAX, check_bytes, check_links

DEPTH_MAX = 256
"""Well inside the interpreter's own limit, so that a value is read or not whatever called for it."""

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\(?:.|\Z))*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
"""A string also when it is open, up to the end, so that a search never starts twice over the same bytes; and
possessive, so that none is taken back."""


def _check_shape(data: bytes) -> None:
    depth = items = 0
    for token in _TOKEN.finditer(data):
        char = data[token.start()]
        if char in b"[{":
            depth += 1
            if depth > DEPTH_MAX:
                raise Rejected(f"DAG-JSON: nested deeper than {DEPTH_MAX}")
        elif char in b"]}":
            depth -= 1
            if depth < 0:
                raise Rejected("DAG-JSON: a bracket closes that was not opened")
            continue
        items += 1
        if items > ITEMS_MAX:
            raise Rejected(f"DAG-JSON: more than {ITEMS_MAX} strings, lists, maps and commas")


def _decode_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as exc:
        raise Rejected("DAG-JSON: bytes are not base64") from exc


def _no_constant(name: str) -> Any:
    raise Rejected(f"DAG-JSON: {name} is not in the data model")


def decode(data: bytes) -> tuple[Any, list[Cid]]:
    """The value, where links are ``Cid`` and bytes are bytes, and the links in their order.

    Raises ``Rejected``.
    """
    check_bytes(data)
    _check_shape(data)
    links: list[Cid] = []

    def value_of(pairs: list[tuple[str, Any]]) -> Any:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise Rejected("DAG-JSON: a map has a key twice")
        if not pairs or pairs[0][0] != "/":
            return value
        inner = pairs[0][1]
        if isinstance(inner, str):
            if len(pairs) > 1:
                raise Rejected("DAG-JSON: a link has other keys beside it")
            cid = Cid.parse(inner, any_hash=True)
            if str(cid) != inner:
                raise Rejected("DAG-JSON: a link is in another base than base32 or base58")
            links.append(cid)
            check_links(len(links))
            return cid
        if isinstance(inner, dict) and next(iter(inner), None) == "bytes" and isinstance(inner["bytes"], str):
            if len(pairs) > 1 or len(inner) > 1:
                raise Rejected("DAG-JSON: bytes have other keys beside them")
            return _decode_bytes(inner["bytes"])
        return value

    try:
        value = json.loads(data.decode(), object_pairs_hook=value_of, parse_constant=_no_constant)
    except ValueError as exc:
        raise Rejected("a block is not DAG-JSON") from exc
    return value, links


def encode(value: Any) -> bytes:
    """What ``decode`` reads as ``value``, in the one form that the specification has for it.

    Takes what ``decode`` and ``dagcbor.decode_foreign`` give. Raises ``Rejected`` for what DAG-JSON cannot
    say: a map in the reserved namespace, a number that is none, nesting deeper than ``DEPTH_MAX``.
    """
    try:
        # By code points, which is the order of their UTF-8.
        text = json.dumps(
            _plain(value, 0), allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        return text.encode()
    except ValueError as exc:
        raise Rejected(f"not encodable as DAG-JSON: {exc}") from exc


def _plain(value: Any, depth: int) -> Any:
    """``depth``: of the lists and maps around it."""
    if isinstance(value, Cid):
        return {"/": str(value)}
    if isinstance(value, bytes):
        return {"/": {"bytes": base64.b64encode(value).decode().rstrip("=")}}
    if not isinstance(value, dict | list):
        return value
    if depth == DEPTH_MAX:
        raise Rejected(f"DAG-JSON: nested deeper than {DEPTH_MAX}")
    if isinstance(value, list):
        return [_plain(one, depth + 1) for one in value]
    inner = value.get("/")
    if isinstance(inner, str) or (isinstance(inner, dict) and isinstance(inner.get("bytes"), str)):
        raise Rejected("DAG-JSON: a map has the form that is reserved for links and bytes")
    return {key: _plain(one, depth + 1) for key, one in value.items()}
