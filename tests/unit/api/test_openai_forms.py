"""Requests, headers and streams in OpenAI's form, by rules alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.answer.fitting import fitting, validator
from node.api.openai import caching, shapes
from node.api.openai.faults import Fault
from node.api.openai.forms import ChatForm, Form, ResponsesForm
from node.core.errors import Rejected
from node.core.model import Usage
from node.pipeline.partition import is_plain, partition
from node.pipeline.through import Said
from tests.openai_kit import checked_chat, events

LAST = {"role": "user", "content": "How high is it?"}


def wanted(**more: Any) -> shapes.Wanted:
    return shapes.chat(json.dumps({"model": "neuroswarm", "messages": [LAST], **more}).encode())


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": None},
        {"temperature": 1},
        {"temperature": 0},
        {"top_p": 1.0, "n": 1, "stop": None, "logprobs": False},
        {"tools": [], "tool_choice": "auto"},
        {"tool_choice": "auto", "parallel_tool_calls": False},
        {"response_format": {"type": "text"}},
        {"user": "anna", "stream": True, "stream_options": {"include_usage": True}, "metadata": {"a": "b"}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "How high is it?"}]}]},
    ],
)
def test_what_is_the_default_leaves_a_lone_question_without_a_context(more: dict[str, Any]) -> None:
    found = wanted(**more)
    assert (found.settings, found.before, found.bypass, found.talk()) == ({}, (), None, None)
    assert partition("", found.before, found.settings, found.text, plain=True) is None


def test_true_is_no_one_and_a_zero_temperature_is_only_the_node_s_own_choice() -> None:
    assert wanted(logprobs=True).bypass == shapes.Bypass("logprobs", "log probabilities")
    upstream = wanted(model="neuroswarm/gpt-4", temperature=0)
    assert upstream.settings == {"temperature": 0}
    assert upstream.body["model"] == "gpt-4"


def test_two_names_of_one_setting_part_nothing() -> None:
    assert wanted(max_tokens=9).settings == wanted(max_completion_tokens=9).settings == {"max_tokens": 9}
    assert wanted(stop="a").settings == wanted(stop=["a"]).settings


def test_a_response_is_the_same_request_as_its_chat() -> None:
    sent = {
        "model": "neuroswarm/m",
        "input": "How high is it?",
        "instructions": "Be brief.",
        "max_output_tokens": 7,
    }
    response = shapes.responses(
        json.dumps({**sent, "store": False, "text": {"format": {"type": "text"}}}).encode()
    )
    told = [{"role": "system", "content": "Be brief."}, LAST]
    chat = wanted(model="neuroswarm/m", messages=told, max_tokens=7)
    assert (response.before, response.settings, response.text) == (chat.before, chat.settings, chat.text)
    assert response.body["messages"] == told
    assert response.bypass is None


@pytest.mark.parametrize(
    "more", [{"previous_response_id": "r"}, {"tools": [{"type": "web_search"}]}, {"background": True}]
)
def test_what_only_a_response_can_do_goes_past_the_cache_as_it_came(more: dict[str, Any]) -> None:
    sent = {"model": "neuroswarm/m", "input": "x", **more}
    found = shapes.responses(json.dumps(sent).encode())
    assert found.bypass is not None
    assert found.raw == {**sent, "model": "m"}
    assert found.path == "responses"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one, max_size=3)
)


@given(st.lists(st.text(max_size=5), min_size=2, max_size=2, unique=True), st.booleans())
def test_texts_never_pass_for_each_other_s_borders(texts: list[str], plain: bool) -> None:
    one, other = texts
    said: list[Any] = [{"role": "system", "content": one}, {"role": "system", "content": other}]
    joined: list[Any] = [{"role": "system", "content": f"{one}{other}"}]
    hashes = {
        partition("", said, {}, "x", plain=plain),
        partition("", said[::-1], {}, "x", plain=plain),
        partition("", joined, {}, "x", plain=plain),
        partition(one, said, {}, "x", plain=plain) if one else "none",
    }
    assert len(hashes) == 4


@given(st.dictionaries(st.text(min_size=1, max_size=4), _JSON, min_size=1, max_size=3))
def test_the_order_of_settings_does_not_matter_and_each_counts(settings: dict[str, Any]) -> None:
    turned = dict(reversed(settings.items()))
    first = partition("m", [], settings, "x", plain=True)
    assert partition("m", [], turned, "x", plain=True) == first
    fewer = dict(list(settings.items())[1:])
    assert partition("m", [], fewer, "x", plain=True) != first


def test_only_a_plain_question_may_be_answered_by_another_wording() -> None:
    system: list[Any] = [{"role": "system", "content": "s"}]
    turns: list[Any] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert is_plain(system, {}, "x", is_question=True)
    assert not is_plain(system, {}, "x", is_question=False)
    assert not is_plain(turns, {}, "x", is_question=True)
    assert not is_plain([], {}, "x\ny", is_question=True)
    assert not is_plain([], {"response_format": {}}, "x", is_question=True)
    assert partition("m", turns, {}, "x", plain=False) != partition("m", turns, {}, "x ", plain=False)


@pytest.mark.parametrize("control", ["max-age=-1", "max-age=", "max-age=a", "max-age=1.5"])
def test_a_max_age_that_is_no_number_is_refused(control: str) -> None:
    with pytest.raises(Fault, match="max-age"):
        caching.directives([control])


def test_directives_come_from_every_header_in_any_case() -> None:
    found = caching.directives(['No-Cache, MAX-AGE="30"', "only-if-cached, unheard-of=3"])
    assert found == caching.Directives(no_cache=True, max_age_s=30, only_if_cached=True)


@given(st.text(), st.lists(st.text(max_size=20), max_size=4))
def test_a_stream_says_the_answer_whatever_was_shown_of_it(text: str, pieces: list[str]) -> None:
    for begun in ("", text[: len(text) // 2]):
        form = ChatForm("id", 1, "m", wants_usage=True)
        raw = form.opening() + form.piece(begun) + form.ending(text, "stop", Usage(3, 4), {"cid": None})
        said, own, usage = checked_chat(raw.decode(), usage=True)
        assert said == text
        assert own == {"cid": None}
        assert usage is not None
        assert usage["total_tokens"] == 7
    form = ChatForm("id", 1, "m")
    raw = form.opening() + b"".join(map(form.piece, pieces)) + form.ending(text, "stop", Usage(), {})
    shown = "".join(pieces)
    said, own, _ = checked_chat(raw.decode(), usage=False)
    assert said == (text if text.startswith(shown) else f"{shown}\n\n{text}")
    assert own.get("replaced", False) is not text.startswith(shown)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_the_events_of_a_response_are_numbered_and_end_with_the_whole(reason: str) -> None:
    form: Form = ResponsesForm("id", 1, "m")
    raw = (
        form.opening() + form.piece("It is ") + form.ending("It is high.", reason, Usage(3, 4), {"cid": "c"})
    )
    found = [event for event in events(raw.decode()) if isinstance(event, dict)]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    last = found[-1]
    assert last["type"] == ("response.completed" if reason == "stop" else "response.incomplete")
    assert last["response"]["output"][0]["content"][0]["text"] == "It is high."
    assert "".join(event["delta"] for event in found if event["type"].endswith("text.delta")) == "It is high."
    assert last["response"]["neuroswarm"] == {"cid": "c"}


@pytest.mark.parametrize(
    ("choices", "is_whole"),
    [
        ([{"delta": {"content": "a"}}, {"delta": {}, "finish_reason": "stop"}], True),
        ([{"message": {"content": "a"}, "finish_reason": "stop"}], True),
        ([{"delta": {"content": "a"}}], False),
        ([{"delta": {"content": "a"}, "finish_reason": "length"}], False),
        ([{"delta": {"content": "a"}}, {"delta": {"tool_calls": [{}]}, "finish_reason": "stop"}], False),
        ([{"delta": {"content": "a", "refusal": "no"}, "finish_reason": "stop"}], False),
        (
            [{"delta": {"reasoning_content": "hm"}}, {"delta": {"content": "a"}, "finish_reason": "stop"}],
            False,
        ),
        ([{"delta": {"content": " "}, "finish_reason": "stop"}], False),
        ([{"delta": {"content": 7}, "finish_reason": "stop"}], False),
        (["a"], False),
        ([{"delta": "a", "finish_reason": "stop"}], False),
    ],
)
def test_only_a_whole_plain_answer_is_worth_storing(choices: list[Any], is_whole: bool) -> None:
    said = Said()
    for choice in choices:
        said.hear({"choices": [choice]})
    assert said.is_whole is is_whole


def test_an_answer_fits_its_schema_or_is_none() -> None:
    schema = '{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^(x+)+$"}}}'
    assert fitting('```json\n{"a": "xx"}\n```', schema) == '{"a": "xx"}'
    assert fitting("anything", "") == "anything"
    for text in ('{"a": 1}', "{}", "no JSON", '{"a": "' + "x" * 5_000 + '!"}'):
        with pytest.raises(Rejected):
            fitting(text, schema)


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": 7}',
        '{"$ref": "http://127.0.0.1:9/x"}',
        '{"$ref": "file:///etc/passwd"}',
        '{"pattern": "(("}',
    ],
)
def test_a_schema_that_is_none_or_points_elsewhere_is_refused(schema: str) -> None:
    with pytest.raises(Rejected, match="schema"):
        validator(schema)
