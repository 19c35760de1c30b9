"""Several questions in one text: what is cut, what stays whole, and promises that hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.model import CERTAIN, Recognition
from node.pipeline.understanding.looks import LOOKS_MAX
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.split import PARTS_MAX, split
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS
from tests.unit.pipeline.understanding.stand_ins import claims, follow

CUT = [
    (
        "What's the price of bitcoin and what's the weather in Paris?",
        ("What's the price of bitcoin", "what's the weather in Paris?"),
    ),
    ("btc price and weather in berlin tomorrow", ("btc price", "weather in berlin tomorrow")),
    ("2+2 and also the price of eth", ("2+2", "the price of eth")),
    (
        "Did the Lakers win last night? And what's 15% of 80?",
        ("Did the Lakers win last night?", "what's 15% of 80?"),
    ),
    (
        "Wie ist das Wetter in Berlin und was kostet Bitcoin?",
        ("Wie ist das Wetter in Berlin", "was kostet Bitcoin?"),
    ),
    (
        "¿Qué tiempo hace en Madrid y cuánto vale el bitcoin?",
        ("¿Qué tiempo hace en Madrid", "cuánto vale el bitcoin?"),
    ),
    (
        "Explain proof of stake and give me the ETH price",
        ("Explain proof of stake", "give me the ETH price"),
    ),
    ("weather in Paris and in London", ("weather in Paris", "weather in London")),
    ("weather in Paris and London", ("weather in Paris", "weather in London")),
    ("price of btc in usd and in eur", ("price of btc in usd", "price of bitcoin in eur")),
    ("temperature in Paris and humidity", ("temperature in Paris", "humidity in Paris")),
    ("did the lakers win and the celtics", ("did the lakers win", "did the celtics win")),
    (
        "tell me the btc price, the weather in Paris and what time it is in Tokyo",
        ("tell me the btc price", "the weather in Paris", "what time it is in Tokyo"),
    ),
    (
        "What's the weather in Paris? And in London? And the btc price?",
        ("What's the weather in Paris?", "weather in London", "the btc price?"),
    ),
    (
        "what is the difference between python and rust and what's the weather in Rome",
        ("what is the difference between python and rust", "what's the weather in Rome"),
    ),
    ("Hi! Hope you are well. btc price and weather in Rome please", ("btc price", "weather in Rome please")),
    ("What is 2+2? What is the price of btc?", ("What is 2+2?", "What is the price of btc?")),
    ("天气怎么样？现在几点？", ("天气怎么样？", "现在几点？")),
    ("what is http://a.example/?q=1 and what is 2+2?", ("what is http://a.example/?q=1", "what is 2+2?")),
    (
        "what is ipfs and how does bitcoin mining work?",
        ("what is ipfs", "how does bitcoin mining work?"),
    ),
    (
        "who wrote hamlet and what is the capital of Peru?",
        ("who wrote hamlet", "what is the capital of Peru?"),
    ),
    (
        "write a poem about a cat and what's the weather in Rome",
        ("write a poem about a cat", "what's the weather in Rome"),
    ),
    ("1. btc price\n2. weather in Paris\n3. what is 2+2", ("btc price", "weather in Paris", "what is 2+2")),
    ("btc price; weather in Paris; 2+2", ("btc price", "weather in Paris", "2+2")),
    (
        "what is the weather in Paris and why is the sky blue",
        ("what is the weather in Paris", "why is the sky blue"),
    ),
    ("ビットコインの価格と東京の天気は？", ("ビットコインの価格", "東京の天気は？")),
    ("比特币价格和北京天气怎么样", ("比特币价格", "北京天气怎么样")),
    (
        "Какая погода в Москве и сколько стоит биткоин?",
        ("Какая погода в Москве", "сколько стоит биткоин?"),
    ),
    (
        "what's the btc price as well as the weather in Rome",
        ("what's the btc price", "the weather in Rome"),
    ),
    ("what's 3+4 plus the weather in Rome", ("what's 3+4", "the weather in Rome")),
    ("btc price, then the weather in Rome", ("btc price", "the weather in Rome")),
    (
        "tell me what proposal 12 was about and explain quadratic voting",
        ("tell me what proposal 12 was about", "explain quadratic voting"),
    ),
    ("weather in Paris and London tomorrow", ("weather in Paris tomorrow", "weather in London tomorrow")),
    (
        "weather in Paris, London and Rome tomorrow",
        ("weather in Paris tomorrow", "weather in London tomorrow", "weather in Rome tomorrow"),
    ),
    ("btc price, weather in Paris", ("btc price", "weather in Paris")),
    ("weather in Paris or London", ("weather in Paris", "weather in London")),
    ("weather in Paris today and tomorrow", ("weather in Paris today", "weather in Paris tomorrow")),
    ("price of btc and did the lakers win", ("price of btc", "did the lakers win")),
    ("1) btc price 2) weather in Rome", ("btc price", "weather in Rome")),
    ("weather in Paris, London and Rome", ("weather in Paris", "weather in London", "weather in Rome")),
    (
        "I'm flying to Rome. What's the weather there, and what is 2+2?",
        ("What's the weather in Rome", "what is 2+2?"),
    ),
]

WHOLE = """
how does a plane stay in the air? easy words
why do we dream? simple please
price of btc and eth
compare python and rust
what's the temperature and humidity in Paris
what is the difference between proof of work and proof of stake
hi there! what is the btc price? thanks!
What is IPFS?
What is bitcoin? Why?
Who wrote Hamlet? When was it written?
I like turtles. What is IPFS? What is a CID?
We fly from Rome to Paris and then to London. What's the weather there, and what is 2+2?
1) btc price 3) weather in Rome
Hello? Anyone?
Really??? What is 2+2?
what is ipfs and how does it work
explain photosynthesis and give an example
explain recursion and give three examples
how do i install docker and run a container
is it safe to eat raw eggs and drink milk?
what is romeo and juliet about
what are the pros and cons of nuclear power
who is the president of France and the king of Spain
how does inflation affect stocks and the price of bitcoin
what's the weather in Paris and what time is it there?
what should i do in paris and where should i stay
who wrote it and when
how and why do cells divide
if it rains in Paris and the lakers win what happens
write a poem about love and loss
translate "what is the btc price and what is the weather in Paris" to French
Translate to French: what is the btc price? what is the weather in Paris?
What is life? What is love? What is art? What is war? What is peace?
I bought btc and the weather was nice
salt and pepper
rock and roll
2+2
btc
???
""".strip().splitlines()


@pytest.mark.parametrize(("text", "parts"), CUT)
def test_cuts_where_each_side_can_be_asked_alone(text: str, parts: tuple[str, ...]) -> None:
    assert split(text, claims=claims, follow=follow) == parts


@pytest.mark.parametrize("text", [*WHOLE, ""])
def test_stays_whole_in_doubt(text: str) -> None:
    assert split(text, claims=claims, follow=follow) == (text,)


@pytest.mark.parametrize("text", [parts[0] for parts in CUT])
def test_case_changes_no_cut(text: str) -> None:
    plain = split(text, claims=claims, follow=follow)
    assert len(split(text.lower(), claims=claims, follow=follow)) == len(plain)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (
            "did the lakers beat the celtics and the warriors beat the jazz",
            [("LAL", "BOS", None), ("GSW", "UTA", None)],
        ),
        ("lakers and celtics score and arsenal chelsea score", [("LAL", "BOS", None), ("ARS", "CHE", None)]),
        ("did the lakers win and did the celtics win", [("LAL", None, None), ("BOS", None, None)]),
        ("lakers score yesterday and today", [("LAL", None, "yesterday"), ("LAL", None, "today")]),
        (
            "score of lakers and score of celtics yesterday",
            [("LAL", None, "yesterday"), ("BOS", None, "yesterday")],
        ),
        ("did the lakers and celtics win", [("LAL", "BOS", None)]),
    ],
)
def test_two_games_are_two_questions(text: str, keys: list[tuple[str, str | None, str | None]]) -> None:
    router = Router(RECOGNISERS, Floors())
    parts = split(
        text,
        claims=lambda part: router.claims(part, NOW),
        follow=lambda fragment, earlier: router.follow(fragment, earlier, NOW),
    )
    found = [claim for part in parts if (claim := router.claims(part, NOW)) is not None]
    assert [tuple(claim.slots[name] for name in ("team", "opponent", "date")) for claim in found] == keys
    assert all(claim.strength >= CERTAIN and claim.key is not None for claim in found)


@pytest.mark.parametrize(
    "text", ["¿Cómo estuvo el tiempo ayer en Lima?", "quel temps prévu demain en Provence"]
)
def test_a_word_that_joins_in_another_language_cuts_nothing(text: str) -> None:
    router = Router(RECOGNISERS, Floors())  # the Dutch "en" joins

    def claims(part: str) -> Recognition | None:
        return router.claims(part, NOW)

    def follow(fragment: str, earlier: str) -> str | None:
        return router.follow(fragment, earlier, NOW)

    assert split(text, claims=claims, follow=follow) == (text,)


def test_without_adapters_only_whole_questions_are_cut() -> None:
    def nobody(text: str) -> Recognition | None:
        return None

    def nothing(fragment: str, earlier: str) -> str | None:
        raise AssertionError("there is nobody to ask")

    text = "What is IPFS? What is a CID?"
    assert split(text, claims=nobody, follow=nothing) == ("What is IPFS?", "What is a CID?")
    text = "btc price and weather in Paris"
    assert split(text, claims=nobody, follow=nothing) == (text,)


@pytest.mark.parametrize(
    "text", ["what is the weather in Paris", "How does a heat pump work?", "天気は？", "btc"]
)
def test_a_text_with_no_place_to_cut_asks_no_adapter(text: str) -> None:
    def nobody(part: str) -> Recognition | None:
        raise AssertionError("nothing to ask")

    def nothing(fragment: str, earlier: str) -> str | None:
        raise AssertionError("nothing to ask")

    assert split(text, claims=nobody, follow=nothing) == (text,)


SOME_WORDS = """
what who is the of btc eth price weather in paris london i like do does 2+2 and it why ? ! . , ; hello thanks
then plus y und et as well as between compare explain tomorrow et 和 と 天気 price " ( ) ' : tell me if
"""
WORDS = st.sampled_from([*SOME_WORDS.split(), "\n", "\t"])
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join))


@given(TEXTS)
@settings(deadline=None)
def test_parts_of_any_text_are_few_and_none_is_empty(text: str) -> None:
    parts = split(text, claims=claims, follow=follow)
    assert 1 <= len(parts) <= PARTS_MAX
    if len(parts) == 1:
        assert parts == (text,)
    else:
        assert all(any(char.isalnum() for char in part) for part in parts)


@given(TEXTS)
@settings(deadline=None)
def test_what_is_cut_is_not_cut_further(text: str) -> None:
    for part in split(text, claims=claims, follow=follow):
        assert part == text or len(split(part, claims=claims, follow=follow)) <= PARTS_MAX


HOSTILE = [
    "and " * 500, "btc price and " * 142, "what is x and " * 140, ", " * 1_000, "; " * 1_000, "? " * 1_000,
    "a? " * 660, "1. " * 660, "と" * 2_000, "天気、" * 660, "(" * 2_000, '"' * 2_000, "' " * 1_000,
    " " * 1_999 + "?", "and also, then " * 130, "between " * 250, "if " * 660, "weather in Paris and " * 95,
    "x" * 65_536, "and " * 16_384,
]  # fmt: skip


@pytest.mark.timeout(20)
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
