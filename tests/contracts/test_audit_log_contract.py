"""The ``AuditLog`` port, over every implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from node.clock import ManualClock
from node.errors import Rejected, Unavailable
from node.governance.log import ChainLog
from node.governance.memory import MemoryLog
from node.ports import AuditLog

ORIGIN = "did:key:zTest.neuroswarm/decisions"


@pytest.fixture(params=["memory", "before_reply", "behind_50ms"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AuditLog]:
    clock = ManualClock()
    made: AuditLog
    if request.param == "memory":
        made = MemoryLog(ORIGIN, clock)
    else:
        made = await ChainLog.open(
            tmp_path / "log", ORIGIN, clock, durability=request.param, keys=tmp_path / "keys"
        )
    yield made
    await made.close()


async def test_indexes_count_from_zero_and_name_the_log(log: AuditLog) -> None:
    places = [await log.append({"kind": "answer", "n": n}, private_texts={}) for n in range(5)]
    assert [place.index for place in places] == [0, 1, 2, 3, 4]
    assert {place.log for place in places} == {ORIGIN}
    assert log.size() == 5


async def test_concurrent_appends_get_different_indexes(log: AuditLog) -> None:
    places = await asyncio.gather(
        *(log.append({"kind": "answer", "n": n}, private_texts={"query": str(n)}) for n in range(100))
    )
    assert sorted(place.index for place in places) == list(range(100))


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "answer", "score": 0.5},
        {"kind": "answer", "nested": [{"deep": 1.0}]},
        {"kind": "answer", "text": "naïve"},
        {"kind": "answer", "clé": 1},
        {"kind": "answer", "big": 2**53},
        {"kind": "answer", "bytes": b"x"},
        {"kind": "answer", "long": "x" * 65_535},
        {"kind": "answer", "commitments": {"query": "00"}},
    ],
)
async def test_refuses_what_entries_do_not_hold(log: AuditLog, entry: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        await log.append(entry, private_texts={})
    assert log.size() == 0
    assert (await log.append({"kind": "answer"}, private_texts={})).index == 0


async def test_too_deep_is_refused(log: AuditLog) -> None:
    deep: Any = 1
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(Rejected):
        await log.append({"deep": deep}, private_texts={})


async def test_forget_destroys_a_key_once(log: AuditLog) -> None:
    await log.append({"kind": "answer"}, private_texts={"query": "secret"})
    await log.append({"kind": "answer"}, private_texts={})
    assert await log.forget(0) is True
    assert await log.forget(0) is False
    assert await log.forget(1) is False, "an entry without private texts has no key"
    assert await log.forget(2) is False, "there is no such entry"
    assert await log.forget(-1) is False
    assert log.size() == 2


async def test_a_cancelled_append_leaves_the_log_usable(log: AuditLog) -> None:
    task = asyncio.create_task(_append(log))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    before = log.size()
    place = await log.append({"kind": "answer"}, private_texts={})
    assert place.index >= before
    assert log.size() == place.index + 1


async def _append(log: AuditLog) -> None:
    await log.append({"kind": "answer"}, private_texts={"query": "x"})


async def test_health_and_close(log: AuditLog) -> None:
    assert log.health().name == "log"
    assert log.health().status in ("pass", "warn")
    await log.close()
    await log.close()
    assert log.health().status == "fail"
    calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
        lambda: log.append({"kind": "answer"}, private_texts={}),
        lambda: log.forget(0),
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            await call()
