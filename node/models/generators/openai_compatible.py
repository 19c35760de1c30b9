"""The driver for a server that speaks OpenAI's chat API (a vendor, vLLM, llama.cpp's server, LM Studio …).

Promises: as many generations at once as the settings say, a bounded number waiting, waiting counted in the
timeout; the answer streamed, so that what was said before a timeout is not lost; a server that knows fewer
parameters is asked with fewer; a wait that it asks for is kept; foreign exceptions never leave this file. It
must not know what the prompt is about nor what becomes of the answer."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from node.core.clock import Clock
from node.core.errors import RateLimited, Rejected, TimedOut, Unavailable
from node.core.model import Check, Draft
from node.core.ports import OnText, Prompt
from node.core.tools import Called
from node.language.orders import CHAT_TOKEN
from node.models.deadline import within
from node.models.generation import BYTES_PER_TOKEN, Driver, Heard, before, prompt_bytes
from node.models.ollama_client import names_no_chat
from node.models.openai_client import (
    SPOKEN,
    Listed,
    OpenAiConnection,
    package_missing,
    says_too_long,
    whole,
)
from node.models.transport import words_of

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

_LOG = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 1.5
LIST_TIMEOUT_S = 5.0
MODEL_REMEMBERED_S = 30.0
USAGE_WAIT_S = 1.0
"""How long the token counts are waited for that follow the last word."""
PROMPT_TOKENS_MAX = 131_072
"""The server's window is not known; nothing that we ask comes near the largest."""
STOP_MAX = 4
"""More are refused by OpenAI's own servers. What is left out is cut off here."""

_OPTIONAL = (
    "tools",
    "response_format",
    "stream_options",
    "seed",
    "stop",
    "temperature",
    "max_tokens",
    "top_logprobs",
    "logprobs",
)
"""Parameters that one server or another refuses; asked again without those that its refusal names."""


