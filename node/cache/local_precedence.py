"""What a peer says is served only where nothing of our own says otherwise.

Rules, applied to what ``lookup`` has chosen:
1. A record of our own *speaks to* the question where it is alive and stored for these words, or for others
   that the gate finds no difference to (its veto). Its confidence does not matter: what is not sure enough to
   be served is good enough to be asked.
2. A peer's record whose answer is another text than that of one of ours that speaks to the question is
   *contested*: it is not served. Ours is, where it may be; elsewhere there is no hit, and the walk goes on.
3. Two answers are the same where their words are: a wrong one differs from the right one in one word, so
   likeness says nothing. What was recomputed here is no peer's word any more and is never contested.

So whoever is trusted fills what is not known here and overwrites nothing. Pure. Must not know: stores,
standing, models.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from node.cache.lookup import EXACT, SEMANTIC, Choice, Judged
from node.cache.matching.gate import agree
from node.core.normalise import normalise

CONTESTED = "contested"
REASON = "a peer's answer differs from what is known here"
NEAR_MIN = 0.5
"""The least cosine from which one of our records is asked."""
_GONE = frozenset({"withdrawn", "expired", "future", "too_old"})


def own_first(asked: str, choice: Choice, foreign: Collection[str], *, deterministic: bool = False) -> Choice:
    """The choice once our own records were heard. ``foreign``: the CIDs of peers' records that were not
    recomputed here. The same choice where the hit is ours or nobody contests it."""
    if choice.hit is None or choice.hit.candidate.cid not in foreign:
        return choice
    ours = [
        one
        for one in choice.judged
        if one.candidate.cid not in foreign and _speaks(asked, one, deterministic)
    ]
    said = [_words(one) for one in ours]
    judged = [
        replace(one, accepted=False, reason=REASON, code=CONTESTED)
        if one.accepted and one.candidate.cid in foreign and any(_words(one) != words for words in said)
        else one
        for one in choice.judged
    ]
    hit = next((one for one in judged if one.accepted), None)
    if hit is not None:
        return Choice(hit, tuple(sorted(judged, key=lambda one: not one.accepted)), hit.reason)
    return Choice(None, tuple(judged), judged[0].reason)


def _speaks(asked: str, one: Judged, deterministic: bool) -> bool:
    """Rule 1."""
    candidate = one.candidate
    if one.code in _GONE:
        return False
    if candidate.tier == EXACT:
        return True
    if candidate.tier == SEMANTIC and (candidate.similarity or 0.0) < NEAR_MIN:
        return False
    if candidate.tier != SEMANTIC and not candidate.check_text:
        return True
    return agree(asked, candidate.query, deterministic=deterministic).veto is None


def _words(one: Judged) -> str:
    return normalise(one.candidate.answer).casefold()
