"""The contract of ``node.core.ports.Generator``, run over every implementation.

``OllamaGenerator`` and ``OpenAiGenerator`` over their stand-ins always; over a real server where one can be
had (``tests.engines``; Ollama speaks both protocols). What only a misbehaving server can show is in the unit
tests of the drivers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from _pytest.mark import ParameterSet

from node.answer import prompt as prompts
from node.core.clock import SystemClock
from node.core.errors import NodeError, TimedOut, Unavailable
from node.core.ports import Generator, Prompt
from node.models.generators.llama import LlamaGenerator
from node.models.generators.ollama import OllamaGenerator
from node.models.generators.openai_compatible import OpenAiGenerator
from node.models.llama.process import LLAMA_CPP, XLLAMACPP
from tests.simulators.llama import LlamaStandIn
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import OpenAiStandIn

GENEROUS_S = 50.0
"""A real model on two busy cores is slow; the stand-in never needs it."""
TOKENS = 80
"""Room for whole sentences: an answer without any would be refused."""


async def made(request: pytest.FixtureRequest, stack: AsyncExitStack) -> Generator:
    """The implementation of this name; what it needs ends with the stack."""
    clock, name = SystemClock(), request.param
    if name == "stand-in":
        return OllamaGenerator((await stack.enter_async_context(OllamaStandIn())).url, "", clock)
    if name == "openai-stand-in":
        vendor = await stack.enter_async_context(OpenAiStandIn(key="a-key"))
        return OpenAiGenerator(vendor.url, "a-key", "", clock)
    if name == "llama-stand-in":
        scripted = await stack.enter_async_context(LlamaStandIn())
        return LlamaGenerator(scripted.path, clock, program=scripted.program)
    if name in ("llama_cpp", "xllamacpp"):
        request.getfixturevalue(name)
        program, slots = (LLAMA_CPP, 1) if name == "llama_cpp" else (XLLAMACPP, 2)
        return LlamaGenerator(request.getfixturevalue("gemma_gguf"), clock, program=program, slots=slots)
    real = request.getfixturevalue("real_ollama")
    if name == "openai":
        return OpenAiGenerator(f"{real.url}/v1", "", real.model, clock)
    return OllamaGenerator(real.url, real.model, clock)


def real(name: str, engine: str) -> ParameterSet:
    return pytest.param(name, marks=[pytest.mark.engine(engine), pytest.mark.timeout(300)])


@pytest.fixture(
    params=[
        *("stand-in", "openai-stand-in", "llama-stand-in"),
        *(real("llama_cpp", "llama_cpp"), real("xllamacpp", "xllamacpp")),
        *(real("ollama", "ollama"), real("openai", "ollama")),
    ]
)
async def generator(request: pytest.FixtureRequest) -> AsyncIterator[Generator]:
    async with AsyncExitStack() as stack:
        one = await made(request, stack)
        yield one
        await one.close()


def ask(question: str, *, tokens_max: int = TOKENS) -> Prompt:
    return prompts.build(question, (), "contract", tokens_max=tokens_max)


async def test_a_prompt_becomes_a_draft(generator: Generator) -> None:
    draft = await generator.generate(ask("What colour is the sky?"), timeout_s=GENEROUS_S)
    assert draft.text.strip() == draft.text
    assert any(char.isalnum() for char in draft.text)
    assert draft.engine == generator.name != ""
    assert draft.model
    assert draft.prompt_tokens > 0
    assert 0 < draft.completion_tokens <= TOKENS
    assert draft.model_digest is None or len(bytes.fromhex(draft.model_digest)) == 32


async def test_no_thinking_and_no_marks_are_left(generator: Generator) -> None:
    draft = await generator.generate(ask("Name one fruit."), timeout_s=GENEROUS_S)
    for mark in ("<think", "<|", "<<<", "QUESTION:"):
        assert mark not in draft.text


async def test_temperature_is_zero(generator: Generator) -> None:
    first = await generator.generate(ask("Name one fruit."), timeout_s=GENEROUS_S)
    second = await generator.generate(ask("Name one fruit."), timeout_s=GENEROUS_S)
    assert first.text == second.text


async def test_log_probabilities_are_of_the_tokens_or_there_are_none(generator: Generator) -> None:
    draft = await generator.generate(ask("Name one fruit."), timeout_s=GENEROUS_S)
    assert all(-1_000 < value <= 0 for value in draft.token_logprobs)
    # An engine may count the end of the answer, or tokens behind it, among them or not.
    assert not draft.token_logprobs or len(draft.token_logprobs) >= draft.completion_tokens - 1


async def test_another_sample_can_be_asked_for(generator: Generator) -> None:
    prompt = replace(ask("Name one fruit."), temperature=0.7, seed=7)
    assert (await generator.generate(prompt, timeout_s=GENEROUS_S)).text


async def test_what_is_heard_meanwhile_is_the_answer(generator: Generator) -> None:
    heard: list[str] = []
    asked = ask("What colour is the sky?")
    draft = await generator.generate(asked, timeout_s=GENEROUS_S, on_text=heard.append)
    assert heard
    assert " ".join(draft.text.split()) in " ".join("".join(heard).split())


async def test_no_time_is_a_timeout(generator: Generator) -> None:
    with pytest.raises(TimedOut):
        await generator.generate(ask("Explain the tides."), timeout_s=0.0)


async def test_a_cancelled_call_leaves_it_usable(generator: Generator) -> None:
    # The probe leaves a connection open, so that the cancellation meets the call and not anyio's connecting,
    # which warns of its own coroutines.
    await generator.probe()
    task = asyncio.create_task(generator.generate(ask("Explain the tides."), timeout_s=GENEROUS_S))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await generator.generate(ask("Name one fruit."), timeout_s=GENEROUS_S)).text


async def test_calls_at_once_are_all_answered(generator: Generator) -> None:
    drafts = await asyncio.gather(
        *(generator.generate(ask(f"Name fruit number {n}."), timeout_s=GENEROUS_S) for n in (1, 2, 3))
    )
    assert all(draft.text for draft in drafts)


async def test_a_prompt_past_every_window_is_refused_as_ours(generator: Generator) -> None:
    with pytest.raises(NodeError):
        await generator.generate(Prompt("", "word " * 200_000), timeout_s=GENEROUS_S)


async def test_the_probe_says_that_it_lives(generator: Generator) -> None:
    check = await generator.probe()
    assert (check.name, check.status) == (generator.name, "pass")
    assert check.output


async def test_close_is_idempotent_and_final(generator: Generator) -> None:
    await generator.close()
    await generator.close()
    with pytest.raises(Unavailable):
        await generator.generate(ask("Name one fruit."), timeout_s=1.0)
    assert (await generator.probe()).status == "warn"
