"""Questions about games in Japanese, Chinese and Russian. Pure, bounded.

Words are found in the text itself: the time, the names and the words of the topic are cut out one after
another; only where nothing but fillers is left is the question certain. Names in Latin letters are read as in
any other text (``tokens``).
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from adapters.grammar import when as time_words
from adapters.scores.sides import sides_of
from adapters.scores.slots import Asked, Found, reason_of
from adapters.scores.strength import STRENGTH_CERTAIN, STRENGTH_TOLD, STRENGTH_VAGUE
from adapters.scores.teams import SCRIPT_LEAGUES, SCRIPT_NAMES, Name
from adapters.scores.tokens import cut, tokens_of
from adapters.scores.words import NOT_PAST_DATES
from node.language.reading import Reading

_SCRIPT_TAGS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (tag, re.compile(pattern))
    for tag, pattern in (
        ("STANDINGS", r"順位表?|排名榜?|积分榜|積分榜|турнирн\w+ таблиц\w+|таблиц\w+|положени\w+"),
        (
            "SCORE",
            r"スコア|試合結果|結果|得点|何対何|比分|赛果|结果|战绩|戰績|几比几|多少比多少"
            r"|сч[её]т\w*|результат\w*|как (?:сыграл\w*|закончил\w*)|сыграл\w*",
        ),
        (
            "WIN",
            r"勝(?:ちました|った|利|者)?|負け(?:ました|た)?|赢了?|贏了?|输了?|輸了?|胜|击败了?|擊敗"
            r"|выигра\w*|побед\w*|проигра\w*|обыгра\w*",
        ),
        (
            "SCHEDULE",
            r"いつ|何時から|何時|日程|次の試合|次の|予定|次は|什么时候|什麼時候|何时|几点|赛程|賽程"
            r"|下一场|下一場|下场|когда|расписани\w*|во сколько|следующ\w+|играют|играет|сыграют",
        ),
        ("GAME", r"試合|ゲーム|戦|比赛|比賽|球赛|对阵|матч\w*|игр[аыуе]\w{0,2}|встреч\w+"),
        ("VS", r"対|vs\.?|对|對|против|х"),
        ("LAST", r"最近|前回|最新|直近|上一场|上一場|上场|последн\w+"),
    )
)
_SCRIPT_TRAPS: Final = re.compile(
    r"なぜ|とは|ルール|歴史|選手|優勝回数|チケット|天気|ニュース|为什么|为何|什么是|历史|球员|门票|规则|天气|新闻|总冠军"
    r"|成立|创立|創立|創設|設立|创建|創建|建队|建隊|创办|誰が作|основа|создан[аоы]?\b|появил"
    r"|почему|объясни|что такое|правила|истори|билет|погод|новост|игрок|тренер|чемпионств|основан"
)
_SCRIPT_FILLER: Final = re.compile(
    r"[の はがをにでとたかねよ、。？?！!・,.]|です(?:か)?|でした(?:か)?|ました|ます|ください|教えて|知りたい"
    r"|どう(?:だった|なった|なって)?|だった|どっち|どちら|どこ|どの|チーム|誰|した|する|ある|あり|対戦"
    r"|球隊|球队|队|隊|的|了|吗|嗎|呢|谁|誰|是|多少|怎么样|怎麼樣|怎样|如何|场|場|有|哪些|哪|在|和|跟"
    r"|与|與|打|请|告诉|我|最后|最终|最終"
    r"|\b(?:кто|как|ли|в|во|с|со|на|у|и|а|за|команд\w*|или|скажи\w*|какой|какая|какие|был\w*|мне|там|сейчас"
    r"|подскажи\w*|баскетбол\w*|футбол\w*)\b"
)
_LATIN_RUN: Final = re.compile(r"[a-z0-9](?:[a-z0-9' -]*[a-z0-9])?")
_RU_TAIL: Final = re.compile(r"(?<![а-я])(?:а|у|е|ов|ам|ами|ах|ом|ы|и)(?![а-я])")
_SCRIPT_BY_LENGTH: Final = sorted(SCRIPT_NAMES, key=len, reverse=True)
_SCRIPT_LEAGUES_BY_LENGTH: Final = sorted(SCRIPT_LEAGUES.items(), key=lambda item: -len(item[0]))


def read_script(reading: Reading, now: datetime, hinted: bool) -> Found | None:
    """The question in ``reading``, ``now`` on the asker's clock."""
    plain = reading.plain[: time_words.PLAIN_CHARS]
    today = now.date()
    if _SCRIPT_TRAPS.search(plain):
        return None
    when, rest = time_words.find_script(plain, today, past=True)
    rest, spots, league = _script_names(rest)
    names = [name for _, name in sorted(spots, key=lambda spot: spot[0])]
    tags: set[str] = set()
    for tag, pattern in _SCRIPT_TAGS:
        replaced = pattern.sub(" ", rest)
        if replaced != rest:
            tags.add(tag)
            rest = replaced
    sides = sides_of(names, league, today.month)
    if sides is None:
        return None
    ahead = bool(when and when.first > today)
    metric = _script_metric(tags, when.said if when else None, ahead)
    if when is not None and metric == "schedule":
        when = time_words.find_script(plain, today)[0] or when
    left = _RU_TAIL.sub(" ", _SCRIPT_FILLER.sub(" ", rest))
    whole = not re.search(r"\w", left)
    evidence = bool(tags - {"LAST", "VS"}) or (sides.opponent is not None and "VS" in tags)
    asked = Asked(
        sides.league,
        sides.team.code if sides.team else None,
        sides.opponent.code if sides.opponent else None,
        when.said if when else None,
        metric,
    )
    strength = 0.0
    if sides.team is not None:
        sure = sides.kind == "name" or sides.opponent is not None or league is not None or evidence
        if sure and (evidence or when is not None):
            strength = STRENGTH_CERTAIN if whole and evidence else 0.75
    elif league is not None and (evidence or when is not None):
        strength = STRENGTH_CERTAIN if whole and evidence else 0.75
    elif {"GAME", "SCORE"} <= tags or ({"GAME", "WIN"} <= tags) or (whole and {"SCORE"} <= tags):
        strength = STRENGTH_VAGUE if whole else 0.6
    if hinted and not strength and (sides.team or league):
        strength = 0.65
    if strength == STRENGTH_CERTAIN and "WIN" in tags and reading.sentences[-1].mark != "?":
        strength = STRENGTH_TOLD
    return Found(asked, strength, reason_of(asked)) if strength else None


