"""Accounts, telephones, names, birth dates and streets in many languages; and what only looks like them."""

from __future__ import annotations

import pytest

from node.privacy import introductions, labelled, load, passwords, phones, places, private_reason, samples
from node.privacy.text import Text
from tests.each import each
from tests.unit.pipeline.tables import sections

TEXTS = sections(__file__, "texts.txt")
RULES = {"account": labelled.find, "phone": phones.find, "name": introductions.find, "secret": passwords.find}


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load()


@pytest.mark.parametrize("text", TEXTS["account"])
def test_an_account_by_the_words_beside_it(text: str) -> None:
    assert private_reason(text) in ("account", "national_id", "self_statement")


@pytest.mark.parametrize("text", TEXTS["phone"])
def test_a_national_telephone_number_where_its_language_is_spoken(text: str) -> None:
    assert phones.find(Text.of(text)) == "phone"


@pytest.mark.parametrize("text", TEXTS["name"])
def test_a_name_by_which_somebody_is_introduced(text: str) -> None:
    assert introductions.find(Text.of(text)) == "self_statement"


@each("text", TEXTS["secret"])
def test_a_secret_is_told(text: str) -> None:
    """By a word for a secret, by what it opens, or by what the text as a whole looks like."""
    assert private_reason(text) in ("secret", "self_statement")


@each(("rule", "text"), [(rule, text) for rule in RULES for text in TEXTS[f"no {rule}"]])
def test_what_only_looks_like_it_is_not_found(rule: str, text: str) -> None:
    assert RULES[rule](Text.of(text)) is None


@pytest.mark.parametrize("text", TEXTS["nobody's"])
def test_samples_and_lines_of_films_are_nobodys(text: str) -> None:
    read = samples.bared(Text.of(text))
    known = (labelled.find, phones.find, introductions.find, places.find_address)
    assert [rule(read) for rule in known] == [None] * len(known)
    assert private_reason(text) in (None, "self_statement")


@pytest.mark.parametrize("text", TEXTS["somebody's"])
def test_a_sample_that_somebody_calls_theirs_is_private(text: str) -> None:
    assert private_reason(text) is not None


def test_a_blank_stands_between_a_number_and_a_writing_without_blanks() -> None:
    assert Text.of("番号は090です").text == "番号は 090 です"
