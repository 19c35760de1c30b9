"""Data directories that earlier versions wrote open, answer and verify. Their keys are nobody's.

``data/before_rooms.tar.gz`` was written by the version of 27 November 2026, before the rooms moved: three
starter entries, three that a client stored, questions asked, then a plain stop.

``data/before_backups.tar.xz`` was written by commit 520c0b1 (``python -m bench.upgrade --from 520c0b1 --hits
560 --keep FILE``): what ``tests/old_world.py`` stores, asks and has erased, 599 log entries, receipts."""

from __future__ import annotations

import asyncio
import json
import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from node.cli.main import main
from node.core.clock import SystemClock
from tests import old_world
from tests.faults import node_kit

if TYPE_CHECKING:
    from tests.journeys.conftest import Start

OLD = Path(__file__).parent / "data" / "before_rooms.tar.gz"
ERASED_THERE = Path(__file__).parent / "data" / "before_backups.tar.xz"
WRITTEN = datetime(2026, 11, 28, 2, 45, tzinfo=UTC)


class SoonAfter(SystemClock):
    """The real clock, set to minutes after the directory was written."""

    def __init__(self, written: datetime = WRITTEN) -> None:
        self._back = super().now() - written

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


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("node") is None, reason="no independent checker: Node is not installed")
@pytest.mark.engine("node_js")
async def test_what_was_stored_erased_and_receipted_before_holds_now(tmp_path: Path) -> None:
    with tarfile.open(ERASED_THERE) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "data" / "keys").chmod(0o700)
    world = old_world.World.read(tmp_path)
    assert (len(world.live), len(world.gone), len(world.receipts), world.size) == (18, 4, 3, 599)
    clock = SoonAfter(datetime(2026, 11, 29, 0, 15, tzinfo=UTC))
    sharing = {"publish": "all"}
    async with node_kit.start(tmp_path, clock=clock, sharing=sharing, patience_s=60) as node:
        assert await old_world.answered(node, world) == []
        assert await old_world.healthy(node) == []
        done = await node_kit.typed(node_kit.environ_of(tmp_path), "backup", str(tmp_path / "bak"), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["entries"] > world.size
    assert old_world.exported(tmp_path, world) == []
    assert [
        one for part in ("data", "governance_logs", "bak") for one in old_world.left(tmp_path / part)
    ] == []
    assert await old_world.verified(tmp_path, world) == []
