"""Follow-ups as questions of their own, where no rule has only one reading."""

from __future__ import annotations

import pytest

from node.pipeline.understanding.leaning import leaning
from node.pipeline.understanding.standing_alone import guess, is_made_of, names_more, owned
from tests.each import each


@each(
    ("turn", "text", "whole"),
    [
        ("when is the open evening", "and on Sundays?", "when is the open evening on Sundays?"),
        ("who is the treasurer?", "and the chair?", "who is the chair?"),
        ("who is the treasurer", "what about the steel buyer", "who is the steel buyer?"),
        ("cost of welding training", "and for the lathe?", "cost of the lathe?"),
        ("what does the saw course cost", "and the laser?", "what does the laser cost?"),
        ("cost of welding training", "and how long", "how long cost of welding training?"),
        ("when is the open evening", "and where is it", "where is the open evening?"),
        ("when is the sewing course", "who teaches it", "who teaches the sewing course?"),
        ("when is the pool open", "is it open on sundays", "is the pool open on sundays?"),
        ("who runs the plots", "where is he", "where is the one who runs the plots?"),
        ("what is the fee", "really?", None),
        ("what is the fee", "why?", None),
        ("what is the fee", "and then?", None),
        (
            "when is the reading room open on saturdays",
            "and on sundays?",
            "when is the reading room open on sundays?",
        ),
        ("when is the reading room open", "and the pool?", "when is the pool open?"),
        ("where does line 12 stop", "and line 14?", "where does line 14 stop?"),
        ("when does the shop in leeds open", "and in utrecht?", "when does the shop in utrecht open?"),
        ("what is a day ticket for the pool", "and for kids?", "what is a day ticket for the pool for kids?"),
        ("wann ist der offene Abend", "und sonntags?", "wann ist der offene Abend sonntags?"),
        ("wann ist das bad am samstag auf", "und am Sonntag?", "wann ist das bad am Sonntag auf?"),
        ("wann ist das bad auf", "und die Bücherei?", "wann ist die Bücherei auf?"),
        ("was kostet Zimmer 12", "und Zimmer 14?", "was kostet Zimmer 14?"),
        ("wer putzt in Berlin", "und in Köln?", "wer putzt in Köln?"),
        ("quand ouvre le musée le samedi", "et le dimanche ?", "quand ouvre le musée le dimanche?"),
        ("quand ouvre la médiathèque", "et la piscine ?", "quand ouvre la piscine?"),
        ("cuándo abre el mercado los sábados", "¿y los domingos?", "cuándo abre el mercado los domingos?"),
        ("wanneer is het bad op zaterdag open", "en op zondag?", "wanneer is het bad op zondag open?"),
        ("wanneer is het zwembad open", "en de bibliotheek?", "wanneer is de bibliotheek open?"),
        ("什么时候开放", "周日呢？", None),
        ("w" * 401, "and the chair?", None),
    ],
)
def test_the_new_words_take_their_place_in_the_last_question(turn: str, text: str, whole: str | None) -> None:
    assert guess(text, turn) == whole


@pytest.mark.parametrize("text", ["who is our class teacher", "where is my bike", "and when is our meeting?"])
def test_what_the_askers_ask_of_themselves_is_not_joined_to_the_last_question(text: str) -> None:
    assert guess(text, "what time is it in lisbon") == text


@pytest.mark.parametrize(
    ("turn", "text", "answer"),
    [
        ("who is fixing bikes there", "whats her number", "Petra does; her number is 0470 55 12 88."),
        ("who is fixing bikes there", "and her phone?", "Petra does, 0470 55 12 88."),
        ("who runs the plots", "whats his email", "Omar runs them, omar@plots.example."),
        ("wer leitet den chor", "wie ist seine nummer?", "Jonas; seine Nummer ist 0761 4455."),
        ("wer leitet den chor", "und seine Telefonnummer?", "Jonas; seine Nummer ist 0761 4455."),
        ("qui s'occupe du jardin", "et son numéro ?", "Claire ; son numéro est le 04 78 11 22."),
        ("quién lleva la biblioteca", "¿cuál es su número?", "Pilar; su número es el 600 11 22."),
        ("wie beheert de moestuin", "en haar nummer?", "Anna; haar nummer is 06 1122 33."),
        ("wo ist die werkstatt", "und ihre adresse?", "Im Hof; die Adresse ist Kanalstraße 12."),
    ],
)
def test_what_the_last_answer_says_of_somebody_is_asked_for_by_the_last_question(
    turn: str, text: str, answer: str
) -> None:
    assert guess(text, turn, answer) == turn


@pytest.mark.parametrize(
    ("turn", "text", "answer", "whole"),
    [
        (
            "who repairs bikes",
            "her email?",
            "Petra, 0470 551288.",
            "what is the email of the one who repairs bikes?",
        ),
        ("who cleans", "and his number", "Room number 4.", "what is the number of the one who cleans?"),
        ("where is the library", "its number?", "In Mill Lane.", "what is the number of the library?"),
        (
            "what is the email of the one who cleans?",
            "and his address?",
            "I don't know.",
            "what is the address of the one who cleans?",
        ),
        ("wer leitet den chor", "und seine E-Mail?", "Jonas; seine Nummer ist 0761 4455.", None),
        ("qui s'occupe du jardin", "et son adresse ?", "Claire ; son numéro est le 04 78 11 22.", None),
    ],
)
def test_what_it_does_not_say_is_asked_of_the_person_or_thing(
    turn: str, text: str, answer: str, whole: str | None
) -> None:
    assert guess(text, turn, answer) == whole


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("was ist seine Nummer", "nummer"),
        ("quel est son numéro", "numero"),
        ("wat is haar nummer", "nummer"),
        ("wann ist sein kurs morgen abend im grossen saal", None),
        ("was ist eine Nummer", None),
    ],
)
def test_what_is_somebodys_goes_on_from_what_was_said(text: str, thing: str | None) -> None:
    assert owned(text, "") == thing
    assert (leaning(text) is not None) is (thing is not None)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("and on Sundays?", True),
        ("y los domingos?", True),
        ("really?", False),
        ("and then?", False),
        ("", False),
    ],
)
def test_what_asks_of_something_else_is_told_from_what_asks_of_the_answer(text: str, more: bool) -> None:
    assert names_more(text) is more


@pytest.mark.parametrize(
    ("whole", "holds"),
    [
        ("Who is the chair?", True),
        ("Who chairs the association?", False),  # nobody spoke of an association
        ("Who is the treasurer?", False),  # what was asked is gone
        ("", False),
    ],
)
def test_a_models_wording_keeps_what_was_asked_and_adds_nothing(whole: str, holds: bool) -> None:
    assert is_made_of(whole, "and the chair?", ["who is the treasurer", "Bartek is."]) is holds
