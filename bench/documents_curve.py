"""The curves of answers from documents (``documents`` in ``node/answer/reading.json``): which window holds
the answer, and whether the answer is there at all.

    python -m bench.documents_curve --lab FOLDER           # communities of readerlab/curves as documents
    python -m bench.documents_curve DOCUMENTS.SQLITE LAB.SQLITE [--write FLOOR SURE] [--odds FILE]
    python -m bench.documents_curve DOCUMENTS.SQLITE LAB.SQLITE --split held_out

DOCUMENTS.SQLITE is of a node that took ``bench/community`` in (``make_distractors.py`` beside it), LAB.SQLITE
of one that took in FOLDER; neither is running. Fitted on the train questions and on ``--asked`` questions of
the lab, which the reader was not trained on. Where the answer is not there is made three ways: the questions
that say so; a question while its gold documents, and their versions and rivals, are hidden; a question with a
name or a year exchanged for another of the corpus that the gold documents do not have. Printed: ROC of whole
questions, each judged by curves that did not see it (ten parts), and what would be quoted. ``--odds`` keeps
what the reader said, which takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.knowledge import ingested
from node.answer import document_signs, documents
from node.app.documents import nearness, own_embedder
from node.core.clock import SystemClock
from node.core.settings import Documents, Settings
from node.knowledge.corpus import StoredCorpus
from node.knowledge.evaluation.outcome import has_fact
from node.knowledge.model import Chunk, Document, Passage
from node.knowledge.retrieve import Search, retrieve
from node.knowledge.shelf import Shelf
from node.knowledge.windows import Window
from node.language.tongue import may_be_english
from node.models.embedders.cross_encoder import CrossEncoder
from node.models.embedders.local import installed_files

HERE = Path(__file__).parent
QUESTIONS = HERE / "community" / "questions.jsonl"
LAB = HERE / "readerlab" / "curves"
FILE = Path(documents.__file__).with_name("reading.json")
RIDGE = 10.0
SCOPES = ("shared",)
PARTS = 10
NOTES_A_FILE = 12
LAB_READ, LAB_SEED = 12, 5
WIDER = 8
FACT_CHARS_MIN = 4
NAME_TIMES_MIN = 4
DRAWN = random.Random(22)
YEARS = [str(year) for year in range(2019, 2028)]
Array = NDArray[np.float64]
Embedding = NDArray[np.float32]


@dataclass
class Asked:
    """A question with what was read for it. ``kind``: full, removed, swapped or lab. ``holds``: whether a
    window has the answer; ``is_there``: whether the answer is in the documents."""

    id: str
    question: str
    kind: str
    is_there: bool
    passages: Sequence[Passage]
    windows: Sequence[Window]
    odds: Sequence[float | None]
    near: Sequence[float]
    rarity: dict[str, float]
    named_missing: bool
    holds: Callable[[Window], bool]
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> Array:
        return np.array([self.holds(one) for one in self.windows], float)

    @property
    def window_signs(self) -> Array:
        return np.array(document_signs.window_signs(self.question, self.windows, self.odds, self.near))

    def rows(self, by: documents.Rule) -> list[documents.Said]:
        return documents.weighed(self.question, self.windows, self.odds, self.near, by)

    def answer_signs(self, by: documents.Rule) -> Array:
        return np.array(documents.answer_signs(self.question, self.rows(by), self.passages, self.rarity))


class Hidden:
    """A corpus of which some documents are not there."""

    def __init__(self, corpus: StoredCorpus, ids: Collection[int]) -> None:
        self._corpus, self._ids = corpus, ids
        self._documents = [one for one in corpus.documents(SCOPES) if one.id not in ids]

    def _kept(self, found: Sequence[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
        chunks = self.chunks([one for one, _ in found])
        return [pair for pair in found if pair[0] in chunks][:limit]

    def keyword(self, query: str, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        return self._kept(self._corpus.keyword(query, scopes, WIDER * limit), limit)

    def dense(self, vector: Embedding, scopes: Sequence[str], limit: int) -> Sequence[tuple[int, float]]:
        return self._kept(self._corpus.dense(vector, scopes, WIDER * limit), limit)

    def chunks(self, ids: Sequence[int]) -> dict[int, Chunk]:
        found = self._corpus.chunks(ids)
        return {one: chunk for one, chunk in found.items() if chunk.document not in self._ids}

    def neighbours(self, document: int, first: int, last: int) -> Sequence[Chunk]:
        return self._corpus.neighbours(document, first, last)

    def documents(self, scopes: Sequence[str]) -> Sequence[Document]:
        return self._documents

    def rarity(self, roots: Collection[str], scopes: Sequence[str]) -> dict[str, float]:
        return self._corpus.rarity(roots, scopes)


class Desk:
    """Puts questions to one store."""

    def __init__(self, search: Search, near: documents.Nearness | None) -> None:
        self.near = near
        self.search, self.shelf = search, search.shelf(SCOPES)

    @property
    def corpus(self) -> Any:
        return self.search.corpus

    def texts(self) -> dict[int, str]:
        """All words of each document."""
        return {
            one: "\n".join(chunk.text for chunk in self.corpus.neighbours(one, 0, 10_000))
            for one in self.shelf.by_id
        }

    async def ask(
        self,
        odds: Odds,
        question: str,
        hidden: Collection[int] = (),
        most: int = documents.READ_MAX,
        **more: Any,
    ) -> Asked:
        search = (
            self.search
            if not hidden
            else replace(self.search, corpus=Hidden(self.corpus, hidden), _shelves={})
        )
        shelf = search.shelf(SCOPES)
        passages = documents.standing(question, await retrieve(question, SCOPES, search), shelf)
        some, near = await documents.looked_at(question, passages, self.near, most)
        return Asked(
            question=question,
            passages=passages,
            windows=some,
            odds=odds.of(question, some),
            near=near,
            rarity=self.corpus.rarity(document_signs.roots(question), SCOPES),
            named_missing=bool(shelf.missing_named(question)),
            **more,
        )


class Odds:
    """What the reader says, kept in a file where one is named: it takes an hour where much else runs."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._said: dict[str, float] = json.loads(file.read_text("utf-8")) if file and file.exists() else {}
        self._reader = CrossEncoder.open(installed_files(), threads=2)

    def of(self, question: str, some: Sequence[Window]) -> list[float | None]:
        if not may_be_english(question):
            return [None] * len(some)
        keys = [f"{question}\n{one.read}" if may_be_english(one.text) else None for one in some]
        new = [(key, one.read) for key, one in zip(keys, some, strict=True) if key and key not in self._said]
        odds = self._reader.score(question, [text for _, text in new])
        self._said.update({key: round(one, 3) for (key, _), one in zip(new, odds, strict=True)})
        return [self._said[key] if key else None for key in keys]

    def keep(self) -> None:
        if self._file:
            self._file.write_text(json.dumps(self._said), "utf-8")


