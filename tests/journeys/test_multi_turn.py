"""The self-contained question is the key: the same words after different turns never meet, and what cannot be
resolved is neither looked up nor stored."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.model import Answer
from node.pipeline.requests import Ask
from tests.journeys.conftest import Client, Start, stages, steps
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn, sensible


def explain(prompt: str) -> str:
    """A model whose answer can be told from the answer to any other prompt."""
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:8]
    mark = "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
    return f"{sensible(prompt)} Its mark is {mark}."


def resolved(reply: dict[str, Any]) -> str:
    """The self-contained question that a follow-up became, empty where it was asked as it stands."""
    return next((step["reason"].split(": ", 1)[1] for step in steps(reply, "resolve")), "")


async def records(node: Client) -> int:
    return int((await node.check("ipfs:blocks"))["observedValue"])


async def left_alone(node: Client, reply: dict[str, Any]) -> None:
    """Neither looked up nor stored, now or later."""
    recall = steps(reply, "recall")
    assert all(step["outcome"] == "bypassed" for step in recall), recall
    assert reply["hit"] is None
    assert reply["cid"] is None
    assert not reply["stored"]


async def test_one_fragment_after_two_questions_is_two_questions(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, OllamaStandIn(answer=explain) as model:
        async with start(coingecko=vendor.url, ollama=model.url) as node:
            await node.ask("price of btc", session_id="coins")
            await node.ask("What is proof of stake?", session_id="ideas")
            coins = await node.ask("and ETH?", session_id="coins")
            ideas = await node.ask("and ETH?", session_id="ideas")
            assert "Ethereum (ETH) is trading" in coins["answer"]
            assert "ethereum" in resolved(coins)
            assert "trading" not in ideas["answer"]
            await left_alone(node, ideas)


async def test_a_guess_at_a_follow_up_is_not_answered_by_an_adapter(start: Start) -> None:
    async with start() as node:
        await node.post("/v1/cache/entries", {"query": "Who is our teacher?", "answer": "Ms Delacroix."})
        await node.ask("what time is it in lisbon", session_id="one")
        ours = await node.ask("who is our teacher", session_id="one")
        assert ours["answer"] == "Ms Delacroix."
        await node.ask("what time is it in lisbon", session_id="two")
        theirs = await node.ask("who repairs it", session_id="two")
        assert theirs["source"]["kind"] != "adapter"


async def test_the_node_is_asked_about_its_own_answers(start: Start) -> None:
    async with start() as node:
        await node.ask("what is 17*23", session_id="one")
        before = await records(node)
        asked = await node.ask("which adapter answered that", session_id="one")
        assert asked["source"] == {"kind": "adapter", "id": "node-facts"}
        assert asked["answer"] == "“what is 17*23” was answered by the adapter math-calculator."
        await left_alone(node, asked)
        # It is no turn: "that" still means the answer before it.
        sure = await node.ask("how sure are you about that", session_id="one")
        assert "confidence of 0.9" in sure["answer"]
        assert (await node.ask("and 7*8?", session_id="one"))["answer"] == "7 × 8 = 56."
        other = await node.ask("what was my last question", session_id="two")
        assert "17" not in other["answer"]
        # Two sessions of one caller that ask the same at the same moment do not share an answer.
        await node.ask("what is 6*7", session_id="two")
        asked_at_once = (node.ask("what was my last question", session_id=name) for name in ("one", "two"))
        first, second = await asyncio.gather(*asked_at_once)
        assert "7*8" in first["answer"]
        assert "6*7" in second["answer"]
        assert await records(node) == before + 2  # the two sums


async def test_papers_that_a_model_invents_are_neither_told_nor_stored(start: Start) -> None:
    said = (
        "Semantic caching answers questions from stored answers that mean the same, which saves time."
        " Smith et al. (2021) measured this. See doi:10.1000/182 for more."
    )
    async with OllamaStandIn(answer=said) as model, start(ollama=model.url) as node:
        reply = await node.ask("latest arxiv papers on semantic caching")
        assert reply["answer"].startswith("No paper was looked up")
        assert "Smith" not in reply["answer"]
        assert "10.1000" not in reply["answer"]
        assert not reply["stored"]
        assert reply["citations"] == []


async def test_two_sessions_at_the_same_moment_are_kept_apart(start: Start) -> None:
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        names = {"france": "France", "japan": "Japan", "peru": "Peru", "kenya": "Kenya"}

        async def in_each(words: str) -> list[dict[str, Any]]:
            asked = (node.ask(words.format(name), session_id=key) for key, name in names.items())
            return await asyncio.gather(*asked)

        await in_each("What is the capital of {}?")
        # One reading for all of them: here they meet, and one computation serves all.
        replies = await in_each("and Chile?")
        assert {resolved(reply) for reply in replies} == {"What is the capital of Chile"}
        assert len({reply["answer"] for reply in replies}) == 1
        await in_each("What is the capital of {}?")
        # What could stand for something else is first given to the model to be completed.
        for words, generations in (("why?", 0), ("what about him?", 2), ("tell me more", 1)):
            before = len(model.chats)
            replies = await in_each(words)
            for reply in replies:
                await left_alone(node, reply)
            if generations:
                assert len(model.chats) - before == generations * len(names)
            else:
                assert len({reply["answer"] for reply in replies}) == len(names)
                for name in names.values():
                    assert any(name in str(chat) for chat in model.chats[before:])


async def test_a_pronoun_stands_for_the_one_of_its_own_session(start: Start) -> None:
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        await node.ask("Who is Alan Turing?", session_id="turing")
        await node.ask("Who is Kurt Gödel?", session_id="goedel")
        turing, goedel = await asyncio.gather(
            node.ask("when was he born?", session_id="turing"),
            node.ask("when was he born?", session_id="goedel"),
        )
        assert resolved(turing) == "when was Alan Turing born"
        assert resolved(goedel) == "when was Kurt Gödel born"
        assert turing["answer"] != goedel["answer"]
        alone = await node.ask("when was he born?")
        assert alone["answer"] not in (turing["answer"], goedel["answer"])
        # Whoever asks the whole question in their own words gets the stored one.
        whole = await node.ask("When was Alan Turing born?")
        if turing["stored"]:
            assert whole["answer"] == turing["answer"]


LEANING = (
    *(
        "what about him?",
        "which one is the largest?",
        "what is the largest one?",
        "the second one",
        "the first",
    ),
    *("another three", "of those, which is best?", "use an analogy", "translate to French", "at 2000 m?"),
    *(
        "summarize the above",
        "summarize that",
        "can you repeat that?",
        "rewrite it for children",
        "his wife?",
    ),
    *("do the same for moons", "and the melting point?", "What is the formula?", "what is my name?"),
    *("Who came up with the idea?", "How is this different from enthalpy?", "what did you say?"),
    *("what does the last sentence mean?", "explain like I'm five"),
)


@pytest.mark.parametrize("earlier", ["What is photosynthesis?", "List three planets and three rivers"])
async def test_what_leans_on_earlier_turns_is_never_looked_up_nor_stored(start: Start, earlier: str) -> None:
    """The same words asked of nothing may have a stored answer; after a turn it is not theirs."""
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        for words in LEANING:
            await node.store(words, "Of something else.")
        before = await records(node)
        for number, words in enumerate(LEANING):
            session = f"s{number}"
            await node.post("/route", {"query": earlier, "session_id": session})
            reply = await node.ask(words, session_id=session)
            assert "Of something else" not in reply["answer"], (words, reply["trace"])
            assert not resolved(reply), (words, resolved(reply))
            await left_alone(node, reply)
        assert await records(node) == before


async def test_what_stands_alone_is_looked_up_in_a_session_too(start: Start) -> None:
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        questions = (
            "What is the capital of France?",
            "How old is the universe?",
            "Who wrote Hamlet?",
            "Which planet is the largest in the solar system?",
            "Translate good morning to French",
            "Explain the first law of thermodynamics",
        )
        for question in questions:
            await node.store(question, f"Stored: {question}")
        await node.post("/route", {"query": "What is photosynthesis?", "session_id": "s"})
        for question in questions:
            reply = await node.ask(question, session_id="s")
            assert reply["answer"] == f"Stored: {question}", reply["trace"]


async def test_a_failed_follow_up_is_not_remembered_as_a_failure_of_its_words(start: Start) -> None:
    async with OllamaStandIn(status=500) as model, start(ollama=model.url) as node:
        await node.post("/route", {"query": "What is photosynthesis?", "session_id": "one"})
        await node.post("/route", {"query": "What is osmosis?", "session_id": "two"})
        failed = await node.ask("tell me more", session_id="one")
        assert failed["source"]["kind"] == "fallback"
        model.status = 200
        other = await node.ask("tell me more", session_id="two")
        assert "negative" not in stages(other)


async def _asked(node: Client, text: str, *, session: str | None, tenant: str, context: str | None) -> Answer:
    service = node.service
    query = service.query(Ask(text, Caller(tenant), session=session, context=context))
    return await service._p.pipeline.answer(replace(query, deadline=SystemClock().monotonic() + 30))


async def test_a_session_belongs_to_its_tenant(start: Start) -> None:
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        await _asked(node, "Who is Alan Turing?", session="s", tenant="ada", context=None)
        bob = await _asked(node, "when was he born?", session="s", tenant="bob", context=None)
        assert not any(step.stage == "resolve" for step in bob.trace)
        ada = await _asked(node, "when was he born?", session="s", tenant="ada", context=None)
        assert any(step.stage == "resolve" for step in ada.trace)


async def test_equal_words_in_two_contexts_are_two_questions(start: Start) -> None:
    """What OpenAI-style calls bring: the same last message below different system messages."""
    async with OllamaStandIn(answer=explain) as model, start(ollama=model.url) as node:
        one, two = (hashlib.sha256(name).hexdigest() for name in (b"pirate", b"lawyer"))
        text = "Explain quantum computing"
        first = await _asked(node, text, session=None, tenant="local", context=one)
        assert first.stored
        again = await _asked(node, text, session=None, tenant="local", context=one)
        assert again.cid == first.cid
        for context in (two, None):
            other = await _asked(node, text, session=None, tenant="local", context=context)
            assert other.hit is None
            assert other.cid != first.cid
        osmosis = partial(_asked, node, "Explain osmosis", session=None, tenant="local")
        at_once = await asyncio.gather(*(osmosis(context=context) for context in (one, two, None)))
        assert len({answer.cid for answer in at_once}) == 3


async def test_feedback_by_request_goes_to_the_follow_ups_own_record(start: Start) -> None:
    async with CoinGeckoStandIn() as vendor, start(coingecko=vendor.url) as node:
        first = await node.ask("price of btc", session_id="s")
        second = await node.ask("and ETH?", session_id="s")
        assert second["cid"] not in (None, first["cid"])
        done = await node.judge("invalid", request_id=second["request_id"])
        assert done["cid"] == second["cid"]
        assert not done["served"]
        kept = await node.ask("price of btc")
        assert kept["cid"] == first["cid"]
        unresolved = await node.ask("tell me more about him", session_id="s")
        body = {"request_id": unresolved["request_id"], "verdict": "invalid"}
        assert (await node.post("/feedback", body))[0] == 404


async def test_a_follow_up_that_the_model_completes_finds_what_is_stored(start: Start) -> None:
    def speak(prompt: str) -> str:
        return "Who is the chair?" if prompt.endswith("WHOLE QUESTION:") else "I don't know."

    async with OllamaStandIn(answer=speak) as model, start(ollama=model.url) as node:
        await node.store("Who is the treasurer?", "Bartek keeps the money.")
        await node.store("Who is the chair?", "Anneke leads the meetings.")
        await node.ask("Who is the treasurer?", session_id="s")
        reply = await node.ask("and the chair?", session_id="s")
        assert reply["answer"] == "Anneke leads the meetings."
        assert resolved(reply) == "Who is the chair"


async def test_without_a_model_the_new_words_take_their_place_in_the_last_question(start: Start) -> None:
    async with start() as node:
        await node.store("Who is the treasurer?", "Bartek keeps the money.")
        await node.store("Who is the chair?", "Anneke leads the meetings.")
        await node.ask("Who is the treasurer?", session_id="s")
        assert (await node.ask("and the chair?", session_id="s"))["answer"] == "Anneke leads the meetings."
        await node.ask("Was ist ein Quorum bei einer Versammlung?", session_id="s")
        nobody = await node.ask("und sonntags?", session_id="s")
        assert nobody["source"]["kind"] == "fallback"
        assert nobody["answer"].startswith("Das konnte ich nicht herausfinden.")
