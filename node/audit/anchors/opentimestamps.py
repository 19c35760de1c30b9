"""Anchors through OpenTimestamps: calendars that gather digests into a Bitcoin transaction.

A receipt is a standard detached proof (``.ots``) over the checkpoint note: the stock ``ots info`` and
``ots verify`` read it beside the note. Nothing of the library ``opentimestamps`` leaves this file; it is
imported when first needed.

Rules:
1. A calendar sees ``SHA-256(digest || 16 random bytes)``, so the digest itself is not shown to it.
2. Only addresses in the operator's list are asked. A proof names calendars too: such an address is compared
   with the list and never followed (whoever writes a proof could otherwise have this node ask anything).
3. What a calendar sends is untrusted: at most ``REPLY_BYTES_MAX``, walked without recursion first (only the
   three operations that calendars use, so many nodes, so deep), then read by the library, then written out
   with the proof and read again before it replaces the proof.
4. A proof says at best ``attested``: a calendar wrote it, and it may lie. ``verified`` takes a block header
   (``block_headers.py``) whose Merkle root is what the proof arrives at.

Calendars speak ``POST /digest`` (32 bytes → a timestamp, usually with a pending attestation) and
``GET /timestamp/<hex>`` (404 until the transaction is in a block). The ``pool`` addresses of the public
calendars only take digests and answer in a calendar's name: list the calendars, or the attestation is never
fetched. Source: github.com/opentimestamps (python-opentimestamps 0.4, the format and the two calls).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from node.audit.anchors.anchor import ATTESTED, HEALTH, PENDING, VERIFIED, Standing, Unanswered
from node.audit.anchors.block_headers import HEIGHT_MAX, TARGET_MAX, BlockHeaders
from node.audit.witnesses.site import ATTEMPTS, Site
from node.core.clock import Clock, random_bytes
from node.core.errors import Misconfigured, NodeError, NotFound, Rejected, Unavailable
from node.core.http import Http, Unreached
from node.core.model import Check

TIMEOUT_S = 20.0
CALENDARS_MAX = 16
REPLY_BYTES_MAX = 10_000
"""As the stock client; real replies are under 2 kB."""
RECEIPT_BYTES_MAX = 128 * 1024
NODES_MAX = 4_096
DEPTH_MAX = 200
"""A path to a block takes about 110 operations; the library reads 256."""
ASKED_MAX = 16
"""Pending attestations asked for by one upgrade, and blocks looked up by one verification."""
NONCE_BYTES = 16

_MEDIA_TYPE = "application/vnd.opentimestamps.v1"
_MORE, _ATTESTATION, _SHA256, _APPEND, _PREPEND = 0xFF, 0x00, 0x08, 0xF0, 0xF1
_ARGUMENT_BYTES_MAX = 4_096
_PAYLOAD_BYTES_MAX = 1_024
_TAG_BYTES = 8


class OpenTimestamps:
    """An ``Anchor`` over the calendars in ``calendars`` and, where named, a source of block headers.

    ``http`` belongs to whoever built it. Raises ``Misconfigured`` for a list that is empty or too long."""

    name = "opentimestamps"
    is_off = False

    def __init__(
        self,
        calendars: Sequence[str],
        http: Http,
        clock: Clock,
        *,
        block_headers_url: str = "",
        timeout_s: float = TIMEOUT_S,
        attempts: int = ATTEMPTS,
        target_max: int = TARGET_MAX,
    ) -> None:
        if not 0 < len(calendars) <= CALENDARS_MAX:
            raise Misconfigured(f"setting log.anchor_calendars takes 1 to {CALENDARS_MAX} calendars")
        self._calendars = {
            _canonical(url): Site("calendar", url, http, clock, timeout_s=timeout_s, attempts=attempts)
            for url in calendars
        }
        self._headers: BlockHeaders | None = None
        if block_headers_url:
            self._headers = BlockHeaders(
                Site("header source", block_headers_url, http, clock, timeout_s=timeout_s, attempts=attempts),
                target_max=target_max,
            )

    @property
    def verifies(self) -> bool:
        return self._headers is not None

    async def submit(self, digest: bytes) -> bytes:
        """See ``Anchor``. All calendars are asked at once; those that answer are in the receipt."""
        await asyncio.to_thread(_library)
        nonce = random_bytes(NONCE_BYTES)
        commitment = _commitment(digest, nonce)
        bodies = await asyncio.gather(
            *(self._ask(site, "/digest", post=commitment) for site in self._calendars.values())
        )
        receipt = b""
        errors: list[NodeError] = []
        for body in bodies:
            try:
                if isinstance(body, NodeError):
                    raise body
                fresh = _begun(digest, nonce, body)
                receipt = _merged(digest, receipt, fresh) if receipt else fresh
            except NodeError as exc:
                errors.append(exc)
        if receipt:
            return receipt
        told = _told(errors)
        if all(isinstance(error, Unreached) for error in errors):
            raise Unavailable(told)
        raise Unanswered(told)

    async def upgrade(self, digest: bytes, receipt: bytes) -> bytes:
        """See ``Anchor``. Asks the listed calendars whose pending attestations the receipt holds."""
        await asyncio.to_thread(_library)
        asked = [
            (message, site)
            for message, uri in _pending(_decode(digest, receipt))
            if (site := self._calendars.get(_canonical(uri))) is not None
        ][:ASKED_MAX]
        bodies = await asyncio.gather(
            *(self._ask(site, f"/timestamp/{message.hex()}") for message, site in asked)
        )
        errors: list[NodeError] = []
        for (message, _), body in zip(asked, bodies, strict=True):
            try:
                if isinstance(body, NodeError):
                    raise body
                receipt = _grafted(digest, receipt, message, body)
            except NotFound:
                continue  # not in a block yet
            except NodeError as exc:
                errors.append(exc)
        if asked and len(errors) == len(asked):
            raise Unavailable(_told(errors))
        return receipt

    async def read(self, digest: bytes, receipt: bytes) -> Standing:
        await asyncio.to_thread(_library)
        proof = _decode(digest, receipt)
        blocks = _blocks(proof)
        if blocks:
            return Standing(ATTESTED, height=blocks[0][0])
        named = [uri for _, uri in _pending(proof)]
        if not named:
            raise Rejected("the proof holds neither a pending nor a Bitcoin attestation")
        if any(_canonical(uri) in self._calendars for uri in named):
            return Standing(PENDING)
        unlisted = f"to fetch the attestation, add {named[0][:200]} to log.anchor_calendars"
        return Standing(PENDING, remark=unlisted)

    async def verify(self, digest: bytes, receipt: bytes) -> Standing:
        """See ``Anchor``. The lowest block that holds the digest counts."""
        if self._headers is None:
            raise Unavailable("no source of block headers is named: set log.block_headers_url")
        await asyncio.to_thread(_library)
        denied: Rejected | None = None
        unknown: Unavailable | None = None
        for height, merkle_root in _blocks(_decode(digest, receipt))[:ASKED_MAX]:
            try:
                header = await self._headers.at(height)
            except Unavailable as exc:
                unknown = exc
                continue
            if header.merkle_root == merkle_root:
                return Standing(VERIFIED, height, header.hash, header.time)
            denied = Rejected(f"block {height:,} does not hold this digest, by its header {header.hash}")
        raise unknown or denied or Rejected("the proof names no block")

    def health(self) -> Check:
        problems = [site.problem for site in self._calendars.values() if site.problem]
        if len(problems) < len(self._calendars):
            return Check(HEALTH, "pass", "; ".join(problems))
        return Check(HEALTH, "warn", f"checkpoints wait to be anchored: {'; '.join(problems)}")

    async def _ask(self, site: Site, path: str, post: bytes | None = None) -> bytes | NodeError:
        try:
            return await site.ask(path, bytes_max=REPLY_BYTES_MAX, accept=_MEDIA_TYPE, post=post)
        except NodeError as exc:
            return exc


def _told(errors: Sequence[NodeError]) -> str:
    return "; ".join(dict.fromkeys(str(error) for error in errors))


def _canonical(url: str) -> str:
    """The form in which an address of a proof is compared with the list."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2].lower()
    return f"{parts.scheme.lower()}://{host}{parts.path.rstrip('/')}"


