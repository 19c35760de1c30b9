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
from node.language.reading import Reading

_SCRIPT_TRAPS = re.compile(
    r"なぜ|とは|アンカー|キャスター|新闻学|新聞社|为什么|什么是"
    r"|新闻联播|记者|主播|почему|объясни|что такое|ведущ"
    r"|как (?:сделать|писать|работа)"
    r"|書いて|写一|напиши|フェイク|假新闻|фейк"
)
_SCRIPT_NEWS = re.compile(
    r"ニュース|見出し|ヘッドライン|新闻|新聞|头条|頭條|最新消息|消息|новост[а-я]*|заголовк[а-я]*|뉴스|الأخبار|أخبار|समाचार"
)
_SCRIPT_LOOSE = re.compile(
    r"何が(?:起き|起こっ)て|发生了什么|發生了什麼|что (?:нового|происходит|случилось|произошло)|无事"
)
_SCRIPT_FRAME = re.compile(
    r"(?:最新|主な|主要|トップ|重要な|重要|最近|热门|熱門|国内外)(?:の|的)?|つ|を?教えて(?:ください|下さい|くれ)?|を?見せて(?:ください)?|ください"
    r"|は何(?:ですか)?|何がありますか"
    r"|ありますか|(?:は|が)?ある|ですか|何か|世界(?:で|中で)?(?:は|の)?|の?記事|に関する|についての|について|关于|關於|有关|有什么|有哪些|有没有|什么|什麼"
    r"|哪些|吗|呢|请|告诉我|给我|看看|一下"
    r"|的|の|は|を|が|で|何|和|在"
    r"|\b(?:какие|какая|последние|последняя|главные|свежие|покажи|расскажи|дай|мне|есть|самые"
    r"|важные|все|о|об|про|в мире|мире|пожалуйста|топ|сейчас|что|нового|происходит|случилось"
    r"|произошло|по теме|дня|часа|недели|из|в|во|по|на)\b"
)
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
    if _SCRIPT_TRAPS.search(plain):
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
    has_news = _SCRIPT_NEWS.search(plain) is not None or source == HACKER_NEWS
    loose = _SCRIPT_LOOSE.search(plain) is not None and (
        when is not None or "мире" in plain or "世界" in plain
    )
    if not has_news and not loose and not hinted:
        return None
    if reading.script == "other":
        return Asked(NewsQuestion(None, when, source, limit), 0.6, "asks for news")
    about = _RU_ABOUT.search(plain.strip(_EDGE)) if reading.script == "cyrillic" else None
    rest = about["topic"] if about is not None else _SCRIPT_NEWS.sub(" ", plain)
    joint = _SCRIPT_LOOSE.sub(" ", rest)
    kept = " ".join(_SCRIPT_FRAME.sub(" ", joint).split()).strip(_EDGE)
    topic = kept if kept and kept not in ("мире", "мира", "世界", "件", "条") else None
    if topic is not None and (len(topic) > 40 or len(topic.split()) > 5):
        return Asked(NewsQuestion(None, when, source, limit), 0.6, "asks for news")
    return Asked(
        NewsQuestion(topic, when, source, limit), 0.9 if has_news or topic is None else 0.7, "asks for news"
    )
