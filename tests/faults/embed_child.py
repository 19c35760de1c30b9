"""The other process of ``test_embed_kill.py``: embeds an index until it is killed, or the disk says no.

    embed_child.py INDEX [MOMENT]

At ``MOMENT`` it kills itself; ``say`` prints a line after each batch and waits for one on standard input;
``memory`` takes vectors of the usual length; ``as nobody`` it gives up its rights. Standard output ends with
the report and the peak of its memory as JSON.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - loaded late otherwise, when nobody may read it any more
import json
import os
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from node.app.transfer import embed_scratch, index_file
from node.app.transfer.embed_index import embed_index
from node.core.errors import NodeError
from node.core.files import DISK
from tests.faults.kill_kit import die, dying_after
from tests.simulators.hash_embedder import HashEmbedder

NOBODY = 65_534


def arm(moment: str) -> None:
    """Each is a step of the real work at which the process ends."""
    match moment:
        case "as nobody":
            os.setuid(NOBODY)
        case "scratch opened":
            embed_scratch.Scratch.older = die
            embed_scratch.Scratch.is_older = die
        case "temporary file opened":
            index_file.OpenIndex._copy = die
        case "temporary file written":
            os.fsync = die
        case "temporary file synced":
            Path.replace = die
        case "replaced":
            Path.replace = dying_after(Path.replace)
        case "folder synced":
            DISK.sync_directory = dying_after(DISK.sync_directory)
        case "scratch being removed":
            embed_scratch.Scratch.delete = die


def progress(done: int, of: int) -> None:
    """However late the other process is, this one does not run ahead of it."""
    print(done, flush=True)
    sys.stdin.readline()


async def main() -> int:
    moment = sys.argv[2] if len(sys.argv) > 2 else ""
    arm(moment)
    embedder = HashEmbedder(384 if moment == "memory" else 32)
    try:
        report = await embed_index(
            Path(sys.argv[1]), embedder, batch=8, progress=progress if moment == "say" else None
        )
    except NodeError as exc:
        print(exc, file=sys.stderr)
        return 1
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**asdict(report), "asked": len(embedder.embedded), "peak_kib": peak_kib}))
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
