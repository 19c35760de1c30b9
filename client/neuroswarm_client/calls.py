"""Each call as a value: what is sent, and how the reply is read. No I/O, so both clients share it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar
from urllib.parse import quote

from neuroswarm_client.errors import NotReached, of_problem
from neuroswarm_client.values import Answer, Decision, Event, Found, Health, Json, Judged, Kept, made

T = TypeVar("T")
REPLY_BYTES_MAX = 16 * 2**20
Scope = Literal["shared", "private", "public"]


class AskOptions(TypedDict, total=False):
    """Of a question: see ``POST /chat`` in docs/http-api.md of the node."""

    session_id: str
    verbose: bool
    max_age_s: int
    no_cache: bool
    no_store: bool
    ttl_s: int
    tags: list[str]
    time_zone: str


class EntryOptions(TypedDict, total=False):
    """Of an entry: see ``POST /v1/cache/entries``. ``context``: 64 hex digits, a SHA-256."""

    confidence: float
    ttl_s: int
    source: str
    tags: list[str]
    scope: Scope
    replace: bool
    context: str


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """``read`` makes the value of a reply whose status is 2xx or one of ``accepts``."""

    method: str
    path: str
    body: Json | None
    read: Callable[[bytes], T]
    accepts: tuple[int, ...] = ()

    def result(self, status: int, headers: Mapping[str, str], body: bytes) -> T:
        """Raises ``NeuroSwarmError``."""
        if not 200 <= status < 300 and status not in self.accepts:
            try:
                problem = document(body)
            except NotReached:
                problem = {}
            raise of_problem(status, problem, headers.get("Retry-After", ""))
        return self.read(body)


def document(body: bytes) -> dict[str, Any]:
    """Raises ``NotReached`` for what no node says."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise NotReached("what answers there is no node: it sent no JSON object")
    return found


def _value(kind: type[T]) -> Callable[[bytes], T]:
    def read(body: bytes) -> T:
        try:
            return made(kind, document(body))
        except (KeyError, TypeError) as exc:
            raise NotReached(
                f"what answers there is no node of a version that is known here: {exc!r}"
            ) from exc

    return read


def _given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def ask(query: str, options: AskOptions) -> Call[Answer]:
    return Call("POST", "/chat", {"query": query, **options}, _value(Answer))


def lookup(query: str, floor: float | None, context: str | None) -> Call[Found]:
    body = _given(query=query, floor=floor, context=context)
    return Call("POST", "/v1/cache/search", body, _value(Found))


def remember(query: str, answer: str, options: EntryOptions) -> Call[Kept]:
    return Call("POST", "/v1/cache/entries", {"query": query, "answer": answer, **options}, _value(Kept))


def feedback(
    verdict: str, cid: str | None, request_id: str | None, correction: str | None, note: str | None
) -> Call[Judged]:
    body = _given(verdict=verdict, cid=cid, request_id=request_id, correction=correction, note=note)
    return Call("POST", "/feedback", body, _value(Judged))


def invalidate(tag: str) -> Call[int]:
    return Call("POST", "/v1/cache/invalidate", {"tag": tag}, lambda body: int(document(body)["withdrawn"]))


def receipt(decision: Decision) -> Call[str]:
    path = f"/logs/decisions/proof/{decision.index}?log={quote(decision.log, safe='')}"
    return Call("GET", path, None, lambda body: body.decode("ascii", "replace"))


def health() -> Call[Health]:
    return Call("GET", "/health", None, _value(Health), accepts=(503,))


class Events:
    """Server-sent events out of bytes as they come. Raises ``NeuroSwarmError`` for the event ``error``."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self.is_done = False

    def take(self, piece: bytes) -> list[Event]:
        self._rest += piece
        if len(self._rest) > REPLY_BYTES_MAX:
            raise NotReached(f"an event is over {REPLY_BYTES_MAX} bytes")
        found = []
        while (end := self._rest.find(b"\n\n")) >= 0:
            lines = bytes(self._rest[:end])
            del self._rest[: end + 2]
            if not lines.startswith(b":"):  # a comment, sent so that there is something at once
                found.append(self._event(lines))
        return found

    def _event(self, lines: bytes) -> Event:
        fields = dict(line.partition(b": ")[::2] for line in lines.split(b"\n"))
        name, data = fields.get(b"event", b"").decode("utf-8", "replace"), fields.get(b"data", b"")
        facts = document(data)
        if name == "error":
            raise of_problem(int(facts.get("status", 500)), facts)
        self.is_done = name == "done"
        return Event(name, facts, _value(Answer)(data) if self.is_done else None)
