"""Weigh what several sources of the same key found, and compare their figures.

A source's weight is its relevance (how strongly its adapter recognised the question) times its own
confidence, halved when the value is stale, times the share of the sources with comparable figures that agree
with it, itself included. Two figures agree within ``TOLERANCE``; weights are scaled to sum to one. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from node.core.model import Evidence
from node.language.same_answer import TOLERANCE

STALE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Weighed:
    """``agreeing`` of ``comparable`` sources state its figures, itself counted in both; ``apart`` is the
    largest relative difference to another source, None where there is none to compare with."""

    adapter: str
    evidence: Evidence
    weight: float
    comparable: int = 1
    agreeing: int = 1
    apart: Decimal | None = None


def weigh(found: Sequence[tuple[str, float, Evidence]]) -> list[Weighed]:
    """``found`` holds (adapter, relevance in (0, 1], evidence) of each source. The weightiest comes first,
    ties keep their order."""
    raw: list[Weighed] = []
    for place, (adapter, relevance, evidence) in enumerate(found):
        differences = [
            apart
            for other, (_, _, rival) in enumerate(found)
            if other != place and (apart := _apart(evidence.figures, rival.figures)) is not None
        ]
        agreeing = 1 + sum(apart <= TOLERANCE for apart in differences)
        comparable = 1 + len(differences)
        stale = STALE_SHARE if evidence.data.get("stale") is True else 1.0
        weight = relevance * evidence.confidence * stale * agreeing / comparable
        raw.append(Weighed(adapter, evidence, weight, comparable, agreeing, max(differences, default=None)))
    total = sum(one.weight for one in raw) or 1.0
    scaled = [
        Weighed(one.adapter, one.evidence, one.weight / total, one.comparable, one.agreeing, one.apart)
        for one in raw
    ]
    return sorted(scaled, key=lambda one: -one.weight)


def _apart(one: Mapping[str, str], other: Mapping[str, str]) -> Decimal | None:
    """The largest relative difference over the figures that both state."""
    differences: list[Decimal] = []
    for name in one.keys() & other.keys():
        try:
            a, b = Decimal(one[name]), Decimal(other[name])
            largest = max(abs(a), abs(b))
            differences.append(abs(a - b) / largest if largest else Decimal(0))
        except (InvalidOperation, ValueError):
            continue
    return max(differences, default=None)
