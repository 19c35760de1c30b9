"""A log's files of which only what its signed checkpoint vouches for is given out.

Promises: each tile and bundle is held against the root of the newest checkpoint each time that it is read
(``vouched``), the checkpoint against the keys of its log. What does not hold, or is covered by the checkpoint
and not there, is ``DamagedTile``, which names entries by their numbers; it is never given out, whatever lies
in the folder. Damage is told from a publisher that goes on meanwhile: then the checkpoint has changed.

Reads only; blocking but for ``read``. May be called by many threads at once. Shares nothing with the writer
but the pure rules. Must not know: what entries say, how damage is mended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, WITNESSED, Files, FolderSource
from node.audit.tlog.packed import SUFFIX, is_packed, unpack
from node.audit.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile, decode_bundle, encode_bundle
from node.audit.tlog.vouched import Rows, Unvouched, leaf_row
from node.core.errors import DamagedLog, NotFound, Rejected
from node.core.merkle import HASH_BYTES
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint, Verifier, open_checkpoint

KeysOf = Callable[[str], Sequence[Verifier]]
"""(origin) → the keys of this node that sign that log, none where it is another's; those that lie beside the
log count as well. Raises ``Rejected`` for another's log."""


_TRIES = 4
"""How often a tile is looked for again because the publisher went on between two reads."""


class DamagedTile(DamagedLog):
    """``tile`` is not what the checkpoint vouches for. One that is partial and no bundle hash tile stands for
    the whole right edge."""

    def __init__(self, tile: Tile, origin: str, why: str) -> None:
        first, last = entries_of(tile)
        what = "" if tile.is_bundle else "the hashes over "
        super().__init__(
            f"{what}entries {first} to {last} of the log {origin} are damaged here and not given out "
            f"({tile.path}: {why})"
        )
        self.tile = tile
        self.why = why


def entries_of(tile: Tile) -> tuple[int, int]:
    """The first and the last entry under a tile."""
    each = 1 << HEIGHT * max(0, tile.level)
    first = tile.index * WIDTH * each
    return first, first + tile.width * each - 1


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest checkpoint, its signature checked, and the hashes that its root vouches for."""

    note: bytes
    checkpoint: Checkpoint
    rows: Rows


@dataclass(frozen=True, slots=True)
class Checked:
    """A tile's bytes; of a complete bundle that lies there packed also those."""

    data: bytes
    packed: bytes | None = None


