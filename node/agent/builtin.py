"""The tools that are this node's own besides its searches and exact sources: running code, and writing facts
down. A tool whose part is not there says so and does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from node.agent.tools import Ran, Remembers, RunsCode, Tool, text_found, text_parameters
from node.core.model import Query
from node.core.tools import Offered

NO_SANDBOX = "this node has nothing to run code in"
NO_MEMORY = "this node keeps no memory; nothing was written"


@dataclass(frozen=True, slots=True)
class _Code:
    sandbox: RunsCode | None

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        if self.sandbox is None:
            return Ran("failed", said=NO_SANDBOX)
        ran = await self.sandbox.run(given["code"])
        text = "\n".join(filter(None, (ran.output.strip(), ran.value)))
        if ran.error:
            return Ran("failed", said=f"{ran.error} {text}".strip())
        return text_found(text, "code run in the sandbox")


@dataclass(frozen=True, slots=True)
class _Memory:
    memory: Remembers | None

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        if self.memory is None:
            return Ran("refused", said=NO_MEMORY)
        if query.no_store:
            return Ran("refused", said="nothing was written: the request says that nothing is to be stored")
        if not query.caller.may_write:
            return Ran("refused", said="nothing was written: this key may not write")
        return text_found(await self.memory.write(given["fact"], given["about"], query), "memory")


def builtin_tools(sandbox: RunsCode | None, memory: Remembers | None, code_s: float = 60.0) -> list[Tool]:
    """``execute_code`` and ``write_memory``. ``code_s`` bounds a run from outside, its wait and its start
    too; the sandbox keeps to bounds of its own."""
    code = Offered(
        "execute_code",
        "runs a short Python program without files or network; print what you need. Only for what calculate "
        "cannot do",
        text_parameters(code="Python"),
    )
    about = {"type": "string", "enum": ["user", "company"]}
    parameters = text_parameters(fact="the user's own words", about="")
    parameters["properties"]["about"] = about
    remember = Offered(
        "write_memory", "keeps a fact that the user asks you to remember, in the user's own words", parameters
    )
    return [
        Tool(code, _Code(sandbox).run, "sandbox", timeout_s=code_s),
        Tool(remember, _Memory(memory).run, "memory", writes=True, is_own=True),
    ]
