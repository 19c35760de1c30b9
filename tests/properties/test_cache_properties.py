"""Properties of the whole cache decision, beside ``test_gate_properties.py``: what may not matter does not,
what must matter cannot be outvoted, and hostile texts cost bounded work.

Work is counted in calls (Python's and C's) and in bytes of memory, not in seconds; a regular expression that
runs away is not seen by the count and is left to the time limit of the test.
"""

from __future__ import annotations

import math
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import FrameType

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from node.cache.keys import PREFIX, keyword_key
from node.cache.lookup import EXACT, SEMANTIC, SLOT, Candidate, Choice, Policy, choose
from node.cache.matching.gate import Verdict, agree, judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)

THINGS = st.sampled_from(
    [
        *("bridge", "candle", "ladder", "kettle", "orchid", "falcon", "glacier", "sonnet", "mortgage"),
        *("treaty", "tunnel", "compass", "blanket", "sparrow", "volcano", "parliament"),
    ]
)
NAMES = st.sampled_from(
    ["Portugal", "Norway", "Beethoven", "Einstein", "Microsoft", "Budapest", "Shakespeare"]
)
FRAMES = st.sampled_from(
    [
        "How many {a}s did {n} have before {k}?",
        "What did {n} say about the {a} and the {b}?",
        "Why is the {a} in {n} older than the {b}?",
        "Where in {n} can I buy a {a} for {k} euros?",
        "Is a {a} safer than a {b}?",
        "How do I carry {k} {a}s without a {b}?",
        "Who repaired the {a} of {n} after the {b} fell?",
        "Which {a} is best for a {b} of {k} kilograms?",
        "When will {n} sell the {a}?",
        "Does the {a} never touch the {b}?",
        "the {a} of {n}",
    ]
)
QUESTIONS = st.builds(
    lambda frame, a, b, n, k: frame.format(a=a, b=b, n=n, k=k), FRAMES, THINGS, THINGS, NAMES,
    st.integers(21, 999),
)  # fmt: skip
PARAPHRASES = st.sampled_from(
    [
        ("How do I remove rust from a bicycle chain?", "How can I get rust off a bicycle chain?"),
        ("What is the capital of Portugal?", "Which city is the capital of Portugal?"),
        ("Who wrote the sonnets of Shakespeare?", "Who is the author of the sonnets of Shakespeare?"),
        ("What is the best way to learn the violin?", "How do I learn the violin?"),
        ("How tall is the tower in Budapest?", "What is the height of the tower in Budapest?"),
        ("Why do cats purr?", "What is the reason that cats purr?"),
        ("How long does it take to boil eggs?", "How long do eggs have to boil?"),
        ("What are the causes of the war in Norway?", "What caused the war in Norway?"),
        ("How do I start a garden?", "What do I need to do to start a garden?"),
        ("Is it safe to eat raw eggs?", "Can I safely eat raw eggs?"),
    ]
)
"""Pairs that may or may not pass the vetoes: those that do make p and u depend on the words."""
TEXTS = st.one_of(QUESTIONS, st.text(max_size=400))
COSINES = st.floats(-1, 1)
ANY_NUMBER = st.floats(allow_nan=True, allow_infinity=True)
NEAR_ONE = st.floats(0.9, 1.0)

CASES: dict[str, Callable[[str], str]] = {
    "as written": lambda text: text,
    "small": str.lower,
    "capitals": str.upper,
    "first letter": lambda text: text[:1].upper() + text[1:].lower(),
}
SPACES: dict[str, Callable[[str], str]] = {
    "as written": lambda text: text,
    "two": lambda text: text.replace(" ", "  "),
    "around": lambda text: f"  \t{text}\n",
    "tabs": lambda text: text.replace(" ", " \t"),
    "no-break": lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
}
POLITE = st.sampled_from(
    [
        *("{}", "please {}", "Please, {}", "can you tell me {}", "Could you tell me: {}"),
        "Can you please tell me {}",
        *("{} thanks", "{} Thanks!", "{} thank you", "{} please", "Hi, {}", "Hello! {} Thank you."),
    ]
)  # fmt: skip


