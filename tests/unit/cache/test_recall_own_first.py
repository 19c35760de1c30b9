"""Recall where peers speak to what this node knows: ours is heard in every tier before a peer's is served."""

from __future__ import annotations

import pytest

from node.core.record import AnswerRecord
from node.peers.rules import kept as beside
from node.peers.rules.values import Tier
from node.pipeline.replies import few_of_each_peer
from tests.unit.cache.test_recall import NEAR, Bench, found
from tests.unit.cache.test_recall_peers import OTHER, PEER, from_peer, relevant

ASKED = "How do I bake bread at home?"
OTHERWISE = "We need to know how do I bake bread at home?"
WELL, BADLY = "In a hot pot.", "In the washing machine."


async def knows(bench: Bench, confidence: int, query: str = ASKED) -> None:
    await bench.keep(query, NEAR, answer=WELL, confidence=confidence)


@pytest.mark.parametrize("query", [ASKED, OTHERWISE, "Please, how do I bake bread at home?"])
@pytest.mark.parametrize("theirs", [ASKED, "How can I bake bread at home?"])
async def test_a_peer_s_answer_is_not_served_against_what_is_known_here(
    query: str, theirs: str, bench: Bench
) -> None:
    await from_peer(bench, theirs, NEAR, answer=BADLY, confidence=1_000_000)
    assert found(await bench.ask(ASKED)) is not None
    await knows(bench, 790_000, query)
    recall = await bench.ask(ASKED)
    assert (recall.found, recall.code) == (None, "contested")
    assert any(one.origin == "local" for one in recall.seen)


async def test_ours_is_served_before_a_peer_s_that_claims_to_be_surer(bench: Bench) -> None:
    await from_peer(bench, ASKED, NEAR, answer=BADLY, confidence=1_000_000)
    await knows(bench, 810_000)
    recall = await bench.ask(ASKED)
    assert recall.found is not None
    assert isinstance(recall.found.record, AnswerRecord)
    assert recall.found.record.answer == WELL


async def test_what_was_recomputed_here_is_served_against_ours(bench: Bench) -> None:
    verified = beside.beside(Tier.VERIFIED, 1_000_000, None, is_slot_key_read=True)
    kept = await from_peer(bench, ASKED, NEAR, answer=BADLY, confidence=1_000_000, kept=verified)
    await knows(bench, 790_000)
    assert found(await bench.ask(ASKED)) == kept.cid
    assert bench.embedded == 0


async def test_a_crowd_of_peers_does_not_hide_ours(bench: Bench) -> None:
    for number in range(24):
        author = PEER if number % 2 else OTHER
        query = ASKED if number == 0 else f"How do I bake bread at home, please {number}?"
        await from_peer(bench, query, NEAR, author=author, answer=BADLY, confidence=1_000_000)
    await knows(bench, 790_000, OTHERWISE)
    assert found(await bench.ask(ASKED)) is None


async def test_without_an_embedder_a_peer_s_answer_is_contested_by_the_same_words_alone(bench: Bench) -> None:
    kept = await from_peer(bench, ASKED, NEAR, answer=BADLY, confidence=1_000_000)
    await knows(bench, 790_000, OTHERWISE)
    assert found(await bench.ask(ASKED, vector=None)) == kept.cid
    await knows(bench, 790_000)
    assert found(await bench.ask(ASKED, vector=None)) is None


async def test_as_context_ours_comes_before_what_many_peers_say(bench: Bench) -> None:
    for author in (PEER, OTHER):
        for number in range(3):
            query = ("We ask " * number + ASKED[0].lower() + ASKED[1:]) if number else ASKED
            await from_peer(bench, query, NEAR, author=author, answer=BADLY, confidence=795_000)
    await knows(bench, 700_000)
    few = few_of_each_peer([relevant(one) for one in (await bench.ask(ASKED)).seen])
    assert [one.stored.origin for one in few].index("local") == 0
    assert len(few) == 5
