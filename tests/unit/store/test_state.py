"""The small tables: meta and requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.store.state import StateStore


async def test_meta_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    state = await StateStore.open(path)
    assert await state.get_meta("imported") is None
    await state.set_meta("imported", "60")
    await state.set_meta("imported", "61")
    await state.close()
    state = await StateStore.open(path)
    assert await state.get_meta("imported") == "61"
    for key, value in (("k" * 300, "v"), ("k", "\ud800")):
        with pytest.raises(Rejected):
            await state.set_meta(key, value)
    await state.close()
    await state.close()
    with pytest.raises(Unavailable):
        await state.get_meta("imported")


async def test_requests_are_remembered_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    state = await StateStore.open(path, requests_max=3)
    cids = [Cid.of(str(i).encode(), RAW if i % 2 else 0x71) for i in range(5)]
    for number, cid in enumerate(cids):
        await state.remember_request(f"r{number}", cid)
    await state.remember_request("r2", cids[0])
    assert [await state.cid_of_request(f"r{i}") for i in range(5)] == [None, None, cids[0], cids[3], cids[4]]
    await state.close()
    state = await StateStore.open(path, requests_max=3)
    await state.remember_request("r9", cids[1])
    assert await state.cid_of_request("r3") is None
    assert await state.cid_of_request("r9") == cids[1]
    with pytest.raises(Rejected):
        await state.remember_request("r" * 300, cids[0])
    await state.close()
