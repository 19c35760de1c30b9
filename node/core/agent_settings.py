"""Settings of the agent: its bounds, the MCP servers whose tools it may call, and the sandbox."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from node.core.errors import Misconfigured
from node.core.setting_fields import between, one_of

_SERVER = re.compile(r"[a-z][a-z0-9]{0,23}=\S+")
_TOOL = re.compile(r"[a-z][a-z0-9]{0,23}\.[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Agent:
    """``steps_max``: times a model may call tools before it has to answer; ``turn_tokens_max``: tokens that
    models read and write in one turn before that. ``mcp_servers``: as ``name=http://address/mcp``.
    ``mcp_tools``: as ``name.tool``, those that may be called to read; ``mcp_writing_tools``: those that
    change something, called only for what the turn's own user said. ``mcp_timeout_s`` bounds one call.

    ``code_*``: the sandbox in which a model's code runs. ``code_runner``: which interpreter, or none;
    ``code_time_s``: of one run; ``code_memory_bytes``: beyond what the interpreter takes;
    ``code_output_chars``: of what it prints; ``code_recursion``: calls deep; ``code_file_bytes``: of each
    file that it saves; ``code_at_once``: runs beside each other."""

    steps_max: int = between(1, 4, 4)
    turn_tokens_max: int = between(500, 12_000, 1_000_000)
    mcp_servers: tuple[str, ...] = ()
    mcp_tools: tuple[str, ...] = ()
    mcp_writing_tools: tuple[str, ...] = ()
    mcp_timeout_s: float = between(0.1, 10.0, 120)
    code_runner: str = one_of("monty", "python", "none")
    code_time_s: float = between(0.1, 30.0, 600)
    code_memory_bytes: int = between(16 * 2**20, 256 * 2**20, 2**36)
    code_output_chars: int = between(100, 20_000, 1_000_000)
    code_recursion: int = between(50, 500, 1_000)
    code_file_bytes: int = between(1_024, 2**20, 16 * 2**20)
    code_at_once: int = between(1, 1, 64)


def check_agent(agent: Agent) -> None:
    """Raises ``Misconfigured``."""
    for one in agent.mcp_servers:
        url = urlsplit(one.partition("=")[2])
        if not _SERVER.fullmatch(one) or url.scheme not in ("http", "https") or not url.hostname:
            raise Misconfigured(
                "setting agent.mcp_servers must be name=http://address, its name of a-z and 0-9, "
                f"not {one[:80]!r}"
            )
    names = {one.partition("=")[0] for one in agent.mcp_servers}
    for key, tools in (("mcp_tools", agent.mcp_tools), ("mcp_writing_tools", agent.mcp_writing_tools)):
        for one in tools:
            if not _TOOL.fullmatch(one) or one.partition(".")[0] not in names:
                raise Misconfigured(
                    f"setting agent.{key} must be server.tool with a server of agent.mcp_servers, "
                    f"not {one[:80]!r}"
                )
