"""OpenTimestamps over loopback: the way from a digest to a block; calendars and header sources that lie."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentimestamps.core.notary import BitcoinBlockHeaderAttestation, PendingAttestation
from opentimestamps.core.op import OpSHA256
from opentimestamps.core.serialize import BytesSerializationContext, StreamDeserializationContext
from opentimestamps.core.timestamp import DetachedTimestampFile, Timestamp

from node.audit.anchors.anchor import ATTESTED, PENDING, VERIFIED, Standing, Unanswered
from node.audit.anchors.block_headers import TARGET_MAX, BlockHeaders, target_of
from node.audit.anchors.opentimestamps import CALENDARS_MAX, DEPTH_MAX, NODES_MAX, OpenTimestamps
from node.audit.witnesses.site import BREAKER_FAILURES, Site
from node.core.clock import SystemClock
from node.core.errors import Misconfigured, NodeError, Rejected, Unavailable
from node.core.http import Unreached
from tests.manual_clock import ManualClock
from tests.simulators.calendar import (
    BLOCK_TIME,
    FIRST_HEIGHT,
    REGTEST_TARGET_MAX,
    SHA256,
    CalendarStandIn,
    HeaderStandIn,
    append,
    in_block,
    pending,
    prepend,
    sha256,
    varbytes,
)
from tests.simulators.vendor import Answered, Seen, VendorStandIn

NOTE = b"example.org/log\n7\nAAAA\n\n\xe2\x80\x94 example.org/log c2ln\n"
DIGEST = sha256(NOTE)
NOBODY = "http://127.0.0.1:1"


class Elsewhere(VendorStandIn):
    """An address that nobody configured: nothing may ever arrive here."""

    def answer(self, asked: Seen) -> Answered:
        return Answered(b"")


@dataclass
class Outside:
    """Two calendars, a chain, and a place where nobody may be led."""

    chain: HeaderStandIn
    one: CalendarStandIn
    two: CalendarStandIn
    elsewhere: Elsewhere
    http: aiohttp.ClientSession
    clock: ManualClock = field(default_factory=ManualClock)

    def service(
        self,
        *calendars: str,
        headers: bool = False,
        timeout_s: float = 20.0,
        target_max: int = REGTEST_TARGET_MAX,
    ) -> OpenTimestamps:
        return OpenTimestamps(
            calendars or (self.one.url,),
            self.http,
            self.clock,
            block_headers_url=self.chain.url if headers else "",
            timeout_s=timeout_s,
            attempts=1,
            target_max=target_max,
        )

    async def attested(self, service: OpenTimestamps) -> bytes:
        """A receipt that a block is said to hold."""
        receipt = await service.submit(DIGEST)
        self.one.attest()
        return await service.upgrade(DIGEST, receipt)


@pytest.fixture
async def outside() -> AsyncIterator[Outside]:
    async with AsyncExitStack() as stack:
        chain = await stack.enter_async_context(HeaderStandIn())
        one = await stack.enter_async_context(CalendarStandIn(chain))
        two = await stack.enter_async_context(CalendarStandIn(chain))
        elsewhere = await stack.enter_async_context(Elsewhere())
        http = await stack.enter_async_context(aiohttp.ClientSession(auto_decompress=False, trust_env=False))
        yield Outside(chain, one, two, elsewhere, http)


def stock(receipt: bytes) -> DetachedTimestampFile:
    """The proof as the stock client loads it from a file."""
    return DetachedTimestampFile.deserialize(StreamDeserializationContext(io.BytesIO(receipt)))


def attestations(receipt: bytes) -> list[str]:
    return sorted(
        attestation.uri if isinstance(attestation, PendingAttestation) else str(attestation.height)
        for _, attestation in stock(receipt).timestamp.all_attestations()
        if isinstance(attestation, PendingAttestation | BitcoinBlockHeaderAttestation)
    )


# --- the way --------------------------------------------------------------------------------------


async def test_a_digest_becomes_pending_then_attested_then_verified(outside: Outside) -> None:
    service = outside.service(headers=True)
    receipt = await service.submit(DIGEST)
    assert await service.read(DIGEST, receipt) == Standing(PENDING)
    assert attestations(receipt) == [outside.one.url]

    assert await service.upgrade(DIGEST, receipt) == receipt  # 404: not in a block yet
    with pytest.raises(Rejected, match="names no block"):
        await service.verify(DIGEST, receipt)

    outside.one.attest()
    better = await service.upgrade(DIGEST, receipt)
    assert await service.read(DIGEST, better) == Standing(ATTESTED, FIRST_HEIGHT)
    block = outside.chain.headers[FIRST_HEIGHT]
    time = datetime.fromtimestamp(BLOCK_TIME, UTC)
    expected = Standing(VERIFIED, FIRST_HEIGHT, HeaderStandIn.hash_of(block), time)
    assert await service.verify(DIGEST, better) == expected


async def test_the_receipt_is_a_standard_proof_of_the_note(outside: Outside) -> None:
    """Loaded afresh and checked as the stock client does it, down to the Merkle root in the header."""
    service = outside.service()
    receipt = await outside.attested(service)
    proof = stock(receipt)
    assert proof.file_hash_op == OpSHA256()
    assert proof.file_digest == OpSHA256().hash_fd(io.BytesIO(NOTE))
    roots = [
        message
        for message, attestation in proof.timestamp.all_attestations()
        if isinstance(attestation, BitcoinBlockHeaderAttestation)
    ]
    assert roots == [outside.chain.headers[FIRST_HEIGHT][36:68]]
    again = BytesSerializationContext()
    proof.serialize(again)
    assert again.getbytes() == receipt


async def test_a_calendar_never_sees_the_digest_and_no_two_commitments_are_alike(outside: Outside) -> None:
    service = outside.service(outside.one.url, outside.two.url)
    await service.submit(DIGEST)
    await service.submit(DIGEST)
    seen = [*outside.one.digests, *outside.two.digests]
    assert all(len(commitment) == 32 and commitment != DIGEST for commitment in seen)
    assert outside.one.digests == outside.two.digests
    assert len(set(seen)) == 2
    for asked in (*outside.one.requests, *outside.two.requests):
        assert DIGEST not in asked.body


async def test_several_calendars_are_merged_into_one_proof(outside: Outside) -> None:
    service = outside.service(outside.one.url, outside.two.url, headers=True)
    receipt = await service.submit(DIGEST)
    assert attestations(receipt) == sorted((outside.one.url, outside.two.url))
    outside.two.attest()
    receipt = await service.upgrade(DIGEST, receipt)
    assert (await service.read(DIGEST, receipt)).state == ATTESTED
    outside.one.attest()
    receipt = await service.upgrade(DIGEST, receipt)
    assert attestations(receipt) == sorted((outside.one.url, outside.two.url, "900000", "900001"))
    assert (await service.verify(DIGEST, receipt)).height == FIRST_HEIGHT


@pytest.mark.parametrize("mischief", ["refuse", "status", "redirect", "html"])
async def test_one_calendar_that_fails_does_not_spoil_the_others(outside: Outside, mischief: str) -> None:
    outside.one.misbehave(mischief, times=None, status=500, to=outside.elsewhere.url)
    service = outside.service(outside.one.url, outside.two.url)
    receipt = await service.submit(DIGEST)
    assert attestations(receipt) == [outside.two.url]
    assert outside.elsewhere.count() == 0


async def test_a_calendar_that_answers_with_a_block_at_once(outside: Outside) -> None:
    service = outside.service()
    outside.one.misbehave("body", path="/digest", data=append(b"x") + SHA256 + in_block(5))
    assert await service.read(DIGEST, await service.submit(DIGEST)) == Standing(ATTESTED, 5)


# --- queued is not submitted ----------------------------------------------------------------------


async def test_what_no_calendar_could_be_reached_for_has_not_left_this_machine(outside: Outside) -> None:
    url = outside.one.url
    await outside.one.__aexit__(None, None, None)
    with pytest.raises(Unavailable, match="could not be reached") as caught:
        await outside.service(url).submit(DIGEST)
    assert not isinstance(caught.value, Unanswered)


@pytest.mark.parametrize("mischief", ["refuse", "cut", "status"])
async def test_what_a_calendar_got_and_did_not_take_is_unanswered(outside: Outside, mischief: str) -> None:
    outside.one.misbehave(mischief, times=None, status=503)
    dead = "http://127.0.0.1:9"
    with pytest.raises(Unanswered):
        await outside.service(dead, outside.one.url).submit(DIGEST)


async def test_a_slow_calendar_costs_its_time_and_no_more(outside: Outside) -> None:
    outside.one.misbehave("hang", times=None)
    service = outside.service(timeout_s=30.0)
    task = asyncio.create_task(service.submit(DIGEST))
    await outside.one.wait_for(1)
    outside.clock.advance(30.0)
    with pytest.raises(Unanswered, match="did not answer"):
        await task


async def test_a_failed_attempt_is_made_again_by_the_guard(outside: Outside) -> None:
    outside.one.misbehave("status", times=1, status=503)
    service = OpenTimestamps((outside.one.url,), outside.http, SystemClock())
    assert attestations(await service.submit(DIGEST)) == [outside.one.url]
    assert outside.one.count("/digest") == 2


async def test_an_attempt_that_was_sent_counts_although_the_last_one_was_not(outside: Outside) -> None:
    """The first attempt arrives and fails, then the calendar is gone."""
    outside.one.misbehave("status", times=None, status=503)
    site = Site("calendar", outside.one.url, outside.http, outside.clock, timeout_s=10.0, attempts=2)
    task = asyncio.create_task(site.ask("/digest", bytes_max=100, accept="*/*", post=b"x"))
    await outside.one.wait_for(1)
    await outside.one.__aexit__(None, None, None)
    while not task.done():
        outside.clock.advance(0.05)
        await asyncio.sleep(0)
    assert isinstance(task.exception(), Unavailable)
    assert not isinstance(task.exception(), Unreached)


async def test_a_calendar_that_keeps_failing_is_left_alone_and_health_says_so(outside: Outside) -> None:
    service = outside.service()
    assert service.health().status == "pass"
    outside.one.misbehave("status", times=None, status=500)
    for _ in range(BREAKER_FAILURES):
        with pytest.raises(Unanswered):
            await service.submit(DIGEST)
    with pytest.raises(Unavailable) as caught:
        await service.submit(DIGEST)
    assert not isinstance(caught.value, Unanswered)  # it was not asked
    assert outside.one.count("/digest") == BREAKER_FAILURES
    assert service.health().status == "warn"
    assert "127.0.0.1" in service.health().output


# --- calendars that lie ---------------------------------------------------------------------------


def _deep(depth: int) -> bytes:
    return SHA256 * depth + in_block(5)


def _wide(count: int) -> bytes:
    return b"\xff\x08" * count + SHA256 + pending(NOBODY)


BAD_REPLIES: dict[str, bytes] = {
    "nothing": b"",
    "text": b"Sorry, come again",
    "ends early": append(b"x") + SHA256,
    "goes on": pending(NOBODY) + b"\x00",
    "too long": pending(NOBODY).rjust(20_000, b"\x08"),
    "too deep": _deep(DEPTH_MAX + 1),
    "more depth than the stack": SHA256 * 9_900,
    "too wide": _wide(NODES_MAX),
    "argument too long": b"\xf0" + varbytes(bytes(5_000)) + SHA256 + pending(NOBODY),
    "empty argument": b"\xf0\x00" + pending(NOBODY),
    "endless length": b"\xf0" + b"\x80" * 40 + b"\x01" + pending(NOBODY),
    "unknown operation": b"\x42" + pending(NOBODY),
    "an operation that the library warns of": b"\xf2" + pending(NOBODY),
    "an operation with another library": b"\x67" + pending(NOBODY),
    "message too long": append(bytes(4_000)) + append(bytes(4_000)) + SHA256 + pending(NOBODY),
    "address with other characters": pending(f"{NOBODY}/?a=b"),
    "address that is none": b"\x00" + bytes.fromhex("83dfe30d2ef90c8e") + varbytes(varbytes(b"\xff\xfe")),
    "payload with a tail": b"\x00" + bytes.fromhex("0588960d73d71901") + varbytes(b"\x05\x05"),
    "unknown attestation alone": b"\x00" + bytes(8) + varbytes(b"whatever"),
    "height zero": in_block(0),
    "height beyond all": in_block(10**30),
    "block without a digest": append(b"x") + in_block(5),
}


@pytest.mark.parametrize("reply", BAD_REPLIES.values(), ids=BAD_REPLIES.keys())
async def test_a_reply_that_is_no_timestamp_is_refused(outside: Outside, reply: bytes) -> None:
    service = outside.service()
    outside.one.misbehave("body", path="/digest", data=reply)
    with pytest.raises(Unanswered):
        await service.submit(DIGEST)

    receipt = await service.submit(DIGEST)
    (commitment,) = (m for m, _ in stock(receipt).timestamp.all_attestations())
    outside.one.misbehave("body", path=f"/timestamp/{commitment.hex()}", data=reply)
    try:
        better = await service.upgrade(DIGEST, receipt)
    except Unavailable:
        return
    # What is a timestamp, though it shows nothing more, may stay in the proof; it makes it no stronger.
    assert (await service.read(DIGEST, better)).state == PENDING
    stock(better)


_PIECES = [SHA256, b"\xff", b"\x00", append(b"x"), prepend(bytes(40)), in_block(5), pending(NOBODY)]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=3)), max_size=40).map(b"".join))
def test_whatever_follows_a_proofs_head_is_read_or_refused(body: bytes) -> None:
    """No foreign error escapes, and what is read is what the stock client reads."""
    head = DetachedTimestampFile.HEADER_MAGIC + b"\x01\x08" + DIGEST

    async def read() -> Standing:
        async with aiohttp.ClientSession() as http:
            service = OpenTimestamps((NOBODY,), http, ManualClock())
            return await service.read(DIGEST, head + body)

    try:
        standing = asyncio.run(read())
    except Rejected:
        return
    assert standing.state == (ATTESTED if "5" in attestations(head + body) else PENDING)


@pytest.mark.parametrize(
    ("mischief", "how", "says"),
    [
        ("oversized", {"size": 5_000_000, "declared": True}, "more than 10000 bytes"),
        ("oversized", {"size": 5_000_000, "declared": False}, "more than 10000 bytes"),
        ("gzip_bomb", {"size": 1_000_000}, "compressed"),
        ("redirect", {}, "redirects"),
    ],
)
async def test_a_reply_that_is_none_is_refused(
    outside: Outside, mischief: str, how: dict[str, Any], says: str
) -> None:
    service, lead = outside.service(), how | {"to": outside.elsewhere.url}
    outside.one.misbehave(mischief, path="/digest", **lead)
    with pytest.raises(Unanswered, match=says):
        await service.submit(DIGEST)
    receipt = await service.submit(DIGEST)
    outside.one.misbehave(mischief, times=None, **lead)
    with pytest.raises(Unavailable, match=says):
        await service.upgrade(DIGEST, receipt)
    assert outside.elsewhere.count() == 0


async def test_an_address_inside_a_proof_is_never_followed(outside: Outside) -> None:
    service = outside.service()
    outside.one.named = outside.elsewhere.url
    receipt = await service.submit(DIGEST)
    standing = await service.read(DIGEST, receipt)
    assert standing.state == PENDING
    assert outside.elsewhere.url in standing.remark
    outside.one.attest()
    assert await service.upgrade(DIGEST, receipt) == receipt
    assert outside.elsewhere.count() == 0
    assert outside.one.count() == 1  # nor is another one asked in its place


@pytest.mark.parametrize(
    "change", [str.upper, lambda url: url + "/", lambda url: url + "/x", lambda url: url + "0"]
)
async def test_only_a_listed_address_is_asked(outside: Outside, change: Callable[[str], str]) -> None:
    outside.one.named = change(outside.one.url)
    service = outside.service()
    receipt = await service.submit(DIGEST)
    await service.upgrade(DIGEST, receipt)
    is_listed = outside.one.named.lower().rstrip("/") == outside.one.url
    assert (outside.one.count() == 2) == is_listed


async def test_the_calendar_named_in_a_listed_ones_answer_is_asked_if_it_is_listed(outside: Outside) -> None:
    """As the public pools do: one address takes digests, another one has the attestation."""
    outside.one.named = outside.two.url
    service = outside.service(outside.one.url, outside.two.url)
    outside.two.misbehave("refuse", path="/digest")
    receipt = await service.submit(DIGEST)
    assert attestations(receipt) == [outside.two.url]
    outside.two.commitments = outside.one.commitments
    outside.two.attest()
    assert (await service.read(DIGEST, await service.upgrade(DIGEST, receipt))).state == ATTESTED


async def test_an_attestation_of_another_digest_is_never_verified(outside: Outside) -> None:
    service = outside.service(headers=True)
    receipt = await service.submit(DIGEST)
    outside.one.lies_about_digest = True
    outside.one.attest()
    receipt = await service.upgrade(DIGEST, receipt)
    with pytest.raises(Rejected, match="does not hold this digest"):
        await service.verify(DIGEST, receipt)


async def test_one_calendars_lie_does_not_hide_anothers_truth(outside: Outside) -> None:
    service = outside.service(outside.one.url, outside.two.url, headers=True)
    receipt = await service.submit(DIGEST)
    outside.one.lies_about_digest = True
    outside.one.attest()
    outside.two.attest()
    receipt = await service.upgrade(DIGEST, receipt)
    assert (await service.verify(DIGEST, receipt)).height == FIRST_HEIGHT + 1


# --- proofs on disk -------------------------------------------------------------------------------


async def test_a_proof_of_another_note_or_a_changed_one_is_refused(outside: Outside) -> None:
    service = outside.service()
    receipt = await service.submit(DIGEST)
    wrong = [(DIGEST, b""), (DIGEST, receipt[:-1]), (DIGEST, receipt + bytes(200_000))]
    for call in (service.read, service.upgrade):
        for digest, data in [(sha256(b"another note"), receipt), *wrong]:
            with pytest.raises(Rejected):
                await call(digest, data)


async def test_a_changed_byte_of_a_proof_is_refused_or_changes_nothing(outside: Outside) -> None:
    """Each byte in turn. Only the pending attestation beside the path may change: it shows nothing."""
    service = outside.service(headers=True)
    receipt = await outside.attested(service)
    good = await service.verify(DIGEST, receipt)
    beside = pending(outside.one.url)
    begin = receipt.index(beside)
    for at in range(len(receipt)):
        changed = bytearray(receipt)
        changed[at] ^= 0x01
        outside.clock.advance(60.0)  # the guard lets so many calls out in a minute
        try:
            standing = await service.verify(DIGEST, bytes(changed))
        except NodeError:
            continue
        assert standing == good
        assert begin <= at < begin + len(beside)


# --- header sources -------------------------------------------------------------------------------


GENESIS = bytes.fromhex(
    "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f61"
    "7fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c"
)
GENESIS_HASH = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"


class OneBlock(VendorStandIn):
    """A header source that knows one block."""

    def __init__(self, block_hash: str, header: str) -> None:
        super().__init__()
        self.block_hash, self.header = block_hash, header

    def answer(self, asked: Seen) -> Answered:
        text = self.header if asked.path.endswith("/header") else self.block_hash
        return Answered(text.encode(), content_type="text/plain")


async def _header(outside: Outside, block_hash: str, header: str, target_max: int) -> tuple[bytes, datetime]:
    async with OneBlock(block_hash, header) as source:
        site = Site("header source", source.url, outside.http, outside.clock, timeout_s=20.0, attempts=1)
        found = await BlockHeaders(site, target_max=target_max).at(1)
        assert source.requests[1].path == f"/block/{block_hash}/header"
        return found.merkle_root, found.time


async def test_the_genesis_block_is_read_rightly(outside: Outside) -> None:
    """A real header, with real work."""
    root, time = await _header(outside, GENESIS_HASH, GENESIS.hex(), WORK)
    assert root[::-1].hex() == "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
    assert time == datetime(2009, 1, 3, 18, 15, 5, tzinfo=UTC)


def with_bits(bits: int) -> bytes:
    """The genesis block with another target."""
    return GENESIS[:72] + bits.to_bytes(4, "little") + GENESIS[76:]


def mined() -> bytes:
    """What anybody makes in a moment."""
    chain = HeaderStandIn()
    return chain.headers[chain.mine(bytes(32))]


WORK = 0xFFFF << 208


@pytest.mark.parametrize(
    ("header", "target_max", "says"),
    [
        (GENESIS, TARGET_MAX, "too little work"),
        (mined(), WORK, "too little work"),
        (with_bits(0x00000000), REGTEST_TARGET_MAX, "too little work"),
        (with_bits(0x1D80FFFF), REGTEST_TARGET_MAX, "too little work"),
        (with_bits(0xFF7FFFFF), REGTEST_TARGET_MAX, "too little work"),
        (with_bits(0x1B0404CB), REGTEST_TARGET_MAX, "lacks the work"),
    ],
    ids=["as easy as the first", "as easy as in tests", "target 0", "negative", "beyond 256 bits", "not met"],
)
async def test_a_header_must_meet_a_target_that_is_worth_something(
    outside: Outside, header: bytes, target_max: int, says: str
) -> None:
    with pytest.raises(Rejected, match=says):
        await _header(outside, HeaderStandIn.hash_of(header), header.hex(), target_max)


@pytest.mark.parametrize(
    ("block_hash", "header", "says"),
    [
        (GENESIS_HASH, GENESIS[:-1].hex() + "00", "does not have the hash"),
        (GENESIS_HASH, GENESIS.hex()[:-2], "not the hex text"),
        *((wrong, GENESIS.hex(), "not the hex text") for wrong in ("", "0x12", "<html>", "../../etc")),
    ],
)
async def test_a_header_of_another_block_or_no_header_is_refused(
    outside: Outside, block_hash: str, header: str, says: str
) -> None:
    with pytest.raises(Rejected, match=says):
        await _header(outside, block_hash, header, WORK)


def test_compact_targets() -> None:
    """The examples of Bitcoin's developer reference."""
    assert target_of(0x1D00FFFF) == 0xFFFF << 208
    assert target_of(0x181BC330) == 0x1BC330 << 168
    assert target_of(0x207FFFFF) == REGTEST_TARGET_MAX
    assert target_of(0x01003456) == 0x00
    assert target_of(0x01123456) == 0x12
    assert target_of(0x02008000) == 0x80
    assert target_of(0x05009234) == 0x92340000
    assert target_of(0x04923456) == 0  # negative


