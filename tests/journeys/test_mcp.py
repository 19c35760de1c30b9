"""The SDK's own client against a real node: by streamable HTTP, old and new, and over stdio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.faults.node_kit import environ_of
from tests.journeys.conftest import Start
from tests.keys_kit import desk_of

ANSWER = "Rui does, on Fridays."


def _command(folder: Path, *words: str, key: str = "") -> StdioServerParameters:
    own = environ_of(folder) | ({"NEUROSWARM_API_KEY": key} if key else {})
    return StdioServerParameters(
        command=sys.executable, args=["-m", "node", "mcp", *words], cwd=folder, env=own
    )


async def _called(client: Client, tool: str, **given: Any) -> dict[str, Any]:
    done = await client.call_tool(tool, given)
    assert not done.is_error, done.content
    assert done.structured_content is not None
    return done.structured_content


async def _walk(client: Client, question: str) -> None:
    """All tools and resources: what one stores, the next one finds, explains and takes back."""
    missed = await _called(client, "lookup", query=question)
    assert missed["answer"] is None
    assert missed["reason"]
    kept = await _called(client, "remember", query=question, answer=ANSWER, source="the rota")
    assert kept["by"] == "local"
    told: list[str | None] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    done = await client.call_tool("ask", {"query": question.rstrip("?")}, progress_callback=hear)
    answered = done.structured_content
    assert answered is not None, done
    assert (answered["answer"], answered["cid"]) == (ANSWER, kept["cid"])
    assert answered["hit"]["kind"] in ("exact", "slot")
    assert told[0] is not None
    assert told[0].startswith("the question is ")
    found = await _called(client, "lookup", query=question)
    assert (found["answer"], found["cid"]) == (ANSWER, kept["cid"])
    record = await client.read_resource(f"record://{kept['cid']}")
    assert ANSWER in record.contents[0].text
    note = await client.read_resource("log://checkpoint")
    assert note.contents[0].text.startswith(answered["decision"]["log"] + "\n")
    for _ in range(50):  # until a checkpoint covers the decision
        done = await client.call_tool("explain", answered["decision"])
        if not done.is_error:
            break
        await asyncio.sleep(0.2)
    assert done.structured_content is not None
    said = "\n".join(done.structured_content["lines"])
    assert answered["request_id"] in said
    assert ANSWER not in said
    judged = await _called(client, "validate", verdict="invalid", cid=kept["cid"], note="Ana does now")
    assert judged["served"] is False
    assert (await _called(client, "lookup", query=question))["answer"] is None


async def test_over_http_as_of_today_and_before(start: Start) -> None:
    async with start() as node:
        async with Client(f"{node.url}/mcp") as client:
            assert client.protocol_version == "2026-07-28"
            await _walk(client, "Who waters the plants in the Lisbon office?")
        async with Client(f"{node.url}/mcp", mode="legacy") as client:
            assert client.protocol_version == "2025-11-25"
            await _walk(client, "Which key opens the archive in Porto?")


@pytest.mark.slow
async def test_over_stdio(start: Start) -> None:
    async with start() as node:
        async with Client(stdio_client(_command(node.folder, "--url", node.url))) as client:
            await _walk(client, "Whom do we call when the lift in Braga is stuck?")


@pytest.mark.slow
async def test_two_tenants_over_stdio_have_nothing_in_common(start: Start) -> None:
    """Each with a key of its own, as docs/mcp.md shows it, at the same time; a key ends there too."""
    question = "Who waters the plants in the Lisbon office?"
    async with start(embed="none") as node:
        keys = [await desk_of(node, "apikeys_create", tenant=name) for name in ("acme", "acme", "beta")]
        servers = [_command(node.folder, "--url", node.url, key=one["key"]) for one in keys]
        async with (
            Client(stdio_client(servers[0])) as acme,
            Client(stdio_client(servers[1])) as too,
            Client(stdio_client(servers[2])) as beta,
        ):
            kept = await _called(acme, "remember", query=question, answer=ANSWER)
            assert kept["scope"] == "private:acme"
            asked = await _called(acme, "ask", query=question, session_id="talk")
            assert asked["answer"] == ANSWER
            # The same tenant does hit, with another key; a conversation is a key's own.
            assert (await _called(too, "lookup", query=question))["cid"] == kept["cid"]
            before = {"query": "What did I ask before?", "session_id": "talk"}
            assert "plants" in (await _called(acme, "ask", **before))["answer"]
            assert "plants" not in (await _called(too, "ask", **before))["answer"]
            # The other one gets nothing: not by words, name, number or order.
            replies = [
                await beta.call_tool(tool, given)
                for tool, given in (
                    ("lookup", {"query": question}),
                    ("ask", {"query": question}),
                    ("ask", before),
                    ("validate", {"verdict": "invalid", "cid": kept["cid"]}),
                    ("validate", {"verdict": "invalid", "request_id": asked["request_id"]}),
                    ("explain", asked["decision"]),
                )
            ]
            assert not [one for one in replies if ANSWER in str(one) or "plants" in str(one)]
            with pytest.raises(MCPError) as refused:
                await beta.read_resource(f"record://{kept['cid']}")
            assert ANSWER not in str(refused.value)
            theirs = await _called(beta, "remember", query=question, answer="Nobody does.")
            assert (await _called(beta, "lookup", query=question))["cid"] == theirs["cid"]
            assert (await _called(acme, "lookup", query=question))["answer"] == ANSWER
            await desk_of(node, "apikeys_revoke", id=keys[0]["id"])
            done = await acme.call_tool("lookup", {"query": question})
            assert done.is_error
            assert "revoked" in done.content[0].text
            assert (await _called(too, "lookup", query=question))["answer"] == ANSWER


@pytest.mark.slow
async def test_without_a_node_the_command_serves_and_says_so(tmp_path: Path) -> None:
    errors = tmp_path / "stderr"
    with errors.open("w") as log:
        server = stdio_client(_command(tmp_path, "--url", "http://127.0.0.1:9"), errlog=log)
        async with Client(server) as client:
            done = await client.call_tool("ask", {"query": "What is IPFS?"})
    assert done.is_error
    assert "neuroswarm serve" in done.content[0].text
    assert "no node answers at http://127.0.0.1:9" in errors.read_text()
