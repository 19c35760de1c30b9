"""The judge of answers: what it is asked, what its words mean, and what is known of its bias.

Pure. A grade that cannot be read is no grade; ``<think>`` blocks are dropped before reading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from node.knowledge.evaluation.questions import Question
from node.language.tables import read_table

ANSWER_CHARS_MAX = 4_000
PASSAGES_CHARS_MAX = 2_000
_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_GRADE = re.compile(r'"grade"\s*:\s*"?([0-3])(?!\d)')
_BARE = re.compile(r"(?<![\d.])([0-3])(?![\d.]*\d)")
_FAMILY = re.compile(r"[a-z]{3,}")


def asked(question: Question, answer: str) -> tuple[str, str]:
    """The judge's instruction and what it grades."""
    table = read_table(__package__, "judge.toml")
    expected = " or ".join(question.facts) if question.is_answerable else table["nothing"]
    said = table["user"].format(
        question=question.question, expected=expected, answer=answer[:ANSWER_CHARS_MAX]
    )
    return table["system"].strip(), said.strip()


def asked_again(question: str, answer: str, passages: Sequence[str]) -> tuple[str, str]:
    """The same of an answer that nobody has written an expected fact for: ``passages`` are what is known."""
    table = read_table(__package__, "judge.toml")
    known = "\n".join(passages)[:PASSAGES_CHARS_MAX]
    expected = table["passages"].format(passages=known).strip() if known else table["unknown"]
    said = table["user"].format(question=question, expected=expected, answer=answer[:PASSAGES_CHARS_MAX])
    return table["system"].strip(), said.strip()


def grade(reply: str) -> int | None:
    """The grade that a judge gave: in its JSON, else the one figure of its words; None where there is
    none."""
    said = _THINK.sub("", reply)
    if match := _GRADE.search(said):
        return int(match[1])
    figures = set(_BARE.findall(said))
    return int(figures.pop()) if len(figures) == 1 else None


def bias(judge: str, generator: str) -> str:
    """What a report says of its judge."""
    table = read_table(__package__, "judge.toml")
    name = shared_family(judge, generator)
    family = table["same_family"].format(name=name) if name else table["other_family"]
    return str(table["bias"].format(family=family)).strip()


def shared_family(judge: str, generator: str) -> str:
    """The first word that two names of models begin with, such as qwen; empty where they differ."""
    one, other = (_FAMILY.search(name.rpartition("/")[2].lower()) for name in (judge, generator))
    return one[0] if one and other and one[0] == other[0] else ""


def about(judge: str, generator: str) -> Mapping[str, str]:
    """The report's part about its judge."""
    return {"model": judge, "generator": generator, "bias": bias(judge, generator)}
