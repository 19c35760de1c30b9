"""Calculations for the adapter contract."""

from __future__ import annotations

from contextlib import AsyncExitStack

from adapters.math_calculator import MathCalculator
from node.core.ports import Adapter
from tests.contracts.adapter_case import Case, FixedDay


async def _math(stack: AsyncExitStack, alive: bool) -> Adapter:
    return MathCalculator(FixedDay())


CASES: dict[str, Case] = {
    "math-calculator": Case(
        _math,
        ("what is 2 + 2", "15% of 200", "5 km in miles", "сколько будет 12 умножить на 5", "3たす4は？"),
        (("2+2", "2 + 2"), ("25 mal 4", "二十五乘以四"), ("5 millas en km", "5マイルは何キロ")),
        (
            ("what is 2+2", "times 3?", "(2+2)*3"),
            ("what is 2+2", "and 15% of that?", "15% of (2+2)"),
            ("5 km in miles", "and in meters?", "5 km in meters"),
            ("what is 15% of 80", "and 20%?", "20% of 80"),
        ),
    ),
}
