"""Reads the fields of a JSON body: each with its type and limit, none unknown, errors that name both."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson
from aiohttp import web

from node.core.errors import BadInput

TAGS_MAX = 16
TAG_CHARS_MAX = 64
ZONE_CHARS_MAX = 64
TTL_S_MAX = 10 * 365 * 86_400

_TEXT_CONTROLS = "\t\n\r"

BODY = web.RequestKey("body", bytes)
"""Where a request's body lies once the door has read it."""


async def read_body(request: web.Request, max_bytes: int, *, is_json: bool = True) -> bytes:
    """The body as it was sent; where it is not ``is_json`` it says itself what it is, and its type does not
    matter. Raises ``BadInput``; a body over the limit is not read to its end."""
    if request.content_length is not None and request.content_length > max_bytes:
        raise BadInput(f"the body is over {max_bytes} bytes", field="body", limit=f"{max_bytes} bytes")
    kind = request.content_type.lower()
    if is_json and kind != "application/json" and not kind.endswith("+json"):
        raise BadInput("the body must be sent as application/json", field="Content-Type")
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise BadInput("the body must be sent without Content-Encoding", field="Content-Encoding")
    body = bytearray()
    try:
        async for chunk in request.content.iter_chunked(16_384):
            body += chunk
            if len(body) > max_bytes:
                raise BadInput(
                    f"the body is over {max_bytes} bytes", field="body", limit=f"{max_bytes} bytes"
                )
    except (web.RequestPayloadError, ConnectionError) as exc:
        raise BadInput("the body ended before it was complete", field="body") from exc
    return bytes(body)


def parse_json(body: bytes) -> dict[str, Any]:
    """A body as an object. Raises ``BadInput``."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise BadInput(f"the body is not valid JSON: {exc}", field="body") from exc
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object", field="body")
    return value


class Fields:
    """Takes known fields out of an object; ``end`` refuses the rest."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._left = dict(value)
        self._known: list[str] = []

    def _take(self, name: str) -> Any:
        self._known.append(name)
        return self._left.pop(name, None)

    def text(self, name: str, *, most: int, required: bool = False) -> str | None:
        """Text without control characters (tab and line breaks may stand in it), not blank."""
        value = self._take(name)
        if value is None:
            if required:
                raise BadInput(f"{name} is required", field=name, limit=f"1 to {most} characters")
            return None
        if not isinstance(value, str):
            raise BadInput(f"{name} must be text", field=name)
        if not value.strip():
            raise BadInput(f"{name} is empty", field=name, limit=f"1 to {most} characters")
        if len(value) > most:
            raise BadInput(
                f"{name} has {len(value)} characters, the limit is {most}",
                field=name,
                limit=f"{most} characters",
            )
        for position, char in enumerate(value):
            if unicodedata.category(char) in ("Cc", "Cs") and char not in _TEXT_CONTROLS:
                raise BadInput(
                    f"{name} holds the control character U+{ord(char):04X} at position {position}",
                    field=name,
                    limit="no control characters",
                )
        return value

    def must_text(self, name: str, *, most: int) -> str:
        """Like ``text``, required."""
        value = self.text(name, most=most, required=True)
        assert value is not None
        return value

    def flag(self, name: str) -> bool:
        """true or false; absent is false."""
        value = self._take(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise BadInput(f"{name} must be true or false", field=name)
        return value

    def whole(self, name: str, least: int, most: int) -> int | None:
        """An integer within its bounds."""
        value = self._take(name)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= most:
            raise BadInput(
                f"{name} must be a whole number from {least} to {most}",
                field=name,
                limit=f"{least} to {most}",
            )
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        """A number within its bounds."""
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise BadInput(
                f"{name} must be a number from {least:g} to {most:g}",
                field=name,
                limit=f"{least:g} to {most:g}",
            )
        return float(value)

    def choice(self, name: str, choices: Sequence[str], *, required: bool = False) -> str | None:
        """One of a few words."""
        value = self._take(name)
        if value is None and not required:
            return None
        if value not in choices:
            listed = ", ".join(choices)
            raise BadInput(f"{name} must be one of {listed}", field=name, limit=listed)
        return str(value)

    def zone(self, name: str) -> tzinfo | None:
        """An IANA time zone."""
        value = self.text(name, most=ZONE_CHARS_MAX)
        if value is None:
            return None
        try:
            return ZoneInfo(value)
        except (ValueError, OSError, ZoneInfoNotFoundError) as exc:
            raise BadInput(
                f"{name} must be an IANA time zone such as Europe/Paris, not {value!r}", field=name
            ) from exc

    def tags(self, name: str = "tags") -> tuple[str, ...]:
        """A short list of short texts."""
        value = self._take(name)
        if value is None:
            return ()
        fits = (
            isinstance(value, list)
            and len(value) <= TAGS_MAX
            and all(
                isinstance(tag, str) and 0 < len(tag) <= TAG_CHARS_MAX and tag.isprintable() for tag in value
            )
        )
        if not fits:
            raise BadInput(
                f"{name} must be a list of at most {TAGS_MAX} texts of at most {TAG_CHARS_MAX} characters",
                field=name,
                limit=f"{TAGS_MAX} x {TAG_CHARS_MAX} characters",
            )
        return tuple(value)

    def texts(self, name: str, *, most: int, chars_max: int) -> Sequence[str]:
        """A list of texts, required."""
        value = self._take(name)
        fits = (
            isinstance(value, list)
            and len(value) <= most
            and all(isinstance(text, str) and 0 < len(text) <= chars_max for text in value)
        )
        if not fits:
            raise BadInput(
                f"{name} must be a list of at most {most} texts of at most {chars_max} characters",
                field=name,
                limit=f"{most} x {chars_max} characters",
            )
        return tuple(value)

    def end(self) -> None:
        """Refuse fields that nobody took."""
        if self._left:
            unknown = min(self._left)
            raise BadInput(
                f"unknown field {unknown[:64]!r}; known are {', '.join(self._known)}", field=unknown[:64]
            )
