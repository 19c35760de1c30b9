"""Embeddings from a running Ollama, by the official client.

Promises: see ``node.models.embedders.outside``; nothing is silently cut (``truncate`` off; the older
endpoint, which always cuts, is given only texts that certainly fit); the digest is Ollama's own of the model,
looked at again every minute. It must not know what is embedded, or why."""

from __future__ import annotations

import re
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from ollama import ResponseError

from node.core.clock import Clock
from node.core.errors import Misconfigured, Rejected, Unavailable
from node.core.peer_address import is_own_host
from node.core.settings import Settings
from node.models.embedders.outside import Described, OutsideEmbedder, TooLong, rows_of
from node.models.ollama_client import (
    LIST_TIMEOUT_S,
    PREFERRED,
    close,
    installed_models,
    named,
    no_model,
    official_client,
    show,
    translated,
)

RECHECK_S = 60.0
"""``ollama pull`` exchanges the model behind a name at any time."""
KEEP_ALIVE = "30m"
WINDOW_MAX = 4_096
"""As the generator's smallest: a model that does both is not loaded anew for each."""
WINDOW_UNKNOWN = 512
"""Where an old server does not tell the model's: the smallest in common use (BERT and its kin)."""
_SPECIAL_TOKENS = 2

_TOO_LONG = re.compile(
    r"(?:exceeds?|longer than|larger than).{0,40}(?:context|batch|length)|too (?:large|long)", re.I
)
_NO_EMBEDDINGS = re.compile(r"not support embedding", re.IGNORECASE)


class OllamaEmbedder(OutsideEmbedder):
    """``node.core.ports.Embedder`` over Ollama."""

    @classmethod
    async def load(cls, settings: Settings, clock: Clock) -> Self:
        """Connect and find the model ``embed.model`` (empty: ``llama3.2``). Raises ``Unavailable`` (no
        server, no model, unusable vectors), ``Misconfigured`` (no address, a model that makes no
        embeddings)."""
        model = settings.embed.model.strip() or PREFERRED
        url = settings.models.ollama_url
        is_here = is_own_host(urlsplit(url).hostname or "")
        engine = _Ollama(url, model, settings.embed.threads if is_here else None, clock)
        return await cls.start(engine, settings.embed, clock)


class _Ollama:
    """The protocol. Both endpoints; which one is found out by a 404."""

    spoken = "Ollama"
    recheck_s = RECHECK_S

    def __init__(self, base_url: str, model: str, threads: int | None, clock: Clock) -> None:
        self._client = official_client(base_url)
        self._wanted = model
        self._threads = threads
        self._clock = clock
        self._name = model
        self._window = WINDOW_UNKNOWN
        self._is_old = False

    async def describe(self) -> Described:
        installed = await installed_models(self._client, self._clock, LIST_TIMEOUT_S)
        model = named(installed, self._wanted)
        if model is None:
            raise Rejected(str(no_model(self._wanted)))
        if model.digest is None:
            raise Rejected(f"Ollama tells no digest of {model.name}, so a change of it could not be seen")
        self._name = model.name
        try:
            shown = await show(self._client, self._clock, model.name, LIST_TIMEOUT_S)
            made_for = shown.context_length or WINDOW_UNKNOWN
            self._window = min(made_for, shown.num_ctx or WINDOW_MAX)
        except Rejected:  # an old server tells less
            self._window = WINDOW_UNKNOWN
        return Described(model.name, model.digest, self._window)

    async def vectors(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        try:
            with translated(self._name):
                if not self._is_old:
                    try:
                        return await self._embed(texts)
                    except ResponseError as exc:
                        if exc.status_code != 404 or "model" in str(exc.error).lower():
                            raise
                        self._is_old = True
                return [await self._embed_old(text) for text in texts]
        except Unavailable as exc:
            cause = exc.__cause__
            if isinstance(cause, ResponseError):
                raise self._meaning(cause, exc) from cause
            raise

    def _meaning(self, cause: ResponseError, otherwise: Unavailable) -> Exception:
        said = str(cause.error)
        if _NO_EMBEDDINGS.search(said):
            return Misconfigured(
                f"the model {self._name} of Ollama makes no embeddings: set embed.model to an embedding "
                "model, for instance all-minilm, and type: ollama pull all-minilm"
            )
        if _TOO_LONG.search(said):
            return TooLong("a text is longer than the model's window")
        if 400 <= cause.status_code < 500 and cause.status_code not in (404, 408, 429):
            return Rejected(str(otherwise))
        return otherwise

    @property
    def _options(self) -> dict[str, Any]:
        options = {"num_ctx": self._window}
        return options if self._threads is None else {**options, "num_thread": self._threads}

    async def _embed(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        answer = await self._client.embed(
            self._name, texts, truncate=False, options=self._options, keep_alive=KEEP_ALIVE
        )
        return rows_of([list(row) for row in answer.embeddings])

    async def _embed_old(self, text: str) -> NDArray[np.float32] | None:
        if len(text.encode()) + _SPECIAL_TOKENS > self._window:
            return None  # a token has one byte at least
        answer = await self._client.embeddings(self._name, text, options=self._options, keep_alive=KEEP_ALIVE)
        return rows_of([list(answer.embedding)])[0]

    async def close(self) -> None:
        await close(self._client)
