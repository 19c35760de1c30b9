"""Secrets told in running words: what counts as told, what is said of secrets in general."""

from __future__ import annotations

import pytest

from node.privacy import load, passwords
from node.privacy.text import Text


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    load()


def _found(text: str) -> str | None:
    return passwords.find(Text.of(text))


def test_somebodys_own_counts_even_among_examples() -> None:
    assert _found("an example of a bad password is Kranich77") is None
    assert _found("an example of a bad password is my own, Kranich77") == "secret"


def test_more_words_for_secrets_than_are_read_count_as_one_told() -> None:
    assert _found("What is a password? " * 100) is None
    assert _found("What is a password? " * 300) == "secret"


@pytest.mark.parametrize(
    ("shown", "odd"),
    [("required", 0), ("sha-256", 0), ("changeme", 0), ("marzipan", 1), ("Kreide-Tafel", 2), ("Blue42x", 3)],
)
def test_how_odd_a_value_looks(shown: str, odd: int) -> None:
    assert passwords.oddness(shown, False) == odd
