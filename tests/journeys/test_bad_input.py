"""Bad input gets a clear error that names field and limit: never a 500, never a hang."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.conftest import Start

BAD: list[tuple[str, Any, str]] = [
    ("/chat", {}, "query"),
    ("/chat", {"query": ""}, "query"),
    ("/chat", {"query": " \n\t "}, "query"),
    ("/chat", {"query": 7}, "query"),
    ("/chat", {"query": None}, "query"),
    ("/chat", {"query": ["a"]}, "query"),
    ("/chat", {"query": "a\x00b"}, "query"),
    ("/chat", {"query": "a\x1bb"}, "query"),
    ("/chat", {"query": "a\x7fb"}, "query"),
    ("/chat", {"query": "hi", "unknown": 1}, "unknown"),
    ("/chat", {"query": "hi", "verbose": "yes"}, "verbose"),
    ("/chat", {"query": "hi", "session_id": "a b"}, "session_id"),
    ("/chat", {"query": "hi", "session_id": "x" * 129}, "session_id"),
    ("/chat", {"query": "hi", "ttl_s": 0}, "ttl_s"),
    ("/chat", {"query": "hi", "ttl_s": 1.5}, "ttl_s"),
    ("/chat", {"query": "hi", "max_age_s": -1}, "max_age_s"),
    ("/chat", {"query": "hi", "tags": "a"}, "tags"),
    ("/chat", {"query": "hi", "tags": ["x"] * 17}, "tags"),
    ("/chat", [], "body"),
    ("/chat", "hi", "body"),
    ("/route", {"query": ""}, "query"),
    ("/v1/cache/entries", {"query": "q"}, "answer"),
    ("/v1/cache/entries", {"query": "q", "answer": "a", "confidence": 0.96}, "confidence"),
    ("/v1/cache/entries", {"query": "q", "answer": "a", "confidence": True}, "confidence"),
    ("/v1/cache/entries", {"query": "q", "answer": "a", "scope": "everyone"}, "scope"),
    ("/v1/cache/entries", {"query": "q", "answer": "a", "issuer": "me"}, "issuer"),
    ("/v1/cache/search", {"query": "q", "floor": 2}, "floor"),
    ("/feedback", {"verdict": "valid"}, "cid"),
    ("/feedback", {"cid": "x", "verdict": "good"}, "verdict"),
    ("/feedback", {"cid": "not a cid", "verdict": "valid"}, "cid"),
    ("/feedback", {"cid": "bafy", "request_id": "a", "verdict": "valid"}, "cid"),
]


async def test_each_bad_body_names_its_field(start: Start) -> None:
    async with start() as node:
        for path, body, field in BAD:
            async with node.http.post(node.url + path, json=body) as response:
                problem = await response.json(content_type="application/problem+json")
                assert 400 <= response.status < 500, (path, body, problem)
                assert problem.get("field") == field, (path, body, problem)
                assert problem["detail"]
                assert problem["request_id"] == response.headers["X-Request-Id"]


BROKEN = [(b"{", 400), (b"", 400), (b'{"query": "\xff"}', 400), (b'{"query": "' + b"x" * 70_000 + b'"}', 413)]
"""More of them stand in ``tests/faults/test_http_attacks.py``."""


@pytest.mark.parametrize(("body", "status"), BROKEN)
async def test_broken_bodies(start: Start, body: bytes, status: int) -> None:
    async with start() as node:
        headers = {"Content-Type": "application/json"}
        async with node.http.post(node.url + "/chat", data=body, headers=headers) as response:
            problem = await response.json(content_type="application/problem+json")
            assert (response.status, problem["status"]) == (status, status)
            assert status != 413 or problem["limit"] == "65536 bytes"


async def test_other_doors_are_closed(start: Start) -> None:
    async with start() as node:
        status, _, headers = await node.raw("/chat")
        assert (status, headers["Allow"]) == (405, "POST")
        status, _, headers = await node.raw("/nowhere")
        assert (status, headers["Content-Type"]) == (404, "application/problem+json")
        packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        status, problem, _ = await node.send("POST", "/chat", data=b"{", headers=packed)
        assert (status, problem["field"]) == (400, "Content-Encoding")
