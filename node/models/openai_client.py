"""A server that speaks OpenAI's HTTP API, reached by the official package, for the rooms that use one.

Promises:
- address and key come from the settings and nothing comes from the environment (keys, organisation, project,
  headers, proxies); neither the key nor a telling part of it is in a message, log or repr;
- no retry, redirect or compression; bodies are bounded;
- the package, which takes a second to load, is loaded in a thread when it is first needed; the list of models
  is asked for without it, because a probe has not that long;
- foreign exceptions of a call inside ``translated`` leave as ours.

It must not know what is generated or embedded."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from node.core.clock import Clock
from node.core.errors import (
    BrokeOff,
    Misconfigured,
    NodeError,
    RateLimited,
    Rejected,
    TimedOut,
    Unavailable,
)
from node.models import transport
from node.models.deadline import within
from node.models.stops import overlap
from node.models.transport import client_options, timeouts, words_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SPOKEN = "the OpenAI-compatible server"
CONNECT_TIMEOUT_S = 5.0
RETRY_AFTER_DEFAULT_S = 10.0
RETRY_AFTER_MAX_S = 3_600.0
_NAME_CHARS_MAX = 200
_KEY_PART_CHARS = 8
"""So much of a key tells something: servers that show its beginning or end show more or less than that."""
_SEARCHED_CHARS_MAX = 16_384
_MODELS_MAX = 10_000
_WINDOW_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""What vLLM, OpenRouter, Groq and LM Studio call a model's window in their lists."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One model of the server's list; ``window`` in tokens where the server tells."""

    name: str
    window: int | None = None


