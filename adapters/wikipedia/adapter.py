"""What Wikipedia says of a subject: the first sentences of its article.

It promises: a text in an answer is the opening of the article that bears the asked title, or to which the
site itself redirects it; a title that means several things is answered with the meanings, and a title that
the site does not have with nothing, never with a neighbour. Texts are untrusted: cleaned, cut at a sentence,
and said to be Wikipedia's. Unless Wikipedia was named as the place to look, all of it is context for a model.

Why the action API and not the summary endpoint: that one answers a redirected title with an HTTP redirect,
which nothing here follows, while ``action=query`` resolves title redirects inside one answer, says so, marks
disambiguation pages, and gives the revision that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote

from adapters.fetch import Http, Reply, Source
from adapters.outcomes import failed
from adapters.outside import listing, mapping, plain, text, unquoted, whole
from adapters.prose import sentences
from adapters.remote import Look, Remote, max_age_s
from adapters.wikipedia import questions
from adapters.wikipedia.questions import folded
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, RateLimited, Rejected, Unavailable
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import (
    CLAIM,
    Citation,
    Evidence,
    Found,
    Freshness,
    Kind,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.settings import AdapterSettings
from node.language.reading import fold

NAME = "wikipedia"
BASE_URL = "https://en.wikipedia.org"
SOURCE = "Wikipedia"
PER_MINUTE = 60
"""The site publishes no figure for readers; asked one after the other, this is far below what it bears."""
CONCURRENCY = 2
TTL_S = 6 * 3_600.0
STALE_FOR_S = 7 * 86_400.0
CONFIDENCE = 0.9
CONTEXT_CHARS = 700
OPENING_CHARS = 2_000
"""Of an article's opening that is kept."""
ANSWER_CHARS = 500
MEANINGS_MAX = 6
LINKS_MAX = 500
HITS_MAX = 5
HOPS_MAX = 6
"""Normalisation and redirects on the way from a title to its page."""
FUTURE = timedelta(minutes=10)

T = TypeVar("T")

_API = "/w/api.php"
_COMMON: Mapping[str, str] = {"action": "query", "format": "json", "formatversion": "2"}
_ACRONYM = 5
_OPENS_SMALL = re.compile(r"(?:The|A|An|In|On|It|This|These|At|As|During) ")


@dataclass(frozen=True, slots=True)
class Article:
    """The opening of an article. ``section``: the title leads to a part of it only. ``ambiguous``: the page
    lists what the title may mean."""

    title: str
    extract: str
    revision: int | None
    revised: datetime | None
    section: bool
    ambiguous: bool


