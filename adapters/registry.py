"""The adapters of this node, in the order in which equally strong claims win.

To add an adapter: write ``adapters/<source>.py`` with a class that keeps the contract of
``node.ports.Adapter`` (name the source, put every outside call behind one ``node.guard.Guard``), give it a
field of ``AdapterSettings`` in ``node.settings.Adapters`` if it has an address, a key or limits, add a line
to ``build`` below and a line to ``ADAPTERS`` in ``tests/contracts/test_adapter_contract.py``. No router file
changes: ``recognise`` brings the patterns along.
"""

from __future__ import annotations

from adapters.coingecko import CoinGecko
from adapters.math_calculator import MathCalculator
from node.clock import Clock
from node.ports import Adapter
from node.settings import Adapters


def build(settings: Adapters, clock: Clock) -> tuple[Adapter, ...]:
    """All enabled adapters, local ones first. No I/O; the caller closes each."""
    adapters: list[Adapter] = [MathCalculator(clock)]
    if settings.coingecko.enabled:
        adapters.append(CoinGecko(settings.coingecko, clock))
    return tuple(adapters)
