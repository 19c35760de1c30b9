"""Blocks that an index names, from whoever has them: within limits of time, and trusted by nobody."""

from __future__ import annotations

import asyncio

from node.core.clock import Clock
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import Gets
from node.core.record import AnswerRecord, decode

_BLOCK_BYTES_MAX = 256 * 2**10


class Fetcher:
    """Gets blocks, a few at a time, each and all within limits of time: a start must not hang on a daemon."""

    AT_ONCE = 8
    EACH_S = 5.0
    ALL_S = 30.0
    FAILURES_MAX = 8
    """Failures in a row after which the daemon is taken to be away."""

    def __init__(self, blocks: Gets, clock: Clock) -> None:
        self._blocks = blocks
        self._clock = clock
        self._until = clock.monotonic() + self.ALL_S
        self._slots = asyncio.Semaphore(self.AT_ONCE)
        self._failures = 0
        self.why_given_up = ""

    async def get(self, cid: Cid) -> bytes:
        """The bytes, unchecked. Raises ``NotFound``, ``Unavailable``, ``Rejected``."""
        async with self._slots:
            if not self.why_given_up and self._clock.monotonic() > self._until:
                self.why_given_up = f"that took more than {self.ALL_S:g} s"
            if self.why_given_up:
                raise Unavailable(f"blocks are not fetched any more: {self.why_given_up}")
            try:
                async with asyncio.timeout(self.EACH_S):
                    data = await self._blocks.get(cid)
            except TimeoutError as exc:
                raise self._failed(f"no block within {self.EACH_S:g} s") from exc
            except Unavailable as exc:
                self._failed(str(exc))
                raise
            self._failures = 0
            return data

    def _failed(self, why: str) -> Unavailable:
        self._failures += 1
        if self._failures >= self.FAILURES_MAX:
            self.why_given_up = why
        return Unavailable(why)


def checked(cid: Cid, data: bytes) -> AnswerRecord:
    """The answer in a block that nobody vouches for. Takes about a millisecond. Raises ``Rejected``."""
    if len(data) > _BLOCK_BYTES_MAX:
        raise Rejected(f"it is larger than {_BLOCK_BYTES_MAX} bytes")
    if Cid.of(data) != cid:
        raise Rejected("the block has another hash")
    record = decode(data)
    if not isinstance(record, AnswerRecord):
        raise Rejected("it is no answer")
    return record
