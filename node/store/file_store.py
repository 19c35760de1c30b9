"""A store that is one SQLite file."""

from __future__ import annotations

from node.store.writer import SqliteFile


class FileStore:
    """A store that is one file: the base of those that have nothing else to close."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    @property
    def file(self) -> SqliteFile:
        return self._file

    async def scrub(self) -> None:
        """Leave nothing of what was deleted on disk. Raises ``Unavailable``."""
        await self._file.scrub()

    async def close(self) -> None:
        """Idempotent."""
        await self._file.close()
