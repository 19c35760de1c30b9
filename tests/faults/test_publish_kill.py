"""A node that is killed while it publishes: nothing is entered twice, nothing that was stored is left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from node.audit.log.reader import FolderSource, LogReader
from node.core.ipld.cid import Cid
from node.peers.rules.entry import Publish, Retract, read
from tests.faults.kill_kit import told_until_killed
from tests.faults.publish_child import opened


async def test_killed_at_any_moment_each_record_is_entered_once(tmp_path: Path) -> None:
    stored: list[Cid] = []
    for number, lines_max in enumerate((1, 40, 3, 80, 50)):
        said = told_until_killed("publish_child", tmp_path, f"run {number}", lines=lines_max)
        stored += [Cid.parse(cid) for (cid,) in said]
        if number == 2:
            (tmp_path / "publications.json").unlink(missing_ok=True)
    assert (tmp_path / "publications.index").exists()
    store, log, publisher = await opened(tmp_path)
    try:
        await publisher.catch_up()
        published = await log.publish()
        reader = LogReader(FolderSource(tmp_path / "publications"))
        leaves = await reader.entries(0, published.size, published.size)
        entries = [read(index, leaf) for index, leaf in enumerate(leaves)]
        live = {one.cid for one in await store.records.since(0, limit=10_000)}
        assert {cid for cid in stored if (await store.records.get(cid)).state == "live"} <= live
        shown = Counter(one.cid for one in entries if isinstance(one, Publish))
        gone = Counter(one.cid for one in entries if isinstance(one, Retract))
        assert max(shown.values()) == 1
        assert max(gone.values()) == 1
        assert live <= shown.keys()
        assert gone.keys() == shown.keys() - live, "what ended before it was entered needs no entry"
        at = {(type(one), one.cid): index for index, one in enumerate(entries)}
        assert all(at[Publish, cid] < at[Retract, cid] for cid in gone)
        assert len(publisher.published) == len(live)
        assert await publisher.catch_up() == 0
    finally:
        await publisher.close(5)
        await log.close()
        await store.close()
