"""What a key that was stolen, or has ended, has said of others' records, on both tables of peers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.model import SCOPE_PUBLIC
from node.core.record import ValidationRecord, block_of
from node.peers.ports import PeerStore
from node.peers.rules.values import Level
from node.peers.store.sqlite import SqlitePeerStore
from node.peers.sync.certified_keys import PeerKeys
from tests.admit_kit import Door, Issuer
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore

HOUR = timedelta(hours=1)
LONG = timedelta(days=900)


@pytest.fixture(params=["memory", "sqlite"])
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Door]:
    clock = ManualClock(START)
    store: PeerStore = MemoryPeerStore()
    if request.param == "sqlite":
        store = await SqlitePeerStore.open(tmp_path / "peers.sqlite", clock)
    yield Door(store=store, clock=clock)
    await store.close()


def said_at(who: Issuer, of: str, verdict: str, hours: int, key: Author | None = None) -> ValidationRecord:
    """On the record that ``of`` names, so many hours after the start."""
    return (key or who.node).validation(
        block_of(ASKED.answer(of))[0],
        verdict,
        issuer=who.did,
        scope=SCOPE_PUBLIC,
        timestamp=START + hours * HOUR,
        statement=f"{hours:032x}",
    )


ASKED = Issuer(1)


async def test_what_a_stolen_key_called_invalid_is_served_again_when_it_is_revoked(door: Door) -> None:
    judge = Issuer(2)
    await door.stand(ASKED)
    await door.stand(judge, Level.TRUSTED)
    await door.certify(judge, judge.certificate)
    record = ASKED.answer("What is IPFS?")
    await door.take(ASKED, record)
    assert await door.validate(judge, said_at(judge, "What is IPFS?", "invalid", 0)) == "counted"
    assert await door.served(record) is None
    door.clock.advance(7_200)
    keys = PeerKeys(door.store, door.admitter, door.clock)
    assert await keys.learn(judge.did, [block_of(judge.revoke())]) == 0
    await keys.keep(judge.did)
    assert await door.served(record) is not None, "at once"
    again = door.opened()
    await again.retier(judge.did)
    assert await door.served(record) is not None, "and for good"
    assert await door.validate(judge, said_at(judge, "What is IPFS?", "invalid", 1)) == "key_revoked"


async def test_only_what_was_said_since_a_key_ended_is_undone(door: Door) -> None:
    """Stolen since two hours after the start: what it said before stands, what another key says too."""
    judge, newer = Issuer(2), Author(150)
    await door.stand(ASKED)
    await door.stand(judge, Level.TRUSTED)
    await door.certify(judge, judge.certificate)
    texts = ["What is said before?", "What is said after?", "What was called valid?"]
    records = [ASKED.answer(text) for text in texts]
    for record in records:
        await door.take(ASKED, record)
    door.clock.advance(4 * 3_600)
    for text, verdict, hours in (
        (texts[0], "invalid", 1),
        (texts[1], "invalid", 3),
        (texts[2], "invalid", 1),
        (texts[2], "valid", 3),
    ):
        assert await door.validate(judge, said_at(judge, text, verdict, hours)) == "counted"
    assert [await door.served(one) is not None for one in records] == [False, False, True]

    ended = judge.certify(timestamp=START + HOUR, not_after=START + 2 * HOUR)
    await door.certify(judge, ended)
    other = judge.root.key_record(newer.did, not_before=START, not_after=START + LONG)
    judge.ring.add(other)
    await door.certify(judge, other)
    await door.admitter.retier(judge.did)
    assert [await door.served(one) is not None for one in records] == [False, True, False]
    assert await door.validate(judge, said_at(judge, texts[0], "valid", 4, newer)) == "counted"
    assert [await door.served(one) is not None for one in records] == [True, True, False]

    await door.certify(judge, judge.certify(timestamp=START + 3 * HOUR, not_after=START + LONG))
    await door.admitter.retier(judge.did)
    assert [await door.served(one) is not None for one in records] == [True, False, True], (
        "the newest word on a key counts, whenever it comes"
    )


async def test_a_kill_before_the_statements_were_undone_is_made_good(door: Door) -> None:
    judge = Issuer(2)
    await door.stand(ASKED)
    await door.stand(judge, Level.TRUSTED)
    await door.certify(judge, judge.certificate)
    record = ASKED.answer("What is IPFS?")
    await door.take(ASKED, record)
    await door.validate(judge, said_at(judge, "What is IPFS?", "invalid", 0))
    door.clock.advance(7_200)
    await door.store.begin(judge.did)
    await door.certify(judge, judge.revoke())  # killed here
    again = door.opened()
    await again.resume()
    assert await door.served(record) is not None
    assert await door.store.unfinished() == []
