"""A stand-in for an OpenTimestamps calendar, and one for a source of Bitcoin block headers, on loopback.

The calendar speaks the two calls: ``POST /digest`` answers with a pending attestation, ``GET
/timestamp/<hex>`` with 404 until the test lets a block hold the commitment (``attest``), then with the path
to that block. The header source speaks two of Esplora's calls. Bytes are written here by hand, from the
format's description, so that what the node reads does not come from the library that it reads with. Blocks
are those of a regression-test chain: real headers with next to no work.

    async with HeaderStandIn() as chain, CalendarStandIn(chain) as calendar:
        ...  # submit to calendar.url
        calendar.attest()
        ...  # upgrade; verify at chain.url

A calendar lies on demand: ``named`` is the address that it gives itself, ``lies_about_digest`` has it attest
another digest than it was asked about; for the rest (slow, dead, huge, redirecting) see ``vendor.py``.

By hand, attesting everything after a while: ``python -m tests.simulators.calendar --after 5``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib

from tests.simulators.vendor import Answered, Seen, VendorStandIn

MEDIA_TYPE = "application/vnd.opentimestamps.v1"
PENDING_TAG = bytes.fromhex("83dfe30d2ef90c8e")
BITCOIN_TAG = bytes.fromhex("0588960d73d71901")
REGTEST_BITS = 0x207FFFFF
REGTEST_TARGET_MAX = 0x7FFFFF << 232
"""The easiest target of a regression-test chain, whose blocks anybody makes at once."""
FIRST_HEIGHT = 900_000
BLOCK_TIME = 1_767_225_600
"""2026-01-01 00:00 UTC, the time of the first block; ten minutes between blocks."""
_TRANSACTION_HEAD = bytes.fromhex("01000000") + b"\x01" * 40 + bytes.fromhex("6a20")
_TRANSACTION_TAIL = bytes(4)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def varuint(value: int) -> bytes:
    """Unsigned LEB128."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def varbytes(data: bytes) -> bytes:
    return varuint(len(data)) + data


def append(data: bytes) -> bytes:
    return b"\xf0" + varbytes(data)


def prepend(data: bytes) -> bytes:
    return b"\xf1" + varbytes(data)


SHA256 = b"\x08"


def pending(address: str) -> bytes:
    """A pending attestation as the last item of a timestamp."""
    return b"\x00" + PENDING_TAG + varbytes(varbytes(address.encode()))


def in_block(height: int) -> bytes:
    """A Bitcoin attestation as the last item of a timestamp."""
    return b"\x00" + BITCOIN_TAG + varbytes(varuint(height))


class HeaderStandIn(VendorStandIn):
    """A chain of blocks that hold what tests want, by height and by hash."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.headers: dict[int, bytes] = {}

    def mine(self, merkle_root: bytes) -> int:
        """A new block with this Merkle root; its height."""
        height = FIRST_HEIGHT + len(self.headers)
        before = self.headers.get(height - 1)
        parent = bytes(32) if before is None else sha256(sha256(before))
        numbers = (BLOCK_TIME + 600 * len(self.headers), REGTEST_BITS)
        head = (2).to_bytes(4, "little") + parent + merkle_root
        head += b"".join(number.to_bytes(4, "little") for number in numbers)
        for nonce in range(2**16):
            header = head + nonce.to_bytes(4, "little")
            if sha256(sha256(header))[31] < 0x80:
                self.headers[height] = header
                return height
        raise AssertionError("no nonce will do")

    @staticmethod
    def hash_of(header: bytes) -> str:
        return sha256(sha256(header))[::-1].hex()

    def answer(self, asked: Seen) -> Answered:
        parts = asked.path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "block-height" and (header := self.headers.get(int(parts[1]))):
            return self._text(self.hash_of(header))
        if len(parts) == 3 and (parts[0], parts[2]) == ("block", "header"):
            for header in self.headers.values():
                if self.hash_of(header) == parts[1]:
                    return self._text(header.hex())
        return Answered(b"Block not found", 404, content_type="text/plain")

    @staticmethod
    def _text(text: str) -> Answered:
        return Answered(text.encode(), content_type="text/plain")


class CalendarStandIn(VendorStandIn):
    """``commitments`` are what it has taken; ``digests`` what it was sent."""

    def __init__(self, chain: HeaderStandIn, port: int = 0) -> None:
        super().__init__(port)
        self.chain = chain
        self.named = ""
        self.lies_about_digest = False
        self.digests: list[bytes] = []
        self.commitments: dict[bytes, bytes] = {}
        """Commitment to the timestamp that it has by now; empty until a block holds it."""

    def attest(self) -> None:
        """Let a block of its own hold each commitment that none holds yet."""
        for commitment, done in self.commitments.items():
            if not done:
                self.commitments[commitment] = self._mined(commitment)

    def _mined(self, commitment: bytes) -> bytes:
        if self.lies_about_digest:
            commitment = sha256(commitment)
        transaction = sha256(sha256(_TRANSACTION_HEAD + commitment + _TRANSACTION_TAIL))
        sibling = sha256(b"another transaction")
        height = self.chain.mine(sha256(sha256(transaction + sibling)))
        double = SHA256 + SHA256
        path = prepend(_TRANSACTION_HEAD) + append(_TRANSACTION_TAIL) + double + append(sibling) + double
        return path + in_block(height)

    def answer(self, asked: Seen) -> Answered:
        if asked.path == "/digest":
            if len(asked.body) > 64 or not asked.body:
                return Answered(b"digest too long", 400, content_type="text/plain")
            self.digests.append(asked.body)
            salt = sha256(self.url.encode())[:8]
            self.commitments.setdefault(sha256(asked.body + salt), b"")
            return self._stamp(append(salt) + SHA256 + pending(self.named or self.url))
        if asked.path.startswith("/timestamp/"):
            done = self.commitments.get(bytes.fromhex(asked.path.removeprefix("/timestamp/")))
            if done:
                return self._stamp(done)
            reason = b"Not found" if done is None else b"Pending confirmation in Bitcoin blockchain"
            return Answered(reason, 404, content_type="text/plain")
        return Answered(b"Not found", 404, content_type="text/plain")

    @staticmethod
    def _stamp(timestamp: bytes) -> Answered:
        return Answered(timestamp, content_type=MEDIA_TYPE)


async def _serve(after: float) -> None:
    async with HeaderStandIn() as chain, CalendarStandIn(chain) as calendar:
        print(f"calendar {calendar.url}\nheaders {chain.url}", flush=True)
        while True:
            await asyncio.sleep(after)
            calendar.attest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A calendar and a header source on loopback")
    parser.add_argument("--after", type=float, default=5.0, help="seconds until a block holds what was sent")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().after))
