"""The files of memory: ``memory/TENANT/COMPANY_MEMORY.md`` and ``memory/TENANT/PERSON/USER_MEMORY.md``.

A person is a key within its tenant, or whoever needs none on this machine. Beside each file stands its
history, ``….history.md``: what a newer fact took the place of. Promises: durable on return, the old or the
new file at any moment; what is forgotten leaves the history too. Blocking: call it in a thread. Raises
``Unavailable`` where the disk fails and ``Misconfigured`` for a file over its bound.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from node.agent.memory import book
from node.agent.memory.facts import About, Fact
from node.core.caller import LOCAL, Caller
from node.core.errors import Misconfigured
from node.core.files import DISK, put, translated

FILES = {About.USER: "USER_MEMORY.md", About.COMPANY: "COMPANY_MEMORY.md"}
_HISTORY_LINES_MAX = 1_000
_NAME_MAX = 80


class Books:
    """``folder``: where the tenants' folders lie; made when the first fact is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def lines(self, caller: Caller, about: About) -> tuple[str, ...]:
        """What is kept for this caller, the newest last."""
        return book.read(_text(self._path(caller, about)))

    def join(
        self,
        caller: Caller,
        fact: Fact,
        said: str,
        now: datetime,
        alike: tuple[float, ...] = (),
        may_still: Callable[[], bool] = lambda: True,
    ) -> book.Joined | None:
        """Write a fact, unless it is there already. ``said``: the message that told it; ``alike``: the
        cosine of the fact with each line, where an embedder is there. None: by now it ``may_still`` not be
        written, for something was forgotten."""
        path = self._path(caller, fact.about)
        with self._lock:
            if not may_still():
                return None
            text = _text(path)
            joined = book.join(book.read(text), fact.text, said, alike)
            if joined.is_new:
                with translated(f"{path.parent} cannot be made"):
                    DISK.make_directories(path.parent)
                if joined.was:
                    self._note(path, f"until {now:%Y-%m-%d}: {joined.was}")
                put(path, book.write(joined.lines, book.remarks(text)).encode())
        return joined

    def forget(self, caller: Caller, about: About | None = None, text: str | None = None) -> int:
        """Forget one line by its text, or all of a file, or of both; how many lines went. Another person's
        lines cannot be reached; a tenant's organisation has one file for all its keys."""
        gone = 0
        with self._lock:
            for one in tuple(About) if about is None else (about,):
                path = self._path(caller, one)
                written = _text(path)
                lines, remarks = book.read(written), () if text is None else book.remarks(written)
                kept = () if text is None else tuple(line for line in lines if line != text)
                past = book.read(_text(_history(path)))
                still = () if text is None else tuple(line for line in past if not line.endswith(f": {text}"))
                gone += len(lines) - len(kept)
                both = ((path, lines, kept, remarks), (_history(path), past, still, ()))
                for file, before, after, more in both:
                    if before != after or (text is None and file.exists()):
                        _leave(file, after, more)
        return gone

    def erase(self, tenant: str, person: str | None = None) -> bool:
        """All that is kept of a tenant, or of one person in it; whether there was anything."""
        folder = self._folder / _name(tenant)
        if person is not None:
            folder /= _name(person)
        with self._lock:
            if not folder.exists():
                return False
            with translated(f"{folder} cannot be erased"):
                shutil.rmtree(folder)
                DISK.sync_directory(folder.parent)
        return True

    def _path(self, caller: Caller, about: About) -> Path:
        folder = self._folder / _name(caller.tenant)
        return (folder / _name(caller.key or LOCAL) if about is About.USER else folder) / FILES[about]

    def _note(self, path: Path, line: str) -> None:
        history = _history(path)
        lines = (*book.read(_text(history)), line)[-_HISTORY_LINES_MAX:]
        put(history, book.write(lines).encode())


def _history(path: Path) -> Path:
    return path.with_suffix(".history.md")


def _leave(path: Path, lines: tuple[str, ...], remarks: tuple[str, ...]) -> None:
    if lines or remarks:
        put(path, book.write(lines, remarks).encode())
        return
    with translated(f"{path} cannot be removed"):
        path.unlink(missing_ok=True)
        DISK.sync_directory(path.parent)


def _text(path: Path) -> str:
    with translated(f"{path} cannot be read"):
        try:
            data = DISK.read(path, book.FILE_BYTES_MAX)
        except FileNotFoundError:
            return ""
    if len(data) > book.FILE_BYTES_MAX:
        raise Misconfigured(f"{path} has more than {book.FILE_BYTES_MAX} bytes; shorten it by hand")
    return data.decode("utf-8", errors="replace")


def _name(of: str) -> str:
    """A name for the disk that only this tenant or person has: its own where it is harmless, else a hash."""
    if (
        of
        and len(of) <= _NAME_MAX
        and all(char.isascii() and (char.isalnum() or char in "-_") for char in of)
    ):
        return of
    return "~" + hashlib.sha256(of.encode("utf-8", errors="surrogatepass")).hexdigest()[:32]
