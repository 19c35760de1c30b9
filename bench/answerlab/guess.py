"""Prints the transcripts that have no label yet, each with a first guess, for a person to read.

    python -m bench.answerlab.guess NAME > to_read.tsv

A line for ``labels.tsv`` stands before each answer, what it is judged by behind it, in lines that begin with
``#``. The guess goes by the words that a right or wrong answer holds; where a question has none it is ``?``,
which the reader of the labels refuses.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.answerlab.data import FOLDER, is_held, labels, read_lines
from node.answer.grounding import abstains


def guess(question: Mapping[str, Any], text: str) -> str:
    """right, wrong or honest where the question's words decide, else ``?``."""
    low = text.lower()
    if abstains(text):
        return "honest"
    if any(word.lower() in low for word in question.get("wrong", ())):
        return "wrong"
    must = question.get("must", ())
    if not must:
        return "wrong" if question.get("absent") else "?"
    return "right" if any(word.lower() in low for word in must) else "wrong"


def asked() -> dict[str, Mapping[str, Any]]:
    """The questions of both sets by id."""
    found: dict[str, Mapping[str, Any]] = {row["id"]: row for row in read_lines(FOLDER / "general.jsonl")}
    for world in read_lines(FOLDER / "worlds.jsonl"):
        found |= {row["id"]: row for row in world["asks"]}
        found |= {row["id"]: {**row, "absent": True} for row in world["absent"]}
    return found


def main(arguments: Sequence[str]) -> int:
    name = arguments[0]
    known, questions = labels(), asked()
    for row in read_lines(FOLDER / "transcripts" / f"{name}.jsonl.gz"):
        if (name, row["id"]) in known:
            continue
        question, text = questions[row["id"]], row["first"]["text"]
        print(f"{row['id']}\t{name}\t{guess(question, text)}\t")
        gold = question.get("gold", "nothing that was stored says it")
        for said in (f"asked: {row['q']}", f"gold: {gold}", f"said: {text}"):
            print("\n".join(f"# {line}" for line in said.splitlines()))
    left = [item for item in questions if not is_held(item)]
    print(f"{len(left)} of {len(questions)} questions are not kept back", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
