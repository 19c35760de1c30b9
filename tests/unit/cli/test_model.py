"""What ``neuroswarm model`` puts beside the model to run it; a stand-in for pip installs nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from node.cli import main
from node.core.errors import Unavailable
from node.models import fetch_model, install_engine
from node.models import pip as real
from node.models.pip import Tick

PREBUILT, REMOVED, COMPILED = "install prebuilt", "uninstall", "compile"


class Pip:
    """Stands for pip: what it was asked, and what comes of it. ``fits``: there is a wheel of xllamacpp;
    ``works``: it can be imported here; ``builds``: llama-cpp-python can be compiled."""

    def __init__(self, site: Path) -> None:
        self.site = site
        self.fits = self.works = self.builds = True
        self.asked: list[str] = []
        self.words: list[list[str]] = []

    def run(self, words: Sequence[str], log: Path, failure: str, tick: Tick, **_: float) -> None:
        self.words.append(list(words))
        what = REMOVED if words[0] == "uninstall" else PREBUILT if "--only-binary" in words else COMPILED
        self.asked.append(what)
        tick(0.0, f"Working on {words[-1]}")
        if (what == PREBUILT and not self.fits) or (what == COMPILED and not self.builds):
            raise Unavailable(f"{failure}: no luck")
        if what == PREBUILT:
            (self.site / "xllamacpp.py").write_text("" if self.works else "raise SystemExit(132)")


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    site = tmp_path / "site"
    site.mkdir()
    stand_in = Pip(site)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.setattr(real.Pip, "run", lambda _, *args, **more: stand_in.run(*args, **more))
    monkeypatch.setattr(install_engine, "installed_engine", lambda: None)
    monkeypatch.setattr(install_engine, "has_module", lambda _: True)
    monkeypatch.setattr(install_engine, "why_not_compile", lambda: None)
    monkeypatch.setattr(fetch_model, "fetch", lambda *_, **__: tmp_path / "models" / "tiny.gguf")
    return stand_in


def run(tmp_path: Path, *words: str) -> int:
    return main.main(["model", "--data-dir", str(tmp_path), "--find-links", "wheels", "--yes", *words])


def test_the_prebuilt_one_comes_first(pip: Pip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    assert pip.asked == [PREBUILT]
    assert pip.words[0][-1] == install_engine.XLLAMACPP
    assert "--find-links wheels" in " ".join(pip.words[0])
    shown = capsys.readouterr()
    assert "10 to 25 minutes" in shown.out, "what the other way would cost is said before"
    assert shown.err.splitlines() == [f"installing xllamacpp: 0 s  Working on {install_engine.XLLAMACPP}"]
    assert "\nxllamacpp is installed\n" in shown.out
    assert shown.out.endswith("start it with: make run\n")


@pytest.mark.parametrize(
    ("fits", "asked", "said"),
    [
        (False, [PREBUILT, COMPILED], "cannot be installed: no luck"),
        (True, [PREBUILT, REMOVED, COMPILED], "does not run here (status 132)"),
    ],
)
def test_where_that_does_not_work_the_other_is_compiled(
    pip: Pip, tmp_path: Path, capsys: pytest.CaptureFixture[str], fits: bool, asked: list[str], said: str
) -> None:
    pip.fits, pip.works = fits, False
    assert run(tmp_path) == 0
    assert pip.asked == asked
    shown = capsys.readouterr()
    assert f"{said}; llama-cpp-python is compiled instead\n" in shown.err
    assert f"compiling llama-cpp-python: 0 s  Working on {install_engine.LLAMA_CPP}\n" in shown.err
    assert "\nllama-cpp-python is installed\n" in shown.out
    assert "xllamacpp is installed" not in shown.out


def test_where_neither_works_it_is_said_and_is_status_1(
    pip: Pip, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip.fits = pip.builds = False
    assert run(tmp_path) == 1
    assert pip.asked == [PREBUILT, COMPILED]
    assert "llama-cpp-python.log" in capsys.readouterr().err, "where all of it stands"
    monkeypatch.setattr(install_engine, "why_not_compile", lambda: "there is no compiler")
    assert run(tmp_path) == 1
    assert pip.asked == [PREBUILT, COMPILED, PREBUILT]
    shown = capsys.readouterr()
    assert "has to be compiled, and cannot be: there is no compiler" in shown.out
    assert "llama-cpp-python cannot be compiled: there is no compiler" in shown.err
    assert "is installed" not in shown.out


def test_the_one_that_is_named_and_no_other(
    pip: Pip, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--engine", "llama-cpp-python") == 0
    assert pip.asked == [COMPILED]
    pip.fits = False
    assert run(tmp_path, "--engine", "xllamacpp") == 1
    assert pip.asked == [COMPILED, PREBUILT]
    assert "compiled instead" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("have", "wanted", "asked"),
    [
        ("xllamacpp", "auto", []),
        ("llama-cpp-python", "auto", []),
        ("llama-cpp-python", "llama-cpp-python", []),
        ("llama-cpp-python", "xllamacpp", [PREBUILT]),
        ("xllamacpp", "llama-cpp-python", [COMPILED]),
    ],
)
def test_what_is_there_is_not_installed_again(
    pip: Pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, have: str, wanted: str, asked: list[str]
) -> None:
    monkeypatch.setattr(install_engine, "installed_engine", lambda: have)
    assert run(tmp_path, "--engine", wanted) == 0
    assert pip.asked == asked


def test_without_an_engine_where_none_is_wanted(pip: Pip, tmp_path: Path) -> None:
    assert run(tmp_path, "--no-build") == 0
    assert pip.asked == []


def test_a_terminal_is_shown_one_line_that_changes(
    pip: Pip, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    assert run(tmp_path) == 0
    shown = capsys.readouterr().err
    assert shown.startswith("\r\x1b[Kinstalling xllamacpp: 0 s  Working on ")
    assert len(shown.removeprefix("\r\x1b[K")) == 39
