"""knowledge-index.json in and out: imported at a start when it changed, exported while it is small.

The file is the portable form (and the legacy one); the store is the truth. Rules of the import:
1. It may be repeated and killed: the file's digest is noted when all of it is in, each entry's when that is,
   and what is there already is not stored twice. Memory does not grow with the file.
2. An entry that was imported before and is not live any more was withdrawn, evicted or replaced here: it does
   not come back.
3. Entries without an embedding stay without: they are found by hash and keyword until ``batch_embed.py`` has
   embedded them, or, in a file that asks for it (the starter index), until the work behind the replies has,
   right after the start. When ``batch_embed.py`` has, the live record is replaced by the same one with the
   embedding (of this node's model), or with the mark that it is to be embedded anew (of another).
4. An entry that names a record (``cid``) is taken from the record's block where that can be had: local first,
   then ``blocks``, within limits of time. The block is not trusted: its hash, schema, signature, scope and
   times are checked, and that it says what the entry says. Else the entry's own text is taken.
   What the operator's own file says may be shared with peers as documents are (``publish``); not an export's
   copy of what was not public, nor of a peer's word.
   What a model said on no evidence is not imported: it would come in as somebody's knowledge.
5. What cannot be imported is reported with its position; the file itself is never changed here.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

import orjson

from node.app.transfer import index_file
from node.app.transfer.fetched_blocks import Fetcher, checked
from node.app.transfer.index_entry import IndexEntry, Place
from node.app.transfer.index_file import OpenIndex
from node.app.transfer.index_records import (
    ORIGIN,
    SCOPE,
    UNVERIFIED,
    difference,
    embedded_of,
    embedding_of,
    exported,
    identity,
    kept_of,
    record_cid,
    source_of,
)
from node.app.transfer.kept_export import Lost, drop, entries, keep_lost
from node.cache.keys import keyword_key
from node.core.blocking import in_thread
from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED, Caller
from node.core.clock import Clock, new_id
from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable
from node.core.files import FILE_MODE
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.model import Confidence, Json, ppm
from node.core.normalise import normalise, query_hash
from node.core.ports import Embedded, Gets, RecordStore, Semantics, StoredRecord
from node.core.record import AnswerRecord, sign
from node.peers.rules import kept as beside
from node.peers.rules.admission import ClassLimit
from node.peers.rules.standing import trust_ppm
from node.peers.rules.values import Level, Standing, Tier
from node.pipeline.understanding.route import Router
from node.privacy import private_reason
from node.store.record_rules import LIVE, LOCAL, scope_for
from node.store.remember import OWED, Memory, Rememberer, owes_vector, shown
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.portable")

EXPORT_ENTRIES_MAX = 20_000
_IMPORTED = "knowledge-index-imported"
_SEEN = "knowledge-index-entry "
_AT_ONCE = 64
_PAGE = 1_000
_SAID_MAX = 100
_TOLD_EVERY = 10_000
_AHEAD_MAX = timedelta(days=1)
"""How far the clock of a record's issuer may be ahead of ours."""

