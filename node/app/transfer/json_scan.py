"""Finds where the parts of a JSON file lie, without holding the file: bytes in, spans out.

Accepted is what RFC 8259 accepts, and the words ``NaN`` and ``Infinity`` that Python's json writes; in UTF-8,
with or without a byte order mark. What is not JSON raises ``NotJson`` with the offset of the byte at fault.

Rules:
1. Memory is bounded: at most one part of ``part_bytes_max`` and one chunk are held. A longer part is passed
   over; its span is given, its bytes are not, and only its brackets and strings are checked.
2. Nesting is at most ``DEPTH_MAX`` deep; nothing here recurses.
3. The bytes of every part that is given are checked to be one JSON value.
4. Each byte is looked at a bounded number of times, whatever the input.

Blocking (it reads a file): call it in a thread. Knows nothing of what the parts mean.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

import orjson

DEPTH_MAX = 200
CHUNK_BYTES = 1 << 20
PART_BYTES_MAX = 1 << 20

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\n\r]*+")
_WORD = re.compile(rb"[0-9A-Za-z+\-.]*+")
_STRING_BODY = re.compile(rb'(?:[^"\\]++|\\[\s\S])*+')
_BRACKET = re.compile(rb"[\[\]{}]")
_BRACKETS = (b"[", b"]", b"{", b"}")
_SHORT = 64
_WINDOW = 4_096
_OPENS = {ord("["): ord("]"), ord("{"): ord("}")}
_QUOTE = ord('"')


class NotJson(Exception):
    """The bytes are not JSON: ``offset`` is the byte (from 0) where that shows."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Part:
    """One value: bytes ``start`` to ``end`` of the file. ``raw`` is None when it is longer than what is held.

    ``name`` and ``name_start``: its key in an object, decoded, and where that begins; None and -1 in a list.
    ``first`` is the first byte of the value, which tells its kind.
    """

    start: int
    end: int
    raw: bytes | None
    first: int
    name: str | None = None
    name_start: int = -1


