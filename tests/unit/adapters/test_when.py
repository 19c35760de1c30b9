"""Times as people say them: what is found, what is refused, and that what is written is read back."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar import when
from adapters.grammar.when import When
from node.language.reading import read

TODAY = date(2026, 11, 18)
"""A Wednesday."""


def found(text: str, *, past: bool = False) -> tuple[str | None, tuple[str, ...]]:
    got, rest = when.find(read(text).words, TODAY, past=past)
    return (None if got is None else got.said), rest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("weather tomorrow", "tomorrow"),
        ("the day after tomorrow", "today+2d"),
        ("the day before yesterday", "today-2d"),
        ("did it rain last night", "yesterday"),
        ("this evening", "tonight"),
        ("today's headlines", "today"),
        ("what is on right now", "now"),
        ("at the weekend", "weekend"),
        ("next weekend", "next weekend"),
        ("this past weekend", "last weekend"),
        ("on friday", "friday"),
        ("this coming friday", "friday"),
        ("last friday", "last friday"),
        ("next friday evening", "next friday"),
        ("on sun", "sunday"),
        ("in the last 7 days", "today-7d"),
        ("over the past week", "today-7d"),
        ("the last 24 hours", "today-1d"),
        ("les dernieres 24 heures", "today-1d"),
        ("the last two weeks", "today-14d"),
        ("the past couple of days", "today-2d"),
        ("the next 3 days", "today+3d"),
        ("3 days ago", "today-3d"),
        ("a week ago", "today-7d"),
        ("in 3 days", "today+3d"),
        ("in a day", "tomorrow"),
        ("in two weeks' time", "today+14d"),
        ("last week", "last week"),
        ("this month", "this month"),
        ("next year", "next year"),
        ("2026-11-21", "2026-11-21"),
        ("on 21 November 2026", "2026-11-21"),
        ("Nov 21", "2026-11-21"),
        ("november 21st, 2026", "2026-11-21"),
        ("the 21st of november", "2026-11-21"),
        ("saturday, november 21", "2026-11-21"),
        ("on the 21st", "2026-11-21"),
        ("21.11.2026", "2026-11-21"),
        ("21/11/2026", "2026-11-21"),
        ("11/21/2026", "2026-11-21"),
        ("2026/11/21", "2026-11-21"),
        ("on may 5", "2027-05-05"),
        ("in May 2025", "2025-05"),
        ("may 2025", "2025-05"),
        ("in may", "2027-05"),
        ("last november", "2025-11"),
        ("in 2025", "2025"),
        ("am Freitag", "friday"),
        ("letzten Freitag", "last friday"),
        ("übermorgen", "today+2d"),
        ("morgen früh", "tomorrow"),
        ("heute Abend", "tonight"),
        ("vor drei Tagen", "today-3d"),
        ("in den letzten 7 Tagen", "today-7d"),
        ("nächste Woche", "next week"),
        ("am 21. November 2026", "2026-11-21"),
        ("am Wochenende", "weekend"),
        ("mañana por la mañana", "tomorrow"),
        ("pasado mañana", "today+2d"),
        ("hace 3 días", "today-3d"),
        ("en los últimos 7 días", "today-7d"),
        ("el viernes pasado", "last friday"),
        ("la semana que viene", "next week"),
        ("esta noche", "tonight"),
        ("21 de noviembre de 2026", "2026-11-21"),
        ("après-demain", "today+2d"),
        ("hier soir", "yesterday"),
        ("il y a 3 jours", "today-3d"),
        ("dans 3 jours", "today+3d"),
        ("les 7 derniers jours", "today-7d"),
        ("vendredi prochain", "next friday"),
        ("ce week-end", "weekend"),
        ("le 1er mai 2027", "2027-05-01"),
        ("dopodomani", "today+2d"),
        ("l'altro ieri", "today-2d"),
        ("tre giorni fa", "today-3d"),
        ("la settimana scorsa", "last week"),
        ("stasera", "tonight"),
        ("depois de amanhã", "today+2d"),
        ("na sexta-feira", "friday"),
        ("semana passada", "last week"),
        ("hoje à noite", "tonight"),
        ("tommorow", "tomorrow"),
        ("yesturday", "yesterday"),
        ("on wendsday", "wednesday"),
        ("right now today", "today"),
    ],
)
def test_a_time_is_found_and_taken_out(text: str, said: str) -> None:
    got, _ = when.find(read(text).words, TODAY)
    assert got is not None
    assert got.said == said
    padded, rest = found(f"rain {text} in rome")
    assert padded == said
    assert rest[0] == "rain"
    assert rest[-1] == "rome"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("will it rain in Paris on friday", "will it rain in paris"),
        ("what is the temperature in rome over the next 3 days", "what is the temperature in rome"),
        ("les nouvelles d'aujourd'hui", "les nouvelles"),
        ("noticias de la semana pasada", "noticias"),
        ("what is going on today in lisbon", "what is going on in lisbon"),
    ],
)
def test_its_prepositions_go_with_it(text: str, rest: str) -> None:
    assert found(text)[1] == tuple(rest.split())


@pytest.mark.parametrize(
    "text",
    [
        "03/04/2026",
        "03-04-2026",
        "31 november 2026",
        "30 february",
        "february 30, 2027",
        "2026-13-01",
        "2026-02-30",
        "today and tomorrow",
        "friday 21 november",  # it is a saturday
        "may I ask",
        "it may rain",
        "march on washington",
        "guten Morgen",
        "wie ist das Wetter hier",
        "black friday deals",
        "the sun is hot",
        "no time at all",
        "the last days of pompeii",
        "in 99999 days",
        "in 3 hours",
        "",
    ],
)
def test_what_is_no_one_time_is_none_and_leaves_the_words(text: str) -> None:
    got, rest = found(text)
    assert got is None
    assert rest == read(text).words


def test_bare_weekdays_and_dates_without_a_year_look_ahead_or_back() -> None:
    for text, ahead, back in (
        ("on friday", date(2026, 11, 20), date(2026, 11, 13)),
        ("on wednesday", TODAY, date(2026, 11, 11)),
        ("on november 20", date(2026, 11, 20), date(2025, 11, 20)),
        ("in december", date(2026, 12, 1), date(2025, 12, 1)),
        ("february 29", date(2028, 2, 29), date(2024, 2, 29)),
        ("on the 31st", date(2026, 12, 31), date(2026, 10, 31)),
    ):
        for past, expected in ((False, ahead), (True, back)):
            got, _ = when.find(read(text).words, TODAY, past=past)
            assert got is not None
            assert got.first == expected


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("next friday", "2026-11-27", "2026-11-27"),
        ("last friday", "2026-11-13", "2026-11-13"),
        ("last wednesday", "2026-11-11", "2026-11-11"),
        ("weekend", "2026-11-21", "2026-11-22"),
        ("next weekend", "2026-11-28", "2026-11-29"),
        ("last weekend", "2026-11-14", "2026-11-15"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("next month", "2026-12-01", "2026-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
    ],
)
def test_named_times_mean_these_days(said: str, first: str, last: str) -> None:
    got = when.resolve(said, TODAY)
    assert got == When(said, date.fromisoformat(first), date.fromisoformat(last), first != last)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "soon",
        "today-",
        "today-99999d",
        "2026-13",
        "2026-02-30",
        "0000",
        "9999-12-31",
        "friday ",
        "last now",
        "today-3",
    ],
)
def test_a_malformed_slot_is_none(said: str) -> None:
    assert when.resolve(said, TODAY) is None


def test_the_edges_of_the_calendar_are_none_or_in_range() -> None:
    for today in (date(1, 1, 1), date(9999, 12, 31)):
        for text in (
            "tomorrow",
            "yesterday",
            "next year",
            "last month",
            "in 300 days",
            "300 days ago",
            "in may",
        ):
            got, _ = when.find(text.split(), today)
            assert got is None or got.first <= got.last


SAIDS = st.one_of(
    st.sampled_from(
        ["now", "today", "tonight", "tomorrow", "yesterday", "weekend", "last weekend", "next weekend"]
        + [f"{which} {unit}" for which in ("last", "this", "next") for unit in ("week", "month", "year")]
        + [f"{which}{name}" for which in ("", "last ", "next ") for name in when.WEEKDAYS]
    ),
    st.integers(-2_000, 2_000).map(lambda days: f"today{days:+d}d"),
    st.dates(date(1950, 1, 1), date(2150, 1, 1)).map(date.isoformat),
    st.dates(date(1950, 1, 1), date(2150, 1, 1)).map(lambda day: day.isoformat()[:7]),
    st.integers(1900, 2199).map(str),
)


@given(
    said=SAIDS,
    today=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    span=st.booleans(),
    past=st.booleans(),
)
def test_a_phrase_is_read_back_to_the_same_time(said: str, today: date, span: bool, past: bool) -> None:
    meant = when.resolve(said, today, span=span, past=past)
    assert meant is not None
    assert meant.first <= meant.last
    text = when.phrase(meant)
    assert when.find(read(text).words, today, past=past) == (meant, ())
    assert when.find(read(f"weather in paris {text}").words, today, past=past) == (
        meant,
        ("weather", "in", "paris"),
    )
    assert when.resolve(meant.said, today, span=meant.span, past=past) == meant


@given(st.text(max_size=200), st.dates())
def test_any_text_is_read(text: str, today: date) -> None:
    words = read(text).words
    got, rest = when.find(words, today)
    assert len(rest) <= len(words)
    assert got is not None or rest == words
    when.find_script(read(text).plain, today)
    when.resolve(text, today)


@pytest.mark.parametrize(
    ("text", "said", "rest"),
    [
        ("明日の東京の天気", "tomorrow", "の東京の天気"),
        ("昨日のニュース", "yesterday", "のニュース"),
        ("明後日", "today+2d", ""),
        ("今週末", "weekend", ""),
        ("来週の金曜日", "next friday", ""),
        ("過去7日間", "today-7d", ""),
        ("3日前", "today-3d", ""),
        ("2026年11月21日", "2026-11-21", ""),
        ("今のニューヨーク", "now", "のニューヨーク"),
        ("北京明天天气", "tomorrow", "北京 天气"),
        ("上周五的新闻", "last friday", "的新闻"),
        ("最近三天", "today-3d", ""),
        ("下周一", "next monday", ""),
        ("погода в москве завтра", "tomorrow", "погода в москве"),
        ("новости за последние 3 дня", "today-3d", "новости"),
        ("в пятницу", "friday", ""),
        ("в прошлую пятницу", "last friday", ""),
        ("21 ноября 2026 года", "2026-11-21", ""),
        ("через 3 дня", "today+3d", ""),
        ("3 дня назад", "today-3d", ""),
        ("на прошлой неделе", "last week", ""),
        ("сегодня вечером", "tonight", ""),
    ],
)
def test_other_scripts(text: str, said: str, rest: str) -> None:
    got, left = when.find_script(read(text).plain, TODAY)
    assert got is not None
    assert (got.said, left) == (said, rest)


def test_other_scripts_refuse_like_the_others() -> None:
    for text in ("今日と明日", "2026年2月30日", "сегодня и завтра", "31 ноября 2026 года", "ニュース"):
        assert when.find_script(read(text).plain, TODAY) == (None, read(text).plain)


def test_counted_spans_touch_every_day_of_those_hours() -> None:
    got, _ = when.find(["last", "7", "days"], TODAY)
    assert got == When("today-7d", TODAY - timedelta(days=7), TODAY, True)
