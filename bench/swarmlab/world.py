"""One run of the swarm: who is in it, what happens, what is checked."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from bench.swarmlab.honest import COMPUTED, COMPUTED_ANSWER, QUESTIONS, Honest, Parts
from bench.swarmlab.liars import (
    Equivocator,
    Forger,
    Liar,
    Masked,
    Mirror,
    Replayer,
    Stash,
    Sybil,
    truth,
)
from bench.swarmlab.loop import SeededLoop, Stuck, VirtualClock
from bench.swarmlab.net import Net, Remote, Wire
from bench.swarmlab.rules import Rules
from node.core.ipld.cid import Cid
from node.core.normalise import normalise
from node.peers.rules.values import Contact, Level
from node.peers.sync.follow import EQUIVOCATION

LIARS = 4
STEPS_OF_ONE = 8
"""Steps of each honest node on the average."""
ROUNDS_MAX = 10
BROKEN_MAX = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """``broken``: what did not hold, in order; ``digest``: of all that happened."""

    seed: int
    broken: tuple[str, ...]
    digest: str
    counts: Counter[str]


def simulate(seed: int, *, nodes: int = 20, parts: Parts | None = None) -> Outcome:
    """One run, from the seed alone."""
    # A thousand swarms have nothing to say to a terminal; whoever runs one finds the level as it was.
    logger = logging.getLogger("neuroswarm")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    loop = SeededLoop(seed)
    try:
        world = World(seed, nodes - LIARS, loop, parts or Parts())
        try:
            loop.run_until_complete(world.run())
        except Stuck as exc:
            world.broken.append(f"stuck: {exc}")
        return Outcome(seed, tuple(world.broken), world.net.digest, world.net.counts)
    finally:
        loop.close()
        logger.setLevel(level)


class World:
    """``broken`` fills as it runs."""

    def __init__(self, seed: int, honest: int, loop: SeededLoop, parts: Parts) -> None:
        self.rng = random.Random(f"swarm {seed}")
        self.clock = VirtualClock(loop, random.Random(f"jitter {seed}"))
        self.net = Net(random.Random(f"net {seed}"))
        self.broken: list[str] = []
        self.honest = [
            Honest(number, self.clock, self.net, random.Random(f"{number} {seed}"), parts)
            for number in range(honest)
        ]
        self.rules = Rules({one.root: one for one in self.honest})
        self._stash: Stash = {}
        self._gap_s = self.rng.choice([1.0, 20.0, 90.0])
        self._parting: asyncio.Task[None] | None = None
        rng = random.Random(f"liars {seed}")
        common = (self.clock, rng, self._stash)
        self.forger = Forger("forger", 1, *common)
        self.equivocator = Equivocator("equivocator", 2, *common)
        self.sybils = [Sybil(f"sybil-{at}", 3 + at, *common) for at in range(3)]
        self.replayer = Replayer("replayer", 6, *common)
        self.liars: list[tuple[int, Liar]] = [
            (honest, self.forger),
            (honest, Masked("masked", 7, *common, self.honest[1])),
            (honest + 1, self.equivocator),
            *((honest + 2, one) for one in self.sybils),
            (honest + 3, self.replayer),
            (honest + 3, Mirror("mirror-0", 8, *common, self.honest[0])),
            (honest + 3, Mirror("mirror-2", 9, *common, self.honest[2])),
        ]

    async def run(self) -> None:
        """From the first key to the last comparison."""
        for node in self.honest:
            await self._prepare(node)
        for _ in range(STEPS_OF_ONE * len(self.honest)):
            await asyncio.sleep(self.rng.random() * 2 * self._gap_s)
            await self._step()
            if len(self.broken) >= BROKEN_MAX:
                break
        for node in self.honest:
            await asyncio.gather(*node.running)
        if self._parting is not None:
            self._parting.cancel()
            await asyncio.gather(self._parting, return_exceptions=True)
        if not self.broken:
            await self._settle()

    async def _prepare(self, node: Honest) -> None:
        remotes: list[tuple[int, Remote]] = [
            *((one.number, one) for one in self.honest if one is not node),
            *self.liars,
        ]
        self.rng.shuffle(remotes)
        for number, remote in remotes:
            node.links[remote.address] = Wire(self.net, node.number, number, remote)
            await node.store.put_contact(Contact(remote.address, "operator", None, self.clock.now()))
        near = self.rng.sample([one for one in self.honest if one is not node], 2)
        helpers = [self.replayer.address, *(one.address for one in near)]
        self.rng.shuffle(helpers)
        node.others += [node.links[address] for address in helpers]
        for one in self.honest:
            if one is not node:
                await node.stand(one.root, Level.TRUSTED, f"h{one.number % 3}" if one.number % 2 else None)
        await node.stand(self.equivocator.root, Level.TRUSTED)
        if node.number % 2:
            await node.stand(self.forger.root, Level.TRUSTED)
        for sybil in self.sybils:
            await node.stand(sybil.root, Level.KNOWN, "one")
        await node.certify(node.key, "node")
        await node.certify(node.log_key, "publications")
        for _ in range(3):
            await self._say(node)
        await node.publisher.catch_up()

    # --- steps ------------------------------------------------------------------------------------------

    async def _step(self) -> None:
        if self.rng.random() < 0.25:
            self.rng.choice(self.liars)[1].lie(self.honest)
        if self._parting is None and self.rng.random() < 0.02:
            self._parting = asyncio.get_running_loop().create_task(self._part())
        node = self.rng.choice(self.honest)
        if self.rng.random() < 0.04:
            self.net.counts["crashes"] += 1
            self.net.trace("crash", node.number)
            await node.crash()
            await self._check(node)
            return
        task = asyncio.get_running_loop().create_task(self._move(node, self._action(node)))
        node.running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What no node may raise."""
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.broken.append(f"raised {problem!r}")

    async def _part(self) -> None:
        """Two halves that do not reach each other for a while."""
        everybody = range(len(self.honest) + LIARS)
        self.net.parted = frozenset(self.rng.sample(everybody, len(everybody) // 2))
        self.net.counts["partitions"] += 1
        await asyncio.sleep(self._gap_s * self.rng.uniform(5, 40))
        self.net.parted = frozenset()

    def _action(self, node: Honest) -> Callable[[], Awaitable[object]]:
        rng = self.rng
        addresses = rng.sample(list(node.links), rng.randint(1, 6))

        async def sync_some() -> None:
            for address in addresses:
                await node.sync.sync(address)

        async def sync_together() -> None:
            await asyncio.gather(*(node.sync.sync(address) for address in addresses))

        async def mend() -> None:
            mirrors = [one.address for _, one in self.liars if isinstance(one, Mirror)]
            await node.sync.mend(rng.choice([addresses[0], *mirrors]))

        kinds: list[tuple[int, Callable[[], Awaitable[object]]]] = [
            (30, sync_some),
            (12, sync_together),
            (3, lambda: node.sync.sync_all()),
            (9, mend),
            (26, lambda: self._say(node)),
            (7, lambda: self._delete(node)),
            (6, lambda: self._vouch(node)),
            (6, lambda: node.rotate(is_stolen=rng.random() < 0.5)),
            (4, lambda: self._judge(node)),
            (4, node.admitter.sweep),
        ]
        [(_, action)] = rng.choices(kinds, weights=[weight for weight, _ in kinds])
        return action

    async def _move(self, node: Honest, action: Callable[[], Awaitable[object]]) -> None:
        try:
            await action()
            await node.publisher.catch_up()
        finally:
            task = asyncio.current_task()
            assert task is not None
            node.running.discard(task)
            self._stash.update(node.main.blocks_by_multihash)
        if not node.running:
            await self._check(node)

    async def _check(self, node: Honest) -> None:
        self.net.counts["checks"] += 1
        self.broken += await self.rules.broken(node)

    async def _say(self, node: Honest) -> None:
        query = self.rng.choice(QUESTIONS)
        text = truth(query) if self.rng.random() < 0.7 else f"{truth(query)} So says {node.number}."
        is_ending = self.rng.random() < 0.2
        expires = self.clock.now() + timedelta(minutes=self.rng.randint(1, 60)) if is_ending else None
        await node.say(query, COMPUTED_ANSWER if normalise(query) == COMPUTED else text, expires)

    async def _delete(self, node: Honest) -> None:
        own = await node.own()
        if own:
            await node.delete(self.rng.choice(own).cid)

    async def _vouch(self, node: Honest) -> None:
        """Right about everybody: what is honest is valid, what a liar says is not."""
        known = await node.answers()
        if known:
            one = self.rng.choice(known)
            is_honest = one.origin in {other.root for other in self.honest} or one.origin == "local"
            await node.vouch(one.cid, "valid" if is_honest else "invalid")

    async def _judge(self, node: Honest) -> None:
        """The operator thinks otherwise of a liar."""
        level = self.rng.choice([Level.TRUSTED, Level.UNKNOWN, Level.BLOCKED])
        await node.stand(self.forger.root, level)

    # --- the end ----------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Everybody reads everybody, until nothing changes."""
        self.net.parted = frozenset()
        self.net.is_good = True
        before: list[frozenset[Cid]] = []
        for turn in range(ROUNDS_MAX):
            self.equivocator.lie_to_the_end(turn)
            for node in self.honest:
                await node.publisher.catch_up()
            for node in self.honest:
                await node.sync.sync_all(is_hurried=True)
                if turn == 2:
                    for address in node.links:
                        await node.sync.mend(address)
                await node.admitter.sweep()
            now = [frozenset(one.cid for one in await node.answers()) for node in self.honest]
            if turn >= 4 and now == before:
                break
            before = now
            await asyncio.sleep(700)
        else:
            self.broken.append(f"still changing after {ROUNDS_MAX} rounds")
        self.net.counts["rounds to settle"] += turn + 1
        for node in self.honest:
            await node.admitter.sweep()
        for node in self.honest:
            await self._check(node)
            self.broken += await self.rules.unequal(node)
            standing = await node.store.standing(self.equivocator.root)
            if standing.dropped != EQUIVOCATION or self.equivocator.root not in node.evidence:
                self.broken.append(f"node {node.number} did not drop the equivocator, or kept no evidence")