@st.composite
def _variants(draw: st.DrawFn, source: st.SearchStrategy[str] = QUESTIONS) -> tuple[str, str]:
    """A question and the same with another case, spacing and politeness."""
    text = draw(source)
    case = CASES[draw(st.sampled_from(sorted(CASES)))]
    space = SPACES[draw(st.sampled_from(sorted(SPACES)))]
    return text, space(case(draw(POLITE).format(text)))


def _outcome(verdict: Verdict) -> tuple[bool, bool, float, float]:
    return verdict.serve, verdict.veto is None, round(verdict.u, 6), round(verdict.p_correct, 6)


CALM = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
"""Nothing here depends on the clock of the machine."""
FEWER = settings(CALM, max_examples=30)
"""For what judges many pairs in each example."""

# --- what does not matter -------------------------------------------------------------------------


def test_a_text_in_capitals_is_read_like_the_same_in_small_letters() -> None:
    asked, stored = "How do I remove rust from a bicycle chain?", "How can I get rust off a bicycle chain?"
    for one in (asked, asked.lower(), asked.upper()):
        assert judge(one, stored, similarity=1.0, deterministic=False).serve
        assert judge(stored, one, similarity=1.0, deterministic=False).serve
    for one, other in (("Who is Ada Wren?", "Who is Ada Crane?"), ("price of BTC", "price of ETH")):
        assert not judge(one.upper(), other.upper(), similarity=0.99, deterministic=False).serve


@FEWER
@given(st.one_of(st.tuples(QUESTIONS, QUESTIONS), PARAPHRASES), st.data(), COSINES, st.booleans())
def test_case_spacing_and_politeness_of_either_text_change_nothing(
    pair: tuple[str, str], data: st.DataObject, similarity: float, deterministic: bool
) -> None:
    plain, dressed = data.draw(_variants(st.just(pair[0])))
    other = pair[1]
    assume(plain != other)

    def outcome(one: str, two: str) -> tuple[bool, bool, float, float]:
        return _outcome(judge(one, two, similarity=similarity, deterministic=deterministic))

    for got, wanted in (
        (outcome(dressed, other), outcome(plain, other)),
        (outcome(other, dressed), outcome(other, plain)),
    ):
        assert got[:2] == wanted[:2], dressed
        # A capital inside a sentence shows that a shared word is a name: a sign among a hundred.
        assert got[2:] == pytest.approx(wanted[2:], abs=0.02), dressed


@FEWER
@given(_variants(), NEAR_ONE, st.booleans())
def test_it_answers_itself_in_any_dress(
    variant: tuple[str, str], similarity: float, deterministic: bool
) -> None:
    plain, dressed = variant
    verdict = judge(dressed, plain, similarity=similarity, deterministic=deterministic)
    assert verdict.veto is None, (dressed, verdict.reason)
    assert verdict.u <= 0.05


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How much power has a 5 mW laser?", "How much power has a 5 MW laser?"),
        ("How many 4 Mb files fit on a disk of 20 GB?", "How many 4 MB files fit on a disk of 20 GB?"),
        ("How long do 10 MB take at 2 Gb per second?", "How long do 10 MB take at 2 GB per second?"),
        ("What is 3 mm of rain in inches?", "What is 3 Mm of rain in inches?"),
    ],
)
def test_case_matters_in_units(one: str, other: str) -> None:
    assert judge(one, other, similarity=1.0).veto == "unit"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the price of US steel?", "What is the price of us steel?"),
        ("How does IT change work?", "How does it change work?"),
        ("What does WHO say about salt?", "What does who say about salt?"),
    ],
)
def test_case_matters_in_codes(one: str, other: str) -> None:
    assert judge(one, other, similarity=1.0).u > 0.0, "never taken for the same words"
    assert agree(one, other).veto is not None


# --- symmetric and monotone -----------------------------------------------------------------------


