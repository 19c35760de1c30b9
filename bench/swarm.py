"""Twenty nodes on a network that loses, delays, cuts and parts: ``python -m bench.swarm --seeds 1000``.

Sixteen are honest: the real ``Publisher``, ``PeerSync`` and ``Admitter`` over stores in memory. They answer a
few questions, answer them anew, delete, vouch, rotate and revoke keys, and crash. Four lie
(``bench.swarmlab.liars``). After each step the node that moved is checked (``bench.swarmlab.rules``); at the
end the network is good, everybody syncs with everybody, and what is live must be what honest nodes share.

A seed repeats exactly: time is virtual, ready callbacks are shuffled by the seed, and so is everything else.
Prints each failing seed with what was broken; exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from bench.swarmlab.world import Outcome, simulate
from node.core.clock import SystemClock

SAID_EACH = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds, ``--jobs`` at a time; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="bench.swarm", description="many nodes, a bad network, four liars")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=20, help="four of them lie")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    if options.nodes < 7:
        parser.error("a swarm has 7 nodes at least")
    clock = SystemClock()
    started = clock.monotonic()
    failed: list[int] = []
    total: Counter[str] = Counter()
    ran = 0
    try:
        for outcome in _outcomes(options.first, options.seeds, options.nodes, options.jobs):
            ran += 1
            total.update(outcome.counts)
            if outcome.broken:
                failed.append(outcome.seed)
                print(f"seed {outcome.seed}: {_said(outcome)}", flush=True)
            if ran % SAID_EACH == 0:
                said = f"{ran} seeds, {len(failed)} failed, {clock.monotonic() - started:.0f} s"
                print(said, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass  # the number below is the true one
    took_s = clock.monotonic() - started
    print(f"{ran} seeds from {options.first} on, {options.nodes} nodes, {took_s:.0f} s")
    print(f"{len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}")
    print(", ".join(f"{name} {times:,}" for name, times in sorted(total.items())))
    return 1 if failed else 0


def _outcomes(first: int, seeds: int, nodes: int, jobs: int) -> Iterator[Outcome]:
    """One for each seed, as they end."""
    run = partial(simulate, nodes=nodes)
    if jobs <= 1:
        yield from map(run, range(first, first + seeds))
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(run, range(first, first + seeds))


def _said(outcome: Outcome) -> str:
    return "; ".join(outcome.broken[:4])


if __name__ == "__main__":
    if sys.flags.hash_randomization:  # the order of sets is part of what a seed repeats
        again = [sys.executable, "-m", "bench.swarm", *sys.argv[1:]]
        sys.exit(subprocess.run(again, env={**os.environ, "PYTHONHASHSEED": "0"}, check=False).returncode)
    sys.exit(main())
