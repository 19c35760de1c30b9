"""The anchors of a data directory on disk: what waits, what was sent, and every proof, over restarts.

Three files for each anchor in ``<data_dir>/anchors/``, named ``<size>-<first 16 hex digits of the digest>``:
- ``….checkpoint``: the checkpoint note that is anchored, byte for byte;
- ``….checkpoint.ots``: the receipt beside it, from ``pending`` on (the stock ``ots verify`` takes this pair);
- ``….json``: the state (``AnchorStatus``), UTF-8 JSON, ``v`` 1, times in ISO 8601.

Promises: each file is replaced whole; note and receipt are durable before the state that speaks of them, so
the state is never stronger than what lies beside it; a state file that is damaged, or whose note or receipt
is missing, is passed over and named, never guessed at. Everything here blocks. It knows no service and no
clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import orjson

from node.audit.anchors.anchor import ATTESTED, PENDING, QUEUED, STATES, SUBMITTED, VERIFIED
from node.core.errors import NotFound, Rejected
from node.core.files import DISK, Files, translated

log = logging.getLogger("neuroswarm.anchor")

NOTE = ".checkpoint"
RECEIPT = ".checkpoint.ots"
STATE = ".json"

_TOLD = (SUBMITTED, ATTESTED, VERIFIED)
_VERSION = 1
_STATE_BYTES_MAX = 16 * 1024
_BYTES_MAX = 256 * 1024
_ERROR_CHARS_MAX = 400
_NAME = re.compile(r"([0-9]{12,20}-[0-9a-f]{16})(\.checkpoint\.ots|\.checkpoint|\.json)")

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


@dataclass(frozen=True, slots=True)
class AnchorStatus:
    """One anchor. ``size`` is how many entries its checkpoint covers, ``digest`` the SHA-256 of the note.

    ``since`` is when ``state`` was entered, ``tries`` counts since then, ``next_at`` is when it is looked
    after again; ``reported`` is the strongest state that the log has a leaf of. ``height`` belongs to
    ``attested``, ``block_hash`` and ``block_time`` to ``verified``. ``error`` is what stands in the way
    now."""

    service: str
    state: str
    origin: str
    size: _Count
    digest: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    queued_at: _Time
    since: _Time
    next_at: _Time
    tries: _Count = 0
    reported: str = ""
    error: str = ""
    height: _Count | None = None
    block_hash: str = ""
    block_time: _Time | None = None

    @property
    def name(self) -> str:
        """The stem of its files."""
        return f"{self.size:012d}-{self.digest[:16]}"

    @property
    def has_receipt(self) -> bool:
        return self.state in (PENDING, ATTESTED, VERIFIED)

    @property
    def is_attested(self) -> bool:
        return self.state in (ATTESTED, VERIFIED)

    @property
    def leaves_told(self) -> int:
        return _TOLD.index(self.reported) + 1 if self.reported in _TOLD else 0

    @property
    def untold(self) -> str | None:
        """The next state to tell the log, if any."""
        told = STATES.index(self.reported) if self.reported else -1
        reached = STATES.index(self.state)
        return next((state for state in _TOLD if told < STATES.index(state) <= reached), None)

    def say(self) -> str:
        """Its state as a clause for people."""
        entries, height = f"({self.size:,} entries)", f"{self.height or 0:,}"
        clause = {
            QUEUED: f"queued, nothing of it has left this machine {entries}",
            SUBMITTED: f"submitted, nobody has answered {entries}",
            PENDING: f"pending: a calendar has taken it, no block holds it yet {entries}",
            ATTESTED: f"attested by block {height}, whose header was not looked up",
            VERIFIED: f"verified: block {height} of {self.block_time:%Y-%m-%d %H:%M} UTC holds it"
            if self.block_time is not None
            else "",
        }[self.state]
        return f"{clause}; {self.error}" if self.error else clause


_FIELDS = [one.name for one in fields(AnchorStatus)]


class AnchorFiles:
    """The folder. One writer; readers may come at any time."""

    def __init__(self, directory: Path, files: Files | None = None) -> None:
        self.directory = directory
        self.damaged: tuple[str, ...] = ()
        """State files that the last ``load`` passed over."""
        self._files = files or DISK

    def load(self) -> list[AnchorStatus]:
        """All that are whole, newest first; none where there is no folder. Raises ``Unavailable``."""
        found: list[AnchorStatus] = []
        damaged: list[str] = []
        names = set(self._names())
        for name in sorted(name for name in names if name.endswith(STATE) and _NAME.fullmatch(name)):
            try:
                status = _decoded(self._read(name, _STATE_BYTES_MAX))
                _check_files(status, name, names)
            except (Rejected, NotFound) as exc:
                log.warning("anchor %s is passed over: %s", self.directory / name, exc)
                damaged.append(name)
            else:
                found.append(status)
        self.damaged = tuple(damaged)
        return sorted(found, key=lambda status: (status.queued_at, status.size), reverse=True)

    def tidy(self, kept: Sequence[AnchorStatus]) -> None:
        """Remove what a killed process left without a state. Raises ``Unavailable``."""
        stems = {status.name for status in kept} | {name.removesuffix(STATE) for name in self.damaged}
        for name in self._names():
            match = _NAME.fullmatch(name.removeprefix(".").removesuffix(".new"))
            if match is not None and (name.startswith(".") or match[1] not in stems):
                self._unlink(name)

    def note(self, status: AnchorStatus) -> bytes:
        """The checkpoint note. Raises ``NotFound``, ``Rejected`` (not the bytes it was), ``Unavailable``."""
        data = self._read(status.name + NOTE, _BYTES_MAX)
        if hashlib.sha256(data).hexdigest() != status.digest:
            raise Rejected(f"{self.directory / (status.name + NOTE)} is not the note that was anchored")
        return data

    def receipt(self, status: AnchorStatus) -> bytes:
        """The proof, unchecked. Raises ``NotFound``, ``Rejected`` (too long), ``Unavailable``."""
        return self._read(status.name + RECEIPT, _BYTES_MAX)

    def save(self, status: AnchorStatus, *, note: bytes | None = None, receipt: bytes | None = None) -> None:
        """Make the anchor durable as it is now; what is not given stays. Raises ``Unavailable``."""
        with translated(f"cannot write anchors in {self.directory}"):
            self._files.make_directories(self.directory)
            if note is not None:
                self._files.replace(self.directory / (status.name + NOTE), note)
            if receipt is not None:
                self._files.replace(self.directory / (status.name + RECEIPT), receipt)
            self._files.replace(self.directory / (status.name + STATE), _encoded(status))

    def drop(self, status: AnchorStatus) -> None:
        """Forget one, its state first. Raises ``Unavailable``."""
        for suffix in (STATE, RECEIPT, NOTE):
            self._unlink(status.name + suffix)

    def _names(self) -> list[str]:
        with translated(f"cannot read anchors in {self.directory}"):
            try:
                return self._files.names(self.directory)
            except FileNotFoundError:
                return []

    def _read(self, name: str, bytes_max: int) -> bytes:
        path = self.directory / name
        with translated(f"cannot read anchors in {self.directory}"):
            try:
                data = self._files.read(path, bytes_max)
            except FileNotFoundError as exc:
                raise NotFound(f"{path} is missing") from exc
        if len(data) > bytes_max:
            raise Rejected(f"{path} is longer than {bytes_max} bytes")
        return data

    def _unlink(self, name: str) -> None:
        path = self.directory / name
        with translated(f"cannot remove {path}"), contextlib.suppress(FileNotFoundError):
            self._files.unlink(path)


def _check_files(status: AnchorStatus, name: str, names: set[str]) -> None:
    if status.name + STATE != name:
        raise Rejected("it speaks of another checkpoint than its name")
    if status.name + NOTE not in names:
        raise Rejected("its note is missing")
    if status.has_receipt and status.name + RECEIPT not in names:
        raise Rejected("its receipt is missing")


def _encoded(status: AnchorStatus) -> bytes:
    value = {"v": _VERSION, **{name: getattr(status, name) for name in _FIELDS}}
    value["error"] = status.error[:_ERROR_CHARS_MAX]
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _decoded(data: bytes) -> AnchorStatus:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as exc:
        raise Rejected("it is not JSON") from exc
    if not isinstance(value, dict) or value.pop("v", None) != _VERSION:
        raise Rejected(f"it is not an anchor's state of version {_VERSION}")
    if missing := [name for name in _FIELDS if name not in value]:
        raise Rejected(f"it lacks {missing[0]!r}")
    try:
        status = msgspec.convert(value, AnchorStatus)
    except msgspec.ValidationError as exc:
        raise Rejected(f"its {exc.args[0].partition('$.')[2].strip('`')} is none") from exc
    if len(value) > len(_FIELDS) or status.state not in STATES or status.reported not in ("", *STATES):
        raise Rejected("it holds something that no anchor's state holds")
    if (status.height is not None) != (status.state in (ATTESTED, VERIFIED)):
        raise Rejected("its state and its block do not go together")
    if (status.block_time is not None) != (status.state == VERIFIED):
        raise Rejected("its state and its block's time do not go together")
    return status
