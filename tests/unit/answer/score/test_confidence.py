"""The confidence: its six parts, its weights, its bounds, and the outcomes the design wants."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.answer.score.confidence import (
    COMPLETENESS,
    CONTEXT_USE,
    CROSS_VALIDATION,
    RELIABILITY,
    RESPONSE_QUALITY,
    SOURCE_RELIABILITY,
    VALIDATION,
    WEIGHTS,
    Asked,
    Origin,
    Signals,
    answered,
    asked_for,
    judge,
    observe,
    origin_of,
    weigh,
    well_formed,
)

STORED_FROM = 0.80
EXPLANATION = (
    "Quantum computing uses qubits, which can be in a superposition of zero and one. By entangling qubits "
    "and letting their amplitudes interfere, a quantum computer solves certain problems, such as factoring "
    "large numbers, much faster than a classical machine. Today's devices are small and noisy, so error "
    "correction is being developed."
)


def test_the_weights_are_the_designs() -> None:
    assert list(WEIGHTS.values()) == [30, 25, 15, 10, 10, 10]
    assert sum(WEIGHTS.values()) == 100


def test_all_ones_are_exactly_one() -> None:
    assert weigh(dict.fromkeys(WEIGHTS, 1.0)).value == 1.0
    sources: dict[str, Any] = {"sources_independent": 3, "sources_agreeing": 3}
    confidence = judge(Signals(Origin.COMPUTED, 1.0, 1.0, context_share=1.0, valid=5, **sources))
    assert set(confidence.parts) == set(WEIGHTS)
    assert confidence.value == 1.0


@pytest.mark.parametrize("name", list(WEIGHTS))
def test_each_part_weighs_what_it_should(name: str) -> None:
    parts = dict.fromkeys(WEIGHTS, 0.0) | {name: 1.0}
    assert weigh(parts).value == pytest.approx(WEIGHTS[name] / 100)


def test_absent_parts_are_left_out_and_the_rest_scaled() -> None:
    confidence = judge(Signals(Origin.MODEL, 1.0, 1.0))
    assert set(confidence.parts) == {SOURCE_RELIABILITY, COMPLETENESS, RESPONSE_QUALITY, VALIDATION}
    assert confidence.value == pytest.approx((30 * 0.7 + 25 + 15 + 10 * 0.5) / 80)
    assert weigh({}).value == 0.0


SIGNALS = st.builds(
    Signals,
    origin=st.sampled_from(Origin),
    answered=st.floats(0, 1),
    well_formed=st.floats(0, 1),
    complete=st.booleans(),
    abstained=st.booleans(),
    looped=st.booleans(),
    grounded=st.booleans(),
    cited=st.booleans(),
    uncited_figures=st.integers(0, 9),
    reliability_max=st.floats(0, 1),
    context_share=st.none() | st.floats(0, 1),
    sources_independent=st.integers(1, 5),
    sources_agreeing=st.integers(1, 5),
    valid=st.integers(0, 20),
    invalid=st.integers(0, 20),
)


@given(SIGNALS)
def test_everything_stays_in_bounds(signals: Signals) -> None:
    confidence = judge(signals)
    assert 0.0 <= confidence.value <= 1.0
    assert all(0.0 <= part <= 1.0 for part in confidence.parts.values())


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(), st.integers())
def test_nonsense_stays_in_bounds(value: float, some: int, other: int) -> None:
    shares: dict[str, Any] = {"reliability_max": value, "context_share": value}
    counts: dict[str, Any] = {
        "sources_independent": some,
        "sources_agreeing": other,
        "valid": other,
        "uncited_figures": some,
    }
    signals = Signals(Origin.ADAPTER, value, value, **shares, **counts)
    assert 0.0 <= judge(signals).value <= 1.0


BETTER: dict[str, tuple[Any, Any]] = {
    "answered": (0.3, 0.6),
    "well_formed": (0.3, 0.6),
    "complete": (False, True),
    "abstained": (True, False),
    "looped": (True, False),
    "cited": (False, True),
    "uncited_figures": (2, 1),
    "reliability_max": (0.4, 0.6),
    "context_share": (0.2, 0.5),
    "sources_agreeing": (1, 2),
    "valid": (1, 2),
    "invalid": (2, 1),
}


@given(SIGNALS, st.sampled_from(sorted(BETTER)))
def test_a_better_signal_never_lowers_it(signals: Signals, name: str) -> None:
    worse, better = BETTER[name]
    low, high = replace(signals, **{name: worse}), replace(signals, **{name: better})
    assert judge(high).value >= judge(low).value


def test_every_signal_is_covered_by_the_monotone_test() -> None:
    free = {"origin", "grounded", "sources_independent"}  # they say what kind of answer it is, not how good
    assert {field.name for field in fields(Signals)} - free == set(BETTER)


def test_reliability_by_kind() -> None:
    found, told = (Origin.COMPUTED, Origin.ADAPTER, Origin.RECORD), (Origin.MODEL_ON_EVIDENCE, Origin.MODEL)
    order = [RELIABILITY[origin] for origin in (*found, *told, Origin.FALLBACK)]
    assert order == [1.0, 0.95, 0.9, 0.8, 0.7, 0.0]
    assert judge(Signals(Origin.ADAPTER, 1, 1, reliability_max=0.5)).parts[SOURCE_RELIABILITY] == 0.5
    assert judge(Signals(Origin.MODEL, 1, 1, reliability_max=0.99)).parts[SOURCE_RELIABILITY] == 0.7


def test_agreement_of_sources_orders_as_it_should() -> None:
    one = judge(Signals(Origin.ADAPTER, 1, 1))
    agree = judge(Signals(Origin.ADAPTER, 1, 1, sources_independent=2, sources_agreeing=2))
    disagree = judge(Signals(Origin.ADAPTER, 1, 1, sources_independent=2, sources_agreeing=1))
    assert agree.value > one.value > disagree.value
    assert CROSS_VALIDATION not in one.parts


def test_votes_move_the_validation() -> None:
    values = [judge(Signals(Origin.MODEL, 1, 1, valid=n)).parts[VALIDATION] for n in range(7)]
    assert values == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0]
    assert judge(Signals(Origin.MODEL, 1, 1, invalid=9)).parts[VALIDATION] == 0.0


@pytest.mark.parametrize(("share", "part"), [(0.0, 0.0), (0.35, 0.5), (0.7, 1.0), (1.0, 1.0)])
def test_context_use(share: float, part: float) -> None:
    parts = judge(Signals(Origin.MODEL_ON_EVIDENCE, 1, 1, context_share=share)).parts
    assert parts[CONTEXT_USE] == pytest.approx(part)


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        (Asked.NUMBER, "How many members voted? | What is the price of bitcoin? | What is 2+2?"),
        (Asked.NUMBER, "How far is the moon?"),
        (
            Asked.TIME,
            "When was the council founded? | How long ago did it happen? | In which year did it end?",
        ),
        (Asked.NAME, "Who wrote Hamlet?"),
        (Asked.EXPLANATION, "Explain quantum computing | Why is the sky blue? | How does a heat pump work?"),
        (Asked.EXPLANATION, "What is the difference between TCP and UDP?"),
        (Asked.DEFINITION, "What is IPFS? | define entropy"),
        (Asked.OTHER, "What is the capital of France? | Was war das? | "),
    ],
)
def test_what_is_asked_for(kind: Asked, questions: str) -> None:
    assert [(one, asked_for(one)) for one in questions.split(" | ") if asked_for(one) is not kind] == []


@pytest.mark.parametrize(
    ("question", "whole", "lacking"),
    [
        ("How many members voted?", "Forty-two members voted.", "Members voted."),
        ("When was it founded?", "It was founded in March.", "It was founded by monks."),
        ("Who wrote Hamlet?", "It was written by William Shakespeare.", "It was written by a playwright."),
        ("Explain quantum computing", EXPLANATION, "Quantum computing uses qubits."),
        ("What is IPFS?", "IPFS is a peer-to-peer file system.", "A system."),
        ("What is the capital of France?", "Paris.", ""),
    ],
)
def test_completeness_looks_for_the_kind_of_thing_asked(question: str, whole: str, lacking: str) -> None:
    assert answered(question, whole) == 1.0
    assert answered(question, lacking) < 0.7


def test_short_names_and_other_scripts_name_someone() -> None:
    assert answered("Who wrote Hamlet?", "shakespeare") == 1.0
    assert answered("Who wrote Hamlet?", "это написал уильям шекспир") == 1.0


def test_a_question_without_a_topic_is_answered_by_length() -> None:
    assert answered("Why?", EXPLANATION) == 1.0


def test_an_explanation_of_something_else_is_not_complete() -> None:
    assert answered("Explain photosynthesis in plants", EXPLANATION) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ("Paris is the capital of France<|im_end|>", "Paris is the capital of France."),
        ("It is a large city on the river and", "It is a large city on the river."),
        ("QUESTION: what?\nParis.", "Paris."),
        ("the cat sat on the mat. " * 12, EXPLANATION),
        ("Caf\ufffd.", "Café."),
        ("undefined", "Division by zero is undefined."),
        ("**null**", "A null hypothesis says that there is no effect."),
    ],
)
def test_form(bad: str, good: str) -> None:
    assert well_formed(good) == 1.0
    assert well_formed(bad) < 0.9


STEPS = "Steps:\n1. Mix the flour with the water\n2. Bake it well"


@pytest.mark.parametrize(
    ("text", "form"),
    [("Paris", 1), ("4", 1), (STEPS, 1), ("So it is:\n```\nx = 1\n```", 1), ("...", 0), ("", 0)],
)
def test_short_answers_lists_and_code_need_no_full_stop(text: str, form: float) -> None:
    assert well_formed(text) == form


@pytest.mark.parametrize(
    "text", ["a" * 65_536, "a " * 32_000, "<" * 65_536, "what is " + "x" * 65_536, "1" * 65_536]
)
def test_hostile_text_is_quick(text: str) -> None:
    judge(observe(text, text, Origin.MODEL))


# --- the outcomes that the design wants -----------------------------------------------------------


def test_computed_mathematics_and_a_clean_price() -> None:
    assert judge(observe("What is 2+2?", "2 + 2 = 4", Origin.COMPUTED)).value >= 0.90
    answer = "Bitcoin is 67,187.34 USD (CoinGecko, 2026-01-01T00:00:00Z)."
    assert judge(observe("price of btc", answer, Origin.ADAPTER, reliability_max=0.95)).value >= 0.85


def test_a_full_answer_of_the_model_alone_is_just_stored() -> None:
    assert STORED_FROM <= judge(observe("Explain quantum computing", EXPLANATION, Origin.MODEL)).value < 0.85


@pytest.mark.parametrize(
    ("answer", "flaws"),
    [
        ("It uses qubits.", {}),
        (EXPLANATION, {"complete": False}),
        (EXPLANATION, {"looped": True}),
        (EXPLANATION[:-80].rsplit(" ", 1)[0], {}),
        ("I don't know.", {"abstained": True}),
        ("", {}),
    ],
)
def test_a_flawed_answer_of_the_model_alone_is_not(answer: str, flaws: dict[str, bool]) -> None:
    assert judge(observe("Explain quantum computing", answer, Origin.MODEL, **flaws)).value < STORED_FROM


def test_the_fallback_is_far_below() -> None:
    text = "I could not find out the answer to “Explain quantum computing”: no language model is configured."
    assert judge(observe("Explain quantum computing", text, Origin.FALLBACK)).value < 0.35


def test_quotes_come_close_but_are_not_stored() -> None:
    text = "According to handbook.md:\n- A quorum is defined as ten percent of all members."
    value = judge(observe("What is a quorum?", text, Origin.EXTRACTIVE, grounded=True, cited=True)).value
    assert 0.75 <= value < STORED_FROM


def test_a_cited_answer_on_evidence_beats_an_uncited_one_and_one_with_invented_figures() -> None:
    def value(**more: object) -> float:
        options: dict[str, Any] = {"grounded": True, "cited": True, "context_share": 0.8} | more
        text = "A quorum is ten percent of all members [1]."
        return judge(observe("What is a quorum?", text, Origin.MODEL_ON_EVIDENCE, **options)).value

    assert value() >= 0.85
    assert value() > value(cited=False) > value(cited=False, uncited_figures=1)
    assert value() > value(context_share=0.2)
    assert value(uncited_figures=1) < STORED_FROM


@pytest.mark.parametrize(
    ("kind", "facts", "origin"),
    [
        ("llm", {}, Origin.MODEL),
        ("llm", {"grounded": True}, Origin.MODEL_ON_EVIDENCE),
        ("adapter", {}, Origin.ADAPTER),
        ("adapter", {"computed": True}, Origin.COMPUTED),
        ("cache", {}, Origin.RECORD),
        ("documents", {}, Origin.DOCUMENT),
        ("extractive", {}, Origin.EXTRACTIVE),
        ("statement", {}, Origin.STATEMENT),
        ("client", {}, Origin.CLIENT),
        ("?", {}, Origin.FALLBACK),
    ],
)
def test_origins_of_source_kinds(kind: str, facts: dict[str, bool], origin: Origin) -> None:
    assert origin_of(kind, **facts) is origin
