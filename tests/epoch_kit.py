"""A decision log whose epochs are kept, for tests: closed, moved, verified from the first to the last."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from node.audit.decisions import epochs
from node.audit.decisions.epoch_check import EpochReport, verify_epochs
from node.audit.decisions.keeper import Bounds, EpochKeeper
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.moved import source_in
from node.audit.decisions.shards import Terms
from node.audit.log.archive import Archive, Archives, FolderArchive
from node.audit.log.reader import FolderSource, Source
from node.audit.log.verify import verify_log
from node.audit.tlog.proofs import Receipt, check_receipt
from tests import log_kit
from tests.manual_clock import ManualClock


def folders(address: str) -> Archive:
    """``Archives`` of folders."""
    return FolderArchive(Path(address))


class World:
    """``folder/log`` with its keys, and ``folder/archive``. ``followed``: the epoch up to which the blocks of
    the log have come."""

    def __init__(self, folder: Path, archives: Archives = folders) -> None:
        self.folder = folder
        self.log_folder = folder / "log"
        self.archive_folder = folder / "archive"
        self.archive_folder.mkdir(exist_ok=True)
        self.archives = archives
        self.clock = ManualClock()
        self.followed = 10**6
        self.is_clock_sure = True
        self.log: DecisionLog

    async def open(self, **terms: Any) -> DecisionLog:
        self.log = await DecisionLog.open(
            self.log_folder,
            log_kit.ORIGIN,
            log_kit.signers,
            self.clock,
            keys=self.folder / "keys",
            terms=Terms(**terms),
            archives=self.archives,
        )
        return self.log

    def keeper(self, archive: Archive | None = None, **bounds: int) -> EpochKeeper:
        return EpochKeeper(
            self.log,
            self.clock,
            Bounds(**bounds),
            archive,
            followed=lambda: self.followed,
            is_clock_sure=lambda: self.is_clock_sure,
        )

    def to_folder(self) -> Archive:
        return FolderArchive(self.archive_folder)

    def aside(self, number: int) -> Path:
        return epochs.folder_of(self.log_folder, number)

    async def verified(self) -> list[EpochReport]:
        """The closed epochs, the newest first; the running log, and each of them, verifies."""
        number = epochs.current(self.log_folder)
        report = await verify_log(FolderSource(self.log_folder), [log_kit.verifier(number)])
        assert report.ok, report
        assert report.checkpoint is not None

        def below(path: str) -> Source:
            return source_in(self.log_folder, self.archives, path)

        return await verify_epochs(
            FolderSource(self.log_folder), report.checkpoint, [log_kit.verifier(number)], below
        )

    async def receipt(self, index: int, epoch: int) -> Receipt:
        """Of an entry, as the log gives it out, checked as a stranger would."""
        data = await self.log.receipt(index, timeout_s=10, log=log_kit.verifier(epoch).name)
        assert data is not None
        receipt = Receipt.parse(data)
        assert receipt.extra is not None
        check_receipt(receipt, receipt.extra, [log_kit.verifier(epoch)], None)
        return receipt


async def fill(log: DecisionLog, count: int) -> None:
    """Append entries, numbered from 0 in their order."""
    for first in range(0, count, 100):
        await asyncio.gather(
            *(
                log.append({"kind": "answer", "n": n}, private_texts={"query": f"question {n}"})
                for n in range(first, min(first + 100, count))
            )
        )
