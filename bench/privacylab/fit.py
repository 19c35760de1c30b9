"""Fit the classifier of the privacy gate: what people tell of themselves.

``python -m bench.privacylab.fit [--write]``

Trained on: the sets ``hand*``, ``held``, ``blind`` to ``blind8`` (all development sets now), the questions
of other benches (``project``, ``readerlab``, ``general``), the texts of generator and frames, the routing
questions, lines of Python's library and descriptions of installed packages. Without ``--write`` it holds out
one set after the other, and prints by kind what the gate keeps of sets that it was not fitted to, and what it
keeps wrongly: that is how features and threshold were chosen. A text whose kind is an identifier and that a
rule of known forms finds counts a quarter: the classifier need not find it again, and what it would learn of
bare codes raises false alarms.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from bench.privacy import LAB, NONE, Row, read
from bench.privacylab import frames
from bench.privacylab.make import digit_heavy, positives
from node import privacy
from node.privacy import personal
from node.privacy.samples import bared
from node.privacy.text import Text

OUT = Path(personal.__file__).with_name("personal.json")
ROUTING = LAB.parent / "routing_questions.jsonl"
GATE = LAB.parent / "gate_blind.jsonl"
COMMUNITIES = LAB.parent / "readerlab"
GENERAL = LAB.parent / "answerlab" / "general.jsonl"
NEWCOMERS = LAB.parent / "newcomerlab"
HONEST = LAB.parent / "injectionlab" / "honest.txt"
SETS = (*(f"blind{n}" for n in ("", *range(2, 9))), "held")
SCALE = 50
QUESTIONS = 4_000
"""So many questions to invented communities are learnt from: they say "my" and tell nothing."""
FOUND_ANYWAY = 0.25
TOLD = frozenset(["name", "address", "birth_date", "health"])
"""The kinds that the classifier finds, not the rules."""
_EACH = 8
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]{1,3}\b)?")
_CODE = re.compile(r"[^\W\d_]+(?:[-._+&][^\W\d_]+)*[-._@#$%^&*+~!]?\d[^\s\"'`,;()<>=:?]{0,64}")


@dataclass(frozen=True, slots=True)
class Line:
    """What is fitted; the shape that ``personal`` reads."""

    words: frozenset[str]
    weights: dict[personal.Feature, float]
    bias: float

    def score(self, text: str) -> float:
        """The highest log-odds of any passage."""
        found = [
            self.bias + sum(self.weights.get(name, 0.0) for name in names)
            for names in personal.spans(bared(Text.of(text)).text, self.words)
        ]
        return max(found, default=-9.0)


def library(seed: int, most: int) -> list[Row]:
    """Lines and descriptions of Python's library: code and prose that tell of nobody."""
    rng = random.Random(seed)
    base = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted([*base.glob("*.py"), *base.glob("asyncio/*.py"), *base.glob("http/*.py")])
    rng.shuffle(paths)
    out: list[str] = []
    for path in paths[:150]:
        source = path.read_text(encoding="utf-8", errors="ignore")
        lines = [line.strip() for line in source.split("\n") if 15 < len(line.strip()) < 120]
        lines = [line for line in lines if not re.search(r"@\w+\.|uthor|opyright|ritten by|edited", line)]
        out += rng.sample(lines, min(6, len(lines)))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and rng.random() < 0.15:
                told = ast.get_docstring(node)
                if told and len(told) > 60:
                    out.append(told[:600])
    rng.shuffle(out)
    return [Row(text, NONE) for text in out[:most]]


def descriptions(part: int) -> list[Row]:
    """Paragraphs of the installed packages' descriptions: prose, code and markup. ``part`` 0: to learn from;
    1: of other packages, to try."""
    out = []
    for one in sorted(metadata.distributions(), key=lambda one: str(one.metadata["Name"])):
        told = (one.read_text("METADATA") or "").partition("\n\n")[2]
        if sum(map(ord, str(one.metadata["Name"]))) % 2 != part:
            continue
        paragraphs = [text for text in told.split("\n\n") if 60 < len(text) < 1_500]
        out += random.Random(1).sample(paragraphs, min(12, len(paragraphs)))
    return [Row(text, NONE) for text in out if not any(rule(Text.of(text)) for rule in known())]


