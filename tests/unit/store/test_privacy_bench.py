"""What the privacy bench reads: texts whole or in pieces, and a set divided for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import privacy
from bench.privacy import NONE, Row, blind, halves, read


def test_pieces_are_joined(tmp_path: Path) -> None:
    lines = [{"pieces": ["pass", "word"], "kind": "password"}, {"text": "hello", "kind": "none"}]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    assert read([path]) == [Row("password", "password"), Row("hello", NONE)]


def test_a_set_is_divided_by_its_texts_alone() -> None:
    rows = [Row(f"text {number}", NONE) for number in range(200)]
    develop, judge = halves(rows)
    assert halves(reversed(rows)) == (develop[::-1], judge[::-1])
    assert len(develop) + len(judge) == 200
    assert 60 < len(develop) < 140


def test_a_blind_set_is_named_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "blind_new"
    folder.mkdir()
    (folder / "none.jsonl").write_text(json.dumps({"text": "hello", "kind": "none"}), encoding="utf-8")
    monkeypatch.setattr(privacy, "LAB", tmp_path)
    assert blind("blind_new") == [Row("hello", NONE)]
    with pytest.raises(ValueError, match="no texts"):
        blind("blind_gone")
