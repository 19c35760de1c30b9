"""The driver for Ollama: moves a prompt to ``/api/chat`` and the words back, by the official async client.

Promises: as many generations at once as the settings say that the server works on, a bounded number waiting,
waiting counted in the timeout; the answer streamed, so that what was said before a timeout is not lost; a
system message that the model's template would drop is not lost, and ``probe`` says so; foreign exceptions
never leave this file. It must not know what the prompt is about nor what becomes of the answer."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from ollama import ChatResponse, ResponseError

from node.core.clock import Clock
from node.core.errors import Rejected, Unavailable
from node.core.model import Check, Draft
from node.core.ports import OnText, Prompt
from node.core.tools import Called
from node.language.markup import CONTINUATION_STOP
from node.models.generation import BYTES_PER_TOKEN, Driver, Heard, before, prompt_bytes, text_bytes
from node.models.ollama_client import (
    LIST_TIMEOUT_S,
    PREFERRED,
    Installed,
    Shown,
    close,
    installed_models,
    named,
    no_model,
    official_client,
    show,
    translated,
)

_LOG = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 1.5
MODEL_REMEMBERED_S = 30.0
KEEP_ALIVE = "5m"

NUM_CTX_STEPS = (4_096, 8_192, 16_384)
"""Few sizes, because Ollama loads the model anew whenever the size changes."""
_TEMPLATE_TOKENS = 64


def choose(installed: Sequence[Installed], wanted: str) -> Installed | None:
    """The configured model; without one ``llama3.2``, else the first installed chat model; None if there is
    none."""
    if wanted:
        return named(installed, wanted)
    local = [model for model in installed if model.can_chat and not model.is_remote]
    return named(local, PREFERRED) or (local[0] if local else None)


# --- templates ------------------------------------------------------------------------------------

_ACTION = re.compile(r"\{\{([^{}]{0,4000})\}\}")
_RENDERER = re.compile(r"(?m)^RENDERER\b")
_TRIM = " \t\r\n-"
_NOT_OUTPUT = re.compile(
    r"(?:if|else|range|end|define|block|template|break|continue)\b|\$\w*\s*(?:,|:?=)|/\*"
)
"""How an action of a Go template begins that prints nothing itself. ``with`` is not among them: what follows
prints its subject."""
_SYSTEM_FIELD = re.compile(r"\.System\b")
_SYSTEM_ROLE = re.compile(r'\beq\b[^{}]*"system"')
_ANY_ROLE = re.compile(r"(?:\.Role\b|\.Messages\b)")


def marks_no_turns(template: str, modelfile: str, capabilities: Sequence[str]) -> bool:
    """Whether a model only continues text: nothing but placeholders in its template, and no renderer
    instead."""
    if _has_renderer(modelfile, capabilities):
        return False
    return not _ACTION.sub("", template).strip()


def loses_system(template: str, modelfile: str, capabilities: Sequence[str]) -> bool:
    """Whether a template has no place for a system message: Ollama then drops it without an error.

    It has one where an action prints ``.System`` or a message's role whatever it is, or treats the role
    ``system``. A model made from a bare GGUF has the template ``{{ .Prompt }}`` and none of these."""
    if _has_renderer(modelfile, capabilities):
        return False
    for match in _ACTION.finditer(template):
        action = match.group(1).strip(_TRIM)
        if _SYSTEM_ROLE.search(action):
            return False
        prints = not _NOT_OUTPUT.match(action)
        if prints and (_SYSTEM_FIELD.search(action) or _ANY_ROLE.search(action)):
            return False
    return True


def _has_renderer(modelfile: str, capabilities: Sequence[str]) -> bool:
    return bool(_RENDERER.search(modelfile) or {"tools", "thinking"} & set(capabilities))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The model in use and what its template does with turns and system messages."""

    name: str
    digest: str | None
    continues_only: bool = False
    loses_system: bool = False
    calls_tools: bool = False

    @classmethod
    def of(cls, model: Installed, shown: Shown | None) -> Chosen:
        """``shown`` None (the server does not tell): it is taken to have a template."""
        if shown is None:
            return cls(model.name, model.digest)
        told = (shown.template, shown.modelfile, shown.capabilities)
        calls_tools = "tools" in shown.capabilities
        return cls(model.name, model.digest, marks_no_turns(*told), loses_system(*told), calls_tools)

    def check(self, engine: str, observed_ms: float) -> Check:
        """What a person should know of it."""
        status, said = "pass", f"model {self.name}"
        if self.continues_only and self.loses_system:
            status = "warn"
            said += (
                " has no chat template (it was made from a bare GGUF), so Ollama drops system messages "
                "without an error: write a Modelfile with FROM, TEMPLATE and PARAMETER stop, and type: "
                f"ollama create {self.name} -f Modelfile"
            )
        elif self.continues_only:
            said += "; its template marks no turns, so it is given examples to continue"
        elif self.loses_system:
            said += "; its template has no place for a system message, so that goes before the question"
        return Check(engine, status, said, observed=observed_ms, unit="ms")


def context_size(prompt: Prompt) -> int:
    """The smallest window step that holds the prompt and its answer. Raises ``Rejected`` when none does:
    Ollama would silently drop the beginning."""
    size = max(prompt_bytes(prompt), text_bytes(prompt.continuation))
    needed = size // BYTES_PER_TOKEN + prompt.tokens_max + _TEMPLATE_TOKENS
    for step in NUM_CTX_STEPS:
        if needed <= step:
            return step
    raise Rejected(f"the prompt of about {needed} tokens is longer than the model's window")