_Outcomes = Counter[str]


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where entries go, and where it is noted that they went."""

    records: RecordStore
    rememberer: Rememberer
    semantics: Semantics
    state: StateStore


@dataclass(frozen=True, slots=True)
class PortableIndex:
    """Reads and writes the portable index of one node. ``blocks`` finds records by CID, in a daemon or
    at peers; without it entries are imported from their own text."""

    keeping: Keeping
    router: Router
    clock: Clock
    signer: Identity
    _: KW_ONLY
    blocks: Gets | None = None
    export_mode: int = FILE_MODE
    publish: str = "none"
    class_limit: Callable[[AnswerRecord], ClassLimit] | None = None
    lost: Lost | None = None

    # --- in ---------------------------------------------------------------------------------------

    async def import_changed(self, path: Path) -> int:
        """Import the file if it is another than at the last time, or if records of it were missing then; how
        many entries were stored because of it. A damaged file is reported, not fatal."""
        before = _noted(await self.keeping.state.get_meta(_IMPORTED))
        try:
            digest = await in_thread(lambda: index_file.digest_of(path))
            if before.get("digest") == digest and not (before.get("waiting") and self.blocks is not None):
                return 0
            index = await in_thread(lambda: OpenIndex.open(path))
        except NotFound:
            log.info("no knowledge index to import at %s", path)
            return 0
        except NodeError as exc:
            log.warning("the knowledge index was not imported: %s", exc)
            return 0
        outcomes: _Outcomes = Counter()
        try:
            await self._import(index, path, outcomes)
        except NodeError as exc:
            outcomes["failed"] += 1
            log.warning("the knowledge index was imported in part: %s", exc)
        finally:
            index.close()
        kept = outcomes["stored"] + outcomes["record"] + outcomes["embedded"]
        log.info("imported %d entries from %s: %s", kept, path, _shown(outcomes))
        if not outcomes["failed"]:  # else the next start tries again
            note = {
                "entries": kept,
                "at": self.clock.now().isoformat(),
                "digest": index.layout.digest,
                "waiting": outcomes["waiting"],
            }
            await self.keeping.state.set_meta(_IMPORTED, orjson.dumps(note).decode())
        return kept

    async def note_imported(self, path: Path) -> None:
        """Where the notes of what was imported are lost: take the file for imported, so that nothing of it
        comes back that was erased here since. An empty store takes it in all the same."""
        if not (await self.keeping.records.counts())["live"]:
            return
        try:
            digest = await in_thread(lambda: index_file.digest_of(path))
        except NodeError:
            return
        await self.keeping.state.set_meta(_IMPORTED, orjson.dumps({"digest": digest}).decode())

    async def bring_back(self, path: Path, wanted: Collection[Cid]) -> set[Cid]:
        """Import those entries again that name a record in ``wanted``, whatever was imported before; of which
        that was done. Raises ``NodeError`` where the file cannot be read."""
        found = await in_thread(lambda: entries(path))
        fetcher = None if self.blocks is None else Fetcher(self.blocks, self.clock)
        done: set[Cid] = set()
        for cid, entry in found:
            if cid in wanted and cid not in done:
                outcome, problem = await self._entry(entry, fetcher, False, is_lost=True)
                if outcome in ("stored", "record", "known", "embedded"):
                    done.add(cid)
                else:
                    log.warning("%s: %s is not brought back: %s", path, cid, problem or outcome)
        return done

    async def _import(self, index: OpenIndex, path: Path, outcomes: _Outcomes) -> None:
        places = index.places()
        fetcher = None if self.blocks is None else Fetcher(self.blocks, self.clock)
        said = 0
        while batch := await in_thread(lambda: list(islice(places, _AT_ONCE))):
            groups: dict[str, list[Place]] = {}
            for place in batch:
                groups.setdefault("" if place.entry is None else place.entry.key, []).append(place)
            embed = index.layout.embed
            done = await asyncio.gather(*(self._in_order(one, fetcher, embed) for one in groups.values()))
            for position, outcome, problem in sorted(one for group in done for one in group):
                outcomes[outcome] += 1
                if problem and said < _SAID_MAX:
                    said += 1
                    log.warning("%s: entry %d: %s", path, position, problem)
            total = batch[-1].position + 1
            if total % _TOLD_EVERY < len(batch) and total >= _TOLD_EVERY:
                log.info("importing %s: %d of %d entries", path, total, index.layout.count)
        if fetcher is not None and fetcher.why_given_up:
            log.warning("blocks were not fetched any more: %s", fetcher.why_given_up)

    async def _in_order(
        self, places: Sequence[Place], fetcher: Fetcher | None, embed: bool
    ) -> list[tuple[int, str, str]]:
        """Entries for one question, of which a later one may replace an earlier one: one after the other."""
        return [(place.position, *await self._place(place, fetcher, embed)) for place in places]

    async def _place(self, place: Place, fetcher: Fetcher | None, embed: bool) -> tuple[str, str]:
        """What came of one position (a word for the count), and what a person should know of it."""
        if place.entry is None:
            return "unusable", f"it is not imported: {place.problem}"
        try:
            return await self._entry(place.entry, fetcher, embed)
        except NodeError as exc:
            return "failed", f"it could not be imported: {exc}"

    async def _entry(
        self, entry: IndexEntry, fetcher: Fetcher | None, embed: bool, *, is_lost: bool = False
    ) -> tuple[str, str]:
        cid = record_cid(entry)
        here = None if cid is None else await self._here(cid)
        if here is not None and not is_lost and difference(here.record, entry) is None:
            return await self._embedded(here, entry, embed) if here.state == LIVE else "withdrawn", ""
        mark = f"{_SEEN}{identity(entry)}"
        live = await self._same_live(entry)
        if live is not None:
            outcome = await self._embedded(live, entry, embed)
            await self.keeping.state.set_meta(mark, "")
            return outcome, ""
        if not is_lost and await self.keeping.state.get_meta(mark) is not None:
            return "withdrawn", ""
        if entry.extra.get(UNVERIFIED) is True:
            return "refused", "it is not imported: a model said it on no evidence"
        outcome, problem = "", ""
        if cid is not None and (here is None or is_lost) and fetcher is not None:
            try:
                outcome = await self._from_block(cid, entry, fetcher)
            except (NotFound, Unavailable) as exc:
                problem = "" if entry.answer is not None else f"its record cannot be had now: {exc}"
            except NodeError as exc:
                problem = f"its record {cid} is not taken: {exc}"
        if not outcome:
            memory = self._memory(entry, embed)
            if memory is None:
                has_record = cid is not None and entry.answer is None
                return "waiting" if has_record else "incomplete", problem
            done = await self.keeping.rememberer.keep(memory)
            outcome = "refused" if done.code == "conflict" else done.code
            is_in = done.stored is not None and outcome != "refused"
            problem = problem if is_in else f"it is not imported: {done.reason}"
        if outcome != "failed":
            await self.keeping.state.set_meta(mark, "")
        return outcome, problem

    async def _here(self, cid: Cid) -> StoredRecord | None:
        """The record, live or not. A damaged one counts as absent: its block may be had again."""
        try:
            return await self.keeping.records.get(cid)
        except (NotFound, CorruptState):
            return None

    async def _same_live(self, entry: IndexEntry) -> StoredRecord | None:
        """Our own live record that says what the entry says, if there is one."""
        if entry.answer is None or entry.query is None:
            return None
        key = query_hash(normalise(entry.query))
        found = await self.keeping.records.find(
            "query_hash", key, scopes=[SCOPE_SHARED, SCOPE_PUBLIC], context=None
        )
        for stored in found:
            record = stored.record
            if (
                isinstance(record, AnswerRecord)
                and stored.origin == LOCAL
                and record.answer == entry.answer
                and record.confidence == ppm(entry.confidence)
                and (record.expires is None) == (entry.expires is None)
            ):
                return stored
        return None

    async def _embedded(self, stored: StoredRecord, entry: IndexEntry, embed: bool = False) -> str:
        """Rule 3: the same record with the entry's embedding, where it has none and should now have one; with
        ``embed`` it owes one where the entry has none."""
        record = stored.record
        if (
            not isinstance(record, AnswerRecord)
            or (entry.embedding is None and not embed)
            or record.embedding is not None
            or owes_vector(stored)
            or stored.origin != LOCAL
        ):
            return "known"
        embedded = self._vector(entry)
        now = self.clock.now()
        if record.expires is not None and record.expires <= now:
            return "known"
        kept = dict(stored.kept or {})
        if embedded is None:
            kept[OWED] = True
        again = replace(
            record,
            issuer=self.signer.root,
            key=self.signer.node,
            timestamp=now,
            embedding=None if embedded is None else embedding_of(embedded),
            supersedes=str(stored.cid),
        )
        await self._add(again, embedded, LOCAL, kept, replaces=stored.cid)
        return "embedded"

    async def _add(
        self,
        record: AnswerRecord,
        embedded: Embedded | None,
        origin: str,
        kept: Mapping[str, Json],
        *,
        replaces: Cid | None = None,
    ) -> StoredRecord:
        if replaces is not None:
            record = sign(record, self.signer.sign)
        stored = await self.keeping.records.add(
            record,
            origin=origin,
            supersede=[] if replaces is None else [replaces],
            keyword_key=keyword_key(record.query),
            kept=kept or None,
        )
        if stored.state == LIVE:
            if replaces is not None:
                self.keeping.semantics.remove(replaces)
            self.keeping.semantics.keep(stored, embedded)
        return stored

    async def _from_block(self, cid: Cid, entry: IndexEntry, fetcher: Fetcher) -> str:
        """Rule 4. Raises ``NotFound``, ``Unavailable`` (the block cannot be had now), ``Rejected``."""
        data = await fetcher.get(cid)
        record = await in_thread(lambda: checked(cid, data))
        if record.is_unverified:
            return "refused"
        self._agrees(record, entry)
        is_own = self._check_scope(record)
        if not is_own and (rule := await in_thread(lambda: private_reason(*shown(record)))) is not None:
            raise Rejected(f"it is another node's, and the privacy gate finds something in it ({rule})")
        kept: dict[str, Json] = kept_of(entry)
        embedded = None
        if not is_own:
            kept = {**beside.without(kept), **self._as_trusted(record, entry)}
        if is_own and record.embedding is not None:
            embedded = embedded_of(record.embedding)
        elif not is_own and (record.embedding is not None or entry.embedding is not None):
            kept[OWED] = True  # another's vector is a hint, not a fact
        stored = await self._add(record, embedded, LOCAL if is_own else record.issuer, kept)
        if stored.state != LIVE:
            return "withdrawn"
        if is_own:
            await self._embedded(stored, entry)
        return "record"

    def _as_trusted(self, record: AnswerRecord, entry: IndexEntry) -> dict[str, Json]:
        """What stands beside another node's record. That the operator's own file names it by its CID is the
        operator's word on this record, not on its issuer; its class still ends it."""
        until = beside.ends(record, record.issuer, entry.extra)
        if self.class_limit is not None:
            limit = self.class_limit(record)
            if limit.limit_s is not None:
                end = record.timestamp + timedelta(seconds=limit.limit_s)
                until = end if until is None else min(until, end)
        if until is not None and until <= self.clock.now():
            raise Rejected("its class has ended it here")
        share = trust_ppm(Standing(record.issuer, Level.TRUSTED), Tier.TRUSTED)
        is_read = self.router.route(record.query, now=record.timestamp).key == record.slot_key
        return beside.imported(beside.beside(Tier.TRUSTED, share, until, is_slot_key_read=is_read))

    def _agrees(self, record: AnswerRecord, entry: IndexEntry) -> None:
        now = self.clock.now()
        if (other := difference(record, entry)) is not None:
            raise Rejected(other)
        if record.expires is not None and record.expires <= now:
            raise Rejected("it has expired")
        if record.timestamp > now + _AHEAD_MAX:
            raise Rejected("it is dated in the future")
        if not normalise(record.query) or not record.answer.strip():
            raise Rejected("it holds no question or no answer")

    def _check_scope(self, record: AnswerRecord) -> bool:
        """Whether it is this node's own record. Only a key that this node has proves that: the root's name
        alone anybody can write. Raises ``Rejected`` for what this node may not hold."""
        if record.issuer == self.signer.root:
            if record.key != self.signer.node:
                raise Rejected("it names this node as its issuer and is signed by a key that is not its own")
            if record.scope not in (SCOPE_PUBLIC, SCOPE_SHARED):
                raise Rejected("it is private")
            return True
        if record.scope != SCOPE_PUBLIC:
            raise Rejected("it is another node's and not public")
        return False

    def _memory(self, entry: IndexEntry, embed: bool) -> Memory | None:
        """An entry as a memory; None where the question or the answer's text is not in the file."""
        if entry.query is None or entry.answer is None or not normalise(entry.query):
            return None
        now = self.clock.now()
        lifetime_s = None
        if entry.expires is not None:
            lifetime_s = int((entry.expires - now) / timedelta(seconds=1))
            if lifetime_s <= 0:
                return None
        query = normalise(entry.query)
        route = self.router.route(entry.query, now=now)
        source = source_of(entry)
        # A copy of what was kept from peers, or came from one, is not to leave as our own word.
        is_ours_to_share = entry.extra.get(SCOPE, SCOPE_PUBLIC) == SCOPE_PUBLIC and ORIGIN not in entry.extra
        return Memory(
            request_id=new_id(),
            query=query,
            answer=entry.answer,
            route=str(route.kind),
            source=source,
            confidence=Confidence(entry.confidence, {"source": entry.confidence}),
            scope=scope_for(SCOPE_SHARED, self.publish if is_ours_to_share else "none", source, False),
            lifetime_s=lifetime_s,
            slots=route.slots or None,
            slot_key=route.key,
            vector=self._vector(entry),
            embed="never" if entry.embedding is None and not embed else "later",
            kept={**kept_of(entry), **({} if entry.cid is None else {"imported_cid": entry.cid})},
            caller=None if source.client is None else Caller(),
        )

    def _vector(self, entry: IndexEntry) -> Embedded | None:
        """The entry's embedding if it is of this node's model and length; one of another model is made anew
        later."""
        info, embedding = self.keeping.semantics.info, entry.embedding
        if embedding is None or embedding.model != info.model or len(embedding.data) != info.dim * 4:
            return None
        import numpy as np

        vector = np.frombuffer(embedding.data, dtype="<f4").astype(np.float32)
        norm = float(np.linalg.norm(vector))
        return Embedded(vector / np.float32(norm), info) if norm > 0 and np.isfinite(norm) else None

    # --- out --------------------------------------------------------------------------------------

    async def export(self, path: Path) -> int:
        """Write every live record that is not private; how many. Left out while the store is large. What an
        older export says of records that are lost here is kept beside it (``kept_export``)."""
        counts = await self.keeping.records.counts()
        if counts["live"] > EXPORT_ENTRIES_MAX:
            log.info("knowledge index not exported: over %d entries", EXPORT_ENTRIES_MAX)
            if self.lost is not None:
                await keep_lost(path, self.lost)
            await drop(path)  # an old one would keep what was erased
            return 0
        exports: list[IndexEntry] = []
        sequence = 0
        now = self.clock.now()
        while page := await self.keeping.records.since(sequence, limit=_PAGE):
            for stored in page:
                sequence = stored.sequence
                record = stored.record
                if not isinstance(record, AnswerRecord) or record.scope not in (SCOPE_SHARED, SCOPE_PUBLIC):
                    continue
                ends = beside.ends(record, stored.origin, stored.kept)
                if ends is None or ends > now:
                    exports.append(exported(stored, record))
        if self.lost is not None:
            held = [Cid.parse(entry.cid) for entry in exports if entry.cid is not None]
            await keep_lost(path, self.lost, held=held)
        model = self.keeping.semantics.info.model
        await asyncio.to_thread(index_file.write, path, exports, model, mode=self.export_mode)
        return len(exports)


def _noted(text: str | None) -> Mapping[str, object]:
    """What the last import noted; nothing where there was none or it cannot be read."""
    try:
        note = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return note if isinstance(note, dict) else {}


_WORDS = {
    "stored": "stored",
    "record": "taken from their records",
    "embedded": "given their embedding",
    "known": "known already",
    "withdrawn": "not live any more here",
    "waiting": "waiting for a block",
    "incomplete": "without question, answer or time left",
    "unusable": "unusable",
    "refused": "refused",
    "failed": "failed",
}


def _shown(outcomes: _Outcomes) -> str:
    return ", ".join(f"{outcomes[word]} {text}" for word, text in _WORDS.items() if outcomes[word]) or "none"
