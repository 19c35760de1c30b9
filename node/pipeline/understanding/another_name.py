"""The last question asked of another name: "and Y?" Pure."""

from __future__ import annotations

import re

from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.antecedent import NEW_SUBJECT_WORDS, NOT_A_NAME, SUBJECT_WORDS
from node.pipeline.understanding.leaning import Resolved, leaning, mark_for

_OF_ANOTHER = rules.pattern(r"^(?P<lead><another>)[\s,]+(?P<y>[^?¿!.,]{1,60}?)\s*[?.!]*$", re.IGNORECASE)
_THE_OF = rules.pattern(
    r"^(?P<head>.{1,160}?\s<of>\s)(?P<the><definite> )?(?P<z>[^\s].{0,60})$", re.IGNORECASE
)
_SINGULAR_OF = rules.pattern(r"\b<singular>\s?[\w'-]+(?: [\w'-]+)?\s<of>\s$", re.IGNORECASE)
_DEFINITE = frozenset(rules.WORDS["definite"])
_ASKS_FOR_ONE = rules.pattern(r"^(?:(?:please|ok|so|hey|hi) )*<asks_for_one>\b")
_ABOUT_ONE = rules.pattern(
    r"^(?P<head>(?:(?:please|ok|so|hey|hi|can you|could you)\s+)*(?:(?P<who><who_is>)|<what_is>))\s+"
    r"(?P<z>.{1,60}?)(?P<tail> born| founded| built| invented| die)?$",
    re.IGNORECASE,
)
_NOT_ANOTHER = frozenset(rules.WORDS["not_another"])


def of_another(text: str, turn: str) -> Resolved | None:
    """The last question, asked of what the text names."""
    match = _OF_ANOTHER.match(text.strip())
    body = turn.strip().rstrip(" ?？.!").strip()
    if match is None or len(read(turn).sentences) != 1 or "," in body:
        return None
    new = match["y"].strip()
    new_words = read(new).words
    if not 1 <= len(new_words) <= NEW_SUBJECT_WORDS or not _NOT_ANOTHER.isdisjoint(new_words):
        return None
    if any(char.isdigit() for char in new) or (" and " in f" {new.lower()} "):
        return None
    made = _after_of(body, new) or _in_place(body, new, asks=match["lead"].lower())
    if made is None or leaning(made) is not None:
        return None
    mark = turn.strip()[-1:] if turn.strip()[-1:] in "?." else mark_for(made)
    return Resolved(made + mark, f"the last question asked of “{new}”")


_IS_A_PART = rules.named("is_a_part")


def _has_article(name: str) -> bool:
    return name.split()[0].lower() in {*_DEFINITE, "a", "an"}


def _after_of(body: str, new: str) -> str | None:
    """ "the capital of X" with another X."""
    match = _THE_OF.match(body)
    if match is None or not _ASKS_FOR_ONE.match(read(body).flat):
        return None
    old = match["z"]
    if not _is_name(old) or not _is_name(new) or " of " in f" {new.lower()} ":
        return None
    if _IS_A_PART.match(read(new).flat) or (_has_article(new) and not _has_capital(new)):
        return None  # "and the melting point?" asks for something else of the same
    # a role in the definite article's singular: "the capital of", not "a bottle of" or "kinds of"
    if not _SINGULAR_OF.search(match["head"]):
        return None
    article = match["the"] or ""
    if new.lower().split()[0] in _DEFINITE:
        article = ""
    elif article and not article.lower().startswith("the"):
        return None  # which article the new name takes is not known
    elif article:
        article = "the " if new.endswith("s") and not new[0].islower() else ""
    return f"{match['head']}{article}{new}"


def _in_place(body: str, new: str, *, asks: str) -> str | None:
    """ "who is X" with another X: a person for a person, a name for a name, "a dog" for "a cat"."""
    match = _ABOUT_ONE.match(body)
    if match is None:
        return None
    old = match["z"]
    if not _is_name(old) or not _is_name(new):
        return None
    who = match["who"]
    alike = all(name.split()[0].lower() in rules.WORDS["indefinite"] for name in (old, new))
    alike = alike or _have_one_form(old, new)
    named = _has_capital(new) and _has_capital(old)
    if not (who or alike or named):
        return None
    if (who or named) and old.split()[0].lower() in _DEFINITE and not _has_capital(new):
        return None
    return f"{match['head']} {new}{match['tail'] or ''}"


def _have_one_form(old: str, new: str) -> bool:
    """ "proof of stake" and "proof of work": as many words, all but one the same."""
    olds, news = read(old).words, read(new).words
    return len(olds) == len(news) >= 2 and sum(a != b for a, b in zip(olds, news, strict=True)) == 1


def _is_name(text: str) -> bool:
    folded = read(text).words
    return (
        1 <= len(folded) <= SUBJECT_WORDS
        and NOT_A_NAME.isdisjoint(set(folded) - {"of"})
        and text[0].isalpha()
    )


def _has_capital(text: str) -> bool:
    return any(char.isupper() for char in text)
