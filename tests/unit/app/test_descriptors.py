"""Open files: raised as far as they are needed, divided where they are few."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from node.app.descriptors import divided, needed
from node.core.errors import Misconfigured
from node.core.server_settings import Server

ROOT = Path(__file__).resolve().parents[3]


def test_enough_files_change_nothing() -> None:
    assert divided(Server(), needed(2_048, 1), 1) == Server()


@pytest.mark.parametrize(
    ("files", "sockets", "connections", "requests"),
    [(1_024, 1, 640, 576), (1_024, 2, 512, 448), (512, 1, 128, 64)],
)
def test_few_files_are_divided(files: int, sockets: int, connections: int, requests: int) -> None:
    """There are fewer requests at once than connections: who asks how the node is finds a place."""
    found = divided(Server(), files, sockets)
    assert (found.connections_max, found.concurrent_requests_max) == (connections, requests)


def test_too_few_files_are_one_sentence_with_what_to_type() -> None:
    with pytest.raises(
        Misconfigured, match=r"may open 300 files, and a node needs 512; type: ulimit -n 512$"
    ):
        divided(Server(), 300, 1)


@pytest.mark.parametrize(
    ("limits", "left"), [((256, 4_096), 2_432), ((256, 1_024), 1_024), ((5_000, 5_000), 5_000)]
)
def test_the_soft_limit_is_raised_as_far_as_needed(limits: tuple[int, int], left: int) -> None:
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, {limits}); "
        "from node.app.descriptors import needed, raised; print(raised(needed(2_048, 1))); "
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == [str(left)] * 2
