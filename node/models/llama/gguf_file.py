"""GGUF files on disk: whether one is there, which one ``make model`` has put there, and its hash.

Everything here blocks; call it in a thread. It must not know what a model is used for."""

from __future__ import annotations

import hashlib
import mmap
import stat
import struct
import threading
from pathlib import Path

from node.core.errors import Unavailable

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


_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _LIST = 8, 9
_TEXT_BYTES_MAX = 2**20
_FIELDS_MAX = 4_096


def metadata(path: Path) -> dict[str, str]:
    """The text fields of the file's header; as many as can be read, none of a damaged one."""
    told: dict[str, str] = {}
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at, count = 24, struct.unpack_from("<Q", data, 16)[0]
            for _ in range(min(count, _FIELDS_MAX)):
                key, at = _text(data, at)
                kind = struct.unpack_from("<I", data, at)[0]
                if kind == _TEXT:
                    told[key], at = _text(data, at + 4)
                else:
                    at = _past(data, at + 4, kind)
    except (OSError, ValueError, struct.error, KeyError):
        return told
    return told


def _text(data: mmap.mmap, at: int) -> tuple[str, int]:
    size = struct.unpack_from("<Q", data, at)[0]
    if size > _TEXT_BYTES_MAX:
        raise ValueError("a text without end")
    return data[at + 8 : at + 8 + size].decode("utf-8", "replace"), at + 8 + size


def _past(data: mmap.mmap, at: int, kind: int) -> int:
    """Where the value behind this one begins."""
    if kind == _TEXT:
        return _text(data, at)[1]
    if kind != _LIST:
        return at + _SIZES[kind]
    kind, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if kind not in (_TEXT, _LIST):
        return at + int(count) * _SIZES[kind]
    for _ in range(count):
        at = _past(data, at, kind)
    return at


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
