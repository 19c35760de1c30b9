"""Real engines for the tests that claim them: found by address, or started from the engines cache."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

OLLAMA = "ollama-v0.17.4/ollama"
GEMMA = "gemma-3-270m-q4_k_m.gguf"
START_S = 60

MODELFILE = """FROM {weights}
TEMPLATE \"\"\"{{{{ if .System }}}}{{{{ .System }}}}

{{{{ end }}}}{{{{ .Prompt }}}}\"\"\"
PARAMETER num_thread 1
"""
"""Gemma 270M is a base model without a template: the prompt goes through as it is."""


@dataclass(frozen=True)
class Ollama:
    """Where a real Ollama answers, and the model to use there (empty: its first)."""

    url: str
    model: str


def cache_folder() -> Path:
    """Where ``.ci/engines`` puts what it builds."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("NEUROSWARM_ENGINES") or Path(base) / "neuroswarm-engines")


def missing() -> str | None:
    """Why no real Ollama can be had here; None when one can."""
    if os.environ.get("NEUROSWARM_TEST_OLLAMA_URL"):
        return None
    for name in (OLLAMA, GEMMA):
        if not (cache_folder() / name).is_file():
            return f"no real Ollama: {name} is not in the engines cache (bash .ci/engines builds it)"
    return None


@contextmanager
def ollama(folder: Path) -> Iterator[Ollama]:
    """A real Ollama for as long as the block lasts; only a server started here is ended."""
    url = os.environ.get("NEUROSWARM_TEST_OLLAMA_URL")
    if url:
        yield Ollama(url, os.environ.get("NEUROSWARM_TEST_OLLAMA_MODEL", ""))
        return
    binary = str(cache_folder() / OLLAMA)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "OLLAMA_HOST": f"127.0.0.1:{port}",
        "OLLAMA_MODELS": str(folder / "models"),
    }
    with (folder / "serve.log").open("wb") as log:
        server = subprocess.Popen([binary, "serve"], env=environ, stdout=log, stderr=log)
        try:
            _wait(f"http://127.0.0.1:{port}/api/version")
            modelfile = folder / "Modelfile"
            modelfile.write_text(MODELFILE.format(weights=cache_folder() / GEMMA))
            subprocess.run(
                [binary, "create", "gemma270", "-f", str(modelfile)],
                env=environ,
                check=True,
                capture_output=True,
                timeout=120,
            )
            yield Ollama(f"http://127.0.0.1:{port}", "gemma270")
        finally:
            server.terminate()
            try:
                server.wait(15)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(url: str) -> None:
    until = time.monotonic() + START_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
