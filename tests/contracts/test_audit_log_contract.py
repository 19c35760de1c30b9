"""The ``AuditLog`` port, over every implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from node.audit.decisions.memory import MemoryLog
from node.audit.tlog.leaf import read_leaf
from node.audit.tlog.proofs import Receipt, check_receipt
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ports import Appended, AuditLog
from tests.log_kit import ORIGIN, opened, verifier
from tests.manual_clock import ManualClock


@pytest.fixture(params=["memory", "before_reply", "behind_50ms"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AuditLog]:
    made: AuditLog
    if request.param == "memory":
        made = MemoryLog(ORIGIN, ManualClock())
    else:
        made = await opened(tmp_path, durability=request.param)
    yield made
    await made.close()


async def test_indexes_count_from_zero_and_name_the_log(log: AuditLog) -> None:
    places = [await log.append({"kind": "answer", "n": n}, private_texts={}) for n in range(5)]
    assert [place.index for place in places] == [0, 1, 2, 3, 4]
    assert {place.log for place in places} == {ORIGIN} == {log.origin}
    assert log.size() == 5


async def test_concurrent_appends_get_different_indexes(log: AuditLog) -> None:
    places = await asyncio.gather(
        *(log.append({"kind": "answer", "n": n}, private_texts={"query": str(n)}) for n in range(100))
    )
    assert sorted(place.index for place in places) == list(range(100))


@pytest.mark.parametrize(
    "entry",
    [
        *({"score": 0.5}, {"nested": [{"deep": 1.0}]}, {"text": "naïve"}, {"clé": 1}, {"big": 2**53}),
        *({"bytes": b"x"}, {"long": "x" * 65_535}, {"commitments": {"query": "00"}}),
    ],
)
async def test_refuses_what_entries_do_not_hold(log: AuditLog, entry: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        await log.append({"kind": "answer", **entry}, private_texts={})
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


async def test_an_erasure_finds_the_entries_about_a_record(log: AuditLog) -> None:
    parts: list[Any] = [{"cid": "public_2"}]
    await log.append({"kind": "answer", "cid": None}, private_texts={"query": "q", "cid": "one"})
    await log.append({"kind": "answer", "parts": parts}, private_texts={"query": "q", "cid_3": "two"})
    await log.append({"kind": "validation"}, private_texts={"target": "one", "cid": "three"})
    await log.append({"kind": "answer", "cid": "public_1"}, private_texts={"query": "one", "source": "one"})
    assert await log.forget_record("one") == 2
    assert await log.forget_record("one") == 0
    assert [await log.forget(index) for index in range(4)] == [False, True, False, True]
    await log.append({"kind": "answer", "parts": parts}, private_texts={"query": "q"})
    assert await log.forget_record("public_2") == 1
    assert log.size() == 5


async def test_a_receipt_proves_the_leaf_or_there_is_none(log: AuditLog) -> None:
    place = await log.append({"kind": "answer", "n": 1}, private_texts={"query": "x"})
    data = await log.receipt(place.index, timeout_s=10, log=place.log)
    if data is None:
        assert isinstance(log, MemoryLog), "only a log without checkpoints has none in ten seconds"
    else:
        receipt = Receipt.parse(data)
        assert receipt.extra is not None
        check_receipt(receipt, receipt.extra, [verifier()], None)
        leaf = read_leaf(receipt.extra)
        assert (leaf.seq, leaf.entry["n"]) == (place.index, 1)
    for index, name in ((1, None), (-1, ORIGIN), (0, "another/log")):
        with pytest.raises(NotFound):
            await log.receipt(index, timeout_s=0.01, log=name)


@pytest.mark.parametrize("durability", ["before_reply", "behind_50ms"])
async def test_critical_entries_are_told_once_each_and_others_are_not(
    tmp_path: Path, durability: str
) -> None:
    log = await opened(tmp_path, durability=durability)
    told: asyncio.Queue[Appended] = asyncio.Queue()
    log.on_critical(told.put_nowait)
    critical: list[dict[str, Any]] = [{"kind": "policy", "event": "change"}]
    critical += [{"kind": kind} for kind in ("tombstone", "key", "quarantine", "validation")]
    others: list[dict[str, Any]] = [{"kind": "answer"}, {"kind": "policy", "event": "start"}]
    places = []
    for entry in critical:
        for other in others:
            await log.append(other, private_texts={})
        places.append(await log.append(entry, private_texts={}))
    async with asyncio.timeout(10):
        heard = [await told.get() for _ in places]
    assert heard == places
    assert told.empty()
    await log.close()


async def test_a_cancelled_append_leaves_the_log_usable(log: AuditLog) -> None:
    async def append() -> None:
        await log.append({"kind": "answer"}, private_texts={"query": "x"})

    task = asyncio.create_task(append())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    before = log.size()
    place = await log.append({"kind": "answer"}, private_texts={})
    assert place.index >= before
    assert log.size() == place.index + 1


async def test_health_and_close(log: AuditLog) -> None:
    assert log.health().name == "log"
    assert log.health().status in ("pass", "warn")
    await log.close()
    await log.close()
    assert log.health().status == "fail"
    calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
        lambda: log.append({"kind": "answer"}, private_texts={}),
        lambda: log.forget(0),
        lambda: log.forget_record("cid"),
        log.renew_signers,
    ]
    for call in calls:
        with pytest.raises(Unavailable):
            await call()