# --- proofs: everything that touches the library --------------------------------------------------


@cache
def _library() -> Any:
    try:
        from opentimestamps.core import notary, op, serialize, timestamp
    except ImportError as exc:
        raise Unavailable("anchoring needs a package: pip install opentimestamps") from exc
    return SimpleNamespace(notary=notary, op=op, serialize=serialize, timestamp=timestamp)


@contextmanager
def _translated() -> Iterator[Any]:
    """The library; what it raises leaves as ``Rejected``."""
    ots = _library()
    try:
        yield ots
    except (
        ots.serialize.DeserializationError,
        ValueError,
        TypeError,
        AssertionError,  # how the library meets what its authors thought impossible
        RecursionError,
    ) as exc:
        raise Rejected(f"the timestamp cannot be read ({type(exc).__name__})") from exc


def _start(digest: bytes, nonce: bytes) -> tuple[Any, Any]:
    """The timestamp of the digest, and its end, the timestamp of the commitment that calendars see."""
    ots = _library()
    stamp = ots.timestamp.Timestamp(digest)
    return stamp, stamp.ops.add(ots.op.OpAppend(nonce)).ops.add(ots.op.OpSHA256())


def _commitment(digest: bytes, nonce: bytes) -> bytes:
    commitment: bytes = _start(digest, nonce)[1].msg
    return commitment


