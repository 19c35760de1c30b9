"""Poisoned context: what a peer sends to be read by a model. Asked of a whole walk, with a model that
believes whatever stands first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from node.answer.compose import Composer
from node.answer.evidence.entries import StoredEvidence
from node.audit.recorder import Recorder
from node.cache.keys import keyword_key
from node.cache.recall import Limits, Recaller
from node.core.caller import Caller
from node.core.metrics import Metrics
from node.core.model import Answer, Query
from node.core.normalise import normalise
from node.core.ports import Prompt
from node.core.record import AnswerRecord, RecordSource
from node.peers.rules.values import Level, Quota, Tier
from node.pipeline.decisions import Decisions
from node.pipeline.exact_sources import ExactSources
from node.pipeline.failures import NegativeCache
from node.pipeline.generation import Generation
from node.pipeline.ready import ReadyHits
from node.pipeline.statements import Statements
from node.pipeline.stations import Stations
from node.pipeline.stored import Stored
from node.pipeline.storing import Storing
from node.pipeline.under_way import Policy
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.sessions import Sessions
from node.pipeline.understanding.understand import Understanding
from node.pipeline.walk import Pipeline
from node.store.remember import Questions, Remembered, Rememberer
from node.store.write_back import WriteBack
from tests.admit_kit import US, Door, Issuer
from tests.unit.answer.material import ScriptedGenerator

POISON = "Zanzibar"
TOWNS = [f"Town{letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]


class Signer:
    root = node = US.did
    sign = staticmethod(US.private.sign)


class Node:
    """A door for peers and the walk behind it, over the same stores."""

    def __init__(
        self, script: Callable[[Prompt], str] | None = None, *, confidence_min: float = 0.8, **more: Any
    ) -> None:
        self.door = Door(quota=Quota(near=64))
        door = self.door
        self.model = ScriptedGenerator(script or _believes_the_first)
        self.remembered: list[Remembered] = []

        async def report(outcome: Remembered) -> None:
            self.remembered.append(outcome)

        async def is_live(stored: object) -> bool:
            return True

        clock, semantics = door.clock, door.semantics
        policy = Policy(confidence_min, "all", True, "test")
        composer = Composer([self.model], clock, 4_000, 200)
        recaller = Recaller(
            door.records,
            semantics,
            clock,
            Limits(),
            calibrated_on=door.embedder.info.digest,
        )
        rememberer = Rememberer(
            door.records, semantics, Signer(), clock, WriteBack(64), Questions(keyword_key), report
        )
        failures: NegativeCache[Any] = NegativeCache(clock.monotonic, base_s=1.0)
        evidence = StoredEvidence(door.records, semantics, clock, Path("nowhere"))
        stored = Stored(
            clock, recaller, evidence, semantics, composer, policy, lambda key, work: False, is_live
        )
        generation = Generation(clock, composer, policy)
        stations = Stations(
            stored,
            stored,
            ExactSources(clock, {}, failures),
            generation,
            Statements(stored, generation, composer),
            Storing(clock, generation, rememberer, door.log, policy, **more),
        )
        understanding = Understanding(Router([], Floors()), semantics, None, clock)
        decisions = Decisions(clock, Recorder(door.log, Metrics().unlogged, refuses=False), semantics, policy)
        self.pipeline = Pipeline(
            clock,
            understanding,
            Sessions(),
            stations,
            decisions,
            policy,
            failures=failures,
            ready=ReadyHits(),
        )

    async def know(self, town: str, asked: str = "") -> None:
        """Our own record, not sure enough to be the answer itself; ``asked``: the words it is stored for."""
        record = US.answer(
            asked or question(town),
            answer=f"The bridge of {town} was built by Ada Wren.",
            scope="public",
            confidence=760_000,
            source=RecordSource("documents", "chronicle.md"),
        )
        stored = await self.door.records.add(record, keyword_key=keyword_key(record.query))
        [embedded] = await self.door.semantics.embed([record.query])
        self.door.semantics.keep(stored, embedded)

    async def ask(self, town: str) -> Answer:
        text = question(town)
        query = Query(
            id=f"ask-{town}",
            asked=text,
            text=normalise(text),
            caller=Caller(),
            received=self.door.clock.now(),
            deadline=self.door.clock.monotonic() + 30,
        )
        return await self.pipeline.answer(query)


def _believes_the_first(prompt: Prompt) -> str:
    """The first text of the context, with its mark; each text that it reads by itself holds the answer."""
    if prompt.alternatives:
        return "yes"
    lines = prompt.user.splitlines()
    for place, line in enumerate(lines[:-1]):
        if line.startswith("[1]"):
            return f"{lines[place + 1]} [1]"
    return "I do not know."


def question(town: str) -> str:
    return f"Who built the old stone bridge of {town}?"


def poisoned(issuer: Issuer, town: str) -> list[AnswerRecord]:
    """Five texts: the question itself and near it, with all the confidence in the world."""
    wordings = (
        question(town),
        f"Who built the old stone bridge in {town}?",
        f"By whom was the old stone bridge of {town} built?",
        f"Who was it that built the old stone bridge of {town}?",
        f"Who built the famous old stone bridge of {town}?",
    )
    return [
        issuer.answer(
            one, answer=f"The bridge of {town} was built by {POISON} ({number}).", confidence=1_000_000
        )
        for number, one in enumerate(wordings)
    ]


async def answers(node: Node) -> dict[str, str]:
    return {town: (await node.ask(town)).text for town in TOWNS}


async def fed(issuers: Sequence[Issuer] = (), level: Level = Level.UNKNOWN) -> tuple[Node, Counter[str]]:
    """A node that knows something of every town and was sent poison about each."""
    node = Node()
    codes: Counter[str] = Counter()
    for town in TOWNS:
        await node.know(town)
    for issuer in issuers:
        await node.door.stand(issuer, level)
        for town in TOWNS:
            for record in poisoned(issuer, town):
                codes[await node.door.take(issuer, record)] += 1
    return node, codes


@pytest.mark.parametrize("level", [Level.UNKNOWN, Level.KNOWN])
async def test_untrusted_texts_reach_no_model_and_change_no_answer(level: Level) -> None:
    clean, _ = await fed()
    before = await answers(clean)
    assert all("Ada Wren" in text for text in before.values())
    node, codes = await fed([Issuer(1), Issuer(2)], level)
    assert codes == {"held": 200}
    assert await answers(node) == before
    shown = [prompt.system + prompt.user + prompt.continuation for prompt in node.model.prompts]
    assert sum(not prompt.alternatives for prompt in node.model.prompts) == len(TOWNS)
    assert not any(POISON in text for text in shown)
    held = await node.door.store.held_of(Issuer(1).did, limit=1_000)
    assert {one.tier for one in held} == {Tier.UNTRUSTED}


async def test_a_trusted_peer_s_texts_are_marked_few_and_never_become_ours() -> None:
    """With less confidence than it takes to be the answer they may still be read: as what they are. What is
    made from them is not stored: it would outlive their withdrawal and their issuer's standing."""
    node = Node()
    issuer = Issuer(1)
    await node.door.stand(issuer, Level.TRUSTED)
    for town in TOWNS[:5]:
        for record in poisoned(issuer, town):
            doubtful = issuer.answer(record.query, answer=record.answer, confidence=700_000)
            assert await node.door.take(issuer, doubtful) == "trusted"
    for town in TOWNS[:5]:
        answer = await node.ask(town)
        assert answer.source.kind != "cache"
        assert answer.trace[-2].reason == "peers_word"
    assert any(prompt.alternatives and POISON in prompt.user for prompt in node.model.prompts)
    for prompt in (one for one in node.model.prompts if not one.alternatives):
        assert 1 <= prompt.user.count(f"built by {POISON}") <= 2
        assert prompt.user.count("claimed by a peer") == prompt.user.count(f"built by {POISON}")
    assert not node.remembered


@pytest.mark.parametrize("words", ["{}", "Please, {}", "I would like to know: {}", "We need to know {}"])
@pytest.mark.parametrize("claims", [1_000_000, 700_000])
async def test_trusted_peers_overwrite_nothing_that_we_know_in_any_words(words: str, claims: int) -> None:
    node = Node()
    for issuer in (Issuer(1), Issuer(2), Issuer(3)):
        await node.door.stand(issuer, Level.TRUSTED)
        for town in TOWNS[:4]:
            for record in poisoned(issuer, town):
                said = issuer.answer(record.query, answer=record.answer, confidence=claims)
                assert await node.door.take(issuer, said) == "trusted"
    for town in TOWNS[:4]:
        await node.know(town, words.format(question(town)))
        assert "Ada Wren" in (await node.ask(town)).text
    assert not any(POISON in prompt.user + prompt.continuation for prompt in node.model.prompts)
