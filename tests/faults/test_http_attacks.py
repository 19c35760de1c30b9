"""Attacks on the HTTP door: whatever arrives, a clear reply in time; never a 500, never a hang."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import re
import resource
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.api.openai.faults import speaks_so
from node.api.server import ROUTES
from node.core.normalise import normalise
from tests.faults.node_kit import PATIENCE_S, Client, start
from tests.simulators.ollama import OllamaStandIn

QUESTION = b'{"query": "What is 2+2?"}'
ANSWER = b"2 + 2 = 4"
UNKNOWN_CID = "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"


@pytest_asyncio.fixture
async def node(tmp_path: Path) -> AsyncIterator[Client]:
    async with start(tmp_path) as client:
        yield client


class Kept(logging.Handler):
    """Keeps every record."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def complaints(caplog: pytest.LogCaptureFixture) -> Iterator[list[logging.LogRecord]]:
    """What the node itself complains of: an attack that is answered well leaves nothing here. (The list of
    ``caplog`` is another one in the test than here.)"""
    caplog.set_level(logging.INFO, logger="neuroswarm")
    kept = Kept()
    logging.getLogger("neuroswarm").addHandler(kept)
    yield kept.records
    logging.getLogger("neuroswarm").removeHandler(kept)


def faults(records: list[logging.LogRecord]) -> list[str]:
    return [r.getMessage() for r in records if r.name.startswith("neuroswarm") and r.levelno >= logging.ERROR]


def request(
    method: str, target: str, *headers: str, body: bytes = b"", length: object = None, host: str = "127.0.0.1"
) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    if method == "POST":
        if not any(line.lower().startswith("content-type") for line in headers):
            lines.append("Content-Type: application/json")
        if length is not False:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def chat(body: bytes = QUESTION, *headers: str, length: object = None) -> bytes:
    return request("POST", "/chat", *headers, body=body, length=length)


def status_of(reply: bytes) -> int:
    match = re.match(rb"HTTP/\d\.\d (\d\d\d) ", reply)
    assert match, reply[:200]
    return int(match[1])


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


CHUNKED = "Transfer-Encoding: chunked"
BOMB = gzip.compress(b'{"query": "' + b"x" * 5_000_000 + b'"}')
IPFS = f"/ipfs/{UNKNOWN_CID}"

