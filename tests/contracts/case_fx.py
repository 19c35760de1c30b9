"""Exchange rates for the adapter contract."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack

from adapters.currency import FxRates
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, Case, FixedDay, session
from tests.simulators.frankfurter import FrankfurterStandIn
from tests.simulators.vendor import Answered, Seen, VendorStandIn


class _Recorded(VendorStandIn):
    """Answers with the published sample, whatever is asked."""

    def answer(self, asked: Seen) -> Answered:
        return Answered(json.loads((FIXTURES / "frankfurter" / "v2_rates.json").read_text("utf-8")))


async def _adapter(stack: AsyncExitStack, source: VendorStandIn | None) -> Adapter:
    url = (await stack.enter_async_context(source)).url if source is not None else DEAD_URL
    settings = AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000)
    return FxRates(settings, await session(stack), FixedDay())


async def _stand_in(stack: AsyncExitStack, alive: bool) -> Adapter:
    return await _adapter(stack, FrankfurterStandIn() if alive else None)


async def _recorded(stack: AsyncExitStack, alive: bool) -> Adapter:
    return await _adapter(stack, _Recorded() if alive else None)


CASES: dict[str, Case] = {
    "fx-rates": Case(
        _stand_in,
        (
            "usd to eur",
            "How much is 100 dollars in euros?",
            "gbpusd",
            "euro to yen exchange rate yesterday",
            "cuántos euros son 100 dólares",
        ),
        (
            ("usd to eur", "dollar to euro exchange rate"),
            ("100 usd to eur", "how many euros is 100 bucks"),
            ("usd to eur yesterday", "usd to eur on 17 May 2026"),
            ("1万円は何ドル", "10,000 yen in dollars"),
        ),
        (
            ("usd to eur", "and in pounds?", "usd to gbp"),
            ("100 usd to eur", "and 250?", "250 usd to eur"),
            ("usd to eur", "yesterday?", "usd to eur yesterday"),
            ("100 usd to eur", "and the other way round?", "100 eur to usd"),
        ),
    ),
    "fx-rates (recorded)": Case(
        _recorded,
        ("eur to usd on 15 January 2024", "100 euros in pounds on 15 January 2024"),
        (("eur to usd on 15 January 2024", "euro dollar exchange rate on 2024-01-15"),),
        skip=NO_FIXTURES,
    ),
}
