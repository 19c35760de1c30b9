"""Outlets of news by the names that people give them, and which one a text names. Pure.

Names of configured outlets are handed in; a domain counts as its own name. "News about Reuters" asks about
the outlet, not for its headlines.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from adapters.news.words import WORDS
from node.language.tables import read_table

HACKER_NEWS = "hacker news"
OUTLETS: Mapping[tuple[str, ...], str] = {
    tuple(name.split()): outlet
    for outlet, names in read_table(__package__, "outlets.toml").items()
    for name in names
}
_HOLDS_NEWS = frozenset(name for name in OUTLETS.values() if name.endswith("news"))
_DOMAIN = re.compile(
    r"(?:[a-z0-9-]+\.)+(?:com|org|net|io|info|news|de|fr|es|it|pt|br|uk|eu|us|in|jp|cn|ru|ch|at)"
)
_FROM = WORDS["from"]


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
            if before in WORDS["articles"] and start >= 2:
                before = words[start - 2]
            after = words[end] if end < len(words) else ""
            if run == ("dw",) and before not in _FROM and after not in WORDS["news"]:
                continue
            # "usa today": an outlet only where it is asked from, for "in the usa today" is a place and a day
            if name == "usa today" and before not in ("from", "by", "via") and after not in WORDS["news"]:
                continue
            if name == "le monde" and before in ("dans", "in", "sur", "pour", "du"):
                continue
            # "news about reuters" asks about the outlet, not for its headlines
            if before in ("about", "about:", "uber", "sobre", "regarding", "concerning"):
                continue
            if start and words[start - 1] in WORDS["articles"]:
                start -= 1
            if start and words[start - 1] in _FROM:
                start -= 1
            if start >= 2 and words[start - 1] == "to" and words[start - 2] == "according":
                start -= 2
            if end < len(words) and words[end] in WORDS["section_after"]:
                end += 1
            holds = name in _HOLDS_NEWS
            return name, words[:start] + words[end:], holds
    return None, words, False


def without_press(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without "in the papers" and the like, which stand for an outlet; with them where there are
    none, and where they may be what is asked about."""
    start = end = next((at for at, word in enumerate(words, 1) if word in WORDS["press"]), 0)
    for taken in (WORDS["press"], WORDS["articles"], _FROM - {"do"}):
        start -= start > 0 and words[start - 1] in taken
    return words[:start] + words[end:] if WORDS["about"].isdisjoint(words[:start]) else words
