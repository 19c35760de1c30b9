"""What people say of an answer: right or wrong, and what is right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from node.audit.decisions.answer_entry import store_entry
from node.audit.decisions.entry import quarantine_entry, validation_entry
from node.audit.recorder import Recorder
from node.core.clock import new_id
from node.core.errors import BadInput, Forbidden, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import SCOPE_PUBLIC, SCOPE_SHARED, Caller
from node.core.normalise import normalise
from node.core.ports import RecordStore, StoredRecord
from node.core.record import AnswerRecord
from node.pipeline.drafts import Draft
from node.pipeline.ports import Ports
from node.pipeline.requests import Entry, Feedback, Kept, Said


async def visible(records: RecordStore, cid: str, caller: Caller) -> StoredRecord:
    """A record this caller may see. Raises ``NotFound`` for all others, alike."""
    try:
        stored = await records.get(Cid.parse(cid))
    except NotFound:
        stored = None
    if stored is None or stored.record.scope not in caller.visible_scopes:
        raise NotFound("no such entry")
    return stored


@dataclass(frozen=True, slots=True)
class Judging:
    """``put`` stores a correction."""

    ports: Ports
    recorder: Recorder
    put: Callable[[Entry, str], Awaitable[Kept]]

    async def give(self, said: Said) -> Feedback:
        """Enter a signed validation; its decision first, so that what the log refuses is not begun. What is
        invalid is remembered by its meaning, and ``correction`` becomes an entry of the caller's in its
        place. Raises ``BadInput``, ``Forbidden``, ``NotFound``, ``Unavailable``."""
        caller, verdict, correction, request_id = said.caller, said.verdict, said.correction, said.request_id
        cid = said.cid
        if correction is not None and not caller.may_write:
            raise Forbidden("this key may not write, so it cannot correct")
        if cid is None:
            assert request_id is not None
            known = await self._answered(request_id)
            if known is None:
                return await self._on_draft(request_id, verdict, correction, caller)
            cid = str(known)
        stored = await visible(self.ports.records, cid, caller)
        record = stored.record
        if not isinstance(record, AnswerRecord):
            raise NotFound("no such entry")
        _check_correction(correction, record.answer)
        entry, private = validation_entry(
            target=str(stored.cid),
            verdict=verdict,
            scope=record.scope,
            policy=self.ports.policy.version,
            tenant=caller.tenant,
        )
        decision = (await self.recorder.enter(entry, private)).ref
        if request_id is not None:
            await self.ports.watch.feedback(request_id, str(stored.cid), verdict)
        # A merged record is served through the one it was merged into, which a verdict withdraws with it.
        served = {stored.cid, await self.ports.records.survivor(stored.cid) or stored.cid}
        live = set(await self.ports.records.live([*served]))
        statement = await self.ports.rememberer.validate(stored, verdict, said.note)
        after = await self.ports.records.get(stored.cid)
        for gone in live - set(await self.ports.records.live([*served])):
            entry, private = quarantine_entry(
                target=str(gone), reason=verdict, scope=record.scope, policy=self.ports.policy.version
            )
            await self.recorder.enter(entry, private, is_done=True)
        kept = None
        if verdict == "invalid":
            asked = None if request_id is None else self.ports.pipeline.asked_in(request_id, caller.tenant)
            await self.ports.refuted.invalid(stored.cid, record, asked=asked, tenant=caller.tenant)
            if correction is not None:
                is_private = record.scope not in (SCOPE_SHARED, SCOPE_PUBLIC)
                kept = await self._correct(
                    Entry(
                        asked or record.query,
                        correction,
                        caller,
                        scope="private" if is_private else None,
                        corrects=stored.cid,
                    )
                )
        return Feedback(
            cid=str(stored.cid),
            verdict=verdict,
            validation=str(statement.cid),
            valid=after.valid,
            invalid=after.invalid,
            served=after.state == "live",
            decision=decision,
            correction=kept,
        )

    async def _answered(self, request_id: str) -> Cid | None:
        """The record that answered a request. Raises ``BadInput`` where the id says not which."""
        try:
            if self.ports.pipeline.is_reused(request_id):
                raise Rejected("several questions were asked under this id")
            return await self.ports.state.cid_of_request(request_id)
        except Rejected as exc:
            raise BadInput(f"{exc}; name the entry by its cid", field="request_id") from exc

    async def _correct(self, entry: Entry) -> str:
        """Store a correction; its CID. What it corrects is withdrawn by now, which the error says."""
        try:
            return (await self.put(entry, new_id())).cid
        except (Rejected, Unavailable) as exc:
            raise type(exc)(f"the answer is withdrawn, but the correction was {exc}") from exc

    async def _on_draft(
        self, request_id: str, verdict: str, correction: str | None, caller: Caller
    ) -> Feedback:
        """A verdict on what was never stored: ``invalid`` drops it."""
        drafts: list[Draft[Any]] = self.ports.drafts.of_request(request_id, caller.tenant)
        if not drafts:
            raise NotFound("no stored answer and no draft belongs to this request_id")
        if correction is not None and len(drafts) > 1:
            raise BadInput("the request asked several questions; correct them one by one", field="correction")
        for draft in drafts:
            _check_correction(correction, draft.answer)
        scope = caller.default_scope
        entry, private = store_entry(
            request=request_id,
            outcome="skipped",
            reason=verdict,
            scope=scope,
            policy=self.ports.policy.version,
        )
        decision = (await self.recorder.enter(entry, private)).ref
        kept = None
        if verdict == "invalid":
            for draft in drafts:
                self.ports.drafts.drop(draft.key)
                self.ports.refuted.invalid_draft(
                    draft.question, draft.answer, scope=scope, tenant=caller.tenant
                )
            if correction is not None:
                kept = await self._correct(Entry(drafts[0].question, correction, caller))
        return Feedback(None, verdict, None, 0, 0, verdict == "valid", decision, kept)


def _check_correction(correction: str | None, answer: str) -> None:
    if correction is not None and normalise(correction) == normalise(answer):
        raise BadInput("the correction says what the answer says", field="correction")
