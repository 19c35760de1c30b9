"""What the drivers for Ollama and for OpenAI-compatible servers have in common, asked of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from node.core.errors import Rejected, TimedOut, Unavailable
from node.core.ports import Prompt
from node.models.generators import ollama, openai_compatible
from tests.manual_clock import ManualClock
from tests.simulators.ollama import OllamaStandIn, StandInModel
from tests.simulators.openai_compatible import OpenAiStandIn
from tests.unit.models.generators.conftest import PARIS, PROMPT, Build, Driver, Server


@pytest.fixture(params=[OllamaStandIn, OpenAiStandIn], ids=["ollama", "openai"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    async with request.param(answer=PARIS) as running:
        yield running


def is_ollama(server: Server) -> bool:
    return isinstance(server, OllamaStandIn)


def install(server: Server, name: str) -> None:
    """From now on the server has this model and no other."""
    if isinstance(server, OllamaStandIn):
        server.models = (StandInModel(name),)
    else:
        server.models = [name]


def ask(engine: Driver, timeout_s: float = 30) -> asyncio.Task[object]:
    return asyncio.create_task(engine.generate(PROMPT, timeout_s=timeout_s))


async def settle(rounds: int = 100) -> None:
    """Let every task run until it waits for something outside."""
    for _ in range(rounds):
        await asyncio.sleep(0)


# --- what is sent ---------------------------------------------------------------------------------


async def test_earlier_turns_are_messages_of_their_own(server: Server, build: Build) -> None:
    prompt = replace(PROMPT, turns=(("What is the capital of Peru?", "Lima."),))
    await build().generate(prompt, timeout_s=30)
    assert [role for role, _ in server.chats[0].messages] == ["system", "user", "assistant", "user"]
    assert server.chats[0].messages[2] == ("assistant", "Lima.")


async def test_nobody_there(server: Server, build: Build) -> None:
    engine = build(model="m")
    await server.__aexit__()
    where = "its address" if is_ollama(server) else r"models\.openai_base_url"
    with pytest.raises(Unavailable, match=f"not reachable at {where}") as caught:
        await engine.generate(PROMPT, timeout_s=30)
    assert str(server.port) not in str(caught.value)
    check = await engine.probe()
    assert (check.name, check.status) == ("ollama" if is_ollama(server) else "openai", "warn")
    assert "not reachable" in check.output
    assert ("ollama pull llama3.2" in check.output) is is_ollama(server)


# --- the choice of a model ------------------------------------------------------------------------


async def test_the_choice_is_remembered_for_a_while(server: Server, build: Build) -> None:
    clock = ManualClock()
    engine = build(clock)
    await engine.generate(PROMPT, timeout_s=30)
    await engine.generate(PROMPT, timeout_s=30)
    listed = "/api/tags" if is_ollama(server) else "/v1/models"
    assert [seen.path for seen in server.requests].count(listed) == 1
    clock.advance(ollama.MODEL_REMEMBERED_S if is_ollama(server) else openai_compatible.MODEL_REMEMBERED_S)
    install(server, "qwen3:4b")
    assert (await engine.generate(PROMPT, timeout_s=30)).model == "qwen3:4b"


async def test_a_model_removed_meanwhile_is_looked_for_again(server: Server, build: Build) -> None:
    engine = build(ManualClock())
    first = (await engine.generate(PROMPT, timeout_s=30)).model
    install(server, "qwen3:4b")
    with pytest.raises(Unavailable, match=f"no model {first}"):
        await engine.generate(PROMPT, timeout_s=30)
    assert (await engine.generate(PROMPT, timeout_s=30)).model == "qwen3:4b"


# --- what was said --------------------------------------------------------------------------------


async def test_thinking_is_counted_wherever_it_comes(
    server: Server, build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    setattr(server, "thinking" if is_ollama(server) else "reasoning", "let me see")
    server.answer = "<think>hm</think>Paris."
    engine = build()
    with caplog.at_level("INFO"):
        draft = await engine.generate(PROMPT, timeout_s=30)
    assert (draft.text, draft.think_blocks) == ("Paris.", 2)
    assert f"{engine.name}.think_stripped blocks=2" in caplog.text


@pytest.mark.parametrize("answer", ["", "   ", "<think>nothing else", "...", "\n\n"])
async def test_an_empty_answer_is_rejected(server: Server, build: Build, answer: str) -> None:
    server.answer = answer
    with pytest.raises(Rejected, match="unusable"):
        await build().generate(PROMPT, timeout_s=30)


async def test_a_truncated_answer_says_so(server: Server, build: Build) -> None:
    server.answer = "Paris is it. It lies on the Seine."
    draft = await build().generate(Prompt("", "q", 5), timeout_s=30)
    assert (draft.text, draft.complete) == ("Paris is it.", False)
    assert server.chats[0].messages[-1] == ("user", "q")


async def test_a_loop_is_stopped_early(server: Server, build: Build) -> None:
    server.answer = "Paris is it. " + "The city is on the river Seine. " * 3_000
    draft = await build().generate(Prompt("", "q", 8_000), timeout_s=60)
    assert draft.text == "Paris is it. The city is on the river Seine."
    assert (draft.looped, draft.complete) == (True, False)


@pytest.mark.parametrize(
    ("switch", "error", "words"),
    [("cut_connection", Unavailable, "broke off"), ("endless", Rejected, "more than an answer")],
)
async def test_a_stream_that_does_not_end_well(
    server: Server, build: Build, switch: str, error: type[Exception], words: str
) -> None:
    setattr(server, switch, True)
    with pytest.raises(error, match=words):
        await build().generate(PROMPT, timeout_s=30)


# --- time -----------------------------------------------------------------------------------------


async def test_a_hanging_server_is_a_timeout(server: Server, build: Build) -> None:
    clock = ManualClock()
    engine = build(clock)
    server.hang = True
    task = ask(engine, 20)
    await server.arrived.wait()
    clock.advance(20)
    with pytest.raises(TimedOut):
        await task
    server.hang = False
    server.release()
    assert (await engine.generate(PROMPT, timeout_s=20)).complete


async def test_what_was_said_before_the_timeout_is_kept(server: Server, build: Build) -> None:
    clock = ManualClock()
    server.answer = "Paris is the capital. It lies on the Seine."
    server.stall_after = 7
    task = asyncio.create_task(build(clock).generate(PROMPT, timeout_s=20))
    await server.stalled.wait()
    await settle()  # the client reads what was sent
    clock.advance(20)
    draft = await task
    assert (draft.text, draft.complete) == ("Paris is the capital.", False)


async def test_one_at_a_time_and_a_bounded_queue(server: Server, build: Build) -> None:
    engine = build(queue_max=2)
    server.hang = True
    tasks = [ask(engine) for _ in range(3)]
    await server.arrived.wait()
    with pytest.raises(Unavailable, match="2 questions wait already"):
        await engine.generate(PROMPT, timeout_s=30)
    server.release()
    assert len(await asyncio.gather(*tasks)) == 3
    assert server.running_max == 1


async def test_waiting_counts_in_the_timeout(server: Server, build: Build) -> None:
    clock = ManualClock()
    engine = build(clock)
    server.hang = True
    first = asyncio.create_task(engine.generate(PROMPT, timeout_s=100))
    await server.arrived.wait()
    second = ask(engine, 10)
    await settle()
    clock.advance(10)
    with pytest.raises(TimedOut):
        await second
    server.release()
    assert (await first).complete
    assert len(server.chats) == 1


async def test_cancelling_a_waiting_call_frees_its_place(server: Server, build: Build) -> None:
    engine = build(queue_max=1)
    server.hang = True
    first = ask(engine)
    await server.arrived.wait()
    for _ in range(5):
        waiting = ask(engine)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    server.hang = False
    assert (await engine.generate(PROMPT, timeout_s=30)).complete


async def test_the_probe_is_bounded(server: Server, build: Build) -> None:
    clock = ManualClock()
    engine = build(clock)
    setattr(server, "hang_tags" if is_ollama(server) else "hang_models", True)
    task = asyncio.create_task(engine.probe())
    await server.listed.wait()
    clock.advance(ollama.PROBE_TIMEOUT_S if is_ollama(server) else openai_compatible.PROBE_TIMEOUT_S)
    assert (await task).status == "warn"
    server.release()
    assert (await engine.probe()).status == "pass"
