"""Sums as people ask them at a till, in several languages; and what only looks like one."""

from __future__ import annotations

from datetime import date

import pytest

from adapters.math_calculator.understand import understand

DAY = date(2026, 11, 29)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("split 96 between 4 with 10% tip", "26.4"),
        ("bill is 63.20, 20% tip, 4 people, how much each", "18.96"),
        ("we are 6 and the bill was 150, what does each pay", "25"),
        ("if 4 of us share 126 euro how much each", "31.5"),
        ("rechnung 88 euro durch 4 leute", "22"),
        ("90 euro entre 4 personnes", "22.5"),
        ("repartir 120 euros entre 5 amigos", "24"),
        ("jacket was 120 now 25% off what do i pay", "90"),
        ("hose 60 euro jetzt 20% reduziert", "48"),
        ("was ist 19% mwst auf 250 euro", "47.5"),
        ("20% tva sur 150 euros", "30"),
        ("netto 250 plus 19 prozent", "297.5"),
        ("119 brutto wie viel netto bei 19%", "100"),
        ("went from 80 to 92, how much percent up", "15"),
        ("6 Brezeln à 0,85", "5.1"),
        ("3 apples at 0.60 each", "1.8"),
        ("3 dozen eggs", "36"),
        ("half a dozen eggs", "6"),
        ("cuántos huevos son 2 docenas", "24"),
        ("12.50 an hour for 38 hours", "475"),
        ("15 euro die stunde mal 35 stunden", "525"),
        ("3200 pro monat wie viel im jahr", "38400"),
        ("2k a month how much per year", "24000"),
        ("price per kilo if 350g costs 2.80", "8"),
        ("sum of 12,50 and 7,25", "19.75"),
        ("total of 19.99 5.49 and 2.50", "27.98"),
        ("sum of 3,5,7", "15"),
    ],
)
def test_an_everyday_sum_is_computed_and_its_text_reads_back(text: str, answer: str) -> None:
    found = understand(text, DAY)
    assert found is not None
    assert (found.answer or "").removesuffix("%") == answer
    again = understand(f"={found.expr}", DAY)
    assert again is not None
    assert again.expr == found.expr


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("45 minutes after 10:50", "11:35"),
        ("20 minutes after 23:50", "00:10"),
        ("10 min before 9:05", "08:55"),
        ("2 hours 45 after 13:30", "16:15"),
        ("how long from 8:15 to 17:40", "9 hours 25 minutes"),
        ("wie lange von 8:30 bis 16:15", "7 hours 45 minutes"),
        ("von 22 uhr bis 6 uhr wie viele stunden", "8 hours"),
        ("de 9h15 à 11h00 combien de temps", "1 hour 45 minutes"),
        ("oz in a pound", "16"),
        ("1 cup of milk in ml", "236.5882365"),
    ],
)
def test_times_of_day_and_measures_of_things(text: str, answer: str) -> None:
    found = understand(text, DAY)
    assert found is not None
    assert found.answer == answer
    again = understand(f"={found.expr}", DAY)
    assert again is not None
    assert again.expr == found.expr


@pytest.mark.parametrize(
    "text",
    [
        "what time is it after 10:50",
        "meeting from 9:00 to 10:30",
        "how long is the flight from 9:00 to berlin",
        "2 cups of sugar in grams",
        "20 miles run in hours",
        "how do 3 people share 1 bathroom",
        "vat 19% since 2007",
        "table for 2 people at 19.30",
        "what percent of americans own 2 cars",
        "mortgage rates went from 3 to 7 percent",
        "me 40, kid 12, afternoon, what each",
        "my bill is 84 and we are 7 people",
        "divide 20 people among 4 teams of 5",
        "3 friends went to 5 shows",
    ],
)
def test_what_only_has_such_words_is_none(text: str) -> None:
    assert understand(text, DAY) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [("2+2=5 right?", "No"), ("7*8=54?", "No"), ("is 3*7=21", "Yes"), ("2+2=4, correct?", "Yes")],
)
def test_an_equation_is_checked(text: str, said: str) -> None:
    found = understand(text, DAY)
    assert found is not None
    assert found.sentence.startswith(said)
