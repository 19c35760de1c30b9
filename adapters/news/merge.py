"""Entries of several sources as one list: the same story once, what was asked for, newest first. Pure.

It promises: what it leaves out fails a stated test (topic, days, source, seen before); an entry without a
date is kept and stands last, except where days were asked for. It knows no feed and no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from urllib.parse import urlsplit, urlunsplit

from adapters.news.words import WORDS
from node.language.reading import fold

URL_CHARS_MAX = 2_000
_TRACKING = re.compile(
    r"(?:utm_\w*|at_\w*|mc_[ce]id|fbclid|gclid|dclid|msclkid|yclid|igshid|cmp|cmpid|ocid|ito|wt_\w*|ns_\w*"
    r"|ref|ref_src|referrer|source|smid|partner|emc|xtor|traffic_source|feedtype|feedname|rss|ftag|sref|srnd)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One story of one source. ``id`` is unique within everything (see ``feeds``), ``url`` absolute http(s)
    or None, ``time`` aware UTC or None; ``words`` is ``haystack`` of title and summary, ``section`` that of
    the feed's own name. ``stale``: read before the source failed."""

    id: str
    title: str
    url: str | None
    time: datetime | None
    source: str
    host: str
    words: str
    section: str = ""
    stale: bool = False


# --- links and titles ---------------------------------------------------------------------------------


def clean_url(url: object) -> str | None:
    """An absolute http(s) address without tracking parameters and fragment; None for anything else."""
    if not isinstance(url, str) or not 8 <= len(url) <= URL_CHARS_MAX:
        return None
    if not url.isascii() or any(char.isspace() or not char.isprintable() or char in '<>"' for char in url):
        return None
    try:
        parts = urlsplit(url)
        if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.username is not None:
            return None
        _ = parts.port
    except ValueError:
        return None
    kept = [pair for pair in parts.query.split("&") if not _TRACKING.fullmatch(pair.split("=", 1)[0].lower())]
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), parts.path, "&".join(kept), ""))


def _link_key(url: str) -> str:
    """Equal for http and https, with and without www and a last slash."""
    _, _, rest = url.partition("://")
    return rest.removeprefix("www.").rstrip("/")


def _title_key(title: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold(title)))


# --- words --------------------------------------------------------------------------------------------

_WORDS = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PREFIX_MIN = 5
"""A topic word this long also finds the words that it begins ("ukrain": ukrainian)."""
_SAME = {"tech": "technology", "crypto": "cryptocurrency", "sport": "sport", "economy": "economic"}


def stem(word: str) -> str:
    """A word without its commonest English endings; the same rule on both sides of a comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 6 and word.endswith("ing"):
        return word[:-3]
    if len(word) > 5 and word.endswith("ed"):
        return word[:-2]
    return word.removesuffix("e") if len(word) > 4 else word


def haystack(text: str) -> str:
    """The stems of a text, each between blanks, with the folded text behind for scripts without blanks."""
    folded = fold(text).replace(".", "") if "." in text else fold(text)
    stems = " ".join(stem(word) for word in _WORDS.findall(folded))
    return f" {stems} \n{folded}" if _HAN.search(folded) else f" {stems} "


def _finds(word: str, haystack_: str) -> bool:
    if _HAN.search(word):
        return word in haystack_
    stemmed = stem(word)
    if f" {stemmed} " in haystack_ or (len(stemmed) >= _PREFIX_MIN and f" {stemmed}" in haystack_):
        return True
    same = _SAME.get(word)
    return same is not None and f" {stem(same)}" in haystack_


def topic_words(topic: str) -> tuple[str, ...]:
    """The words of a topic that an entry is looked through for."""
    words = tuple(dict.fromkeys(_WORDS.findall(fold(topic).replace(".", "").replace("'s ", " "))))
    told = tuple(word for word in words if word not in WORDS["no_subject"])
    subject = tuple(word for word in told if word not in WORDS["general"])
    return subject or told or words


def matches(entry: Entry, words: Sequence[str]) -> int:
    """How many of the topic's words the entry has, 0 when too few: all of one or two, of more all but one.
    The name of the feed counts ("technology")."""
    if not words:
        return 1
    has = sum(_finds(word, entry.words) for word in words)
    if has < len(words) and all(_finds(word, entry.section) for word in words):
        return len(words)
    return has if has >= (len(words) if len(words) <= 2 else len(words) - 1) else 0


def of_source(name: str, title: str, host: str) -> bool:
    """Whether a source called ``title`` at ``host`` is the one that people call ``name``."""
    stems = haystack(title)
    if all(f" {stem(word)} " in stems for word in _WORDS.findall(fold(name)) if word not in ("the", "www")):
        return True
    bare = host.removeprefix("www.")
    if name.removeprefix("www.") == bare or bare.endswith("." + name.removeprefix("www.")):
        return True
    compact = "".join(_WORDS.findall(fold(name)))
    short = {
        "newyorktimes": "nytimes",
        "deutschewelle": "dw",
        "wallstreetjournal": "wsj",
        "associatedpress": "apnews",
    }
    compact = short.get(compact, compact)
    labels = bare.split(".")[:-1]
    return any(
        label in (compact, "the" + compact) or (len(compact) >= 3 and label.startswith(compact))
        for label in labels
    )


# --- the list -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """What entries are kept: all of it empty keeps every entry. Days are those of ``zone``."""

    topic: str | None = None
    first: date | None = None
    last: date | None = None
    zone: tzinfo | None = None


def merge(entries: Iterable[Entry], wanted: Wanted) -> list[Entry]:
    """The wanted entries, each story once, best match first, then newest, undated last."""
    words = topic_words(wanted.topic) if wanted.topic else ()
    scored = [
        (score, entry) for entry in entries if (score := matches(entry, words)) and _in_days(entry, wanted)
    ]
    # sorted is stable: what sources rank first stays first among equals
    scored.sort(key=lambda pair: (-pair[0], pair[1].time is None, -_seconds(pair[1].time)))
    seen: set[str] = set()
    out: list[Entry] = []
    for _, entry in scored:
        keys = {f"id {entry.id}", f"title {_title_key(entry.title)}"}
        if entry.url is not None:
            keys.add(f"link {_link_key(entry.url)}")
        if seen.isdisjoint(keys):
            out.append(entry)
        seen |= keys
    return out


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time is not None else 0.0


def _in_days(entry: Entry, wanted: Wanted) -> bool:
    if wanted.first is None or wanted.last is None:
        return True
    if entry.time is None:
        return False
    day = entry.time.astimezone(wanted.zone).date()
    return wanted.first <= day <= wanted.last
