"""Which texts ask for news, what they ask for, and which only speak of it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.grammar import when as times
from adapters.news.follow import follow_up_question, phrase
from adapters.news.questions import read_question
from adapters.news.slots import NewsQuestion, canonical_key
from node.core.model import CERTAIN, CLAIM
from node.language.reading import word_list

TODAY = date(2026, 5, 18)
"""A Monday."""

Slots = tuple[str | None, str | None, str | None, int | None]


def slots(text: str) -> Slots:
    asked = read_question(text, TODAY)
    assert asked is not None, text
    assert asked.strength >= CLAIM, text
    question = asked.question
    return (
        question.topic,
        None if question.when is None else question.when.said,
        question.source,
        question.limit,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("news", (None, None, None, None)),
        ("latest news about the ECB rate decision", ("ecb rate decision", None, None, None)),
        ("what are newspapers saying about brexit", ("brexit", None, None, None)),
        ("what is the press saying about the strike", ("strike", None, None, None)),
        ("newspapers say about brexit", ("brexit", None, None, None)),
        ("what did the papers write about the king yesterday", ("king", "yesterday", None, None)),
        ("is there anything in the papers about the strike", ("strike", None, None, None)),
        ("what is in the newspapers today", (None, "today", None, None)),
        ("what does the Guardian write about brexit", ("brexit", None, "guardian", None)),
        ("was schreiben die Zeitungen über Merz", ("merz", None, None, None)),
        ("was steht in der Zeitung", (None, None, None, None)),
        ("qué dicen los periódicos sobre Messi", ("messi", None, None, None)),
        ("que disent les journaux sur macron", ("macron", None, None, None)),
        ("qu'écrivent les journaux sur macron", ("macron", None, None, None)),
        ("tech headlines on hacker news", ("tech", None, "hacker news", None)),
        ("what are the top 3 headlines today?", (None, "today", None, 3)),
        ("any news from ukraine", ("ukraine", None, None, None)),
        ("whats in the news", (None, None, None, None)),
        ("What's happening in the world right now?", (None, "now", None, None)),
        ("give me the bbc news headlines", (None, None, "bbc", None)),
        (
            "headlines from the Guardian about climate change this week",
            ("climate change", "this week", "guardian", None),
        ),
        ("what happened in gaza yesterday?", ("gaza", "yesterday", None, None)),
        ("what's the latest on the uk election", ("uk election", None, None, None)),
        ("catch me up on the news", (None, None, None, None)),
        ("catch me up on bitcoin", ("bitcoin", None, None, None)),
        ("hey, what's been going on in the news lately?", (None, None, None, None)),
        ("show me 10 crypto news stories", ("crypto", None, None, 10)),
        ("top stories on HN", (None, None, "hacker news", None)),
        ("hacker news top 5", (None, None, "hacker news", 5)),
        ("fox news headlines", (None, None, "fox news", None)),
        ("sports news from last weekend", ("sports", "last weekend", None, None)),
        ("US election news", ("us election", None, None, None)),
        ("news from the US", ("us", None, None, None)),
        ("what is new in tech this week", ("tech", "this week", None, None)),
        ("did anything happen in the middle east today", ("middle east", "today", None, None)),
        ("I've been away all week, what's the latest news?", (None, None, None, None)),
        ("news about openai from the last 3 days", ("openai", "today-3d", None, None)),
        ("give me five headlines about ai", ("ai", None, None, 5)),
        ("can you summarise today's news for me", (None, "today", None, None)),
        ("what is the bbc reporting about gaza", ("gaza", None, "bbc", None)),
        ("anything about solana in the news?", ("solana", None, None, None)),
        ("is bitcoin in the news today", ("bitcoin", "today", None, None)),
        ("anything on hacker news about sqlite?", ("sqlite", None, "hacker news", None)),
        ("what's going on tonight in Lisbon", ("lisbon", "tonight", None, None)),
        ("lastest news about nvidia", ("nvidia", None, None, None)),
        ("read me the headlines", (None, None, None, None)),
        ("news about the New York Times", ("new york times", None, None, None)),
        ("science news of the week", ("science", "this week", None, None)),
        ("news about the history of tariffs", ("history of tariffs", None, None, None)),
        ("what happened at the UN today", ("un", "today", None, None)),
        ("últimas noticias sobre la economía", ("economía", None, None, None)),
        ("noticias de hoy", (None, "today", None, None)),
        ("noticias deportivas", ("deportivas", None, None, None)),
        ("¿Qué pasó ayer en Madrid?", ("madrid", "yesterday", None, None)),
        ("was gibt's Neues zum Klimagipfel?", ("klimagipfel", None, None, None)),
        ("aktuelle Nachrichten aus der Ukraine", ("ukraine", None, None, None)),
        ("Schlagzeilen von heute", (None, "today", None, None)),
        ("Sportnachrichten", ("sport", None, None, None)),
        ("les dernières nouvelles sur l'inflation", ("inflation", None, None, None)),
        ("quelles sont les actualités du jour", (None, "today", None, None)),
        ("que se passe-t-il en ukraine", ("ukraine", None, None, None)),
        ("ultime notizie su Milano", ("milano", None, None, None)),
        ("últimas notícias sobre o brasil", ("brasil", None, None, None)),
        ("o que aconteceu hoje", (None, "today", None, None)),
        ("今日のニュース", (None, "today", None, None)),
        ("テスラの最新ニュースを教えて", ("テスラ", None, None, None)),
        ("关于特斯拉的最新新闻", ("特斯拉", None, None, None)),
        ("последние новости", (None, None, None, None)),
        ("покажи новости из Украины", ("украины", None, None, None)),
        ("any headlnes on the farmers strike", ("farmers strike", None, None, None)),
        ("recnt news about vaccines", ("vaccines", None, None, None)),
        ("five science headlines please", ("science", None, None, 5)),
        ("science headlines, five of them", ("science", None, None, 5)),
        ("headlines about chip exports, two is enough", ("chip exports", None, None, 2)),
        ("titulares sobre el mundial, tres nada mas", ("mundial", None, None, 3)),
        ("what are people saying on Hacker News about rust?", ("rust", None, "hacker news", None)),
        ("anything good on hn today?", (None, "today", "hacker news", None)),
        ("was schreibt der Spiegel über die Renten", ("renten", None, "spiegel", None)),
        ("was sagt die Tagesschau zum Haushalt", ("haushalt", None, "tagesschau", None)),
        ("que dice el pais sobre la huelga", ("huelga", None, "el pais", None)),
        ("show me articles about deep sea mining", ("deep sea mining", None, None, None)),
        ("any recent articles about lithium mining", ("lithium mining", None, None, None)),
        ("des articles récents sur le nucléaire", ("nucléaire", None, None, None)),
        ("donne-moi trois titres sur l'économie", ("économie", None, None, 3)),
        ("what is being reported about the plane crash", ("plane crash", None, None, None)),
        ("has anything happened with the Suez canal lately", ("suez canal", None, None, None)),
        ("so what's new in the world of AI", ("ai", None, None, None)),
        ("ANY NEWS ON THE MAYOR'S RACE", ("mayor's race", None, None, None)),
        (
            "I'm writing an essay, could you find news on coral bleaching?",
            ("coral bleaching", None, None, None),
        ),
        ("les gros titres du jour", (None, "today", None, None)),
        ("les actus de la semaine", (None, "this week", None, None)),
        ("news about lithium since saturday", ("lithium", "today-2d", None, None)),
        ("Which headlines mention Tesla?", ("tesla", None, None, None)),
        ("новости за сегодня", (None, "today", None, None)),
    ],
)
def test_questions_and_their_slots(text: str, expected: Slots) -> None:
    assert slots(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "how do newspapers make money",
        "what newspapers are there in France",
        "what do research papers say about sleep",
        "what do people say about the press in france",
        "write about the press in france",
        "newspapers say the war is over",
        "news anchor salary",
        "how do news anchors prepare",
        "what is fake news",
        "I have great news",
        "the news today was depressing",
        "good news everyone",
        "no news is good news",
        "who founded hacker news",
        "what is hacker news",
        "how does hacker news rank stories",
        "is the news biased",
        "why is the news so negative",
        "how often should i check the news",
        "best news app",
        "who owns fox news",
        "write a headline for my blog",
        "write me a news article about cats",
        "what is the meaning of breaking news",
        "what time is the news on bbc",
        "newspaper history",
        "Huey Lewis and the News",
        "who sings the song bad news",
        "what happened in 1989",
        "what happened on 11 september 2001",
        "what happened to amelia earhart",
        "what is happening in the movie inception",
        "what is going on with my code",
        "what's new in python 3.12",
        "what is the latest version of ubuntu",
        "any updates on my application",
        "what's up",
        "what's new with you",
        "I read the news about the ECB",
        "he told me the news yesterday",
        "explain the news cycle",
        "price of bitcoin",
        "weather in paris tomorrow",
        "who wrote hamlet",
        "新闻学是什么",
        "what makes news go viral",
        "what makes a headline clickbait",
        "what is the plot of the shipping news",
        "donne-moi trois titres de Daft Punk",
        "what do people think about pineapple pizza",
        "show me articles of incorporation",
        "tell me stories about pirates",
        "what did i miss in class",
        "0,,",
        ",",
        "",
    ],
)
def test_what_only_speaks_of_news_is_no_claim(text: str) -> None:
    asked = read_question(text, TODAY)
    assert asked is None or asked.strength < CLAIM


def test_every_word_accounted_for_is_certain_and_others_are_not() -> None:
    for text, certain in (
        ("latest news about Tesla", True),
        ("tech headlines", True),
        ("did you see anything of the news your aunt sent around", False),
    ):
        asked = read_question(text, TODAY)
        assert (asked is not None and asked.strength >= CERTAIN) == certain, text


def test_a_hint_replaces_the_patterns_and_leaves_the_traps() -> None:
    assert read_question("what about the strikes in France", TODAY) is None
    asked = read_question("what about the strikes in France", TODAY, hinted=True)
    assert asked is not None
    assert asked.question.topic == "strikes in france"
    assert read_question("what is fake news", TODAY, hinted=True) is None


def test_configured_outlets_are_sources() -> None:
    asked = read_question("headlines from dailyplanet", TODAY, outlets={"dailyplanet"})
    assert asked is not None
    assert asked.question == NewsQuestion(source="dailyplanet")


def test_keys_hold_days_and_never_words() -> None:
    for text, key in (
        ("news", "news:-:-:-:-"),
        ("what is in the news right now", "news:-:-:-:-"),
        ("today's news", "news:-:-:2026-05-18:-"),
        ("news from the last 3 days", "news:-:-:2026-05-15/2026-05-18:-"),
        ("top 3 bbc headlines about tesla from yesterday", "news:tesla:bbc:2026-05-17:3"),
    ):
        asked = read_question(text, TODAY)
        assert asked is not None
        assert canonical_key(asked.question) == key


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("and Ukraine?", NewsQuestion("ukraine", None, "bbc", 3)),
        ("what about the economy?", NewsQuestion("economy", None, "bbc", 3)),
        ("and yesterday?", NewsQuestion("tesla", times.resolve("yesterday", TODAY), "bbc", 3)),
        ("on hacker news?", NewsQuestion("tesla", None, "hacker news", 3)),
        ("only 5", NewsQuestion("tesla", None, "bbc", 5)),
        ("y mañana?", NewsQuestion("tesla", times.resolve("tomorrow", TODAY), "bbc", 3)),
    ],
)
def test_a_follow_up_fills_one_slot(fragment: str, expected: NewsQuestion) -> None:
    earlier = NewsQuestion("tesla", None, "bbc", 3)
    assert follow_up_question(fragment, earlier, TODAY) == expected


@pytest.mark.parametrize(
    "fragment",
    [
        "",
        "why?",
        "and",
        "?",
        "tell me a joke about it",
        "and why?",
        "and the weather?",
        "x" * 3_000,
        "ukraine",
    ],
)
def test_what_is_no_follow_up(fragment: str) -> None:
    assert follow_up_question(fragment, NewsQuestion("tesla"), TODAY) is None


@settings(max_examples=200)
@given(
    topic=st.one_of(
        st.none(),
        st.lists(
            st.sampled_from(["tesla", "rates", "climate", "election", "gold", "strike", "floods", "ecb"]),
            min_size=1,
            max_size=4,
        ).map(" ".join),
    ),
    source=st.sampled_from([None, "bbc", "hacker news", "new york times"]),
    said=st.sampled_from(
        [None, "today", "yesterday", "last week", "today-3d", "2026-05-01", "last friday", "2026-04"]
    ),
    limit=st.one_of(st.none(), st.integers(1, 20)),
)
def test_a_phrase_is_read_back_with_certainty(
    topic: str | None, source: str | None, said: str | None, limit: int | None
) -> None:
    when = None if said is None else times.resolve(said, TODAY, span=True, past=True)
    question = NewsQuestion(topic, when, source, limit)
    asked = read_question(phrase(question), TODAY)
    assert asked is not None
    assert asked.question == question
    assert asked.strength >= CERTAIN


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    read_question(text, TODAY)
    read_question(text, TODAY, hinted=True)
    follow_up_question(text, NewsQuestion(), TODAY)


_VOCABULARY = word_list("""
read me the hit with news headlines titres top only just 3 three two max is enough today yesterday since
monday lately last week of the day from bbc hn hacker about on rust what are people saying anything in
world du jour
articles any latest l' économie mayor's , . ?
""")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_VOCABULARY), max_size=8), st.booleans())
def test_any_heap_of_its_own_words_is_read(words: list[str], hinted: bool) -> None:
    asked = read_question(" ".join(words), TODAY, hinted=hinted)
    assert asked is None or 0 < asked.strength <= 1


@pytest.mark.parametrize(
    "text", ["read", "hit me with", "only 3", "top 5, today", "bbc, yesterday", "3, 4,", "?,"]
)
def test_a_clause_of_which_nothing_is_left_is_read(text: str) -> None:
    for hinted in (False, True):
        asked = read_question(text, TODAY, hinted=hinted)
        assert asked is None or 0 < asked.strength <= 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hacker news top 2 about rust", ("rust", None, "hacker news", 2)),
        ("hacker news about rust", ("rust", None, "hacker news", None)),
        ("hn top 3 on ai", ("ai", None, "hacker news", 3)),
    ],
)
def test_a_topic_behind_an_outlet_that_says_news(text: str, expected: Slots) -> None:
    assert slots(text) == expected


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("news about tesla and weather in paris", "tesla"),
        ("news about tesla and the bitcoin price", "tesla"),
        ("news about the lakers and the score of the celtics game", "lakers"),
    ],
)
def test_what_another_source_is_asked_is_no_topic(text: str, topic: str) -> None:
    asked = read_question(text, TODAY)
    assert asked is not None
    assert asked.question.topic == topic
    assert CLAIM <= asked.strength < CERTAIN


def test_and_may_stand_in_a_topic() -> None:
    assert slots("news about google and apple")[0] == "google and apple"
    assert slots("news about oil and gas prices")[0] == "oil and gas prices"
