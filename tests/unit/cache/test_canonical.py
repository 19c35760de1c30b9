"""Canonical slots: dates, times, units, ordinals and names, as tokens."""

from __future__ import annotations

from node.cache.matching import aliases
from node.cache.matching.stem import canonical
from node.cache.matching.token import CODE, END, NUMBER
from node.cache.matching.tokens import tokenise
from tests.each import each
from tests.unit.cache.tables import rows


def read(text: str) -> str:
    return " ".join(token.text for token in tokenise(text) if token.kind != END)


@each(("text", "said"), rows(__file__, "canonical.txt"))
def test_dates_times_units_ordinals_and_names(text: str, said: str) -> None:
    assert read(text) == said


def test_a_name_is_one_token_with_what_was_written() -> None:
    token = next(token for token in tokenise("is New York City big") if token.text == "nyc")
    assert (token.kind, token.raw) == (CODE, "New York City")
    assert [token.kind for token in tokenise("on March 3, 2024")][-1] == NUMBER


def test_no_spelling_leads_to_two_names() -> None:
    led: dict[tuple[tuple[str, ...], tuple[str, ...]], set[str]] = {}
    for spelled in aliases.spellings().values():
        for row in spelled:
            led.setdefault((row.words, row.cases), set()).add(row.name)
            assert canonical(row.name) == row.name
    assert [words for words, names in led.items() if len(names) > 1] == []


def test_every_state_has_its_code_and_name() -> None:
    states = aliases.states()
    assert states["OR"] == states["oregon"] == "oregon-state"
    assert len(set(states.values())) == 51
