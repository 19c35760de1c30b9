"""The command ``batch_embed.py``: arguments in, report out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import batch_embed
from node.app.transfer import index_file
from node.cli import main
from tests import engines
from tests.manual_clock import ManualClock

STARTER = Path(__file__).parents[4] / "knowledge-index.json"


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
    assert "this is not the index of the settings" in out
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "0"],
        ["--limit", "x"],
        ["--unknown"],
        ["--engine", "abacus"],
        ["--batch", "0"],
        ["--batch", "9999"],
    ],
)
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_code:
        batch_embed.main(arguments)
    assert exit_code.value.code == 2
    assert "usage" in capsys.readouterr().err


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without any settings, and none in the environment."""
    for name in list(os.environ):
        if name.startswith("NEUROSWARM_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "alone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_settings_name_index_and_engine(
    alone: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "neuroswarm.toml").write_text(f'index_file = "{index}"\n[embed]\nengine = "none"\n')
    assert batch_embed.main([]) == 1
    assert "--engine" in capsys.readouterr().err
    assert batch_embed.main(["--engine", "local"]) == 0
    out = capsys.readouterr().out
    assert "5 embedded" in out
    assert "neuroswarm serve" in out
    other = alone / "other.toml"
    other.write_text('index_file = "none.json"\n')
    assert batch_embed.main(["--config", str(other)]) == 1
    assert "none.json" in capsys.readouterr().err
    other.write_text("index_file = 7\n")
    assert batch_embed.main(["--config", str(other)]) == 1
    assert "index_file" in capsys.readouterr().err


def test_a_model_goes_with_its_engine(alone: Path) -> None:
    (alone / "neuroswarm.toml").write_text('[embed]\nengine = "ollama"\nmodel = "nomic-embed-text"\n')

    def chosen(*words: str) -> tuple[str, str, str]:
        embed = batch_embed._settings(batch_embed._parser("x").parse_args(words)).embed
        return embed.engine, embed.model, embed.gguf_path

    assert chosen() == ("ollama", "nomic-embed-text", "")
    assert chosen("--engine", "ollama") == ("ollama", "nomic-embed-text", "")
    assert chosen("--engine", "local") == ("local", "", "")
    assert chosen("--model", "mxbai") == ("ollama", "mxbai", "")
    assert chosen("--engine", "llama_cpp", "--model", "a.gguf") == ("llama_cpp", "", "a.gguf")
    assert chosen("--engine", "openai", "--model", "small") == ("openai", "small", "")


def test_an_engine_or_model_that_is_not_there(
    alone: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = index.read_bytes()
    for words in (["--model", "other"], ["--engine", "openai"], ["--engine", "llama_cpp"]):
        assert batch_embed.main(["--index", str(index), *words]) == 1, words
        err = capsys.readouterr().err
        assert err.startswith("batch_embed.py: "), err
        assert len(err.splitlines()) == 1, err
    assert index.read_bytes() == before


def test_as_a_command_of_the_node(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["embed", "--index", str(index), "--json", "--batch", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["embedded"] == 5
    assert main.main(["embed", "--index", str(index.with_name("none"))]) == 1
    assert capsys.readouterr().err.startswith("neuroswarm embed: ")
    with pytest.raises(SystemExit):
        main.main(["embed", "--help"])
    help_text = capsys.readouterr().out
    assert "usage: neuroswarm embed" in help_text
    assert "--only-missing" in help_text


def test_the_progress_bar_tells_rate_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    bar = batch_embed._Bar(clock)
    clock.advance(2.0)
    bar(20, 7_200)
    clock.advance(18.0)
    bar(100, 7_200)
    clock.advance(1_000)
    bar(7_200, 7_200)
    bar.end()
    bar.end()
    err = capsys.readouterr().err
    assert "100/7200" in err
    assert "left" in err
    assert err.endswith("/s\n")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3_599, "59:59"), (7_260, "2 h 01 min")]
)
def test_spans(seconds: float, text: str) -> None:
    assert batch_embed._span(seconds) == text


@pytest.mark.engine("ollama")
def test_with_a_real_ollama(
    real_ollama: engines.Ollama, alone: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From one model to another: never a vector of the one under the name of the other."""
    (alone / "neuroswarm.toml").write_text(f'[models]\nollama_url = "{real_ollama.url}"\n')
    models = []
    for words in (["--engine", "ollama", "--model", real_ollama.embed_model], ["--engine", "local"]):
        for embedded in (5, 0):
            assert batch_embed.main(["--index", str(index), "--json", *words]) == 0, capsys.readouterr().err
            assert json.loads(capsys.readouterr().out)["embedded"] == embedded
        file = index_file.read(index)
        [model] = {entry.embedding.model for entry in file.entries if entry.embedding}
        assert model == file.model
        models.append(model)
    assert len(set(models)) == 2


@pytest.mark.engine("llama_cpp")
def test_with_llama_cpp(
    llama_cpp: None, minilm_gguf: Path, alone: Path, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--index", str(index), "--json", "--engine", "llama_cpp", "--model", str(minilm_gguf)]
    for embedded in (5, 0):
        assert batch_embed.main(words) == 0, capsys.readouterr().err
        assert json.loads(capsys.readouterr().out)["embedded"] == embedded
