"""The copy in the daemon: what goes there, what never does, and what becomes of it when the daemon goes away,
comes back, forgets or refuses. Over the stand-in in both dialects; the clock is ours."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.record import Record
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.mirror import BACKOFF_MAX_S, BATCH_MAX, CHECK_EVERY_S, GRACE_S, Mirror
from node.store.sqlite import SqliteStore
from node.store.state import StateStore
from tests.manual_clock import ManualClock
from tests.record_builders import Author
from tests.references.record_store import MemoryStore
from tests.simulators.kubo import PEER, KuboStandIn

US = Author(1)
OTHER_PEER = "12D3KooWQnwEGNqcM2nAcPtRR9rAX8Hrg4k9kJLCHoTR5chJfz6d"
PATIENCE_S = 100


@pytest.fixture(params=["kubo", "js-ipfs"])
def daemon(request: pytest.FixtureRequest) -> KuboStandIn:
    return KuboStandIn(request.param)


class Node:
    """What stands around a mirror: the stores, the clock, and the address of the daemon."""

    def __init__(self, folder: Path, daemon: KuboStandIn) -> None:
        self.folder = folder
        self.daemon = daemon
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.store = MemoryStore(own_issuer=US.did)

    async def add(self, record: Record) -> Cid:
        return (await self.store.records.add(record)).cid

    async def publish(self, *questions: str) -> list[Cid]:
        return [await self.add(US.answer(question, scope="public")) for question in questions]

    @asynccontextmanager
    async def mirror(
        self, *, is_private: bool = False, timeout_s: float = 5.0, store: SqliteStore | None = None
    ) -> AsyncIterator[Mirror]:
        """A mirror at work; the same node again is the same node restarted."""
        state = await StateStore.open(self.folder / "state.sqlite")
        here = store or self.store
        try:
            async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
                copy = KuboBlockStore(self.daemon.url, http, self.clock, timeout_s=timeout_s)
                here_and_there = (copy, here.records, here.blocks, state)
                mirror = Mirror(*here_and_there, self.clock, self.metrics, is_private=is_private)
                mirror.start()
                async with asyncio.timeout(PATIENCE_S):
                    yield mirror
                    await mirror.close(PATIENCE_S)
        finally:
            await state.close()

    async def catch_up(self, *, is_private: bool = False) -> None:
        """Run a mirror until nothing waits."""
        async with self.mirror(is_private=is_private) as mirror:
            assert await mirror.close(PATIENCE_S) == 0


async def failed(mirror: Mirror) -> None:
    while mirror._fault is None:
        await asyncio.sleep(0.001)


def _came(daemon: KuboStandIn, call: str, times: int) -> bool:
    return daemon.count(call) >= times


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon on a busy machine tells its version and its peers late; neither limit is met here."""
    monkeypatch.setattr("node.ipfs.kubo.VERSION_TIMEOUT_S", 60.0)
    monkeypatch.setattr("node.ipfs.kubo.PEERS_TIMEOUT_S", 60.0)


@pytest.fixture
def node(tmp_path: Path, daemon: KuboStandIn) -> Node:
    return Node(tmp_path, daemon)


async def test_public_records_of_every_kind_are_put_and_pinned(node: Node, daemon: KuboStandIn) -> None:
    [answer] = await node.publish("What is a CID?")
    judged = await node.add(US.validation(answer, "valid", scope="public"))
    certificate = await node.add(US.key_record(Author(2).did))
    gone = await node.add(US.tombstone(Cid.of(b"a record of yore"), scope="public"))
    async with daemon:
        await node.catch_up()
    assert daemon.pinned() == {answer, judged, certificate, gone}
    assert set(daemon.pins.values()) == {"direct"}
    for cid in daemon.pinned():
        assert daemon.blocks[cid.multihash] == await node.store.blocks.get(cid)


async def test_what_is_not_public_is_not_even_named_to_the_daemon(node: Node, daemon: KuboStandIn) -> None:
    scopes = {"Shared?": "shared", "Mine?": "private:local", "Withdrawn?": "private:local"}
    hidden = [await node.add(US.answer(query, scope=scope)) for query, scope in scopes.items()]
    [shown] = await node.publish("Public?")
    async with daemon:
        async with node.mirror() as mirror:
            await daemon.until(lambda: daemon.pinned() == {shown})
            await node.store.records.withdraw(hidden[2], "test")
            mirror.nudge()
            assert await mirror.close(PATIENCE_S) == 0
    assert daemon.given == {shown.multihash}


