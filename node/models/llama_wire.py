"""The line protocol between the node and its llama.cpp child: one JSON object a line, both ways.

To the child:
- ``{"op": "generate", "id", "system", "turns", "user", "continuation", "stop",
  "continuation_stop", "tokens_max", "temperature", "seed"}`` (turns, temperature and seed may be missing)
- ``{"op": "embed", "id", "texts"}``
- ``{"op": "stop", "id"}``: end that request soon; it is answered by the request's own ``done``.

From the child, first one of
- ``{"event": "ready", "window", "dim"}``,
- ``{"event": "failed", "reason"}``;

then for each request any number of
- ``{"event": "piece", "id", "text"}``, or, for each text in order,
- ``{"event": "vector", "id", "data"}``: base64 of little-endian float32, null for a text that has no vector;

and at its end one of
- ``{"event": "done", "id", "reason", "prompt_tokens", "completion_tokens", "logprobs"}`` with the reason
  ``stop``, ``length`` or ``stopped``; ``logprobs`` (may be missing) has a number for each generated token,
- ``{"event": "failed", "id", "kind", "reason"}`` with the kind ``rejected`` or ``unavailable``.

Ids grow; requests are served one at a time in order. Pure."""

from __future__ import annotations

from typing import Any

import orjson

LINE_BYTES_MAX = 2**20
"""Longest line either way. A request is bounded by ``PROMPT_BYTES_MAX`` and JSON's escapes (six bytes for one
at worst, in control characters only); a vector of 8,192 dimensions takes 44 KB."""
PROMPT_BYTES_MAX = 128 * 2**10
"""A prompt beyond this fits no window that is used here, whatever the tokenizer."""


def encode(message: dict[str, Any]) -> bytes:
    """One line, its end included. Half surrogate pairs must have been taken out."""
    return orjson.dumps(message) + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The message of a line. Raises ``ValueError`` for anything but a JSON object."""
    message = orjson.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message


def plain_text(text: str) -> str:
    """``text`` with half surrogate pairs replaced, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
