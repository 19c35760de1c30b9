"""Files of questions and answers: every good row, and for each bad one its line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.cli import teach
from node.cli.teach import Bad, Row, read
from node.core.errors import BadInput


def rows(tmp_path: Path, name: str, text: str | bytes) -> list[Row | Bad]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read(path))


def test_a_table_with_a_header_in_any_order(tmp_path: Path) -> None:
    text = "\ufeffAnswer;Question;note\r\nAt nine.;When?;x\r\n\r\n;Where?;\r\nNobody.\r\n"
    assert rows(tmp_path, "a.csv", text) == [
        Row(2, "When?", "At nine."),
        Bad(4, "answer", "it is missing"),
        Bad(5, "question", "it is missing"),
    ]


def test_quoted_cells_keep_their_line_breaks_and_lines_are_counted(tmp_path: Path) -> None:
    text = 'question,answer\n"Who runs\nthe desk?","Mira, mostly."\nWhere?,\n'
    assert rows(tmp_path, "a.csv", text) == [
        Row(2, "Who runs\nthe desk?", "Mira, mostly."),
        Bad(4, "answer", "it is missing"),
    ]


def test_two_columns_need_no_header_and_more_do(tmp_path: Path) -> None:
    assert rows(tmp_path, "a.csv", "When?,At nine.\n") == [Row(1, "When?", "At nine.")]
    with pytest.raises(BadInput, match="name the columns"):
        rows(tmp_path, "b.csv", "a,b,c\n1,2,3\n")


def test_json_as_objects_pairs_or_one_object(tmp_path: Path) -> None:
    text = '[\n {"question": "a?", "answer": "b"},\n ["c?", "d"],\n {"question": "e?", "answer": 5},\n 7\n]'
    assert rows(tmp_path, "a.json", text) == [
        Row(2, "a?", "b"),
        Row(3, "c?", "d"),
        Bad(4, "answer", "it is no text"),
        Bad(5, "row", "it is neither {question, answer} nor [question, answer]"),
    ]
    assert rows(tmp_path, "b.json", '{"a?": "b"}') == [Row(1, "a?", "b")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "[", "not JSON"),
        ("a.json", "5", "no list"),
        ("a.csv", b"question,answer\nwann,f\xfcr\n", "not UTF-8 \\(line 2\\)"),
        ("a.pdf", "x", "neither"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, name: str, text: str | bytes, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        rows(tmp_path, name, text)
    with pytest.raises(BadInput, match="cannot be read"):
        list(read(tmp_path / "none.csv"))


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teach, "ROWS_MAX", 2)
    found = rows(tmp_path, "a.csv", "question,answer\n" + "q,a\n" * 4)
    assert [type(one) for one in found] == [Row, Row, Bad]
    monkeypatch.setattr(teach, "FILE_BYTES_MAX", 10)
    with pytest.raises(BadInput, match="larger"):
        rows(tmp_path, "b.csv", "question,answer\n")
    monkeypatch.setattr(teach, "FILE_BYTES_MAX", 10**6)
    long = "x" * (teach.TEXT_CHARS_MAX + 1)
    [bad] = rows(tmp_path, "c.csv", f"question,answer\n{long},a\n")
    assert isinstance(bad, Bad)
    assert bad.field == "question"
