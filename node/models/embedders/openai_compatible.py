"""Embeddings from a server that speaks OpenAI's API, by the official package.

Promises: see ``node.models.embedders.outside``; nothing is silently cut (where the window is not known to be
enforced, only texts that certainly fit are sent). There are no weights to hash: the digest names address and
model, and a model exchanged behind its name is seen by its vectors, after a failure and when the server's own
name for it changes. It must not know what is embedded, or why."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from node.core.clock import Clock
from node.core.errors import Misconfigured, Rejected
from node.core.settings import Settings
from node.models.embedders.outside import Described, Doubtful, OutsideEmbedder, TooLong, rows_of
from node.models.embedders.vectors import of_some
from node.models.openai_client import SPOKEN, OpenAiConnection, says_too_long

CHECK_TIMEOUT_S = 3.0
WINDOW_UNKNOWN = 512
"""The smallest window in common use (BERT and its kin)."""
ENFORCED = {"text-embedding-3-small": 8_191, "text-embedding-3-large": 8_191, "text-embedding-ada-002": 8_191}
"""Models of OpenAI's own, whose servers refuse what is too long."""
_OWN_HOST = "api.openai.com"
_SPECIAL_TOKENS = 2
_NEVER = object()


class OpenAiEmbedder(OutsideEmbedder):
    """``node.core.ports.Embedder`` over an OpenAI-compatible server."""

    @classmethod
    async def load(cls, settings: Settings, clock: Clock) -> Self:
        """Connect to ``embed.openai_base_url``, or that of ``models``, and try ``embed.model``. Raises
        ``Unavailable`` (no server, no such model, unusable vectors), ``Misconfigured`` (no address, no model
        named)."""
        model = settings.embed.model.strip()
        if not model:
            raise Misconfigured(
                "setting embed.model is empty: embed.engine = openai needs the name of an embedding model"
            )
        own, shared = settings.embed, settings.models
        url = own.openai_base_url or shared.openai_base_url
        key = own.openai_api_key or ("" if own.openai_base_url else shared.openai_api_key)
        connection = OpenAiConnection(url, key, clock)
        engine = _OpenAi(connection, url, model)
        return await cls.start(engine, settings.embed, clock)


class _OpenAi:
    """The protocol."""

    spoken = SPOKEN
    recheck_s = math.inf

    def __init__(self, connection: OpenAiConnection, base_url: str, model: str) -> None:
        self._connection = connection
        self._model = model
        self._digest = hashlib.sha256(f"openai-compatible\n{base_url}\n{model}".encode()).hexdigest()
        self._is_enforced = connection.host == _OWN_HOST and model in ENFORCED
        self._window = ENFORCED[model] if self._is_enforced else WINDOW_UNKNOWN
        self._answered_as: object = _NEVER

    async def describe(self) -> Described:
        listed = await self._connection.models(CHECK_TIMEOUT_S)
        told = next((model.window for model in listed or () if model.name == self._model), None)
        if told and not self._is_enforced:
            self._window = told
        return Described(self._model, self._digest, self._window)

    async def vectors(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        return await of_some(texts, self._fits, self._ask)

    def _fits(self, text: str) -> bool:
        """A token has one byte at least, so what has no more bytes than the window has tokens fits."""
        return self._is_enforced or len(text.encode()) + _SPECIAL_TOKENS <= self._window

    async def _ask(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        client = await self._connection.official()
        try:
            with self._connection.translated(self._model):
                answer = await client.embeddings.create(
                    model=self._model, input=texts, encoding_format="float"
                )
                rows = _rows(answer.data, len(texts))
                self._recognise(answer.model)
        except Rejected as exc:
            if says_too_long(str(exc)):
                raise TooLong("a text is longer than the model's window") from exc
            raise
        return rows

    def _recognise(self, answered_as: object) -> None:
        """The server's own name for what made the vectors should stay what it was."""
        before, self._answered_as = self._answered_as, answered_as
        if before is not _NEVER and before != answered_as:
            raise Doubtful(
                f"{SPOKEN} names another embedding model than before; it is used again if its vectors have "
                "stayed the same"
            )

    async def close(self) -> None:
        await self._connection.close()


def _rows(data: Any, count: int) -> list[NDArray[np.float32] | None]:
    """The vectors by their ``index``, which need not come in order. Raises ``Rejected``."""
    if not isinstance(data, list) or len(data) != count:
        given = len(data) if isinstance(data, list) else "no"
        raise Doubtful(f"degenerate embedder: {given} vectors for {count} texts")
    places = [getattr(item, "index", None) for item in data]
    if any(place is not None for place in places):
        if sorted(place if isinstance(place, int) else -1 for place in places) != list(range(count)):
            raise Doubtful("degenerate embedder: vectors that cannot be told apart")
        data = sorted(data, key=lambda item: int(item.index))
    return rows_of([_numbers(item.embedding) for item in data])


def _numbers(embedding: Any) -> Any:
    """Some servers send base64 of little-endian float32, whatever was asked for."""
    if not isinstance(embedding, str):
        return embedding
    try:
        packed = base64.b64decode(embedding, validate=True)
        return np.frombuffer(packed, dtype="<f4").tolist()
    except (binascii.Error, ValueError) as exc:
        raise Doubtful("degenerate embedder: text instead of numbers") from exc