class OpenAiGenerator(Driver):
    """``node.core.ports.Generator`` over an OpenAI-compatible server."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        clock: Clock,
        *,
        queue_max: int = 64,
        slots: int = 1,
    ) -> None:
        """``model`` may be empty: the first that the server lists. ``api_key`` may be empty, where the server
        wants none. Raises ``Misconfigured``."""
        super().__init__("openai", SPOKEN, clock, queue_max=queue_max, slots=slots)
        self._wanted = model.strip()
        self._connection = OpenAiConnection(base_url, api_key, clock)
        self._chosen: tuple[float, str] | None = None
        self._refused: frozenset[str] = frozenset()
        self._not_before = 0.0

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """See the port. An answer that the timeout cut off is returned as incomplete when whole sentences
        of it had arrived. Raises ``RateLimited`` too, and keeps the wait that it names."""
        needed = prompt_bytes(prompt) // BYTES_PER_TOKEN + prompt.tokens_max
        if needed > PROMPT_TOKENS_MAX:
            raise Rejected(f"the prompt of about {needed} tokens is longer than any model's window")
        draft = await self._draft(
            prompt, timeout_s, lambda heard: self._speak(prompt, heard), self._guarded(on_text)
        )
        if any(map(self._connection.gives_key_away, (draft.text, *(one.arguments for one in draft.calls)))):
            raise Rejected(f"{SPOKEN} put the key into its answer")
        return draft

    def _guarded(self, on_text: OnText | None) -> OnText | None:
        """What may be heard meanwhile: nothing more from where the key may begin."""
        if on_text is None or not self._connection.has_secret:
            return on_text
        said = ""
        told = 0

        def guarded(piece: str) -> None:
            nonlocal said, told
            said += piece
            end = len(said) - self._connection.key_begins(said)
            if end > told and not self._connection.gives_key_away(said):
                on_text(said[told:end])
                told = end

        return guarded

    async def _speak(self, prompt: Prompt, heard: Heard) -> None:
        wait_s = self._not_before - self._clock.monotonic()
        if wait_s > 0:
            raise RateLimited(f"{SPOKEN} wants to be left alone for now", retry_after_s=wait_s)
        client = await self._connection.official()
        model = await self._choose()
        try:
            with self._connection.translated(model):
                stream = await self._open(client, model, prompt)
                heard.model = model
                async with stream:
                    await self._listen(stream, prompt, heard)
        except RateLimited as exc:
            self._not_before = self._clock.monotonic() + exc.retry_after_s
            raise
        except Rejected as exc:
            if says_too_long(str(exc)):
                raise Rejected("the prompt is longer than the model's window") from exc
            raise
        except Unavailable:
            self._chosen = None  # the model may have been removed: look again next time
            raise

    async def _open(
        self, client: AsyncOpenAI, model: str, prompt: Prompt
    ) -> AsyncStream[ChatCompletionChunk]:
        """Begin the answer. A refusal (400, 422) that names a parameter is not the last word."""
        from openai import BadRequestError, UnprocessableEntityError

        refused = set(self._refused)
        while True:
            try:
                stream: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
                    **_parameters(model, prompt, refused)
                )
            except (BadRequestError, UnprocessableEntityError) as exc:
                named = _named_in(exc) - refused
                if not named:
                    raise
                refused |= named
                continue
            if refused - self._refused:
                _LOG.info("openai.parameters_refused names=%s", ",".join(sorted(refused)))
                self._refused = frozenset(refused)
            return stream

    async def _listen(self, stream: AsyncStream[ChatCompletionChunk], prompt: Prompt, heard: Heard) -> None:
        kind = stream.response.headers.get("content-type", "").lower()
        if kind.startswith("application/json"):
            await stream.response.aread()
            _take_whole(json.loads(stream.response.content), heard)
            return
        parts = aiter(stream)
        stops = _stops(prompt)
        longest = max(map(len, stops), default=0)
        tail = ""
        is_stream = "event-stream" in kind
        async for part in parts:
            is_stream = True
            choice = next(iter(_of(part, "choices") or ()), None)
            _count(part, heard)
            content = _hear(choice, _of(choice, "delta"), heard)
            goes_on = heard.add(content)
            if reason := _reason(choice):
                heard.done_reason = reason
                break
            tail = (tail + content)[-(longest + len(content)) :] if longest else ""
            if any(mark in tail for mark in stops):
                heard.done_reason = "stop"  # a mark that the server did not heed, or was not told
                return
            if not goes_on:
                return
        if not is_stream:
            raise Rejected(
                f"{SPOKEN} sent {words_of(kind)[:40] or 'something'} instead of a stream of events"
            )
        if heard.done_reason is not None and not heard.prompt_tokens:
            await self._usage(parts, heard)

    async def _usage(self, parts: AsyncIterator[ChatCompletionChunk], heard: Heard) -> None:
        """The token counts come after the last word. The answer is whole without them."""

        async def rest() -> None:
            async for part in parts:
                _count(part, heard)

        async def listen() -> None:
            with self._connection.translated():
                await rest()

        try:
            await within(self._clock, USAGE_WAIT_S, listen(), "no token counts came")
        except (TimedOut, Unavailable, Rejected) as exc:
            _LOG.debug("openai.no_usage reason=%s", exc)

    async def _choose(self) -> str:
        if self._wanted:
            return self._wanted
        if self._chosen is not None and self._clock.monotonic() < self._chosen[0]:
            return self._chosen[1]
        model = _first(await self._connection.models(LIST_TIMEOUT_S))
        self._chosen = (self._clock.monotonic() + MODEL_REMEMBERED_S, model)
        return model

    async def _look(self) -> Check:
        """Whether the server answers, takes the key and has a model to use, within ``PROBE_TIMEOUT_S``."""
        if (reason := package_missing()) is not None:
            raise Unavailable(reason)
        began = self._clock.monotonic()
        listed = await self._connection.models(PROBE_TIMEOUT_S)
        said = f"model {self._wanted or _first(listed)}"
        if self._wanted and listed is not None and self._wanted not in [model.name for model in listed]:
            said += ", which the server does not list"  # some servers take more names than they list
        elapsed_ms = (self._clock.monotonic() - began) * 1_000
        return Check(self.name, "pass", said, observed=round(elapsed_ms, 1), unit="ms")

    async def _end(self) -> None:
        await self._connection.close()


def _first(listed: list[Listed] | None) -> str:
    """The first model that does not call itself something else than a chat model."""
    if listed is None:
        raise Unavailable(f"{SPOKEN} does not list its models: set models.openai_model")
    if not listed:
        raise Unavailable(f"{SPOKEN} lists no model: load one there, or set models.openai_model")
    return next((model.name for model in listed if not names_no_chat(model.name)), listed[0].name)


def _parameters(model: str, prompt: Prompt, refused: set[str]) -> dict[str, Any]:
    if "tools" in refused:
        prompt = prompt.plain or prompt
    messages: list[dict[str, Any]] = [*before(prompt), {"role": "user", "content": prompt.user}]
    messages += [message for place, one in enumerate(prompt.called) for message in _as_messages(place, one)]
    if prompt.system:
        messages.insert(0, {"role": "system", "content": prompt.system})
    optional: dict[str, Any] = {
        "tools": [one.form for one in prompt.tools],
        "temperature": prompt.temperature,
        "seed": prompt.seed,
        "logprobs": True,
        "top_logprobs": prompt.alternatives or None,
        "stop": _stops(prompt)[:STOP_MAX],
        "stream_options": {"include_usage": True},
        "max_tokens": prompt.tokens_max,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": json.loads(prompt.schema)},
        }
        if prompt.schema
        else None,
    }
    taken = {
        name: value for name, value in optional.items() if name not in refused and value not in ([], None)
    }
    if "max_tokens" in refused:
        taken["max_completion_tokens"] = prompt.tokens_max  # its newer name
    return {"model": model, "messages": messages, "stream": True, **taken}


def _as_messages(place: int, called: Called) -> list[dict[str, Any]]:
    """A call of this turn and what came of it."""
    function = {"name": called.call.name, "arguments": called.call.arguments}
    call = {"id": f"call_{place}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": called.said},
    ]


def _stops(prompt: Prompt) -> list[str]:
    """Where to end, the most useful first: turn marks come last, because a chat server ends at its own. One
    line break before a label is enough, because few marks must do for all."""
    marks = dict.fromkeys(mark.replace("\n\n", "\n") for mark in prompt.stop if mark)
    return sorted(marks, key=lambda mark: bool(CHAT_TOKEN.fullmatch(mark)))


def _named_in(exc: APIStatusError) -> set[str]:
    """Which optional parameters a refusal names."""
    text = exc.response.text[:4_000]
    named = {name for name in _OPTIONAL if re.search(rf"\b{name}\b", text)}
    return named | ({"tools"} if _TOOLS.search(text) else set())


_TOOLS = re.compile(r"\btool[ _-]?(?:s|choice|calls?|calling|use)\b", re.IGNORECASE)
"""How servers name what their model cannot do."""


def _of(value: object, name: str) -> Any:
    """A field of what came as an object or as a map; None without it. The official client checks no types."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _hear(choice: object, message: object, heard: Heard) -> str:
    """Take what a choice says of its tokens; its text, which is not yet heard. Raises ``Rejected``."""
    content = _of(message, "content")
    if content is not None and not isinstance(content, str):
        raise Rejected(f"{SPOKEN} sent an answer that is no text")
    calls = _of(message, "tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        place, function = _of(call, "index"), _of(call, "function")
        heard.add_call(at if place is None else place, _of(function, "name"), _of(function, "arguments"))
    heard.thought = heard.thought or bool(_of(message, "reasoning_content") or _of(message, "reasoning"))
    told = _of(_of(choice, "logprobs"), "content")
    tokens = told if isinstance(told, list) else []
    for token in tokens:
        heard.add_logprob(_of(token, "logprob"))
    tops = _of(tokens[0], "top_logprobs") if tokens else None
    heard.add_first(
        (_of(top, "token"), _of(top, "logprob")) for top in (tops if isinstance(tops, list) else ())
    )
    return content or ""


def _reason(choice: object) -> str:
    reason = _of(choice, "finish_reason")
    return reason if isinstance(reason, str) else ""


def _take_whole(body: Any, heard: Heard) -> None:
    """A whole answer from a server that does not stream."""
    choices = _of(body, "choices")
    message = choices[0]["message"] if isinstance(choices, list) else None
    if not isinstance(message, dict):
        raise Rejected(f"{SPOKEN} sent something that is not its protocol")
    heard.add(_hear(choices[0], message, heard))
    heard.done_reason = _reason(choices[0]) or "stop"
    _count(body, heard)


def _count(part: object, heard: Heard) -> None:
    usage = _of(part, "usage")
    heard.prompt_tokens = whole(_of(usage, "prompt_tokens")) or heard.prompt_tokens
    heard.completion_tokens = whole(_of(usage, "completion_tokens")) or heard.completion_tokens
