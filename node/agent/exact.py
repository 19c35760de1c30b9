"""Exact sources as tools: each adapter's own description says what it may be asked, and in which words.

A description (``tool.toml`` in an adapter's package) has a name, a description, parameters and the question
that its adapter reads: ``{name}`` stands for a value, and what is in brackets stays only where its value is
given. So the adapter's own grammar checks what a model asks for, as it checks what people ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from node.agent.tools import TEXT, Ran, Tool, ran
from node.core.model import Query
from node.core.normalise import normalise
from node.core.ports import Adapter
from node.core.tools import Offered
from node.language.sentences import one_line

VALUE_CHARS_MAX = 400
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


def exact_tools(described: Iterable[tuple[Mapping[str, Any], Sequence[Adapter]]]) -> list[Tool]:
    """One tool for each description."""
    return [_tool(told, tuple(adapters)) for told, adapters in described]


def _tool(told: Mapping[str, Any], adapters: tuple[Adapter, ...]) -> Tool:
    parameters = told["parameters"]
    schema = {
        "type": "object",
        "properties": {
            name: {"type": TEXT, "description": one["description"]} for name, one in parameters.items()
        },
        "required": [name for name, one in parameters.items() if "default" not in one],
        "additionalProperties": False,
    }
    defaults = {name: one.get("default", "") for name, one in parameters.items()}
    return Tool(
        Offered(told["name"], told["description"], schema),
        _Asks(told["question"], defaults, adapters).run,
        source=f"adapter:{adapters[0].name}",
        is_own=all(one.is_local for one in adapters),
    )


@dataclass(frozen=True, slots=True)
class _Asks:
    question: str
    defaults: Mapping[str, str]
    adapters: tuple[Adapter, ...]

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        """Ask the first of the adapters that reads the question, and the next where that fails."""
        values = {
            **self.defaults,
            **{name: one_line(str(one), VALUE_CHARS_MAX) for name, one in given.items()},
        }
        text = worded(self.question, values)
        asked = [
            (one, claim)
            for one in self.adapters
            if (claim := one.recognise(text, query.local) or one.recognise(text, query.local, hinted=True))
        ]
        result = Ran("missed", said=f"{text!r} is nothing that it can read; write the values another way")
        for one, claim in asked:
            result = ran(await one.ask(claim, replace(query, asked=text, text=normalise(text))))
            if result.evidence:
                break
        return result


def worded(question: str, values: Mapping[str, str]) -> str:
    """The question with its values, without the brackets whose values are empty."""

    def kept(match: re.Match[str]) -> str:
        return match[1] if all(values.get(name) for name in _SLOT.findall(match[1])) else ""

    text = _SLOT.sub(lambda match: values.get(match[1], ""), _OPTIONAL.sub(kept, question))
    return " ".join(text.split())
