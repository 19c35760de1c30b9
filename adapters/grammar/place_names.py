"""What people call places, as data: countries in several languages, regions, short names, guarded words.

It promises canonical English names on the right of every row. It knows nothing of coordinates, which
``places`` takes from the gazetteer. All keys are folded: lower case, no accents, blanks for hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping

from node.language.reading import word_list
from node.language.tables import read_table

_DATA = read_table(__package__, "place_names.toml")

RENAMED: Mapping[str, str] = _DATA["renamed"]
"""GeoNames name -> how an English writer calls it, for the largest town of that name."""

SHORT: Mapping[str, str] = _DATA["short"]

PICKY: Mapping[str, str] = {"la": "los angeles", "us": "united states", "in": "", "or": "", "me": ""}
"""Short names that are mostly other words: only directly after a preposition or article, at the end of the
phrase. An empty value: never alone."""

EXONYMS = _DATA["exonyms"]

AREAS = _DATA["areas"]

SIMPLIFIED = tuple(_DATA["simplified"])
"""Traditional characters of place names, and the simplified ones that they are read as."""

COUNTRIES = _DATA["countries"]

STATES_ELSEWHERE = _DATA["states_elsewhere"]
"""States of the US as other languages call them; their English names are the gazetteer's."""

REGIONS = _DATA["regions"]

POSTAL_WORDS = frozenset(word_list("in or me ok hi oh id la de co al as so us mi on"))
"""Postal codes that are words as well: believed only as the last word after a town of that state."""

BETTER_KNOWN: Mapping[str, str] = {"valencia": "ES", "athlone": "IE", "middelburg": "NL"}
"""Names whose best known town is not the one that size and names in other languages would choose."""

LEADING = frozenset(
    word_list("in at for near around over within inside across en em im nach bei beim aux dans fur sobre par")
)
"""Words after which even an everyday word may be a place."""

LEADING_WEAKLY = frozenset(
    word_list(
        "a au para pour per no na nos nas of de di do da del von desde aus from to between entre zwischen "
        "tra fra and vs versus than y e et und or oder o ou about is"
    )
)
"""Words after which a town is likely, but an everyday word is not."""

PREPOSITIONS = LEADING | LEADING_WEAKLY | frozenset(word_list("with by on bis hacia sur chez um as"))

DROPPED = frozenset(
    word_list(
        "in at for near around over within inside across en em a aux au nach bei beim im dans fur of de di "
        "do da del von para pour na no"
    )
)
"""Prepositions that go with the place when it is taken out of the words."""

ARTICLES = frozenset(word_list("the el la los las der die das den dem le les il lo"))
BEFORE_NAME = frozenset(word_list("downtown central greater metro metropolitan city town nearby sunny rainy"))

NEVER = frozenset(word_list(_DATA["never"]))
"""Never a place on their own: words of time, of weather, and the little words of six languages."""

GUARDED = frozenset(word_list(_DATA["guarded"]))
"""Everyday words that are towns too: only after a preposition or with a region or country."""
