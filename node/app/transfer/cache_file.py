"""The cache as lines of JSON (JSONL), in and out, and invalidation: what an operator's commands do.

One JSON object a line, UTF-8, at most ``LINE_BYTES_MAX`` bytes. Keys:

``v``            1; absent means 1
``query``        required; the question
``answer``       required; the text
``confidence``   0 to 1, default 0.85; more than 0.95 counts as 0.95
``source``       text, or ``{"kind", "id", "url"?, "time"?}``: an address of at most 1,000 characters, when it
                 said so (as ``timestamp``, which is the default); default id ``import``
``timestamp``    ISO 8601 with a zone: when the answer was made
``expires``      ISO 8601 with a zone, or null: as long as a client may ask for; absent: a week
``tags``         list of at most 16 texts of 1 to 64 printable characters
``scope``        ``shared`` (default), ``public``, or ``private:<tenant>``
``context``      null or 64 hex digits
``kept``         an object that is kept beside the record
``merged_into``  CID: the line's answer is that of the line with this ``cid``, in other words
``cid, route, slots, slot_key, citations, llm, validations``   written by the export for whoever reads it

Other keys are kept beside the record. Rules of the import:
1. A line is a client's word, whatever it says of itself: source kind ``client``, stored by ``local`` (whoever
   imports it), with the source that it names as its claim, confidence at most 0.95, the lifetime that a
   client would get, slots and slot key by this node's own router, scope ``public`` only where
   ``sharing.publish`` and the privacy screen allow it. Its texts pass the screen that clients' texts pass. No
   embedding is taken: it is made here, later. The import is the operator's: a line takes the place of what
   clients have stored for its question.
2. It may be repeated: what is live already is not stored twice.
3. A bad line is reported with its number, field and limit, and stops nothing.
4. Lines come in batches; memory does not grow with the file.

The export leaves out what has expired and, unless asked for by ``scope``, what is private. Private keys are
no records and are never written.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from node.cache.keys import keyword_key
from node.core.caller import LOCAL, SCOPE_PUBLIC, SCOPE_SHARED
from node.core.clock import Clock, new_id
from node.core.errors import BadInput, CorruptState, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.model import PPM, Client, Confidence, Freshness, Json, Kind, SourceRef
from node.core.normalise import normalise, query_hash
from node.core.ports import RecordStore, StoredRecord
from node.core.record import CLIENT, QUERY_CHARS_MAX, AnswerRecord, as_map, format_time
from node.pipeline.entries import check_for_people
from node.pipeline.understanding.route import Router
from node.store.record_rules import scope_for
from node.store.remember import OWED, Memory, Rememberer
from node.store.retention.freshness import lifetime_s

LINE_BYTES_MAX = 512 * 1024
BATCH_LINES_MAX = 256
EXPORT_LINES = 128
"""Survivors in one page of the export."""
EXPORT_BYTES = 8 * 2**20
"""A page ends behind the survivor with which it reaches this size."""
ALL_SCOPES = "all"

CONFIDENCE_DEFAULT, CONFIDENCE_MAX = 0.85, 0.95
LIFETIME_DEFAULT_S = 7 * 86_400
LIFETIME_MAX_S = 10 * 365 * 86_400
_TAGS_MAX, _TAG_CHARS_MAX, _SOURCE_CHARS_MAX = 16, 64, 256
_URL_CHARS_MAX = 1_000
_SCOPE = re.compile(r"private:[A-Za-z0-9_.@-]{1,128}\Z")
_CONTEXT = re.compile(r"[0-9a-f]{64}\Z")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_READ = ("v", "query", "answer", "confidence", "source", "timestamp", "expires", "tags", "scope", "context")
_TOLD = ("kept", "merged_into", "cid", "route", "slots", "slot_key", "citations", "llm", "validations")
_OURS = frozenset((*_READ, *_TOLD))
_AT_ONCE = 8
"""Lines that are stored at once: each costs the event loop milliseconds before it waits for the disk."""


@dataclass(frozen=True, slots=True)
class LineOutcome:
    """What came of one line. ``code``: stored, known, merged, expired, bad, refused, failed; the last three
    with the ``reason``, and ``field`` and ``limit`` where there are any."""

    line: int
    code: str
    reason: str = ""
    field: str | None = None
    limit: str | None = None
    cid: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of an export and where the next page begins; None at the end."""

    lines: tuple[bytes, ...]
    after: int | None


