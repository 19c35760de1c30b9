"""One node per data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.core.errors import Misconfigured
from node.store.lock import DataLock, identity_held

HOLD = """
import sys
from pathlib import Path
from node.store.lock import DataLock, identity_held
DataLock.acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_second_is_told_who_has_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    with DataLock.acquire(data_dir):
        assert data_dir.stat().st_mode & 0o777 == 0o700
        with pytest.raises(
            Misconfigured, match=f"{data_dir} is in use by another node \\(pid {os.getpid()}\\)"
        ):
            DataLock.acquire(data_dir)
    lock = DataLock.acquire(data_dir)
    lock.release()
    lock.release()


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(Misconfigured, match=f"pid {child.pid}"):
            DataLock.acquire(tmp_path)
        child.kill()
    DataLock.acquire(tmp_path).release()


def test_an_unusable_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(Misconfigured, match="cannot be used"):
            DataLock.acquire(path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="an identity is held on Linux alone")
def test_an_identity_is_held_by_one_node_of_a_machine() -> None:
    with identity_held("did:key:one"):
        with identity_held("did:key:another"):
            pass
        with pytest.raises(Misconfigured, match=r"same keys \(did:key:one\)"), identity_held("did:key:one"):
            pass
    with identity_held("did:key:one"):
        pass
