"""docs/requirements.md is kept honest as far as a program can: what it names exists, and no id is lost."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")

LAST = {"S0": 43, "S1": 16, "S2": 88, "S3": 44, "S4": 55}
"""The highest number of each source's requirements; they are numbered without gaps."""

TIMED = {"S2-44", "S2-45", "S2-46", "S2-88", "S4-49"}
"""They ask for times, which no test judges here: a command prints them."""

ROW = re.compile(r"^\| (S\d-\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
LATER = re.compile(r"^- \*\*(.+)\*\*: (.+)\.$", re.MULTILINE)
IDS = re.compile(r"\b(S\d)-(\d\d)(?: to (S\d)-(\d\d))?\b")
TEST = re.compile(r"`([a-z0-9_/]+\.py)(?:::([A-Za-z0-9_]+))?`")

ROWS = [match.groups() for match in ROW.finditer(PAGE)]


def expanded(text: str) -> list[str]:
    """The ids named in a text, ranges written out."""
    found = []
    for source, first, other, last in IDS.findall(text):
        assert other in ("", source), f"a range over two sources: {source}-{first} to {other}-{last}"
        found += [f"{source}-{number:02}" for number in range(int(first), int(last or first) + 1)]
    return found


@functools.cache
def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_is_met_or_partly_and_names_what_exists() -> None:
    assert ROWS
    for identifier, _, state, shown in ROWS:
        assert state in ("met", "partly"), identifier
        named = TEST.findall(shown)
        assert named, identifier
        for file, function in named:
            if file.startswith("bench/"):
                assert (ROOT / file).is_file(), (identifier, file)
                assert state == "partly" or identifier in TIMED, f"{identifier}: a measurement is no test"
                continue
            assert function.startswith("test_"), (identifier, file)
            path = ROOT / "tests" / file
            assert path.is_file(), (identifier, file)
            assert function in functions(path), (identifier, file, function)


def test_a_partly_met_row_says_what_is_missing_and_a_met_one_does_not() -> None:
    for identifier, _, state, shown in ROWS:
        assert ("; missing: " in shown) == (state == "partly"), identifier


def test_the_cost_of_an_embedding_is_told() -> None:
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert re.search(
        r"^\| in this process \([^)]*384 dimensions\) \| [\d.]+ / [\d.]+ ms \|", measured, re.MULTILINE
    )


def test_every_id_stands_there_exactly_once() -> None:
    later = [text for name, text in LATER.findall(PAGE) if "none of its own" not in text]
    assert later
    found = Counter([identifier for identifier, *_ in ROWS] + expanded(" ".join(later)))
    every = {f"{source}-{number:02}" for source, last in LAST.items() for number in range(1, last + 1)}
    assert sorted(every - set(found)) == []
    assert sorted(set(found) - every) == []
    assert [identifier for identifier, count in found.items() if count > 1] == []


def test_the_summary_counts_right() -> None:
    met = sum(state == "met" for _, _, state, _ in ROWS)
    partly = len(ROWS) - met
    assert f"Now: {met} met, {partly} partly, {sum(LAST.values()) - len(ROWS)} later." in PAGE
