"""The adapter for news: headlines of configured feeds and of Hacker News, with source and time of each.

It promises: a headline in an answer is one that its source published, cleaned and cut, with the source's
name and time; feeds are asked at the same time within the deadline, and one that fails costs only itself;
when all fail that is a ``Failed``, when none has what was asked for a ``Missed``. Headlines from memory after
a failure are marked. Texts are read by ``questions``; the list is made by ``merge``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from adapters.fetch import Http, budgets_of
from adapters.grammar import when as times
from adapters.news import feeds as feeds_
from adapters.news import say
from adapters.news.feeds import DEFAULT_FEEDS, FEEDS_MAX, Feed, Reading
from adapters.news.follow import follow_up_question, phrase
from adapters.news.hacker_news import HOST, NAME, HackerNews
from adapters.news.merge import Entry, Wanted, haystack, merge, of_source, topic_words
from adapters.news.outlets import HACKER_NEWS
from adapters.news.questions import read_question
from adapters.news.slots import LIMIT_DEFAULT, LIMIT_MAX, TOPIC_CHARS_MAX, NewsQuestion, canonical_key
from adapters.news.words import WORDS
from adapters.outcomes import failed
from adapters.outgoing import may_leave
from adapters.remote import Remote, max_age_s
from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import (
    CERTAIN,
    CLAIM,
    Budget,
    Citation,
    Evidence,
    Failed,
    Found,
    Freshness,
    Json,
    Missed,
    Outcome,
    Query,
    Recognition,
    Slots,
    SourceRef,
)
from node.core.settings import AdapterSettings
from node.core.settings import News as NewsSettings
from node.language.reading import word_list

CONFIDENCE = 0.8
CONFIDENCE_STALE = 0.6
MARGIN_S = 0.4
"""Sources are given up this long before the deadline, so that what the others said can still be answered."""
_SECTION_STEMS = haystack(" ".join(sorted(WORDS["tech_section"])))


@dataclass(frozen=True, slots=True)
class _Told:
    """What one source said: a reading or why there is none."""

    name: str
    host: str
    reading: Reading | None
    error: NodeError | None = None


class News(Remote):
    """``node.core.ports.Adapter`` for headlines."""

    name = "news-aggregator"
    disables = "some news may be missing"

    def __init__(self, settings: NewsSettings, hn: AdapterSettings, http: Http, clock: Clock) -> None:
        """``settings.feeds`` empty means ``DEFAULT_FEEDS``, ``("none",)`` none; addresses that are not
        http(s) and those beyond ``FEEDS_MAX`` are left out and counted by ``health``."""
        self._clock = clock
        named = settings.feeds or DEFAULT_FEEDS
        wanted = () if named == ("none",) else tuple(dict.fromkeys(url.strip() for url in named))
        urls = [url for url in wanted if _is_address(url)][:FEEDS_MAX]
        self._unusable = len(wanted) - len(urls)
        self._guards = feeds_.guards_for(urls, clock)
        self._feeds = tuple(
            Feed(url, self._guards[urlsplit(url).hostname or ""], http, clock, timeout_s=settings.timeout_s)
            for url in urls
        )
        self._hn = HackerNews(hn, http, clock) if hn.enabled else None
        super().__init__(*(() if self._hn is None else (self._hn,)))
        self._outlets = frozenset(name for feed in self._feeds for name in _names_of(feed.host))

    # --- understand -------------------------------------------------------------------------------

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        asked = read_question(text, now.date(), hinted=hinted, outlets=self._outlets)
        if asked is None or asked.strength < CLAIM:
            return None  # headlines beside another question are no part of its answer
        question = asked.question
        return Recognition(
            adapter=self.name,
            slots=slots_of(question),
            key=canonical_key(question),
            local=False,
            reason=asked.reason,
            strength=asked.strength,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        today = now.date()
        before = read_question(earlier, today, outlets=self._outlets)
        if before is None or before.strength < CLAIM:
            return None
        meant = follow_up_question(fragment, before.question, today, outlets=self._outlets)
        if meant is None:
            return None
        text = phrase(meant)
        again = read_question(text, today, outlets=self._outlets)
        # Words of a topic may read as something else ("news about news"): nothing is better than a guess.
        return text if again is not None and again.strength >= CERTAIN and again.question == meant else None

    # --- ask --------------------------------------------------------------------------------------

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        question = question_of(recognition.slots, recognition.key, query.local.date())
        if question is None:
            return Missed("the question for news is not one that can be looked up")
        when = question.when
        if when is not None and when.first > query.local.date():
            return Missed(f"there is no news of {when.first.isoformat()} yet")
        asked = self._asked(question, query)
        if not asked:
            return Missed(
                f"{question.source} is not among the sources of news that this node reads"
                if question.source
                else "no source of news is set up"
            )
        told = await asyncio.gather(*asked)
        if all(one.reading is None for one in told):
            return _all_failed(told)
        return self._answered(question, told, recognition, query)

    def _asked(self, question: NewsQuestion, query: Query) -> list[Awaitable[_Told]]:
        """The sources that can have it. A source named is asked alone; if its address does not tell which
        it is, all are, for the titles that they give themselves."""
        deadline = query.deadline - MARGIN_S
        most_s = max_age_s(query)
        wanted: list[Awaitable[_Told]] = []
        source = question.source
        chosen = self._feeds
        if source is not None:
            chosen = tuple(feed for feed in self._feeds if of_source(source, "", feed.host))
            if not chosen and source != HACKER_NEWS:
                chosen = self._feeds
        wanted += [self._ask_feed(feed, deadline, most_s) for feed in chosen]
        may_ask_hn = source == HACKER_NEWS or (source is None and _is_tech(question.topic))
        # Feeds are read as a whole and searched here; Hacker News searches, so that it gets the topic.
        may_ask_hn = may_ask_hn and (question.topic is None or _may_be_sent(question.topic, query.text))
        if self._hn is not None and may_ask_hn:
            wanted.append(self._ask_hn(self._hn, question, deadline, most_s))
        return wanted

    async def _ask_feed(self, feed: Feed, deadline: float, max_age_s: float | None) -> _Told:
        try:
            reading = await feed.entries(deadline=deadline, max_age_s=max_age_s)
        except NodeError as exc:
            return _Told(feed.host, feed.host, None, exc)
        return _Told(reading.parsed.title, feed.host, reading)

    async def _ask_hn(
        self, hn: HackerNews, question: NewsQuestion, deadline: float, max_age_s: float | None
    ) -> _Told:
        first, last = _days(question)
        topic = None if _is_section(question.topic) else question.topic
        try:
            reading = await hn.stories(topic, first, last, deadline=deadline, max_age_s=max_age_s)
        except NodeError as exc:
            return _Told(NAME, HOST, None, exc)
        return _Told(NAME, HOST, reading)

    def _answered(
        self, question: NewsQuestion, told: Sequence[_Told], recognition: Recognition, query: Query
    ) -> Outcome:
        read = [one for one in told if one.reading is not None]
        if question.source is not None:
            read = [one for one in read if of_source(question.source, one.name, one.host)]
            if not read:
                return Missed(f"{question.source} is not among the sources of news that could be read")
        entries: list[Entry] = []
        ages: dict[str, float] = {}
        for one in read:
            if one.reading is None:
                continue
            whole = one.name == NAME and _is_section(question.topic)
            for entry in one.reading.parsed.entries:
                marked = replace(entry, stale=True) if one.reading.stale else entry
                # Hacker News as a whole is about technology.
                entries.append(replace(marked, section=_SECTION_STEMS) if whole else marked)
            if one.reading.stale:
                ages[one.host] = one.reading.age_s
        first, last = _days(question)
        kept = merge(entries, Wanted(question.topic, first, last, query.zone))
        if not kept:
            return Missed(_nothing(question, len(entries)))
        limit = LIMIT_DEFAULT if question.limit is None else question.limit
        return Found(self._evidence(question, kept[:limit], told, ages, recognition))

    def _evidence(
        self,
        question: NewsQuestion,
        shown: Sequence[Entry],
        told: Sequence[_Told],
        ages: dict[str, float],
        recognition: Recognition,
    ) -> Evidence:
        stale = [ages[entry.host] for entry in shown if entry.stale and entry.host in ages]
        as_of = self._clock.now() - timedelta(seconds=max(stale)) if stale else None
        times_ = [entry.time for entry in shown if entry.time is not None]
        headlines: list[Json] = [
            {
                "title": entry.title,
                "source": entry.source,
                "url": entry.url,
                "time": None if entry.time is None else entry.time.isoformat(),
            }
            for entry in shown
        ]
        failures: list[Json] = [
            {"source": one.name, "reason": str(one.error)[:200]} for one in told if one.error is not None
        ]
        data: dict[str, Json] = {
            "headlines": headlines,
            "sources_asked": len(told),
            "sources_failed": failures,
        }
        if stale:
            data["stale"] = True
        return Evidence(
            text=say.answer(question, shown, stale_as_of=as_of),
            source=SourceRef(
                "adapter",
                self.name,
                url=next((entry.url for entry in shown if entry.url), f"https://{shown[0].host}/"),
                time=max(times_) if times_ else None,
            ),
            confidence=CONFIDENCE_STALE if stale else CONFIDENCE,
            freshness=Freshness.NEWS,
            data=data,
            slots=dict(recognition.slots),
            key=canonical_key(question),
            citations=tuple(
                Citation(entry.source, snippet=entry.title, url=entry.url, time=entry.time) for entry in shown
            ),
        )

    # --- what is known now ------------------------------------------------------------------------

    def problems(self) -> list[str]:
        found = feeds_.problems(self._feeds, self._guards) + super().problems()
        if self._unusable:
            found.append(f"{self._unusable} of the addresses in the settings are not used")
        return found

    def budgets(self) -> tuple[Budget, ...]:
        own = (budget for guard in self._guards.values() for budget in budgets_of(guard))
        return (*own, *super().budgets())


# --- slots --------------------------------------------------------------------------------------------


def slots_of(question: NewsQuestion) -> Slots:
    """Always all four, None for what was not said."""
    return {
        "topic": question.topic,
        "when": None if question.when is None else question.when.said,
        "source": question.source,
        "limit": question.limit,
    }


def question_of(slots: Slots, key: str | None, today: date) -> NewsQuestion | None:
    """The question that slots state, each of them checked again; None when one is not usable. ``key`` tells
    the last three days from the day three days ago, for which the slots have one word."""
    topic, when, source, limit = (slots.get(name) for name in ("topic", "when", "source", "limit"))
    if not (_is_text(topic) and _is_text(source)):
        return None
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        return None
    question = NewsQuestion(
        topic if isinstance(topic, str) else None,
        None,
        source if isinstance(source, str) else None,
        min(limit, LIMIT_MAX) if isinstance(limit, int) else None,
    )
    if when is None:
        return question
    if not isinstance(when, str):
        return None
    meant = [
        replace(question, when=moment)
        for span in (True, False)
        if (moment := times.resolve(when, today, span=span, past=True)) is not None
    ]
    return next((one for one in meant if canonical_key(one) == key), meant[0] if meant else None)


def _is_text(value: object) -> bool:
    return value is None or (
        isinstance(value, str) and 0 < len(value) <= TOPIC_CHARS_MAX and value.isprintable()
    )


def _days(question: NewsQuestion) -> tuple[date | None, date | None]:
    """The days asked for; news of now are simply the latest."""
    if question.when is None or question.when.said == "now":
        return None, None
    return question.when.first, question.when.last


def _may_be_sent(topic: str, text: str) -> bool:
    """Whether the topic may leave the node; cut into words, a mail address has no @ any more."""
    return "@" not in text and may_leave(topic)


def _is_tech(topic: str | None) -> bool:
    return topic is not None and any(word in WORDS["tech"] for word in topic.split())


def _is_section(topic: str | None) -> bool:
    """The topic is technology as a whole, which is all that Hacker News is about."""
    return topic is not None and all(word in WORDS["tech_section"] for word in topic_words(topic))


# --- sources ------------------------------------------------------------------------------------------

_SHARED_LABELS = frozenset(
    word_list(
        "feeds feed rss www news xml co com org net uk de fr es it blog blogs api feedburner services"
        " localhost"
    )
)


def _is_address(url: str) -> bool:
    """An http(s) address with a host. Those of feeds may hold what links of entries may not (a user part)."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _names_of(host: str) -> tuple[str, ...]:
    """What people may call a feed's outlet by its host: the labels that tell it from others."""
    labels = host.split(".")[:-1]
    return tuple(
        label
        for label in labels
        if len(label) >= 4
        and label.isalnum()
        and not label.isdigit()
        and label not in _SHARED_LABELS
        and label not in WORDS["everyday"]
    )


# --- outcomes -----------------------------------------------------------------------------------------


def _all_failed(told: Sequence[_Told]) -> Failed:
    """One outcome for several failures: the commonest code, the shortest wait."""
    failures = [failed(one.error) for one in told if one.error is not None]
    codes = [failure.code for failure in failures]
    code = max(dict.fromkeys(codes), key=codes.count)
    first = next(failure for failure in failures if failure.code == code)
    waits = [failure.retry_after_s for failure in failures if failure.retry_after_s is not None]
    reason = (
        first.reason if len(failures) == 1 else f"none of {len(failures)} sources answered: {first.reason}"
    )
    return Failed(code, reason, min(waits) if len(waits) == len(failures) else None)


def _nothing(question: NewsQuestion, read: int) -> str:
    about = f" on {question.topic}" if question.topic is not None else ""
    first, last = _days(question)
    days = "" if first is None else f" of {first}" if first == last else f" from {first} to {last}"
    return (
        f"none of the {read} headlines that were read is{about}{days}"
        if about or days
        else "no headlines were found"
    )