def _script_names(text: str) -> tuple[str, list[tuple[int, Name]], str | None]:
    """The text without the names in it, the names with their places, and the league."""
    spots: list[tuple[int, Name]] = []
    league: str | None = None
    for word in _SCRIPT_BY_LENGTH:
        at = text.find(word)
        if at < 0:
            continue
        if "а" <= word[0] <= "я" and at > 0 and text[at - 1].isalpha():
            continue
        spots.append((at, SCRIPT_NAMES[word]))
        text = text[:at] + " " * len(word) + text[at + len(word) :]
    for word, ident in _SCRIPT_LEAGUES_BY_LENGTH:
        at = text.find(word)
        if at < 0:
            continue
        league = league or ident
        text = text[:at] + " " * len(word) + text[at + len(word) :]
    for match in _LATIN_RUN.finditer(text):
        words = cut(match.group().split())
        for token in tokens_of(words, match.group().upper()):
            if token.name is not None:
                spots.append((match.start(), token.name))
            league = league or token.league
        if any(token.name or token.league for token in tokens_of(words, match.group().upper())):
            text = text[: match.start()] + " " * len(match.group()) + text[match.end() :]
    return text, spots, league


def _script_metric(tags: set[str], said: str | None, ahead: bool) -> str:
    if "STANDINGS" in tags:
        return "standings"
    if "SCORE" in tags:
        return "score"
    if "WIN" in tags:
        return "winner"
    if "SCHEDULE" in tags or ahead:
        return "schedule"
    if "GAME" in tags and said in NOT_PAST_DATES and said != "now":
        return "schedule"
    return "score"
