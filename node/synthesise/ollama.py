"""The driver for Ollama: moves a prompt to ``/api/chat`` and the words back, by the official async client.

Promises: one generation at a time, a bounded number waiting, waiting counted in the timeout; the answer
streamed, so that what was said before a timeout is not lost; no proxy, redirect or key of the environment is
used; foreign exceptions never leave this file. It must not know what the prompt is about nor what becomes of
the answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import httpx
from ollama import AsyncClient, ChatResponse, ListResponse, ResponseError

from node.clock import Clock
from node.errors import Misconfigured, NodeError, Rejected, TimedOut, Unavailable
from node.model import Check, Draft
from node.ports import Prompt
from node.synthesise.clean import RAW_CHARS_MAX, clean, find_loop
from node.synthesise.prompt import CONTINUATION_STOP
from node.synthesise.sentences import one_line

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

PREFERRED = "llama3.2"
"""Taken when installed and no model is named (design section 11)."""
PULL_HINT = f"type: ollama pull {PREFERRED}"

CONNECT_TIMEOUT_S = 2.0
READ_TIMEOUT_S = 600.0
"""A backstop only; every call has its own, shorter deadline on the node's clock."""
PROBE_TIMEOUT_S = 1.5
LIST_TIMEOUT_S = 3.0
MODEL_REMEMBERED_S = 30.0
KEEP_ALIVE = "5m"
RESPONSE_BYTES_MAX = 8 * 2**20
"""200 tokens streamed are about 40 KiB; a list of a thousand models about 500 KiB."""

NUM_CTX_STEPS = (4_096, 8_192, 16_384)
"""Few sizes, because Ollama loads the model anew whenever the size changes."""
_BYTES_PER_TOKEN = 3
"""A cautious estimate over languages and tokenizers: English has about four, Chinese about three."""
_TEMPLATE_TOKENS = 64

_EMBEDDING_FAMILIES = ("bert", "xlm-roberta")
_NOT_CHAT_NAMES = ("embed", "rerank", "minilm", "bge-")
_TEMPLATE_ACTION = re.compile(r"\{\{[^{}]{0,4000}\}\}")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_RENDERER = re.compile(r"(?m)^RENDERER\b")
_LOOP_CHECK_CHARS = 256
_MESSAGE_CHARS_MAX = 160


async def within(clock: Clock, seconds: float, work: Awaitable[_T], message: str) -> _T:
    """The result of ``work``, or ``TimedOut(message)`` after ``seconds`` on the node's clock.

    ``work`` is cancelled and waited for when the time is up or the caller is cancelled, so nothing runs on
    unseen."""
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TimedOut(message)
    finally:
        for part in (task, timer):
            part.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)


