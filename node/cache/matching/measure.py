"""What two questions have in common and what not, as numbers: what the gate's model reads of a pair.

Built on the gate's reading (``features``, ``compare``) and the first difference found, with measures added
that need no word table of ours: overlaps of words, letters and order, and how rare the unmatched words are.

Promises: pure, total, bounded, symmetric in the two questions, the same for the same texts; every number is
finite. ``NAMES`` gives their order, which is part of a model's version. Must not know: labels, thresholds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations, pairwise

from rapidfuzz.distance import LCSseq

from node.cache.matching import words
from node.cache.matching.compare import Aligned, align, opposites, regraded, turned
from node.cache.matching.difference import first_difference
from node.cache.matching.features import (
    ASK,
    COMPARISON,
    NAME,
    NAMED,
    PLAIN,
    SCOPE,
    TIME,
    UNIT,
    Features,
    Item,
    rival_leanings,
)
from node.cache.matching.reader import extract
from node.cache.matching.stem import canonical
from node.cache.matching.token import CODE, NUMBER, SYMBOL, WORD
from node.language import tables

ASKS = ("", "what", "exists", "yesno", "who", "when", "where", "why", "how", "howmany", "howmuch")
VETOES = (
    "", "language", "joined", "number", "unit", "negation", "opposite", "time", "asks", "direction", "scope",
    "comparison", "name", "word", "length", "person", "entity", "tense",
)  # fmt: skip
KINDS = (NUMBER, SYMBOL, UNIT, NAME, CODE, TIME, COMPARISON, SCOPE, ASK, "hard", "soft")
_PAIRS_MAX = 12
_LETTERS_MAX = 400
_RARE, _RARE_FIGURE = 0.9, 0.6
"""Rarity of words that ``common_words.txt`` does not list."""

CONCEPTS: dict[str, frozenset[str]] = {
    name: tables.words(text) for name, text in words.TABLE["concepts"].items()
}
"""Small words that say together what kind of answer is wanted."""
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("cosine",),
    ("matched", "matched_hard", "share", "content_low", "content_high"),
    tuple(f"alone_{kind}_{end}" for kind in KINDS for end in ("low", "high")),
    ("matched_number", "matched_name", "matched_unit", "matched_time"),
    ("negations", "negates_other", "negated"),
    ("opposite", "ask_low", "ask_high", "asks_differ", "details", "modality", "marks", "forms", "leanings"),
    ("speaker", "he_she", "tense", "joiners", "sentences", "language", "subject", "fronted"),
    ("turned", "inverted", "inverted_names", "roles", "role_from_to", "regraded", "by_low", "by_high"),
    ("veto",),
    ("same_words", "jaccard", "content_jaccard", "letters", "longer", "shorter_words", "starts", "ends"),
    ("common_order", "pairs_of_words"),
    ("rare_low", "rare_high", "rarest_low", "rarest_high", "rare_share"),
    tuple(f"concept_{name}" for name in CONCEPTS),
    ("flat_rare_low", "flat_rare_high", "flat_alone_low", "flat_alone_high"),
    ("roles_crossed", "before_differ", "number_unit", "number_order", "surface_turned", "surface_named"),
    ("alike", "spelt_low", "spelt_high"),
)
NAMES = tuple(name for group in _GROUPS for name in group)


@cache
def _ranks() -> Mapping[str, float]:
    """Rarity in [0, 1] of common words: the logarithm of the rank in a frequency list."""
    listed = (files("node.cache.matching") / "common_words.txt").read_text(encoding="ascii").split()
    return {word: math.log(1 + rank) / math.log(30_000) for rank, word in enumerate(listed)}


def rarity(word: str) -> float:
    """How rare a word in small letters is, from 0 to 1."""
    return _ranks().get(word, _RARE_FIGURE if word[:1].isdigit() else _RARE)


@lru_cache(maxsize=32)
def compared(asked: str, stored: str) -> tuple[Aligned, tuple[str, str] | None]:
    """The two aligned and their first difference: remembered while the neighbours of a question are judged,
    who are looked at more than once."""
    one, other = extract(asked), extract(stored)
    aligned = align(one, other)
    return aligned, first_difference(one, other, aligned)


def measure(asked: str, stored: str, cosine: float) -> list[float]:
    """The numbers of a pair, in the order of ``NAMES``."""
    first, second = sorted((asked, stored), key=lambda text: extract(text).flat)
    one, other = extract(first), extract(second)
    aligned, found = compared(first, second)
    left, right = aligned.alone
    return [
        cosine,
        *_matched(one, other, aligned),
        *_alone(aligned),
        *(float(sum(item.kind == kind for item, _ in aligned.pairs)) for kind in (NUMBER, NAME, UNIT, TIME)),
        *_negation(one, other),
        *_asked(one, other, left, right),
        *_said(one, other),
        *_ordered(one, other, aligned),
        float(VETOES.index(found[0] if found else "")),
        *_overlaps(one, other),
        *_rarity(aligned),
        *_small(one, other),
        *_places(one, other, aligned),
        *_letters_apart(left, right),
    ]


def _ends(one: float, other: float) -> tuple[float, float]:
    return (one, other) if one <= other else (other, one)


def _matched(one: Features, other: Features, aligned: Aligned) -> list[float]:
    left, right = aligned.alone
    matched = sum(item.kind != ASK for item, _ in aligned.pairs)
    hard = sum(item.kind != ASK and not item.soft for item, _ in aligned.pairs)
    lone = sum(not item.soft for item in (*left, *right))
    share = hard / (hard + lone / 2) if hard else 0.0
    return [float(matched), float(hard), share, *_ends(len(one.items), len(other.items))]


def _alone(aligned: Aligned) -> list[float]:
    counts = [Counter(_kind(item) for item in side) for side in aligned.alone]
    return [end for kind in KINDS for end in _ends(float(counts[0][kind]), float(counts[1][kind]))]


def _kind(item: Item) -> str:
    if item.soft:
        return "soft"
    return "hard" if item.kind == WORD else item.kind


def _negation(one: Features, other: Features) -> list[float]:
    kinds, kinds2 = (Counter(kind for kind, _ in side.negations) for side in (one, other))
    differ = sum(((kinds - kinds2) + (kinds2 - kinds)).values())
    elsewhere = kinds == kinds2 and one.negations != other.negations
    return [float(differ), float(elsewhere), float(bool(kinds or kinds2))]


def _asked(one: Features, other: Features, left: Sequence[Item], right: Sequence[Item]) -> list[float]:
    first, first2 = (_ask(side) for side in (one, other))
    differ = 0.0
    for ask, ask2 in zip(one.asks, other.asks, strict=False):
        if ask != ask2:
            plain = sum(which in PLAIN for which in (ask, ask2))
            differ = max(differ, (3.0, 2.0, 1.0)[plain])
    return [
        float(opposites(left, right) is not None),
        *_ends(first, first2),
        differ,
        float(one.details != other.details) + float(bool(one.details and other.details)),
        float(one.modality != other.modality),
        float(len(one.marks ^ other.marks)),
        float(len(one.forms ^ other.forms)),
        float(rival_leanings(one, other) is not None),
    ]


def _ask(side: Features) -> float:
    ask = side.asks[0] if side.asks else ""
    return float(ASKS.index(ask)) if ask in ASKS else float(len(ASKS))


_TENSES = {"": 0, "present": 0, "past": 1, "future": 2}


def _said(one: Features, other: Features) -> list[float]:
    speaker = one.person & {"i", "you"} != other.person & {"i", "you"}
    tense, tense2 = (_TENSES.get(side.tense, 0) for side in (one, other))
    return [
        float(speaker),
        float(one.person & {"he", "she"} != other.person & {"he", "she"}),
        float(0 if tense == tense2 else 1 + max(tense, tense2)),
        float(len(one.joiners ^ other.joiners)),
        float(abs(one.sentences - other.sentences)),
        float(one.language != "english") + float(other.language != "english"),
        float((one.subject or "") != (other.subject or "")),
        float(one.fronted != other.fronted),
    ]


def _ordered(one: Features, other: Features, aligned: Aligned) -> list[float]:
    kept = _some([pair for pair in aligned.pairs if not pair[0].soft])
    pairs = sorted(kept, key=lambda pair: pair[0].place)
    inverted = named = 0
    for (item, item2), (later, later2) in combinations(pairs, 2):
        if item2.place > later2.place and item.key != later.key:
            inverted += 1
            named += item.kind in NAMED and later.kind in NAMED
    roles = sum(item.role != item2.role for item, item2 in pairs)
    crossed = any({item.role, item2.role} == {"from", "to"} for item, item2 in pairs)
    return [
        float(turned(one, other, aligned.pairs) is not None),
        float(inverted),
        float(named),
        float(roles),
        float(crossed),
        float(regraded(one, other, aligned.pairs) is not None),
        *_ends(float("by" in one.flat), float("by" in other.flat)),
    ]


def _some(pairs: Sequence[tuple[Item, Item]]) -> list[tuple[Item, Item]]:
    """So many pairs that comparing each with each stays cheap, chosen alike from both sides."""
    return sorted(pairs, key=lambda pair: (pair[0].key, min(pair[0].place, pair[1].place)))[:_PAIRS_MAX]


@lru_cache(maxsize=512)
def _letters(flat: tuple[str, ...]) -> Counter[str]:
    low = f" {' '.join(flat)} "[:_LETTERS_MAX]
    return Counter(low[index : index + 3] for index in range(len(low) - 2))


def _overlaps(one: Features, other: Features) -> list[float]:
    flat, flat2 = one.flat, other.flat
    bag, bag2 = set(flat), set(flat2)
    keys, keys2 = ({item.key for item in side.items} for side in (one, other))
    letters, letters2 = _letters(one.flat), _letters(other.flat)
    shared = sum(min(letters[three], letters2[three]) for three in letters.keys() & letters2.keys())
    union = letters.total() + letters2.total() - shared
    short, long = sorted((len(flat), len(flat2)))
    pairs, pairs2 = set(pairwise(flat)), set(pairwise(flat2))
    return [
        float(sorted(flat) == sorted(flat2)),
        len(bag & bag2) / max(1, len(bag | bag2)),
        len(keys & keys2) / max(1, len(keys | keys2)),
        shared / max(1, union),
        float(long - short),
        float(short),
        float(_common(flat, flat2)),
        float(_common(flat[::-1], flat2[::-1])),
        _subsequence(flat, flat2) / max(1, long),
        len(pairs & pairs2) / max(1, len(pairs | pairs2)),
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for index, (word, word2) in enumerate(zip(one, other, strict=False)):
        if word != word2:
            return min(index, 6)
    return min(len(one), len(other), 6)


def _subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence of the first forty words."""
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(word, len(numbers)) for word in side[:40]] for side in (one, other)]
    return LCSseq.similarity(*rows)