@CALM
@given(TEXTS, TEXTS, ANY_NUMBER, st.booleans())
def test_it_is_symmetric_whatever_the_numbers(
    one: str, other: str, similarity: float, deterministic: bool
) -> None:
    there = judge(one, other, similarity=similarity, deterministic=deterministic)
    back = judge(other, one, similarity=similarity, deterministic=deterministic)
    assert there.reason
    assert (_outcome(there), there.veto) == (_outcome(back), back.veto)
    assert 0.0 <= there.u <= 1.0
    assert 0.0 <= there.p_correct <= 1.0


@CALM
@given(st.one_of(st.tuples(TEXTS, TEXTS), PARAPHRASES), COSINES, COSINES, st.booleans())
def test_it_is_monotone_in_similarity(
    pair: tuple[str, str], low: float, high: float, deterministic: bool
) -> None:
    one, other = pair
    low, high = sorted((low, high))
    less, more = (judge(one, other, similarity=value, deterministic=deterministic) for value in (low, high))
    assert less.veto == more.veto
    assert less.p_correct <= more.p_correct
    assert less.u >= more.u
    assert more.serve or not less.serve


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@CALM
@given(pair=PARAPHRASES, similarity=COSINES)
def test_no_number_is_worth_no_more_than_any_number(
    pair: tuple[str, str], similarity: float, value: float
) -> None:
    one, other = pair
    assert judge(one, other, similarity=value).p_correct <= judge(one, other, similarity=similarity).p_correct
    assert judge(one, other, similarity=value).u >= judge(one, other, similarity=similarity).u


# --- a veto stands --------------------------------------------------------------------------------

POLICIES = st.builds(
    Policy,
    floor=st.floats(-1, 1),
    confidence_min=st.floats(0, 1),
    max_wrong_per_hit=st.sampled_from([0.0, 0.05, 1.0]),
    deterministic=st.booleans(),
)
ANYTHING_GOES = Policy(floor=-1.0, confidence_min=0.0, max_wrong_per_hit=1.0)


@st.composite
def _candidates(draw: st.DrawFn, queries: st.SearchStrategy[str] = TEXTS) -> Candidate:
    tier = draw(st.sampled_from([SEMANTIC, SEMANTIC, SEMANTIC, SLOT, EXACT]))
    similarity = None if tier == SLOT else draw(st.sampled_from([0.3, 0.8, 0.9, 0.97, 1.0]))
    return Candidate(
        cid=f"c{draw(st.integers(0, 30))}",
        query=draw(queries),
        similarity=similarity,
        tier=tier,
        confidence=draw(st.sampled_from([0.5, 0.8, 0.85, 1.0])),
        created=NOW - timedelta(seconds=draw(st.sampled_from([-900, 0, 60, 9_000]))),
        expires=draw(st.sampled_from([None, NOW - timedelta(1), NOW, NOW + timedelta(1)])),
        live=draw(st.sampled_from([True, True, False])),
        check_text=draw(st.booleans()),
        answer=draw(st.sampled_from("ab")),
        gate_similarity=similarity if draw(st.integers(0, 4)) else None,
    )


Rows = tuple[str, list[Candidate]]


@st.composite
def _rows(draw: st.DrawFn) -> Rows:
    """A question and candidates of different CIDs, some of them the question itself or close to it."""
    asked = draw(QUESTIONS)
    if draw(st.booleans()):
        asked, other = draw(PARAPHRASES)
        close = st.sampled_from([asked, other, f"{other} thanks"])
    else:
        close = POLITE.map(lambda frame: frame.format(asked))
    queries = st.one_of(close, close, QUESTIONS)
    rows = draw(st.lists(_candidates(queries), max_size=12, unique_by=lambda row: row.cid))
    return asked, rows


@FEWER
@given(TEXTS, TEXTS, ANY_NUMBER, ANY_NUMBER, st.booleans(), POLICIES)
def test_nothing_outvotes_a_veto(
    asked: str, stored: str, similarity: float, confidence: float, slot: bool, policy: Policy
) -> None:
    verdict = agree(asked, stored) if slot else judge(asked, stored, similarity=1.0)
    assume(verdict.veto is not None)
    one = Candidate(
        cid="c", query=stored, similarity=None if slot else similarity, tier=SLOT if slot else SEMANTIC,
        confidence=confidence, created=NOW, expires=None, check_text=slot, gate_similarity=similarity,
    )  # fmt: skip
    best = replace(one, similarity=None if slot else 1.0, confidence=1.0, gate_similarity=1.0)
    crowd = [replace(best, cid=f"c{number}") for number in range(5)]
    for limits in (policy, ANYTHING_GOES):
        for rows in ([one], [best], crowd):
            choice = choose(asked, rows, limits, now=NOW)
            assert choice.hit is None
            assert not any(judged.accepted for judged in choice.judged)


