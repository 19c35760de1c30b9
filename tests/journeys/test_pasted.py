"""A text that comes with its question: read with its lines, cached by every byte, asked about without a
question."""

from __future__ import annotations

from tests.journeys.conftest import Start, stages
from tests.simulators.ollama import OllamaStandIn

CODE = "def f(x):\n    y = a[0] + [1, 2][x]\n    return y"
FIXED = "The list is named b:\n\n```py\ndef f(x):\n    y = b[0] + [1, 2][x]\n    return y\n```"
MAIL = "Dear team,\n\nthe meeting on 3 May moves to 5 May at 14:00.\nBitcoin costs 4 EUR.\n\nBob"


async def test_the_model_reads_the_text_with_its_lines_and_code_comes_back_as_it_is(start: Start) -> None:
    async with OllamaStandIn(answer=lambda prompt: FIXED) as model, start(ollama=model.url) as node:
        reply = await node.ask(f"what is wrong with this code?\n\n{CODE}")
        assert FIXED in reply["answer"]
        assert reply["route"] == "generative"
        prompt = str(model.chats[-1])
        assert repr(CODE)[1:-1] in prompt
        assert "TEXT FROM THE USER" in prompt
        assert "QUESTION: what is wrong with this code" in prompt
        asked = len(model.chats)
        less = CODE.replace("    return", "  return")
        other = await node.ask(f"what is wrong with this code?\n\n{less}")
        assert other["hit"] is None
        assert len(model.chats) > asked


async def test_only_the_very_same_message_is_answered_from_the_cache(start: Start) -> None:
    said = "The meeting moves to 5 May at 14:00."
    async with OllamaStandIn(answer=lambda prompt: said) as model, start(ollama=model.url) as node:
        first = await node.ask(f"{MAIL}\n\nwhen is the meeting?")
        again = await node.ask(f"{MAIL}\n\nwhen is the meeting?")
        assert (again["hit"] is not None) == first["stored"]
        for other in (f"{MAIL} \n\nwhen is the meeting?", "when is the meeting?"):
            asked = len(model.chats)
            assert (await node.ask(other))["hit"] is None
            assert len(model.chats) > asked


async def test_without_a_model_its_sentences_are_quoted(start: Start) -> None:
    async with start() as node:
        reply = await node.ask(f"{MAIL}\n\nwhen is the meeting?")
        assert "5 May at 14:00" in reply["answer"]
        assert reply["source"] == {"kind": "extractive", "id": "the text you sent"}
        summary = await node.ask(f"pls summarize\n\n{MAIL}")
        assert "5 May at 14:00" in summary["answer"]
        nothing = await node.ask(f"what is wrong with this code?\n{CODE}")
        assert nothing["answer"].startswith("No sentence of your text")


async def test_a_text_without_a_question_is_asked_about(start: Start) -> None:
    async with OllamaStandIn() as model, start(ollama=model.url) as node:
        reply = await node.ask(MAIL)
        assert reply["answer"].startswith("What would you like to know about this text?")
        assert reply["source"]["kind"] == "statement"
        assert not reply["stored"]
        assert not model.chats


async def test_an_adapter_sees_the_question_only(start: Start) -> None:
    async with start() as node:
        reply = await node.ask(f"{MAIL}\n\nwhat is 12 * 7?")
        assert "84" in reply["answer"]
        assert "recall" not in stages(reply)
