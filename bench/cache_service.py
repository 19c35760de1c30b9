"""The running node as a cache under test: a client over HTTP, one question at a time.

``POST /v1/cache/search`` looks up, or ``POST /chat`` asks as people do, route and floor included;
``POST /v1/cache/entries`` stores the true answer, which is the name of the class. Nothing else of the node is
used: no language model, no source outside.

Must not know: streams' sources, what counts as right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from bench.cache_replay import Reply, Scored
from bench.gatelab.families import Question
from node.core.clock import SystemClock

REQUEST_TIMEOUT_S = 30.0


class Client:
    """A few routes of a node."""

    def __init__(self, http: aiohttp.ClientSession, url: str, *, asks: bool = False) -> None:
        self._http = http
        self._url = url
        self._asks = asks

    async def search(self, text: str) -> dict[str, Any]:
        """The reply to a look-up. Raises ``RuntimeError`` for any other status than 200."""
        if not self._asks:
            return await self._post("/v1/cache/search", {"query": text}, 200)
        reply = await self._post("/chat", {"query": text}, 200)
        return reply | {"candidates": [], "reason": reply["hit"]["reason"] if reply["hit"] else "no hit"}

    async def store(self, text: str, answer: str) -> str | None:
        """Store an answer; its CID, or None where the node refuses the text."""
        try:
            reply = await self._post("/v1/cache/entries", {"query": text, "answer": answer}, 201)
        except Refused:
            return None
        return str(reply["cid"])

    async def withdraw(self, cid: str) -> None:
        """Take an entry back."""
        async with self._http.delete(f"{self._url}/v1/cache/entries/{cid}") as response:
            await response.read()
            if response.status != 200:
                raise RuntimeError(f"DELETE of an entry: status {response.status}")

    async def _post(self, path: str, body: Mapping[str, str], wanted: int) -> dict[str, Any]:
        async with self._http.post(self._url + path, json=dict(body)) as response:
            reply: dict[str, Any] = await response.json(content_type=None)
        if response.status in (400, 409, 413, 422):
            raise Refused(f"POST {path}: status {response.status}: {reply.get('detail', '')}")
        if response.status != wanted:
            raise RuntimeError(f"POST {path}: status {response.status}: {reply}")
        return reply


class Refused(RuntimeError):
    """The node says that this text cannot be asked or stored."""


def session() -> aiohttp.ClientSession:
    """One connection, kept; the caller closes it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=1),
        timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S),
        trust_env=False,
    )


class Service:
    """The node as a ``Cache`` for one stream. ``not_stored`` counts entries that it refused; ``store_ms`` is
    what storing took."""

    def __init__(self, client: Client, questions: Sequence[Question]) -> None:
        self._client = client
        self._questions = questions
        self._clock = SystemClock()
        self._classes = {
            cls: place for place, cls in enumerate(dict.fromkeys(question.cls for question in questions))
        }
        self._by_cid: dict[str, int] = {}
        self._by_answer: dict[str, int] = {}
        self.not_stored = 0
        self.store_ms: list[float] = []

    def answer(self, number: int) -> str:
        """The true answer: what its class is called."""
        return f"answer of class {self._classes[self._questions[number].cls]}"

    async def look_up(self, number: int) -> Reply:
        """Timed from the request's first byte to the reply's last."""
        started = self._clock.monotonic()
        try:
            reply = await self._client.search(self._questions[number].text)
        except Refused as exc:
            return Reply(None, reason=str(exc))
        ms = (self._clock.monotonic() - started) * 1_000
        hit = reply["hit"]
        return Reply(
            None if hit is None else self._served(str(reply["cid"]), str(reply["answer"])),
            "semantic" if hit is None else str(hit["kind"]),
            ms,
            tuple(self._scored(reply["candidates"])),
            str(reply["reason"]),
        )

    def _served(self, cid: str, answer: str) -> int:
        """The question whose answer came back: by its CID, else by the answer's words."""
        found = self._by_cid.get(cid, self._by_answer.get(answer))
        if found is None:
            raise RuntimeError("the node served an answer that was never stored")
        if self.answer(found) != answer:
            raise RuntimeError("the node served an answer under the CID of another")
        return found

    def _scored(self, candidates: Sequence[Mapping[str, Any]]) -> list[Scored]:
        return [
            Scored(self._by_cid[one["cid"]], one["similarity"], one["u"], float(one["score"]))
            for one in candidates
            if one["cid"] in self._by_cid
        ]

    async def store(self, number: int) -> None:
        """Store the true answer."""
        started = self._clock.monotonic()
        cid = await self._client.store(self._questions[number].text, self.answer(number))
        self.store_ms.append((self._clock.monotonic() - started) * 1_000)
        if cid is None:
            self.not_stored += 1
            return
        self._by_cid[cid] = number
        self._by_answer.setdefault(self.answer(number), number)
