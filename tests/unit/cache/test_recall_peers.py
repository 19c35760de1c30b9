"""Recall of peers' records: an upper bound scaled, an end that is the first of two, no key believed unread,
no crowd that hides others."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from node.cache.keys import keyword_key
from node.cache.peer_crowd import BEHIND_A_CROWD, OF_ONE_PEER, thinned
from node.cache.recall import Seen
from node.core.caller import Caller
from node.core.ipld.cid import Cid
from node.core.model import Json, Query
from node.core.ports import Neighbour, Relevant, StoredRecord, Vector
from node.peers.rules import kept as beside
from node.peers.rules.values import Tier
from node.pipeline.replies import as_evidence, from_record, scope_as_evidence
from tests.record_builders import START, Author
from tests.unit.cache.test_recall import GENERATIVE, NEAR, PRICE, US, Bench, found, unit

PEER, OTHER = Author(2), Author(3)


def relevant(seen: Seen) -> Relevant:
    """What recall has seen as the retriever would find it."""
    stored = StoredRecord(1, Cid.parse(seen.judged.candidate.cid), seen.record, origin=seen.origin)
    return Relevant(stored, 0.8, 0.8, 0.5)


async def from_peer(
    bench: Bench,
    query: str,
    vector: Vector | None = None,
    *,
    author: Author = PEER,
    share: int = 1_000_000,
    until: datetime | None = None,
    is_read: bool = True,
    kept: dict[str, Json] | None = None,
    **changes: object,
) -> StoredRecord:
    record = author.answer(query, scope="public", **changes)
    kept = kept or beside.beside(Tier.TRUSTED, share, until, is_slot_key_read=is_read)
    key = keyword_key(record.query)
    stored = await bench.records.add(record, origin=author.did, keyword_key=key, kept=kept)
    if vector is not None:
        bench.index.add(stored.cid, vector, scope=record.scope, context=None)
    return stored


async def test_a_peer_s_answer_is_served_in_its_name_with_its_confidence_scaled(bench: Bench) -> None:
    kept = await from_peer(bench, "What is a heap?", share=950_000, confidence=900_000)
    recall = await bench.ask("What is a heap?")
    assert found(recall) == kept.cid
    assert recall.found is not None
    assert recall.found.hit.origin == PEER.did
    assert recall.found.hit.score == pytest.approx(0.855)
    answer = from_record(_query(bench), GENERATIVE, recall.found)
    assert answer.confidence.value == pytest.approx(0.855)


def _query(bench: Bench) -> Query:
    return Query("q", "x", "x", Caller(), bench.clock.now(), 1e9)


async def test_a_share_that_leaves_too_little_is_a_miss_in_every_tier(bench: Bench) -> None:
    await from_peer(bench, "How do I bake bread at home?", NEAR, share=900_000, confidence=880_000)
    for asked in ("How do I bake bread at home?", "How can I bake bread at home?"):
        assert found(await bench.ask(asked)) is None
    assert not await bench.recaller.knows(_query(bench))


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        *(({beside.TRUST: share}, 870_000) for share in ("a lot", 1.0, True, None, -5)),
        *(({beside.UNTIL: until}, 870_000) for until in ("2030-01-01", -1, 2**60, 1.5)),
        ({beside.TRUST: 10**9}, 790_000),
    ],
    ids=str,
)
async def test_a_share_or_an_end_that_cannot_be_read_speaks_against_the_record_and_none_raises_a_confidence(
    said: dict[str, Json], confidence: int, bench: Bench
) -> None:
    await from_peer(bench, "What is a heap?", kept=said, confidence=confidence)
    assert found(await bench.ask("What is a heap?", vector=None)) is None


async def test_a_peer_s_record_ends_at_the_first_of_its_two_ends_and_is_not_served_stale(
    bench: Bench,
) -> None:
    soon, late = START + timedelta(seconds=45), START + timedelta(days=30)
    kept = await from_peer(bench, "price of x", slot_key="price:x:usd", expires=late, until=soon)
    assert found(await bench.ask("x price", PRICE)) == kept.cid
    bench.clock.advance(45)
    ended = await bench.ask("x price", PRICE)
    assert (ended.found, ended.expired) == (None, None)
    other = Bench()
    await from_peer(other, "price of x", slot_key="price:x:usd", expires=soon, until=late)
    other.clock.advance(45)
    ended = await other.ask("price of x", PRICE)
    assert (ended.found, ended.expired) == (None, None)


async def test_what_stands_beside_our_own_record_changes_nothing(bench: Bench) -> None:
    record = US.answer("What is a heap?")
    stored = await bench.records.add(record, kept={beside.TRUST: 0, beside.UNTIL: 0})
    assert found(await bench.ask("What is a heap?")) == stored.cid


async def test_a_slot_key_of_a_peer_counts_where_our_reading_gave_it(bench: Bench) -> None:
    """A peer may write the key of one question beside another."""
    honest = await from_peer(bench, "price of x", slot_key="price:x:usd")
    assert found(await bench.ask("x worth today", PRICE)) == honest.cid
    lying = Bench()
    await from_peer(lying, "How old is the moon?", slot_key="price:x:usd", is_read=False)
    assert found(await lying.ask("x worth today", PRICE)) is None


# --- crowds ---------------------------------------------------------------------------------------


def ring(count: int, cosine: float, seed: int = 7) -> list[Vector]:
    """Vectors at one cosine from ``unit(1, 0, 0, 0)``, in all directions."""
    random = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        sideways = random.standard_normal(3)
        sideways *= np.sqrt(1 - cosine**2) / np.linalg.norm(sideways)
        out.append(unit(cosine, *sideways))
    return out


ASKED = "How can I bake bread at home?"


async def crowded(count: int, author: Author) -> tuple[Bench, StoredRecord]:
    """Records of one peer stand nearer to the question than the one that answers it."""
    bench = Bench()
    for number, vector in enumerate(ring(count, 0.99)):
        await from_peer(bench, f"Is parcel {number} blue in Rome?", vector, author=PEER)
    honest = await from_peer(bench, "How do I bake bread at home?", ring(1, 0.95)[0], author=author)
    return bench, honest


async def test_others_are_found_behind_one_peer_s_crowd() -> None:
    bench, honest = await crowded(30, OTHER)
    # other key words than the stored question's, so that only the semantic tier can find it
    assert found(await bench.ask(ASKED, GENERATIVE, unit(1, 0, 0, 0))) == honest.cid


async def test_what_was_judged_among_all_that_is_near_keeps_that_judgement() -> None:
    bench, honest = await crowded(3, PEER)
    first = await bench.ask("Where do I bake bread at home?", GENERATIVE, unit(1, 0, 0, 0))
    assert found(first) is None
    assert honest.cid in {Cid.parse(one.judged.candidate.cid) for one in first.seen}


async def test_a_thin_neighbourhood_is_looked_at_once(bench: Bench) -> None:
    looked: list[int] = []
    search = bench.index.search

    def counting(vector: Vector, *, scopes: tuple[str, ...], context: str | None, k: int) -> list[Neighbour]:
        looked.append(k)
        return search(vector, scopes=scopes, context=context, k=k)

    bench.index.search = counting
    await from_peer(bench, "Is parcel 1 blue in Rome?", NEAR)
    await bench.keep("Is parcel 2 blue in Rome?", NEAR)
    await bench.ask(ASKED)
    assert len(looked) == 1
    for number in range(4):
        await from_peer(bench, f"Is crate {number} blue in Rome?", NEAR)
    await bench.ask(ASKED)
    assert looked[1:] == [8, BEHIND_A_CROWD]


def test_each_peer_keeps_its_nearest_few_and_we_all_of_ours() -> None:
    authors = [PEER] * 4 + [US] * 4 + [OTHER] * 2
    live: dict[Cid, StoredRecord] = {}
    near = []
    for place, author in enumerate(authors):
        cid = Cid.of(bytes([place]))
        origin = "local" if author is US else author.did
        live[cid] = StoredRecord(place, cid, author.answer(f"Q {place}"), origin=origin)
        near.append(Neighbour(cid, 0.9 - place / 100))
    few = thinned(near, live)
    assert [near.index(one) for one in few] == [*range(OF_ONE_PEER), 4, 5, 6, 7, 8, 9]


# --- as evidence ----------------------------------------------------------------------------------


async def test_a_peer_s_word_as_evidence_is_marked_and_is_not_published_in_our_name(bench: Bench) -> None:
    await from_peer(bench, "Which loaf comes out well in a small oven?", NEAR)
    await bench.keep("Which bread is quick in an oven?", NEAR, scope="public")
    seen = (await bench.ask("Which cake needs no oven?")).seen
    by_origin = {one.origin: one for one in seen}
    theirs, ours = by_origin[PEER.did], by_origin["local"]
    assert as_evidence(relevant(theirs), "x").source.id.startswith("claimed by a peer")
    assert as_evidence(relevant(ours), "x").source.id == "test-adapter"
    scopes = [scope_as_evidence(relevant(one).stored) for one in (theirs, ours)]
    assert scopes == ["shared", "public"]


@pytest.mark.parametrize(
    ("stored", "asked", "told"),
    [
        ("What does a berth for 10 metres cost?", "What does a berth for 12 metres cost?", "10 ≠ 12"),
        ("When is the office in Berlin open?", "When is the office in Munich open?", "Berlin ≠ Munich"),
        ("When is the office open?", "Who runs the office?", ""),
    ],
)
async def test_a_difference_that_the_gate_sees_stands_beside_the_evidence(
    stored: str, asked: str, told: str, bench: Bench
) -> None:
    await bench.keep(stored, NEAR)
    [seen] = (await bench.ask("Which cake needs no oven?")).seen
    note = as_evidence(relevant(seen), asked).note
    assert bool(note) is bool(told)
    assert set(told.split()) <= set(note.split())
