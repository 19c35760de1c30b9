"""Same answer or not: values decide, words alone rarely do, and doubt stays doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.same_answer import RIGHT, UNDECIDED, WRONG, same_answer

CASES = [
    ("how cold is it", "It is -5 °C in Oslo.", "It is 5 °C in Oslo.", UNDECIDED),
    ("how cold is it", "It is -5 °C in Oslo.", "It is minus 5 °C in Oslo.", RIGHT),
    ("how cold is it", "The low is -5 °C.", "The low is 12 °C.", WRONG),
    ("what was lost", "A loss of -$5 million.", "A loss of $5 million.", UNDECIDED),
    ("when does it open", "The museum opens daily at 9:00.", "The museum opens daily at 10:30.", UNDECIDED),
    ("when does it open", "The museum opens daily at 9:00.", "The museum opens daily at 09:00 am.", RIGHT),
    (
        "when does it open",
        "The museum opens daily at 5:00 am.",
        "The museum opens daily at 5:00 pm.",
        UNDECIDED,
    ),
    ("what dose", "Take 5 mg daily.", "Take 5 µg daily.", WRONG),
    ("when was it", "It was on 5 aprıl 2020.", "On 5 aprİl 2021.", UNDECIDED),
    ("capital of France", "Paris is the capital of France.", "The capital of France is Paris.", RIGHT),
    ("capital of France", "The capital of France is Paris.", "The capital of Germany is Berlin.", WRONG),
    ("capital of France", "Paris", "Berlin", WRONG),
    ("capital of France", "paris!", "Paris.", RIGHT),
    ("how tall is the Eiffel Tower", "The Eiffel Tower is 330 m tall.", "It is 330 metres high.", RIGHT),
    ("how tall is the Eiffel Tower", "It is 330 m tall.", "It is 300 m tall.", WRONG),
    ("how tall is the Eiffel Tower", "It is 330 m tall.", "It is 330.5 m tall.", UNDECIDED),
    ("how tall is the tower", "The tower is 5 km tall.", "The tower is 5 miles tall.", WRONG),
    ("how tall is the tower", "The tower is 5 km tall.", "The tower is 3.1 miles tall.", UNDECIDED),
    ("how tall is the tower", "The tower is 330 m tall.", "The tower is tall.", UNDECIDED),
    ("how many people live there", "About 1,200,000 people.", "About 1.2 million people.", RIGHT),
    ("how many moons", "It has twelve moons.", "It has 12 moons.", RIGHT),
    ("when was the landing", "On July 20, 1969.", "The landing was on 1969-07-20.", RIGHT),
    ("when was the landing", "On 20 July 1969.", "The landing was on 16 July 1969.", WRONG),
    ("when was the landing", "It was in 1969.", "It was on 20 July 1969.", RIGHT),
    ("when was it founded", "It was founded in 1998.", "It was founded in 2004.", WRONG),
    ("is water wet", "Yes, water is wet.", "No, water is not wet.", WRONG),
    ("can dogs eat grapes", "Dogs can eat grapes.", "Dogs cannot eat grapes.", WRONG),
    ("did Alice beat Bob", "Alice beat Bob.", "Bob beat Alice.", UNDECIDED),
    ("what was the score", "The Bulls won 3-1.", "The Bulls won 1-3.", UNDECIDED),
    ("who created IPFS", "IPFS was created by Juan Benet.", "Juan Benet created it.", RIGHT),
    ("who created IPFS", "IPFS was created by Juan Benet.", "It is by Protocol Labs.", UNDECIDED),
    ("who won", "NYC won.", "New York City won.", UNDECIDED),
    (
        "how do I learn Python",
        "The best way to learn Python is by projects.",
        "The best way to learn Python is by reading books.",
        UNDECIDED,
    ),
    ("how long does proposal 123 vote", "Proposal 123: 5 days.", "Proposal 124: 7 days.", WRONG),
    ("what is proposal 123", "Proposal 123 raises the fee.", "Proposal 124 raises the fee.", WRONG),
    ("what is a CID", "A CID is a content identifier.", "A content identifier is a CID.", RIGHT),
    ("what", "", "something", UNDECIDED),
    ("what", "...", "?", UNDECIDED),
]


@pytest.mark.parametrize(("question", "one", "other", "verdict"), CASES)
def test_cases(question: str, one: str, other: str, verdict: str) -> None:
    assert same_answer(one, other, question=question).verdict == verdict
    assert same_answer(other, one, question=question).verdict == verdict, "both ways alike"


def test_live_figures_may_move_a_little() -> None:
    def compare(one: str, other: str) -> str:
        texts = (f"Bitcoin is at {one} USD (2026-11-22 09:10 UTC).", f"Bitcoin is at {other} USD.")
        return same_answer(*texts, question="price of btc", live=True).verdict

    assert compare("70,000", "70,500") == RIGHT
    assert compare("70,000", "74,000") == UNDECIDED
    assert compare("70,000", "95,000") == WRONG


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=60), st.booleans())
def test_any_text_is_compared_both_ways_alike(one: str, other: str, question: str, live: bool) -> None:
    found = same_answer(one, other, question=question, live=live)
    assert found.verdict in (RIGHT, WRONG, UNDECIDED)
    assert found == same_answer(other, one, question=question, live=live)


@given(st.text(min_size=1, max_size=200), st.text(max_size=60))
def test_a_text_never_contradicts_itself(text: str, question: str) -> None:
    assert same_answer(text, text, question=question).verdict != WRONG


def test_long_texts_are_bounded() -> None:
    long = "Belmora has 12 towers and 7 bridges. " * 20_000
    assert same_answer(long, long + " More.").verdict in (RIGHT, UNDECIDED)
