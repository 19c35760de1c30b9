"""An import that finds no room gives back what it had begun to take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node.app.transfer.car_file import CarFile
from node.core.errors import Rejected, Unavailable
from node.core.ipld.car import header, section
from node.core.ipld.cid import RAW, Cid
from node.store.imported_blocks import ForeignStore
from tests.manual_clock import ManualClock


class Names:
    async def put(self, name: Any, data: bytes, *, by_operator: bool) -> bool:
        raise AssertionError("no name is given here")


async def pieces(*more: bytes) -> AsyncIterator[bytes]:
    data = b"leaf"
    cid = Cid.of(data, RAW)
    yield header([cid]) + section(cid, data)
    for one in more:
        yield one


async def full() -> AsyncIterator[bytes]:
    async for piece in pieces():
        yield piece
    raise Unavailable("the disk is full")


@pytest.mark.parametrize("scrub_fails", [False, True])
async def test_its_write_ahead_log_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scrub_fails: bool
) -> None:
    store = await ForeignStore.open(tmp_path / "foreign.sqlite", bytes_max=2**20)
    real, scrubbed = store.scrub, 0

    async def scrub() -> None:
        nonlocal scrubbed
        scrubbed += 1
        if scrub_fails:
            raise Unavailable("the disk is full")
        await real()

    monkeypatch.setattr(store, "scrub", scrub)
    file = CarFile(store, Names(), None, ManualClock())  # type: ignore[arg-type] # it is not reached
    with pytest.raises(Unavailable, match="the disk is full; nothing was stored"):
        await file.take(full())
    assert scrubbed == 1
    with pytest.raises(Rejected):
        await file.take(pieces(b"\x05no"))
    assert scrubbed == 1, "what is refused has begun nothing"
    assert (await file.take(pieces())).blocks == 1
    await store.close()
