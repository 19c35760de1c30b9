"""What mending costs: bytes, round trips and CPU of range reconciliation, beside sending all ids.

    python -m bench.reconcile [--quick] [--write]

Method: a server with n items and a client that lacks some of them, the newest or random ones (a fixed seed),
talk in this process by the functions that nodes use, with real messages; each pair is checked to find exactly
what is missing. Bytes are those of all messages both ways, without HTTP. A round trip is a question and its
answer. CPU is user and system time of both sides together, the least of several turns; its ratio is to a full
list exchange at the same n, which is done here as well: the server writes all its ids in one message, the
client reads it and takes the difference of two sets. One item a second, ids as SHA-256 makes them.

``--quick`` leaves out the million. The report goes to the terminal; ``--write`` also writes
``results/reconcile.md``.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import random
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.__main__ import machine
from node.peers.rules.reconcile import Client, Item, SortedSet, answer
from node.peers.rules.sorted_set import ID_BYTES

RESULT = Path(__file__).resolve().parent / "results" / "reconcile.md"
SIZES = (1_000, 100_000, 1_000_000)
DIFFERENCES = (10, 1_000)
TURNS = 5
START_S = 1_700_000_000
SEED = 9

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    bytes: int
    round_trips: int
    cpu_s: float


def item(number: int) -> Item:
    return Item(START_S + number, hashlib.sha256(b"%d" % number).digest())


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def least(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of the cheapest of several turns, and what the last one returned."""
    taken: list[float] = []
    gc.collect()
    for _ in range(TURNS):
        before = cpu_s()
        result = work()
        taken.append(cpu_s() - before)
    return min(taken), result


def talk(ours: SortedSet, theirs: SortedSet) -> tuple[int, int, frozenset[bytes]]:
    """Bytes both ways, round trips, what was found missing."""
    client = Client(ours)
    message: bytes | None = client.first()
    size = trips = 0
    while message is not None:
        reply = answer(theirs, message)
        size, trips = size + len(message) + len(reply), trips + 1
        message = client.take(reply)
    return size, trips, client.missing


def whole_list(ours: SortedSet, theirs: SortedSet) -> tuple[int, set[bytes]]:
    """The same by sending everything."""
    message = b"".join(theirs.ids(0, len(theirs)))
    there = {message[at : at + ID_BYTES] for at in range(0, len(message), ID_BYTES)}
    return len(message), there - set(ours.ids(0, len(ours)))


def reconciled(ours: SortedSet, theirs: SortedSet, numbers: Sequence[int]) -> Cost:
    """Take ``numbers`` away from ``ours``, measure, and bring them back. Raises ``AssertionError`` where
    anything else was found."""
    lacking = [item(number) for number in numbers]
    for one in lacking:
        ours.discard(one)
    len(ours)  # merges: belongs to the change
    taken, (size, trips, missing) = least(lambda: talk(ours, theirs))
    if missing != {one.id for one in lacking}:
        raise AssertionError(f"{len(missing)} ids were found missing, not {len(lacking)}")
    for one in lacking:
        ours.add(one)
    return Cost(size, trips, taken)


def measured(sizes: Sequence[int]) -> Iterator[tuple[str, ...]]:
    for size in sizes:
        theirs, ours = (SortedSet(map(item, range(size))) for _ in range(2))
        all_cpu_s, (all_bytes, _) = least(partial(whole_list, ours, theirs))
        yield (f"{size:,}", "all ids sent", _kib(all_bytes), "1", _ms(all_cpu_s), "1.00", "1.000")
        chance = random.Random(SEED)
        cases: list[tuple[str, Sequence[int]]] = [("nothing", ())]
        for count in DIFFERENCES:
            cases.append((f"{count:,} newest", range(size - count, size)))
            if count < size:
                cases.append((f"{count:,} random", chance.sample(range(size), count)))
        for name, numbers in cases:
            cost = reconciled(ours, theirs, numbers)
            ratios = f"{cost.cpu_s / all_cpu_s:.2f}", f"{cost.bytes / all_bytes:.3f}"
            yield (f"{size:,}", name, _kib(cost.bytes), str(cost.round_trips), _ms(cost.cpu_s), *ratios)


def _kib(size: int) -> str:
    return f"{size / 1_024:,.1f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1_000:,.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="What range reconciliation costs.")
    parser.add_argument("--quick", action="store_true", help="without the million items")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name} into bench/results")
    given = parser.parse_args()
    facts = machine()
    rows = [
        ("items", "missing", "KiB both ways", "round trips", "CPU ms", "CPU to all ids", "bytes to all ids"),
        ("---:", "---", "---:", "---:", "---:", "---:", "---:"),
        *measured(SIZES[:-1] if given.quick else SIZES),
    ]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    print(text)
    if given.write:
        head = "# Range reconciliation\n\nWritten by `python -m bench.reconcile` with `--write`.\n\n"
        RESULT.write_text(head + "\n".join(f"- {fact}" for fact in facts) + f"\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
