"""A whole node over HTTP, as shipped: real embedder, real stores, real log, stand-ins for the outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from node.core.clock import SystemClock
from node.privacy import private_reason
from tests.faults import node_kit

private_reason(
    "The first text that is screened loads the rules: on a busy machine longer than a reply waits."
)

STARTER = Path(__file__).resolve().parents[2] / "knowledge-index.json"
QUANTUM = (
    "Quantum computing uses quantum bits, which can be in a superposition of zero and one. "
    "Algorithms steer interference between the possible states so that wrong answers cancel out and right "
    "ones add up. That makes some problems, such as factoring large numbers or simulating molecules, far "
    "faster than on classical computers. The machines are fragile: noise destroys the states, so error "
    "correction is the main obstacle today."
)
ESSAY = (
    "Photosynthesis turns light into chemical energy. Chlorophyll in the leaves absorbs light, water is "
    "split, oxygen is set free, and the energy is stored as sugar made from carbon dioxide. Plants, algae "
    "and some bacteria do it, and nearly all food chains on Earth begin there."
)


class MovedClock(SystemClock):
    """The system's clock, wall and monotonic time moved forward together by hand."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def stages(reply: dict[str, Any]) -> list[str]:
    """The stations that a reply went through."""
    return [step["stage"] for step in reply["trace"]]


def steps(reply: dict[str, Any], stage: str) -> list[dict[str, Any]]:
    """The lines of the trace of one station."""
    return [step for step in reply["trace"] if step["stage"] == stage]


Client = node_kit.Client
Start = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a node in a folder of its own; the same folder name again is the same node restarted."""

    def begin(name: str = "node", **more: Any) -> AbstractAsyncContextManager[Client]:
        # what a stand-in for a model says is stored: whether a real one's word passes the shipped bar
        # hangs on labelled answers (``make calibrate``) and is tested in ``tests/unit/score``
        bar = {"confidence_min": 0.5} if more.get("ollama") or more.get("models") else {}
        cache = {**bar, **more.pop("cache", {})}
        shipped: dict[str, Any] = {"embed": {}, "connections": 100, "patience_s": 300.0}
        return node_kit.start(tmp_path / name, cache=cache, **(shipped | more))

    return begin
