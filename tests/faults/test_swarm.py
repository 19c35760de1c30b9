"""Twenty real nodes on a bad network, four of which lie, by seed (``bench.swarm``)."""

from __future__ import annotations

import pytest

from bench.swarmlab.world import simulate


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_a_swarm_of_twenty_keeps_its_promises(seed: int) -> None:
    outcome = simulate(seed)
    told = "\n".join(outcome.broken)
    assert not outcome.broken, f"python -m bench.swarm --seeds 1 --first {seed}:\n{told}"
    assert outcome.counts["admitted trusted"] > 100, seed