@dataclass(frozen=True, slots=True)
class _Parsed:
    query: str
    answer: str
    confidence: float
    source: SourceRef
    told: dict[str, Json]
    """What the line says of where it comes from, kept beside the record."""
    expires: datetime | None
    has_expiry: bool
    tags: tuple[str, ...]
    scope: str
    context: str | None
    is_unverified: bool = False
    """A model said it on no evidence: it would come in as somebody's knowledge."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """What people and models are shown of it, each text behind its field."""
        yield from (("query", self.query), ("answer", self.answer), ("source", self.source.id))
        yield from (("tags", tag) for tag in self.tags)


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Imports and exports for one node."""

    records: RecordStore
    rememberer: Rememberer
    router: Router
    clock: Clock
    _: KW_ONLY
    publish: str

    # --- in ---------------------------------------------------------------------------------------

    async def take(self, lines: Sequence[tuple[int, bytes]]) -> list[LineOutcome]:
        """Import a batch of (line number, line), durable on return, in order of their numbers. Raises
        ``Rejected`` for more than ``BATCH_LINES_MAX``."""
        if len(lines) > BATCH_LINES_MAX:
            raise Rejected(f"at most {BATCH_LINES_MAX} lines are imported at once")
        outcomes: list[LineOutcome] = []
        groups: dict[str, list[tuple[int, _Parsed]]] = {}
        for number, line in lines:
            try:
                parsed = parse(line)
                await check_for_people(parsed.texts())
            except BadInput as exc:
                outcomes.append(LineOutcome(number, "bad", str(exc), exc.field, exc.limit))
                continue
            if parsed.is_unverified:
                said = "a model said it on no evidence"
                outcomes.append(LineOutcome(number, "refused", f"it is not imported: {said}"))
                continue
            key = keyword_key(parsed.query) or query_hash(parsed.query)
            groups.setdefault(key, []).append((number, parsed))
            await asyncio.sleep(0)  # a running node answers questions between two lines
        free = asyncio.Semaphore(_AT_ONCE)
        for done in await asyncio.gather(*(self._in_order(group, free) for group in groups.values())):
            outcomes += done
        return sorted(outcomes, key=lambda outcome: outcome.line)

    async def _in_order(
        self, group: Sequence[tuple[int, _Parsed]], free: asyncio.Semaphore
    ) -> list[LineOutcome]:
        """Lines of which one may merge with another or replace it: one after the other."""
        outcomes: list[LineOutcome] = []
        for number, parsed in group:
            async with free:
                await asyncio.sleep(0)
                outcomes.append(await self._one(number, parsed))
        return outcomes

    async def _one(self, number: int, parsed: _Parsed) -> LineOutcome:
        memory = self._memory(parsed)
        if memory is None:
            return LineOutcome(number, "expired")
        done = await self.rememberer.keep(memory)
        reason = "" if done.is_durable else done.reason
        return LineOutcome(number, done.code, reason, cid=done.cid)

    def _memory(self, parsed: _Parsed) -> Memory | None:
        """A line as a memory; None when its time is over."""
        now = self.clock.now()
        asked_s = LIFETIME_DEFAULT_S
        if parsed.has_expiry:
            asked_s = LIFETIME_MAX_S
            if parsed.expires is not None:
                asked_s = min(asked_s, int((parsed.expires - now).total_seconds()))
        if asked_s <= 0:
            return None
        route = self.router.route(parsed.query, now=now)
        live = route.kind is Kind.DETERMINISTIC
        source = parsed.source
        return Memory(
            request_id=new_id(),
            query=parsed.query,
            answer=parsed.answer,
            route=str(route.kind),
            source=source,
            confidence=Confidence(parsed.confidence, {"source": parsed.confidence}),
            scope=scope_for(parsed.scope, self.publish, source, False),
            lifetime_s=lifetime_s(
                Freshness.TIME_SENSITIVE if live else Freshness.DEFINITION,
                query=parsed.query,
                time_sensitive=route.time_sensitive,
                asked_ttl_s=asked_s,
                now=now,
            ),
            context=parsed.context,
            tags=parsed.tags,
            slots=route.slots or None,
            slot_key=route.key,
            embed="later",
            kept=parsed.told or None,
        )

    # --- out --------------------------------------------------------------------------------------

    async def page(self, after: int, scope: str | None = None) -> Page:
        """The lines of what is live and was written after sequence ``after`` (0 at first). ``scope``: one
        scope, ``all``, or None for what is not private."""
        found = await self.records.since(after, limit=EXPORT_LINES)
        if not found:
            return Page((), None)
        lines: list[bytes] = []
        size, now = 0, self.clock.now()
        for stored in found:
            if size >= EXPORT_BYTES:
                return Page(tuple(lines), stored.sequence - 1)
            record = stored.record
            if not isinstance(record, AnswerRecord) or not _wanted(record.scope, scope):
                continue
            if record.expires is not None and record.expires <= now:
                continue
            first = len(lines)
            lines.append(line_of(stored, record, None))
            for alias in await self.records.aliases(stored.cid):
                try:
                    merged = await self.records.get(alias.cid)
                except (NotFound, CorruptState):
                    continue  # reclaimed: its wording is known here by its hash only; or its block is damaged
                if isinstance(merged.record, AnswerRecord):
                    lines.append(line_of(merged, merged.record, stored.cid))
            size += sum(map(len, lines[first:]))
        return Page(tuple(lines), found[-1].sequence)


