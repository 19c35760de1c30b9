"""Check a whole log as a stranger would: signature, every tile, every entry, the root, and what came before.

Promises: everything is rebuilt from the entries alone, each leaf hash and each hash of each tile of each
level is compared, and the first thing that does not hold is named. Memory does not grow with the log: a
bundle and one row of hashes a level are held. Reads only, through a ``Source``; shares nothing with the
writer but the pure rules.

The steps, in order:
1. The checkpoint is a well-formed note, signed by a key that the caller trusts, and no trusted key's
   signature in it fails.
2. Bundle by bundle: its entries, their form (``check_leaf``), their hashes against the level-0 tile; each row
   of 256 hashes against its tile and up a level. In a folder also the narrower tiles that earlier sizes left.
3. The right edge: the partial tiles, and the root over them against the checkpoint's.
4. ``checkpoint.witnessed``, if there is one, and the older checkpoint that the caller brings: signed, of the
   same log, and the start of this tree.

Sources: C2SP tlog-tiles, tlog-checkpoint, signed-note; RFC 6962 section 2.1.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from node.audit.log.reader import (
    CHECKPOINT,
    WITNESSED,
    FolderSource,
    LogReader,
    Source,
    read_bundle,
    read_tile,
    width_at,
)
from node.audit.tlog import tiles
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile
from node.audit.tlog.vouched import ROW_BYTES, makes_root, row_root
from node.core import merkle
from node.core.errors import NotFound, Rejected
from node.core.merkle import HASH_BYTES
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint, Note, Opened, Verifier, open_checkpoint

LEAF_VERSION = 2
OLDER = "the older checkpoint"

_HEAD = b'{"entry":{'
_TAIL_BEGINS = b',"seq":'
_NUMBER = rb"(0|[1-9][0-9]{0,15})"
_TAIL = re.compile(rb',"seq":%b,"time_us":%b,"v":%d}' % (_NUMBER, _NUMBER, LEAF_VERSION))
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_PLAIN = frozenset({str, int, bool, type(None)})

CheckLeaf = Callable[[int, bytes], None]
"""(index, the entry's bytes); raises ``Rejected`` where that is no leaf of this place."""
Progress = Callable[[int, int], None]
"""(entries checked so far, entries in the log)."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. ``ok``: everything that was looked at holds; else ``where`` names the first thing that
    does not (a path, ``entry 17``, ``the older checkpoint``) and ``reason`` says why.

    ``checkpoint``, the one in ``note``, is None when that itself does not hold. ``entries``: how many were
    checked and held. ``signed_by``: the trusted keys that signed it. ``witnessed``: the checkpoint with
    cosignatures, if there is one. ``since``: the older checkpoint; ``since_is_signed`` whether by a key that
    the caller trusts.
    """

    ok: bool
    checkpoint: Checkpoint | None = None
    note: bytes = b""
    signed_by: tuple[Verifier, ...] = ()
    entries: int = 0
    where: str = ""
    reason: str = ""
    witnessed: Checkpoint | None = None
    since: Checkpoint | None = None
    since_is_signed: bool = False


class _Broken(Exception):
    def __init__(self, where: str, reason: str) -> None:
        super().__init__(reason)
        self.where = where
        self.reason = reason


async def verify_log(
    source: Source,
    verifiers: Sequence[Verifier],
    *,
    since: bytes | None = None,
    check_entry: CheckLeaf | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check the log behind ``source`` completely, by the steps above.

    ``since`` is an older checkpoint note that the caller kept; signed by a key unknown by now (rotation) it
    counts as the caller's own word. ``check_entry`` takes the place of ``check_leaf``. Raises ``NotFound``
    when there is no checkpoint, ``Unavailable`` when a file cannot be read; what is missing or wrong behind
    the checkpoint is in the report.
    """
    data = await _checkpoint(source)
    if isinstance(data, Report):
        return data
    try:
        opened = open_checkpoint(data, verifiers)
    except Rejected as exc:
        return Report(False, where=CHECKPOINT, reason=str(exc))
    report = Report(True, opened.checkpoint, data, opened.signed_by)
    walk = _Walk(source, opened.checkpoint, check_entry or check_leaf, progress)
    try:
        await walk.run()
        report = replace(report, witnessed=await _check_witnessed(source, opened.checkpoint, verifiers))
        if since is not None:
            older, is_signed = await _check_start(source, since, opened.checkpoint, verifiers, OLDER)
            report = replace(report, since=older, since_is_signed=is_signed)
    except _Broken as exc:
        report = replace(report, ok=False, where=exc.where, reason=exc.reason)
    return replace(report, entries=walk.entries)


async def _checkpoint(source: Source) -> bytes | Report:
    try:
        return await source.read(CHECKPOINT, NOTE_BYTES_MAX)
    except Rejected as exc:
        return Report(False, where=CHECKPOINT, reason=str(exc))


# --- one leaf -------------------------------------------------------------------------------------


def check_leaf(index: int, data: bytes) -> None:
    """Raise ``Rejected`` unless ``data`` is a leaf of this program, in its place.

    That is RFC 8785 JSON ``{"entry":{…},"seq":index,"time_us":…,"v":2}``: sorted keys, ASCII, integers of at
    most 53 bits and no other numbers, no member twice.
    """
    if not data.isascii():
        raise Rejected("it is not ASCII")
    at = data.rfind(_TAIL_BEGINS)
    tail = _TAIL.fullmatch(data, at) if at > 0 and data.startswith(_HEAD) else None
    if tail is None:
        raise Rejected(f"it does not have the form of a leaf of version {LEAF_VERSION}")
    if int(tail[1]) != index:
        raise Rejected(f"it says that it is number {int(tail[1])}")
    try:
        leaf = orjson.loads(data)
        is_canonical = orjson.dumps(leaf, option=_CANONICAL) == data
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as exc:
        raise Rejected("it is not JSON of text and 53-bit integers") from exc
    if not is_canonical or len(leaf) != 4:
        raise Rejected("it is not in canonical form")
    _check_no_floats(leaf)


def _check_no_floats(leaf: object) -> None:
    """Sorted orjson output is RFC 8785 for everything but floats (and integers above 53 bits)."""
    containers: list[Any] = [leaf]
    for one in containers:  # grows while it is walked
        for value in one.values() if type(one) is dict else one:
            kind = type(value)
            if kind in _PLAIN:
                continue
            if kind is float:
                raise Rejected("it holds a number that is not an integer")
            containers.append(value)


# --- the tree -------------------------------------------------------------------------------------


class _Walk:
    """The tree rebuilt from the entries, from left to right."""

    def __init__(
        self, source: Source, checkpoint: Checkpoint, check_entry: CheckLeaf, progress: Progress | None
    ) -> None:
        self._source = source
        self._folder = source if isinstance(source, FolderSource) else None
        self._checkpoint = checkpoint
        self._size = checkpoint.size
        self._check_entry = check_entry
        self._progress = progress
        self._rows: list[bytearray] = []
        """By level: the hashes of the tile that is not full yet."""
        self._next: list[int] = []
        """By level: that tile's index."""
        self.entries = 0

    async def run(self) -> None:
        """Raises ``_Broken`` with the first thing that does not hold."""
        number = 0
        while self.entries < self._size:
            hashes = await self._bundle(number, width_at(self._size, number))
            if self._progress is not None:
                self._progress(self.entries, self._size)
            await self._add(0, hashes)
            number += 1
        await self._edge()

    async def _bundle(self, number: int, width: int) -> bytes:
        """The leaf hashes of one entry bundle, its entries checked."""
        tile = Tile(ENTRIES, number, width)
        try:
            entries = await read_bundle(self._source, number, width)
        except (NotFound, Rejected) as exc:
            raise _Broken(tile.path, str(exc)) from exc
        hashes = await asyncio.to_thread(self._check_entries, number * WIDTH, entries)
        await self._check_narrower(tile, tiles.encode_bundle, entries)
        return hashes

    def _check_entries(self, first: int, entries: Sequence[bytes]) -> bytes:
        check, sha256 = self._check_entry, hashlib.sha256
        hashes = []
        for index, entry in enumerate(entries, first):
            try:
                check(index, entry)
            except Rejected as exc:
                raise _Broken(f"entry {index}", str(exc)) from exc
            hashes.append(sha256(b"\x00" + entry).digest())
        return b"".join(hashes)

    async def _add(self, level: int, hashes: bytes) -> None:
        """Put hashes at the end of a level's row; a full row is compared with its tile and becomes one hash
        of the next level."""
        if level == len(self._rows):
            self._rows.append(bytearray())
            self._next.append(0)
        row = self._rows[level]
        row += hashes
        if len(row) == ROW_BYTES:
            full = bytes(row)
            await self._compare(Tile(level, self._next[level]), full)
            self._next[level] += 1
            row.clear()
            if level == 0:
                self.entries += WIDTH
            await self._add(level + 1, await asyncio.to_thread(row_root, full))
        elif level == 0:
            await self._compare(Tile(0, self._next[0], len(row) // HASH_BYTES), bytes(row))
            self.entries += len(row) // HASH_BYTES

    async def _compare(self, tile: Tile, expected: bytes) -> None:
        """The tile as it is kept against what the entries make."""
        try:
            found = await read_tile(self._source, tile)
        except (NotFound, Rejected) as exc:
            raise _Broken(tile.path, str(exc)) from exc
        if found != expected:
            raise _differ(tile, found, expected)
        await self._check_narrower(tile, b"".join, _hashes_of(expected))

    async def _check_narrower(
        self, tile: Tile, encode: Callable[[Sequence[bytes]], bytes], parts: Sequence[bytes]
    ) -> None:
        """In a folder: what earlier sizes left of this tile must be its beginning."""
        if self._folder is None:
            return
        for width in await self._folder.partial_widths(tile):
            if width >= tile.width:
                break  # of a size that no checkpoint speaks of yet
            narrower = Tile(tile.level, tile.index, width)
            try:
                found = await self._folder.read(narrower.path, narrower.bytes_max)
            except NotFound:
                continue  # a running node cleared it away just now
            except Rejected as exc:
                raise _Broken(narrower.path, str(exc)) from exc
            if found != encode(parts[:width]):
                raise _Broken(narrower.path, f"it is not the beginning of {tile.path}")

    async def _edge(self) -> None:
        """The partial tiles above level 0, and the root."""
        edge = {level: bytes(row) for level, row in enumerate(self._rows) if row}
        for level, row in edge.items():
            if level > 0:
                await self._compare(Tile(level, self._next[level], len(row) // HASH_BYTES), row)
        if not makes_root(edge, self._size, self._checkpoint.root):
            raise _Broken(CHECKPOINT, f"the {self._size} entries have another root than it states")


def _hashes_of(row: bytes) -> list[bytes]:
    return [row[at : at + HASH_BYTES] for at in range(0, len(row), HASH_BYTES)]


def _differ(tile: Tile, found: bytes, expected: bytes) -> _Broken:
    at = next(
        at
        for at, (one, other) in enumerate(zip(_hashes_of(found), _hashes_of(expected), strict=True))
        if one != other
    )
    index = tile.index * WIDTH + at
    if tile.level == 0:
        return _Broken(f"entry {index}", f"its bytes do not have the hash that {tile.path} states")
    return _Broken(
        tile.path, f"its hash number {at} is not the root of tile {index} of level {tile.level - 1}"
    )


# --- other checkpoints ----------------------------------------------------------------------------


async def _check_witnessed(
    source: Source, newest: Checkpoint, verifiers: Sequence[Verifier]
) -> Checkpoint | None:
    try:
        data = await source.read(WITNESSED, NOTE_BYTES_MAX)
    except NotFound:
        return None
    except Rejected as exc:
        raise _Broken(WITNESSED, str(exc)) from exc
    return (await _check_start(source, data, newest, verifiers, WITNESSED))[0]


async def _check_start(
    source: Source, data: bytes, newest: Checkpoint, verifiers: Sequence[Verifier], where: str
) -> tuple[Checkpoint, bool]:
    """(an older checkpoint, whether a trusted key signed it): its tree is the start of the newest one, by the
    tiles that were just checked."""
    try:
        older, is_signed = _open_older(data, newest, verifiers)
    except Rejected as exc:
        raise _Broken(where, str(exc)) from exc
    if older.size > newest.size:
        if where == OLDER:
            raise _Broken(
                where, f"it has {older.size} entries, the log only {newest.size}: it was rolled back"
            )
        return older, is_signed  # a running node wrote it after the checkpoint that is being checked
    try:
        proof = await LogReader(source).consistency(older.size, newest.size)
        merkle.check_consistency(older.size, older.root, newest.size, newest.root, proof)
    except Rejected as exc:
        raise _Broken(where, f"the log does not continue it: {exc}") from exc
    except NotFound as exc:
        raise _Broken(str(exc).removesuffix(" is missing"), str(exc)) from exc
    return older, is_signed


def _open_older(data: bytes, newest: Checkpoint, verifiers: Sequence[Verifier]) -> tuple[Checkpoint, bool]:
    """(the checkpoint, whether a trusted key signed it). Raises ``Rejected``."""
    opened: Opened | None = None
    note = Note.parse(data)
    known = {(one.name, one.key_id) for one in verifiers}
    if any((one.name, one.key_id) in known for one in note.signatures):
        opened = open_checkpoint(data, verifiers)
    checkpoint = Checkpoint.parse(note.text) if opened is None else opened.checkpoint
    if checkpoint.origin != newest.origin:
        raise Rejected(f"it is of the log {checkpoint.origin}, this one is {newest.origin}")
    return checkpoint, opened is not None
