"""``neuroswarm embed`` killed at every step, without room or rights, twice at once, on a large file."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.app.transfer import index_file
from node.app.transfer.embed_index import EmbedReport, embed_index
from node.app.transfer.index_entry import encode_vector
from tests.simulators.hash_embedder import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]
COUNT = 60
PATIENCE_S = 120.0


def entry(number: int) -> dict[str, Any]:
    return {
        "query": f"Question {number}?",
        "answer": f"Answer {number}. " * 300,
        "source": "old",
        "n": number,
    }


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    path = folder / "knowledge-index.json"
    items = [entry(number) for number in range(COUNT)]
    items.insert(7, {"answer": "nobody asked"})
    path.write_text(json.dumps({"version": 1, "model": None, "made_by": "me", "entries": items}, indent=1))
    return path


def spawn(index: Path, moment: str = "", **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.embed_child", str(index), *([moment] if moment else [])],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def run(index: Path, moment: str = "", **more: Any) -> tuple[int, dict[str, Any], str]:
    """Exit status, report, standard error."""
    with spawn(index, moment, **more) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    lines = out.splitlines()
    return process.returncode, json.loads(lines[-1]) if process.returncode == 0 else {}, err


def finish(index: Path) -> tuple[EmbedReport, int]:
    """The next run, in this process: its report, and how many texts it asked for."""
    embedder = HashEmbedder()
    report = asyncio.run(embed_index(index, embedder))
    return report, len(embedder.embedded)


def check_done(index: Path, before: dict[str, Any]) -> None:
    """All have their vector, everything else is as it was, and nothing is left beside the file."""
    now = json.loads(index.read_text())
    embedder = HashEmbedder()
    assert now.pop("model") == embedder.info.model
    for item in now["entries"]:
        if "query" in item:
            data = base64.b64decode(item.pop("embedding"))
            assert data == embedder.vector_of(item["query"].rstrip("?")).astype("<f4").tobytes()
    del before["model"]
    assert now == before
    assert list(index.parent.iterdir()) == [index]


def test_killed_again_and_again_it_gets_to_the_end(index: Path) -> None:
    before = index.read_bytes()
    done = 0
    for kills in (1, 2, 3):
        with spawn(index, "say") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n" * (kills - 1))
            process.stdin.flush()
            for _ in range(kills):
                done = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=PATIENCE_S)
        assert index.read_bytes() == before
    report, asked = finish(index)
    assert report.embedded == COUNT
    assert report.resumed >= done
    assert asked == COUNT - report.resumed, "nothing is embedded twice"
    check_done(index, json.loads(before))


MOMENTS = [
    "scratch opened",
    "temporary file opened",
    "temporary file written",
    "temporary file synced",
    "replaced",
    "folder synced",
    "scratch being removed",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_step_of_the_work(index: Path, moment: str) -> None:
    before = index.read_bytes()
    assert run(index, moment)[0] == -signal.SIGKILL
    is_new = MOMENTS.index(moment) >= MOMENTS.index("replaced")
    assert (index.read_bytes() != before) == is_new
    assert len(index_file.read(index).entries) == COUNT
    report, asked = finish(index)
    assert report.embedded == (0 if is_new else COUNT)
    assert asked == (COUNT if moment == "scratch opened" else 0)
    check_done(index, json.loads(before))


def less_room(most: int) -> Callable[[], None]:
    """A limit on file size stands for a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))

    return limit


@pytest.mark.parametrize("most", [100, 30_000, 180_000])
def test_a_full_disk_spoils_nothing(index: Path, most: int) -> None:
    """No room for the scratch file, none for all of it, none for the new index."""
    before = index.read_bytes()
    assert len(before) > most
    status, _, err = run(index, preexec_fn=less_room(most))
    assert status == 1
    assert len(err.splitlines()) == 1, err
    assert "cannot be" in err
    assert index.read_bytes() == before
    assert not list(index.parent.glob(".*.tmp"))
    assert finish(index)[0].embedded == COUNT
    check_done(index, json.loads(before))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_that_may_not_be_written_is_named_at_the_start() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = folder / "index.json"
        index.write_text(json.dumps([entry(1)]))
        folder.chmod(0o755)
        before = index.read_bytes()
        status, _, err = run(index, "as nobody")
        assert (status, index.read_bytes()) == (1, before)
        assert "is read-only" in err, err
        assert list(folder.iterdir()) == [index]


def test_interrupted_from_the_keyboard(index: Path) -> None:
    """The real command with the real local engine: control-C, and again from there."""
    items = [entry(number) for number in range(20_000)]
    index.write_text(json.dumps(items))
    before = index.read_bytes()
    own = {name: value for name, value in os.environ.items() if not name.startswith("NEUROSWARM_")}
    command = [sys.executable, str(ROOT / "batch_embed.py"), "--index", str(index), "--batch", "4"]
    with subprocess.Popen(
        command, cwd=index.parent, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + PATIENCE_S
        wal = index.with_name(index.name + ".embedding-wal")
        while not (wal.exists() and wal.stat().st_size > 40_000):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert err == "batch_embed.py: interrupted; run again to go on from here\n"
    assert index.read_bytes() == before
    done = subprocess.run(
        [*command, "--limit", "5", "--json"], cwd=index.parent, env=own, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["resumed"] == 5


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Entries with vectors of 384 dimensions, a few without: ten times the file, the same memory."""
    info = HashEmbedder(384).info
    coded = encode_vector(HashEmbedder(384).vector_of("x"))
    peaks: list[int] = []
    sizes: list[int] = []
    for count in (300, 3_000):
        path = tmp_path / f"{count}.json"
        with path.open("w") as out:
            out.write(json.dumps({"version": 1, "model": info.model})[:-1] + ',"entries":[')
            for number in range(count):
                item = {"query": f"Q{number}", "answer": "x" * 200}
                if number % 50:
                    item["embedding"] = coded
                out.write(("," if number else "") + json.dumps(item))
            out.write("]}")
        status, report, err = run(path, "memory")
        assert status == 0, err
        assert report["embedded"] == count // 50
        peaks.append(report["peak_kib"])
        sizes.append(path.stat().st_size // 1024)
    assert sizes[1] - sizes[0] > 6_000
    assert peaks[1] - peaks[0] < 2_500, (peaks, sizes)
