"""What an asker is told, and what an asker is never told."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from adapters.outcomes import failed
from node.answer.reasons import could_not_look_up, heading, no_answer, say, source_said
from node.core.breaker import BreakerOpen
from node.core.errors import Forbidden, NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.core.model import Failed, Missed, Step

OPERATORS = re.compile(
    r"https?:|ollama|make |pip |gguf|llama|status \d|bytes|JSON|setting|models\.|trace|/health|adapter", re.I
)
LANGUAGES = json.loads((files("node.answer") / "reasons.json").read_text("utf-8"))


def test_every_language_says_the_same_things_and_nothing_of_the_operators() -> None:
    blanks = {key: set(re.findall(r"{\w+}", text)) for key, text in LANGUAGES["en"].items()}
    for code, sentences in LANGUAGES.items():
        assert sentences.keys() == LANGUAGES["en"].keys(), code
        for key, text in sentences.items():
            assert set(re.findall(r"{\w+}", text)) == blanks[key], (code, key)
            assert not OPERATORS.search(text), (code, key)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RateLimited("the limit of calls is reached", retry_after_s=20), "in a moment"),
        (RateLimited("the limit of calls is reached", retry_after_s=300), "in about 5 minutes"),
        (BreakerOpen("keeps failing (status 500)", retry_after_s=30), "has not answered lately"),
        (TimedOut("CoinGecko did not answer within 4.0 s"), "did not answer in time"),
        (Forbidden("CoinGecko refused (status 403)"), "does not let me"),
        (Rejected("CoinGecko answered with more than 2097152 bytes"), "could not read"),
        (Unavailable("CoinGecko failed (status 500)"), "could not be reached"),
    ],
)
def test_what_went_wrong_with_a_source_is_told_by_its_kind(error: NodeError, words: str) -> None:
    said = source_said(failed(error), "coingecko", is_local=False)
    assert said.startswith("CoinGecko ")
    assert words in said
    assert not OPERATORS.search(said)
    assert not OPERATORS.search(source_said(failed(error), "a-plugin", is_local=False))


def test_what_a_working_source_says_is_passed_on() -> None:
    nothing = Missed("there are no exchange rates before 4 January 1999")
    assert source_said(nothing, "fx-rates", is_local=False) == nothing.reason
    refused = Failed("refused", "the result has too many digits")
    assert source_said(refused, "math-calculator", is_local=True) == refused.reason
    assert could_not_look_up("it is not known yet.") == "I could not look that up: it is not known yet."


def test_a_language_without_sentences_is_answered_in_english() -> None:
    assert say("late", "xx") == say("late")
    assert no_answer([], "ja") == say("no_model")
    assert no_answer([Step("generate", "skipped", "")], "fr") == say("no_model", "fr")


def test_the_asker_s_own_text_is_named_in_the_language_of_the_question() -> None:
    assert heading("the text you sent", "de") == "Laut dem Text, den Sie geschickt haben:"
    assert heading("the text you sent") == "According to the text you sent:"
