"""Towns that the gazetteer lacks, named with the region or country that they lie in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from adapters.grammar.gazetteer import TOKENS_MAX, gazetteer
from adapters.grammar.place_names import BEFORE_NAME, LEADING
from adapters.grammar.places import DIVISIONS, Mention, area_at, is_nameable, mentions, placeless
from node.language.reading import word_list

UNLISTED_WORDS_MAX = 4
_PARTS = frozenset(
    word_list(
        "north south east west northern southern eastern western central mid middle upper lower northeast "
        "northwest southeast southwest northeastern northwestern southeastern southwestern upstate rural "
        "coastal mainland inland entire whole all most greater beautiful lovely good old new your my our "
        "nord sud est ovest norte sur este oeste norden suden osten westen"
    )
)
"""Words that make no name of what stands between them and a region ("southern Germany")."""


def unlisted(words: Sequence[str], commas: Collection[int], is_name: Callable[[str], bool]) -> Mention | None:
    """A name that the gazetteer lacks, in the region or country said after it: "Hallstatt, Austria". The
    area alone would be another place. ``commas`` are the positions in ``words`` of words that a comma
    stands before; without one, a preposition before the name must show it. ``is_name`` refuses words that
    the caller knows for others."""
    data = gazetteer()
    named: tuple[Mention, ...] | None = None
    for here in range(1, min(len(words), TOKENS_MAX)):
        at = here
        area = area_at(data, words, at)
        if area is None or not is_nameable(words[at]):
            continue
        regions, country, end = area
        if words[at - 1] in _PARTS and at - 1 in commas:
            at -= 1  # "Hallstatt, Upper Austria"
            again = area_at(data, words, end)
            end = again[2] if again is not None and again[1] == country else end
        start = at
        while start and at - start < UNLISTED_WORDS_MAX and (start == at or start not in commas):
            if not is_nameable(words[start - 1]) or not is_name(words[start - 1]):
                break
            start -= 1
        while start < at and words[start] in BEFORE_NAME:
            start += 1
        run = words[start:at]
        led = start > 0 and (words[start - 1] in LEADING or words[start - 1] == "for")
        if not run or not (at in commas or led) or all(word in _PARTS for word in run):
            continue
        if at not in commas and any(word in _PARTS or word in DIVISIONS for word in run):
            continue
        named = mentions(words) if named is None else named
        if any(one.start < at < one.end or one.end == at for one in named):
            continue  # a known town, narrowed or not
        if at not in commas and any(one.start < at and one.end > start for one in named):
            continue
        name = " ".join(word.capitalize() for word in run)
        said = placeless(data, name, regions[0] if regions else None, country)
        return Mention(start, end, said, led, 3.0)
    return None
