"""Which peers' texts a model may read beside what this node knows itself.

Rules (design section 9: what a peer says is a claim; facts on trust B, "poisoned context"):
1. What this node made, holds or has looked up is always read.
2. A record of our own comes into the context only where the gate finds that it is stored for this question.
   So where there is one, the question is answered from what is ours, and no peer's text is read at all.
3. An article or another partial answer of an adapter may only be near the subject: it takes the place of
   peers' texts where one of its sentences speaks of most of what is asked (``SPEAKS``).
4. Elsewhere peers' texts are read, each under its name as a claim.

Why texts are left out instead of laid out beside ours: five texts of one peer outweigh one of ours for any
model that counts, an order or an authority in them for any that obeys, and whether two sentences contradict
each other is told by no rule on words. What agrees with ours has nothing to add.

Pure. Must not know: peers' standing (only what may be shown arrives here), models, prompts.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.answer.extractive import TEXT_CHARS_MAX, matches, terms_of
from node.core.model import Evidence, SourceRef
from node.language.sentences import plain, sentences

CLAIM = "claimed by a peer: "
"""What the name of a source begins with whose text is only a peer's word. A peer cannot leave it away."""
SPEAKS = 0.6
"""The share of a question's keywords in one sentence from which the sentence speaks of what is asked."""


def is_claim(source: SourceRef) -> bool:
    """Whether a stored record is a peer's and neither made nor checked here."""
    return source.kind == "cache" and source.id.startswith(CLAIM)


def heard(question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence that is read, in its order."""
    ours = [one for one in evidence if not is_claim(one.source)]
    if len(ours) == len(evidence) or not any(_answers(question, one) for one in ours):
        return list(evidence)
    return ours


def _answers(question: str, ours: Evidence) -> bool:
    """Rules 2 and 3."""
    if not ours.text.strip():
        return False
    if ours.source.kind != "adapter":
        return True
    terms = terms_of(question)
    wanted = len(terms.keywords) * SPEAKS
    return bool(terms.keywords) and any(
        matches(terms, sentence)[0] >= wanted for sentence in sentences(plain(ours.text[:TEXT_CHARS_MAX]))
    )
