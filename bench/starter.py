"""Which questions the starter entries answer at once, by the packaged reader: ``notes.meant``.

    python -m bench.starter

``newcomerlab/starter_asks.jsonl``: 180 questions to the entries and 120 that no entry answers, written to
choose the thresholds by. ``casual_starter.jsonl``: 64 and 20, which nothing was chosen by. The others
(``answerlab/general.jsonl``, ``newcomerlab/everyday.jsonl``) are about anything; what is served there is
shown, to be judged by reading. ``gate``: what the cache's gate serves of the same, by the question alone.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bench.evidence import Asked, fused, order, signs
from node.answer import notes
from node.answer.evidence.relevance import packaged
from node.cache.matching.gate import Stored, judge_all
from node.cache.matching.neighbours import SIZE_MAX
from node.core.model import Evidence, Freshness, SourceRef
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


async def main() -> None:
    entries = json.loads((HERE.parent / "knowledge-index.json").read_text(encoding="utf-8"))["entries"]
    answers = {one["query"]: one["answer"] for one in entries}
    reader = await Reader.load(threads=2)
    print(
        "| set | questions that an entry answers | served by the gate | by the reader | by either | wrong |"
    )
    print("|---|---|---|---|---|---|")
    for name in SETS:
        rows = questions(name)
        world = {
            "facts": [{"id": "x-1", "q": "zz", "a": "zz"}],
            "asks": [
                {"id": f"x-{at}", "q": conversation.subject(text), "needs": []}
                for at, (text, _) in enumerate(rows)
            ],
            "absent": [{"id": "x-0", "q": "zz"}],
        }
        [present, *_] = await signs([world])
        gate = read = either = wrong = 0
        shown = []
        for (text, of), asked in zip(rows, present, strict=True):
            wanted = answers.get(of)
            first = by_gate(asked, entries)
            said = await notes.meant(reader, asked.text, offered(asked, entries))
            is_read = said is not None and not conversation.asks_to_write(text)
            served = first or (said.note.text if said is not None and is_read else None)
            gate += first is not None and first == wanted
            read += said is not None and is_read and said.note.text == wanted
            either += served is not None and served == wanted
            wrong += served is not None and served != wanted
            if served is not None and served != wanted:
                about = next(one["query"] for one in entries if one["answer"] == served)
                shown.append(f"- {text} | {about}")
        has = sum(bool(of) for _, of in rows)
        print(f"| {name} ({len(rows)}) | {has} | {gate} | {read} | {either} | {wrong} |")
        print("\n".join(shown[:40]))
    await reader.close()


if __name__ == "__main__":
    asyncio.run(main())
