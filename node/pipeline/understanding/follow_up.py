"""Follow-ups ("and ETH?", "and tomorrow?", "why?", "who founded it?") as questions to be asked alone. Pure.

It promises a ``Resolved`` question only where one reading is possible: an adapter is certain of what it made,
or a rule below has exactly one thing that the words can stand for. A text that goes on from earlier turns
otherwise is ``Leaning``; a text that can be asked as it stands is None. Bounded: long texts and long turns
are not looked into, and adapters are asked a handful of times. It knows adapters only by what they claim.

Rules, first that holds:
1. A text that an adapter computes here and accounts for whole stands alone ("and 7*8?").
2. A text that leans by its wording (``leaning``), a bare fragment ("Paris", "in euros") and a question whose
   claim lacks what the last one named are completed by the adapter of the last question, or for leaning ones
   of the one before.
3. What any adapter claims with certainty, and what does not lean, stands alone.
4. After a question of one proposal by its number, another number takes its place, and a pronoun or what is
   asked of nothing ("who voted against?") is of that proposal.
5. "Why?" and its like are joined to a last question that stands alone and is not looked up live.
6. A pronoun becomes the one subject of the last question: he and she only that of a question of who.
7. "And Y?" asks the last question of Y in the place of the one name at its end.
8. Everything else that leans is left to its history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from node.core.model import CERTAIN, CLAIM, Kind, Recognition
from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.another_name import of_another
from node.pipeline.understanding.antecedent import TURN_CHARS_MAX, of_proposal, of_subject, with_subject
from node.pipeline.understanding.leaning import Resolved, leaning, mark_for
from node.pipeline.understanding.question import judge

Claims: TypeAlias = Callable[[str], Recognition | None]
Follow: TypeAlias = Callable[[str, str], str | None]

CHARS_MAX = 200
"""A longer text says what it is about."""
_TURNS_READ = 2
_FRAGMENT_WORDS = 8
_BARE_WORDS = 2

_IDENTITY = ("place", "team", "ids", "proposal")
"""Slots without which a live question cannot be looked up."""


@dataclass(frozen=True, slots=True)
class Leaning:
    """Goes on from earlier turns and cannot be resolved with certainty; ``reason`` says by which wording."""

    reason: str


def resolve(text: str, turns: Sequence[str], *, claims: Claims, follow: Follow) -> Resolved | Leaning | None:
    """What ``text`` asks after ``turns``, the earlier questions in their resolved form, oldest first.

    ``claims(text)`` is the strongest adapter recognition, None where none claims it; ``follow(fragment,
    earlier)`` the self-contained question that an adapter makes of a fragment after an earlier question."""
    reading = read(text)
    if not turns or not reading.words or len(text) > CHARS_MAX:
        return None
    claim = claims(text)
    certain = claim is not None and claim.strength >= CERTAIN
    if claim is not None and certain and claim.local:
        return None
    leans = leaning(text)
    completed = _completed(text, turns, claim, claims, follow, leans=leans is not None)
    if completed is not None:
        return completed
    if certain:
        return None
    if claim is None or claim.kind is Kind.HISTORICAL:
        asked_of_it = of_proposal(text, turns[-1])
        if asked_of_it is not None:
            return asked_of_it
    if leans is None:
        return None
    return _by_rule(text, turns[-1], claims) or Leaning(leans)


# --- completed by an adapter ----------------------------------------------------------------------


def _completed(
    text: str,
    turns: Sequence[str],
    claim: Recognition | None,
    claims: Claims,
    follow: Follow,
    *,
    leans: bool,
) -> Resolved | None:
    if _names_nothing(text):
        return None
    last = claims(turns[-1])
    lacking = last is not None and claim is not None and _lacks(claim, last)
    if not leans and not lacking and not _may_be_completed(text, claim, last):
        return None
    for turn in reversed(turns[-_TURNS_READ if leans else -1 :]):
        made = follow(text, turn)
        found = claims(made) if made is not None else None
        if made is None or found is None or found.strength < CERTAIN:
            continue
        if lacking and claim is not None and not _keeps(found, claim):
            continue
        return Resolved(made, f"{found.adapter} completes it from an earlier question")
    return _carried(text, claim, last, claims, follow) if lacking else None


_EMPTY = frozenset(rules.WORDS["empty"])


def _names_nothing(text: str) -> bool:
    """Nothing but pronouns and words like "what about": no slot may be filled with them."""
    return _EMPTY.issuperset(read(text).words)


def _carried(
    text: str, claim: Recognition | None, last: Recognition | None, claims: Claims, follow: Follow
) -> Resolved | None:
    """What the last question named, as a fragment that completes this one: "is it raining?" of "Paris"."""
    for name in _IDENTITY:
        value = last.slots.get(name) if last is not None else None
        if claim is None or not isinstance(value, str) or claim.slots.get(name) is not None:
            continue
        made = follow(value, text)
        found = claims(made) if made is not None else None
        if made is not None and found is not None and found.strength >= CERTAIN and _keeps(found, claim):
            return Resolved(made, f"{found.adapter} completes it with “{value}” from the last question")
    return None


def _lacks(claim: Recognition, last: Recognition) -> bool:
    return (
        not claim.local
        and claim.adapter == last.adapter
        and any(claim.slots.get(name) is None and last.slots.get(name) is not None for name in _IDENTITY)
    )


def _keeps(made: Recognition, claim: Recognition) -> bool:
    """Whether what was made still asks all that the text itself said."""
    return all(value is None or made.slots.get(name) == value for name, value in claim.slots.items())


def _may_be_completed(text: str, claim: Recognition | None, last: Recognition | None) -> bool:
    """Few words that no adapter claims, or a bare word, after a question that an adapter answers."""
    reading = read(text)
    if last is None or (claim is not None and claim.strength >= CERTAIN):
        return False
    size = len(reading.words) if reading.script in ("latin", "cyrillic") else len(reading.plain) // 3
    return size <= (_FRAGMENT_WORDS if claim is None else _BARE_WORDS)


# --- joined: why? ---------------------------------------------------------------------------------

_ASK_BACK = rules.pattern(r"^(?:<and_word> )?(?P<asks><asks_why>)(?:ですか|です|か|呢)?$")
_OPENING_WORD = rules.pattern(r"^[\s¿¡]*(?:<and_word>\b[\s,]*)+(?=[^\s?])", re.IGNORECASE)


def _joined(text: str, turn: str) -> Resolved | None:
    reading = read(text)
    subject = reading.flat if reading.script in ("latin", "cyrillic") else reading.plain.strip(" ?？。.!！")
    if _ASK_BACK.match(subject) is None:
        return None
    question = turn.rstrip()
    if question[-1:] not in "?？.。!！؟":
        question += mark_for(question)
    asks_back = _OPENING_WORD.sub("", text.strip()).strip()
    asks_back = asks_back.rstrip(" ?？.!") + ("？" if reading.script in ("japanese", "chinese") else "?")
    start = next((at for at, char in enumerate(asks_back) if char.isalpha()), 0)
    asks_back = asks_back[:start] + asks_back[start : start + 1].upper() + asks_back[start + 1 :]
    if "¿" in question and not asks_back.startswith("¿"):
        asks_back = "¿" + asks_back
    return Resolved(f"{question} {asks_back}", "joined to the last question, which it asks the reason of")


# --- together -------------------------------------------------------------------------------------


def _by_rule(text: str, turn: str, claims: Claims) -> Resolved | None:
    if len(turn) > TURN_CHARS_MAX or leaning(turn) is not None or not judge(read(turn)).asks:
        return None
    last = claims(turn)
    if last is not None and last.strength >= CLAIM:
        return None
    if len(read(turn).sentences) != 1:
        return None
    return _joined(text, turn) or with_subject(text, turn) or of_subject(text, turn) or of_another(text, turn)