def _rarity(aligned: Aligned) -> list[float]:
    sums, most = [], []
    for side in aligned.alone:
        rare = [rarity(item.raw.casefold()) for item in side if item.kind != ASK]
        sums.append(sum(rare))
        most.append(max(rare, default=0.0))
    matched = math.fsum(rarity(item.raw.casefold()) for item, _ in aligned.pairs if item.kind != ASK)
    return [*_ends(*sums), *_ends(*most), matched / max(1e-9, matched + sum(sums) / 2)]


def _small(one: Features, other: Features) -> list[float]:
    """What the words themselves tell, filler included, without the gate's tables."""
    bag, bag2 = set(one.flat), set(other.flat)
    alone = [sorted(mine - its) for mine, its in ((bag, bag2), (bag2, bag))]
    rare = [math.fsum(rarity(word) for word in side) for side in alone]
    return [
        *(float(bool(bag & group) != bool(bag2 & group)) for group in CONCEPTS.values()),
        *_ends(*rare),
        *_ends(*(float(len(side)) for side in alone)),
    ]


def _places(one: Features, other: Features, aligned: Aligned) -> list[float]:
    """Who stands where: roles exchanged, other words before, figures with other units, surface order."""
    pairs = _some([pair for pair in aligned.pairs if pair[0].kind != ASK])
    crossed = any(
        item.role == later2.role != item2.role and item.role and item2.role and item.key != later.key
        for item, item2 in pairs
        for later, later2 in pairs
    )
    once = _once(one.flat), _once(other.flat)
    common = (word for word in once[0] if word in once[1] and word not in _COMMON)
    shared = sorted(common)[:_PAIRS_MAX]
    turned_words = named = 0
    strong = {item.raw.casefold() for item, _ in pairs if item.kind in NAMED}
    for word, later in combinations(shared, 2):
        if (once[0][word] - once[0][later]) * (once[1][word] - once[1][later]) < 0:
            turned_words += 1
            named += word in strong and later in strong
    before = sum(
        _beside(one.flat, once[0][word], -1) != _beside(other.flat, once[1][word], -1) for word in shared
    )
    figures = [word for word in shared if word[:1].isdigit()]
    keys = set.intersection(*(set(map(canonical, side.flat)) for side in (one, other))) if figures else set()
    units = sum(_other_unit(one.flat, once[0][word], other.flat, once[1][word], keys) for word in figures)
    order = [sorted(figures, key=places.__getitem__) for places in once]
    return [
        float(crossed),
        float(before),
        float(units),
        float(order[0] != order[1]),
        float(turned_words),
        float(named),
    ]