async def test_without_a_header_source_nothing_is_verified(outside: Outside) -> None:
    service = outside.service()
    assert not service.verifies
    receipt = await outside.attested(service)
    with pytest.raises(Unavailable, match="block_headers_url"):
        await service.verify(DIGEST, receipt)
    assert (await service.read(DIGEST, receipt)).state == ATTESTED


@pytest.mark.parametrize("mischief", ["refuse", "status", "redirect", "oversized"])
async def test_a_header_source_that_fails_verifies_nothing(outside: Outside, mischief: str) -> None:
    service = outside.service(headers=True)
    receipt = await outside.attested(service)
    outside.chain.misbehave(mischief, times=None, status=500, to=outside.elsewhere.url, size=10_000)
    with pytest.raises((Unavailable, Rejected)):
        await service.verify(DIGEST, receipt)
    assert outside.elsewhere.count() == 0
    outside.chain.behave()
    outside.chain.headers.clear()
    with pytest.raises(Unavailable, match="does not know block"):
        await service.verify(DIGEST, receipt)


# --- the library ----------------------------------------------------------------------------------


def test_the_library_is_imported_only_when_needed() -> None:
    code = (
        "import sys, json, node.audit.anchors.opentimestamps, node.audit.anchors.anchoring;"
        "print(json.dumps([m for m in sys.modules if m.split('.')[0] in ('opentimestamps', 'bitcoin')]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(out.stdout) == []


def test_a_timestamp_built_by_the_library_is_what_the_stand_in_writes() -> None:
    """So that the stand-in's bytes are the format's."""
    stamp = Timestamp(DIGEST)
    end = stamp.ops.add(OpSHA256())
    end.attestations.add(PendingAttestation(NOBODY))
    end.attestations.add(BitcoinBlockHeaderAttestation(900_001))
    context = BytesSerializationContext()
    stamp.serialize(context)
    first, last = in_block(900_001), pending(NOBODY)
    assert context.getbytes() == SHA256 + b"\xff" + first + last
    assert prepend(b"a")[0] == 0xF1


def test_a_list_without_calendars_or_with_too_many_is_refused() -> None:
    for calendars in ((), tuple(f"http://127.0.0.1:{port}" for port in range(1, CALENDARS_MAX + 2))):
        with pytest.raises(Misconfigured, match="anchor_calendars"):
            OpenTimestamps(calendars, None, ManualClock())
