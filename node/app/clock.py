"""The node's clock: opened before whatever reads it, told what sources outside say, and looked after.

A source is heard without being asked: each answer over HTTPS of a host that the operator has chosen
(adapters, witnesses, calendars), and each of a peer that he has named, bears a date. ``clock.sources`` are
asked for nothing else: at the start, once an hour, and each minute in doubt.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson

from node.audit.decisions.entry import policy_entry
from node.audit.decisions.newest import newest_time
from node.audit.recorder import Recorder
from node.core import http, state_file
from node.core.clock import Clock, boot_id
from node.core.clock_guard import GuardedClock, Saved
from node.core.clock_rule import Standing
from node.core.errors import NodeError
from node.core.files import put
from node.core.follower import Follower, Rest
from node.core.metrics import Metrics
from node.core.model import Json
from node.core.peer_address import is_own_host
from node.core.record import format_time
from node.core.settings import Settings
from node.models.deadline import within

log = logging.getLogger("neuroswarm.clock")

FILE = "clock.json"
"""In the data directory."""
LOOK_S = 5.0
ASK_S = 3_600.0
ASK_IN_DOUBT_S = 60.0
SOURCE_TIMEOUT_S = 5.0
LAST_LOOK_S = 2.0
_FILE_BYTES_MAX = 4_096
_AGE_S_MAX = 10**7

Ask = Callable[[], Awaitable[object]]
"""Asks somebody for anything that bears a date. Raises ``NodeError``."""


async def open_clock(settings: Settings, clock: Clock, data_dir: Path) -> GuardedClock:
    """The node's clock over the machine's. Whoever opens it holds the data directory."""
    saved: Saved | None = None
    try:
        saved = await asyncio.to_thread(state_file.read_json, data_dir / FILE, _FILE_BYTES_MAX, Saved.parse)
    except NodeError as exc:
        log.warning("%s; the clock is compared with the newest entry of the log alone", exc)
    least = await newest_time(Path(settings.governance_dir))
    boot = await asyncio.to_thread(boot_id)
    return GuardedClock(clock, settings.clock.jump_s, saved=saved, least=least, boot=boot)


async def save(clock: GuardedClock, data_dir: Path) -> None:
    """Keep what the next run has to know. Raises ``Unavailable``."""
    await asyncio.to_thread(put, data_dir / FILE, orjson.dumps(clock.saved().fields()))


# --- what sources say -----------------------------------------------------------------------------


def dates(clock: GuardedClock) -> aiohttp.TraceConfig:
    """Has the clock hear the date of each answer. Whoever is of this machine has its clock, and is not heard;
    what stands between (a proxy that keeps answers) says how old one is."""

    async def heard(_session: object, context: SimpleNamespace, end: aiohttp.TraceRequestEndParams) -> None:
        peer = context.trace_request_ctx
        host = end.url.host or ""
        is_chosen = peer is None and end.url.scheme == "https"
        if not (is_chosen or peer) or is_own_host(host):
            return
        time = _date(end.response.headers)
        if time is not None:
            clock.hear(peer or host, time, is_chosen=is_chosen)

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(heard)
    return trace


def _date(headers: Any) -> datetime | None:
    """The sender's time; None where it does not say."""
    try:
        time = parsedate_to_datetime(headers.get("Date", ""))
        age_s = int(headers.get("Age", "0"))
    except (ValueError, TypeError, OverflowError):
        return None
    if time.tzinfo is None or not 0 <= age_s <= _AGE_S_MAX:
        return None
    return time.astimezone(UTC) + timedelta(seconds=age_s)


def sources(settings: Settings, session: http.Http, clock: GuardedClock) -> list[Ask]:
    """Asks each of ``clock.sources`` for the head of a page."""

    def asks(url: str) -> Ask:
        async def ask() -> None:
            with http.translated(url):
                async with await http.request(session, "HEAD", url):
                    pass

        return lambda: within(clock, SOURCE_TIMEOUT_S, ask(), f"{url} did not answer in time")

    return [asks(url) for url in settings.clock.sources]


async def ask_all(asks: Sequence[Ask]) -> None:
    """What cannot be reached says nothing."""

    async def one(ask: Ask) -> None:
        with contextlib.suppress(NodeError):
            await ask()

    await asyncio.gather(*map(one, asks))


# --- looking after it -----------------------------------------------------------------------------


class Watch:
    """Looks at the clock every few seconds, so that a jump is told also where nobody asks; keeps what the
    next run has to know; asks sources."""

    def __init__(
        self, clock: GuardedClock, data_dir: Path, metrics: Metrics, asks: Callable[[], Sequence[Ask]]
    ) -> None:
        """``asks``: whom to ask now."""
        self._clock = clock
        self._data_dir = data_dir
        self._metrics = metrics
        self._asks = asks
        self._asked_s = clock.monotonic()
        self._kept: tuple[object, ...] = ()
        self._follower = Follower("clock", self._turn, clock)

    def start(self) -> None:
        """Begin."""
        self._follower.start()

    async def close(self) -> None:
        """A last look. Idempotent."""
        await self._follower.close(LAST_LOOK_S)

    async def _turn(self) -> Rest:
        standing = self._clock.look()
        every_s = ASK_S if standing is Standing.BELIEVED else ASK_IN_DOUBT_S
        if self._clock.monotonic() - self._asked_s >= every_s and not self._follower.is_stopping:
            self._asked_s = self._clock.monotonic()
            await ask_all(self._asks())
            standing = self._clock.look()
        self._metrics.set(
            clock_in_doubt=int(self._clock.doubt is not None),
            clock_ahead_seconds=self._clock.ahead_s(),
            clock_jumps=self._clock.jumps,
        )
        saved = self._clock.saved()
        kept = (standing, saved.basis, saved.is_accepted, self._clock.jumps)
        if kept != self._kept or self._follower.is_stopping:
            await save(self._clock, self._data_dir)
            self._kept = kept
        return Rest(LOOK_S)


async def accept(clock: GuardedClock, data_dir: Path, recorder: Recorder, version: str) -> dict[str, Json]:
    """The operator's word that the clock of this machine is right: durable, and in the decision log. What
    stood against it, and the time. Raises ``Unavailable``."""
    against = clock.accept()
    await save(clock, data_dir)
    if against:
        entry, private = policy_entry(event="clock_accepted", policy=version, reason="by_operator")
        await recorder.enter(entry, private)
    return {"against": against, "time": format_time(clock.now())}
