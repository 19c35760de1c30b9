"""``POST /v1/chat/completions`` and ``POST /v1/responses``: the whole walk, or the cache in front of an
upstream, whole or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from aiohttp import web

from node.api import views
from node.api.errors import vendors
from node.api.openai import caching, forms, shapes
from node.api.openai.caching import Directives
from node.api.openai.faults import Fault
from node.api.openai.forms import ChatForm, Form, ResponsesForm
from node.api.openai.shapes import OWN, Wanted
from node.api.received import BODY
from node.api.replies import as_json
from node.api.request import CALLER, ID, SERVICE
from node.api.stream import as_events, begun, while_there
from node.core.clock import SystemClock
from node.core.errors import NodeError, Refused, Unauthenticated
from node.core.model import Answer, Json, Usage
from node.core.ports import Tell
from node.pipeline.requests import Ask
from node.pipeline.service import Service
from node.pipeline.through import Flight, Handed, Passed, PassThrough
from node.pipeline.walk import NOT_CACHED

HIT_WAIT_S = 0.08
"""So long the head of a stream waits for an answer that may be in the cache: it then says so itself."""
HEAD_WAIT_S = 1.0
"""So long the head of a stream waits for an upstream's first word: its refusal then has a status."""
_KEEP_ALIVE = b":\n\n"


async def completions(request: web.Request) -> web.StreamResponse:
    wanted = shapes.chat(request[BODY])
    return await _answered(request, wanted, ChatForm)


async def responses(request: web.Request) -> web.StreamResponse:
    wanted = shapes.responses(request[BODY])
    return await _answered(request, wanted, ResponsesForm)


async def _answered(request: web.Request, wanted: Wanted, form: type[Form]) -> web.StreamResponse:
    wish = caching.directives(request.headers.getall("Cache-Control", []))
    created = int(SystemClock().now().timestamp())
    reply = form(request[ID], created, wanted.model, wants_usage=wanted.wants_usage)
    if wanted.is_agent and wanted.bypass is not None:
        raise _no_upstream(wanted)
    if wanted.upstream is None and wanted.bypass is None:
        return await _Own(request, wanted, wish, reply).answered()
    through = request.app[SERVICE].through
    if through is None:
        raise _no_upstream(wanted)
    return await _Handing(request, wanted, wish, reply, through).answered()


def _no_upstream(wanted: Wanted) -> Fault:
    if wanted.is_agent and wanted.bypass is not None:
        said = f"the model {wanted.model} calls tools of this node only, and does not do {wanted.bypass.why}"
        return Fault(said, param=wanted.bypass.param, code="unsupported_parameter")
    if wanted.bypass is not None and wanted.upstream is None:
        said = f"the model {OWN} does not do {wanted.bypass.why}, and no upstream is configured that could"
        return Fault(said, param=wanted.bypass.param, code="unsupported_parameter")
    said = f"there is no model {wanted.model!r} here: no upstream is configured"
    return Fault(said, param="model", code="model_not_found", status=404)


def _own_facts(answer: Answer, *, counted: str) -> dict[str, Any]:
    """The ``neuroswarm`` object."""
    shown = views.answer(answer, verbose=False)
    names = (
        "request_id", "route", "source", "citations", "confidence", "cid", "stored", "store_reason", "draft",
        "unverified", "hit", "stale", "decision",
    )  # fmt: skip
    why = answer.hit.reason if answer.hit is not None else answer.store_reason or ""
    own = {name: shown[name] for name in names} | views.documents(answer.documents)
    return {**own, "why": why, "usage": counted}


def _ask(request: web.Request, wanted: Wanted, wish: Directives, context: str | None) -> Ask:
    return Ask(
        text=wanted.text,
        caller=request[CALLER],
        context=context,
        max_age_s=wish.max_age_s,
        no_cache=wish.no_cache,
        no_store=wish.no_store,
        only_cached=wish.only_if_cached,
        agent=wanted.is_agent,
        talk=wanted.talk() if wanted.upstream is None and wanted.bypass is None else None,
    )


def _not_cached() -> Fault:
    said = "nothing in the cache answers this, and only-if-cached was asked for"
    return Fault(said, param="Cache-Control", code="not_cached", status=504)


