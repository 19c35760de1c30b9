"""A witness that is killed at any moment has not forgotten what it cosigned."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.faults.kill_kit import ROOT
from tests.simulators import rfc6962
from tests.simulators.rfc6962 import Key

LOG = Key("z6MkTest.neuroswarm/decisions")


class Child:
    """A witness that can be killed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def add(self, body: bytes) -> tuple[int, bytes]:
        """Raises ``ConnectionError`` once it is dead."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(body.hex().encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError
        status, _, said = line.decode().strip().partition(" ")
        return int(status), bytes.fromhex(said)

    def kill(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)


@asynccontextmanager
async def child(folder: Path) -> AsyncIterator[Child]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.witness_child", str(folder), LOG.vkey),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    one = Child(process)
    try:
        yield one
    finally:
        one.kill()
        await process.communicate()


@pytest.mark.slow
async def test_a_killed_witness_has_not_forgotten_what_it_answered(tmp_path: Path) -> None:
    """Killed while submissions run: what was answered is held after the restart, no other tree gets in."""
    order = random.Random(5)
    entries = [b"entry %d" % n for n in range(128)]
    acked = 0

    def signed(some: list[bytes]) -> bytes:
        text = rfc6962.checkpoint(LOG.name, some)
        return rfc6962.note(text, LOG.line(text))

    for _ in range(5):
        async with child(tmp_path) as witness:
            # A size that it cannot have: it tells its own.
            status, said = await witness.add(rfc6962.submission(128, [], signed(entries)))
            held = int(said)
            assert status == 409
            assert acked <= held <= acked + 1  # one may have been kept whose answer was cut off
            fork = signed([b"other %d" % n for n in range(held)])
            status, _ = await witness.add(rfc6962.submission(held, [], fork))
            assert status == (422 if held else 200)
            acked = held
            kills_at = acked + order.randrange(3, 9)
            with contextlib.suppress(ConnectionError):  # dead at last
                while True:
                    if acked == kills_at:
                        asyncio.get_running_loop().call_later(order.random() * 0.01, witness.kill)
                    proof = rfc6962.consistency(acked, entries[: acked + 1])
                    body = rfc6962.submission(acked, proof, signed(entries[: acked + 1]))
                    status, _ = await witness.add(body)
                    assert status == 200
                    acked += 1
    assert acked > 15
