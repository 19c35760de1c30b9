"""Answers that an older rule let in are judged again, once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from node.answer.rescore import Kept, Peers, Rescored, Rescorer, by_calibration
from node.answer.score.confidence import weigh
from node.audit.decisions.memory import MemoryLog
from node.cache.keys import keyword_key
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.model import ppm
from node.core.record import AnswerRecord, RecordCitation, RecordSource, block_of
from node.peers.rules import kept as beside
from node.peers.rules.values import Held, Tier
from node.store.remember import Questions, Remembered, Rememberer
from node.store.state import StateStore
from node.store.write_back import WriteBack
from tests.admit_kit import Door, Issuer
from tests.record_builders import START, Author
from tests.unit.cache.quality.test_refuted_answers import US, Desk
from tests.unit.peers.sync.test_admit_poison import Signer

PEER = Author(7)


class Bench(Desk):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.log = MemoryLog("test", self.clock)
        self.state: StateStore | None = None
        self.door = Door(main=self.store, clock=self.clock)

        async def report(outcome: Remembered) -> None:
            assert outcome.is_durable, outcome

        self.rememberer = Rememberer(
            self.store.records,
            self.semantics,
            Signer(),
            self.clock,
            WriteBack(4),
            Questions(keyword_key),
            report,
        )

    async def rescorer(self, rescore: Any = by_calibration) -> Rescorer:
        if self.state is None:
            self.state = await StateStore.open(self.folder / "state.sqlite")
        return Rescorer(
            Kept(self.store.records, self.rememberer, self.semantics, self.state, self.log),
            Peers(self.door.store.begin, self.door.admitter.retier),
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


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    if bench.state is not None:
        await bench.state.close()


def entries(log: MemoryLog) -> list[dict[str, Any]]:
    return [orjson.loads(leaf)["entry"] for leaf in log.leaves()]


CITED = (RecordCitation("chronicle.md", "", "it says so"),)
LOCK = (RecordCitation("chronicle.md", "", "The lock opens at 8 in the morning and closes at 21."),)
RIGHT = "The lock opens at 8 in the morning [1].\n\nSource: chronicle.md"
WRONG = "The lock opens at 9 in the morning [1]."
PARTS = {"source_reliability": 0.8, "completeness": 1.0, "response_quality": 1.0, "validation": 0.5}


def old(answer: str = WRONG, **changes: Any) -> dict[str, Any]:
    """What the old rule stored on evidence: the weighted mean of the parts."""
    parts = {name: ppm(part) for name, part in PARTS.items()}
    own = {"confidence": ppm(weigh(PARTS).value), "confidence_parts": parts, "citations": LOCK}
    return {"answer": answer, **own, **changes}


async def test_what_a_model_said_on_no_evidence_goes_out_of_service_and_the_log_says_why(
    bench: Bench,
) -> None:
    alone = await bench.add("one")
    kept = [
        await bench.add("two", citations=CITED),
        await bench.add("three", source=RecordSource("client", "ana")),
        await bench.add("four", source=RecordSource("adapter", "coingecko")),
        await bench.add("five", PEER, source=RecordSource("documents", "chronicle.md")),
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


async def test_what_keeps_its_place_is_stored_anew_with_its_new_confidence(bench: Bench) -> None:
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


async def test_an_answer_on_evidence_is_judged_by_what_its_citations_show(bench: Bench) -> None:
    was = weigh(PARTS).value

    def told(**fields: Any) -> float | None:
        return by_calibration(US.answer("When does the lock open", **fields))

    assert told(**old(RIGHT)) == pytest.approx(was, abs=1e-6)
    assert (told(**old(WRONG)) or 1.0) < 0.1
    assert (told(**old(RIGHT, citations=CITED)) or 1.0) < 0.8
    assert told(**old(WRONG, confidence=ppm(was) + 10)) is None, "a later rule knew more"
    assert told(**old(WRONG, confidence_parts={"another": 1})) is None
    assert told(**old(WRONG, source=RecordSource("documents", "chronicle.md"))) is None
    held, gone = await bench.add("one", **old(RIGHT)), await bench.add("two", **old(WRONG))
    assert await (await bench.rescorer()).run(await bench.last()) == Rescored(2, 1, 0)
    assert (await bench.is_live(held), await bench.is_live(gone)) == (True, False)


async def test_peers_records_go_as_ours_do_whether_held_or_imported(bench: Bench) -> None:
    door, friend, other = bench.door, Issuer(30), Issuer(31)
    await door.stand(friend)
    model = RecordSource("llm", "test-model")
    kept = friend.answer("What is kept?", **old(RIGHT, source=model))
    gone = friend.answer("When does the lock open?", **old(WRONG, source=model))
    assert [await door.take(friend, one) for one in (kept, gone)] == ["trusted", "trusted"]
    alone, imported = friend.answer("one", source=model), other.answer("two", source=model)
    cid, data = block_of(alone)
    served = beside.beside(Tier.TRUSTED, 980_000, None, is_slot_key_read=False)
    for one, kept_beside in ((alone, served), (imported, beside.imported(served))):
        await bench.store.records.add(one, origin=one.issuer, kept=kept_beside)
    now, said_by = bench.clock.now(), (friend.did, alone.key)
    await door.store.hold(
        [Held(cid, data, *said_by, Tier.TRUSTED, alone.query_hash, None, "x", now, None, 980_000, 9)]
    )
    until = await bench.last() - 1  # what a weighing puts into service anew comes behind it
    assert await (await bench.rescorer()).run(until) == Rescored(4, 3, 0)
    assert await door.served(kept) is not None
    for one in (gone, alone, imported):
        assert await door.served(one) is None
    assert await door.store.unfinished() == []
    tiers = {one.cid: one.tier for one in await door.store.held_of(friend.did)}
    assert tiers == {
        block_of(kept)[0]: Tier.TRUSTED,
        block_of(gone)[0]: Tier.UNTRUSTED,
        cid: Tier.UNTRUSTED,
    }
    await door.admitter.retier(friend.did)
    assert await door.served(gone) is None, "and it does not come back"
    assert [one["reason"] for one in entries(bench.log) if one["kind"] == "quarantine"] == ["rescored"] * 3


async def test_a_run_that_was_cut_short_begins_again_and_the_marks_of_roots_stay(bench: Bench) -> None:
    cids = [await bench.add(name, author) for name, author in (("one", PEER), ("two", US), ("three", PEER))]

    def cut(record: AnswerRecord) -> float:
        if record.query == "two":
            raise Unavailable("cut off")
        return 0.1

    rescorer = await bench.rescorer(cut)
    await rescorer.in_background(await bench.last())
    assert await rescorer.is_due()
    assert await bench.door.store.unfinished() == [PEER.did]
    assert [await bench.is_live(cid) for cid in cids] == [False, True, True]
    again = await bench.rescorer()
    assert await again.run(await bench.last()) == Rescored(2, 2, 0)
    assert await bench.door.store.unfinished() == []
    assert not await again.is_due()
