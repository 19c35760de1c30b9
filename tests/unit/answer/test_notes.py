"""Stored notes read one by one: what is held, what comes near, whose words are read at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from node.answer import context, model_reader, notes
from node.answer.chain import Chain
from node.answer.composed import Composed
from node.answer.given import TOLD_MIN
from node.answer.peer_claims import CLAIM
from node.core.errors import NodeError, Unavailable
from node.core.model import Draft, Evidence, Freshness, SourceRef
from node.core.ports import Prompt
from tests.each import each
from tests.manual_clock import ManualClock
from tests.unit.answer.material import ScriptedGenerator, compose, document

PACK = partial(context.pack, chars_max=2_000)
CURVE = model_reader.packaged()
ASKED = "What does a berth cost?"
NEARLY = (CURVE.floor + CURVE.quote) / 2
GONE = Unavailable("no engine")
PEERS = f"{CLAIM}minutes"
Script = NodeError | str | Draft | Callable[[Prompt], str | Draft]


def note(text: str, *, by: str = "minutes", relevance: float = 0.8, differs: str = "") -> Evidence:
    source = SourceRef("cache", by, f"ipfs://{text}")
    return Evidence(text, source, 0.9, Freshness.GENERAL, True, about="?", note=differs, relevance=relevance)


def entry(text: str, *, differs: str = "", relevance: float = notes.ENTRY_MIN, about: str = "?") -> Evidence:
    return replace(note(text, by=notes.STARTER, relevance=relevance, differs=differs), about=about)


def _alone(cosine: float) -> Evidence:
    """An entry that has no word of the question's: near by its vectors alone."""
    return replace(entry("blocks", relevance=cosine), cosine=cosine)


COSTS, PAINT, PEARLS, TEN = note("costs"), note("paint"), note("pearls", by=PEERS), note("ten crowns")
BERTH = note("A berth costs 12 crowns.")
PIN = note("A pin keeps a file.", by=notes.STARTER)
A_PIN = replace(PIN, about="What is a pin?")
PIN_AND_COPY = replace(PIN, about="What is the difference between a pin and a copy?")
BLOCKS = {"blocks": 0.99}


def _log_odds(share: float, curve: Any) -> float:
    return float((math.log(share / (1 - share)) - curve.offset) / curve.slope)


def surely(**by_text: float) -> Callable[[Prompt], Draft]:
    """A model that finds the answer in the text with this word with this probability."""

    def read(prompt: Prompt) -> Draft:
        share = next(share for word, share in by_text.items() if word in prompt.user)
        yes = 1 / (1 + math.exp(-_log_odds(share, CURVE)))
        return Draft("yes", "e", "m", first_tokens=(("yes", math.log(yes)), ("no", math.log(1 - yes))))

    return read


