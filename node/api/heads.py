"""Heads of requests that were read before: whoever sends one again need not be read again.

A client sends the same head with every question, but for the length of what follows. Promises: a head is
known only where aiohttp has read it, byte for byte, as that of a request that may be answered at once, and
what follows it is as long as it said then; bounded. Must not know: what is asked, how it is answered.
"""

from __future__ import annotations

from aiohttp import web
from aiohttp.http import HttpVersion11

HEADS_MAX = 1_024
"""One for each length of a body: the oldest gives way."""
HEAD_BYTES_MAX = 2_048
_END = b"\r\n\r\n"
_OWN_WORD = ("X-Request-Id", "Transfer-Encoding", "Expect", "Upgrade", "Connection")
"""A request that has one of these is read each time."""


class Heads:
    """By their bytes how long a body follows. Event loop only."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def body_of(self, data: bytes) -> bytes | None:
        """The body, where ``data`` is one request and nothing else, and its head is known."""
        begin = data.find(_END, 0, HEAD_BYTES_MAX) + len(_END)
        length = self._known.get(data[:begin])
        return data[begin:] if length is not None and len(data) - begin == length else None

    def is_whole(self, data: bytes, body: bytes) -> bool:
        """Whether ``data``, in which a request begins that had this body, is that request and no more."""
        return len(data) == data.find(_END) + len(_END) + len(body) and data.endswith(body)

    def learn(self, data: bytes, request: web.BaseRequest, body: bytes) -> None:
        """``data`` is the whole of this request, whose head says nothing that is for it alone, as it seems
        from outside."""
        head, headers = data[: len(data) - len(body)], request.headers
        if len(head) > HEAD_BYTES_MAX or head in self._known or any(name in headers for name in _OWN_WORD):
            return
        if request.version == HttpVersion11 and headers.getall("Content-Length", []) == [str(len(body))]:
            if len(self._known) >= HEADS_MAX:
                del self._known[next(iter(self._known))]
            self._known[head] = len(body)
