"""One GGUF file, whatever program can hold it: the first of several that loads it.

Promises: the programs are tried in order, each only when those before it have never loaded the file; which
one serves, and why one before it does not, is in ``probe``; once a program has loaded the file it stays, and
a later failure is its own. It must not know what the programs are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from node.core.errors import TimedOut, Unavailable
from node.core.model import Check, Draft
from node.core.ports import OnText, Prompt
from node.models.generators.llama import LlamaGenerator

_LOG = logging.getLogger(__name__)


class GgufGenerator:
    """``node.core.ports.Generator`` over the first of ``programs`` that works. There is at least one."""

    def __init__(self, programs: Sequence[LlamaGenerator]) -> None:
        self._programs = list(programs)
        self._given_up: list[str] = []

    @property
    def _current(self) -> LlamaGenerator:
        return self._programs[0]

    @property
    def name(self) -> str:
        return self._current.name

    @property
    def slots(self) -> int:
        return self._current.slots

    def warm(self) -> None:
        """Begin to load the model in the background."""
        self._current.warm()

    def _next(self) -> bool:
        """Go on to the next program if this one has shown that it cannot; whether there is one."""
        reason = self._current.cannot_load
        if reason is None or len(self._programs) < 2:
            return False
        _LOG.warning("gguf.engine_given_up engine=%s reason=%s", self.name, reason)
        self._given_up.append(f"{self.name} cannot be used: {reason}")
        del self._programs[0]
        return True

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        """See the port."""
        while True:
            current = self._current
            try:
                return await current.generate(prompt, timeout_s=timeout_s, on_text=on_text)
            except TimedOut:
                raise
            except Unavailable:
                if current is self._current and not self._next():
                    raise

    async def probe(self) -> Check:
        """What serves, and why nothing that comes before it does. Never raises."""
        self._next()  # it may have shown in the background that it cannot
        check = await self._current.probe()
        if not self._given_up:
            return check
        return replace(check, output="; ".join([check.output, *self._given_up]))

    async def close(self) -> None:
        """End whatever holds the file."""
        for program in self._programs:
            await program.close()
