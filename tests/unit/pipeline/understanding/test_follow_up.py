"""Follow-ups: what is resolved to which question, what only leans, what stands alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.model import CERTAIN
from node.pipeline.understanding.follow_up import Leaning, resolve
from node.pipeline.understanding.leaning import Resolved
from tests.unit.pipeline.understanding.stand_ins import claims, follow

# earlier questions, the follow-up, the resolved question
BY_ADAPTERS = """
price of btc | and ETH? | price of ethereum in usd
price of btc | ETH | price of ethereum in usd
market cap of btc | ETH? | market cap of ethereum in usd
price of btc | in euros? | price of bitcoin in eur
price of btc | what is the market cap? | market cap of bitcoin in usd
weather in Paris | and tomorrow? | weather in Paris tomorrow
weather in Paris | tomorrow? | weather in Paris tomorrow
weather in Paris | what about London? | weather in London
weather in Paris | London | weather in London
what's the weather? | Paris | weather in Paris
what's the weather? | in Paris | weather in Paris
weather in Paris | y mañana? | weather in Paris manana
weather in Paris | und morgen? | weather in Paris morgen
weather in Paris | what's the humidity? | humidity in Paris
weather in Paris | what's the weather tomorrow? | weather in Paris tomorrow
weather in Paris tomorrow | will there be rain on friday? | rain in Paris on friday
what is 2+2 | times 3? | calculate (2+2)*3
what time is it in Tokyo | and in London? | time in london
weather in Paris || who wrote Hamlet? | and tomorrow? | weather in Paris tomorrow
price of btc || weather in Paris | and ETH? | price of ethereum in usd
""".strip().splitlines()

BY_RULES = """
Explain proof of stake | why? | Explain proof of stake. Why?
Explain proof of stake. | Why? | Explain proof of stake. Why?
why is the sky blue | how so? | why is the sky blue? How so?
What is inflation? | for example? | What is inflation? For example?
Is the earth round? | but why | Is the earth round? Why?
¿Por qué el cielo es azul? | ¿por qué? | ¿Por qué el cielo es azul? ¿Por qué?
Warum ist der Himmel blau? | warum? | Warum ist der Himmel blau? Warum?
pourquoi le ciel est bleu | pourquoi ? | pourquoi le ciel est bleu? Pourquoi?
почему небо голубое? | а почему? | почему небо голубое? Почему?
なぜ空は青いのですか | なぜ？ | なぜ空は青いのですか？ なぜ？
What is Apple? | who founded it? | who founded Apple?
What is Apple? | And when was it founded? | When was Apple founded?
Who founded Apple? | when was it founded? | when was Apple founded?
what is a blockchain? | who invented it? | who invented the blockchain?
what is the Eiffel Tower? | where is it? | where is the Eiffel Tower?
What is the Eiffel Tower? | where is that? | where is the Eiffel Tower?
Tell me about IPFS | how does it work? | how does IPFS work?
What is Python? | is it hard? | is Python hard?
who wrote Hamlet? | when was it written? | when was Hamlet written?
what are NFTs? | who invented them? | who invented NFTs?
who is Ada Lovelace? | when was she born? | when was Ada Lovelace born?
who is Ada Lovelace? | what are her achievements? | what are Ada Lovelace's achievements?
who was Albert Einstein? | who married him? | who married Albert Einstein?
who is the president of France? | how old is he? | how old is the president of France?
what is Apple? | who is the founder? | who is the founder of Apple?
Tell me about France | what's the capital? | what's the capital of France?
what is the United States | what is its population? | what is the United States' population?
what is the capital of France? | and Germany? | what is the capital of Germany?
what is the capital of france | what about germany? | what is the capital of germany?
what is the capital of the Netherlands? | and Belgium? | what is the capital of Belgium?
who is the president of France? | and Germany? | who is the president of Germany?
Was ist die Hauptstadt von Frankreich? | und Deutschland? | Was ist die Hauptstadt von Deutschland?
¿Cuál es la capital de Francia? | ¿y Alemania? | ¿Cuál es la capital de Alemania?
who is Ada Lovelace? | and Alan Turing? | who is Alan Turing?
Explain Bitcoin | and Ethereum? | Explain Ethereum.
explain proof of stake | and proof of work? | explain proof of work.
what is a cat? | and a dog? | what is a dog?
How tall is the Eiffel Tower? | and the Empire State Building? | How tall is the Empire State Building?
""".strip().splitlines()

LEANS = """
weather in Paris | why?
what is 2+2 | why?
What is Python? | what does that mean?
What is Python? | is that true?
What is Python? | tell me more
What is Python? | explain that further
what is ipfs? | what about security?
who is Barack Obama? | how old is it
What is Python? | how old is he
tell me about Ada Lovelace | when was she born?
what is the capital of France? | what is its population?
what is the difference between cats and dogs? | which one is it
what are cats and dogs? | how old is it
what is IPFS? Why? | how so?
what is the capital of France? | and you?
what is the capital of France? | and in 1900?
what is the capital of France and Spain? | and Germany?
天気 | 明日は？
比特币价格 | 为什么？
who wrote Hamlet? | а завтра?
write me a poem | who is it about
""".strip().splitlines()

ALONE = """
What is Python? | What is 2+2?
What is Python? | price of btc
What is Python? | and 2+2?
What is Python? | is it safe to eat raw eggs
What is Python? | is it raining
What is Python? | thanks
What is Python? | who wrote Hamlet
What is Python? | and what is the capital of Peru?
What is Python? | Paris
weather in Paris | who wrote Hamlet
weather in Paris | btc price
weather in Paris | what time is it
price of btc | weather in London
weather in Paris | weather in London
what is 2+2 | and 7*8
weather in Paris | I like turtles
""".strip().splitlines()


def _resolve(earlier: str, text: str) -> Resolved | Leaning | None:
    return resolve(text, earlier.split(" || "), claims=claims, follow=follow)


@pytest.mark.parametrize("row", [*BY_ADAPTERS, *BY_RULES])
def test_resolves_to_a_self_contained_question(row: str) -> None:
    earlier, text, question = row.split(" | ")
    found = _resolve(earlier, text)
    assert isinstance(found, Resolved)
    assert found.text == question
    assert found.reason


@pytest.mark.parametrize("row", [*BY_ADAPTERS, *BY_RULES])
def test_a_resolved_question_stands_alone_or_is_joined_once(row: str) -> None:
    question = row.split(" | ")[-1]
    assert _resolve("who wrote Hamlet?", question) is None
    claim = claims(question)
    assert row not in BY_ADAPTERS or (claim is not None and claim.strength >= CERTAIN)


@pytest.mark.parametrize("row", LEANS)
def test_leans_where_more_than_one_thing_can_be_meant(row: str) -> None:
    earlier, text = row.split(" | ")
    found = _resolve(earlier, text)
    assert isinstance(found, Leaning)
    assert found.reason


@pytest.mark.parametrize("row", ALONE)
def test_stands_alone(row: str) -> None:
    earlier, text = row.split(" | ")
    assert _resolve(earlier, text) is None


@pytest.mark.parametrize("text", ["why?", "and ETH?", "tomorrow?", "how old is he"])
def test_without_earlier_turns_nothing_goes_on(text: str) -> None:
    assert resolve(text, (), claims=claims, follow=follow) is None


def test_older_turns_than_the_last_two_are_not_gone_on_from() -> None:
    turns = ("weather in Paris", "who wrote Hamlet?", "what is IPFS?")
    assert isinstance(resolve("and tomorrow?", turns, claims=claims, follow=follow), Leaning)


SOME_WORDS = """
and why how it he she that who is the what about its paris btc tomorrow in of ? . explain founded more y und
"""
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(st.sampled_from(SOME_WORDS.split()), max_size=8).map(" ".join)
)
TURNS = st.sampled_from(
    [
        "price of btc",
        "weather in Paris",
        "What is IPFS?",
        "who is Ada Lovelace?",
        "Explain proof of stake",
        "2+2",
    ]
)


@given(TEXTS, st.lists(TURNS | TEXTS, max_size=4))
@settings(deadline=None)
def test_any_text_after_any_turns_is_resolved_leaning_or_alone(text: str, turns: list[str]) -> None:
    found = resolve(text, turns, claims=claims, follow=follow)
    assert found is None or turns
    if isinstance(found, Resolved):
        assert found.text.strip()
        assert len(found.text) <= len(text) + max(map(len, turns)) + 60


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    ["and " * 60, "it " * 66, "who is " * 28, "who " + "is " * 60 + "it", "x" * 65_536, "why? " * 13_000],
)
def test_hostile_texts_are_bounded(text: str) -> None:
    for turn in (
        "what is " + "x " * 190,
        "of " * 130,
        "who is " + "the " * 90,
        "the capital of " * 26,
        "y" * 65_536,
    ):
        resolve(text, [turn], claims=claims, follow=follow)


OF_PROPOSALS = """
what was proposal 12 about? | and 13? | what was proposal 13 about?
who voted against proposal 7? | what about proposal 9 | who voted against proposal 9?
what did proposal 8 cost? | and number 10? | what did proposal 10 cost?
¿qué decía la propuesta 8? | ¿y la 9? | ¿qué decía la propuesta 9?
was war Vorschlag 4? | und 5? | was war Vorschlag 5?
what was proposal 12 about? | who voted against it? | who voted against proposal 12?
did proposal 40 pass? | why did it fail? | why did proposal 40 fail?
summarise proposal 5 | and what was its result? | what was proposal 5's result?
did proposal 3 pass | how many voted against? | how many voted against on proposal 3?
did proposal 3 pass | what was the outcome? | what was the outcome of proposal 3?
""".strip().splitlines()


@pytest.mark.parametrize("row", OF_PROPOSALS)
def test_goes_on_about_a_proposal(row: str) -> None:
    turn, text, wanted = row.split(" | ")
    found = resolve(text, [turn], claims=claims, follow=follow)
    assert isinstance(found, Resolved)
    assert found.text == wanted


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ("what was proposal 12 about?", "and 2024?"),
        ("compare proposal 3 and proposal 4", "and 5?"),
        ("what is the capital of France?", "and 13?"),
        ("what was proposal 12 about?", "did proposal 13 replace it?"),
    ],
)
def test_other_numbers_are_no_proposals(turn: str, text: str) -> None:
    assert not isinstance(resolve(text, [turn], claims=claims, follow=follow), Resolved)
