"""GGUF files on disk: whether one is there, which one ``make model`` has put there, and its hash.

Everything here blocks; call it in a thread. It must not know what a model is used for."""

from __future__ import annotations

import hashlib
import stat
import struct
import threading
from pathlib import Path

from node.errors import Unavailable

FOLDER = "models"
"""Where ``make model`` puts models, under the data directory."""
_MAGIC = b"GGUF"
_VERSIONS = range(1, 100)
_BLOCK = 2**20


def installed_model(data_dir: Path) -> Path | None:
    """The model that ``make model`` put under ``data_dir``: the newest ``*.gguf``, None without one."""
    try:
        found = [
            (path.stat().st_mtime, path.name, path)
            for path in (data_dir / FOLDER).glob("*.gguf")
            if path.is_file()
        ]
    except OSError:
        return None
    return max(found)[2] if found else None


def why_not(path: Path) -> str | None:
    """In words why ``path`` cannot be loaded, as far as its first bytes tell; None when it may be."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
            return f"{path.name} is not a file"
        with path.open("rb") as file:
            head = file.read(8)
    except FileNotFoundError:
        return (
            f"there is no file {path.name}; correct the path in the settings, or, for a language model, "
            "type: make model"
        )
    except OSError as exc:
        return f"cannot read {path.name}: {exc.strerror}"
    if len(head) < 8 or head[:4] != _MAGIC or struct.unpack("<I", head[4:])[0] not in _VERSIONS:
        return f"{path.name} is not a GGUF file"
    return None


def stamp(path: Path) -> tuple[int, int, int]:
    """What changes when the file does. Raises ``Unavailable``."""
    try:
        status = path.stat()
    except OSError as exc:
        raise Unavailable(f"cannot read {path.name}: {exc.strerror}") from exc
    return status.st_ino, status.st_size, status.st_mtime_ns


def sha256(path: Path, given_up: threading.Event) -> str:
    """Hex SHA-256; a gigabyte takes seconds. Raises ``Unavailable``, also when ``given_up`` is set."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                if given_up.is_set():
                    raise Unavailable("the hashing was given up")
                digest.update(block)
    except OSError as exc:
        raise Unavailable(f"cannot read {path.name}: {exc.strerror}") from exc
    return digest.hexdigest()
