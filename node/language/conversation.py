"""Conversation: greetings, thanks, questions about the node itself, and orders on the last answer. Pure.

Rules:
1. A text is conversation only if phrases of one language and fillers account for every word of each of its
   clauses: "help" is, "help me understand inflation" is not.
2. Conversation at the start or end of a longer text is left away, clause by clause: "hi, what is 2+2?" asks
   "what is 2+2?".
3. An order ("shorter", "auf Deutsch") is a whole text too. What it works on is the caller's to know.
4. The reply is in the language of the phrases; where several fit, in the first of ``phrases.languages``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from node.language import tables, tongue
from node.language.phrases import (
    Language,
    Phrases,
    Words,
    fitting,
    is_sign,
    joined,
    language,
    words_in,
)
from node.language.reading import fold
from node.language.tables import ENGLISH

CHARS_MAX = 300
"""Longer texts are no small talk as a whole; a greeting before them is looked for all the same."""
_CLAUSE_WORDS = 18
_WRITE_WORDS = 4
"""An order to write stands among the first words."""
_OWN = frozenset({"i", "we", "to", "么", "何"})
"""Behind these it is no order: "how do I write to …", "how to write", "怎么写"."""
_EDGES_MAX = 4
_SAID_MAX = 2
_MANNERS = ("shorter", "simpler", "language")
"""Orders that say how an answer is wanted, of this one as well as of the last."""
_PHATIC = ("how_are_you", "thanks", "farewell", "greeting")
"""Topics that ask for nothing; of several the first in this order is replied to."""
_EDGE = re.compile(r"[,.!?;:…]+(?=\s|$|[\u3040-\u9fff])|[。，！？、；：～]+|\n+|\s[-–—]\s")
_AND_FOR_WHOM = tables.pattern((), tables.classes("dialogue"), r"^(?:<and_word>) (?:<for_whom>) ")
"""Asks the last question of others, as "for kids" alone does not."""
_JOINS = re.compile(r"(?:and|but|so|und|aber|also|y|pero|et|mais|e|ma|mas|и|а|но)\s+(?=\S)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """What a conversational text says: topics in the order of the language's file."""

    code: str
    topics: tuple[str, ...]

    @property
    def is_phatic(self) -> bool:
        """Whether it asks for nothing."""
        return all(topic in _PHATIC for topic in self.topics)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done with the last answer. ``target``: the language that it shall be in, as a model is
    told it, empty for that of the answer. ``code``: the language of the order itself."""

    kind: str
    code: str
    target: str = ""


def subject(text: str) -> str:
    """The text without the words that say how an answer is wanted ("explain X like I'm five"): what it is
    about. The text itself where there are none, or nothing else, or it is long."""
    words = words_in(fold(text))
    kept = _without_manner(text)
    return joined(kept) if 0 < len(kept) < len(words) else text


def is_manner(text: str) -> bool:
    """Whether it says how an answer is wanted and nothing else: "easy words", "short please"."""
    ordered = order(text)
    if ordered is not None:
        return ordered.kind in _MANNERS
    return bool(words_in(fold(text))) and not _without_manner(text)


def _without_manner(text: str) -> list[str]:
    words = tuple(words_in(fold(text)))
    if len(text) > CHARS_MAX:
        return list(words)
    ones = fitting(words)
    kept: list[str] = []
    at = 0
    while at < len(words):
        ends = max((end for one in ones for end in one.manner.ends(words, at)), default=at)
        if ends == at:
            kept.append(words[at])
        at = max(ends, at + 1)
    return kept


@lru_cache(maxsize=32)
def talk(text: str) -> Said | None:
    """What the text says if it is conversation as a whole, else None."""
    if len(text) > CHARS_MAX:
        return None
    clauses = [words for start, end in _clauses(text) if (words := _words(text[start:end]))]
    if not clauses:
        return None
    for one in fitting(word for words in clauses for word in words):
        found = [_topics(words, one) for words in clauses]
        if all(topics is not None for topics in found) and (topics := _joined(found)):
            return Said(one.code, topics)
    # "Hola, how are you?": each clause in a language of its own; the last one is answered.
    mixed = [next((s for one in fitting(words) if (s := _said(words, one))), None) for words in clauses]
    return mixed[-1] if all(mixed) else None


def _said(words: Sequence[str], one: Language) -> Said | None:
    topics = _topics(words, one)
    return Said(one.code, topics) if topics else None


def without(text: str) -> str:
    """The text without conversation at its start and end; as it is where nothing else would be left."""
    spans = _clauses(text)
    first, last = 0, len(spans)
    while first < min(last - 1, _EDGES_MAX) and _is_phatic(text, spans[first]):
        first += 1
    while last > max(first + 1, len(spans) - _EDGES_MAX) and _is_phatic(text, spans[last - 1]):
        last -= 1
    if first == 0 and last == len(spans):
        return text
    start, end = spans[first][0], len(text) if last == len(spans) else spans[last][0]
    kept = text[start:end].strip().rstrip(",;:") if last < len(spans) else text[start:end].strip()
    return _JOINS.sub("", kept, count=1) if first and _JOINS.match(kept) else kept


def order(text: str) -> Order | None:
    """What the whole text orders to do with the last answer, else None."""
    if len(text) > CHARS_MAX:
        return None
    words = [word for word in words_in(fold(text)) if word != ","]
    if not words or _is_long(words) or _AND_FOR_WHOM.match(" ".join(words)):
        return None
    for one in fitting(words):
        if (spelt := one.spelt(words)) is None:
            continue
        for kind, phrases in one.orders.items():
            if _match(spelt, [phrases], one) is not None:
                return Order(kind, one.code, one.named(spelt) if kind == "language" else "")
    return None


def asks_to_write(text: str) -> bool:
    """Whether a text is wanted ("please write a polite mail about …"), which no stored note is."""
    words = tuple(word for word in words_in(fold(text[:CHARS_MAX])) if word != ",")
    places = [at for at in range(min(len(words), _WRITE_WORDS)) if not at or words[at - 1] not in _OWN]
    ones = fitting(words)
    if any(one.writes.ends(words, at) for one in ones for at in places):
        return True
    # Japanese puts the verb last.
    lasts = range(len(words) if words and is_sign(words[-1]) else 0)
    return any(len(words) in one.writes.ends(words, at) for one in ones for at in lasts)


def answer(said: Said, engines: Sequence[str]) -> str:
    """The reply. ``engines``: the language models that are there, by name."""
    topics = {topic.name: topic for topic in language(said.code).talk}
    asked = [name for name in said.topics if name not in _PHATIC][:_SAID_MAX]
    chosen = asked or [next(name for name in _PHATIC if name in said.topics)]
    replies = [topics[name].reply if engines else topics[name].without for name in chosen]
    return " ".join(replies).replace("{model}", ", ".join(engines))


def acknowledge(text: str, *, reacts: bool) -> str:
    """A short reply to what asks nothing. ``reacts``: to what was said, as "ok" and pictures do."""
    reacts = reacts or not any(map(str.isalnum, text))
    first = text[slice(*next(iter(_clauses(text)), (0, 0)))]
    said = talk(first) or talk(first.partition(" ")[0])  # "hi bob"
    if reacts and said is not None and said.is_phatic:
        return answer(said, ())
    code = tongue.language_of(text, sure=False) or ENGLISH
    return language(code).replies["reaction" if reacts else "statement"]


def order_reply(code: str, name: str, text: str = "") -> str:
    """What is said of an order that no model carries out. ``text``: the last answer."""
    return language(code).replies[name].replace("{answer}", text)


# --- within ---------------------------------------------------------------------------------------


def _clauses(text: str) -> list[tuple[int, int]]:
    """Where the clauses stand that have a letter or digit, each with the marks behind it."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _EDGE.finditer(text):
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    if any(char.isalnum() for char in text[start:end]):
        spans.append((start, end))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in words_in(fold(text)) if word != ",")