async def test_a_private_daemon_gets_what_is_shared_and_gives_it_back(
    node: Node, daemon: KuboStandIn
) -> None:
    hidden = await node.add(US.answer("Mine?", scope="private:local"))
    common = await node.add(US.answer("Ours?", scope="shared"))
    [shown] = await node.publish("Public?")
    async with daemon:
        await node.catch_up()
        assert daemon.pinned() == {shown}
        await node.catch_up(is_private=True)
        assert daemon.pinned() == {shown, common}
        await node.catch_up()
        assert daemon.pinned() == {shown}
        assert not daemon.holds(common)
        assert hidden.multihash not in daemon.given


async def test_a_private_record_goes_to_no_daemon_whatever_happens(node: Node, daemon: KuboStandIn) -> None:
    cids = [
        await node.add(US.answer(f"Mine {number}?", scope=f"private:{tenant}"))
        for number, tenant in enumerate(("local", "acme"))
    ]
    async with daemon:
        async with node.mirror(is_private=True) as mirror:
            word = await node.add(US.validation(cids[0], "valid", scope="private:local", note="mine"))
            buried = await node.add(US.tombstone(cids[1], scope="private:acme"))
            mirror.nudge()
            assert await mirror.waiting() == 0
        await node.catch_up(is_private=True)
    assert not daemon.given & {cid.multihash for cid in (*cids, word, buried)}
    assert daemon.count("block/put") == 0


async def test_private_records_that_an_older_program_gave_are_taken_back(
    node: Node, daemon: KuboStandIn
) -> None:
    hidden = await node.add(US.answer("Mine?", scope="private:local"))
    common = await node.add(US.answer("Ours?", scope="shared"))
    for cid in (hidden, common):
        daemon.blocks[cid.multihash] = await node.store.blocks.get(cid)
        daemon.pins[cid] = "direct"
    state = await StateStore.open(node.folder / "state.sqlite")
    await state.set_meta("ipfs-mirror", f'{{"{daemon.peer_id}": [2, 0, true, false]}}')
    await state.close()
    async with daemon:
        await node.catch_up(is_private=True)
        assert daemon.pinned() == {common}
        assert not daemon.holds(hidden)
        puts = daemon.count("block/put")
        await node.catch_up(is_private=True)
        assert daemon.count("block/put") == puts, "once"


async def test_an_erased_shared_record_leaves_a_private_daemon(node: Node, daemon: KuboStandIn) -> None:
    common = await node.add(US.answer("Ours?", scope="shared"))
    async with daemon:
        await node.catch_up(is_private=True)
        assert daemon.holds(common)
        await node.add(US.tombstone(common, scope="shared"))
        await node.catch_up(is_private=True)
        assert not daemon.holds(common)


async def test_pins_follow_the_live_set(node: Node, daemon: KuboStandIn) -> None:
    cids = await node.publish(*(f"Question {number}?" for number in range(6)))
    async with daemon:
        async with node.mirror() as mirror:
            await daemon.until(lambda: daemon.pinned() == set(cids))
            await node.store.records.withdraw(cids[0], "test")
            await node.store.blocks.delete(cids[1])
            mirror.nudge()
            await daemon.until(lambda: daemon.pinned() == set(cids[2:]))
        assert daemon.holds(cids[0])
        daemon.collect_garbage()
        assert {cid for cid in cids if daemon.holds(cid)} == set(cids[2:])


async def test_what_ended_before_it_was_sent_is_never_sent(node: Node, daemon: KuboStandIn) -> None:
    first, second = await node.publish("One?", "Two?")
    await node.store.records.withdraw(first, "test")
    async with daemon:
        await node.catch_up()
    assert daemon.given == {second.multihash}


async def test_a_pin_of_the_operator_is_respected(node: Node, daemon: KuboStandIn) -> None:
    first, second = await node.publish("One?", "Two?")
    async with daemon:
        daemon.blocks[first.multihash] = await node.store.blocks.get(first)
        daemon.pins[first] = "recursive"
        await node.catch_up()
        assert daemon.pins == {first: "recursive", second: "direct"}
        await node.store.records.withdraw(first, "test")
        await node.catch_up()
        assert daemon.pins == {first: "recursive", second: "direct"}


