"""Keys at the door of a whole node: who is let in, what a key may do and use up, and how soon it ends."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import http_sf
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from node.api import access, server
from node.api.access import ADMIN, OPEN, READ, WRITE, need_of
from node.core.errors import Misconfigured
from tests.faults.node_kit import eventually
from tests.journeys.conftest import Client, Start
from tests.keys_kit import As, desk_of, key_of
from tests.openai_kit import CHAT, asking, chats, front
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import OpenAiStandIn

NONE = {"embed": "none"}
QUESTION = "Where does the key of the mill lie?"
CANARY = "Zxqv-7 lies under the mat."
SECRETS = f'{{"query": "{QUESTION}"}}'.encode()


def test_each_route_needs_what_it_should() -> None:
    """A new route needs a key that may read until somebody has thought about it here."""
    needs: dict[str, set[str]] = {OPEN: set(), READ: set(), WRITE: set(), ADMIN: set()}
    for method, path, _ in server.ROUTES:
        if not path.startswith(("/ipfs/", "/ipns/", "/routing/", "/logs/", "/witness/")):
            needs[need_of(method, path)].add(f"{method} {path}")
    assert needs[OPEN] == {
        "GET /",
        "GET /livez",
        "GET /readyz",
        "GET /health",
        "GET /openapi.json",
        "GET /peers",
        "GET /peers/identity",
        "POST /peers/blocks",
        "POST /peers/reconcile",
    }
    assert needs[WRITE] == {
        "POST /v1/cache/entries",
        "DELETE /v1/cache/entries/{cid}",
        "POST /v1/cache/invalidate",
        "POST /v1/documents",
        "DELETE /v1/memory",
        "DELETE /v1/documents/{document}",
    }
    assert needs[ADMIN] == {"GET /v1/cache/stats", "GET /metrics", "POST /peers/sync"}
    assert set(access.NEEDS) <= {(method, path) for method, path, _ in server.ROUTES}
    assert need_of("HEAD", "/metrics") == ADMIN


async def test_who_listens_to_the_world_needs_keys(start: Start) -> None:
    with pytest.raises(Misconfigured, match=r"server\.host.*neuroswarm apikeys create"):
        async with start(server={"host": "0.0.0.0"}, **NONE):
            pass
    async with start(**NONE) as node:
        key = await key_of(node, "acme", expires_in_s=1)
        kept = await key_of(node, "acme")
        ends = (await desk_of(node, "apikeys_list"))["keys"]
        assert [one["tenant"] for one in ends] == ["acme", "acme"]
        assert key not in str(ends)
    async with start(server={"host": "0.0.0.0", "keyless": False}, **NONE) as node:
        node.url = node.url.replace("0.0.0.0", "127.0.0.1")
        assert (await As(node).chat("2+2?")).status == 401
        assert (await As(node, kept).chat("2+2?")).status == 200


async def test_a_key_is_believed_or_refused_and_never_passed_over(start: Start) -> None:
    async with start(**NONE) as node:
        # No key was ever made: what clients send because they must is none.
        assert (await As(node, "sk-whatever").chat("2+2?")).status == 200
        assert (await As(node, "nsk_aaaaaaaaaa_" + "b" * 43).chat("2+2?")).status == 401
        key = await key_of(node, "acme")
        for shown in ("sk-whatever", key[:-1], key + "x", ""):
            refused = await As(node).call("POST", "/chat", {"query": "2+2?"}, Authorization=f"Bearer {shown}")
            assert refused.status == 401, shown
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
            assert refused.json["status"] == 401
        for line in (f"Basic {key}", key, f"Bearer {key}, Bearer {key}"):
            assert (await As(node).call("POST", "/chat", {"query": "2+2?"}, Authorization=line)).status == 401
        assert (await As(node).chat("2+2?")).status == 200
        assert (await As(node, key).chat("2+2?")).status == 200
        # Who comes through a proxy that nobody has named is no one on this machine.
        for name in access.PASSED_ON:
            assert (await As(node, headers={name: "127.0.0.1"}).chat("2+2?")).status == 401, name
            assert (await As(node, key, {name: "127.0.0.1"}).chat("2+2?")).status == 200, name


async def test_a_key_may_do_what_its_scopes_say(start: Start) -> None:
    async with start(sharing={"publish": "all"}, **NONE) as node:
        reader = As(node, await key_of(node, "acme", scopes=["read"]))
        writer = As(node, await key_of(node, "acme"))
        publisher = As(node, await key_of(node, "acme", scopes=["read", "write", "publish"]))
        admin = As(node, await key_of(node, "ops", scopes=["admin"]))
        assert (await reader.store(QUESTION, CANARY)).status == 403
        kept = await writer.store(QUESTION, CANARY)
        assert (kept.status, kept.json["scope"]) == (201, "private:acme")
        cid = kept.json["cid"]
        assert (await reader.search(QUESTION)).json["answer"] == CANARY
        assert (await reader.call("DELETE", f"/v1/cache/entries/{cid}")).status == 403
        assert (await reader.call("POST", "/v1/cache/invalidate", {"cid": cid})).status == 403
        assert (await writer.store("What is a weir?", "A low dam.", scope="public")).status == 403
        assert (await writer.store("What is a weir?", "A low dam.", scope="shared")).status == 403
        public = await publisher.store("What is a weir?", "A low dam.", scope="public")
        assert (public.status, public.json["scope"]) == (201, "public")
        for path in ("/metrics", "/v1/cache/stats"):
            assert (await writer.call("GET", path)).status == 403
            assert (await admin.call("GET", path)).status == 200
            assert (await As(node).call("GET", path)).status == 200  # the operator, on this machine
        assert (await writer.call("POST", "/peers/sync", {})).status == 403
        assert (await admin.call("POST", "/peers/sync", {})).status == 200
        assert "checks" in (await admin.call("GET", "/health")).json
        assert set((await writer.call("GET", "/health")).json) == {"status", "version"}
        assert CANARY not in (await admin.search(QUESTION)).text
        assert (
            'neuroswarm_refused_requests_total{reason="scope"}' in (await admin.call("GET", "/metrics")).text
        )


async def raw(node_url: str, *heads: str, body: bytes = SECRETS) -> list[bytes]:
    """Requests on one connection, one after the other; each reply whole."""
    host, port = node_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    replies = []
    for head in heads:
        lines = f"POST /chat HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{head}"
        writer.write(f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        said = await reader.readuntil(b"\r\n\r\n")
        length = int(said.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        replies.append(said + await reader.readexactly(length))
    writer.close()
    return replies


@pytest.mark.parametrize("durability", ["before_reply", "behind_50ms"])
async def test_revoked_is_revoked_on_the_fast_way_too(start: Start, durability: str) -> None:
    """The same head again is answered where its bytes arrive, at once or when the log has it: for whom it was
    read, while that holds."""
    async with start(log={"durability": durability}, **NONE) as node:
        first = await desk_of(node, "apikeys_create", tenant="acme")
        acme, beta = As(node, first["key"]), As(node, await key_of(node, "beta"))
        assert (await acme.store(QUESTION, CANARY)).status == 201
        assert (await beta.store(QUESTION, "Beta keeps it in a drawer.")).status == 201
        mine, theirs = (f"Authorization: Bearer {one.key}\r\n" for one in (acme, beta))
        order = [mine, theirs, "", mine, theirs, "", mine, mine, theirs, theirs, "", ""]
        replies = await raw(node.url, *order)
        for head, reply in zip(order, replies, strict=True):
            assert (CANARY.encode() in reply) == (head == mine), reply
            assert (b"drawer" in reply) == (head == theirs), reply
            assert (b"RateLimit: " in reply) == (head != ""), reply
        assert (await desk_of(node, "apikeys_revoke", id=first["id"]))["revoked"]
        for reply in await raw(node.url, mine, mine, theirs):
            assert CANARY.encode() not in reply
        again = await raw(node.url, mine, theirs, mine)
        assert [reply.split(b" ")[1] for reply in again] == [b"401", b"200", b"401"]
        assert b"revoked" in again[0]


async def test_a_placeholder_is_nobody_once_there_are_keys(start: Start) -> None:
    async with start(**NONE) as node:
        head = "Authorization: Bearer sk-none\r\n"
        assert [one.split(b" ")[1] for one in await raw(node.url, head, head, head)] == [b"200"] * 3
        await key_of(node, "acme")
        assert [one.split(b" ")[1] for one in await raw(node.url, head, head)] == [b"401"] * 2


async def test_rates_and_budgets_end_in_a_clear_429(start: Start) -> None:
    async with start(**NONE) as node:
        quick = As(node, await key_of(node, "acme", per_minute=3))
        poor = As(node, await key_of(node, "acme", requests_per_day=2))
        replies = [await quick.chat("2+2?") for _ in range(4)]
        assert [one.status for one in replies] == [200, 200, 200, 429]
        assert 1 <= int(replies[3].headers["Retry-After"]) <= 60
        assert "3 times a minute" in replies[3].json["detail"]
        left = []
        for one in replies:
            policy = dict(http_sf.parse(one.headers["RateLimit-Policy"].encode(), tltype="list"))
            assert policy["minute"] == {"q": 3, "w": 60}
            left.append(dict(http_sf.parse(one.headers["RateLimit"].encode(), tltype="list"))["minute"]["r"])
        assert left == [2, 1, 0, 0]
        assert [(await poor.chat("2+2?")).status for _ in range(2)] == [200, 200]
        spent = await poor.chat("2+2?")
        assert (spent.status, spent.json["title"]) == (429, "Too many requests")
        assert "2 requests of today (UTC)" in spent.json["detail"]
        assert 0 < int(spent.headers["Retry-After"]) <= 86_400
        assert '"requests";r=0' in spent.headers["RateLimit"]
        assert (await As(node).chat("2+2?")).headers.get("RateLimit") is None
        [_, used] = (await desk_of(node, "apikeys_list"))["keys"]
        assert used["requests_today"] == 2


async def test_a_spent_budget_of_models_leaves_what_needs_none(start: Start) -> None:
    async with (
        OllamaStandIn(answer="A weir is a low dam across a river.") as model,
        start(ollama=model.url, **NONE) as node,
    ):
        poor = As(node, await key_of(node, "acme", model_calls_per_day=1))
        other = As(node, await key_of(node, "beta", model_calls_per_day=1))
        assert (await poor.chat("Explain what a weir is", no_store=True)).json["source"]["kind"] == "llm"
        assert (await poor.chat("2+2?")).status == 200
        spent = await poor.chat("Explain what a sluice is")
        assert (spent.status, spent.json["status"]) == (429, 429)
        assert "1 model calls of today" in spent.json["detail"]
        asked = len(model.chats)
        assert (await poor.chat("Explain what a lock is")).status == 429
        assert len(model.chats) == asked
        assert (await other.chat("Explain what a weir is")).json["source"]["kind"] == "llm"
        [first, _] = (await desk_of(node, "apikeys_list"))["keys"]
        assert first["model_calls_today"] == 1


async def test_a_trusted_proxy_names_tenant_and_user_and_nobody_else_does(start: Start) -> None:
    proxy = {
        "trusted_proxies": ["127.0.0.1"],
        "tenant_header": "X-Tenant",
        "user_header": "X-User",
        "allowed_hosts": ["node.example"],
    }
    async with start(server=proxy, **NONE) as node:
        ann = As(
            node, headers={"X-Tenant": "acme", "X-User": "ann@acme.example", "X-Forwarded-For": "192.0.2.7"}
        )
        bob = As(node, headers={"X-Tenant": "acme", "X-User": "bob"})
        eve = As(node, headers={"X-Tenant": "beta", "X-User": "bob"})
        kept = await ann.store(QUESTION, CANARY)
        assert (kept.json["scope"], kept.json["by"]) == ("private:acme", "acme/ann@acme.example")
        assert CANARY in (await bob.search(QUESTION)).text
        assert CANARY not in (await eve.search(QUESTION)).text
        # A session is a user's own, whatever name it has.
        await ann.chat("2+2?", session_id="talk")
        assert "“2+2?”" in (await ann.chat("what did I ask before?", session_id="talk")).text
        assert "2+2" not in (await bob.chat("what did I ask before?", session_id="talk")).text
        assert (await As(node).chat("2+2?")).status == 401  # what comes through a proxy is not this machine
        assert (await ann.call("GET", "/metrics")).status == 403
        for headers in (
            {"X-Tenant": "local"},
            {"X-Tenant": "a/b"},
            {"X-Tenant": "acme, beta"},
            {"X-Tenant": ""},
        ):
            assert (await As(node, headers=headers).chat("2+2?")).status == 400, headers
        page = {"Origin": "https://node.example", "X-Forwarded-Host": "node.example"}
        assert (await As(node, headers={**ann.headers, **page}).chat("2+2?")).status == 400
        page["X-Forwarded-Proto"] = "https"
        assert (await As(node, headers={**ann.headers, **page}).chat("2+2?")).status == 200
    async with start(server={**proxy, "trusted_proxies": ["192.0.2.1"]}, **NONE) as node:
        spoofing = As(node, headers={"X-Tenant": "acme", "X-User": "bob"})
        assert CANARY not in (await spoofing.search(QUESTION)).text
        forwarded = As(node, headers={"X-Forwarded-Host": "node.example", "Host": "evil.example"})
        assert (await forwarded.call("GET", "/livez")).json["field"] == "Host"


async def test_keys_and_their_use_survive_a_restart(start: Start) -> None:
    async with start(**NONE) as node:
        key = await key_of(node, "acme", requests_per_day=3)
        assert (await As(node, key).store(QUESTION, CANARY)).status == 201
    async with start(**NONE) as node:
        again = As(node, key)
        assert (await again.search(QUESTION)).json["answer"] == CANARY
        assert (await again.chat(QUESTION)).status == 200
        assert (await again.chat(QUESTION)).status == 429


async def test_a_backup_brings_no_revoked_key_back(start: Start, tmp_path: Path) -> None:
    async with start(**NONE) as node:
        made = await desk_of(node, "apikeys_create", tenant="acme")
        assert (await As(node, made["key"]).store(QUESTION, CANARY)).status == 201
        told = await desk_of(node, "backup", folder=str(tmp_path / "backup"))
        while told.get("state") == "running":
            told = await desk_of(node, "backup", id=told["id"])
    files = [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    assert len(files) > 5
    digest = hashlib.sha256(made["key"].encode()).hexdigest().encode()
    assert digest in (tmp_path / "node" / "data" / "api_keys.json").read_bytes()
    assert [path for path in files if digest in path.read_bytes() or "api_keys" in path.name] == []


async def test_tls_by_files(start: Start, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"server\.tls_certificate"):
        async with start(
            server={"tls_certificate": str(tmp_path / "no"), "tls_key": str(tmp_path / "no")}, **NONE
        ):
            pass
    certificate, key = own_certificate(tmp_path)
    async with start(server={"tls_certificate": certificate, "tls_key": key}, **NONE) as node:
        assert node.url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=certificate)
        for _ in range(3):  # by the fast way too
            async with node.http.post(f"{node.url}/chat", json={"query": "2+2?"}, ssl=trusted) as response:
                assert (response.status, (await response.json())["answer"]) == (200, "2 + 2 = 4.")
        own = {"Origin": node.url}
        async with node.http.post(
            f"{node.url}/chat", json={"query": "2+2?"}, headers=own, ssl=trusted
        ) as response:
            assert response.status == 200


def own_certificate(folder: Path) -> tuple[str, str]:
    """A certificate of 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return str(files[0]), str(files[1])


