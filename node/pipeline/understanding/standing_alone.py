"""A follow-up as a question that can be asked alone, where no rule has only one reading of it. Pure.

A language model rewrites it (``node.answer.revise.whole_question``); ``is_made_of`` checks that it kept what
was asked and added nothing. Without one ``guess`` puts the new words into the last question, in English: the
answer to a wrong guess is a note that names its own question, or that nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from node.language.reading import read
from node.language.tongue import may_be_english
from node.pipeline.understanding import rules
from node.pipeline.understanding.antecedent import TURN_CHARS_MAX

_LEAD = rules.pattern(r"^(?:(?:<same_for>|for)[\s,]+){0,3}", re.IGNORECASE)
_ASKS = rules.pattern(r"^(?:<question_word>\s|<auxiliary>\s(?:it|that|this|he|she|they)\b)", re.IGNORECASE)
_OPENING = rules.pattern(r"^(?:(?:<question_word>|<auxiliary>|much|many|long)\s+)+", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|that|this|he|she|they|them|him)\b", re.IGNORECASE)
_VERB_LAST = re.compile(r"\b(?:does|do|did)\b")
_PLACES = frozenset({"on", "in", "at", "with", "without", "after", "before", "from", "to", "by", "during"})
_DETERMINERS = frozenset({"the", "a", "an", "my", "your", "our", "this", "that"})
_ALIKE_CHARS = 4


def guess(text: str, turn: str) -> str | None:
    """The question that ``text`` may ask after the question ``turn``; None where it names nothing new, or
    either is not English or long."""
    new = _LEAD.sub("", text.strip()).strip(" ?.!,")
    body = turn.strip().rstrip(" ?.!")
    if not may_be_english(f"{body} {new}") or len(turn) > TURN_CHARS_MAX:
        return None
    if _ASKS.match(new):
        subject = _OPENING.sub("", body)
        return f"{_PRONOUN.sub(subject, new, count=1) if _PRONOUN.search(new) else f'{new} {subject}'}?"
    if not _content(new):
        return None
    if new.split()[0].casefold() in _PLACES:
        return f"{body} {new}?"
    words = body.split()
    end = len(words) - (1 if len(words) > 1 and _VERB_LAST.search(body.casefold()) else 0)
    start = end
    while start > 0 and _content(words[start - 1]):
        start -= 1
    if start == end:
        return None
    first, before = new.split()[0].casefold(), words[start - 1].casefold() if start else ""
    if first in _DETERMINERS and before in _DETERMINERS:
        start -= 1
    return " ".join([*words[:start], new, *words[end:]]) + "?"


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
