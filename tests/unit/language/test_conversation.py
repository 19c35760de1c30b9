"""What is conversation, what only begins like it, and what is said back."""

from __future__ import annotations

import pytest

from node.language import conversation
from node.language.phrases import languages
from node.language.reading import fold, words_of
from node.language.tables import codes
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

ROWS = sections(__file__, "conversation.txt")


@each("row", ROWS["said"])
def test_conversation_is_known_in_its_language(row: str) -> None:
    code, topic, text = cells(row)
    said = conversation.talk(text)
    assert said is not None
    assert said.code == code
    assert topic in said.topics


@each("text", [*ROWS["no conversation"], "", "x" * 5_000])
def test_a_question_with_content_is_not_conversation(text: str) -> None:
    assert conversation.talk(text) is None


@each("row", ROWS["kept"])
def test_politeness_round_a_question_is_left_away(row: str) -> None:
    text, kept = cells(row)
    assert conversation.without(text) == kept


def test_replies_are_of_the_language_and_name_the_model() -> None:
    said = conversation.talk("welches Modell nutzt du?")
    assert said is not None
    assert "llama (m)" in conversation.answer(said, ["llama (m)"])
    assert "kein Sprachmodell" in conversation.answer(said, [])
    both = conversation.talk("who are you and what can you do?")
    assert both is not None
    assert "assistant" in conversation.answer(both, [])
    assert "sums" in conversation.answer(both, [])


@pytest.mark.parametrize(
    ("text", "reacts", "said"),
    [
        ("Das Wetter ist schön.", False, "Verstehe"),
        ("Небо голубое.", False, "Понятно"),
        ("私は猫が好きです。", False, "なるほど"),
        ("我喜欢吃苹果。", False, "明白"),
        ("Люблю котів і псів", False, "I see"),
        ("hi Bob", True, "Hello"),
    ],
)
def test_what_tells_is_acknowledged_in_its_language(text: str, reacts: bool, said: str) -> None:
    assert conversation.acknowledge(text, reacts=reacts).startswith(said)


def test_who_tells_something_hears_that_it_is_not_kept_and_who_only_reacts_does_not() -> None:
    for told in ("The office opens at nine.", "My card was stolen", "i feel sad today"):
        said = conversation.acknowledge(told, reacts=False)
        assert "only what I am taught" in said
        assert "neuroswarm" not in said
    assert conversation.acknowledge("lol", reacts=True) == "Good. Ask me whenever you want to know something."


@pytest.mark.parametrize("text", ["👍", "🎉🎉", ".", "???"])
def test_pictures_and_marks_are_reactions(text: str) -> None:
    assert conversation.acknowledge(text, reacts=False).startswith("Good.")


@each("row", ROWS["order"])
def test_orders_on_the_last_answer(row: str) -> None:
    kind, target, text = cells(row)
    order = conversation.order(text)
    assert order is not None
    assert (order.kind, order.target or "-") == (kind, target)


@pytest.mark.parametrize("text", ["what is ipfs", "redis", "you", "for", "german", "shorter route to Rome"])
def test_no_orders(text: str) -> None:
    assert conversation.order(text) is None


# --- the files ------------------------------------------------------------------------------------


def test_every_language_has_every_topic_order_and_reply() -> None:
    english, *others = languages()
    assert sorted(one.code for one in languages()) == sorted(codes())
    for one in others:
        assert [topic.name for topic in one.talk] == [topic.name for topic in english.talk]
        assert one.orders.keys() == english.orders.keys()
        assert one.replies.keys() == english.replies.keys()
        assert set(one.languages.values()) >= {"English", "German", "Spanish", "French", "Italian"}


def test_phrases_are_written_as_texts_are_read() -> None:
    for one in languages():
        for word in one.known:
            assert fold(word) == word, (one.code, word)
            assert words_of(f"a {word} b")[1:-1] == [word] or word.endswith("'"), (one.code, word)


@pytest.mark.parametrize("row", ROWS["subject"])
def test_how_an_answer_is_wanted_is_not_what_it_is_about(row: str) -> None:
    text, about = cells(row)
    assert conversation.subject(text) == about


@pytest.mark.parametrize("text", ROWS["writes"])
def test_an_order_to_write_is_no_question_for_a_note(text: str) -> None:
    assert conversation.asks_to_write(text)


@pytest.mark.parametrize("text", [*ROWS["writes nothing"], ""])
def test_what_speaks_of_writing_is_no_order_to_write(text: str) -> None:
    assert not conversation.asks_to_write(text)
