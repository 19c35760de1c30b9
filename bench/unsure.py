"""What is said of questions to communities where no language model is there: ``python -m bench.unsure``.

The composer as it ships, on what the rule of relevance offers, for the communities of ``readerlab/curves``,
which curves and thresholds may be chosen on, and with ``--newcomers`` for those of ``newcomerlab``, which
nothing may. ``right``: a note that answers is quoted, as the answer or said to be not sure; ``beside``: only
others are."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from typing import Any

from bench.concern import vectors
from bench.evidence import HERE, ROOT, Asked, fused, order, signs
from bench.newcomer import COMMUNITIES, rows
from node.answer import notes
from node.answer.compose import Composer
from node.answer.evidence.relevance import packaged
from node.cache.matching.gate import agree
from node.core.clock import SystemClock
from node.core.model import Evidence, Freshness, Kind, SourceRef
from node.language import weekdays
from node.models.embedders.cross_encoder import Reader
from node.pipeline.replies import difference

ASKS, ABSENT = 30, 15
"""So many questions of each community that thresholds are chosen on."""
World = dict[str, Any]


def chosen_on() -> list[World]:
    made = []
    for place, path in enumerate(sorted((HERE / "readerlab" / "curves").glob("*.jsonl"))):
        some = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        facts = [row for row in some if row["kind"] == "fact"]
        asks = [row for row in some if row["kind"] == "ask"][:ASKS]
        absent = [row for row in some if row["kind"] == "absent"][:ABSENT]
        made.append(_world(place, [(row["id"], row) for row in facts], asks, absent))
    return made


def newcomers() -> list[World]:
    return [
        _world(
            place,
            [(row["fact_id"], row) for row in rows(f"{name}_facts")],
            rows(f"{name}_asks"),
            rows(f"{name}_absent"),
        )
        for place, name in enumerate(COMMUNITIES)
    ]


def _world(place: int, facts: list[Any], asks: list[Any], absent: list[Any]) -> World:
    return {
        "facts": [{"id": f"c{place}-{name}", "q": row["q"], "a": row["a"]} for name, row in facts],
        "asks": [
            {"id": f"c{place}-{n}", "q": row["q"], "needs": [f"c{place}-{one}" for one in row["needs"]]}
            for n, row in enumerate(asks)
        ],
        "absent": [{"id": f"c{place}-a{n}", "q": row["q"]} for n, row in enumerate(absent)],
    }


def offered(asked: Asked, texts: dict[str, tuple[str, str]]) -> list[Evidence]:
    """What the pipeline offers the composer."""
    rule = packaged()
    near = dict(zip(asked.ids, map(float, fused(asked, rule.weight)), strict=True))
    cosines = dict(zip(asked.ids, map(float, asked.cosine), strict=True))
    made = []
    for name in order(asked, rule.weight, rule.floor, notes.NOTES_MAX):
        about, text = texts[name]
        source = SourceRef("cache", notes.STARTER if name.startswith("s") else "local", name)
        made.append(
            Evidence(
                text,
                source,
                0.9,
                Freshness.GENERAL,
                partial=True,
                about=about,
                note=difference(asked.text, about),
                relevance=near[name],
                cosine=cosines[name],
                is_same=agree(asked.text, about).serve,
                lacks=weekdays.lacking(asked.text, f"{about} {text}"),
            )
        )
    return made


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.unsure")
    parser.add_argument("--newcomers", action="store_true")
    worlds = newcomers() if parser.parse_args().newcomers else chosen_on()
    present, absent, _ = await signs(worlds)
    starter = json.loads((ROOT / "knowledge-index.json").read_text("utf-8"))["entries"]
    texts = {one["id"]: (one["q"], one["a"]) for world in worlds for one in world["facts"]}
    texts |= {f"s{n}": (one["query"], one["answer"]) for n, one in enumerate(starter)}
    clock, reader = SystemClock(), await Reader.load(threads=1)
    composer = Composer([], clock, 8_000, 400, reader=reader)
    said: Counter[str] = Counter()
    asked = [*present, *absent]
    for one, vector in zip(asked, vectors([one.text for one in asked]).tolist(), strict=True):
        found = await composer.compose(
            one.text,
            offered(one, texts),
            route_kind=Kind.GENERATIVE,
            deadline=clock.monotonic() + 60,
            tag="b3nch",
            vector=vector,
        )
        is_right = any(texts[name][1][:40] in found.text for name in one.needs)
        kind = "honest" if found.abstained else "right" if is_right else "beside"
        sure = ", not sure" if found.unsure else ""
        said[f"{'asked' if one.needs else 'absent'}: {kind}{sure}"] += 1
        said["absent: two notes"] += not one.needs and len(found.citations) > 1
    for name, number in sorted(said.items()):
        print(f"{name:24} {number}")
    await reader.close()


if __name__ == "__main__":
    asyncio.run(main())
