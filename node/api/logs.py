"""The published logs over HTTP: checkpoints, tiles, entry bundles, keys and receipts, open to everybody.

Promises: the paths and types of C2SP tlog-tiles, strictly; nothing that is not under the newest checkpoint
and nothing else that lies in a log's folder; nothing that the checkpoint does not vouch for (damage is mended
if it can be, else the answer says which entries it is); a partial tile of any width that a checkpoint has or
had, cut from a larger one where the publisher has deleted it. A request is answered from one epoch of the log
only, also while that is moved aside. Tiles may be cached for ever where the address names their epoch, for a
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
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from node.api.replies import TEXT, Handler, Routes, etag_of, validated
from node.audit.decisions import epochs
from node.audit.decisions.origin import epoch_of
from node.audit.log.checked import Checked, CheckedFolder, DamagedTile, KeysOf
from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, WITNESSED, FolderSource, LogReader
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.away import Away, unreadable
from node.core.errors import BadInput, CorruptState, DamagedLog, NotFound, Rejected, Unavailable
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

log = logging.getLogger("neuroswarm.api")


@dataclass(frozen=True, slots=True)
class Served:
    """A log that is served: its folder, the keys of its checkpoints, and who mends a tile of an epoch that
    was found damaged (says whether it is whole then)."""

    directory: Path
    keys: KeysOf
    mend: Callable[[int, Tile], Awaitable[bool]]
    folders: dict[Path, CheckedFolder] = field(default_factory=dict)

    def folder(self, place: Path) -> CheckedFolder:
        """The log in this folder, with what is known of it from the last request."""
        if place not in self.folders and len(self.folders) >= FOLDERS_MAX:
            self.folders.clear()
        return self.folders.setdefault(place, CheckedFolder(FolderSource(place), self.keys))


LOGS: web.AppKey[Mapping[str, Served]] = web.AppKey("logs", Mapping)
"""By name: ``decisions``, ``publications``."""
AWAY: web.AppKey[Away] = web.AppKey("away")

NEWEST = "public, max-age=1"
"""How long a checkpoint may be cached: the time between two publications."""
IMMUTABLE = "public, max-age=31536000, immutable"
"""A tile whose address names its epoch."""
CHANGES = "public, max-age=60"
"""A tile of whichever epoch is the newest: the next one has other bytes at the same address."""
FOLDERS_MAX = 64
"""Epochs whose checkpoints are kept in memory."""
MEND_S = 5.0
"""How long an answer waits for a damaged tile to be mended."""
MOVE_TRIES = 3
"""How often an epoch is looked for again because it was moved aside meanwhile, which happens once to each."""

_BYTES = "application/octet-stream"
EPOCH = re.compile(r"^[1-9][0-9]{0,5}$", re.ASCII)
NUMBER = re.compile(r"^(0|[1-9][0-9]{0,18})$", re.ASCII)


_Found = TypeVar("_Found")


class ServedLog:
    """One epoch of a log as strangers may see it, at the top of the log's folder or aside. Raises
    ``NotFound``, ``Unavailable`` (also for what is being moved or begun now) and ``CorruptState``; what the
    first two say names no path of this machine. It is a ``Source``: proofs are made of what is served."""

    def __init__(self, served: Served, number: int, away: Away | None = None) -> None:
        self._served = served
        self._away = away
        self._directory = served.directory
        self._number = number
        self._top = served.folder(served.directory)
        self._aside = served.folder(epochs.folder_of(served.directory, number))

    @property
    def before(self) -> str:
        """Where the epochs before this one are, for whoever asks at the address of the newest for what is not
        in it; empty where there is none."""
        if self._number == 1:
            return ""
        first = "epoch 1 is" if self._number == 2 else f"epochs 1 to {self._number - 1} are"
        return f"; this is epoch {self._number} of the log: {first} at epochs/<number>/ below this address"

    @classmethod
    async def newest(cls, served: Served, away: Away | None = None) -> ServedLog:
        """The epoch that stands at the top now, and no later one."""
        return cls(served, await asyncio.to_thread(_running, served), away)

    async def file(self, name: str, bytes_max: int = NOTE_BYTES_MAX) -> bytes:
        """A file of the log's folder: the newest checkpoint, the newest one with enough cosignatures, the
        keys that sign it."""
        return await self._get(lambda folder: folder.read_now(name, bytes_max))

    async def tile(self, tile: Tile) -> Checked:
        """A tile or bundle that the newest checkpoint covers, from the folder or from where it was moved to.
        One that is damaged is mended first; where that cannot be done in time it is refused."""
        try:
            return await self._get(lambda folder: folder.tile(tile))
        except DamagedTile as exc:
            moved = None if self._away is None else await self._away.tile(self._aside, tile)
            if moved is not None:
                return moved
            if not await self._mended(exc.tile):
                raise
        return await self._get(lambda folder: folder.tile(tile))

    async def _mended(self, tile: Tile) -> bool:
        try:
            async with asyncio.timeout(MEND_S):
                return await self._served.mend(self._number, tile)
        except (TimeoutError, Unavailable):
            return False

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
        return (await self.tile(Tile.parse(path))).data

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

    async def _get(self, read: Callable[[CheckedFolder], _Found]) -> _Found:
        return await asyncio.to_thread(self._whole, read)

    # --- blocking ---------------------------------------------------------------------------------

    def _whole(self, read: Callable[[CheckedFolder], _Found]) -> _Found:
        """What ``read`` finds in this epoch's folder, all of it. The checkpoint is moved first and written
        again last, so what was read at the top is this epoch's if it stood there before and after."""
        missing: NotFound | DamagedLog | None = None
        for _ in range(MOVE_TRIES):
            is_at_top = self._is_at_top()
            try:
                found = read(self._top if is_at_top else self._aside)
            except (NotFound, DamagedLog) as exc:
                if self._is_turning():
                    raise _turning() from exc
                missing = exc  # perhaps it was moved, or written, just now
                continue
            except Unavailable as exc:
                raise unreadable(exc) from exc
            if not is_at_top or self._is_at_top():
                return found
        raise missing or _turning()

    def _is_at_top(self) -> bool:
        try:
            return _top_number(self._top) == self._number
        except DamagedLog:  # says nothing of what lies aside
            return not self._aside.source.directory.is_dir()

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
            raise unreadable(exc) from exc