class Scanner:
    """Walks one file once. ``offset`` is the next byte; ``digest()`` the SHA-256 of what was read."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        part_bytes_max: int = PART_BYTES_MAX,
        chunk_bytes: int = CHUNK_BYTES,
        on_chunk: Callable[[int], None] | None = None,
        is_checked: bool = False,
    ) -> None:
        """``on_chunk`` is called with the number of bytes read so far; what it raises ends the scan.
        ``is_checked``: the same bytes were scanned before, so rule 3 is left out."""
        self._file = file
        self._part_bytes_max = part_bytes_max
        self._chunk_bytes = chunk_bytes
        self._on_chunk = on_chunk
        self._is_checked = is_checked
        self._hash = hashlib.sha256()
        self._buffer = b""
        self._base = 0  # the offset of the buffer's first byte
        self._at = 0  # in the buffer
        self._kept = -1  # in the buffer: from here on bytes are kept; -1: none are
        self._read = 0
        while len(self._buffer) < len(_BOM) and self._refill():
            pass
        if self._buffer.startswith(_BOM):
            self._at = len(_BOM)

    @property
    def offset(self) -> int:
        return self._base + self._at

    def digest(self) -> str:
        """Hex SHA-256; of the whole file once ``end`` has been called."""
        return self._hash.hexdigest()

    def first(self) -> int:
        """The next byte that is not white space, which stays where it is; -1 at the end."""
        self._skip_space()
        return self._buffer[self._at] if self._at < len(self._buffer) else -1

    def items(self) -> Iterator[Part]:
        """The values of the list that begins here."""
        self._take(b"[")
        if self.first() == ord("]"):
            self._at += 1
            return
        while True:
            yield self.value()
            if self._after_value(ord("]")):
                return

    def member_names(self) -> Iterator[tuple[str, int]]:
        """The keys of the object that begins here, and where each begins. After each one the caller takes its
        value, by ``value`` or ``items``."""
        self._take(b"{")
        if self.first() == ord("}"):
            self._at += 1
            return
        while True:
            if self.first() != _QUOTE:
                self._fail("a key in quotes is missing")
            key = self.value()
            if key.raw is None:
                raise NotJson(f"a key is longer than {self._part_bytes_max} bytes", key.start)
            try:
                name = str(json.loads(key.raw.decode()))  # not by orjson: half a surrogate pair is a key too
            except ValueError as exc:
                raise NotJson("a key cannot be read", key.start) from exc
            self._take(b":")
            yield name, key.start
            if self._after_value(ord("}")):
                return

    def members(self) -> Iterator[Part]:
        """The values of the object that begins here, with their keys."""
        for name, name_start in self.member_names():
            part = self.value()
            yield Part(part.start, part.end, part.raw, part.first, name, name_start)

    def value(self) -> Part:
        """The value that begins here, whatever it is."""
        first = self.first()
        self._kept = self._at
        start = self.offset
        if first in _OPENS:
            self._pass_brackets()
        elif first == _QUOTE:
            self._at += 1
            self._pass_string()
        else:
            self._pass_word()
        raw = None if self._kept < 0 else self._buffer[self._kept : self._at]
        self._kept = -1
        end = self.offset
        if raw is not None and len(raw) > self._part_bytes_max:
            raw = None
        if raw is not None and not self._is_checked:
            check(raw, start)
        return Part(start, end, raw, first)

    def end(self) -> None:
        """Nothing but white space may follow; reads up to the end of the file."""
        if self.first() != -1:
            self._fail("something follows the end of the JSON text")

    # --- within -----------------------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        if self._at >= len(self._buffer):
            reason = "the text ends too early"
        raise NotJson(reason, self.offset)

    def _take(self, char: bytes) -> None:
        if self.first() != char[0]:
            self._fail(f"{char.decode()!r} is missing")
        self._at += 1

    def _after_value(self, closing: int) -> bool:
        """True at the end of the list or object; passes the comma before a further value."""
        found = self.first()
        if found not in (closing, ord(",")):
            self._fail(f"',' or {chr(closing)!r} is missing")
        self._at += 1
        if found == ord(",") and self.first() == closing:
            self._fail("a value is missing after ','")
        return found == closing

    def _refill(self) -> bool:
        """Read on; False at the end. Bytes before what is kept are let go, and all when too many are kept."""
        if self._kept >= 0 and self._at - self._kept > self._part_bytes_max:
            self._kept = -1
        chunk = self._file.read(self._chunk_bytes)
        if not chunk:
            return False
        self._hash.update(chunk)
        self._read += len(chunk)
        if self._on_chunk is not None:
            self._on_chunk(self._read)
        drop = self._at if self._kept < 0 else self._kept
        self._buffer = self._buffer[drop:] + chunk
        self._base += drop
        self._at -= drop
        if self._kept >= 0:
            self._kept = 0
        return True

    def _skip_space(self) -> None:
        while True:
            self._at = _end_of(_SPACE, self._buffer, self._at)
            if self._at < len(self._buffer) or not self._refill():
                return

    def _pass_word(self) -> None:
        """A number, true, false, null."""
        start = self.offset
        while True:
            self._at = _end_of(_WORD, self._buffer, self._at)
            if self._at < len(self._buffer) or not self._refill():
                break
        if self.offset == start:
            self._fail("a value is missing")
        if self._kept < 0 or self._at - self._kept > self._part_bytes_max:
            raise NotJson(f"a number or word is longer than {self._part_bytes_max} bytes", start)

    def _pass_string(self) -> None:
        """From behind the opening quote to behind the closing one."""
        quote = self._buffer.find(b'"', self._at)
        if quote > 0 and self._buffer.find(b"\\", self._at, quote) < 0:  # most strings: nothing is escaped
            self._at = quote + 1
            return
        while True:
            self._at = _end_of(_STRING_BODY, self._buffer, self._at)
            if self._at < len(self._buffer) and self._buffer[self._at] == _QUOTE:
                self._at += 1
                return
            if not self._refill():
                raise NotJson("the text ends within a string", self._base + len(self._buffer))

    def _pass_brackets(self) -> None:
        """From an opening bracket to behind the one that closes it."""
        closings = bytearray()
        while True:
            buffer = self._buffer
            quote = buffer.find(b'"', self._at)
            stop = len(buffer) if quote < 0 else quote
            while (at := _next_bracket(buffer, self._at, stop)) >= 0:
                self._at = at
                char = buffer[at]
                if char in _OPENS:
                    if len(closings) == DEPTH_MAX:
                        raise NotJson(f"values are nested more than {DEPTH_MAX} deep", self.offset)
                    closings.append(_OPENS[char])
                elif closings.pop() != char:
                    raise NotJson(f"{chr(char)!r} closes nothing that is open", self.offset)
                self._at += 1
                if not closings:
                    return
            self._at = stop
            if quote >= 0:
                self._at += 1
                self._pass_string()
            elif not self._refill():
                raise NotJson("the text ends within brackets", self.offset)


def _next_bracket(data: bytes, at: int, stop: int) -> int:
    """Where the next bracket stands before ``stop``, or -1. Long stretches (lists of numbers) are searched by
    ``find``, which is ten times as fast as a set of characters (measured); in windows, so that a kind of
    bracket that is rare is not sought through everything for each one that is frequent."""
    found = _BRACKET.search(data, at, min(at + _SHORT, stop))
    if found is not None:
        return found.start()
    for window in range(at + _SHORT, stop, _WINDOW):
        places = [data.find(bracket, window, min(window + _WINDOW, stop)) for bracket in _BRACKETS]
        if any(place >= 0 for place in places):
            return min(place for place in places if place >= 0)
    return -1


def _end_of(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return at if found is None else found.end()


def _nothing(_: str) -> None:
    return None


def check(raw: bytes, offset: int = 0) -> None:
    """Raise ``NotJson`` unless ``raw``, which begins at ``offset``, is one JSON value."""
    try:
        orjson.loads(raw)
        return
    except orjson.JSONDecodeError:
        pass  # it is stricter than JSON: NaN, halves of surrogate pairs, numbers beyond a double
    try:
        text = raw.decode()
        # Numbers are not converted: one of many thousand digits is JSON, and Python refuses to make it.
        json.loads(text, parse_int=_nothing, parse_float=_nothing, parse_constant=_nothing)
    except UnicodeDecodeError as exc:
        raise NotJson("the text is not UTF-8", offset + exc.start) from exc
    except json.JSONDecodeError as exc:
        raise NotJson(exc.msg, offset + len(text[: exc.pos].encode())) from exc


def members_of(raw: bytes) -> list[Part]:
    """The members of an object that is held as bytes, which are JSON; spans count within ``raw``."""
    scanner = Scanner(BytesIO(raw), part_bytes_max=len(raw), chunk_bytes=max(1, len(raw)))
    return list(scanner.members())
