"""Bitcoin block headers from a source that the operator named, each checked before it is believed.

The source speaks two of Esplora's calls, both answered in text: ``GET <url>/block-height/<height>`` → the
hash of the block at that height, ``GET <url>/block/<hash>/header`` → its header, 80 bytes in hex.

What is checked of a header (numbers as in ``_checked``):
1. it is 80 bytes;
2. its double SHA-256 is the hash that the source gave for the height;
3. its own target is a possible one, and no easier than ``target_max``;
4. its hash meets that target: the work was done.
What cannot be checked so: that it is part of the longest chain, and at that height. For this the source is
believed, and 3 makes a lie cost what mining such a block costs.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

from node.audit.witnesses.site import Site
from node.core.errors import NotFound, Rejected, Unavailable

HEADER_BYTES = 80
HEIGHT_MAX = 10**8
TARGET_MAX = (0xFFFF << 208) >> 40
"""The easiest target believed: difficulty 2^40 (1.1e12). Every Bitcoin block since 2018 is harder, and a
checkpoint of this log is younger than that."""

_TEXT_BYTES_MAX = 512
_HASH = re.compile(r"[0-9a-f]{64}")
_HEADER = re.compile(r"[0-9a-f]{160}")


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What a header says. ``merkle_root`` is in the header's own byte order, ``hash`` in hex as explorers
    write it (the other order); ``time`` is the miner's, right to about two hours."""

    height: int
    hash: str
    merkle_root: bytes
    time: datetime


class BlockHeaders:
    """Looks headers up. ``target_max`` is for chains other than Bitcoin's own."""

    def __init__(self, site: Site, *, target_max: int = TARGET_MAX) -> None:
        self._site = site
        self._target_max = target_max

    async def at(self, height: int) -> BlockHeader:
        """The header of the block at ``height``. Raises ``Unavailable`` (also where the source does not know
        the block), ``Rejected`` (what it says cannot be)."""
        try:
            block_hash = await self._text(f"/block-height/{height}", _HASH)
            header = await self._text(f"/block/{block_hash}/header", _HEADER)
        except NotFound as exc:
            raise Unavailable(f"{self._site.name} does not know block {height:,}") from exc
        return _checked(height, block_hash, bytes.fromhex(header), self._target_max)

    async def _text(self, path: str, wanted: re.Pattern[str]) -> str:
        body = await self._site.ask(path, bytes_max=_TEXT_BYTES_MAX, accept="text/plain")
        text = body.decode("latin-1").strip().lower()
        if wanted.fullmatch(text) is None:
            raise Rejected(f"{self._site.name} answered with something that is not the hex text asked for")
        return text


def target_of(bits: int) -> int:
    """The number that a block's hash may not exceed, from the header's compact form; 0 where that is none."""
    exponent, mantissa = bits >> 24, bits & 0x7FFFFF
    if bits & 0x800000 or exponent > 32:  # negative, or beyond 256 bits
        return 0
    return mantissa << 8 * (exponent - 3) if exponent >= 3 else mantissa >> 8 * (3 - exponent)


def _checked(height: int, block_hash: str, header: bytes, target_max: int) -> BlockHeader:
    if len(header) != HEADER_BYTES:  # 1
        raise Rejected(f"the header given for block {height:,} is not {HEADER_BYTES} bytes long")
    digest = hashlib.sha256(hashlib.sha256(header).digest()).digest()
    if digest[::-1].hex() != block_hash:  # 2
        raise Rejected(f"the header given for block {height:,} does not have the hash given for it")
    target = target_of(int.from_bytes(header[72:76], "little"))
    if not 0 < target <= target_max:  # 3
        raise Rejected(f"the header given for block {height:,} asks for too little work to be believed")
    if int.from_bytes(digest, "little") > target:  # 4
        raise Rejected(f"the header given for block {height:,} lacks the work that it asks for")
    time = datetime.fromtimestamp(int.from_bytes(header[68:72], "little"), UTC)
    return BlockHeader(height, block_hash, header[36:68], time)
