"""Copies behind an address: another node that serves the log, and one that is away or lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import aiohttp

from node.audit.log.checked import CheckedFolder
from node.audit.log.reader import FolderSource
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.copies import copy_at
from node.audit.upkeep.mending import Mender, folder_writer
from node.core.clock import SystemClock
from tests.log_folders import leaves, pack_bundles, write_log
from tests.nowhere import NOBODY
from tests.unit.api.door import served


async def test_a_site_that_mirrors_the_log_mends_it_also_its_right_edge(tmp_path: Path) -> None:
    log, mirror = tmp_path / "log", tmp_path / "mirror"
    write_log(log, leaves(600))
    write_log(mirror, leaves(700))  # it has followed longer than this backup of ours
    pack_bundles(mirror)
    shutil.rmtree(log / "tile")
    checked = CheckedFolder(FolderSource(log))
    standing = checked.newest()
    async with served({"decisions": mirror}) as door, aiohttp.ClientSession(auto_decompress=False) as http:
        copies = [copy_at(place, http, SystemClock()) for place in (NOBODY, f"{door.url}/logs/decisions")]
        mender = Mender(checked, log / "journal", copies, folder_writer(log))
        for tile in (Tile(ENTRIES, 0), Tile(ENTRIES, 1), Tile(ENTRIES, 2, 88), Tile(0, 2, 88)):
            await mender.mend(standing, tile)
            checked.verify(checked.under(standing.checkpoint, standing.note), tile)
    assert not list(log.glob("tile/entries/002"))