_COMMON = words.FILLER | words.table("asked_or_asking")


def _once(flat: Sequence[str]) -> dict[str, int]:
    """The words that stand once, with their places."""
    counts = Counter(flat)
    return {word: place for place, word in enumerate(flat) if counts[word] == 1}


def _beside(flat: Sequence[str], place: int, step: int) -> str:
    at = place + step
    return canonical(flat[at]) if 0 <= at < len(flat) else ""


def _other_unit(flat: Sequence[str], place: int, flat2: Sequence[str], place2: int, shared: set[str]) -> bool:
    """Whether a figure stands with one word here and with another there, though both have both words."""
    behind, behind2 = _beside(flat, place, 1), _beside(flat2, place2, 1)
    if not {behind, behind2} <= shared or behind2 in (behind, _beside(flat, place, -1)):
        return False
    if behind == _beside(flat2, place2, -1):
        return False
    return not any(word[:1].isdigit() or word in words.FILLER | words.TIME for word in (behind, behind2))


def _letters_apart(left: Sequence[Item], right: Sequence[Item]) -> list[float]:
    """The greatest likeness in letters between unmatched words of the two sides, and for each side how like
    its least like one is to its nearest."""
    texts = [[item.raw.casefold()[:30] for item in side if not item.soft][:6] for side in (left, right)]
    best = [
        [max((_ratio(*sorted((word, other))) for other in texts[1 - at]), default=0.0) for word in texts[at]]
        for at in (0, 1)
    ]
    return [max(best[0], default=0.0), *_ends(*(min(side, default=1.0) for side in best))]


@lru_cache(maxsize=4_096)
def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
