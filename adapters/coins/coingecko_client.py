"""pycoingecko in worker threads, tamed: bounded in time, size and number, without retries of its own.

What the library does by itself and ``coingecko_line`` undoes: it retries and sleeps inside the thread,
follows redirects, reads bodies of any size for any time, puts the key into the address (where logs keep it)
and returns an error body that came with status 200 as data. Every answer is checked, and every failure leaves
as one of ``node.core.errors``; the retries are the guard's.

A call owns one ``Line`` (one client, one session, loaded when it is first used) for as long as its thread
runs. When the caller gives up, its sockets are shut down, so that not even a server that drips a byte a
second holds the thread. What can outlast that is name resolution, which the operating system bounds; such a
line stays taken, the others serve.

It knows the vendor's errors, not its figures.
"""

from __future__ import annotations

import asyncio
import queue
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from node.core.clock import Clock
from node.core.errors import Unavailable

if TYPE_CHECKING:
    from pycoingecko import CoinGeckoAPI

    from adapters.coins.coingecko_line import Line

PUBLIC_URL = "https://api.coingecko.com/api/v3"
WAIT_UNSTATED_S = 15.0
"""Wait after a 429 that does not say how long; the waits seen were 7 to 119 s."""
CLOSE_WAIT_S = 2.0


class Sockets:
    """The open sockets of one line, so that another thread can cut them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._cut = False
        self._call = 0

    def begin(self) -> int:
        """A new call on this line; returns its number."""
        with self._lock:
            self._cut = False
            self._call += 1
            return self._call

    def add(self, sock: socket.socket | None) -> None:
        """Called after each connect. Raises ``OSError`` when the call was given up meanwhile."""
        if sock is None:
            raise OSError("not connected")
        with self._lock:
            self._open = [known for known in self._open if known.fileno() >= 0]
            self._open.append(sock)
            if not self._cut:
                return
        sock.close()
        raise OSError("given up")

    def cut(self, call: int | None = None) -> None:
        """End the call with that number, if it still is the line's; without a number, whatever runs."""
        with self._lock:
            if call is not None and call != self._call:
                return
            self._cut = True
            victims, self._open = self._open, []
        for sock in victims:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already: what was wanted


class CoinGeckoClient:
    """At most ``lines`` calls at a time; one more is refused at once."""

    def __init__(self, base_url: str, api_key: str, clock: Clock, *, lines: int) -> None:
        self._clock = clock
        self._free: queue.SimpleQueue[Sockets] = queue.SimpleQueue()
        self._address = base_url or PUBLIC_URL, api_key
        self._lines = [Sockets() for _ in range(lines)]
        self._made: dict[Sockets, Line] = {}
        for line in self._lines:
            self._free.put(line)
        self._executor = ThreadPoolExecutor(lines, thread_name_prefix="coingecko")
        self._running: set[Future[object]] = set()
        self._closed = False

    async def fetch(self, call: Callable[[CoinGeckoAPI], object], timeout_s: float) -> object:
        """The decoded body. Raises ``node.core.errors``; on cancellation the thread's sockets are cut."""
        if self._closed:
            raise Unavailable("the CoinGecko adapter is closed")
        try:
            line = self._free.get_nowait()
        except queue.Empty as exc:
            raise Unavailable("every line to CoinGecko is busy with a call that hangs") from exc
        number = line.begin()
        work = self._executor.submit(self._run, line, call, timeout_s)
        work.add_done_callback(lambda done: self._return_unrun(line, done))
        self._running = {other for other in self._running if not other.done()} | {work}
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            line.cut(number)
            raise

    def _run(self, line: Sockets, call: Callable[[CoinGeckoAPI], object], timeout_s: float) -> object:
        from adapters.coins.coingecko_line import Line

        try:
            made = self._made.get(line) or self._made.setdefault(line, Line(line, *self._address))
            return made.run(call, timeout_s, self._clock)
        finally:
            self._free.put(line)

    def _return_unrun(self, line: Sockets, done: Future[object]) -> None:
        if done.cancelled():
            self._free.put(line)

    @property
    def free(self) -> int:
        """Lines that no thread holds."""
        return self._free.qsize()

    async def settle(self) -> None:
        """Wait until every thread has come back from its call."""
        waiting = [asyncio.wrap_future(work) for work in self._running]
        await asyncio.gather(*waiting, return_exceptions=True)

    async def close(self) -> None:
        """Cut what runs, end the threads. Idempotent. Does not wait long for a thread stuck in the system."""
        if self._closed:
            return
        self._closed = True
        for line in self._lines:
            line.cut()
        self._executor.shutdown(wait=False, cancel_futures=True)
        ended = asyncio.create_task(self.settle())
        timer = asyncio.create_task(self._clock.sleep(CLOSE_WAIT_S))
        try:
            await asyncio.wait({ended, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            timer.cancel()
            await asyncio.gather(ended, timer, return_exceptions=True)
            for made in self._made.values():
                made.close()