async def test_a_budget_of_models_holds_in_front_of_an_upstream_too(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer="The tower is 300 metres high.") as server:
        async with front(tmp_path, server, embed="none") as node:
            poor = As(node, await key_of(node, "acme", model_calls_per_day=1))
            rich = As(node, await key_of(node, "beta"))
            first = await poor.call("POST", CHAT, asking("How high is the iron tower?"))
            assert first.json["neuroswarm"]["hit"] is None
            again = await poor.call("POST", CHAT, asking("How high is the iron tower?"))
            assert again.json["neuroswarm"]["hit"]["kind"] == "exact"
            for more in ({}, {"stream": True}, {"n": 2}):
                spent = await poor.call("POST", CHAT, asking("How high is the stone tower?", **more))
                assert (spent.status, spent.json["error"]["code"]) == (429, "insufficient_quota")
                assert int(spent.headers["Retry-After"]) > 0
            assert chats(server) == 1
            theirs = await rich.call("POST", CHAT, asking("How high is the iron tower?"))
            assert theirs.json["neuroswarm"]["hit"] is None, "what one tenant asked is not another's"
            assert chats(server) == 2


async def test_an_upstream_that_says_nothing_costs_no_budget(tmp_path: Path) -> None:
    async with OpenAiStandIn() as server:
        gone = server.url
    stand_in = OpenAiStandIn()
    stand_in.url = gone
    async with front(tmp_path, stand_in, embed="none") as node:
        poor = As(node, await key_of(node, "acme", model_calls_per_day=1))
        for _ in range(2):
            reply = await poor.call("POST", CHAT, asking("How high is the iron tower?"))
            assert reply.json["error"]["code"] == "upstream_unreachable"


