"""Reading questions about two proposals of one Snapshot space ("which got more votes, 12 or 14 in uniswap",
"compare the last two proposals of aave").

Rules of this file:
- Both numbers stand in one phrase, beside a word for proposals or a series ("ep 6.1 or 6.2"); a third number
  makes it another question.
- The words around are those that a question about one proposal may hold, and words that compare.
"""

from __future__ import annotations

import re

from adapters.snapshot import questions
from adapters.snapshot.questions import Question, Reader
from adapters.snapshot.spaces import BY_ID
from node.language.reading import read, word_list

_ID = r"(?:(" + questions.SERIES + r")[ -]?)?(\d{1,6}(?:\.\d{1,3}){0,2})"
_NAMED = r"(?:(?:the|el|la|las|le|les|der|die|das|" + "|".join(sorted(questions.NOUN)) + r") ){0,2}"
_SIGNED = r"(?:(?:" + "|".join(sorted(questions.NUMBER_SIGN - {"#"})) + r") )?"
_PAIR = re.compile(
    rf"(?<!\S){_NAMED}{_SIGNED}{_ID} (?:and|or|vs|versus|to|with|against|than|y|o|con|und|oder|mit|et|ou|e)"
    rf" {_NAMED}{_SIGNED}{_ID}(?!\S)"
)
_LATEST = "last|latest|newest|most recent|letzten|ultimas|dernieres"
_COMPARES = frozenset(
    word_list(
        "differ"
        " compare compared comparing comparison difference different between versus vs or more most less"
        " fewer fewest higher highest lower lowest bigger biggest larger greater smaller better best popular"
        " popularity both either than received receive get gets got had numbers number both"
        " mehr weniger hoher hohere grosser oder bekam bekamen hatte hatten vergleiche vergleich vergleichen"
        " unterschied zwischen beide"
        " mas menos mayor o tuvo tuvieron recibio compara comparar comparacion diferencia entre ambas"
        " plus moins ou eu obtenu recu a ont comparer compare comparez chez deux entre"
    )
)
_LAST_TWO = re.compile(
    rf"\b(?:(?:{_LATEST}) (?:two|2|zwei|dos|deux)|(?:two|2|zwei|dos|deux) (?:{_LATEST}))"
    rf"(?: (?:{'|'.join(sorted(questions.NOUN))}))?(?!\S)"
)
_COMPARING = re.compile(
    r"\b(?:how do(?=.* differ)|differ|compare[ds]?|comparing|comparison|difference|better|best|versus|vs)\b"
)
_LOOSE_WORDS_MAX = 2
_METRICS = frozenset(("votes", "quorum", "result", "author", "date", "status"))


def read_pair(text: str) -> Reader | None:
    """Read ``text``; None when it does not ask about two proposals of one space. Total and bounded."""
    reading = read(text)
    if not 2 <= len(reading.words) <= questions.WORDS_MAX or reading.script != "latin":
        return None
    if questions.TRAP.search(_COMPARING.sub(" ", reading.flat)):
        return None
    named = questions.take_space(list(reading.words))
    if named is None or named[0] is None:
        return None
    words = [word for word in named[1] if word]
    flat = " ".join(words)
    has_noun = not questions.NOUN.isdisjoint(words)
    if (match := _LAST_TWO.search(flat)) is not None and has_noun and not _COMPARES.isdisjoint(words):
        one, two, when = None, questions.LAST, questions.LAST
    elif (match := _PAIR.search(flat)) is not None and (match[1] or match[3] or has_noun):
        one, when = questions.numbered(match[1], match[2]), None
        two = questions.numbered(match[3] or match[1], match[4])
    else:
        return None
    before, after = flat[: match.start()].split(), flat[match.end() :].split()
    metric, used = questions.metric_of([*before, *after], True, True)
    known = questions.KNOWN | _COMPARES | used
    loose = [word for word in (*before, *after) if word not in known]
    if one == two or len(loose) > _LOOSE_WORDS_MAX or any(char.isdigit() for word in loose for char in word):
        return None
    if after and after[0] in loose:
        return None  # "of 5 or 6 pages"
    metric = "votes" if metric is None and "popular" in words else metric if metric in _METRICS else None
    strength = 0.7 if loose else 0.8 if questions.is_told(reading) else 1.0
    space, which = named[0], "the last two proposals" if one is None else f"proposals {one} and {two}"
    label = BY_ID[space].label if space in BY_ID else space
    return Reader(
        Question(space, one, metric, None, when, two),
        strength,
        f"{metric or 'what is known'} of {which} of {label} on Snapshot",
    )
