"""The form of calls in text: what is read as what, and what is shown of an answer while it grows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.agent import form
from node.agent.form import Reply
from node.answer.fitting import validator
from node.core.model import Draft
from node.core.tools import Call, Offered

PRICE = Offered(
    "get_price",
    "prices",
    {
        "type": "object",
        "properties": {"coin": {"type": "string", "description": "x"}, "date": {"type": "string"}},
        "required": ["coin"],
        "additionalProperties": False,
    },
)
CALL = Call("get_price", '{"coin": "bitcoin"}')


def draft(text: str, *calls: Call) -> Draft:
    return Draft(text, "engine", "model", calls=calls)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"tool": "get_price", "arguments": {"coin": "bitcoin"}}', Reply((CALL,))),
        ('{"answer": " It is 7. "}', Reply(answer="It is 7.")),
        ('{"name": "get_price", "arguments": {"coin": "bitcoin"}}', Reply((CALL,), is_mended=True)),
        (
            '{"function": {"name": "get_price", "parameters": {"coin": "bitcoin"}}}',
            Reply((CALL,), is_mended=True),
        ),
        (
            '```json\n{"tool": "get_price", "arguments": {"coin": "bitcoin"}}\n```',
            Reply((CALL,), is_mended=True),
        ),
        (
            '<tool_call>\n{"name": "get_price", "arguments": {"coin": "bitcoin"}}\n</tool_call>',
            Reply((CALL,), is_mended=True),
        ),
        ('[{"tool": "get_price", "arguments": {"coin": "bitcoin"}}]', Reply((CALL,), is_mended=True)),
        ('{"answer": "It is 7, and the', Reply(answer="It is 7, and the", is_mended=True)),
        ('{"tool": "get_time"}', Reply((Call("get_time", "{}"),))),
        ("It is 7.", Reply(answer="It is 7.")),
        ('The record {"name": "Heron"} is a boat.', Reply(answer='The record {"name": "Heron"} is a boat.')),
        ('{"thought": "hm"}', Reply(trouble="it has neither a tool nor an answer")),
        ('{"tool": "get_pr', Reply(trouble="it is not JSON")),
        ("42", Reply(answer="42", is_mended=True)),
    ],
)
def test_what_a_reply_says(text: str, wanted: Reply) -> None:
    assert form.read(draft(text)) == wanted


def test_calls_of_the_engine_s_own_come_first_and_are_few() -> None:
    assert form.read(draft("", *[CALL] * 9)) == Reply((CALL,) * form.CALLS_MAX)


def test_the_schema_takes_calls_and_answers_and_nothing_else() -> None:
    check = validator(form.schema([PRICE]))
    assert check.is_valid({"tool": "get_price", "arguments": {"coin": "bitcoin"}})
    assert check.is_valid({"answer": "x"})
    for wrong in ({"tool": "other", "arguments": {}}, {"tool": "get_price", "arguments": {}}, {}, "x"):
        assert not check.is_valid(wrong)
    assert "description" not in form.schema([PRICE])
    assert form.listing([PRICE]) == "get_price(coin, date?): prices"


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    form.read(draft(text))
    whole = json.dumps({"answer": text})
    for end in range(len(whole) + 1):
        assert text.startswith(form.answer_so_far(whole[:end]))
    assert form.answer_so_far(whole) == text


def heard(pieces: list[str]) -> tuple[str, list[str]]:
    text: list[str] = []
    events: list[str] = []

    def tell(event: str, facts: Any) -> None:
        events.append(event)

    speech = form.Speech(text.append, tell)
    for piece in pieces:
        speech.hear(piece)
    speech.tell("reset", {})
    return "".join(text), events


def test_an_answer_is_heard_as_it_grows_in_either_form() -> None:
    whole = json.dumps({"answer": 'She said "so" \u2014 twice.\n'})
    assert heard(list(whole)) == ('She said "so" \u2014 twice.\n', ["reset"])
    assert heard(["It is", " 7."]) == ("It is 7.", ["reset"])
    assert heard(list('{"tool": "get_price", "arguments": {"coin": "x"}}')) == ("", ["reset"])
    assert heard(["<tool_call>", '{"name": "x"}']) == ("", ["reset"])
