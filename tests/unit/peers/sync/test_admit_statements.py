"""What a key that was stolen, or has ended, has said of others' records, on both tables of peers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.caller import SCOPE_PUBLIC
from node.core.record import AnswerRecord, ValidationRecord, block_of
from node.peers.store.sqlite import PeerStore
from node.peers.sync.certified_keys import PeerKeys
from tests.admit_kit import Door, Issuer
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore

HOUR = timedelta(hours=1)
LONG = timedelta(days=900)
ASKED = Issuer(1)
IPFS = ASKED.answer("What is IPFS?")


@pytest.fixture(params=["memory", "sqlite"])
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Door]:
    clock = ManualClock(START)
    store: PeerStore = MemoryPeerStore()
    if request.param == "sqlite":
        store = await PeerStore.open(tmp_path / "peers.sqlite", clock)
    yield Door(store=store, clock=clock)
    await store.close()


@pytest.fixture
async def judge(door: Door) -> Issuer:
    """A trusted issuer with a certified key, beside the trusted one whose records it judges."""
    made = Issuer(2)
    await door.stand(ASKED)
    await door.stand(made)
    await door.certify(made, made.certificate)
    return made


def said_at(
    who: Issuer, of: AnswerRecord, verdict: str, hours: int, key: Author | None = None
) -> ValidationRecord:
    """So many hours after the start."""
    more = {"timestamp": START + hours * HOUR, "statement": f"{hours:032x}"}
    return (key or who.node).validation(block_of(of)[0], verdict, issuer=who.did, scope=SCOPE_PUBLIC, **more)


async def are_served(door: Door, records: Sequence[AnswerRecord]) -> list[bool]:
    return [await door.served(one) is not None for one in records]


async def test_what_a_stolen_key_called_invalid_is_served_once_it_is_revoked(
    door: Door, judge: Issuer
) -> None:
    await door.take(ASKED, IPFS)
    assert await door.validate(judge, said_at(judge, IPFS, "invalid", 0)) == "counted"
    assert await door.served(IPFS) is None
    door.clock.advance(7_200)
    keys = PeerKeys(door.store, door.admitter, door.clock)
    assert await keys.learn(judge.did, [block_of(judge.revoke())]) == 0
    await keys.keep(judge.did)
    assert await door.served(IPFS) is not None, "at once"
    await door.opened().retier(judge.did)
    assert await door.served(IPFS) is not None, "and for good"
    assert await door.validate(judge, said_at(judge, IPFS, "invalid", 1)) == "key_revoked"


async def test_only_what_was_said_since_a_key_ended_is_undone(door: Door, judge: Issuer) -> None:
    """Stolen since two hours after the start: what it said before stands, what another key says too."""
    newer = Author(150)
    texts = ("What is said before?", "What is said after?", "What was called valid?")
    before, after, valid = records = [ASKED.answer(text) for text in texts]
    for record in records:
        await door.take(ASKED, record)
    door.clock.advance(4 * 3_600)
    for record, verdict, hours in (
        (before, "invalid", 1),
        (after, "invalid", 3),
        (valid, "invalid", 1),
        (valid, "valid", 3),
    ):
        assert await door.validate(judge, said_at(judge, record, verdict, hours)) == "counted"
    assert await are_served(door, records) == [False, False, True]

    await door.certify(judge, judge.certify(timestamp=START + HOUR, not_after=START + 2 * HOUR))
    other = judge.root.key_record(newer.did, not_before=START, not_after=START + LONG)
    judge.ring.add(other)
    await door.certify(judge, other)
    await door.admitter.retier(judge.did)
    assert await are_served(door, records) == [False, True, False]
    assert await door.validate(judge, said_at(judge, before, "valid", 4, newer)) == "counted"
    assert await are_served(door, records) == [True, True, False]

    await door.certify(judge, judge.certify(timestamp=START + 3 * HOUR, not_after=START + LONG))
    await door.admitter.retier(judge.did)
    newest = "the newest word on a key counts, whenever it comes"
    assert await are_served(door, records) == [True, False, True], newest


async def test_a_kill_before_the_statements_were_undone_is_made_good(door: Door, judge: Issuer) -> None:
    await door.take(ASKED, IPFS)
    await door.validate(judge, said_at(judge, IPFS, "invalid", 0))
    door.clock.advance(7_200)
    await door.store.begin(judge.did)
    await door.certify(judge, judge.revoke())  # killed here
    await door.opened().resume()
    assert await door.served(IPFS) is not None
    assert await door.store.unfinished() == []
