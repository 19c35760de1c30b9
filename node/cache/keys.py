"""The keyword key: what a question says as one line of text, equal for questions that ask the same.

It is the hash tier for records and questions without an embedding: what is asked for, the content words in
order, lightly stemmed, synonyms and spellings united; politeness, articles and function words dropped;
contractions opened. Kept: who/when/where/why/how many …, tense, negation with the word that it negates,
figures, units (case kept), degrees, "from" and "to". "price of bitcoin" and "bitcoin price" meet.

Promises: pure, total, bounded. Equal keys are a strong hint; ``lookup`` lets the gate's vetoes judge them
too. Must not know: records, stores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import groupby, pairwise

from node.cache.matching import words
from node.cache.matching.compare import DEEDS, goes_on
from node.cache.matching.features import ASK, PLAIN, Features, Item
from node.cache.matching.gate import agree
from node.cache.matching.reader import extract

PREFIX = "kw2:"
_READABLE_MAX = 200
_KEPT_ROLES = frozenset(words.PREPOSITIONS) - words.FREE_ROLES
_GENERAL = frozenset({"how", "yesno"})


def keyword_key(text: str) -> str | None:
    """The key of a question, e.g. ``kw2:what|btc price``; None when it has no content word or is too long
    to be read."""
    features = extract(text)
    if features.too_long:
        return None
    content = [item for item in features.items if item.kind != ASK]
    if not any(not item.soft for item in content):
        return None
    if features.language != "english":
        line = f"{features.language}|{' '.join(features.flat)}"
    else:
        line = f"{_asked(features)}|{' '.join(_words(features, _ordered(features.items)))}"
    if len(line) > _READABLE_MAX:
        line = hashlib.sha256(line.encode()).hexdigest()
    return PREFIX + line


def same_question(one: str, other: str) -> bool:
    """Whether an answer to one question is an answer to the other, beyond doubt: what write-back merges by.
    Stricter than a hit: no veto of the gate, and the same words but for order-free filler, or the same
    keyword key. Symmetric."""
    verdict = agree(one, other, deterministic=True)
    if verdict.veto is not None:
        return False
    if verdict.reason == "same words":
        return True
    key = keyword_key(one)
    return key is not None and key == keyword_key(other)


def _asked(features: Features) -> str:
    """What is asked for, how finely, about when and whom."""
    parts = ["what" if ask in PLAIN else ask for ask in features.asks] or ["what"]
    parts += [f"in.{detail}" for detail in sorted(features.details)]
    parts += [mark for mark in (features.tense, features.modality) if mark and mark != "present"]
    spoken = {"he", "she"} if set(features.asks) <= _GENERAL else {"he", "she", "i", "you"}
    parts += sorted(features.person & spoken)
    parts += sorted(features.marks | features.joiners) + [
        f"to.{verb}" for verb in sorted(features.leanings - {"define"})
    ]
    parts += sorted(form for form in features.forms if form.startswith("ing."))
    if features.asks == ("who",) and any(item.key in DEEDS and goes_on(item) for item in features.items):
        parts.append("now")
    if any(item.key == features.subject for item in features.items):
        parts.append(f"by.{features.subject}")
    return ".".join(parts)


def _ordered(items: Sequence[Item]) -> list[Item]:
    """Items in order; a closing "of …" goes to the front of what it belongs to, as in a compound, and "to …"
    behind a "from …" that follows it."""
    items = _from_before_to(items)
    last = items[-1].chunk
    tail = [item for item in items if item.chunk == last]
    head = [item for item in items if item.chunk != last]
    if head and all(item.role == "of" for item in tail) and not any(item.role == "of" for item in head):
        inner = max(item.chunk for item in head)
        before = [item for item in head if item.chunk != inner]
        return [*before, *tail, *(item for item in head if item.chunk == inner)]
    first, rest = items[0], items[1:]
    if first.raw.startswith("how ") and rest and len({(item.chunk, item.role) for item in rest}) == 1:
        return [*rest, first]  # "how high is X" asks for the height of X
    return list(items)


def _from_before_to(items: Sequence[Item]) -> list[Item]:
    runs = [list(run) for _, run in groupby(items, key=lambda item: (item.role, item.chunk, item.sentence))]
    for index, (one, other) in enumerate(pairwise(runs)):
        if one[0].role == "to" and other[0].role == "from" and one[0].sentence == other[0].sentence:
            runs[index], runs[index + 1] = other, one
    return [item for run in runs for item in run]


def _words(features: Features, items: Sequence[Item]) -> list[str]:
    negated = list(features.negations)
    verb = next((item.key for item in reversed(items) if not item.role), "")
    negated = [(kind, verb if target == "*" else target) for kind, target in negated]
    out: list[str] = []
    for item in items:
        for entry in [entry for entry in negated if entry[1] == item.key][:1]:
            out.append(f"!{entry[0]}")
            negated.remove(entry)
        if item.role in _KEPT_ROLES:
            out.append(f"{item.role}:")
        out.append(item.key)
    return out + [f"!{kind}" for kind, _ in negated]