@FEWER
@given(_rows(), POLICIES, st.sampled_from([None, 0, 3_600]))
def test_a_hit_meets_every_rule(rows: Rows, policy: Policy, max_age_s: int | None) -> None:
    asked, candidates = rows
    choice = choose(asked, candidates, policy, now=NOW, max_age_s=max_age_s)
    assert len(choice.judged) == len(candidates)
    for judged in choice.judged:
        if not judged.accepted:
            continue
        row = judged.candidate
        assert row.live
        assert row.expires is None or row.expires > NOW
        assert row.confidence >= policy.confidence_min - 1e-6
        assert max_age_s is None or (NOW - row.created).total_seconds() <= max_age_s
        if row.tier == SLOT and row.check_text:
            assert agree(asked, row.query).veto is None
        if row.tier == SEMANTIC:
            assert row.gate_similarity is not None, "an embedder that the gate was not calibrated on"
            assert judge(asked, row.query, similarity=1.0).veto is None
            assert row.similarity is not None
            assert row.similarity >= policy.floor - 1e-6
            assert judged.u is not None
            assert judged.u <= policy.max_wrong_per_hit + 1e-6
    accepted = [judged for judged in choice.judged if judged.accepted]
    assert choice.hit == (accepted[0] if accepted else None)
    assert all(choice.hit is not None and choice.hit.score >= other.score - 1e-9 for other in accepted)


# --- order ----------------------------------------------------------------------------------------


