"""What people stored, asked and had erased on a node of any version, and whether another version keeps it.

``fill`` speaks HTTP and types commands, as people do, so that it works with every version since the first
release; ``checked`` asks a node of any version for all of it and names what does not hold. The two share
``World``, which is kept beside the directories as ``world.json``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.node_kit import ROOT, Client, Done, child, environ_of, typed
from tests.journeys.test_independent_checker import check as independent

GONE = "zanzibarquux"
"""A word of each answer that is erased: no file may hold it afterwards."""
BOATS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir")
RECEIPTS = 3
PATIENCE_S = 120.0
"""Of a reply, on a machine that does much else: what is looked for here is what is lost, not what is slow."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry."""

    question: str
    answer: str
    scope: str
    cid: str


@dataclass(slots=True)
class World:
    """``live`` are to be answered in the same words under the same CID, ``gone`` never again; ``asked`` says
    what adapters computed; ``size``: entries of the decision log when its node had stopped."""

    live: list[Stored] = field(default_factory=list)
    gone: list[Stored] = field(default_factory=list)
    asked: dict[str, str] = field(default_factory=dict)
    receipts: list[str] = field(default_factory=list)
    size: int = 0

    def write(self, folder: Path) -> None:
        """Beside the directories."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (folder / "world.json").write_text(text + "\n", "utf-8")

    @classmethod
    def read(cls, folder: Path) -> World:
        """What ``write`` wrote."""
        found = json.loads((folder / "world.json").read_text("utf-8"))
        for name in ("live", "gone"):
            found[name] = [Stored(**one) for one in found[name]]
        return cls(**found)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of this program: its source tree, and the Python that runs it."""

    tree: Path = ROOT
    python: str = sys.executable

    async def type(self, folder: Path, *words: str) -> Done:
        """One of its commands, which can reach nothing outside."""
        environ = {**environ_of(folder), "PYTHONPATH": str(self.tree)}
        return await typed(environ, *words, cwd=self.tree, python=self.python)

    @asynccontextmanager
    async def serving(self, folder: Path, **settings: str) -> AsyncIterator[Client]:
        """Its node, as a process that is stopped in order at the end."""
        own = {"NEUROSWARM_EMBED__ENGINE": "local", "PYTHONPATH": str(self.tree), **settings}
        node_of = child(folder, cwd=self.tree, python=self.python, patience_s=PATIENCE_S, **own)
        async with node_of as (process, node):
            yield node
            assert await process.end() == 0


async def fill(node: Client, version: Version, *, hits: int) -> World:
    """Store, ask and erase on a running node; ``hits``: how many exact hits are asked for to make its log
    long. The receipts lie in ``folder/receipts``."""
    world = World()
    for number, boat in enumerate(BOATS):
        for scope in ("shared", "private", "public"):
            question = f"Who keeps the {scope} key of the boat {boat}?"
            answer = f"Number {number * 7 + 3} keeps the {scope} key of the {boat}."
            world.live.append(await _stored(node, question, answer, scope))
    for scope in ("shared", "private", "public"):
        question = f"Where does the {scope} spare key of the boat house lie?"
        world.gone.append(await _stored(node, question, f"Under the {scope} stone of the {GONE}.", scope))
    question = "Who waters the plants of the boat house?"
    world.gone.append(await _stored(node, question, "The neighbour did.", "shared"))
    await node.judge("invalid", cid=world.gone[-1].cid)
    for question in ("What is 17 * 23?", "How many metres are 3 miles?", "Hello!"):
        world.asked[question] = (await node.ask(question))["answer"]
    await node.ask("Why is nobody in the boat house on Tuesdays?")
    await node.ask("who has the shared key of boat Alder")
    await _hits(node, [one.question for one in world.live], hits)
    for number in range(RECEIPTS):
        reply = await node.ask(world.live[number].question)
        world.receipts.append(await _receipt(node, version, reply["decision"]["index"]))
    assert await node.delete(world.gone[0].cid) == 200
    for one in world.gone[1:3]:
        done = await version.type(node.folder, "cache", "erase", one.cid, "--json")
        assert done.returncode == 0, done.stderr
    return world


async def _stored(node: Client, question: str, answer: str, scope: str) -> Stored:
    return Stored(question, answer, scope, await node.store(question, answer, scope=scope))


async def _hits(node: Client, questions: Sequence[str], count: int) -> None:
    async def some(first: int) -> None:
        for number in range(first, count, 8):
            status, _ = await node.post("/chat", {"query": questions[number % len(questions)]})
            assert status == 200

    await asyncio.gather(*map(some, range(8)))


