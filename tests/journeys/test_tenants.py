"""Two tenants of one node: neither gets anything of the other's, by any door, whatever its requests claim;
the same tenant does hit."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import cycle
from typing import TypeVar

import pytest

from tests.journeys.conftest import Client, Start
from tests.keys_kit import As, Reply, key_of
from tests.openai_kit import CHAT, asking
from tests.simulators.ollama import OllamaStandIn

THINGS = ("ladder", "lantern", "ledger", "toolbox", "trailer", "winch", "pump", "projector", "kayak", "tent")
PLACES = (
    "boathouse",
    "mill",
    "library",
    "brewery",
    "school",
    "harbour",
    "archive",
    "depot",
    "theatre",
    "barn",
)
SPOOFS = (
    {},
    {"X-Tenant": "acme", "X-User": "ann"},
    {"X-Forwarded-User": "acme", "X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"},
    {"X-Auth-Request-User": "acme", "Remote-User": "acme", "Cookie": "tenant=acme"},
    {"Forwarded": "for=127.0.0.1;host=localhost", "X-Forwarded-Host": "localhost", "Via": "1.1 acme"},
)
"""Headers that claim to be somebody else."""
AT_ONCE = 8
Asked = TypeVar("Asked")
CANARY = re.compile(r"zq\d{4}xv")
FORM = "application/x-www-form-urlencoded"


def canary(number: int) -> str:
    return f"zq{number:04d}xv"


def facts(count: int) -> list[tuple[str, str, str]]:
    """Question, another wording of it, and the answer of one tenant alone."""
    made = []
    for number in range(count):
        thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
        what = f"{thing} {number // 100 + 1}" if count > 100 else thing
        asked = f"Where is the {what} of the {place} kept?"
        near = f"Tell me where the {what} of the {place} is kept, please"
        made.append((asked, near, f"It is kept behind the {canary(number)} door."))
    return made


async def all_of(calls: list[Awaitable[Reply]]) -> list[Reply]:
    """Their replies, ``AT_ONCE`` under way."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(call: Awaitable[Reply]) -> Reply:
        async with places:
            return await call

    return await asyncio.gather(*(one(call) for call in calls))


