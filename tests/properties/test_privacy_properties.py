"""The privacy gate for any text: it ends, it answers, and hiding or surrounding an identifier does not free
it."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from bench.privacylab.make import card, email, iban, secret, ssn
from node.privacy import load, private_reason

load()

_WORDS = st.lists(
    st.sampled_from(
        ["the", "river", "runs", "north", "of", "town", "and", "people", "like", "it", "in", "spring"]
    ),
    max_size=12,
)
_MAKERS = st.sampled_from([email, card, iban, ssn, secret])
_FULL_WIDTH = str.maketrans("0123456789@.", "０１２３４５６７８９＠．")


@given(st.text(max_size=400))
def test_any_text_has_an_answer(text: str) -> None:
    reason = private_reason(text)
    assert reason is None or reason


@given(st.text(alphabet="0123456789 .-/+()@:abcdefAKIAmyis\"'\n=", max_size=300))
def test_texts_of_the_rules_own_letters(text: str) -> None:
    assert private_reason(text) == private_reason(text)


@given(_MAKERS, st.integers(0, 10_000), _WORDS, _WORDS)
def test_words_around_it_do_not_free_an_identifier(maker, seed, before, after) -> None:
    shown = maker(random.Random(seed))
    assert private_reason(" ".join([*before, shown, *after])) is not None


@given(st.sampled_from([email, card, ssn]), st.integers(0, 10_000), st.integers(1, 8))
def test_hidden_characters_do_not_free_an_identifier(maker, seed, place) -> None:
    shown = maker(random.Random(seed))
    hidden = shown[:place] + "\u200b" + shown[place:]
    assert private_reason(hidden.translate(_FULL_WIDTH)) is not None


@given(
    st.lists(st.sampled_from(["price of btc", "What is 2+2?", "Who wrote Faust?"]), max_size=4),
    st.integers(0, 3),
)
def test_one_private_text_is_enough(texts, place) -> None:
    assert private_reason(*texts) is None
    assert private_reason(*texts[:place], "mail jane@example.org", *texts[place:]) == "email"