def _begun(digest: bytes, nonce: bytes, reply: bytes) -> bytes:
    """The proof with one calendar's reply to a fresh digest. Raises ``Rejected``."""
    stamp, end = _start(digest, nonce)
    answer = _parse(reply, end.msg)
    with _translated() as ots:
        end.merge(answer)
        proof = ots.timestamp.DetachedTimestampFile(ots.op.OpSHA256(), stamp)
    if not _blocks(proof) and not _pending(proof):
        raise Rejected("the calendar's answer attests nothing")
    return _encode(digest, proof)


def _merged(digest: bytes, receipt: bytes, other: bytes) -> bytes:
    """One proof of both. Raises ``Rejected`` where that would be too large."""
    proof, more = _decode(digest, receipt), _decode(digest, other)
    with _translated():
        proof.timestamp.merge(more.timestamp)
    return _encode(digest, proof)


def _grafted(digest: bytes, receipt: bytes, message: bytes, reply: bytes) -> bytes:
    """The proof with a calendar's reply to ``message``, which it holds. Raises ``Rejected``."""
    answer = _parse(reply, message)
    proof = _decode(digest, receipt)
    with _translated():
        for stamp in _stamps(proof):
            if stamp.msg == message:
                stamp.merge(answer)
                break
    return _encode(digest, proof)


def _parse(reply: bytes, message: bytes) -> Any:
    """What a calendar says of ``message``."""
    if _scan(reply, 0) != len(reply):
        raise Rejected("the calendar's answer goes on after its end")
    with _translated() as ots:
        return ots.timestamp.Timestamp.deserialize(ots.serialize.BytesDeserializationContext(reply), message)