async def used_by(node: Client) -> list[int]:
    """The model calls of each key today, the oldest first."""
    return [one["model_calls_today"] for one in (await desk_of(node, "apikeys_list"))["keys"]]


async def test_who_leaves_before_the_end_has_used_up_what_was_asked_for(tmp_path: Path) -> None:
    """Else a client could read a whole stream but for its last event, and pay for none."""
    async with OpenAiStandIn(answer="The tower is 300 metres high.", stall_after=3) as server:
        async with front(tmp_path, server, embed="none") as node:
            for path, body in (
                ("/chat", {"query": "Explain what a weir is", "stream": True}),
                (CHAT, asking("Explain what a sluice is", "neuroswarm", stream=True)),
                (CHAT, asking("How high is the iron tower?", stream=True)),
            ):
                one = As(node, await key_of(node, "acme", model_calls_per_day=1))
                server.stalled.clear()
                leaves = asyncio.create_task(one.call("POST", path, body))
                await server.stalled.wait()
                leaves.cancel()
                await asyncio.wait((leaves,))
            server.stall_after, server.hang = None, True
            one = As(node, await key_of(node, "acme", model_calls_per_day=1))
            server.arrived.clear()
            leaves = asyncio.create_task(one.call("POST", CHAT, asking("How high is the stone tower?")))
            await server.arrived.wait()
            leaves.cancel()
            await asyncio.wait((leaves,))
            assert await eventually(lambda: used_by(node), lambda used: used == [1] * 4)
            assert (await one.call("POST", CHAT, asking("How high is the mast?"))).status == 429


