"""Ollama's official async client, hardened, for the rooms that speak to it.

Promises: no proxy, redirect or key of the environment is used; bodies are bounded; foreign exceptions of a
call inside ``translated`` leave as ours; what the server lists is read as untrusted. It must not know what is
generated or embedded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass

import httpx
from ollama import AsyncClient, ListResponse, ResponseError

from node.core.clock import Clock
from node.core.errors import Misconfigured, Unavailable
from node.models import transport
from node.models.deadline import within
from node.models.transport import client_options, words_of

PREFERRED = "llama3.2"
"""Taken when no model is named (design section 11)."""
PULL_HINT = f"type: ollama pull {PREFERRED}"
_START_HINT = f"its address; start it, or install it and {PULL_HINT}"

CONNECT_TIMEOUT_S = 2.0
LIST_TIMEOUT_S = 3.0

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_EMBEDDING_FAMILIES = ("bert", "xlm-roberta")
_NOT_CHAT_NAMES = ("embed", "rerank", "minilm", "bge-")


def official_client(base_url: str) -> AsyncClient:
    """The official client, kept from the environment. Raises ``Misconfigured`` for an address it cannot
    read."""
    if not base_url:
        raise Misconfigured("setting models.ollama_url is empty")
    try:
        options = client_options(base_url, "Ollama", connect_timeout_s=CONNECT_TIMEOUT_S)
        return AsyncClient(host=base_url, **options)
    except (ValueError, httpx.InvalidURL) as exc:
        # One with a password in it is not shown.
        shown = "" if "@" in base_url else f": {words_of(base_url)[:80]!r}"
        raise Misconfigured(f"setting models.ollama_url is not an address{shown}") from exc


async def close(client: AsyncClient) -> None:
    """Close its connections."""
    async with AsyncExitStack() as closing:
        closing.push_async_exit(client)  # its own ``close`` has no types


@contextmanager
def translated(model: str = "") -> Iterator[None]:
    """Foreign exceptions of one call of the client as ours. ``model``: the one asked for."""
    try:
        with transport.translated("Ollama", lambda _: _START_HINT):
            yield
    except ResponseError as exc:
        if exc.status_code == 404:
            raise no_model(model) from exc
        raise Unavailable(f"Ollama failed: {words_of(exc.error) or exc.status_code}") from exc


def no_model(wanted: str) -> Unavailable:
    """That the model is not installed, and what to type."""
    if wanted:
        return Unavailable(f"Ollama has no model {wanted}; type: ollama pull {wanted}")
    return Unavailable(f"Ollama is running but has no model; {PULL_HINT}")


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed model: its full name, hex SHA-256 digest, and family as Ollama says."""

    name: str
    digest: str | None
    families: tuple[str, ...]

    @property
    def can_chat(self) -> bool:
        """False for what only embeds or ranks."""
        return not names_no_chat(self.name) and not any(
            known in family.lower() for family in self.families for known in _EMBEDDING_FAMILIES
        )

    @property
    def is_remote(self) -> bool:
        """Ollama's "cloud" models run elsewhere: never chosen unless named, or questions would leave the
        machine."""
        return self.name.lower().endswith(("-cloud", ":cloud"))


def names_no_chat(name: str) -> bool:
    """Whether a model's name says that it embeds or ranks."""
    lowered = name.lower()
    return any(part in lowered for part in _NOT_CHAT_NAMES)


def named(installed: Sequence[Installed], wanted: str) -> Installed | None:
    """The model of that name; a name without a tag means its ``latest``, else any tag of it."""
    lowered = wanted.lower()
    for candidate in (lowered, f"{lowered}:latest"):
        for model in installed:
            if model.name.lower() == candidate:
                return model
    if ":" not in lowered:
        return next((model for model in installed if model.name.lower().startswith(f"{lowered}:")), None)
    return None


async def installed_models(client: AsyncClient, clock: Clock, timeout_s: float) -> list[Installed]:
    """What the server lists. Raises ``Unavailable``, ``TimedOut``, ``Rejected``."""

    async def ask() -> list[Installed]:
        with translated():
            return _installed(await client.list())

    return await within(clock, timeout_s, ask(), "Ollama did not list its models in time")


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


@dataclass(frozen=True, slots=True)
class Shown:
    """What the server shows of a model. ``context_length``: the window it was made for, in tokens, and
    ``num_ctx`` the one that its Modelfile sets; None where it does not say."""

    template: str
    modelfile: str
    capabilities: tuple[str, ...]
    context_length: int | None
    num_ctx: int | None


_NUM_CTX = re.compile(r"(?m)^\s*num_ctx\s+(\d{1,9})\s*$")


async def show(client: AsyncClient, clock: Clock, name: str, timeout_s: float) -> Shown:
    """Ask for a model's template and window. Raises ``Unavailable``, ``TimedOut``, ``Rejected``."""

    async def ask() -> Shown:
        with translated(name):
            shown = await client.show(name)
            told = shown.modelinfo or {}
            lengths = [
                value
                for key, value in told.items()
                if key.endswith(".context_length") and isinstance(value, int) and 0 < value < 10**9
            ]
            size = _NUM_CTX.search(shown.parameters or "")
            return Shown(
                shown.template or "",
                shown.modelfile or "",
                tuple(shown.capabilities or ()),
                min(lengths, default=None),
                int(size.group(1)) if size else None,
            )

    return await within(clock, timeout_s, ask(), "Ollama did not show its model in time")
