"""The driver over the scripted child: drafts, timeouts, queue, health."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256

import pytest

from node.answer import prompt as prompts
from node.core.errors import Rejected, TimedOut, Unavailable
from node.core.ports import Prompt
from node.models.generators.llama import LlamaGenerator
from node.models.llama.process import LOAD_S
from tests.manual_clock import ManualClock
from tests.simulators.llama import LlamaStandIn
from tests.simulators.llama_child import Script


@pytest.fixture
async def engine(llama: LlamaStandIn, clock: ManualClock) -> AsyncIterator[LlamaGenerator]:
    made = LlamaGenerator(llama.path, clock, queue_max=1, threads=1, program=llama.program)
    yield made
    await made.close()


def ask(question: str = "Explain the tides.", tokens_max: int = 200) -> Prompt:
    return prompts.build(question, (), "tag", tokens_max=tokens_max)


async def test_a_draft_names_its_model(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    draft = await engine.generate(ask(), timeout_s=5)
    assert draft.complete
    assert (draft.engine, draft.model) == ("llama_cpp", "small-model")
    assert draft.model_digest == sha256(llama.path.read_bytes()).hexdigest()
    assert draft.prompt_tokens > 0
    (request,) = llama.requests
    prompt = ask()
    said = {"system": prompt.system, "user": prompt.user, "continuation": prompt.continuation}
    expected = {**said, "tokens_max": 200, "stop": list(prompt.stop)}
    assert {name: request[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("answer", "text", "complete"),
    [
        ("<think>Hm.</think>The moon pulls the sea.", "The moon pulls the sea.", True),
        ("The moon pulls the sea.\n\nQUESTION: and the sun?", "The moon pulls the sea.", True),
        ("The moon pulls the sea. " * 40, "The moon pulls the sea.", False),
    ],
)
async def test_what_the_model_says_is_cleaned(
    llama: LlamaStandIn, engine: LlamaGenerator, answer: str, text: str, complete: bool
) -> None:
    llama.script = Script(answer=answer)
    draft = await engine.generate(ask(), timeout_s=5)
    assert (draft.text, draft.complete) == (text, complete)


async def test_a_cut_answer_ends_with_a_whole_sentence(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    llama.script = Script(answer="The moon pulls the sea. The sun pulls it too, but")
    draft = await engine.generate(ask(tokens_max=9), timeout_s=5)
    assert (draft.text, draft.complete) == ("The moon pulls the sea.", False)


async def test_an_empty_answer_is_refused(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    llama.script = Script(answer="<think>Hm.</think>")
    with pytest.raises(Rejected, match="thinking only"):
        await engine.generate(ask(), timeout_s=5)


async def test_time_up_keeps_sentences(
    llama: LlamaStandIn, clock: ManualClock, engine: LlamaGenerator
) -> None:
    llama.script = Script(answer="The moon pulls the sea. The sun helps.", after=7, then="stall")
    asked = asyncio.create_task(engine.generate(ask(), timeout_s=5))
    await llama.seen("stalled")
    for _ in range(20):
        await asyncio.sleep(0)  # the pieces lie in the pipe already: a few turns of the loop take them out
    clock.advance(5)
    draft = await asked
    assert (draft.text, draft.complete) == ("The moon pulls the sea.", False)
    await llama.seen("done")
    assert llama.told("done")[0]["reason"] == "stopped"


async def test_time_up_before_a_word(llama: LlamaStandIn, clock: ManualClock, engine: LlamaGenerator) -> None:
    llama.script = Script(then="stall")
    asked = asyncio.create_task(engine.generate(ask(), timeout_s=5))
    await llama.seen("stalled")
    clock.advance(5)
    with pytest.raises(TimedOut, match=r"llama\.cpp did not answer in time"):
        await asked


async def test_a_timeout_while_loading_says_so_and_the_loading_goes_on(
    llama: LlamaStandIn, clock: ManualClock, engine: LlamaGenerator
) -> None:
    llama.script = Script(loading="hang")
    asked = asyncio.create_task(engine.generate(ask(), timeout_s=5))
    await llama.seen("hanging")
    clock.advance(5)
    with pytest.raises(TimedOut, match="still loading"):
        await asked
    check = await engine.probe()
    assert (check.status, check.output) == ("pass", "model small-model, being loaded")
    clock.advance(LOAD_S)
    llama.script = Script()
    with pytest.raises(TimedOut, match="did not load the model in time"):
        await engine.generate(ask(), timeout_s=5)
    assert (await engine.generate(ask(), timeout_s=5)).text


async def test_a_bounded_number_waits(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    llama.script = Script(then="stall")
    tasks = [asyncio.create_task(engine.generate(ask(), timeout_s=5)) for _ in range(2)]
    await llama.seen("stalled")
    with pytest.raises(Unavailable, match="busy and 1 questions wait"):
        await engine.generate(ask(), timeout_s=5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_crash_says_why_and_the_next_is_answered(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    llama.script = Script(after=1, then="crash")
    with pytest.raises(Unavailable, match="GGML_ASSERT: out of luck"):
        await engine.generate(ask(), timeout_s=5)
    llama.script = Script()
    assert (await engine.generate(ask(), timeout_s=5)).text


async def test_a_flood_is_stopped(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    llama.script = Script(then="endless")
    with pytest.raises(Rejected):
        await engine.generate(ask(), timeout_s=60)
    await llama.seen("done")


async def test_prompts_past_the_window(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    with pytest.raises(Rejected, match="window"):
        await engine.generate(Prompt("", "word " * 5_000), timeout_s=5)
    with pytest.raises(Rejected, match="window"):
        await engine.generate(Prompt("", "word " * 200_000), timeout_s=5)
    assert len(llama.requests) == 1


async def test_half_a_surrogate_pair_is_sent_as_text(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    assert (await engine.generate(Prompt("\ud83d", "why \udc00?"), timeout_s=5)).text
    assert llama.requests[0]["user"] == "why ??"


async def test_the_probe_loads_nothing(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    check = await engine.probe()
    assert (check.status, check.output) == ("pass", "model small-model, loaded at the next question")
    assert llama.events == []
    await engine.generate(ask(), timeout_s=5)
    assert (await engine.probe()).output == "model small-model, loaded"


async def test_the_probe_names_what_is_missing(llama: LlamaStandIn, clock: ManualClock) -> None:
    lacking = replace(llama.program, package="no_such_package_anywhere")
    engine = LlamaGenerator(llama.path, clock, program=lacking)
    check = await engine.probe()
    assert check.status == "warn"
    assert "llama-cpp-python is not installed; type: make model" in check.output
    await engine.close()


async def test_warming_loads_before_the_first_question(llama: LlamaStandIn, engine: LlamaGenerator) -> None:
    engine.warm()
    engine.warm()
    await llama.seen("started")
    assert (await engine.generate(ask(), timeout_s=5)).text
    assert len(llama.told("started")) == 1


async def test_warming_that_fails_disturbs_nobody(llama: LlamaStandIn, clock: ManualClock) -> None:
    llama.path.unlink()
    engine = LlamaGenerator(llama.path, clock, program=llama.program)
    engine.warm()
    assert (await engine.probe()).status == "warn"
    await engine.close()