class _Own:
    """A request for the node's own model: the whole walk. Also the form of its stream
    (``stream.Telling``)."""

    def __init__(self, request: web.Request, wanted: Wanted, wish: Directives, form: Form) -> None:
        self._request, self._wanted, self._wish, self._form = request, wanted, wish, form
        self._service: Service = request.app[SERVICE]

    async def answered(self) -> web.StreamResponse:
        wanted = self._wanted
        context, _ = self._service.place("", wanted.before, wanted.settings, wanted.text)
        ask = _ask(self._request, wanted, self._wish, context)

        async def answer(tell: Tell | None = None) -> Answer:
            found = await self._service.answer(ask, self._request[ID], tell)
            if found.source.id == NOT_CACHED:
                raise _not_cached()
            if ask.talk is not None and ask.talk.schema and found.source.kind == "fallback":
                said = "no model here gave an answer in this format"
                raise Fault(said, param="response_format", code="response_format_not_met", status=502)
            return found

        if wanted.stream:
            return await as_events(self._request, answer, self, wait_s=HIT_WAIT_S)
        found = await while_there(self._request, answer())
        usage, own = self._usage(found), _own_facts(found, counted="counted")
        response = as_json(self._form.whole(found.text, _reason(found), usage, own))
        response.headers.update(caching.headers(found))
        return response

    def _usage(self, answer: Answer) -> Usage:
        count = self._service.count_tokens
        return Usage(count(self._wanted.said), count(answer.text))

    # --- the form of a stream ----------------------------------------------------------------------

    def headers(self, answer: Answer | None) -> Mapping[str, str]:
        return {} if answer is None else caching.headers(answer)

    def opening(self) -> bytes:
        return self._form.opening()

    def told(self, event: str, facts: Mapping[str, Json]) -> bytes:
        if event == "delta" and not self._form.replaced:
            return self._form.piece(str(facts["text"]))
        if event == "reset" and self._form.shown:
            self._form.replaced = True  # what comes next is another text: it is shown when it is whole
        return b""

    def done(self, answer: Answer) -> bytes:
        if self._form.replaced and not answer.text.startswith(self._form.shown):
            text = f"{self._form.shown}\n\n{answer.text}"
        else:
            text = answer.text
        own = _own_facts(answer, counted="counted")
        return self._form.ending(text, _reason(answer), self._usage(answer), own)

    def failed(self, error: NodeError) -> bytes:
        return self._form.error(vendors(error))


def _reason(answer: Answer) -> str:
    is_cut = any(step.stage == "generate" and step.outcome == "cut" for step in answer.trace)
    return "length" if is_cut else "stop"


