"""The published logs over HTTP: checkpoints, tiles, entry bundles, keys and receipts, open to everybody.

Promises: the paths and types of C2SP tlog-tiles, strictly; nothing that is not under the newest checkpoint
and nothing else that lies in a log's folder; a partial tile of any width that a checkpoint has or had, cut
from a larger one where the publisher has deleted it. A request is answered from one epoch of the log only,
also while that is moved aside. Tiles may be cached for ever where the address names their epoch, for a
minute where it means the newest one, checkpoints for a second.
The folder, and the archive where epochs were moved to from it, are the only things read: what is served is
what a copy of them holds. What lies in an archive is passed on, not redirected to: an archive is seldom
public.
Must not know: who writes the folder, what entries say.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from node.api.replies import TEXT, Handler, Routes, etag_of, validated
from node.audit.decisions import epochs
from node.audit.decisions.moved import MovedSource, closed_source
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archives
from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, WITNESSED, FolderSource, LogReader
from node.audit.tlog.packed import is_packed
from node.audit.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile, decode_bundle, encode_bundle
from node.core.errors import BadInput, CorruptState, NotFound, Rejected, Unavailable
from node.core.merkle import HASH_BYTES
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

log = logging.getLogger("neuroswarm.api")

LOGS: web.AppKey[Mapping[str, Path]] = web.AppKey("logs", Mapping)
"""Log name (``decisions``, ``publications``) → its folder."""
AWAY: web.AppKey[Away] = web.AppKey("away")

NEWEST = "public, max-age=1"
"""How long a checkpoint may be cached: the time between two publications."""
IMMUTABLE = "public, max-age=31536000, immutable"
"""A tile whose address names its epoch."""
CHANGES = "public, max-age=60"
"""A tile of whichever epoch is the newest: the next one has other bytes at the same address."""
CUT_TRIES = 4
"""How often a tile is looked for again because the publisher replaced it between two reads."""
AWAY_AT_ONCE = 8
AWAY_TIMEOUT_S = 20.0
MOVE_TRIES = 3
"""How often an epoch is looked for again because it was moved aside meanwhile, which happens once to each."""

_BYTES = "application/octet-stream"
EPOCH = re.compile(r"^[1-9][0-9]{0,5}$", re.ASCII)
NUMBER = re.compile(r"^(0|[1-9][0-9]{0,18})$", re.ASCII)


_Found = TypeVar("_Found")


class Away:
    """The archives of epochs that were moved away: a few are read at once, whoever asks beyond that is told
    to come again."""

    def __init__(self, archives: Archives) -> None:
        self.archives = archives
        self._reading = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises ``Unavailable``."""
        if self._reading >= AWAY_AT_ONCE:
            raise Unavailable(
                "many read epochs that were moved to an archive just now; ask again in a second"
            )
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1