class Wikipedia(Remote):
    """``node.core.ports.Adapter`` for Wikipedia. Safe to call concurrently from one event loop."""

    name = NAME
    disables = "No articles from Wikipedia"

    def __init__(
        self, settings: AdapterSettings, http: Http, clock: Clock, guard: Guard | None = None
    ) -> None:
        """``settings.base_url`` empty means the English one; ``per_minute`` > 0 replaces the default limit.
        The session's User-Agent must name a contact, as the site asks."""
        self._clock = clock
        self._base = (settings.base_url or BASE_URL).rstrip("/")
        self._source = Source(
            self._base,
            http,
            clock,
            guard
            or Guard(
                SOURCE,
                clock,
                Limits(
                    windows=(Window(settings.per_minute or PER_MINUTE, 60.0),),
                    concurrency=CONCURRENCY,
                    attempts=2,
                    breaker_failures=5,
                    breaker_open_s=60.0,
                    cache_entries=1_024,
                    stale_for_s=STALE_FOR_S,
                ),
            ),
            timeout_s=settings.timeout_s,
            explain=lambda reply: explain(reply, clock),
        )
        super().__init__(self._source)

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``."""
        subject = questions.read_subject(text, hinted=hinted)
        if subject is None:
            return None
        how = "asks what Wikipedia says of" if subject.strength >= CLAIM else "an article may tell of"
        return Recognition(
            adapter=NAME,
            slots={"title": subject.title},
            key=subject.key,
            local=False,
            reason=f"{how} {subject.title}",
            strength=subject.strength,
            kind=Kind.DETERMINISTIC,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """The earlier question of another subject. After a question that gets context only, the new one's
        claim is as weak as the earlier one's."""
        return questions.follow_up(fragment, earlier)

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the article's opening, partial unless Wikipedia was asked for; ``Missed`` without an
        article; ``Unclear`` where the title means several things; else ``Failed``."""
        title = recognition.slots.get("title")
        if not isinstance(title, str) or questions.title_of(title, explicit=True) is None:
            return Missed("this is no title of an article")
        partial = recognition.strength < CLAIM
        look = Look(deadline=query.deadline, max_age_s=max_age_s(query))
        try:
            article = await self._article(title, look)
            if article.ambiguous:
                meanings = await self._meanings(article.title, look)
                return self._ambiguous(title, article, meanings, look, partial=partial)
            return Found(self._evidence(title, article, look, partial=partial))
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return failed(exc)

    # --- asking -----------------------------------------------------------------------------------

    async def _article(self, title: str, look: Look) -> Article:
        """Raises ``NotFound`` when no article bears the title."""
        got = await self._pages(spellings(title), look)
        if got.value is None and (other := await self._search(title, look)) is not None:
            got = await self._pages((other,), look)
        if got.value is None:
            raise NotFound(f"Wikipedia has no article called “{title}”")
        look.take(got)
        return got.value

    async def _pages(self, titles: Sequence[str], look: Look) -> Guarded[Article | None]:
        named = "|".join(titles)
        params = {
            "prop": "extracts|pageprops|revisions",
            "exintro": "1",
            "explaintext": "1",
            "ppprop": "disambiguation",
            "rvprop": "ids|timestamp",
            "redirects": "1",
            "titles": named,
        }
        return await self._get(
            params, f"page:{named}", lambda reply: read_article(reply, titles, self._clock.now()), look
        )

    async def _search(self, title: str, look: Look) -> str | None:
        # Without the marks of the search language, so that a title cannot become an expensive query.
        words = " ".join(re.findall(r"[^\W_]+", title))
        params = {
            "list": "search",
            "srsearch": words,
            "srlimit": str(HITS_MAX),
            "srprop": "redirecttitle",
            "srnamespace": "0",
        }
        return (await self._get(params, f"search:{words}", lambda reply: read_hits(reply, title), look)).value

    async def _meanings(self, title: str, look: Look) -> tuple[str, ...]:
        params = {"prop": "links", "plnamespace": "0", "pllimit": str(LINKS_MAX), "titles": title}
        return (
            await self._get(params, f"links:{title}", lambda reply: read_meanings(reply, title), look)
        ).value

    async def _get(
        self, params: Mapping[str, str], key: str, read: Callable[[Reply], T], look: Look
    ) -> Guarded[T]:
        return await self._source.get(
            _API,
            {**_COMMON, **params},
            key=key,
            read=read,
            ttl_s=TTL_S,
            deadline=look.deadline,
            # Only the text of an article is asked for afresh.
            max_age_s=look.max_age_s if key.startswith("page:") else None,
        )

    # --- saying it --------------------------------------------------------------------------------

    def _ambiguous(
        self, title: str, article: Article, meanings: Sequence[str], look: Look, *, partial: bool
    ) -> Outcome:
        if not meanings:
            return Missed(f"“{title}” means several things on Wikipedia")
        listed = _joined([f"“{meaning}”" for meaning in meanings])
        if not partial:
            return Unclear(
                ask=f"“{title}” means several things on Wikipedia. Do you mean {listed}?",
                reason="the title names several articles",
            )
        sentence = f"According to Wikipedia, “{title}” may mean {listed}, among others."
        return Found(self._sourced(sentence, title, article, look, partial=True))

    def _evidence(self, title: str, article: Article, look: Look, *, partial: bool) -> Evidence:
        opening = sentences(article.extract, most=CONTEXT_CHARS if partial else ANSWER_CHARS)
        if not opening:
            raise NotFound(f"Wikipedia's article “{article.title}” has no opening text")
        if _OPENS_SMALL.match(opening):
            opening = opening[0].lower() + opening[1:]
        where = ""
        if article.section or not _same(title, article.title):
            where = f" (article “{unquoted(article.title)}”)"
        return self._sourced(
            f"According to Wikipedia{where}, {opening}", title, article, look, partial=partial
        )

    def _sourced(self, sentence: str, title: str, article: Article, look: Look, *, partial: bool) -> Evidence:
        if look.stale:
            hours = max(1, round(look.age_s / 3_600))
            sentence += f" Wikipedia could not be asked just now; this was read {hours} h ago."
        url = f"{self._base}/wiki/{quote(article.title.replace(' ', '_'), safe='')}"
        locator = "" if article.revision is None else f"revision {article.revision}"
        return Evidence(
            text=sentence,
            source=SourceRef(kind="adapter", id=NAME, url=url, time=article.revised),
            confidence=CONFIDENCE,
            freshness=Freshness.DEFINITION,
            partial=partial,
            data={"title": article.title, "revision": article.revision, "stale": look.stale},
            slots={"title": title},
            key=f"wikipedia:{folded(title)}",
            citations=(
                Citation(
                    source=SOURCE,
                    locator=locator,
                    snippet=sentences(article.extract, most=200),
                    url=url,
                    time=article.revised,
                ),
            ),
        )


# --- titles -------------------------------------------------------------------------------------------


def spellings(title: str) -> tuple[str, ...]:
    """The title as said, then as names and acronyms are written: the site tells large letters from small
    ones. At most three."""
    found = [title]
    if title[1:] == title[1:].lower():
        if " " in title:
            found.append(
                " ".join(w if w in _SMALL_WORDS else w[:1].upper() + w[1:] for w in title.split(" "))
            )
        elif len(title) <= _ACRONYM and title.isalpha():
            found.append(title.upper())
    elif title.isupper() and len(title) > _ACRONYM:
        found.append(title.title())
    return tuple(dict.fromkeys(found))


_SMALL_WORDS = frozenset(
    ("of", "the", "and", "in", "de", "la", "von", "van", "der", "da", "di", "on", "for", "to")
)


def _same(one: str, other: str) -> bool:
    """Whether two titles differ in case, accents, punctuation and a leading article at most."""
    return _bare(one) == _bare(other)


def _bare(title: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold(title))).removeprefix("the ")


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


# --- answers ------------------------------------------------------------------------------------------


def explain(reply: Reply, clock: Clock) -> NodeError | None:
    """The error that the API states in a body, whatever the status."""
    error = reply.stated().get("error") if reply.status == 200 else None
    if error is None:
        return None
    code = text(error.get("code") if isinstance(error, dict) else error, most=40) or "unnamed"
    if code in ("ratelimited", "maxlag", "actionthrottledtext"):
        return RateLimited(f"{SOURCE} asks to wait ({code})", retry_after_s=reply.wait_s(clock))
    if code.startswith(("internal_api_error", "readonly", "cirrussearch")):
        return Unavailable(f"{SOURCE} failed ({code})")
    return Rejected(f"{SOURCE} refused the query ({code})")


def read_article(reply: Reply, titles: Sequence[str], now: datetime) -> Article | None:
    """The page of the first of ``titles`` that has one; None when none has. Raises ``Rejected``."""
    query = mapping(mapping(reply.json(), SOURCE, "answer").get("query"), SOURCE, "pages")
    moves: dict[str, str] = {}
    sections: set[str] = set()
    for kind in ("normalized", "redirects"):
        for entry in listing(query.get(kind, []), SOURCE, "redirects", most=50):
            row = mapping(entry, SOURCE, "redirect")
            source, target = row.get("from"), row.get("to")
            if not isinstance(source, str) or not isinstance(target, str):
                raise Rejected(f"{SOURCE} gave an unreadable redirect")
            moves[source] = target
            if row.get("tofragment"):
                sections.add(target)
    pages: dict[str, Mapping[str, object]] = {}
    for entry in listing(query.get("pages"), SOURCE, "pages", most=50):
        row = mapping(entry, SOURCE, "page")
        if isinstance(row.get("title"), str):
            pages[str(row["title"])] = row
    answered = False
    for title in titles:
        at = title
        for _ in range(HOPS_MAX):
            if at not in moves:
                break
            at = moves[at]
        page = pages.get(at)
        if page is None:
            continue
        answered = True
        # Absent, a title that cannot be, one of another site, or no article (a talk or special page).
        absent = page.get("missing") or page.get("invalid") or page.get("special") or page.get("ns") != 0
        if not absent:
            return _article(page, at in sections, now)
    if not answered and not query.get("interwiki"):
        raise Rejected(f"{SOURCE} answered about another title")
    return None


def _article(page: Mapping[str, object], section: bool, now: datetime) -> Article:
    title = plain(page.get("title"), most=200)
    if not title:
        raise Rejected(f"{SOURCE} gave a page without a title")
    props = page.get("pageprops")
    extract = page.get("extract")
    if extract is not None and not isinstance(extract, str):
        raise Rejected(f"{SOURCE} gave no text")
    revision, revised = _revision(page.get("revisions"), now)
    return Article(
        title=title,
        extract=plain(extract, most=OPENING_CHARS).removesuffix("…"),
        revision=revision,
        revised=revised,
        section=section,
        ambiguous=isinstance(props, dict) and "disambiguation" in props,
    )


def _revision(value: object, now: datetime) -> tuple[int | None, datetime | None]:
    """Number and time of the revision that was read, where they are stated and possible."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return None, None
    row = value[0]
    number = None if row.get("revid") is None else whole(row["revid"], SOURCE, "revision", most=10**12)
    stamp = row.get("timestamp")
    if not isinstance(stamp, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp):
        return number, None
    try:
        at = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as exc:
        raise Rejected(f"{SOURCE} gave an impossible time of a revision") from exc
    if at > now + FUTURE:
        raise Rejected(f"{SOURCE} gave a revision from the future")
    return number, at


