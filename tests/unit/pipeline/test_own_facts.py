"""Questions about the node itself: which are read as such, what is said, and what is kept to oneself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from node.audit.decisions.answer_entry import decision_entry
from node.cache.index.flat_index import FlatIndex
from node.core.errors import Unavailable
from node.core.model import (
    CERTAIN,
    Answer,
    Caller,
    Confidence,
    Found,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
    Unclear,
)
from node.core.ports import RecordStore
from node.core.record import RecordSource
from node.pipeline.own_facts import SESSIONS_MAX, OwnFacts, _patterns
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

US = Author(1)
ASKS = """
which adapter answered that|source
which adapter answered my last question?|source
ok so which adapter answered that then|source
which adapter answered the question about bitcoin|source
where did you get that from|source
what's your source for that|source
who answered that|source
what confidence did that have|confidence
how sure are you about that|confidence
what was the confidence of your last answer|confidence
how many answers were stored today|count
how many answers have you stored this week|count
how many entries do you have|count
how many entries are in the cache|count
which CID holds the answer about ipfs|cid
what's the CID for the IPFS answer|cid
the cid of the ipfs entry|cid
what is the cid of my last question|cid
who gave that answer|source
how many questions were answered today|questions
how many questions did you answer this week|questions
how many cache hits today|hits
how many cache hits were there yesterday?|hits
how many questions were answered from the cache|hits
what is the cid of that|cid
when was the answer about ipfs stored|stored
when did you store that|stored
why did you say that|why
how did you come to that answer|why
what was my last question|last
what did i just ask you|last
welcher adapter hat das beantwortet|source
wie sicher bist du dir|confidence
wie viele antworten wurden heute gespeichert|count
welche CID enthält die Antwort über ipfs|cid
wann wurde die antwort zu ipfs gespeichert|stored
warum hast du das gesagt|why
was war meine letzte frage|last
wer hat diese antwort gegeben|source
wie viele fragen wurden heute beantwortet|questions
wie viele Cache-Treffer gab es heute|hits
was ist die CID der Antwort zu IPFS|cid
¿de dónde sacaste eso?|source
¿qué confianza tiene eso?|confidence
cuántas respuestas se guardaron hoy|count
qué cid guarda la respuesta sobre ipfs|cid
por qué dijiste eso|why
cuál fue mi última pregunta|last
¿quién dio esa respuesta?|source
cuántas preguntas has respondido hoy|questions
cuál es el cid de la respuesta sobre ipfs|cid
d'où tiens-tu ça|source
combien de réponses as-tu enregistrées aujourd'hui|count
quel CID contient la réponse sur ipfs|cid
pourquoi as-tu dit ça|why
quelle était ma dernière question|last
qui a donné cette réponse|source
à combien de questions as-tu répondu aujourd'hui|questions
quel est le CID de la réponse sur ipfs|cid
da dove viene questa risposta|source
quanto sei sicuro di questo|confidence
a quante domande hai risposto oggi|questions
qual è il CID della risposta su ipfs|cid
perché hai detto questo|why
qual era la mia ultima domanda|last
quem deu essa resposta|source
quantas perguntas você respondeu hoje|questions
qual é o cid da resposta sobre ipfs|cid
por que você disse isso|why
qual foi a minha última pergunta|last
"""
OTHERS = """
how many answers does a multiple choice test have
which adapter do i need for a uk plug
what is a confidence interval
how many entries are in the oxford dictionary
why did you say that to him
who answered the door
when was the answer to life found
how old is the answer to life
what was the last question by asimov
how sure are scientists about the big bang
which cid won the medal
who gave the best answer
how many questions were asked in parliament today
how many hits today
how many hits did he have yesterday
the last question of the exam
where did you get that dress
what is my last name
how many records did the beatles sell
wie viele antworten hat ein multiple choice test
welcher adapter passt in england
por que dijo eso einstein
why
"""


def node(store: MemoryStore | None = None, *, embeds: bool = False) -> OwnFacts:
    records: RecordStore = (store or MemoryStore(own_issuer=US.did)).records
    return OwnFacts(records, OneModel(HashEmbedder(8), FlatIndex(8)) if embeds else OneModel())


def query(text: str, session: str | None = "s", tenant: str = "local") -> Query:
    clock = ManualClock(START + timedelta(days=1))
    caller = Caller(tenant=tenant)
    return Query("id", text, text, caller, clock.now(), clock.monotonic() + 8, session=session)


async def say(facts: OwnFacts, text: str, session: str | None = "s", tenant: str = "local") -> str:
    asked = query(text, session, tenant)
    recognition = facts.recognise(text, asked.local)
    assert recognition is not None, text
    outcome = await facts.ask(recognition, asked)
    assert isinstance(outcome, Found)
    return outcome.evidence.text


def hear(
    facts: OwnFacts,
    text: str,
    source: SourceRef,
    *,
    session: str | None = "s",
    cid: str | None = None,
    hit: HitInfo | None = None,
) -> None:
    route = Route(Kind.GENERATIVE, (Source.CACHE, Source.MODEL), 0.7, "asks for an explanation")
    answer = Answer(
        query(text, session), "An answer.", route, source, Confidence(0.87, {"completeness": 1.0}),
        Freshness.GENERAL, cid=cid, hit=hit,
    )  # fmt: skip
    entry, _ = decision_entry(
        answer, policy="1", embedder=None, will_store=False, store_reason="", scope="shared"
    )
    facts.hear(answer, entry)


@pytest.mark.parametrize("line", ASKS.strip().splitlines())
def test_the_question_is_read(line: str) -> None:
    text, _, metric = line.rpartition("|")
    found = node().recognise(text, START)
    assert found is not None
    assert found.slots["metric"] == metric
    assert found.strength >= CERTAIN
    assert found.about_node
    assert found.key is None


@pytest.mark.parametrize("text", OTHERS.strip().splitlines())
def test_another_question_is_not_claimed(text: str) -> None:
    assert node().recognise(text, START) is None


async def test_the_last_answer_of_the_session_is_told() -> None:
    facts = node()
    hear(facts, "why is the sky blue", SourceRef("llm", "ollama/tiny"))
    assert await say(facts, "what was my last question") == "Your last question was “why is the sky blue”."
    said = await say(facts, "which adapter answered that")
    assert said == "“why is the sky blue” was answered by the language model ollama/tiny."
    assert "confidence of 0.87, from completeness 1.00" in await say(facts, "how sure are you about that")
    why = await say(facts, "why did you say that")
    assert "an explanation, an opinion or general knowledge" in why
    assert "Why: asks for an explanation." in why
    assert "was not stored" in await say(facts, "which cid holds that")


async def test_other_sessions_and_tenants_are_told_nothing() -> None:
    facts = node()
    hear(facts, "my secret question", SourceRef("llm", "x"))
    for session, tenant in (("t", "local"), ("s", "other"), (None, "local")):
        said = await say(facts, "what was my last question", session, tenant)
        assert "secret" not in said
    assert "on its own" in await say(facts, "what was my last question", None)


async def test_its_own_answers_are_no_turns_and_sessions_are_bounded() -> None:
    facts = node()
    hear(facts, "why is the sky blue", SourceRef("llm", "x"))
    own = query("which adapter answered that")
    route = Route(Kind.HISTORICAL, (), None, "asks about the node itself", about_node=True)
    facts.hear(
        Answer(own, "…", route, SourceRef("adapter", "node-facts"), Confidence(1.0, {}), Freshness.COMPUTED),
        {},
    )
    assert "sky" in await say(facts, "what was my last question")
    for number in range(SESSIONS_MAX):
        hear(facts, "another", SourceRef("llm", "x"), session=f"n{number}")
    assert "sky" not in await say(facts, "what was my last question")


@pytest.mark.parametrize("embeds", [False, True])
async def test_records_are_found_by_their_topic_among_those_that_the_caller_may_see(embeds: bool) -> None:
    store = MemoryStore(own_issuer=US.did)
    source = RecordSource("adapter", "wikipedia")
    kept = await store.records.add(US.answer("What is IPFS?", source=source))
    await store.records.add(US.answer("Does the node need an IPFS daemon?"))
    hidden = await store.records.add(US.answer("ipfs plans of Ann", scope="private:ann"))
    facts = node(store, embeds=embeds)
    assert str(kept.cid) in await say(facts, "which cid holds the answer about ipfs")
    said = await say(facts, "when was the answer about ipfs stored")
    assert said == "The answer to “What is IPFS” is stored since 2026-01-01 12:00 UTC."
    assert "the adapter wikipedia" in await say(facts, "which adapter answered the question about ipfs")
    said = await say(facts, "which cid holds the answer about ipfs plans")
    assert said == "Nothing that is stored here and that you may see is about “ipfs plans”."
    assert str(hidden.cid) in await say(facts, "which cid holds the answer about ipfs plans", tenant="ann")


async def test_answers_are_counted_by_day_and_by_who_may_see_them() -> None:
    store = MemoryStore(own_issuer=US.did)
    await store.records.add(US.answer("of yesterday"))
    await store.records.add(US.answer("of today", timestamp=START + timedelta(days=1)))
    await store.records.add(US.answer("of Ann", scope="private:ann", timestamp=START + timedelta(days=1)))
    facts = node(store)
    assert await say(facts, "how many entries do you have") == "2 answers that you may see are stored here."
    said = await say(facts, "how many answers were stored today")
    assert said == "1 answer that you may see was stored today and kept since."
    assert (await say(facts, "how many answers were stored yesterday")).startswith("1 answer ")
    assert (await say(facts, "how many entries do you have", tenant="ann")).startswith("3 answers ")


async def test_a_record_that_went_is_said_to_have_gone() -> None:
    store = MemoryStore(own_issuer=US.did)
    stored = await store.records.add(US.answer("What is IPFS?"))
    facts = node(store)
    hear(facts, "what is ipfs", SourceRef("cache", "starter"), cid=str(stored.cid))
    assert "is stored as" in await say(facts, "which cid holds that")
    await store.records.withdraw(stored.cid, "test")
    assert "is not kept any more" in await say(facts, "which cid holds that")


async def test_each_part_has_its_source() -> None:
    facts = node()
    whole = query("what is 2+2 and who is ann")
    route = Route(Kind.GENERATIVE, (), None, "x")
    parts = tuple(
        Answer(query(text), "…", route, SourceRef("adapter", name), Confidence(1.0, {}), Freshness.COMPUTED)
        for text, name in (("what is 2+2", "math-calculator"), ("who is ann", "wikipedia"))
    )
    joined = replace(parts[0], query=whole, parts=parts, source=SourceRef("composite", "composite"))
    facts.hear(joined, {})
    said = await say(facts, "which adapter answered that")
    assert "“what is 2+2” by the adapter math-calculator; “who is ann” by the adapter wikipedia" in said


HIT = HitInfo("exact", 1.0, 0.9, None, None, 5, "coingecko", "the same question")


async def test_questions_and_hits_are_counted_for_the_caller_since_the_start() -> None:
    facts = node()
    hear(facts, "why is the sky blue", SourceRef("llm", "x"), session=None)
    hear(facts, "what is ipfs", SourceRef("cache", "local"), hit=HIT)
    hear(facts, "what is it", SourceRef("fallback", "fallback"))
    said = await say(facts, "how many questions were answered today")
    assert said.startswith(
        "Questions of yours that were answered today: 2, of them 1 from what is stored here."
    )
    assert "in memory only" in said
    assert await say(facts, "how many cache hits today", None) == said
    assert "yesterday: 0," in await say(facts, "how many questions were answered yesterday")
    assert "today: 0," in await say(facts, "how many cache hits today", tenant="ann")
    assert "so far: 2," in await say(facts, "how many questions did you answer")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("was war meine letzte Frage", "Die letzte Frage war „what is ipfs“."),
        ("wie sicher bist du dir", "hatte eine Konfidenz von 0,87, aus: Vollständigkeit 1,00."),
        ("wie viele Fragen wurden heute beantwortet", "heute beantwortet wurden: 1, davon 1 aus"),
        (
            "warum hast du das gesagt",
            "Gefunden als dieselbe Frage, Wort für Wort. Quelle: ein mitgelieferter",
        ),
        ("wie viele Antworten wurden heute gespeichert", "0 Antworten, die Sie sehen dürfen, wurden heute"),
        ("¿de dónde sacaste eso?", "a «what is ipfs»: una entrada incluida con el nodo."),
        ("por qué dijiste eso", "Se encontró como la misma pregunta, palabra por palabra."),
        ("qué cid guarda la respuesta sobre bitcoin", "Sobre «bitcoin» no hay nada guardado aquí"),
        ("quelle était ma dernière question", "Votre dernière question était « what is ipfs »."),
        ("pourquoi as-tu dit ça", "Trouvée comme la même question, mot pour mot."),
        ("combien de réponses as-tu enregistrées aujourd'hui", "ont été enregistrées aujourd'hui"),
        ("qual era la mia ultima domanda", "La tua ultima domanda era «what is ipfs»."),
        ("qual foi a minha última pergunta", "A sua última pergunta foi “what is ipfs”."),
    ],
)
async def test_the_answer_is_in_the_language_of_the_question(text: str, said: str) -> None:
    facts = node()
    hear(facts, "what is ipfs", SourceRef("cache", "starter"), hit=HIT)
    assert said in await say(facts, text)


async def test_every_reply_is_there_in_every_language() -> None:
    *_, replies = _patterns()
    full = set(replies["de"])
    for code, one in replies.items():
        missing = {key for key in full - set(one) if not (code == "en" and key.startswith("why_"))}
        assert not missing, code
        assert set(one) <= full
    for code in replies:
        for key in full & set(replies[code]):
            fields = [set(re.findall(r"\{(\w+)\}", replies[one][key])) for one in (code, "de")]
            assert fields[0] == fields[1], (code, key)


@pytest.mark.parametrize(("text", "topic"), [("what's the CID for the IPFS answer", "ipfs")])
async def test_a_topic_may_stand_before_the_answer(text: str, topic: str) -> None:
    store = MemoryStore(own_issuer=US.did)
    kept = await store.records.add(US.answer("What is IPFS?"))
    assert str(kept.cid) in await say(node(store), text)
    found = node().recognise(text, START)
    assert found is not None
    assert found.slots["topic"] == topic


async def test_records_that_cannot_be_read_are_told_plainly_and_the_reason_is_for_the_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore(own_issuer=US.did)

    async def broken(**_: object) -> int:
        raise Unavailable("state.sqlite: disk I/O error")

    monkeypatch.setattr(store.records, "tally", broken)
    facts, text = node(store), "wie viele antworten wurden heute gespeichert"
    recognition = facts.recognise(text, START)
    assert recognition is not None
    outcome = await facts.ask(recognition, query(text))
    assert isinstance(outcome, Unclear)
    assert "sqlite" in outcome.reason
    assert outcome.ask.startswith("Ich konnte gerade nicht in meinen eigenen Aufzeichnungen nachsehen")