SCHEMA = {"type": "object", "required": ["never"], "properties": {"never": {"const": "said"}}}


async def test_every_way_to_a_model_is_counted(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer="A weir is a low dam.") as server, front(tmp_path, server) as node:
        wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
        talk = [
            {"role": "user", "content": "Explain what a weir is"},
            {"role": "assistant", "content": "A weir is a low dam."},
            {"role": "user", "content": "Say that once more, and in the tone of a sailor"},
        ]
        for body, status in (
            (asking("Explain what a weir is", "neuroswarm", response_format=wanted), 502),
            ({"model": "neuroswarm", "messages": talk}, 200),
        ):
            one = As(node, await key_of(node, "acme", model_calls_per_day=1))
            first = await one.call("POST", CHAT, body)
            assert first.status == status, first.text
            asked = chats(server)
            spent = await one.call("POST", CHAT, {**body, "seed": 7})
            assert (spent.status, spent.json["error"]["code"]) == (429, "insufficient_quota")
            assert chats(server) == asked
        assert await used_by(node) == [1, 1]


async def test_a_follow_up_that_a_model_completed_is_counted_once(start: Start) -> None:
    """Also where the cache then has the answer."""

    def says(prompt: str) -> str:
        return "Who is the chair?" if prompt.endswith("WHOLE QUESTION:") else "I don't know."

    async with OllamaStandIn(answer=says) as model, start(ollama=model.url, **NONE) as node:
        for tenant, stored in (
            ("acme", ["Who is the treasurer?", "Who is the chair?"]),
            ("beta", ["Who is the treasurer?"]),
        ):
            one = As(node, await key_of(node, tenant, model_calls_per_day=9))
            for question in stored:
                await one.store(question, "Anneke does that.")
            await one.chat("Who is the treasurer?", session_id="s")
            asked = len(model.chats)
            reply = await one.chat("and the chair?", session_id="s")
            assert len(model.chats) == asked + 3 - len(stored), reply.text
        assert await used_by(node) == [1, 1]