def _decode(digest: bytes, receipt: bytes) -> Any:
    """A proof file, held to its limits and to the digest."""
    if len(receipt) > RECEIPT_BYTES_MAX:
        raise Rejected(f"the proof is longer than {RECEIPT_BYTES_MAX} bytes")
    with _translated() as ots:
        kind = ots.timestamp.DetachedTimestampFile
        head = kind.HEADER_MAGIC + bytes((kind.MAJOR_VERSION, _SHA256)) + digest
        if not receipt.startswith(head):
            raise Rejected("the proof is not one of this note's SHA-256")
        _scan(receipt, len(head))
        return kind.deserialize(ots.serialize.BytesDeserializationContext(receipt))


def _encode(digest: bytes, proof: Any) -> bytes:
    with _translated() as ots:
        context = ots.serialize.BytesSerializationContext()
        proof.serialize(context)
        receipt: bytes = context.getbytes()
    _decode(digest, receipt)  # merged parts may have become too much together
    return receipt


def _stamps(proof: Any) -> Iterator[Any]:
    """Every timestamp in the proof, the root first."""
    waiting = [proof.timestamp]
    while waiting:
        stamp = waiting.pop()
        yield stamp
        waiting.extend(stamp.ops.values())


def _blocks(proof: Any) -> list[tuple[int, bytes]]:
    """(height, Merkle root) of each Bitcoin attestation that can be one, lowest first."""
    kind = _library().notary.BitcoinBlockHeaderAttestation
    return sorted(
        (attestation.height, stamp.msg)
        for stamp in _stamps(proof)
        for attestation in stamp.attestations
        if isinstance(attestation, kind) and 0 < attestation.height <= HEIGHT_MAX and len(stamp.msg) == 32
    )


def _pending(proof: Any) -> list[tuple[bytes, str]]:
    """(message, address) of each pending attestation."""
    kind = _library().notary.PendingAttestation
    return sorted(
        (stamp.msg, attestation.uri)
        for stamp in _stamps(proof)
        for attestation in stamp.attestations
        if isinstance(attestation, kind)
    )


def _scan(data: bytes, at: int) -> int:
    """Walk one serialised timestamp from ``at``, computing nothing; where it ends. Raises ``Rejected``.

    A timestamp is items, each but the last after 0xff; an item is an attestation (0x00, 8-byte tag, payload
    with its length) or an operation followed by the timestamp of its result."""
    # For each open timestamp but the outermost: whether its operation is its parent's last item.
    is_last: list[bool] = []
    nodes = 0
    while True:
        tag, at = _byte(data, at)
        has_more = tag == _MORE
        if has_more:
            tag, at = _byte(data, at)
        nodes += 1
        if nodes > NODES_MAX:
            raise Rejected(f"the timestamp has more than {NODES_MAX} parts")
        if tag == _ATTESTATION:
            at = _skip(data, at + _TAG_BYTES, least=0, most=_PAYLOAD_BYTES_MAX)
            is_done = not has_more
            while is_done:
                if not is_last:
                    return at
                is_done = is_last.pop()
        elif tag in (_SHA256, _APPEND, _PREPEND):
            if tag != _SHA256:
                at = _skip(data, at, least=1, most=_ARGUMENT_BYTES_MAX)
            is_last.append(not has_more)
            if len(is_last) > DEPTH_MAX:
                raise Rejected(f"the timestamp is deeper than {DEPTH_MAX} operations")
        else:
            raise Rejected(f"the timestamp holds the operation {tag:#04x}, which no calendar needs")


def _byte(data: bytes, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise Rejected("the timestamp breaks off")
    return data[at], at + 1


def _skip(data: bytes, at: int, *, least: int, most: int) -> int:
    """Past a length (LEB128) and so many bytes."""
    length = shift = 0
    while True:
        byte, at = _byte(data, at)
        length |= (byte & 0x7F) << shift
        shift += 7
        if length > most:
            raise Rejected("the timestamp holds a part that is too long")
        if byte < 0x80:
            break
        if shift > 28:
            raise Rejected("the timestamp holds a length that is too long")
    if length < least or at + length > len(data):
        raise Rejected("the timestamp breaks off")
    return at + length
