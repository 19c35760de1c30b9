"""Read and check a decision log without trusting its writer.

Shares nothing with the writer but the pure rules of ``chain``. Reads only; one line in memory at a time.
A good report says that every line is whole, canonical, unchanged and in its place. It cannot say that no
lines are missing at the end: compare size and head with what was noted elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from node.errors import NotFound, Rejected, Unavailable
from node.governance import chain
from node.governance.chain import Link

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Report:
    """``size`` good entries from the start; ``head`` the hex SHA-256 of the last good line (empty when none).
    ``first_bad`` is the index of the first entry that does not hold, ``reason`` why."""

    ok: bool
    size: int
    head: str
    first_bad: int | None = None
    reason: str = ""


class _BadLine(Exception):
    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


def verify_folder(path: Path, *, origin: str | None = None) -> Report:
    """Check the log in folder ``path`` (or the file itself). With ``origin`` also that it is that log's.

    Raises ``NotFound`` when there is no log, ``Unavailable`` when it cannot be read.
    """
    size, head = 0, ""
    try:
        for link in _links(path, origin):
            size, head = link.index + 1, link.digest
    except _BadLine as exc:
        return Report(False, size, head, exc.index, exc.reason)
    return Report(True, size, head)


def read_entries(path: Path, *, origin: str | None = None) -> Iterator[Link]:
    """The entries in order, each checked. Raises ``Rejected`` naming the first that does not hold."""
    try:
        yield from _links(path, origin)
    except _BadLine as exc:
        raise Rejected(f"entry {exc.index}: {exc.reason}") from exc


def _links(path: Path, origin: str | None) -> Iterator[Link]:
    file = path / chain.FILE_NAME if path.is_dir() else path
    index = 0
    prev = None if origin is None else chain.genesis(origin)
    try:
        with file.open("rb", buffering=_READ_BYTES) as lines:
            while data := lines.readline(chain.LINE_BYTES_MAX + 1):
                if not data.endswith(b"\n"):
                    too_long = len(data) > chain.LINE_BYTES_MAX
                    raise _BadLine(index, "the line is too long" if too_long else "the line has no end")
                link = _link(data[:-1], index, prev)
                yield link
                index, prev = index + 1, link.digest
    except FileNotFoundError as exc:
        raise NotFound(f"there is no decision log at {file}") from exc
    except OSError as exc:
        raise Unavailable(f"{file} cannot be read: {exc.strerror or exc}") from exc


def _link(line: bytes, index: int, prev: str | None) -> Link:
    try:
        frame = chain.unframe(line)
        # The origin of a log may not be known: then line 0 is taken at its word.
        return chain.read(chain.in_place(frame, index=index, prev=frame.prev if prev is None else prev))
    except Rejected as exc:
        raise _BadLine(index, str(exc)) from exc
