"""What is read as a question about coins, how sure that is, and what is left alone."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.coins import dates
from adapters.coins.aliases import COINS, EVERYDAY, Coin
from adapters.coins.claims import claim
from adapters.coins.mentions import names_coins
from adapters.coins.slots import canonical_key
from node.core.model import CERTAIN, CLAIM
from tests.each import each
from tests.unit.adapters.asking import is_claimed
from tests.unit.adapters.tables import rows, texts

TODAY = date(2026, 5, 18)
"""A Monday."""


def key_of(text: str, least: float, *, below: float = 1.1, hinted: bool = False) -> str | None:
    found = claim(text, TODAY, hinted=hinted)
    assert found is not None
    assert least <= found.strength < below
    return canonical_key(found.question, TODAY)


# --- every word is accounted for ----------------------------------------------------------------------


@each(("text", "expected"), rows("coins", "certain"))
def test_questions_and_their_keys(text: str, expected: str) -> None:
    assert key_of(text, CERTAIN) == expected


@pytest.mark.parametrize(("text", "expected"), rows("coins", "nearly certain"))
def test_a_slip_or_two_directions_cost_little(text: str, expected: str) -> None:
    assert key_of(text, 0.8, below=CERTAIN) == expected


@each(("text", "expected"), rows("coins", "claimed"))
def test_claims_for_texts_that_ask(text: str, expected: str) -> None:
    assert key_of(text, CLAIM, below=CERTAIN) == expected


@each("text", texts("coins", "traps"))
def test_other_people_s_questions_are_left_alone(text: str) -> None:
    assert claim(text, TODAY) is None


@pytest.mark.parametrize(
    "text",
    """What's the ROI of BTC?|is ethereum a good investment?|should I buy solana now|should I buy bitcoin
    is bitcoin worth it|why is the bitcoin price falling|why is bitcoin up today
    at what price should I sell eth
    ビットコインに投資するべきですか|стоит ли покупать биткоин""".replace("\n", "|").split("|"),
)
def test_a_judgement_is_given_the_price_as_context(text: str) -> None:
    found = claim(text.strip(), TODAY)
    assert found is not None
    assert found.strength < CLAIM
    assert claim(text.strip(), TODAY, hinted=True) is None, "a hint does not make it a question of the price"
    assert (found.question.metric, found.question.date) == ("price", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("bitcoin please", "price:bitcoin:usd"), ("give me eth in euros quickly", "price:ethereum:eur")],
)
def test_a_hint_makes_a_word_for_the_figure_needless(text: str, expected: str) -> None:
    assert key_of(text, 0, hinted=True) == expected


@pytest.mark.parametrize("text", ["what is bitcoin", "near me", "the cosmos", "how old is bitcoin", "hello"])
def test_a_hint_does_not_make_a_price_of_everything(text: str) -> None:
    assert claim(text, TODAY, hinted=True) is None


# --- days ---------------------------------------------------------------------------------------------


@each(("text", "said"), rows("coins", "days"))
def test_days_are_given_back_as_said(text: str, said: str) -> None:
    found = dates.find(text, TODAY)
    assert found is not None
    assert found.date == said
    assert (found.start, found.end) == (0, len(text))


@pytest.mark.parametrize(
    "text", ["05/06/2024", "31 february 2024", "1 january 2030", "may 2027", "0 days ago"]
)
def test_days_that_cannot_be_meant(text: str) -> None:
    found = dates.find(text, TODAY)
    assert found is None or found.date is None


@given(
    st.one_of(
        st.dates(date(2010, 1, 1), TODAY).map(date.isoformat),
        st.integers(1, 4000).map(lambda days: f"today-{days}d"),
        st.sampled_from(
            ["yesterday", "last friday", "sunday", "last week", "last month", "last year", "2024-02"]
        ),
    )
)
def test_the_phrase_of_a_day_is_read_back(said: str) -> None:
    found = dates.find(dates.phrase(said), TODAY)
    assert found is not None
    assert found.date is not None
    assert dates.day_of(found.date, TODAY) == dates.day_of(said, TODAY)


# --- any text, any coin -------------------------------------------------------------------------------


@given(st.text(max_size=120), st.booleans())
def test_claims_are_total(text: str, hinted: bool) -> None:
    for words in (text, f"price of btc {text}", f"{text} ビットコインの価格"):
        found = claim(words, TODAY, hinted=hinted)
        assert found is None or 0 < found.strength <= 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("btcusd", True),
        ("Bitcoinkurs", True),
        ("etherium price", True),
        ("the graph coin price", True),
        ("$wif price", True),
        ("цена биткоина", True),
        ("what is the weather in lyon", False),
        ("latest news", False),
        ("who wrote hamlet?", False),
        ("12 + 3 usd", False),
        ("", False),
    ],
)
def test_the_cheap_look_refuses_nothing_that_is_claimed(text: str, names: bool) -> None:
    assert names_coins(text) == names
    assert (claim(text, TODAY, hinted=True) is not None) == names


@given(st.sampled_from([coin for coin in COINS if coin.symbols[0] not in EVERYDAY]), st.booleans())
def test_every_coin_passes_the_cheap_look(coin: Coin, loud: bool) -> None:
    for name in (*coin.names, *coin.symbols):
        assert names_coins(f"price of {name.upper() if loud else name} today")


def test_a_text_too_long_to_be_a_question_is_not_read() -> None:
    assert claim("price of btc " * 5_000, TODAY) is None


@pytest.mark.parametrize("hinted", [False, True])
@pytest.mark.parametrize(
    "text",
    ["2 btc in btc", "price of bitcoin in btc", "btc to btc", "btc and eth in btc", "price of ether in eth"],
)
def test_a_coin_in_itself_is_no_price(text: str, hinted: bool) -> None:
    assert claim(text, TODAY, hinted=hinted) is None


@pytest.mark.parametrize(("text", "expected"), rows("coins", "country of a currency"))
def test_the_country_of_a_currency_counts(text: str, expected: str | None) -> None:
    found = claim(text, TODAY)
    assert (None if found is None else canonical_key(found.question, TODAY)) == expected


# --- names that are looked up -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "price of my token secretcoin",
        "price of hunter2 token",
        "price of $A1B2C3D4",
        "price of $MYTKN jane@x.com",
    ],
)
def test_a_name_that_may_be_private_is_not_looked_up(text: str) -> None:
    assert claim(text, TODAY) is None


@pytest.mark.parametrize(("text", "name"), rows("coins", "looked up"))
def test_what_its_form_makes_a_coin_is_looked_up(text: str, name: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.question.unresolved == (name,)
    assert is_claimed(found.strength)
    assert names_coins(text)


@pytest.mark.parametrize(("text", "name"), rows("coins", "called coins"))
def test_what_is_called_a_coin_is_one_for_certain(text: str, name: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.question.unresolved == (name,)
    assert found.strength >= CERTAIN
