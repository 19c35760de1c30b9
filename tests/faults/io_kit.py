"""A disk whose calls fail, under a real node: ``io_shim.c``, built with the machine's compiler, and rules."""

from __future__ import annotations

import errno
import mmap
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WRITE, SYNC, TRUNCATE, RENAME, CREATE, READ, OPEN = KINDS = (1, 2, 4, 8, 16, 32, 64)
"""Of calls; they are joined by ``|``. CREATE: opening with ``O_CREAT``, and directories."""
HALF, DROP = 1, 2
"""The first write is done by half; a failed sync undoes what was written since the last good one."""
FULL = WRITE | CREATE | TRUNCATE
"""What a full disk refuses (a truncation may need room for what says so)."""
NO_ROOM = errno.ENOSPC

_RULE = struct.Struct("<IiIIqqqq208s")
_RULES_MAX = 8
_FOREVER = 2**62


@cache
def compiler() -> str:
    """Where the machine's C compiler is, or empty."""
    return "" if sys.platform != "linux" else shutil.which("cc") or ""


@cache
def _shim() -> Path:
    """The built library. Blocking."""
    path = Path(tempfile.mkdtemp(prefix="neuroswarm-shim-")) / "io_shim.so"
    command = [compiler(), "-O1", "-shared", "-fPIC", "-o", str(path), str(HERE / "io_shim.c")]
    subprocess.run([*command, "-ldl", "-lpthread"], check=True)
    return path


needs_compiler = pytest.mark.skipif(not compiler(), reason="no C compiler (cc) that builds the shim is here")


class Faults:
    """The rules, which the processes under the shim follow at once."""

    def __init__(self, table: mmap.mmap, path: Path) -> None:
        self._table = table
        self._path = path
        self._count = 0

    def environ(self) -> dict[str, str]:
        """What puts a process under the shim."""
        return {"LD_PRELOAD": str(_shim()), "IO_SHIM_RULES": str(self._path)}

    def arm(
        self,
        pattern: Path | str,
        kinds: int,
        error: int = NO_ROOM,
        *,
        how: int = 0,
        first: int = 1,
        last: int = _FOREVER,
    ) -> None:
        """Calls ``first`` to ``last`` of these kinds on paths that fit the pattern (``*`` takes ``/`` too)
        fail from now on."""
        assert self._count < _RULES_MAX
        rule = _RULE.pack(kinds, error, how, 0, first, last, 0, 0, str(pattern).encode())
        start = self._count * _RULE.size
        self._table[start + 4 : start + _RULE.size] = rule[4:]
        self._table[start : start + 4] = rule[:4]
        self._count += 1

    def heal(self) -> int:
        """Nothing fails any more; how many calls did."""
        hits = self.hits
        for number in range(self._count):
            self._table[number * _RULE.size : number * _RULE.size + 4] = bytes(4)
        self._count = 0
        return hits

    @property
    def hits(self) -> int:
        """Calls that failed since the rules were made."""
        return sum(_RULE.unpack_from(self._table, number * _RULE.size)[7] for number in range(self._count))


@contextmanager
def faults() -> Iterator[Faults]:
    """A table of rules in a file of its own."""
    with tempfile.TemporaryDirectory(prefix="neuroswarm-faults-") as folder:
        path = Path(folder) / "rules"
        path.write_bytes(bytes(_RULE.size * _RULES_MAX))
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as table:
            yield Faults(table, path)
