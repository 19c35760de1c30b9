"""Integrity of any backend: one that lies is found out on the way in and on the way out."""

from __future__ import annotations

import pytest

from node.core.errors import CorruptState, Rejected
from node.core.ipld.cid import RAW, Cid
from node.store.verifying import BLOCK_BYTES_MAX, VerifyingBlockStore


class LyingBlocks:
    """Accepts everything and answers with ``answer``, whatever was asked for."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.accepted: list[bytes] = []
        self.closed = 0

    async def put(self, cid: Cid, data: bytes) -> None:
        self.accepted.append(data)

    async def get(self, cid: Cid) -> bytes:
        return self.answer

    async def has(self, cid: Cid) -> bool:
        return True

    async def delete(self, cid: Cid) -> None:
        self.accepted.clear()

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("size", [10, 300_000])
async def test_a_lie_does_not_leave(size: int) -> None:
    truth = b"t" * size
    lying = LyingBlocks(truth[:-1] + b"f")
    store = VerifyingBlockStore(lying)
    with pytest.raises(CorruptState, match="other bytes"):
        await store.get(Cid.of(truth, RAW))
    lying.answer = truth
    assert await store.get(Cid.of(truth, RAW)) == truth


async def test_an_endless_answer_does_not_leave() -> None:
    data = bytes(BLOCK_BYTES_MAX + 1)
    with pytest.raises(CorruptState):
        await VerifyingBlockStore(LyingBlocks(data)).get(Cid.of(data, RAW))


@pytest.mark.parametrize("size", [10, 300_000])
async def test_a_lie_does_not_enter(size: int) -> None:
    truth = b"t" * size
    lying = LyingBlocks(b"")
    store = VerifyingBlockStore(lying)
    with pytest.raises(Rejected):
        await store.put(Cid.of(truth, RAW), truth + b"f")
    assert lying.accepted == []
    await store.put(Cid.of(truth, RAW), truth)
    assert lying.accepted == [truth]


async def test_the_rest_is_passed_on() -> None:
    lying = LyingBlocks(b"")
    store = VerifyingBlockStore(lying)
    assert await store.has(Cid.of(b"x"))
    await store.delete(Cid.of(b"x"))
    await store.close()
    assert lying.closed == 1
