"""A crowd of idle and slow connections, and who asks beside it.

    python -m bench.idle_crowd [--connections 1000] [--seconds 30] [--descriptors 1024] [--kinds silent,head]

Method. A fresh node in a process of its own, as shipped, that may open ``--descriptors`` files (soft and
hard). Another process holds ``--connections`` connections to it, a seventh of each kind:

- silent: connects and says nothing;
- head: sends the head of a request, a byte every half second;
- body: sends a head, then a body that it announced, a byte every half second;
- half: sends half a head and closes its side;
- unread: asks for a large page twenty times and never reads;
- kept: asks once, reads the reply and keeps the connection;
- malformed: sends what is no HTTP, reads the refusal, and again.

Whoever is closed out comes back after a second. Beside the crowd this process asks by a new connection each
time, in turn from the crowd's own address and from another one: ``/livez``, ``/health`` and a question. Asked
in time means within five seconds; the crowd is settled before the first.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import resource
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from bench.fresh_node import FreshNode, fresh_node, load_average, spread
from node.core.clock import SystemClock

CONNECTIONS, SECONDS, DESCRIPTORS = 1_000, 30.0, 1_024
BYTE_EVERY_S, BACK_AFTER_S, ASK_EVERY_S = 0.5, 1.0, 0.2
IN_TIME_S = 5.0
LOG_BYTES_A_SECOND_MAX = 20_000
"""A line for each of these bad requests would be some 50,000."""
_SETTLE_S = 3.0
_SMALL_BUFFER_BYTES = 4_096
_PAGES = 20
"""Of 69 KB: more than the node's kernel keeps for who does not read."""
_HEAD = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_PAGE = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
_BODY_HEAD = (
    b"POST /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n"
)
_MALFORMED = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nno colon here\r\n\r\n"
_CROWD, _OTHER = "127.0.0.1", "127.0.0.2"


@dataclass
class Crowd:
    """Who is connected to ``port``; ``closed``: connections that the node ended, by kind."""

    port: int
    opened: Counter[str] = field(default_factory=Counter)
    closed: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    async def member(self, kind: str, behave: Callable[[socket.socket], Awaitable[None]]) -> None:
        """One of the crowd: comes back whenever it is closed out."""
        loop = asyncio.get_running_loop()
        while True:
            with socket.socket() as one:
                one.setblocking(False)
                if kind == "unread":
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
                try:
                    await loop.sock_connect(one, (_CROWD, self.port))
                except OSError:
                    self.refused += 1
                else:
                    self.opened[kind] += 1
                    with suppress(OSError):
                        await behave(one)
                    self.closed[kind] += 1
            await asyncio.sleep(BACK_AFTER_S)


async def _silent(one: socket.socket) -> None:
    await _until_closed(one)


async def _until_closed(one: socket.socket) -> None:
    while await asyncio.get_running_loop().sock_recv(one, 65_536):
        pass


async def _dripping(one: socket.socket, data: bytes) -> None:
    for byte in itertools.cycle(data):
        await asyncio.get_running_loop().sock_sendall(one, bytes((byte,)))
        await asyncio.sleep(BYTE_EVERY_S)


async def _head(one: socket.socket) -> None:
    await _dripping(one, _HEAD[:-4] + b"\r\nX-More: ")


