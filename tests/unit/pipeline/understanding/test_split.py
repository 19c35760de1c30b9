"""Several questions in one text: what is cut, what stays whole, and promises that hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import CERTAIN, Recognition
from node.pipeline.understanding.looks import LOOKS_MAX
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.split import PARTS_MAX, split
from tests.each import each
from tests.unit.pipeline.tables import cells, sections
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS
from tests.unit.pipeline.understanding.stand_ins import claims, follow

ROUTER = Router(RECOGNISERS, Floors())
ROWS = sections(__file__, "split.txt")


def parts_of(text: str) -> tuple[str, ...]:
    return split(text, claims=claims, follow=follow)


def parts_by_real_adapters(text: str) -> tuple[str, ...]:
    return split(
        text,
        claims=lambda part: ROUTER.claims(part, NOW),
        follow=lambda fragment, earlier: ROUTER.follow(fragment, earlier, NOW),
    )


def nothing(*_: str) -> str | None:
    raise AssertionError("there is nobody to ask")


@each("row", ROWS["cut"])
def test_cuts_where_each_side_can_be_asked_alone(row: str) -> None:
    text, *parts = cells(row)
    assert parts_of(text) == tuple(parts)
    assert len(parts_of(text.lower())) == len(parts), "case changes no cut"


@each("text", [*ROWS["whole"], ""])
def test_stays_whole_in_doubt(text: str) -> None:
    assert parts_of(text) == (text,)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("did the lakers beat the celtics and the warriors beat the jazz", ["LAL BOS None", "GSW UTA None"]),
        ("lakers and celtics score and arsenal chelsea score", ["LAL BOS None", "ARS CHE None"]),
        ("did the lakers win and did the celtics win", ["LAL None None", "BOS None None"]),
        ("lakers score yesterday and today", ["LAL None yesterday", "LAL None today"]),
        ("score of lakers and score of celtics yesterday", ["LAL None yesterday", "BOS None yesterday"]),
        ("did the lakers and celtics win", ["LAL BOS None"]),
    ],
)
def test_two_games_are_two_questions(text: str, keys: list[str]) -> None:
    found = [
        claim for part in parts_by_real_adapters(text) if (claim := ROUTER.claims(part, NOW)) is not None
    ]
    assert ["{team} {opponent} {date}".format(**claim.slots) for claim in found] == keys
    assert all(claim.strength >= CERTAIN and claim.key is not None for claim in found)


@pytest.mark.parametrize(
    "text", ["¿Cómo estuvo el tiempo ayer en Lima?", "quel temps prévu demain en Provence"]
)
def test_a_word_that_joins_in_another_language_cuts_nothing(text: str) -> None:
    assert parts_by_real_adapters(text) == (text,), 'the Dutch "en" joins'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("What is IPFS? What is a CID?", ("What is IPFS?", "What is a CID?")),
        ("btc price and weather in Paris", ("btc price and weather in Paris",)),
    ],
)
def test_without_adapters_only_whole_questions_are_cut(text: str, parts: tuple[str, ...]) -> None:
    assert split(text, claims=lambda part: None, follow=nothing) == parts


@pytest.mark.parametrize(
    "text", ["what is the weather in Paris", "How does a heat pump work?", "天気は？", "btc"]
)
def test_a_text_with_no_place_to_cut_asks_no_adapter(text: str) -> None:
    def nobody(part: str) -> Recognition | None:
        raise AssertionError("nothing to ask")

    assert split(text, claims=nobody, follow=nothing) == (text,)


SOME_WORDS = """
what who is the of btc eth price weather in paris london i like do does 2+2 and it why ? ! . , ; hello thanks
then plus y und et as well as between compare explain tomorrow et 和 と 天気 price " ( ) ' : tell me if
"""
WORDS = st.sampled_from([*SOME_WORDS.split(), "\n", "\t"])
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join))


@given(TEXTS)
def test_parts_of_any_text_are_few_and_none_is_empty(text: str) -> None:
    parts = parts_of(text)
    assert 1 <= len(parts) <= PARTS_MAX
    if len(parts) == 1:
        assert parts == (text,)
    else:
        assert all(any(char.isalnum() for char in part) for part in parts)


@given(TEXTS)
def test_what_is_cut_is_not_cut_further(text: str) -> None:
    for part in parts_of(text):
        assert part == text or len(parts_of(part)) <= PARTS_MAX


HOSTILE = [
    "and " * 500, "btc price and " * 142, "what is x and " * 140, ", " * 1_000, "; " * 1_000, "? " * 1_000,
    "a? " * 660, "1. " * 660, "と" * 2_000, "天気、" * 660, "(" * 2_000, '"' * 2_000, "' " * 1_000,
    " " * 1_999 + "?", "and also, then " * 130, "between " * 250, "if " * 660, "weather in Paris and " * 95,
    "x" * 65_536, "and " * 16_384,
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_texts_are_bounded(text: str) -> None:
    looks = 0

    def counted(part: str) -> Recognition | None:
        nonlocal looks
        looks += 1
        return claims(part)

    for variant in (text, "what is " + text, text + "?"):
        looks = 0
        assert len(split(variant, claims=counted, follow=follow)) <= PARTS_MAX
        assert looks <= LOOKS_MAX
