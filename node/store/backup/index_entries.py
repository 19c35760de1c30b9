"""Takes entries out of a file in the format of the knowledge index, by their CIDs. Blocking."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import orjson

from node.core.errors import Rejected
from node.core.files import DISK, put, translated

_BYTES_MAX = 2**30


def names_any(path: Path, cids: Collection[str]) -> bool:
    """Whether one of these CIDs stands in the file. Raises ``Unavailable``."""
    with translated(f"{path} cannot be read"):
        data = DISK.read(path, _BYTES_MAX)
    return any(cid.encode() in data for cid in cids)


def take_out(path: Path, gone: Collection[str]) -> bool:
    """Whether the file was changed. Raises ``Rejected``, ``Unavailable``."""
    if not names_any(path, [cid for cid in gone if cid]):
        return False
    with translated(f"{path} cannot be read"):
        data = DISK.read(path, _BYTES_MAX)
    try:
        index = orjson.loads(data)
        index["entries"] = [one for one in index["entries"] if one.get("cid") not in gone]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as exc:
        raise Rejected(f"{path} is no index file any more: delete it") from exc
    put(path, orjson.dumps(index))
    return True
