"""A data directory that an earlier version wrote opens, answers and verifies.

``data/before_rooms.tar.gz`` was written by the version of 27 November 2026, before the rooms moved: three
starter entries, three that a client stored, questions asked, then a plain stop. Its keys are nobody's."""

from __future__ import annotations

import asyncio
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from node.cli.main import main
from node.core.clock import SystemClock

if TYPE_CHECKING:
    from tests.journeys.conftest import Start

OLD = Path(__file__).parent / "data" / "before_rooms.tar.gz"
WRITTEN = datetime(2026, 11, 28, 2, 45, tzinfo=UTC)


class SoonAfter(SystemClock):
    """The real clock, set to minutes after the directory was written."""

    def __init__(self) -> None:
        self._back = super().now() - WRITTEN

    def now(self) -> datetime:
        return super().now() - self._back + timedelta(minutes=5)


async def test_what_an_earlier_version_wrote_opens_answers_and_verifies(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "node"
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    (folder / "data" / "keys").chmod(0o700)
    entries = folder / "governance_logs" / "tile" / "entries"
    written = {path.relative_to(entries): path.read_bytes() for path in entries.rglob("*") if path.is_file()}
    old_checkpoint = (folder / "governance_logs" / "checkpoint").read_bytes()
    assert written

    async with start(clock=SoonAfter()) as client:
        exact = await client.ask("Where is the spare key of the boathouse?")
        assert exact["answer"] == "The spare key of the boathouse hangs behind the green door."
        assert exact["hit"]["kind"] == "exact"
        other_words = await client.ask("who waters plants in august")
        assert other_words["answer"] == "Mirela waters the plants in August."
        starter = await client.ask("What is IPFS?")
        assert starter["hit"]["kind"] == "exact"
        status, health = await client.get("/health")
        assert status == 200
        assert health["checks"]["log"][0]["status"] == "pass"

    config = folder / "neuroswarm.toml"
    config.write_text(
        f'data_dir = "{folder / "data"}"\ngovernance_dir = "{folder / "governance_logs"}"\n', "utf-8"
    )
    capsys.readouterr()
    assert await asyncio.to_thread(main, ["log", "verify", "--config", str(config)]) == 0
    assert capsys.readouterr().out.startswith("ok: ")
    old_size, new_size = (
        int(text.split(b"\n")[1])
        for text in (old_checkpoint, (folder / "governance_logs" / "checkpoint").read_bytes())
    )
    assert new_size >= old_size + 3
    now_there = max((entries / "000.p").iterdir(), key=lambda path: int(path.name)).read_bytes()
    was_there = max(
        (data for name, data in written.items() if name.parent.name == "000.p"), key=len, default=b""
    )
    assert now_there.startswith(was_there), "what was entered stands as it was"
