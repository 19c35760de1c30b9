"""A decision log in a folder, for tests: opened, read back and checked from its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.decisions.log import DecisionLog
from node.audit.decisions.origin import origin_of
from node.audit.decisions.shards import Terms
from node.audit.log import journal
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.verify import Report, verify_log
from node.audit.tlog.leaf import Leaf, read_leaf
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile, decode_bundle
from node.core.clock import Clock
from node.core.files import Files
from node.core.signed_note import Checkpoint, Ed25519Signer, Signer, Verifier
from tests.manual_clock import ManualClock

ORIGIN = "zTest.neuroswarm/decisions"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def signers(origin: str) -> tuple[Signer, ...]:
    return (Ed25519Signer(origin, KEY),)


def verifier(epoch: int = 1) -> Verifier:
    return Ed25519Signer(origin_of(ORIGIN, epoch), KEY).verifier


async def opened(folder: Path, clock: Clock | None = None, **options: Any) -> DecisionLog:
    """The log in ``folder/log`` with its keys in ``folder/keys``."""
    is_held = options.pop("is_held", False)
    clock, keys, terms = clock or ManualClock(), folder / "keys", Terms(**options)
    return await DecisionLog.open(
        folder / "log", ORIGIN, signers, clock, keys=keys, terms=terms, is_held=is_held
    )


async def leaves(folder: Path, epoch: int = 1, *, verifiers: Sequence[Verifier] = ()) -> list[Leaf]:
    """Every leaf of the log whose files are in ``folder``, after all of it was verified."""
    source = FolderSource(folder)
    report = await verify_log(source, tuple(verifiers) or (verifier(epoch),))
    assert report.ok, report
    assert report.checkpoint is not None
    size, reader = report.checkpoint.size, LogReader(source)
    found: list[Leaf] = []
    while len(found) < size:
        count = min(256, size - len(found))
        found += [read_leaf(data) for data in await reader.entries(len(found), count, size)]
    assert [leaf.seq for leaf in found] == list(range(size))
    return found


async def verified(folder: Path) -> Report:
    """What the checker says of a folder, by the keys that lie in it."""
    keys = [Verifier.from_vkey(line) for line in (folder / "vkey").read_text().splitlines()]
    return await verify_log(FolderSource(folder), keys)


def entries(folder: Path) -> list[dict[str, Any]]:
    """The entries of a log that a node may be writing, those in its journal included. Nothing is checked."""
    origin = (folder / "vkey").read_text().partition("+")[0]
    waiting = journal.find(Files(), folder / "journal", origin)
    source, found = FolderSource(folder), list[bytes]()
    size = Checkpoint.of_note(source.read_now("checkpoint", 65_536)).size
    for number in range(-(-size // WIDTH)):
        tile = Tile(ENTRIES, number, min(WIDTH, size - number * WIDTH))
        found += decode_bundle(source.read_now(tile.path, tile.bytes_max), tile.width)
    found += waiting.entries[max(0, size - waiting.first) :]
    return [dict(read_leaf(data).entry) for data in found]
