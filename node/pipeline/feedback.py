"""What people say of an answer: right or wrong, and what is right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from node.audit.decisions.answer_entry import store_entry
from node.audit.decisions.entry import quarantine_entry, validation_entry
from node.audit.recorder import Recorder
from node.core.caller import Caller, private_scope
from node.core.clock import new_id
from node.core.errors import BadInput, Conflict, Forbidden, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.model import DecisionRef
from node.core.normalise import normalise
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord
from node.pipeline.drafts import Draft
from node.pipeline.entries import check_for_people, visible
from node.pipeline.ports import Ports
from node.pipeline.requests import Entry, Feedback, Kept, Said
from node.store import provenance
from node.store.record_rules import OPEN_SCOPES


@dataclass(frozen=True, slots=True)
class _Stated:
    """A verdict as it was entered and signed; ``is_for_all``: it is everybody's, not one tenant's."""

    decision: DecisionRef | None
    statement: Cid
    is_for_all: bool


@dataclass(frozen=True, slots=True)
class Judging:
    """``put`` stores a correction."""

    ports: Ports
    recorder: Recorder
    put: Callable[[Entry, str], Awaitable[Kept]]

    async def give(self, said: Said) -> Feedback:
        """Enter a signed validation; its decision first, so that what the log refuses is not begun. What is
        invalid is remembered by its meaning, and ``correction`` becomes an entry of the caller's in its
        place. Whom the verdict ``invalid`` takes the record from is said in ``node.store.provenance``. Raises
        ``BadInput``, ``Forbidden``, ``NotFound``, ``Unavailable``."""
        caller, verdict, correction, request_id = said.caller, said.verdict, said.correction, said.request_id
        cid = said.cid
        if correction is not None and not caller.may_write:
            raise Forbidden("this key may not write, so it cannot correct")
        if cid is None:
            assert request_id is not None
            known = await self._answered(request_id, caller)
            if known is None:
                return await self._on_draft(request_id, verdict, correction, caller)
            cid = str(known)
        stored = await visible(self.ports.records, cid, caller)
        if not isinstance(stored.record, AnswerRecord):
            raise NotFound("no such entry")
        await _check_correction(correction, stored.record.answer)
        if request_id is not None:
            await self.ports.watch.feedback(caller.request(request_id), str(stored.cid), verdict)
        stated = await self._stated(stored, stored.record, said)
        asked = None if request_id is None else self.ports.pipeline.asked_in(request_id, caller)
        if verdict == "invalid":
            scope = None if stated.is_for_all else private_scope(caller.tenant)
            await self.ports.refuted.invalid(
                stored.cid, stored.record, asked=asked, tenant=caller.tenant, scope=scope
            )
        else:
            await self.ports.refuted.take_back(str(stored.cid), scope=private_scope(caller.tenant))
        after = await self.ports.records.get(stored.cid)
        kept = None
        if correction is not None:
            is_private = stored.record.scope not in OPEN_SCOPES
            kept = await self._correct(
                Entry(
                    asked or stored.record.query,
                    correction,
                    caller,
                    scope="private" if is_private else None,
                    replace=caller.is_operator,
                    corrects=stored.cid if stated.is_for_all else None,
                    context=stored.record.context,
                )
            )
        return Feedback(
            cid=str(stored.cid),
            verdict=verdict,
            validation=str(stated.statement),
            valid=after.valid,
            invalid=after.invalid,
            served=after.state == "live"
            and not self.ports.refuted.hides(str(stored.cid), caller.visible_scopes),
            decision=stated.decision,
            correction=kept,
        )

    async def _stated(self, stored: StoredRecord, record: AnswerRecord, said: Said) -> _Stated:
        """Enter and sign the verdict, and withdraw what goes with it. Of one client the latest verdict
        counts: an equal one is entered, and signed again only with a note, which is kept."""
        caller, verdict, target = said.caller, said.verdict, stored.cid
        is_for_all = provenance.may_take_from_all(caller, record)
        voice = "" if is_for_all else caller.tenant
        entry, private = validation_entry(
            target=str(target),
            verdict=verdict,
            scope=record.scope,
            policy=self.ports.policy.version,
            tenant=caller.tenant,
            by="operator" if caller.is_operator else "client" if is_for_all else "tenant",
        )
        decision = (await self.recorder.enter(entry, private)).ref
        # A merged record is served through the one it was merged into, which a verdict withdraws with it.
        served = {target, await self.ports.records.survivor(target) or target}
        live = set(await self.ports.records.live([*served]))
        before = (await self.ports.records.voices(target)).get(voice)
        if before is not None and before[0] == verdict and said.note is None:
            statement = before[1]
        else:
            statement = (await self.ports.rememberer.validate(stored, verdict, said.note, voice)).cid
        if verdict == "invalid" and voice:
            voices = await self.ports.records.voices(target)
            if provenance.agreed(voices) >= self.ports.policy.withdraw_after_tenants:
                await self.ports.rememberer.withdraw(target)
                is_for_all = True
        for gone in live - set(await self.ports.records.live([*served])):
            entry, private = quarantine_entry(
                target=str(gone), reason=verdict, scope=record.scope, policy=self.ports.policy.version
            )
            await self.recorder.enter(entry, private, is_done=True)
        return _Stated(decision, statement, is_for_all)

    async def _answered(self, request_id: str, caller: Caller) -> Cid | None:
        """The record that answered a request. Raises ``BadInput`` where the id says not which."""
        try:
            if self.ports.pipeline.is_reused(request_id, caller):
                raise Rejected("several questions were asked under this id")
            return await self.ports.state.cid_of_request(caller.request(request_id))
        except Rejected as exc:
            raise BadInput(f"{exc}; name the entry by its cid", field="request_id") from exc

    async def _correct(self, entry: Entry) -> str:
        """Store a correction; its CID. The verdict has been entered by now, which the error says."""
        try:
            return (await self.put(entry, new_id())).cid
        except Conflict as exc:
            message = f"the verdict is noted, but the correction was {exc}"
            raise Conflict(message, field="correction", standing=exc.standing) from exc
        except (Rejected, Unavailable) as exc:
            raise type(exc)(f"the verdict is noted, but the correction was {exc}") from exc

    async def _on_draft(
        self, request_id: str, verdict: str, correction: str | None, caller: Caller
    ) -> Feedback:
        """A verdict on what was never stored: ``invalid`` drops it."""
        drafts: list[Draft[Any]] = self.ports.drafts.of_request(caller.request(request_id), caller.tenant)
        if not drafts:
            raise NotFound("no stored answer and no draft belongs to this request_id")
        if correction is not None and len(drafts) > 1:
            raise BadInput("the request asked several questions; correct them one by one", field="correction")
        for draft in drafts:
            await _check_correction(correction, draft.answer)
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


async def _check_correction(correction: str | None, answer: str) -> None:
    """Before anything is withdrawn for it. Raises ``BadInput``."""
    if correction is None:
        return
    if normalise(correction) == normalise(answer):
        raise BadInput("the correction says what the answer says", field="correction")
    await check_for_people([("correction", correction)])
