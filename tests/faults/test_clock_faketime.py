"""The real process under libfaketime: its wall clock is moved, nothing else. Skipped where the library is not
installed (Debian: ``libfaketime``); ``NEUROSWARM_TEST_FAKETIME`` names it where it lies elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.node_kit import child, eventually
from tests.faults.test_clock_jump import RECORDS, all_signed, filled, hits, states
from tests.log_kit import verified

_PLACES = (
    os.environ.get("NEUROSWARM_TEST_FAKETIME", ""),
    *map(str, Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")),
)
LIBRARY = next((place for place in _PLACES if place and Path(place).is_file()), None)

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.slow,
    pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed"),
]


@pytest.mark.parametrize("by", ["+30d", "-2h"])
async def test_the_wall_clock_of_the_process_jumps_and_is_right_again(tmp_path: Path, by: str) -> None:
    moved = tmp_path / "faketime"
    moved.write_text("+0\n", encoding="ascii")
    settings = {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(moved),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NEUROSWARM_CACHE__SWEEP_EVERY_S": "1",
        "NEUROSWARM_CACHE__EXPIRED_GRACE_S": "0",
    }

    async with child(tmp_path, **settings) as (_, node):
        cids = await filled(node)
        await all_signed(node)
        moved.write_text(f"{by}\n", encoding="ascii")
        await eventually(lambda: node.check("clock"), lambda check: check["status"] == "fail")
        await eventually(lambda: node.metric("neuroswarm_clock_in_doubt"))  # it was looked at; so did sweeps
        assert await states(node, cids) == {"live": RECORDS}
        assert await hits(node, cids) == RECORDS
        moved.write_text("+0\n", encoding="ascii")
        await eventually(lambda: node.check("clock"), lambda check: check["status"] == "pass")
        await all_signed(node)
        assert await states(node, cids) == {"live": RECORDS}
        assert await hits(node, cids) == RECORDS
    assert (await verified(tmp_path / "governance_logs")).ok
