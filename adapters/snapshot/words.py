"""What people say of the proposals of a space: words and patterns of all languages. Pure.

The words of ``[metrics]`` say what is asked of a proposal; where several do, the first of ``METRICS`` counts.
"""

from __future__ import annotations

import re

from node.language.tables import any_of, fill, lexicon

_LEXICON = lexicon(__package__)
TABLES = _LEXICON.tables
WORDS = _LEXICON.words
PATTERNS = _LEXICON.patterns
finds = _LEXICON.finds

KNOWN = frozenset().union(
    *(WORDS[name] for name in ("frame", "noun", "vote", "beside", "governs", "number_sign"))
)
"""Words that carry no condition of their own once space, number, metric and time are read."""
SERIES = r"(?:[a-z]{1,3}ip|ep|ip|gcp|sep|sccp|stp|scp|agp|bgp|tgp|ugp|obra)"
ASKS = re.compile(fill(r"^(?:(?:hey|hi|hello|ok|so|and|please|pls) )*<asks>\b", TABLES["words"]))


_ROWS = {"duration": "date", "outcome": "result"}
"""Rows of words that say a metric of another name."""


def _metric(row: str) -> re.Pattern[str]:
    scripts = TABLES["script_metrics"].get(row, ())
    latin = any_of(TABLES["metrics"][row])
    return re.compile(fill("|".join((rf"\b(?:{latin})\b", *scripts)), TABLES["words"]))


METRICS = tuple(
    (_ROWS.get(row, row), _metric(row))
    for row in (
        *("quorum", "author", "duration", "outcome", "votes", "amount", "date", "status", "result"),
        "summary",
    )
)
METRIC_WORDS = {word: metric for metric, words in TABLES["metric_words"].items() for word in words}
