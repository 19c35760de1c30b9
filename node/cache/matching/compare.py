"""Two questions side by side: which content has no counterpart, and whether roles changed places.

Rules of order (``turned``), for words found on both sides:
1. A word under "from" on one side and "to" on the other: turned.
2. Two words that swap their roles exactly ("A is bigger than B", "B is bigger than A"): turned.
3. Two words in the opposite order are turned if the same role holds both and a word found on both sides
   stands between them, or both are names, figures, codes or units; not where "and", "or", "vs" joins them
   on both sides, and not where whole phrases moved together with their own prepositions.

Promises: pure, symmetric in the two questions, bounded by the square of ``ORDER_MAX``.
Must not know: similarities and thresholds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from node.cache.matching import words
from node.cache.matching.features import ASK, NAMED, Features, Item
from node.cache.matching.stem import canonical
from node.cache.matching.token import NUMBER, WORD

ORDER_MAX = 40
"""More matched words than this must stand in the same order."""


def _contraries() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = defaultdict(set)
    for one, other in words.OPPOSITES:
        table[canonical(one)].add(canonical(other))
        table[canonical(other)].add(canonical(one))
    return {word: frozenset(others) for word, others in table.items()}


CONTRARIES = _contraries()
DEEDS = frozenset(canonical(word) for word in words.DEEDS | {"win"})
_ONCE = DEEDS - {canonical("win")}
_PREFIXES = words.TABLE["words"]["negating_prefixes"].split()
_BARE_MIN = 4
_SLIP_MIN, _SLIP_MAX = 8, 30
_NO_SLIPS = [set(pair.split("/")) for pair in words.TABLE["pairs"]["no_slips"].split()]
_VOWELS = frozenset("aeiouy")
_SYMMETRIC = frozenset({"difference"})
"""Stands before or behind what it is between."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """``pairs`` of matched content, and what each side has alone."""

    pairs: tuple[tuple[Item, Item], ...]
    alone: tuple[tuple[Item, ...], tuple[Item, ...]]


def align(one: Features, other: Features) -> Aligned:
    """Match content words by key, the k-th occurrence with the k-th; then words written apart with words
    joined."""
    waiting: dict[str, list[Item]] = defaultdict(list)
    for item in reversed(other.items):
        waiting[item.key].append(item)
    pairs: list[tuple[Item, Item]] = []
    alone: list[Item] = []
    for item in one.items:
        if waiting[item.key]:
            pairs.append((item, waiting[item.key].pop()))
        else:
            alone.append(item)
    kept = {id(item) for rest in waiting.values() for item in rest}
    left, right = alone, [item for item in other.items if id(item) in kept]
    right, left = _joined(left, right, pairs, flip=False), _without(left, pairs, 0)
    left, right = _joined(right, left, pairs, flip=True), _without(right, pairs, 1)
    if len(left) == len(right) == 1 and respelled(left[0], right[0]):
        return Aligned((*pairs, (left[0], right[0])), ((), ()))
    return Aligned(tuple(pairs), (tuple(left), tuple(right)))


def respelled(one: Item, other: Item) -> bool:
    """Whether two words are one word with a slip of the pen.

    Only slips that seldom make another word: a letter doubled or not, two neighbours exchanged, "m" for
    "n", a lost "h" and a consonant lost between others ("goverment"; not "l" or "r": contact, contract).
    Never vowels (affect, effect), never names, never the first three letters.
    """
    short, long = sorted((one.raw.casefold(), other.raw.casefold()), key=len)
    if one.kind != WORD or other.kind != WORD or len(long) > _SLIP_MAX or len(long) < _SLIP_MIN:
        return False
    if short[:3] != long[:3] or short[-1:] != long[-1:] or len(long) - len(short) > 1:
        return False
    if {short, long} in _NO_SLIPS or not (short.isascii() and long.isascii() and long.isalpha()):
        return False
    at = next((index for index in range(len(short)) if short[index] != long[index]), len(short))
    if len(short) == len(long):
        swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
        nasal = {short[at : at + 1], long[at : at + 1]} == {"m", "n"} and short[at + 1 :] == long[at + 1 :]
        return swapped or nasal
    if short[at:] != long[at + 1 :]:
        return False
    lost, before, after = long[at], long[at - 1], long[at + 1 : at + 2]
    clustered = lost not in _VOWELS | {"l", "r"} and after not in _VOWELS
    return lost in (before, after, "h") or (clustered and _crowded(long, at))


def _crowded(word: str, at: int) -> bool:
    """Whether the letter stands first or second among three consonants."""
    consonant = [letter not in _VOWELS for letter in word[max(0, at - 1) : at + 3]]
    return all(consonant[:3]) or all(consonant[1:4])


def done_when(pairs: Sequence[tuple[Item, Item]]) -> tuple[bool, bool]:
    """For questions who did something: whether it is a deed done once, on both sides; and whether only one
    side says that it goes on ("who is winning", "who won")."""
    deeds = [pair for pair in pairs if pair[0].key in DEEDS]
    going = any(goes_on(left) != goes_on(right) for left, right in deeds)
    return any(left.key in _ONCE for left, _ in deeds), going


def goes_on(item: Item) -> bool:
    """Whether a deed is said to be going on or to be a habit ("winning", "wins")."""
    raw = item.raw.casefold()
    return raw.endswith(("ing", "s")) and raw not in words.AGENTS


def regraded(one: Features, other: Features, pairs: Sequence[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    """An adverb on one side that describes a thing on the other ("promote a blog secretly", "promote a
    secret blog")."""
    for left, right in pairs:
        left_ly, right_ly = (item.raw.casefold().endswith("ly") for item in (left, right))
        if left_ly == right_ly:
            continue
        adjective, side = (right, other) if left_ly else (left, one)
        if any(
            item.chunk == adjective.chunk and item.place == adjective.place + 1 and item.kind == WORD
            for item in side.items
        ):
            return left, right
    return None


def _without(items: Sequence[Item], pairs: Sequence[tuple[Item, Item]], side: int) -> list[Item]:
    used = {id(pair[side]) for pair in pairs}
    return [item for item in items if id(item) not in used]


def _joined(
    apart: Sequence[Item], whole: Sequence[Item], pairs: list[tuple[Item, Item]], *, flip: bool
) -> list[Item]:
    """Match two neighbours in ``apart`` with one word of ``whole`` ("web site", "website"); what is left of
    ``whole``."""
    rest = list(whole)
    by_raw = {item.raw.casefold().replace("-", ""): item for item in whole}
    for first, second in pairwise(apart):
        found = by_raw.get((first.raw + second.raw).casefold())
        if found is not None and second.place == first.place + 1 and found in rest:
            rest.remove(found)
            pairs.extend(((found, first), (found, second)) if flip else ((first, found), (second, found)))
    return rest


def opposites(one: Sequence[Item], other: Sequence[Item]) -> tuple[Item, Item] | None:
    """The first pair of contrary words among what is alone on each side."""
    there = {item.key: item for item in other}
    for item in one:
        for contrary in (*CONTRARIES.get(item.key, ()), *_negated_forms(item.key)):
            if contrary in there:
                return item, there[contrary]
    return None


def _negated_forms(word: str) -> list[str]:
    """The negated or bare forms of a word by prefix (legal, illegal); four letters at least must remain."""
    bare = [word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix)]
    longer = [prefix + word for prefix in _PREFIXES] if len(word) >= _BARE_MIN else []
    return [*(form for form in bare if len(form) >= _BARE_MIN), *longer]


