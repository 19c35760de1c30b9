"""RSS, Atom and RDF feeds: fetched by us behind a guard per host, parsed by feedparser from bytes in a
thread.

It promises: an entry has a clean title, an http(s) link or none, and an aware time or none; a feed of any
size or shape costs bounded bytes, entries and depth; nothing in a document makes the parser open a file or
an address (entity declarations and unusual encodings are refused before parsing); a feed that cannot be
read is a ``node.core.errors`` with a reason. The last good reading is kept beside its validators, for 304 and
for failures. It does not choose or rank.
"""

from __future__ import annotations

import asyncio
import calendar
import io
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin, urlsplit

from adapters import outside
from adapters.fetch import Http, Reply, Source, problems_of
from adapters.news.merge import URL_CHARS_MAX, Entry, clean_url, haystack
from node.core.clock import Clock
from node.core.errors import NodeError, Rejected, TimedOut
from node.core.guard import Guard
from node.core.limits import Limits, Window

DEFAULT_FEEDS = (
    "https://feeds.bbci.co.uk/news/world/rss.xml",
    "https://feeds.bbci.co.uk/news/business/rss.xml",
    "https://feeds.bbci.co.uk/news/technology/rss.xml",
    "https://feeds.bbci.co.uk/news/science_and_environment/rss.xml",
    "https://www.theguardian.com/world/rss",
    "https://www.aljazeera.com/xml/rss/all.xml",
    "https://rss.dw.com/rdf/rss-en-all",
    "https://feeds.npr.org/1001/rss.xml",
    "https://rss.nytimes.com/services/xml/rss/nyt/World.xml",
    "https://feeds.arstechnica.com/arstechnica/index",
)
FEEDS_MAX = 20
BODY_BYTES_MAX = 2**20
ENTRIES_MAX = 60
TITLE_CHARS_MAX = 160
SUMMARY_CHARS_MAX = 600
NAME_CHARS_MAX = 60
DEPTH_MAX = 60
"""Elements within elements; feeds have about ten, and what feedparser does grows with the depth."""
FUTURE_MAX = timedelta(days=1)
"""An entry from further ahead has a wrong clock: it counts as undated."""
TTL_S = 300.0
STALE_FOR_S = 12 * 3_600.0


@dataclass(frozen=True, slots=True)
class Parsed:
    """A feed as read: its own title and its entries in its order."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question gets of one feed. ``stale``: read before the source failed."""

    parsed: Parsed
    stale: bool
    age_s: float


@dataclass(slots=True)
class _Fetched:
    """An answer on its way to being parsed: ``body`` is given up when ``parsed`` (or ``error``) is there."""

    body: bytes
    content_type: str
    etag: str
    modified: str
    parsed: Parsed | None = None
    error: Rejected | None = None


class Feed:
    """One feed. Safe for concurrent callers on one event loop."""

    def __init__(self, url: str, guard: Guard, http: Http, clock: Clock, *, timeout_s: float) -> None:
        """``guard`` is shared by the feeds of a host. ``url`` is absolute http(s)."""
        parts = urlsplit(url)
        self.url = url
        self.host = parts.hostname or ""
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._clock = clock
        self._source = Source(
            f"{parts.scheme}://{parts.netloc}",
            http,
            clock,
            guard,
            timeout_s=timeout_s,
            headers={
                "Accept": "application/rss+xml, application/atom+xml, application/xml, text/xml, */*;q=0.1",
            },
            body_bytes_max=BODY_BYTES_MAX,
        )
        self._parsing = asyncio.Lock()
        self._good: _Fetched | None = None
        self.problem = ""
        """Why the last attempt gave nothing new; empty when it went well."""

    async def entries(self, *, deadline: float, max_age_s: float | None) -> Reading:
        """The feed's entries, from memory or the source, never later than ``deadline``. Raises
        ``node.core.errors``."""
        try:
            got = await self._source.get(
                self._path,
                key=self.url,
                read=self._accepted,
                ttl_s=TTL_S,
                deadline=deadline,
                max_age_s=max_age_s,
                headers=self._validators(),
                accept=(200, 304),
            )
            parsed = await self._parsed(got.value, deadline)
        except NodeError as exc:
            self.problem = str(exc)
            raise
        if got.stale:
            self.problem = self.problem or "the last attempt failed"
        else:
            self.problem = ""
        return Reading(parsed, got.stale, got.age_s)

    def _validators(self) -> Mapping[str, str]:
        if self._good is None or self._good.parsed is None:
            return {}
        headers = {"If-None-Match": self._good.etag, "If-Modified-Since": self._good.modified}
        return {name: value for name, value in headers.items() if value}

    def _accepted(self, reply: Reply) -> _Fetched:
        """A look at the answer before it is remembered; raises ``Rejected``."""
        if reply.status == 304:
            if self._good is None or self._good.parsed is None:
                raise Rejected(f"{reply.source} says that nothing changed, though nothing is known of it yet")
            return self._good
        content_type = reply.headers.get("content-type", "")[:200]
        return _Fetched(
            prepared(reply.body, content_type, reply.source),
            content_type,
            _header(reply.headers.get("etag")),
            _header(reply.headers.get("last-modified")),
        )

    async def _parsed(self, fetched: _Fetched, deadline: float) -> Parsed:
        async with self._parsing:
            if fetched.parsed is None and fetched.error is None:
                left = deadline - self._clock.monotonic()
                now = self._clock.now()
                try:
                    async with asyncio.timeout(max(left, 0.0)):
                        parsed = await asyncio.to_thread(
                            parse, fetched.body, fetched.content_type, self.url, self.host, now
                        )
                except TimeoutError as exc:
                    raise TimedOut(f"the feed of {self.host} was not parsed in time") from exc
                except Rejected as exc:
                    fetched.error = exc
                else:
                    fetched.parsed = parsed
                    self._good = fetched
                fetched.body = b""
            if fetched.parsed is None:
                raise fetched.error or Rejected(f"the feed of {self.host} could not be parsed")
            return fetched.parsed