def _running(served: Served) -> int:
    """The number of the epoch at the top. Raises ``NotFound`` where no log was ever begun."""
    directory = served.directory
    number = _top_number(served.folder(directory))
    if number is not None:
        return number
    try:
        is_turning = epochs.pending(directory) is not None or bool(epochs.closed(directory))
    except OSError as exc:
        raise unreadable(exc) from exc
    if is_turning:
        raise _turning()
    raise NotFound("this log has no checkpoint yet")


def _top_number(top: CheckedFolder) -> int | None:
    """Which epoch lies in this folder, by its checkpoint or, before it has one, by its keys' name."""
    try:
        return epoch_of(top.newest().checkpoint.origin)[1]
    except NotFound:
        pass  # no checkpoint yet: its key's name tells
    except Unavailable as exc:
        raise unreadable(exc) from exc
    try:
        vkey = top.read_now(VKEY, VKEY_BYTES_MAX)
    except NotFound:
        return None
    except Unavailable as exc:
        raise unreadable(exc) from exc
    return epoch_of(vkey.decode("utf-8", "replace").partition("+")[0])[1]


def _parsed(note: bytes) -> Checkpoint:
    try:
        return Checkpoint.of_note(note)
    except Rejected as exc:
        raise CorruptState(f"a checkpoint of a log folder is damaged: {exc}") from exc


def _turning() -> Unavailable:
    return Unavailable("the log goes from one epoch to the next just now; ask again in a second")


# --- routes ---------------------------------------------------------------------------------------


def _served(request: web.Request) -> Served:
    served = request.app[LOGS].get(request.match_info["log"])
    if served is None:
        raise NotFound("this node serves no such log")
    return served


async def _log_of(request: web.Request) -> ServedLog:
    served = _served(request)
    epoch = request.match_info.get("epoch")
    away = request.app.get(AWAY)
    if epoch is None:
        return await ServedLog.newest(served, away)
    if not EPOCH.fullmatch(epoch):
        raise NotFound("this log has no such epoch")
    return ServedLog(served, int(epoch), away)


async def _of_newest(request: web.Request, served: ServedLog, found: Awaitable[_Found]) -> _Found:
    """What is not in the newest epoch may be in an earlier one: then it is said where that is."""
    try:
        return await found
    except NotFound as exc:
        if "epoch" in request.match_info or not served.before:
            raise
        raise NotFound(f"{exc}{served.before}") from exc


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
    found = await _of_newest(request, served, served.tile(tile))
    response = _reply(request, found.data, _BYTES, caching)
    if tile.level == ENTRIES:
        # Recommended by tlog-tiles for bundles; hashes do not get smaller.
        response.headers["Vary"] = "Accept-Encoding"
        if response.status == 200 and _takes_gzip(request.headers.get("Accept-Encoding", "")):
            response.headers["ETag"] = f"W/{response.headers['ETag']}"
            if found.packed is None:
                response.enable_compression(web.ContentCoding.gzip)
            else:
                response.body, response.headers["Content-Encoding"] = found.packed, "gzip"
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
        served = ServedLog(_served(request), epoch_of(origin)[1], request.app.get(AWAY))
    wanted = served.receipt(int(index), None if size is None else int(size), origin)
    receipt = await (_of_newest(request, served, wanted) if origin is None else wanted)
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
