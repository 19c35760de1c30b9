"""The table of recall and false hits by floor (S2-87)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from bench.floors import FLOORS, curve, sampled, table
from bench.gate_pairs import family_pairs, similarities
from node.models.embedders.local import MiniLm, installed_files

RESULT = Path(__file__).resolve().parents[3] / "bench" / "results" / "floors.md"


def test_a_higher_floor_trades_recall_for_false_hits_and_the_gate_stands_behind_it() -> None:
    pairs = sampled(list(family_pairs()), 120)
    rows = curve(pairs, similarities(MiniLm.open(installed_files(), threads=1), pairs))
    assert [row.floor for row in rows] == [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    for low, high in pairwise(rows):
        assert low.recall >= high.recall
        assert low.false_hits >= high.false_hits
    for row in rows:
        assert row.false_hits_gate <= 0.01 < row.false_hits
        assert row.recall_gate <= row.recall
    balanced = rows[FLOORS.index(0.8)]
    assert balanced.recall >= 0.9
    assert balanced.recall_gate >= 0.75
    assert balanced.precision_gate == 1.0
    assert len(table("families", pairs, rows)) == 3 + len(FLOORS)


def test_the_same_sample_each_time() -> None:
    pairs = list(family_pairs())
    assert sampled(pairs, 50) == sampled(pairs, 50)
    assert sampled(pairs[:9], 50) == pairs[:9]


def test_the_table_of_the_labelled_pairs_is_kept() -> None:
    text = RESULT.read_text(encoding="utf-8")
    for name in ("families made by program", "pairs_mqp", "pairs_qqp", "pairs_t2s"):
        assert f"## {name}: " in text
    assert text.count("| 0.80 |") == 4
