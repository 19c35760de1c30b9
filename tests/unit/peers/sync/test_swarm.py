"""Real nodes on a bad network with four liars among them, by seed; and that the checks can fail.
Swarms of twenty are in ``tests/faults/test_swarm.py``, a thousand seeds behind ``python -m bench.swarm``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from bench.swarmlab.honest import Parts
from bench.swarmlab.world import simulate
from node.core.clock import Clock
from node.peers.rules.entry import Retract
from node.peers.rules.values import Held, Standing, Tier
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter
from node.peers.sync.serving import Serving
from node.peers.sync.weigh import Scales

FEW = 9
"""Five of them are honest."""


def check(seed: int, nodes: int) -> None:
    outcome = simulate(seed, nodes=nodes)
    assert not outcome.broken, (
        f"python -m bench.swarm --seeds 1 --first {seed} --nodes {nodes}: " + "\n".join(outcome.broken)
    )
    assert outcome.counts["admitted trusted"] > 0, seed
    assert outcome.counts["checks"] > 0, seed


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_small_swarm_keeps_its_promises(seed: int) -> None:
    check(seed, FEW)


def test_a_seed_repeats_exactly() -> None:
    one, again, other = (simulate(seed, nodes=7) for seed in (7, 7, 8))
    assert (one.digest, one.counts) == (again.digest, again.counts)
    assert one.digest != other.digest


class CredulousScales(Scales):
    async def tier(
        self, held: Held, rivals: Sequence[Held], known: Mapping[str, Standing]
    ) -> tuple[Tier, str]:
        tier, why = await super().tier(held, rivals, known)
        return (tier, why) if why else (Tier.TRUSTED, "")


class Credulous(Admitter):
    """Serves whoever is no blocked or dropped one."""

    def __init__(self, store: PeerStore, serving: Serving, clock: Clock, *more: Any) -> None:
        super().__init__(store, serving, clock, *more)
        self._scales = CredulousScales(store, clock, 1)


class Deaf(Admitter):
    """Hears of no change of standing or keys."""

    async def retier(self, root: str) -> None:
        self._scales.forget(root)
        await self._store.finish(root)


class Trusting(Admitter):
    """Hears that a root was dropped, and of no key that was revoked."""

    async def retier(self, root: str) -> None:
        if (await self._store.standing(root)).dropped:
            await super().retier(root)
        await self._store.finish(root)


class Hoarder(Admitter):
    """Takes nothing out of service."""

    async def retract(self, root: str, entry: Retract, tombstone_block: bytes | None) -> str:
        return "withdrawn"


def is_caught(what: str, seeds: Collection[int], parts: Parts) -> bool:
    """Whether one of the seeds shows that with these parts."""
    outcomes = (simulate(seed, nodes=FEW, parts=parts) for seed in seeds)
    return any(what in one for outcome in outcomes for one in outcome.broken)


def test_serving_the_untrusted_is_caught() -> None:
    assert is_caught("groups say it", range(1, 4), Parts(admitter=Credulous))


def test_not_hearing_of_a_dropped_root_is_caught() -> None:
    assert is_caught("is not listened to", range(1, 4), Parts(admitter=Deaf))


def test_not_hearing_of_a_revoked_key_is_caught() -> None:
    assert is_caught("key_revoked", range(1, 9), Parts(admitter=Trusting))


def test_what_is_not_taken_back_is_caught() -> None:
    assert is_caught("still serves", range(1, 4), Parts(admitter=Hoarder))
