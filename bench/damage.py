"""Random damage to each kind of file of a node, and what came of it.

``python -m bench.damage --n 100 --seed 1`` damages each kind of file ``--n`` times, one at a time, in a copy
of a small world (answers that are shared and private, some erased, one called invalid; a decision log of
three epochs, the first in an archive; a backup), starts a node, asks everything and reads every tile of its
logs. Where the start is refused or health fails it runs ``doctor --fix`` and ``log repair``, starts again and
asks again. A damaged backup is restored beside it. Outcomes, of which ``wrong`` must be 0:

- ``unharmed``: everything was answered and read, nothing had to be said;
- ``repaired``: everything is, after a repair by the start, by the node or by the commands;
- ``lost``: answers or tiles are gone, or a file stays damaged; health or the repair says so, and
  ``loss.json`` names as many records as answers are gone, or more;
- ``unsaid``: something is gone, and nobody said so, or not all of it is named;
- ``refused``: the node does not start, or the backup is not restored, and what is said names the file;
- ``crashed``: something else than one of this program's own errors;
- ``wrong``: an answer that was not stored, one that was erased or called invalid, or other bytes of a log.
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
from functools import partial
from pathlib import Path
from typing import Any

from node.app.documents import BEING_READ
from node.app.fix import fix
from node.app.restore import keys_after, keys_before, restore
from node.audit.decisions import epochs
from node.audit.decisions.moving import move
from node.audit.log.archive import FolderArchive
from node.audit.tlog.tiles import tiles_at, tiles_between
from node.audit.upkeep.copies import archive_copy
from node.audit.upkeep.offline import repair
from node.cli.log_location import own_keys
from node.core.clock import SystemClock
from node.core.errors import NodeError
from node.core.settings import Settings, load
from node.core.signed_note import Checkpoint
from node.store.backup.folder import BackupFolder
from node.store.guard import read_loss
from tests import upkeep_kit
from tests.faults.damage_kit import answer
from tests.faults.io_world import PATIENCE_S
from tests.faults.node_kit import Client, environ_of, eventually, start, typed

SHARED, PRIVATE = range(24), range(24, 32)
ERASED, INVALID = (20, 30), 21
OUTCOMES = ("unharmed", "repaired", "lost", "unsaid", "refused", "crashed", "wrong")
BACKUP, KILLED = "backup/**/*", "killed"
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
    "data/documents.sqlite",
    "data/used_documents.sqlite",
    "data/head.json",
    "data/stored.json",
    "data/knowledge-index.json",
    "data/keys/record_keys",
    "data/publications/**/*",
    "governance_logs/**/*",
    "archive/**/*",
    BACKUP,
    "data/*.json",
    "data/publications.*",
    "data/keys/*",
    f"{KILLED}/data/*-wal",
)
OF_LOGS = {"governance_logs", "publications", "archive", "backup", "keys"}
"""With damages there all tiles are read."""
LOGS = ("documents", "ipfs:blocks", "log", "log:files", "log:archive:files", "log:publications:files")
"""What of health a damage belongs to."""
ENTRIES = 300
"""Of each closed epoch: a complete bundle and a part of one."""


PAPERS = range(9)


def paper(number: int) -> str:
    return f"# Pier {number}\n\nThe word of pier{number}quux is word{number * 7}.\n\n" + "It is wet. " * 6_000


def question(number: int) -> str:
    return f"Name the colour of boat number {number}"


Truth = dict[str, bytes]
"""By address: the tiles of all epochs of both logs, and the checkpoints of those that are closed."""


async def make_world(folder: Path) -> Truth:
    """A node that was stopped; in ``killed`` as a kill would have left it."""
    async with running(folder) as node:
        for number in (*SHARED, *PRIVATE):
            scope = "private" if number in PRIVATE else "shared"
            cid = await node.store(question(number), answer(number), scope=scope)
            if number in ERASED:
                await node.delete(cid)
            elif number == INVALID:
                await node.judge("invalid", cid=cid)
        for number in PAPERS:
            scope = ("shared", "private", "public")[number % 3]
            name = f"/v1/documents?path={number}.md&scope={scope}"
            status, reply, _ = await node.send("POST", name, data=paper(number).encode())
            assert status == 201, reply
        decisions = node.service._p.log
        for _ in range(2):
            await upkeep_kit.fill(decisions, ENTRIES)
            await decisions.end_epoch("age")
        await upkeep_kit.fill(decisions, ENTRIES)
        shutil.copytree(folder / "data", folder / KILLED / "data", ignore=shutil.ignore_patterns("*.sock"))
        shutil.copytree(folder / "governance_logs", folder / KILLED / "governance_logs")
    (folder / "archive").mkdir()
    await move(folder / "governance_logs", 1, FolderArchive(folder / "archive"), SystemClock())
    async with running(folder) as node:
        truth = await truth_of(node)
    done = await typed(environ_of(folder), "backup", str(folder / "backup"))
    assert done.returncode == 0, done.stderr
    return truth


def running(folder: Path) -> Any:
    return start(folder, patience_s=PATIENCE_S, archive={"to": str(folder / "archive")})


async def truth_of(node: Client) -> Truth:
    truth: Truth = {}
    for below in ("decisions/epochs/1", "decisions/epochs/2", "decisions/epochs/3", "publications"):
        status, note, _ = await node.raw(f"/logs/{below}/checkpoint")
        assert status == 200, (below, note)
        size = Checkpoint.of_note(note).size
        if below.endswith(("/1", "/2")):
            truth[f"/logs/{below}/checkpoint"] = note
        for tile in dict.fromkeys((*tiles_between(0, size), *tiles_at(size))):
            status, data, _ = await node.raw(f"/logs/{below}/{tile.path}")
            assert status == 200, (below, tile.path)
            truth[f"/logs/{below}/{tile.path}"] = data
    return truth


async def ask(node: Client, truth: Truth) -> Counter[str]:
    """right, none, or wrong, of all that was ever stored; gone: answers among the none."""
    said: Counter[str] = Counter()
    numbers = (*SHARED, *PRIVATE)
    asked = [node.post("/v1/cache/search", {"query": question(number)}) for number in numbers]
    for number, (status, reply) in zip(numbers, await asyncio.gather(*asked), strict=True):
        is_gone = number in (*ERASED, INVALID)
        if status != 200 or reply["hit"] is None:
            said["right" if is_gone else "none"] += 1
            said["gone"] += not is_gone
        else:
            said["wrong" if is_gone or reply["answer"] != answer(number) else "right"] += 1
    for number in PAPERS:
        _, reply = await node.post("/v1/passages", {"query": f"pier{number}quux", "limit": 1})
        passages = [one["text"] for one in reply.get("passages", ()) if one["source"] == f"{number}.md"]
        is_right = all(set(text.split()) <= set(paper(number).split()) for text in passages)
        is_found = any(f"is word{number * 7}." in text for text in passages)
        said["wrong" if not is_right else "right" if is_found else "none"] += 1
    tiles = await asyncio.gather(*map(node.raw, truth))
    for data, (status, found, _) in zip(truth.values(), tiles, strict=True):
        said["none" if status != 200 else "right" if found == data else "wrong"] += 1
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


async def look(folder: Path, truth: Truth) -> tuple[Counter[str], str, bool]:
    """What a node in this folder says; what its health says is wrong; whether it has mended something.
    Raises ``NodeError``."""
    async with running(folder) as node:
        await eventually(lambda: node.check("documents"), lambda check: BEING_READ not in check["output"])
        found = await ask(node, truth)
        _, health = await node.get("/health")
        checks = {name: check for name, (check, *_) in health["checks"].items() if name in LOGS}
    said = "; ".join(f"{name}: {one['output']}" for name, one in checks.items() if one["status"] != "pass")
    is_mended = any(one.get("observedValue") for name, one in checks.items() if name.endswith("files"))
    return found, said, is_mended or (folder / "data" / "damaged").exists()


async def commands(folder: Path) -> str:
    """``doctor --fix`` and ``log repair``, as an operator types them; what they say is lost. Raises
    ``NodeError``."""
    archive = FolderArchive(folder / "archive")
    done = await fix(settings_of(folder))
    said = f"lost {len(done.lost)}" if done.lost or done.unnamed != 0 else ""
    keys = folder / "data" / "keys"
    for place, high_water in (
        (folder / "governance_logs", partial(epochs.high_water, keys)),
        (folder / "data" / "publications", lambda _: keys / "publications.signed"),
    ):
        copies = [archive_copy(archive)]
        found = await repair(
            place, partial(own_keys, keys), high_water, copies, SystemClock(), lambda _: None
        )
        said += str(found.damages)
    return said


def settings_of(folder: Path) -> Settings:
    return load({**environ_of(folder), "NEUROSWARM_ARCHIVE__TO": str(folder / "archive")})


async def outcome(folder: Path, truth: Truth) -> tuple[str, str]:
    """What comes of a damaged world, and what was said."""
    said, is_repaired = "", False
    for attempt in range(2):
        try:
            found, told, is_mended = await look(folder, truth)
        except NodeError as exc:
            said = str(exc)
            if attempt:
                return "refused", said
        else:
            said = told or said
            is_repaired |= is_mended
            if found["wrong"]:
                return "wrong", f"{found} {said}"
            if not told and not found["none"]:
                return "repaired" if is_repaired else "unharmed", said
            if attempt:
                is_named = await asyncio.to_thread(named, folder) >= found["gone"]
                return "lost" if said and is_named else "unsaid", f"{found} {said}"
        try:
            said = await asyncio.to_thread(lambda: asyncio.run(commands(folder))) or said
            is_repaired = True
        except NodeError as exc:
            return "refused", str(exc)
    return "lost", said


def named(folder: Path) -> int:
    """How many records are noted as lost."""
    loss = read_loss(folder / "data")
    return 0 if loss is None else len(loss.cids)


async def restored(folder: Path, truth: Truth) -> tuple[str, str]:
    """What comes of a damaged backup."""
    target = folder / "target"
    keys = keys_before(folder / "data") | keys_after(folder / "data")
    try:
        backup = BackupFolder.at(folder / "backup")
        manifest = backup.read(backup.names()[-1])
        await asyncio.to_thread(
            lambda: restore(
                settings_of(target), backup, manifest, keys, SystemClock().now(), replace=False, show=_quiet
            )
        )
        shutil.copytree(folder / "archive", target / "archive")
        found, said, _ = await look(target, truth)
    except (NodeError, IndexError) as exc:
        return "refused", str(exc) or "there is no backup"
    if found["wrong"]:
        return "wrong", f"{found} {said}"
    return "unsaid" if found["none"] else "unharmed", f"{found} {said}"


def _quiet(_done: int, _of: int) -> None:
    """Nobody watches."""


async def one(world: Path, copy: Path, kind: str, truth: Truth, rng: random.Random) -> tuple[str, str, str]:
    """One damage: what was done, what came of it, what was said."""
    shutil.copytree(world, copy)
    if kind.startswith(KILLED):
        for name in ("data", "governance_logs"):
            shutil.rmtree(copy / name)
            (copy / KILLED / name).rename(copy / name)
        kind = kind.removeprefix(f"{KILLED}/")
    if not OF_LOGS & set(kind.split("/")):
        truth = {}
    try:
        done = harm(copy, kind, rng)
        what, said = await (restored if kind == BACKUP else outcome)(copy, truth)
    except Exception as exc:  # noqa: BLE001 - what is not an error of ours is looked for
        what, said = "crashed", repr(exc)
    shutil.rmtree(copy)
    return done, what, said


async def campaign(
    kinds: tuple[str, ...], n: int, seed: int, verbose: bool
) -> Sequence[tuple[str, Counter[str]]]:
    base = Path(tempfile.mkdtemp(prefix="neuroswarm-damage-"))
    table: list[tuple[str, Counter[str]]] = []
    try:
        truth = await make_world(base / "made")
        # An archive is looked for first where it was: there it must not be found undamaged.
        world = (base / "made").rename(base / "world")
        for kind in kinds:
            counts: Counter[str] = Counter()
            for number in range(n):
                rng = random.Random(f"{seed} {kind} {number}")
                done, what, said = await one(world, base / "copy", kind, truth, rng)
                counts[what] += 1
                if verbose or what in ("wrong", "unsaid", "crashed"):
                    print(f"{kind} {number} {done}: {what} ({said[:300]})", file=sys.stderr, flush=True)
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
    bad = ("wrong", "unsaid", "crashed")
    return 1 if any(counts[one] for _, counts in table for one in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
