"""Which language a text is in, by its script and its common words. Pure.

It says so only where it is sure: at least ``WORDS_MIN`` words, several different common ones of one language,
and clearly more of them than of any other. The languages that the node itself does not speak are known by
their most common words only (``data/other/common.json``), so that they are not taken for a neighbour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from node.language.phrases import languages, others, words_in
from node.language.reading import fold, read
from node.language.tables import ENGLISH

WORDS_MIN = 3
ANSWER_WORDS_MIN = 6
CHARS_MAX = 4_000
_HITS_MIN = 2
_LEAD = 1.5
_SHARE = 0.15
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_EDGES = "?.!,;:¿¡\"'«»“”„() "
_SCRIPT_NAMES = {"japanese": "Japanese", "chinese": "Chinese", "cyrillic": "Russian"}
_NOT_RUSSIAN = re.compile(r"[іїєґўјљњћђџѓќ]", re.IGNORECASE)


def language_of(text: str, *, sure: bool = True) -> str | None:
    """The code of the language, one of the node's own files; None where that is not clear. Without ``sure``
    one common word is enough, if no other language has as many."""
    words = _words(text)
    scores = {code: _score(words, common) for code, common in _common().items()}
    if scores["ru"] and _NOT_RUSSIAN.search(text):
        scores["ru"] = 0  # Ukrainian, Serbian …
    if not sure and not any(scores.values()):  # by the script alone
        name = name_of(text)
        return next((one.code for one in languages() if one.name == name), None)
    best = max(scores, key=lambda code: scores[code])
    second = max(score for code, score in scores.items() if code != best)
    if best not in {one.code for one in languages()} or scores[best] <= second:
        return None
    if not sure:
        return best
    hits = len(_common()[best].intersection(words))
    share = scores[best] / max(1, len(words))
    is_clear = scores[best] >= _LEAD * second and hits >= _HITS_MIN and share >= _SHARE
    return best if is_clear and len(words) >= WORDS_MIN else None


def name_of(text: str) -> str | None:
    """The English name of the text's language, by script too; None where that is not clear."""
    body = _CODE.sub(" ", text[:CHARS_MAX])
    script = read(body).script
    if script in _SCRIPT_NAMES:
        return None if script == "cyrillic" and _NOT_RUSSIAN.search(body) else _SCRIPT_NAMES[script]
    code = language_of(body) if script == "latin" else None
    return next((one.name for one in languages() if one.code == code), None)


def may_be_english(text: str) -> bool:
    """Whether no other language fits the text better: names and keywords alone belong to all."""
    body = _CODE.sub(" ", text[:CHARS_MAX])
    if read(body).script not in ("latin", "none"):
        return False
    words = _words(body)
    scores = {code: _score(words, common) for code, common in _common().items()}
    return scores["en"] >= max(scores.values())


def naming(text: str) -> str:
    """The text without the common words of its language, where that is clear and not English: "le", "ist"."""
    code = language_of(text, sure=False)
    if code is None or code == ENGLISH:
        return text
    common = _common()[code]
    return " ".join(word for word in text.split() if fold(word).strip(_EDGES) not in common) or text


def other_than(wanted: str | None, answer: str) -> bool:
    """Whether an answer is clearly in another language than ``wanted``, an English name."""
    if wanted is None or (len(_words(answer)) < ANSWER_WORDS_MIN and read(answer).script == "latin"):
        return False
    found = name_of(answer)
    return found is not None and found != wanted


def wanted_for(question: str) -> str | None:
    """The language in which a question is to be answered: one that it names is not ours to guess, so None;
    else its own where that is clear."""
    words = _words(question)
    if any(one.named(words) for one in languages()):
        return None
    return name_of(question)


def _score(words: tuple[str, ...], common: frozenset[str]) -> int:
    # An elided article ("j'", "dell'") belongs to few languages and counts twice.
    return sum(2 if word.endswith("'") else 1 for word in words if word in common)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in words_in(fold(_CODE.sub(" ", text[:CHARS_MAX]))) if word != ",")


@cache
def _common() -> Mapping[str, frozenset[str]]:
    return {
        **{one.code: one.common for one in languages()},
        **others(),
    }
