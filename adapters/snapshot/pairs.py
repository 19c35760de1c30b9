"""Reading questions about two proposals of one Snapshot space ("which got more votes, 12 or 14 in uniswap",
"compare the last two proposals of aave").

Rules of this file:
- Both numbers stand in one phrase, beside a word for proposals or a series ("ep 6.1 or 6.2"); a third number
  makes it another question.
- The words around are those that a question about one proposal may hold, and words that compare.
"""

from __future__ import annotations

import re

from adapters.snapshot.numbers import numbered
from adapters.snapshot.questions import WORDS_MAX, is_told, metric_of, take_space
from adapters.snapshot.slots import LAST, Question, Reader
from adapters.snapshot.spaces import BY_ID
from adapters.snapshot.words import KNOWN, PATTERNS, SERIES, TABLES, WORDS, finds
from node.language.reading import read
from node.language.tables import any_of, fill

_WORDS = {**TABLES["words"], "id": [rf"(?:({SERIES})[ -]?)?(\d{{1,6}}(?:\.\d{{1,3}}){{0,2}})"]}
_WORDS["named"] = ["(?:(?:<the>|<noun>) ){0,2}(?:" + any_of(WORDS["number_sign"] - {"#"}) + r" )?<id>"]
_PAIR = re.compile(fill(r"(?<!\S)<named> <and_or> <named>(?!\S)", _WORDS))
_LAST_TWO = re.compile(fill(r"\b(?:<last_two_of> <two>|<two> <last_two_of>)(?: <noun>)?(?!\S)", _WORDS))
_LOOSE_WORDS_MAX = 2
_METRICS = frozenset(("votes", "quorum", "result", "author", "date", "status"))


def read_pair(text: str) -> Reader | None:
    """Read ``text``; None when it does not ask about two proposals of one space. Total and bounded."""
    reading = read(text)
    if not 2 <= len(reading.words) <= WORDS_MAX or reading.script != "latin":
        return None
    named = take_space(list(reading.words))
    if named is None or named[0] is None or finds("trap", PATTERNS["comparing"].sub(" ", reading.flat)):
        return None
    words = [word for word in named[1] if word]
    flat = " ".join(words)
    has_noun = not WORDS["noun"].isdisjoint(words)
    if (match := _LAST_TWO.search(flat)) is not None and has_noun and not WORDS["compares"].isdisjoint(words):
        one, two, when = None, LAST, LAST
    elif (match := _PAIR.search(flat)) is not None and (match[1] or match[3] or has_noun):
        one, when = numbered(match[1], match[2]), None
        two = numbered(match[3] or match[1], match[4])
    else:
        return None
    before, after = flat[: match.start()].split(), flat[match.end() :].split()
    metric, used = metric_of([*before, *after], True, True)
    known = KNOWN | WORDS["compares"] | used
    loose = [word for word in (*before, *after) if word not in known]
    if one == two or len(loose) > _LOOSE_WORDS_MAX or any(char.isdigit() for word in loose for char in word):
        return None
    if after and after[0] in loose:
        return None  # "of 5 or 6 pages"
    metric = "votes" if metric is None and "popular" in words else metric if metric in _METRICS else None
    strength = 0.7 if loose else 0.8 if is_told(reading) else 1.0
    space, which = named[0], "the last two proposals" if one is None else f"proposals {one} and {two}"
    label = BY_ID[space].label if space in BY_ID else space
    return Reader(
        Question(space, one, metric, None, when, two),
        strength,
        f"{metric or 'what is known'} of {which} of {label} on Snapshot",
    )
