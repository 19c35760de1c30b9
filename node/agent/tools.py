"""Tools of the agent: what each may be called with, how long it may take, and what it gives back.

Promises: arguments are checked against the tool's schema before anything runs; a call ends within its time
and the turn's; a tool that fails says why in words and never raises; a tool that writes runs only where
``writes.refusal`` allows it. It must not know models or the order of steps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from node.agent import writes
from node.answer.fitting import validator
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import Evidence, Failed, Found, Freshness, Missed, Outcome, Query, SourceRef, Unclear
from node.core.tools import Call, Offered
from node.language.sentences import one_line

_LOG = logging.getLogger("neuroswarm.agent")
ARGUMENTS_CHARS_MAX = 16_384
SAID_CHARS_MAX = 300
TIMEOUT_S = 10.0
TEXT = "string"


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a call. ``code``: found, missed, failed, timeout, refused, unknown, wrong_arguments or
    repeated; ``said`` is why nothing was found, in words for the model and for the trace."""

    code: str
    evidence: tuple[Evidence, ...] = ()
    said: str = ""


Run = Callable[[Mapping[str, Any], Query], Awaitable[Ran]]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """``writes``: it changes something. ``is_own``: what it says was computed here, and is nobody else's
    text. ``source``: where it comes from, for the list of tools."""

    offered: Offered
    run: Run
    source: str
    writes: bool = False
    is_own: bool = False
    timeout_s: float = TIMEOUT_S

    @property
    def name(self) -> str:
        return self.offered.name


class Remembers(Protocol):
    """What keeps facts about users and their company between conversations."""

    async def write(self, fact: str, about: str, query: Query) -> str:
        """Keep one fact for this caller; what became of it, in words. ``about``: user or company. Raises
        ``NodeError``."""
        ...


class CodeRan(Protocol):
    """What came of a run: what was printed, the last value, and why it ended otherwise than well."""

    @property
    def output(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def error(self) -> str: ...


class RunsCode(Protocol):
    """What runs a model's code with no way out of it."""

    async def run(self, code: str) -> CodeRan:
        """Within its bounds. Raises ``NodeError`` where nothing could be run. When this is cancelled, the
        code has ended."""
        ...


def ran(outcome: Outcome) -> Ran:
    """What an adapter said, as the result of a call."""
    if isinstance(outcome, Found):
        return Ran("found", (outcome.evidence,))
    if isinstance(outcome, Missed):
        return Ran("missed", said=outcome.reason)
    if isinstance(outcome, Unclear):
        return Ran("missed", said=outcome.ask)
    assert isinstance(outcome, Failed)
    return Ran("timeout" if outcome.code == "timeout" else "failed", said=outcome.reason)


def text_found(text: str, source: str, *, kind: str = "adapter") -> Ran:
    """A text that a tool made, as evidence."""
    if not text.strip():
        return Ran("missed", said="it came to nothing")
    return Ran("found", (Evidence(text, SourceRef(kind, source), 0.9, Freshness.TIME_SENSITIVE),))


def text_parameters(**described: str) -> dict[str, Any]:
    """A schema of texts that are all required."""
    properties = {name: {"type": TEXT, "description": said} for name, said in described.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(described),
        "additionalProperties": False,
    }


@dataclass(slots=True)
class Turn:
    """What a turn has done so far. ``has_read``: texts of others were among its results, or came with it."""

    query: Query
    message: str
    has_read: bool = False
    made: dict[str, Ran] = field(default_factory=dict)


class Toolbox:
    """The tools of one node. Event loop only."""

    def __init__(self, tools: Sequence[Tool], clock: Clock) -> None:
        """Of two tools with one name the first stays."""
        self._clock = clock
        self._tools: dict[str, Tool] = {}
        self.add(tools)

    def add(self, tools: Sequence[Tool]) -> None:
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                _LOG.warning("event=tool_left_out name=%s source=%s reason=same_name", tool.name, tool.source)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools.values())

    @property
    def offered(self) -> tuple[Offered, ...]:
        return tuple(tool.offered for tool in self._tools.values())

    async def call(self, call: Call, turn: Turn, *, left_s: float) -> Ran:
        """Run one call of a turn within ``left_s``; never raises but for cancellation."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools)
            return Ran("unknown", said=f"there is no tool {one_line(call.name, 40)!r}; there are: {known}")
        given, wrong = arguments_of(call.arguments, tool.offered.parameters)
        if wrong:
            return Ran("wrong_arguments", said=wrong)
        key = f"{call.name} {orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()}"
        if key in turn.made:
            return Ran("repeated", said="this was called before in this turn; its result stands above")
        if tool.writes and (why := writes.refusal(_free(given, tool), turn.message, has_read=turn.has_read)):
            result = Ran("refused", said=f"nothing was written: {why}")
        else:
            result = await self._within(tool, given, turn, left_s)
        turn.made[key] = result
        turn.has_read = turn.has_read or bool(result.evidence and not tool.is_own)
        return result

    async def _within(self, tool: Tool, given: Mapping[str, Any], turn: Turn, left_s: float) -> Ran:
        most = min(tool.timeout_s, left_s)
        if most <= 0:
            return Ran("timeout", said="no time was left for it")
        try:
            async with asyncio.timeout(most):
                return await tool.run(given, turn.query)
        except TimeoutError:
            return Ran("timeout", said=f"it did not end within {most:.0f} s")
        except NodeError as exc:
            return Ran("failed", said=one_line(str(exc), SAID_CHARS_MAX))


def arguments_of(text: str, parameters: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them. Models write numbers for texts, leave an empty
    value where they have none, and add what nobody asked for: that is put right."""
    if len(text) > ARGUMENTS_CHARS_MAX:
        return {}, f"the arguments have {len(text)} characters, the limit is {ARGUMENTS_CHARS_MAX}"
    try:
        given = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}, "the arguments are not JSON"
    if isinstance(given, str):  # some models write JSON into a text
        return (
            arguments_of(given, parameters) if given.lstrip().startswith("{") else ({}, "an object is needed")
        )
    if not isinstance(given, dict):
        return {}, "the arguments must be an object"
    known = parameters.get("properties", {})
    is_closed = parameters.get("additionalProperties") is False
    found = {
        name: _as_text(value, known.get(name))
        for name, value in given.items()
        if (name in known or not is_closed) and value not in (None, "")
    }
    errors = validator(orjson.dumps(dict(parameters)).decode()).iter_errors(found)
    wrong = next(
        (f"{'.'.join(map(str, one.instance_path)) or 'arguments'}: {one.message}" for one in errors), ""
    )
    return found, one_line(wrong, SAID_CHARS_MAX)


def _free(given: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """The arguments that are no choice from a list of the tool's own."""
    shapes = tool.offered.parameters.get("properties", {})
    return {name: value for name, value in given.items() if "enum" not in shapes.get(name, {})}


def _as_text(value: Any, shape: Any) -> Any:
    wants_text = isinstance(shape, dict) and shape.get("type") == TEXT
    return (
        str(value) if wants_text and isinstance(value, int | float) and not isinstance(value, bool) else value
    )
