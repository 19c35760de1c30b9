"""Values of the sandbox: the bounds of a run, what came of it, and what the two processes say."""

from __future__ import annotations

from typing import Literal

import msgspec

Runner = Literal["monty", "python"]
Ended = Literal["done", "error", "refused", "syntax", "time", "memory", "output", "crashed"]
ERROR_CHARS = 500
FILES_MAX = 4


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one run. ``memory_bytes``: beyond what the interpreter takes; ``output_chars``: of what is
    printed, and of the value; ``file_bytes``: of each file that is saved; ``recursion``: calls deep."""

    runner: Runner = "monty"
    time_s: float = 30.0
    memory_bytes: int = 256 * 2**20
    output_chars: int = 20_000
    recursion: int = 500
    file_bytes: int = 2**20
    code_chars: int = 20_000


class File(msgspec.Struct, frozen=True, tag="file"):
    """A table, a text or a picture that the code saved; ``media``: its media type."""

    name: str
    media: str
    data: bytes


class Ran(msgspec.Struct, frozen=True):
    """What came of a run. ``output``: what was printed, cut at the bound; ``value``: ``repr`` of the last
    expression, or nothing; ``error``: why it ended otherwise than ``done``, ``line``: where, from 1, or 0;
    ``seconds``: of the run, ``start_s``: until its process could begin."""

    ended: Ended
    output: str = ""
    value: str = ""
    error: str = ""
    line: int = 0
    seconds: float = 0.0
    start_s: float = 0.0
    files: tuple[File, ...] = ()


class Job(msgspec.Struct, frozen=True):
    """To the child, one line of JSON; ``parent``: whose end is the child's."""

    code: str
    limits: Limits
    parent: int = 0


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The walls stand; the time of the run begins."""


class Out(msgspec.Struct, frozen=True, tag="out"):
    """A piece of what the code prints."""

    text: str


class End(msgspec.Struct, frozen=True, tag="end"):
    """The run is over."""

    ended: Ended
    value: str = ""
    error: str = ""
    line: int = 0


Said = Started | Out | File | End
