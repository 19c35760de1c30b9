import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from node.core.errors import BadInput, Unavailable
from node.knowledge.evaluation import judge, report
from node.knowledge.evaluation.outcome import Reply, has_fact, newest_above
from node.knowledge.evaluation.questions import Question, questions
from node.knowledge.evaluation.run import measure

ASKED = Question(
    id="q1",
    category="answerable",
    question="How many nights may guests stay?",
    language="en",
    gold=("policies/guests.md",),
    facts=("7 nights", "seven nights"),
    holds=None,
    split="train",
)
VERSIONS = Question(
    "q2", "superseded", "And now?", "de", ("a/v1.md", "a/v2.md"), ("seven nights",), "a/v2.md", "held_out"
)
RIVALS = Question("q3", "contradiction", "Which?", "en", ("a.md", "b.md"), ("480",), None, "train")
NOWHERE = Question("q4", "unanswerable", "What colour is the boat?", "en", (), (), None, "train")
SAID = Reply("Guests stay seven nights.", ("policies/guests.md",), False, False, 10.0, (100, 5), "tiny")


def line(one: Question, **more: Any) -> str:
    names = ("id", "category", "question", "language", "gold", "facts", "holds", "split")
    return json.dumps({name: getattr(one, name) for name in names} | more)


class Fixed:
    def __init__(self, ranked: dict[str, Sequence[str]], replies: dict[str, Reply]) -> None:
        self._ranked, self._replies = ranked, replies

    def ranked(self, question: str) -> tuple[Sequence[str], float] | None:
        return (self._ranked[question], 3.0) if question in self._ranked else None

    def reply(self, question: str) -> Reply | None:
        if question not in self._replies:
            raise Unavailable("for the test")
        return self._replies[question]


def test_questions_are_read_and_split() -> None:
    lines = [line(ASKED), "", line(VERSIONS)]
    assert questions(lines) == [ASKED, VERSIONS]
    assert questions(lines, "held_out") == [VERSIONS]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{", "line 2"),
        (line(VERSIONS, category="other"), r"line 2.*category"),
        (line(VERSIONS, more=1), r"line 2.*more"),
        (line(ASKED), "'q1' stands twice"),
        (line(VERSIONS, facts=[]), "needs gold and facts"),
        (line(VERSIONS, holds="c.md"), "not in gold"),
    ],
)
def test_a_bad_line_is_named(bad: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        questions([line(ASKED), bad])


def test_what_is_measured_by_category() -> None:
    contrary = replace(SAID, text="480 or 520.", cited=("a.md", "c.md"), has_contradiction=True)
    side = Fixed(
        {
            ASKED.question: ["x.md", "policies/guests.md"],
            VERSIONS.question: ["a/v1.md", "a/v2.md"],
            RIVALS.question: ["a.md", "y.md"],
        },
        {
            ASKED.question: SAID,
            VERSIONS.question: replace(SAID, cited=("a/v2.md",)),
            RIVALS.question: contrary,
            NOWHERE.question: replace(SAID, text="I could not find it.", cited=(), abstained=True),
        },
    )
    grades = {"q1": 3, "q2": 1, "q3": 2, "q4": 3}
    made = report.report(
        measure([ASKED, VERSIONS, RIVALS, NOWHERE], side, lambda asked, _: grades[asked.id]), {"profile": "p"}
    )
    whole, parts = made["all"], made["by_category"]
    assert whole["recall_at_10"] == pytest.approx((1 + 1 + 0.5) / 3, abs=1e-4)
    assert whole["reciprocal_rank"] == pytest.approx((0.5 + 1 + 1) / 3, abs=1e-4)
    assert parts["superseded"]["newest_above"] == 0.0
    assert "newest_above" not in parts["answerable"]
    assert parts["contradiction"]["has_contradiction"] == 1.0
    assert parts["answerable"]["false_contradiction"] == 0.0
    assert parts["unanswerable"]["abstained"] == 1.0
    assert whole["false_abstention"] == 0.0
    assert parts["contradiction"]["citation_precision"] == 0.5
    assert parts["contradiction"]["citation_recall"] == 0.5
    assert parts["superseded"]["citation_recall"] == 1.0
    assert whole["fact"] == 1.0
    assert (whole["quality"], whole["good_share"]) == (2.25, 0.75)
    assert (whole["tokens_read"], whole["tokens_written"], whole["ms_p95"]) == (400, 20, 10.0)
    assert made["by_language"]["de"]["questions"] == 1
    assert json.loads(json.dumps(made)) == made
    assert any(row.startswith("recall_at_10") for row in report.table(made))
    assert "rouge" not in json.dumps(made).lower()


def test_what_fails_counts_as_wrong_and_is_noted() -> None:
    made = report.report(measure([ASKED], Fixed({}, {})), {})
    assert made["all"]["errors"] == 1
    assert made["all"]["fact"] == 0.0
    assert made["rows"][0]["error"] == "for the test"


@pytest.mark.parametrize(
    ("text", "fact", "is_there"),
    [
        ("It is 1,200 euros.", "1200 euros", True),
        ("It is 1200 EUROS!", "1,200 euros", True),
        ("At most 17 nights.", "7 nights", False),
        ("It costs 3.5 %.", "3.5 %", True),
        ("It costs 35 %.", "3.5 %", False),
        ("Höchstens zwölf Nächte", "zwölf nächte", True),
        ("word " * 120 + "seven nights", "seven nights", False),
        ("anything", " ", False),
    ],
)
def test_a_fact_stands_in_the_answer(text: str, fact: str, is_there: bool) -> None:
    assert has_fact(text, [fact]) is is_there


def test_the_newest_counts_where_it_was_found() -> None:
    assert newest_above(VERSIONS, ["a/v2.md", "a/v1.md"]) == 1.0
    assert newest_above(VERSIONS, ["a/v2.md"]) == 1.0
    assert newest_above(VERSIONS, ["a/v1.md"]) == 0.0
    assert newest_above(RIVALS, ["a.md"]) is None


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('{"grade": 3}', 3),
        ("<think>0 or 1?</think> {\"grade\": \"2\"}", 2),
        ("Grade 2.", 2),
        ("1 or 2", None),
        ("10", None),
        ("", None),
        ("<think>3", None),
    ],
)  # fmt: skip
def test_a_grade_is_read(said: str, value: int | None) -> None:
    assert judge.grade(said) == value


def test_the_judge_is_named_with_its_bias() -> None:
    assert "one family (qwen)" in judge.bias("qwen2.5:3b", "ollama/qwen2.5-coder-1.5b")
    assert "different names" in judge.bias("llama3.2", "ollama/qwen2.5")
    assert (
        "does not say it" in judge.asked(NOWHERE, "x")[1] or "do not say it" in judge.asked(NOWHERE, "x")[1]
    )


def test_diff_lists_what_improved_and_regressed() -> None:
    rows = [{"id": "a", "fact": 0.0, "false_abstention": 1.0}, {"id": "b", "recall_at_10": 1.0}, {"id": "c"}]
    after = [{"id": "a", "fact": 1.0, "false_abstention": 0.0}, {"id": "b", "recall_at_10": 0.5}, {"id": "d"}]
    made = report.difference({"version": 1, "rows": rows}, {"version": 1, "rows": after})
    assert made["improved"] == {"a": [["false_abstention", 1.0, 0.0], ["fact", 0.0, 1.0]]}
    assert made["regressed"] == {"b": [["recall_at_10", 1.0, 0.5]]}
    assert made["only"] == {"before": ["c"], "after": ["d"]}
    with pytest.raises(BadInput, match="no report"):
        report.difference({}, {})