async def _receipt(node: Client, version: Version, index: int) -> str:
    """The receipt of an entry and its leaf, as files ``NAME`` and ``NAME.leaf``; the name."""
    folder = node.folder / "receipts"
    folder.mkdir(exist_ok=True)
    name = str(index)
    words = ("log", "prove", name, "--out", str(folder / name), "--leaf-out", str(folder / f"{name}.leaf"))
    for _ in range(40):  # a checkpoint that covers it comes within a second
        done = await version.type(node.folder, *words)
        if done.returncode == 0:
            return name
    raise AssertionError(done.stderr)


def stopped(world: World, folder: Path) -> None:
    """Its node has stopped: note how long the log is, and what it had signed and exported."""
    note = (folder / "governance_logs" / "checkpoint").read_bytes()
    world.size = int(note.split(b"\n")[1])
    (folder / "signed").write_bytes(note)
    shutil.copy(folder / "data" / "knowledge-index.json", folder / "exported.json")
    world.write(folder)


# --- what holds -----------------------------------------------------------------------------------


async def answered(node: Client, world: World) -> list[str]:
    """What a running node does not answer as it should."""
    faults: list[str] = []
    for one in world.live:
        status, entry = await node.get(f"/v1/cache/entries/{one.cid}")
        if status != 200 or entry["answer"] != one.answer:
            faults.append(f"{one.scope} entry {one.cid}: {status}, {entry}")
        reply = await node.ask(one.question)
        if (reply["answer"], reply["cid"]) != (one.answer, one.cid):
            faults.append(f"{one.question}: {reply['answer']!r} ({reply['cid']})")
    for one in world.gone:
        status, _ = await node.get(f"/v1/cache/entries/{one.cid}")
        # What was called invalid can be looked at, and is not served.
        if status == 200 and GONE in one.answer:
            faults.append(f"erased {one.scope} entry {one.cid} is shown")
        if one.answer in (await node.ask(one.question))["answer"]:
            faults.append(f"{one.question} is answered again")
    for question, answer in world.asked.items():
        if not question.startswith("Hello") and (found := (await node.ask(question))["answer"]) != answer:
            faults.append(f"{question}: {found!r}, not {answer!r}")
    return faults


def exported(folder: Path, world: World, *, now: Path | None = None) -> list[str]:
    """What the export of a stopped node does not say that the older one said, or says beyond it and beyond
    what was computed anew."""
    before = _entries(folder / "exported.json")
    found = _entries(now or folder / "data" / "knowledge-index.json")
    computed = {(question.rstrip("?"), answer) for question, answer in world.asked.items()}
    faults = [f"no longer exported: {one}" for one in sorted(before - found)]
    more = [one for one in sorted(found - before) if one[1:] not in computed]
    return faults + [f"exported, and was not before: {one}" for one in more]


def _entries(path: Path) -> set[tuple[str, str, str]]:
    rows = json.loads(path.read_text("utf-8"))["entries"]
    assert rows
    return {(one.get("cid", ""), one["query"], str(one.get("answer"))) for one in rows}


def left(folder: Path) -> list[str]:
    """Files of a stopped node that hold something erased in plain words."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "world.json"]
    return [f"{path} holds what was erased" for path in files if GONE.encode() in path.read_bytes()]


async def verified(folder: Path, world: World | None = None, *, beside: Path | None = None) -> list[str]:
    """What the checker in another language, which shares no code with ours, says against both logs of a
    folder, against what was signed before, and against the receipts that were given out."""
    if shutil.which("node") is None:
        return ["there is no independent checker: Node is not installed"]
    faults: list[str] = []
    for log in (folder / "governance_logs", folder / "data" / "publications"):
        status, report = await independent("--dir", str(log), "--vkey", f"@{log / 'vkey'}")
        if status != 0:
            faults.append(f"{log}: {report}")
    if world is None:
        return faults
    log, beside = folder / "governance_logs", beside or folder
    for name in world.receipts:
        status, report = await independent(
            *("--dir", str(log), "--vkey", f"@{log / 'vkey'}", "--since", str(beside / "signed")),
            *(
                "--receipt",
                str(beside / "receipts" / name),
                "--leaf",
                str(beside / "receipts" / f"{name}.leaf"),
            ),
        )
        if status != 0 or report["since"]["size"] != world.size:
            faults.append(f"receipt {name}: {report}")
    return faults


async def healthy(node: Client, besides: Sequence[str] = ()) -> list[str]:
    """Checks of ``/health`` that fail, but for those named."""
    _, page = await node.get("/health")
    checks: dict[str, list[dict[str, Any]]] = page["checks"]
    return [
        f"/health: {name}: {one['output']}"
        for name, rows in checks.items()
        for one in rows
        if one["status"] == "fail" and name not in besides
    ]