def _is_long(words: Sequence[str]) -> bool:
    """Signs are not counted: of them the length of the text is bound enough."""
    return sum(not is_sign(word) for word in words) > _CLAUSE_WORDS


def _is_phatic(text: str, span: tuple[int, int]) -> bool:
    """Whether one clause of a longer text is but politeness."""
    start, end = span
    words = _words(text[start:end]) if end - start <= CHARS_MAX else ()
    for one in fitting(words) if words else ():
        topics = _topics(words, one)
        if topics is not None:
            return all(topic in _PHATIC for topic in topics) and bool(topics)
    return False


def _topics(words: Sequence[str], one: Language) -> tuple[str, ...] | None:
    """The topics of a clause, none for fillers alone; None where a word is left over."""
    if _is_long(words) or (spelt := one.spelt(words)) is None:
        return None
    found = _match(spelt, [topic.phrases for topic in one.talk], one)
    return None if found is None else tuple(one.talk[place].name for place in sorted(found))


def _match(words: Words, groups: Sequence[Phrases], one: Language) -> frozenset[int] | None:
    """Which groups account for the words, fillers left aside; None if they do not, or an order is none. The
    best way to each place is kept: one of few phrases, so that "good morning" is not "good" and "morning"."""
    best: dict[int, tuple[int, frozenset[int]]] = {0: (0, frozenset())}
    for at in range(len(words)):
        if at not in best:
            continue
        cost, found = best[at]
        ways = [(end, found | {place}) for place, group in enumerate(groups) for end in group.ends(words, at)]
        ways += [(end, found) for end in one.fillers.ends(words, at)]
        for end, groups_then in ways:
            way = (cost + 1, groups_then)
            if end not in best or _rank(way) < _rank(best[end]):
                best[end] = way
    whole = best.get(len(words))
    return None if whole is None or (len(groups) == 1 and not whole[1]) else whole[1]


def _rank(way: tuple[int, frozenset[int]]) -> tuple[bool, int]:
    return (not way[1], way[0])


def _joined(found: Sequence[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(topic for topics in found for topic in topics or ()))
