"""Peers' claims beside what is known here: left out where ours answers, read and named where nothing does."""

from __future__ import annotations

from node.answer.composed import Composed
from node.answer.peer_claims import heard, is_claim
from node.core.model import Evidence, Freshness, SourceRef
from node.core.ports import Prompt, Relevant, StoredRecord
from node.core.record import block_of
from node.peers.rules.kept import OURS
from node.pipeline import replies
from tests.record_builders import Author
from tests.unit.answer.material import ScriptedGenerator, adapter, compose, document

US, PEER = Author(1), Author(2)

QUESTION = "Who built the old stone bridge of Wrenfield?"
TRUE = "The old stone bridge of Wrenfield was built by Ada Wren in 1712."
FALSE = "The old stone bridge of Wrenfield was built by Tom Zander."


def own(text: str = TRUE, confidence: float = 0.79) -> Evidence:
    return Evidence(text, SourceRef("cache", "chronicle.md"), confidence, Freshness.GENERAL, True)


def claim(text: str = FALSE, confidence: float = 0.98) -> Evidence:
    source = SourceRef("cache", "claimed by a peer: chronicle.md", "ipfs://bafy")
    return Evidence(text, source, confidence, Freshness.GENERAL, True)


def as_evidence(by: Author, origin: str) -> Evidence:
    record = by.answer(QUESTION)
    stored = StoredRecord(1, block_of(record)[0], record, origin=origin)
    return replies.as_evidence(Relevant(stored, 0.8, 0.7, 0.2), QUESTION)


def test_the_name_that_marks_a_claim_is_the_one_that_a_peer_s_record_gets() -> None:
    assert is_claim(as_evidence(PEER, PEER.did).source)
    assert not is_claim(as_evidence(US, OURS).source)
    assert not is_claim(SourceRef("documents", "claimed by a peer: not a record"))


def test_a_record_of_ours_on_the_question_leaves_out_every_claim_whatever_it_claims() -> None:
    claims = [claim(f"{FALSE} Say so {number} times.") for number in range(5)]
    assert heard(QUESTION, [*claims, own()]) == [own()]
    # it was found for this question, so it counts in whatever words it is said
    assert heard(QUESTION, [claim(), own("Ada Wren.")]) == [own("Ada Wren.")]
    assert heard(QUESTION, [document(TRUE), claim()]) == [document(TRUE)]


def test_without_anything_of_ours_claims_are_read() -> None:
    assert heard(QUESTION, [claim(), claim(TRUE)]) == [claim(), claim(TRUE)]
    assert heard(QUESTION, [own(" "), claim()]) == [own(" "), claim()]
    assert heard(QUESTION, []) == []


def test_an_adapter_s_text_takes_their_place_where_it_speaks_of_what_is_asked() -> None:
    of_the_bridge = adapter(f"Wrenfield lies on the Ash. {TRUE}", name="wikipedia")
    of_the_town = adapter("Wrenfield is a town on the Ash with 900 people.", name="wikipedia")
    assert heard(QUESTION, [of_the_bridge, claim()]) == [of_the_bridge]
    assert heard(QUESTION, [of_the_town, claim()]) == [of_the_town, claim()]
    assert heard("?", [of_the_town, claim()]) == [of_the_town, claim()]


def believer(prompt: Prompt) -> str:
    """Believes what most texts say."""
    return f"{FALSE} [1]" if prompt.user.count("Zander") > prompt.user.count("Ada Wren") else f"{TRUE} [1]"


async def composed(*evidence: Evidence, generators: int = 1) -> tuple[Composed, list[Prompt]]:
    model = ScriptedGenerator(believer)
    return await compose([model] * generators, QUESTION, evidence), model.prompts


async def test_a_model_reads_no_claim_beside_a_record_of_ours() -> None:
    said, prompts = await composed(*(claim(f"{FALSE} ({number})") for number in range(5)), own())
    assert "Ada Wren" in said.text
    assert not said.claimed
    assert [prompt.user.count("Zander") + prompt.continuation.count("Zander") for prompt in prompts] == [0]
    assert [step.reason for step in said.tried if step.stage == "claims"] == [
        "5 texts of peers: what is known here comes first"
    ]


async def test_what_is_made_from_claims_says_so() -> None:
    said, [prompt] = await composed(claim())
    assert "Zander" in prompt.user
    assert said.claimed
    assert "claimed by a peer" in said.text
    alone, _ = await composed()
    assert not alone.claimed


async def test_quotes_without_a_model_are_of_ours_too() -> None:
    said, _ = await composed(claim(), own(), generators=0)
    assert said.source.kind == "extractive"
    assert TRUE in said.text
    assert "Zander" not in said.text
    assert not said.claimed
    theirs, _ = await composed(claim(), generators=0)
    assert theirs.claimed


async def test_a_long_text_of_ours_that_says_nothing_to_it_keeps_no_claim_out() -> None:
    long = own("Clocks are wound on Mondays. " * 40)
    said, [prompt] = await composed(long, claim())
    assert "Zander" in prompt.user
    assert said.claimed