class OpenAiConnection:
    """One address with one key."""

    def __init__(self, base_url: str, api_key: str, clock: Clock) -> None:
        """``base_url`` with its path (``http://127.0.0.1:8000/v1``); ``api_key`` may be empty. Raises
        ``Misconfigured``."""
        if not base_url:
            raise Misconfigured("setting models.openai_base_url is empty")
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise Misconfigured("setting models.openai_api_key must be one word of printable ASCII")
        try:
            parts = urlsplit(base_url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError
            options = client_options(base_url, SPOKEN, key=api_key, connect_timeout_s=CONNECT_TIMEOUT_S)
            self._http = httpx.AsyncClient(base_url=base_url.rstrip("/") + "/", **options)
        except (ValueError, httpx.InvalidURL) as exc:
            # The address itself is not shown: it may hold a password.
            raise Misconfigured("setting models.openai_base_url is not an http or https address") from exc
        self.host = parts.hostname
        self._base_url = base_url
        self._key = api_key
        self._clock = clock
        self._official: AsyncOpenAI | None = None
        self._loading = asyncio.Lock()

    def __repr__(self) -> str:
        return "OpenAiConnection()"

    async def official(self) -> AsyncOpenAI:
        """The official client; the first call loads the package. Raises ``Unavailable`` when it is not
        installed."""
        async with self._loading:
            if self._official is None:
                try:
                    self._official = await asyncio.to_thread(self._load)
                except ImportError as exc:
                    raise Unavailable(
                        f"a package for {SPOKEN} is missing: {exc}; type: pip install openai"
                    ) from exc
            return self._official

    def _load(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI

        # The official package takes a client of either generation of httpx at run time and names only the one
        # it prefers in its types.
        http_client: Any = self._http
        backstop: Any = timeouts(CONNECT_TIMEOUT_S)
        client = AsyncOpenAI(
            # It looks for a key in the environment unless it gets one; the transport sends the real one.
            api_key="unused",
            base_url=self._base_url.rstrip("/") + "/",
            max_retries=0,
            timeout=backstop,
            http_client=http_client,
        )
        _ = (client.chat.completions, client.embeddings)  # these load modules too
        return client

    async def models(self, timeout_s: float) -> list[Listed] | None:
        """The models that the server lists; None for one that answers and keeps no list (404, 405, 501).
        Raises ``Unavailable``, ``TimedOut``, ``RateLimited``, ``Rejected``."""
        return await within(
            self._clock, timeout_s, self._models(), f"{SPOKEN} did not list its models in time"
        )

    async def _models(self) -> list[Listed] | None:
        with transport.translated(SPOKEN, _unreachable):
            response = await self._http.get("models", headers={"accept": "application/json"})
            if response.status_code in (404, 405, 501):
                return None
            if not response.is_success:
                raise self.failure(response.status_code, response.headers, _said(response))
            return [one for one in _listed(json.loads(response.content)) if not self.tells_key(one.name)]

    def sent(self, path: str, body: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        """A JSON body posted to a path below the address; the answer is read by whoever enters this."""
        return self._http.stream("POST", path, content=body, headers={"content-type": "application/json"})

    @contextmanager
    def translated(self, model: str = "") -> Iterator[None]:
        """Foreign exceptions of one call of the official client as ours. Enter it after ``official``.
        ``model`` is the one asked for."""
        from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAIError

        try:
            with transport.translated(SPOKEN, _unreachable):
                yield
        except APITimeoutError as exc:
            raise TimedOut(f"{SPOKEN} did not answer in time") from exc
        except APIConnectionError as exc:
            if isinstance(exc.__cause__, httpx.ConnectError | OSError):
                raise Unavailable(f"{SPOKEN} is not reachable at {_unreachable(exc.__cause__)}") from exc
            raise BrokeOff(f"the connection to {SPOKEN} broke off") from exc
        except APIStatusError as exc:
            error = self.failure(exc.status_code, exc.response.headers, _in_body(exc.body), model=model)
            raise error from self._shown(exc)
        except APIError as exc:  # an error inside the stream
            said = self._clean(words_of(exc.message))
            raise Unavailable(f"{SPOKEN} failed{': ' if said else ''}{said}") from self._shown(exc)
        except OpenAIError as exc:
            raise Unavailable(f"{SPOKEN} could not be asked") from self._shown(exc)

    def _shown(self, exc: Exception) -> Exception | None:
        """``exc`` as a cause, unless its text may hold the key: some servers repeat it."""
        return None if self.tells_key(str(exc)) else exc

    def _clean(self, said: str) -> str:
        """What the server said, or nothing where that holds the key."""
        return "" if self.tells_key(said) else said

    def tells_key(self, said: str) -> bool:
        """Whether ``said`` holds the key or a telling part of it: servers mask it, and messages are cut. What
        is too long to be searched is taken to."""
        size = min(len(self._key), _KEY_PART_CHARS)
        if not size:
            return False
        parts = (self._key[start : start + size] for start in range(len(self._key) - size + 1))
        return len(said) > _SEARCHED_CHARS_MAX or any(part in said for part in parts)

    def gives_key_away(self, answer: str) -> bool:
        """Whether a generated answer holds the whole key. Short keys are no secrets (``ollama``, ``EMPTY``),
        and an answer may well hold such a word."""
        return self.has_secret and self._key in answer

    @property
    def has_secret(self) -> bool:
        """Whether the key is one that an answer must not hold."""
        return len(self._key) > _KEY_PART_CHARS * 2

    def key_begins(self, answer: str) -> int:
        """How many characters at the end of ``answer`` may be the beginning of the key."""
        return overlap(answer, self._key)

    def failure(self, status: int, headers: Mapping[str, str], said: str, *, model: str = "") -> NodeError:
        """What an HTTP status that is no success means, in words. ``said``: the server's own."""
        said = self._clean(said)
        because = f": {said}" if said else f" (HTTP {status})"
        if status in (401, 403) and not self._key:
            return Unavailable(f"{SPOKEN} wants a key: set models.openai_api_key")
        if status in (401, 403):
            # Its words often repeat a part of the key.
            return Unavailable(f"{SPOKEN} refused the key (HTTP {status}): check models.openai_api_key")
        if status == 404 and model and "model" in said.lower():
            return Unavailable(f"{SPOKEN} has no model {model}, or not for this{because}")
        if status in (404, 405):
            return Unavailable(
                f"{SPOKEN} has nothing at this path (HTTP {status}): check models.openai_base_url, "
                "which usually ends in /v1"
            )
        if status == 429:
            return RateLimited(
                f"{SPOKEN} takes no more questions for now{because}",
                retry_after_s=_retry_after_s(headers, self._clock),
            )
        if 300 <= status < 400:
            return Unavailable(
                f"{SPOKEN} redirects elsewhere, which is not followed: set models.openai_base_url to the "
                "final address"
            )
        if status == 408:
            return TimedOut(f"{SPOKEN} gave up waiting{because}")
        if 400 <= status < 500:
            return Rejected(f"{SPOKEN} refused the request{because}")
        return Unavailable(f"{SPOKEN} failed{because}")

    async def close(self) -> None:
        """Close its connections. Idempotent."""
        await self._http.aclose()


def _unreachable(exc: BaseException) -> str:
    why = " (its TLS certificate was refused)" if "CERTIFICATE_VERIFY" in str(exc) else ""
    return f"models.openai_base_url{why}"


def package_missing() -> str | None:
    """Why the official package cannot be used, without loading it; None when it is there."""
    if importlib.util.find_spec("openai") is None:
        return f"a package for {SPOKEN} is missing; type: pip install openai"
    return None


def _said(response: httpx.Response) -> str:
    try:
        return _in_body(json.loads(response.content))
    except (ValueError, RecursionError):
        return words_of(response.text)


def _in_body(body: object) -> str:
    """The words in an error body: ``{"error": {"message": …}}`` and what others make of it."""
    for _ in range(3):
        if not isinstance(body, dict):
            break
        body = next((body[key] for key in ("error", "message", "detail") if body.get(key)), None)
    if isinstance(body, list | dict):
        body = json.dumps(body, default=str)[:1_000]
    return words_of(body)


def _listed(body: object) -> list[Listed]:
    if not isinstance(body, dict) or not isinstance(body.get("data"), list | None):
        raise Rejected(f"{SPOKEN} sent something that is not a list of models")
    found: list[Listed] = []
    for item in (body.get("data") or [])[:_MODELS_MAX]:
        name = item.get("id") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _NAME_CHARS_MAX:
            continue
        windows = [count for key in _WINDOW_KEYS if (count := whole(item.get(key)))]
        found.append(Listed(name, min(windows, default=None)))
    return found


_TOO_LONG = re.compile(
    r"(?:context|input|sequence|prompt|tokens?).{0,60}(?:length|window|size|limit|exceed|maximum|too long)"
    r"|too (?:long|large|many tokens)|(?:maximum|exceed).{0,40}(?:context|tokens?|length)",
    re.IGNORECASE,
)


def says_too_long(said: str) -> bool:
    """Whether a refusal is for the length of what was sent."""
    return _TOO_LONG.search(said) is not None


def whole(value: object, most: int = 10**9) -> int:
    """``value`` where it is a count, else 0: a server may send text, NaN or anything."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else 0


def _retry_after_s(headers: Mapping[str, str], clock: Clock) -> float:
    """Seconds to wait, from ``Retry-After`` as a number or a date; bounded."""
    told = headers.get("retry-after", "").strip()
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(told) - clock.now()).total_seconds()
        except (ValueError, TypeError, IndexError, OverflowError):
            return RETRY_AFTER_DEFAULT_S
    if not math.isfinite(seconds):
        return RETRY_AFTER_DEFAULT_S
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_S)
