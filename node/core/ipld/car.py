"""CAR files: a header with roots, then blocks behind each other. Writes version 1, reads 1 and 2.

Source: CARv1 and CARv2 specifications of IPLD.

``CarReader`` is fed chunks of any size and gives blocks that match their CIDs; it holds at most one section
and what was fed. It reads a v2 file's payload and passes over its index. Pure: no files, no network.
"""

from __future__ import annotations

from collections.abc import Sequence

from cbrrr import CID

from node.core.errors import Rejected
from node.core.ipld import dagcbor
from node.core.ipld.cid import COMPUTED, DIGEST_BYTES_MAX, Cid, decode_varint, encode_varint, read_cid
from node.core.ipld.limits import BLOCK_BYTES_MAX

ROOTS_MAX = 1_000

_VARINT_BYTES_MAX = 9
_CID_BYTES_MAX = 4 * _VARINT_BYTES_MAX + DIGEST_BYTES_MAX
_HEADER_SPARE_BYTES = 64
"""What a header takes beside its roots (17 bytes and their count)."""
_ROOT_SPARE_BYTES = 8
"""What DAG-CBOR puts before a CID: tag, length and a zero byte."""

_GZIP = b"\x1f\x8b"
_V2_PRAGMA = bytes.fromhex("0aa16776657273696f6e02")
_V2_HEADER_BYTES = 40
_V2_START = len(_V2_PRAGMA) + _V2_HEADER_BYTES


def refuse_gzip(start: bytes, name: str) -> None:
    """Raises ``Rejected`` where ``name`` begins as a compressed file does, and so as no CAR."""
    if start.startswith(_GZIP):
        raise Rejected(f"{name} is compressed with gzip; unpack it first: gunzip FILE.gz")


def header(roots: Sequence[Cid]) -> bytes:
    """The start of a CARv1 with these roots. Raises ``Rejected`` when there are too many."""
    if len(roots) > ROOTS_MAX:
        raise Rejected(f"a CAR has at most {ROOTS_MAX} roots here")
    data = dagcbor.encode({"roots": [CID(bytes(root)) for root in roots], "version": 1})
    return encode_varint(len(data)) + data


def section(cid: Cid, data: bytes) -> bytes:
    """One block as it stands in a CARv1."""
    name = bytes(cid)
    return encode_varint(len(name) + len(data)) + name + data


class CarReader:
    """Takes a CAR in chunks. Every method raises ``Rejected`` for what is no CAR, for a block that does not
    match its CID or cannot be checked, and for what is over the limits; after that the reader is of no use.
    """

    def __init__(self, block_bytes_max: int = BLOCK_BYTES_MAX, roots_max: int = ROOTS_MAX) -> None:
        self._section_bytes_max = _CID_BYTES_MAX + block_bytes_max
        self._block_bytes_max = block_bytes_max
        self._roots_max = roots_max
        self._buffer = bytearray()
        self._roots: tuple[Cid, ...] | None = None
        self._broken: str | None = None
        self._is_v2 = False
        self._skip = 0
        self._payload: int | None = None
        """Bytes of a v2 file's payload that were not taken yet; None: up to the end of the file."""

    @property
    def roots(self) -> tuple[Cid, ...] | None:
        """None until the header has come."""
        return self._roots

    def feed(self, chunk: bytes) -> list[tuple[Cid, bytes]]:
        """The blocks that ``chunk`` completes, each checked, in their order."""
        if self._broken is not None:
            raise Rejected(self._broken)
        self._buffer += chunk
        try:
            return self._take()
        except Rejected as exc:
            self._broken = str(exc)
            self._buffer.clear()
            raise

    def finish(self) -> None:
        """To be called at the end of the file: refuses one that was cut off."""
        if self._broken is not None:
            raise Rejected(self._broken)
        if self._roots is None or self._buffer or self._payload:
            raise Rejected("the CAR is cut off")

    def _take(self) -> list[tuple[Cid, bytes]]:
        blocks: list[tuple[Cid, bytes]] = []
        offset = 0
        while True:
            passed = min(self._skip, len(self._buffer) - offset)
            self._skip -= passed
            offset += passed
            if self._payload == 0:
                offset = len(self._buffer)
            if self._is_v2 and self._payload is None:
                end = offset + _V2_HEADER_BYTES
                if end > len(self._buffer):
                    break
                self._v2_header(bytes(self._buffer[offset:end]))
                offset = end
                continue
            found = self._section(offset)
            if found is None:
                break
            start, end = found
            if self._roots is None:
                self._header(offset, start, end)
            else:
                blocks.append(self._block(start, end))
            offset = end
        del self._buffer[:offset]
        return blocks

    def _v2_header(self, data: bytes) -> None:
        """16 bytes of characteristics, then offset and size of the payload and offset of the index."""
        start, size = int.from_bytes(data[16:24], "little"), int.from_bytes(data[24:32], "little")
        if start < _V2_START or size == 0:
            raise Rejected("a CAR of version 2 has no payload or one inside its header")
        self._skip, self._payload = start - _V2_START, size

    def _section(self, offset: int) -> tuple[int, int] | None:
        """Start and end of the section at ``offset``; None when it is not here yet."""
        if len(self._buffer) - offset < _VARINT_BYTES_MAX and all(
            byte & 0x80 for byte in self._buffer[offset:]
        ):
            return None
        length, start = decode_varint(self._buffer, offset)
        width = start - offset
        if self._roots is None:
            limit = _HEADER_SPARE_BYTES + self._roots_max * (_CID_BYTES_MAX + _ROOT_SPARE_BYTES)
        else:
            limit = self._section_bytes_max
        if not 0 < length <= limit:
            raise Rejected(
                f"a CAR's section of {length} bytes is empty or over the limit of {limit}{self._named(start)}"
            )
        if self._payload is not None and width + length > self._payload:
            raise Rejected("a CAR's payload ends inside a section")
        if start + length > len(self._buffer):
            return None
        if self._payload is not None:
            self._payload -= width + length
        return start, start + length

    def _named(self, start: int) -> str:
        """The block of a section, as far as it has come: for people who look for it."""
        try:
            return "" if self._roots is None else f": block {read_cid(self._buffer, start, any_hash=True)[0]}"
        except Rejected:
            return ""

    def _header(self, offset: int, start: int, end: int) -> None:
        if not self._is_v2 and self._buffer[offset:end] == _V2_PRAGMA:
            self._is_v2 = True
            return
        roots = dagcbor.decode_foreign(bytes(self._buffer[start:end]))[1]
        if len(roots) > self._roots_max:
            raise Rejected(f"a CAR has more than {self._roots_max} roots")
        if header(roots) != self._buffer[offset:end]:
            raise Rejected("not a CAR: the header is not that of version 1")
        self._roots = tuple(roots)

    def _block(self, start: int, end: int) -> tuple[Cid, bytes]:
        cid, start = read_cid(self._buffer, start, any_hash=True)
        if end < start:
            raise Rejected("a CAR's section is shorter than its CID")
        if end - start > self._block_bytes_max:
            raise Rejected(f"block {cid} has {end - start} bytes, over the limit of {self._block_bytes_max}")
        with memoryview(self._buffer) as view:
            data = bytes(view[start:end])
        if cid.function not in COMPUTED:
            raise Rejected(f"block {cid} has hash function 0x{cid.function:x}, which is not supported here")
        if not cid.matches(data):
            raise Rejected(f"a block does not match its CID {cid}")
        return cid, data
