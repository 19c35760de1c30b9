"""The Python client against made-up replies: what is sent, what is read, and what each failure becomes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from neuroswarm_client import (
    AsyncClient,
    BadInput,
    Client,
    Conflict,
    Decision,
    NeuroSwarmError,
    NotAllowed,
    NotFound,
    NotReached,
    Rejected,
    Unavailable,
)

ROOT = Path(__file__).resolve().parents[3]
REPLY = {
    "request_id": "r1",
    "answer": "four",
    "route": "deterministic",
    "source": {"kind": "cache", "id": "k1", "client": {"by": "k1", "claim": "a book"}},
    "citations": [{"source": "s", "locator": "p. 2", "snippet": "…", "url": None, "time": None}],
    "confidence": 0.9,
    "cid": "bafy",
    "stored": True,
    "hit": {"kind": "slot", "similarity": None, "score": 0.9, "age_s": 3, "reason": "same", "new": 1},
    "stale": False,
    "decision": {"log": "o", "index": 7},
    "what_a_later_version_says": 1,
}
Handle = Callable[[httpx.Request], httpx.Response]


def client(handle: Handle, **more: Any) -> Client:
    return Client("http://node.example", transport=httpx.MockTransport(handle), **more)


def events(*told: tuple[str, object]) -> bytes:
    return b"".join(f"event: {name}\ndata: {json.dumps(facts)}\n\n".encode() for name, facts in told)


def test_an_answer_is_a_value_and_keeps_what_is_new() -> None:
    sent: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json=REPLY)

    with client(handle, key="secret") as node:
        answer = node.ask("What is 2+2?", no_store=True, tags=["a"])
    assert (answer.answer, answer.source.kind, answer.hit and answer.hit.age_s) == ("four", "cache", 3)
    assert answer.source.client == {"by": "k1", "claim": "a book"}
    assert answer.citations[0].locator == "p. 2"
    assert answer.decision == Decision("o", 7)
    assert answer.raw["what_a_later_version_says"] == 1
    assert json.loads(sent[0].content) == {"query": "What is 2+2?", "no_store": True, "tags": ["a"]}
    assert sent[0].headers["Authorization"] == "Bearer secret"


def test_the_key_comes_from_the_environment_and_no_proxy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("Authorization"))
        return httpx.Response(200, json=REPLY)

    monkeypatch.setenv("NEUROSWARM_API_KEY", "of the environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for given in ({}, {"key": "given"}, {"key": ""}):
        client(handle, **given).ask("a")
    assert seen == ["Bearer of the environment", "Bearer given", None]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadInput),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (413, BadInput),
        (422, Rejected),
        (429, Unavailable),
        (500, NeuroSwarmError),
        (503, Unavailable),
    ],
)
def test_a_problem_is_an_exception_with_field_and_limit(status: int, kind: type[NeuroSwarmError]) -> None:
    problem = {"detail": "said", "field": "query", "limit": "9", "request_id": "r", "standing": {"cid": "b"}}
    failed = httpx.Response(status, json=problem, headers={"Retry-After": "7"})
    for call in (lambda node: node.remember("a", "b"), lambda node: list(node.stream("a"))):
        with pytest.raises(NeuroSwarmError, match=r"^said$") as caught, client(lambda _: failed) as node:
            call(node)
        error = caught.value
        assert type(error) is kind
        assert (error.status, error.field, error.limit, error.request_id) == (status, "query", "9", "r")
        assert not isinstance(error, Unavailable) or error.retry_after_s == 7
        assert not isinstance(error, Conflict) or error.standing == {"cid": "b"}


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"{}", b'{"answer": 1}', b"[" * 100_000, b"\xff", b'{"source": 3}']
)
def test_what_is_no_node_is_not_reached(body: bytes) -> None:
    with client(lambda _: httpx.Response(200, content=body)) as node:
        for call in (node.ask, node.lookup, lambda text: list(node.stream(text))):
            with pytest.raises(NotReached):
                call("a")
    with client(lambda _: httpx.Response(502, content=body)) as node, pytest.raises(NeuroSwarmError):
        node.ask("a")


def test_nobody_there_and_too_late_are_said() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    def hang(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("late")

    for handle, said in ((refuse, "no node answers at http://node.example"), (hang, "in time")):
        with client(handle) as node, pytest.raises(NotReached, match=said):
            node.health()


def test_a_reply_without_end_is_cut() -> None:
    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            while True:
                yield b"x" * 2**20

    with client(lambda _: httpx.Response(200, stream=Endless())) as node:
        for call in (node.ask, lambda text: list(node.stream(text))):
            with pytest.raises(NotReached, match="over 16777216 bytes"):
                call("a")


def test_a_stream_comes_in_pieces_of_any_size() -> None:
    told = [("route", {"route": "generative"}), ("delta", {"text": "fö"}), ("delta", {"text": "ur"})]
    data = events(*told, ("done", REPLY))
    for size in (1, 7, len(data)):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        with client(lambda _, pieces=pieces: httpx.Response(200, content=iter(pieces))) as node:
            got = list(node.stream("a"))
        assert [event.name for event in got] == ["route", "delta", "delta", "done"]
        assert "".join(event.text for event in got) == "föur"
        assert got[-1].answer is not None
        assert got[-1].answer.answer == "four"


def test_a_stream_that_breaks_off_or_fails_is_no_answer() -> None:
    for data, kind in (
        (events(("delta", {"text": "half"})), NotReached),
        (events(("delta", {"text": "half"}), ("error", {"status": 503, "detail": "busy"})), Unavailable),
    ):
        got = []
        with client(lambda _, data=data: httpx.Response(200, content=data)) as node, pytest.raises(kind):
            got.extend(event.name for event in node.stream("a"))


async def test_the_asynchronous_client_says_the_same() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 5):
            yield data[at : at + 5]

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health":
            return httpx.Response(503, json={"status": "fail", "checks": {}, "releaseId": "1"})
        if b'"stream"' in request.content:
            return httpx.Response(200, content=slowly())
        return httpx.Response(404, json={"detail": "no such entry"})

    data = events(("delta", {"text": "x"}), ("done", REPLY))
    async with AsyncClient("http://node.example", transport=httpx.MockTransport(handle)) as node:
        assert [event.name async for event in node.stream("a")] == ["delta", "done"]
        assert (await node.health()).status == "fail"
        with pytest.raises(NotFound):
            await node.feedback("valid", cid="b")


@pytest.mark.slow
def test_the_wheel_is_built_and_holds_the_client_alone(tmp_path: Path) -> None:
    """As ``pip wheel ./client`` builds it, by the setuptools that is here."""
    source = shutil.copytree(ROOT / "client", tmp_path / "client")
    words = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", str(tmp_path), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=200)
    [wheel] = tmp_path.glob("neuroswarm_client-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as held:
        names = {name for name in held.namelist() if ".dist-info/" not in name}
        [metadata] = [held.read(name).decode() for name in held.namelist() if name.endswith("/METADATA")]
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    files = (ROOT / "client" / "neuroswarm_client").iterdir()
    assert names == {f"neuroswarm_client/{path.name}" for path in files if path.name != "__pycache__"}
    assert [line for line in needed if "extra ==" not in line] == ["Requires-Dist: httpx>=0.27"]
