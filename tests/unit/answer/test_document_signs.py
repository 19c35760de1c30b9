"""What is weighed of windows of documents: names, years and rare words that the likeliest lacks."""

from __future__ import annotations

from node.answer import document_signs
from node.knowledge.model import UNKNOWN
from node.knowledge.windows import windows
from tests.unit.answer.test_documents import document, passage

TEXT = "The boiler in Kranichhof was checked. It stands in Kranichhof since May. The flow is 62 degrees."


def test_a_name_written_small_is_known_by_how_the_passages_write_it() -> None:
    found = document_signs.names("flow of the boiler in kranichhof", [passage(document(1, "a.md"), TEXT)])
    assert found == {"kranichhof"}


def test_a_word_that_begins_a_sentence_is_no_name() -> None:
    text = "Flow is warm. Flow goes round. we see it."
    assert document_signs.names("what is the flow", [passage(document(1, "a.md"), text)]) == set()


def test_the_rarest_word_that_is_lacking_counts_and_what_no_document_has_does_not() -> None:
    asked = {"boil": 0.5, "kranic": 0.9, "mum": UNKNOWN}
    assert document_signs.rarest(asked, "The boiler is new.") == 0.9
    assert document_signs.rarest(asked, "The boiler in Kranichhof.") == 0.0


def test_rare_words_cover_more_of_a_question_than_common_ones() -> None:
    asked = {"cost": 0.1, "kranic": 0.9}
    assert document_signs.covered(asked, "in Kranichhof") > document_signs.covered(asked, "the cost")


def test_words_of_another_language_are_not_expected_in_a_text() -> None:
    german = "Der Beitrag beträgt 24 Euro im Monat, und die Werkstatt ist am Dienstag offen."
    read = passage(document(1, "regeln.md"), german)
    [first, *_] = windows("how much is the membership", [read], 3)
    rarity = dict.fromkeys(document_signs.roots("how much is the membership of the workshop"), UNKNOWN)

    def signs(question: str) -> tuple[float, ...]:
        return document_signs.answer_signs(question, [(first, None, 0.0)], [read], rarity, 0.5)

    foreign = signs("how much is the membership of the workshop")
    own = signs("wie hoch ist die Mitgliedschaft und der Preis für das Jahr")
    unknown = 11  # the place of how many words stand nowhere
    assert foreign[unknown] == 0.0
    assert own[unknown] > 0.0
