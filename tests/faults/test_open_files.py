"""Who else on the machine, or on the way to a reader, keeps what the node writes down."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.node_kit import start

QUESTION, ANSWER = "Where does the ferry to Zanzibarquux leave?", "From the old pier, at nine."


@pytest.fixture(autouse=True)
def lax() -> Iterator[None]:
    """The operator's shell hides nothing."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    """What somebody else may read or write, below a folder and itself."""
    return [
        f"{mode(path):04o} {path.relative_to(folder.parent)}"
        for path in [folder, *folder.rglob("*")]
        if mode(path) & 0o077
    ]


async def test_nothing_that_a_node_writes_is_for_anybody_else(tmp_path: Path) -> None:
    async with start(tmp_path, embed="local") as node:
        await node.store(QUESTION, ANSWER)
        await node.ask(QUESTION)
    assert (tmp_path / "data" / "knowledge-index.json").read_text().count(ANSWER) == 1
    assert open_to_others(tmp_path / "data") == []
    assert open_to_others(tmp_path / "governance_logs") == []


async def test_what_an_older_program_left_open_is_closed_at_the_start(tmp_path: Path) -> None:
    for name in ("data", "governance_logs"):
        (tmp_path / name).mkdir(mode=0o755)
    export = tmp_path / "data" / "knowledge-index.json"
    export.write_text('{"version": 1, "entries": []}')
    export.chmod(0o644)
    async with start(tmp_path) as node:
        await node.store(QUESTION, ANSWER)
        assert [mode(tmp_path / name) for name in ("data", "governance_logs")] == [0o700, 0o700]
    assert mode(export) == 0o600


@pytest.mark.parametrize(("wanted", "reach"), [("0640", 0o710), ("0644", 0o711)])
async def test_a_web_server_may_be_let_to_the_export_and_to_nothing_else(
    tmp_path: Path, wanted: str, reach: int
) -> None:
    async with start(tmp_path, export_mode=wanted) as node:
        await node.store(QUESTION, ANSWER)
    data = tmp_path / "data"
    assert mode(data / "knowledge-index.json") == int(wanted, 8)
    assert mode(data) == reach
    others = {f"{reach:04o} data", f"{int(wanted, 8):04o} data/knowledge-index.json"}
    assert set(open_to_others(data)) == others


@pytest.mark.parametrize("within_s", [86_400, 600, 0])
async def test_no_cache_on_the_way_outlives_the_promise(tmp_path: Path, within_s: int) -> None:
    erasure = {} if within_s == 86_400 else {"erasure": {"within_s": within_s}}
    async with start(tmp_path, sharing={"publish": "all"}, **erasure) as node:
        cid = await node.store(QUESTION, ANSWER, scope="public")
        for form in ("raw", "car"):
            status, _, headers = await node.raw(f"/ipfs/{cid}?format={form}")
            assert (status, headers["Cache-Control"]) == (200, f"public, max-age={within_s}, must-revalidate")
            asked = {"headers": {"If-None-Match": headers["Etag"]}}
            assert (await node.raw(f"/ipfs/{cid}?format={form}", **asked))[0] == 304
        assert await node.delete(cid) == 200
        assert (await node.raw(f"/ipfs/{cid}?format=raw", **asked))[0] == 404
