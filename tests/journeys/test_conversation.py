"""The first ten minutes: greetings, questions about the node, orders on the last answer, teaching; and a text
that comes with its question, which is read with its lines and cached by every byte."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from node.cli.main import main
from tests.faults.node_kit import eventually
from tests.journeys.conftest import STARTER, Start, stages
from tests.simulators.ollama import OllamaStandIn


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("hiya", "Hello!"),
        ("thx", "You're welcome"),
        ("Wer bist du?", "Ich bin der Assistent"),
        ("how do I add my own facts", "neuroswarm teach"),
        ("I love pizza.", "I see."),
    ],
)
async def test_the_node_talks_without_asking_anybody(start: Start, text: str, part: str) -> None:
    async with OllamaStandIn(answer="no") as model, start(ollama=model.url) as node:
        reply = await node.ask(text, session_id="s")
        assert part in reply["answer"]
        assert (reply["route"], reply["source"]["kind"]) == ("statement", "statement")
        assert not {"embed", "recall", "adapter", "generate"} & set(stages(reply))
        assert not model.chats


async def test_a_greeting_joined_to_a_question_is_left_away(start: Start) -> None:
    async with start() as node:
        assert (await node.ask("hi, what is 2+2?"))["answer"] == "2 + 2 = 4."
        which = await node.ask("which model do you use?")
        assert "No language model is connected" in which["answer"]


async def test_words_that_only_tell_find_the_note_that_is_meant(start: Start) -> None:
    async with start() as node:
        await node.store("What do I do when a tap drips?", "Close the valve and call Mr Orlow, 0441 22 87.")
        await node.store("When is the laundry room open?", "It is open from 7 to 21, not on Sundays.")
        told = await node.ask("my tap is dripping")
        assert (told["route"], told["source"]["kind"], told["stored"]) == ("statement", "extractive", False)
        assert "Mr Orlow" in told["answer"]
        for remark in ("i had soup for lunch today", "we had a lovely evening at the lake"):
            assert (await node.ask(remark))["source"]["kind"] == "statement"


async def test_words_that_only_tell_hit_what_was_stored_for_other_words(start: Start) -> None:
    async with start() as node:
        answer = "Call the branch on 0441 88; a new one comes by post."
        await node.store("I lost my PIN for the card", answer)
        reply = await node.ask("I have lost the PIN for my card")
        assert reply["route"] == "statement"
        assert reply["hit"]["kind"] in ("slot", "semantic")
        assert reply["answer"] == answer


async def test_what_a_model_has_wrong_about_a_note_is_not_shown(start: Start) -> None:
    note = (
        "A berth costs 28 crowns a night for boats up to 10 metres, and 41 crowns a night for longer boats."
    )

    def speak(prompt: str) -> str:
        return "Yes." if "Does the note contain the answer" in prompt else said

    async with OllamaStandIn(answer=speak) as model, start(ollama=model.url) as node:
        await node.store("What does a berth cost?", note)
        said = "A berth costs 41 crowns a night for boats up to 10 metres [1]."
        doubted = await node.ask("what does a berth cost for my boat of 8 metres")
        assert doubted["source"]["kind"] == "extractive"
        assert note in doubted["answer"]
        assert said[:40] not in doubted["answer"]
        said = "Dear harbour, my boat needs a berth [1]. Kind regards"
        written = await node.ask("please write a polite mail that asks what a berth costs")
        assert written["source"]["kind"] == "llm"
    async with start() as node:
        await node.store("What does a berth cost?", note)
        assert (await node.ask("please write a polite mail about the berth"))["source"]["kind"] == "fallback"


async def test_what_is_unsure_or_made_of_several_notes_is_not_stored(start: Start) -> None:
    def speak(prompt: str) -> str:
        return "Yes." if "Does the note contain the answer" in prompt else "It opens at nine [1]."

    async with OllamaStandIn(answer=speak) as model, start(ollama=model.url) as node:
        opens = "The reading room opens at nine in the morning"
        await node.store("When does the reading room open?", f"{opens}.")
        await node.store("What are the opening hours of the reading room?", f"{opens} and closes at six.")
        both = await node.ask("how early can i get into the reading room")
        assert (both["source"]["kind"], both["store_reason"]) == ("llm", "several notes"), both["answer"]
        near = await node.ask("who pays for the lamps in the reading room")
        assert "I don't know" in near["answer"]
        assert not near["stored"]


async def test_an_entry_that_holds_the_answer_is_a_hit_unless_something_fresher_is_wanted(
    start: Start, tmp_path: Path
) -> None:
    few = json.loads(STARTER.read_text(encoding="utf-8"))
    few["entries"] = few["entries"][40:50]  # a Sybil attack is among them
    (tmp_path / "few.json").write_text(json.dumps(few), encoding="utf-8")
    async with start(index_file=tmp_path / "few.json") as node:
        asked = "one guy making a thousand fake accounts to win a vote, what kind of attack is that"
        # the entries get their vectors behind the start
        await eventually(lambda: node.check("entries"), lambda it: "by themselves" not in it["output"])
        assert (await node.ask(asked))["hit"]["kind"] == "read"
        fresh = await node.ask(asked, max_age_s=60)
        assert fresh["hit"] is None


async def test_orders_without_a_model(start: Start) -> None:
    async with start(index_file=STARTER) as node:
        whole = await node.ask("What is IPFS?", session_id="s")
        await node.ask("thanks", session_id="s")
        assert (await node.ask("why?", session_id="s"))["source"]["kind"] == "fallback"
        short = await node.ask("shorter", session_id="s")
        assert whole["answer"].startswith(short["answer"])
        assert len(short["answer"]) < len(whole["answer"])
        assert not short["stored"]
        alone = await node.ask("shorter")
        assert "no earlier answer" in alone["answer"]


async def test_without_a_model_what_goes_on_is_asked_of_the_notes(start: Start) -> None:
    async with start() as node:
        await node.store(
            "who repairs bikes at the hall", "Petra Lindqvist does; her number is 0470 55 12 88."
        )
        await node.store("Wer leitet den Chor?", "Den Chor leitet Jonas Beck; seine Nummer ist 0761 4455.")
        await node.store("When is the reading room open?", "On Saturdays from 10:00 to 14:00.")
        await node.store("Wann ist das Hallenbad geöffnet?", "Es ist am Samstag von 9 bis 17 Uhr geöffnet.")
        await node.store("How much is a day ticket?", "A day ticket costs 6 euros for adults.")

        async def then(*said: str) -> dict[str, Any]:
            replies = [await node.ask(one, session_id=f"s{len(said[0])}") for one in said]
            return dict(replies[-1])

        her = await then("who is fixing bikes there", "whats her number")
        assert "0470 55 12 88" in her["answer"]
        assert her["citations"]
        his = await then("wer leitet den chor", "und seine nummer?")
        assert "0761 4455" in his["answer"]
        mail = await then("Wer leitet den Chor?", "und seine Mail?")
        assert mail["answer"].startswith("Das weiß ich nicht")
        sunday = await then("when is the reading room open on saturdays", "and on sundays?")
        assert sunday["answer"].startswith(
            "I don't know for sure. The nearest note here does not mention “sun"
        )
        sonntag = await then("Wann ist das Hallenbad geöffnet?", "und am Sonntag?")
        assert "erwähnt „Sonntag“ nicht" in sonntag["answer"]
        assert "9 bis 17" in sonntag["answer"]
        kids = await then("How much is a day ticket?", "and for kids?")
        assert "reword" not in kids["answer"]


async def test_orders_with_a_model(start: Start) -> None:
    def speak(prompt: str) -> str:
        last = prompt.splitlines()[-1]
        if "Translate" in last:
            return "Ein Quorum ist die Zahl der Stimmen, die es mindestens braucht."
        return "A quorum is the least number of votes." if "one short sentence" in last else "It is a rule."

    async with OllamaStandIn(answer=speak) as model, start(ollama=model.url) as node:
        await node.ask("What is a quorum?", session_id="s")
        short = await node.ask("shorter please", session_id="s")
        assert short["answer"] == "A quorum is the least number of votes."
        german = await node.ask("auf Deutsch", session_id="s")
        assert german["answer"].startswith("Ein Quorum")
        assert "A quorum is the least number of votes." in str(model.chats[-1])
        assert not german["stored"]


async def test_what_is_taught_is_answered(start: Start, tmp_path: Path, capsys: Any) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("question,answer\nWhen does the Larkspur office open?,At nine.\n,x\n")
    async with start() as node:

        def teach(*words: str) -> tuple[int, str]:
            code = main(["teach", *words, "--url", node.url])
            return code, capsys.readouterr().out

        code, said = await asyncio.to_thread(teach, "Where is the coffee machine?", "Room 4.")
        assert (code, said[:21]) == (0, "I will remember that.")
        code, said = await asyncio.to_thread(teach, "--file", str(facts), "--json")
        told = json.loads(said)
        assert code == 1
        assert [row["line"] for row in told["stored"]] == [2]
        assert told["bad"] == [{"line": 3, "field": "question", "reason": "it is missing"}]
        assert (await node.ask("where is the coffee machine"))["answer"] == "Room 4."
        record = await node.entry(told["stored"][0]["cid"])
        assert "20" in str(record)


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
