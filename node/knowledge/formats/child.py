"""The process in which files of strangers are read: no network, bounded memory, ends with its parent.

It reads jobs from standard input, a line of JSON and the file's bytes, and answers each by a line of JSON.
What it reads may make it hang or die: its parent ends it then and starts another.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from node.core.errors import NodeError
from node.knowledge.formats.extracted import Bounds, Extracted
from node.models.llama.child import die_with, leave_the_network, protocol_out, stay_small

_READERS = {
    "text": ("node.knowledge.formats.text", "read"),
    "markdown": ("node.knowledge.formats.text", "read_markdown"),
    "cues": ("node.knowledge.formats.text", "read_cues"),
    "html": ("node.knowledge.formats.html", "read"),
    "pdf": ("node.knowledge.formats.pdf", "read"),
    "docx": ("node.knowledge.formats.docx", "read"),
    "json": ("node.knowledge.formats.exports", "read"),
    "csv": ("node.knowledge.formats.tables", "read"),
}
NICE = 5


class Job(msgspec.Struct):
    """One file: ``size`` bytes follow it."""

    kind: str
    path: str
    size: int
    pages: int
    chars: int


class Reply(msgspec.Struct):
    """``refused``: why it was not read."""

    done: Extracted | None = None
    refused: str = ""


def read(kind: str, data: bytes, bounds: Bounds, path: str) -> Extracted:
    """The file's text, cut at ``bounds.chars``. Raises ``Rejected``, and whatever a library does."""
    module, name = _READERS[kind]
    reader: Callable[[bytes, Bounds, str], Extracted] = getattr(import_module(module), name)
    found = reader(data, bounds, path)
    if len(found.text) > bounds.chars:
        notes = [found.note, f"only the first {bounds.chars} characters were kept"]
        found.note, found.text = "; ".join(filter(None, notes)), found.text[: bounds.chars]
    if not found.text.strip() and not found.note:
        found.note = "it has no text"
    return found


def _reply(job: Job, data: bytes) -> Reply:
    try:
        return Reply(read(job.kind, data, Bounds(pages=job.pages, chars=job.chars), job.path))
    except NodeError as exc:
        return Reply(refused=str(exc))
    except MemoryError:
        return Reply(refused="reading it takes more memory than documents.memory_bytes")
    except Exception as exc:  # noqa: BLE001 - a library may raise anything on a hostile file
        return Reply(refused=f"it cannot be read: {type(exc).__name__}")


def main() -> None:
    """Serve until standard input ends."""
    parent, memory_bytes = int(sys.argv[1]), int(sys.argv[2])
    stay_small(NICE)
    leave_the_network()
    die_with(parent)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    out, given = protocol_out(), sys.stdin.buffer
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Job).decode
    while line := given.readline():
        job = decode(line)
        data = given.read(job.size)
        if len(data) != job.size:
            break
        reply: Any = _reply(job, data)
        out.write(encode(reply) + b"\n")
        out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