async def _body(one: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(one, _BODY_HEAD)
    await _dripping(one, b" ")


async def _half(one: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(one, _HEAD[:20])
    one.shutdown(socket.SHUT_WR)
    await _until_closed(one)


async def _unread(one: socket.socket) -> None:
    """What it sends at last finds no room; it does not look at what comes."""
    await asyncio.get_running_loop().sock_sendall(one, _PAGE * _PAGES)
    while True:
        await asyncio.sleep(BYTE_EVERY_S)
        await asyncio.get_running_loop().sock_sendall(one, b"G")


async def _kept(one: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(one, _HEAD)
    await _until_closed(one)


async def _malformed(one: socket.socket) -> None:
    await asyncio.get_running_loop().sock_sendall(one, _MALFORMED)
    await _until_closed(one)


KINDS = {
    "silent": _silent,
    "head": _head,
    "body": _body,
    "half": _half,
    "unread": _unread,
    "kept": _kept,
    "malformed": _malformed,
}


def _hold(told: Connection, port: int, kinds: Sequence[str], connections: int) -> None:
    """The crowd's process: holds the connections until it is told to stop, then says what it saw."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    crowd = Crowd(port)

    async def hold() -> None:
        members = [
            asyncio.create_task(crowd.member(kind, KINDS[kind]))
            for kind in itertools.islice(itertools.cycle(kinds), connections)
        ]
        await asyncio.to_thread(told.recv)
        for member in members:
            member.cancel()
        await asyncio.gather(*members, return_exceptions=True)

    asyncio.run(hold())
    told.send((crowd.opened, crowd.closed, crowd.refused))


@dataclass
class Asker:
    """Asks by a new connection each time; ``took_ms`` and ``failed`` by what was asked and from where."""

    port: int
    took_ms: dict[str, list[float]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)

    async def ask(self, what: str, source: str, request: bytes) -> None:
        clock = SystemClock()
        name = f"{what} from {'the same address' if source == _CROWD else 'another address'}"
        took = self.took_ms.setdefault(name, [])
        started = clock.monotonic()
        try:
            async with asyncio.timeout(IN_TIME_S):
                reader, writer = await asyncio.open_connection(_CROWD, self.port, local_addr=(source, 0))
                try:
                    writer.write(request)
                    status = (await reader.readline()).split()
                    await reader.read()
                finally:
                    writer.close()
            if status[1:2] != [b"200"]:
                self.failed[f"{name}: {b' '.join(status).decode()[:40]!r}"] += 1
        except (TimeoutError, OSError) as exc:
            self.failed[f"{name}: {type(exc).__name__}"] += 1
        took.append((clock.monotonic() - started) * 1_000)

    async def round(self, number: int) -> None:
        source = (_CROWD, _OTHER)[number % 2]
        for path in ("/livez", "/health"):
            head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            await self.ask(path, source, head.encode())
        body = json.dumps({"query": f"what is {number} * 17 + {number}?"})
        head = (
            "POST /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        )
        await self.ask("a question", source, head.encode())


def _size(log: Path) -> int:
    return log.stat().st_size


def _open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


async def _measure(node: FreshNode, log: Path, kinds: Sequence[str], connections: int, seconds: float) -> int:
    clock = SystemClock()
    port = urlsplit(node.url).port
    assert port is not None
    asker = Asker(port)
    mine, its = multiprocessing.Pipe()
    crowd = multiprocessing.get_context("spawn").Process(
        target=_hold, args=(its, port, kinds, connections), daemon=True
    )
    at_start = _size(log)
    began = clock.monotonic()
    files_max = 0
    crowd.start()
    try:
        await asyncio.sleep(_SETTLE_S)
        end = clock.monotonic() + seconds
        for number in itertools.count(1):
            await asker.round(number)
            with suppress(OSError):  # the node has ended
                files_max = max(files_max, _open_files(node.pid))
            if clock.monotonic() > end:
                break
            await asyncio.sleep(ASK_EVERY_S)
    finally:
        mine.send("stop")
        opened, closed, refused = await asyncio.to_thread(mine.recv)
        await asyncio.to_thread(crowd.join)
    log_bytes_s = (_size(log) - at_start) / (clock.monotonic() - began)
    print(f"| asked beside {connections} | times | not in time or refused | ms: min / p50 / p95 | longest |")
    print("| --- | --- | --- | --- | --- |")
    for name, took in asker.took_ms.items():
        failed = sum(count for why, count in asker.failed.items() if why.startswith(name))
        print(f"| {name} | {len(took)} | {failed} | {spread(took)} | {max(took):,.0f} |")
    print()
    for why, count in asker.failed.most_common(10):
        print(f"- failed {count}x: {why}")
    print("- the crowd, opened / closed by the node: ", end="")
    print(", ".join(f"{kind} {opened[kind]} / {closed[kind]}" for kind in kinds), end="")
    print(f"; refused {refused}")
    print(f"- log of the node: {log_bytes_s:,.0f} bytes a second; open files at most {files_max}")
    print(f"- memory of the node: {node.resident_mib():.0f} MiB; load when it ended: {load_average()}")
    return int(bool(asker.failed) or log_bytes_s > LOG_BYTES_A_SECOND_MAX)


async def idle_crowd(kinds: Sequence[str], connections: int, seconds: float, descriptors: int) -> int:
    """Run it; 1 where somebody was not answered in time or the log grew too fast."""
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_node(Path(folder), {}, descriptors=descriptors) as node:
            return await _measure(node, Path(folder) / "node.log", kinds, connections, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.idle_crowd")
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--descriptors", type=int, default=DESCRIPTORS)
    parser.add_argument("--kinds", default=",".join(KINDS), help="which, joined by commas")
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    if unknown := set(kinds) - KINDS.keys():
        parser.error(f"unknown kinds: {', '.join(sorted(unknown))}; known are {', '.join(KINDS)}")
    return asyncio.run(idle_crowd(kinds, given.connections, given.seconds, given.descriptors))


if __name__ == "__main__":
    sys.exit(main())
