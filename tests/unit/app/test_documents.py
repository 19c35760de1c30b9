"""A damaged store of documents is put aside, and a new one begun."""

from __future__ import annotations

from pathlib import Path

from node.app.data_files import renewed
from node.core.clock import SystemClock
from node.knowledge.store import DocumentStore


async def test_a_damaged_store_is_put_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite"
    await (await DocumentStore.open(path)).close()
    data = bytearray(path.read_bytes())
    data[20_000:60_000] = b"\xff" * 40_000
    path.write_bytes(data)
    store, is_renewed = await renewed(path, SystemClock(), lambda: DocumentStore.open(path))
    assert is_renewed
    assert (await store.counts())["documents"] == 0
    [kept] = (tmp_path / "damaged").iterdir()
    assert kept.read_bytes() == bytes(data)
    await store.close()
