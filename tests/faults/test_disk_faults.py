"""Calls to the disk that fail, under a real node: it says so, refuses in words, loses nothing that it
acknowledged, and goes on by itself when they succeed again. ``bench/disk_faults.py`` goes through all files.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.cli.desk import _OverSocket
from node.core.errors import NodeError
from tests.faults.io_kit import (
    CREATE,
    DROP,
    FULL,
    HALF,
    OPEN,
    READ,
    RENAME,
    SYNC,
    Faults,
    faults,
    needs_compiler,
)
from tests.faults.io_world import (
    KNOWN,
    PATIENCE_S,
    Work,
    answer,
    backup_problems,
    command_once,
    known_missing,
    log_problems,
    make_world,
    question,
    settings_of,
)
from tests.faults.node_kit import Child, Client, child, eventually, reasons, start

pytestmark = [needs_compiler, pytest.mark.timeout(600)]
CHILD = ("-m", "tests.faults.io_child")
BLOCKS = "data/blocks.sqlite*"


@dataclass
class Under:
    """A node under the shim, and what was done at it."""

    folder: Path
    disk: Faults
    process: Child
    node: Client
    work: Work

    def arm(self, pattern: str, kinds: int, error: int, **more: Any) -> None:
        self.disk.arm(f"{self.folder}/{pattern}", kinds, error, **more)

    async def told(self, name: str, status: str) -> str:
        """What a check says once it has this status."""
        check = await eventually(lambda: self.node.check(name), lambda found: found["status"] == status)
        return str(check.get("output"))

    async def refused(self, scope: str = "shared") -> str:
        """What is said to whoever wants to store something."""
        body = {"query": "What is a keel?", "answer": "The spine of a ship.", "scope": scope}
        status, reply = await self.node.post("/v1/cache/entries", body)
        assert status == 503, reply
        return str(reply["detail"])

    async def all_is_there(self) -> None:
        """It stops as it should, said nothing strange, and what it acknowledged is there."""
        assert not self.disk.hits
        self.process.process.terminate()
        out = await self.process.process.communicate()
        assert self.process.process.returncode == 0
        await self.checked(out[1].decode())

    async def checked(self, said: str) -> None:
        assert "Traceback" not in said, said[-3_000:]
        assert not self.work.strange
        async with start(self.folder) as again:
            assert await self.work.missing(again) == []
        assert await log_problems(self.folder) == []
        assert backup_problems(self.folder) == []


@pytest.fixture
def disk() -> Iterator[Faults]:
    with faults() as table:
        yield table


@pytest.fixture
async def under(tmp_path: Path, disk: Faults) -> AsyncIterator[Under]:
    await make_world(tmp_path)
    async with child(tmp_path, command=CHILD, **settings_of(tmp_path), **disk.environ()) as (process, node):
        node.patience_s = PATIENCE_S
        yield Under(tmp_path, disk, process, node, Work(tmp_path))


async def test_a_quota_that_is_reached_is_told_until_there_is_room(under: Under) -> None:
    """Commits that change nothing go on all the time, and prove nothing; nobody has to store anything for the
    node to find that there is room again."""
    await under.work.round(under.node)
    under.arm(BLOCKS, FULL, errno.EDQUOT)
    assert "cannot be used now" in await under.refused()
    assert "nothing can be stored now" in await under.told("ipfs:blocks", "fail")
    for _ in range(20):  # over several runs of the expiry, which comes each second
        assert (await under.node.check("ipfs:blocks"))["status"] == "fail"
        await asyncio.sleep(0.25)
    for _ in range(5):
        await under.work.round(under.node, has_backup=False)
    assert under.work.done["sum"] == 6
    assert under.work.done["hit"] == 6
    under.disk.heal()
    assert "writes turned away since the start" in await under.told("ipfs:blocks", "pass")
    await under.work.round(under.node)
    await under.all_is_there()


@pytest.mark.parametrize("name", ["state", "names", "log_blocks", "labels", "peers", "refuted"])
async def test_every_other_store_that_is_refused_is_named(under: Under, name: str) -> None:
    under.arm(f"data/{name}.sqlite*", FULL, errno.ENOSPC, how=HALF)
    for _ in range(3):
        await under.work.round(under.node)
    await under.node.send("DELETE", "/v1/cache/entries/" + await under.node.store("Who?", "Nobody."))
    if name == "labels":  # what was found by its words is kept for the verdict that may come
        assert (await under.node.ask("Name colour of boat number 3"))["hit"]["kind"] == "slot"
    elif name == "peers":
        with pytest.raises(NodeError, match=r"peers\.sqlite cannot be used now"):
            await asyncio.to_thread(
                _OverSocket(under.folder / "data"), "peers_add", {"address": "http://127.0.0.1:9"}
            )
    elif name == "refuted":
        cid = await under.node.store("Which boat has sunk?", "Boat number 99.")
        await under.node.post("/feedback", {"verdict": "invalid", "cid": cid})
    await under.node.post("/feedback", {"verdict": "valid", "request_id": (await asked(under))["request_id"]})
    await under.node.post("/peers/sync", {})
    assert under.disk.hits
    assert f"{name}.sqlite cannot be written" in await under.told("stores", "warn")
    under.disk.heal()
    await under.told("stores", "pass")
    await under.all_is_there()


async def asked(under: Under) -> dict[str, Any]:
    return await under.node.ask("What is 2+2?")


async def test_a_store_that_cannot_be_read_is_told_and_read_again(under: Under) -> None:
    await under.work.round(under.node)
    under.arm(BLOCKS, READ | OPEN, errno.EIO)
    check = await eventually(
        lambda: under.node.check("ipfs:blocks"), lambda found: "does not give back" in found["output"]
    )
    assert check["status"] == "fail"
    await under.work.round(under.node)
    assert under.work.done["sum"] == 2
    under.disk.heal()
    await under.told("ipfs:blocks", "pass")
    await under.work.round(under.node)
    await under.all_is_there()


async def test_a_look_up_that_cannot_read_the_store_says_so(under: Under) -> None:
    """It is no miss: somebody may have stored the answer."""
    await under.work.round(under.node)
    under.arm(BLOCKS, READ | OPEN, errno.EIO)
    unread = 0
    for number in range(2, KNOWN):
        found = await under.node.search(question(number))
        if found["hit"] is None:
            assert "could not" in found["reason"], found["reason"]
            reply = await under.node.ask(question(number))
            assert reply["hit"] is None
            outcome, reason = reasons(reply)["recall"]
            assert outcome == "failed"
            assert "could not" in reason
            unread += 1
    assert unread, "some were in nobody's memory"
    counted = await under.node.raw("/metrics")
    assert re.search(rb'neuroswarm_lookups_total\{.*result="failed"\} [1-9]', counted[1])
    assert "does not give back" in await under.told("ipfs:blocks", "fail")
    under.disk.heal()
    await under.told("ipfs:blocks", "pass")
    for number in range(2, KNOWN):
        assert (await under.node.search(question(number)))["answer"] == answer(number)
    found = await under.node.search("Who painted the ninth gate?")
    assert (found["hit"], found["reason"]) == (None, "nothing stored is near")


async def test_keys_of_private_answers_that_cannot_be_written_are_told(under: Under) -> None:
    under.arm("data/keys/record_keys*", FULL, errno.ENOSPC)
    for number in range(300):  # those that are made ahead
        body = {"query": f"Where is {number}?", "answer": "Here.", "scope": "private"}
        if (await under.node.post("/v1/cache/entries", body))[0] == 503:
            break
    assert "record keys" in await under.refused("private")
    assert "no private answer can be stored now" in await under.told("ipfs:blocks", "fail")
    await under.node.store("What is shared?", "This.")
    under.disk.heal()
    await under.told("ipfs:blocks", "pass")
    await under.all_is_there()


async def test_an_export_that_cannot_be_written_is_told(under: Under) -> None:
    under.arm("data/*knowledge-index.json*", CREATE | RENAME, errno.ENOSPC)
    said = await under.told("jobs", "warn")
    assert "export" in said
    assert "No space left" in said
    under.disk.heal()
    await under.told("jobs", "pass")
    await under.all_is_there()


@pytest.mark.parametrize("pattern", [BLOCKS, "governance_logs/*", "data/keys/*"])
async def test_a_power_cut_after_failed_syncs_loses_nothing(under: Under, pattern: str) -> None:
    """What a sync has failed on is gone from the file, also for later reads; then the machine stops."""
    await under.work.round(under.node)
    under.arm(pattern, SYNC, errno.EIO, how=DROP, first=2, last=9)
    for _ in range(6):
        await under.work.round(under.node)
    assert under.disk.hits
    under.process.process.kill()
    out = await under.process.process.communicate()
    under.disk.heal()
    assert under.work.stored, "some were taken"
    await under.checked(out[1].decode())


@pytest.mark.parametrize(
    ("kinds", "error", "first"),
    [
        (FULL | RENAME, errno.ENOSPC, 1),
        (FULL | RENAME, errno.ENOSPC, 12),
        (SYNC, errno.EIO, 20),
        (READ, errno.EIO, 3),
    ],
)
async def test_a_restore_that_the_disk_cuts_off_can_be_run_again(
    tmp_path: Path, disk: Faults, kinds: int, error: int, first: int
) -> None:
    await make_world(tmp_path)
    words = ("restore", str(tmp_path / "by-hand"), "--replace")
    for place in ("data", "governance_logs"):
        disk.arm(f"{tmp_path}/{place}*", kinds, error, first=first)
    done = await command_once(tmp_path, disk, *words)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done
    disk.heal()
    done = await command_once(tmp_path, disk, *words)
    assert done.returncode == 0, done
    async with start(tmp_path) as node:
        assert await known_missing(node) == []
    assert await log_problems(tmp_path) == []
