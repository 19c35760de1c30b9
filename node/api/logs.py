"""The published logs over HTTP: checkpoints, tiles, entry bundles, keys and receipts, open to everybody.

Promises: the paths and types of C2SP tlog-tiles, strictly; nothing that is not under the newest checkpoint
and nothing else that lies in a log's folder; a partial tile of any width that a checkpoint has or had, cut
from a larger one where the publisher has deleted it. Tiles may be cached for ever, checkpoints for a second.
The folder is the only thing read, so what is served is what a copy of the folder holds.
Must not know: who writes the folder, what entries say.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from aiohttp import web

from node.errors import BadInput, CorruptState, NotFound, Rejected, Unavailable
from node.tlog.merkle import HASH_BYTES
from node.tlog.notes import NOTE_BYTES_MAX, Checkpoint, Note
from node.tlog.reader import (
    CHECKPOINT,
    VKEY,
    VKEY_BYTES_MAX,
    WITNESSED,
    FolderSource,
    LogReader,
)
from node.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile, decode_bundle, encode_bundle

log = logging.getLogger("neuroswarm.api")

LOGS: web.AppKey[Mapping[str, Path]] = web.AppKey("logs", Mapping)
"""Log name (``decisions``, ``publications``) → its folder."""

EPOCHS = "epochs"
NEWEST_S = 1
"""How long a checkpoint may be cached: the time between two publications."""
IMMUTABLE = "public, max-age=31536000, immutable"
CUT_TRIES = 4
"""How often a tile is looked for again because the publisher replaced it between two reads."""

_TEXT = "text/plain; charset=utf-8"
_BYTES = "application/octet-stream"
EPOCH = re.compile(r"^[1-9][0-9]{0,5}$", re.ASCII)
NUMBER = re.compile(r"^(0|[1-9][0-9]{0,18})$", re.ASCII)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ServedLog:
    """One log folder as strangers may see it. Raises ``NotFound``, ``Unavailable`` and ``CorruptState``; what
    the first two say names no path of this machine. It is a ``Source``: proofs are made of what is served."""

    def __init__(self, directory: Path) -> None:
        self._folder = FolderSource(directory)

    async def note(self, name: str) -> bytes:
        """A signed note of the folder: the newest checkpoint, or the newest one with enough cosignatures."""
        return await asyncio.to_thread(self._read, name, NOTE_BYTES_MAX)

    async def vkey(self) -> bytes:
        """The keys that sign the log, one verifier key a line."""
        return await asyncio.to_thread(self._read, VKEY, VKEY_BYTES_MAX)

    async def tile(self, tile: Tile) -> bytes:
        """The bytes of a tile or bundle that the newest checkpoint covers."""
        return await asyncio.to_thread(self._cut, tile)

    async def receipt(self, index: int, size: int | None) -> bytes:
        """The ``tlog-proof@v1`` text of an entry with the entry itself as ``extra``: under the newest
        checkpoint, or under the one of ``size`` where that is still held."""
        note = await self._checkpoint(size)
        try:
            receipt = await LogReader(self).receipt(index, note)
        except Rejected as exc:
            raise CorruptState(f"{self._folder.directory}: {exc}") from exc
        return receipt.encode()

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source``; ``bytes_max`` is what a tile can hold anyway."""
        return await self.tile(Tile.parse(path))

    async def _checkpoint(self, size: int | None) -> bytes:
        newest = await self.note(CHECKPOINT)
        if size in (None, _size(newest)):
            return newest
        try:
            witnessed = await self.note(WITNESSED)
        except NotFound:
            witnessed = b""
        if witnessed and _size(witnessed) == size:
            return witnessed
        raise NotFound(f"no checkpoint of size {size} is held; the newest has {_size(newest)} entries")

    # --- blocking ---------------------------------------------------------------------------------

    def _read(self, path: str, bytes_max: int) -> bytes:
        try:
            return self._folder.read_now(path, bytes_max)
        except NotFound as exc:
            raise NotFound(f"this log has no {path}") from exc
        except Rejected as exc:
            raise CorruptState(str(exc)) from exc
        except Unavailable as exc:
            log.error("a log cannot be served: %s", exc)
            raise Unavailable("the log's files cannot be read now") from exc

    def _cut(self, tile: Tile) -> bytes:
        """The tile as the newest checkpoint has it, cut to the asked width. Between reading the checkpoint
        and the tile the publisher may go on and delete what was newest: then both are read again."""
        for _ in range(CUT_TRIES):
            size = _size(self._read(CHECKPOINT, NOTE_BYTES_MAX))
            have = min(WIDTH, (size >> HEIGHT * max(0, tile.level)) - tile.index * WIDTH)
            if tile.width > have:
                break
            for width in dict.fromkeys((have, WIDTH, tile.width)):
                larger = Tile(tile.level, tile.index, width)
                try:
                    data = self._read(larger.path, larger.bytes_max)
                except NotFound:
                    continue
                return _slice(data, larger, tile.width)
        raise NotFound(f"{tile.path} is not under the newest checkpoint of this log")