def _header(value: str | None) -> str:
    """A validator to send back: short, printable, in ASCII."""
    text = (value or "").strip()
    return text if len(text) <= 200 and text.isascii() and text.isprintable() else ""


def guards_for(urls: Sequence[str], clock: Clock) -> dict[str, Guard]:
    """One guard per host: a feed is fetched about every ``TTL_S``; the windows bound what impatience adds."""
    guards: dict[str, Guard] = {}
    for url in urls:
        host = urlsplit(url).hostname or ""
        if host not in guards:
            guards[host] = Guard(
                host,
                clock,
                Limits(
                    windows=(Window(30, 60.0), Window(400, 3_600.0)),
                    concurrency=4,
                    attempts=2,
                    breaker_failures=3,
                    breaker_open_s=60.0,
                    cache_entries=FEEDS_MAX,
                    stale_for_s=STALE_FOR_S,
                ),
            )
    return guards


def problems(feeds: Sequence[Feed], guards: Mapping[str, Guard]) -> list[str]:
    """What is wrong with them at the moment, in clauses for people; at most a few."""
    found = [problem for guard in guards.values() for problem in problems_of(guard)]
    told = " ".join(found)
    found += [feed.problem for feed in feeds if feed.problem and feed.problem not in told]
    return list(dict.fromkeys(found))[:6]


# --- before parsing -----------------------------------------------------------------------------------

