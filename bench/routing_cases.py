"""The labelled questions of ``bench/routing_questions.jsonl``: what the router is measured and trained on.

One JSON object a line: ``text``; ``part`` (``train`` or ``test``: whether the first byte of the SHA-256 of
the text, with its history before it in lines, is even or odd); ``group``; ``route`` (``also``: further fair
ones); ``adapter``; ``slots`` (null: not judged; ``<name>_any``: that slot has several fair values). Where
they apply: ``lang`` (none: English), ``trap`` (it only looks like another class), ``history`` (the session's
earlier questions; the label is that of the completed question), ``parts`` (several intents, in order),
``refused`` (there is no answer to give), ``any_route``, ``build`` (how a long hostile text is put together).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = Path(__file__).resolve().parent / "routing_questions.jsonl"
ENGLISH = "en"

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is labelled of one question. ``slots`` None: not judged; ``free`` names slots with more than one
    fair value; ``also`` further fair routes."""

    kind: str
    adapter: str | None
    slots: Fields | None
    free: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled text."""

    text: str
    group: str
    part: str
    lang: str
    wanted: Wanted
    parts: tuple[Wanted, ...]
    history: tuple[str, ...]
    trap: bool
    refused: bool
    any_route: bool

    @property
    def kind(self) -> str:
        return self.wanted.kind

    @property
    def adapter(self) -> str | None:
        return self.wanted.adapter


def read_cases(file: Path) -> list[Case]:
    """The labelled questions; a ``build`` field says how a long hostile text is put together."""
    cases = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = row["text"]
        if build := row.get("build"):
            text = build["prefix"] + build["repeat"] * build["times"] + build["suffix"]
        cases.append(
            Case(
                text=text,
                group=row["group"],
                part=row["part"],
                lang=row.get("lang", ENGLISH),
                wanted=_wanted(row),
                parts=tuple(_wanted(part) for part in row.get("parts", ())),
                history=tuple(row.get("history", ())),
                trap=bool(row.get("trap")),
                refused=bool(row.get("refused")),
                any_route=bool(row.get("any_route")),
            )
        )
    return cases


def _wanted(row: Mapping[str, object]) -> Wanted:
    slots, also = row["slots"], row.get("also")
    return Wanted(
        kind=str(row["route"]),
        adapter=None if row["adapter"] is None else str(row["adapter"]),
        slots=slots if isinstance(slots, dict) else None,
        free=frozenset(name.removesuffix("_any") for name, on in row.items() if on and name.endswith("_any")),
        also=frozenset(str(kind) for kind in also) if isinstance(also, list) else frozenset(),
    )