BAD: dict[str, tuple[bytes, int]] = {
    # bodies that lie about their length
    "body longer than said": (chat(length=len(QUESTION) - 3), 400),
    "length below zero": (chat(length=-1), 400),
    "length that is no number": (chat(length="many"), 400),
    "length over any limit": (chat(length=10**30), 400),
    "two lengths": (chat(QUESTION, "Content-Length: 3"), 400),
    "length and chunks": (chat(chunked(QUESTION), CHUNKED), 400),
    "chunk without its size": (chat(b"zz\r\nabc\r\n0\r\n\r\n", CHUNKED, length=False), 400),
    "chunk shorter than its text": (chat(b"5\r\n" + QUESTION + b"\r\n0\r\n\r\n", CHUNKED, length=False), 400),
    "chunk size over any limit": (chat(b"f" * 18 + b"\r\n", CHUNKED, length=False), 400),
    "too many small chunks": (chat(chunked(*[b"x" * 16] * 5_000), CHUNKED, length=False), 413),
    # encodings
    "gzip": (chat(gzip.compress(QUESTION), "Content-Encoding: gzip"), 400),
    "gzip bomb": (chat(BOMB, "Content-Encoding: gzip"), 400),
    "gzip that is none": (chat(b"\x1f\x8bxxxxxxxxxxxxxxx", "Content-Encoding: gzip"), 400),
    "gzip cut short": (chat(gzip.compress(QUESTION)[:-9], "Content-Encoding: gzip"), 400),
    "deflate that is none": (chat(b"zzzzzz", "Content-Encoding: deflate"), 400),
    "br": (chat(b"zzzzzz", "Content-Encoding: br"), 400),
    "byte order mark": (chat(b"\xef\xbb\xbf" + QUESTION), 400),
    "utf-16": (chat(QUESTION.decode().encode("utf-16")), 400),
    "not utf-8": (chat(b'{"query": "\xff\xfe"}'), 400),
    "lone surrogate": (chat(b'{"query": "\\ud800"}'), 400),
    # JSON
    "deep objects": (chat(b'{"query":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}"), 400),
    "deep lists": (chat(b'{"query": "a", "tags":' + b"[" * 30_000), 400),
    "a number without end": (chat(b'{"query": "a", "ttl_s": ' + b"9" * 60_000 + b"}"), 400),
    "past 64 bits": (chat(b'{"query": "a", "ttl_s": 18446744073709551616}'), 400),
    "past the range": (chat(b'{"query": "a", "ttl_s": 1e999}'), 400),
    "NaN": (chat(b'{"query": "a", "ttl_s": NaN}'), 400),
    "control character escaped": (chat(b'{"query": "a\\u0000b"}'), 400),
    "unknown field with marks": (chat(b'{"query": "a", "\\u202e\\u0000\\n": 1}'), 400),
    "form": (chat(b"query=hi", "Content-Type: application/x-www-form-urlencoded"), 400),
    "multipart": (chat(b"--x", "Content-Type: multipart/form-data; boundary=x"), 400),
    "content type of nothing": (chat(QUESTION, "Content-Type: ;;;"), 400),
    "expects the impossible": (chat(QUESTION, "Expect: 200-ok"), 417),
    # methods
    "no such method": (request("FOO", "/chat"), 400),
    "method without end": (request("A" * 20_000, "/"), 400),
    "TRACE": (request("TRACE", "/chat"), 405),
    "OPTIONS": (request("OPTIONS", "/chat"), 405),
    "OPTIONS *": (request("OPTIONS", "*"), 404),
    "CONNECT": (request("CONNECT", "elsewhere.example:80"), 400),
    "a WebSocket": (chat(QUESTION, "Connection: Upgrade", "Upgrade: websocket"), 400),
    "HEAD of a post": (request("HEAD", "/chat"), 405),
    "PUT": (request("PUT", IPFS), 405),
    "POST nowhere": (request("POST", "/nowhere", body=b"x" * 1_000), 404),
    # hosts
    "another host": (request("GET", "/livez", host="elsewhere.example"), 400),
    "absolute target": (request("GET", "http://elsewhere.example/livez"), 400),
    "host in disguise": (request("GET", "/livez", host="127.0.0.1@elsewhere.example"), 400),
    "open bracket": (request("GET", "/livez", host="[::1"), 400),
    "address behind brackets": (request("GET", "/livez", host="[::1]elsewhere.example"), 400),
    "another IPv6 host": (request("GET", "/livez", host="[2001:db8::1]"), 400),
    "two hosts": (request("GET", "/livez", "Host: elsewhere.example"), 400),
    "no host": (b"GET /livez HTTP/1.1\r\n\r\n", 400),
    "another origin": (chat(QUESTION, "Origin: null"), 400),
    # size of the head
    "long path": (request("GET", "/" + "a" * 100_000), 400),
    "long cid": (request("GET", "/ipfs/" + "a" * 7_000 + "?format=raw"), 400),
    "long header": (request("GET", "/livez", "X-A: " + "a" * 100_000), 400),
    "many headers": (request("GET", "/livez", *["X-A: b"] * 5_000), 400),
    # paths
    "control character in a path": (request("GET", "/ipfs/%00?format=raw"), 400),
    "line break in a path": (request("GET", "/ipfs/%0d%0aERROR%20fake?format=raw"), 400),
    "path that is not utf-8": (request("GET", "/ipfs/%ff%fe?format=raw"), 400),
    "surrogate in a path": (request("GET", "/ipfs/%ed%a0%80?format=raw"), 400),
    "bad escape": (request("GET", "/ipfs/%zz?format=raw"), 400),
    "raw bytes in a path": (request("GET", "/ipfs/\xff\xfe"), 400),
    "dots": (request("GET", "/ipfs/../../etc/passwd"), 400),
    "escaped dots": (request("GET", "/ipfs/%2e%2e/%2e%2e/etc/passwd"), 400),
    "escaped slash": (request("GET", "/ipfs/..%2f..%2fetc%2fpasswd?format=raw"), 400),
    "path below a block": (request("GET", IPFS + "/etc/passwd?format=raw"), 400),
    "path below no block": (request("GET", IPFS + "/etc/passwd?format=car"), 404),
    "no such block": (request("GET", IPFS + "?format=raw"), 404),
    "no format": (request("GET", IPFS), 400),
    "another format": (request("GET", IPFS + "?format=tar"), 406),
    "another format, first": (request("GET", IPFS + "?format=tar&format=raw"), 406),
    "format that is not utf-8": (request("GET", IPFS + "?format=%ff"), 406),
    "any tag of nothing": (request("GET", IPFS + "?format=raw", "If-None-Match: *"), 404),
    "range of nothing": (request("GET", IPFS + "?format=raw", "Range: bytes=0-1"), 404),
    "entry that is a folder": (request("GET", "/v1/cache/entries/.."), 400),
    "delete nothing": (request("DELETE", f"/v1/cache/entries/{UNKNOWN_CID}"), 404),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64, 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "noise": (bytes(range(256)) * 8 + b"\r\n\r\n", 400),
}

GOOD: dict[str, bytes] = {
    "plain": chat(),
    "chunks": chat(chunked(QUESTION[:5], QUESTION[5:]), CHUNKED, length=False),
    "a byte a chunk": chat(
        chunked(*(QUESTION[i : i + 1] for i in range(len(QUESTION)))), CHUNKED, length=False
    ),
    "expects to be told": chat(QUESTION, "Expect: 100-continue"),
    "upgrade offered": chat(QUESTION, "Upgrade: h2c"),
    "the last of two equal keys": chat(b'{"query": "What is 3+3?", "query": "What is 2+2?"}'),
    "charset that lies": chat(QUESTION, "Content-Type: application/json; charset=utf-16"),
    "IPv6 host": request("POST", "/chat", body=QUESTION, host="[::1]:8642"),
    "IPv6 host without a port": request("POST", "/chat", body=QUESTION, host="[::1]"),
    "host without a port": request("POST", "/chat", body=QUESTION, host="localhost"),
    "an id with a line break in it": chat(QUESTION, "X-Request-Id: abcdefgh ERROR"),
    "an id that is not ascii": chat(QUESTION, "X-Request-Id: \xff\xfe\xff\xfe\xff\xfe\xff\xfe"),
}


async def test_bad_requests_get_a_4xx_and_leave_no_trace_of_a_fault(
    node: Client, complaints: list[logging.LogRecord]
) -> None:
    for name, (data, expected) in BAD.items():
        reply = await node.wire(data)
        assert status_of(reply) == expected, (name, reply[:300])
        assert b"Traceback" not in reply
        assert b"HTTP/1.1 2" not in reply, name
    assert faults(complaints) == []
    assert ANSWER in await node.wire(chat())


async def test_a_key_in_a_head_that_cannot_be_read_is_in_no_log(
    node: Client, complaints: list[logging.LogRecord]
) -> None:
    secret = "nsk_abcdefghij_" + "s" * 43
    for line in (
        f"Authorization: Bearer {secret}{'x' * 9_000}",
        f"Authorization: Bearer {secret}\x01",
        f"Authorization: Bearer\r\n {secret}",
        f"{secret}\x00: 1",
        f"{secret}{'x' * 9_000}: 1",
    ):
        assert status_of(await node.wire(chat(QUESTION, line))) == 400
    assert status_of(await node.wire(request("GET", f"/{secret} {secret}"))) == 400
    said = [record.getMessage() for record in complaints]
    assert sum("malformed_request" in one for one in said) >= 6
    assert not [one for one in said if "nsk_" in one]


async def test_odd_requests_that_are_good_are_answered(node: Client) -> None:
    for name, data in GOOD.items():
        reply = await node.wire(data)
        assert ANSWER in reply, (name, reply[:300])
    request_id = re.search(rb"X-Request-Id: (\S+)", await node.wire(GOOD["an id with a line break in it"]))
    assert request_id is not None
    assert re.fullmatch(rb"[0-9a-f]{32}", request_id[1])


async def test_head_is_get_without_a_body(node: Client) -> None:
    for path in ("/health", "/livez", "/readyz", "/metrics", "/openapi.json"):
        reply = await node.wire(request("HEAD", path))
        assert status_of(reply) == 200
        assert reply.endswith(b"\r\n\r\n"), path


async def test_bodies_that_never_end_take_nobodys_place(tmp_path: Path) -> None:
    limits = {"request_timeout_s": 1, "concurrent_requests_max": 2, "shutdown_timeout_s": 10}
    async with start(tmp_path, server=limits) as node:
        slow = [await node.connect() for _ in range(8)]
        for _, writer in slow:
            writer.write(chat(b'{"que', length=500))
            await writer.drain()
        for _ in range(3):
            assert ANSWER in await node.wire(chat())
        for reader, writer in slow:
            writer.write(b" ")
            async with asyncio.timeout(PATIENCE_S):
                reply = await reader.read(100_000)
            assert status_of(reply) == 408, reply
            assert b'"limit":"1 s"' in reply
            writer.transport.abort()


async def test_heads_that_never_end_do_not_hold_up_the_node_or_its_stop(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        async with start(tmp_path, server={"shutdown_timeout_s": 60}) as node:
            idle = [await node.connect() for _ in range(50)]
            for _, writer in idle[:25]:
                writer.write(b"GET /livez HTTP/1.1\r\nHost: 127")
                await writer.drain()
            assert ANSWER in await node.wire(chat())
        for _, writer in idle:
            writer.close()


async def test_pipelined_requests_are_answered_in_order(node: Client) -> None:
    numbers = range(10, 30)
    stream = b"".join(
        chat(b'{"query": "%d+1"}' % number).replace(b"Connection: close\r\n", b"") for number in numbers
    )
    reply = await node.wire(stream + request("GET", "/livez"))
    answers = re.findall(rb'"answer":"(\d+) \+ 1', reply)
    assert [int(number) for number in answers] == list(numbers)


@pytest.mark.parametrize("stream", [True, False])
async def test_clients_that_leave_are_not_a_fault(
    node: Client, stream: bool, complaints: list[logging.LogRecord]
) -> None:
    body = json.dumps({"query": "What is 2+2?", "stream": stream}).encode()
    for number in range(30):
        _, writer = await node.connect()
        data = chat(body)
        writer.write(data if number % 3 else data[:-4])
        await writer.drain()
        writer.transport.abort() if number % 2 else writer.write_eof()
        writer.close()
    assert ANSWER in await node.wire(chat())
    assert ANSWER in await node.wire(chat(body))
    assert faults(complaints) == []


UNITS = (
    *("a", "1", "?", "(", "-", "^", "%", ",", "'", '"', "\\", "$", "_", "\n", "é", "İ", "²", "٣", "🐢"),
    *("\u200b", "\u202e", "\u0301", "한", "汉", "א", "ﷺ", "\u0344", "\U0001d160", "\uffff", "吗"),
    *("1+", "((", "1,", "1e9", "9**", "10% of ", "price of ", "btc and ", "not ", "5 km to ", "proposal 1 "),
    *("2024-", "today ", "days between ", "one hundred ", "square root of ", "what is ", "? what", "a. "),
    *("s' il ", "l'", "don't ", "A.B.", "a@b.", "://a:", "-----BEGIN ", "x-y-", "i live ", "0x", "12:"),
    *("and ", "what's ipfs? ", "a1", "(1+", "sqrt("),
)


def endless(unit: str, most: int) -> str:
    """One thing over and over: so many bytes in JSON."""
    text = unit * (most // (len(orjson.dumps(unit)) - 2))
    return text.strip() or "x"


async def test_one_thing_without_end_is_answered_in_time(
    node: Client, complaints: list[logging.LogRecord]
) -> None:
    """60,000 bytes of one thing: for every recogniser, rule and screen on the way. A bomb takes minutes."""
    for unit in UNITS:
        text = endless(unit, 60_000)
        status, reply = await node.post("/chat", {"query": text})
        assert status == 200 or (status == 400 and reply["field"] == "query"), (unit, reply)
    assert faults(complaints) == []


async def test_long_and_strange_entries_are_kept_as_they_are_or_refused(node: Client) -> None:
    for number, unit in enumerate(UNITS):
        text = endless(unit, 20_000)
        query = f"What is entry {number}: {text}"
        body = {"query": query, "answer": text, "source": unit.strip() or "x", "tags": ["t"]}
        status, reply = await node.post("/v1/cache/entries", body)
        assert status in (201, 400), (unit, reply)
        if status == 201:
            _, kept, _ = await node.send("GET", f"/v1/cache/entries/{reply['cid']}")
            assert kept["answer"] == text
            found = await node.search(f"{query} {unit}")
            assert found["hit"] is None or found["answer"] == text


async def test_fields_hold_no_marks_that_break_a_line_or_turn_it(
    node: Client, complaints: list[logging.LogRecord]
) -> None:
    for mark in ("\x00", "\x1b[31m", "\x7f", "\x85", "\x9b"):
        bad, entries = f"a{mark}b", "/v1/cache/entries"
        for path, body in (
            ("/chat", {"query": bad}),
            (entries, {"query": bad, "answer": "x"}),
            (entries, {"query": "a", "answer": bad}),
            (entries, {"query": "a", "answer": "x", "source": bad}),
            (entries, {"query": "a", "answer": "x", "tags": [bad]}),
            ("/feedback", {"request_id": bad, "verdict": "valid"}),
            ("/feedback", {"cid": bad, "verdict": "valid"}),
            ("/feedback", {"cid": UNKNOWN_CID, "verdict": "valid", "note": bad}),
        ):
            status, problem = await node.post(path, body)
            assert status == 400, (path, body, problem)
            assert problem["field"] in body
    for session in ("a\nb", "a\u2028b", "a\u202eb", "é", "a" * 129):
        assert (await node.post("/chat", {"query": "hi", "session_id": session}))[0] == 400
    forged = "forged\nlevel=ERROR logger=neuroswarm forged"
    await node.post("/chat", {"query": forged})
    await node.post("/v1/cache/entries", {"query": forged, "answer": forged, "source": forged})
    await node.wire(request("GET", "/ipfs/forged%0alevel=ERROR?format=raw"))
    for record in complaints:
        if record.name.startswith("neuroswarm"):
            assert "\n" not in record.getMessage()
            assert "forged" not in record.getMessage()


async def test_a_question_of_nothing_is_not_stored(node: Client) -> None:
    for query in ("?", "？", " ?? ? ", "؟"):
        status, problem = await node.post("/v1/cache/entries", {"query": query, "answer": "x"})
        assert (status, problem["field"]) == (400, "query")
        assert (await node.search(query))["hit"] is None


async def test_an_entry_that_no_record_can_hold_is_refused_for_good(tmp_path: Path) -> None:
    """Not a 503: trying again would not help."""
    async with start(tmp_path, server={"max_body_bytes": 2**20}) as node:
        status, problem = await node.post("/v1/cache/entries", {"query": "Long?", "answer": "a" * 100_000})
        assert status == 422, problem
        assert "65536" in problem["detail"]
        status, _ = await node.post("/chat", {"query": "a " * 100_000})
        assert status == 200


TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Z")), min_size=1, max_size=40)
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that the schema allows."""
    kind = schema["type"]
    if isinstance(kind, list):
        kind, null = kind
        assert null == "null"
        given = {**schema, "type": kind}
        return st.none() | values(given)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].replace("$", r"\Z"), fullmatch=False)
    if kind == "string":
        return TEXT.filter(str.strip)
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    if kind == "number":
        return st.floats(schema["minimum"], schema["maximum"])
    tag = st.text("abcdefgh -", min_size=1, max_size=schema["items"]["maxLength"])
    return st.lists(tag, max_size=schema["maxItems"])


@st.composite
def bodies(draw: st.DrawFn, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """A body, and whether the schema allows it."""
    properties = schema["properties"]
    chosen = [name for name in properties if name in schema["required"] or draw(st.booleans())]
    for name, more in schema.get("dependentSchemas", {}).items():
        if name in chosen:
            properties = {
                **properties,
                **{key: properties[key] | to for key, to in more["properties"].items()},
            }
            chosen += [other for other in more["required"] if other not in chosen]
    body = {name: draw(values(properties[name])) for name in chosen}
    ways = ["no", "no", "add", *(["drop"] if schema["required"] else []), *(["swap"] if chosen else [])]
    spoil = draw(st.sampled_from(ways))
    if spoil == "drop":
        body.pop(schema["required"][0])
    elif spoil == "add":
        body[draw(st.text(min_size=1, max_size=8).map(lambda name: f"x{name}"))] = draw(JUNK)
    elif spoil == "swap":
        name = draw(st.sampled_from(chosen))
        wrong = {"string": st.integers() | st.booleans() | st.lists(st.text(), max_size=2)}
        kinds = properties[name]["type"]
        kind = kinds if isinstance(kinds, str) else kinds[0]
        body[name] = draw(wrong.get(kind, st.dictionaries(st.text(), JUNK, max_size=2)))
    return body, spoil == "no"


# the node's scheduler draws its jitter meanwhile, in the loop's thread
@pytest.mark.filterwarnings(
    "ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning"
)
async def test_every_reply_is_one_that_the_description_names(node: Client) -> None:
    _, document, _ = await node.send("GET", "/openapi.json")
    loop = asyncio.get_running_loop()
    cid = await node.store("What is a stored thing?", "A thing.")
    posts = {
        path: item["post"]["requestBody"]["content"]["application/json"]["schema"]
        for path, item in document["paths"].items()
        if "post" in item and "application/json" in item["post"]["requestBody"]["content"]
        if not speaks_so(path)  # what they take is open; see test_openai_api
        if path != "/mcp"  # unknown fields are taken there, errors are the protocol's: test_mcp.py
    }

    def examine(method: str, path: str, status: int, reply: Any, headers: Mapping[str, str]) -> None:
        documented = document["paths"][path][method.lower()]["responses"]
        assert str(status) in documented, (method, path, status, reply)
        assert status < 500 or status == 501, reply
        assert headers["X-Request-Id"]
        if status == 204:
            return
        assert headers["Content-Type"].split(";")[0] in documented[str(status)]["content"], headers
        if status >= 400 and speaks_so(path):
            assert {"message", "type", "param", "code"} <= set(reply["error"])
        elif status >= 400:
            assert {"type", "title", "status", "detail", "instance", "request_id"} <= set(reply)
            assert reply["status"] == status
            assert "field" in reply or status in (404, 406, 412, 422, 501)

    async def send(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        status, reply, headers = await node.send("POST", path, body)
        examine("POST", path, status, reply, headers)
        return status, reply

    for method, path, _ in ROUTES:
        if method != "POST":
            for known in (cid, UNKNOWN_CID, "nonsense"):
                asked = path.replace("{log}", "decisions")
                for name in ("cid", "epoch", "path", "index", "origin_hash", "name", "peer_id"):
                    asked = asked.replace(f"{{{name}}}", known)
                status, reply, headers = await node.send(method, asked, params={"format": "raw"})
                examine(method, path, status, reply, headers)

    def attack(path: str, schema: dict[str, Any]) -> None:
        """Outside of the loop, where hypothesis runs: each example is a call into it."""

        @settings(max_examples=30, database=None, suppress_health_check=list(HealthCheck))
        @given(bodies(schema))
        def run(example: tuple[dict[str, Any], bool]) -> None:
            body, is_allowed = example
            calling = asyncio.run_coroutine_threadsafe(send(path, body), loop)
            status, reply = calling.result(PATIENCE_S)
            if is_allowed and path != "/feedback":  # which is also about what exists
                is_entry = path == "/v1/cache/entries"
                empty = is_entry and not normalise(body["query"])
                # what stands there already, and what only a model is to see, is no matter of the schema
                refused = is_entry and (status == 409 or "is for people" in reply.get("detail", ""))
                # which names are time zones, which texts CIDs, who is a peer: more than a schema can say
                told = ("time_zone", "cid", "address")
                assert status < 300 or empty or refused or reply["field"] in told, (body, reply)
            if not is_allowed:
                assert status == 400, (body, reply)

        run()

    for path, schema in posts.items():
        await asyncio.to_thread(attack, path, schema)


async def test_five_hundred_questions_at_once_are_each_answered_or_sent_away(tmp_path: Path) -> None:
    """A model that never answers, distinct questions: nobody waits past the deadline, nobody is lost."""
    limits = {"request_timeout_s": 2, "concurrent_requests_max": 300}
    async with OllamaStandIn(hang=True) as model:
        async with start(tmp_path, ollama=model.url, server=limits) as node:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            queries = [f"Explain the history of bridge number {number}" for number in range(500)]
            replies = await asyncio.gather(*(node.send("POST", "/chat", {"query": one}) for one in queries))
            statuses = [status for status, _, _ in replies]
            assert set(statuses) <= {200, 503}
            assert statuses.count(200) >= 300
            for status, reply, headers in replies:
                if status == 503:
                    assert int(headers["Retry-After"]) >= 1
                else:
                    assert reply["source"]["kind"] == "fallback"
                    assert not reply["stored"]
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert grown < 200_000, f"{grown} KiB"
            assert "4" in (await node.ask("What is 2+2?"))["answer"]
            model.release()


async def test_an_overloaded_node_says_so_and_stays_healthy(tmp_path: Path) -> None:
    limits = {"request_timeout_s": 10, "concurrent_requests_max": 2}
    async with OllamaStandIn(hang=True) as model:
        async with start(tmp_path, ollama=model.url, server=limits) as node:
            busy = [asyncio.create_task(node.ask(f"Explain topic {number}")) for number in range(2)]
            await model.arrived.wait()
            while (await node.post("/route", {"query": "hi"}))[0] != 503:
                await asyncio.sleep(0)
            status, problem, headers = await node.send("POST", "/chat", {"query": "What is 2+2?"})
            assert status == 503
            assert headers["Content-Type"] == "application/problem+json"
            assert int(headers["Retry-After"]) >= 1
            assert problem["request_id"] == headers["X-Request-Id"]
            for path in ("/livez", "/readyz", "/health", "/metrics"):
                assert (await node.send("GET", path))[0] == 200
            model.release()
            for task in busy:
                assert (await task)["answer"]
            assert "4" in (await node.ask("What is 2+2?"))["answer"]
