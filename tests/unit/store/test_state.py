"""The small tables: meta and requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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
        state.remember_request(f"r{number}", cid)
    state.remember_request("r2", cids[2])
    assert [await state.cid_of_request(f"r{i}") for i in range(5)] == [None, None, cids[2], cids[3], cids[4]]
    await state.close()
    state = await StateStore.open(path, requests_max=3)
    assert [await state.cid_of_request(f"r{i}") for i in range(5)] == [None, None, cids[2], cids[3], cids[4]]
    state.remember_request("r9", cids[1])
    assert await state.cid_of_request("r9") == cids[1]
    with pytest.raises(Rejected):
        state.remember_request("r" * 300, cids[0])
    await state.close()
    state = await StateStore.open(path, requests_max=3)
    assert await state.cid_of_request("r3") is None
    assert await state.cid_of_request("r9") == cids[1]
    await state.close()


async def test_requests_are_written_together_soon_after_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.store.state.FLUSH_S", 0.01)
    path = tmp_path / "state.sqlite"
    state, cid = await StateStore.open(path), Cid.of(b"x", RAW)
    for number in range(300):
        state.remember_request(f"r{number}", cid)
    commits = state._file.commits
    other = await StateStore.open(path)
    async with asyncio.timeout(60):
        while await other.cid_of_request("r299") is None:
            await asyncio.sleep(0.01)
    assert state._file.commits == commits + 1
    assert await other.cid_of_request("r0") == cid
    await other.close()
    await state.close()


async def test_what_comes_while_others_are_written_is_written_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.store.state.FLUSH_S", 0.01)
    state, cid = await StateStore.open(tmp_path / "state.sqlite"), Cid.of(b"x", RAW)
    write = state._file.write

    async def meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(state._file, "write", write)
        state.remember_request("late", cid)
        return await write(*given)

    monkeypatch.setattr(state._file, "write", meanwhile)
    state.remember_request("early", cid)
    async with asyncio.timeout(60):
        while state._waiting:
            await asyncio.sleep(0.01)
    assert await state.cid_of_request("early") == await state.cid_of_request("late") == cid
    await state.close()


@pytest.mark.parametrize("is_written_between", [False, True])
async def test_a_request_id_that_several_records_answered_names_none(
    tmp_path: Path, is_written_between: bool
) -> None:
    path = tmp_path / "state.sqlite"
    first, other = Cid.of(b"first", RAW), Cid.of(b"other", RAW)
    state = await StateStore.open(path)
    state.remember_request("reused", first)
    state.remember_request("repeated", first)
    if is_written_between:
        await state.close()
        state = await StateStore.open(path)
    state.remember_request("reused", other)
    state.remember_request("repeated", first)
    for _ in range(2):  # while they wait to be written, and after
        with pytest.raises(Rejected, match="several requests had this id"):
            await state.cid_of_request("reused")
        assert await state.cid_of_request("repeated") == first
        await state.close()
        state = await StateStore.open(path)
    state.remember_request("reused", first)  # it stays so
    with pytest.raises(Rejected):
        await state.cid_of_request("reused")
    await state.close()
