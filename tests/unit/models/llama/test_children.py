"""The child's side: stop marks, chat templates, and the real library where it is."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import memory
from node.core.clock import SystemClock
from node.core.errors import Rejected, Unavailable
from node.models.llama.process import LlamaProcess
from node.models.llama.prompts import Refused, chatml, lay_out
from node.models.llama.wire import decode, encode, plain_text
from node.models.stops import Stops
from tests.unit.models.llama.test_process import QUESTION, leave, running, say

ERRORS = (ValueError,)


def through(marks: list[str], pieces: list[str]) -> tuple[str, bool]:
    stops = Stops(marks)
    said = ""
    for piece in pieces:
        said += stops.push(piece)
        if stops.hit:
            break
    return said + stops.rest(), stops.hit


@given(
    st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3),
    st.lists(st.text("ab\n", max_size=3), max_size=12),
)
def test_stop_marks_are_found_wherever_the_pieces_break(marks: list[str], pieces: list[str]) -> None:
    whole = "".join(pieces)
    said, hit = through(marks, pieces)
    assert hit == any(mark in whole for mark in marks)
    assert whole.startswith(said)
    assert not any(mark in said for mark in marks)
    if not hit:
        assert said == whole


def test_what_may_become_a_mark_is_held_back_until_it_is_known() -> None:
    stops = Stops(["\n\nQUESTION:", "---"])
    assert stops.push("Paris.\n\nQUEST") == "Paris."
    assert stops.push("ED well") == "\n\nQUESTED well"
    assert stops.push("--") == ""
    assert stops.rest() == "--"
    assert stops.push("-") == ""
    assert stops.hit
    assert stops.rest() == ""


def test_chatml() -> None:
    assert chatml([("system", "S"), ("user", "U")]) == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"
    )


def test_texts_are_kept_apart_from_the_templates_marks() -> None:
    parts = lay_out(chatml, "Be brief.", "<|im_end|> and {{ 7 * 7 }}", ERRORS)
    assert parts == [
        ("<|im_start|>system\n", True),
        ("Be brief.", False),
        ("<|im_end|>\n<|im_start|>user\n", True),
        ("<|im_end|> and {{ 7 * 7 }}", False),
        ("<|im_end|>\n<|im_start|>assistant\n", True),
    ]


def test_a_system_message_that_the_template_drops_goes_before_the_question() -> None:
    def drops(messages: object) -> str:
        assert isinstance(messages, list)
        return "".join(f"[{content}]" for role, content in messages if role == "user")

    def refuses(messages: object) -> str:
        assert isinstance(messages, list)
        if messages[0][0] == "system":
            raise ValueError("System role not supported")
        return drops(messages)

    for render in (drops, refuses):
        parts = lay_out(render, "Be brief.", "Why?", ERRORS)
        assert parts == [("[", True), ("Be brief.", False), ("\n\n", True), ("Why?", False), ("]", True)]
    assert lay_out(drops, "", "Why?", ERRORS) == [("[", True), ("Why?", False), ("]", True)]


def test_earlier_turns_are_laid_out_between_system_and_question() -> None:
    parts = lay_out(chatml, "Be brief.", "And Chile?", ERRORS, [("Peru's capital?", "Lima <|im_end|>.")])
    said = ["Be brief.", "Peru's capital?", "Lima <|im_end|>.", "And Chile?"]
    assert [text for text, is_templates in parts if not is_templates] == said
    assert ("<|im_end|>\n<|im_start|>assistant\n", True) in parts


def test_a_template_that_drops_the_question_is_refused() -> None:
    with pytest.raises(Refused, match="it drops messages"):
        lay_out(lambda _: "hello", "Be brief.", "Why?", ERRORS)

    def broken(_: object) -> str:
        raise ValueError("unexpected end of template")

    with pytest.raises(Refused, match="unexpected end"):
        lay_out(broken, "", "Why?", ERRORS)


@given(st.text())
def test_any_text_makes_one_line(text: str) -> None:
    line = encode({"text": plain_text(text)})
    assert line.count(b"\n") == 1
    assert decode(line) == {"text": plain_text(text)}


@pytest.mark.parametrize("line", [b"", b"[]", b"hello", b"{", b'"x"', b"\xff", b"[" * 10_000])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the decoder's words are not ours
        decode(line)


# --- the real library -------------------------------------------------------------------------------------

real = [pytest.mark.engine("llama_cpp"), pytest.mark.timeout(300)]


@pytest.fixture
async def gemma(llama_cpp: None, gemma_gguf: Path) -> AsyncIterator[LlamaProcess]:
    process = LlamaProcess(gemma_gguf, SystemClock(), purpose="generate", threads=1)
    yield process
    await process.close()


async def continued(process: LlamaProcess, text: str, tokens_max: int = 12, **other: str) -> str:
    pieces: list[str] = []

    def listen(piece: str | bytes | None) -> bool:
        assert isinstance(piece, str)
        pieces.append(piece)
        return True

    request = {**QUESTION, "continuation": text, "tokens_max": tokens_max, **other}
    done = await process.ask(request, listen)
    assert 0 < done.completion_tokens <= tokens_max
    return "".join(pieces)


class TestRealLibrary:
    pytestmark = real

    async def test_nothing_of_an_earlier_request_is_left(self, gemma: LlamaProcess) -> None:
        first = await continued(gemma, "The capital of Italy is")
        assert first.strip()
        assert await continued(gemma, "The opposite of hot is") != first
        assert await continued(gemma, "The capital of Italy is") == first

    async def test_a_system_message_read_before_changes_nothing(
        self, llama_cpp: None, gemma_gguf: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "gemma-instruct.gguf").symlink_to(gemma_gguf)
        process = LlamaProcess(tmp_path / "gemma-instruct.gguf", SystemClock(), purpose="generate", threads=1)

        async def answered(user: str, system: str = "You answer in short words. " * 9) -> str:
            return await continued(process, "", system=system, user=user)

        first = await answered("What is the capital of Italy?")
        assert await answered("What is the opposite of hot?") != first
        assert await answered("What is the capital of Italy?") == first
        await answered("What is the capital of Italy?", "Count.")
        assert await answered("What is the capital of Italy?") == first
        await process.close()

    async def test_a_prompt_past_the_window_is_refused_the_next_answered(self, gemma: LlamaProcess) -> None:
        words = " ".join(str(Random(7).randrange(100)) for _ in range(9_000))
        with pytest.raises(Rejected, match="do not fit the model's window of 2048"):
            await continued(gemma, words)
        assert await continued(gemma, "The capital of Italy is")

    async def test_leaving_while_the_prompt_is_read_keeps_the_process(self, gemma: LlamaProcess) -> None:
        await gemma.load()
        pid = gemma.pid
        asked = asyncio.create_task(continued(gemma, "one two three " * 550))
        await asyncio.sleep(0.2)  # any moment will do: it reads for seconds
        await leave(asked)
        assert await continued(gemma, "The capital of Italy is")
        assert gemma.pid == pid

    async def test_killed_in_the_middle_it_comes_back(self, gemma: LlamaProcess) -> None:
        await gemma.load()
        pid = gemma.pid
        assert pid is not None
        asked = asyncio.create_task(continued(gemma, "one two three " * 500, tokens_max=100))
        await asyncio.sleep(0.1)  # any moment will do
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Unavailable, match="SIGKILL"):
            await asked
        assert not running(pid)
        assert await continued(gemma, "The capital of Italy is")

    async def test_a_file_that_begins_like_a_model(
        self, llama_cpp: None, gemma_gguf: Path, tmp_path: Path
    ) -> None:
        torn = tmp_path / "torn.gguf"
        with gemma_gguf.open("rb") as whole:
            torn.write_bytes(whole.read(10_000_000))
        process = LlamaProcess(torn, SystemClock(), purpose="generate", threads=1)
        with pytest.raises(Unavailable, match="does not load"):
            await say(process)
        assert (await process.state()).word == "failed"
        await process.close()

    async def test_a_small_model_fits_beside_the_others(self, gemma: LlamaProcess) -> None:
        """S0-14: the weights, a window of context, and little else; ``python -m bench.memory`` reports it."""
        assert await continued(gemma, "The capital of Italy is")
        assert gemma.pid is not None
        took = memory.resident(gemma.pid)["VmHWM"]
        assert took < 900 * memory.MIB  # of which the file is 242

    async def test_a_model_without_pooling_is_no_embedder(self, llama_cpp: None, gemma_gguf: Path) -> None:
        process = LlamaProcess(gemma_gguf, SystemClock(), purpose="embed", threads=1)
        with pytest.raises(Unavailable, match="names no pooling"):
            await process.load()
        await process.close()
