"""What the owner of a data directory may ask of it: import, export, invalidate, erase, rotate a key, take in
the blocks of a CAR, and what concerns peers. Plain JSON, and bytes where a file is taken in.

The same desk serves the local socket of a running node and a command that has opened the directory itself.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from node.agent.memory.books import Books
from node.app.access import KeyDesk
from node.app.backup import Backups
from node.app.reach import UNREACHED, Place, Reach
from node.app.remembering import FOLDER as MEMORY_FOLDER
from node.app.transfer.cache_file import ALL_SCOPES, BATCH_LINES_MAX, CacheFile, scope_of
from node.app.transfer.car_file import CarFile
from node.audit.decisions.rotation import KeyRotation
from node.core.errors import BadInput, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Check
from node.core.ports import Embedded, EmbedderInfo, SemanticFacts, StoredRecord, VectorIndex
from node.core.record import format_time
from node.knowledge.desk import DocumentDesk
from node.peers.sync.desk import PeerDesk
from node.pipeline.invalidation import Invalidator
from node.pipeline.requests import Invalidation
from node.store.guard import accept_loss
from node.store.retention.erasure import Erased, Erasure

log = logging.getLogger("neuroswarm")

_TEXT_MAX = 65_536
_AGE_S_MAX = 10 * 365 * 86_400
_KINDS: Mapping[str, type] = {
    "cid": str,
    "query": str,
    "like": bool,
    "source": str,
    "older_than_s": int,
    "tag": str,
    "scope": str,
    "dry_run": bool,
}
_LIMITS: Mapping[type, str] = {
    str: f"text of 1 to {_TEXT_MAX} characters",
    bool: "true or false",
    int: f"a whole number from 0 to {_AGE_S_MAX}",
}


ROOTS_SHOWN = 100
ERASED_MAX = 100
_FILES_STAY = "files of the operator's: delete them there; as they are, they are not taken in again"
"""Records in one call; whoever has more calls again."""

Command: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


class LaterSemantics:
    """Stands in for the vectors of a data directory that no node uses: what is stored owes its vector, and
    the index follows the records at the next start."""

    info = EmbedderInfo(model="none", digest="", dim=0, tokens_max=0)

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        raise Unavailable("vectors are made when the node runs")

    def index(self, info: EmbedderInfo) -> VectorIndex | None:
        return None

    def keep(self, stored: StoredRecord, embedded: Embedded | None) -> None:
        """The store says that it owes one."""

    def remove(self, cid: Cid) -> bool:
        return False

    async def probe(self) -> None:
        """There is nothing to find out."""

    def health(self) -> Sequence[Check]:
        return ()

    def facts(self) -> SemanticFacts:
        return SemanticFacts(0, 0, 0, 0)


async def nobody_asked() -> dict[str, Any]:
    """Raises ``Rejected``."""
    raise Rejected("no node runs here, so there are no answers of today to grade")


@dataclass(frozen=True, slots=True)
class OperatorDesk:
    """Build one per data directory. Each method takes and returns what JSON can hold. ``peers`` and
    ``keys``: the parts of it that have commands of their own."""

    file: CacheFile
    invalidator: Invalidator
    rotation: KeyRotation
    cars: CarFile
    erasure: Erasure
    backups: Backups
    reach: Reach
    peers: PeerDesk
    keys: KeyDesk
    documents: DocumentDesk
    folder: Path
    accept_clock: Callable[[], Awaitable[dict[str, Any]]]
    judge: Callable[[], Awaitable[dict[str, Any]]] = nobody_asked
    forget: Callable[[str], Awaitable[bool]] | None = None
    """Erases what a running node remembers of a tenant; None where none runs."""

    async def do(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``import``, ``export``, ``export_car``, ``name``, ``invalidate``, ``erase``, ``backup``,
        ``rotate``, ``accept_loss``, ``accept_clock``, ``documents``, ``judge`` or one of
        ``PeerDesk.commands`` and ``KeyDesk.commands``. Raises ``BadInput``,
        ``NotFound``, ``Rejected``, ``Unavailable``, ``Misconfigured``."""
        commands: dict[str, Command] = {
            "import": self.take,
            "export": self.page,
            "invalidate": self.invalidate,
            "rotate": self.rotate,
            "export_car": partial(_blocks, self.cars),
            "name": partial(_name, self.cars),
            "accept_loss": partial(_accept_loss, self.folder),
            "erase": self.erase,
            "backup": self.backups.do,
            "accept_clock": lambda _asked: self.accept_clock(),
            "documents": self.documents.do,
            "judge": lambda _asked: self.judge(),
            **self.peers.commands(),
            **self.keys.commands(),
        }
        if what not in commands:
            raise BadInput(f"there is no command {what[:64]!r}", field="command")
        return await commands[what](asked)

    async def stream(self, what: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
        """``ingest``: the bytes of a CAR -> ``{"roots", "roots_count", "blocks", "bytes", "known",
        "identity"}``; at most ``ROOTS_SHOWN`` roots are named. Raises ``BadInput``, ``Rejected``,
        ``Unavailable``."""
        if what != "ingest":
            raise BadInput(f"there is no command {what[:64]!r}", field="command")
        done = await self.cars.take(chunks)
        return {
            "roots": [str(root) for root in done.roots[:ROOTS_SHOWN]],
            "roots_count": len(done.roots),
            "blocks": done.blocks,
            "bytes": done.bytes,
            "known": done.known,
            "identity": done.identity,
        }

    async def take(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"lines": [[number, base64 of the line], …]}`` -> ``{"outcomes": [{"line", "code", …}]}``. Lines
        travel in base64, for what is no UTF-8 has to be reported like any other bad line."""
        lines = asked.get("lines")
        if not isinstance(lines, list) or len(lines) > BATCH_LINES_MAX:
            raise BadInput("lines must be a list", field="lines", limit=f"{BATCH_LINES_MAX} lines")
        try:
            given = [(int(number), base64.b64decode(line, validate=True)) for number, line in lines]
        except (TypeError, ValueError) as exc:
            raise BadInput("a line is not a number and base64", field="lines") from exc
        return {"outcomes": [asdict(outcome) for outcome in await self.file.take(given)]}

    async def page(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"after", "scope"}`` -> ``{"lines": [text, …], "after"}``; ``after`` is null at the end."""
        after, scope = _after(asked), asked.get("scope")
        if scope is not None and scope != ALL_SCOPES:
            scope = scope_of(scope)
        page = await self.file.page(after, scope)
        return {"lines": [line.decode() for line in page.lines], "after": page.after}

    async def invalidate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of ``service.Invalidation`` -> ``{"matched", "withdrawn", "cids"}``."""
        wanted: dict[str, Any] = {}
        for name, value in asked.items():
            kind = _KINDS.get(name)
            if kind is None:
                raise BadInput(f"unknown field {name[:64]!r}; known are {', '.join(_KINDS)}", field=name[:64])
            if value is None:
                continue
            if type(value) is not kind or (isinstance(value, str) and not 0 < len(value) <= _TEXT_MAX):
                limit = _LIMITS[kind]
                raise BadInput(f"{name} must be {limit}", field=name, limit=limit)
            wanted[name] = value
        if not 0 <= wanted.get("older_than_s", 0) <= _AGE_S_MAX:
            raise BadInput("older_than_s is out of range", field="older_than_s", limit=f"0 to {_AGE_S_MAX}")
        if "scope" in wanted and wanted["scope"] != "private":
            wanted["scope"] = scope_of(wanted["scope"])
        if "cid" in wanted:
            try:
                wanted["cid"] = str(Cid.parse(wanted["cid"]))
            except Rejected as exc:
                raise BadInput(str(exc), field="cid") from exc
        done = await self.invalidator.run(Invalidation(**wanted), None)
        return {"matched": done.matched, "withdrawn": done.withdrawn, "cids": list(done.cids)}

    async def _forget(self, tenant: str) -> bool:
        """Erase what is remembered of a tenant; whether that was anything."""
        if self.forget is not None:
            return await self.forget(tenant)
        return await asyncio.to_thread(Books(self.folder / MEMORY_FOLDER).erase, tenant)

    async def erase(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"cid"}``, ``{"query"}`` or ``{"tenant"}``, and ``"dry_run"?`` -> ``{"erased": [{"cid", "scope",
        "tombstone", "decision"}, …], "documents", "memory", "more", "places": [{"place", "state",
        "why"}, …]}``. ``documents``: how many a tenant had; ``memory``: whether it was remembered. ``more``:
        ask again. ``places``: how far that got (``Place``)."""
        named = {name: asked.get(name) for name in ("cid", "query", "tenant")}
        wanted = {name: value for name, value in named.items() if value is not None}
        is_dry = asked.get("dry_run", False)
        if asked.keys() - {*named, "dry_run"} or not isinstance(is_dry, bool):
            raise BadInput("erase takes cid, query or tenant, and dry_run, true or false", field="cid")
        if len(wanted) != 1:
            raise BadInput("erase takes either a CID or a question or a tenant", field="cid")
        documents, folders, was_remembered = 0, list[str](), False
        if "tenant" in wanted:
            scope = scope_of(f"private:{_text(wanted['tenant'], 'tenant')}")
            documents, folders = await self.documents.erase(scope, is_dry=is_dry)
            if not is_dry:
                was_remembered = await self._forget(_text(wanted["tenant"], "tenant"))
        found, more = await _erased_of(self.erasure, *wanted.popitem(), is_dry=is_dry)
        places: list[Place] = []
        if (found or documents) and not is_dry:
            imported = [str(one.cid) for one in found if not one.scope]
            await self.backups.note_erased(imported)
            scopes = [one.scope for one in found]
            places = await self.reach.places([str(one.cid) for one in found], scopes)
            places += [Place(folder, UNREACHED, _FILES_STAY) for folder in folders]
        return {
            "erased": [_erased(one) for one in found],
            "documents": documents,
            "memory": was_remembered,
            "more": more,
            "places": [one.told() for one in places],
        }

    async def rotate(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"use", "drop_old"}`` -> ``{"use", "old", "new", "old_until", "old_vkey", "new_vkey",
        "decision"}``; vkeys are empty for the node key, ``decision`` is null where it could not be logged."""
        use, drop_old = asked.get("use"), asked.get("drop_old", False)
        if not isinstance(use, str) or not isinstance(drop_old, bool) or asked.keys() - {"use", "drop_old"}:
            raise BadInput("rotate takes use, a text, and drop_old, true or false", field="use")
        done = await self.rotation.rotate(use, drop_old=drop_old)
        place = done.decision
        return {
            "use": use,
            "old": done.rotation.old,
            "new": done.rotation.new,
            "old_until": format_time(done.rotation.old_until),
            "old_vkey": done.old_vkey,
            "new_vkey": done.new_vkey,
            "decision": None if place is None else {"log": place.log, "index": place.index},
        }


def _after(asked: Mapping[str, Any]) -> int:
    """Where a page begins: 0 at first. Raises ``BadInput``."""
    after = asked.get("after", 0)
    if type(after) is not int or not 0 <= after < 2**63:
        raise BadInput("after must be a sequence number", field="after")
    return after


async def _blocks(cars: CarFile, asked: Mapping[str, Any]) -> dict[str, Any]:
    """``{"after", "scope"}`` -> ``{"blocks": [[CID, base64], …], "after"}``; ``after`` is null at the
    end."""
    page = await cars.page(_after(asked), str(asked.get("scope")))
    return {
        "blocks": [[str(cid), base64.b64encode(data).decode()] for cid, data in page.blocks],
        "after": page.after,
    }


async def _name(cars: CarFile, asked: Mapping[str, Any]) -> dict[str, Any]:
    """``{"name", "record": base64}`` -> ``{"name", "kept"}``; not kept is what is older than what is
    here."""
    name, record = asked.get("name"), asked.get("record")
    if not isinstance(name, str) or not isinstance(record, str):
        raise BadInput("name takes a name and a record in base64", field="name")
    try:
        data = base64.b64decode(record, validate=True)
    except ValueError as exc:
        raise BadInput("the record is no base64", field="record") from exc
    text, is_kept = await cars.take_name(name, data)
    return {"name": text, "kept": is_kept}


async def _erased_of(
    erasure: Erasure, kind: str, value: object, *, is_dry: bool
) -> tuple[list[Erased], bool]:
    if kind == "cid":
        try:
            named = Cid.parse(str(value), any_hash=True)
        except Rejected as exc:
            raise BadInput(str(exc), field="cid") from exc
        return [await erasure.of_cid(named, dry_run=is_dry)], False
    value = _text(value, kind)
    if kind == "tenant":
        scope = scope_of(f"private:{value}")
        return await erasure.of_scope(scope, most=ERASED_MAX, dry_run=is_dry)
    return await erasure.of_question(value, most=ERASED_MAX, dry_run=is_dry)


def _text(value: object, kind: str) -> str:
    """Raises ``BadInput``."""
    if not isinstance(value, str) or not 0 < len(value) <= _TEXT_MAX:
        limit = _LIMITS[str]
        raise BadInput(f"{kind} must be {limit}", field=kind, limit=limit)
    return value


async def _accept_loss(folder: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """``{}`` -> ``{"why", "cids"}`` of what was noted as lost and is given up; empty where nothing was."""
    if asked:
        raise BadInput("accept_loss takes nothing", field="accept_loss")
    given_up = await asyncio.to_thread(accept_loss, folder)
    if given_up is None:
        return {"why": "", "cids": []}
    log.warning("event=loss_accepted reason=%s", given_up.said)
    return {"why": given_up.said, "cids": list(given_up.cids)}


def _erased(one: Erased) -> dict[str, Any]:
    place = one.decision
    return {
        "cid": str(one.cid),
        "scope": one.scope,
        "tombstone": None if one.tombstone is None else str(one.tombstone),
        "decision": None if place is None else {"log": place.log, "index": place.index},
    }
