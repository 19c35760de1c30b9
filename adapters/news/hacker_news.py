"""Stories of Hacker News by Algolia's search API (10,000 requests an hour and address are allowed).

It promises entries whose fields were checked one by one: a story with a broken field is left out, an answer
without a list of stories is ``Rejected``. Stories without an address link to their discussion.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import cast

from adapters import outside
from adapters.fetch import Http, Reply, Source
from adapters.news.feeds import FUTURE_MAX, STALE_FOR_S, TITLE_CHARS_MAX, TTL_S, Parsed, Reading
from adapters.news.merge import Entry, clean_url, haystack
from node.core.clock import Clock
from node.core.errors import NodeError, Rejected
from node.core.guard import Guard
from node.core.limits import Limits, Window
from node.core.model import Budget
from node.core.settings import AdapterSettings

PUBLIC_URL = "https://hn.algolia.com"
NAME = "Hacker News"
HOST = "news.ycombinator.com"
STORIES_MAX = 40
PER_MINUTE = 60
RECENT_DAYS = 30
"""How far back a topic is searched when no days are asked for."""


class HackerNews:
    """The source. Safe for concurrent callers on one event loop."""

    def __init__(self, settings: AdapterSettings, http: Http, clock: Clock) -> None:
        per_minute = settings.per_minute or PER_MINUTE
        self._clock = clock
        self._guard = Guard(
            NAME,
            clock,
            Limits(
                windows=(Window(per_minute, 60.0), Window(max(per_minute, 4_000), 3_600.0)),
                concurrency=4,
                attempts=2,
                breaker_failures=4,
                breaker_open_s=60.0,
                cache_entries=128,
                stale_for_s=STALE_FOR_S,
                waiters_max=256,
            ),
        )
        self._source = Source(
            settings.base_url or PUBLIC_URL, http, clock, self._guard, timeout_s=settings.timeout_s
        )

    async def stories(
        self,
        topic: str | None,
        first: date | None,
        last: date | None,
        *,
        deadline: float,
        max_age_s: float | None,
    ) -> Reading:
        """The front page, or the stories on ``topic`` and of the days from ``first`` to ``last`` (and a day
        more on each side: ``merge`` filters by the asker's days). Raises ``node.core.errors``."""
        params = {"tags": "front_page", "hitsPerPage": str(STORIES_MAX)}
        if topic is not None or first is not None:
            today = self._clock.now().date()
            since = first - timedelta(days=1) if first is not None else today - timedelta(days=RECENT_DAYS)
            filters = [f"created_at_i>{_seconds(since)}"]
            if last is not None:
                filters.append(f"created_at_i<{_seconds(last + timedelta(days=2))}")
            params |= {"tags": "story", "numericFilters": ",".join(filters)}
            if topic is not None:
                params["query"] = topic
        got = await self._source.get(
            "/api/v1/search",
            params,
            key=" ".join(f"{name}={value}" for name, value in sorted(params.items())),
            read=self._read,
            ttl_s=TTL_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        return Reading(got.value, got.stale, got.age_s)

    def _read(self, reply: Reply) -> Parsed:
        body = outside.mapping(reply.json(), NAME, "stories")
        hits = outside.listing(body.get("hits"), NAME, "list of stories", most=STORIES_MAX)
        now = self._clock.now()
        entries = [entry for hit in hits if (entry := _story(hit, now)) is not None]
        if hits and not entries:
            raise Rejected(f"{NAME} gave stories that cannot be read")
        return Parsed(NAME, tuple(entries))

    def budgets(self) -> tuple[Budget, ...]:
        """What is left of each limit."""
        return self._source.budgets()

    def problems(self) -> list[str]:
        """What is wrong at the moment, in clauses for people."""
        return self._source.problems()


def _story(hit: object, now: datetime) -> Entry | None:
    if not isinstance(hit, dict):
        return None
    raw = cast("dict[str, object]", hit)
    title = outside.plain(raw.get("title"), most=TITLE_CHARS_MAX)
    number = raw.get("objectID")
    if (
        not title
        or not isinstance(number, str)
        or not number.isascii()
        or not number.isdigit()
        or len(number) > 12
    ):
        return None
    moment: datetime | None = None
    try:
        seconds = outside.whole(raw.get("created_at_i"), NAME, "time", most=10**11)
        moment = datetime.fromtimestamp(seconds, UTC)
    except (NodeError, ValueError, OverflowError, OSError):
        moment = None
    if moment is not None and (moment - now > FUTURE_MAX or moment.year < 2006):
        moment = None
    return Entry(
        id=f"hn {number}",
        title=title,
        url=clean_url(raw.get("url")) or f"https://{HOST}/item?id={number}",
        time=moment,
        source=NAME,
        host=HOST,
        words=haystack(title),
        section="",
    )


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())
