"""What understanding a text yields. Pure values.

``kind`` is one of: arithmetic, percent, power, root, function, list, rounding, comparison, fraction, base,
unit,
date, and refused (over a limit: there is no answer, ``refused`` says which limit).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Solution:
    """``expr`` is canonical text that is understood as the same question again; ``answer`` its canonical
    result, None where there is none (undefined, incompatible, refused); ``is_relative`` marks a result that
    depends on today's date; ``sentence`` is the whole answer for a person."""

    expr: str
    kind: str
    reason: str
    sentence: str
    answer: str | None = None
    is_exact: bool = True
    unit: str | None = None
    is_relative: bool = False
    refused: str | None = None
