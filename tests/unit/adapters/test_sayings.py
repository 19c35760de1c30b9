"""What adapters say in other languages: tables of templates, whole, and true to every figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from node.language import retell, tables

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "adapters").rglob(retell.FOLDER)
)
CODES = ("de", "es", "fr", "nl")
SLOT = re.compile(r"\{[a-z]+\d?\}")
FIGURE = re.compile(r"\d+")
SAID = {
    "adapters.math_calculator": {
        "15% of 80 is 12.": "15% von 80 sind 12.",
        "The average of 1, 2 and 3 is 2.": "Der Durchschnitt von 1, 2 und 3 ist 2.",
        "10 / 3 ≈ 3.33333333333333 (exactly 10/3).": "10 / 3 ≈ 3.33333333333333 (genau 10/3).",
        "There are 3 weeks and 5 days from 29 November 2026 to 25 December 2026, 26 days in all.": (
            "Vom 29. November 2026 bis zum 25. Dezember 2026 sind es 3 Wochen und 5 Tage, insgesamt 26 Tage."
        ),
        "Yes: 7 is a prime number.": "Ja: 7 ist eine Primzahl.",
    },
    "adapters.local_time": {
        "It is 12:10 on Sunday, 29 November 2026 in Tokyo (JST, UTC+9).": (
            "In Tokyo ist es 12:10 Uhr am Sonntag, 29. November 2026 (JST, UTC+9)."
        ),
        "It is 02:04 on Monday, 18 May 2026 in St. Louis (CDT, UTC-5). Oz has several time zones; this is the"
        " time of Emerald City.": (
            "In St. Louis ist es 02:04 Uhr am Montag, 18. Mai 2026 (CDT, UTC-5). Oz hat mehrere Zeitzonen;"
            " das ist die Zeit von Emerald City."
        ),
    },
    "adapters.currency": {
        "100 EUR is 108.52 USD at the central bank rate of 27 November 2026 (1 EUR = 1.0852 USD), according"
        " to Frankfurter. No rates are set at weekends; this is the latest.": (
            "100 EUR sind 108.52 USD nach dem Kurs der Zentralbank vom 27. November 2026"
            " (1 EUR = 1.0852 USD), laut Frankfurter. Am Wochenende werden keine Kurse festgelegt;"
            " das ist der letzte."
        ),
    },
    "adapters.coins": {
        "Bitcoin (BTC) is trading at $76,975.00 (−1.41% in 24 h), according to CoinGecko at 2026-05-18 08:17"
        " UTC.": (
            "Bitcoin (BTC) wird zu $76,975.00 gehandelt (−1.41% in 24 h), laut CoinGecko um 2026-05-18 08:17"
            " UTC."
        ),
    },
    "adapters.weather": {
        "It is 29 °C in Paris, France, mainly clear, with wind of 12.2 km/h and 40 % humidity; the day brings"
        " 18 to 31 °C and a 5 % chance of rain, according to Open-Meteo at 14:15 local time.": (
            "In Paris, France sind es 29 °C, überwiegend klar, mit Wind von 12.2 km/h und 40 %"
            " Luftfeuchtigkeit; der Tag bringt 18 bis 31 °C und 5 % Wahrscheinlichkeit auf Regen, laut"
            " Open-Meteo um 14:15 Ortszeit."
        ),
    },
}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_table_has_the_same_rows_with_the_same_slots(package: str) -> None:
    found = tables.by_language(retell.FOLDER, package)
    assert set(found) == set(CODES)
    rows = {
        code: [(part, row) for part, rows in table.items() for row in rows] for code, table in found.items()
    }
    for code, table in found.items():
        assert rows[code] == rows["de"], code
        for part, said in ((part, pair) for part, one in table.items() for pair in one.items()):
            slots, others = (set(SLOT.findall(one)) for one in said)
            assert others <= slots <= others | {"{are}"}, (code, part, said)


@pytest.mark.parametrize(("package", "text"), [(name, text) for name, some in SAID.items() for text in some])
def test_a_sentence_keeps_its_figures_in_every_language(package: str, text: str) -> None:
    loaded = retell.load(package, "adapters")
    assert retell.retold(text, loaded["de"]) == SAID[package][text]
    for code in CODES:
        told = retell.retold(text, loaded[code])
        assert told is not None
        assert told != text
        assert sorted(FIGURE.findall(told)) == sorted(FIGURE.findall(text))


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("adapters.math_calculator", "2 + 2 = 4."),
        ("adapters.math_calculator", "15% of 80 is 12. Nobody knows why."),
        ("adapters.math_calculator", "15% of 80 is twelve."),
        ("adapters.local_time", "Time flies. Oz has several time zones; this is the time of Emerald City."),
        (
            "adapters.coins",
            "Bitcoin (BTC) is trading at $1.00 and Ether (ETH) is trading at $2.00, according to CoinGecko.",
        ),
        ("adapters.math_calculator", "15% of 80 is 12. " * 200),
    ],
)
def test_what_is_not_known_as_a_whole_stays_in_english(package: str, text: str) -> None:
    assert retell.retold(text, retell.load(package, "adapters")["de"]) is None
