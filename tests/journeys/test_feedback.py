"""What is said to be wrong stays wrong: feedback, corrections, drafts and what a model says alone."""

from __future__ import annotations

from pathlib import Path

import orjson

from tests.journeys.conftest import Start
from tests.log_kit import verified
from tests.simulators.ollama import OllamaStandIn

QUESTION, REWORDED = "How does a keel work?", "Explain how a keel works"
WRONG = (
    "A keel is a sail that is used in light wind. It hangs from the mast and catches the air above the deck, "
    "so that the boat moves even when there is hardly any wind at all. Sailors raise the keel in the morning "
    "and take it down in the evening, when the wind is stronger."
)
RIGHT = "A keel is a fin below the hull that keeps a boat upright and stops it from drifting sideways."

BAR = {"confidence_min": 0.8}
"""As shipped: the stand-in does not reach it with so few words."""


async def test_an_invalid_answer_is_not_stored_or_served_again_and_a_correction_is(start: Start) -> None:
    async with OllamaStandIn(answer=WRONG) as model, start(ollama=model.url) as node:
        first = await node.ask(QUESTION)
        assert first["stored"], first["trace"]
        assert first["unverified"]
        assert first["store_reason"] is None
        said = await node.judge("invalid", request_id=first["request_id"], note="nonsense")
        assert (said["served"], said["correction"]) == (False, None)
        for words in (QUESTION, REWORDED):
            again = await node.ask(words)
            assert again["source"]["kind"] == "llm", again["trace"]
            assert not again["stored"]
            assert again["store_reason"] == "known invalid"
            assert again["confidence"] < 0.5
            assert again["answer"].startswith("This may be wrong")
            assert again["cid"] is None
            assert not again["draft"]
    async with OllamaStandIn(answer=WRONG) as model, start(ollama=model.url) as node:
        after_restart = await node.ask(REWORDED)
        assert after_restart["store_reason"] == "known invalid", after_restart["trace"]
        said = await node.judge("invalid", cid=first["cid"], correction=RIGHT)
        for words in (QUESTION, REWORDED):
            reply = await node.ask(words)
            assert reply["answer"] == RIGHT, reply["trace"]
            assert reply["hit"] is not None
            assert not reply["unverified"]
        record = await node.entry(said["correction"])
        assert (record["source"]["kind"], record["supersedes"]) == ("client", first["cid"])
        folder = node.folder
    assert (await verified(folder / "governance_logs")).ok


async def test_what_was_stored_for_other_words_is_not_served_either(start: Start) -> None:
    """The same wrong answer lives under a rewording; the verdict on one holds for the other."""
    async with OllamaStandIn(answer=WRONG) as model, start(ollama=model.url) as node:
        first = await node.ask(QUESTION, no_cache=True)
        other = await node.ask(REWORDED, no_cache=True)
        assert first["stored"]
        assert other["stored"]
        await node.judge("invalid", cid=first["cid"])
        for words in (QUESTION, REWORDED):
            reply = await node.ask(words)
            assert reply["hit"] is None, reply["trace"]
            assert reply["store_reason"] == "known invalid"


async def test_what_is_erased_is_forgotten_as_a_wrong_answer_too(start: Start) -> None:
    async with OllamaStandIn(answer=WRONG) as model, start(ollama=model.url) as node:
        first = await node.ask(QUESTION)
        await node.judge("invalid", cid=first["cid"])
        assert await node.delete(first["cid"]) == 200
        folder = node.folder
    for path in (folder / "data").glob("refuted.sqlite*"):
        assert b"keel" not in path.read_bytes()
    async with OllamaStandIn(answer=WRONG) as model, start(ollama=model.url) as node:
        assert (await node.ask(QUESTION))["stored"]


async def test_corrections_are_bounded_and_belong_to_a_verdict(start: Start) -> None:
    async with start() as node:
        cid = await node.store("Who wrote Faust?", "Schiller.")
        for body, field in (
            ({"verdict": "valid", "correction": "Goethe."}, "correction"),
            ({"verdict": "invalid", "correction": "Schiller."}, "correction"),
            ({"verdict": "invalid", "correction": " "}, "correction"),
            ({"verdict": "invalid", "correct": "Goethe."}, "correct"),
        ):
            status, problem = await node.post("/feedback", {"cid": cid, **body})
            assert (status, problem["field"]) == (400, field), problem
        assert (await node.ask("Who wrote Faust?"))["answer"] == "Schiller."


