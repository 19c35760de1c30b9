"""The gateway over loopback, as part of the whole application, with blocks made by hand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp import web

from node.api import gateway
from node.core.errors import NotFound, Unavailable
from node.core.ipld.car import CarReader
from node.core.ipld.cid import BASE36, DAG_PB, RAW, Cid, base36, base58, encode_base
from tests.unit.api.door import application
from tests.unit.ipfs.gateway.dags import Shelf, identity, link, names

RAW_TYPE = "application/vnd.ipld.raw"
CAR_TYPE = "application/vnd.ipld.car"
HELLO = b"hello world\n"


class World:
    """One gateway and the shelf behind it."""

    def __init__(self, shelf: Shelf, app: web.Application, url: str, http: aiohttp.ClientSession) -> None:
        self.shelf = shelf
        self.app = app
        self.url = url
        self._http = http

    async def ask(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, bytes, Mapping[str, str]]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._http.request(method, f"{self.url}{path}", headers=sent) as response:
            return response.status, await response.read(), response.headers

    async def car(self, path: str, **headers: str) -> list[Cid]:
        status, body, found = await self.ask(path, **headers)
        assert (status, found["Content-Type"].split(";")[0]) == (200, CAR_TYPE), body
        return read_car(body)[1]

    async def status(self, path: str, method: str = "GET", **headers: str) -> int:
        return (await self.ask(path, method, **headers))[0]

    async def idle(self) -> None:
        """Return when both places are free."""
        gate = self.app[gateway.GATE]
        async with asyncio.timeout(20), gate.busy, gate.busy:
            pass

    async def raw(self, request: str) -> bytes:
        """Everything that comes back for a request as it stands."""
        host, port = self.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request.format(host=f"{host}:{port}").encode("latin-1"))
        try:
            return await reader.read()
        finally:
            writer.close()


def read_car(body: bytes) -> tuple[tuple[Cid, ...], list[Cid]]:
    """Roots and CIDs of a whole CAR, every block checked."""
    reader = CarReader()
    found = [cid for cid, _ in reader.feed(body)]
    reader.finish()
    assert reader.roots is not None
    return reader.roots, found


@pytest.fixture
def gate() -> gateway.Gate:
    return gateway.Gate(asyncio.Semaphore(2), write_timeout_s=0.3, read_timeout_s=0.3, kept_s=3_600)


@pytest.fixture
async def world(gate: gateway.Gate, shelf: Shelf) -> AsyncIterator[World]:
    async with application(shelf) as app:
        app[gateway.GATE] = gate
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        try:
            async with aiohttp.ClientSession(trust_env=False, skip_auto_headers=("Accept",)) as http:
                yield World(shelf, app, f"http://{host}:{port}", http)
        finally:
            await runner.cleanup()


# --- raw blocks -----------------------------------------------------------------------------------


async def test_a_raw_block_with_all_its_headers(world: World) -> None:
    cid = world.shelf.put(HELLO)
    status, body, headers = await world.ask(f"/ipfs/{cid}?format=raw")
    assert (status, body) == (200, HELLO)
    expected = {
        "Content-Type": RAW_TYPE,
        "Content-Length": str(len(HELLO)),
        "Content-Disposition": f'attachment; filename="{cid}.bin"',
        "Etag": f'"{cid}.raw"',
        "Cache-Control": "public, max-age=3600, must-revalidate",
        "Accept-Ranges": "bytes",
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
        "X-Ipfs-Path": f"/ipfs/{cid}",
        "X-Ipfs-Roots": str(cid),
        "Access-Control-Allow-Origin": "*",
    }
    assert {name: headers[name] for name in expected} == expected
    assert "Content-Location" not in headers
    assert headers["X-Request-Id"]
    status, body, headers = await world.ask(f"/ipfs/{cid}?filename=ab.bin", Accept=RAW_TYPE)
    assert (status, body, headers["Content-Type"]) == (200, HELLO, RAW_TYPE)
    assert headers["Content-Location"] == f"/ipfs/{cid}?filename=ab.bin&format=raw"
    assert headers["Content-Disposition"] == 'attachment; filename="ab.bin"'


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=1-3"}, {"If-None-Match": "*"}])
async def test_what_lies_in_memory_is_answered_alike_without_a_place(
    world: World, headers: dict[str, str]
) -> None:
    cid = world.shelf.put(HELLO)
    path = f"/ipfs/{cid}?format=raw"
    read = await world.ask(path, **headers)
    world.shelf.reads.clear()
    world.shelf.in_memory.add(cid)
    gate = world.app[gateway.GATE]
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(gate.busy)
        for _ in range(gateway.SMALL_PLACES):
            await stack.enter_async_context(gate.small)
        held = await world.ask(path, **headers)
    assert held[:2] == read[:2]
    own = ("Date", "X-Request-ID")
    assert [one for one in held[2].items() if one[0] not in own] == [
        one for one in read[2].items() if one[0] not in own
    ]
    assert not world.shelf.reads
    assert await world.status(f"/ipfs/{cid}/a?format=raw") == 400


async def test_head_says_what_get_would(world: World) -> None:
    cid = world.shelf.put(HELLO)
    for path in (f"/ipfs/{cid}?format=raw", f"/ipfs/{cid}?format=car"):
        _, _, got = await world.ask(path)
        status, body, headers = await world.ask(path, "HEAD")
        assert (status, body) == (200, b"")
        for name in ("Etag", "Content-Type", "Content-Disposition", "Cache-Control", "X-Ipfs-Roots"):
            assert headers[name] == got[name]
    _, _, headers = await world.ask(f"/ipfs/{cid}?format=raw", "HEAD", Range="bytes=0-1")
    assert headers["Content-Length"] == str(len(HELLO))
    missing = Cid.of(b"missing", RAW)
    assert await world.status(f"/ipfs/{missing}?format=raw", "HEAD") == 404
    assert await world.status(f"/ipfs/{missing}?format=car", "HEAD") == 404
    head = f"HEAD /ipfs/{cid}?format=car HTTP/1.1\r\n"
    reply = await world.raw(f"{head}Host: {{host}}\r\nConnection: close\r\n\r\n")
    assert reply.endswith(b"\r\n\r\n")
    assert reply.count(b"\r\n\r\n") == 1


async def test_a_block_is_found_in_every_spelling_of_its_cid(world: World) -> None:
    pb = world.shelf.directory({})
    multihash, binary = pb.multihash, bytes(pb)
    spellings = {
        str(pb): pb,
        str(pb).upper(): pb,
        "z" + base58(binary): pb,
        base36(binary): pb,
        "K" + encode_base(binary, BASE36).upper(): pb,
        "f" + binary.hex(): pb,
        "F" + binary.hex().upper(): pb,
        base58(multihash): Cid(DAG_PB, pb.digest, version=0),
        str(Cid(RAW, pb.digest)): Cid(RAW, pb.digest),
    }
    data = world.shelf.blocks[multihash]
    for text, cid in spellings.items():
        status, body, headers = await world.ask(f"/ipfs/{text}?format=raw")
        assert (status, body) == (200, data), text
        assert headers["Etag"] == f'"{cid}.raw"'
        assert await world.status(f"/ipfs/{text}?format=car") == 200
    for wrong in ("notacid", base58(multihash)[:-1], "b" + str(pb), "z" + base58(multihash), "%00", "%ff"):
        assert await world.status(f"/ipfs/{wrong}?format=raw") == 400, wrong
        assert await world.status(f"/ipfs/{wrong}?format=car") == 400, wrong


async def test_a_hash_function_that_nobody_here_computes_is_just_not_found(world: World) -> None:
    sha512 = Cid(RAW, b"\1" * 64, 0x13)
    assert await world.status(f"/ipfs/{sha512}?format=raw") == 404
    assert await world.status(f"/ipfs/{sha512}?format=car") == 404


async def test_the_probe(world: World) -> None:
    for method in ("GET", "HEAD"):
        status, body, headers = await world.ask("/ipfs/bafkqaaa?format=raw", method)
        assert (status, body, headers["Etag"]) == (200, b"", '"bafkqaaa.raw"')
        assert await world.status("/ipfs/bafkqaaa", method, Accept=CAR_TYPE) == 200
    _, body, _ = await world.ask("/ipfs/bafkqaaa?format=car")
    roots, found = read_car(body)
    assert ([str(root) for root in roots], found) == (["bafkqaaa"], [])
    inlined = identity(b"hi")
    assert (await world.ask(f"/ipfs/{inlined}?format=raw", Cache_Control="only-if-cached"))[1] == b"hi"


async def test_what_is_cached_is_not_sent_again(world: World) -> None:
    cid = world.shelf.put(HELLO)
    for query, weak in (("raw", False), ("car", True)):
        path = f"/ipfs/{cid}?format={query}"
        etag = (await world.ask(path))[2]["Etag"]
        assert etag.startswith("W/") == weak
        strong = etag.removeprefix("W/")
        for known in (etag, strong, f"W/{strong}", "*", f'"x", W/"y,z" ,{etag}'):
            status, body, headers = await world.ask(path, If_None_Match=known)
            assert (status, body, headers["Etag"]) == (304, b"", etag), known
            assert headers["Cache-Control"].startswith("public, max-age=3600")
        for other in ('"x"', strong.strip('"'), '"*"', f'"{cid}"'):
            assert await world.status(path, If_None_Match=other) == 200, other
        assert await world.status(path, "HEAD", If_None_Match=etag) == 304
    missing = Cid.of(b"missing", RAW)
    assert await world.status(f"/ipfs/{missing}?format=raw", If_None_Match="*") == 404


async def test_ranges_of_a_block(world: World) -> None:
    cid = world.shelf.put(HELLO)
    path, size = f"/ipfs/{cid}?format=raw", len(HELLO)
    for asked, first, last in (
        ("bytes=0-0", 0, 0), ("bytes=3-5", 3, 5), ("bytes=6-", 6, size - 1), ("bytes=-4", size - 4, size - 1),
        ("bytes=-999", 0, size - 1), ("bytes=4-999", 4, size - 1), ("Bytes = 1-2", 1, 2),
    ):  # fmt: skip
        status, body, headers = await world.ask(path, Range=asked)
        assert (status, body) == (206, HELLO[first : last + 1]), asked
        assert headers["Content-Range"] == f"bytes {first}-{last}/{size}"
        assert headers["Etag"] == f'"{cid}.raw"'
    for outside in (f"bytes={size}-", "bytes=999-1000", "bytes=-0"):
        status, body, headers = await world.ask(path, Range=outside)
        assert (status, headers["Content-Range"]) == (416, f"bytes */{size}"), outside
    for odd in ("bytes=5-3", "bytes=0-1,3-4", "lines=0-1", "bytes=-", "bytes=a-b", "0-1", "bytes=٣-٤"):
        assert (await world.ask(path, Range=quote(odd, safe="=-, ")))[:2] == (200, HELLO), odd
    assert await world.status(path, Range="bytes=0-1", If_Range=f'"{cid}.raw"') == 206
    assert await world.status(path, Range="bytes=0-1", If_Range='"other"') == 200
    assert await world.status(path, Range="bytes=0-1", If_None_Match="*") == 304
    _, _, headers = await world.ask(f"/ipfs/{cid}?format=car", Range="bytes=0-1")
    assert headers["Accept-Ranges"] == "none"


async def test_only_if_cached(world: World) -> None:
    cid, missing = world.shelf.put(HELLO), Cid.of(b"missing", RAW)
    for query in ("?format=raw", "?format=car", "/x?format=car"):
        for method in ("GET", "HEAD"):
            only = "max-age=0, Only-If-Cached"
            status, body, _ = await world.ask(f"/ipfs/{missing}{query}", method, Cache_Control=only)
            assert (status, body) == (412, b"")
    assert await world.status(f"/ipfs/{cid}?format=raw", Cache_Control="only-if-cached") == 200


@pytest.mark.parametrize(
    ("query", "accept", "status"),
    [
        *(("", "", 400), ("", "*/*", 400), ("", "text/htm", 406), ("", f"{CAR_TYPE};order=bfs", 406)),
        *(("", "application/vnd.ipfs.ipns-record", 400), ("/x", RAW_TYPE, 400), ("/x?format=car", "", 404)),
        *(("?format=tar", "", 406), ("?format=ipns-record", "", 400), ("/x?format=raw", "", 400)),
        *((f"?format=car&dag-scope={scope}", "", 400) for scope in ("most", "ALL")),
        *((f"?format=car&entity-bytes={span}", "", 400) for span in ("1", "12:*")),
        *(("?format=car&car-version=2", "", 400), ("?format=car&car-order=bfs", "", 400)),
        *(("/" + "/".join("a" * 65) + "?format=car", "", 400), ("/%ff?format=car", "", 400)),
    ],
)
async def test_requests_that_cannot_be_met(world: World, query: str, accept: str, status: int) -> None:
    cid = world.shelf.put(HELLO)
    got, body, headers = await world.ask(f"/ipfs/{cid}{query}", **({"Accept": accept} if accept else {}))
    assert got == status, body
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Cache-Control"] == "no-store"


async def test_a_slash_at_the_end_is_no_path(world: World) -> None:
    cid = world.shelf.put(HELLO)
    status, body, headers = await world.ask(f"/ipfs/{cid}/?format=raw")
    assert (status, body, headers["X-Ipfs-Path"]) == (200, HELLO, f"/ipfs/{cid}")
    assert await world.car(f"/ipfs/{cid}//?format=car") == [cid]


async def test_nothing_becomes_a_script_of_a_browser(world: World) -> None:
    cid = world.shelf.put(HELLO)
    assert await world.status(f"/ipfs/{cid}?format=raw", Service_Worker="script") == 400


async def test_pages_of_other_origins_may_read(world: World) -> None:
    cid = world.shelf.put(HELLO)
    origin = {"Origin": "https://elsewhere.example"}
    for method in ("GET", "HEAD"):
        status, _, headers = await world.ask(f"/ipfs/{cid}?format=raw", method, **origin)
        assert (status, headers["Access-Control-Allow-Origin"]) == (200, "*")
        assert "X-Ipfs-Roots" in headers["Access-Control-Expose-Headers"]
    for path in (f"/ipfs/{cid}", f"/ipfs/{cid}/a/b"):
        wanted = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "range"}
        status, body, headers = await world.ask(path, "OPTIONS", **wanted, **origin)
        assert (status, body) == (204, b"")
        assert "Range" in headers["Access-Control-Allow-Headers"]
        assert headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert await world.status("/chat", "OPTIONS", **origin) == 400
    assert await world.status("/chat", "POST", **origin) == 400


# --- forms to read --------------------------------------------------------------------------------


async def test_each_form_has_its_headers_and_its_tag(world: World) -> None:
    cid = world.shelf.cbor({"a": [1, b"x"]})
    asked = {
        RAW_TYPE: ("bin", "attachment"),
        "application/vnd.ipld.dag-json": ("json", "inline"),
        "application/json": ("json", "inline"),
        "text/html": ("", ""),
    }
    tags, bodies = set(), set()
    for kind, (extension, disposition) in asked.items():
        for path in (f"/ipfs/{cid}", f"/ipfs/{cid}?filename=x.y"):
            status, body, headers = await world.ask(path, Accept=kind)
            assert (status, headers["Content-Type"].split(";")[0]) == (200, kind)
            assert headers["Vary"] == "Accept"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Access-Control-Allow-Origin"] == "*"
            assert headers["X-Ipfs-Roots"] == str(cid)
            name = "x.y" if "?" in path else f"{cid}.{extension}"
            told = f'{disposition}; filename="{name}"' if disposition else None
            assert headers.get("Content-Disposition") == told
            assert ("Content-Location" in headers) == (kind != "text/html")
        tags.add(headers["Etag"])
        bodies.add(body)
        keeps = "public, no-cache" if kind == "text/html" else "public, max-age=3600, must-revalidate"
        assert headers["Cache-Control"] == keeps
        known = {"Accept": kind, "If_None_Match": headers["Etag"]}
        status, body, headers = await world.ask(f"/ipfs/{cid}", **known)
        assert (status, body, headers["Vary"]) == (304, b"", "Accept")
        status, body, headers = await world.ask(f"/ipfs/{cid}", "HEAD", Accept=kind)
        assert (status, body, headers["Content-Length"] > "0") == (200, b"", True)
    assert len(tags) == 4
    assert len(bodies) == 3  # DAG-JSON has two names
    assert b'{"a":[1,{"/":{"bytes":"eA"}}]}' in bodies


async def test_paths_lead_to_values_and_over_links(world: World) -> None:
    below = world.shelf.cbor({"x": "y"})
    root = world.shelf.cbor({"to": link(below), "n": 7})
    assert (await world.ask(f"/ipfs/{root}/n?format=dag-json"))[:2] == (200, b"7")
    status, body, headers = await world.ask(f"/ipfs/{root}/to/x?format=json")
    assert (status, body, headers["X-Ipfs-Roots"]) == (200, b'"y"', f"{root},{below}")
    for path, accept in (("/absent", "application/json"), ("/to/absent", "text/html")):
        assert await world.status(f"/ipfs/{root}{path}", Accept=accept) == 404


async def test_what_has_no_form_to_read_is_not_acceptable(world: World) -> None:
    for cid in (world.shelf.put(HELLO), world.shelf.put(b"\xff", 0x71), identity(b"\xa0", 0x71)):
        status, body, headers = await world.ask(f"/ipfs/{cid}?format=dag-json")
        assert (status, headers["Content-Type"]) == (406, "application/problem+json"), body
        assert b"format=raw" in body
    assert await world.status(f"/ipfs/{identity(HELLO)}", Accept="text/html") == 406
    assert await world.status(f"/ipfs/{Cid.of(b'?')}", Accept="text/html") == 404
    assert (
        await world.status(f"/ipfs/{Cid.of(b'?')}", Accept="text/html", Cache_Control="only-if-cached") == 412
    )


async def test_a_form_to_read_takes_a_place_like_any_response(world: World) -> None:
    cid = world.shelf.cbor({"x": "y"})
    gate = world.app[gateway.GATE]
    async with gate.busy, gate.busy:
        status, _, headers = await world.ask(f"/ipfs/{cid}", Accept="text/html")
        assert (status, headers["Retry-After"]) == (429, "1")
    assert await world.status(f"/ipfs/{cid}", Accept="text/html") == 200


# --- CARs -----------------------------------------------------------------------------------------


async def test_a_car_of_a_path_with_its_headers(world: World, shelf: Shelf) -> None:
    file = shelf.chunks([b"aaa", b"bbb"])
    inner = shelf.directory({"ä file/x": file})
    root = shelf.cbor({"sub": {"dir": link(inner)}})
    path = f"/ipfs/{root}/sub/dir/{quote('ä file/x', safe='')}"
    status, body, headers = await world.ask(path, Accept=f"{CAR_TYPE};version=1;order=dfs;dups=y")
    assert status == 200
    roots, found = read_car(body)
    assert roots == (file,)
    assert found == [root, inner, file, *names(shelf, file)]
    assert headers["Content-Type"] == f"{CAR_TYPE}; version=1; order=dfs; dups=y"
    assert headers["Content-Disposition"] == f'attachment; filename="{root}.car"'
    assert headers["Accept-Ranges"] == "none"
    assert headers["X-Ipfs-Path"] == path
    assert headers["X-Ipfs-Roots"] == f"{root},{inner},{file}"
    assert headers["Etag"].startswith(f'W/"all.{root}.')
    assert headers["Cache-Control"].startswith("public, max-age=3600")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Location"] == path + "?format=car&car-version=1&car-order=dfs&car-dups=y"
    assert "Content-Length" not in headers


async def test_tags_differ_where_the_content_may(world: World, shelf: Shelf) -> None:
    root = shelf.directory({"a": shelf.chunks([b"aaa", b"bbb"])})
    queries = (
        *("?format=raw", "?format=car", "?format=car&dag-scope=block", "?format=car&dag-scope=entity"),
        *("?format=car&car-dups=y", "/a?format=car", "/a?format=car&entity-bytes=0:*"),
        "/a?format=car&entity-bytes=0:2",
    )
    tags = [(await world.ask(f"/ipfs/{root}{query}"))[2]["Etag"] for query in queries]
    assert len(set(tags)) == len(tags)
    again = (await world.ask(f"/ipfs/{root}?format=car&dag-scope=all&car-order=dfs"))[2]["Etag"]
    assert again == tags[1]


async def test_scopes_ranges_and_duplicates(world: World, shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    file = shelf.file([(leaf, 4), (leaf, 4), (shelf.put(b"tail"), 4)])
    root = shelf.directory({"file": file})
    path = f"/ipfs/{root}/file?format=car"
    assert await world.car(path) == [root, file, *names(shelf, file)[1:]]
    assert await world.car(f"{path}&car-dups=y") == [root, file, *names(shelf, file)]
    assert await world.car(f"{path}&dag-scope=block") == [root, file]
    assert await world.car(f"{path}&entity-bytes=8:*") == [root, file, names(shelf, file)[2]]
    assert await world.car(f"{path}&entity-bytes=-1:*&dag-scope=all") == [root, file, names(shelf, file)[2]]
    assert await world.car(f"{path}&entity-bytes=0:*&dag-scope=block") == [root, file]
    assert await world.car(f"/ipfs/{root}?format=car&dag-scope=entity") == [root]
    status, body, _ = await world.ask(f"{path}&entity-bytes=12:*")
    assert status == 400
    assert b"12 bytes" in body


async def test_a_missing_child_cuts_the_connection(
    world: World, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    parts = [shelf.put(b"%d" % number * 1_000) for number in range(100)]
    root = shelf.file([(part, 1_000) for part in parts])
    shelf.drop(parts[-1])
    request = f"GET /ipfs/{root}?format=car HTTP/1.1\r\nHost: {{host}}\r\n\r\n"
    with caplog.at_level(logging.INFO, logger="neuroswarm.api"):
        reply = await world.raw(request)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b" 200 " in head
    assert not body.endswith(b"0\r\n\r\n")
    assert b"98" * 900 in body  # what came before is there
    assert "cut off" in caplog.text
    with pytest.raises(aiohttp.ClientPayloadError):
        await world.ask(f"/ipfs/{root}?format=car")
    assert await world.status(f"/ipfs/{parts[-1]}?format=car") == 404
    assert await world.car(f"/ipfs/{root}?format=car&entity-bytes=0:999") == [root, parts[0]]
    assert not world.app[gateway.GATE].busy.locked()


async def test_a_store_that_cannot_serve_now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cid = world.shelf.put(HELLO)

    async def refuse(_: Cid) -> bytes:
        raise Unavailable("the store is busy")

    async def hang(_: Cid) -> bytes:
        await asyncio.Event().wait()
        raise NotFound("never")

    for behaviour, status in ((refuse, 503), (hang, 504)):
        monkeypatch.setattr(world.shelf, "get", behaviour)
        for query in ("raw", "car"):
            got, _, headers = await world.ask(f"/ipfs/{cid}?format={query}")
            assert (got, headers["Retry-After"]) == (status, "1")


# --- limits ---------------------------------------------------------------------------------------


class Slow:
    """A client that reads the first byte of its reply and no more for now."""

    def __init__(self, world: World, path: str) -> None:
        self._world = world
        self._path = path

    async def __aenter__(self) -> asyncio.StreamReader:
        host, port = self._world.url.removeprefix("http://").split(":")
        reader, self._writer = await asyncio.open_connection(host, int(port), limit=2**14)
        self._writer.write(f"GET {self._path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        assert await reader.readexactly(1) == b"H"
        return reader

    async def __aexit__(self, *error: Any) -> None:
        self._writer.transport.abort()


async def test_too_many_at_once_are_sent_away_and_slow_readers_cut_off(world: World, shelf: Shelf) -> None:
    """Both places are held by clients that read nothing; the write's time gives them back."""
    large = shelf.file([(shelf.put(bytes([number]) * 2**20), 2**20) for number in range(24)])
    async with Slow(world, f"/ipfs/{large}?format=car"), Slow(world, f"/ipfs/{large}?format=car"):
        for path in (f"/ipfs/{large}?format=car", f"/ipfs/{names(shelf, large)[0]}?format=raw"):
            status, _, headers = await world.ask(path)
            assert (status, headers["Retry-After"]) == (429, "1")
        assert await world.status(f"/ipfs/{large}?format=raw") == 200, "a small block has a place left"
        assert headers["Access-Control-Allow-Origin"] == "*"
        await world.idle()
    assert await world.status(f"/ipfs/{large}?format=raw") == 200


