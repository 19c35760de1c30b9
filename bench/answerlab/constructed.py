"""Answers on evidence that are made by program, so that their label is known: facts as they are, and the same
with a figure, a name or the whole fact exchanged. They stand in for a model's answers until enough real ones
are labelled, and are never counted as such.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.answerlab.data import FOLDER, Labelled, Said, World, read_lines, worlds
from bench.answerlab.fit import Row, rows_of
from bench.transcripts import OFFERED, Search
from node.models.embedders.local import MiniLm, installed_files

_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}")


@dataclass(frozen=True, slots=True)
class _Made:
    kind: str
    text: str
    right: bool
    true_to_evidence: bool


def constructed() -> list[Row]:
    """The rows of all invented communities."""
    engine = MiniLm.open(installed_files(), threads=1)
    gold = {ask["id"]: ask["gold"] for row in read_lines(FOLDER / "worlds.jsonl") for ask in row["asks"]}
    all_worlds = list(worlds())
    items: list[Labelled] = []
    truths: list[tuple[_Made, bool]] = []
    for number, world in enumerate(all_worlds):
        search = Search(world, engine)
        names = _names(all_worlds[(number + 1) % len(all_worlds)])
        for item, question, needs in world.asks:
            offered = tuple((note.id, note.text) for note in search.find(question, OFFERED))
            found = bool(needs) and set(needs) <= {one for one, _ in offered}
            for made in _answers(item, needs, offered, gold.get(item, ""), found, names):
                label = "right" if made.right else "wrong"
                said = Said(made.text)
                items.append(Labelled("made", item, question, "", said, None, offered, label))
                truths.append((made, found))
    rows = rows_of(items)
    return [
        replace(row, found=found, true_to_evidence=made.true_to_evidence)
        for row, (made, found) in zip(rows, truths, strict=True)
    ]


def _names(world: World) -> list[str]:
    return sorted({name for _, answer in world.facts.values() for name in _NAME.findall(answer)})


def _answers(
    item: str,
    needs: Sequence[str],
    offered: Sequence[tuple[str, str]],
    gold: str,
    found: bool,
    names: Sequence[str],
) -> Iterator[_Made]:
    """Answers to one question, each with its truth."""
    ids = [one for one, _ in offered]
    if found:
        places = [ids.index(need) for need in needs]
        whole = " ".join(f"{offered[place][1]} [{place + 1}]" for place in places)
        marks = "".join(f"[{place + 1}]" for place in places)
        yield _Made("fact", whole, True, True)
        yield _Made("gold", f"{gold.rstrip('.')} {marks}.", True, True)
        if (turned := _other_figure(whole)) != whole:
            yield _Made("figure", turned, False, False)
        if names and (renamed := _other_name(whole, names, item)) != whole:
            yield _Made("name", renamed, False, False)
        other = next((place for place in range(len(ids)) if place not in places), None)
        if other is not None:
            yield _Made("beside", f"{offered[other][1]} [{other + 1}]", False, True)
        return
    yield _Made("absent", f"{offered[0][1]} [1]", False, True)


def _other_figure(text: str) -> str:
    """The text with its longest number changed by its last digit; marks stay."""
    body = [match for match in _DIGITS.finditer(text) if text[match.start() - 1 : match.start()] != "["]
    if not body:
        return text
    longest = max(body, key=lambda match: len(match.group()))
    digits = longest.group()
    changed = digits[:-1] + str((int(digits[-1]) + 3) % 10)
    return text[: longest.start()] + changed + text[longest.end() :]


def _other_name(text: str, names: Sequence[str], item: str) -> str:
    """The text with its first name exchanged for one of another community."""
    chosen = names[hashlib.sha256(item.encode()).digest()[0] % len(names)]
    return _NAME.sub(chosen, text, count=1)
