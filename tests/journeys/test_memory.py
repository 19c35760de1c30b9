"""What a node remembers of who asks: over HTTP and by command, with a scripted model on a vendor's wire and
the packaged embedder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.node_kit import Client, eventually, start
from tests.journeys.test_cli import ran
from tests.simulators.openai_compatible import OpenAiStandIn

FACTS = {
    "weekly summaries": ("user", "Prefers weekly summaries on Mondays"),
    "project finance analyst": ("user", "Is the project finance analyst"),
    "interfaces with": ("company", "Asset Management interfaces with Project Finance"),
    "Blue-Horse": ("user", "Uses the password Blue-Horse-77x for the portal"),
}


def answered(prompt: str) -> str:
    """Facts where it is asked for facts, else an answer."""
    if "WHAT IS KNOWN" in prompt:
        return "You get it on Mondays [1]."
    if "confidence" not in prompt:
        return "Noted."
    asked = prompt.rpartition("kurz")[2]
    found = [
        {"about": about, "text": text, "confidence": 0.95}
        for words, (about, text) in FACTS.items()
        if words in asked
    ]
    return json.dumps({"facts": found})


async def run(node: Client, *words: str) -> list[str]:
    return (await ran(*words, "--url", node.url, folder=node.folder)).splitlines()


async def kept(node: Client, key: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    _, body, _ = await node.raw("/v1/memory", headers=headers)
    return dict(json.loads(body))


@pytest.mark.slow
async def test_facts_are_kept_told_and_forgotten(tmp_path: Path) -> None:
    model = OpenAiStandIn(answer=answered)
    async with (
        model,
        start(
            tmp_path, embed={}, models={"openai_base_url": model.url, "openai_model": "stand-in-chat"}
        ) as node,
    ):
        assert await kept(node) == {"user": [], "company": []}
        await node.ask("I prefer weekly summaries on Mondays. I'm the project finance analyst.", mode="agent")
        await node.ask("Asset Management interfaces with Project Finance at our place.", mode="agent")
        await node.ask("I use the password Blue-Horse-77x for the portal.", mode="agent")
        wanted = {
            "user": ["Prefers weekly summaries on Mondays", "Is the project finance analyst"],
            "company": ["Asset Management interfaces with Project Finance"],
        }

        async def are_kept() -> bool:
            return await kept(node) == wanted

        await eventually(are_kept)
        await node.ask("I prefer weekly summaries on Fridays.")  # not in agent mode: no model is asked of it
        assert await kept(node) == wanted
        reply = await node.ask("When do I get my summary?", mode="agent")
        assert reply["answer"] == "You get it on Mondays [1]."
        assert reply["citations"][0]["source"] == "USER_MEMORY.md, line 1"
        folder = tmp_path / "data" / "memory" / "local"
        assert (
            await asyncio.to_thread((folder / "COMPANY_MEMORY.md").read_text) == f"- {wanted['company'][0]}\n"
        )
        secrets = await asyncio.to_thread(
            lambda: [one for one in folder.rglob("*") if one.is_file() and b"Horse" in one.read_bytes()]
        )
        assert secrets == []

        status, gone, _ = await node.send(
            "DELETE", "/v1/memory?about=user&text=Is+the+project+finance+analyst"
        )
        assert (status, gone) == (200, {"forgotten": 1})
        for query, field in (("about=all", "about"), ("text=", "text"), ("all=1", "all")):
            status, problem, _ = await node.send("DELETE", f"/v1/memory?{query}")
            assert (status, problem["error"]["param"]) == (400, field)
        shown = await run(node, "memory", "show")
        assert shown == ["user: Prefers weekly summaries on Mondays", f"company: {wanted['company'][0]}"]
        assert await run(node, "memory", "forget", "--about", "company") == ["1 lines forgotten"]
        assert await run(node, "memory", "forget") == ["1 lines forgotten"]
        assert await run(node, "memory", "show") == ["nothing is remembered"]
        await node.ask("I prefer weekly summaries on Mondays.", mode="agent")
        await eventually(lambda: kept(node), lambda found: bool(found["user"]))
        await ran("cache", "erase", "--tenant", "local", folder=node.folder)
        assert await kept(node) == {"user": [], "company": []}
    about = [json.dumps(one.body) for one in model.chats if "confidence" in json.dumps(one.body)]
    assert about
    assert not [one for one in about if "Fridays" in one.rpartition("kurz")[2]]
    assert all(one.body["temperature"] == 0.3 for one in model.chats if "confidence" in json.dumps(one.body))
