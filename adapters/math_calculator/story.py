"""The calculation at the end of a longer text: "I have 3 boxes with 24 eggs each, how many is that? 3*24".

Rules:
- Only what stands last counts: the last sentence, the last clause, or the expression that the text ends in
  ("for one person that's 350/4 how much"). All of it must be one question of the calculator.
- What stands before must belong to it: it asks nothing else, or it names one of the numbers. An unspaced pair
  of numbers is as often a date, a score or a mark and counts only where the text named one of them before.
- Such a reading is no certain one; whether the text asks at all is for the caller to judge.
Pure and bounded: a few texts of at most ``TAIL_CHARS`` are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from adapters.math_calculator.solution import Solution
from adapters.math_calculator.tokens import CHARS_MAX
from adapters.math_calculator.understand import understand

TAIL_CHARS = 160
_SENTENCE_END = re.compile(r"[.?!…:;]+\s+|\n+|[。？！]+")
_CLAUSE_END = re.compile(r",\s+|\s[-–—]\s|\b(?:that's|that is|thats|so|makes|means|equals)\s", re.IGNORECASE)
_ENDS_IN = re.compile(
    r"(?<![\w.,/:#-])(?P<sum>[(√]{0,4}\d[\d.,]{0,20}%?\s?(?:(?:[-+*/×÷^x()]|\*\*)\s?){1,4}"
    r"\d[\d\s.,+*/×÷^x()%!-]{0,80})"
    r"(?:\s+(?:is )?(?:how (?:much|many)|what)(?: is (?:that|it))?|\s*="
    r"|\s+(?:in total|altogether))?[\s?.!=]*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PAIR = re.compile(r"\d+[-/:.]\d+")
_ASKS = re.compile(
    r"[?？]|\b(?:what|who|whom|whose|which|when|where|why|how|is|are|can|could|do|does|did|explain|tell|give"
    r"|compare|que|cual|quien|cuando|donde|cuanto|was|wer|wie|wann|wo|quel|quelle|qui|quand|combien|chi|cosa"
    r"|quando|quanto|qual|quem|onde)\b",
    re.IGNORECASE,
)


def last(text: str, today: date) -> Solution | None:
    """The solution of what ``text`` ends in, where what stands before it belongs to it; else None."""
    if len(text) > CHARS_MAX or not any(char.isdigit() for char in text[-TAIL_CHARS:]):
        return None
    for start, tail in _tails(text):
        before = text[:start]
        if not _belongs(before, tail):
            continue
        found = understand(tail, today)
        if found is not None and found.answer is not None:
            return found
    return None


def _tails(text: str) -> Iterator[tuple[int, str]]:
    """Where each tail starts, and the tail; the longest first."""
    text = text.rstrip()
    low = max(0, len(text) - TAIL_CHARS)
    body = text.rstrip(" ?!.=…？！。")
    for pattern in (_SENTENCE_END, _CLAUSE_END):
        ends = [match.end() for match in pattern.finditer(body, low)]
        if ends and ends[-1] < len(body):
            yield ends[-1], text[ends[-1] :]
    found = _ENDS_IN.search(text, low)
    if found is not None and found.start():
        yield found.start(), found["sum"]


def _belongs(before: str, tail: str) -> bool:
    numbers = set(_NUMBER.findall(tail))
    if not any(char.isalpha() for char in before) or not numbers:
        return False
    if not numbers.isdisjoint(_NUMBER.findall(before)):
        return True
    return _ASKS.search(before) is None and _PAIR.fullmatch(tail.strip(" ?!.")) is None


__all__ = ["TAIL_CHARS", "last"]
