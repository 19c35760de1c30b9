"""The driver for llama.cpp: moves a prompt to the child process that holds a GGUF, and the words back.

Promises: what ``node.models.generation`` promises; a prompt past the model's window is refused, never cut;
the model is loaded at the first question (or by ``warm``), and a question whose time is up meanwhile does not
stop the loading. It must not know what the prompt is about nor what becomes of the answer."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.core.model import Check, Draft
from node.core.ports import OnText, Prompt
from node.language.markup import CONTINUATION_STOP
from node.models.generation import Driver, Heard, prompt_bytes, text_bytes
from node.models.llama.process import LLAMA_CPP, WINDOW, LlamaProcess, Program, threads_to_spare
from node.models.llama.wire import PROMPT_BYTES_MAX, plain_text


class LlamaGenerator(Driver):
    """``node.core.ports.Generator`` over one GGUF in a child process."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        queue_max: int = 64,
        slots: int = 1,
        threads: int | None = None,
        window: int = WINDOW,
        program: Program = LLAMA_CPP,
    ) -> None:
        """``threads``: None leaves the node one core. ``window``: of a prompt and its answer, in tokens.
        ``slots``: more than one only where ``program`` can."""
        super().__init__(program.engine, "llama.cpp", clock, queue_max=queue_max, slots=slots)
        self._process = LlamaProcess(
            path,
            clock,
            purpose="generate",
            threads=threads or threads_to_spare(),
            slots=slots,
            window=window,
            program=program,
        )
        self._warming: asyncio.Task[None] | None = None

    @property
    def cannot_load(self) -> str | None:
        """Why its model was never loaded though that was tried; None while that is open, or once it was."""
        return self._process.cannot_load

    @property
    def pid(self) -> int | None:
        """The process that holds the model, while there is one."""
        return self._process.pid

    def warm(self) -> None:
        """Begin to load the model in the background; what fails is said by the first question."""

        async def load() -> None:
            try:
                await self._process.load()
            except NodeError:
                return  # kept by the process, which tells whoever asks

        if self._warming is None and not self._closed:
            self._warming = asyncio.create_task(load())

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """See the port. An answer that the timeout cut off is returned as incomplete when whole sentences
        of it had arrived."""
        prompt = prompt.plain or prompt
        if max(prompt_bytes(prompt), text_bytes(prompt.continuation)) > PROMPT_BYTES_MAX:
            raise Rejected("the prompt is longer than the model's window")
        try:
            return await self._draft(prompt, timeout_s, partial(self._speak, prompt), on_text)
        except TimedOut as exc:
            if self._process.is_loading:
                raise TimedOut("llama.cpp is still loading its model") from exc
            raise

    async def _speak(self, prompt: Prompt, heard: Heard) -> None:
        loaded = await self._process.load()
        heard.model, heard.model_digest = self._process.path.stem, loaded.digest
        done = await self._process.ask(
            {
                "op": "generate",
                "system": plain_text(prompt.system),
                "turns": [[plain_text(text) for text in turn] for turn in prompt.turns],
                "user": plain_text(prompt.user),
                "continuation": plain_text(prompt.continuation),
                "stop": [plain_text(mark) for mark in prompt.stop],
                "continuation_stop": list(CONTINUATION_STOP),
                "tokens_max": prompt.tokens_max,
                "temperature": prompt.temperature,
                "seed": prompt.seed,
                "alternatives": prompt.alternatives,
                "schema": prompt.schema,
            },
            lambda piece: isinstance(piece, str) and heard.add(piece),
        )
        if heard.done_reason is None:
            heard.done_reason = done.reason
        for logprob in done.logprobs:
            heard.add_logprob(logprob)
        heard.add_first(done.first)
        heard.prompt_tokens = done.prompt_tokens
        heard.completion_tokens = done.completion_tokens or heard.completion_tokens

    async def _look(self) -> Check:
        """Whether the model is loaded or can be, as far as can be told without loading it."""
        state = await self._process.state()
        if state.word in ("missing", "failed"):
            raise Unavailable(state.detail)
        return Check(self.name, "pass", f"model {self._process.path.stem}, {state.detail}")

    async def _end(self) -> None:
        """End the child process."""
        await self._process.close()
        if self._warming is not None:
            await asyncio.wait((self._warming,))