class ServedLog:
    """One epoch of a log as strangers may see it, at the top of the log's folder or aside. Raises
    ``NotFound``, ``Unavailable`` (also for what is being moved or begun now) and ``CorruptState``; what the
    first two say names no path of this machine. It is a ``Source``: proofs are made of what is served."""

    def __init__(self, directory: Path, number: int, away: Away | None = None) -> None:
        self._directory = directory
        self._away = away
        self._number = number
        self._top = FolderSource(directory)
        self._aside = FolderSource(epochs.folder_of(directory, number))

    @classmethod
    async def newest(cls, directory: Path, away: Away | None = None) -> ServedLog:
        """The epoch that stands at the top now, and no later one."""
        return cls(directory, await asyncio.to_thread(_running, directory), away)

    async def file(self, name: str, bytes_max: int = NOTE_BYTES_MAX) -> bytes:
        """A file of the log's folder: the newest checkpoint, the newest one with enough cosignatures, the
        keys that sign it."""
        return await self._get(lambda folder: _read(folder, name, bytes_max))

    async def tile(self, tile: Tile) -> bytes:
        """The bytes of a tile or bundle that the newest checkpoint covers."""
        try:
            return await self._get(lambda folder: _cut(folder, tile))
        except NotFound:
            moved = await self._moved()
            if moved is None or self._away is None:
                raise
        size = _parsed(await self.file(CHECKPOINT)).size
        larger = _largest(tile, size)
        with self._away.reading():
            try:
                async with asyncio.timeout(AWAY_TIMEOUT_S):
                    data = await moved.read(larger.path, larger.bytes_max)
            except NotFound as exc:
                log.error("a moved epoch lacks a file: %s", exc)
                raise CorruptState(str(exc)) from exc
            except Rejected as exc:
                raise CorruptState(str(exc)) from exc
            except (Unavailable, TimeoutError) as exc:
                raise _unreadable(exc) from exc
        return _slice(data, larger, tile.width)

    async def packed(self, tile: Tile) -> bytes | None:
        """The gzip bytes of a complete bundle; None where it does not lie in the folder like that."""
        return await self._get(lambda folder: _packed(folder, tile))

    async def receipt(self, index: int, size: int | None, origin: str | None) -> bytes:
        """The ``tlog-proof@v1`` text of an entry with the entry itself as ``extra``: under the newest
        checkpoint, or under the one of ``size`` where that is still held. With ``origin`` only if that is
        the log's."""
        note = await self._checkpoint(size, origin)
        try:
            receipt = await LogReader(self).receipt(index, note)
        except Rejected as exc:
            raise CorruptState(f"epoch {self._number} of the log in {self._directory}: {exc}") from exc
        return receipt.encode()

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source``; ``bytes_max`` is what a tile can hold anyway."""
        return await self.tile(Tile.parse(path))

    async def _checkpoint(self, size: int | None, origin: str | None) -> bytes:
        note = await self.file(CHECKPOINT)
        newest = _parsed(note)
        if origin not in (None, newest.origin):
            raise NotFound("this node has no log of that origin here")
        if size in (None, newest.size):
            return note
        try:
            witnessed = await self.file(WITNESSED)
        except NotFound:
            witnessed = b""
        if witnessed and _parsed(witnessed).size == size:
            return witnessed
        raise NotFound(f"no checkpoint of size {size} is held; the newest has {newest.size} entries")

    async def _moved(self) -> MovedSource | None:
        """Where the tiles of this epoch were moved to; None where they were not."""
        if self._away is None or self._number < 1:
            return None
        try:
            found = await asyncio.to_thread(closed_source, self._directory, self._number, self._away.archives)
        except Unavailable as exc:
            raise _unreadable(exc) from exc
        return found if isinstance(found, MovedSource) else None

    async def _get(self, read: Callable[[FolderSource], _Found]) -> _Found:
        return await asyncio.to_thread(self._whole, read)

    # --- blocking ---------------------------------------------------------------------------------

    def _whole(self, read: Callable[[FolderSource], _Found]) -> _Found:
        """What ``read`` finds in this epoch's folder, all of it. The checkpoint is moved first and written
        again last, so what was read at the top is this epoch's if it stood there before and after."""
        missing: NotFound | None = None
        for _ in range(MOVE_TRIES):
            is_at_top = self._is_at_top()
            try:
                found = read(self._top if is_at_top else self._aside)
            except NotFound as exc:
                if self._is_turning():
                    raise _turning() from exc
                missing = exc  # perhaps it was moved, or written, just now
                continue
            if not is_at_top or self._is_at_top():
                return found
        raise missing or _turning()

    def _is_at_top(self) -> bool:
        return _top_number(self._top) == self._number

    def _is_turning(self) -> bool:
        """Whether what is not found here will be in a moment: this epoch is being moved, or it follows
        another one and has no checkpoint yet."""
        try:
            turn = epochs.pending(self._directory)
            if turn is not None and turn.number == self._number and not turn.is_moved:
                return True
            if self._number == 1 or epochs.newest(self._directory / CHECKPOINT) is not None:
                return False
            return self._is_at_top() or epochs.current(self._directory) == self._number
        except OSError as exc:
            raise _unreadable(exc) from exc


def _running(directory: Path) -> int:
    """The number of the epoch at the top. Raises ``NotFound`` where no log was ever begun."""
    number = _top_number(FolderSource(directory))
    if number is not None:
        return number
    try:
        is_turning = epochs.pending(directory) is not None or bool(epochs.closed(directory))
    except OSError as exc:
        raise _unreadable(exc) from exc
    if is_turning:
        raise _turning()
    raise NotFound("this log has no checkpoint yet")


def _top_number(top: FolderSource) -> int | None:
    """Which epoch lies in this folder, by its checkpoint or, before it has one, by its keys' name."""
    try:
        return epoch_of(_parsed(_read(top, CHECKPOINT, NOTE_BYTES_MAX)).origin)[1]
    except NotFound:
        pass
    try:
        vkey = _read(top, VKEY, VKEY_BYTES_MAX)
    except NotFound:
        return None
    return epoch_of(vkey.decode("utf-8", "replace").partition("+")[0])[1]


def _turning() -> Unavailable:
    return Unavailable("the log goes from one epoch to the next just now; ask again in a second")


def _unreadable(exc: Exception) -> Unavailable:
    log.error("a log cannot be served: %s", exc)
    return Unavailable("the log's files cannot be read now")


def _read(folder: FolderSource, path: str, bytes_max: int) -> bytes:
    try:
        return folder.read_now(path, bytes_max)
    except NotFound as exc:
        raise NotFound(f"this log has no {path}") from exc
    except Rejected as exc:
        raise CorruptState(str(exc)) from exc
    except Unavailable as exc:
        raise _unreadable(exc) from exc


def _packed(folder: FolderSource, tile: Tile) -> bytes | None:
    try:
        return folder.packed_now(tile.path, tile.bytes_max)
    except NotFound:
        return None
    except Rejected as exc:
        raise CorruptState(str(exc)) from exc
    except Unavailable as exc:
        raise _unreadable(exc) from exc