async def called(who: As, tool: str, **arguments: str) -> Reply:
    """One call of a tool over MCP, as clients of 2025 send it."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    return await who.call("POST", "/mcp", body, Accept="application/json, text/event-stream")


def dealt(texts: Sequence[Asked], doors: int, *, is_dealt: bool) -> list[Sequence[Asked]]:
    """What is asked at each door: everything, or each text at one door, by a seeded choice."""
    if not is_dealt:
        return [texts] * doors
    mixed = random.Random(19).sample(texts, len(texts))
    return [mixed[door::doors] for door in range(doors)]


async def cross(node: Client, count: int, *, is_embedded: bool) -> None:
    """``count`` facts of one tenant, asked for in both wordings by another one and by nobody: all at each
    door, or where they are many each at one door. ``is_embedded``: what is near can be found."""
    is_dealt = count > 100
    acme = As(node, await key_of(node, "acme", per_minute=1_000_000))
    beta_key = await key_of(node, "beta", per_minute=1_000_000)
    known = facts(count)
    stored = await all_of([acme.store(asked, answer) for asked, _, answer in known])
    assert {one.status for one in stored} == {201}
    texts = [text for asked, near, _ in known for text in (asked, near)]
    answers = [answer for _, _, answer in known for _ in range(2)]

    # The same tenant does hit: with another key too.
    ours = As(node, await key_of(node, "acme", per_minute=1_000_000))
    chatted, looked_up = dealt(known, 2, is_dealt=is_dealt)
    found = await all_of([ours.call("POST", CHAT, asking(asked, "neuroswarm")) for asked, _, _ in chatted])
    found += await all_of([called(ours, "lookup", query=asked) for asked, _, _ in looked_up])
    answered = [answer for _, _, answer in (*chatted, *looked_up)]
    assert all(answer in one.text for one, answer in zip(found, answered, strict=True))
    found = await all_of([ours.search(text) for text in texts])
    same, near = found[::2], found[1::2]
    assert sum(answer in one.text for one, answer in zip(same, answers[::2], strict=True)) == count
    assert (sum(bool(CANARY.search(one.text)) for one in near) > count / 10) == is_embedded

    # Nobody else does.
    callers = [
        who
        for spoof in SPOOFS
        for who in (As(node, beta_key, spoof), *([As(node, headers=spoof)] if "Via" not in spoof else []))
    ]
    doors: list[Callable[[As, str], Awaitable[Reply]]] = [
        lambda who, text: who.search(text),
        lambda who, text: who.chat(text, verbose=True),
        lambda who, text: who.call("POST", "/", f"q={text.replace(' ', '+')}", Content_Type=FORM),
        lambda who, text: who.call("POST", "/route", {"query": text}),
        lambda who, text: who.call("POST", CHAT, asking(text, "neuroswarm", user="acme")),
        lambda who, text: who.call("POST", CHAT, asking(text, "neuroswarm", stream=True)),
        lambda who, text: who.call("POST", "/v1/responses", {"model": "neuroswarm", "input": text}),
        lambda who, text: called(who, "ask", query=text),
        lambda who, text: called(who, "lookup", query=text),
    ]
    for door, asked_there in zip(doors, dealt(texts, len(doors), is_dealt=is_dealt), strict=True):
        turn = cycle(callers)
        replies = await all_of([door(next(turn), text) for text in asked_there])
        assert {one.status for one in replies} <= {200, 401}
        assert sum(one.status == 200 for one in replies) > len(replies) / 2
        leaks = [one.text for one in replies if CANARY.search(one.text)]
        assert leaks == []
    # By name, and what is said of a record that is not there.
    for one in stored[:5]:
        cid = one.json["cid"]
        for who in callers:
            for method, path, body in (
                ("GET", f"/v1/cache/entries/{cid}", None),
                ("DELETE", f"/v1/cache/entries/{cid}", None),
                ("POST", "/feedback", {"cid": cid, "verdict": "invalid"}),
                ("GET", f"/ipfs/{cid}?format=raw", None),
            ):
                reply = await who.call(method, path, body)
                assert reply.status in (401, 404), (method, path, reply.text)
                assert not CANARY.search(reply.text)
        gone = await callers[0].call("POST", "/v1/cache/invalidate", {"cid": cid})
        assert gone.json["matched"] == 0
    again = await all_of([acme.search(asked) for asked, _, _ in known])
    assert all(answer in one.text for one, (_, _, answer) in zip(again, known, strict=True))


async def test_no_door_crosses_tenants(start: Start) -> None:
    async with start(embed="none") as node:
        await cross(node, 12, is_embedded=False)


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # 7,000 requests on a machine that others may use
async def test_two_thousand_same_and_near_questions_cross_nothing(start: Start) -> None:
    async with start() as node:
        await cross(node, 1_000, is_embedded=True)


async def test_bodies_name_no_tenant(start: Start) -> None:
    async with start(embed="none") as node:
        beta = As(node, await key_of(node, "beta"))
        for more in ({"tenant": "acme"}, {"user": "ann"}, {"scope": "private:acme"}, {"key": "nsk_a"}):
            assert (await beta.chat("2+2?", **more)).status == 400
            assert (await beta.store("2+2?", "4.", **more)).status == 400
        refused = await beta.call("POST", "/v1/cache/invalidate", {"scope": "private:acme"})
        assert refused.status in (400, 403)
        for scope in ("shared", "public"):
            refused = await beta.call("POST", "/v1/cache/invalidate", {"scope": scope})
            assert refused.status == 403


async def test_request_ids_sessions_and_feedback_are_a_tenants_own(start: Start) -> None:
    """Clients choose ids of requests and sessions, so that one may guess another's, or take it on purpose."""
    async with start(embed="none") as node:
        acme, beta = As(node, await key_of(node, "acme")), As(node, await key_of(node, "beta"))
        local = As(node)
        asked, answer = "Where does the key of the mill lie?", "Under the zqmat."
        cid = (await acme.store(asked, answer)).json["cid"]
        taken = {"X_Request_Id": "the-same-id-1"}
        hit = await acme.call("POST", "/chat", {"query": asked, "session_id": "talk"}, **taken)
        assert hit.json["cid"] == cid
        for other in (beta, local):
            # The id of another tenant's request names nothing, and is not said to be in use.
            wrong = {"request_id": "the-same-id-1", "verdict": "invalid", "correction": "In the sea."}
            refused = await other.call("POST", "/feedback", wrong)
            assert refused.status == 404
            assert "several" not in refused.text
            await other.call("POST", "/chat", {"query": "3*7?", "session_id": "talk"}, **taken)
            said = await other.chat("what did I ask before?", session_id="talk")
            assert "mill" not in said.text
            assert "3*7" in said.text
        mine = await acme.call("POST", "/feedback", {"request_id": "the-same-id-1", "verdict": "valid"})
        assert (mine.status, mine.json["cid"]) == (200, cid)
        counted = (await beta.chat("how many questions did I ask today?")).json["answer"]
        assert "1" in counted
        assert "zqmat" not in counted


