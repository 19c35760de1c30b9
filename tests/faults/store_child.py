"""The other process of ``test_store_faults.py``: works on a store until it is killed or the disk says no.

Each line on standard output was printed after the store had acknowledged what it names.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from node.core.errors import Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ports import Use
from node.store.sqlite import SqliteStore
from tests.record_builders import SCOPES, Author

US = Author(1)
CHAINS = 6
NOBODY = 65_534


def say(*words: object) -> None:
    print(*words, flush=True)


async def write_until_killed(path: Path, run: str, scope: str) -> None:
    """Six chains at once, in which each record supersedes the one before; now and then one is withdrawn."""
    store = await SqliteStore.open(path, own_issuer=US.did)

    async def chain(number: int) -> None:
        previous: list[Cid] = []
        for step in range(100_000):
            record = US.answer(
                f"{run} {number} {step}", slot_key=f"{run}:{number}", answer="x" * 2_000, scope=scope
            )
            stored = await store.records.add(record, supersede=previous)
            say("added", stored.cid, number)
            previous = [stored.cid]
            if step % 5 == 0:
                side = await store.records.add(US.answer(f"side {run} {number} {step}", scope=scope))
                say("added", side.cid, "-")
                await store.records.add(US.validation(side.cid, "invalid", scope=scope))
                say("withdrawn", side.cid, "-")

    await asyncio.gather(*(chain(number) for number in range(CHAINS)))


async def merge_until_killed(path: Path, run: str) -> None:
    """Chains in which each record takes the one before in, or is taken in by it, is used, and now and then is
    taken back with all that it stands for."""
    store = await SqliteStore.open(path, own_issuer=US.did)

    async def chain(number: int) -> None:
        survivor: Cid | None = None
        for step in range(100_000):
            record = US.answer(f"{run} {number} wording {step}", answer=f"answer of {run} {number}")
            if step % 3 == 0 or survivor is None:
                merge = [] if survivor is None else [survivor]
                survivor = (await store.records.add(record, merge=merge)).cid
                say("survives", survivor, f"{number}:{step}")
            else:
                stored = await store.records.add(record, into=survivor)
                say("merged", stored.cid, survivor)
            await store.records.note_uses([Use(survivor, 1, step)])
            if step % 10 == 9:
                await store.records.add(US.tombstone(survivor))
                say("buried", survivor, "-")
                survivor = None

    await asyncio.gather(*(chain(number) for number in range(CHAINS)))


async def open_until_killed(path: Path) -> None:
    """What opening does to a file of an older format takes as long as it takes."""
    say("opening", "-", "-")
    store = await SqliteStore.open(path, own_issuer=US.did)
    say("open", "-", "-")
    await store.close()


async def fill_the_disk(path: Path) -> None:
    """A limit on file size stands for a full disk: the write fails in the middle of a transaction."""
    store = await SqliteStore.open(path, own_issuer=US.did)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))
    kept: list[Cid] = []
    reasons: set[str] = set()
    for batch in range(100):
        records = [US.answer(f"q {batch} {i}", answer="x" * 20_000) for i in range(10)]
        adding = (store.records.add(record, supersede=kept[-1:]) for record in records)
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Unavailable):
                reasons.add(str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                kept.append(outcome.cid)
        if reasons:
            break
    readable = [(await store.records.get(cid)).cid for cid in kept]
    before = await store.records.counts()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    after = await store.records.add(US.answer("room again"))
    await store.close()
    cids = {"kept": [str(cid) for cid in kept], "readable": [str(cid) for cid in readable]}
    say(
        json.dumps(
            {**cids, "reasons": sorted(reasons), "records": before["records"], "after": str(after.cid)}
        )
    )


def take_the_right_to_write(path: Path) -> None:
    path.chmod(0o444)
    if os.geteuid() == 0:
        os.setuid(NOBODY)  # root may write whatever the mode says


async def use_a_read_only_file(path: Path) -> None:
    store = await SqliteStore.open(path, own_issuer=US.did)
    stored = await store.records.add(US.answer("before"))
    await store.close()
    take_the_right_to_write(path)
    store = await SqliteStore.open(path, own_issuer=US.did)
    reasons = []
    for write in (store.records.add(US.answer("after")), store.blocks.put(Cid.of(b"x", RAW), b"x")):
        try:
            await write
        except Unavailable as exc:
            reasons.append(str(exc))
    found = await store.records.find(
        "query_hash", US.answer("before").query_hash, scopes=SCOPES, context=None
    )
    counts = await store.records.counts()
    await store.close()
    is_found = [one.cid == stored.cid for one in found]
    say(json.dumps({"reasons": reasons, "found": is_found, "records": counts["records"]}))


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    mode, where, *more = sys.argv[1:]
    modes: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
        "write": write_until_killed,
        "merge": merge_until_killed,
        "open": open_until_killed,
        "fill": fill_the_disk,
        "read-only": use_a_read_only_file,
    }
    asyncio.run(modes[mode](Path(where), *more))
