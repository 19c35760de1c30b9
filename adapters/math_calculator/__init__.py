"""The adapter ``math-calculator``: arithmetic, percentages, roots, units and dates, exactly and offline.

It promises that no user text is ever evaluated: the text is read by an own grammar over fractions, units by
an
allow-list, dates by explicit patterns. It knows nothing of routes, caches or models.
"""

from __future__ import annotations

from adapters.math_calculator.adapter import NAME, MathCalculator

__all__ = ["NAME", "MathCalculator"]
