"""The logs of a backup, as a stranger checks them (``audit.log.verify``) before anything moves into place.

Closed epochs that were moved to an archive are read there; where that is away they are left unchecked, and
said to be.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from node.audit.decisions.epoch_check import EpochReport, verify_epochs
from node.audit.decisions.moved import is_moved, source_in
from node.audit.log.archive import Archives
from node.audit.log.reader import CHECKPOINT, VKEY, FolderSource, Source
from node.audit.log.verify import Report, verify_log
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.identity import Identity
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint, Verifier
from node.store.backup.writing import PUBLICATIONS


class _Away(Unavailable):
    """An epoch was moved to an archive that cannot be reached."""


class _Moved:
    """A ``Source``: a closed epoch of a backup, which holds nothing of it but where it was moved."""

    def __init__(self, directory: Path, archives: Archives, below: str) -> None:
        self._source = partial(source_in, directory, archives, below)

    async def read(self, path: str, bytes_max: int) -> bytes:
        try:
            return await (await asyncio.to_thread(self._source)).read(path, bytes_max)
        except Unavailable as exc:
            raise _Away(str(exc)) from exc


async def checked(
    log_dir: Path, data_dir: Path, identity: Identity | None, archives: Archives
) -> tuple[Report | None, list[EpochReport], str]:
    """Both logs; without an identity, by the keys that they name. Of the first the reports, and why epochs
    could not be looked at. Raises ``Rejected``."""
    found = await _check_log(log_dir, identity, archives)
    await _check_log(data_dir / PUBLICATIONS, identity, archives)
    return found


async def _check_log(
    directory: Path, identity: Identity | None, archives: Archives
) -> tuple[Report | None, list[EpochReport], str]:
    source = FolderSource(directory)
    try:
        note = await source.read(CHECKPOINT, NOTE_BYTES_MAX)
    except NotFound:
        return None, [], ""
    if identity is not None:
        keys = [one.verifier for one in identity.log_signers(Checkpoint.of_note(note).origin)]
    else:
        listed = (await source.read(VKEY, NOTE_BYTES_MAX)).decode("ascii", "replace")
        keys = [Verifier.from_vkey(line) for line in listed.split()]
    report = await verify_log(source, keys)
    epochs: list[EpochReport] = []
    unchecked = ""

    def below(path: str) -> Source:
        is_here = not is_moved(directory / path)
        return FolderSource(directory, path) if is_here else _Moved(directory, archives, path)

    if report.ok and report.checkpoint is not None:
        try:
            epochs = await verify_epochs(source, report.checkpoint, keys, below)
        except _Away as exc:
            unchecked = str(exc)
    looked_at: list[Report | EpochReport] = [report, *epochs]
    for one in looked_at:
        if not one.ok:
            raise Rejected(f"the log in the backup does not hold: {one.where}: {one.reason}")
    return report, epochs, unchecked
