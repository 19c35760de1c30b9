"""A message that brings a text of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import Kind, Source
from node.pipeline.understanding.pasted import LONG_LINE_CHARS, part, reply
from node.pipeline.understanding.route import Floors, Router
from tests.each import each

MAIL = "Dear team,\n\nthe meeting moves to 5 May at 14:00.\n  Please bring the budget.\n\nBob"
SLOPPY = "hi Tom\n\nthe parcel with number 4471 was sent on 12 march, it comes in 3 days\n\ncheers ann"
ASKING_MAIL = "Dear Anna,\n\ncan you send the slides?\n\nThanks\nBob"
SHORT = "The plumber comes on Thursday.\nThe key is with Mrs. Odell."
ONE_LINE = SHORT.replace("\n", " ")
CODE = "def f(x)\n    return a[0]"
FENCED = f"```\n{CODE}\n```"
LOG = "2026-01-01 10:00:00 ERROR disk full\n2026-01-01 10:00:01 INFO retry"
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
LONG = "The lighthouse was built by fishermen who had lost a boat. " * 8


RULES = "Book the hall by mail two weeks before. When you cancel later than 3 days before, you pay half."
MENU = "Here is our menu:\nMonday soup 4.50\nTuesday pasta 6.20\nFriday fish 8.90"


@each(
    ("message", "question", "pasted"),
    [
        (f"summarise this:\n\n{MAIL}", "summarise this:", MAIL),
        (f"summarise this\n{MAIL}", "summarise this", MAIL),
        (f"{MAIL}\n\nwhat does he want", "what does he want", MAIL),
        (f"{RULES}\n\nwhat if i cancel late", "what if i cancel late", RULES),
        (f"{MENU}\nhow much is fish", "how much is fish", MENU),
        (f"what is wrong with this code\n{CODE}", "what is wrong with this code", CODE),
        (f"{CODE}\n\nwhy does this not compile", "why does this not compile", CODE),
        (f"Any idea?\r\n```py\r\n{CODE}\r\n```", "Any idea?", f"```py\n{CODE}\n```"),
        (f"Any idea?\n~~~\n{CODE}", "Any idea?", f"~~~\n{CODE}"),
        (f"{LOG}\n\nwhat went wrong here?", "what went wrong here?", LOG),
        (f"{TABLE}\n\nsum of column b?", "sum of column b?", TABLE),
        ("name,age\nBob,3\nAnna,4\nwho is older?", "who is older?", "name,age\nBob,3\nAnna,4"),
        (f"Fasse das zusammen:\n{MAIL}", "Fasse das zusammen:", MAIL),
        ("résume ce texte :\nLe chat dort. Il rit.", "résume ce texte :", "Le chat dort. Il rit."),
        ("要約して：\n昨日は雨でした。今日は晴れです。", "要約して：", "昨日は雨でした。今日は晴れです。"),
        (f"tldr: {LONG}", "tldr", LONG.strip()),
        (f"{LONG}Who built it?", "Who built it?", LONG.strip()),
        (f"Who wrote “{LONG}”?", "Who wrote the quoted text?", LONG),
        (f"Summarise this article: {LONG}", "Summarise this article", LONG.strip()),
        *((text, "", text) for text in (MAIL, CODE, LOG, TABLE, FENCED, LONG.strip(), SLOPPY, ASKING_MAIL)),
        (f"pls summarize\n\n{SLOPPY}", "pls summarize", SLOPPY),
        (f"A note i got:\n\n{SHORT}\n\nwhere is the key", "where is the key", f"A note i got:\n\n{SHORT}"),
        (f"Here is my code:\n{FENCED}", "", FENCED),
        (f"when does he come\n\n{ONE_LINE}", "when does he come", ONE_LINE),
        (f"{ONE_LINE}\n\nwhen does he come", "when does he come", ONE_LINE),
        (f"When does he come?\n{ONE_LINE}", "When does he come?", ONE_LINE),
    ],
)
def test_the_question_and_its_text(message: str, question: str, pasted: str) -> None:
    found = part(message)
    assert (found.question, found.pasted.strip()) == (question, pasted.strip())


@each(
    "message",
    [
        *("what is the price of bitcoin?", "hi\nwhat is ipfs", "btc\neth", "define: entropy", "", " \n\n"),
        "What is the weather in Paris?\nAnd the price of BTC?\nAnd what is ipfs",
        "1. btc price\n2. weather in Paris\n3. what is 2+2",
        "bitcoin price\nweather in Paris\ntime in Tokyo",
        "What time is it in\n- Paris\n- Tokyo\n- New York?",
        "My cat is 3 years old.\nShe eats twice a day.\nWhat should I do?",
        "Can you explain how this famous\nalgorithm of Dijkstra works on\ngraphs with negative weights?",
        "hello there\n\ncan you tell me what the capital of france is?",
        "Write an email to my boss.\nSay that I am ill today.\nBe polite and short.",
        "translate to German: good morning",
        "What can I cook?\n\nI have eggs.",
        "Is it open today?\nAnd is it open tomorrow? I would come at nine.",
        "calculate this: 3 + 4 * 5",
        "Who wrote “Hamlet”?",
    ],
)
def test_these_are_questions_as_a_whole(message: str) -> None:
    assert part(message).pasted == ""


@given(st.text('a b?.:\n\t`"|,{', max_size=LONG_LINE_CHARS * 2))
def test_any_message_has_parts_of_its_own_words(message: str) -> None:
    found = part(message)
    assert found.pasted in message
    assert found.question or found.pasted or not message.strip()


@pytest.mark.parametrize("unit", ["a ", "?\n", "| a\n", "“", '"a', "```\n", "x,\n", "what? ", ": "])
def test_long_messages_are_quick(unit: str) -> None:
    part(unit * (65_536 // len(unit)))  # the suite's timeout is the bound


@pytest.mark.parametrize(
    ("pasted", "asks"),
    [
        (MAIL, "What would you like"),
        ("Liebe Anna,\nkannst du mir bitte die Folien schicken? Wir brauchen sie.", "Was möchtest"),
        ("Привет, встреча в пять.\nБоб", "Что вы"),
        ("a,b\n1,2", "What"),
    ],
)
def test_the_reply_is_in_the_language_of_the_text(pasted: str, asks: str) -> None:
    assert reply(pasted).startswith(asks)


def test_the_route_is_of_the_question_alone() -> None:
    router, now = Router((), Floors()), datetime(2026, 1, 1, tzinfo=UTC)
    about = router.about("when is the meeting?", now=now)
    assert (about.kind, about.sources, about.floor) == (Kind.GENERATIVE, (Source.CACHE, Source.MODEL), None)
    assert router.about("", now=now).kind is Kind.STATEMENT


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "Notes: Ana owns the budget, Ben the venue, deadline 12 June.\nwho owns the venue",
            "who owns the venue",
        ),
        ("Der Kurs kostet 120 Euro, Mitglieder 90.\nWas zahlen Mitglieder?", "Was zahlen Mitglieder?"),
        (
            "The rent is 900. The deposit is 1800 and due before May.\nhow much is the deposit?",
            "how much is the deposit?",
        ),
    ],
)
def test_a_question_below_sentences_that_name_what_it_asks_for_is_asked_of_them(
    text: str, question: str
) -> None:
    message = part(text)
    assert message.question == question
    assert message.pasted == text.rpartition("\n")[0]


def test_a_question_below_sentences_about_other_things_stays_with_them() -> None:
    text = "I have a dog. He is brown and likes cake.\nwhat food should he eat?"
    assert part(text).pasted == ""