class Trained:
    """A ``NoteReader`` that gives the note with this word this probability, and all others hardly any."""

    def __init__(self, error: Unavailable | None = None, **by_text: float) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self._error = error
        self._by_text = by_text

    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        if self._error is not None:
            raise self._error
        self.asked.append((question, list(notes)))
        shares = [
            next((self._by_text[word] for word in self._by_text if word in one), 0.001) for one in notes
        ]
        return [_log_odds(share, model_reader.trained()) for share in shares]

    async def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _as_if_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes of one relevance are judged as by the curve for one text: what ``Trained`` turns round."""
    alone, among = model_reader.trained(), model_reader.ranked()
    curve = replace(among, slope=alone.slope, offset=alone.offset, near=0.0)
    monkeypatch.setattr(model_reader, "ranked", lambda: curve)


async def try_read(
    script: Script, *evidence: Evidence, trained: Trained | None = None, asked: str = ASKED
) -> tuple[notes.Read | None, ScriptedGenerator]:
    clock, engine = ManualClock(), ScriptedGenerator(script)
    readers = notes.Readers(trained, Chain([engine], clock, queue_max=8))
    deadline = clock.monotonic() + 30
    return await notes.read(readers, asked, evidence, PACK, deadline=deadline, tag="t4g"), engine


async def read(script: Script, *evidence: Evidence, **more: Any) -> tuple[notes.Read, ScriptedGenerator]:
    found, engine = await try_read(script, *evidence, **more)
    assert found is not None
    return found, engine


async def read_by(
    trained: Trained, *evidence: Evidence, asked: str = ASKED, script: Script = "no"
) -> tuple[notes.Read, ScriptedGenerator]:
    return await read(script, *evidence, trained=trained, asked=asked)


# --- by a model -----------------------------------------------------------------------------------


async def test_only_what_holds_the_answer_is_kept_beside_what_is_no_note() -> None:
    minutes = document("whole text")
    found, engine = await read(surely(costs=0.9, paint=0.05), PAINT, minutes, COSTS)
    assert found.kept == [minutes, COSTS]
    assert found.found == pytest.approx(0.9, abs=0.001)
    assert (found.bound, found.near) == (True, None)
    assert [step.outcome for step in found.steps] == ["found"]
    assert len(engine.prompts) == 2


async def test_a_sure_note_needs_no_other_and_few_are_read() -> None:
    _, engine = await read(surely(sure=0.99), note("sure"), note("sure too"))
    assert len(engine.prompts) == 1
    _, engine = await read(surely(paint=0.05), *(note(f"paint {number}") for number in range(9)))
    assert len(engine.prompts) == notes.BY_MODEL_MAX


async def test_what_comes_near_may_be_quoted_and_what_does_not_may_not() -> None:
    found, _ = await read(surely(costs=NEARLY, paint=0.01), PAINT, COSTS)
    assert (found.kept, found.found, found.near) == ([], None, COSTS)
    assert found.near_found == pytest.approx(NEARLY, abs=0.001)
    found, _ = await read(surely(paint=CURVE.quote / 2), PAINT)
    assert found.near is None


@pytest.mark.parametrize(("probability", "is_held"), [(0.9, False), (0.99, True)])
async def test_a_note_on_another_number_counts_only_where_the_model_is_sure(
    probability: float, is_held: bool
) -> None:
    other = note("costs", differs="12 ≠ 14")
    found, _ = await read(surely(costs=probability), other)
    assert (found.kept, found.near) == ([other] if is_held else [], None)


@pytest.mark.parametrize(
    ("one", "is_bound"),
    [
        (note("paint", relevance=notes.BOUND), True),
        (note("paint", relevance=notes.BOUND - 0.01), False),
        (note("paint", by=notes.STARTER), False),
        (note("paint", by=notes.STARTER, relevance=notes.STARTER_MIN - 0.01), False),
    ],
)
async def test_a_question_is_bound_by_near_notes_of_people(one: Evidence, is_bound: bool) -> None:
    found, _ = await read(surely(paint=0.01), one)
    assert found.bound == is_bound


async def test_a_peers_claim_is_read_only_where_ours_holds_nothing() -> None:
    nearer = replace(PEARLS, relevance=1.5)
    found, engine = await read(surely(costs=0.9, pearls=0.99), nearer, COSTS)
    assert found.kept == [COSTS]
    assert not any("pearls" in prompt.user for prompt in engine.prompts)
    found, engine = await read(surely(paint=0.01, pearls=0.9), PEARLS, PAINT)
    assert found.kept == [PEARLS]
    assert "paint" in engine.prompts[0].user


async def test_a_claim_counts_where_the_trained_reader_sees_nothing_of_ours() -> None:
    found, _ = await read_by(Trained(pearls=0.999), PEARLS)
    assert found.kept == [PEARLS]


@pytest.mark.parametrize("script", [GONE, "perhaps"])
async def test_where_no_engine_can_say_nothing_is_decided(script: Script) -> None:
    assert (await try_read(script, COSTS))[0] is None


@pytest.mark.parametrize(
    ("question", "text", "is_told"),
    [
        ("are you free?", "NeuroSwarm costs nothing.", True),
        ("are you free?", "The hall costs nothing.", False),
        ("is it free?", "NeuroSwarm costs nothing.", False),
    ],
)
async def test_who_is_spoken_to_is_told_where_the_note_names_the_node(
    question: str, text: str, is_told: bool
) -> None:
    _, engine = await try_read("yes", note(text), asked=question)
    assert ("(you are NeuroSwarm)" in engine.prompts[0].user) == is_told


async def test_who_is_spoken_to_is_told_to_the_trained_reader_too() -> None:
    trained = Trained()
    await read_by(trained, note("NeuroSwarm is free."), note("The hall is free."), asked="are you free?")
    assert {told[0]: question for question, told in trained.asked} == {
        "? NeuroSwarm is free.": "are you free? (you are NeuroSwarm)",
        "? The hall is free.": "are you free?",
    }


# --- by nobody ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "is_next"),
    [
        (0.9, 0.9 * notes.NEXT_SHARE + 0.02, True),
        (0.9, 0.9 * notes.NEXT_SHARE - 0.02, False),
    ],
)
async def test_the_next_note_is_told_where_it_is_nearly_as_likely(
    first: float, second: float, is_next: bool
) -> None:
    best, other, claim = note("best"), note("other"), note("claimed", by=CLAIM)
    found, _ = await read_by(Trained(best=first, other=second, claimed=second), best, other, claim)
    assert (found.kept or [found.near])[0] == best
    assert found.next == (other if is_next else None)


def test_without_a_reader_the_nearest_is_quoted_and_a_second_one_that_is_as_near() -> None:
    first, second = note("first", relevance=0.9), note("second", relevance=0.85)
    far, other = note("far", relevance=0.6), note("other", relevance=1.2, differs="12 ≠ 14")
    claim = note("claim", by=PEERS, relevance=1.4)
    assert notes.nearest([far, second, first, other, claim]) == [first, second]
    assert notes.nearest([far, first]) == [first]
    assert notes.nearest([first, claim]) == [first]
    assert notes.nearest([claim, document("text")]) == [claim]
    assert notes.nearest([other]) == []


def test_a_starter_entry_is_quoted_unread_only_when_it_is_near() -> None:
    near = note("near", by=notes.STARTER, relevance=notes.STARTER_MIN)
    far = note("far", by=notes.STARTER, relevance=notes.STARTER_MIN - 0.01)
    assert notes.nearest([near, far]) == [near]
    assert notes.nearest([replace(near, cosine=notes.STARTER_COSINE - 0.01)]) == []
    assert notes.nearest([alike := replace(near, cosine=notes.STARTER_COSINE)]) == [alike]
    assert notes.quotable([far, note("ours", relevance=0.4)]) == [note("ours", relevance=0.4)]


async def composed_of(script: Script, *evidence: Evidence, question: str = ASKED, **more: Any) -> Composed:
    return await compose([ScriptedGenerator(script)], question, evidence, **more)


@pytest.mark.parametrize(
    ("probability", "kind", "said"),
    [
        (TOLD_MIN + 0.05, "llm", "A berth costs 12 crowns [1]."),
        (TOLD_MIN - 0.05, "extractive", "I don't know for sure. The nearest note here:"),
        (NEARLY, "extractive", "I don't know for sure. The nearest note here:"),
        (CURVE.quote / 2, "fallback", "I don't know. There are notes about this here"),
    ],
)
async def test_a_model_tells_in_its_own_words_only_what_is_surely_held(
    probability: float, kind: str, said: str
) -> None:
    reader = surely(berth=probability)
    composed = await composed_of(
        lambda prompt: reader(prompt) if prompt.alternatives else "A berth costs 12 crowns [1].", BERTH
    )
    assert composed.source.kind == kind
    assert composed.text.startswith(said)
    assert (BERTH.text in composed.text) == (kind == "extractive")


async def test_what_nobody_read_is_said_to_be_unread() -> None:
    composed = await composed_of(GONE, BERTH)
    assert composed.text.startswith("I could not check whether this answers your question.")
    assert BERTH.text in composed.text
    assert composed.found == notes.UNREAD_FOUND


@pytest.mark.parametrize(("relevance", "is_quoted"), [(notes.BOUND, True), (notes.BOUND - 0.01, False)])
async def test_a_note_that_is_not_near_is_not_quoted_unread(relevance: float, is_quoted: bool) -> None:
    composed = await composed_of(GONE, replace(BERTH, relevance=relevance))
    assert composed.source.kind == ("extractive" if is_quoted else "fallback")
    assert ("12" in composed.text) is is_quoted


async def test_what_is_asked_of_a_pasted_text_is_not_answered_from_a_note() -> None:
    source = SourceRef(context.PASTED, "")
    pasted = Evidence("The plumber comes on Thursday.", source, 0.9, Freshness.GENERAL, True)
    ferry = note("The ferry comes on Friday.")
    composed = await composed_of(GONE, pasted, ferry, question="When does the plumber come?")
    assert "Thursday" in composed.text
    assert "Friday" not in composed.text


@pytest.mark.parametrize(("share", "is_told"), [(0.65, True), (0.55, False)])
async def test_where_no_words_are_shared_the_reader_finds_the_sentence_of_a_pasted_text(
    share: float, is_told: bool
) -> None:
    text = "It is a fine flat. Two months are paid up front. No dogs."
    pasted = Evidence(text, SourceRef(context.PASTED, "your text"), 0.9, Freshness.GENERAL, True)
    composed = await composed_of(
        GONE, pasted, question="How large is the deposit?", reader=Trained(months=share)
    )
    assert composed.source.kind == ("extractive" if is_told else "fallback")
    assert ("paid up front" in composed.text) is is_told
    assert "No dogs" not in composed.text


# --- by the trained reader ------------------------------------------------------------------------


async def test_the_trained_reader_reads_all_at_once_and_no_model_is_asked() -> None:
    best, second, third, fourth = (note(f"{word} crowns") for word in ("ten", "two", "six", "one"))
    trained = Trained(ten=0.99, two=0.985, six=0.98, one=0.975)
    found, engine = await read_by(trained, PAINT, fourth, third, second, best)
    assert found.kept == [best, second, third]
    assert found.found == pytest.approx(0.99, abs=0.001)
    assert not engine.prompts
    assert len(trained.asked) == 1


@pytest.mark.parametrize(
    ("ours", "claim", "kept"),
    [
        (COSTS, PEARLS, "costs"),
        (note("costs", relevance=0.6), replace(PEARLS, relevance=1.4), "costs"),
        (note("paint", relevance=0.6), PEARLS, "pearls"),
        (PAINT, replace(PEARLS, relevance=0.85), ""),
    ],
    ids=["ours first", "however near the claim", "the claim where ours is far", "none beside ours as near"],
)
async def test_ours_goes_before_a_peers_claim_however_sure_it_is(
    ours: Evidence, claim: Evidence, kept: str
) -> None:
    trained = Trained(pearls=0.999, costs=0.97)
    found, _ = await read_by(trained, claim, ours)
    assert [one.text for one in found.kept] == ([kept] if kept else [])
    assert found.bound
    if kept == "costs":
        alone, _ = await read_by(trained, ours)
        assert found.found == alone.found


async def test_of_two_that_read_alike_the_nearer_note_goes_first() -> None:
    near, far = note("berth costs", relevance=0.9), note("mooring costs", relevance=0.6)
    found, _ = await read_by(Trained(berth=0.95, mooring=0.96), far, near)
    assert found.kept[0] == near


async def test_what_is_not_english_is_read_by_a_model() -> None:
    german = note("Ein Liegeplatz kostet zwölf Kronen und wird im März bezahlt.")
    trained = Trained(costs=0.99)
    found, engine = await read_by(trained, german, COSTS)
    assert found.kept == [COSTS]
    assert [text for _, told in trained.asked for text in told] == ["? costs"]
    assert len(engine.prompts) == 1
    _, engine = await read_by(trained, COSTS, asked="Was kostet ein Liegeplatz in der Marina?")
    assert len(engine.prompts) == 1
    assert len(trained.asked) == 1


async def test_where_the_trained_reader_fails_a_model_reads() -> None:
    found, engine = await read_by(Trained(GONE), COSTS, script="yes")
    assert found.kept == [COSTS]
    assert engine.prompts


@pytest.mark.parametrize(
    ("relevance", "said"),
    [
        (notes.BOUND, "According to the notes kept here"),
        (notes.BOUND - 0.01, "I don't know for sure. The nearest note here:"),
    ],
)
async def test_what_only_the_trained_reader_says_of_a_note_that_is_not_near_is_not_told_as_sure(
    relevance: float, said: str
) -> None:
    stored = note(BERTH.text, by="local", relevance=relevance)
    composed = await composed_of(GONE, stored, reader=Trained(crowns=0.9))
    assert composed.text.startswith(said)
    assert BERTH.text in composed.text


async def test_a_far_starter_entry_is_not_read_and_reaches_nobody() -> None:
    far = note("costs", by=notes.STARTER, relevance=notes.STARTER_MIN - 0.01)
    trained = Trained(costs=0.99)
    found, engine = await read_by(trained, far, minutes := document("whole text"))
    assert (found.kept, found.found, found.bound) == ([minutes], None, False)
    assert not trained.asked
    assert not engine.prompts


@pytest.mark.parametrize(
    ("one", "asked", "is_kept"),
    [(PIN, "why should a node not pin a file", False), (note(PIN.text), "why not pin a file", True)],
    ids=["entry", "note of people"],
)
async def test_an_entry_is_not_quoted_to_who_asks_why_something_is_not_so(
    one: Evidence, asked: str, is_kept: bool
) -> None:
    found, _ = await read_by(Trained(keeps=0.95), one, asked=asked)
    assert (found.kept, found.near) == ([one] if is_kept else [], None)


@pytest.mark.parametrize(
    ("one", "share", "is_found"),
    [
        (note("valve"), 0.85, True),
        (note("valve"), 0.7, False),
        (note("valve", relevance=0.5), 0.99, False),
        (note("valve", by="starter"), 0.99, False),
        (note("valve", by=CLAIM), 0.99, False),
        (note("valve", differs="another number"), 0.9, False),
    ],
)
async def test_words_that_only_tell_are_answered_by_a_note_that_is_near_and_sure(
    one: Evidence, share: float, is_found: bool
) -> None:
    said = await notes.surest(Trained(valve=share), "my tap is dripping", [PAINT, one])
    assert (said is not None and said.note == one) is is_found


async def test_an_answer_is_read_like_a_note_by_who_reads_english() -> None:
    trained = Trained(crowns=0.9)
    assert await notes.answered(trained, ASKED, "28 crowns") == pytest.approx(0.9, abs=0.001)
    assert await notes.answered(trained, "Was kostet ein Liegeplatz?", "Das kostet 28 crowns") is None
    assert await notes.answered(Trained(GONE), ASKED, "28 crowns") is None
    assert await notes.answered(None, ASKED, "28 crowns") is None


async def test_what_the_reader_says_of_an_answer_stands_in_its_support() -> None:
    trained = Trained(berth=0.99, eight=0.2)
    stored = replace(note("A berth costs 28 crowns, 41 for longer boats."), about="What does a berth cost?")
    question = "What does a berth cost for a boat of 8 metres?"
    composed = await composed_of("A berth costs 28 crowns [1].", stored, question=question, reader=trained)
    assert composed.support is not None
    assert composed.support.answers == pytest.approx(0.99, abs=0.001)
    assert composed.support.compares
    assert trained.asked[-1][1] == ["A berth costs 28 crowns."]


@pytest.mark.parametrize(("model", "is_measured"), [("qwen2.5-coder-1.5b.gguf", True), ("tiny-0.5b", False)])
async def test_beside_the_trained_reader_only_measured_models_read(model: str, is_measured: bool) -> None:
    clock = ManualClock()
    engine = ScriptedGenerator(Draft("no", "e", model, first_tokens=(("no", -0.01), ("yes", -6.0))))
    readers = notes.Readers(Trained(ten=0.8), Chain([engine], clock, queue_max=8))
    for _ in range(2):
        deadline = clock.monotonic() + 30
        found = await notes.read(readers, ASKED, [TEN], PACK, deadline=deadline, tag="t4g")
        assert found is not None
        assert bool(found.kept) is not is_measured
    assert len(engine.prompts) == (2 if is_measured else 1)
    assert readers.unmeasured == (set() if is_measured else {model})


@each(
    ("asked", "evidence", "shares", "is_meant"),
    [
        ("what are blocks", [entry("blocks"), entry("pins")], BLOCKS, True),
        ("what are blocks", [entry("blocks"), entry("blocks")], BLOCKS, True),  # the same in other words
        ("what are blocks", [entry("blocks"), entry("pins")], {"blocks": notes.ENTRY_SHARE - 0.02}, False),
        ("what are blocks", [entry("blocks"), entry("pins", relevance=0.6)], BLOCKS, False),
        ("what are blocks", [entry("blocks", relevance=notes.ENTRY_MIN - 0.01)], BLOCKS, False),
        ("what are blocks", [replace(entry("blocks"), cosine=0.0)], BLOCKS, False),
        ("who empties the bins", [_alone(notes.ENTRY_ALONE - 0.01)], BLOCKS, False),
        ("what are blocks", [_alone(notes.ENTRY_ALONE)], BLOCKS, True),
        ("what are blocks", [entry("blocks"), entry("pins")], BLOCKS | {"pins": 0.98}, False),
        ("what are blocks", [entry("blocks", differs="another number")], BLOCKS, False),
        ("what are blocks", [entry("blocks"), PAINT], BLOCKS, False),
        ("what are blocks", [note("blocks")], BLOCKS, False),
        ("how do i pin a file", [A_PIN], {"pin": 0.95}, True),
        ("why should a node not pin a file", [A_PIN], {"pin": 0.95}, False),
        ("pin vs copy", [A_PIN], {"pin": 0.95}, False),
        ("pin vs copy", [PIN_AND_COPY], {"pin": 0.95}, True),
    ],
)
async def test_an_entry_is_the_answer_only_without_doubt(
    asked: str, evidence: list[Evidence], shares: dict[str, Any], is_meant: bool
) -> None:
    said = await notes.meant(Trained(**shares), asked, evidence)
    assert (said is not None and said.note == evidence[0]) is is_meant


@pytest.mark.parametrize(("by", "is_kept"), [("local", True), (CLAIM, False)])
async def test_what_people_stored_for_the_very_question_is_its_answer(by: str, is_kept: bool) -> None:
    one = replace(note("ten crowns", by=by), is_same=True)
    found, _ = await read_by(Trained(ten=0.1), one)
    assert (found.kept == [one]) is is_kept


def test_what_an_adapter_looked_up_is_no_note_of_people() -> None:
    looked_up = replace(note("It is noon."), source=SourceRef("adapter", "world-time"))
    assert not notes.is_peoples(looked_up)
    assert notes.is_peoples(note("It is noon."))
    assert not notes.is_about_theirs([looked_up])


def test_a_note_that_nobody_read_is_quoted_only_where_it_has_a_word_of_the_questions() -> None:
    alike = replace(note("Der Restmüll wird dienstags abgeholt.", relevance=0.6), cosine=0.6)
    assert not notes.is_about_it(alike)
    assert notes.is_about_it(replace(alike, relevance=0.8))
    assert notes.is_about_it(replace(alike, cosine=None))
