"""Calls between nodes that may be lost before or after they had effect, be late, be cut, or find no way.

Promises: every call and what became of it is in the trace, in order. Must not know what is said.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from node.core.errors import TimedOut, Unavailable
from node.core.ipld.cid import Cid


class Remote(Protocol):
    """Whoever answers. ``caller``: who asks, which a liar takes into account."""

    address: str

    def certificates(self, caller: int) -> tuple[str, list[bytes]]: ...

    def note(self, caller: int) -> bytes: ...

    def file(self, caller: int, path: str) -> bytes: ...

    async def some_blocks(self, cids: Sequence[Cid], bytes_max: int) -> list[tuple[Cid, bytes]]: ...

    def reconciled(self, message: bytes) -> bytes: ...


class Net:
    """``is_good``: nothing is lost any more. ``parted``: numbers of the nodes on one side of a partition."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.is_good = False
        self.loss = rng.choice([0.0, 0.02, 0.1, 0.25])
        self.delay_s = rng.choice([0.01, 0.2, 2.0])
        self.parted: frozenset[int] = frozenset()
        self.counts: Counter[str] = Counter()
        self._trace = hashlib.sha256()

    def trace(self, *what: object) -> None:
        self._trace.update(repr(what).encode())

    @property
    def digest(self) -> str:
        """Of everything that happened."""
        return self._trace.hexdigest()

    async def before(self, caller: int, to: int, what: str) -> None:
        """A request on its way. Raises ``TimedOut``, ``Unavailable``."""
        self.counts["calls"] += 1
        if self.is_good:
            return
        await asyncio.sleep(self._rng.random() * self.delay_s)
        if (caller in self.parted) != (to in self.parted):
            self.counts["no way"] += 1
            self.trace("parted", caller, to, what)
            raise Unavailable("there is no way to it")
        self._maybe_lose(caller, to, what, "request")

    def after(self, caller: int, to: int, what: str) -> None:
        """The answer on its way. Raises ``TimedOut``."""
        if not self.is_good:
            self._maybe_lose(caller, to, what, "answer")
        self.trace("said", caller, to, what)

    def _maybe_lose(self, caller: int, to: int, what: str, part: str) -> None:
        if self._rng.random() < self.loss / 2:
            self.counts["lost"] += 1
            self.trace("lost", part, caller, to, what)
            raise TimedOut(f"the {part} was lost")

    def mixed(self, found: list[tuple[Cid, bytes]]) -> tuple[list[tuple[Cid, bytes]], bool]:
        """A stream in another order, and whether it breaks off."""
        if self.is_good:
            return found, False
        self._rng.shuffle(found)
        if found and self._rng.random() < self.loss:
            self.counts["cut"] += 1
            return found[: self._rng.randrange(len(found))], True
        return found, False


class Wire:
    """``PeerLink`` of node ``caller`` to node ``to``."""

    def __init__(self, net: Net, caller: int, to: int, remote: Remote) -> None:
        self.address = remote.address
        self._net = net
        self._caller = caller
        self._to = to
        self._remote = remote

    async def certificates(self) -> tuple[str, list[bytes]]:
        await self._net.before(self._caller, self._to, "certificates")
        found = self._remote.certificates(self._caller)
        self._net.after(self._caller, self._to, "certificates")
        return found

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        await self._net.before(self._caller, self._to, "checkpoint")
        note = self._remote.note(self._caller)
        now = hashlib.sha256(note).hexdigest()
        self._net.after(self._caller, self._to, f"checkpoint {now}")
        return (None, etag) if etag == now else (note, now)

    async def read(self, path: str, bytes_max: int) -> bytes:
        await self._net.before(self._caller, self._to, path)
        data = self._remote.file(self._caller, path)
        self._net.after(self._caller, self._to, path)
        return data

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        await self._net.before(self._caller, self._to, "blocks")
        found, is_cut = self._net.mixed(await self._remote.some_blocks(cids, bytes_max))
        for cid, data in found:
            if not self._net.is_good:
                await asyncio.sleep(0)
            self._net.trace("block", self._caller, self._to, str(cid))
            yield cid, data
        if is_cut:
            raise Unavailable("the connection broke off")

    async def reconcile(self, message: bytes) -> bytes:
        await self._net.before(self._caller, self._to, "reconcile")
        reply = self._remote.reconciled(message)
        self._net.after(self._caller, self._to, "reconcile")
        return reply

    async def peers(self) -> list[str]:
        return []
