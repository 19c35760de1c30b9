"""Every language and every reader of numbers: 0 to 100 and the round thousands."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from adapters.currency.questions import read_question
from adapters.grammar import when
from adapters.math_calculator.understand import understand
from node.language import numbers
from node.language.reading import read

TODAY = date(2026, 7, 15)
VALUES = {
    code: [
        (phrase, value)
        for phrase, value in numbers.phrases(code).items()
        if value <= 100 or value % 1_000 == 0
    ]
    for code in numbers.codes()
}
FIRST = {code: {value: phrase for phrase, value in reversed(rows)} for code, rows in VALUES.items()}
"""By its value one wording of each number."""
DAYS_AGO = {
    "en": "{} days ago", "es": "hace {} dias", "de": "vor {} tagen", "fr": "il y a {} jours",
    "it": "{} giorni fa", "pt": "ha {} dias", "ru": "{} дней назад",
    "nl": "{} dagen geleden",
}  # fmt: skip
EUROS = {
    "en": "how many dollars are {} euros", "es": "cuantos dolares son {} euros",
    "de": "wie viel dollar sind {} euro", "fr": "combien de dollars font {} euros",
    "it": "quanti dollari sono {} euro", "pt": "quantos dolares sao {} euros",
    "nl": "hoeveel dollar is {} euro",
}  # fmt: skip
PLUS_TWO = {
    "en": "what is {} plus two", "es": "cuanto es {} mas dos", "de": "was ist {} plus zwei",
    "fr": "combien font {} plus deux", "it": "quanto fa {} piu due", "pt": "quanto e {} mais dois",
    "ru": "сколько будет {} плюс два", "nl": "hoeveel is {} plus twee",
}  # fmt: skip


@pytest.mark.parametrize("code", numbers.codes())
def test_the_table_is_whole(code: str) -> None:
    values = {value for _, value in VALUES[code]}
    assert values >= {*range(101), *range(1_000, 10_000, 1_000)}


@pytest.mark.parametrize("code", numbers.codes())
def test_a_number_is_read(code: str) -> None:
    for phrase, value in VALUES[code]:
        words = phrase.split()
        assert numbers.read(words, 0) == numbers.read(words, 0, code) == (value, len(words)), phrase


@pytest.mark.parametrize("code", DAYS_AGO)
def test_days_that_are_counted(code: str) -> None:
    for phrase, value in VALUES[code]:
        said = read(DAYS_AGO[code].format(phrase))
        if value:
            found, _ = when.find_script(said.plain, TODAY) if code == "ru" else when.find(said.words, TODAY)
            assert found is not None, said
            assert found.first == TODAY - timedelta(days=value), said


@pytest.mark.parametrize("code", EUROS)
def test_amounts_of_money(code: str) -> None:
    for value, phrase in FIRST[code].items():
        if value > 1:  # "un euro" asks for the rate
            asked = EUROS[code].format(phrase)
            said = read_question(asked, TODAY)
            assert said is not None, asked
            assert said.question.amount == str(value), asked


@pytest.mark.parametrize("code", numbers.codes())
def test_sums(code: str) -> None:
    for value, phrase in FIRST[code].items():
        asked = PLUS_TWO[code].format(phrase)
        said = understand(asked, TODAY)
        assert said is not None, asked
        assert said.answer == str(value + 2), asked
