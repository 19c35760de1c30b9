"""Four who lie to the swarm: a forger, an equivocator, one with many roots, a replayer.

Each has a way to lie once more (``lie``), and answers whoever asks (``Remote``). None knows an honest key.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta

from bench.swarmlab.honest import COMPUTED, COMPUTED_ANSWER, QUESTIONS, Honest
from node.audit.tlog.leaf import compose
from node.audit.tlog.tiles import Tile
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock
from node.core.errors import NotFound
from node.core.ipld.cid import Cid
from node.core.normalise import normalise
from node.core.record import AnswerRecord, Record, block_of, time_us
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, encode
from node.peers.rules.reconcile import Item, SortedSet, answer
from tests.record_builders import Author
from tests.simulators.peer import Publishing
from tests.tlog_memory import MemoryLog

Stash = dict[bytes, bytes]
"""Every block that any honest node ever had, by multihash."""


class Liar:
    """A ``Publishing`` at an address. ``stash``: what it has heard."""

    def __init__(self, name: str, seed: int, clock: Clock, rng: random.Random, stash: Stash) -> None:
        self.address = f"http://{name}.example"
        self.peer = Publishing(seed)
        self.clock = clock
        self.rng = rng
        self.stash = stash

    @property
    def root(self) -> str:
        return self.peer.root

    def lie(self, honest: Sequence[Honest]) -> None:
        """Once more."""

    def lie_to_the_end(self, turn: int) -> None:
        """What it does when the network is good."""

    def answered(self, query: str, text: str) -> AnswerRecord:
        return self.peer.answer(query, answer=text, timestamp=self.clock.now())

    def put(self, record: Record) -> Cid:
        cid, data = block_of(record)
        self.peer.blocks[cid] = data
        return cid

    def stolen(self, honest: Sequence[Honest]) -> tuple[Cid, bytes] | None:
        """An answer of somebody else, live or not."""
        known = [cid for one in honest for cid in one.ever if cid.multihash in self.stash]
        if not known:
            return None
        cid = self.rng.choice(known)
        return cid, self.stash[cid.multihash]

    # --- Remote -----------------------------------------------------------------------------------------

    def certificates(self, caller: int) -> tuple[str, list[bytes]]:
        return self.peer.root, self.peer.certificates

    def note(self, caller: int) -> bytes:
        return self.peer.file("checkpoint")

    def file(self, caller: int, path: str) -> bytes:
        return self.peer.file(path)

    async def some_blocks(self, cids: Sequence[Cid], bytes_max: int) -> list[tuple[Cid, bytes]]:
        return [(cid, self.peer.blocks[cid]) for cid in cids if cid in self.peer.blocks]

    def reconciled(self, message: bytes) -> bytes:
        return answer(self.peer.published(), message)


class Forger(Liar):
    """Speaks in others' names, with keys that nobody certified, and of records that are others'."""

    def lie(self, honest: Sequence[Honest]) -> None:
        rng, peer = self.rng, self.peer
        victim = rng.choice(honest)
        query = rng.choice(QUESTIONS)
        stolen = self.stolen(honest)
        match rng.randrange(9):
            case 0:
                record = peer.answer(query, issuer=victim.root, answer="forged", timestamp=self.clock.now())
                peer.publish_record(record)
            case 1 if stolen is not None:
                peer.blocks[stolen[0]] = stolen[1]
                peer.enter(Publish(stolen[0], "general", "ab" * 32, None))
            case 2:
                cid = peer.publish_record(self.answered(query, "bent on the way"))
                data = bytearray(peer.blocks[cid])
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                peer.blocks[cid] = bytes(data)
            case 3:
                cid = self.put(self.answered(query, "the entry lies"))
                peer.enter(Publish(cid, "general", "cd" * 32, self.clock.now() + timedelta(days=1)))
            case 4:
                key = Author(peer.seed + 200)
                record = key.answer(
                    query,
                    issuer=peer.root,
                    scope=SCOPE_PUBLIC,
                    answer="of no key",
                    timestamp=self.clock.now(),
                )
                peer.publish_record(record)
            case 5 if stolen is not None:
                stone = peer.node.tombstone(stolen[0], issuer=victim.root, scope=SCOPE_PUBLIC)
                peer.enter(Retract(stolen[0], "erased", self.put(stone)))
            case 6:
                lie = peer.author.key_record(peer.node.did, issuer=victim.root)
                peer.enter(Key(self.put(lie), peer.node.did, "node"))
            case 7 if stolen is not None:
                said = peer.node.validation(stolen[0], "invalid", issuer=victim.root, scope=SCOPE_PUBLIC)
                peer.enter(Validate(self.put(said), stolen[0], "invalid"))
            case _:
                peer.publish_record(self.answered(query, "as it seems to a forger"))


class Masked(Liar):
    """Shows an honest root's certificates over a log of its own."""

    def __init__(
        self, name: str, seed: int, clock: Clock, rng: random.Random, stash: Stash, victim: Honest
    ) -> None:
        super().__init__(name, seed, clock, rng, stash)
        self.victim = victim
        self.peer.origin = victim.log.memory.signer.verifier.name
        self.peer.log.signer = self.peer.signer()

    @property
    def root(self) -> str:
        return self.victim.root

    def lie(self, honest: Sequence[Honest]) -> None:
        query = self.rng.choice(QUESTIONS)
        record = self.peer.answer(
            query, issuer=self.victim.root, answer="behind a mask", timestamp=self.clock.now()
        )
        self.peer.publish_record(record)

    def certificates(self, caller: int) -> tuple[str, list[bytes]]:
        return self.victim.certificates(caller)


