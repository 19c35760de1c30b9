"""What a grammar looks for before it reads a text changes nothing of what it recognises."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from adapters.currency import names, parsed
from adapters.local_time import clock_times
from adapters.scores import tokens
from adapters.snapshot import questions as snapshot
from adapters.weather import coordinates
from bench.questions import questions
from node.core.model import Recognition
from node.language import conversation, numbers
from node.language.phrases import Language
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS

BENCH = Path(__file__).resolve().parents[3] / "bench"
FILES = (
    BENCH / "routing_questions.jsonl",
    BENCH / "answerlab" / "general.jsonl",
    *sorted((BENCH / "newcomerlab").glob("*.jsonl")),
)
HINTED_EACH, MADE_EACH = 8, 40
SHARES = pytest.mark.parametrize("each", [12, pytest.param(1, marks=pytest.mark.slow)])
"""Every twelfth text, and in the slow part all."""


class Everything(frozenset[str]):
    """A set that no word is left out of."""

    def __contains__(self, word: object) -> bool:
        return True


def texts() -> list[str]:
    """The questions of the benches, and some of those that are made by program."""
    found = [
        text
        for file in FILES
        for line in file.read_text(encoding="utf-8").splitlines()
        for text in _said(json.loads(line))
    ]
    made = questions()[::MADE_EACH]
    found += [one.text for one in made] + [one.again(one.number) for one in made]
    return list(dict.fromkeys(found))


def _said(row: dict[str, object]) -> Iterator[str]:
    history = row.get("history")
    for said in (row.get("text"), row.get("q"), *(history if isinstance(history, list) else ())):
        if isinstance(said, str):
            yield said


def recognised(asked: Iterable[str]) -> list[Recognition | None]:
    return [
        adapter.recognise(text, NOW, hinted=hinted)
        for number, text in enumerate(asked)
        for adapter in RECOGNISERS
        for hinted in ((False, True) if number % HINTED_EACH == 0 else (False,))
    ]


@SHARES
def test_a_text_is_recognised_alike_without_the_cheap_looks(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = texts()[::each]
    with_looks = recognised(asked)
    monkeypatch.setattr(numbers, "starts", Everything)
    monkeypatch.setattr(tokens, "_FIRSTS", Everything())
    monkeypatch.setattr(snapshot, "_NAME_STARTS", Everything())
    monkeypatch.setattr(clock_times, "_FIGURE", re.compile(""))
    monkeypatch.setattr(coordinates, "_FIGURE", re.compile(""))
    monkeypatch.setattr(parsed, "names_money", lambda words: True)
    assert recognised(asked) == with_looks
    assert sum(found is not None for found in with_looks) > len(asked) // 4


def test_what_only_other_scripts_name_holds_no_word_in_ascii() -> None:
    assert not any(map(str.isascii, names._SCRIPT))
    assert not any(
        pattern.search(text) for pattern, _ in names._CYRILLIC for text in texts()[::20] if text.isascii()
    )


@SHARES
def test_conversation_is_told_alike_with_every_word_spelt_out(
    each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patient(language: Language, words: Iterable[str]) -> tuple[str, ...]:
        return tuple(word if word in language.known else language._meant(word) or word for word in words)

    asked = texts()[::each]
    quickly = [(conversation.talk(text), conversation.order(text)) for text in asked]
    conversation.talk.cache_clear()
    monkeypatch.setattr(Language, "spelt", patient)
    assert [(conversation.talk(text), conversation.order(text)) for text in asked] == quickly
    conversation.talk.cache_clear()
