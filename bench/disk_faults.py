"""Each kind of file of a node on a disk whose calls fail, and what came of it.

``python -m bench.disk_faults`` runs the real node as a child on a copy of a small world, lets one kind of
call on one kind of file fail, with one error, and works it: sums, hits, stores, deletions, backups, scheduled
exports, epochs that end and move. Then the fault ends. A row of the table says how many calls failed; what
the node did meanwhile and refused; which check of ``/health`` told, and after how many seconds; whether all
was well again by itself, or after a restart. The last column must be empty: what was acknowledged and is not
there after a restart, a log that does not verify, a backup that does not check, a reply that is no honest
refusal, a traceback.

Jobs come every second here instead of every minute, so that what a job finds is told sooner. Needs Linux and
a C compiler (``tests/faults/io_shim.c``).
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import itertools
import logging
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.io_kit import (
    CREATE,
    DROP,
    FULL,
    HALF,
    OPEN,
    READ,
    RENAME,
    SYNC,
    WRITE,
    Faults,
    compiler,
    faults,
)
from tests.faults.io_world import (
    PATIENCE_S,
    Work,
    backup_problems,
    command_once,
    known_missing,
    log_problems,
    make_world,
    says,
    settings_of,
    standing,
)
from tests.faults.node_kit import Child, Client, child, start

TOLD_S = 15.0
BACK_S = 40.0
COMMANDS = ("restore", "doctor --fix")
CHILD = ("-m", "tests.faults.io_child")
FILES: dict[str, tuple[str, ...]] = {
    "blocks.sqlite": ("data/blocks.sqlite*",),
    "state.sqlite": ("data/state.sqlite*",),
    "other stores": tuple(
        f"data/{name}.sqlite*"
        for name in ("labels", "refuted", "peers", "names", "foreign", "head_blocks", "log_blocks")
    ),
    "journal": ("governance_logs/journal*",),
    "tiles": ("governance_logs/tile*", "governance_logs/.staging*"),
    "checkpoint": ("governance_logs/*checkpoint*", "data/keys/*checkpoint*"),
    "record and commitment keys": ("data/keys/record_keys*", "data/keys/commitments*"),
    "publications": ("data/publications/*",),
    "knowledge-index.json": ("data/*knowledge-index.json*",),
    "small files": ("data/*.json*", "data/publications.index*"),
    "backup folder": ("by-hand*", "scheduled*"),
    "archive": ("archive*",),
    "whole volume": ("data*", "governance_logs*"),
}


@dataclass(frozen=True)
class Fault:
    name: str
    kinds: int
    error: int
    how: int = 0
    is_killed: bool = False
    """The node is killed at the end of the fault, and not healed: as by a power cut."""


FAULTS = (
    Fault("full", FULL, errno.ENOSPC, HALF),
    Fault("quota", FULL, errno.EDQUOT),
    Fault("EIO on write", WRITE, errno.EIO),
    Fault("EIO on sync", SYNC, errno.EIO, DROP),
    Fault("EIO on sync, then killed", SYNC, errno.EIO, DROP, is_killed=True),
    Fault("EIO on rename and create", RENAME | CREATE, errno.EIO),
    Fault("EIO on read", READ | OPEN, errno.EIO),
)


@dataclass
class Row:
    hits: int = 0
    work: Work | None = None
    told: dict[str, str] = field(default_factory=dict)
    told_s: float = 0.0
    back: str = ""
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)

    @property
    def is_bad(self) -> bool:
        assert self.work is not None
        return bool(self.lost or self.wrong or self.tracebacks or self.work.strange)

    def shown(self) -> list[str]:
        assert self.work is not None
        done = ", ".join(f"{what} {n}" for what, n in self.work.done.items() if n)
        refused = ", ".join(f"{what} {n}" for what, n in self.work.refused.items() if n)
        told = ", ".join(f"`{name}`" for name in self.told)
        told = f"{told} ({self.told_s:.1f} s)" if told else "nothing"
        bad = [*self.lost, *self.wrong, *self.tracebacks, *self.work.strange]
        return [str(self.hits), done, refused or "nothing", told, self.back, "; ".join(bad) or "nothing"]


async def run_one(folder: Path, kind: str, fault: Fault, disk: Faults, verbose: bool) -> Row:
    row, work = Row(), Work(folder)
    row.work = work
    own: dict[str, Any] = {**settings_of(folder), **disk.environ()}
    async with child(folder, command=CHILD, **own) as (process, node):
        node.patience_s = PATIENCE_S
        reader = asyncio.create_task(_stderr(process))
        before = await standing(node)
        await work.round(node)
        for pattern in FILES[kind]:
            disk.arm(f"{folder}/{pattern}", fault.kinds, fault.error, how=fault.how)
        began = time.monotonic()
        while (found := await says(node, before)) == {} and time.monotonic() - began < TOLD_S:
            await work.round(node)
        row.told, row.told_s = found, time.monotonic() - began
        await work.round(node)
        row.told |= await says(node, before)
        if fault.is_killed:
            process.process.kill()
            row.hits, row.back = disk.heal(), "killed"
        else:
            row.hits = disk.heal()
            row.back = await _recovered(node, work, before)
            await work.round(node)
            process.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(30):
                await process.process.wait()
        except TimeoutError:
            row.wrong.append("did not stop")
            process.process.kill()
        if not fault.is_killed and process.process.returncode != 0:
            row.wrong.append(f"exit status {process.process.returncode}")
        said = await reader
    row.tracebacks = sorted(
        set(re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception)\b.*", said, re.M)) if "Traceback" in said else []
    )
    if verbose:
        print(said[-6_000:], row.told, file=sys.stderr)
    await _restarted(folder, row)
    return row


async def _stderr(process: Child) -> str:
    assert process.process.stderr is not None
    return (await process.process.stderr.read()).decode()


async def _recovered(node: Client, work: Work, before: dict[str, str]) -> str:
    """Whether all is well again without a restart: everything is done, and health says so."""
    began = time.monotonic()
    found: dict[str, str] = {}
    while time.monotonic() - began < BACK_S:
        refused = work.refused.total()
        await work.round(node)
        found = await says(node, before)
        if not found and work.refused.total() == refused:
            return f"by itself, {time.monotonic() - began:.1f} s"
        await asyncio.sleep(0.2)
    return f"not by itself: {found or 'work is refused'}"


async def _restarted(folder: Path, row: Row) -> None:
    assert row.work is not None
    try:
        async with start(folder) as again:
            row.lost = await row.work.missing(again)
            if row.back == "killed":
                await row.work.round(again)
                row.back = "after a restart"
    except Exception as exc:  # noqa: BLE001 - a start that fails is a row of the table
        row.wrong.append(f"no start: {exc!r}")
    row.wrong += await log_problems(folder)
    row.wrong += await asyncio.to_thread(backup_problems, folder)


async def command_row(folder: Path, what: str, fault: Fault, first: int, disk: Faults) -> list[str]:
    """A command that puts files in place, cut off by the disk from its ``first`` such call on, and run
    again."""
    words = ["restore", str(folder / "by-hand"), "--replace"]
    if what == "doctor --fix":
        words = ["doctor", "--fix", "--from", str(folder / "by-hand")]
        _harm(folder / "data" / "blocks.sqlite")
    for place in ("data", "governance_logs"):
        disk.arm(f"{folder}/{place}*", fault.kinds, fault.error, how=fault.how & ~DROP, first=first)
    done = await command_once(folder, disk, *words)
    hits = disk.heal()
    again = await command_once(folder, disk, *words)
    bad = [] if done.returncode in (0, 1) else [f"exit status {done.returncode}"]
    bad += [one.stderr.strip().splitlines()[-1] for one in (done, again) if "Traceback" in one.stderr]
    if again.returncode != 0:
        bad.append(f"again: exit status {again.returncode} {again.stdout[-200:]}")
    try:
        async with start(folder) as node:
            bad += [f"boat {number} is gone" for number in await known_missing(node)]
    except Exception as exc:  # noqa: BLE001 - a start that fails is a row of the table
        bad.append(f"no start: {exc!r}")
    bad += await log_problems(folder)
    said = "done" if done.returncode == 0 else "refused"
    return [f"`{what}`", f"{fault.name}, from call {first}", str(hits), said, "; ".join(bad) or "nothing"]


def _harm(path: Path) -> None:
    """Make the last page of a file no page any more."""
    data = bytearray(path.read_bytes())
    data[-16_384:-16_376] = b"\xee" * 8
    path.write_bytes(data)


async def commands(base: Path, n: int, seed: int) -> int:
    """``n`` places to fail for each command and fault."""
    bad, rng = 0, random.Random(seed)
    print("| command | fault | calls | outcome | lost, wrong, tracebacks |")
    print("| --- | --- | ---: | --- | --- |", flush=True)
    with faults() as disk:
        for what, fault in itertools.product(COMMANDS, (FAULTS[0], FAULTS[3], FAULTS[5], FAULTS[6])):
            for _ in range(n):
                copy = base / "copy"
                shutil.copytree(base / "world", copy)
                row = await command_row(copy, what, fault, int(1.5 ** rng.uniform(0, 13)), disk)
                bad += row[-1] != "nothing"
                print(f"| {' | '.join(row)} |", flush=True)
                shutil.rmtree(copy)
    return bad


async def campaign(kinds: list[str], chosen: list[Fault], verbose: bool, n: int, seed: int) -> int:
    base = Path(tempfile.mkdtemp(prefix="neuroswarm-disk-"))
    bad = 0
    try:
        await make_world(base / "world")
        if n:
            return await commands(base, n, seed)
        print("| file | fault | calls | done | refused | health | recovers | lost, wrong, tracebacks |")
        print("| --- | --- | ---: | --- | --- | --- | --- | --- |", flush=True)
        with faults() as disk:
            for kind in kinds:
                for fault in chosen:
                    copy = base / "copy"
                    shutil.copytree(base / "world", copy)
                    try:
                        row = await run_one(copy, kind, fault, disk, verbose)
                        shown, is_bad = row.shown(), row.is_bad
                    except Exception as exc:  # noqa: BLE001 - a hang or a crash is a row of the table
                        shown, is_bad = ["", "", "", "", "", f"broke off: {exc!r}"], True
                        traceback.print_exc()
                    disk.heal()
                    bad += is_bad
                    print(f"| {' | '.join([kind, fault.name, *shown])} |", flush=True)
                    shutil.rmtree(copy)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.disk_faults", description=__doc__.splitlines()[0])
    parser.add_argument("--file", action="append", choices=list(FILES), help="only these kinds of files")
    parser.add_argument("--fault", action="append", choices=[one.name for one in FAULTS])
    parser.add_argument("--verbose", action="store_true", help="show what the node says")
    parser.add_argument(
        "--commands",
        type=int,
        default=0,
        metavar="N",
        help="instead: restore and doctor --fix, N times a fault",
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not compiler():
        sys.exit("bench.disk_faults: needs Linux and a C compiler named cc")
    logging.disable(logging.CRITICAL)
    chosen = [one for one in FAULTS if not args.fault or one.name in args.fault]
    return (
        1
        if asyncio.run(campaign(args.file or list(FILES), chosen, args.verbose, args.commands, args.seed))
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
