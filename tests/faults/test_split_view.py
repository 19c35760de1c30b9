"""A log that shows different trees to different people is found out, by real witnesses over real sockets."""

from __future__ import annotations

import asyncio
import shutil
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


async def test_two_views_of_one_size_never_both_have_a_quorum(tmp_path: Path) -> None:
    """A log that shows one tree to one witness and another to the other: no reader is fooled who asks for
    both cosignatures, and each witness that is shown both keeps the proof."""
    trees = [[b"%s %d" % (view, n) for n in range(6)] for view in (b"left", b"right")]
    async with cosigner(tmp_path / "w1", "w1") as one, cosigner(tmp_path / "w2", "w2") as two:
        notes = []
        for entries in trees:
            text = rfc6962.checkpoint(LOG.name, entries)
            notes.append(rfc6962.note(text, LOG.line(text)))
        cosigned = dict.fromkeys(notes, 0)
        for order in ((one, two), (two, one)):
            for seen_by, note in zip(order, notes, strict=True):
                said = await seen_by.witness.add_checkpoint(rfc6962.submission(0, [], note))
                if said.status == 200:
                    cosigned[note] += 1
                else:
                    again = await seen_by.witness.add_checkpoint(rfc6962.submission(6, [], note))
                    assert again.status == 422
        assert sorted(cosigned.values()) == [1, 1]
        assert [cosigner.witness.health().status for cosigner in (one, two)] == ["warn", "warn"]