# --- questions ----------------------------------------------------------------------------------


async def of_community(desk: Desk, odds: Odds, split: str) -> list[Asked]:
    """The questions of a split; of train each also while its documents are hidden, and with other names."""
    made, texts = [], desk.texts()
    for line in QUESTIONS.read_text("utf-8").splitlines():
        meta = json.loads(line)
        if meta["split"] != split:
            continue
        facts, gold = meta["facts"], {one.id for one in desk.shelf.by_id.values() if one.path in meta["gold"]}
        more = {"id": meta["id"], "meta": meta}
        holds = partial(_holds, facts=facts, gold=gold)
        is_there = meta["category"] != "unanswerable"
        full = await desk.ask(odds, meta["question"], kind="full", is_there=is_there, holds=holds, **more)
        made.append(full)
        if split != "train" or not is_there:
            continue
        more |= {"is_there": False, "holds": _never}
        away = await desk.ask(odds, meta["question"], _bound(gold, desk.shelf), kind="removed", **more)
        telling = [fact for fact in facts if len(fact) >= FACT_CHARS_MIN]
        if not any(has_fact(one.text, telling) for one in away.windows):  # somebody else says it too
            made.append(away)
        if meta["language"] == "en" and not meta["across"]:
            others = _swapped(full, " ".join(texts[one] for one in gold), _names_in(texts))
            made += [await desk.ask(odds, other, kind="swapped", **more) for other in sorted(others)]
    return made


def _never(window: Window) -> bool:
    return False


def _holds(window: Window, facts: Sequence[str], gold: Collection[int]) -> bool:
    return window.document.id in gold and has_fact(window.text, facts)


def _bound(gold: Collection[int], shelf: Shelf) -> set[int]:
    """Documents with their versions and rivals."""
    every = shelf.by_id
    return {*gold, *(one for one in every for other in gold if shelf.are_bound(every[one], every[other]))}


def _names_in(texts: dict[int, str]) -> list[str]:
    words = Counter(
        match.group() for text in texts.values() for match in document_signs.WITHIN.finditer(text)
    )
    large = (word for word, times in words.items() if word[0].isupper() and times >= NAME_TIMES_MIN)
    return sorted(word for word in large if words[word] > PARTS * words[word.lower()])


