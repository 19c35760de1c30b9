"""The agent: its tools, and the loop over the engines of this node."""

from __future__ import annotations

from adapters import registry
from node.agent.builtin import builtin_tools
from node.agent.desk import AgentDesk
from node.agent.exact import exact_tools
from node.agent.loop import TOKENS_MIN, Bounds, Loop
from node.agent.memory.keeper import Keeper
from node.agent.sandbox.run import Sandbox
from node.agent.searches import search_tools
from node.agent.servers import mcp_tools, servers_of
from node.agent.tools import Toolbox
from node.app.documents import Library
from node.app.memory import Memory
from node.app.remembering import Remembering
from node.app.storage import Ground
from node.app.walk import Walk
from node.pipeline.decisions import Decisions


async def open_agent(
    ground: Ground, memory: Memory, walk: Walk, library: Library, keeper: Keeper | None
) -> tuple[AgentDesk, Remembering | None]:
    """Build it, and what hears its turns. Servers that are away are told of in the log."""
    settings, clock = ground.settings.agent, ground.clock
    remembering = None if keeper is None else Remembering(keeper, walk.pipeline, settings.memory)
    tools = [
        *search_tools(library.desk.find, memory.evidence, memory.semantics),
        *exact_tools(registry.tools(ground.adapters)),
        *builtin_tools(Sandbox.of(settings), remembering, 2 * settings.code_time_s),
    ]
    servers = servers_of(settings.mcp_servers, settings.mcp_timeout_s)
    tools += await mcp_tools(servers, settings.mcp_tools, settings.mcp_writing_tools)
    models = ground.settings.models
    bounds = Bounds(
        steps_max=settings.steps_max,
        turn_tokens_max=settings.turn_tokens_max,
        tokens_max=max(TOKENS_MIN, models.tokens_max),
        result_chars_max=models.context_chars_max,
    )
    loop = Loop(walk.composer.chain, clock, Toolbox(tools, clock), bounds)
    decisions = Decisions(clock, ground.recorder, memory.semantics, walk.policy)
    return AgentDesk(loop, walk.pipeline, decisions, ground.metrics, keeper), remembering
