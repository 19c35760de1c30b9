"""One line to CoinGecko: pycoingecko with one session, tamed; loaded when the first question goes out.

Promises: one call at a time, from one thread; bodies are bounded, nothing is followed or retried, and every
failure leaves as one of ``node.core.errors``. It must not know who calls, or what the figures mean.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from pycoingecko import CoinGeckoAPI
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from adapters.coins.coingecko_client import WAIT_UNSTATED_S, Sockets
from node.core.clock import Clock
from node.core.errors import Forbidden, NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.http import wait_s

PRO_HOST = "pro-api.coingecko.com"
BODY_BYTES_MAX = 2 * 2**20
_CHUNK_BYTES = 64 * 1024
_TRANSIENT = frozenset((408, 502, 503, 504, 520, 521, 522, 523, 524))
_KEY_ERRORS = {
    10002: "the API key is missing",
    10005: "the API key's plan does not include this",
    10010: "the API key is of the wrong kind for this address",
    10011: "the API key is of the wrong kind for this address",
    10012: "the day lies outside the time range of the API key's plan",
}


class _TooLarge(requests.exceptions.RequestException):
    """The body is larger than we read."""


class _Redirected(requests.exceptions.RequestException):
    """The server points elsewhere; we do not follow."""


class _Transport(HTTPAdapter):
    """requests' transport without retries or redirects and with a bounded body; remembers the last status."""

    def __init__(self, sockets: Sockets) -> None:
        self.sockets = sockets
        self.status = 0
        self.retry_after: str | None = None
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        sockets = self.sockets

        class Plain(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                sockets.add(self.sock)

        class Secure(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                sockets.add(self.sock)

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        self.status, self.retry_after = 0, None
        kwargs["stream"] = True
        response = super().send(request, *args, **kwargs)
        raw = response.raw
        try:
            if response.is_redirect or 300 <= response.status_code < 400:
                raise _Redirected("redirect refused")
            body = _read(raw)
        except (_TooLarge, _Redirected):
            raise  # they are OSErrors too, as all errors of requests
        except urllib3.exceptions.TimeoutError as exc:
            raise requests.exceptions.ReadTimeout("the body took too long") from exc
        except (urllib3.exceptions.HTTPError, OSError) as exc:
            raise requests.exceptions.ConnectionError("the body broke off") from exc
        finally:
            raw.close()
            raw.release_conn()
        response.raw = io.BytesIO(body)
        self.status = response.status_code
        self.retry_after = response.headers.get("Retry-After")
        return response


def _read(raw: urllib3.response.HTTPResponse) -> bytes:
    declared = raw.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared[:20]) > BODY_BYTES_MAX:
        raise _TooLarge("declared too large")
    parts: list[bytes] = []
    size = 0
    while part := raw.read1(_CHUNK_BYTES, decode_content=True):
        size += len(part)
        if size > BODY_BYTES_MAX:
            raise _TooLarge("too large")
        parts.append(part)
    return b"".join(parts)


class Line:
    """One client with its session; used by one thread at a time."""

    def __init__(self, sockets: Sockets, base_url: str, api_key: str) -> None:
        self._transport = _Transport(sockets)
        self._api = CoinGeckoAPI(retries=0)
        self._api.api_base_url = base_url.rstrip("/") + "/"
        session: requests.Session = self._api.session
        session.mount("https://", self._transport)
        session.mount("http://", self._transport)
        session.trust_env = False
        session.max_redirects = 0
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        session.headers["User-Agent"] = "neuroswarm"
        if api_key:
            kind = "pro" if urlsplit(base_url).hostname == PRO_HOST else "demo"
            session.headers[f"x-cg-{kind}-api-key"] = api_key
        self._session = session

    def run(self, call: Callable[[CoinGeckoAPI], object], timeout_s: float, clock: Clock) -> object:
        """The decoded body of a good answer. Blocks; raises ``node.core.errors``."""
        self._api.request_timeout = (timeout_s, timeout_s)
        try:
            body = call(self._api)
        except ValueError as exc:
            # The library raises the decoded body of an error; otherwise the text was no JSON.
            body = exc.args[0] if exc.args and isinstance(exc.args[0], dict | list) else None
            if (error := self._error(body, clock)) is not None:
                raise error from exc
            raise Rejected("CoinGecko answered with something that is not JSON") from exc
        except (KeyError, TypeError) as exc:
            # The library takes a part of some bodies out by itself.
            raise Rejected("CoinGecko answered with something else than was asked for") from exc
        except RecursionError as exc:
            raise Rejected("CoinGecko answered with JSON nested beyond reason") from exc
        except requests.exceptions.HTTPError as exc:
            raise self._error(None, clock) or Unavailable("CoinGecko failed") from exc
        except _TooLarge as exc:
            raise Rejected(f"CoinGecko answered with more than {BODY_BYTES_MAX} bytes") from exc
        except (_Redirected, requests.exceptions.TooManyRedirects) as exc:
            raise Rejected("CoinGecko's address redirects elsewhere, which is not followed") from exc
        except requests.exceptions.Timeout as exc:
            raise TimedOut("CoinGecko did not answer in time") from exc
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as exc:
            raise Unavailable("CoinGecko could not be reached") from exc
        if (error := self._error(body, clock)) is not None:
            raise error
        return body

    def _error(self, body: object, clock: Clock) -> NodeError | None:
        """What the status and the body say went wrong, whatever shape they say it in."""
        status, code = self._transport.status, _error_code(body)
        stated = wait_s(self._transport.retry_after, clock)
        if 429 in (status, code):
            wait = WAIT_UNSTATED_S if stated is None else stated
            return RateLimited("CoinGecko's limit of calls is reached", retry_after_s=wait)
        if status == 503 and stated is not None:
            return RateLimited("CoinGecko is overloaded and asks to wait", retry_after_s=stated)
        if code in _KEY_ERRORS:
            return Forbidden(f"CoinGecko refused: {_KEY_ERRORS[code]} (code {code})")
        if status in (401, 403):
            return Forbidden(f"CoinGecko refused (status {status})")
        if status == 404:
            return NotFound("CoinGecko does not know it")
        if status in _TRANSIENT:
            return Unavailable(f"CoinGecko failed (status {status})")
        if status >= 400:
            return Rejected(f"CoinGecko answered with status {status}")
        if code is not None:
            return Rejected(
                f"CoinGecko answered with an error (code {code})"
                if code
                else "CoinGecko answered with an error"
            )
        return None

    def close(self) -> None:
        self._session.close()


def _error_code(body: object) -> int | None:
    """The code in ``{status: {..}}`` and ``{error: {status: {..}}}``, 0 for ``{error: "text"}``, None when
    the body is no error."""
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, str):
        return 0
    nested = error.get("status") if isinstance(error, dict) else body.get("status")
    if isinstance(nested, dict) and "error_code" in nested:
        code = nested["error_code"]
        if isinstance(code, str) and code.isdecimal():
            code = int(code[:9])
        return code if isinstance(code, int) and not isinstance(code, bool) else 0
    return None
