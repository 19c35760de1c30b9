"""A call of a tool: its arguments, its bounds, and what may be written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from node.agent.builtin import builtin_tools
from node.agent.exact import worded
from node.agent.tools import Ran, Tool, Toolbox, Turn, arguments_of, text_found, text_parameters
from node.agent.writes import AFTER_READING, NOT_SAID, refusal
from node.core.agent_settings import Agent, check_agent
from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.model import Query
from node.core.tools import Call, Offered

SCHEMA = text_parameters(coin="a coin")


def query(text: str = "what is it?", **more: Any) -> Query:
    return Query("id", text, text, Caller(), datetime(2026, 1, 1, tzinfo=UTC), 1e9, **more)


def tool(name: str, run: Any, **more: Any) -> Tool:
    return Tool(Offered(name, "", SCHEMA), run, "test", **more)


async def says(given: Mapping[str, Any], query: Query) -> Ran:
    return text_found(f"says {given}", "test")


def box(*tools: Tool) -> Toolbox:
    return Toolbox(tools, SystemClock())


@pytest.mark.parametrize(
    ("text", "found", "wrong"),
    [
        ('{"coin": "bitcoin"}', {"coin": "bitcoin"}, ""),
        ('{"coin": 7, "more": 1, "empty": ""}', {"coin": "7"}, ""),
        ('"{\\"coin\\": \\"x\\"}"', {"coin": "x"}, ""),
        ("{}", {}, "required"),
        ("", {}, "required"),
        ("{", {}, "not JSON"),
        ("[1]", {}, "must be an object"),
        ('{"coin": ["x"]}', {"coin": ["x"]}, "string"),
        ('{"coin": "' + "x" * 20_000 + '"}', {}, "limit"),
    ],
)
def test_arguments_are_checked_before_anything_runs(text: str, found: object, wrong: str) -> None:
    given, said = arguments_of(text, SCHEMA)
    assert given == found
    assert wrong in said if wrong else not said


async def test_a_tool_that_hangs_ends_and_one_that_fails_says_why() -> None:
    ended = asyncio.Event()

    async def hangs(given: Mapping[str, Any], query: Query) -> Ran:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async def fails(given: Mapping[str, Any], query: Query) -> Ran:
        raise Unavailable("it is away")

    tools = box(tool("hangs", hangs, timeout_s=0.01), tool("fails", fails))
    turn = Turn(query(), "x")
    ran = await tools.call(Call("hangs", '{"coin": "x"}'), turn, left_s=5)
    assert (ran.code, ended.is_set()) == ("timeout", True)
    assert (await tools.call(Call("fails", '{"coin": "x"}'), turn, left_s=5)) == Ran(
        "failed", said="it is away"
    )
    assert not turn.has_read


async def test_cancelling_a_turn_ends_its_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hangs(given: Mapping[str, Any], query: Query) -> Ran:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    work = asyncio.create_task(
        box(tool("hangs", hangs)).call(Call("hangs", '{"coin": "x"}'), Turn(query(), "x"), left_s=60)
    )
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert ended.is_set()


async def test_the_same_call_is_not_made_twice_and_the_first_of_two_names_stays() -> None:
    tools = box(tool("one", says), tool("one", None))
    turn = Turn(query(), "x")
    assert (await tools.call(Call("one", '{"coin": "x"}'), turn, left_s=5)).code == "found"
    assert (await tools.call(Call("one", '{ "coin":"x"}'), turn, left_s=5)).code == "repeated"
    assert turn.has_read


def test_only_the_turn_s_own_words_are_written_and_nothing_after_reading() -> None:
    message = "Please remember that my office is in Berlin, room 12."
    assert refusal({"fact": "my office is in Berlin"}, message, has_read=False) == ""
    assert refusal({"fact": "office: Berlin, room 12"}, message, has_read=False) == ""
    assert refusal({"fact": "my office is in Berlin"}, message, has_read=True) == AFTER_READING
    for other in ("my office is in Paris", "office is in Berlin, room 13", "send money to Berlin"):
        assert refusal({"fact": other}, message, has_read=False) == NOT_SAID
    assert refusal({"to": {"whom": ["Mallory"]}}, message, has_read=False) == NOT_SAID
    assert refusal({}, message, has_read=False) == NOT_SAID


async def test_a_memory_is_asked_only_for_what_may_be_written() -> None:
    written: list[str] = []

    class Memory:
        async def write(self, fact: str, about: str, query: Query) -> str:
            written.append(fact)
            return "kept"

    tools = box(*builtin_tools(None, Memory()), tool("reads", says))
    own = Call("write_memory", '{"fact": "my office is in Berlin", "about": "user"}')
    said = "Remember that my office is in Berlin"
    turn = Turn(query(), said)
    await tools.call(Call("reads", '{"coin": "x"}'), turn, left_s=5)
    assert (await tools.call(own, turn, left_s=5)).code == "refused"
    assert (await tools.call(own, Turn(query(no_store=True), said), left_s=5)).code == "refused"
    reader = replace(query(), caller=Caller(may_write=False))
    assert (await tools.call(own, Turn(reader, said), left_s=5)).code == "refused"
    assert not written
    assert (await tools.call(own, Turn(query(), said), left_s=5)).code == "found"
    assert written == ["my office is in Berlin"]


async def test_code_is_run_where_there_is_something_to_run_it_in() -> None:
    class Done:
        output, value, error = "12\n", "12", ""

    class Failed:
        output, value, error = "", "", "it ran longer than 30 s"

    class Box:
        def __init__(self, ran: Any) -> None:
            self.ran = ran

        async def run(self, code: str) -> Any:
            return self.ran

    call = Call("execute_code", '{"code": "print(12)"}')
    done = await box(*builtin_tools(Box(Done), None)).call(call, Turn(query(), "x"), left_s=5)
    assert [one.text for one in done.evidence] == ["12\n12"]
    for sandbox, said in ((Box(Failed), "longer than 30 s"), (None, "nothing to run code in")):
        ran = await box(*builtin_tools(sandbox, None)).call(call, Turn(query(), "x"), left_s=5)
        assert ran.code == "failed"
        assert said in ran.said


def test_the_question_of_a_description() -> None:
    told = "{metric} of {coin}[ on {date}]"
    assert worded(told, {"metric": "price", "coin": "bitcoin", "date": ""}) == "price of bitcoin"
    assert (
        worded(told, {"metric": "price", "coin": "{date}", "date": "2026-01-01"})
        == "price of {date} on 2026-01-01"
    )


@pytest.mark.parametrize(
    "agent",
    [
        Agent(mcp_servers=("files",)),
        Agent(mcp_servers=("Files=http://x/mcp",)),
        Agent(mcp_servers=("files=ftp://x",)),
        Agent(mcp_tools=("files.read",)),
        Agent(mcp_servers=("files=http://x/mcp",), mcp_writing_tools=("other.write",)),
    ],
)
def test_wrong_settings_name_their_key(agent: Agent) -> None:
    with pytest.raises(Misconfigured, match=r"setting agent\.mcp_"):
        check_agent(agent)


def test_right_settings() -> None:
    check_agent(Agent(mcp_servers=("files=http://x/mcp",), mcp_tools=("files.read-it",)))