_TURNED_ROLES = ({"from", "to"}, {"by", "about"}, {"before", "after"})
"""Roles of one word on the two sides that make the opposite of each other."""


def turned(one: Features, other: Features, pairs: Sequence[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    """Two items whose roles or order changed places, else None; whichever question comes first."""
    return _turned(one, other, pairs) or _turned(other, one, [(right, left) for left, right in pairs])


def _turned(one: Features, other: Features, pairs: Sequence[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    ordered = sorted(pairs, key=lambda pair: pair[0].place)
    for left, right in ordered:
        if {left.role, right.role} in _TURNED_ROLES:
            return left, right
    places = [right.place for _, right in ordered]
    if all(before <= after for before, after in pairwise(places)):
        return None if len(ordered) > ORDER_MAX else _swapped_roles(ordered)
    if len(ordered) > ORDER_MAX:
        return ordered[0][0], ordered[-1][0]
    if found := _swapped_roles(ordered) or _regrouped(one, other, ordered):
        return found
    return _inverted(one, other, ordered)


def _swapped_roles(pairs: Sequence[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    changed = [pair for pair in pairs if pair[0].role != pair[1].role]
    for (left, right), (left2, right2) in combinations(changed, 2):
        inverted = (left.place - left2.place) * (right.place - right2.place) < 0
        if inverted and left.role == right2.role and right.role == left2.role:
            return left, left2
    return None


def _inverted(one: Features, other: Features, pairs: Sequence[tuple[Item, Item]]) -> tuple[Item, Item] | None:
    for (left, right), (left2, right2) in combinations(pairs, 2):
        if right.place <= right2.place or left.key == left2.key:
            continue
        if _may_move(one, other, (left, right), (left2, right2)):
            continue
        named = left.kind in NAMED and left2.kind in NAMED
        acted = one.fronted != other.fronted and not (left.role or right.role or left2.role or right2.role)
        beside = _beside(left, left2) and _beside(right2, right)
        if named or acted or beside or _between(pairs, (left, right), (left2, right2)):
            return left, left2
    return None


def _beside(first: Item, second: Item) -> bool:
    """Whether one word stands right before the other with nothing between ("chocolate milk")."""
    return first.chunk == second.chunk and second.place == first.place + 1 and not first.role + second.role


def _may_move(one: Features, other: Features, first: tuple[Item, Item], second: tuple[Item, Item]) -> bool:
    """Whether the two may stand in either order without another meaning."""
    if first[0].sentence != second[0].sentence and first[1].sentence != second[1].sentence:
        return True
    if _SYMMETRIC & {first[0].key, second[0].key}:
        return True
    moved = first[0].role == first[1].role and second[0].role == second[1].role
    if moved and first[0].role != second[0].role:
        return True
    roles = {first[0].role, first[1].role, second[0].role, second[1].role} - {""}
    if roles and not moved and roles <= words.FREE_ROLES:
        return True
    if NUMBER in (first[0].kind, second[0].kind) and {first[0].kind, second[0].kind} != {NUMBER}:
        return True
    return _listed(one, first[0], second[0]) and _listed(other, first[1], second[1])


def _listed(features: Features, first: Item, second: Item) -> bool:
    """Whether the two stand in different members of one list."""
    low, high = sorted((first.chunk, second.chunk))
    return low < high and all(chunk in features.links for chunk in range(low, high))


def _regrouped(
    one: Features, other: Features, pairs: Sequence[tuple[Item, Item]]
) -> tuple[Item, Item] | None:
    """Members of a list that changed partners ("red car and blue bus", "blue car and red bus")."""
    listed = [pair for pair in pairs if _in_list(one, pair[0]) and _in_list(other, pair[1])]
    for (left, right), (left2, right2) in combinations(listed, 2):
        if (left.chunk != left2.chunk) != (right.chunk != right2.chunk):
            return left, left2
    return None


def _in_list(features: Features, item: Item) -> bool:
    return item.chunk in features.links or item.chunk - 1 in features.links


def _between(pairs: Sequence[tuple[Item, Item]], first: tuple[Item, Item], second: tuple[Item, Item]) -> bool:
    """Whether a matched word, not itself listed with them, stands between the two on both sides."""
    return any(
        first[0].place < left.place < second[0].place
        and second[1].place < right.place < first[1].place
        and left.kind != ASK
        for left, right in pairs
    )
