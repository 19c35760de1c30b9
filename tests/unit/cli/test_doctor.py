"""The short form of ``doctor``."""

from __future__ import annotations

from node.cli.doctor import LINES_MAX, Row, short

NO_MODEL = "no language model can be used; type: ollama pull llama3.2"
WELL = [
    Row("pass", "python", "3.11"),
    Row("pass", "running", "a node answers at http://127.0.0.1:8642"),
    Row("pass", "embedder", "minilm", "12.3"),
    Row("pass", "entries", "", "100"),
    Row("pass", "model:ollama", "model llama3.2"),
    Row("warn", "model:openai", "no text is generated: it is down"),
    Row("pass", "adapter:weather", "", "10"),
    Row("pass", "log", "", "7"),
]


def test_all_well_is_a_line_a_subject() -> None:
    lines = short(WELL)
    assert [status for status, _, _ in lines] == ["pass"] * 5
    assert ("pass", "language model", "answers (model llama3.2)") in lines
    assert ("pass", "stored answers", "100 answers, found by their meaning (minilm)") in lines


def test_what_is_missing_stands_first_with_what_it_means() -> None:
    kept = [row for row in WELL if not row.name.startswith(("model", "entries"))]
    bad = [
        Row("warn", "model:ollama", "no text is generated"),
        Row("warn", "model", NO_MODEL),
        Row("warn", "entries", "only 0 of 100 stored answers are found by their meaning", "100"),
        Row("fail", "log", "the disk is full"),
        Row("warn", "adapter:news", "no news: it is down"),
        Row("warn", "adapter:scores", "no scores: it is down"),
    ]
    lines = short(kept + bad)
    assert lines[0] == ("fail", "decision log", "the disk is full")
    assert ("warn", "language model", NO_MODEL) in lines
    assert ("warn", "stored answers", "only 0 of 100 stored answers are found by their meaning") in lines
    assert ("warn", "sources", "news, scores: no news: it is down") in lines


def test_ten_lines_hold_whatever_is_wrong() -> None:
    rows = [Row("warn", f"unknown{number}", "odd") for number in range(30)]
    assert len(short([*rows, Row("fail", "log", "gone")])) == LINES_MAX - 1
    assert short([*rows, Row("fail", "log", "gone")])[0][0] == "fail"
