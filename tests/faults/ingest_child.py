"""The other process of ``test_ingest_kill.py``: the real command, which kills itself in the import of a CAR.

    ingest_child.py MOMENT COMMAND ...

A batch has ``BATCH`` blocks here, so that an import takes many.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator
from typing import Any

from node import __main__
from node.app.transfer.car_file import CarFile
from node.store import imported_blocks
from node.store.imported_blocks import ForeignStore
from tests.faults.kill_kit import die

MOMENTS = (
    "nothing read",
    "some read",
    "in the first batch",
    "first batch committed",
    "in a batch",
    "batches committed",
    "all committed",
    "store closed",
)
"""In their order. ``store closed`` is behind the reply of a node, and for a command alone."""
BATCH = 64
LATER = 5
"""Batches that are stored whole before those moments that are in the middle."""


def dying_in_a_batch(batches: int) -> None:
    """Half of its blocks are written, and none of them committed."""
    real = imported_blocks._insert
    left = batches

    def insert(connection: sqlite3.Connection, blocks: Any, bytes_max: int) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            real(connection, blocks[: len(blocks) // 2], bytes_max)
            die()
        return real(connection, blocks, bytes_max)

    imported_blocks._insert = insert


def dying_behind_a_batch(batches: int) -> None:
    real = ForeignStore._insert
    left = batches

    async def insert(self: ForeignStore, blocks: Any) -> Any:
        nonlocal left
        done = await real(self, blocks)
        left -= 1
        if left == 0:
            die()
        return done

    setattr(ForeignStore, "_insert", insert)  # noqa: B010 - a method is replaced


def dying_as_it_reads(pieces: int) -> None:
    real = CarFile.take

    async def take(self: CarFile, chunks: AsyncIterator[bytes]) -> Any:
        async def read() -> AsyncIterator[bytes]:
            left = pieces
            async for chunk in chunks:
                yield chunk[: len(chunk) // 2] if left == 1 else chunk
                left -= 1
                if left <= 0:
                    die()

        if not pieces:
            die()
        return await real(self, read())

    setattr(CarFile, "take", take)  # noqa: B010 - as above


def dying_at_the_end(name: str, owner: type) -> None:
    real = getattr(owner, name)

    async def call(self: Any, *args: Any) -> Any:
        value = await real(self, *args)
        die()
        return value

    setattr(owner, name, call)


def arm(moment: str) -> None:
    """Have this process die there."""
    imported_blocks.BATCH_BLOCKS = BATCH
    {
        "nothing read": lambda: dying_as_it_reads(0),
        "some read": lambda: dying_as_it_reads(1),
        "in the first batch": lambda: dying_in_a_batch(1),
        "first batch committed": lambda: dying_behind_a_batch(1),
        "in a batch": lambda: dying_in_a_batch(LATER + 1),
        "batches committed": lambda: dying_behind_a_batch(LATER),
        "all committed": lambda: dying_at_the_end("add", ForeignStore),
        "store closed": lambda: dying_at_the_end("close", ForeignStore),
    }[moment]()


if __name__ == "__main__":
    moment, *sys.argv[1:] = sys.argv[1:]
    arm(moment)
    __main__.main()