@FEWER
@given(_rows(), POLICIES, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(rows: Rows, policy: Policy, order: Random) -> None:
    asked, candidates = rows
    shuffled = list(candidates)
    order.shuffle(shuffled)
    one, other = (choose(asked, many, policy, now=NOW) for many in (candidates, shuffled))
    assert one == other
    assert choose(asked, candidates[::-1], policy, now=NOW) == one


@FEWER
@given(_rows(), POLICIES, st.data())
def test_a_hit_stays_the_hit_when_it_comes_nearer(rows: Rows, policy: Policy, data: st.DataObject) -> None:
    asked, candidates = rows

    def hit(choice: Choice) -> str | None:
        return choice.hit.candidate.cid if choice.hit else None

    before = choose(asked, candidates, policy, now=NOW)
    if before.hit is None or before.hit.candidate.tier != SEMANTIC:
        return
    cid = hit(before)
    similarity = data.draw(st.floats(0, 1))
    nearer = max(similarity, before.hit.candidate.similarity or 0.0)

    def drawn(row: Candidate) -> Candidate:
        return replace(row, similarity=nearer, gate_similarity=nearer) if row.cid == cid else row

    after = [drawn(row) for row in candidates]
    assert hit(choose(asked, after, policy, now=NOW)) == cid


# --- bounded work ---------------------------------------------------------------------------------

BIG = 65_536
COMPARED = 1_400
"""Characters of the hostile texts that are short enough to be compared, and so make the gate work."""
SEEDS = {
    "control": "\x00\x01\x1b[2J\x7f", "control between letters": "w\x00h\x08o ",
    "hidden": "\x00\u202e\u200b",
    "right to left": "\u202eמה בירת צרפת\u202c ", "arabic with marks": "مَا هِيَ عَاصِمَةُ فَرَنْسَا ",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3fd ", "one emoji": "\U0001f600",
    "combining": "a\u0301\u0323\u0489", "one letter, many marks": "\u0301", "a word that is many": "\ufdfa",
    "letters": "a", "letters apart": "a ", "digits": "7", "numbers": "12,345.67 ", "thousands": "1,234,",
    "versions": "1.1.1.", "ranges": "1-2-3/4:5 ", "number words": "one ", "large number words": "hundred ",
    "quotes": "'", "nested quotes": "\"'\u201c\u2018(", "closed quotes": '"who" ', "hashes": "# ",
    "repeated word": "bridge ", "negated": "not never no ", "not": "not ", "who": "who when where ",
    "directions": "from Lyon to Bari by ", "from and to": "from a to ", "by": "the x by ",
    "comparisons": "more than less than ", "joined": "and or, and; ", "joined names": "A and B or ",
    "units": "5 mW 6 MW ", "dates": "12 May 2003 ", "sentences": "Is it? It is. ",
    "possessives": "Ann's Bob's ", "abbreviations": "U.S.A. e.g. ", "dotted": "a.b.",
    "operators": "1+2*(3^", "sums": "(1+",
    "currency": "$5 €6 £7 ", "no space": "\u200b", "surrogate": "\ud800", "names": "The United Kingdom Of ",
    "many words": " ".join(f"w{number}" for number in range(300)),
}  # fmt: skip


class _Work:
    """Counts the calls that are made inside."""

    def __init__(self) -> None:
        self.calls = 0

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")

    def __enter__(self) -> _Work:
        self._before = sys.getprofile()
        sys.setprofile(self._count)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.setprofile(self._before)


def _calls(one: str, other: str) -> int:
    with _Work() as work:
        judge(one, other, similarity=1.0)
    return work.calls


def _filled(seed: str, size: int) -> str:
    return (seed * (size // len(seed) + 1))[:size]


CALLS_PER_CHARACTER = 200
"""Generous: plain questions cost about a tenth."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", sorted(SEEDS))
def test_hostile_text_costs_bounded_work(name: str) -> None:
    for size in (300, COMPARED):
        text = _filled(SEEDS[name], size)
        turned = " ".join(reversed(text.split(" ")))
        for other in (text[: size // 2], text[::-1], turned, f"{text}x", "How old is the bridge of Norway?"):
            judge(text, other, similarity=1.0)  # tables that are built once
            assert _calls(text, other) <= CALLS_PER_CHARACTER * (len(text) + len(other)) + 5_000
            assert len(keyword_key(other) or "") <= 200 + len(PREFIX)
    big = _filled(SEEDS[name], BIG)
    tracemalloc.start()
    try:
        calls = _calls(big, big[::-1])
        calls_plain = _calls(big, "How old is the bridge of Norway?")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(calls, calls_plain) <= CALLS_PER_CHARACTER * 2 * COMPARED + 5_000, "64 KiB is not compared"
    assert peak <= 64 * BIG
    assert keyword_key(big) is None


def test_pieces_that_changed_places_are_seen_from_either_side() -> None:
    """Found by the property below."""
    text, other = "w\x00h\x08o 1-2-3/4:5 ", "1-2-3/4:5 w\x00h\x08o "
    assert _outcome(judge(text, other, similarity=1.0)) == _outcome(judge(other, text, similarity=1.0))


@FEWER
@given(st.lists(st.sampled_from(sorted(SEEDS)), min_size=1, max_size=30), st.data())
def test_mixed_hostile_text_is_judged_soundly(names: list[str], data: st.DataObject) -> None:
    text = "".join(SEEDS[name] for name in names)
    other = "".join(SEEDS[name] for name in data.draw(st.permutations(names)))
    verdict = judge(text, other, similarity=1.0)
    assert verdict.reason
    assert (verdict.veto is None) or not verdict.serve
    assert _outcome(verdict) == _outcome(judge(other, text, similarity=1.0))
    assert judge(text, text, similarity=1.0).serve
    assert _calls(text, other) <= CALLS_PER_CHARACTER * (len(text) + len(other)) + 5_000


@FEWER
@given(st.lists(_candidates(), max_size=40), POLICIES, st.text(max_size=100))
def test_any_candidates_are_judged_without_error(rows: list[Candidate], policy: Policy, asked: str) -> None:
    choice = choose(asked, rows, policy, now=NOW)
    assert len(choice.judged) == len(rows)
    assert choice.reason
