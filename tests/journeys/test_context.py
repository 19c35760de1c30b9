"""The cache as a service, divided by context: what differs in it never meets, by words or by meaning."""

from __future__ import annotations

import hashlib

from tests.journeys.conftest import Start

QUESTION = "How do I reset the alarm in the Lisbon office?"
OTHERWISE = "How can the alarm in the Lisbon office be reset?"


def context(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


FRENCH, GERMAN = context("answer in French"), context("answer in German")
ANSWERS = {
    None: "Hold the red button for ten seconds.",
    FRENCH: "Appuyez dix secondes sur le bouton rouge.",
    GERMAN: "Den roten Knopf zehn Sekunden lang halten.",
}


async def test_entries_are_found_in_their_own_context_alone(start: Start) -> None:
    async with start() as node:
        cids = {}
        for one in (FRENCH, GERMAN):  # what has no context is not there yet: nothing may stand in for it
            cids[one] = await node.store(QUESTION, ANSWERS[one], context=one)
            assert (await node.entry(cids[one]))["context"] == one
        for plain in (QUESTION, OTHERWISE):
            assert (await node.search(plain))["hit"] is None
            assert (await node.ask(plain))["answer"] not in ANSWERS.values()
        cids[None] = await node.store(QUESTION, ANSWERS[None])
        assert len(set(cids.values())) == 3
        kinds = set()
        for one, answer in ANSWERS.items():
            for text in (QUESTION, OTHERWISE):
                _, found = await node.post("/v1/cache/search", {"query": text, "context": one})
                assert (found["answer"], found["cid"]) == (answer, cids[one])
                kinds.add(found["hit"]["kind"])
        assert kinds >= {"exact"}
        assert kinds & {"semantic", "slot"}, (
            "the other wording is found too, so it could have met the wrong one"
        )
        _, found = await node.post("/v1/cache/search", {"query": QUESTION, "context": context("else")})
        assert (found["hit"], found["candidates"]) == (None, [])
        assert (await node.ask(QUESTION))["answer"] == ANSWERS[None]


async def test_a_correction_stays_in_its_context(start: Start) -> None:
    async with start() as node:
        cid = await node.store(QUESTION, ANSWERS[FRENCH], context=FRENCH)
        right = "Appuyez vingt secondes sur le bouton rouge."
        await node.judge("invalid", cid=cid, correction=right)
        _, found = await node.post("/v1/cache/search", {"query": QUESTION, "context": FRENCH})
        assert found["answer"] == right
        assert (await node.search(QUESTION))["hit"] is None
        # what is wrong there may be right elsewhere
        await node.store(QUESTION, ANSWERS[FRENCH], context=GERMAN)


async def test_a_context_is_a_sha256(start: Start) -> None:
    async with start(embed={"engine": "none"}) as node:
        for bad in ("", "x", "A" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", 7):
            for path, more in (("search", {}), ("entries", {"answer": "b"})):
                status, problem = await node.post(f"/v1/cache/{path}", {"query": "a", "context": bad, **more})
                assert (status, problem["field"]) == (400, "context"), bad
