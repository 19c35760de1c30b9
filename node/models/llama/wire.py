"""The line protocol between the node and its llama.cpp child: one JSON object a line, both ways.

To the child:
- ``{"op": "generate", "id", "system", "turns", "user", "continuation", "stop",
  "continuation_stop", "tokens_max", "temperature", "seed", "schema"}`` (turns, temperature, seed and schema
  may be missing)
- ``{"op": "embed", "id", "texts"}``
- ``{"op": "stop", "id"}``: end that request soon; it is answered by the request's own ``done``.

From the child, told apart by ``event``: first ``Ready`` or ``Failed``; then for each request any number of
``Piece``, or a ``Vector`` for each text in order, and at its end ``Done`` or ``Failed``.

Ids grow; requests are served in order. Pure."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
import orjson

LINE_BYTES_MAX = 2**20
"""Longest line either way. A request is bounded by ``PROMPT_BYTES_MAX`` and JSON's escapes (six bytes for one
at worst, in control characters only); a vector of 8,192 dimensions takes 44 KB."""
PROMPT_BYTES_MAX = 128 * 2**10
"""A prompt beyond this fits no window that is used here, whatever the tokenizer."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class _Event(msgspec.Struct, frozen=True, tag_field="event", tag=str.lower):
    """What the child says; ``id``: of the request, 0 before the first."""

    id: int = 0


class Ready(_Event, frozen=True, kw_only=True):
    """The model is loaded; ``window`` in tokens."""

    window: Count
    dim: Count


class Failed(_Event, frozen=True, kw_only=True):
    """``kind`` of a request's: rejected or unavailable."""

    reason: str
    kind: str = ""


class Piece(_Event, frozen=True, kw_only=True):
    text: str


class Vector(_Event, frozen=True, kw_only=True):
    """``data``: base64 of little-endian float32, null for a text that has no vector."""

    data: bytes | None


class Done(_Event, frozen=True, kw_only=True):
    """How a request ended: ``reason`` is stop, length or stopped; ``logprobs``: one for each generated token;
    ``first``: the likeliest first tokens."""

    reason: str
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    logprobs: tuple[float, ...] = ()
    first: tuple[tuple[str, float], ...] = ()


Event: TypeAlias = Ready | Failed | Piece | Vector | Done
_EVENT = msgspec.json.Decoder(Event)


def encode(message: dict[str, Any]) -> bytes:
    """One line, its end included. Half surrogate pairs must have been taken out."""
    return orjson.dumps(message) + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The message of a line. Raises ``ValueError`` for anything but a JSON object."""
    message = orjson.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def decode_event(line: bytes) -> Event:
    """What the child says in a line. Raises ``ValueError`` for what is not the protocol."""
    event: Event = _EVENT.decode(line)
    return event


def plain_text(text: str) -> str:
    """``text`` with half surrogate pairs replaced, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
