"""What studies say: which questions ask that, and which papers in an answer are invented."""

from __future__ import annotations

import pytest

from node.answer.papers import asks_for_papers, without_invented
from tests.each import each
from tests.unit.pipeline.tables import sections

SENTENCES = sections(__file__, "sentences.txt")


@each("text", SENTENCES["asks for papers"])
def test_asks_what_studies_say(text: str) -> None:
    assert asks_for_papers(text)


@pytest.mark.parametrize("text", SENTENCES["asks for something else"])
def test_asks_something_else(text: str) -> None:
    assert not asks_for_papers(text)


def test_named_papers_that_no_evidence_holds_go() -> None:
    text = (
        "Coffee may help. Smith et al. (2019) found that it does. A study by Jones (2020) agrees.\n"
        "1. Doe, J. (2018). Coffee and hearts. Journal of Cardiology, 12(3), 45-67. doi:10.1000/182\n"
        "2. A plain item.\nIt is fine."
    )
    left = without_invented("any studies on coffee", text, [])
    assert left == "Coffee may help.\n2. A plain item.\nIt is fine."
    held = "Doe, J. (2018). Coffee and hearts. doi:10.1000/182"
    assert without_invented("any studies on coffee", f"See {held}", [held]) == f"See {held}"


def test_an_identifier_goes_whatever_was_asked() -> None:
    assert without_invented("how does coffee work", "It wakes. See arXiv:2301.12345.", []) == "It wakes."
    assert without_invented("what is doi 10.1000/182", "10.1000/182 is a manual.", []).startswith("10.1000")


@pytest.mark.parametrize(
    "text",
    [
        "Titanic (1997) was directed by James Cameron.",
        "A DOI is a digital object identifier; et al. means and others.",
        "Queen Victoria (1819) reigned until 1901.",
    ],
)
def test_years_and_terms_elsewhere_stay(text: str) -> None:
    assert without_invented("tell me something", text, []) == text
