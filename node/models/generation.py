"""What every driver of a language model owes for one generation, whatever moves the words.

Promises:
- as many generations at once as the engine has slots; a bounded number waits; waiting counts in the timeout;
- what is said is handed on as it comes, to whoever listens;
- what was said before the time was up is kept as whole sentences;
- an answer that runs in circles or past every bound is stopped while it is still being said;
- a draft is cleaned, never empty, and says whether it is complete.

It must not know an engine's protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.core.model import Check, Draft
from node.core.ports import OnText, Prompt
from node.core.tools import Call
from node.models.clean import RAW_CHARS_MAX, clean, find_loop
from node.models.deadline import within

_LOG = logging.getLogger(__name__)

BYTES_PER_TOKEN = 3
"""A cautious estimate over languages and tokenizers: English has about four, Chinese about three."""
_LOOP_CHECK_CHARS = 256


def text_bytes(text: str) -> int:
    """UTF-8 bytes of ``text``, half surrogate pairs included."""
    return len(text.encode("utf-8", "replace"))


def prompt_bytes(prompt: Prompt) -> int:
    """UTF-8 bytes of what a chat model is given."""
    said = [text for turn in prompt.turns for text in turn]
    said += [part for one in prompt.called for part in (one.call.name, one.call.arguments, one.said)]
    said += [json.dumps(one.form) for one in prompt.tools]
    size = sum(map(text_bytes, (prompt.system, prompt.user, *said)))
    return size if prompt.plain is None else max(size, prompt_bytes(prompt.plain))


def before(prompt: Prompt) -> list[dict[str, str]]:
    """The earlier turns as chat messages."""
    return [
        {"role": role, "content": text}
        for turn in prompt.turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]


_FIRST_MAX = 32
CALLS_MAX = 8
"""Calls that are heard in one answer."""


@dataclass(slots=True)
class Heard:
    """What has arrived of one answer so far.

    The driver sets ``model`` (and ``model_digest``, hex SHA-256) before the first word, ``done_reason`` when
    the engine says that it has ended (``length`` for an answer cut by its bound), the token counts and the
    tokens' log probabilities where the engine gives them. ``thought``: it thought aloud outside the text."""

    model: str = ""
    model_digest: str | None = None
    pieces: list[str] = field(default_factory=list)
    chars: int = 0
    thought: bool = False
    done_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    logprobs: list[float] = field(default_factory=list)
    first: list[tuple[str, float]] = field(default_factory=list)
    calls: dict[int, tuple[str, str]] = field(default_factory=dict)
    on_text: OnText | None = None
    _checked: int = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, piece: str) -> bool:
        """Take the next piece; False when enough was heard: it ran in circles or past every bound, and would
        not find out by itself. Counts a token a piece, until the engine says how many."""
        if piece:
            self.pieces.append(piece)
            self.chars += len(piece)
            self.completion_tokens += 1
            if self.on_text is not None:
                self.on_text(piece)
        enough = self.chars >= RAW_CHARS_MAX
        if not enough and self.chars - self._checked >= _LOOP_CHECK_CHARS:
            self._checked = self.chars
            enough = find_loop(self.text) is not None
        if enough:
            self.done_reason = "length"
        return not enough

    def add_call(self, place: object, name: object, arguments: object) -> None:
        """Take a piece of the call at ``place``: its name comes once, its arguments are JSON text that grows.
        What cannot be one is left out."""
        if not isinstance(place, int) or not (place in self.calls or len(self.calls) < CALLS_MAX):
            return
        begun, said = self.calls.get(place, ("", ""))
        more = arguments if isinstance(arguments, str) else ""
        if self.chars + len(more) <= RAW_CHARS_MAX:
            self.chars += len(more)
            self.calls[place] = (begun or (name if isinstance(name, str) else ""), said + more)

    def add_logprob(self, value: object) -> None:
        """Take the natural log probability of one generated token. What cannot be one is left out."""
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and len(self.logprobs) < RAW_CHARS_MAX
        ):
            self.logprobs.append(min(float(value), 0.0))

    def add_first(self, tokens: Iterable[tuple[object, object]]) -> None:
        """Take the likeliest first tokens, once; what cannot be one is left out."""
        if not self.first:
            self.first = [
                (text, min(float(value), 0.0))
                for text, value in itertools.islice(tokens, _FIRST_MAX)
                if isinstance(text, str) and isinstance(value, int | float) and math.isfinite(value)
            ]


