"""Heads of requests that were read before: whoever sends one again need not be read again.

A client sends the same head with every question, but for the length of what follows. Promises: a head is
known only where aiohttp has read it, byte for byte and from this address, as that of a request that may be
answered at once, and what follows it is as long as it said then; bounded. With it comes who sent it, as the
door found out then. Must not know: what is asked, how it is answered, whether who sent it may still ask.
"""

from __future__ import annotations

from aiohttp import web
from aiohttp.http import HttpVersion11

HEADS_MAX = 1_024
"""One for each length of a body: the oldest gives way."""
HEAD_BYTES_MAX = 2_048
_END = b"\r\n\r\n"
_OWN_WORD = ("X-Request-Id", "Transfer-Encoding", "Expect", "Upgrade", "Connection", "Origin")
"""A request that has one of these is read each time."""


class Heads:
    """By the sender's address and their bytes, how long a body follows and who sends it. Event loop only."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], tuple[int, object]] = {}

    def body_of(self, data: bytes, address: str) -> tuple[bytes, object] | None:
        """The body and whose it is, where ``data`` is one request and nothing else, and its head is known."""
        begin = data.find(_END, 0, HEAD_BYTES_MAX) + len(_END)
        known = self._known.get((address, data[:begin]))
        return (data[begin:], known[1]) if known is not None and len(data) - begin == known[0] else None

    def is_whole(self, data: bytes, body: bytes) -> bool:
        """Whether ``data``, in which a request begins that had this body, is that request and no more."""
        return len(data) == data.find(_END) + len(_END) + len(body) and data.endswith(body)

    def learn(self, data: bytes, address: str, request: web.BaseRequest, body: bytes, whose: object) -> None:
        """``data`` is the whole of this request, whose head says nothing that is for it alone, as it seems
        from outside."""
        head, headers = (address, data[: len(data) - len(body)]), request.headers
        if len(head[1]) > HEAD_BYTES_MAX or any(name in headers for name in _OWN_WORD):
            return
        if request.version == HttpVersion11 and headers.getall("Content-Length", []) == [str(len(body))]:
            if len(self._known) >= HEADS_MAX and head not in self._known:
                del self._known[next(iter(self._known))]
            self._known[head] = (len(body), whose)
