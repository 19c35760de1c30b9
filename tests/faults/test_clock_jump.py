"""The wall clock of a node jumps and nobody has said that it is right: nothing is lost, nothing is signed, it
goes on answering, and says so; right again, everything goes on as if nothing had been."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from node.app import node as composition
from node.core.signed_note import Checkpoint
from node.store.retention.sweeps import sweep
from tests.faults.node_kit import Client, Done, Jumping, environ_of, eventually, start, typed
from tests.log_kit import entries, verified
from tests.simulators.coingecko import CoinGeckoStandIn

RECORDS = 12
PRIVATE = 4
WEEK_S = 7 * 86_400
QUICK: dict[str, Any] = {"cache": {"sweep_every_s": 1, "expired_grace_s": 0}}

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]


class Sweeps:
    """Counts the sweeps for what has expired."""

    def __init__(self) -> None:
        self.done = 0

    async def __call__(self, *args: Any, **more: Any) -> int:
        swept = await sweep(*args, **more)
        self.done += 1
        return swept

    async def two_more(self) -> None:
        """The second has begun after this call."""
        until = self.done + 2

        async def done() -> int:
            return self.done

        await eventually(done, lambda done: done >= until)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> Sweeps:
    counted = Sweeps()
    monkeypatch.setattr(composition, "sweep", counted)
    return counted


def question(number: int) -> str:
    return f"What is clause {number} of the tenth charter?"


async def filled(node: Client) -> list[str]:
    """CIDs of records that live for a week, the last of them private."""
    return [
        await node.store(
            question(number),
            f"Clause {number} says so.",
            ttl_s=WEEK_S,
            scope="private" if number >= RECORDS - PRIVATE else "shared",
        )
        for number in range(RECORDS)
    ]


async def states(node: Client, cids: list[str]) -> Counter[object]:
    found: Counter[object] = Counter()
    for cid in cids:
        status, page = await node.get(f"/v1/cache/entries/{cid}")
        found[page["state"] if status == 200 else status] += 1
    return found


async def hits(node: Client, cids: list[str]) -> int:
    return sum([(await node.ask(question(number)))["cid"] == cid for number, cid in enumerate(cids)])


def signed(folder: Path) -> int:
    """Entries of the decision log under a signed checkpoint."""
    return Checkpoint.of_note((folder / "governance_logs" / "checkpoint").read_bytes()).size


async def all_signed(node: Client) -> None:
    async def left() -> int:
        return len(entries(node.folder / "governance_logs")) - signed(node.folder)

    await eventually(left, lambda left: left == 0)


async def accepted(node: Client) -> Done:
    """The operator's word, by a command beside the running node."""
    done = await typed(environ_of(node.folder), "doctor", "--accept-clock")
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("by", [{"days": 30}, {"hours": -2}, {"days": -366}, {"days": 366}])
async def test_a_jump_that_nobody_confirms_costs_nothing(
    tmp_path: Path, sweeps: Sweeps, by: dict[str, float]
) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock, **QUICK) as node:
        cids = await filled(node)
        await all_signed(node)
        before = signed(tmp_path)
        clock.set_by(**by)
        assert (await node.check("clock"))["status"] == "fail"
        await sweeps.two_more()
        assert await states(node, cids) == {"live": RECORDS}
        assert await hits(node, cids) == RECORDS
        kept = await node.store("What is clause 99 of the tenth charter?", "It is kept.", scope="private")
        said = await node.check("clock")
        assert "--accept-clock" in said["output"]
        assert said["observedValue"] == pytest.approx(timedelta(**by).total_seconds(), abs=5)
        log = await node.check("log")
        assert log["status"] == "warn"
        assert "in doubt" in log["output"]
        assert (await node.send("GET", "/health"))[0] == 503
        assert (await node.send("GET", "/livez"))[0] == 200
        assert signed(tmp_path) == before
        assert len(entries(tmp_path / "governance_logs")) > before + RECORDS
        clock.set_by(**{unit: -much for unit, much in by.items()})
        await all_signed(node)
        await sweeps.two_more()
        assert await states(node, [*cids, kept]) == {"live": RECORDS + 1}
        assert await hits(node, cids) == RECORDS
        assert (await node.check("clock"))["status"] == "pass"
        assert (await node.check("log"))["status"] == "pass"
        await eventually(lambda: node.metric("neuroswarm_clock_jumps"), lambda jumps: jumps == 2)
    report = await verified(tmp_path / "governance_logs")
    assert report.ok, report


