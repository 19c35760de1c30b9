"""Calculations for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.math_calculator import MathCalculator
from node.ports import Adapter
from tests.contracts.adapter_case import Case, FixedDay


async def _math(stack: AsyncExitStack, alive: bool) -> Adapter:
    return MathCalculator(FixedDay())


CASES: dict[str, Case] = {
    "math-calculator": Case(_math, ("what is 2 + 2", "15% of 200"), (("2+2", "2 + 2"),)),
}
