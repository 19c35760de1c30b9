"""In which language the node speaks: also where accents are left out, as people do."""

from __future__ import annotations

import pytest

from node.pipeline.understanding.question import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("a que hora abre la panaderia", "es"),
        ("a que horas abre a padaria", "pt"),
        ("a quelle heure ouvre la boulangerie", "fr"),
        ("que faire a paris", "fr"),
        ("a che ora apre la panetteria", "it"),
    ],
)
def test_without_accents(text: str, language: str) -> None:
    assert language_of(text) == language