async def test_what_is_computed_at_once_or_failed_is_not_shared(start: Start) -> None:
    """One flight, one failure and one draft for each tenant: the model is asked by each of them."""
    async with (
        OllamaStandIn(answer="A weir is a low dam across a river.") as model,
        start(ollama=model.url, embed="none") as node,
    ):
        two = [As(node, await key_of(node, name)) for name in ("acme", "beta")]
        replies = await asyncio.gather(*(one.chat("Explain what a weir is", verbose=True) for one in two * 2))
        assert {one.status for one in replies} == {200}
        flights = ["single_flight" in [step["stage"] for step in one.json["trace"]] for one in replies]
        assert sum(flights) <= 2
        made = [one.json["source"]["kind"] for one in replies]
        assert made.count("llm") >= 2
        before = len(model.chats)
        third = As(node, await key_of(node, "third"))
        fresh = (await third.chat("Explain what a weir is", verbose=True)).json
        assert (fresh["hit"], fresh["draft"]) == (None, False)
        assert "negative" not in [step["stage"] for step in fresh["trace"]]
        assert len(model.chats) > before


async def test_a_failure_is_remembered_for_its_tenant_alone(start: Start) -> None:
    asked = "Explain what a weir is"
    async with start(embed="none", cache={"negative_s": 300.0}) as node:
        acme, beta = As(node, await key_of(node, "acme")), As(node, await key_of(node, "beta"))
        for who, is_known in ((acme, False), (acme, True), (beta, False), (As(node), False), (beta, True)):
            reply = (await who.chat(asked, verbose=True)).json
            assert reply["source"]["kind"] == "fallback"
            assert ("negative" in [step["stage"] for step in reply["trace"]]) == is_known, who


async def test_a_draft_is_its_tenants_alone(start: Start) -> None:
    asked = "Explain what a weir is"
    async with (
        OllamaStandIn(answer="A weir is a low dam across a river.") as model,
        start(ollama=model.url, embed="none", cache={"confidence_min": 0.99}) as node,
    ):
        acme, beta = As(node, await key_of(node, "acme")), As(node, await key_of(node, "beta"))
        for who, is_known in ((acme, False), (acme, True), (beta, False), (As(node), False), (beta, True)):
            before = len(model.chats)
            reply = (await who.chat(asked)).json
            assert (reply["source"]["kind"], reply["stored"], reply["draft"]) == ("llm", False, is_known), who
            assert (len(model.chats) == before) == is_known


async def test_the_shared_pool_is_the_operators_to_open(start: Start) -> None:
    asked, answer = "Where does the key of the mill lie?", "Under the zqmat."
    async with start(embed="none") as node:
        beta = As(node, await key_of(node, "beta"))
        assert (await As(node).store(asked, answer)).json["scope"] == "shared"
        assert (await beta.search(asked)).json["hit"] is None
        key = beta.key
    async with start(embed="none", server={"shared_pool": True}) as node:
        beta = As(node, key)
        assert (await beta.search(asked)).json["answer"] == answer
        kept = await beta.store("Where is the zqoar?", "In the boathouse.")
        assert kept.json["scope"] == "private:beta"
        assert (await As(node).search("Where is the zqoar?")).json["hit"] is None
        assert (await beta.store("Where is the zqsail?", "In the loft.", scope="shared")).status == 201
        assert (await As(node).search("Where is the zqsail?")).json["answer"] == "In the loft."
        assert (await beta.call("POST", "/v1/cache/invalidate", {"query": asked})).json["matched"] == 0


async def test_the_log_of_everybody_names_nobody(start: Start) -> None:
    """Its tiles are public: they hold neither words nor tenants nor CIDs of what is private."""
    async with start(embed="none", log={"publish_every_s": 0.05}) as node:
        acme = As(node, await key_of(node, "zqtenant"))
        cid = (await acme.store("Where is the zqoar?", "In the zqhouse.")).json["cid"]
        await acme.call("POST", "/chat", {"query": "Where is the zqoar?"}, X_Request_Id="zqrequest-1")
        await acme.call("POST", "/feedback", {"cid": cid, "verdict": "valid", "note": "zqnote"})
        index = (await acme.search("Where is the zqoar?")).json["decision"]["index"]
        for _ in range(200):
            checkpoint = (await As(node).call("GET", "/logs/decisions/checkpoint")).text
            if checkpoint.count("\n") > 2 and int(checkpoint.split("\n")[1]) > index:
                break
            await asyncio.sleep(0.05)
        size = int(checkpoint.split("\n")[1])
        tile = await As(node).call("GET", f"/logs/decisions/tile/entries/000.p/{size}")
        assert tile.status == 200
        assert '"kind":"answer"' in tile.text
        for secret in ("zqtenant", "zqoar", "zqhouse", "zqnote", cid, cid[-20:]):
            assert secret not in tile.text, secret