def _swapped(asked: Asked, gold: str, every: Sequence[str]) -> set[str]:
    """The question with a name or a year exchanged."""
    made, strange = set(), [name for name in every if name not in gold]
    for name in document_signs.names(asked.question, asked.passages):
        if name.isalpha():
            made.add(re.sub(rf"\b{name}\b", DRAWN.choice(strange), asked.question))
    for year in re.findall(r"\b20\d\d\b", asked.question):
        made.add(asked.question.replace(year, DRAWN.choice([one for one in YEARS if one not in gold])))
    return made - {asked.question}


async def of_lab(desk: Desk, odds: Odds, most: int) -> list[Asked]:
    """Questions to one community each; of every fourth also while what answers it is hidden."""
    texts, made = desk.texts(), []
    asked = [(name, one, facts) for name, facts, some in _lab() for one in some]
    random.Random(LAB_SEED).shuffle(asked)
    for number, (name, one, facts) in enumerate(asked[:most]):
        needs = [_flat(facts[need]) for need in one.get("needs", ()) if need in facts]
        others = {each.id for each in desk.shelf.by_id.values() if not each.path.startswith(f"{name}/")}
        more = {"id": f"{name}{number}", "kind": "lab"}
        holds = partial(_says, needs=needs)
        made.append(
            await desk.ask(odds, one["q"], others, LAB_READ, is_there=bool(needs), holds=holds, **more)
        )
        if needs and number % 4 == 0:
            gold = {each for each, text in texts.items() if any(need in _flat(text) for need in needs)}
            made.append(
                await desk.ask(odds, one["q"], others | gold, LAB_READ, is_there=False, holds=_never, **more)
            )
    return [one for one in made if one.windows]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _says(window: Window, needs: Sequence[str]) -> bool:
    said = _flat(window.text)
    return any(need in said or (len(said) > 25 and said in need) for need in needs)


