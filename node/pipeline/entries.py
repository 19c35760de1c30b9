"""What clients store, and what they take back.

Whose word an entry is, what it may replace and who may take it from everybody is said in
``node.store.provenance``. A client's texts pass the screen that peers' texts pass
(``node.peers.rules.injection``): both are evidence for a model, and both are shown to people.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from node.audit.decisions.entry import tombstone_entry
from node.audit.recorder import Recorder
from node.cache.refuted import Said as Repeated
from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED, Caller, private_scope
from node.core.errors import BadInput, Conflict, Forbidden, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Client, Confidence, DecisionRef, Freshness, Kind, Route, SourceRef
from node.core.normalise import normalise
from node.core.ports import RecordStore, StoredRecord
from node.core.record import CLIENT, AnswerRecord, format_time
from node.peers.rules import injection
from node.pipeline.ports import Ports
from node.pipeline.requests import Entry, Kept
from node.pipeline.understanding.understand import Part
from node.store import provenance
from node.store.record_rules import scope_for
from node.store.remember import Memory, Remembered
from node.store.retention.freshness import Lifetime, lifetime
from node.store.retention.volatility import HOUR_S, only_sounds_of_now, volatility

CLIENT_LIFETIME_S = 7 * 86_400


async def visible(records: RecordStore, cid: str, caller: Caller) -> StoredRecord:
    """A record this caller may see. Raises ``NotFound`` for all others, alike."""
    try:
        stored = await records.get(Cid.parse(cid))
    except NotFound:
        stored = None
    if stored is None or stored.record.scope not in caller.visible_scopes:
        raise NotFound("no such entry")
    return stored


async def check_for_people(texts: Iterable[tuple[str, str]]) -> None:
    """Raise ``BadInput`` where one of these texts is written for a model. Each comes behind the name of its
    field."""

    def look() -> None:
        for field, text in texts:
            if (rule := injection.screen(text)) is not None:
                held = injection.RULES[rule]
                raise BadInput(
                    f"{field} holds {held} ({rule}); what is stored here is for people",
                    field=field,
                    limit=f"no {held}",
                )

    await asyncio.to_thread(look)


@dataclass(frozen=True, slots=True)
class Entries:
    """See the module."""

    ports: Ports
    recorder: Recorder

    async def place(self, text: str) -> Part:
        """The route of a text that stands by itself, on the node's own clock."""
        now = self.ports.clock.now().astimezone(self.ports.zone)
        return await self.ports.understanding.place(text, now=now)

    async def put(self, entry: Entry, request_id: str) -> Kept:
        """Store a client's answer, durable on return. Raises ``BadInput``, ``Conflict``, ``Forbidden``,
        ``Rejected``, ``Unavailable``."""
        caller = entry.caller
        if not caller.may_write:
            raise Forbidden("this key may not write")
        text = normalise(entry.query)
        if not text:
            raise BadInput("query holds nothing but question marks and spaces", field="query")
        named = [("source", entry.source)] if entry.source else []
        tags = (("tags", tag) for tag in entry.tags)
        await check_for_people([("query", entry.query), ("answer", entry.answer), *named, *tags])
        part = await self.place(entry.query)
        life = self._lifetime(entry, text, part.route)
        own = private_scope(caller.tenant)
        default = own if volatility(text).personal else caller.default_scope
        asked = {None: default, "private": own}.get(entry.scope, entry.scope)
        assert asked is not None
        _check_scope(asked, caller)
        claim = None if entry.source in (None, caller.by) else entry.source
        source = SourceRef(CLIENT, claim or caller.by, client=Client(caller.by, claim))
        memory = Memory(
            request_id=request_id,
            query=text,
            answer=entry.answer,
            route=str(part.route.kind),
            source=source,
            confidence=Confidence(entry.confidence, {"source": entry.confidence}),
            scope=scope_for(asked, self.ports.policy.publish, source, False),
            lifetime_s=life.seconds,
            context=entry.context,
            tags=entry.tags,
            slots=part.route.slots or None,
            slot_key=part.route.key,
            vector=part.vector,
            supersedes=entry.corrects,
            caller=caller,
            replace=entry.replace,
        )
        await self.ports.refuted.prepare()
        said = Repeated(
            text,
            entry.answer,
            CLIENT,
            caller.visible_scopes,
            entry.context,
            tenant=caller.tenant,
            vector=part.vector,
        )
        if self.ports.refuted.knows(said):
            raise Rejected("not stored: known invalid: an equal answer to this question was called invalid")
        remembered = await (await self.ports.rememberer.submit(memory))
        cid = _stored(remembered, entry)
        self.ports.watch.entered(text, entry.answer, caller.tenant, entry.context)
        scope = remembered.memory.scope
        reason = "" if scope == asked else _why_not_public(self.ports.policy.publish)
        return Kept(
            cid, scope, reason, caller.by, _expires(remembered), life.reason if life.by_wording else ""
        )

    def _lifetime(self, entry: Entry, text: str, route: Route) -> Lifetime:
        """Who states a lifetime vouches for it, whatever the words sound like ("when does it open")."""
        live = route.kind is Kind.DETERMINISTIC
        vouched, stays = entry.ttl_s is not None and not live, Freshness.GOVERNANCE
        return lifetime(
            Freshness.TIME_SENSITIVE if live else stays if vouched else Freshness.DEFINITION,
            query=text,
            time_sensitive=not vouched and route.time_sensitive and not only_sounds_of_now(text),
            now=self.ports.clock.now().astimezone(self.ports.zone),
            wording_least_s=max(HOUR_S, entry.ttl_s or 0),
            asked_ttl_s=entry.ttl_s if entry.ttl_s is not None else CLIENT_LIFETIME_S,
        )

    async def withdraw(self, cid: str, caller: Caller) -> DecisionRef | None:
        """Erase a record: withdrawn for good by a signed tombstone, its text and the log's commitments to it
        gone, those of this decision included. The log comes first: what it refuses is not begun. What fails
        after that may be asked again, and is then decided again. Raises ``NotFound``, ``Forbidden``,
        ``Unavailable``."""
        stored = await visible(self.ports.records, cid, caller)
        if not caller.may_write:
            raise Forbidden("this key may not delete")
        record = stored.record
        if not isinstance(record, AnswerRecord):
            raise Forbidden("only answers can be deleted")
        if not provenance.may_take_from_all(caller, record):
            raise Forbidden("only who stored this entry, or the operator, may delete it")
        entry, private = tombstone_entry(
            target=str(stored.cid),
            reason="client_delete",
            scope=record.scope,
            policy=self.ports.policy.version,
        )
        decision = (await self.recorder.enter(entry, private)).ref
        await self.ports.eraser.erase(stored, "client_delete")
        return decision


