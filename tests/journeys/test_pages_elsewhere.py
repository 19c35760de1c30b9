"""What a page of somebody else can send, as its browser would send it, to each route of a node on loopback:
it neither reads nor changes anything. A real browser does the same in ``test_browser``."""

from __future__ import annotations

from typing import Any

import pytest

from node.api.browser import PUBLIC
from node.api.server import ROUTES
from tests.journeys.conftest import Start
from tests.keys_kit import As, Reply, key_of

QUESTION, CANARY = "Where does the key of the mill lie?", "Zxqv-7 lies under the mat."
EVIL = "http://evil.example"
APP = "https://app.example"
FETCHED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
PAGES: dict[str, dict[str, str]] = {
    "fetch": {"Origin": EVIL, **FETCHED},
    "fetch, an older browser": {"Origin": EVIL},
    "fetch from a sandboxed frame": {"Origin": "null", **FETCHED},
    "fetch from another port of this machine": {
        "Origin": "http://127.0.0.1:3000",
        "Sec-Fetch-Site": "same-site",
        "Sec-Fetch-Mode": "cors",
    },
    "image": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "script": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    "frame": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    "form": {
        "Origin": EVIL,
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    },
    "rebound name": {"Host": "evil.example:8642", "Sec-Fetch-Site": "same-origin"},
    "rebound name, its own origin": {"Host": "evil.example", "Origin": EVIL, "Sec-Fetch-Site": "same-origin"},
    "rebound name that looks local": {"Host": "127.0.0.1.evil.example"},
    "forwarded name": {"Host": "evil.example", "X-Forwarded-Host": "localhost"},
    "forwarded origin": {"Origin": EVIL, "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"},
    "socket": {
        "Origin": EVIL,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    },
}
"""What a browser says of a request that a page elsewhere makes it send."""
TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")
"""What a page may send without being asked for leave first."""
HIT = {"query": QUESTION, "answer": "wrong", "verdict": "invalid"}


def is_public(method: str, path: str) -> bool:
    return method in ("GET", "OPTIONS") and path.startswith(PUBLIC)


def targets(cid: str) -> list[tuple[str, str]]:
    """Each route, by a path that leads somewhere."""
    return [
        (method, path.replace("{cid}", cid).replace("{path}", "x").replace("{", "").replace("}", ""))
        for method, path, _ in ROUTES
    ]


async def kept(node: Any) -> tuple[Any, str]:
    """What is stored, and what is answered."""
    _, stats = await node.get("/v1/cache/stats")
    return stats["entries"], (await As(node).search(QUESTION)).json["answer"]


async def test_no_route_is_for_pages_elsewhere(start: Start) -> None:
    async with start(embed="none") as node:
        cid = await node.store(QUESTION, CANARY)
        before = await kept(node)
        for method, path in targets(cid):
            for how, headers in PAGES.items():
                reply = await As(node, headers=headers).call(method, path, HIT if method == "POST" else None)
                if is_public(method, path) and "Host" not in headers and "Upgrade" not in headers:
                    assert reply.headers["Access-Control-Allow-Origin"] == "*", (how, method, path)
                else:
                    assert reply.status == 400, (how, method, path, reply.text)
                    named = reply.json.get("field") or reply.json["error"]["param"]
                    assert named in ("Host", "Origin", "Sec-Fetch-Site", "Upgrade")
                assert CANARY not in reply.text, (how, method, path)
                _is_armoured(reply)
        assert await kept(node) == before


async def test_types_that_need_no_leave_are_taken_by_no_route(start: Start) -> None:
    """An older browser without ``Origin``, or one that some program on this machine drives."""
    async with start(embed="none") as node:
        await node.store(QUESTION, CANARY)
        before = await kept(node)
        public = {"/witness/add-checkpoint", "/peers/reconcile"}  # they take bytes, and show what is public
        for method, path, _ in ROUTES:
            for kind in TYPES if method == "POST" and path not in public else ():
                body = b'{"query": "%s", "answer": "wrong"}' % QUESTION.encode()
                reply = await As(node).call("POST", path, body, Content_Type=kind)
                assert reply.status == 400, (path, kind, reply.text)
        assert await kept(node) == before


async def test_a_listed_origin_may_call_and_no_other(start: Start) -> None:
    async with start(server={"cors_origins": [APP], "allowed_hosts": ["node.example"]}, embed="none") as node:
        cid = await node.store(QUESTION, CANARY)
        asks = {
            "Origin": APP,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type, x-stainless-lang",
            "Access-Control-Request-Private-Network": "true",
        }
        for method, path in targets(cid):
            leave = await As(node, headers=asks).call("OPTIONS", path)
            assert leave.status == 204, path
            if not path.startswith(PUBLIC):
                assert leave.headers["Access-Control-Allow-Origin"] == APP
                assert leave.headers["Access-Control-Allow-Headers"] == asks["Access-Control-Request-Headers"]
                assert "Access-Control-Allow-Credentials" not in leave.headers
                none = await As(node, headers={**asks, "Origin": EVIL}).call("OPTIONS", path)
                assert none.status == 400, (method, path)
                assert "Access-Control-Allow-Origin" not in none.headers
        key = await key_of(node, "acme")
        page = As(node, key, {"Origin": APP, **FETCHED, "Host": "node.example"})
        assert (await page.store(QUESTION, CANARY)).status == 201
        for _ in range(3):  # by the fast way too
            reply = await page.chat(QUESTION)
            assert (reply.status, reply.json["answer"]) == (200, CANARY)
            assert reply.headers["Access-Control-Allow-Origin"] == APP
            assert reply.headers["Vary"] == "Origin"
            assert "RateLimit" in reply.headers["Access-Control-Expose-Headers"]
        other = await As(node, key, {"Origin": "https://app.example.evil.example", **FETCHED}).chat(QUESTION)
        assert other.status == 400
        assert (await As(node, key, {"Host": "other.example"}).chat(QUESTION)).status == 400


async def test_the_own_page_works_and_links_ask_nothing(start: Start) -> None:
    async with start(embed="none") as node:
        own = {"Origin": node.url, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
        form = await As(node, headers=own).call("POST", "/", "q=2%2B2", Content_Type=TYPES[1])
        assert form.status == 200
        assert "2 + 2 = 4" in form.text
        assert "style-src" in form.headers["Content-Security-Policy"]
        _is_armoured(form)
        typed = await As(node, headers={"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}).call(
            "GET", "/"
        )
        assert typed.status == 200


@pytest.mark.parametrize(
    "line", ["OPTIONS /chat", "POST /nowhere", "DELETE /chat", "GET /v1/cache/entries/x"]
)
async def test_errors_are_armoured_too(start: Start, line: str) -> None:
    async with start(embed="none") as node:
        method, path = line.split(" ")
        reply = await As(node).call(method, path)
        assert reply.status >= 400
        _is_armoured(reply)


def _is_armoured(reply: Reply) -> None:
    headers = reply.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] in ("no-referrer", "same-origin")
    assert headers["Cross-Origin-Resource-Policy"] in ("same-origin", "cross-origin")
    assert headers.getall("Access-Control-Allow-Origin", []) in ([], ["*"])
