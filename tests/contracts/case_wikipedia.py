"""Wikipedia for the adapter contract: the questions that name it as the place to look."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.wikipedia import Wikipedia
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, Case, FixedDay, session
from tests.simulators.wikipedia import WikipediaStandIn


async def _wikipedia(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = (await stack.enter_async_context(WikipediaStandIn())).url if alive else DEAD_URL
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return Wikipedia(settings, await session(stack), FixedDay())


CASES: dict[str, Case] = {
    "wikipedia": Case(
        _wikipedia,
        (
            "According to Wikipedia, who was Ada Lovelace?",
            "wikipedia article on IPFS",
            "look up the Eiffel Tower on wikipedia",
            "Wikipedia: beyoncé",
        ),
        (
            ("wikipedia: Alan Turing", "look up Alan Turing on Wikipedia"),
            ("who is Ada Lovelace according to wikipedia?", "wikipedia article about ada lovelace"),
        ),
        (("wikipedia article on Alan Turing", "and Ada Lovelace?", "wikipedia: Ada Lovelace"),),
    ),
}
