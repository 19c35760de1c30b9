"""The number words of every language, and hostile texts in them."""

from __future__ import annotations

from datetime import date

import pytest

from adapters.math_calculator import scripts
from adapters.math_calculator.understand import understand
from adapters.math_calculator.words import LANGUAGES

TODAY = date(2026, 5, 18)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("十", 10), ("二十五", 25), ("一百零三", 103), ("一万二千", 12_000), ("三億", 300_000_000),
        ("二〇二六", 2026), ("两千", 2_000), ("千二百", 1_200), ("十百", None), ("一万万", None),
    ],
)  # fmt: skip
def test_han_numerals(text: str, value: int | None) -> None:
    assert scripts.numeral(text) == value


@pytest.mark.parametrize("number", [7, 19, 21, 28, 45, 70, 99])
def test_the_same_sum_in_the_words_of_every_language_has_one_key(number: int) -> None:
    for language in LANGUAGES:
        word = next(phrase for phrase, value in language.small.items() if value == number)
        solution = understand(f"{word} + 1", TODAY)
        assert solution is not None, word
        assert solution.expr == f"{number}+1"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "multiplica " + "1 por " * 18 + "1", "suma " + "y " * 55, "promedio de " + "1, " * 35, "一" * 110,
        "の" * 110, "1の" * 55, "(1と" * 30, "1と2の和の" * 15, "百分之" * 36, "度" * 110, "キロ" * 55,
        "vinte e " * 14, "двадцать " * 12, "сколько " * 14, "un'" * 36, "plz " * 4_000 + "2+2",
        "yo " * 30 + "2", "a 5% increase on " * 14,
        "9**9**9を計算して", "九的九次方的九次方的九次方", "10^10^10は？",
        "calculate " + "(" * 65_000, "1% off " * 30, "price of " * 26, "second " * 22, "in " * 39 + "5",
    ],
    ids=lambda text: text[:16],
)  # fmt: skip
def test_hostile_texts_of_the_new_tables_are_looked_at_briefly(text: str) -> None:
    # The timeout is the check.
    solution = understand(text, TODAY)
    assert solution is None or solution.answer is None or len(solution.answer) < 7_000