def _check_scope(asked: str, caller: Caller) -> None:
    """Raises ``Forbidden`` where this caller's entries may not be seen by so many."""
    if asked == SCOPE_SHARED and not caller.sees_shared:
        raise Forbidden("this key's entries stay with its tenant; the operator allows no shared pool")
    if asked == SCOPE_PUBLIC and not caller.may_publish:
        raise Forbidden("this key may not publish")


def _stored(remembered: Remembered, entry: Entry) -> str:
    """The CID of what answers from now on. Raises ``Conflict``, ``Forbidden``, ``Rejected``,
    ``Unavailable``."""
    if remembered.code == "conflict" and remembered.stored is not None:
        raise _contradicted(remembered.stored, entry)
    if remembered.code == "refused":
        raise Rejected(f"not stored: {remembered.reason}")
    if remembered.cid is None:
        raise Unavailable(f"not stored: {remembered.reason}")
    return remembered.cid


def _contradicted(standing: StoredRecord, entry: Entry) -> Conflict | Forbidden:
    """What is said of an entry that says otherwise than ``standing``."""
    record = standing.record
    assert isinstance(record, AnswerRecord)
    client = record.source.client or Client(record.source.id)
    there = provenance.stands_there(record, normalise(entry.query))
    said = f"not stored: another answer to this question stands: {there}"
    if entry.replace:
        return Forbidden(f"{said}; only who stored it, or the operator, may replace it")
    return Conflict(
        f"{said}; with replace: true yours takes its place, where you may replace it",
        field="answer",
        standing={
            "cid": str(standing.cid),
            "query": record.query,
            "answer": record.answer,
            "by": client.by,
            "claim": client.claim,
            "timestamp": format_time(record.timestamp),
            "expires": None if record.expires is None else format_time(record.expires),
        },
    )


def _expires(remembered: Remembered) -> str | None:
    stored = remembered.stored
    expires = stored.record.expires if stored and isinstance(stored.record, AnswerRecord) else None
    return None if expires is None else format_time(expires)


def _why_not_public(publish: str) -> str:
    if publish != "all":
        return f"sharing.publish is {publish}: clients' entries are not made public"
    return "the privacy gate keeps this entry on this node"