class Driver(ABC):
    """What each ``node.core.ports.Generator`` over an engine has: ``slots`` generations at once, a bounded
    number waiting, and the frame of its probe and its end."""

    def __init__(self, name: str, spoken: str, clock: Clock, *, queue_max: int, slots: int) -> None:
        """``name`` is the driver's (``ollama``), ``spoken`` what messages call the engine (``Ollama``)."""
        self.name = name
        self.slots = slots
        self._spoken = spoken
        self._clock = clock
        self._waiting_max = queue_max
        self._turn = asyncio.Semaphore(slots)
        self._present = 0
        self._closed = False

    async def probe(self) -> Check:
        """What is known of the engine, or found out within a second or so. Never raises."""
        if self._closed:
            return Check(self.name, "warn", "closed")
        try:
            return await self._look()
        except NodeError as exc:
            return Check(self.name, "warn", f"no text is generated: {exc}")

    @abstractmethod
    async def _look(self) -> Check:
        """Raises ``NodeError`` for why nothing can be generated."""

    async def close(self) -> None:
        """Admit nobody any more and end what the driver holds. Idempotent."""
        if not self._closed:
            self._closed = True
            await self._end()

    @abstractmethod
    async def _end(self) -> None:
        """Give back what the engine holds; called once."""

    async def _draft(
        self,
        prompt: Prompt,
        timeout_s: float,
        speak: Callable[[Heard], Awaitable[None]],
        on_text: OnText | None,
    ) -> Draft:
        """Wait for the turn, let ``speak`` fill the ``Heard`` that it is given, and return the draft. An
        answer that the timeout cut off is returned as incomplete when whole sentences of it had arrived.

        ``speak`` raises ``node.core.errors`` only and ends soon when cancelled. Raises ``Unavailable``
        (closed, too many wait), ``TimedOut``, ``Rejected`` (nothing of use was said), and what ``speak``
        raises."""
        if self._closed:
            raise Unavailable(f"the driver of {self._spoken} is closed")
        if timeout_s <= 0:
            raise TimedOut(f"no time is left to ask {self._spoken}")
        if self._present >= self.slots + self._waiting_max:
            raise Unavailable(f"{self._spoken} is busy and {self._waiting_max} questions wait already")
        heard = Heard(on_text=on_text)

        async def speak_in_turn() -> None:
            async with self._turn:
                await speak(heard)

        self._present += 1
        try:
            await within(self._clock, timeout_s, speak_in_turn(), f"{self._spoken} did not answer in time")
        except TimedOut:
            draft = self._of_use(prompt, heard, complete=False)
            if draft is None:
                raise
            _LOG.info("%s.cut reason=timeout chars=%d", self.name, heard.chars)
            return draft
        finally:
            self._present -= 1
        draft = self._of_use(prompt, heard, complete=heard.done_reason not in (None, "length"))
        if draft is None:
            raise Rejected(f"{self._spoken} broke off before it said anything")
        return draft

    def _of_use(self, prompt: Prompt, heard: Heard, *, complete: bool) -> Draft | None:
        """What was heard as a draft, or None when nothing of use had come and the engine had not ended.
        Raises ``Rejected`` where the engine itself ended with nothing of use."""
        if not heard.model:
            return None
        cleaned = clean(heard.text, complete=complete, stop=prompt.stop, echo=(prompt.system,))
        think_blocks = cleaned.think_blocks + heard.thought
        if think_blocks:
            _LOG.info("%s.think_stripped blocks=%d model=%s", self.name, think_blocks, heard.model)
        calls = tuple(Call(*one) for _, one in sorted(heard.calls.items()))
        if not cleaned.usable and not (calls and heard.done_reason is not None):
            if heard.done_reason is None:
                return None
            raise Rejected(f"the model's answer was unusable: {cleaned.reason}")
        return Draft(
            text=cleaned.text if cleaned.usable else "",
            engine=self.name,
            model=heard.model,
            model_digest=heard.model_digest,
            complete=cleaned.complete,
            # Engines count at the end, if at all; an answer that was stopped before has an estimate.
            prompt_tokens=heard.prompt_tokens or prompt_bytes(prompt) // BYTES_PER_TOKEN,
            completion_tokens=heard.completion_tokens,
            think_blocks=think_blocks,
            looped=cleaned.looped,
            token_logprobs=tuple(heard.logprobs),
            first_tokens=tuple(heard.first),
            calls=calls if heard.done_reason is not None else (),
        )
