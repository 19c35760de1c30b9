"""Learning from hits over HTTP: audits, feedback, shadow mode, figures, and replay of an operator's traffic.

The gate is told to accept any risk here, so that a wrong answer that was planted is served.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson

from node.app.node import throwaway
from node.core.settings import load
from node.pipeline.replay import Replay, ReplayClock, as_json
from tests.faults.node_kit import eventually, typed
from tests.journeys.conftest import Client, Start, stages, steps
from tests.log_kit import entries, verified
from tests.nowhere import nowhere, nowhere_environment
from tests.simulators.ollama import OllamaStandIn

PERMISSIVE = {
    "max_wrong_per_hit": 1.0,
    "threshold": 0.3,
    "threshold_generative": 0.3,
    "threshold_deterministic": 0.3,
}
STORED = "When was the Belmora tower built?"
ASKED = "In what year was the Belmora tower constructed?"
TRUE = "The Belmora tower was built in 1887, after many seasons of planning by the old city council."
PLANTED = "The Belmora tower was built in 1921, after many seasons of planning by the old city council."


async def stats_of(node: Client) -> dict[str, Any]:
    status, stats = await node.get("/v1/cache/stats")
    assert status == 200, stats
    assert isinstance(stats, dict)
    return stats


async def until(node: Client, section: str, name: str, value: int) -> dict[str, Any]:
    """The figures, as soon as one of them has come to what is expected."""
    return await eventually(lambda: stats_of(node), lambda stats: stats[section][name] == value)


async def test_a_wrong_hit_that_is_reported_is_labelled_and_never_served_again(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "audit_share": 0.0}) as node:
        cid = await node.store(STORED, PLANTED)
        reply = await node.ask(ASKED)
        assert reply["hit"]["kind"] == "semantic", reply["trace"]
        assert reply["cid"] == cid
        said = await node.judge("invalid", request_id=reply["request_id"])
        assert said["served"] is False
        stats = await stats_of(node)
        assert stats["labels"] == [{"source": "feedback", "verdict": "wrong", "count": 1}]
        assert stats["feedback"]["wrong"] == 1
        assert stats["wrong_hits"]["wrong"] == 0, "people's reports are no random sample"
        assert stats["records_tightened"] >= 1
        assert (await node.ask(ASKED))["cid"] != cid
    async with start(cache={**PERMISSIVE, "audit_share": 0.0}) as node:
        stats = await stats_of(node)
        assert stats["labels"] == [{"source": "feedback", "verdict": "wrong", "count": 1}]
        assert stats["records_tightened"] >= 1
        assert (await node.ask(ASKED))["cid"] != cid


async def test_an_audit_finds_a_planted_wrong_hit(start: Start) -> None:
    cache = {**PERMISSIVE, "audit_share": 1.0}
    async with OllamaStandIn(answer=TRUE) as model, start(ollama=model.url, cache=cache) as node:
        await node.store(STORED, PLANTED)
        reply = await node.ask(ASKED)
        assert reply["answer"] == PLANTED
        assert reply["hit"]["kind"] == "semantic"
        stats = await until(node, "wrong_hits", "wrong", 1)
        assert stats["audits"]["done"] == 1
        assert stats["audits"]["undecided"] == 0
        assert stats["audits"]["left_this_hour"] == 29
        assert stats["labels"] == [{"source": "audit", "verdict": "wrong", "count": 1}]
        [one] = stats["wrong_hits_by_route"]
        assert (one["tier"], one["wrong"], one["wrong_share"]) == ("semantic", 1, 1.0)
        check = await node.check("cache:wrong_hits")
        assert check["status"] == "warn"
        assert "cache.max_wrong_per_hit" in check["output"]
        _, page, _ = await node.raw("/metrics")
        lines = page.decode().splitlines()
        assert 'neuroswarm_wrong_hit_share{kind="all",tier="all",value="estimate"} 1.0' in lines
        assert 'neuroswarm_hit_labels{source="audit",verdict="wrong"} 1.0' in lines
        assert "neuroswarm_audits_done 1.0" in lines
        requests = [line for line in lines if line.startswith("neuroswarm_requests_total")]
        assert sum(float(line.split()[-1]) for line in requests) == 1, "an audit is no user's request"
        folder = node.folder / "governance_logs"
    kept = entries(folder)
    [audit] = [one for one in kept if one["kind"] == "audit"]
    assert audit["verdict"] == "wrong"
    assert audit["compared_with"] == "llm"
    assert audit["target"] is None, "a record that is not public is committed to"
    text = json.dumps(audit).lower()
    assert "belmora" not in text
    assert "tower" not in text
    assert (await verified(folder)).ok
    answers = [one for one in kept if one["kind"] == "answer"]
    assert len(answers) == 1, "the fresh answer leaves no entry of a decision"


async def test_a_pair_found_wrong_is_refused_at_the_next_look_up_and_after_a_restart(start: Start) -> None:
    cache = {"threshold": 0.3, "threshold_generative": 0.3, "max_wrong_per_hit": 0.9, "audit_share": 1.0}
    async with OllamaStandIn(answer=TRUE) as model, start(ollama=model.url, cache=cache) as node:
        cid = await node.store(STORED, PLANTED)
        assert (await node.ask(ASKED, no_store=True))["cid"] == cid
        await until(node, "wrong_hits", "wrong", 1)
        await refused(node, cid)
    async with start(cache=cache) as node:
        await refused(node, cid)


async def refused(node: Client, cid: str) -> None:
    """The record lives and answers its own question, but no longer the one that it answered wrongly."""
    again = await node.ask(ASKED, no_store=True)
    assert again["hit"] is None
    [step] = steps(again, "recall")
    assert "wrong before" in step["reason"]
    assert (await node.ask(STORED))["cid"] == cid


async def test_shadow_mode_serves_nothing_and_still_counts(start: Start) -> None:
    cache = {**PERMISSIVE, "shadow": True}
    async with OllamaStandIn(answer=TRUE) as model, start(ollama=model.url, cache=cache) as node:
        await node.store(STORED, PLANTED)
        reply = await node.ask(ASKED, no_store=True)
        assert reply["hit"] is None
        assert reply["answer"] == TRUE
        assert reply["source"]["kind"] == "llm"
        [step] = steps(reply, "recall")
        assert step["outcome"] == "shadow"
        assert "compose" in stages(reply)
        assert PLANTED not in "".join(model.prompts), "the hit that is judged is no evidence"
        stats = await until(node, "wrong_hits", "wrong", 1)
        assert stats["shadow"] is True
        assert stats["gate"]["would_be_hits"] == 1
        assert stats["hits"] == []
        assert stats["labels"] == [{"source": "shadow", "verdict": "wrong", "count": 1}]
        _, page, _ = await node.raw("/metrics")
        assert b'result="shadow"} 1.0' in page
        assert (await node.ask(STORED))["hit"]["kind"] == "exact"


async def test_shadow_mode_of_a_search_is_judged_by_what_the_client_stores(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "shadow": True}) as node:
        await node.store(STORED, PLANTED)
        found = await node.search(ASKED)
        assert found["hit"] is None
        assert found["answer"] is None
        assert found["reason"].startswith("shadow mode, would have hit")
        assert found["candidates"]
        await node.store(ASKED, TRUE)
        stats = await until(node, "wrong_hits", "wrong", 1)
        assert stats["gate"]["would_be_hits"] == 1
        _, page, _ = await node.raw("/metrics")
        assert b"neuroswarm_would_be_hits 1.0" in page


async def test_the_stats_command_tells_people_and_programs(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "audit_share": 0.0}) as node:
        await node.store(STORED, PLANTED)
        reply = await node.ask(ASKED)
        await node.judge("valid", request_id=reply["request_id"])
        outputs = [await command("cache", "stats", "--url", node.url, *more) for more in ((), ("--json",))]
    assert "1 live" in outputs[0]
    assert "1 feedback right" in outputs[0]
    assert json.loads(outputs[1])["feedback"]["right"] == 1
    assert "no node answers" in await command("cache", "stats", "--url", "http://127.0.0.1:9", status=2)


async def test_a_replay_tells_what_the_cache_would_have_saved_and_got_wrong(tmp_path: Path) -> None:
    lines: list[Any] = [
        {"query": STORED, "class": "tower", "time": "2026-01-01T00:00:00Z"},
        {"query": ASKED, "class": "other"},
        {"query": STORED, "class": "tower"},
        "broken",
        {"messages": [{"role": "user", "content": "Who wrote The Glass Orchard?"}]},
        {"messages": [{"role": "user", "content": "Who is the author of The Glass Orchard?"}]},
        {"query": "x" * 10, "answer": 5},
    ]
    path = tmp_path / "traffic.jsonl"
    path.write_bytes(
        b"\n".join(line.encode() if isinstance(line, str) else orjson.dumps(line) for line in lines)
    )
    settings = load({}, flags={"adapters": nowhere(), "cache": PERMISSIVE})
    clock = ReplayClock()
    async with throwaway(settings, clock) as node:
        folder = Path(node.settings.data_dir)
        report = as_json(await Replay(node.service, clock).run(path))
    assert not await asyncio.to_thread(folder.exists)
    assert not (tmp_path / "data").exists()
    assert report["lookups"] == 5
    assert [one["line"] for one in report["bad"]] == [4, 7]
    ours, *cosines = report["caches"]
    assert ours["by_tier"]["exact"] == 1
    assert ours["by_tier"]["semantic"] + ours["by_tier"]["slot"] == 2
    assert (ours["right"], ours["wrong"], ours["undecided"]) == (1, 1, 1)
    assert ours["wrong_share"] == 0.25
    assert 0.25 < ours["wrong_share_upper"] < 1
    assert report["repeats"] == 1
    [worst] = report["worst"]
    assert worst["stored"] == STORED.rstrip("?")
    assert [one["name"] for one in cosines] == ["cosine 0.9", "cosine 0.8", "cosine 0.7"]
    assert all(one["by_tier"]["exact"] == 1 for one in cosines)


async def test_the_replay_command_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    said = await command("cache", "replay", str(tmp_path / "none.jsonl"), status=1)
    assert "there is no file" in said


async def command(*words: str, status: int = 0) -> str:
    """What a command prints, on either stream."""
    done = await typed({**nowhere_environment(), "PATH": "/usr/bin:/bin"}, *words)
    assert done.returncode == status, done
    return done.stdout + done.stderr


async def test_feedback_on_an_exact_hit_labels_no_pair(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "audit_share": 0.0}) as node:
        await node.store(STORED, PLANTED)
        reply = await node.ask(STORED)
        assert reply["hit"]["kind"] == "exact"
        await node.post("/feedback", {"request_id": reply["request_id"], "verdict": "invalid"})
        assert (await node.get("/v1/cache/stats"))[1]["labels"] == []


async def test_an_audit_that_agrees_is_right_and_nothing_is_stored(start: Start) -> None:
    cache = {**PERMISSIVE, "audit_share": 1.0}
    async with OllamaStandIn(answer=TRUE) as model, start(ollama=model.url, cache=cache) as node:
        await node.store(STORED, "The tower of Belmora was built in 1887, after many seasons of planning.")
        await node.ask(ASKED)
        stats = await until(node, "audits", "done", 1)
        assert stats["wrong_hits"]["right"] == 1, stats["labels"]
        assert stats["entries"] == 1
        assert stats["records_tightened"] == 0
        assert (await node.check("cache:wrong_hits"))["status"] == "pass"


async def test_without_a_model_an_audit_is_undecided(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "audit_share": 1.0}) as node:
        await node.store(STORED, PLANTED)
        await node.ask(ASKED)
        stats = await until(node, "audits", "done", 1)
        assert stats["audits"]["undecided"] == 1
        assert stats["wrong_hits"]["wrong_share"] is None


async def test_exact_hits_are_not_audited(start: Start) -> None:
    async with start(cache={**PERMISSIVE, "audit_share": 1.0}) as node:
        await node.store(STORED, PLANTED)
        await node.ask(STORED)
        stats = (await node.get("/v1/cache/stats"))[1]
        assert stats["audits"] == {
            "done": 0,
            "undecided": 0,
            "skipped": 0,
            "waiting": 0,
            "left_this_hour": 30,
        }
        assert [(one["tier"], one["count"]) for one in stats["hits"]] == [("exact", 1)]