async def test_the_very_same_question_gets_its_draft_again(start: Start) -> None:
    async with OllamaStandIn(answer="Maybe.") as model, start(ollama=model.url, cache=BAR) as node:
        first = await node.ask("Explain why the sky is blue")
        assert (first["stored"], first["draft"]) == (False, False)
        assert first["store_reason"] == "confidence too low"
        asked = len(model.chats)
        again = await node.ask("Explain why the  sky is blue?")
        assert len(model.chats) == asked
        assert again["answer"] == first["answer"]
        assert (again["source"]["kind"], again["stored"], again["draft"], again["hit"]) == (
            "llm",
            False,
            True,
            None,
        )
        assert [step["outcome"] for step in again["trace"] if step["stage"] == "draft"] == ["served"]
        for body in ({"no_cache": True}, {"max_age_s": 0}):
            assert not (await node.ask("Explain why the sky is blue", **body))["draft"]
        for other in ("explain why the sky is blue", "Why is the sky blue?"):
            assert not (await node.ask(other))["draft"]
        assert [path for path in (node.folder / "data").rglob("*") if _holds(path, b"Maybe.")] == []


async def test_an_invalid_on_a_draft_drops_it(start: Start) -> None:
    async with OllamaStandIn(answer="Maybe.") as model, start(ollama=model.url, cache=BAR) as node:
        await node.ask("Explain why the sky is blue")
        draft = await node.ask("Explain why the sky is blue")
        assert draft["draft"]
        said = await node.judge("invalid", request_id=draft["request_id"], correction=RIGHT)
        assert (said["cid"], said["validation"], said["served"]) == (None, None, False)
        reply = await node.ask("Explain why the sky is blue")
        assert (reply["answer"], reply["cid"]) == (RIGHT, said["correction"])
        status, _ = await node.post("/feedback", {"request_id": "never-asked", "verdict": "invalid"})
        assert status == 404


def _holds(path: Path, text: bytes) -> bool:
    return path.is_file() and text in path.read_bytes()


async def test_a_wrong_hit_says_nothing_against_the_record_s_own_question(start: Start) -> None:
    """The answer is right for its own question; only for what was asked it was wrong."""
    async with start() as node:
        _, kept = await node.post(
            "/v1/cache/entries", {"query": "How tall is K2?", "answer": "K2 is 8,611 metres high."}
        )
        found = await node.ask("how tall is k2")
        assert found["cid"] == kept["cid"]
        status, said = await node.post(
            "/feedback",
            {"request_id": found["request_id"], "verdict": "invalid", "correction": "About 8,611 m."},
        )
        assert status == 200, said
        assert (await node.ask("How tall is K2?"))["answer"] == "About 8,611 m."


async def test_a_client_cannot_bring_back_what_was_called_invalid_but_its_critic_can(start: Start) -> None:
    async with start() as node:
        body = {"query": "Who wrote Faust?", "answer": "Schiller."}
        _, kept = await node.post("/v1/cache/entries", body)
        await node.post("/feedback", {"cid": kept["cid"], "verdict": "invalid"})
        status, _ = await node.post("/v1/cache/entries", body)
        assert status == 201  # the same person, who has changed their mind
        assert (await node.ask("Who wrote Faust?"))["answer"] == "Schiller."


async def test_a_reused_request_id_says_not_which_answer_is_meant(start: Start) -> None:
    """A program that sends one id with everything would judge the last answer, whichever it meant."""
    questions = {"When is kiln 3 fired?": "On Mondays.", "Who repairs the pumps?": "Ada does."}
    headers = {"Content-Type": "application/json", "X-Request-Id": "always-the-same"}
    async with start() as node:
        stored = [await node.store(question, answer) for question, answer in questions.items()]
        for question in (*questions, *questions):
            body = orjson.dumps({"query": question})
            status, reply, _ = await node.send("POST", "/chat", data=body, headers=headers)
            assert (status, reply["request_id"]) == (200, "always-the-same")
            assert reply["cid"] in stored
        verdict = {"request_id": "always-the-same", "verdict": "invalid"}
        status, said = await node.post("/feedback", verdict)
        assert (status, said["field"]) == (400, "request_id")
        assert "cid" in said["detail"]
        for cid in stored:
            assert (await node.entry(cid))["state"] == "live"
        alone = await node.ask("When is kiln 3 fired?")
        assert (await node.judge("invalid", request_id=alone["request_id"]))["cid"] == stored[0]
