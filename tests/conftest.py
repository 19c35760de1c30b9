"""Fixtures for all tests: no sockets but loopback, engines found or skipped with their reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket

from tests import engines

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_runtest_setup() -> None:
    """Nothing in the tests talks to anything but this machine."""
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)


@pytest.fixture(scope="session")
def vendor_fixtures() -> Path:
    """Recorded vendor answers, which a developer's checkout has beside it and a user's has not."""
    folder = SHARED / "fixtures"
    if not folder.is_dir():
        pytest.skip("the recorded vendor answers are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def real_ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[engines.Ollama]:
    """A real Ollama with a real model: the one whose address is given, else one from the engines cache."""
    if (reason := engines.missing()) is not None:
        pytest.skip(reason)
    with engines.ollama(tmp_path_factory.mktemp("ollama")) as server:
        yield server