def _lab() -> Iterator[tuple[str, dict[str, str], list[dict[str, Any]]]]:
    """Each community: its name, its notes by id, what is asked of them."""
    for file in sorted(LAB.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        facts = {one["id"]: one["a"] for one in rows if one["kind"] == "fact"}
        yield file.stem, facts, [one for one in rows if one["kind"] in ("ask", "absent")]


def write_lab(folder: Path) -> None:
    """The communities as files: questions as headings, as a handbook's bold words, as plain lines."""
    styles = ("## {q}\n\n{a}\n", "**{q}.** {a}\n", "{q}: {a}\n")
    for file in sorted(LAB.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        facts = [one for one in rows if one["kind"] == "fact"]
        title = file.stem.replace("_", " ").capitalize()
        for number, at in enumerate(range(0, len(facts), NOTES_A_FILE)):
            style = styles[number % len(styles)]
            said = [style.format(q=one["q"].rstrip("?"), a=one["a"]) for one in facts[at : at + NOTES_A_FILE]]
            path = folder / file.stem / f"part{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join([f"# {title}, part {number + 1}\n", *said]), "utf-8")


# --- fitting ------------------------------------------------------------------------------------


def fitted(rows: Array, labels: Array) -> tuple[float, ...]:
    """Logistic weights with a ridge on standardised signs; the last is the offset."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    mean[-1], spread[-1] = 0.0, 1.0
    scaled, weights = (rows - mean) / spread, np.zeros(rows.shape[1])
    ridge = np.eye(len(weights)) * RIDGE
    ridge[-1, -1] = 1e-6
    for _ in range(60):
        share = 1 / (1 + np.exp(-scaled @ weights))
        slope = (scaled.T * (share * (1 - share))) @ scaled + ridge
        weights += np.linalg.solve(slope, scaled.T @ (labels - share) - ridge @ weights)
    told = weights / spread
    told[-1] = weights[-1] - (weights[:-1] * mean[:-1] / spread[:-1]).sum()
    return tuple(round(float(one), 3) for one in told)


def rule_of(cases: Sequence[Asked], floor: float, sure: float) -> documents.Rule:
    """Both curves."""
    read = [one for one in cases if one.kind in ("full", "lab") and one.windows]
    rows, labels = (
        np.concatenate([one.window_signs for one in read]),
        np.concatenate([one.labels for one in read]),
    )
    made = documents.Rule(fitted(rows, labels), (), floor, sure)
    decided = [one for one in cases if one.windows and not one.named_missing]
    signs = np.array([one.answer_signs(made) for one in decided])
    return replace(made, answer=fitted(signs, np.array([one.is_there for one in decided], float)))


def shares(cases: Sequence[Asked], floor: float, sure: float) -> list[tuple[Asked, float]]:
    """Each with the probability that its answer is there, by curves that did not see its question."""
    names = list(dict.fromkeys(one.id for one in cases))
    told = []
    for part in range(PARTS):
        mine = set(names[part::PARTS])
        by = rule_of([one for one in cases if one.id not in mine], floor, sure)
        told += [(one, share_of(one, by)) for one in cases if one.id in mine]
    return told


def share_of(one: Asked, by: documents.Rule) -> float:
    if not one.windows or one.named_missing:
        return 0.0
    return documents.there(one.question, one.rows(by), one.passages, one.rarity, by)


def roc(told: Sequence[tuple[Asked, float]]) -> str:
    """What is left unanswered where it is not there, at shares of what is where it is."""
    there = np.sort([share for one, share in told if one.is_there])
    away = np.array([share for one, share in told if not one.is_there])
    area = (there[:, None] > away[None, :]).mean() + 0.5 * (there[:, None] == away[None, :]).mean()
    cuts = {false: there[int(false * len(there))] for false in (0.05, 0.1, 0.15, 0.2)}
    points = ", ".join(
        f"{(away < cut).mean():.2f} at {false} (below {cut:.2f})" for false, cut in cuts.items()
    )
    return f"AUC {area:.3f} of {len(there)} and {len(away)}; silent {points}"


def table(told: Sequence[tuple[Asked, float]], by: documents.Rule) -> dict[str, int]:
    """Right, wrong, shown as the nearest and silent by category; ``*`` marks questions across languages."""
    counts: Counter[str] = Counter()
    for one, share in told:
        name = one.meta["category"] + ("*" if one.meta["across"] else "")
        if share < by.floor or not one.windows:
            counts[f"{name} silent"] += 1
            continue
        said = documents.quoted(one.rows(by))
        text = " ".join(row.window.text for row in said)
        how = "right" if has_fact(text, one.meta["facts"]) else "wrong"
        counts[f"{name} {how}{'' if share >= by.sure else ' as nearest'}"] += 1
        cited = {row.window.document.path for row in said}
        counts["cited"] += len(cited)
        counts["cited gold"] += len(cited & {*one.meta["gold"]})
    return dict(sorted(counts.items()))


async def asked(args: argparse.Namespace) -> list[Asked]:
    """All that is put to the documents."""
    odds = Odds(args.odds)
    async with AsyncExitStack() as stack:
        own = own_embedder(Settings(documents=Documents(embedder=args.embedder)), SystemClock())
        if own is not None:
            stack.push_async_callback(own.close)
        near = None if own is None else partial(nearness, own)
        search = await ingested(None, args.file, args.embedder, stack)
        cases = await of_community(Desk(search, near), odds, args.split)
        odds.keep()
        if args.split == "train":
            search = await ingested(None, args.lab_file, args.embedder, stack)
            cases += await of_lab(Desk(search, near), odds, args.asked)
            odds.keep()
    return cases


def run(args: argparse.Namespace) -> None:
    cases = asyncio.run(asked(args))
    by = documents.rule()
    told = [(one, share_of(one, by)) for one in cases if one.kind == "full"] if args.split != "train" else []
    if args.split == "train":
        floor, sure = args.write or (by.floor, by.sure)
        by, told = rule_of(cases, floor, sure), shares(cases, floor, sure)
        print(f"windows {by.windows}\nanswer {by.answer}")
        if args.write:
            data = json.loads(FILE.read_text("utf-8"))
            data["documents"] = {"windows": by.windows, "answer": by.answer, "floor": floor, "sure": sure}
            FILE.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", "utf-8")
        print(f"all: {roc(told)}")
    told = [(one, share) for one, share in told if one.kind == "full"]
    english = [(one, share) for one, share in told if one.meta["language"] == "en" and not one.meta["across"]]
    print(f"questions of the split: {roc(told)}\nin English: {roc(english)}")
    for name, count in table(told, by).items():
        print(f"{count:4} {name}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("lab_file", type=Path, nargs="?")
    parser.add_argument("--lab", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--asked", type=int, default=500)
    parser.add_argument("--odds", type=Path)
    parser.add_argument("--embedder", choices=("auto", "multilingual", "same"), default="auto")
    parser.add_argument("--write", type=float, nargs=2, metavar=("FLOOR", "SURE"))
    args = parser.parse_args()
    if args.lab:
        write_lab(args.lab)
    else:
        run(args)


if __name__ == "__main__":
    main()