async def test_the_operator_s_word_ends_the_doubt_and_then_time_does_its_work(
    tmp_path: Path, sweeps: Sweeps
) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock, **QUICK) as node:
        cids = await filled(node)
        clock.set_by(days=30)
        assert (await node.check("clock"))["status"] == "fail"
        assert "30 days earlier" in (await accepted(node)).stdout
        assert (await node.check("clock"))["status"] == "pass"
        await sweeps.two_more()
        assert await states(node, cids) == {"withdrawn": RECORDS - PRIVATE, 404: PRIVATE}
        await all_signed(node)
        events = [one.get("event") for one in entries(tmp_path / "governance_logs")]
        assert events.count("clock_accepted") == 1
        assert "nothing speaks against" in (await accepted(node)).stdout


async def test_after_an_accepted_step_back_what_is_dated_later_is_still_found(tmp_path: Path) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock) as node:
        cids = await filled(node)
        clock.set_by(hours=-2)
        await accepted(node)
        assert await hits(node, cids) == RECORDS
    async with start(tmp_path, clock=clock) as node:
        assert (await node.check("clock"))["status"] == "pass"
        assert await hits(node, cids) == RECORDS


@pytest.mark.parametrize("by", [{"days": 30}, {"days": -30}])
async def test_a_start_in_doubt_touches_nothing(tmp_path: Path, sweeps: Sweeps, by: dict[str, float]) -> None:
    """The clock jumps while the node stands still, or the node is started anew in doubt."""
    clock = Jumping()
    async with start(tmp_path, clock=clock, **QUICK) as node:
        cids = await filled(node)
    before = signed(tmp_path)
    clock.set_by(**by)
    for _ in range(2):
        async with start(tmp_path, clock=clock, **QUICK) as node:
            assert (await node.check("clock"))["status"] == "fail"
            await sweeps.two_more()
            assert await states(node, cids) == {"live": RECORDS}
            assert await hits(node, cids) == RECORDS
        assert signed(tmp_path) == before
    clock.set_by(days=-by["days"])
    async with start(tmp_path, clock=clock, **QUICK) as node:
        assert (await node.check("clock"))["status"] == "pass"
        await all_signed(node)
        assert await hits(node, cids) == RECORDS
    assert (await verified(tmp_path / "governance_logs")).ok


async def test_a_start_before_the_newest_entry_of_the_log(tmp_path: Path) -> None:
    """Nothing is known of the last run but its log: a machine without a clock of its own."""
    clock = Jumping()
    async with start(tmp_path, clock=clock) as node:
        cids = await filled(node)
    (tmp_path / "data" / "clock.json").unlink()
    ahead = datetime.now(UTC) - datetime(1971, 1, 1, tzinfo=UTC)
    clock.set_by(seconds=-ahead.total_seconds())
    async with start(tmp_path, clock=clock) as node:
        said = await node.check("clock")
        assert said["status"] == "fail"
        assert "newest entry" in said["output"]
        assert await hits(node, cids) == RECORDS
        clock.set_by(seconds=ahead.total_seconds() + 3_600)  # the network told the time, an hour later
        assert (await node.check("clock"))["status"] == "pass"
        await all_signed(node)


async def test_live_prices_are_asked_again_in_doubt(tmp_path: Path) -> None:
    clock = Jumping()
    async with CoinGeckoStandIn() as source, start(tmp_path, clock=clock, coingecko=source.url) as node:
        for _ in range(2):
            first = await node.ask("price of bitcoin")
        asked = len(source.requests)
        assert first["hit"] is not None
        clock.sleep_through(seconds=2)
        clock.set_by(days=3)
        second = await node.ask("price of bitcoin")
        assert second["hit"] is None
        assert second["source"]["id"] == "coingecko"
        assert len(source.requests) == asked + 1
        third = await node.ask("price of bitcoin")
        assert third["hit"] is not None
        assert third["cid"] == second["cid"]


async def test_a_laptop_that_slept_raises_no_alarm(tmp_path: Path) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock) as node:
        cids = await filled(node)
        clock.sleep_through(days=2)
        assert (await node.check("clock"))["status"] == "pass"
        assert await hits(node, cids) == RECORDS
        await all_signed(node)
