"""The command ``batch_embed.py``: arguments in, report out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import batch_embed
from node.jobs import index_file

STARTER = Path(__file__).parents[3] / "knowledge-index.json"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Five of the shipped entries."""
    file = index_file.read(STARTER)
    path = tmp_path / "index.json"
    index_file.write(path, file.entries[:5], file.model)
    return path


def test_it_embeds_with_the_real_local_model(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch_embed.main(["--index", str(index), "--limit", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["total"], report["embedded"], report["pending"]) == (5, 2, 3)
    assert batch_embed.main(["--index", str(index)]) == 0
    out, err = capsys.readouterr()
    assert "5 entries, 2 already embedded" in out
    assert "3 embedded" in out
    assert err == "", "no progress bar without a terminal"
    file = index_file.read(index)
    assert file.model is not None
    assert file.model.startswith("all-MiniLM-L6-v2-int8@")
    assert {entry.embedding.dim for entry in file.entries if entry.embedding} == {384}
    assert batch_embed.main(["--index", str(index), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["embedded"] == 0


def test_dry_run(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = index.read_bytes()
    assert batch_embed.main(["--index", str(index), "--dry-run"]) == 0
    assert "5 would be embedded" in capsys.readouterr().out
    assert index.read_bytes() == before


def test_what_cannot_be_used_is_named(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index.write_text('[{"query": "Q", "answer": "A"}, {"answer": "no question"}]')
    assert batch_embed.main(["--index", str(index)]) == 0
    assert "entry 1: it has neither query nor query_hash" in capsys.readouterr().out


def test_errors_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch_embed.main(["--index", str(tmp_path / "none.json")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("batch_embed.py: there is no index file")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--limit", "x"], ["--unknown"]])
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        batch_embed.main(arguments)
    assert exit_code.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_the_progress_bar(capsys: pytest.CaptureFixture[str]) -> None:
    batch_embed._bar(1, 2)
    batch_embed._bar(2, 2)
    err = capsys.readouterr().err
    assert "1/2" in err
    assert err.endswith("2/2\n")