class CheckedFiles:
    """Files of a log, wherever they are, held against a checkpoint that the caller trusts."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def under(self, checkpoint: Checkpoint, note: bytes) -> Standing:
        """What a checkpoint vouches for that the caller trusts; every tile is read anew for it."""
        return Standing(note, checkpoint, self.rows(checkpoint))

    def rows(self, checkpoint: Checkpoint, before: Rows | None = None) -> Rows:
        """The hashes under this checkpoint. ``before``: what is known of them under it, or of its full rows
        under an earlier one of the same log."""
        return Rows(checkpoint.size, checkpoint.root, self._hashes, before)

    def tile_under(self, standing: Standing, tile: Tile) -> Checked:
        """``tile`` under this checkpoint, in one try."""
        rows = standing.rows
        if tile.width > rows.width(tile.level, tile.index):
            raise NotFound(f"{tile.path} is not under the newest checkpoint of this log")
        try:
            if tile.level == ENTRIES:
                return self._bundle(rows, tile)
            return Checked(rows.row(tile.level, tile.index)[: tile.width * HASH_BYTES])
        except Unvouched as exc:
            raise DamagedTile(exc.tile, standing.checkpoint.origin, exc.why) from exc

    def wrong(self, standing: Standing, tile: Tile) -> bytes | None:
        """What a partial tile, left by an earlier checkpoint, should hold; None where it does, or where this
        checkpoint does not cover it. Raises ``DamagedTile``, ``Unavailable``."""
        try:
            right = self.tile_under(standing, tile).data
            return None if self._plain(tile) == right else right
        except NotFound:
            return None  # removed just now
        except Rejected:
            return right

    def verify(self, standing: Standing, tile: Tile) -> None:
        """The very file of this tile is whole; for a partial tile the whole right edge. Raises
        ``DamagedTile``, ``Unavailable``."""
        data = self.tile_under(standing, tile).data
        if tile.is_bundle or not tile.is_full:
            return
        try:
            is_whole = self._files.read_now(tile.path, tile.bytes_max) == data
        except (NotFound, Rejected):
            is_whole = False
        if not is_whole:
            raise DamagedTile(tile, standing.checkpoint.origin, "it is not what the checkpoint vouches for")

    # --- the files, as they lie there ---------------------------------------------------------------

    def _bundle(self, rows: Rows, tile: Tile) -> Checked:
        """The bundle as the checkpoint has it, or the complete one, cut; raises ``Unvouched``."""
        row = rows.row(0, tile.index)
        have = Tile(ENTRIES, tile.index, len(row) // HASH_BYTES)
        problem = "it is missing"
        for width in dict.fromkeys((have.width, WIDTH, tile.width)):
            one = Tile(ENTRIES, tile.index, width)
            try:
                data, packed = self._as_it_lies(one)
                entries = decode_bundle(data, width)[: have.width]
            except NotFound:
                continue
            except Rejected as exc:
                problem = str(exc)
                continue
            if leaf_row(entries) != row[: len(entries) * HASH_BYTES]:
                problem = "entries have other bytes than were signed"
            elif tile.width == width:
                return Checked(data, packed)
            else:
                return Checked(encode_bundle(entries[: tile.width]))
        raise Unvouched(have, problem)

    def _as_it_lies(self, tile: Tile) -> tuple[bytes, bytes | None]:
        """(plain, packed) bytes of a bundle, the packed file first as everybody reads it. Raises
        ``NotFound``, ``Rejected``, ``Unavailable``."""
        if is_packed(tile):
            try:
                packed = self._read(self._files.packed_now, tile)
            except NotFound:
                pass  # it lies there plain
            else:
                return unpack(packed, tile.bytes_max), packed
        return self._plain(tile), None

    def _hashes(self, tile: Tile) -> bytes:
        """A hash tile, cut from the full one where the log has gone on. Unchecked."""
        try:
            return self._read(self._files.read_now, tile)
        except NotFound:
            if tile.is_full:
                raise
        return self._read(self._files.read_now, Tile(tile.level, tile.index))[: tile.bytes_max]

    def _plain(self, tile: Tile) -> bytes:
        return self._read(self._files.plain_now, tile)

    def _read(self, read: Callable[[str, int], bytes], tile: Tile) -> bytes:
        """What is wrong with a file is told to everybody: without the path of this machine."""
        try:
            return read(tile.path, tile.bytes_max)
        except Rejected as exc:
            place = self._files.place(tile.path)
            raise Rejected(str(exc).replace(f"{place}{SUFFIX}", "it").replace(place, "it")) from exc


class CheckedFolder(CheckedFiles):
    """One log in one folder. It is a ``Source``."""

    def __init__(self, source: FolderSource, keys: KeysOf = lambda _: ()) -> None:
        super().__init__(source)
        self.source = source
        self._keys = keys
        self._standing: Standing | None = None

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source.read``; raises ``DamagedLog`` as well."""
        return await asyncio.to_thread(self.read_now, path, bytes_max)

    def read_now(self, path: str, bytes_max: int) -> bytes:
        """``read``, blocking. ``bytes_max`` is what a tile can hold anyway."""
        if path == CHECKPOINT:
            return self.newest().note
        if path in (WITNESSED, VKEY):
            return self._beside(path, bytes_max)
        return self.tile(Tile.parse(path)).data

    def newest(self) -> Standing:
        """Raises ``NotFound`` (no log was begun), ``DamagedLog``, ``Unavailable``."""
        known = self._standing
        note = self._raw(CHECKPOINT, NOTE_BYTES_MAX)
        if known is not None and known.note == note:
            return known
        checkpoint = self._opened(note, CHECKPOINT)
        is_same_log = known is not None and known.checkpoint.origin == checkpoint.origin
        rows = self.rows(checkpoint, known.rows if known is not None and is_same_log else None)
        self._standing = Standing(note, checkpoint, rows)
        return self._standing

    def tile(self, tile: Tile) -> Checked:
        """A tile or bundle under the newest checkpoint, cut to the asked width. Raises ``NotFound`` (it is
        not under the checkpoint), ``DamagedTile``, ``DamagedLog``, ``Unavailable``."""
        standing = self.newest()
        for _ in range(_TRIES):
            try:
                return self.tile_under(standing, tile)
            except DamagedTile:
                before, standing = standing, self.newest()
                if standing.note == before.note:
                    raise
        return self.tile_under(standing, tile)

    def opened(self, note: bytes) -> Checkpoint:
        """A checkpoint that a key of its log has signed. Raises ``DamagedLog``."""
        return self._opened(note, CHECKPOINT)

    # --- what lies beside the tiles ---------------------------------------------------------------

    def _raw(self, path: str, bytes_max: int) -> bytes:
        try:
            return self.source.read_now(path, bytes_max)
        except NotFound as exc:
            raise NotFound(f"this log has no {path}") from exc
        except Rejected as exc:
            raise DamagedLog(f"the file {path} of this log is damaged here and not given out") from exc

    def _beside(self, path: str, bytes_max: int) -> bytes:
        data = self._raw(path, bytes_max)
        if path == WITNESSED:
            self._opened(data, path)
        else:
            self._keys_in(data)
        return data

    def _opened(self, note: bytes, path: str) -> Checkpoint:
        try:
            origin = Checkpoint.of_note(note).origin
        except Rejected as exc:
            raise DamagedLog(f"the {path} of this log is damaged here and not given out: {exc}") from exc
        problem = ""
        for keys in (self._own_keys(origin), self._keys_beside()):
            try:
                return open_checkpoint(note, keys).checkpoint
            except Rejected as exc:
                problem = problem or str(exc)
        raise DamagedLog(f"the {path} of this log is damaged here and not given out: {problem}")

    def _own_keys(self, origin: str) -> Sequence[Verifier]:
        try:
            return self._keys(origin)
        except Rejected:
            return ()

    def _keys_beside(self) -> Sequence[Verifier]:
        try:
            return self._keys_in(self._raw(VKEY, VKEY_BYTES_MAX))
        except (NotFound, DamagedLog):
            return ()

    @staticmethod
    def _keys_in(data: bytes) -> Sequence[Verifier]:
        try:
            keys = [Verifier.from_vkey(line) for line in data.decode("ascii").split()]
        except (UnicodeDecodeError, Rejected) as exc:
            raise DamagedLog("the file vkey of this log is damaged here and not given out") from exc
        if not keys:
            raise DamagedLog("the file vkey of this log is empty here and not given out")
        return keys
