"""The fictitious community of ``bench/community`` says what its questions claim."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from bench.community import make_distractors

HERE = Path(__file__).resolve().parents[2] / "bench" / "community"
FILES = HERE / "files"
PATHS = sorted(path.relative_to(FILES).as_posix() for path in FILES.rglob("*") if path.is_file())
QUESTIONS = [json.loads(line) for line in (HERE / "questions.jsonl").read_text("utf-8").splitlines()]
MANIFEST = {
    row["path"]: row for row in csv.DictReader((FILES / "manifest.csv").read_text("utf-8").splitlines())
}
LANGUAGE = {
    row["path"]: row["language"]
    for row in csv.DictReader((HERE / "languages.csv").read_text("utf-8").splitlines())
}
BUILT = json.loads((HERE / "built.json").read_text("utf-8"))
FORERUNNER = {row["path"]: row["supersedes"] for row in MANIFEST.values() if row["supersedes"]}
UNDECLARED_FORERUNNER = {
    "handbooks/normas-huerto-2025.md": "handbooks/normas-huerto-2023.md",
    "contracts/internet-contract-2025.md": "contracts/internet-contract-2023.md",
}
"""Pairs that only the texts tell of."""


def text_of(path: str) -> str:
    made = BUILT["files"].get(path)
    return (HERE / "sources" / made["from"] if made else FILES / path).read_text("utf-8")


def test_the_questions_have_ids_categories_and_a_split_by_hash() -> None:
    assert len({one["id"] for one in QUESTIONS}) == len(QUESTIONS) >= 120
    assert len({one["question"] for one in QUESTIONS}) == len(QUESTIONS)
    per_category = Counter(one["category"] for one in QUESTIONS)
    assert set(per_category) == {"answerable", "contradiction", "superseded", "unanswerable"}
    assert min(per_category.values()) >= 25
    for one in QUESTIONS:
        even = hashlib.sha256(one["id"].encode()).digest()[1] % 2 == 0
        assert one["split"] == ("train" if even else "held_out")
    assert 0.4 < sum(one["split"] == "train" for one in QUESTIONS) / len(QUESTIONS) < 0.6


@pytest.mark.parametrize("one", QUESTIONS, ids=[one["id"] for one in QUESTIONS])
def test_a_question_is_carried_by_its_files(one: dict) -> None:
    gold, facts, holds = one["gold"], one["facts"], one["holds"]
    assert set(gold) <= set(PATHS)
    assert one["across"] == (bool(gold) and all(LANGUAGE[path] != one["language"] for path in gold))
    if one["category"] == "unanswerable":
        assert not gold
        assert not facts
        assert holds is None
        return
    assert gold
    assert facts
    for fact in facts:
        assert any(fact in text_of(path) for path in gold), f"{fact!r} stands in none of {gold}"
    if holds:
        assert holds in gold
        assert all(fact in text_of(holds) for fact in facts)
    if one["category"] == "contradiction":
        assert len(gold) == 2
        if not holds:
            assert all(any(fact in text_of(path) for fact in facts) for path in gold)
    if one["category"] == "superseded":
        assert holds


def test_the_value_that_holds_does_not_stand_in_the_forerunner() -> None:
    """One of the facts at least tells the versions apart, as words of their own."""
    for one in QUESTIONS:
        before = {**FORERUNNER, **UNDECLARED_FORERUNNER}.get(one["holds"] or "")
        if one["category"] == "superseded" and before:
            old = text_of(before)
            assert any(not re.search(rf"(?<![\d.,:]){re.escape(f)}(?![\d])", old) for f in one["facts"]), one[
                "id"
            ]


def test_some_questions_cross_languages_and_five_ask_for_ghosts() -> None:
    assert sum(one["across"] for one in QUESTIONS) >= 24
    assert sum(one["id"].startswith("mc-g") for one in QUESTIONS) >= 5


def test_the_files_are_many_and_a_fifth_is_not_english() -> None:
    assert list(LANGUAGE) == PATHS
    assert len(PATHS) >= 44
    assert len([language for language in LANGUAGE.values() if language != "en"]) >= max(9, len(PATHS) // 5)
    endings = Counter(Path(path).suffix for path in PATHS)
    assert endings[".pdf"] >= 3
    assert endings[".docx"] == 2
    assert {".md", ".txt", ".html", ".json", ".csv"} <= set(endings)


def test_the_manifest_has_three_ghosts_and_five_files_are_not_listed() -> None:
    present = set(PATHS) - {"manifest.csv"}
    assert len(set(MANIFEST) - present) == 3
    assert len(present - set(MANIFEST)) == 5
    for row in MANIFEST.values():
        others = [row["supersedes"], *row["conflict_with"].split(";")]
        assert {other for other in others if other} <= present
        assert row["status"] in {"active", "draft", "legacy"}


def test_no_address_outside_example_org() -> None:
    texts = [
        path.read_text("utf-8")
        for path in HERE.rglob("*")
        if path.suffix not in {".pdf", ".docx", ".pyc"} and path.is_file()
    ]
    hosts = {host for text in texts for host in re.findall(r"[\w.+-]+@([\w.-]*\w)", text)}
    assert all(host == "example.org" or host.endswith(".example.org") for host in hosts), hosts


def test_the_made_files_belong_to_their_sources() -> None:
    for path, made in BUILT["files"].items():
        assert hashlib.sha256((HERE / "sources" / made["from"]).read_bytes()).hexdigest() == made["source"]
        assert hashlib.sha256((FILES / path).read_bytes()).hexdigest() == made["made"], path


def the_libraries_that_made_them() -> bool:
    try:
        return all(version(name) == wanted for name, wanted in BUILT["libraries"].items())
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(
    not the_libraries_that_made_them(), reason="made with other versions of fpdf2 and python-docx"
)
def test_the_script_makes_the_same_bytes_again(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(HERE / "make_files.py"), str(tmp_path)], check=True)
    for path in BUILT["files"]:
        assert (tmp_path / path).read_bytes() == (FILES / path).read_bytes()


def test_distractors_are_many_varied_and_the_same_each_time(tmp_path: Path) -> None:
    themes = make_distractors.themes()
    assert len({paragraph for theme in themes for paragraph in theme.paragraphs}) >= 250
    first = make_distractors.make(tmp_path / "first")
    second = make_distractors.make(tmp_path / "second")
    assert [path.name for path in first] == [path.name for path in second]
    texts = [path.read_text("utf-8") for path in first]
    assert texts == [path.read_text("utf-8") for path in second]
    assert len(set(texts)) == len(texts) >= 400
    assert not [text for text in texts if "{" in re.sub(r"\n \{|\{\n", "", text)]
    own = ("Marlweir", "Heron House", "Weir House", "Alder House", "Kranichhof", "Casa Tejo", "Maison Saule")
    assert not [text for text in texts if any(name in text for name in own)]
