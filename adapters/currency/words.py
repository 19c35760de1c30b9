"""What people say when they ask for an exchange rate. Pure.

The words stand in ``languages/<code>.toml``; those of all languages are read at once. Rows whose names end in
``_script`` are patterns of texts that are not cut into words.
"""

from __future__ import annotations

import re

from node.language import tables
from node.language.tables import every, listed

TABLES = tables.by_language("languages", __package__)


def _phrases(name: str) -> tuple[tuple[str, ...], ...]:
    """Runs of words, in the order of the languages."""
    rows = (phrase for table in TABLES.values() for phrase in listed(table.get(name, ())))
    return tuple(tuple(phrase.split()) for phrase in rows)


def _script(name: str) -> str:
    return "|".join(tables.entries(TABLES, f"{name}_script"))


FILLERS, TRAPS = every(TABLES, "fillers"), every(TABLES, "traps")
MINUS, TARGET, ARTICLES = every(TABLES, "minus"), every(TABLES, "target"), every(TABLES, "articles")
ENGLISH = tables.words(
    "how what is are was were does do did the of for can could will would buy get worth much"
)
TOLD = every(TABLES, "told")
"""Where these stand, "in canadian" may be a way to speak."""
RATE, RATE_OF = every(TABLES, "rate"), every(TABLES, "rate_of")
RATE_PHRASES = _phrases("rate_phrases")
RATE_SURE = tuple(
    phrase
    for phrase in RATE_PHRASES
    if len(phrase) > 1 or phrase[0] in ("wechselkurs", "wisselkoers", "cotizacion", "cotacao", "курс")
)
"""What makes money of a word that is mostly something else ("the exchange rate of the rand")."""
STANDS = _phrases("stands")
"""Asking how a single currency stands."""
HOW_MANY = _phrases("how_many")
COMPARED = every(TABLES, "compared")
"""Which of two currencies is worth more is told by their rate."""
SLIPS, NO_SLIPS = every(TABLES, "slips"), every(TABLES, "no_slips")
"""What is mended when one letter is amiss, and words of their own that are one letter away from those."""
CONVERTS, CONNECTS, INTO = every(TABLES, "converts"), every(TABLES, "connects"), every(TABLES, "into")
FOR_EACH, VALUE, WORTH = every(TABLES, "for_each"), every(TABLES, "value"), every(TABLES, "worth")
PRICED = every(TABLES, "priced")
"""What costs something: a trap unless an amount of money is to be told in another currency."""
COINS, LEADS = every(TABLES, "coins"), every(TABLES, "leads")
REVERSED = every(TABLES, "reversed")
SCRIPT_TRAPS, SCRIPT_RATE = re.compile(_script("traps")), re.compile(_script("rate"))
SCRIPT_FILLERS = re.compile(_script("fillers") + r"|[\s?？。、,，！!=~ー]")