async def test_what_is_under_way_for_a_key_ends_with_it(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer="The tower is 300 metres high.", stall_after=3) as server:
        async with front(tmp_path, server, embed="none") as node:
            call = {"name": "ask", "arguments": {"query": "Explain what a lock is"}}
            rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            for path, body in (
                ("/chat", {"query": "Explain what a weir is", "stream": True}),
                ("/chat", {"query": "Explain what a sluice is"}),
                (CHAT, asking("Explain what a dam is", "neuroswarm", stream=True)),
                (CHAT, asking("How high is the stone tower?", stream=True)),
                (CHAT, asking("How high is the iron tower?")),
                ("/mcp", rpc),
            ):
                made = await desk_of(node, "apikeys_create", tenant="acme")
                server.stalled.clear()
                server.arrived.clear()
                server.hang = path == CHAT and "stream" not in body
                headers = {"Accept": "application/json, text/event-stream"}
                one = As(node, made["key"], headers)
                waits = asyncio.create_task(one.call("POST", path, body))
                await (server.arrived if server.hang else server.stalled).wait()
                await key_of(node, "beta")  # another key is nothing to it
                await desk_of(node, "apikeys_revoke", id=made["id"])
                reply = await waits
                assert "revoked" in reply.text, (path, body, reply.text)
                assert reply.status == (200 if body.get("stream") else 401)
                assert path != CHAT or "authentication_error" in reply.text


async def test_budgets_hold_whatever_comes_at_once(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer="A weir is a low dam.") as server, front(tmp_path, server) as node:
        poor = As(node, await key_of(node, "acme", requests_per_day=5))
        replies = await asyncio.gather(*(poor.chat("2+2?") for _ in range(25)))
        assert sorted(one.status for one in replies) == [200] * 5 + [429] * 20
        poor = As(node, await key_of(node, "acme", model_calls_per_day=3))
        bodies = [asking(f"How high is tower {n}?", stream=bool(n % 2)) for n in range(12)]
        bodies += [asking(f"Explain what tower {n} is for", "neuroswarm") for n in range(12)]
        replies = await asyncio.gather(*(poor.call("POST", CHAT, one) for one in bodies))
        assert sorted(one.status for one in replies).count(200) == 3
        assert chats(server) == 3