def known() -> tuple[privacy.Rule, ...]:
    """The rules but the classifier itself."""
    return tuple(rule for rule in privacy.rules() if rule is not personal.find)


def sets() -> dict[str, list[Row]]:
    """All rows to learn from, by set."""
    out = {name: read((LAB / name).glob("*.jsonl")) for name in SETS}
    out["hand"] = read(LAB.glob("hand*.jsonl"))
    out["made"] = [Row(text, kind) for text, kind in positives(5, 40)]
    out["made"] += [Row(text, NONE) for text in digit_heavy(5, 400)]
    out["routing"] = [Row(json.loads(line)["text"], NONE) for line in ROUTING.read_text().splitlines()]
    out["library"] = [*library(4, 900), *descriptions(0)]
    pairs = map(json.loads, GATE.read_text(encoding="utf-8").splitlines())
    questions = {str(pair[side]) for pair in pairs for side in "ab"}
    honest = (line.partition("\t")[2] for line in HONEST.read_text(encoding="utf-8").splitlines())
    out["project"] = [Row(text, NONE) for text in sorted(questions | set(filter(None, honest)))]
    asked = []
    for path in sorted(COMMUNITIES.glob("*.jsonl")):
        told = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        asked += [str(row["q"]) for row in told if row["kind"] != "fact"]
    random.Random(3).shuffle(asked)
    out["readerlab"] = [Row(text, NONE) for text in asked[:QUESTIONS]]
    lines = GENERAL.read_text(encoding="utf-8").splitlines()
    out["general"] = [Row(json.loads(line)["q"], NONE) for line in lines]
    return out


def everyday(rows: Iterable[Row], least: int) -> frozenset[str]:
    """Words of several texts that are mostly written small: those that stand for themselves."""
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for row in rows:
        if row.kind == NONE:
            codes.update({code.rstrip(".!-_*").lower() for code in _CODE.findall(Text.of(row.text).text)})
        text = Text.of(row.text).text
        for word in set(_WORD.findall(text)):
            (small if word[0].islower() or text.startswith(word) else capital)[word.lower()] += 1
    return frozenset(
        word
        for word in small | capital
        if (small[word] >= least and 2 * small[word] >= capital[word])
        or (capital[word] >= 8 and small[word] >= 2)
    ) | {code for code, count in codes.items() if count >= least}


def _noisy(text: str, rng: random.Random) -> str:
    """As people type: small letters, no stops, or both."""
    kind = rng.random()
    if kind < 0.7:
        text = text.lower()
    return text if kind < 0.5 else re.sub(r"[.?!,]", "", text)


def _weight(row: Row) -> float:
    """What a text counts."""
    if row.kind == NONE or row.kind in TOLD:
        return 1.0
    text = bared(Text.of(row.text))
    return FOUND_ANYWAY if any(rule(text) for rule in known()) else 1.0


Example = tuple[frozenset[personal.Feature], int, float]
"""The features of a passage, whether it is private, what it counts."""


def _examples(rows: Iterable[Row], words: frozenset[str]) -> list[Example]:
    rng = random.Random(2)
    out: list[Example] = []
    for row in rows:
        text, weight = bared(Text.of(row.text)).text, _weight(row)
        for shown in (text, _noisy(text, rng)):
            found = list(personal.spans(shown, words))
            if row.kind == NONE:
                out += [(names, 0, weight) for names in found]
            elif found:  # which passage of several it is, is not labelled: the first three as one
                out.append((frozenset().union(*found[:3]), 1, weight))
    return out