class _BoundedBody(httpx.AsyncByteStream):
    """A response body that ends in ``Rejected`` where it grows past the limit."""

    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            read += len(chunk)
            if read > RESPONSE_BYTES_MAX:
                raise Rejected("Ollama sent more than an answer can be")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _PlainTransport(httpx.AsyncHTTPTransport):
    """HTTP as this driver wants it: bounded bodies, nothing compressed, no key that the official client
    found in the environment and would send to whatever address is configured."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers.pop("authorization", None)
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        stream = cast("httpx.AsyncByteStream", response.stream)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await stream.aclose()
            raise Rejected("Ollama sent a compressed body that was not asked for")
        response.stream = _BoundedBody(stream)
        return response


def official_client(base_url: str) -> AsyncClient:
    """The official client, kept from the environment. Raises ``Misconfigured`` for an address it cannot
    read."""
    if not base_url:
        raise Misconfigured("setting models.ollama_url is empty")
    try:
        return AsyncClient(
            host=base_url,
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S, pool=CONNECT_TIMEOUT_S),
            follow_redirects=False,
            trust_env=False,
            # Certificates are loaded only where they can be used.
            transport=_PlainTransport(verify=base_url.lower().startswith("https"), trust_env=False),
        )
    except (ValueError, httpx.InvalidURL) as exc:
        raise Misconfigured(
            f"setting models.ollama_url is not an address: {one_line(base_url, 80)!r}"
        ) from exc


@contextmanager
def _translated(model: str = "") -> Iterator[None]:
    """Foreign exceptions of one call of the client as ours."""
    try:
        yield
    except NodeError:
        raise
    except httpx.TimeoutException as exc:
        raise TimedOut("Ollama did not answer in time") from exc
    except ResponseError as exc:
        said = one_line(str(exc.error), _MESSAGE_CHARS_MAX)
        if exc.status_code == 404:
            raise Unavailable(f"Ollama has no model {model}; type: ollama pull {model}") from exc
        raise Unavailable(f"Ollama failed: {said or exc.status_code}") from exc
    except (httpx.ConnectError, OSError) as exc:
        raise Unavailable(
            f"Ollama is not reachable at its address; start it, or install it and {PULL_HINT}"
        ) from exc
    except (httpx.HTTPError, httpx.StreamError) as exc:
        raise Unavailable("the connection to Ollama broke off") from exc
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        # The client decodes without checking: whatever is not its protocol ends in one of these.
        raise Rejected("Ollama sent something that is not its protocol") from exc


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed model: its full name, hex SHA-256 digest, and family as Ollama says."""

    name: str
    digest: str | None
    families: tuple[str, ...]
    continues_only: bool = False
    """Its template marks no turns (a base model, or a GGUF without a template): system messages get lost in
    it."""

    @property
    def can_chat(self) -> bool:
        """False for what only embeds or ranks."""
        lowered = self.name.lower()
        return not any(part in lowered for part in _NOT_CHAT_NAMES) and not any(
            known in family.lower() for family in self.families for known in _EMBEDDING_FAMILIES
        )

    @property
    def is_remote(self) -> bool:
        """Ollama's "cloud" models run elsewhere: never chosen unless named, or questions would leave the
        machine."""
        return self.name.lower().endswith(("-cloud", ":cloud"))


def choose(installed: list[Installed], wanted: str) -> Installed | None:
    """The configured model; without one ``llama3.2``, else the first installed chat model; None if there is
    none.

    A name without a tag means its ``latest``, else any tag of it.
    """
    if wanted:
        return _named(installed, wanted)
    local = [model for model in installed if model.can_chat and not model.is_remote]
    return _named(local, PREFERRED) or (local[0] if local else None)


def _named(installed: list[Installed], wanted: str) -> Installed | None:
    lowered = wanted.lower()
    for candidate in (lowered, f"{lowered}:latest"):
        for model in installed:
            if model.name.lower() == candidate:
                return model
    if ":" not in lowered:
        return next((model for model in installed if model.name.lower().startswith(f"{lowered}:")), None)
    return None


def _installed(response: ListResponse) -> list[Installed]:
    models: list[Installed] = []
    for item in response.models:
        if not item.model:
            continue
        details = item.details
        families = [details.family, *(details.families or ())] if details is not None else []
        digest = (item.digest or "").lower().removeprefix("sha256:")
        models.append(
            Installed(
                item.model,
                digest if _SHA256.match(digest) else None,
                tuple(family for family in families if family),
            )
        )
    return models


def marks_no_turns(template: str, modelfile: str, capabilities: Sequence[str]) -> bool:
    """Whether a model only continues text: nothing but placeholders in its template, and no renderer
    instead."""
    if _RENDERER.search(modelfile) or {"tools", "thinking"} & set(capabilities):
        return False
    return not _TEMPLATE_ACTION.sub("", template).strip()


def _no_model(wanted: str) -> Unavailable:
    if wanted:
        return Unavailable(f"Ollama has no model {wanted}; type: ollama pull {wanted}")
    return Unavailable(f"Ollama is running but has no model; {PULL_HINT}")


