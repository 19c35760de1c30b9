"""``/ipns/`` and ``/routing/v1/`` as the specifications have them, over a name store and a few blocks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from node.api.negotiate import DAG_JSON, IPNS_RECORD
from node.api.routing import Router, protocols_of
from node.core.errors import NotFound
from node.core.ipld import dagcbor
from node.core.ipld.cid import RAW, Cid, base36, base58
from node.core.ipld.ipns import IpnsName
from node.store.ipns_records import Names
from tests.manual_clock import ManualClock
from tests.name_owner import HOUR, Owner
from tests.unit.api.door import Door, application

US = Owner(77)
ADDRESSES = ("/ip4/127.0.0.1/tcp/8642/http", "/dns4/example.org/tcp/443/https", "/ip6/::1/udp/9/quic-v1")
BLOCK = b"a public block"
CID = Cid.of(BLOCK, RAW)
MAP_BLOCK = dagcbor.encode({"list": [1, "x"]})
MAP = Cid.of(MAP_BLOCK)
OWN_RECORD = {"Schema": "peer", "ID": US.name.peer_id, "Addrs": list(ADDRESSES)}
OWN_RECORD["Protocols"] = ["transport-ipfs-gateway-http"]
LINES = {"Accept": "application/x-ndjson"}


class OneBlock:
    """What anybody may have, and a map to read."""

    async def get(self, cid: Cid) -> bytes:
        if cid.multihash == MAP.multihash:
            return MAP_BLOCK
        if cid.multihash != CID.multihash:
            raise NotFound("not here")
        return BLOCK

    def held(self, cid: Cid) -> bytes | None:
        return None

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        return {cid: BLOCK for cid in cids if await self.has(cid)}

    async def has(self, cid: Cid) -> bool:
        return cid.multihash == CID.multihash


class Site(Door):
    """The routes over loopback, with what they serve from."""

    names: Names
    clock: ManualClock
    own = US.name

    async def put(
        self, name: str, data: bytes, kind: str = IPNS_RECORD, **more: Any
    ) -> tuple[int, bytes, Mapping[str, str]]:
        headers = {"Content-Type": kind, **more.pop("headers", {})}
        return await self.get(f"/routing/v1/ipns/{name}", "PUT", data=data, headers=headers, **more)


@asynccontextmanager
async def served(
    folder: Path, addresses: tuple[str, ...] = ADDRESSES, *, names_max: int = 10
) -> AsyncIterator[Site]:
    clock = ManualClock()
    names = await Names.open(folder / "names.sqlite", clock, own=US.name, names_max=names_max)
    router = Router(OneBlock(), names, lambda: one.own, addresses)
    async with application(router=router) as app:
        runner = web.AppRunner(app, access_log=None, auto_decompress=False, lingering_time=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        try:
            async with aiohttp.ClientSession(trust_env=False, skip_auto_headers=("Accept",)) as http:
                one = Site(f"http://{host}:{port}", http)
                one.names, one.clock = names, clock
                yield one
        finally:
            await runner.cleanup()
            await names.close()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with served(tmp_path) as one:
        yield one


async def kept(site: Site, owner: Owner, **more: Any) -> bytes:
    record = owner.record(site.clock.now(), **more)
    assert await site.names.put(owner.name, record)
    return record


def accepting(kind: str | None) -> dict[str, str]:
    """The headers of who says what kinds it takes, or does not."""
    return {} if kind is None else {"Accept": kind}


# --- /ipns/ ---------------------------------------------------------------------------------------


def spellings(name: IpnsName) -> list[str]:
    data = bytes(name.cid)
    return [
        *(str(name.cid), str(name.cid).upper().replace("B", "B", 1), name.text, name.peer_id),
        *("z" + base58(data), "f" + data.hex(), "F" + data.hex().upper(), base36(data).upper()),
    ]


async def test_a_record_is_served_under_every_spelling_of_its_name(site: Site) -> None:
    owner = Owner()
    record = await kept(site, owner, ttl_s=1_800)
    for name in spellings(owner.name):
        for how in (
            {"path": f"/ipns/{name}?format=ipns-record"},
            {"path": f"/ipns/{name}", "headers": {"Accept": IPNS_RECORD}},
            {"path": f"/ipns/{name}?format=ipns-record", "headers": {"Accept": "text/html"}},
        ):
            status, data, headers = await site.get(**how)
            assert (status, data) == (200, record), (name, data)
            assert headers["Content-Disposition"].startswith(f'attachment; filename="{owner.name.text}.ipns-')
            assert ("Content-Location" in headers) == ("?" not in how["path"])
            shown = {
                "Content-Type": IPNS_RECORD,
                "Cache-Control": "public, max-age=1800",
                "X-Content-Type-Options": "nosniff",
                "Access-Control-Allow-Origin": "*",
                "X-Ipfs-Path": f"/ipns/{owner.name.text}",
            }
            assert shown.items() <= headers.items()


async def test_a_record_is_cached_no_longer_than_it_is_valid(site: Site) -> None:
    owner = Owner()
    record = await kept(site, owner, ttl_s=3_600, valid=HOUR)
    path = f"/ipns/{owner.name.text}?format=ipns-record"
    site.clock.advance(3_540.5)
    status, _, headers = await site.get(path)
    assert (status, headers["Cache-Control"]) == (200, "public, max-age=59")
    etag = headers["Etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        status, data, headers = await site.get(path, headers={"If-None-Match": known})
        assert (status, data, headers["Etag"]) == (304, b"", etag)
    status, data, headers = await site.get(path, "HEAD")
    assert (status, data, headers["Content-Length"]) == (200, b"", str(len(record)))
    await kept(site, owner, sequence=2)
    _, _, headers = await site.get(path, headers={"If-None-Match": etag})
    assert headers["Etag"] != etag
    site.clock.advance(48 * 3_600)
    assert (await site.get(path))[0] == 404


@pytest.mark.parametrize(
    ("tail", "accept", "status"),
    [
        ("", None, 400),
        ("", "*/*", 400),
        ("", "text/plain", 406),
        ("", f"{IPNS_RECORD};q=0, text/plain", 406),
        ("", f"text/plain, {IPNS_RECORD};q=0.1", 200),
        ("", f"{IPNS_RECORD}, text/html;q=0.9", 200),
        ("", "text/html", 404),  # what it points to is not here
        ("?format=raw", IPNS_RECORD, 406),
        ("?format=ipns-record&filename=x", None, 200),
        ("/?format=ipns-record", None, 200),
        ("/index?format=ipns-record", None, 400),
        ("/a/b/c", IPNS_RECORD, 400),
    ],
)
async def test_only_the_record_is_served(site: Site, tail: str, accept: str | None, status: int) -> None:
    owner = Owner()
    await kept(site, owner)
    headers = accepting(accept)
    assert (await site.get(f"/ipns/{owner.name.text}{tail}", headers=headers))[0] == status


async def test_what_a_name_points_to_can_be_read(site: Site) -> None:
    """Also through names, with the path behind each; kept as long as the shortest of their records says."""
    owner, other = Owner(), Owner(2)
    await kept(site, owner, value=f"/ipns/{other.name.text}/list", ttl_s=40)
    await kept(site, other, value=f"/ipfs/{MAP}", ttl_s=30)
    path = f"/ipns/{owner.name.text}"
    status, data, headers = await site.get(f"{path}/1?format=dag-json")
    assert (status, data, headers["Cache-Control"]) == (200, b'"x"', "public, max-age=30, must-revalidate")
    assert (headers["X-Ipfs-Path"], headers["X-Ipfs-Roots"]) == (f"{path}/1", str(MAP))
    assert headers["Content-Type"] == DAG_JSON
    for accept, said in (("application/json", b'[1,"x"]'), ("text/html, */*;q=0.8", b"&quot;x&quot;")):
        status, data, headers = await site.get(path, headers={"Accept": accept})
        assert (status, headers["Vary"], said in data) == (200, "Accept", True)
    site.clock.advance(48 * 3_600)
    assert (await site.get(f"{path}/1?format=dag-json"))[0] == 404


@pytest.mark.parametrize(
    "value", ["", "/", "/ipfs/", "/ipfs/nonsense", "/dns/example.org", "/ipns/nonsense", "/ipns/{itself}"]
)
async def test_a_name_that_leads_nowhere_has_nothing_to_read(site: Site, value: str) -> None:
    owner = Owner()
    await kept(site, owner, value=value.format(itself=owner.name.text) or f"/ipfs/{Cid.of(b'absent')}")
    status, data, _ = await site.get(f"/ipns/{owner.name.text}?format=dag-json")
    assert status == 404, data


@pytest.mark.parametrize(
    ("said", "status"),
    [("", 404), ("only-if-cached", 412), ("no-transform, Only-If-Cached", 412), ("x-only-if-cached", 404)],
)
async def test_who_is_unknown(site: Site, said: str, status: int) -> None:
    path = f"/ipns/{Owner(5).name.text}?format=ipns-record"
    assert (await site.get(path, headers={"Cache-Control": said}))[0] == status


@pytest.mark.parametrize("name", ["example.com", str(CID), "k51", "x" * 300, "%00"])
async def test_what_is_no_name(site: Site, name: str) -> None:
    assert (await site.get(f"/ipns/{name}?format=ipns-record"))[0] == 400


async def test_the_file_name_of_a_record(site: Site) -> None:
    owner = Owner()
    await kept(site, owner)
    name = "test%D1%82%D0%B5%D1%81%D1%82.ipns-record"
    _, _, headers = await site.get(f"/ipns/{owner.name.text}?format=ipns-record&filename={name}")
    assert headers["Content-Disposition"] == (
        f"attachment; filename=\"test____.ipns-record\"; filename*=UTF-8''{name}"
    )


async def test_a_page_elsewhere_may_ask(site: Site) -> None:
    for path in ("/ipns/x", "/ipns/x/y", "/routing/v1/providers/x", "/routing/v1/ipns/x"):
        status, _, headers = await site.get(path, "OPTIONS")
        assert (status, headers["Access-Control-Allow-Origin"]) == (204, "*")
        assert {"GET", "OPTIONS"} <= set(headers["Access-Control-Allow-Methods"].split(", "))


# --- providers and peers --------------------------------------------------------------------------


async def listed(site: Site, path: str, **more: Any) -> tuple[list[Any], Mapping[str, str]]:
    status, data, headers = await site.get(path, **more)
    assert status == 200, data
    assert headers["Vary"] == "Accept"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Last-Modified"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    if headers["Content-Type"] == "application/x-ndjson":
        return [orjson.loads(line) for line in data.splitlines()], headers
    assert headers["Content-Type"] == "application/json"
    [(key, found)] = orjson.loads(data).items()
    assert key == ("Peers" if "/peers/" in path else "Providers")
    return list(found), headers


async def test_we_provide_what_is_public_here_and_nothing_else(site: Site) -> None:
    for cid in (CID, Cid(0x70, CID.digest), Cid(0x70, CID.digest, version=0)):
        for more in ({}, {"headers": LINES}, {"headers": {"Accept": "application/json"}}):
            found, headers = await listed(site, f"/routing/v1/providers/{cid}", **more)
            assert found == [OWN_RECORD]
            assert headers["Cache-Control"].startswith("public, max-age=300, stale-while-revalidate=")
    for name in (str(Cid.of(b"private or absent", RAW)), str(Cid(RAW, bytes(64), 0x13))):
        for more in ({}, {"headers": LINES}):
            found, headers = await listed(site, f"/routing/v1/providers/{name}", **more)
            assert found == []
            assert headers["Cache-Control"].startswith("public, max-age=15, stale-while-revalidate=")


async def test_we_know_our_own_addresses_and_nobody_elses(site: Site) -> None:
    for name in spellings(US.name):
        assert (await listed(site, f"/routing/v1/peers/{name}"))[0] == [OWN_RECORD]
    rsa = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N"
    for other in (Owner(3).name.peer_id, rsa):
        assert (await listed(site, f"/routing/v1/peers/{other}", headers=LINES))[0] == []


async def test_after_a_rotation_of_the_node_key_we_are_another_peer(site: Site) -> None:
    site.own = Owner(78).name
    after = {**OWN_RECORD, "ID": site.own.peer_id}
    assert (await listed(site, f"/routing/v1/providers/{CID}"))[0] == [after]
    assert (await listed(site, f"/routing/v1/peers/{site.own.peer_id}"))[0] == [after]
    assert (await listed(site, f"/routing/v1/peers/{US.name.peer_id}"))[0] == []


@pytest.mark.parametrize("path", ["providers/nonsense", "providers/b", "peers/nonsense", f"peers/{CID}"])
async def test_what_is_no_cid_or_peer_is_422(site: Site, path: str) -> None:
    assert (await site.get(f"/routing/v1/{path}"))[0] == 422


@pytest.mark.parametrize(
    ("accept", "status", "kind"),
    [
        (None, 200, "application/json"),
        ("*/*", 200, "application/json"),
        ("application/json, */*;q=0.1", 200, "application/json"),
        ("application/x-ndjson, application/json;q=0.5", 200, "application/x-ndjson"),
        ("text/html", 406, "application/problem+json"),
        # nothing is named that could not be served
        ("application/x-ndjson;q=0", 200, "application/json"),
    ],
)
async def test_lines_come_only_where_they_are_asked_for(
    site: Site, accept: str | None, status: int, kind: str
) -> None:
    found, _, answer = await site.get(f"/routing/v1/providers/{CID}", headers=accepting(accept))
    assert (found, answer["Content-Type"]) == (status, kind)


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("filter-addrs=", ADDRESSES),
        ("filter-addrs=http", ADDRESSES[:1]),
        ("filter-addrs=HTTPS,quic-v1", ADDRESSES[1:]),
        ("filter-addrs=tcp%2Cudp", ADDRESSES),
        ("filter-addrs=!ip6,!dns4", ADDRESSES[:1]),
        ("filter-addrs=tcp,!https", ADDRESSES[:1]),
        ("filter-addrs=webtransport", None),
        ("filter-addrs=unknown", None),
        ("filter-addrs=!tcp,!udp", None),
        ("filter-addrs=example.org", None),
        ("filter-protocols=transport-bitswap", None),
        ("filter-protocols=unknown", None),
        ("filter-protocols=transport-bitswap,TRANSPORT-IPFS-GATEWAY-HTTP", ADDRESSES),
        ("filter-protocols=transport-ipfs-gateway-http&filter-addrs=https", ADDRESSES[1:2]),
        ("filter-protocols=transport-bitswap&filter-addrs=https", None),
    ],
)
async def test_filters(site: Site, query: str, left: tuple[str, ...] | None) -> None:
    """IPIP-484."""
    wanted = [] if left is None else [OWN_RECORD | {"Addrs": list(left)}]
    for path in (f"providers/{CID}", f"peers/{US.name.text}"):
        for headers in ({}, LINES):
            found, shown = await listed(site, f"/routing/v1/{path}?{query}", headers=headers)
            assert found == wanted
            assert ("max-age=300" in shown["Cache-Control"]) == bool(wanted)


async def test_a_peer_without_addresses_is_shown_to_who_takes_unknown_ones(tmp_path: Path) -> None:
    async with served(tmp_path, ()) as site:
        bare = [OWN_RECORD | {"Addrs": []}]
        for query, found in (("", bare), ("?filter-addrs=unknown,tcp", bare), ("?filter-addrs=tcp", [])):
            assert (await listed(site, f"/routing/v1/providers/{CID}{query}"))[0] == found


def test_a_value_is_no_protocol() -> None:
    assert protocols_of("/dns/http/tcp/80/tls/ws") == {"dns", "tcp", "tls", "ws"}


# --- names ----------------------------------------------------------------------------------------


async def test_a_record_that_was_put_is_served_to_everybody(site: Site) -> None:
    owner = Owner()
    record = owner.record(site.clock.now(), ttl_s=1_800, valid=48 * HOUR)
    for name in spellings(owner.name):
        assert (await site.put(name, record))[0] == 200
        for accept in (None, "*/*", IPNS_RECORD, f"{IPNS_RECORD}, text/plain"):
            path = f"/routing/v1/ipns/{name}"
            status, data, answer = await site.get(path, headers=accepting(accept))
            assert (status, data, answer["Content-Type"]) == (200, record, IPNS_RECORD)
    left = 48 * 3_600
    assert answer["Cache-Control"] == (
        f"public, max-age=1800, stale-while-revalidate={left}, stale-if-error={left}"
    )
    assert answer["Expires"] == "Sat, 03 Jan 2026 00:00:00 GMT"
    assert answer["Vary"] == "Accept"
    etag = {"If-None-Match": answer["Etag"]}
    assert (await site.get(f"/routing/v1/ipns/{owner.name.text}", headers=etag))[0] == 304
    assert (await site.get(f"/ipns/{owner.name.text}?format=ipns-record"))[1] == record


async def test_a_record_without_a_ttl_is_cached_for_a_minute(site: Site) -> None:
    owner = Owner()
    await kept(site, owner, ttl_s=0)
    _, _, answer = await site.get(f"/routing/v1/ipns/{owner.name.text}")
    assert answer["Cache-Control"].startswith("public, max-age=60, ")


async def test_no_record_is_said_with_200_and_another_type(site: Site) -> None:
    status, _, answer = await site.get(f"/routing/v1/ipns/{Owner(4).name.text}")
    assert (status, answer["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "max-age=15" in answer["Cache-Control"]


async def test_what_is_refused(site: Site) -> None:
    owner, now = Owner(), site.clock.now()
    good = owner.record(now, sequence=2)
    name = owner.name.text
    assert (await site.put(name, good))[0] == 200
    for bad, word in (
        (good[:-1], b""),
        (Owner(2).record(now), b"signature"),
        (bytes(10 * 1024 + 1), b"over 10240 bytes"),
        (owner.record(now, sequence=1), b"newer record"),
    ):
        status, said, _ = await site.put(name, bad)
        assert (status, word in said) == (400, True), said
    assert (await site.put("example.com", good))[0] == 400
    assert (await site.put(US.name.text, US.record(now)))[0] == 400
    for kind in ("application/octet-stream", "application/json"):
        assert (await site.put(name, good, kind))[0] == 406
    headers = {"Accept": "application/json"}
    assert (await site.get(f"/routing/v1/ipns/{name}", headers=headers))[0] == 406
    assert (await site.get(f"/routing/v1/ipns/{name}"))[1] == good


async def test_a_body_without_end_is_not_read_to_its_end(site: Site) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield bytes(10_000)

    try:
        status, said, _ = await site.put(Owner().name.text, endless())
    except (aiohttp.ClientError, ConnectionError):
        return  # the connection was closed under it
    assert (status, b"over 10240" in said) == (400, True)


async def test_a_full_store_says_so(tmp_path: Path) -> None:
    async with served(tmp_path, names_max=1) as site:
        await kept(site, Owner(1))
        status, said, headers = await site.put(Owner(2).name.text, Owner(2).record(site.clock.now()))
        assert (status, headers["Retry-After"]) == (503, "1")
        assert b"1 names are kept" in said


@pytest.mark.parametrize(
    ("path", "status"),
    [("nothing", 400), ("providers/a/b", 400), ("dht/closest/peers/x", 501), ("", 400)],
)
async def test_the_rest_of_the_interface(site: Site, path: str, status: int) -> None:
    assert (await site.get(f"/routing/v1/{path}"))[0] == status
