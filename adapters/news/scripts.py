"""Questions for news in Japanese, Chinese and Russian. Pure, bounded.

Words are found in the text itself: the time, the outlet and the frame are cut out; the rest is the topic. In
scripts that are not read further, a word for news alone makes a weaker claim.
"""

from __future__ import annotations

import re
from datetime import date

from adapters.grammar import when as times
from adapters.news.outlets import HACKER_NEWS
from adapters.news.slots import LIMIT_MAX, TOPIC_CHARS_MAX, Asked, NewsQuestion
from adapters.news.words import PATTERNS, finds
from node.language.reading import Reading

_RU_ABOUT = re.compile(r"\b(?:о|об|про|по теме|в|во|из|по|с)\s+(?P<topic>[а-яa-z0-9][а-яa-z0-9 -]{1,60})$")
_SCRIPT_SOURCES: tuple[tuple[str, str], ...] = (
    (HACKER_NEWS, r"hacker news|ハッカーニュース|ハッカー・ニュース|黑客新闻"),
    ("bbc", r"\bbbc\b|би-би-си"),
    ("nhk", r"\bnhk\b"),
    ("reuters", r"reuters|ロイター|路透社|рейтер"),
    ("cnn", r"\bcnn\b"),
)
_SOURCE_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _SCRIPT_SOURCES)
_SCRIPT_COUNT = re.compile(
    r"(?:トップ|前|топ[- ]?)?\s*(\d{1,2})\s*(?:件|条|條|個|本|つ|个|大"
    r"|главн[а-я]+|последн[а-я]+|новост[а-я]*)"
)
_EDGE = " 、。，,.!！?？・:：「」“”«»-"


def read_script(reading: Reading, today: date, hinted: bool) -> Asked | None:
    """Japanese, Chinese, Russian: the time, the outlet and the frame are cut out, the rest is the topic."""
    plain = reading.plain[: TOPIC_CHARS_MAX * 3]
    if finds("script_traps", plain):
        return None
    source = None
    for name, pattern in _SOURCE_PATTERNS:
        if pattern.search(plain):
            source, plain = name, pattern.sub(" ", plain, count=1)
            break
    when, plain = times.find_script(plain, today, past=True)
    limit = None
    if match := _SCRIPT_COUNT.search(plain):
        limit = max(1, min(int(match[1]), LIMIT_MAX))
        plain = plain[: match.start(1)] + plain[match.end(1) :]
    has_news = finds("script_news", plain) is not None or source == HACKER_NEWS
    loose = finds("script_loose", plain) is not None and (
        when is not None or "мире" in plain or "世界" in plain
    )
    if not has_news and not loose and not hinted:
        return None
    if reading.script == "other":
        return Asked(NewsQuestion(None, when, source, limit), 0.6, "asks for news")
    about = _RU_ABOUT.search(plain.strip(_EDGE)) if reading.script == "cyrillic" else None
    rest = about["topic"] if about is not None else PATTERNS["script_news"].sub(" ", plain)
    joint = PATTERNS["script_loose"].sub(" ", rest)
    joint = PATTERNS["script_frame_words"].sub(" ", PATTERNS["script_frame"].sub(" ", joint))
    kept = " ".join(joint.split()).strip(_EDGE)
    topic = kept if kept and kept not in ("мире", "мира", "世界", "件", "条") else None
    if topic is not None and (len(topic) > 40 or len(topic.split()) > 5):
        return Asked(NewsQuestion(None, when, source, limit), 0.6, "asks for news")
    return Asked(
        NewsQuestion(topic, when, source, limit), 0.9 if has_news or topic is None else 0.7, "asks for news"
    )
