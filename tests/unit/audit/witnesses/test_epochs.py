"""Witnesses go with the log from one epoch to the next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from node.audit.tlog.policy import WitnessPolicy
from node.audit.witnesses.cosigning import Witnesses
from node.audit.witnesses.ours import Witness
from node.core.errors import Unavailable
from node.core.signed_note import Checkpoint, CosignatureSigner, Ed25519Signer, Signer
from tests import log_kit
from tests.epoch_kit import World, fill
from tests.manual_clock import ManualClock
from tests.unit.api.door import served

NAME = "witness.example/w"


def signers() -> list[Signer]:
    return [CosignatureSigner(NAME, log_kit.KEY)]


def witnessed(folder: Path) -> tuple[str, int]:
    """The log and size that the witness has seen."""
    try:
        found = Checkpoint.of_note((folder / "checkpoint.witnessed").read_bytes())
    except FileNotFoundError:
        return "", 0
    return found.origin, found.size


async def test_our_own_witness_cosigns_the_epochs_of_a_log_that_it_knows(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = await world.open()
    first = Ed25519Signer(log_kit.ORIGIN, log_kit.KEY).verifier
    witness = await Witness.open(tmp_path / "witness", signers, [first], ManualClock())
    async with (
        served({}, witness) as door,
        aiohttp.ClientSession(trust_env=False, auto_decompress=False) as http,
    ):
        line = f"witness w {signers()[0].verifier.vkey} {door.url}/witness\nquorum w"
        witnesses = Witnesses(
            WitnessPolicy.parse(line.encode()),
            lambda: log.tile_log,
            lambda origin: [one.verifier for one in log_kit.signers(origin)],
            http,
            world.clock,
            timeout_s=10.0,
            evidence=tmp_path / "evidence",
            count=lambda _: None,
        )
        log.on_published(witnesses.published)
        witnesses.start()

        async def until(origin: str, size: int) -> None:
            async with asyncio.timeout(30):
                while witnessed(world.log_folder) != (origin, size):
                    await asyncio.sleep(0.005)

        await fill(log, 7)
        await log.tile_log.publish()
        await until(log_kit.ORIGIN, 7)
        for number in (2, 3):
            await log.end_epoch("age")
            await fill(log, 5)
            await log.tile_log.publish()
            await until(f"{log_kit.ORIGIN}/{number}", 6)
        # What was seen of the closed ones lies with them; the log verifies, these notes too.
        assert witnessed(world.aside(1))[0] == log_kit.ORIGIN
        assert all(one.ok for one in await world.verified())
        assert witnesses.health().status == "pass"
        await witnesses.close()
    await witness.close()
    await log.close()


async def test_a_cosignature_that_comes_after_the_turn_is_not_put_into_the_next_epoch(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = await world.open()
    await fill(log, 3)
    old = log.tile_log
    note = (await old.publish()).note
    cosigned = note + signers()[0].sign(Checkpoint.of_note(note).text(), 5).line()
    await log.end_epoch("age")
    for is_enough in (False, True):
        with pytest.raises(Unavailable):
            await old.add_cosignatures(cosigned, is_enough=is_enough)
    assert witnessed(world.log_folder) == ("", 0)
    assert not (world.aside(1) / "checkpoint.witnessed").exists()
    await log.close()
