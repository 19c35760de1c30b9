"""A log that shows different trees to different people is found out, by real witnesses over real sockets; and
a witness that is killed at any moment has not forgotten what it cosigned."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.policy import WitnessPolicy
from node.audit.witnesses.cosigning import Witnesses
from node.audit.witnesses.ours import Witness
from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.signed_note import CosignatureSigner, Ed25519Signer, Verifier
from tests.manual_clock import ManualClock
from tests.simulators import rfc6962
from tests.simulators.rfc6962 import Key
from tests.simulators.vendor import stop
from tests.unit.api.door import application

LOG = Key("z6MkTest.neuroswarm/decisions")
ROOT = Path(__file__).resolve().parents[2]


class Cosigner:
    """One of our witnesses, as a node serves it."""

    def __init__(self, name: str, url: str, witness: Witness) -> None:
        self.key = Key(name, kind=4)
        self.url = url
        self.witness = witness


@asynccontextmanager
async def cosigner(folder: Path, name: str) -> AsyncIterator[Cosigner]:
    key = Key(name, kind=4)
    signer = CosignatureSigner(name, key.private)
    witness = await Witness.open(folder, lambda: [signer], [Verifier.from_vkey(LOG.vkey)], ManualClock())
    async with application(service_id=name, cosigner=witness) as app:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield Cosigner(name, f"http://127.0.0.1:{runner.addresses[0][1]}/witness", witness)
        finally:
            await stop(runner)
            await witness.close()


def policy_of(cosigners: Sequence[Cosigner]) -> WitnessPolicy:
    lines = [f"witness {n} {one.key.vkey} {one.url}" for n, one in enumerate(cosigners)]
    names = " ".join(map(str, range(len(cosigners))))
    return WitnessPolicy.parse(
        "\n".join([*lines, f"group all-of-them all {names}", "quorum all-of-them"]).encode()
    )


class Machine:
    """A log folder with its keys, and the witnesses that it asks."""

    def __init__(self, log: TileLog, witnesses: Witnesses, name: str) -> None:
        self.log = log
        self.witnesses = witnesses
        self._name = name

    async def say(self, count: int) -> None:
        """Entries that nobody else's log has."""
        for _ in range(count):
            await self.log.append(lambda index, _: f"{self._name} {index}".encode())
        await self.log.publish()

    async def until(self, says: str) -> str:
        """Wait for the witnesses' health to say this; its status."""
        while says not in self.witnesses.health().output:
            await asyncio.sleep(0.002)
        return self.witnesses.health().status


@asynccontextmanager
async def machine(tmp_path: Path, name: str, cosigners: Sequence[Cosigner]) -> AsyncIterator[Machine]:
    signer = Ed25519Signer(LOG.name, LOG.private)
    clock = SystemClock()
    folder = tmp_path / name
    log = await TileLog.open(
        folder / "log",
        LOG.name,
        [signer],
        clock,
        high_water=folder / "keys",
        pace=Pace(every_s=3_600, is_held=True),
    )
    async with aiohttp.ClientSession(trust_env=False, auto_decompress=False) as http:
        witnesses = Witnesses(
            policy_of(cosigners),
            lambda: log,
            lambda _: [signer.verifier],
            http,
            clock,
            timeout_s=10,
            evidence=folder / "evidence",
        )
        log.on_published(witnesses.published)
        witnesses.start()
        try:
            while log.is_held and not log.suspended:
                await asyncio.sleep(0.002)
            yield Machine(log, witnesses, name)
        finally:
            await witnesses.close()
            await log.close()


def cloned(tmp_path: Path, old: str, new: str) -> None:
    shutil.copytree(tmp_path / old, tmp_path / new)


async def test_two_machines_with_the_same_keys_cannot_both_go_on(tmp_path: Path) -> None:
    async with cosigner(tmp_path / "w", "witness.example/w") as one:
        async with machine(tmp_path, "first", [one]) as first:
            await first.say(5)
            assert await first.until("quorum held at size 5") == "pass"
        await asyncio.to_thread(cloned, tmp_path, "first", "second")
        async with machine(tmp_path, "first", [one]) as first, machine(tmp_path, "second", [one]) as second:
            await first.say(3)
            assert await first.until("quorum held at size 8") == "pass"
            await second.say(4)  # 9 entries: more than the witness has, and another tree
            assert await second.until("another tree") == "fail"
            assert second.log.suspended
            with pytest.raises(Unavailable):
                await second.say(1)
            kept = {path.name.split(".")[1]: path for path in (tmp_path / "second" / "evidence").iterdir()}
            notes = {role: await asyncio.to_thread(path.read_bytes) for role, path in kept.items()}
            # Two notes, both by the log's own key, that no consistent log can have signed.
            assert [rfc6962.verify(LOG.vkey, note) for note in notes.values()] == [0, 0]
            assert {rfc6962.read_note(note)[1] for note in notes.values()} == {8, 9}
            await first.say(1)
            assert await first.until("quorum held at size 9") == "pass"
        # The witness remembers that it was shown something that it could not prove.
        assert "proofs that do not hold" in one.witness.health().output


# --- kill -9 --------------------------------------------------------------------------------------


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
                    status, _ = await witness.add(
                        rfc6962.submission(acked, proof, signed(entries[: acked + 1]))
                    )
                    assert status == 200
                    acked += 1
    assert acked > 15