def _wanted(scope: str, asked: str | None) -> bool:
    if asked is None:
        return scope in (SCOPE_SHARED, SCOPE_PUBLIC)
    return asked in (ALL_SCOPES, scope)


def line_of(stored: StoredRecord, record: AnswerRecord, survivor: Cid | None) -> bytes:
    """A record as a line, without the line break."""
    kept = {name: value for name, value in (stored.kept or {}).items() if name != OWED}
    said: dict[str, Any] = {
        "v": 1,
        "cid": str(stored.cid),
        "query": record.query,
        "answer": record.answer,
        "confidence": record.confidence / PPM,
        "source": as_map(record.source),
        "timestamp": format_time(record.timestamp),
        "expires": None if record.expires is None else format_time(record.expires),
        "tags": list(record.tags),
        "scope": record.scope,
        "context": record.context,
        "route": record.route,
        "slots": None if record.slots is None else dict(record.slots),
        "slot_key": record.slot_key,
        "citations": as_map(record.citations),
        "llm": None if record.llm is None else {"id": record.llm.id, "digest": record.llm.digest},
        "validations": {"valid": stored.valid, "invalid": stored.invalid},
        "kept": kept or None,
    }
    if survivor is not None:
        said["merged_into"] = str(survivor)
    return orjson.dumps(said)


# --- one line -------------------------------------------------------------------------------------


def parse(line: bytes) -> _Parsed:
    """Read one line. Raises ``BadInput`` with field and limit."""
    if len(line) > LINE_BYTES_MAX:
        raise BadInput(
            f"the line is over {LINE_BYTES_MAX} bytes", field="line", limit=f"{LINE_BYTES_MAX} bytes"
        )
    try:
        said = orjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as exc:
        raise BadInput(f"the line is not valid JSON: {exc}", field="line", limit="one JSON object") from exc
    if not isinstance(said, dict):
        raise BadInput("the line is no JSON object", field="line", limit="one JSON object")
    if said.get("v", 1) != 1:
        raise BadInput("the line has a version that this program does not know", field="v", limit="1")
    query = normalise(_text(said, "query", QUERY_CHARS_MAX))
    if not query:
        raise BadInput("query holds nothing but question marks and spaces", field="query")
    expires = _time(said, "expires")
    source, told = _source(said.get("source"), _time(said, "timestamp"))
    kept = said.get("kept")
    if kept is not None and not isinstance(kept, dict):
        raise BadInput("kept must be an object or null", field="kept")
    told = {**(kept or {}), **{name: said[name] for name in said.keys() - _OURS}, **told}
    if isinstance(said.get("cid"), str):
        told["imported_cid"] = said["cid"][:_SOURCE_CHARS_MAX]
    return _Parsed(
        query=query,
        answer=_text(said, "answer", QUERY_CHARS_MAX),
        confidence=min(CONFIDENCE_MAX, _confidence(said.get("confidence"))),
        source=source,
        told=told,
        expires=expires,
        has_expiry="expires" in said,
        tags=_tags(said.get("tags")),
        scope=scope_of(said.get("scope")),
        context=_context(said.get("context")),
        is_unverified=_is_unverified(said),
    )


