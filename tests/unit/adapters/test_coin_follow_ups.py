"""Fragments that go on from a question about coins."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.coins.aliases import COINS, CURRENCIES
from adapters.coins.claims import claim
from adapters.coins.follow import follow_up, phrase
from adapters.coins.slots import CoinQuestion, canonical_key
from node.core.model import CERTAIN
from tests.each import each
from tests.unit.adapters.tables import rows, texts

TODAY = date(2026, 5, 18)


@each(("earlier", "fragment", "expected"), rows("coins", "follow ups"))
def test_a_fragment_fills_its_slot(earlier: str, fragment: str, expected: str) -> None:
    words = follow_up(fragment, earlier, TODAY)
    assert words is not None
    found = claim(words, TODAY)
    assert found is not None
    assert found.strength >= CERTAIN
    assert canonical_key(found.question, TODAY) == expected


@pytest.mark.parametrize(("fragment", "name"), [("and floop?", "floop"), ("what about $WIF", "wif")])
def test_an_unknown_word_after_a_price_may_be_a_ticker(fragment: str, name: str) -> None:
    words = follow_up(fragment, "price of btc", TODAY)
    assert words == f"price of {name} coin"
    found = claim(words, TODAY)
    assert found is not None
    assert found.question.unresolved == (name,)


@each("fragment", texts("coins", "no follow ups"))
def test_what_fills_no_slot_is_left_alone(fragment: str) -> None:
    assert follow_up(fragment, "price of btc", TODAY) is None


@pytest.mark.parametrize(
    ("earlier", "fragment"),
    [
        ("who wrote Hamlet?", "and ETH?"),
        ("What's the ROI of BTC?", "and ETH?"),
        ("weather in Paris", "and ETH?"),
        ("", "and ETH?"),
        ("how much is 2.5 eth", "and sol and ada?"),
        ("top 5 cryptocurrencies", "and btc?"),
        ("total crypto market cap", "dominance"),
    ],
)
def test_what_has_no_slot_for_the_fragment_is_not_gone_on_from(earlier: str, fragment: str) -> None:
    assert follow_up(fragment, earlier, TODAY) is None


IDS = st.sampled_from([coin.id for coin in COINS])
VS = st.sampled_from(sorted({*CURRENCIES, "try"}))
SAID = st.one_of(
    st.none(),
    st.sampled_from(
        ["yesterday", "today-3d", "last friday", "friday", "last month", "2024-02", "2021-12-31"]
    ),
)
QUESTIONS = st.one_of(
    st.builds(
        lambda ids, vs, metric, said: CoinQuestion(tuple(sorted(ids)), (), vs, metric, None, said),
        st.sets(IDS, min_size=1, max_size=4),
        VS,
        st.sampled_from(["price", "market_cap", "volume_24h"]),
        SAID,
    ),
    st.builds(
        lambda one, vs, amount: CoinQuestion((one,), (), vs, "price", amount),
        IDS,
        VS,
        st.sampled_from(["2", "0.5", "2.5", "1000", "1234567"]),
    ),
    st.builds(lambda one, vs: CoinQuestion((one,), (), vs, "change_24h"), IDS, VS),
    st.builds(lambda vs, n: CoinQuestion((), (), vs, "top", limit=n), VS, st.integers(1, 100)),
)


@given(QUESTIONS)
def test_every_question_has_words_that_are_read_back_to_it(question: CoinQuestion) -> None:
    words = phrase(question, TODAY)
    assert words is not None, question
    found = claim(words, TODAY)
    assert found is not None
    assert found.question == question
    assert found.strength >= CERTAIN


@given(QUESTIONS, IDS, VS)
def test_a_coin_and_a_currency_replace_just_their_slot(question: CoinQuestion, coin: str, vs: str) -> None:
    earlier = phrase(question, TODAY)
    assert earlier is not None
    money = "turkish lira" if vs == "try" else vs
    words = follow_up(f"and in {money}?", earlier, TODAY)
    if vs == question.vs:
        assert words is None
    else:
        assert words is not None
        found = claim(words, TODAY)
        assert found is not None
        assert found.question.vs == vs
        assert (found.question.ids, found.question.amount) == (question.ids, question.amount)


@given(st.text(max_size=90))
def test_fragments_are_total(fragment: str) -> None:
    words = follow_up(fragment, "price of btc in euros", TODAY)
    found = None if words is None else claim(words, TODAY)
    assert words is None or (found is not None and found.strength >= CERTAIN)