def _cut(folder: FolderSource, tile: Tile) -> bytes:
    """The tile as the newest checkpoint has it, cut to the asked width. Between reading the checkpoint
    and the tile the publisher may go on and delete what was newest: then both are read again."""
    for _ in range(CUT_TRIES):
        size = _parsed(_read(folder, CHECKPOINT, NOTE_BYTES_MAX)).size
        try:
            have = _largest(tile, size).width
        except NotFound:
            break
        for width in dict.fromkeys((have, WIDTH, tile.width)):
            larger = Tile(tile.level, tile.index, width)
            try:
                data = _read(folder, larger.path, larger.bytes_max)
            except NotFound:
                continue
            return _slice(data, larger, tile.width)
    raise NotFound(f"{tile.path} is not under the newest checkpoint of this log")


def _largest(tile: Tile, size: int) -> Tile:
    """This tile as a log of that size has it. Raises ``NotFound`` where it has less of it."""
    have = min(WIDTH, (size >> HEIGHT * max(0, tile.level)) - tile.index * WIDTH)
    if tile.width > have:
        raise NotFound(f"{tile.path} is not under the newest checkpoint of this log")
    return Tile(tile.level, tile.index, have)


def _parsed(note: bytes) -> Checkpoint:
    try:
        return Checkpoint.of_note(note)
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


def _directory_of(request: web.Request) -> Path:
    directory = request.app[LOGS].get(request.match_info["log"])
    if directory is None:
        raise NotFound("this node serves no such log")
    return directory


async def _log_of(request: web.Request) -> ServedLog:
    directory = _directory_of(request)
    epoch = request.match_info.get("epoch")
    away = request.app.get(AWAY)
    if epoch is None:
        return await ServedLog.newest(directory, away)
    if not EPOCH.fullmatch(epoch):
        raise NotFound("this log has no such epoch")
    return ServedLog(directory, int(epoch), away)


def _file(name: str, bytes_max: int) -> Handler:
    """What answers with a file of the log: a note, or the keys that sign it."""

    async def serve(request: web.Request) -> web.Response:
        return _reply(request, await (await _log_of(request)).file(name, bytes_max), TEXT, NEWEST)

    return serve


async def _tile(request: web.Request) -> web.Response:
    served = await _log_of(request)
    try:
        tile = Tile.parse(f"tile/{request.match_info['path']}")
    except Rejected as exc:
        raise NotFound(str(exc)) from exc
    caching = IMMUTABLE if "epoch" in request.match_info else CHANGES
    response = _reply(request, await served.tile(tile), _BYTES, caching)
    if tile.level == ENTRIES:
        # Recommended by tlog-tiles for bundles; hashes do not get smaller.
        response.headers["Vary"] = "Accept-Encoding"
        if response.status == 200 and _takes_gzip(request.headers.get("Accept-Encoding", "")):
            response.headers["ETag"] = f"W/{response.headers['ETag']}"
            if (packed := await served.packed(tile) if is_packed(tile) else None) is None:
                response.enable_compression(web.ContentCoding.gzip)
            else:
                response.body, response.headers["Content-Encoding"] = packed, "gzip"
    return response


def _takes_gzip(accepted: str) -> bool:
    for coding in accepted.lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight)
    return False


async def _proof(request: web.Request) -> web.Response:
    index, size, origin = request.match_info["index"], request.query.get("size"), request.query.get("log")
    if not NUMBER.fullmatch(index):
        raise NotFound("entries are numbered from 0 on")
    if size is not None and not NUMBER.fullmatch(size):
        raise BadInput("size must be the size of a checkpoint", field="size")
    if origin is None or "epoch" in request.match_info:
        served = await _log_of(request)
    else:
        served = ServedLog(_directory_of(request), epoch_of(origin)[1], request.app.get(AWAY))
    receipt = await served.receipt(int(index), None if size is None else int(size), origin)
    return _reply(request, receipt, TEXT, NEWEST)


def _reply(request: web.Request, data: bytes, content_type: str, caching: str) -> web.Response:
    etag = etag_of(data)
    headers = {"Cache-Control": caching, "ETag": etag, "Access-Control-Allow-Origin": "*"}
    response = validated(request, etag, data, headers)
    if response.status == 200:
        response.headers["Content-Type"] = content_type
    return response


PREFIXES = ("/logs/{log}", "/logs/{log}/epochs/{epoch}")
"""The newest epoch, and every epoch by its number, the newest one too: only there a path keeps its bytes."""

ROUTES: Routes = tuple(
    ("GET", f"{prefix}/{name}", handler)
    for prefix in PREFIXES
    for name, handler in (
        (CHECKPOINT, _file(CHECKPOINT, NOTE_BYTES_MAX)),
        (WITNESSED, _file(WITNESSED, NOTE_BYTES_MAX)),
        (VKEY, _file(VKEY, VKEY_BYTES_MAX)),
        ("tile/{path}", _tile),
        ("proof/{index}", _proof),
    )
)
