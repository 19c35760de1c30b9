"""CARs of blocks that say their number."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from node.core.ipld.car import CarReader, header, section
from node.core.ipld.cid import RAW, Cid


def block(number: int, size: int = 1_000) -> tuple[Cid, bytes]:
    data = (number.to_bytes(8, "big") * (size // 8 + 1))[:size]
    return Cid.of(data, RAW), data


def write_car(path: Path, blocks: Iterable[tuple[Cid, bytes]], root: Cid | None = None) -> Path:
    blocks = list(blocks)
    path.write_bytes(header([root or blocks[0][0]]) + b"".join(section(*one) for one in blocks))
    return path


def read_car(data: bytes) -> tuple[tuple[Cid, ...], list[tuple[Cid, bytes]]]:
    """The roots and blocks of a whole CAR, each checked."""
    reader = CarReader()
    blocks = reader.feed(data)
    reader.finish()
    assert reader.roots is not None
    return reader.roots, blocks
