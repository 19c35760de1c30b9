"""The first thing that two questions say differently, in words: what vetoes are made of.

In this order; the first difference found is the one that is told:

1.  language    another language or script
2.  joined      one text has a sentence or instruction more that asks something or says more than one word
                that the other does not
3.  number      figures, number words, ordinals, dates, operators, "at least"; also on one side only
4.  unit        units and currencies
5.  negation    "not", "without", "never", … on one side, or on another word ("no sugar" is "without sugar")
6.  opposite    safe and unsafe, buy and sell, highest and lowest …
7.  time        days, months, relative time; "did" against "will"; past, present or future of who or when
8.  asks        who, when, where, why, how, how many, whether …; what it is against what it does or whether
                there is any; should against can
    person      my against your, he against she
9.  direction   "from A to B" and "from B to A", "A beat B" and "B beat A", "how do thieves cheat" and
                "how do I cheat a thief"; an adverb that describes a thing on the other side
10. scope       "and" against "or"
11. comparison, scope, entity (a known thing or a code), name (by its capital), word   content on one side
                that nothing on the other side says
12. tense       past against present, or the future, on one side of other questions

Words that nothing stands against are a difference whatever they are, unless a table in ``words`` calls them
filler or soft. Promises: pure, symmetric in kind, bounded. Must not know: similarities, thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from node.cache.matching import words
from node.cache.matching.compare import Aligned, done_when, opposites, regraded, turned
from node.cache.matching.features import (
    ASK,
    COMPARISON,
    NAME,
    PLAIN,
    SCOPE,
    TIME,
    UNIT,
    Features,
    Item,
    rival_leanings,
)
from node.cache.matching.token import CODE, NUMBER, SYMBOL, WORD

_SHOWN_MAX = 40
_FIRST: tuple[tuple[str, tuple[str, ...]], ...] = (("number", (NUMBER, SYMBOL)), ("unit", (UNIT,)))
_LAST: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("comparison", (COMPARISON,)),
    ("scope", (SCOPE,)),
    ("entity", (CODE,)),
    ("name", (NAME,)),
    ("word", ()),
)


_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_OPERATOR = re.compile(r"[!<>=~]=+|(?<=\d)!+(?!\w)|<>|=>|->|\*\*|&&|\|\|")
_SIGN = re.compile(
    r"\b(?:does|do|is|are|the|an?|of|with|use|type|and|or)\s+([!;:,.][!?;:,.]*|\?(?=\s+\w))(?!\S)"
)
"""A sign that a sentence speaks of ("what does ! mean"), not one that ends it."""
_FACE = re.compile(r"(?<!\S)[:;=][-']?[()DPp/|](?!\S)")
_CASED_UNITS = words.pairs("other_case")
"""Units and what another case makes of them."""
_LETTERS = re.compile(r"[A-Za-z]+")
_MARKED_MAX = 2_000


_MARKS = (_FLAG, _OPERATOR, _SIGN, _FACE)


@lru_cache(maxsize=512)
def _marks(text: str) -> tuple[tuple[list[str], ...], frozenset[str]]:
    """What each of ``_MARKS`` finds in a text, in order, and its units of two cases."""
    text = text[:_MARKED_MAX]
    units = frozenset(word for word in _LETTERS.findall(text) if word in _CASED_UNITS)
    return tuple(sorted(pattern.findall(text)) for pattern in _MARKS), units


def written_differently(one: str, other: str) -> tuple[str, str] | None:
    """What two texts of the same words say by signs and case alone, as (kind, reason): a command's flags,
    operators, a factorial, a sign that is asked about, units such as mW and MW. None: nothing."""
    (found, units), (found2, units2) = _marks(one), _marks(other)
    for pattern, marks, marks2 in zip(_MARKS, found, found2, strict=True):
        if pattern is _FACE and not (marks and marks2):
            continue  # a smile more or less says nothing
        if marks != marks2:
            alone = [*(mark for mark in marks if mark not in marks2), *(m for m in marks2 if m not in marks)]
            return (
                "number",
                f"written on one side or differently: {(alone or marks + marks2)[0][:_SHOWN_MAX]}",
            )
    for unit in sorted(units ^ units2):
        if _CASED_UNITS[unit] in units | units2:
            return "unit", f"differs: {unit} ≠ {_CASED_UNITS[unit]}"
    return None


def first_difference(one: Features, other: Features, aligned: Aligned) -> tuple[str, str] | None:
    """The first difference in the module's order as (kind, reason), or None. ``aligned`` is
    ``compare.align`` of the two."""
    aligned = with_classes_soft(one, other, aligned)
    left, right = aligned.alone
    if one.language != other.language or one.language != "english":
        return "language", f"compared word by word only: {one.language}, {other.language}"
    if one.sentences != other.sentences and (
        max(_hard(left), _hard(right)) > _ADDED_MAX or _open_asks(one) != _open_asks(other)
    ):
        return "joined", f"sentences: {one.sentences}, stored {other.sentences}"
    if found := _bounded(left, right):
        return "number", found
    for kind, kinds in _FIRST:
        if found := _alone(left, right, kinds):
            return kind, found
    if found := _negated(one, other):
        return "negation", found
    if pair := opposites(left, right):
        return "opposite", f"opposite: {_show(pair[0])}, stored {_show(pair[1])}"
    tense, is_weighty = _tenses(one, other, aligned)
    if found := _alone(left, right, (TIME,)) or (tense if is_weighty else ""):
        return "time", found
    if found := _asks(one, other):
        return "asks", found
    if found := _persons(one, other):
        return "person", found
    if pair := turned(one, other, aligned.pairs):
        return "direction", f"other way round: {_show(pair[0])}, {_show(pair[1])}"
    if found := _acting(one, other, aligned):
        return "direction", found
    if pair := regraded(one, other, aligned.pairs):
        return "direction", f"describes another word: {_show(pair[0])}, stored {_show(pair[1])}"
    if one.joiners and other.joiners and not one.joiners & other.joiners:
        return "scope", "joined by and on one side, by or on the other"
    for kind, kinds in _LAST:
        if found := _alone(left, right, kinds):
            return kind, found
    if not any(item.kind != ASK for item, _ in aligned.pairs):
        return "word", "no content in common"
    return ("tense", tense) if tense else None


_ADDED_MAX = 1
"""So many words may a sentence more bring."""


def _hard(items: Sequence[Item]) -> int:
    return sum(not item.soft for item in items)


_BOUNDS = frozenset({"atleast", "atmost"})


def _bounded(left: Sequence[Item], right: Sequence[Item]) -> str | None:
    """What says that a figure is a bound on one side only."""
    lone, lone2 = ([item for item in side if item.key in _BOUNDS] for side in (left, right))
    return differs(lone, lone2) if lone or lone2 else None


_ASKED_PAIRS_MIN = 2


def with_classes_soft(one: Features, other: Features, aligned: Aligned) -> Aligned:
    """With the named class of what is asked for ("which city is the capital") soft, where the other side
    names none."""
    left, right = aligned.alone
    hard = sum(not item.soft for item, _ in aligned.pairs)
    if hard < _ASKED_PAIRS_MIN or not any(item.asked for item in (*left, *right)):
        return aligned
    named, named2 = (any(item.asked for item in side.items) for side in (one, other))
    return replace(
        aligned,
        alone=(
            tuple(replace(item, soft=item.soft or (item.asked and not named2)) for item in left),
            tuple(replace(item, soft=item.soft or (item.asked and not named)) for item in right),
        ),
    )


def _alone(left: Sequence[Item], right: Sequence[Item], kinds: Sequence[str]) -> str | None:
    """What is unmatched and hard, of some kinds (none given: of any)."""
    lone = [item for item in left if not item.soft and (not kinds or item.kind in kinds)]
    lone2 = [item for item in right if not item.soft and (not kinds or item.kind in kinds)]
    return differs(lone, lone2) if lone or lone2 else None


def differs(left: Sequence[Item], right: Sequence[Item]) -> str:
    """What stands alone on two sides, in words."""
    if left and right:
        return f"differs: {_show(left[0])} ≠ {_show(right[0])}"
    return f"only asked: {_show(left[0])}" if left else f"only stored: {_show(right[0])}"


def _show(item: Item) -> str:
    return item.raw[:_SHOWN_MAX]


_LEFT_OUT = frozenset({"not", "without"})
"""Negations that say the same of the same word."""


def _negated(one: Features, other: Features) -> str | None:
    if _plainly(one) == _plainly(other):
        return None
    kinds, kinds2 = (sorted(kind for kind, _ in side.negations) for side in (one, other))
    if kinds != kinds2:
        alone = next((kind for kind in kinds + kinds2 if kinds.count(kind) != kinds2.count(kind)), "not")
        return f"negated on one side: {alone}" if not kinds or not kinds2 else f"negated differently: {alone}"
    keys, keys2 = {item.key for item in one.items}, {item.key for item in other.items}
    for (_, target), (_, target2) in zip(one.negations, other.negations, strict=True):
        if target != target2 and target in keys2 and target2 in keys:  # "*", the sentence, is no key
            return f"negates {target}, stored {target2}"
    return None


def _plainly(side: Features) -> list[tuple[str, str]]:
    """What is negated, "no sugar" and "without sugar" alike."""
    return sorted(("not" if kind in _LEFT_OUT else kind, target) for kind, target in side.negations)


def _tenses(one: Features, other: Features, aligned: Aligned) -> tuple[str, bool]:
    """How the two differ in time without a word for it ("" for not at all), and whether the answer turns on
    it: "did" and "will", "will it rain" and "is it raining", or whom and when it is asked for. What something
    is, was and will be is often the same."""
    tenses = {one.tense, other.tense}
    if any(item.kind == TIME for item, _ in aligned.pairs):
        return "", False
    started = any(_is_going(left) != _is_going(right) for left, right in aligned.pairs)
    asked = {"who", "when"} & {*one.asks, *other.asks}
    weighty = bool(asked) or tenses == {"past", "future"} or ("future" in tenses and started)
    if "future" in tenses and len(tenses) == 2:
        return "about the future on one side", weighty
    who = one.asks == other.asks == ("who",)
    once, going = done_when(aligned.pairs) if who else (False, False)
    if going:
        return "done on one side, going on on the other", True
    if tenses == {"past", "present"} and not once:
        return "past on one side, present on the other", weighty
    return "", False


def _is_going(item: Item) -> bool:
    return item.kind == WORD and item.raw.casefold().endswith("ing")


def _acting(one: Features, other: Features, aligned: Aligned) -> str | None:
    """A word of both that acts in one question, while whoever asks acts in the other ("how do politicians
    cheat", "how do I cheat a politician")."""
    for side, opposite in ((one, other), (other, one)):
        acts = side.subject and opposite.subject == "" and side.subject not in opposite.deeds
        if acts and any(i.key == side.subject for i, _ in aligned.pairs):
            return f"{side.subject} acts on one side only"
    return None


_SAME_ASK = ({"yesno", "exists"}, {"", "who"})


def _open_asks(features: Features) -> list[str]:
    return sorted(ask for ask in features.asks if ask not in PLAIN)


def _asks(one: Features, other: Features) -> str | None:
    for ask, ask2 in zip(one.asks, other.asks, strict=False):
        if ask == ask2 or (ask in PLAIN and ask2 in PLAIN) or {ask, ask2} in _SAME_ASK:
            continue
        return f"asks {ask or 'nothing said'}, stored asks {ask2 or 'nothing said'}"
    if one.details and other.details and one.details != other.details:
        return f"asks the {'/'.join(sorted(one.details))}, stored the {'/'.join(sorted(other.details))}"
    if one.modality != other.modality:
        return f"asks whether it {one.modality or 'is'}, stored whether it {other.modality or 'is'}"
    if one.marks != other.marks:
        return f"said on one side: {min(one.marks ^ other.marks)}"
    for form in sorted(one.forms ^ other.forms):
        if form.startswith("ing.") and "a." + form[4:] in one.forms | other.forms:
            return f"what is done on one side, a thing or person on the other: {form[4:]}"
    if rivals := rival_leanings(one, other):
        return f"{rivals[0]} on one side, {rivals[1]} on the other"
    return None


def _persons(one: Features, other: Features) -> str | None:
    he, she = ((word in one.person) != (word in other.person) for word in ("he", "she"))
    if he and she:
        return "about another person"
    general = all(ask in ("how", "yesno") for ask in (*one.asks, *other.asks))
    speaking, speaking2 = one.person & {"i", "you"}, other.person & {"i", "you"}
    if not general and speaking and speaking2 and not speaking & speaking2:
        return "about another person"
    return None
