"""A small file of state, read whole within a bound. Blocking. Must not know: what the state means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import orjson

from node.core.errors import Rejected
from node.core.files import DISK, translated

T = TypeVar("T")


def read(path: Path, bytes_max: int) -> bytes | None:
    """At most ``bytes_max`` + 1 bytes, so that a longer file shows; None where there is none. Raises
    ``Unavailable``."""
    with translated(f"{path} cannot be read"):
        try:
            return DISK.read(path, bytes_max)
        except FileNotFoundError:
            return None


def read_json(path: Path, bytes_max: int, parse: Callable[[Any], T]) -> T | None:
    """What ``parse`` makes of the JSON in a file; None where there is none. Raises ``Rejected`` for a file
    that is something else, ``Unavailable``."""
    data = read(path, bytes_max)
    if data is None:
        return None
    try:
        return parse(orjson.loads(data))
    except (AttributeError, KeyError, TypeError, ValueError, Rejected) as exc:
        raise Rejected(f"{path} is unreadable: {exc}") from exc
