"""A log under load, for crash tests: ``python -m tests.faults.soak DIR --vkey-out FILE [--entries N]``.

Opens the log in DIR (``DIR/checkpoint`` and ``DIR/tile/…`` are what a checker reads; its own key and
high-water mark are in ``DIR/keys``), writes its verifier key to FILE, prints ``ready N`` (N entries are there
after recovery), then appends as fast as it can and prints ``ack I`` for each entry once it is durable,
flushed at once. After N further entries, or on SIGTERM or SIGINT, it publishes, closes and exits 0. It may be
killed at any point.

Exit codes: 0 done, 1 the log failed (one sentence on standard error).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.log.writer import TileLog
from node.core.clock import Clock, SystemClock, random_bytes
from node.core.errors import CorruptState, NodeError, Unavailable
from node.core.files import Files
from node.core.signed_note import Ed25519Signer

ORIGIN = "soak.neuroswarm/decisions"
WRITERS = 512
FAILURES_MAX = 50
_KEY_BYTES = 32


def load_or_create_key(files: Files, directory: Path) -> Ed25519Signer:
    """The log's key in ``DIR/keys``, durable before anything is signed with it. Raises ``CorruptState``."""
    keys = directory / "keys"
    files.make_directories(keys, 0o700)
    path = keys / "log.key"
    try:
        seed = files.read(path, _KEY_BYTES)
    except FileNotFoundError:
        if (directory / "checkpoint").exists():
            raise CorruptState(f"{path} is missing while {directory} has a checkpoint: restore it") from None
        seed = random_bytes(_KEY_BYTES)
        files.replace(path, seed, 0o600)
    if len(seed) != _KEY_BYTES:
        raise CorruptState(f"{path} is not a key of {_KEY_BYTES} bytes: restore it")
    files.sync_directory(keys)  # an earlier process may have been killed before it could
    return Ed25519Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(seed))


def leaf(index: int, time_us: int) -> bytes:
    """A leaf of 200 to 600 bytes such as an answer makes."""
    tag = hashlib.sha256(index.to_bytes(8, "big")).hexdigest()
    entry = {
        "class": "deterministic",
        "commitments": {"query": tag, "tenant": tag[::-1]},
        "confidence_ppm": index % 1_000_001,
        "decision": "served",
        "kind": "answer",
        "request": tag[:32],
        "steps": [
            {"ms": one * 7 % 100, "outcome": "missed", "source": f"source-{one}"} for one in range(index % 6)
        ],
    }
    body = {"entry": entry, "seq": index, "time_us": time_us, "v": 2}
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


@dataclass(slots=True)
class Run:
    """What the writers share."""

    log: TileLog
    clock: Clock
    left: float
    """How many entries may still be begun."""
    durable: list[int] = field(default_factory=list)
    failures: int = 0

    async def write(self) -> None:
        """One writer: an entry after the other. Raises ``Unavailable`` when nothing succeeds any more."""
        while self.left > 0:
            self.left -= 1
            try:
                index = await self.log.append(leaf)
                self.durable.append(index)
                self.failures = 0
            except Unavailable:
                self.left += 1
                self.failures += 1
                if self.failures > FAILURES_MAX * WRITERS or self.log.suspended:
                    raise
                await self.clock.sleep(0.1)

    async def print_acks(self) -> None:
        """Say what is durable, many lines at once."""
        while True:
            self.flush()
            await self.clock.sleep(0.001)

    def flush(self) -> None:
        durable, self.durable = self.durable, []
        if durable:
            _say("".join(f"ack {index}\n" for index in durable))

    def stop(self) -> None:
        self.left = 0


async def soak(directory: Path, vkey_out: Path, entries: int | None, clock: Clock) -> None:
    """Open, append, close. Raises ``NodeError``, ``OSError``."""
    files = Files()
    signer = load_or_create_key(files, directory)
    files.replace(vkey_out, f"{signer.verifier.vkey}\n".encode())
    log = await TileLog.open(directory, ORIGIN, [signer], clock, high_water=directory / "keys" / "high_water")
    try:
        if log.suspended:
            raise Unavailable(log.suspended)
        _say(f"ready {log.size()}\n")
        run = Run(log, clock, float("inf") if entries is None else entries)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, run.stop)
        printer = asyncio.create_task(run.print_acks())
        try:
            await asyncio.gather(*(run.write() for _ in range(WRITERS)))
        finally:
            printer.cancel()
            run.flush()
    finally:
        await log.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.soak", description="append to a log under load"
    )
    parser.add_argument(
        "directory", type=Path, metavar="DIR", help="the log's folder; made where it is missing"
    )
    parser.add_argument(
        "--vkey-out", type=Path, required=True, metavar="FILE", help="where its verifier key goes"
    )
    parser.add_argument("--entries", type=int, metavar="N", help="stop after N entries; without it, never")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(soak(options.directory, options.vkey_out, options.entries, SystemClock()))
    except (NodeError, OSError) as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
