"""What the gate reads out of a question."""

from __future__ import annotations

import pytest

from node.cache.matching.reader import CHARS_MAX, extract
from node.cache.matching.stem import canonical
from node.cache.matching.token import NUMBER
from node.cache.matching.tokens import tokenise
from tests.each import each
from tests.unit.cache.tables import rows


def numbers(text: str) -> list[str]:
    return [token.text for token in tokenise(text) if token.kind == NUMBER]


@each(
    ("text", "found"),
    [
        ("one hundred and five", ["105"]),
        ("twenty-first century", ["21"]),
        ("1,234.50 and 2.5 million", ["1234.50", "2500000"]),
        ("$5k or 1.5bn", ["5000", "1500000000"]),
        ("a dozen eggs", ["12"]),
        ("007 is 7", ["7", "7"]),
        ("5km in 3 h", ["5", "3"]),
        ("which one, no one", []),
        ("a second thought", []),
        ("World War II", ["2"]),
        ("the 1st and the third", ["1", "3"]),
        ("mp3 and h2o", []),
    ],
)
def test_figures_are_read_however_written(text: str, found: list[str]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Who wrote it down?", "who"),
        ("at what time does it open", "when"),
        ("How many moons has Mars?", "howmany"),
        ("how come the sky is blue", "why"),
        ("Please tell me where Lima is", "where"),
        ("list all moons", "what"),
        ("Is Mars red?", "yesno"),
        ("ways to lose weight", "how"),
        ("mars moons", ""),
    ],
)
def test_what_is_asked_for(text: str, asks: str) -> None:
    assert extract(text).asks == (asks,)


def test_roles_and_order() -> None:
    roles = {item.key: item.role for item in extract("flights from Paris to Lyon").items}
    assert roles["paris"] == "from"
    assert roles["lyon"] == "to"
    active = [item.key for item in extract("Did the Goths sack Rome?").items]
    passive = [item.key for item in extract("Was Rome sacked by the Goths?").items]
    assert active == passive


def test_negation_keeps_its_word() -> None:
    assert extract("Which is red but not round?").negations == (("not", "round"),)
    assert extract("life without sugar").negations == (("without", "sugar"),)


@each(("what", "one", "other"), rows(__file__, "stems.txt"))
def test_forms_and_spellings_of_one_word_meet_and_other_words_stay_apart(
    what: str, one: str, other: str
) -> None:
    assert (canonical(one) == canonical(other)) is (what == "one")


def test_languages() -> None:
    assert extract("Wie hoch ist der Preis von Gold?").language == "german"
    assert extract("Quel est le prix du pain?").language == "french"
    assert extract("что такое биткоин").language == "script cyrillic"
    assert extract("What is the price of gold in Die Zeit?").language == "english"


def test_a_long_text_is_not_read() -> None:
    assert extract("a " * CHARS_MAX).too_long


@pytest.mark.parametrize(
    "text", ["how much", "what is the", "how is", "Of all", "x in the whole", "tell me", "I want"]
)
def test_a_phrase_cut_off_by_the_end_is_read(text: str) -> None:
    assert extract(text).flat
