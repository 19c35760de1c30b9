"""Word tables of the cache's gate and keyword key: English (``node/language/data/en/matching.toml``).

Promises: plain sets and maps of lower-case words, no rules. A word that stands in none of them is
*content*: it must be found on both sides before a stored answer may be served. Every word added to
``FILLER`` or ``SOFT`` therefore loosens the gate, every word added to ``SYNONYMS`` lets two words stand for
each other.

Must not know: which question sets are used for measuring. Entries are general English, not phrases of a set.
"""

from __future__ import annotations

from node.language import tables

TABLE = tables.language_table(tables.ENGLISH, "matching")


def table(name: str) -> frozenset[str]:
    """One of the table's sets of words."""
    return tables.words(TABLE["words"][name])


def pairs(name: str) -> dict[str, str]:
    """One of the table's maps of words."""
    return tables.pairs(TABLE["pairs"][name])


def _synonyms() -> dict[str, str]:
    found: dict[str, str] = {}
    for group in TABLE["synonyms"]["groups"].split("|"):
        first, *others = group.split()
        for word in (first, *others):
            found.setdefault(word, first)
    return found


ARTICLES = table("articles")
BE = table("be")
AUXILIARIES = BE | table("auxiliaries")
MODALS = tables.by_member(TABLE["modals"])
PAST = table("past")
PRESENT = table("present")
PRONOUNS = tables.by_member(TABLE["pronouns"])
PREPOSITIONS = table("prepositions")
ROLES = tables.by_member(TABLE["roles"])
FREE_ROLES = table("free_roles")
JOINERS = table("joiners")
DEMONSTRATIVES = table("demonstratives")
GENERIC_SUBJECTS = table("generic_subjects")
SUBJECT_AUXILIARIES = table("subject_auxiliaries")
POSSESSIVES = table("possessives")
FILLER = ARTICLES | AUXILIARIES | PREPOSITIONS | frozenset(PRONOUNS) | table("filler")
"""Dropped before comparing."""
SOFT = table("soft")
NEGATIONS = table("negations")
NEGATION_CLASS = tables.by_member(TABLE["negation_class"])
TIME = table("time")
COMPARISON = table("comparison")
SCOPE = table("scope")
UNIT_WORDS = table("unit_words")
AGENTS = pairs("agents")
DEEDS = table("deeds")
CLASSES = table("classes")
MISSPELLED = pairs("misspelled")
COMPARATIVE_BASES = table("comparative_bases")
CURRENCIES = table("currencies")
OPPOSITES = tuple(
    (one, other) for one, _, other in (pair.partition("/") for pair in TABLE["pairs"]["opposites"].split())
)
IRREGULAR = pairs("irregular")
"""Inflected forms that the light stemmer would miss or spoil."""
SYNONYMS = _synonyms()