_ROOT = re.compile(rb"<(?:\w+:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(rb"<!\s*(?:ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)
_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_ENCODINGS = re.compile(
    r"utf-?8|us-ascii|ascii|iso-?8859-\d{1,2}|latin-?\d|windows-12\d\d|cp12\d\d|koi8-[ru]|shift[_-]?jis|sjis"
    r"|x-sjis|euc-?(?:jp|kr)|gb2312|gbk|gb18030|big5|macintosh",
    re.IGNORECASE,
)
_ITEM_END = re.compile(rb"</(?:\w{1,20}:)?(?:item|entry)\s*>", re.IGNORECASE)
_BLANKS = re.compile(rb"[ \t\r\n]{60,}")
"""Runs of these cost feedparser seconds a megabyte, and say nothing."""
ELEMENTS_MAX = 20_000
ENTITIES_MAX = 60_000
TAG_BYTES_MAX = 8_000
ATTRIBUTES_MAX = 120
_BLOCKS = ((b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>"))


def prepared(body: bytes, content_type: str, source: str) -> bytes:
    """The part of a document that is parsed: the first ``ENTRIES_MAX`` entries of something that is a feed.

    Raises ``Rejected`` for what is no feed, declares entities, has a shape that parsers suffer from, or is in
    an encoding in which the markup could not be seen here."""
    body = _BLANKS.sub(b"\n", body)
    head = body[:4_096]
    if b"\0" in head:
        raise Rejected(f"{source} answered in an encoding that is not read")
    if _ROOT.search(head) is None:
        raise Rejected(f"{source} answered with something that is no feed")
    declared = [
        match[1].decode("ascii", "replace") for match in (_DECLARED.match(head),) if match is not None
    ]
    declared += [match[1] for match in (_CHARSET.search(content_type),) if match is not None]
    if any(not _ENCODINGS.fullmatch(name) for name in declared):
        raise Rejected(f"{source} answered in an encoding that is not read")
    if _ENTITY.search(body):
        raise Rejected(f"{source} answered with a document that declares entities of its own")
    ends = [match.end() for match in _ITEM_END.finditer(body)]
    if len(ends) > ENTRIES_MAX:
        body = body[: ends[ENTRIES_MAX - 1]] + body[ends[-1] :]
    _check_shape(body, source)
    return body


def _check_shape(body: bytes, source: str) -> None:
    """Raise ``Rejected`` for shapes that no feed has and that parsers take very long for: deep nesting, tags
    of thousands of attributes, blocks that never end. One pass."""
    if body.count(b"&") > ENTITIES_MAX or body.count(b"]]") > ENTITIES_MAX:
        raise Rejected(f"{source} answered with more than {ENTITIES_MAX} entities or ends of sections")
    at = depth = count = 0
    while (start := body.find(b"<", at)) >= 0:
        count += 1
        if count > ELEMENTS_MAX:
            raise Rejected(f"{source} answered with more than {ELEMENTS_MAX} elements")
        block = next((ends for begins, ends in _BLOCKS if body.startswith(begins, start)), None)
        if block is not None:
            end = body.find(block, start + 2)
        else:
            end = body.find(b">", start, start + TAG_BYTES_MAX)
        if end < 0:
            raise Rejected(f"{source} answered with markup that does not end")
        at = end + 1
        if block is not None or body.startswith(b"<!", start):
            continue
        if body.count(b"=", start, end) > ATTRIBUTES_MAX:
            raise Rejected(f"{source} answered with an element of too many attributes")
        if body.startswith(b"</", start):
            depth = max(0, depth - 1)
        elif body[end - 1 : end] != b"/":
            depth += 1
        if depth > DEPTH_MAX:
            raise Rejected(f"{source} answered with elements nested deeper than {DEPTH_MAX}")


# --- parsing ------------------------------------------------------------------------------------------


def parse(body: bytes, content_type: str, url: str, host: str, now: datetime) -> Parsed:
    """The entries of a prepared document. Blocks; touches nothing but memory. Raises ``Rejected`` when there
    is no feed in it; a feed that is merely malformed gives what can be read."""
    import feedparser  # loaded with the first feed

    try:
        # A stream, never a string: a string that looks like an address or a path would be opened.
        document = feedparser.parse(
            io.BytesIO(body),
            response_headers={"content-type": content_type or "application/xml"},
            resolve_relative_uris=False,
            sanitize_html=False,
        )
        title = outside.plain(document.feed.get("title"), most=NAME_CHARS_MAX) or host
        found = document.entries[:ENTRIES_MAX]
    except (
        ValueError,
        LookupError,
        AttributeError,
        TypeError,
        OverflowError,
        RecursionError,
        AssertionError,
    ) as exc:
        raise Rejected(f"the feed of {host} could not be parsed") from exc
    if not found and not document.get("version"):
        raise Rejected(f"{host} answered with something that is no feed")
    section = haystack(f"{title} {urlsplit(url).path.replace('/', ' ')}")
    # As plain mappings: feedparser's own guesses at what a missing key might mean, and warns of it.
    read = (_entry(dict(one), title, url, host, section, now) for one in found)
    entries = [entry for entry in read if entry is not None]
    return Parsed(title, tuple(entries))


def _entry(
    raw: Mapping[str, object], name: str, url: str, host: str, section: str, now: datetime
) -> Entry | None:
    title = outside.plain(raw.get("title"), most=TITLE_CHARS_MAX)
    if not title:
        return None
    address = _address(raw.get("link"), url)
    said = raw.get("id")
    # Numbers as ids are unique within their feed only.
    marked = (
        said if isinstance(said, str) and said.startswith(("http://", "https://", "urn:", "tag:")) else None
    )
    summary = outside.plain(raw.get("summary"), most=SUMMARY_CHARS_MAX)
    return Entry(
        id=marked[:500] if marked else f"{url} {str(said)[:200] if said else title}",
        title=title,
        url=address,
        time=_time(raw, now),
        source=name,
        host=host,
        words=haystack(f"{title} {summary}"),
        section=section,
    )


def _address(link: object, url: str) -> str | None:
    """The link of an entry, made absolute by its feed's address; None for none that a person could open."""
    if not isinstance(link, str) or not 0 < len(link.strip()) <= URL_CHARS_MAX:
        return None
    try:
        return clean_url(urljoin(url, link.strip()))
    except ValueError:
        return None


def _time(raw: Mapping[str, object], now: datetime) -> datetime | None:
    for name in ("published_parsed", "updated_parsed", "created_parsed"):
        value = raw.get(name)
        if not isinstance(value, time.struct_time):
            continue
        try:
            moment = datetime.fromtimestamp(calendar.timegm(value), UTC)
        except (ValueError, OverflowError, OSError):
            continue
        if moment.year < 1990 or moment - now > FUTURE_MAX:
            return None
        return moment
    return None
