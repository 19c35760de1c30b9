"""What became of one question: what was found, what was answered, and what that is worth.

Pure. Each value of an ``Outcome`` is None where it does not apply to the question's category, or was not
measured. Overlap of words with a model answer (ROUGE) is no measure here: it punishes right paraphrases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from node.knowledge.evaluation.questions import Question
from node.language.numbers import fold

WORDS_MAX = 120
"""The fact has to stand within so many words of the answer."""

HIGHER_IS_BETTER = (
    "recall_at_10",
    "reciprocal_rank",
    "newest_above",
    "has_contradiction",
    "abstained",
    "false_abstention",
    "unsure",
    "false_contradiction",
    "citation_precision",
    "citation_recall",
    "fact",
    "quality",
)
"""What two runs are compared by, and with a sign."""
LOWER_IS_BETTER = frozenset({"false_abstention", "unsure", "false_contradiction"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What the answering side said. ``cited``: paths of documents. ``unsure``: it quotes what is nearest
    to the question and says that it is no sure answer. ``tokens``: read and written."""

    text: str
    cited: tuple[str, ...]
    has_contradiction: bool
    abstained: bool
    ms: float
    tokens: tuple[int, int] = (0, 0)
    source: str = ""
    unsure: bool = False


class Outcome(msgspec.Struct, frozen=True):
    """One row of a report. Shares are in [0, 1], ``quality`` is 0 to 3, ``ms`` the time of the answer."""

    id: str
    category: str
    language: str
    recall_at_10: float | None = None
    reciprocal_rank: float | None = None
    newest_above: float | None = None
    has_contradiction: float | None = None
    false_contradiction: float | None = None
    abstained: float | None = None
    false_abstention: float | None = None
    unsure: float | None = None
    citation_precision: float | None = None
    citation_recall: float | None = None
    fact: float | None = None
    quality: float | None = None
    ms: float | None = None
    retrieval_ms: float | None = None
    tokens_read: int | None = None
    tokens_written: int | None = None
    answer: str = ""
    cited: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    error: str = ""


@dataclass(slots=True)
class Measured:
    """What the two sides gave for one question. ``ranked``: distinct paths, best first; None where retrieval
    was not measured. ``scores``: by the ranking library. ``older``: paths of versions that the one that holds
    supersedes, where they are known beside ``gold``."""

    question: Question
    ranked: tuple[str, ...] | None = None
    retrieval_ms: float | None = None
    reply: Reply | None = None
    quality: int | None = None
    error: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    older: tuple[str, ...] = ()


def outcome(one: Measured) -> Outcome:
    """The row."""
    asked, reply = one.question, one.reply
    row: dict[str, Any] = {"error": one.error, "retrieval_ms": one.retrieval_ms}
    if one.ranked is not None:
        row["found"] = one.ranked[:10]
        if asked.is_answerable:
            row |= {**one.scores, "newest_above": newest_above(asked, one.ranked, one.older)}
    if reply is not None:
        row |= _of_reply(asked, reply)
        row["quality"] = one.quality
    return Outcome(asked.id, asked.category, asked.language, **row)


def _of_reply(asked: Question, reply: Reply) -> dict[str, Any]:
    row: dict[str, Any] = {
        "answer": reply.text,
        "cited": reply.cited,
        "ms": reply.ms,
        "unsure": float(reply.unsure),
        "tokens_read": reply.tokens[0],
        "tokens_written": reply.tokens[1],
    }
    if not asked.is_answerable:
        return row | {"abstained": float(reply.abstained)}
    row |= {
        "false_abstention": float(reply.abstained),
        "fact": float(not reply.abstained and has_fact(reply.text, asked.facts)),
        "citation_recall": _share(
            [any(_names(path, cited) for cited in reply.cited) for path in _needed(asked)]
        ),
    }
    if reply.cited:
        row["citation_precision"] = _share(
            [any(_names(path, cited) for path in asked.gold) for cited in reply.cited]
        )
    if asked.category == "contradiction":
        row["has_contradiction"] = float(reply.has_contradiction)
    elif asked.category == "answerable":
        row["false_contradiction"] = float(reply.has_contradiction)
    return row


def _names(path: str, cited: str) -> bool:
    """Whether a citation names a document: by its path or the end of it."""
    return path == cited or path.endswith(f"/{cited}")


def _needed(asked: Question) -> Sequence[str]:
    """What has to be cited: of superseded versions only the one that holds."""
    return (asked.holds,) if asked.category == "superseded" and asked.holds else asked.gold


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def newest_above(asked: Question, ranked: Sequence[str], older: Sequence[str] = ()) -> float | None:
    """Whether the version that holds was found and stands above every other version; None where there is but
    one."""
    others = [path for path in (*asked.gold, *older) if path != asked.holds]
    if asked.holds is None or not others or asked.category == "answerable":
        return None
    if asked.holds not in ranked:
        return 0.0
    place = ranked.index(asked.holds)
    return float(all(path not in ranked[:place] for path in others))


def has_fact(text: str, facts: Sequence[str]) -> bool:
    """Whether one of the facts stands in the first words of an answer, but for case, accents, spaces and the
    separators of thousands."""
    said = _flat(" ".join(text.split()[:WORDS_MAX]))
    return any(f" {_flat(fact).strip()} " in said for fact in facts if _flat(fact).strip())


def _flat(text: str) -> str:
    folded = fold(text)
    kept = [
        char
        for at, char in enumerate(folded)
        if not (char in ",.'" and folded[at - 1 : at].isdigit() and _is_thousand(folded, at))
    ]
    words = "".join(char if char.isalnum() or char in "%€$£" else " " for char in "".join(kept))
    return f" {' '.join(words.split())} "


def _is_thousand(text: str, at: int) -> bool:
    """Whether three figures, and no fourth, follow the sign."""
    three, fourth = text[at + 1 : at + 4], text[at + 4 : at + 5]
    return three.isdigit() and len(three) == 3 and not fourth.isdigit()
