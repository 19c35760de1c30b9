"""Outlets of news by the names that people give them, and which one a text names. Pure.

Names of configured outlets are handed in; a domain counts as its own name. "News about Reuters" asks about
the outlet, not for its headlines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from adapters.news.words import ABOUT, ARTICLES, NEWS, PRESS
from node.language.reading import word_list

HACKER_NEWS = "hacker news"
OUTLETS: Mapping[tuple[str, ...], str] = {
    tuple(name.replace("-", " ").replace("_", "-").split()): row.split()[0]
    .replace("-", " ")
    .replace("_", "-")
    for row in (
        "hacker-news hn hackernews ycombinator y-combinator news.ycombinator.com",
        "bbc bbc.com bbc.co.uk",
        "cnn cnn.com",
        "guardian the-guardian theguardian.com",
        "reuters reuters.com",
        "associated-press ap-news apnews",
        "new-york-times nyt nytimes the-new-york-times ny-times nytimes.com",
        "washington-post the-washington-post wapo",
        "wall-street-journal wsj the-wall-street-journal",
        "financial-times the-financial-times",
        "al-jazeera aljazeera",
        "deutsche-welle dw",
        "npr npr.org",
        "bloomberg",
        "cnbc",
        "fox-news",
        "sky-news",
        "abc-news",
        "cbs-news",
        "nbc-news",
        "euronews",
        "france-24 france24",
        "usa-today",
        "techcrunch tech-crunch",
        "ars-technica arstechnica",
        "the-verge",
        "coindesk",
        "cointelegraph",
        "spiegel der-spiegel",
        "tagesschau",
        "heise heise.de",
        "le-monde lemonde",
        "le-figaro",
        "el-pais elpais",
        "la-repubblica",
        "slashdot",
        "lobsters lobste.rs",
        "nhk",
    )
    for name in row.split()
}
_HOLDS_NEWS = frozenset(name for name in OUTLETS.values() if name.endswith("news"))
_DOMAIN = re.compile(
    r"(?:[a-z0-9-]+\.)+(?:com|org|net|io|info|news|de|fr|es|it|pt|br|uk|eu|us|in|jp|cn|ru|ch|at)"
)
_FROM = frozenset(
    word_list(
        "from on by via at in through according_to of per aus von bei auf de des du della en dans sur na"
        " no da do"
    )
)  # fmt: skip
_SECTION_AFTER = frozenset(word_list("frontpage homepage website site feed"))


def find_outlet(words: tuple[str, ...], outlets: Collection[str]) -> tuple[str | None, tuple[str, ...], bool]:
    """The outlet named, the words without it, and whether its name itself said "news"."""
    for at in range(len(words)):
        for size in (4, 3, 2, 1):
            run = words[at : at + size]
            name = OUTLETS.get(run)
            if name is None and size == 1 and (run[0] in outlets or _DOMAIN.fullmatch(run[0])):
                name = run[0]
            if name is None:
                continue
            start, end = at, at + size
            before = words[start - 1] if start else ""
            if before in ARTICLES and start >= 2:
                before = words[start - 2]
            after = words[end] if end < len(words) else ""
            if run == ("dw",) and before not in _FROM and after not in NEWS:
                continue
            # "usa today": an outlet only where it is asked from, for "in the usa today" is a place and a day
            if name == "usa today" and before not in ("from", "by", "via") and after not in NEWS:
                continue
            if name == "le monde" and before in ("dans", "in", "sur", "pour", "du"):
                continue
            # "news about reuters" asks about the outlet, not for its headlines
            if before in ("about", "about:", "uber", "sobre", "regarding", "concerning"):
                continue
            if start and words[start - 1] in ARTICLES:
                start -= 1
            if start and words[start - 1] in _FROM:
                start -= 1
            if start >= 2 and words[start - 1] == "to" and words[start - 2] == "according":
                start -= 2
            if end < len(words) and words[end] in _SECTION_AFTER:
                end += 1
            holds = name in _HOLDS_NEWS
            return name, words[:start] + words[end:], holds
    return None, words, False


def without_press(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without "in the papers" and the like, which stand for an outlet; with them where there are
    none, and where they may be what is asked about."""
    start = end = next((at for at, word in enumerate(words, 1) if word in PRESS), 0)
    for taken in (PRESS, ARTICLES, _FROM - {"do"}):
        start -= start > 0 and words[start - 1] in taken
    return words[:start] + words[end:] if ABOUT.isdisjoint(words[:start]) else words