def fit(rows: Sequence[Row], *, ridge: float = 1.0, least: int = 4, smallest: float = 0.1) -> Line:
    """Logistic regression with a ridge, by adaptive gradient steps over all examples at once."""
    words = everyday(rows, 5)
    examples = _examples(rows, words)
    seen = Counter(name for names, _, _ in examples for name in names)
    place = {name: index for index, name in enumerate(name for name, count in seen.items() if count >= least)}
    pairs = [
        (row, place[name]) for row, (names, _, _) in enumerate(examples) for name in names if name in place
    ]
    row_of, name_of = (np.array(part) for part in zip(*pairs, strict=True))
    wanted = np.array([label for _, label, _ in examples], float)
    counts = np.array([weight for _, _, weight in examples], float)
    weights, total = np.zeros(len(place)), np.full(len(place), 1e-6)
    bias, bias_total = 0.0, 1e-6
    for _ in range(300):
        raised = np.bincount(row_of, weights[name_of], len(examples)) + bias
        off = (1 / (1 + np.exp(-raised)) - wanted) * counts
        slope = np.bincount(name_of, off[row_of], len(place)) + ridge * weights
        total += slope * slope
        weights -= 0.3 * slope / np.sqrt(total)
        bias_total += float(off.sum()) ** 2
        bias -= 0.3 * float(off.sum()) / bias_total**0.5
    kept = {name: float(weights[index]) for name, index in place.items() if abs(weights[index]) >= smallest}
    return Line(words, kept, bias)


def judge(title: str, rows: Sequence[Row], line: Line) -> Counter[tuple[str, bool]]:
    """What the gate keeps of rows that the line has not seen, by kind; printed and given back."""
    kept: Counter[tuple[str, bool]] = Counter()
    for row in rows:
        text = bared(Text.of(row.text))
        is_kept = line.score(row.text) > personal.PRIVATE or any(rule(text) for rule in known())
        kept[row.kind, is_kept] += 1
    show(title, kept)
    return kept


def show(title: str, kept: Counter[tuple[str, bool]]) -> None:
    def share(kinds: Iterable[str]) -> float:
        yes, no = (sum(kept[kind, is_kept] for kind in kinds) for is_kept in (True, False))
        return yes / max(1, yes + no)

    kinds = sorted({kind for kind, _ in kept} - {NONE})
    some = " ".join(f"{kind} {share([kind]):.3f}" for kind in kinds if kept[kind, False])
    print(f"{title}: all {share(kinds):.3f}, false alarms {share([NONE]):.3f}; {some}")


def save(line: Line, path: Path) -> None:
    """The line as ``personal`` reads it: weights as whole numbers of 1/``SCALE``, by kind and first part."""
    weights: dict[str, dict[str, int | dict[str, int]]] = {sign: {} for sign in ("alone", "next", *"><&")}
    for name, value in sorted(line.weights.items(), key=lambda one: str(one[0])):
        whole = round(value * SCALE)
        if not whole:
            continue
        if isinstance(name, str):
            weights["alone"][name] = whole
        else:
            sign, first, second = ("next", *name) if len(name) == 2 else (name[1], name[2], name[0])
            of = weights[sign].setdefault(first, {})
            assert isinstance(of, dict)
            of[second] = whole
    shown = {
        "version": 1,
        "scale": SCALE,
        "bias": round(line.bias, 4),
        "words": " ".join(sorted(line.words)),
        "weights": weights,
    }
    path.write_text(json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def _without(rows: Mapping[str, list[Row]], name: str) -> list[Row]:
    return [row for other, some in rows.items() if other != name for row in some]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="fit to everything and write personal.json")
    options = parser.parse_args(arguments)
    privacy.load()
    rows = sets()
    framed = [Row(*pair) for pair in frames.made(3, _EACH)[0]]
    if options.write:
        save(fit([*_without(rows, ""), *framed]), OUT)
        return 0
    every: Counter[tuple[str, bool]] = Counter()
    for name in SETS:
        every += judge(f"without {name}", rows[name], fit([*_without(rows, name), *framed]))
    show("all of them", every)
    line = fit([*_without(rows, ""), *framed])
    judge("descriptions of other packages", descriptions(1), line)
    told = [one for path in sorted(NEWCOMERS.glob("*_a[bs]*.jsonl")) for one in path.read_text().splitlines()]
    judge("questions of newcomers", [Row(json.loads(one)["q"], NONE) for one in told], line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
