"""A year of traffic in the decision log: epochs end by their age, move to an archive, and all of it verifies.

    python -m bench.year [--entries 3000000] [--folder DIR] [--minutes 20] [--epoch-days 30]

Method. A node as shipped answers 200 stored questions; the entries of its log, each with a request id of its
own drawn by the seed, are then entered into a decision log of real files, keys and checkpoints, as fast as
that goes, while the clock is moved by as much of a year as they are of all entries. Once in each simulated
day the epochs are kept, as a node's job does each minute: an epoch ends at its age, and all closed ones but
the newest are moved to a folder that stands for another disk. What the log takes here is noted each time
before that.

In the end everything is verified from the newest epoch to the first, as ``neuroswarm log verify`` does, and
one entry of each epoch is proved. With ``--folder`` a run that was stopped, also by ``--minutes``, goes on
where it was. Extrapolated in words only: at one request a second a year has 31.5 million entries.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import aiohttp
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.fresh_node import fresh_node
from bench.hits import write_index
from bench.log import ORIGIN, Sample, hit
from bench.questions import questions
from node.audit.decisions import epochs
from node.audit.decisions.epoch_check import verify_epochs
from node.audit.decisions.folder import folder_bytes
from node.audit.decisions.keeper import Bounds, EpochKeeper
from node.audit.decisions.log import DecisionLog
from node.audit.decisions.moved import closed_source, source_in
from node.audit.decisions.origin import origin_of
from node.audit.decisions.seal import sealed
from node.audit.decisions.shards import BEHIND_50MS, Terms
from node.audit.log.archive import Archive, FolderArchive
from node.audit.log.reader import FolderSource, LogReader, Source
from node.audit.log.verify import verify_log
from node.audit.tlog.proofs import check_receipt
from node.core.clock import SystemClock
from node.core.ports import Appended
from node.core.signed_note import Checkpoint, Ed25519Signer, Signer, Verifier

STORED = 200
DAYS = 365
AT_ONCE = 512
YEAR_AT_ONE_A_SECOND = 31_536_000
START = datetime(2026, 1, 1, tzinfo=UTC)


class YearClock(SystemClock):
    """The wall clock stands where it is put; time that is waited for is real."""

    def __init__(self) -> None:
        self.share = 0.0

    def now(self) -> datetime:
        return START + timedelta(days=DAYS * self.share)


@dataclass(slots=True)
class Seen:
    """The most that was here at once, and epochs."""

    peak_bytes: int = 0
    epochs: int = 1


class Year:
    """A log below ``folder``, its archive beside it."""

    def __init__(self, folder: Path, entries: int, seed: int, epoch_days: int) -> None:
        self.folder, self.log, self.keys = folder, folder / "log", folder / "keys"
        self.archive = folder / "archive"
        self.entries = entries
        self.clock = YearClock()
        self.seen = Seen()
        self._random = Random(seed)
        self._key = Ed25519PrivateKey.from_private_bytes(self._random.randbytes(32))
        self._bounds = Bounds(epoch_days=epoch_days)

    def signers(self, origin: str) -> Sequence[Signer]:
        return (Ed25519Signer(origin, self._key),)

    def archives(self, address: str) -> Archive:
        return FolderArchive(Path(address))

    def done(self) -> int:
        """Entries of earlier runs."""
        folders = (
            [epochs.folder_of(self.log, one) for one in epochs.closed(self.log)] if self.log.is_dir() else []
        )
        notes = [epochs.newest(one / "checkpoint") for one in (*folders, self.log)]
        return sum(one.size for one in notes if one is not None)

    async def write(self, samples: Sequence[Sample], minutes: float) -> int:
        """Enter what is left of the year, for so long at most; how many entries there are then."""
        self.archive.mkdir(parents=True, exist_ok=True)
        done = await asyncio.to_thread(self.done)
        self._random.seed(f"{done}")
        self.clock.share = done / self.entries
        log = await DecisionLog.open(
            self.log,
            ORIGIN,
            self.signers,
            self.clock,
            keys=self.keys,
            terms=Terms(BEHIND_50MS),
            archives=self.archives,
        )
        keeper = EpochKeeper(
            log,
            self.clock,
            self._bounds,
            FolderArchive(self.archive),
            followed=lambda: log.epoch,
        )
        ends, day = self.clock.monotonic() + 60 * minutes, max(1, self.entries // DAYS)
        kept_at, told_at = done, 0.0
        try:
            while done < self.entries and self.clock.monotonic() < ends:
                count = min(AT_ONCE, self.entries - done)
                for _ in range(count):
                    one = self._random.choice(samples)
                    entry = {**one.entry, "request": self._random.randbytes(16).hex()}
                    begun = log.begin(sealed(entry, dict(one.private)))
                    place = begun if isinstance(begun, Appended) else await begun
                if place.log == log.origin:
                    await log.tile_log.wait_durable(place.index)
                done += count
                self.clock.share = done / self.entries
                await asyncio.sleep(0)
                if done - kept_at >= day:
                    kept_at = done
                    await log.folder.count()
                    self.seen.peak_bytes = max(self.seen.peak_bytes, log.folder.size_bytes)
                    await keeper.tick()
                if self.clock.monotonic() >= told_at:
                    told_at = self.clock.monotonic() + 30
                    print(
                        f"{done} entries, epoch {log.epoch}, {keeper.moved} moved",
                        file=sys.stderr,
                        flush=True,
                    )
            for _ in range(log.epoch):
                await keeper.tick()
            self.seen.epochs = log.epoch
        finally:
            await log.close()
        return done

    async def verify(self) -> int:
        """Everything, from the newest epoch to the first; how many entries. Ends the program where something
        does not hold."""
        keys = [Ed25519Signer(ORIGIN, self._key).verifier]
        number = epochs.current(self.log)
        own = [Verifier(origin_of(ORIGIN, number), one.kind, one.public) for one in keys]
        report = await verify_log(FolderSource(self.log), own)
        if not report.ok or report.checkpoint is None:
            raise SystemExit(f"the running log does not verify: {report}")

        def below(path: str) -> Source:
            return source_in(self.log, self.archives, path)

        found = await verify_epochs(FolderSource(self.log), report.checkpoint, own, below)
        wrong = [one for one in found if not one.ok or one.is_absent or one.lost]
        if wrong or len(found) != number - 1:
            raise SystemExit(f"closed epochs do not verify: {wrong or found}")
        for one in found:
            await self._prove(one.number, self._random.randrange(one.entries))
        return report.entries + sum(one.entries for one in found)

    async def _prove(self, number: int, index: int) -> None:
        reader = LogReader(await asyncio.to_thread(closed_source, self.log, number, self.archives))
        receipt = await reader.receipt(index, await reader.checkpoint())
        assert receipt.extra is not None
        signer = Ed25519Signer(origin_of(ORIGIN, number), self._key)
        check_receipt(receipt, receipt.extra, [signer.verifier], None)


async def samples_of(folder: Path) -> list[Sample]:
    """Entries as a node writes them."""
    stored = questions()[:STORED]
    index = folder / "knowledge-index.json"
    await write_index(index, stored)
    async with (
        fresh_node(folder / "node", {"INDEX_FILE": str(index)}) as node,
        aiohttp.ClientSession(trust_env=False) as http,
    ):
        for one in stored * 2:
            await hit(http, node.url, one.text)
    reader = LogReader(FolderSource(folder / "node" / "governance_logs"))
    size = Checkpoint.of_note(await reader.checkpoint()).size
    found = await reader.entries(0, size, size)
    return [Sample.of(data) for data in found if orjson.loads(data)["entry"]["kind"] == "answer"]


async def run(arguments: argparse.Namespace, folder: Path) -> None:
    clock = SystemClock()
    year = Year(folder, arguments.entries, arguments.seed, arguments.epoch_days)
    with tempfile.TemporaryDirectory() as other:
        samples = await samples_of(Path(other))
    began = clock.monotonic()
    done = await year.write(samples, arguments.minutes)
    wrote_s = clock.monotonic() - began
    here, _ = await asyncio.to_thread(folder_bytes, year.log)
    keys, _ = await asyncio.to_thread(folder_bytes, year.keys)
    cold, _ = await asyncio.to_thread(folder_bytes, year.archive)
    print(f"{done:,} of {arguments.entries:,} entries, {year.seen.epochs} epochs, {wrote_s:,.0f} s")
    print(
        f"the log's folder: {here / 1e6:,.0f} MB now, at most {year.seen.peak_bytes / 1e6:,.0f} MB with keys"
    )
    print(f"the archive: {cold / 1e6:,.0f} MB, {cold / max(1, done):,.0f} bytes an entry")
    print(f"keys of commitments: {keys / 1e6:,.0f} MB, {keys / max(1, done):,.0f} bytes an entry")
    began = clock.monotonic()
    verified = await year.verify()
    print(
        f"verified from the first to the last epoch: {verified:,} entries, {clock.monotonic() - began:,.0f} s"
    )
    if verified < done:
        raise SystemExit(f"{done - verified} entries are missing")
    scale = YEAR_AT_ONE_A_SECOND / max(1, done)
    print(
        f"at one request a second a year has {YEAR_AT_ONE_A_SECOND:,} entries, {scale:,.1f} times as many: "
        f"by that the archive would take {cold * scale / 1e9:,.1f} GB, the keys {keys * scale / 1e9:,.1f} GB"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.year", description="a year of traffic in the decision log")
    parser.add_argument("--entries", type=int, default=3_000_000)
    parser.add_argument(
        "--folder", type=Path, help="a scratch directory; a run that was stopped goes on in it"
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="stop writing after so many")
    parser.add_argument("--epoch-days", type=int, default=30)
    parser.add_argument("--seed", type=int, default=20)
    given = parser.parse_args(arguments)
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(run(given, given.folder))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(given, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