class _Handing:
    """A request for an upstream's model, or for an upstream because of what it wants."""

    def __init__(
        self, request: web.Request, wanted: Wanted, wish: Directives, form: Form, through: PassThrough
    ) -> None:
        self._request, self._wanted, self._wish, self._form = request, wanted, wish, form
        self._through = through
        self._service: Service = request.app[SERVICE]
        self._clock = SystemClock()
        self._began = self._clock.monotonic()

    async def answered(self) -> web.StreamResponse:
        wanted, bypass = self._wanted, self._wanted.bypass
        model = wanted.upstream or next(iter(await self._through.models()), "")
        to = await self._through.upstream(model)
        if to is None or not model:
            raise _no_upstream(wanted)
        context, route = self._service.place(model, wanted.before, wanted.settings, wanted.text)
        query = self._service.query(_ask(self._request, wanted, self._wish, context), self._request[ID])
        recall = None
        if bypass is None:
            found, recall = await self._through.find(query, route)
            if found is not None:
                return await self._replayed(found)
        if self._wish.only_if_cached:
            raise _not_cached()
        body = wanted.body if bypass is None else {**wanted.raw, "model": model}
        path = "chat/completions" if bypass is None else wanted.path
        handed = Handed(model, path, body, "" if bypass is None else bypass.why)
        with self._through.flight(query, route, handed, to) as (flight, is_joined):

            async def end() -> Passed:
                passed = await self._through.passed(query, route, handed, flight, recall, is_joined=is_joined)
                self._service.count_passed(passed.answer, self._clock.monotonic() - self._began)
                return passed

            if wanted.stream:
                return await self._relayed(flight, handed, end)
            return await while_there(self._request, self._whole(flight, handed, end))

    async def _replayed(self, found: Passed) -> web.StreamResponse:
        answer, form = found.answer, self._form
        self._service.count_passed(answer, self._clock.monotonic() - self._began)
        usage, counted = self._usage(found)
        own, head = _own_facts(answer, counted=counted), caching.headers(answer)
        if not self._wanted.stream:
            response = as_json(form.whole(answer.text, "stop", usage, own))
            response.headers.update(head)
            return response
        stream = await begun(self._request, head)
        with suppress(ConnectionError):
            await stream.write(form.opening() + form.ending(answer.text, "stop", usage, own))
            await stream.write_eof()
        return stream

    def _usage(self, passed: Passed) -> tuple[Usage, str]:
        """The tokens, and who counted them."""
        if passed.tokens is not None:
            return passed.tokens, "upstream"
        count = self._service.count_tokens
        return Usage(count(self._wanted.said), count(passed.answer.text)), "counted"

    async def _whole(self, flight: Flight, handed: Handed, end: Any) -> web.Response:
        failure: Refused | None = None
        events: list[dict[str, Any]] = []
        try:
            events = [event async for event in flight.read()]
        except Refused as exc:
            failure = exc
        passed: Passed = await end()
        if failure is not None or not events:
            raise failure or Fault(
                "the upstream said nothing", param=None, code="upstream_bad_answer", status=502
            )
        usage, counted = self._usage(passed)
        own = _own_facts(passed.answer, counted=counted)
        is_raw = handed.bypass or (
            isinstance(self._form, ChatForm) and len(events) == 1 and not _is_chunk(events[0])
        )
        if is_raw:
            body = {**events[0], "neuroswarm": own}
        else:
            body = self._form.whole(flight.said.text, flight.said.reason or "stop", usage, own)
        response = as_json(body)
        response.headers.update(caching.headers(passed.answer, bypass=handed.bypass, fwd_status=200))
        return response

    async def _relayed(self, flight: Flight, handed: Handed, end: Any) -> web.StreamResponse:
        """The upstream's stream as it comes."""
        work = asyncio.create_task(flight.begun())
        try:
            await while_there(self._request, _within(work, HEAD_WAIT_S))
        except Refused:
            await end()
            raise
        finally:
            work.cancel()
        fwd = f'fwd=bypass; detail="{handed.bypass}"' if handed.bypass else "fwd=miss"
        stream = await begun(self._request, {"Cache-Status": f"neuroswarm; {fwd}"})
        if not flight.events:
            await stream.write(_KEEP_ALIVE)
        with suppress(ConnectionError):
            try:
                await while_there(self._request, self._pumped(stream, flight, handed, end))
            except Unauthenticated as exc:  # its key has ended meanwhile
                await stream.write(self._form.error(vendors(exc)))
                await stream.write_eof()
        return stream

    async def _pumped(self, stream: web.StreamResponse, flight: Flight, handed: Handed, end: Any) -> None:
        is_raw = bool(handed.bypass) or isinstance(self._form, ChatForm)
        held: list[dict[str, Any]] = []
        if not is_raw:
            await stream.write(self._form.opening())
        try:
            async for event in flight.read():
                if held or (not handed.bypass and _ends(event)):
                    held.append(event)  # the last ones tell what became of the answer, too
                elif is_raw:
                    await stream.write(self._raw(event))
                else:
                    await stream.write(self._form.piece(_text(event)))
        except Refused as exc:
            await end()
            await stream.write(self._form.error(exc.said))
            await stream.write_eof()
            return
        passed: Passed = await end()
        usage, counted = self._usage(passed)
        own = _own_facts(passed.answer, counted=counted)
        if is_raw:
            first = [{**one, "neuroswarm": own} for one in held[:1]]
            done = b"" if handed.path == "responses" else forms.DONE
            await stream.write(b"".join(map(self._raw, [*first, *held[1:]])) + done)
        else:
            await stream.write(self._form.ending(flight.said.text, flight.said.reason, usage, own))
        await stream.write_eof()

    def _raw(self, event: dict[str, Any]) -> bytes:
        if isinstance(self._form, ResponsesForm):
            return forms.data(event, name=str(event.get("type", "")))
        if _is_chunk(event) or not isinstance(event.get("choices"), list):
            return forms.data(event)
        return forms.data(_as_chunk(event))  # an upstream that does not stream


def _is_chunk(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices")
    return not choices or any("delta" in one for one in choices if isinstance(one, dict))


def _as_chunk(event: Mapping[str, Any]) -> dict[str, Any]:
    choices = [
        {**{name: value for name, value in one.items() if name != "message"}, "delta": one.get("message")}
        for one in event["choices"]
    ]
    return {**event, "object": "chat.completion.chunk", "choices": choices}


def _ends(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices")
    return any(isinstance(one, dict) and one.get("finish_reason") for one in choices or ())


def _text(event: Mapping[str, Any]) -> str:
    texts = [
        (one.get("delta") or one.get("message") or {}).get("content")
        for one in event.get("choices") or ()
        if isinstance(one, dict)
    ]
    return "".join(text for text in texts if isinstance(text, str))


async def _within(work: asyncio.Task[None], wait_s: float) -> None:
    """The end of ``work`` if it comes in this time. Raises what ``work`` raises."""
    done, _ = await asyncio.wait((work,), timeout=wait_s)
    if done:
        work.result()
