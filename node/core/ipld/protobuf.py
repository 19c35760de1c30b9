"""The protobuf wire format, as far as dag-pb, UnixFS and IPNS records use it: fields in their order.

Pure. Nothing is allocated for a length that the bytes do not hold. Source: protobuf.dev, Encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from node.core.errors import Rejected
from node.core.ipld.cid import decode_varint, encode_varint

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5

_FIXED = {FIXED64: 8, FIXED32: 4}
_NUMBER_MAX = 2**29 - 1


_varint = partial(decode_varint, bits_max=64)


def varints(data: bytes, count_max: int) -> list[int]:
    """A packed repeated field of numbers. Raises ``Rejected``, also for more than ``count_max``."""
    values: list[int] = []
    offset = 0
    while offset < len(data):
        value, offset = _varint(data, offset)
        values.append(value)
        if len(values) > count_max:
            raise Rejected(f"protobuf: more than {count_max} numbers in a field")
    return values


def fields(data: bytes, count_max: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Each field as (number, wire type, value of a varint or 0, bytes of any other type or none).

    Raises ``Rejected`` for groups, unknown wire types, what is cut off, and more than ``count_max`` fields,
    when it comes to it.
    """
    offset = count = 0
    while offset < len(data):
        count += 1
        if count > count_max:
            raise Rejected(f"protobuf: more than {count_max} fields in a message")
        key, offset = _varint(data, offset)
        number, wire = key >> 3, key & 7
        if not 1 <= number <= _NUMBER_MAX:
            raise Rejected("protobuf: a field number is out of range")
        if wire == VARINT:
            value, offset = _varint(data, offset)
            yield number, wire, value, b""
            continue
        if wire == BYTES:
            length, offset = _varint(data, offset)
        elif wire in _FIXED:
            length = _FIXED[wire]
        else:
            raise Rejected(f"protobuf: wire type {wire} is not supported")
        if length > len(data) - offset:
            raise Rejected("protobuf: a field is cut off")
        yield number, wire, 0, data[offset : offset + length]
        offset += length


def number_field(number: int, value: int) -> bytes:
    """A varint field."""
    return encode_varint(number << 3 | VARINT) + encode_varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A length-delimited field: bytes, text or a message."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(value)) + value