async def test_a_daemon_that_is_away_is_waited_for_and_caught_up(
    node: Node, daemon: KuboStandIn, unhurried: None
) -> None:
    async with daemon:
        pass  # its address is known now, and nobody listens there
    cids = await node.publish("One?", "Two?")
    async with node.mirror() as mirror:
        away = await mirror.probe()
        assert away.status == "warn"
        assert "2 changes of public blocks wait" in away.output
        since = away.since
        node.clock.advance(100)
        assert (await mirror.probe()).since == since
        async with daemon:
            back = await mirror.probe()
            assert back.status == "pass"
            assert back.observed == f"{'js-ipfs 0.18.1' if daemon.is_js else 'Kubo 0.29.0'}, 2 peers"
            await daemon.until(lambda: daemon.pinned() == set(cids))
            assert await mirror.close(PATIENCE_S) == 0
            assert "all public blocks are mirrored" in (await mirror.probe()).output


async def test_a_failing_daemon_is_asked_ever_more_rarely(node: Node, daemon: KuboStandIn) -> None:
    await node.publish("One?")
    daemon.faults["version"] = "it is not well"
    waits: list[float] = []
    async with daemon, node.mirror() as mirror:
        for expected in range(1, 9):
            await daemon.until(functools.partial(_came, daemon, "version", expected))
            while (wait_s := node.clock.next_s) is None:
                await asyncio.sleep(0.002)
            waits.append(wait_s)
            for _ in range(200):
                mirror.nudge()
                await asyncio.sleep(0)
            assert daemon.count("version") == expected
            node.clock.advance(wait_s)
    assert waits[0] < 2
    assert waits[-1] >= BACKOFF_MAX_S
    assert max(waits) < BACKOFF_MAX_S * 3


async def test_a_process_that_dies_half_way_loses_nothing(node: Node, daemon: KuboStandIn) -> None:
    cids = await node.publish(*(f"Question {number}?" for number in range(3 * BATCH_MAX)))
    async with daemon:
        for _ in range(3):
            async with node.mirror() as mirror:
                seen = daemon.count("block/put")
                await daemon.until(functools.partial(_came, daemon, "block/put", seen + 9))
                assert mirror._task is not None
                mirror._task.cancel()  # as a kill would end it: nothing is saved, nothing is said
        await node.catch_up()
    assert daemon.pinned() == set(cids)


async def test_an_emptied_repository_is_noticed_and_filled_again(node: Node, daemon: KuboStandIn) -> None:
    cids = await node.publish("One?", "Two?")
    async with daemon, node.mirror() as mirror:
        await daemon.until(lambda: daemon.pinned() == set(cids))
        while await mirror.waiting():
            await asyncio.sleep(0.001)
        daemon.lose_everything()
        while not daemon.blocks:
            node.clock.advance(CHECK_EVERY_S / 20)  # less than a call may take
            await asyncio.sleep(0.01)
        await daemon.until(lambda: daemon.pinned() == set(cids))


async def test_a_missing_pin_is_noticed_at_the_next_start(node: Node, daemon: KuboStandIn) -> None:
    cids = await node.publish("One?", "Two?")
    async with daemon:
        await node.catch_up()
        del daemon.pins[cids[0]]
        await node.catch_up()
        assert daemon.pinned() == set(cids)


async def test_another_daemon_gets_all_and_the_first_goes_on_where_it_was(
    node: Node, daemon: KuboStandIn
) -> None:
    first, second = await node.publish("One?", "Two?")
    async with daemon:
        await node.catch_up()
        kept = dict(daemon.blocks), dict(daemon.pins)
        daemon.lose_everything(OTHER_PEER)
        await node.store.records.withdraw(first, "test")
        await node.catch_up()
        assert daemon.pinned() == {second}
        daemon.blocks, daemon.pins = kept
        daemon.peer_id = PEER
        puts = daemon.count("block/put")
        await node.catch_up()
        assert daemon.pinned() == {second}
        assert daemon.count("block/put") == puts


