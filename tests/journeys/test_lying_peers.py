"""A node, as a process, among peers that lie: it gets nothing wrong from them, and goes on answering.

The liars are stand-ins that speak the wire of a peer (``tests.simulators.peer``). All of them are trusted by
the operator unless a test says otherwise: the worst case.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, block_of, decode, sign
from node.peers.rules.entry import Publish
from tests.journeys.test_peers import Peer, peer
from tests.simulators.peer import PeerStandIn, Publishing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

QUESTION = "Which tree grows in the yard of the Wrenfield mill?"
TRUE, FALSE = "A copper beech grows there.", "A plastic palm grows there."


class Liar(Publishing):
    """Dates what it signs by the real clock, as the node under attack does."""

    def answer(self, query: str, **changes: Any) -> AnswerRecord:
        now = SystemClock().now().replace(microsecond=0)
        return super().answer(query, **({"timestamp": now, "expires": None} | changes))


def liar(seed: int) -> Liar:
    one = Liar(seed)
    one.certificates.clear()
    now = SystemClock().now().replace(microsecond=0)
    for subject, use in ((one.node.did, "node"), (one.publications_key, "publications")):
        one.certify(subject, use, timestamp=now.replace(year=now.year - 1), not_before=now.replace(year=2020))
    return one


async def ask(node: Peer) -> dict[str, Any]:
    return await node.client.ask(QUESTION)


MOODS = (
    *("forged", "hang", "redirect", "gzip", "huge", "endless", "drip", "cut"),
    *("wrong_blocks", "busy", "failing"),
)


@pytest.mark.parametrize("mood", MOODS)
async def test_bad_manners_end_in_bounds_and_bring_nothing(tmp_path: Path, mood: str) -> None:
    one = liar(1)
    one.publish(QUESTION, answer=FALSE)
    async with PeerStandIn(one, mood) as far:
        far.redirect_to = far.url
        async with peer(
            tmp_path / "b", PEERS__URLS=far.url, PEERS__TRUSTED=one.root, PEERS__TIMEOUT_S="0.5"
        ) as b:
            [report] = await b.sync()
            assert report["outcome"] == "failed", report
            assert report["reason"]
            assert report["admitted"] == 0
            assert (await ask(b))["answer"] != FALSE
            assert (await b.client.check("peers:sync"))["status"] == "warn"
            far.mood = "right"  # the same peer, when it has come to its senses
            [report] = await b.sync()
            assert report["outcome"] == "synced", report
            assert (await ask(b))["answer"] == FALSE, "it is trusted, after all: nothing else kept it out"


async def test_what_is_forged_or_of_others_is_refused_by_name(tmp_path: Path) -> None:
    one, other = liar(1), liar(2)
    honest = other.answer(QUESTION, answer=TRUE)

    def said(**changes: Any) -> AnswerRecord:
        return one.answer(QUESTION, answer=FALSE, **changes)

    def put(record: AnswerRecord, data: bytes | None = None) -> None:
        cid, block = block_of(record)
        block = block if data is None else data
        cid = Cid.of(block)
        one.blocks[cid] = block
        one.enter(Publish(cid, "general", record.query_hash, record.expires))

    put(sign(replace(said(), sig=b""), other.node.private.sign))  # another's signature
    put(other.node.answer(QUESTION, answer=FALSE, issuer=other.root, scope="public"))  # in another's name
    put(sign(replace(said(key=other.node.did), sig=b""), other.node.private.sign))  # a key not certified
    put(said(scope="shared"))
    put(said(timestamp=SystemClock().now().replace(microsecond=0, year=2031)))
    put(said(), block_of(said())[1][:-1])
    put(honest)  # a true record, which is not its own
    async with (
        PeerStandIn(one) as far,
        peer(tmp_path / "b", PEERS__URLS=far.url, PEERS__TRUSTED=one.root) as b,
    ):
        [report] = await b.sync()
        assert report["admitted"] == 0, report
        assert sum(report["refused"].values()) >= 7, report
        assert (await ask(b))["answer"] not in (TRUE, FALSE)


async def test_a_foreign_vector_brings_an_answer_nowhere_near_another_question(tmp_path: Path) -> None:
    async with peer(tmp_path / "x", SHARING__PUBLISH="all") as x:  # gives the question its own vector
        cid = await x.client.store(QUESTION, TRUE, scope="public")
        _, block, _ = await x.client.send("GET", f"/ipfs/{cid}?format=raw")
    stolen = decode(block)
    assert isinstance(stolen, AnswerRecord)
    assert stolen.embedding is not None
    one = liar(1)
    other = "How heavy is the anchor of the Gull?"
    one.publish(other, answer=FALSE, embedding=stolen.embedding)
    async with (
        PeerStandIn(one) as far,
        peer(tmp_path / "b", PEERS__URLS=far.url, PEERS__TRUSTED=one.root) as b,
    ):
        [report] = await b.sync()
        assert report["admitted"] == 1, report
        for query in (QUESTION, "What tree is growing in the Wrenfield mill's yard?"):
            found = await b.client.search(query)
            assert found["cid"] is None, found
            near = {one["cid"]: one["similarity"] for one in found["candidates"]}
            assert all(similarity is None or similarity < 0.9 for similarity in near.values()), near
        assert (await b.client.ask(other))["answer"] == FALSE, "by its own question it is found"


async def test_two_heads_are_kept_as_evidence_and_drop_the_peer(tmp_path: Path) -> None:
    one = liar(1)
    one.publish(QUESTION, answer=FALSE)
    one.publish("How many doors has the mill?", answer="Nine.")
    async with PeerStandIn(one) as far:
        settings = {"PEERS__URLS": far.url, "PEERS__TRUSTED": one.root}
        async with peer(tmp_path / "b", **settings) as b:
            await b.sync()
            assert (await ask(b))["answer"] == FALSE
            one.shown = one.fork(1, 1)
            [report] = await b.sync()
            assert report["outcome"] == "dropped", report
            assert (await ask(b))["answer"] != FALSE
            kept = await b.command("evidence")
            assert len(kept["cases"]) == 1, kept
            await b.child.end(signal.SIGKILL)
        one.shown = one.log
        async with peer(tmp_path / "b", **settings) as b:
            [report] = await b.sync()
            assert report["outcome"] == "dropped", report
            assert (await ask(b))["answer"] != FALSE


async def test_a_stranger_is_held_within_its_quota(tmp_path: Path) -> None:
    one = liar(1)
    for number in range(60):
        one.publish(f"{QUESTION[:-1]} in row {number}?", answer=FALSE)
    async with (
        PeerStandIn(one) as far,
        peer(tmp_path / "b", PEERS__URLS=far.url, PEERS__RECORDS_MAX="20") as b,
    ):
        [report] = await b.sync()
        assert (report["admitted"], report["held"]) == (0, 20), report
        _, shown = await b.get("/peers")
        assert shown["peers"][0]["usage"]["records"] == 20
        assert (await b.client.ask(f"{QUESTION[:-1]} in row 3?"))["answer"] != FALSE