class OllamaGenerator(Driver):
    """``node.core.ports.Generator`` over a running Ollama."""

    def __init__(
        self,
        base_url: str,
        model: str,
        clock: Clock,
        *,
        queue_max: int = 64,
        slots: int = 1,
        threads: int | None = None,
    ) -> None:
        """``model`` may be empty: see ``choose``. ``slots``: what the server's OLLAMA_NUM_PARALLEL is.
        ``threads`` is for an Ollama on this machine, to leave the
        node a core; None leaves it to the server. Raises ``Misconfigured``."""
        super().__init__("ollama", "Ollama", clock, queue_max=queue_max, slots=slots)
        self._wanted = model.strip()
        self._threads = threads
        self._client = official_client(base_url)
        self._chosen: tuple[float, Chosen] | None = None

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """See the port. An answer that the timeout cut off is returned as incomplete when whole sentences
        of it had arrived."""
        window = context_size(prompt)
        return await self._draft(prompt, timeout_s, lambda heard: self._speak(prompt, window, heard), on_text)

    async def _speak(self, prompt: Prompt, window: int, heard: Heard) -> None:
        model = await self._choose()
        heard.model, heard.model_digest = model.name, model.digest
        if not model.calls_tools:
            prompt = prompt.plain or prompt
        options: dict[str, Any] = {
            "temperature": prompt.temperature,
            "seed": prompt.seed,
            "num_predict": prompt.tokens_max,
            "num_ctx": window,
            "stop": list(prompt.stop),
        }
        if self._threads is not None:
            options["num_thread"] = self._threads
        if model.continues_only and prompt.continuation:
            options["stop"] = [*CONTINUATION_STOP, *prompt.stop]
        with translated(model.name):
            try:
                stream = await self._client.chat(
                    model=model.name,
                    messages=_messages(prompt, model),
                    tools=[one.form for one in prompt.tools] or None,
                    stream=True,
                    # Thinking would use up the tokens of the answer; models that cannot think ignore this.
                    think=False,
                    logprobs=True,  # servers before 0.12.11 ignore it
                    top_logprobs=prompt.alternatives or None,
                    format=json.loads(prompt.schema) if prompt.schema else None,
                    options=options,
                    keep_alive=KEEP_ALIVE,
                )
                async with aclosing(cast("AsyncGenerator[ChatResponse, None]", stream)) as parts:
                    await _listen(parts, heard)
            except ResponseError as exc:
                if exc.status_code == 404:
                    self._chosen = None  # removed meanwhile: look again next time
                raise

    async def _choose(self) -> Chosen:
        if self._chosen is not None and self._clock.monotonic() < self._chosen[0]:
            return self._chosen[1]
        model = choose(await installed_models(self._client, self._clock, LIST_TIMEOUT_S), self._wanted)
        if model is None:
            raise no_model(self._wanted)
        chosen = Chosen.of(model, await self._shown(model.name, LIST_TIMEOUT_S))
        self._chosen = (self._clock.monotonic() + MODEL_REMEMBERED_S, chosen)
        return chosen

    async def _shown(self, name: str, timeout_s: float) -> Shown | None:
        try:
            return await show(self._client, self._clock, name, timeout_s)
        except (Rejected, Unavailable) as exc:
            _LOG.info("ollama.template_unknown model=%s reason=%s", name, exc)
            return None

    async def _look(self) -> Check:
        """Whether Ollama lists a model to use, and whether its template is fit for questions, within
        ``PROBE_TIMEOUT_S``."""
        began = self._clock.monotonic()
        model = choose(await installed_models(self._client, self._clock, PROBE_TIMEOUT_S), self._wanted)
        if model is None:
            return Check(self.name, "warn", str(no_model(self._wanted)))
        elapsed_s = self._clock.monotonic() - began
        shown = await self._shown(model.name, max(0.1, PROBE_TIMEOUT_S - elapsed_s))
        return Chosen.of(model, shown).check(self.name, round(elapsed_s * 1_000, 1))

    async def _end(self) -> None:
        await close(self._client)


def _messages(prompt: Prompt, model: Chosen) -> list[dict[str, Any]]:
    """The prompt as the model's template can carry it."""
    if model.continues_only and prompt.continuation:
        return [{"role": "user", "content": prompt.continuation}]
    if model.loses_system and prompt.system:
        return [*before(prompt), {"role": "user", "content": f"{prompt.system}\n\n{prompt.user}"}]
    system = {"role": "system", "content": prompt.system}
    called = [message for one in prompt.called for message in _as_messages(one)]
    return [system, *before(prompt), {"role": "user", "content": prompt.user}, *called]


def _as_messages(called: Called) -> list[dict[str, Any]]:
    """A call of this turn and what came of it. Ollama takes arguments as an object."""
    try:
        arguments = json.loads(called.call.arguments)
    except ValueError:
        arguments = None
    function = {"name": called.call.name, "arguments": arguments if isinstance(arguments, dict) else {}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"function": function}]},
        {"role": "tool", "content": called.said, "tool_name": called.call.name},
    ]


async def _listen(parts: AsyncGenerator[ChatResponse, None], heard: Heard) -> None:
    async for part in parts:
        goes_on = heard.add(part.message.content or "")
        heard.thought = heard.thought or bool(part.message.thinking)
        for call in part.message.tool_calls or ():
            arguments = json.dumps(dict(call.function.arguments), ensure_ascii=False, default=str)
            heard.add_call(len(heard.calls), call.function.name, arguments)
        for token in part.logprobs or ():
            heard.add_logprob(token.logprob)
            heard.add_first((top.token, top.logprob) for top in token.top_logprobs or ())
        if part.done:
            heard.done_reason = part.done_reason or "stop"
            heard.prompt_tokens = max(0, part.prompt_eval_count or 0)
            heard.completion_tokens = max(heard.completion_tokens, part.eval_count or 0)
            return
        if not goes_on:
            return
