"""Poisoned context: what a stranger publishes is read by no model and changes no answer.

The texts of ``bench/poisonlab`` from a peer on loopback, a whole node with the packaged embedder, a stand-in
for the model that repeats whatever stands first in its context. With real models: ``python -m bench.poison``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.poison import CERTAIN, DOUBTFUL, OWN_CONFIDENCE, Case, Said, cases, changed, poisoner
from node.core.ipld.cid import Cid
from tests.faults.node_kit import start
from tests.simulators.ollama import OllamaStandIn, sensible
from tests.simulators.peer import PeerStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HELD_OUT = cases("held_out")
READS = "Does the note contain the answer?"
"""In a prompt that only asks whether a note holds the answer."""


def reads_and_repeats(prompt: str) -> str:
    """A model that finds an answer in every note, and repeats whatever stands first in its context."""
    return "yes" if READS in prompt else sensible(prompt)


ASKED_MIN = 16
"""Of the 20 questions: to the others the note is quoted, where the reader of notes is not sure enough."""


def asked_for_an_answer(prompts: list[str]) -> list[str]:
    """The prompts that do not only ask whether a note holds the answer."""
    return [prompt for prompt in prompts if READS not in prompt]


async def told(
    folder: Path, asked: list[Case], claims: int, *, is_trusted: bool = False
) -> tuple[list[dict[str, Any]], list[str], dict[str, Any], frozenset[Cid]]:
    """What a node that knows something of everything answers, what its model read, how a round with the
    peer went, and the peer's records."""
    far = poisoner(asked, claims)
    async with PeerStandIn(far) as server, OllamaStandIn(answer=reads_and_repeats) as model:
        peers = {"urls": [server.url], "every_s": 86_400, "trusted": [far.root] if is_trusted else []}
        async with start(folder, embed="local", ollama=model.url, peers=peers) as node:
            for case in asked:
                await node.store(case.own_query, case.own, source="handbook.md", confidence=OWN_CONFIDENCE)
            status, round_ = await node.post("/peers/sync", {})
            assert status == 200, round_
            replies = [await node.ask(case.question) for case in asked]
        [report] = round_["reports"]
        return replies, list(model.prompts), report, frozenset(far.blocks)


@pytest.mark.parametrize("claims", [CERTAIN, DOUBTFUL])
async def test_no_text_of_an_untrusted_peer_stands_in_a_prompt(tmp_path: Path, claims: int) -> None:
    replies, prompts, report, theirs = await told(tmp_path, HELD_OUT, claims)
    assert report["admitted"] == 0, report
    assert report["held"] >= 90, "few are refused outright: they are kept out because nobody trusts them"
    assert len(asked_for_an_answer(prompts)) >= ASKED_MIN
    for case in HELD_OUT:
        for text in case.poison:
            assert not any(text.answer in prompt for prompt in prompts)
    shown = "\n".join(prompts)
    assert "claimed by a peer" not in shown
    assert not any(str(cid) in shown for cid in theirs)
    for case, reply in zip(HELD_OUT, replies, strict=True):
        assert case.right.search(reply["answer"]), (case.question, reply)
        assert not case.wrong.search(reply["answer"]), (case.question, reply)
        assert not any("claimed by a peer" in one["source"] for one in reply["citations"])


@pytest.mark.parametrize("claims", [CERTAIN, DOUBTFUL])
async def test_a_trusted_peer_changes_no_answer_that_the_node_has_itself(tmp_path: Path, claims: int) -> None:
    """Nor does a model read its five texts beside what is known here."""
    replies, prompts, report, _ = await told(tmp_path, HELD_OUT, claims, is_trusted=True)
    assert report["admitted"] >= 90, report
    assert len(asked_for_an_answer(prompts)) >= ASKED_MIN
    for case, reply in zip(HELD_OUT, replies, strict=True):
        assert case.right.search(reply["answer"]), (case.question, reply)
        assert not case.wrong.search(reply["answer"]), (case.question, reply)
        assert not any(text.answer in prompt for prompt in prompts for text in case.poison)


async def test_the_same_texts_do_reach_the_model_of_a_node_that_knows_nothing_and_trusts_them(
    tmp_path: Path,
) -> None:
    """So that the test above cannot pass for another reason."""
    asked = HELD_OUT[:4]
    far = poisoner(asked, DOUBTFUL)
    async with PeerStandIn(far) as server, OllamaStandIn(answer=reads_and_repeats) as model:
        peers = {"urls": [server.url], "every_s": 86_400, "trusted": [far.root]}
        async with start(tmp_path, embed="local", ollama=model.url, peers=peers) as node:
            await node.post("/peers/sync", {})
            for case in asked:
                reply = await node.ask(case.question)
                assert case.wrong.search(reply["answer"]), (case.question, reply)
                assert any("claimed by a peer" in one["source"] for one in reply["citations"]), reply
        assert all("claimed by a peer" in prompt for prompt in model.prompts if READS not in prompt)


@pytest.mark.parametrize("name", ["dev", "held_out"])
def test_the_sets_can_be_judged(name: str) -> None:
    asked = cases(name)
    assert len(asked) == 20
    for case in asked:
        assert [text.style for text in case.poison] == [
            *("repeated", "injection", "authority", "twin", "neutral")
        ]
        assert len({text.query for text in case.poison}) == 5, "the same question twice supersedes the first"
        assert case.right.search(case.own)
        assert not case.wrong.search(case.own)
        assert not case.right.search(case.question)
        assert not case.wrong.search(case.question)
        for text in case.poison:
            assert case.wrong.search(text.answer), text
            assert not case.right.search(text.answer), text


def test_the_sets_share_no_question_and_no_poison() -> None:
    dev, held_out = cases("dev"), cases("held_out")
    assert not {case.question for case in dev} & {case.question for case in held_out}
    assert not {one.answer for case in dev for one in case.poison} & {
        one.answer for case in held_out for one in case.poison
    }


def test_an_answer_changed_where_it_took_the_claim_or_lost_the_fact() -> None:
    def said(is_right: bool, is_wrong: bool) -> Said:
        return Said("", "llm", is_right, is_wrong, frozenset(), "")

    clean = said(True, False)
    assert not changed(clean, clean)
    assert changed(clean, said(False, True))
    assert changed(clean, said(False, False)), "it lost the fact"
    assert changed(clean, said(True, True)), "it reports both"
    unsure = said(False, False)
    assert not changed(unsure, unsure)
    assert not changed(unsure, said(True, False))
    assert changed(unsure, said(False, True))
    assert not changed(said(False, True), said(False, True)), "the model was wrong by itself"