def read_hits(reply: Reply, title: str) -> str | None:
    """The title of the hit that is certainly the asked one, by its own name or one that redirects to it."""
    query = mapping(mapping(reply.json(), SOURCE, "answer").get("query"), SOURCE, "search result")
    for entry in listing(query.get("search"), SOURCE, "search result", most=HITS_MAX):
        row = mapping(entry, SOURCE, "search result")
        name, redirect = (plain(row.get(part), most=200) for part in ("title", "redirecttitle"))
        if name and "|" not in name and (_same(name, title) or (redirect and _same(redirect, title))):
            return name
    return None


def read_meanings(reply: Reply, title: str) -> tuple[str, ...]:
    """What a disambiguation page lists under its own name, such as "Mercury (planet)"; failing that, its
    first links."""
    query = mapping(mapping(reply.json(), SOURCE, "answer").get("query"), SOURCE, "pages")
    names: list[str] = []
    for entry in listing(query.get("pages"), SOURCE, "pages", most=1):
        for link in listing(mapping(entry, SOURCE, "page").get("links", []), SOURCE, "links", most=LINKS_MAX):
            row = mapping(link, SOURCE, "link")
            name = unquoted(plain(row.get("title"), most=80))
            if row.get("ns") == 0 and name and "disambiguation" not in name.lower():
                names.append(name)
    base = _bare(re.sub(r"\s*\(.*\)$", "", title))
    bearing = [name for name in names if _bare(name) != base and f" {base} " in f" {_bare(name)} "]
    qualified = [name for name in bearing if _bare(re.sub(r"\s*\(.*\)$", "", name)) == base]
    chosen = list(dict.fromkeys((*qualified, *bearing))) or names
    return tuple(chosen[:MEANINGS_MAX])