class Equivocator(Liar):
    """Keeps two histories after a common beginning and shows each caller now this, now that."""

    def __init__(self, name: str, seed: int, clock: Clock, rng: random.Random, stash: Stash) -> None:
        super().__init__(name, seed, clock, rng, stash)
        self.histories = (self.peer.log, MemoryLog(signer=self.peer.signer()))
        self._shown: dict[int, MemoryLog] = {}
        self._forced: int | None = None

    def lie(self, honest: Sequence[Honest]) -> None:
        which = self.rng.randrange(2)
        stolen = self.stolen(honest)
        if stolen is not None and self.rng.random() < 0.4:
            said = self.peer.node.validation(
                stolen[0],
                "invalid",
                issuer=self.root,
                scope=SCOPE_PUBLIC,
                timestamp=self.clock.now(),
                statement=f"{self.rng.getrandbits(128):032x}",
            )
            self._enter(which, Validate(self.put(said), stolen[0], "invalid"))
            return
        query = self.rng.choice(QUESTIONS[1:])
        record = self.answered(query, f"as history {which} has it")
        self._enter(which, Publish(self.put(record), "general", record.query_hash, None))

    def lie_to_the_end(self, turn: int) -> None:
        """Each history outgrows the other in turn, so that whoever has read one can be shown the proof."""
        self._forced = turn % 2
        other = len(self.histories[1 - self._forced].entries)
        while len(self.histories[self._forced].entries) <= other:
            record = self.answered(QUESTIONS[5], f"as history {self._forced} has it at last")
            self._enter(self._forced, Publish(self.put(record), "general", record.query_hash, None))

    def _enter(self, which: int, entry: PublicationEntry) -> None:
        log = self.histories[which]
        log.append(compose(encode(entry), len(log.entries), time_us(self.clock.now())))

    def note(self, caller: int) -> bytes:
        which = self.rng.randrange(2) if self._forced is None else self._forced
        self._shown[caller] = self.histories[which]
        return self._shown[caller].note()

    def file(self, caller: int, path: str) -> bytes:
        log = self._shown.get(caller, self.histories[0])
        tile = Tile.parse(path)
        if tile.index * 256 + tile.width > len(log.entries) >> (8 * max(tile.level, 0)):
            raise NotFound(f"there is no {path}")
        return log.tile_bytes(tile)


class Sybil(Liar):
    """One of many roots of one mind."""

    def lie(self, honest: Sequence[Honest]) -> None:
        query = self.rng.choice(QUESTIONS)
        if self.rng.random() < 0.2:
            right = COMPUTED_ANSWER if normalise(query) == COMPUTED else truth(query)
            self.peer.publish_record(self.answered(query, right))
            return
        cid = self.peer.publish_record(self.answered(query, "what all of us say, and wrong"))
        said = self.peer.node.validation(
            cid, "valid", issuer=self.root, scope=SCOPE_PUBLIC, timestamp=self.clock.now()
        )
        self.peer.enter(Validate(self.put(said), cid, "valid"))


class Replayer(Liar):
    """Has kept everything that was ever withdrawn and enters it as its own; asked for blocks it gives what it
    kept, at times with wrong bytes."""

    def lie(self, honest: Sequence[Honest]) -> None:
        if (stolen := self.stolen(honest)) is not None:
            self.peer.enter(Publish(stolen[0], "general", "ef" * 32, None))

    async def some_blocks(self, cids: Sequence[Cid], bytes_max: int) -> list[tuple[Cid, bytes]]:
        found = []
        for cid in cids:
            data = self.stash.get(cid.multihash)
            if data is not None and self.rng.random() < 0.8:
                found.append((cid, data if self.rng.random() < 0.7 else data[:-1] + bytes([data[-1] ^ 1])))
        return found


class Mirror(Replayer):
    """The replayer as another address of an honest root: old checkpoints, and in comparisons what was
    withdrawn, for good or, with ``names_superseded``, by the log alone."""

    names_superseded = True

    def __init__(
        self, name: str, seed: int, clock: Clock, rng: random.Random, stash: Stash, victim: Honest
    ) -> None:
        super().__init__(name, seed, clock, rng, stash)
        self.victim = victim

    @property
    def root(self) -> str:
        return self.victim.root

    def lie(self, honest: Sequence[Honest]) -> None:
        """Its lies are all in what it answers."""

    def certificates(self, caller: int) -> tuple[str, list[bytes]]:
        root, blocks = self.victim.certificates(caller)
        return root, blocks[: self.rng.randint(2, len(blocks))]

    def note(self, caller: int) -> bytes:
        size = self.victim.log.size()
        return self.victim.log.note(self.rng.randint(0, size) if self.rng.random() < 0.5 else size)

    def file(self, caller: int, path: str) -> bytes:
        return self.victim.log.file(path)

    def reconciled(self, message: bytes) -> bytes:
        ever = SortedSet()
        for cid, time_s in self.victim.ever.items():
            if self.names_superseded or cid in self.victim.deleted:
                ever.add(Item(time_s, cid.digest))
        return answer(ever, message)


def truth(query: str) -> str:
    """What everybody honest says most of the time."""
    return f"The answer to {normalise(query)} is known."