def _is_unverified(said: Mapping[str, Any]) -> bool:
    source = said.get("source")
    return isinstance(source, dict) and source.get("kind") == "llm" and not said.get("citations")


def _text(said: Mapping[str, Any], name: str, most: int) -> str:
    value, limit = said.get(name), f"1 to {most} characters"
    if value is None:
        raise BadInput(f"{name} is required", field=name, limit=limit)
    if not isinstance(value, str):
        raise BadInput(f"{name} must be text", field=name, limit=limit)
    if not value.strip():
        raise BadInput(f"{name} is empty", field=name, limit=limit)
    if len(value) > most:
        raise BadInput(f"{name} has {len(value)} characters, the limit is {most}", field=name, limit=limit)
    if _CONTROLS.search(value):
        raise BadInput(f"{name} holds a control character", field=name, limit="no control characters")
    return value


def _confidence(value: object) -> float:
    if value is None:
        return CONFIDENCE_DEFAULT
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput("confidence must be a number from 0 to 1", field="confidence", limit="0 to 1")
    return float(value)


def _time(said: Mapping[str, Any], name: str) -> datetime | None:
    value = said.get(name)
    if value is None:
        return None
    limit = "ISO 8601 with a zone, e.g. 2026-11-21T23:07:34Z"
    try:
        when = datetime.fromisoformat(value) if isinstance(value, str) else None
        if when is None or when.tzinfo is None:
            raise BadInput(f"{name} must be a time with its zone, or null", field=name, limit=limit)
        return when.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise BadInput(f"{name} is not a time", field=name, limit=limit) from exc


def _source(value: object, made: datetime | None) -> tuple[SourceRef, dict[str, Json]]:
    """Who says so, as this node takes it, and what is kept of what the line says itself."""
    limit = f"text, or an object with kind and id, of 1 to {_SOURCE_CHARS_MAX} characters"
    told = {"id": value} if isinstance(value, str) else {} if value is None else value
    if not isinstance(told, dict):
        raise BadInput("source must be text or an object", field="source", limit=limit)
    name, kind = told.get("id", "import"), told.get("kind", "client")
    for text in (name, kind):
        if not isinstance(text, str) or not text.strip() or len(text) > _SOURCE_CHARS_MAX:
            raise BadInput("source has an id or a kind that is no short text", field="source", limit=limit)
    url = told.get("url")
    if url is not None and not (
        isinstance(url, str) and 0 < len(url) <= _URL_CHARS_MAX and url.isprintable()
    ):
        raise BadInput("source.url is no address", field="source", limit=f"1 to {_URL_CHARS_MAX} characters")
    said: dict[str, Json] = {} if kind == "client" else {"imported_source": {"kind": kind, "id": name}}
    claim = None if name == LOCAL else name
    return SourceRef(CLIENT, name, url, _time(told, "time") or made, client=Client(LOCAL, claim)), said


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    limit = f"{_TAGS_MAX} x {_TAG_CHARS_MAX} characters"
    if not isinstance(value, list) or len(value) > _TAGS_MAX:
        raise BadInput(f"tags must be a list of at most {_TAGS_MAX} texts", field="tags", limit=limit)
    for tag in value:
        if not isinstance(tag, str) or not 0 < len(tag) <= _TAG_CHARS_MAX or not tag.isprintable():
            raise BadInput("a tag is not a short printable text", field="tags", limit=limit)
    return tuple(value)


def scope_of(value: object) -> str:
    """A scope that a record can have; ``shared`` where none is named. Raises ``BadInput``."""
    if value is None:
        return SCOPE_SHARED
    if value in (SCOPE_SHARED, SCOPE_PUBLIC) or (isinstance(value, str) and _SCOPE.match(value)):
        return str(value)
    raise BadInput(
        "scope must be shared, public or private:<tenant>",
        field="scope",
        limit="shared, public, private:<tenant>",
    )


def _context(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and _CONTEXT.match(value):
        return value
    raise BadInput("context must be null or 64 hex digits", field="context", limit="64 hex digits")
