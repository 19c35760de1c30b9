"""Blocks and records in memory: the reference that the contract tests hold every other store against, and
the harmless store for tests and throwaway nodes. Bounded; everything is lost when the process ends.

Written for plainness, not speed: look-ups walk all records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import NotFound, Rejected, Unavailable, Withdrawn
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.model import Json
from node.core.ports import Alias, BlockChanges, BlockRef, BlockStore, Selection, StoredRecord, Use
from node.core.record import AnswerRecord, Record, TombstoneRecord, ValidationRecord
from node.store import record_rules
from node.store.record_reads import NotPublic
from node.store.verifying import VerifyingBlockStore

BYTES_MAX = 256 * 2**20


@dataclass(frozen=True, slots=True)
class _Row:
    """A record as stored. ``is_here`` is False once its block was deleted."""

    stored: StoredRecord
    keyword_key: str | None
    value: record_rules.Value
    is_here: bool = True

    @property
    def is_live_answer(self) -> bool:
        return (
            self.is_here
            and self.stored.state == record_rules.LIVE
            and isinstance(self.stored.record, AnswerRecord)
        )


@dataclass(frozen=True, slots=True)
class _Alias:
    """What was merged, as a look-up needs it."""

    survivor: Cid
    record: AnswerRecord
    keyword_key: str | None
    origin: str

    def is_at(self, column: str, key: str, scopes: Sequence[str], context: str | None) -> bool:
        record = self.record
        found = {"query_hash": record.query_hash, "keyword_key": self.keyword_key}.get(column)
        return found == key and record.scope in scopes and record.context == context


class _MemoryBlocks:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._closed = False

    async def put(self, cid: Cid, data: bytes) -> None:
        self._check_open()
        self._store.put_block(cid, data)

    async def get(self, cid: Cid) -> bytes:
        self._check_open()
        data = self._store.blocks_by_multihash.get(cid.multihash)
        if data is None or self._store.records.is_shredded(cid.multihash):
            raise NotFound(f"block {cid} is not here")
        return data

    async def has(self, cid: Cid) -> bool:
        self._check_open()
        is_shredded = self._store.records.is_shredded(cid.multihash)
        return cid.multihash in self._store.blocks_by_multihash and not is_shredded

    async def delete(self, cid: Cid) -> None:
        self._check_open()
        self._store.delete_block(cid)
        self._store.records.drop_alias(Cid(DAG_CBOR, cid.digest))

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the block store is closed")


class MemoryRecords:
    """The ``RecordStore``; ``node/store/record_rules.py`` says whose word counts."""

    unread = 0

    def __init__(self, store: MemoryStore, own_issuer: str) -> None:
        self._store = store
        self._own_issuer = own_issuer
        self._rows: dict[Cid, _Row] = {}
        self._sequence = 0
        self._change = 0
        self._withdrawals: dict[Cid, int] = {}
        self._gave_way: set[Cid] = set()
        self._words: dict[bytes, list[Cid]] = {}
        self._aliases: dict[Cid, _Alias] = {}
        self._shredded: set[Cid] = set()
        self._closed = False

    async def add(
        self,
        record: Record,
        *,
        origin: str = record_rules.LOCAL,
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        self._check_open()
        checked = record_rules.check(
            record, origin=origin, keyword_key=keyword_key, kept=kept, cost_us=cost_us
        )
        cid, timed = checked.cid, checked.cost_us is not None
        row = self._rows.get(cid)
        if row is not None and not row.is_here and row.stored.state == record_rules.WITHDRAWN:
            raise Withdrawn(f"record {cid} was withdrawn and deleted here")
        if cid in self._shredded:
            raise Withdrawn(f"record {cid} is being erased here")
        is_new = row is None or not row.is_here
        state = row.stored.state if row is not None else record_rules.LIVE
        if is_new:
            comes_withdrawn = any(self._withdraws(word, checked.record) for word in self._words_on(cid))
            state = record_rules.WITHDRAWN if comes_withdrawn else record_rules.LIVE
        if state == record_rules.LIVE:
            others = [into] if is_new and into is not None else []
            for other in (*others, *merge):
                self._check_merge(checked, other)
        self._store.put_block(cid, checked.data)
        if is_new:
            self._withdrawals.pop(cid, None)
            self._gave_way.discard(cid)
            self._insert(checked)
            if into is not None and into != cid and self._is_live(cid) and self._is_live(into):
                self._merge(cid, into, timed=True)
        if self._rows[cid].stored.state == record_rules.LIVE:
            for other in supersede:
                if other != cid:
                    self._supersede(cid, other, timed=timed)
            for other in merge:
                if other != cid and self._is_live(other):
                    self._merge(other, cid, timed=timed)
            self._take_wording(checked)
        return self._rows[cid].stored

    async def get(self, cid: Cid) -> StoredRecord:
        self._check_open()
        row = self._rows.get(cid)
        if row is None or not row.is_here or cid in self._shredded:
            raise NotFound(f"record {cid} is not here")
        return row.stored

    async def find(
        self,
        column: str,
        key: str,
        *,
        scopes: Sequence[str],
        context: str | None,
        limit: int = 8,
    ) -> list[StoredRecord]:
        self._check_open()
        record_rules.check_find(column, len(scopes))
        found = [
            row.stored
            for row in self._live_rows()
            if isinstance(row.stored.record, AnswerRecord)
            and row.stored.record.scope in scopes
            and row.stored.record.context == context
            and _key_of(row, row.stored.record, column) == key
        ]
        found += [
            self._rows[survivor].stored
            for survivor in {
                alias.survivor
                for alias in self._aliases.values()
                if alias.is_at(column, key, scopes, context)
            }
            if self._is_live(survivor) and self._rows[survivor].stored not in found
        ]
        found.sort(key=lambda stored: (stored.record.timestamp, stored.sequence), reverse=True)
        return found[: record_rules.clamp_limit(limit)]

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        self._check_open()
        if len(cids) > record_rules.LIMIT_MAX:
            raise Rejected(f"at most {record_rules.LIMIT_MAX} records are read at once")
        rows = {cid: self._rows[cid] for cid in cids if cid in self._rows}
        return {cid: row.stored for cid, row in rows.items() if row.is_live_answer}

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        self._check_open()
        found = [row.stored for row in self._live_rows() if row.stored.sequence > sequence]
        found.sort(key=lambda stored: stored.sequence)
        return found[: record_rules.clamp_limit(limit)]

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        self._check_open()
        found = sorted((number, cid) for cid, number in self._withdrawals.items() if number > change)
        return found[: record_rules.clamp_limit(limit)]

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        self._check_open()
        most = record_rules.clamp_limit(limit)
        withdrawn = [
            BlockRef(number, cid, self._rows[cid].stored.record.scope, cid in self._gave_way)
            for cid, number in self._withdrawals.items()
            if number > change
        ]
        written = [
            BlockRef(row.stored.sequence, cid, row.stored.record.scope)
            for cid, row in self._rows.items()
            if row.is_here and row.stored.state == record_rules.LIVE and row.stored.sequence > sequence
        ]
        return BlockChanges(
            tuple(sorted(withdrawn, key=lambda ref: ref.number)[:most]),
            tuple(sorted(written, key=lambda ref: ref.number)[:most]),
        )

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        self._check_open()
        newest: dict[str, StoredRecord] = {}
        for row in self._live_rows():
            stored, record = row.stored, row.stored.record
            if (
                isinstance(record, AnswerRecord)
                and (record.scope, record.context) == (SCOPE_PUBLIC, None)
                and first <= record.query_hash
                and (not last or record.query_hash < last)
            ):
                newest[record.query_hash] = max(
                    stored, newest.get(record.query_hash, stored), key=lambda one: one.sequence
                )
        found = [(key, newest[key].cid) for key in sorted(newest)]
        return found[: record_rules.clamp_limit(limit)]

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        self._check_open()
        self.drop_alias(cid)
        return self._withdraw(cid)

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        self._check_open()
        before = now - timedelta(seconds=grace_s)
        due = [
            (row.stored.record.expires, row.stored.sequence, row.stored.cid)
            for row in self._live_rows()
            if row.stored.record.expires is not None and row.stored.record.expires < before
        ]
        expired = [cid for _, _, cid in sorted(due)[: record_rules.clamp_limit(limit)]]
        for cid in expired:
            self._end(cid)
        self._gave_way.update(expired)
        return expired

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        self._check_open()
        here = [
            (*_spared(row, now), row.stored.sequence, cid)
            for cid, row in self._rows.items()
            if row.is_here and isinstance(row.stored.record, AnswerRecord)
        ]
        chosen = [cid for *_, cid in sorted(here)[: record_rules.clamp_limit(limit)]]
        for cid in chosen:
            self._store.delete_block(cid)
        return chosen

    async def note_uses(self, uses: Sequence[Use]) -> None:
        self._check_open()
        record_rules.check_uses(uses)
        for use in uses:
            row = self._rows.get(use.cid)
            if row is not None and row.is_live_answer:
                self._rows[use.cid] = replace(row, value=row.value.used(use.hits, use.at_s))

    async def aliases(self, cid: Cid) -> list[Alias]:
        self._check_open()
        found = [
            Alias(
                cid=merged,
                query_hash=alias.record.query_hash,
                query=alias.record.query if self._rows[merged].is_here else None,
                source_kind=alias.record.source.kind,
                source_id=alias.record.source.id,
                timestamp=alias.record.timestamp,
                origin=alias.origin,
            )
            for merged, alias in self._aliases.items()
            if alias.survivor == cid and not self._shredded & {merged, cid}
        ]
        return sorted(found, key=lambda alias: (alias.timestamp, alias.cid.multihash))

    async def survivor(self, cid: Cid) -> Cid | None:
        self._check_open()
        alias = self._aliases.get(cid)
        return None if alias is None else alias.survivor

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        self._check_open()
        record_rules.check_selection(selection)
        found = [
            BlockRef(row.stored.sequence, row.stored.cid, row.stored.record.scope)
            for row in self._live_rows()
            if row.stored.sequence > after and self._fits(row, selection)
        ]
        return sorted(found, key=lambda ref: ref.number)[: record_rules.clamp_limit(limit)]

    async def verdicts(self, cids: Sequence[Cid]) -> list[Cid]:
        """As ``SqliteRecords.verdicts``."""
        self._check_open()
        words = {word for cid in cids for word in self._words.get(cid.digest, ())}
        rows = [self._rows[word] for word in words]
        found = [
            row.stored for row in rows if row.is_here and isinstance(row.stored.record, ValidationRecord)
        ]
        return [stored.cid for stored in sorted(found, key=lambda stored: stored.sequence)]

    async def voices(self, cid: Cid) -> dict[str, tuple[str, Cid]]:
        self._check_open()
        own = [
            word
            for word in self._words_on(cid)
            if isinstance(word.record, ValidationRecord)
            and record_rules.is_own_word(word.record.issuer, word.origin, self._own_issuer)
        ]
        by_age = sorted(own, key=lambda word: word.sequence)
        return {
            _voice(word): (word.record.verdict, word.cid)
            for word in by_age
            if isinstance(word.record, ValidationRecord)
        }

    async def place(self, cid: Cid) -> BlockRef:
        """As ``SqliteRecords.place``."""
        self._check_open()
        row = self._rows.get(cid)
        if row is None or not row.is_here:
            raise NotFound(f"record {cid} is not here")
        return BlockRef(row.stored.sequence, cid, row.stored.record.scope)

    async def shred(self, cids: Sequence[Cid]) -> None:
        """As ``SqliteRecords.shred``."""
        self._check_open()
        for cid in cids:
            row = self._rows.get(cid)
            if row is not None and row.is_here and record_rules.is_private(row.stored.record.scope):
                self._shredded.add(cid)
                self._withdraw(cid)

    async def shredded(self, *, limit: int = 1_000) -> list[BlockRef]:
        """As ``SqliteRecords.shredded``."""
        self._check_open()
        rows = [self._rows[cid].stored for cid in self._shredded]
        refs = [BlockRef(stored.sequence, stored.cid, stored.record.scope) for stored in rows]
        return sorted(refs, key=lambda ref: ref.number)[: record_rules.clamp_limit(limit)]

    async def newest(self, *, scopes: Sequence[str], limit: int = 100) -> list[StoredRecord]:
        self._check_open()
        record_rules.check_scopes(len(scopes))
        found = [row.stored for row in self._live_rows() if row.stored.record.scope in scopes]
        found.sort(key=lambda stored: stored.sequence, reverse=True)
        return found[: record_rules.clamp_limit(limit)]

    async def tally(
        self, *, scopes: Sequence[str], since: datetime | None = None, before: datetime | None = None
    ) -> int:
        self._check_open()
        record_rules.check_scopes(len(scopes))
        return sum(
            row.stored.record.scope in scopes
            and (since is None or row.stored.record.timestamp >= since)
            and (before is None or row.stored.record.timestamp < before)
            for row in self._live_rows()
        )

    async def counts(self) -> dict[str, int]:
        self._check_open()
        return {
            "records": sum(row.is_here for row in self._rows.values()),
            "live": sum(1 for _ in self._live_rows()),
            "blocks": len(self._store.blocks_by_multihash),
            "bytes": self._store.bytes_held,
            "last_sequence": self._sequence,
        }

    async def close(self) -> None:
        self._closed = True

    def is_known(self, multihash: bytes) -> bool:
        """Whether it is the multihash of a record, whatever became of it. Raises ``Unavailable``."""
        self._check_open()
        return any(cid.multihash == multihash for cid in self._rows)

    def is_public(self, multihash: bytes) -> bool:
        """Whether it is the multihash of a live record of scope public. Raises ``Unavailable``."""
        self._check_open()
        return any(
            row.is_here
            and row.stored.state == record_rules.LIVE
            and (cid.multihash, row.stored.record.scope) == (multihash, SCOPE_PUBLIC)
            for cid, row in self._rows.items()
        )

    def remove(self, cid: Cid) -> None:
        """The block has been deleted."""
        row = self._rows.get(cid)
        if row is None or not row.is_here:
            return
        self._rows[cid] = replace(row, is_here=False)
        self._shredded.discard(cid)
        for merged in [merged for merged, alias in self._aliases.items() if alias.survivor == cid]:
            del self._aliases[merged]
        if row.stored.state == record_rules.LIVE:
            self._change += 1
            self._withdrawals[cid] = self._change
            self._gave_way.add(cid)

    def is_shredded(self, multihash: bytes) -> bool:
        """Whether the key of the record with this multihash was destroyed."""
        return any(cid.multihash == multihash for cid in self._shredded)

    def drop_alias(self, cid: Cid) -> None:
        """A merged record has lost its wording."""
        self._aliases.pop(cid, None)

    # --- inside -----------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the block store is closed")

    def _live_rows(self) -> Iterator[_Row]:
        return (row for row in self._rows.values() if row.is_live_answer)

    def _insert(self, checked: record_rules.Checked) -> None:
        self._sequence += 1
        cid, record = checked.cid, checked.record
        stored = StoredRecord(
            sequence=self._sequence,
            cid=cid,
            record=record,
            origin=checked.origin,
            kept=None if checked.kept is None else orjson.loads(checked.kept),
        )
        if isinstance(record, ValidationRecord | TombstoneRecord) and cid not in self._rows:
            self._words.setdefault(Cid.parse(record.target).digest, []).append(cid)
        self._rows[cid] = _Row(stored, checked.keyword_key, checked.value)
        self._recount(cid)
        if any(self._withdraws(word, record) for word in self._words_on(cid)):
            self._withdraw(cid)
        elif isinstance(record, ValidationRecord | TombstoneRecord):
            target = Cid(DAG_CBOR, Cid.parse(record.target).digest)
            self._recount(target)
            row = self._rows.get(target)
            if row is not None and self._withdraws(stored, row.stored.record):
                self._withdraw(target)
                if isinstance(record, TombstoneRecord):
                    self.drop_alias(target)
                elif target in self._aliases:
                    self._withdraw(self._aliases[target].survivor)

    def _is_live(self, cid: Cid) -> bool:
        row = self._rows.get(cid)
        return row is not None and row.is_live_answer

    def _check_merge(self, checked: record_rules.Checked, other: Cid) -> None:
        if other != checked.cid and self._is_live(other):
            old = self._rows[other].stored
            record_rules.check_merge(checked.record, checked.origin, old.record, old.origin)

    def _follow(self, other: Cid, survivor: Cid, *, timed: bool) -> None:
        if self._is_live(other) and self._is_live(survivor):
            row = self._rows[survivor]
            value = row.value.following(self._rows[other].value, timed=timed)
            self._rows[survivor] = replace(row, value=value)

    def _merge(self, other: Cid, survivor: Cid, *, timed: bool) -> None:
        self._follow(other, survivor, timed=timed)
        row = self._rows[other]
        assert isinstance(row.stored.record, AnswerRecord)
        self._aliases[other] = _Alias(survivor, row.stored.record, row.keyword_key, row.stored.origin)
        self._take_aliases(other, survivor)
        self._withdraw(other)

    def _take_aliases(self, other: Cid, survivor: Cid) -> None:
        for merged, alias in self._aliases.items():
            if alias.survivor == other:
                self._aliases[merged] = replace(alias, survivor=survivor)
        mine = [(merged, alias) for merged, alias in self._aliases.items() if alias.survivor == survivor]
        mine.sort(key=lambda one: (one[1].record.timestamp, one[0].multihash), reverse=True)
        for merged, _ in mine[record_rules.ALIASES_MAX :]:
            del self._aliases[merged]

    def _supersede(self, cid: Cid, other: Cid, *, timed: bool) -> None:
        self._follow(other, cid, timed=timed)
        record = self._rows[cid].stored.record
        if self._is_live(other) and record_rules.inherits(record, self._rows[other].stored.record):
            self._take_aliases(other, cid)
        self._end(other)

    def _end(self, cid: Cid) -> None:
        """Rule 8."""
        if self._withdraw(cid) and record_rules.is_private(self._rows[cid].stored.record.scope):
            self._store.delete_block(cid)

    def _take_wording(self, checked: record_rules.Checked) -> None:
        record = checked.record
        if not isinstance(record, AnswerRecord) or checked.origin != record_rules.LOCAL:
            return
        place = (record.query_hash, record.context, record.scope, record.source.kind)
        for merged, alias in list(self._aliases.items()):
            old = alias.record
            if (
                (old.query_hash, old.context, old.scope, old.source.kind) == place
                and alias.origin == record_rules.LOCAL
                and alias.survivor != checked.cid
            ):
                del self._aliases[merged]

    def _fits(self, row: _Row, wanted: Selection) -> bool:
        record, cid = row.stored.record, row.stored.cid
        assert isinstance(record, AnswerRecord)
        mine = [alias for alias in self._aliases.values() if alias.survivor == cid]
        hashes = {record.query_hash, *(alias.record.query_hash for alias in mine)}
        words = {row.keyword_key, *(alias.keyword_key for alias in mine)}
        return (
            (wanted.cid is None or wanted.cid.multihash == cid.multihash)
            and (wanted.query_hash is None or wanted.query_hash in hashes)
            and (wanted.keyword_key is None or wanted.keyword_key in words)
            and (wanted.source is None or wanted.source in (record.source.kind, record.source.id))
            and (wanted.before is None or record.timestamp < wanted.before)
            and (wanted.tag is None or wanted.tag in record.tags)
            and (wanted.scopes is None or record.scope in wanted.scopes)
        )

    def _words_on(self, cid: Cid) -> list[StoredRecord]:
        """Validations and tombstones about a record, deleted ones too, that are not withdrawn themselves."""
        return [
            self._rows[word].stored
            for word in self._words.get(cid.digest, ())
            if self._rows[word].stored.state == record_rules.LIVE
        ]

    def _withdraws(self, word: StoredRecord, target: Record) -> bool:
        record = word.record
        if isinstance(record, TombstoneRecord):
            return record_rules.may_tombstone(record.issuer, word.origin, target.issuer, self._own_issuer)
        return (
            isinstance(record, ValidationRecord)
            and record.verdict == "invalid"
            and not _voice(word)
            and record_rules.is_own_word(record.issuer, word.origin, self._own_issuer)
        )

    def _withdraw(self, cid: Cid) -> bool:
        row = self._rows.get(cid)
        if row is None or not row.is_here or row.stored.state != record_rules.LIVE:
            return False
        self._rows[cid] = replace(row, stored=replace(row.stored, state=record_rules.WITHDRAWN))
        self._change += 1
        self._withdrawals[cid] = self._change
        if isinstance(row.stored.record, ValidationRecord):
            self._recount(Cid(DAG_CBOR, Cid.parse(row.stored.record.target).digest))
        return True

    def _recount(self, target: Cid) -> None:
        row = self._rows.get(target)
        if row is None:
            return
        latest: dict[tuple[str, str | None], tuple[float, bytes, str]] = {}
        for word in self._words_on(target):
            record = word.record
            if isinstance(record, ValidationRecord):
                is_local = word.origin == record_rules.LOCAL
                age = word.sequence if is_local else record.timestamp.timestamp()
                verdict = (age, word.cid.multihash, record.verdict)
                who = (record.issuer, _voice(word) if is_local else None)
                latest[who] = max(latest.get(who, verdict), verdict)
        verdicts = [verdict for _, _, verdict in latest.values()]
        counted = replace(row.stored, valid=verdicts.count("valid"), invalid=verdicts.count("invalid"))
        self._rows[target] = replace(row, stored=counted)


def _voice(word: StoredRecord) -> str:
    if record_rules.is_private(word.record.scope):
        return ""
    return str((word.kept or {}).get(record_rules.VOICE, ""))


def _spared(row: _Row, now: datetime | None) -> tuple[int, float, int]:
    """Sorts records by what is deleted first: withdrawn, expired (sooner first), then by value."""
    record = row.stored.record
    assert isinstance(record, AnswerRecord)
    if not row.is_live_answer:
        return 0, 0.0, 0
    if now is not None and record.expires is not None and record.expires <= now:
        return 1, record.expires.timestamp(), 0
    return 2, row.value.worth, record.confidence


def _key_of(row: _Row, record: AnswerRecord, column: str) -> str | None:
    if column == "query_hash":
        return record.query_hash
    return record.slot_key if column == "slot_key" else row.keyword_key


class MemoryStore:
    """Both views over one memory, like ``SqliteStore``."""

    def __init__(self, *, own_issuer: str, bytes_max: int = BYTES_MAX) -> None:
        self.blocks_by_multihash: dict[bytes, bytes] = {}
        self.bytes_held = 0
        self._bytes_max = bytes_max
        self.blocks: BlockStore = VerifyingBlockStore(_MemoryBlocks(self))
        self.records = MemoryRecords(self, own_issuer)

    def put_block(self, cid: Cid, data: bytes) -> None:
        """Raises ``Unavailable`` when memory for blocks is used up."""
        held = len(self.blocks_by_multihash.get(cid.multihash, b""))
        if self.bytes_held - held + len(data) > self._bytes_max:
            raise Unavailable(f"the block store is full: {self._bytes_max} bytes")
        self.bytes_held += len(data) - held
        self.blocks_by_multihash[cid.multihash] = data

    def delete_block(self, cid: Cid) -> None:
        """A record that the block holds is removed with it."""
        data = self.blocks_by_multihash.pop(cid.multihash, None)
        if data is not None:
            self.bytes_held -= len(data)
            self.records.remove(Cid(DAG_CBOR, cid.digest))

    async def public_block(self, cid: Cid) -> bytes:
        """As ``SqliteStore.public_block``."""
        if self.records.is_public(cid.multihash):
            return await self.blocks.get(cid)
        if self.records.is_known(cid.multihash):
            raise NotPublic(f"the record {cid} is not public, or not live")
        raise NotFound(f"no record {cid} is here")

    async def public_blocks(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes | None]:
        """As ``SqliteStore.public_blocks``."""
        found: dict[Cid, bytes | None] = {}
        for cid in cids:
            if not self.records.is_known(cid.multihash):
                found[cid] = None
            elif self.records.is_public(cid.multihash) and bytes_max > 0:
                data = found[cid] = await self.blocks.get(cid)
                bytes_max -= len(data)
        return found

    async def close(self) -> None:
        """Close both views. Idempotent."""
        await self.blocks.close()
        await self.records.close()
