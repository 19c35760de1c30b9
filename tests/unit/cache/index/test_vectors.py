"""The keeper of one index: what it takes, what it lacks, and what happens between two of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.cache.index import vector_file
from node.cache.index.vectors import IndexKeeper, Lacking
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import StoredRecord
from node.core.record import Embedding
from node.store.remember import OWED
from tests.index_files import Loaded, load
from tests.record_builders import Author
from tests.references.record_store import MemoryRecords, MemoryStore
from tests.simulators.hash_embedder import HashEmbedder

US = Author(1)
MINE, OTHER = HashEmbedder(8, model="mine"), HashEmbedder(8, model="other")


def made_by(embedder: HashEmbedder, query: str) -> Embedding:
    info = embedder.info
    data = embedder.vector_of(query).astype("<f4").tobytes()
    return Embedding(info.model, info.digest, info.dim, data)


async def add(store: MemoryStore, query: str, by: HashEmbedder | None, **more: object) -> StoredRecord:
    record = US.answer(query, embedding=None if by is None else made_by(by, query))
    return await store.records.add(record, **more)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(own_issuer=US.did)


async def opened(folder: Path, store: MemoryStore) -> IndexKeeper:
    return await IndexKeeper.open(folder, MINE.info, store.records)


async def lacked(keeper: IndexKeeper, limit: int = 9) -> Lacking:
    found = await keeper.lacking(limit)
    assert found is not None
    return found


async def settle(keeper: IndexKeeper, lacking: Lacking) -> None:
    await keeper.settle(lacking, [MINE.vector_of(text) for text in lacking.texts])


async def catch_up(keeper: IndexKeeper, limit: int = 2) -> list[str]:
    """Embed all that is lacking; the texts."""
    texts: list[str] = []
    while (lacking := await keeper.lacking(limit)) is not None:
        texts += lacking.texts
        await settle(keeper, lacking)
    return texts


def files(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()}


async def test_what_is_taken_what_is_embedded_and_what_is_left_alone(
    tmp_path: Path, store: MemoryStore
) -> None:
    mine = await add(store, "mine", MINE)
    other = await add(store, "other", OTHER)
    owed = await add(store, "owed", None, kept={OWED: True})
    legacy = await add(store, "legacy", None, kept={"curator": "ana"})
    told = await add(store, "told", MINE, origin="did:key:peer")
    keeper = await opened(tmp_path, store)
    assert (len(keeper.index), keeper.total, keeper.done) == (1, 3, 0)
    assert await catch_up(keeper) == ["other", "owed", "told"]
    assert all(one.cid in keeper.index for one in (mine, other, owed, told))
    assert legacy.cid not in keeper.index
    assert (keeper.total, keeper.done) == (3, 3)
    assert await keeper.lacking(9) is None


async def test_the_file_holds_what_no_record_has_and_no_more_than_was_done(
    tmp_path: Path, store: MemoryStore
) -> None:
    for number in range(6):
        await add(store, f"q{number}", OTHER if number % 2 else MINE)
    keeper = await opened(tmp_path, store)
    lacking = await lacked(keeper, 2)
    assert lacking.texts == ["q1"]
    await settle(keeper, lacking)
    await keeper.save()
    again = await opened(tmp_path, store)
    assert len(again.index) == 4
    assert await catch_up(again) == ["q3", "q5"]
    await again.save()
    last = await opened(tmp_path, store)
    assert len(last.index) == 6
    assert await last.lacking(9) is None
    assert last.total == 0


async def test_a_record_withdrawn_while_its_question_is_embedded_is_dropped(
    tmp_path: Path, store: MemoryStore
) -> None:
    gone, stays = await add(store, "gone", OTHER), await add(store, "stays", OTHER)
    keeper = await opened(tmp_path, store)
    lacking = await lacked(keeper)
    await store.records.withdraw(gone.cid, "test")
    await keeper.follow()  # the withdrawal has been replayed before the vector comes
    await settle(keeper, lacking)
    assert (gone.cid in keeper.index, stays.cid in keeper.index) == (False, True)


@pytest.mark.parametrize("how", ["cancelled", "store away"])
async def test_vectors_whose_records_could_not_be_looked_at_wait_for_another_time(
    tmp_path: Path, store: MemoryStore, how: str
) -> None:
    class Stuck(MemoryRecords):
        async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
            if how == "store away":
                raise Unavailable("disk full")
            reached.set()
            await asyncio.Event().wait()
            return {}

    reached = asyncio.Event()
    await add(store, "q", OTHER)
    keeper = await opened(tmp_path, store)
    lacking = await lacked(keeper)
    keeper._records = Stuck(store, US.did)
    task = asyncio.create_task(settle(keeper, lacking))
    if how == "cancelled":
        await reached.wait()
        task.cancel()
    with pytest.raises((asyncio.CancelledError, Unavailable)):
        await task
    assert len(keeper.index) == 0
    keeper._records = store.records
    assert await catch_up(keeper) == ["q"]


async def test_a_record_written_while_others_are_embedded_is_met_in_its_turn(
    tmp_path: Path, store: MemoryStore
) -> None:
    await add(store, "first", OTHER)
    keeper = await opened(tmp_path, store)
    lacking = await lacked(keeper, 1)
    await add(store, "second", OTHER)
    await add(store, "third", MINE)
    await keeper.follow()
    await settle(keeper, lacking)
    assert await catch_up(keeper) == ["second"]
    assert len(keeper.index) == 3


async def test_a_vector_that_cannot_be_taken_stops_nothing(tmp_path: Path, store: MemoryStore) -> None:
    long = replace(made_by(MINE, "q"), vector=(MINE.vector_of("q") * 9).astype("<f4").tobytes())
    await store.records.add(US.answer("q", embedding=long))
    await add(store, "sound", MINE)
    keeper = await opened(tmp_path, store)
    assert len(keeper.index) == 1
    assert await keeper.lacking(9) is None


async def test_two_saves_and_a_cancelled_one_leave_a_whole_file(tmp_path: Path, store: MemoryStore) -> None:
    for number in range(50):
        await add(store, f"q{number}", MINE)
    keeper = await opened(tmp_path, store)
    saves = [asyncio.create_task(keeper.save()) for _ in range(4)]
    await asyncio.sleep(0.001)
    saves[0].cancel()
    saves[2].cancel()
    await asyncio.gather(*saves, return_exceptions=True)
    path = vector_file.path_for(tmp_path, MINE.info.digest)
    loaded = load(path, model_digest=MINE.info.digest, dim=8)
    assert isinstance(loaded, Loaded)
    assert len(loaded.index) == 50
    assert files(tmp_path) == {path.name}


async def test_files_of_other_models_are_removed_and_nothing_else(tmp_path: Path, store: MemoryStore) -> None:
    keeper = await opened(tmp_path, store)
    await keeper.save()
    other = vector_file.path_for(tmp_path, OTHER.info.digest)
    for name in (other.name, f"{other.name}.tmp", "notes.txt", f"{other.name}.backup"):
        (tmp_path / name).write_bytes(b"x")
    await keeper.remove_others()
    own = vector_file.path_for(tmp_path, MINE.info.digest).name
    assert files(tmp_path) == {own, "notes.txt", f"{other.name}.backup"}


async def test_following_leaves_a_row_that_is_there_where_it_is(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = await opened(tmp_path, store)
    kept = await add(store, "mine", MINE)
    keeper.add(kept, MINE.vector_of("mine"))
    added: list[Cid] = []
    monkeypatch.setattr(keeper.index, "add", lambda cid, *_, **__: added.append(cid))
    assert await keeper.follow() == (0, 0)
    assert added == [], "in a graph the row would be killed and linked anew"
