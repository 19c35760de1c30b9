"""Texts that go on from something said before, by their wording alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from node.language import tables
from node.language.reading import read
from node.pipeline.understanding import rules


@dataclass(frozen=True, slots=True)
class Resolved:
    """``text`` can be asked alone; ``reason`` says in words how it was made."""

    text: str
    reason: str


_LEANING_WORDS = 10
_SCRIPT_LEANS = tuple(rule for code in tables.codes()[1:] for rule in rules.rows("leans", code))
_OBJECT_LEANS = rules.named("object_leans")
_IS_IT = rules.named("is_it")
ROLE_ALONE = rules.named("role_alone")

# What a thing has one of: asked of nothing, it is that of the thing spoken of before.
_REFERS = rules.rows("refers")
_REFERRING_WORDS = 12


def leaning(text: str) -> str | None:
    """Why the text, by its wording alone, goes on from something said before; None when it does not."""
    reading = read(text)
    flat = reading.flat[: rules.TEXT_CHARS]
    found = rules.follow_up(flat)
    if found is None and len(reading.words) <= _LEANING_WORDS:
        if _OBJECT_LEANS.match(flat) or _IS_IT.match(flat):
            found = "its pronoun stands for something said before"
        elif ROLE_ALONE.match(flat):
            found = "names a part of something said before"
    if found is None and len(reading.words) <= _REFERRING_WORDS:
        found = next((rule.name for rule in _REFERS if rule.fits(flat, flat)), None)
    if found is not None or reading.script == "latin":
        return found
    plain = reading.plain.strip(" ?？!！。.")
    return next((rule.name for rule in _SCRIPT_LEANS if rule.fits(plain, plain)), None)


REQUESTS = frozenset(rules.WORDS["orders"])


def mark_for(question: str) -> str:
    """The mark that ends a question, or what is asked for as an order."""
    reading = read(question)
    if reading.script in ("japanese", "chinese"):
        return "？"
    first = reading.words[0] if reading.words else ""
    return "." if first in REQUESTS else "?"