def context_size(prompt: Prompt) -> int:
    """The smallest window step that holds the prompt and its answer. Raises ``Rejected`` when none does:
    Ollama would silently drop the beginning."""
    size = max(_size(prompt.system) + _size(prompt.user), _size(prompt.continuation))
    needed = size // _BYTES_PER_TOKEN + prompt.tokens_max + _TEMPLATE_TOKENS
    for step in NUM_CTX_STEPS:
        if needed <= step:
            return step
    raise Rejected(f"the prompt of about {needed} tokens is longer than the model's window")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


@dataclass(slots=True)
class _Heard:
    """What has arrived of one answer so far."""

    model: Installed | None = None
    pieces: list[str] = field(default_factory=list)
    chars: int = 0
    thought: bool = False
    done_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class OllamaGenerator:
    """``node.ports.Generator`` over a running Ollama."""

    def __init__(
        self,
        base_url: str,
        model: str,
        clock: Clock,
        *,
        queue_max: int = 8,
        threads: int | None = None,
    ) -> None:
        """``model`` may be empty: see ``choose``. ``threads`` is for an Ollama on this machine, to leave the
        node a core; None leaves it to the server. Raises ``Misconfigured``."""
        self._wanted = model.strip()
        self._clock = clock
        self._places = 1 + queue_max
        self._threads = threads
        self._client = official_client(base_url)
        self._turn = asyncio.Lock()
        self._present = 0
        self._chosen: tuple[float, Installed] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return "ollama"

    async def generate(self, prompt: Prompt, *, timeout_s: float) -> Draft:
        """See the port. An answer that the timeout cut off is returned as incomplete when whole sentences
        of it had arrived."""
        if self._closed:
            raise Unavailable("Ollama's driver is closed")
        if timeout_s <= 0:
            raise TimedOut("no time is left to ask Ollama")
        if self._present >= self._places:
            raise Unavailable(f"Ollama is busy and {self._places - 1} questions wait already")
        window = context_size(prompt)
        heard = _Heard()
        self._present += 1
        try:
            await within(
                self._clock, timeout_s, self._speak(prompt, window, heard), "Ollama did not answer in time"
            )
        except TimedOut:
            draft = self._draft(prompt, heard, complete=False)
            if draft is None:
                raise
            _LOG.info("ollama.cut reason=timeout chars=%d", heard.chars)
            return draft
        finally:
            self._present -= 1
        draft = self._draft(prompt, heard, complete=heard.done_reason not in (None, "length"))
        if draft is None:
            raise Rejected("Ollama broke off before it said anything")
        return draft

    async def _speak(self, prompt: Prompt, window: int, heard: _Heard) -> None:
        async with self._turn:
            heard.model = model = await self._choose()
            options: dict[str, Any] = {
                "temperature": 0,
                "seed": 0,
                "num_predict": prompt.tokens_max,
                "num_ctx": window,
                "stop": list(prompt.stop),
            }
            if self._threads is not None:
                options["num_thread"] = self._threads
            messages = [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ]
            if model.continues_only and prompt.continuation:
                messages = [{"role": "user", "content": prompt.continuation}]
                options["stop"] = [*CONTINUATION_STOP, *prompt.stop]
            with _translated(model.name):
                try:
                    stream = await self._client.chat(
                        model=model.name,
                        messages=messages,
                        stream=True,
                        # Thinking would use up the tokens of the answer; models that cannot think ignore
                        # this.
                        think=False,
                        options=options,
                        keep_alive=KEEP_ALIVE,
                    )
                    async with aclosing(cast("AsyncGenerator[ChatResponse, None]", stream)) as parts:
                        await self._listen(parts, heard)
                except ResponseError as exc:
                    if exc.status_code == 404:
                        self._chosen = None  # removed meanwhile: look again next time
                    raise

    async def _listen(self, parts: AsyncGenerator[ChatResponse, None], heard: _Heard) -> None:
        checked = 0
        async for part in parts:
            content = part.message.content or ""
            heard.thought = heard.thought or bool(part.message.thinking)
            if content:
                heard.pieces.append(content)
                heard.completion_tokens += 1  # one token a line, until the server says how many
            heard.chars += len(content)
            if part.done:
                heard.done_reason = part.done_reason or "stop"
                heard.prompt_tokens = max(0, part.prompt_eval_count or 0)
                heard.completion_tokens = max(heard.completion_tokens, part.eval_count or 0)
                return
            if heard.chars >= RAW_CHARS_MAX:
                heard.done_reason = "length"
                return
            if heard.chars - checked >= _LOOP_CHECK_CHARS:
                checked = heard.chars
                if find_loop(heard.text) is not None:
                    heard.done_reason = "length"  # it will not find out by itself
                    return

    def _draft(self, prompt: Prompt, heard: _Heard, *, complete: bool) -> Draft | None:
        """What was heard as a draft, or None when the time was up before anything of use came.
        Raises ``Rejected`` where the engine itself ended with nothing of use."""
        if heard.model is None:
            return None
        cleaned = clean(heard.text, complete=complete, stop=prompt.stop, echo=(prompt.system,))
        think_blocks = cleaned.think_blocks + heard.thought
        if think_blocks:
            _LOG.info("ollama.think_stripped blocks=%d model=%s", think_blocks, heard.model.name)
        if not cleaned.usable:
            if heard.done_reason is None:
                return None
            raise Rejected(f"the model's answer was unusable: {cleaned.reason}")
        return Draft(
            text=cleaned.text,
            engine=self.name,
            model=heard.model.name,
            model_digest=heard.model.digest,
            complete=cleaned.complete,
            # Ollama counts at the end only; an answer that was stopped before has an estimate.
            prompt_tokens=heard.prompt_tokens
            or (_size(prompt.system) + _size(prompt.user)) // _BYTES_PER_TOKEN,
            completion_tokens=heard.completion_tokens,
            think_blocks=think_blocks,
            looped=cleaned.looped,
        )

    async def _list(self, timeout_s: float) -> list[Installed]:
        async def ask() -> list[Installed]:
            with _translated():
                return _installed(await self._client.list())

        return await within(self._clock, timeout_s, ask(), "Ollama did not list its models in time")

    async def _choose(self) -> Installed:
        if self._chosen is not None and self._clock.monotonic() < self._chosen[0]:
            return self._chosen[1]
        model = choose(await self._list(LIST_TIMEOUT_S), self._wanted)
        if model is None:
            raise _no_model(self._wanted)
        model = replace(model, continues_only=await self._continues_only(model.name))
        self._chosen = (self._clock.monotonic() + MODEL_REMEMBERED_S, model)
        return model

    async def _continues_only(self, name: str) -> bool:
        """Ask for the model's template; a server that does not tell is taken to have one."""

        async def ask() -> bool:
            with _translated(name):
                shown = await self._client.show(name)
                return marks_no_turns(shown.template or "", shown.modelfile or "", shown.capabilities or ())

        try:
            return await within(self._clock, LIST_TIMEOUT_S, ask(), "Ollama did not show its model in time")
        except (Rejected, Unavailable) as exc:
            _LOG.info("ollama.template_unknown model=%s reason=%s", name, exc)
            return False

    async def probe(self) -> Check:
        """Whether Ollama lists a model to use, within ``PROBE_TIMEOUT_S``. Never raises."""
        if self._closed:
            return Check(self.name, "warn", "closed")
        began = self._clock.monotonic()
        try:
            installed = await self._list(PROBE_TIMEOUT_S)
        except NodeError as exc:
            return Check(self.name, "warn", f"no text is generated: {exc}")
        model = choose(installed, self._wanted)
        if model is None:
            return Check(self.name, "warn", str(_no_model(self._wanted)))
        elapsed_ms = (self._clock.monotonic() - began) * 1_000
        return Check(self.name, "pass", f"model {model.name}", observed=round(elapsed_ms, 1), unit="ms")

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        async with AsyncExitStack() as closing:
            closing.push_async_exit(self._client)  # its own ``close`` has no types
