"""Much from little: gzip members that unpack to far more bytes than anybody should read."""

from __future__ import annotations

import functools
import struct
import zlib

_BLOCK = 2**20
_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@functools.cache
def gzip_bomb(size: int, byte: bytes = b"\0") -> bytes:
    """One whole gzip member (RFC 1952) of ``size`` times ``byte``, made in a moment: one packed block is
    repeated."""
    blocks, rest = divmod(size, _BLOCK)
    plain = byte * _BLOCK
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
    end = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    tail = end.compress(plain[:rest]) + end.flush()
    total = 0
    for _ in range(blocks):
        total = zlib.crc32(plain, total)
    total = zlib.crc32(plain[:rest], total)
    return _HEAD + block * blocks + tail + struct.pack("<II", total, size % 2**32)
