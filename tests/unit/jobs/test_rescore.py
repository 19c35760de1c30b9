"""Answers that an older rule let in are judged again, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from node.cache.keys import keyword_key
from node.governance.memory import MemoryLog
from node.ipfs.cid import Cid
from node.jobs.rescore import Rescored, Rescorer, by_calibration
from node.record import AnswerRecord, RecordCitation, RecordSource, block_of
from node.store.remember import Remembered, Rememberer
from node.store.state import StateStore
from node.store.write_back import WriteBack
from tests.record_builders import START, Author
from tests.unit.jobs.test_admit_poison import Signer
from tests.unit.jobs.test_refuted import US, Desk

PEER = Author(7)


class Bench(Desk):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.log = MemoryLog("test", self.clock)
        self.state: StateStore | None = None

        async def report(outcome: Remembered) -> None:
            assert outcome.is_durable, outcome

        self.rememberer = Rememberer(
            self.store.records,
            self.semantics,
            Signer(),
            self.clock,
            WriteBack(4),
            keyword_key=keyword_key,
            report=report,
        )

    async def rescorer(self, rescore: Any = by_calibration) -> Rescorer:
        if self.state is None:
            self.state = await StateStore.open(self.folder / "state.sqlite")
        return Rescorer(
            self.store.records,
            self.rememberer,
            self.semantics,
            self.state,
            self.log,
            self.clock,
            rescore,
            least=0.8,
            policy="test",
        )

    async def add(self, query: str, author: Author = US, **changes: Any) -> Cid:
        record = author.answer(query, **changes)
        await self.store.records.add(record, origin="local" if author is US else author.did)
        return block_of(record)[0]

    async def last(self) -> int:
        return (await self.store.records.counts())["last_sequence"]

    async def is_live(self, cid: Cid) -> bool:
        return cid in await self.store.records.live([cid])


def entries(log: MemoryLog) -> list[dict[str, Any]]:
    return [orjson.loads(leaf)["entry"] for leaf in log.leaves()]


CITED = (RecordCitation("chronicle.md", "", "it says so"),)


async def test_what_a_model_said_on_no_evidence_goes_out_of_service_and_the_log_says_why(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    alone = await bench.add("one")
    kept = [
        await bench.add("two", citations=CITED),
        await bench.add("three", source=RecordSource("client", "ana")),
        await bench.add("four", source=RecordSource("adapter", "coingecko")),
        await bench.add("five", PEER),
    ]
    rescorer = await bench.rescorer()
    assert await rescorer.is_due()
    until = await bench.last()
    later = await bench.add("six")
    assert await rescorer.run(until) == Rescored(1, 1, 0)
    assert not await bench.is_live(alone)
    assert all([await bench.is_live(cid) for cid in (*kept, later)])
    assert (await bench.store.records.get(alone)).state == "withdrawn"
    [entry] = [one for one in entries(bench.log) if one["kind"] == "quarantine"]
    assert entry["reason"] == "rescored"
    assert not await (await bench.rescorer()).is_due()
    assert bench.state is not None
    await bench.state.close()


async def test_what_keeps_its_place_is_stored_anew_with_its_new_confidence(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    cid = await bench.add("one", expires=START.replace(day=3), citations=CITED)
    same = await bench.add("two", citations=CITED)

    def rescore(record: AnswerRecord) -> float:
        return 0.93 if record.query == "one" else 0.87

    assert await (await bench.rescorer(rescore)).run(await bench.last()) == Rescored(2, 0, 1)
    assert not await bench.is_live(cid)
    assert await bench.is_live(same)
    [new] = [one for one in await bench.store.records.since(0) if one.record.expires is not None]
    assert isinstance(new.record, AnswerRecord)
    assert (new.record.confidence, new.record.supersedes) == (930_000, str(cid))
    assert (new.record.expires, new.record.citations) == (START.replace(day=3), CITED)
    assert bench.state is not None
    await bench.state.close()
