"""Random damage to each kind of file of a data directory, and what came of it.

``python -m bench.damage --n 100 --seed 1`` damages each kind of file ``--n`` times, one at a time, in a copy
of a small world (answers that are shared and private, some erased, one called invalid), starts a node, asks
everything, runs ``doctor --fix`` where the start is refused or health fails, starts again and asks again.
Outcomes, of which ``wrong`` must be 0:

- ``unharmed``: everything was answered, nothing had to be said;
- ``repaired``: everything is answered, after a repair by the start or by ``doctor --fix``;
- ``lost``: some answers are gone, and health or the repair says so;
- ``unsaid``: some answers are gone, and nobody said so;
- ``refused``: the node does not start, and says which file and what to do (keys, the log);
- ``crashed``: something else than one of this program's own errors;
- ``wrong``: an answer that was not stored, or one that was erased or called invalid.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from node.app.fix import fix
from node.core.errors import NodeError
from node.core.settings import load
from tests.faults.damage_kit import answer
from tests.faults.node_kit import Client, environ_of, start

SHARED, PRIVATE = range(24), range(24, 32)
ERASED, INVALID = (20, 30), 21
OUTCOMES = ("unharmed", "repaired", "lost", "unsaid", "refused", "crashed", "wrong")
KINDS = (
    "data/blocks.sqlite",
    "data/foreign.sqlite",
    "data/names.sqlite",
    "data/head_blocks.sqlite",
    "data/log_blocks.sqlite",
    "data/state.sqlite",
    "data/peers.sqlite",
    "data/labels.sqlite",
    "data/refuted.sqlite",
    "data/head.json",
    "data/stored.json",
    "data/knowledge-index.json",
    "data/keys/record_keys",
    "data/publications/**/*",
    "governance_logs/**/*",
)


def question(number: int) -> str:
    return f"Name the colour of boat number {number}"


async def make_world(folder: Path) -> None:
    """A node that was stopped."""
    async with start(folder) as node:
        for number in (*SHARED, *PRIVATE):
            scope = "private" if number in PRIVATE else "shared"
            cid = await node.store(question(number), answer(number), scope=scope)
            if number in ERASED:
                await node.delete(cid)
            elif number == INVALID:
                await node.judge("invalid", cid=cid)
    async with start(folder):
        pass


async def ask(node: Client) -> Counter[str]:
    """right, none, or wrong, of all that was ever stored."""
    said: Counter[str] = Counter()
    for number in (*SHARED, *PRIVATE):
        is_gone = number in (*ERASED, INVALID)
        status, reply = await node.post("/v1/cache/search", {"query": question(number)})
        if status != 200 or reply["hit"] is None:
            said["right" if is_gone else "none"] += 1
        else:
            said["wrong" if is_gone or reply["answer"] != answer(number) else "right"] += 1
    return said


# --- damage ---------------------------------------------------------------------------------------


def flip_bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def change_run(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    end = min(len(data), at + rng.choice((16, 256, 4_096)))
    data[at:end] = rng.randbytes(end - at)


def zero_page(data: bytearray, rng: random.Random) -> None:
    size = rng.choice((512, 4_096, 16_384))
    at = rng.randrange(len(data)) // size * size
    data[at : at + size] = bytes(len(data[at : at + size]))


def cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def swap_pages(data: bytearray, rng: random.Random) -> None:
    size = 4_096
    one, other = (rng.randrange(len(data)) // size * size for _ in range(2))
    first, second = bytes(data[one : one + size]), bytes(data[other : other + size])
    if len(first) == len(second):
        data[one : one + size], data[other : other + size] = second, first


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bit,
    change_run,
    zero_page,
    cut,
    swap_pages,
)


def harm(folder: Path, kind: str, rng: random.Random) -> str:
    """Damage one file of a kind, or delete it; what was done."""
    files = sorted(path for path in folder.glob(kind) if path.is_file() and path.stat().st_size)
    path = rng.choice(files)
    if rng.random() < 0.1:
        path.unlink()
        return f"{path.relative_to(folder)}: deleted"
    data, damage = bytearray(path.read_bytes()), rng.choice(DAMAGES)
    damage(data, rng)
    path.write_bytes(data)
    return f"{path.relative_to(folder)}: {damage.__name__}"


# --- one damage, and all of them ------------------------------------------------------------------


async def outcome(folder: Path) -> tuple[str, str]:
    """What comes of a damaged world, and what was said."""
    said, is_repaired = "", False
    for attempt in range(2):
        try:
            async with start(folder) as node:
                health = await node.check("ipfs:blocks")
                found = await ask(node)
            is_failing = health["status"] == "fail"
            said = health["output"] if is_failing else said
            if found["wrong"]:
                return "wrong", str(found)
            if not is_failing and not found["none"]:
                is_repaired |= (folder / "data" / "damaged").exists()
                return "repaired" if is_repaired else "unharmed", said
            if attempt:
                return "lost" if is_failing else "unsaid", said or str(found)
        except NodeError as exc:
            said = str(exc)
            if attempt:
                return "refused", said
        try:
            done = await fix(load(environ_of(folder)))
            is_repaired = True
            said = f"lost {len(done.lost)}" if done.lost else said
        except NodeError as exc:
            return "refused", str(exc)
    return "lost", said


async def campaign(
    kinds: tuple[str, ...], n: int, seed: int, verbose: bool
) -> Sequence[tuple[str, Counter[str]]]:
    base = Path(tempfile.mkdtemp(prefix="neuroswarm-damage-"))
    table: list[tuple[str, Counter[str]]] = []
    try:
        await make_world(base / "world")
        for kind in kinds:
            counts: Counter[str] = Counter()
            for number in range(n):
                copy = base / "copy"
                shutil.copytree(base / "world", copy)
                done = harm(copy, kind, random.Random(f"{seed} {kind} {number}"))
                try:
                    what, said = await outcome(copy)
                except Exception as exc:  # noqa: BLE001 - what is not an error of ours is looked for
                    what, said = "crashed", repr(exc)
                counts[what] += 1
                if verbose or what in ("wrong", "unsaid", "crashed"):
                    print(f"{kind} {number} {done}: {what} ({said[:300]})", file=sys.stderr, flush=True)
                shutil.rmtree(copy)
            table.append((kind, counts))
            print(f"| `{kind}` | " + " | ".join(str(counts[one]) for one in OUTCOMES) + " |", flush=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.damage", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--n", type=int, default=100, help="damages of each kind of file (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these kinds of files")
    parser.add_argument("--verbose", action="store_true", help="say each outcome")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"| file | {' | '.join(OUTCOMES)} |\n| --- |{' ---: |' * len(OUTCOMES)}", flush=True)
    table = asyncio.run(campaign(tuple(args.kind or KINDS), args.n, args.seed, args.verbose))
    return 1 if any(counts["wrong"] or counts["crashed"] for _, counts in table) else 0


if __name__ == "__main__":
    sys.exit(main())
