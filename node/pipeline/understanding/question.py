"""The statement gate: is anything asked at all? Rules only; no embedding, no model.

Rules of this file:
- A question mark asks, unless the sentence is only a greeting or thanks.
- Otherwise the first row of the language's table that fits a sentence decides it (``languages``).
- A sentence that no row knows is a bare topic. That asks, as it does in a search box, if nothing else in the
  text tells: in doubt a person gets an answer rather than an acknowledgement.
- One sentence that asks makes the whole text a question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.language.reading import Reading, Sentence, read, word_list
from node.pipeline.understanding.languages import ENGLISH, LANGUAGES, SCRIPTS, Language

_SENTENCE_CHARS = 600
"""Patterns look at this much of one sentence: what asks stands at its start, and the work stays bounded."""

_OPENERS_MAX = 8
_A_FORMULA_WORDS = 8
_REMARK_CHARS = 80
_THANKS_GO_ON = frozenset(word_list("for to so very again anyway a in"))
_IF_YOU_PLEASE = re.compile(r"^s' il (?:vous|te) plait (?:, )?")
_A_SENTENCE_WORDS = 4
"""A full stop after this many words marks a written sentence; what people type into a search box has none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether the text asks, the rule that says so in words, and the language it was read as (``en`` if
    unsure). ``topic`` is set when it asks only by naming a topic; ``leftover`` when a text that tells also
    names one."""

    asks: bool
    reason: str
    language: str
    topic: bool = False
    leftover: bool = False


def judge(reading: Reading) -> Asked:
    """Decide for a whole text; total."""
    if reading.script == "none":
        return Asked(False, "nothing but punctuation or pictures", "en")
    if reading.script in SCRIPTS:
        return _judge_script(reading)
    languages = guess(reading.words)
    code = languages[0].code
    told: str | None = None
    topic = False
    for sentence in reading.sentences:
        verdict = _judge_sentence(sentence, languages)
        if verdict is None:
            topic = True
            if sentence.mark == "." and len(sentence.words) >= _A_SENTENCE_WORDS:
                told = "a plain sentence with nothing that asks"
        elif verdict[0]:
            return Asked(True, verdict[1], code)
        elif told is None or told == _FORMULA:
            told = verdict[1]
    if topic and told in (None, _FORMULA):
        return Asked(True, "names a topic", code, topic=True)
    return Asked(False, told or "nothing is asked", code, leftover=topic)


def guess(words: tuple[str, ...]) -> tuple[Language, ...]:
    """The languages with most common words in the text, on a tie several, first those that know its first
    word; English where that does not tell."""
    seen = frozenset(words[:80])
    scores = [(_score(language, seen), language) for language in LANGUAGES]
    best = max(score for score, _ in scores)
    tied = [language for score, language in scores if score == best] if best else [ENGLISH]
    return tuple(sorted(tied, key=lambda language: not language.common.intersection(words[:1])))


def language_of(text: str) -> str:
    """The code of the language that a text is most likely in; ``en`` where nothing tells."""
    return guess(read(text).words)[0].code


def _score(language: Language, seen: frozenset[str]) -> int:
    # An elided article ("j'", "dell'") belongs to few languages and counts twice.
    return sum(2 if word.endswith("'") else 1 for word in language.common & seen)


def is_hurried(reading: Reading, language: str) -> bool:
    """Whether the wording ("today", "latest") ties the answer to the day it is asked."""
    if reading.script in SCRIPTS:
        return SCRIPTS[reading.script].hurried.search(reading.plain) is not None
    flat = reading.flat
    return any(row.hurried.search(flat) is not None for row in LANGUAGES if row.code in ("en", language))


REACTION = "a greeting, thanks or a reaction"
_FORMULA = REACTION


def _judge_sentence(sentence: Sentence, languages: tuple[Language, ...]) -> tuple[bool, str] | None:
    """Whether it asks, and why; None for a bare topic."""
    if any(_is_formula(sentence.words, row) for row in LANGUAGES):
        return (False, _FORMULA)
    if sentence.mark == "?":
        return (True, "ends with a question mark")
    if len(sentence.canon) <= _REMARK_CHARS and any(row.remarks.search(sentence.canon) for row in LANGUAGES):
        return (False, _FORMULA)
    for language in languages:
        canon = _drop_openers(sentence.canon[:_SENTENCE_CHARS], language)
        if not canon:
            return (False, _FORMULA)
        for rule in language.gate:
            if rule.pattern.search(canon):
                return (rule.asks, rule.name)
    return _judge_fragment(
        sentence, _drop_openers(sentence.canon[:_SENTENCE_CHARS], languages[0]), languages[0]
    )


def _judge_fragment(sentence: Sentence, canon: str, language: Language) -> tuple[bool, str] | None:
    opened = len(canon) < len(sentence.canon[:_SENTENCE_CHARS])
    words = canon.split()
    first = sentence.words[0]
    if sentence.mark == "!":
        return (False, "an exclamation")
    if opened and len(words) == 1 and first in language.greetings:
        return (False, _FORMULA)  # "hello world", "hey bob"
    if sentence.mark == "." and words[0] in ("a", "an", "just", "only", "another", "some"):
        return (False, "a bare phrase that asks nothing")
    return None


def _is_formula(words: tuple[str, ...], language: Language) -> bool:
    if len(words) > _A_FORMULA_WORDS or not any(word in language.greetings for word in words):
        return False
    return all(word in language.greetings or word in language.social for word in words)


def _drop_openers(canon: str, language: Language) -> str:
    words = _IF_YOU_PLEASE.sub("", canon).split(" ")
    start = 0
    if words[0] in language.greetings and len(words) > 2 and words[1] == ",":
        start = 2  # "great, what about ..."
    while start < min(len(words), _OPENERS_MAX) and (words[start] == "," or words[start] in language.openers):
        word = words[start]
        following = words[start + 1] if start + 1 < len(words) else ""
        if word in ("thanks", "sorry", "like", "no", "yes", "right", "question", "quick", "now", "well") and (
            following in _THANKS_GO_ON or following in ("is", "are", "about", "one", "that")
        ):
            break
        start += 1
    return " ".join(words[start:])


def _judge_script(reading: Reading) -> Asked:
    script = SCRIPTS[reading.script]
    told: str | None = None
    topic = False
    code = script.code
    for sentence in reading.sentences:
        plain = sentence.plain[:_SENTENCE_CHARS]
        if script.greets.search(plain):
            told = told or _FORMULA
        elif sentence.mark == "?":
            return Asked(True, "ends with a question mark", code)
        elif script.asks.search(plain):
            return Asked(True, "holds a question word, particle or request", code)
        elif script.tells.search(plain) or sentence.mark == "!":
            told = "tells something"
        else:
            topic = True
    if topic and told in (None, _FORMULA):
        return Asked(True, "names a topic", code, topic=True)
    return Asked(False, told or "nothing is asked", code, leftover=topic)