async def test_a_refusing_daemon_keeps_the_queue_and_says_why(
    node: Node, daemon: KuboStandIn, unhurried: None
) -> None:
    cids = await node.publish("One?", "Two?")
    daemon.faults["block/put"] = "write /blocks: no space left on device"
    async with daemon, node.mirror() as mirror:
        await daemon.until(lambda: daemon.count("block/put") >= 2)
        await failed(mirror)
        assert (await mirror.probe()).status == "pass"
        node.clock.advance(GRACE_S)
        refused = await mirror.probe()
        assert refused.status == "warn"
        assert "no space left on device" in refused.output
        assert "2 changes of public blocks wait" in refused.output
        del daemon.faults["block/put"]
        await mirror.probe()
        assert await mirror.close(PATIENCE_S) == 0
    assert daemon.pinned() == set(cids)
    assert b"neuroswarm_mirrored_blocks_total 2.0" in node.metrics.text()
    assert b"neuroswarm_mirror_failures_total 0.0" not in node.metrics.text()


async def test_a_daemon_that_names_another_cid_is_not_believed(
    node: Node, daemon: KuboStandIn, unhurried: None
) -> None:
    await node.publish("One?")
    daemon.wrong_key = True
    async with daemon, node.mirror() as mirror:
        await daemon.until(lambda: daemon.count("block/put") >= 1)
        await failed(mirror)
        node.clock.advance(GRACE_S)
        assert "speaks another dialect" in (await mirror.probe()).output
        assert await mirror.waiting() == 1


@pytest.mark.parametrize("fault", ["hang", "drip", "endless", "cut"])
async def test_a_broken_daemon_costs_one_thread_and_holds_up_nobody(tmp_path: Path, fault: str) -> None:
    daemon = KuboStandIn(faults={"*": fault})
    node = Node(tmp_path, daemon)
    await node.publish("One?")
    async with daemon, node.mirror(timeout_s=0.2) as mirror:
        checks = await asyncio.gather(*(mirror.probe() for _ in range(3)))
        assert {check.status for check in checks} == {"warn"}
        assert sum(thread.name == "ipfs-daemon" for thread in threading.enumerate()) <= 1
        assert await mirror.close(PATIENCE_S) == 1


async def test_a_stop_without_a_daemon_is_at_once_and_keeps_the_queue(
    node: Node, daemon: KuboStandIn
) -> None:
    async with daemon:
        pass
    cids = await node.publish("One?", "Two?")
    async with node.mirror() as mirror:
        await failed(mirror)
        async with asyncio.timeout(60):  # not the hour that it may take
            assert await mirror.close(3_600) == 2
    async with daemon:
        await node.catch_up()
    assert daemon.pinned() == set(cids)


async def test_marks_that_cannot_be_read_mean_all_is_given_again(node: Node, daemon: KuboStandIn) -> None:
    cids = await node.publish("One?")
    state = await StateStore.open(node.folder / "state.sqlite")
    await state.set_meta("ipfs-mirror", '{"x": [1, 2]}')
    await state.close()
    async with daemon:
        await node.catch_up()
    assert daemon.pinned() == set(cids)


async def test_the_store_wakes_the_mirror(node: Node, daemon: KuboStandIn, tmp_path: Path) -> None:
    """Adding, withdrawing, expiring and deleting in ``blocks.sqlite`` each reach the daemon by themselves."""
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    async with daemon, node.mirror(store=store) as mirror:
        store.on_change = mirror.nudge
        ends = {"kept": None, "withdrawn": None, "expired": node.clock.now(), "deleted": None}
        kept, withdrawn, expired, deleted = [
            (await store.records.add(US.answer(f"{name}?", scope="public", expires=end))).cid
            for name, end in ends.items()
        ]
        await daemon.until(lambda: daemon.pinned() == {kept, withdrawn, expired, deleted})
        await store.records.withdraw(withdrawn, "test")
        await daemon.until(lambda: withdrawn not in daemon.pins)
        await store.records.expire(node.clock.now() + timedelta(seconds=10), grace_s=0)
        await daemon.until(lambda: expired not in daemon.pins)
        await store.blocks.delete(deleted)
        await daemon.until(lambda: daemon.pinned() == {kept})
    await store.close()


async def test_a_block_damaged_here_does_not_stop_the_others(node: Node, daemon: KuboStandIn) -> None:
    damaged, whole = await node.publish("One?", "Two?")
    node.store.blocks_by_multihash[damaged.multihash] = b"other bytes"
    async with daemon:
        await node.catch_up()
        await node.catch_up()
    assert daemon.pinned() == {whole}
    assert daemon.count("block/put") == 1
