"""Withdrawing stored answers by what they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from node.audit.decisions.entry import tombstone_entry
from node.audit.recorder import Recorder
from node.cache.keys import keyword_key
from node.core.caller import SCOPE_PUBLIC, SCOPE_SHARED, Caller, private_scope
from node.core.clock import Clock
from node.core.errors import BadInput, Forbidden
from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash
from node.core.ports import BlockRef, RecordStore, Selection
from node.pipeline.requests import Invalidation
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.retention.invalidate import Invalidated, invalidate


@dataclass(frozen=True, slots=True)
class Invalidator:
    """Invalidation for callers and for the operator."""

    records: RecordStore
    rememberer: Rememberer
    eraser: Eraser
    recorder: Recorder
    clock: Clock
    version: str

    async def run(
        self, wanted: Invalidation, caller: Caller | None, *, is_erasure: bool = False
    ) -> Invalidated:
        """Withdraw what fits, and erase what of it is private, or all. ``caller`` None is the operator, who
        owns the data directory. Raises ``BadInput``, ``Forbidden``, ``Unavailable``."""
        selection = await self._selection(wanted, caller)
        erased: dict[str, list[Cid]] = {}

        async def enter(ref: BlockRef) -> None:
            await self._enter(ref)
            if is_erasure or ref.scope not in (SCOPE_SHARED, SCOPE_PUBLIC):
                erased.setdefault(ref.scope, []).append(ref.cid)

        try:
            done = await invalidate(self.records, self.rememberer, enter, selection, dry_run=wanted.dry_run)
        finally:  # what is withdrawn is not selected again: it is erased now
            for scope, cids in erased.items():
                live = set(await self.records.live(cids))
                await self.eraser.clear([cid for cid in cids if cid not in live], scope=scope)
        if done.withdrawn:
            await self.eraser.scrub()
        return done

    async def _enter(self, ref: BlockRef) -> None:
        """The log first, as for every decision: where it must have it and cannot, nothing is begun."""
        entry, private = tombstone_entry(
            target=str(ref.cid), reason="invalidated", scope=ref.scope, policy=self.version
        )
        await self.recorder.enter(entry, private)

    async def _selection(self, wanted: Invalidation, caller: Caller | None) -> Selection:
        if wanted == Invalidation(dry_run=wanted.dry_run, like=wanted.like):
            named = "cid, query, source, older_than_s, tag and scope"
            raise BadInput(f"name at least one of {named}", field="cid")
        if wanted.like and wanted.query is None:
            raise BadInput("like extends query, which is missing", field="like")
        text = None if wanted.query is None else normalise(wanted.query)
        words = keyword_key(text) if text is not None and wanted.like else None
        cid = None if wanted.cid is None else Cid.parse(wanted.cid)
        before = None
        if wanted.older_than_s is not None:
            before = self.clock.now() - timedelta(seconds=wanted.older_than_s)
        return Selection(
            cid=None if cid is None else await self.records.survivor(cid) or cid,
            query_hash=query_hash(text) if text is not None and words is None else None,
            keyword_key=words,
            source=wanted.source,
            before=before,
            tag=wanted.tag,
            scopes=_scopes(wanted.scope, caller),
        )


def _is_for_all(caller: Caller) -> bool:
    return caller.is_operator or caller.default_scope == SCOPE_SHARED


def _scopes(wanted: str | None, caller: Caller | None) -> tuple[str, ...] | None:
    """Where whoever asks may invalidate; None: everywhere."""
    own = private_scope((caller or Caller()).tenant)
    scope = own if wanted == "private" else wanted
    if caller is None:
        return None if scope is None else (scope,)
    allowed = (own, SCOPE_SHARED, SCOPE_PUBLIC) if _is_for_all(caller) else (own,)
    if scope is None:
        return allowed
    if scope not in allowed:
        raise Forbidden(f"this key may not invalidate entries of scope {wanted}")
    return (scope,)
