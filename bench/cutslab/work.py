"""What a node is asked to do until it is cut: each job goes on until nobody answers."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.cutslab.book import Book, Item, answer, question
from node.api.local import SOCKET
from node.core.clock import SystemClock
from tests.faults.recorded_disk import Control, kill

ROUND_S = 60.0
"""A cut that did not come by then comes from outside."""
CALL_S = 60.0
OVER = (aiohttp.ClientError, ConnectionError, TimeoutError)
"""How a call ends when the node is gone."""
FULL, MORE = "full backup", "incremental backup"
ERASURE, VERDICT, OVERWRITE, STOP = "erasure", "verdict", "overwrite", "stop"


class Work:
    """On the node ``pid`` at ``url``, whose folders lie in ``root``. ``aim``: during what the cut should
    come."""

    def __init__(
        self, book: Book, control: Control, root: Path, pid: int, url: str, rng: random.Random, aim: str
    ) -> None:
        self._book = book
        self._control = control
        self._root = root
        self._pid = pid
        self._url = url
        self._rng = rng
        self._aim = aim
        self._bak = max([int(one.name[3:]) for one in root.glob("bak*")], default=0)
        self._http: aiohttp.ClientSession

    async def until_cut(self) -> None:
        """Do all of it at once."""
        match self._aim:
            case "epoch ends":
                self._control.cut_at_path("/epochs/", self._rng.randrange(60))
            case "epoch moves":
                self._control.cut_at_path(
                    self._rng.choice(("/archive/", "moved.json")), self._rng.randrange(60)
                )
            case "start" | "work":
                self._control.cut_in(self._rng.randrange(1, 1_200))
        steps = [self._ask, self._ask, self._store, self._change]
        if self._aim in (FULL, MORE) or self._rng.random() < 0.4:
            steps.append(self.back_up)
        async with aiohttp.ClientSession(trust_env=False) as self._http:
            tasks = [asyncio.create_task(self._on_and_on(step)) for step in steps]
            if self._aim == STOP:
                tasks.append(asyncio.create_task(self._on_and_on(self._stop)))
            try:
                await asyncio.wait(tasks, timeout=ROUND_S, return_when=asyncio.FIRST_COMPLETED)
            finally:
                kill(self._pid)
                await asyncio.wait(tasks, timeout=1.0)  # replies that came before the end still count
                for task in tasks:
                    task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for one in ended:
                if isinstance(one, Exception):
                    raise one

    async def _on_and_on(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            while True:
                await step()
        except OVER:
            pass  # the life of this node has ended: the cut came, or the last step

    async def _call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        timeout = aiohttp.ClientTimeout(total=CALL_S)
        async with self._http.request(method, self._url + path, json=body, timeout=timeout) as response:
            return response.status, orjson.loads(await response.read() or b"null")

    def _is_done(self, what: str, status: int, reply: Any, *wanted: int) -> bool:
        if status not in wanted:
            self._book.find("refused", f"{what}: {status} {reply}")
        return status in wanted

    def _any_sure(self) -> Item | None:
        known = [one for one in self._book.items.values() if one.is_sure]
        return self._rng.choice(known) if known else None

    # --- steps ------------------------------------------------------------------------------------

    async def _ask(self) -> None:
        item = self._any_sure()
        text = "What is 2+2?" if item is None else question(item.number)
        status, reply = await self._call("POST", "/chat", {"query": text})
        if self._is_done("a question", status, reply, 200):
            self._book.counts["questions"] += 1
            place = (reply["decision"]["log"], reply["decision"]["index"])
            self._book.fresh.append((SystemClock().monotonic(), place, reply["request_id"]))

    async def _store(self) -> None:
        number = len(self._book.items)
        scope = self._rng.choice(("shared", "private", "public"))
        item = self._book.items[number] = Item(number, scope, {None, answer(number, 0)})
        await self._put(item, is_again=False)
        await asyncio.sleep(self._rng.random() * 0.05)

    async def _put(self, item: Item, *, is_again: bool) -> None:
        text, asked = item.text, question(item.number)
        body = {"query": asked, "answer": text, "scope": item.scope, "replace": is_again}
        with self._book.doing(OVERWRITE if is_again else "store"):
            status, reply = await self._call("POST", "/v1/cache/entries", body)
        if self._is_done("an entry", status, reply, 201):
            item.cids.append(reply["cid"])
            item.may_say = {text}

    async def _change(self) -> None:
        """Overwrite, erase, or call invalid; an erasure that was cut short is asked for again."""
        half = next((one for one in self._book.items.values() if one.is_half_erased), None)
        item = half or self._any_sure()
        if item is None or len(self._book.items) < 8:
            await asyncio.sleep(0.02)
            return
        what = self._rng.choice((OVERWRITE, ERASURE, VERDICT))
        if half is not None or self._aim == ERASURE:
            what = ERASURE
        if what == OVERWRITE:
            item.version += 1
            item.may_say = {*item.may_say, item.text}
            await self._put(item, is_again=True)
        else:
            item.may_say = {*item.may_say, None}
            if self._aim == ERASURE and self._rng.random() < 0.3:
                self._control.cut_in(self._rng.randrange(1, 120))
            await (self._erase(item) if what == ERASURE else self._judge(item))
        await asyncio.sleep(self._rng.random() * 0.1)

    async def _erase(self, item: Item) -> None:
        with self._book.doing(ERASURE):
            status, reply = await self._call("DELETE", f"/v1/cache/entries/{item.cids[-1]}")
        if self._is_done("an erasure", status, reply, 200, 404):  # 404: it was done before the last cut
            item.may_say, item.is_gone = {None}, True

    async def _judge(self, item: Item) -> None:
        with self._book.doing(VERDICT):
            status, reply = await self._call(
                "POST", "/feedback", {"cid": item.cids[-1], "verdict": "invalid"}
            )
        if self._is_done("a verdict", status, reply, 200):
            item.may_say, item.is_judged = {None}, True

    async def back_up(self) -> None:
        """One backup."""
        is_full = self._aim == FULL or (self._aim != MORE and self._rng.random() < 0.3)
        self._bak += is_full
        folder = self._root / f"bak{self._bak}"
        must_hold = {one.cids[-1] for one in self._book.items.values() if one.is_sure}
        if self._aim in (FULL, MORE):
            more = self._rng.choice((30, 150, 600)) * self._rng.randrange(100) // 100
            self._control.cut_at_path(f"/{folder.name}", more)
        with self._book.doing(FULL if is_full else MORE):
            name = await self._made(folder)
        self._book.backups[f"{folder.name}/{name}"] = must_hold
        await asyncio.sleep(self._rng.random())

    async def _made(self, folder: Path) -> str:
        """The name of one more backup, by the operator's socket."""
        asked: dict[str, Any] = {"folder": str(folder)}
        connector = aiohttp.UnixConnector(path=str(self._root / "data" / SOCKET))
        async with aiohttp.ClientSession(connector=connector) as http:
            while True:
                async with http.post("http://localhost/backup", json=asked) as response:
                    reply = orjson.loads(await response.read())
                    if not self._is_done("a backup", response.status, reply, 200):
                        raise ConnectionError
                if reply["state"] == "done":
                    return str(reply["backup"])
                asked = {"id": reply["id"]}

    async def _stop(self) -> None:
        await asyncio.sleep(0.3 + self._rng.random())
        self._book.running[STOP] += 1
        self._control.cut_in(self._rng.randrange(1, 150))
        os.kill(self._pid, signal.SIGTERM)
        await asyncio.Event().wait()
