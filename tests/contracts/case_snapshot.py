"""Proposals on Snapshot for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.snapshot import Snapshot
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, Case, FixedDay, session
from tests.simulators.snapshot import SnapshotStandIn


async def _snapshot(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = (await stack.enter_async_context(SnapshotStandIn())).url if alive else DEAD_URL
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return Snapshot(settings, await session(stack), FixedDay())


CASES: dict[str, Case] = {
    "snapshot": Case(
        _snapshot,
        (
            "What was proposal 123 in Uniswap?",
            "did ENS EP 5.4 pass?",
            "latest aave proposal",
            "active proposals in lido",
            "how many votes did the latest ens.eth proposal get",
            "how many proposals does ens have?",
        ),
        (
            ("What was the result of Uniswap proposal 123?", "did proposal #123 in uniswap pass"),
            ("active proposals in lido", "which lido proposals are open right now?"),
            ("did ENS EP 5.4 pass?", "result of [EP5.4] in ens.eth"),
        ),
        (
            ("did ENS EP 5.4 pass?", "and EP 6.1?", "did ENS EP 6.1 pass?"),
            ("active proposals in lido", "and in aave?", "active proposals in aave"),
            ("What was proposal 123 in uniswap", "and the quorum?", "quorum of uniswap proposal 123"),
            ("latest aave proposal", "what about ens?", "latest ens proposal"),
        ),
    ),
}
