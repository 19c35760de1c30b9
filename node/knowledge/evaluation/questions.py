"""The questions of an evaluation: JSONL, one object a line (``docs/evaluation.md``). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from node.core.errors import BadInput

Category = Literal["answerable", "contradiction", "superseded", "unanswerable"]
Split = Literal["train", "held_out"]
QUESTIONS_MAX = 10_000


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``gold``: paths of the documents that an answer rests on; ``facts``: at least one of them must stand in
    the answer; ``holds``: the path of the version that holds, where there are several; ``across``: it is in
    another language than its documents."""

    id: str
    category: Category
    question: str
    language: str
    gold: tuple[str, ...]
    facts: tuple[str, ...]
    holds: str | None
    split: Split
    across: bool = False

    @property
    def is_answerable(self) -> bool:
        return self.category != "unanswerable"


def questions(lines: Iterable[str], split: Split | None = None) -> list[Question]:
    """The questions of one split, or of both. Raises ``BadInput`` naming the line."""
    found: dict[str, Question] = {}
    decoder = msgspec.json.Decoder(Question)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError) as exc:
            raise BadInput(f"line {number} of the questions: {exc}", field="questions") from exc
        if why := _wrong(one, found):
            raise BadInput(f"line {number} of the questions: {why}", field="questions")
        found[one.id] = one
        if len(found) > QUESTIONS_MAX:
            raise BadInput(f"more than {QUESTIONS_MAX} questions", field="questions")
    return [one for one in found.values() if split in (None, one.split)]


def _wrong(one: Question, before: dict[str, Question]) -> str:
    if one.id in before:
        return f"the id {one.id!r} stands twice"
    if one.is_answerable and not (one.gold and one.facts):
        return f"{one.id!r} is {one.category} and needs gold and facts"
    if one.holds is not None and one.holds not in one.gold:
        return f"{one.id!r} holds {one.holds!r}, which is not in gold"
    return ""