def _size(note: bytes) -> int:
    try:
        return Checkpoint.parse(Note.parse(note).text).size
    except Rejected as exc:
        raise CorruptState(f"a checkpoint of a log folder is damaged: {exc}") from exc


def _slice(data: bytes, tile: Tile, width: int) -> bytes:
    """The first ``width`` hashes or entries of a tile."""
    try:
        if tile.level == ENTRIES:
            return data if width == tile.width else encode_bundle(decode_bundle(data, tile.width)[:width])
        if len(data) != tile.width * HASH_BYTES:
            raise Rejected(f"{len(data)} bytes are not {tile.width} hashes")
    except Rejected as exc:
        raise CorruptState(f"{tile.path} of a log folder is damaged: {exc}") from exc
    return data[: width * HASH_BYTES]


# --- routes ---------------------------------------------------------------------------------------


def _log_of(request: web.Request) -> ServedLog:
    directory = request.app[LOGS].get(request.match_info["log"])
    if directory is None:
        raise NotFound("this node serves no such log")
    epoch = request.match_info.get("epoch")
    if epoch is None:
        return ServedLog(directory)
    if not EPOCH.fullmatch(epoch):
        raise NotFound("this log has no such epoch")
    return ServedLog(directory / EPOCHS / epoch)


async def _newest(request: web.Request) -> web.Response:
    return _reply(request, await _log_of(request).note(CHECKPOINT), _TEXT, f"public, max-age={NEWEST_S}")


async def _witnessed(request: web.Request) -> web.Response:
    return _reply(request, await _log_of(request).note(WITNESSED), _TEXT, f"public, max-age={NEWEST_S}")


async def _vkey(request: web.Request) -> web.Response:
    return _reply(request, await _log_of(request).vkey(), _TEXT, f"public, max-age={NEWEST_S}")


async def _tile(request: web.Request) -> web.Response:
    served = _log_of(request)
    try:
        tile = Tile.parse(f"tile/{request.match_info['path']}")
    except Rejected as exc:
        raise NotFound(str(exc)) from exc
    response = _reply(request, await served.tile(tile), _BYTES, IMMUTABLE)
    if tile.level == ENTRIES:
        # Recommended by tlog-tiles for bundles; hashes do not get smaller.
        response.headers["Vary"] = "Accept-Encoding"
        if response.status == 200 and _takes_gzip(request.headers.get("Accept-Encoding", "")):
            response.headers["ETag"] = f"W/{response.headers['ETag']}"
            response.enable_compression(web.ContentCoding.gzip)
    return response


def _takes_gzip(accepted: str) -> bool:
    for coding in accepted.lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight)
    return False


async def _proof(request: web.Request) -> web.Response:
    served = _log_of(request)
    index, size = request.match_info["index"], request.query.get("size")
    if not NUMBER.fullmatch(index):
        raise NotFound("entries are numbered from 0 on")
    if size is not None and not NUMBER.fullmatch(size):
        raise BadInput("size must be the size of a checkpoint", field="size")
    receipt = await served.receipt(int(index), None if size is None else int(size))
    return _reply(request, receipt, _TEXT, f"public, max-age={NEWEST_S}")


def _reply(request: web.Request, data: bytes, content_type: str, caching: str) -> web.Response:
    """The bytes with their validator, or 304 where the asker has them."""
    etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    headers = {"Cache-Control": caching, "ETag": etag, "Access-Control-Allow-Origin": "*"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
    if etag in known or "*" in known:
        return web.Response(status=304, headers=headers)
    return web.Response(body=data, headers={**headers, "Content-Type": content_type})


PREFIXES = ("/logs/{log}", "/logs/{log}/epochs/{epoch}")
"""The current log, and the ones that ended before it: epochs and shards."""

ROUTES: tuple[tuple[str, str, Handler], ...] = tuple(
    ("GET", f"{prefix}/{name}", handler)
    for prefix in PREFIXES
    for name, handler in (
        (CHECKPOINT, _newest),
        (WITNESSED, _witnessed),
        (VKEY, _vkey),
        ("tile/{path}", _tile),
        ("proof/{index}", _proof),
    )
)
