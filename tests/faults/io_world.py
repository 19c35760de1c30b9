"""What a node does while its disk fails, and what must be there afterwards."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from node.audit.decisions import epochs
from node.audit.decisions.moved import marker
from node.cli.desk import _OverSocket
from node.core.errors import NodeError
from node.store.backup.folder import BackupFolder
from tests.faults.io_kit import Faults
from tests.faults.node_kit import Client, Done, environ_of, eventually, start, typed
from tests.log_kit import verified

KNOWN = 15
REFUSED = (500, 503)
PAUSE_S = 0.1
PATIENCE_S = 60.0
"""For a reply, on a busy machine."""
_TURNING = "the next shard begins"
"""What the log says of itself for a moment, on a sound disk too."""
_number = itertools.count(1_000)


def question(number: int) -> str:
    return f"Name the colour of boat number {number}"


def answer(number: int) -> str:
    return f"Boat {number} is painted in shade {number}. " + f"It was built in yard {number}. " * 20


def settings_of(folder: Path, **more: str) -> dict[str, str]:
    """Of the node: backups and closed epochs go somewhere by themselves."""
    own = {
        "NEUROSWARM_BACKUP__FOLDER": str(folder / "scheduled"),
        "NEUROSWARM_ARCHIVE__TO": str(folder / "archive"),
        "NEUROSWARM_ARCHIVE__EPOCHS_HERE": "0",
        "NEUROSWARM_CACHE__SWEEP_EVERY_S": "1",
        "NEUROSWARM_SHARING__PUBLISH": "all",
    }
    return {**own, **more}


async def make_world(folder: Path) -> None:
    """A node that was stopped, with ``KNOWN`` answers (every fifth is private) and a backup made by hand."""
    (folder / "archive").mkdir(parents=True)
    async with start(folder, patience_s=PATIENCE_S) as node:
        for number in range(KNOWN):
            await node.store(question(number), answer(number), scope="shared" if number % 5 else "private")
    async with start(folder):  # what was still on its way is in the log now
        await asyncio.to_thread(backup, folder)


def backup(folder: Path) -> dict[str, Any]:
    """One made by hand of the running node. Raises ``NodeError``."""
    do = _OverSocket(folder / "data")
    reply = do("backup", {"folder": str(folder / "by-hand")})
    while reply["state"] == "running":
        reply = do("backup", {"id": reply["id"]})
    return reply


@dataclass
class Work:
    """What was done at one node, and what it acknowledged. ``strange``: replies that are neither the thing
    nor an honest refusal."""

    folder: Path
    stored: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    perhaps: set[int] = field(default_factory=set)
    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)
    logged: int = 0

    async def round(self, node: Client, *, has_backup: bool = True) -> None:
        """One of everything."""
        number = next(_number)
        await self._sum(node, number)
        await self._hit(node)
        await self._store(node, number)
        await self._delete(node)
        if has_backup:
            await self._backup()
        if (status := (await node.send("GET", "/livez"))[0]) != 200:
            self.strange.append(f"livez {status}")

    def _count(self, what: str, status: int, reply: Any, good: int = 200) -> bool:
        if status == good:
            self.done[what] += 1
            return True
        if status in REFUSED and isinstance(reply, dict) and reply.get("title") != "Internal error":
            self.refused[what] += 1
        else:
            self.strange.append(f"{what} {status} {reply}")
        return False

    async def _sum(self, node: Client, number: int) -> None:
        status, reply = await node.post("/chat", {"query": f"What is {number}+{number}?"})
        if self._count("sum", status, reply):
            if str(2 * number) not in reply["answer"].replace(",", "").replace("\u202f", ""):
                self.strange.append(f"sum {reply['answer']}")
            self.logged += reply["decision"] is not None

    async def _hit(self, node: Client) -> None:
        """Of what was never touched."""
        status, reply = await node.post("/chat", {"query": question(1)})
        if self._count("hit", status, reply) and reply["hit"] is None:
            self.done["hit"] -= 1
            self.refused["hit"] += 1
        elif status == 200 and reply["answer"] != answer(1):
            self.strange.append(f"hit {reply['answer']}")

    async def _store(self, node: Client, number: int) -> None:
        for scope, one in (("public", number), ("private", next(_number))):
            body = {"query": question(one), "answer": answer(one), "scope": scope}
            status, reply = await node.post("/v1/cache/entries", body)
            if self._count("store", status, reply, 201):
                self.stored[one] = reply["cid"]

    async def _delete(self, node: Client) -> None:
        old = next((one for one in self.stored if one not in self.gone | self.perhaps), None)
        if old is None:
            return
        status, reply, _ = await node.send("DELETE", f"/v1/cache/entries/{self.stored[old]}")
        if self._count("delete", status, reply):
            self.gone.add(old)
        else:
            self.perhaps.add(old)

    async def _backup(self) -> None:
        try:
            await asyncio.to_thread(backup, self.folder)
            self.done["backup"] += 1
        except NodeError as exc:
            self.refused["backup"] += 1
            if "Internal" in str(exc):
                self.strange.append(f"backup {exc}")

    # --- afterwards -------------------------------------------------------------------------------

    async def missing(self, node: Client) -> list[str]:
        """What was acknowledged and is not so."""
        wrong = list[str]()
        for number in (*range(KNOWN), *self.stored):
            reply = await node.search(question(number))
            is_there = reply["hit"] is not None and reply["answer"] == answer(number)
            if reply["hit"] is not None and reply["answer"] != answer(number):
                wrong.append(f"boat {number}: {reply['answer'][:60]}")
            if number in self.gone and reply["hit"] is not None:
                wrong.append(f"boat {number} was deleted")
            elif number not in self.gone | self.perhaps and not is_there:
                wrong.append(f"boat {number} is gone")
        return wrong


async def command_once(folder: Path, disk: Faults, *words: str) -> Done:
    """A command of a node that is stopped, as the rules of the disk let it."""
    return await typed({**environ_of(folder), **disk.environ()}, *words, "--json")


async def known_missing(node: Client) -> list[int]:
    """Which of the answers that were there from the beginning are not."""
    found = [(number, await node.search(question(number))) for number in range(KNOWN)]
    return [number for number, reply in found if reply["answer"] != answer(number)]


async def says(node: Client, before: dict[str, str]) -> dict[str, str]:
    """The checks of ``/health`` that are worse than before, with what they say."""
    _, page = await node.get("/health")
    order = ("pass", "warn", "fail")
    checks = {name: one[0] for name, one in page["checks"].items()}
    return {
        name: f"{one['status']}: {one.get('output') or ''}"
        for name, one in checks.items()
        if one.get("output") != _TURNING
        and order.index(one["status"]) > order.index(before.get(name, "pass"))
    }


async def standing(node: Client) -> dict[str, str]:
    """The status of each check."""
    _, page = await node.get("/health")
    return {name: one[0]["status"] for name, one in page["checks"].items()}


async def log_problems(folder: Path) -> list[str]:
    """What the checker says against the decision log, its closed epochs here and in the archive, and the log
    of publications."""
    logs = folder / "governance_logs"
    here = [epochs.folder_of(logs, number) for number in epochs.closed(logs)]
    # Of an epoch that was moved, and of what is left here of it where its removal was cut off, the archive
    # must hold all.
    moved = [marker(one) for one in here]
    here = [one for one, to in zip(here, moved, strict=True) if to is None]
    here += [folder / "archive" / to.below for to in moved if to is not None]
    cold = sorted({one.parent for one in (folder / "archive").rglob("checkpoint")} - set(here))
    found = list[str]()
    for one in (logs, folder / "data" / "publications", *here, *cold):
        try:
            report = await verified(one)
        except FileNotFoundError as exc:
            found.append(f"{one.relative_to(folder)}: there is no {Path(exc.filename).name}")
            continue
        if not report.ok:
            found.append(f"{one.relative_to(folder)}: {report.where} {report.reason}")
    return found


def backup_problems(folder: Path) -> list[str]:
    """What the check says against the backups that are entered."""
    found = list[str]()
    for place in (folder / "by-hand", folder / "scheduled"):
        try:
            if place.exists():
                one = BackupFolder.at(place)
                for name in one.names():
                    one.check(one.read(name))
        except NodeError as exc:
            found.append(str(exc))
    return found


async def told(node: Client, before: dict[str, str], names: Sequence[str], within_s: float) -> dict[str, str]:
    """What health says once one of these checks is worse than before; empty where none becomes so in time."""
    try:
        return await eventually(
            lambda: says(node, before), lambda found: any(name in found for name in names), within_s
        )
    except TimeoutError:
        return {}
