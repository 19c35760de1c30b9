"""Abstention, contradiction, citations and overlap."""

from __future__ import annotations

from functools import partial

import pytest

from node.answer import grounding, prompt
from node.answer.composed import Composed
from node.answer.context import Block, pack
from node.answer.model_answer import must_rest_on_evidence
from node.core.errors import Rejected
from node.core.model import Draft, Kind, SourceRef
from tests.each import each
from tests.unit.answer.material import adapter, document
from tests.unit.pipeline.tables import sections

SENTENCES = sections(__file__, "sentences.txt")


@each("text", [*SENTENCES["abstains"], ""])
def test_these_abstain(text: str) -> None:
    assert grounding.abstains(text)


@pytest.mark.parametrize("text", SENTENCES["answers"])
def test_these_answer(text: str) -> None:
    assert not grounding.abstains(text)


def test_admitting() -> None:
    assert grounding.admits_no_lookup("I couldn't look up the forecast.")
    assert grounding.admits_no_lookup("I am unable to check that.")
    assert not grounding.admits_no_lookup("Yes, it will rain tomorrow.")


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        ("Yes, it did. No, it did not.", True),
        ("The proposal has passed the council. The proposal has not passed the council.", True),
        ("The proposal has passed the council. The budget was not changed.", False),
        ("No, it is blue. It is not green.", False),
        ("Paris is big.", False),
    ],
)
def test_contradictions(text: str, yes: bool) -> None:
    assert grounding.contradicts_itself(text) is yes


BLOCKS = pack(
    [
        adapter("Bitcoin is 67,187.34 USD as of noon."),
        document("Proposal 123 raised the quorum to ten percent.", name="minutes"),
        document("The hall was painted blue.", name="diary"),
    ],
    2_000,
).blocks


def test_valid_citations_are_kept_and_renumbered() -> None:
    found = grounding.ground(
        "Proposal 123 raised the quorum [2]. Bitcoin is 67,187.34 USD [1, 2].", BLOCKS, "Q?"
    )
    assert found.text == "Proposal 123 raised the quorum [1]. Bitcoin is 67,187.34 USD [2] [1]."
    assert [block.source.id for block in found.used] == ["minutes", "coingecko"]
    assert (found.explicit, found.grounded, found.uncited_figures) == (True, True, ())


def test_citations_of_nothing_are_dropped() -> None:
    found = grounding.ground("Proposal 123 raised the quorum [2] [9] [3].", BLOCKS, "Q?")
    assert found.text == "Proposal 123 raised the quorum [1]."
    assert [block.source.id for block in found.used] == ["minutes"]


def test_overlap_counts_where_nothing_is_cited() -> None:
    found = grounding.ground("Proposal 123 raised the quorum to ten percent.", BLOCKS, "Q?")
    assert [block.source.id for block in found.used] == ["minutes"]
    assert (found.explicit, found.share) == (False, 1.0)


def test_what_the_evidence_lacks_is_not_grounded() -> None:
    found = grounding.ground("Jupiter has many moons [1].", BLOCKS, "Q?")
    assert not found.grounded
    assert found.text == "Jupiter has many moons."


def test_figures_without_a_source_are_flagged() -> None:
    found = grounding.ground("Proposal 123 raised the quorum to 12 percent [2].", BLOCKS, "Q?")
    assert found.uncited_figures == ("12",)
    assert grounding.ground("It was 12 [2].", BLOCKS, "Why 12?").uncited_figures == ()


def test_sentences_with_unsupported_figures_go() -> None:
    text = "I could not check. Rain is likely. It will be 21 degrees."
    assert grounding.only_given_figures(text, (), "Q?") == "I could not check. Rain is likely."
    assert grounding.only_given_figures(text, (), "Is it 21 degrees?") == text


def test_sentences_with_numbers_in_words_go_unless_the_question_has_some() -> None:
    text = "I could not check. It is about forty thousand."
    assert grounding.without_number_words(text, "price of btc") == "I could not check."
    assert grounding.without_number_words(text, "Are there two of them?") == text