async def test_a_large_block_to_a_slow_reader_ends_too(world: World) -> None:
    large = world.shelf.put(bytes(2**24))  # more than the kernel's buffers take
    async with Slow(world, f"/ipfs/{large}?format=raw"):
        await world.idle()
    status, body, headers = await world.ask(f"/ipfs/{large}?format=raw")
    assert (status, len(body), headers["Content-Length"]) == (200, 2**24, str(2**24))


@pytest.mark.parametrize("gate", [gateway.Gate(asyncio.Semaphore(1), write_timeout_s=600, grace_s=0.2)])
async def test_a_reader_below_the_rate_ends_before_its_piece_has_to(world: World, gate: gateway.Gate) -> None:
    large = world.shelf.put(bytes(2**24))
    async with Slow(world, f"/ipfs/{large}?format=raw"), asyncio.timeout(20), gate.busy:
        pass


async def test_asking_for_what_is_cached_has_its_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(_: Cid) -> bool:
        await asyncio.Event().wait()
        return True

    monkeypatch.setattr(world.shelf, "has", hang)
    missing = Cid.of(b"missing", RAW)
    async with asyncio.timeout(20):
        status, _, _ = await world.ask(f"/ipfs/{missing}?format=raw", Cache_Control="only-if-cached")
    assert status == 504


