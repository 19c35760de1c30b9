"""Power cuts of a whole node at work, and what was left of each promise.

``python -m bench.power_cuts --n 300 --seed 1`` works a node (a process of its own, without a model) with
stores, overwrites, questions, erasures, verdicts, full and incremental backups, and a decision log whose
epochs end after 256 entries and move to a folder; cuts it at a random change on the disk; makes the folder
what a disk may hold then (``tests/faults/recorded_disk.py`` says what that models); starts it again and looks
at what it had promised. One cut of five is a SIGKILL alone: what was not synced stays for now, and may go
with the next cut. A data directory goes on from cut to cut, ``--life`` of them.

Counted, each of which must be 0:

- ``lost``: an answer, a log entry or a backup that was acknowledged and is not there, or is another one;
- ``revived``: served, exported or restored although it was erased, or served although called invalid;
- ``wrong``: an answer that was never stored for this question;
- ``refused``: the node does not start, or answers what is asked of it with an error;
- ``unverified``: the log, or an epoch that was moved, does not verify from the first to the last entry;
- ``unrestored``: the newest whole backup does not restore into an empty folder, or lacks what it must hold.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.cutslab.book import Book
from bench.cutslab.forked import KILLED, Fork, forking
from bench.cutslab.look import Looks
from bench.cutslab.work import ERASURE, FULL, MORE, OVERWRITE, STOP, VERDICT, Work
from node.core.clock import SystemClock
from node.core.settings import Settings, load
from tests.faults.node_kit import environ_of
from tests.faults.recorded_disk import Control, RecordedDisk, compiled
from tests.faults.tlog_disk import STYLES

FINDINGS = ("lost", "revived", "wrong", "refused", "unverified", "unrestored")
ONLY_KILLED = "killed, nothing lost yet"
START, USUAL, ENDS, MOVES = "start", "stores and questions", "epoch ends", "epoch moves"
MOMENTS = (START, USUAL, OVERWRITE, ERASURE, VERDICT, FULL, MORE, ENDS, MOVES, STOP)
AIMS = (START, "work", "work", ERASURE, ERASURE, FULL, MORE, ENDS, MOVES, STOP)
"""What a cut is aimed at, in turn; what ran then is counted."""
BEHIND_S = 3.0
"""With ``behind_50ms`` an entry is promised when it is older than this: far more than the setting says."""
_NEVER = 10**12


class Life:
    """One data directory over many cuts, in ``base``."""

    def __init__(self, base: Path, fork: Fork, seed: str) -> None:
        self.base, self.root = base, base / "node"
        for name in ("archive", "bak0"):
            (self.root / name).mkdir(parents=True)
        self._fork = fork
        self._rng = random.Random(seed)
        self._control = Control(base / "control")
        self._disk = RecordedDisk(self.root, base / "record")
        self._durability = "before_reply"
        self.book = Book()
        self._looks = Looks(self.book, self.root, lambda folder: self._settings(folder))

    def _environ(self, folder: Path) -> dict[str, str]:
        own = {
            "INDEX_FILE": str(self.base / "none.json"),
            "EMBED__ENGINE": "none",
            "SHARING__PUBLISH": "all",
            "ARCHIVE__TO": str(self.root / "archive"),
            "ARCHIVE__EPOCHS_HERE": "0",
            "LOG__SHARD_ENTRIES": "256",
            "LOG__DURABILITY": self._durability,
            "LOG__PUBLISH_EVERY_S": "0.2",
            "CACHE__AUDIT_SHARE": "0",
            "BACKUP__KEEP": "3",
        }
        return environ_of(folder) | {f"NEUROSWARM_{name}": text for name, text in own.items()}

    def _settings(self, folder: Path) -> Settings:
        return load(self._environ(folder))

    async def cut(self, aim: str, style: str) -> str:
        """Start, look at what was promised, work, cut; during what that was."""
        rng, clock = self._rng, SystemClock()
        self._durability = "behind_50ms" if rng.random() < 0.2 else "before_reply"
        self._control.begin(delay_us=rng.choice((0, 300, 3_000)))
        if aim == START:
            self._control.cut_in(rng.choice((40, 150, 400)) * rng.randrange(1, 100) // 100)
        url = await self._begin()
        if url:
            await self._looks.look(url, rng)
            await Work(self.book, self._control, self.root, self._fork.pid, url, rng, aim).until_cut()
        ended = await self._fork.ended() if url else KILLED
        cut_at = clock.monotonic()
        self._disk.follow()
        moment = self._moment() if url else START
        self.book.running.clear()
        self.book.acknowledge(cut_at - (BEHIND_S if self._durability == "behind_50ms" else 0))
        if style != ONLY_KILLED and ended == KILLED:
            self._disk.fail(rng, style)
        return moment

    async def _begin(self) -> str:
        """Its address; empty where the cut came before it listened."""
        paths = {"root": self.root, "record": self._disk.record, "control": self._control.path}
        asked = {name: str(path) for name, path in paths.items()}
        said = await self._fork.begin({"environ": self._environ(self.root), **asked})
        if said.startswith("http"):
            self._control.cut_in(_NEVER)
            return said
        if said != KILLED:
            self.book.find("refused", f"the start: {said} {self._fork.last_words()}")
            raise SystemExit(f"the node in {self.root} does not start")
        return ""

    def _moment(self) -> str:
        """What ran when the cut came: the rarest of it."""
        last, running = self._disk.last_paths[-12:], self.book.running
        if any("/archive/" in path or "moved.json" in path for path in last):
            return MOVES
        if any("/epochs/" in path for path in last):
            return ENDS
        return next((one for one in (STOP, FULL, MORE, ERASURE, VERDICT, OVERWRITE) if running[one]), USUAL)

    async def end(self) -> list[str]:
        """One more backup, and the last look, at everything; what was written past the recorder."""
        self._durability = "before_reply"
        self._control.begin(delay_us=0)
        url = await self._begin()
        await Work(self.book, self._control, self.root, self._fork.pid, url, self._rng, "").back_up()
        await self._looks.look(url, self._rng, is_all=True)
        os.kill(self._fork.pid, signal.SIGTERM)
        await self._fork.ended()
        self._disk.follow()
        return self._disk.unseen()


@dataclass
class Campaign:
    """The table. ``unseen``: files that were written past the recorder, so that the model knows nothing of
    them."""

    cuts: Counter[str] = field(default_factory=Counter)
    styles: Counter[str] = field(default_factory=Counter)
    found: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    counts: Counter[str] = field(default_factory=Counter)
    unseen: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.unseen and not any(one.total() for one in self.found.values())

    def lines(self) -> Iterator[str]:
        yield f"| what ran when the cut came | cuts | {' | '.join(FINDINGS)} |"
        yield "| --- |" + " ---: |" * (len(FINDINGS) + 1)
        every = sum(self.found.values(), Counter[str]())
        for name, cuts, found in [
            *((one, self.cuts[one], self.found[one]) for one in MOMENTS),
            ("all", self.cuts.total(), every),
        ]:
            yield f"| {name} | {' | '.join(map(str, [cuts, *(found[one] for one in FINDINGS)]))} |"
        yield ""
        yield "of the unsynced: " + "; ".join(f"{style} {n}" for style, n in sorted(self.styles.items()))
        yield "in all lives: " + ", ".join(f"{n:,} {what}" for what, n in sorted(self.counts.items()))
        yield from (f"written past the recorder: {one}" for one in self.unseen)


async def campaign(n: int, life: int, seed: int) -> Campaign:
    """What does not end well stays in the folder for temporary files. Raises ``SystemExit`` where there is no
    C compiler, or where a node does not start."""
    result, rng = Campaign(), random.Random(seed)
    base = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="power-"))
    library = compiled(base)
    if library is None:
        raise SystemExit("a C compiler (cc) is needed")
    async with forking(library, base / "said") as fork:
        for first in range(0, n, life):
            one = Life(base / str(first), fork, f"{seed} {first}")
            moment = START
            for number in range(first, min(n, first + life)):
                style = ONLY_KILLED if rng.random() < 0.2 else rng.choice(STYLES)
                before, aim = moment, AIMS[number % len(AIMS)]
                one.book.label = f"after cut {number - 1} ({before})"
                moment = await one.cut(aim, style)
                result.found[before].update(one.book.found)
                one.book.found.clear()
                result.cuts[moment] += 1
                result.styles[style] += 1
                print(f"cut {number}: {moment} ({style})", file=sys.stderr, flush=True)
            one.book.label = f"after the last cut ({moment})"
            result.unseen += await one.end()
            result.found[moment].update(one.book.found)
            result.counts.update(one.book.counts)
            if result.is_clean:
                shutil.rmtree(one.base)
    if result.is_clean:
        shutil.rmtree(base)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.power_cuts", description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=300, help="cuts (default: %(default)s)")
    parser.add_argument(
        "--life", type=int, default=50, help="cuts of one data directory (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    result = asyncio.run(campaign(args.n, args.life, args.seed))
    print("\n".join(result.lines()))
    return 0 if result.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
