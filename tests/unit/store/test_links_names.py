"""Where the record of a peer's name is looked for: here, at the daemon, at peers. None waits for another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import aiohttp
import pytest

from node.app.links import Links
from node.core.errors import NotFound, Unavailable
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.settings import load
from node.store.ipns_records import Names
from tests.manual_clock import ManualClock
from tests.name_owner import Owner

OURS = IpnsName.of(bytes(32))


class Daemon:
    """Knows one record, or fails, or never answers; and no block."""

    def __init__(self, answer: Callable[[], Awaitable[bytes | None]]) -> None:
        self._answer = answer
        self.blocks = self

    async def get(self, cid: Cid) -> bytes:
        raise NotFound(f"the daemon has no block {cid}")

    async def get_name(self, name: IpnsName) -> bytes | None:
        return await self._answer()


class Here:
    """The records that are kept here: one."""

    def __init__(self, name: IpnsName, data: bytes) -> None:
        self._name, self._data = name, data

    async def get(self, name: IpnsName) -> bytes:
        if name != self._name:
            raise NotFound("this node knows no record for that name")
        return self._data


async def kept(folder: Path, clock: ManualClock) -> Names:
    return await Names.open(folder / "names.sqlite", clock, own=OURS)


async def sequence(links: Links, owner: Owner) -> int:
    """Of the record that is found for the owner's name."""
    return ipns.decode(await links._record(owner.name), owner.name).sequence


@pytest.mark.parametrize("at_daemon", [1, 3])
async def test_the_newest_record_is_taken_wherever_it_is(tmp_path: Path, at_daemon: int) -> None:
    clock, owner = ManualClock(), Owner()
    names = await kept(tmp_path, clock)

    async def answer() -> bytes:
        return owner.record(clock.now(), sequence=at_daemon)

    try:
        async with aiohttp.ClientSession() as http:
            links = Links(load({}), http, names, Daemon(answer), clock)
            assert await sequence(links, owner) == at_daemon, "the daemon alone has one"
            await names.put(owner.name, owner.record(clock.now(), sequence=2))
            assert await sequence(links, owner) == max(2, at_daemon)
    finally:
        await names.close()


@pytest.mark.parametrize("mood", ["silent", "failing", "lying", "empty"])
async def test_a_daemon_that_is_no_help_stands_in_nobodys_way(mood: str) -> None:
    clock, owner, other = ManualClock(), Owner(), Owner(2)
    here = cast("Names", Here(owner.name, owner.record(clock.now(), sequence=2)))
    asked = asyncio.Event()

    async def answer() -> bytes | None:
        asked.set()
        if mood == "silent":
            await asyncio.Event().wait()
        if mood == "failing":
            raise Unavailable("the daemon is away")
        return other.record(clock.now(), sequence=9) if mood == "lying" else None

    async def in_the_end(work: Awaitable[int]) -> int:
        task = asyncio.ensure_future(work)
        await asked.wait()
        for _ in range(8):
            await asyncio.sleep(0)  # what is here is answered at once
        clock.advance(load({}).peers.timeout_s * 0.9)
        return await task

    async with aiohttp.ClientSession() as http:
        links = Links(load({}), http, here, Daemon(answer), clock)
        assert await in_the_end(sequence(links, owner)) == 2
        asked.clear()
        with pytest.raises(NotFound):
            await in_the_end(sequence(links, Owner(3)))
