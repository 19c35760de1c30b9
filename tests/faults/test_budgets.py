"""A node at the bounds of its disk's budgets: it says so, refuses what would grow, and goes on answering."""

from __future__ import annotations

from pathlib import Path

from tests.faults.node_kit import start

MIB = 2**20
QUESTION = "Where does the spare key of the boat house lie?"


def ballast(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(2 * MIB))
    return path


async def test_at_the_bound_of_state_nothing_new_is_stored_and_what_is_stored_answers(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        cid = await node.store(QUESTION, "Under the third stone.")
        assert (await node.check("disk:state"))["status"] == "pass"
    ballast(tmp_path, "data/labels.old")
    async with start(tmp_path, disk={"state_bytes": MIB}) as node:
        check = await node.check("disk:state")
        assert (check["status"], "nothing new is stored" in check["output"]) == ("fail", True)
        assert await node.metric('neuroswarm_disk_limit_bytes{kind="state"}') == MIB
        assert await node.metric('neuroswarm_disk_bytes{kind="state"}') > 2 * MIB
        body = {"query": "What is a keel?", "answer": "The spine of a ship."}
        status, reply = await node.post("/v1/cache/entries", body)
        assert (status, "disk.state_bytes" in str(reply)) == (503, True)
        assert (await node.search(QUESTION))["cid"] == cid
        assert (await node.ask("What is 3+3?"))["decision"] is not None
        assert await node.delete(cid) == 200, "what is erased makes room"


async def test_at_the_bound_of_the_log_answers_are_given_unlogged_and_erasures_logged(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        cid = await node.store(QUESTION, "Under the third stone.")
        before = (await node.check("log"))["observedValue"]
    ballast(tmp_path, "governance_logs/epochs/9/tile/0/000")
    bounds = {"log_bytes": MIB}
    async with start(tmp_path, disk=bounds) as node:
        assert (await node.check("disk:log"))["status"] == "fail"
        assert "disk.log_bytes" in (await node.check("log"))["output"]
        answered = await node.ask("What is 3+3?")
        assert answered["decision"] is None
        assert await node.metric('neuroswarm_unlogged_total{kind="answer"}') == 1
        size = (await node.check("log"))["observedValue"]
        assert await node.delete(cid) == 200
        assert (await node.check("log"))["observedValue"] == size + 1
        assert size > before - 1
    async with start(tmp_path, disk=bounds, log={"on_failure": "refuse"}) as node:
        status, reply = await node.post("/chat", {"query": "What is 3+3?"})
        assert (status, "disk.log_bytes" in str(reply)) == (503, True)