@pytest.mark.parametrize(
    ("answer", "joins"),
    [
        ("A berth costs 41 crowns for boats up to 10 metres.", True),
        ("A berth costs 28 crowns for boats up to 10 metres and 41 crowns for longer ones.", False),
        ("It costs 41 crowns for 12 metres.", False),
        ("It costs 41 crowns.", False),
        ("It costs 41 crowns or 55 euros.", False),
    ],
)
def test_figures_of_different_clauses_are_not_one_fact(answer: str, joins: bool) -> None:
    note = "A berth costs 28 crowns a night for boats up to 10 metres, and 41 crowns for longer boats."
    assert grounding.joins_figures(answer, [note], "what does a berth cost for 12 metres?") == joins


def _stored(text: str) -> tuple[Block, ...]:
    return pack([document(text)], 1_500).blocks


@pytest.mark.parametrize(
    ("answer", "is_empty"),
    [
        ("The treasurer of the trust keeps the trusts money.", True),
        ("The treasurer, Desmond Pikala, keeps the money.", False),
        ("The treasurer has kept the money since 2019.", False),
    ],
)
def test_an_answer_in_the_words_of_the_question_and_of_the_notes_title_is_none(
    answer: str, is_empty: bool
) -> None:
    asked, about = "who keeps the trusts money", ["Who is the treasurer of the trust"]
    assert grounding.says_nothing_new(asked, answer, about) is is_empty


def test_what_the_examples_of_the_prompt_say_is_no_answer() -> None:
    fine = "The fine for overdue books is 20 cents a day, at most 5 euros."
    system = prompt.build("how long can i stay home", _stored("Leave is 8 days."), "t4g").system
    asked = "my dad passed away. how long can i stay home"
    assert grounding.repeats_an_example(asked, fine, _stored("Leave is 8 days."), system)
    assert not grounding.repeats_an_example(
        asked, "You can stay home for 8 days.", _stored("Leave is 8 days."), system
    )
    # A library may have just that fine.
    assert not grounding.repeats_an_example(
        "what is the fine", fine, _stored(f"Overdue books: {fine}"), system
    )


@pytest.mark.parametrize(
    ("question", "answer", "speaks"),
    [
        ("do you give riding lessons", "Yes, I can give riding lessons.", True),
        ("are you open on sunday?", "No, we are closed.", True),
        ("do you know why the sky is blue", "Yes, I know: light is scattered.", False),
        ("do bees sleep", "Yes, I believe they do.", False),
        ("do you give riding lessons", "Riding lessons are on Fridays.", False),
    ],
)
def test_a_model_does_not_speak_for_the_people_who_are_asked(
    question: str, answer: str, speaks: bool
) -> None:
    assert grounding.speaks_for_the_asked(question, answer) is speaks


@pytest.mark.parametrize(
    ("question", "answer", "only"),
    [
        ("is there a pottery kiln", "Yes, there is a pottery kiln.", True),
        ("can i smoke in the yard", "No, you can't smoke in the yard.", True),
        ("is there life on Mars", "No.", True),
        ("can i freeze rice", "Yes, you can freeze rice. Cool it quickly first.", False),
        ("is there parking", "There is parking in most towns.", False),
        ("who chairs the club", "Anneke chairs the club.", False),
    ],
)
def test_a_bare_yes_says_nothing_of_its_own(question: str, answer: str, only: bool) -> None:
    assert grounding.only_says_yes(question, answer) is only


def test_a_bare_yes_is_refused_where_people_stored_something_near() -> None:
    draft = Draft("Yes, there is a pottery kiln.", "one", "m")
    composed = Composed(draft.text, SourceRef("llm", "one/m"), draft=draft)
    judged = partial(must_rest_on_evidence, composed, "is there a pottery kiln", draft, [], Kind.GENERATIVE)
    judged(is_bound=False, is_near_theirs=False)
    with pytest.raises(Rejected, match="only said yes or no"):
        judged(is_bound=False, is_near_theirs=True)
