"""Where closed epochs of a log go: a place for many small files, below paths with slashes.

A folder here; an S3-compatible store in ``s3``. What is put is durable when ``put`` returns, and is not
changed or removed by this program any more. A file that is there with other bytes is never replaced.
Must not know what the files mean.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from node.audit.log.reader import FolderSource
from node.audit.log.s3 import SCHEME, Access, S3Archive
from node.core import settings
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.files import DISK, translated

_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700


class Archive(Protocol):
    """``address`` names the place to people and in the marker of what was moved there. Calls may overlap and
    may be cancelled; all raise ``Unavailable``."""

    @property
    def address(self) -> str: ...

    async def get(self, path: str, bytes_max: int) -> bytes:
        """A whole file. Raises ``NotFound``, ``Rejected`` (over ``bytes_max``)."""
        ...

    async def sizes(self, below: str) -> Mapping[str, int]:
        """The bytes of each file below this path, by its whole path. What is told is durable."""
        ...

    async def put(self, files: Mapping[str, bytes]) -> None:
        """New files, durable on return. Those that ``sizes`` told must not be among them."""
        ...


Archives = Callable[[str], Archive]
"""The place at an address. Raises ``Misconfigured``."""


def archives_of(own: settings.Archive) -> Archives:
    """``Archives`` as the settings lead to them. A folder that is not where a marker says is looked for where
    ``archive.to`` says."""
    access = Access(own.endpoint, own.region, own.key_id, own.secret, own.timeout_s)
    instead = "" if own.to.startswith(SCHEME) else own.to

    def at(address: str) -> Archive:
        if address.startswith(SCHEME):
            return S3Archive(address, access)
        directory = Path(address)
        if instead and not directory.is_dir():
            directory = Path(instead)
        return FolderArchive(directory.absolute())

    return at


class FolderArchive:
    """A folder on this machine, of which every path is kept as it is; for its owner only."""

    def __init__(self, directory: Path) -> None:
        self._directory = Path(directory)

    @property
    def address(self) -> str:
        return str(self._directory)

    async def get(self, path: str, bytes_max: int) -> bytes:
        try:
            return await FolderSource(self._directory).read(path, bytes_max)
        except NotFound:
            await asyncio.to_thread(self._check)
            raise

    async def sizes(self, below: str) -> Mapping[str, int]:
        with translated(f"{self.address} cannot be listed"):
            return await asyncio.to_thread(self._sizes, below)

    async def put(self, files: Mapping[str, bytes]) -> None:
        with translated(f"{self.address} cannot be written"):
            await asyncio.to_thread(self._put, files)

    def _check(self) -> None:
        """A volume that is not mounted is no archive without files."""
        if not self._directory.is_dir():
            raise Unavailable(f"there is no folder {self.address}: create it, or mount it")

    def _sizes(self, below: str) -> dict[str, int]:
        self._check()
        found = {}
        place = self._directory / below
        if place.is_dir():
            DISK.make_directories(place, _DIRECTORY_MODE)
        for folder, _, names in os.walk(place):
            DISK.sync_directory(Path(folder))  # a killed process may have put files there, and not synced
            for path in (Path(folder, name) for name in names if not name.startswith(".")):
                found[path.relative_to(self._directory).as_posix()] = path.lstat().st_size
        return found

    def _put(self, files: Mapping[str, bytes]) -> None:
        self._check()
        for name, data in files.items():
            path = self._directory / name
            if not path.parent.is_dir():
                DISK.make_directories(path.parent, _DIRECTORY_MODE)
            if path.exists():
                raise Rejected(f"{path} is there already, with other bytes")
            DISK.replace(path, data, _FILE_MODE)
