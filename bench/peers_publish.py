"""How fast a node enters what it shares in its publications log, and what it costs to start with a long one.

    python -m bench.peers_publish [--records N] [--write]

Method: N answer records of ours, all public and signed, are put into a record store on disk in this process
(not timed). Then the publisher that a node runs follows that store from its beginning, into a log on disk:
every entry is composed, written to the journal and synced before it counts; checkpoints are signed as in a
node. Timed by wall clock is the whole of ``catch_up``: reading and decoding the records, finding their class
(a constant here: the node's own reading of a question is measured by ``bench.routing``) and the appends. A
second publisher on the same files then stands for a restart after a stop (after a kill an eighth of the log
is read back at most): it holds its index to the log, reads back what came after, and finds nothing to enter,
which is checked, as is that each record was entered exactly once. A third one, whose index was taken away,
reads the whole log back and dates what is shared; both have to say the same. Memory is what Python allocated
for the publisher that was built last, by ``tracemalloc`` in a turn of its own, which is not timed.

The report goes to the terminal; ``--write`` also writes ``results/peers_publish.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.__main__ import machine
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.writer import TileLog
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import SystemClock
from node.core.errors import NotFound
from node.core.normalise import normalise
from node.core.record import AnswerRecord, RecordSource, did_key, sign
from node.core.signed_note import Ed25519Signer
from node.peers.rules.entry import Publish, read
from node.peers.rules.sorted_set import SortedSet
from node.peers.sync.publish import Places, Publisher, ReadBack
from node.peers.sync.publish_index import root_at
from node.store.sqlite import SqliteStore

RESULT = Path(__file__).resolve().parent / "results" / "peers_publish.md"
ORIGIN = "bench.neuroswarm/publications"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
DID = did_key(KEY.public_key().public_bytes_raw())
_AT_ONCE = 256
_STOP_S = 60.0


class Node:
    """A store, its publications log, and publishers between them."""

    def __init__(self, folder: Path, store: SqliteStore, log: TileLog, clock: SystemClock) -> None:
        self.folder, self.store, self.log, self.clock = folder, store, log, clock
        self.source = FolderSource(folder / "log")
        self.reader = LogReader(self.source)
        self.index = folder / "publications.index"
        self.entries_read = 0

    @classmethod
    async def open(cls, folder: Path, clock: SystemClock) -> Node:
        store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=DID)
        log = await TileLog.open(
            folder / "log", ORIGIN, [Ed25519Signer(ORIGIN, KEY)], clock, high_water=folder / "signed"
        )
        return cls(folder, store, log, clock)

    async def entries(self, first: int, end: int) -> Sequence[bytes]:
        published = self.log.published
        self.entries_read += end - first
        return [] if published is None else await self.reader.entries(first, end - first, published.size)

    async def root_at(self, size: int) -> bytes:
        if self.log.published is None:
            raise NotFound("no checkpoint yet")
        return await root_at(self.source, self.log.published.note, size)

    def publisher(self) -> Publisher:
        return Publisher(
            self.store.records,
            self.log,
            self.clock,
            ReadBack(self.entries, self.root_at),
            own=DID,
            class_of=lambda _: "general",
            places=Places(self.folder / "publications.json", self.index),
        )

    async def close(self) -> None:
        await self.log.close()
        await self.store.close()


def record(number: int, clock: SystemClock) -> AnswerRecord:
    question = f"What is the meaning of the word number {number}?"
    answer = AnswerRecord(
        issuer=DID,
        key=DID,
        scope=SCOPE_PUBLIC,
        timestamp=clock.now(),
        expires=None,
        query=normalise(question),
        answer=f"An answer of some length to the question: {question} " * 4,
        route="generative",
        source=RecordSource("llm", "bench-model"),
        confidence=870_000,
        confidence_parts={"source": 900_000, "completeness": 800_000},
    )
    return sign(answer, KEY.sign)


async def filled(node: Node, count: int) -> None:
    for first in range(0, count, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, count))
        await asyncio.gather(*(node.store.records.add(record(number, node.clock)) for number in some))


async def check(node: Node, count: int) -> None:
    """Every record once. Raises ``AssertionError``."""
    size = (await node.log.publish()).size
    seen: set[bytes] = set()
    for first in range(0, size, _AT_ONCE):
        leaves = await node.entries(first, min(first + _AT_ONCE, size))
        for index, leaf in enumerate(leaves, first):
            entry = read(index, leaf)
            assert isinstance(entry, Publish)
            seen.add(entry.cid.digest)
    if not size == len(seen) == count:
        raise AssertionError(f"{count} records, {size} entries, {len(seen)} of them different")


async def again(node: Node, count: int) -> tuple[Publisher, float]:
    """A restart: seconds until it knows that there is nothing to enter."""
    node.entries_read = 0
    publisher, began = node.publisher(), node.clock.monotonic()
    entered = await publisher.catch_up()
    took_s = node.clock.monotonic() - began
    if entered or len(publisher.published) != count:
        raise AssertionError(f"a restart entered {entered} and knows {len(publisher.published)} of {count}")
    return publisher, took_s


def _same(one: SortedSet, other: SortedSet) -> bool:
    return one.ids(0, len(one)) == other.ids(0, len(other))


async def measured(count: int) -> list[tuple[str, str]]:
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as name:
        node = await Node.open(Path(name), clock)
        try:
            await filled(node, count)
            publisher, began = node.publisher(), clock.monotonic()
            entered = await publisher.catch_up()
            took_s = clock.monotonic() - began
            publisher.start()
            await publisher.close(_STOP_S)
            if entered != count:
                raise AssertionError(f"{entered} of {count} were entered")
            await check(node, count)
            first, restart_s = await again(node, count)
            read_back, index_bytes = node.entries_read, node.index.stat().st_size
            node.index.unlink()
            second, whole_s = await again(node, count)
            if node.entries_read != count or not _same(first.published, second.published):
                raise AssertionError("the index says something else than the log")
            tracemalloc.start()
            kept, _ = await again(node, count)
            size, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert len(kept.published) == count
        finally:
            await node.close()
    return [
        ("records", f"{count:,}"),
        ("published, a second", f"{count / took_s:,.0f}"),
        ("seconds to start again", f"{restart_s:,.1f}"),
        ("entries of the log that this read", f"{read_back:,}"),
        ("MiB of its index", f"{index_bytes / 2**20:,.1f}"),
        ("seconds without the index", f"{whole_s:,.1f}"),
        ("bytes of memory for each record, kept", f"{size / count:,.0f}"),
        ("MiB at most while it starts", f"{most / 2**20:,.1f}"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast a node publishes.")
    parser.add_argument("--records", type=int, default=100_000, help="how many (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name} into bench/results")
    given = parser.parse_args()
    facts = machine()
    rows = [("what", "value"), ("---", "---:"), *asyncio.run(measured(given.records))]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    print(text)
    if given.write:
        head = "# Publishing\n\nWritten by `python -m bench.peers_publish` with `--write`.\n\n"
        RESULT.write_text(head + "\n".join(f"- {fact}" for fact in facts) + f"\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
