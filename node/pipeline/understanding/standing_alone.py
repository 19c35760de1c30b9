"""A follow-up as a question that can be asked alone, where no rule has only one reading of it. Pure.

A language model rewrites it (``node.answer.revise.whole_question``); ``is_made_of`` checks that it kept what
was asked and added nothing. Without one ``guess`` puts the new words into the last question: the answer to a
wrong guess is a note that names its own question, or that nothing is known.

Rules of ``guess``, first that fits; words are those of the language files:
1. What is somebody's ("her number?") is asked of the last question's person or thing. Where the last answer
   says it, the last question is asked again; in other languages than English nothing else can be told.
2. "Who teaches it" takes the last question's thing in the place of its pronoun, in English.
3. A weekday or a number takes the place of the one in the last question, a place that of one behind the same
   preposition.
4. What begins with a preposition, and a weekday, is added at the end.
5. "The kitchen" takes the place of what stands behind an article, in English of the last thing named.
6. Other words are added at the end.
What askers ask of themselves ("who is our teacher") stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from node.language import tables, weekdays
from node.language.reading import fold, read
from node.language.tongue import may_be_english
from node.pipeline.understanding import rules
from node.pipeline.understanding.antecedent import TURN_CHARS_MAX
from node.pipeline.understanding.question import language_of

_LEAD = rules.pattern(r"^(?:(?:<same_for>|for)[\s,]+){0,3}", re.IGNORECASE)
_ASKS = rules.pattern(r"^(?:<question_word>\s|<auxiliary>\s(?:it|that|this|he|she|they)\b)", re.IGNORECASE)
_OPENING = rules.pattern(r"^(?:(?:<question_word>|<auxiliary>|much|many|long)\s+)+", re.IGNORECASE)
_WHO = re.compile(r"^who(?:\b|s\b)", re.IGNORECASE)
_THE_ONE = re.compile(r"^what is the .{1,60}? of (the one who.+)", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|that|this|he|she|they|them|him)\b", re.IGNORECASE)
_VERB_LAST = re.compile(r"\b(?:does|do|did)\b")
_PLACES = frozenset({"on", "in", "at", "with", "without", "after", "before", "from", "to", "by", "during"})
_OWN_DETERMINERS = frozenset({"my", "your", "our", "this", "that"})
_OF_ASKERS = next(rule for rule in rules.rows("refers") if rule.name == rules.OF_ASKERS)
_ALIKE_CHARS = 4
_MARKS = " ?？.!,;:¿¡\"'"
_MAIL = re.compile(r"\S@\S")
_PHONE = re.compile(r"\d[\d /().-]{4,}\d")


@dataclass(frozen=True, slots=True)
class _Words:
    """What one language's file says of follow-ups."""

    lead: re.Pattern[str]
    owned: re.Pattern[str]
    mail: re.Pattern[str]
    phone: re.Pattern[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    for_whom: frozenset[str]
    wheres: frozenset[str]
    predicates: frozenset[str]


@cache
def _words(code: str) -> _Words:
    table = tables.language_table(code, "dialogue")["words"]
    row = {name: frozenset(tables.listed(entries)) for name, entries in table.items()}

    def pattern(template: str) -> re.Pattern[str]:
        return tables.pattern((), {name: entries or ["(?!)"] for name, entries in table.items()}, template)

    return _Words(
        lead=pattern(r"^(?:(?:<same_for>|<and_word>)[\s,]+){0,3}"),
        owned=pattern(r"^(?:(?:<asks_owned>) ){0,2}<owning> (?P<thing>[\w'-]+(?: [\w'-]+){0,2})$"),
        mail=pattern(r"\b(?:<mail>)$"),
        phone=pattern(r"(?:<phone>)$"),
        determiners=row["definite"] | row["indefinite"] | _OWN_DETERMINERS,
        prepositions=row["prepositions"] | row["for_whom"],
        for_whom=row["for_whom"],
        wheres=row["where_prepositions"],
        predicates=row["predicates"],
    )


def guess(text: str, turn: str, answer: str = "") -> str | None:
    """The question that ``text`` may ask after the question ``turn`` and its ``answer``; None where it names
    nothing new, the turn is long, or the writing has no words with blanks between."""
    body = turn.strip().rstrip(" ?.!")
    if len(turn) > TURN_CHARS_MAX or read(body).script != "latin":
        return None
    words = _words(_code(f"{body} {text}"))
    new = _after(words.lead, text.strip().strip(_MARKS)).strip(_MARKS)
    is_english = may_be_english(f"{body} {new}")
    if _OF_ASKERS.fits(read(text).flat, ""):
        return text
    if (thing := owned(text, turn)) is not None:
        if _holds(thing, answer, words):
            return turn
        return _of_subject(thing, body) if is_english else None
    if is_english and _ASKS.match(new):
        subject = _subject(body, new, words)
        return f"{_PRONOUN.sub(subject, new, count=1) if _PRONOUN.search(new) else f'{new} {subject}'}?"
    if not _content(new):
        return None
    return _placed(new, body, words, is_english=is_english) + "?"


def _subject(body: str, new: str, words: _Words) -> str:
    """What the question is about: of "who runs it" the one who does, but not what is said anew of it."""
    if _WHO.match(body) and re.search(r"\b(?:he|she|they|him|them)\b", new, re.IGNORECASE):
        return f"the one {body}"
    *thing, last = _OPENING.sub("", body).split() or [body]
    is_again = bool(thing) and _bare(last) in words.predicates and _bare(last) in read(new).words
    return " ".join(thing if is_again else [*thing, last])


def owned(text: str, turn: str) -> str | None:
    """What is asked for of somebody or something ("her number?"), folded; None where nothing is."""
    match = _words(_code(f"{turn} {text}")).owned.match(read(text).flat)
    return None if match is None else match["thing"]


def _code(text: str) -> str:
    code = language_of(text)
    return code if code in tables.codes() else tables.ENGLISH


def _after(lead: re.Pattern[str], text: str) -> str:
    match = lead.match(fold(text))
    rest = text[match.end() :] if match is not None and len(fold(text)) == len(text) else text
    return rest or text


def _holds(thing: str, answer: str, words: _Words) -> bool:
    """Whether the answer says what is asked for: by its form, else by its name."""
    if words.mail.search(thing):
        return _MAIL.search(answer) is not None
    if words.phone.search(thing) and _PHONE.search(answer) is None:
        return False
    last = thing.split()[-1]
    said = read(answer).words
    if any(one == last or _alike(one, last) or _ends_with(one, last) for one in said):
        return True
    return words.phone.search(thing) is not None


def _ends_with(one: str, other: str) -> bool:
    """ "telefonnummer" and "nummer" """
    return min(len(one), len(other)) > _ALIKE_CHARS and (one.endswith(other) or other.endswith(one))


def _of_subject(thing: str, body: str) -> str:
    before = _THE_ONE.match(body)  # "and his address?" before "and his number?"
    subject = before[1] if before is not None else _OPENING.sub("", body)
    if _WHO.match(body):
        subject = f"the one {body}"
    return f"what is the {thing} of {subject}?"


def _placed(new: str, body: str, words: _Words, *, is_english: bool) -> str:
    """The question with the new words at their place, without its mark."""
    old, news = body.split(), new.split()
    first = _bare(news[0])
    rest = news[1:]
    day = any(_is_day(_bare(one)) for one in news)
    if (made := _in_place_of_its_kind(news, old, words)) is not None:
        return made
    has_article = bool(rest) and _bare(rest[0]) in words.determiners
    is_there = not day and (first in words.wheres or (has_article and first in words.prepositions))
    if is_there and (made := _behind(first, news, old, words)) is not None:
        return made
    if first in words.for_whom and has_article:
        news, first = rest, _bare(rest[0])
    elif first in words.prepositions or first in _PLACES or day:
        return f"{body} {' '.join(news)}"
    made = _behind_article(news, old, words) if first in words.determiners else None
    if made is None and is_english:
        made = _last_thing(news, old, words)
    return made or f"{body} {' '.join(news)}"


def _in_place_of_its_kind(news: Sequence[str], old: Sequence[str], words: _Words) -> str | None:
    """A weekday for a weekday, a number for a number; None where one of them has none, or names more."""
    for is_kind in (_is_day, _is_number):
        here = [at for at, one in enumerate(news) if is_kind(_bare(one))]
        there = [at for at, one in enumerate(old) if is_kind(_bare(one))]
        others = {_bare(one) for at, one in enumerate(news) if at not in here}
        small = words.prepositions | words.determiners
        if not (here and there) or others - small - {_bare(one) for one in old}:
            continue
        start, end = there[0], there[-1] + 1
        if here[0] == 0 or others - small:
            news = [one for at, one in enumerate(news) if at in here]
        else:
            while start > 0 and _bare(old[start - 1]) in small:
                start -= 1
        return " ".join([*old[:start], *news, *old[end:]])
    return None


def _is_day(word: str) -> bool:
    return weekdays.day_of(word) is not None


def _is_number(word: str) -> bool:
    return any(map(str.isdigit, word))


def _behind(first: str, news: Sequence[str], old: Sequence[str], words: _Words) -> str | None:
    """A place for the place behind the same preposition."""
    places = [at for at, one in enumerate(old[:-1]) if _bare(one) == first]
    if not places:
        return None
    start = places[-1]
    end = start + 2
    if _bare(old[start + 1]) in words.determiners:
        end += 1
    while end < len(old) and old[end][:1].isupper() and old[end - 1][:1].isupper():
        end += 1
    return " ".join([*old[:start], *news, *old[end:]])


def _behind_article(news: Sequence[str], old: Sequence[str], words: _Words) -> str | None:
    """A thing with its article for the last one in the question, but for what it is said to be: "open"."""
    starts = [at for at, one in enumerate(old[:-1]) if _bare(one) in words.determiners]
    if not starts:
        return None
    start = starts[-1]
    end = start + 2
    if may_be_english(" ".join(old)):
        end = _ends(old, words)
        if end <= start + 1:
            end = len(old)
    else:
        while end < len(old) and old[end][:1].isupper() and not old[end - 1][:1].isupper():
            end += 1
    return " ".join([*old[:start], *news, *old[end:]])


def _last_thing(news: Sequence[str], old: Sequence[str], words: _Words) -> str | None:
    end = _ends(old, words)
    start = end
    while start > 0 and _content(old[start - 1]):
        start -= 1
    return None if start == end else " ".join([*old[:start], *news, *old[end:]])


def _ends(old: Sequence[str], words: _Words) -> int:
    """Where the last thing of an English question ends: before its verb, or before what it is said to be."""
    is_said = len(old) > 1 and (
        _VERB_LAST.search(" ".join(old).casefold()) is not None or _bare(old[-1]) in words.predicates
    )
    return len(old) - (1 if is_said else 0)


def _bare(word: str) -> str:
    return fold(word).strip(_MARKS)


def names_more(text: str) -> bool:
    """Whether it asks the last question of something else ("and on Sundays?"), unlike "really?"."""
    lead = _LEAD.match(text.strip())
    return lead is not None and lead.end() > 0 and bool(_content(text.strip()[lead.end() :]))


def is_made_of(whole: str, text: str, said: Iterable[str]) -> bool:
    """Whether ``whole`` asks all that ``text`` names, and names nothing that neither ``text`` nor what was
    ``said`` before does."""
    asked, known = _content(text), _content(" ".join([text, *said]))
    made = _content(whole)
    kept = all(any(_alike(one, other) for other in made) for one in asked)
    return bool(made) and kept and all(any(_alike(one, other) for other in known) for one in made)


def _content(text: str) -> list[str]:
    """Words that name something; of other languages than English the longer ones."""
    least = 1 if may_be_english(text) else _ALIKE_CHARS
    words = read(text).words
    return [one for one in words if len(one) >= least and one not in rules.NO_CONTENT and one not in _PLACES]


def _alike(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) >= _ALIKE_CHARS and one[:4] == other[:4])
