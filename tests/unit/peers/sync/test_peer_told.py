"""The HTTP client of a peer at an address that somebody else has named: wherever its name leads, this node
connects to the public internet alone."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from node.core.clock import SystemClock
from node.core.errors import Rejected, TimedOut, Unavailable
from node.peers.sync import client
from node.peers.sync.client import PLACES_MAX, RESOLVED_S, HttpPeer, Resolve, resolved
from tests.manual_clock import ManualClock
from tests.simulators.peer import PeerStandIn, Publishing

TIMEOUT_S = 5.0
PUBLIC, OTHER = "93.184.216.34", "2606:4700::1111"


class Names:
    """What names lead to, as it is told from call to call; the last answer stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Never(aiohttp.abc.AbstractResolver):
    """The session's own resolver, which is not to be asked."""

    async def resolve(self, host: str, *_: object, **__: object) -> list[aiohttp.abc.ResolveResult]:
        raise AssertionError(f"{host} was resolved behind the check")

    async def close(self) -> None:
        """Nothing to close."""


def told(url: str, http: aiohttp.ClientSession, clock: ManualClock, resolve: Resolve | None) -> HttpPeer:
    """The link to an address that somebody else has named; with ``resolve`` None, that the operator has."""
    return HttpPeer(url, http, clock, timeout_s=TIMEOUT_S, resolve=resolve)


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(resolver=Never())
    async with aiohttp.ClientSession(auto_decompress=False, connector=connector) as session:
        yield session


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have loopback alone: let it count as public."""
    monkeypatch.setattr(client, "is_public", lambda host: True)


async def identity(_: web.Request) -> web.Response:
    return web.json_response({"root": "did:key:z", "certificates": []})


class Anywhere:
    """A peer that answers whatever address is connected to, and says which that was, and as whom."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "anywhere.sock")
        self.places: list[tuple[str, str]] = []

    async def __aenter__(self) -> aiohttp.ClientSession:
        async def answer(request: web.Request) -> web.Response:
            self.places[-1] = (self.places[-1][0], request.headers["Host"])
            return await identity(request)

        async def note(_: object, __: object, params: aiohttp.TraceRequestStartParams) -> None:
            self.places.append((str(params.url.origin()), ""))

        app = web.Application()
        app.router.add_get("/peers/identity", answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.UnixSite(self._runner, self._path).start()
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(note)
        connector = aiohttp.UnixConnector(self._path)
        self._http = aiohttp.ClientSession(auto_decompress=False, connector=connector, trace_configs=[trace])
        return self._http

    async def __aexit__(self, *_: object) -> None:
        await self._http.close()
        await self._runner.cleanup()


@pytest.mark.parametrize(
    "found",
    [
        *(["127.0.0.1"], ["::1"], ["10.0.0.7"], ["169.254.169.254"], ["fe80::1%2"], []),
        *(["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"], [PUBLIC, "127.0.0.1"], [PUBLIC, OTHER, "192.168.0.1"]),
    ],
)
async def test_a_name_that_leads_inside_is_connected_to_by_nobody(
    http: aiohttp.ClientSession, clock: ManualClock, found: list[str]
) -> None:
    async with PeerStandIn(Publishing(1)) as server:
        peer = told(f"http://peer.example:{server.port}", http, clock, Names(found))
        for asked in (peer.certificates, peer.peers, peer.checkpoint):
            with pytest.raises(Rejected, match="peers add"):
                await asked()
        assert server.asked == []


@pytest.mark.parametrize("host", ["10.0.0.7", "169.254.169.254", "[::ffff:10.0.0.7]", "[fe80::1]", "0.0.0.0"])
async def test_nor_is_an_address_inside(http: aiohttp.ClientSession, clock: ManualClock, host: str) -> None:
    names = Names([PUBLIC])
    with pytest.raises(Rejected):
        await told(f"http://{host}:8642", http, clock, names).certificates()
    assert names.asked == []


async def test_what_was_judged_is_connected_to_and_told_the_name(tmp_path: Path, clock: ManualClock) -> None:
    names, far = Names([PUBLIC], [OTHER], ["10.0.0.7"]), Anywhere(tmp_path)
    async with far as http:
        peer = told("http://peer.example:8642", http, clock, names)
        await peer.certificates()
        await peer.certificates()
        assert names.asked == [("peer.example", 8642)], "for a while it is not resolved again"
        clock.advance(RESOLVED_S)
        await peer.certificates()
        one, other = f"http://{PUBLIC}:8642", f"http://[{OTHER}]:8642"
        assert far.places == [(place, "peer.example:8642") for place in (one, one, other)]
        clock.advance(RESOLVED_S)  # and now the name leads inside
        with pytest.raises(Rejected):
            await peer.certificates()
        assert len(far.places) == 3


async def test_an_address_outside_needs_no_name(tmp_path: Path, clock: ManualClock) -> None:
    names, far = Names([]), Anywhere(tmp_path)
    hosts = [PUBLIC, f"[{OTHER}]:8642"]
    async with far as http:
        for host in hosts:
            await told(f"http://{host}", http, clock, names).certificates()
    assert far.places == [(f"http://{host}", host) for host in hosts]
    assert names.asked == []


async def test_who_was_named_on_this_machine_is_found_by_number_alone(
    http: aiohttp.ClientSession, clock: ManualClock
) -> None:
    honest, names = Publishing(1), Names(["127.0.0.1"])
    async with PeerStandIn(honest) as server:
        assert (await told(server.url, http, clock, names).certificates())[0] == honest.root
        assert names.asked == []
        with pytest.raises(Rejected):
            await told(f"http://localhost:{server.port}", http, clock, names).certificates()


async def test_whom_the_operator_has_named_may_be_anywhere(clock: ManualClock) -> None:
    honest = Publishing(1)
    async with PeerStandIn(honest) as server, aiohttp.ClientSession(auto_decompress=False) as http:
        link = told(f"http://localhost:{server.port}", http, clock, None)
        assert (await link.certificates())[0] == honest.root


async def test_a_name_that_cannot_be_resolved_or_never_is(
    http: aiohttp.ClientSession, clock: ManualClock
) -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    asked = asyncio.Event()

    async def slow(host: str, port: int) -> Sequence[str]:
        asked.set()
        await asyncio.Event().wait()
        return [PUBLIC]

    with pytest.raises(Unavailable):
        await told("http://a.example", http, clock, unknown).certificates()
    asking = asyncio.create_task(told("http://a.example", http, clock, slow).certificates())
    await asked.wait()
    while not asking.done():
        clock.advance(1.0)
        await asyncio.sleep(0)
    with pytest.raises(TimedOut):
        await asking


@pytest.mark.usefixtures("anywhere")
async def test_the_next_address_is_tried_where_one_does_not_answer(
    http: aiohttp.ClientSession, clock: ManualClock
) -> None:
    honest = Publishing(1)
    async with PeerStandIn(honest) as server:  # on 127.0.0.1, not on ::1

        def peer(*found: str) -> HttpPeer:
            return told(f"http://peer.example:{server.port}", http, clock, Names(found))

        assert (await peer("::1", "127.0.0.1").certificates())[0] == honest.root
        assert (await peer(*["127.0.0.1"] * 64).certificates())[0] == honest.root
        for found in (["::1"], ["::1"] * PLACES_MAX + ["127.0.0.1"]):
            with pytest.raises(Unavailable):
                await peer(*found).certificates()


@pytest.mark.usefixtures("anywhere")
async def test_over_tls_the_certificate_must_be_of_the_name(tmp_path: Path, clock: ManualClock) -> None:
    own, trusted = certified("peer.example", tmp_path)
    app = web.Application()
    app.router.add_get("/peers/identity", identity)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=own).start()
    port, names = runner.addresses[0][1], Names(["127.0.0.1"])
    connector = aiohttp.TCPConnector(resolver=Never(), ssl=trusted)
    try:
        async with aiohttp.ClientSession(auto_decompress=False, connector=connector) as http:
            right = told(f"https://peer.example:{port}", http, clock, names)
            assert (await right.certificates())[0] == "did:key:z"
            with pytest.raises(Unavailable):
                await told(f"https://other.example:{port}", http, clock, names).certificates()
    finally:
        await runner.cleanup()


def certified(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's TLS with a certificate of its own for ``name``, and a client's that trusts no other."""
    key, now = generate_private_key(SECP256R1()), SystemClock().now()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
        .public_bytes(Encoding.PEM)
    )
    path = folder / "server.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.load_verify_locations(cadata=certificate.decode())
    return server, client


async def test_as_this_machine_resolves() -> None:
    assert await resolved("127.0.0.1", 80) == ["127.0.0.1"]
    assert set(await resolved("localhost", 80)) <= {"127.0.0.1", "::1"}