@pytest.mark.parametrize("gate", [gateway.Gate(asyncio.Semaphore(2))])
async def test_a_client_that_leaves_before_the_headers_is_no_fault(
    world: World, gate: gateway.Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cid, other = world.shelf.put(HELLO), world.shelf.put(b"other")
    reading, left = asyncio.Event(), asyncio.Event()
    get = world.shelf.get

    async def wait(wanted: Cid) -> bytes:
        if wanted == cid:
            reading.set()
            await left.wait()
        return await get(wanted)

    monkeypatch.setattr(world.shelf, "get", wait)
    host, port = world.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /ipfs/{cid}?format=car HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    await reading.wait()
    writer.transport.abort()
    for _ in range(3):  # the server has turned often enough to see it
        await world.car(f"/ipfs/{other}?format=car")
    left.set()
    await world.idle()
    await world.car(f"/ipfs/{other}?format=car")
    assert "request failed" not in caplog.text


async def test_a_silent_walk_ends_with_its_client(world: World, shelf: Shelf) -> None:
    """Nothing is written that could fail: the blocks that lying sizes want again and again were given."""
    root = shelf.put(b"x" * 8)
    for level in range(300):
        root = shelf.file([(root, level**2 + 1_000), (root, 10_000)])
    async with Slow(world, f"/ipfs/{root}?format=car&entity-bytes=1:-7"):
        pass
    await world.idle()
    assert len(shelf.reads) + len(shelf.ahead) < 10_000, "far from the walk's own bound"


async def test_a_client_that_leaves_gives_its_place_back(
    world: World, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    large = shelf.file([(shelf.put(bytes([number]) * 2**20), 2**20) for number in range(24)])
    for _ in range(3):
        async with Slow(world, f"/ipfs/{large}?format=car") as reader:
            await reader.readexactly(1_000)
    await world.idle()
    assert "request failed" not in caplog.text
    assert len(await world.car(f"/ipfs/{large}?format=car")) == 25
