"""The command ``neuroswarm log repair``: mend the files of a log that no node writes now."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.upkeep.copies import copy_at
from node.audit.upkeep.offline import repair as mended
from node.audit.upkeep.upkeep import Upkeep
from node.cli.log import told
from node.cli.log_location import own_keys
from node.cli.terminal import Progress
from node.core.errors import Misconfigured
from node.core.settings import Settings
from node.store.backup.restoring import STAGING

PUBLICATIONS = "publications"
"""The folder of the log of publications, in the data directory."""


def repair(args: argparse.Namespace, settings: Settings) -> int:
    """Look at every file and mend what can be mended."""
    data_dir = Path(settings.data_dir)
    directory, keys = Path(args.dir or settings.governance_dir), data_dir / "keys"

    def high_water(epoch: int) -> Path:
        if directory.resolve() == (data_dir / PUBLICATIONS).resolve():
            return keys / "publications.signed"
        return epochs.high_water(keys, epoch)

    if (directory / STAGING).exists():
        raise Misconfigured(f"a restore into {directory} was cut short: run it again first")
    line = Progress("reading")

    async def run() -> Upkeep:
        from node.app.storage import copies_of, http_session
        from node.core.clock import SystemClock

        clock = SystemClock()
        async with http_session(settings) as session:
            named = [copy_at(place, session, clock) for place in args.copies or ()]
            copies = [*named, *copies_of(settings, session, clock)]
            return await mended(
                directory,
                partial(own_keys, keys),
                high_water,
                copies,
                clock,
                lambda count: line.show(count, f"{count} files"),
            )

    try:
        found = asyncio.run(run())
    finally:
        line.end()
    damages = str(found.damages)
    shown = {"mended": found.mended, "damaged": len(found.damages), "reason": damages}
    lines = [f"{found.mended} damaged files were mended"]
    lines.append(f"NOT ok: {damages}" if damages else "ok: every file is what the signed checkpoints say")
    return told(args, shown, lines, ok=not damages)
