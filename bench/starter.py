"""Which questions the starter entries answer at once, by the packaged reader: ``notes.meant``.

    python -m bench.starter [--choose]

``newcomerlab/starter_asks.jsonl``: 180 questions to the entries and 120 that no entry answers, written to
choose the thresholds by. ``casual_starter.jsonl``: 64 and 20, which nothing was chosen by. The others
(``answerlab/general.jsonl``, ``newcomerlab/everyday.jsonl``) are about anything; what is served there is
shown, to be judged by reading. ``gate``: what the cache's gate serves of the same, by the question alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.evidence import Asked, fused, order, signs
from node.answer import notes
from node.answer.evidence.relevance import packaged
from node.cache.matching.gate import Stored, judge_all
from node.cache.matching.neighbours import SIZE_MAX
from node.core.model import Evidence, Freshness, SourceRef
from node.core.ports import NoteReader
from node.language import conversation
from node.models.embedders.cross_encoder import Reader
from node.pipeline.replies import difference

HERE = Path(__file__).parent
SETS = {
    "starter_asks": (HERE / "newcomerlab" / "starter_asks.jsonl", "of"),
    "casual": (HERE / "newcomerlab" / "casual_starter.jsonl", "query_hash_or_query"),
    "general": (HERE / "answerlab" / "general.jsonl", ""),
    "everyday": (HERE / "newcomerlab" / "everyday.jsonl", ""),
}
FLOOR = 0.2
WRONG_COSTS = 5
THRESHOLDS = {
    "ENTRY_SHARE": (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85),
    "ENTRY_MARGIN": (0.4, 0.8, 1.2, 1.6, 2.0),
    "ENTRY_MIN": (0.35, 0.4, 0.45, 0.5, 0.55),
    "ENTRY_COSINE": (0.25, 0.3, 0.35, 0.4),
    "ENTRY_ALONE": (0.4, 0.45, 0.5, 0.55),
    "ENTRY_BEHIND": (0.05, 0.1, 0.15, 0.2),
}
"""Those of ``node.answer.notes``, and what is tried."""


def questions(name: str) -> list[tuple[str, str]]:
    """(text, the question of the entry that answers it, empty where none does)."""
    path, key = SETS[name]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [((row.get("turns") or [row.get("q")])[-1], row.get(key) or "" if key else "") for row in rows]


def offered(asked: Asked, entries: list[dict[str, str]]) -> list[Evidence]:
    """The starter entries as the pipeline offers them."""
    near = dict(zip(asked.ids, map(float, fused(asked, packaged().weight)), strict=True))
    cosines = dict(zip(asked.ids, map(float, asked.cosine), strict=True))
    made = []
    for one in order(asked, packaged().weight, FLOOR, notes.NOTES_MAX):
        if not one.startswith("s"):
            continue
        entry = entries[int(one[1:])]
        made.append(
            Evidence(
                entry["answer"],
                SourceRef("cache", notes.STARTER, one),
                1.0,
                Freshness.GENERAL,
                about=entry["query"],
                note=difference(asked.text, entry["query"]),
                relevance=near[one],
                cosine=cosines[one],
            )
        )
    return made


def by_gate(asked: Asked, entries: list[dict[str, str]]) -> str | None:
    """The answer that the gate serves, or None."""
    near = sorted(range(len(asked.ids)), key=lambda at: -asked.cosine[at])
    some = [at for at in near if asked.ids[at].startswith("s")][:SIZE_MAX]
    told = [entries[int(asked.ids[at][1:])] for at in some]
    verdicts = judge_all(
        asked.text,
        [
            Stored(one["query"], float(asked.cosine[at]), one["answer"])
            for at, one in zip(some, told, strict=True)
        ],
    )
    served = (
        one["answer"]
        for one, verdict in zip(told, verdicts, strict=True)
        if verdict.serve and verdict.u <= 0.05
    )
    return next(served, None)


class Remembering:
    """``NoteReader`` that reads nothing twice."""

    def __init__(self, reader: NoteReader) -> None:
        self._reader = reader
        self._said: dict[tuple[str, str], float] = {}

    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        new = [note for note in notes if (question, note) not in self._said]
        if new:
            odds = await self._reader.score(question, new)
            self._said |= {(question, note): said for note, said in zip(new, odds, strict=True)}
        return [self._said[question, note] for note in notes]

    async def close(self) -> None:
        await self._reader.close()


@dataclass(frozen=True)
class Case:
    """A question, typed and looked up; what it is offered, what the gate serves, what is right."""

    typed: str
    text: str
    entries: list[Evidence]
    gate: str | None
    wanted: str | None


@dataclass
class Count:
    gate: int = 0
    read: int = 0
    either: int = 0
    wrong: int = 0
    shown: list[tuple[str, str]] = field(default_factory=list)


async def cases(name: str, entries: list[dict[str, str]]) -> list[Case]:
    rows = questions(name)
    answers = {one["query"]: one["answer"] for one in entries}
    asks = [
        {"id": f"x-{at}", "q": conversation.subject(text), "needs": []} for at, (text, _) in enumerate(rows)
    ]
    facts, absent = [{"id": "x-1", "q": "zz", "a": "zz"}], [{"id": "x-0", "q": "zz"}]
    [present, *_] = await signs([{"facts": facts, "asks": asks, "absent": absent}])
    return [
        Case(text, asked.text, offered(asked, entries), by_gate(asked, entries), answers.get(of))
        for (text, of), asked in zip(rows, present, strict=True)
    ]


async def count(some: Sequence[Case], reader: NoteReader) -> Count:
    found = Count()
    for case in some:
        said = await notes.meant(reader, case.text, case.entries)
        read = None if said is None or conversation.asks_to_write(case.typed) else said.note.text
        served = case.gate or read
        found.gate += case.gate is not None and case.gate == case.wanted
        found.read += read is not None and read == case.wanted
        found.either += served is not None and served == case.wanted
        if served is not None and served != case.wanted:
            found.wrong += 1
            found.shown.append((case.typed, served))
    return found


async def choose(some: Sequence[Case], reader: NoteReader) -> None:
    """One threshold after the other, twice: as many right as can be had where a wrong one costs five."""

    async def worth() -> int:
        found = await count(some, reader)
        return found.either - WRONG_COSTS * found.wrong

    best = await worth()
    for name, values in [*THRESHOLDS.items()] * 2:
        for value in values:
            before = getattr(notes, name)
            setattr(notes, name, value)
            if (now := await worth()) > best:
                best = now
            else:
                setattr(notes, name, before)
    print({name: getattr(notes, name) for name in THRESHOLDS}, best)


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.starter")
    parser.add_argument("--choose", action="store_true", help="the thresholds anew, on starter_asks")
    wanted = parser.parse_args()
    entries = json.loads((HERE.parent / "knowledge-index.json").read_text(encoding="utf-8"))["entries"]
    about = {one["answer"]: one["query"] for one in entries}
    reader = Remembering(await Reader.load(threads=2))
    if wanted.choose:
        await choose(await cases("starter_asks", entries), reader)
    print(
        "| set | questions that an entry answers | served by the gate | by the reader | by either | wrong |"
    )
    print("|---|---|---|---|---|---|")
    for name in SETS:
        some = await cases(name, entries)
        found = await count(some, reader)
        has = sum(one.wanted is not None for one in some)
        print(
            f"| {name} ({len(some)}) | {has} | {found.gate} | {found.read} | {found.either} | {found.wrong} |"
        )
        print("\n".join(f"- {typed} | {about[served]}" for typed, served in found.shown[:40]), flush=True)
    await reader.close()


if __name__ == "__main__":
    asyncio.run(main())
