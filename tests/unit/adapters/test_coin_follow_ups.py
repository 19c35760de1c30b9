"""Fragments that go on from a question about coins."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.coins.aliases import COINS, CURRENCIES
from adapters.coins.claims import claim
from adapters.coins.follow import follow_up, phrase
from adapters.coins.slots import CoinQuestion, canonical_key
from node.core.model import CERTAIN

TODAY = date(2026, 5, 18)


@pytest.mark.parametrize(
    ("earlier", "fragment", "expected"),
    [
        ("price of btc", "and ETH?", "price:ethereum:usd"),
        ("price of btc", "what about solana", "price:solana:usd"),
        ("price of btc", "and sol?", "price:solana:usd"),
        ("price of btc", "and dot and ada?", "price:cardano+polkadot:usd"),
        ("price of btc", "in euros?", "price:bitcoin:eur"),
        ("price of btc", "what is it in pounds", "price:bitcoin:gbp"),
        ("price of btc", "in eth?", "price:bitcoin:eth"),
        ("price of btc", "and yesterday?", "price:bitcoin:usd:date=2026-05-17"),
        ("price of btc", "how about last friday", "price:bitcoin:usd:date=2026-05-15"),
        ("price of btc", "market cap?", "market_cap:bitcoin:usd"),
        ("price of btc", "and the volume?", "volume_24h:bitcoin:usd"),
        ("price of btc", "and for 3 eth?", "price:ethereum:usd:amount=3"),
        ("price of btc", "and etherium?", "price:ethereum:usd"),
        ("precio del bitcoin", "y ethereum?", "price:ethereum:usd"),
        ("Bitcoin Kurs", "und in euro?", "price:bitcoin:eur"),
        ("prix du bitcoin", "et hier ?", "price:bitcoin:usd:date=2026-05-17"),
        ("ビットコインの価格", "イーサリアムは？", "price:ethereum:usd"),
        ("比特币多少钱", "那以太坊呢", "price:ethereum:usd"),
        ("цена биткоина", "а в евро?", "price:bitcoin:eur"),
        ("how much is 2.5 ETH in euros", "and BTC?", "price:bitcoin:eur:amount=2.5"),
        ("how much was 1 eth yesterday", "and now?", "price:ethereum:usd"),
        ("how much is 2.5 ETH in euros", "market cap?", "market_cap:ethereum:eur"),
        ("price of btc", "and its market cap?", "market_cap:bitcoin:usd"),
        ("precio del bitcoin", "y su capitalización?", "market_cap:bitcoin:usd"),
        ("100 usd in btc", "and eth?", "price:ethereum:usd:money=100"),
        ("100 usd in btc", "in euros?", "price:bitcoin:eur:money=100"),
        ("100 usd in btc", "and 250?", "price:bitcoin:usd:money=250"),
        ("100 usd in btc", "and its volume?", "volume_24h:bitcoin:usd"),
        ("top 5 cryptocurrencies", "top 10?", "top:usd:limit=10"),
        ("top 5 cryptocurrencies", "in euros?", "top:eur:limit=5"),
    ],
)
def test_a_fragment_fills_its_slot(earlier: str, fragment: str, expected: str) -> None:
    words = follow_up(fragment, earlier, TODAY)
    assert words is not None
    found = claim(words, TODAY)
    assert found is not None
    assert found.strength >= CERTAIN
    assert canonical_key(found.question, TODAY) == expected


def test_an_unknown_word_after_a_price_may_be_a_ticker() -> None:
    for fragment, name in (("and floop?", "floop"), ("what about $WIF", "wif")):
        words = follow_up(fragment, "price of btc", TODAY)
        assert words == f"price of {name} coin"
        found = claim(words, TODAY)
        assert found is not None
        assert found.question.unresolved == (name,)


@pytest.mark.parametrize(
    "fragment",
    """why?|and tomorrow?|tell me more|and London?|and gold?|and tesla?|and 2 of them|what does it mean
    |and the weather?|should I buy it|and that one|explain|thanks|in january 2031
    |and its founder?|and the time?|today?
    """.replace("\n    ", " ").split("|"),
)
def test_what_fills_no_slot_is_left_alone(fragment: str) -> None:
    assert follow_up(fragment.strip(), "price of btc", TODAY) is None


def test_only_questions_about_prices_are_gone_on_from() -> None:
    for earlier in ("who wrote Hamlet?", "What's the ROI of BTC?", "weather in Paris", ""):
        assert follow_up("and ETH?", earlier, TODAY) is None
    assert follow_up("and sol and ada?", "how much is 2.5 eth", TODAY) is None
    assert follow_up("and btc?", "top 5 cryptocurrencies", TODAY) is None


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


@settings(max_examples=300, deadline=None)
@given(QUESTIONS)
def test_every_question_has_words_that_are_read_back_to_it(question: CoinQuestion) -> None:
    words = phrase(question, TODAY)
    assert words is not None, question
    found = claim(words, TODAY)
    assert found is not None
    assert found.question == question
    assert found.strength >= CERTAIN


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=90))
def test_fragments_are_total(fragment: str) -> None:
    words = follow_up(fragment, "price of btc in euros", TODAY)
    found = None if words is None else claim(words, TODAY)
    assert words is None or (found is not None and found.strength >= CERTAIN)


def test_the_share_of_no_coin_does_not_go_on_from_the_whole_market() -> None:
    assert follow_up("dominance", "total crypto market cap", TODAY) is None
