"""The adapters of this node, in order. (Being completed.)"""

from __future__ import annotations

from adapters.math_calculator import MathCalculator
from node.clock import Clock
from node.ports import Adapter
from node.settings import Adapters


def build(settings: Adapters, clock: Clock) -> tuple[Adapter, ...]:
    """All enabled adapters."""
    return (MathCalculator(clock),)
