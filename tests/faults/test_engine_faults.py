"""Engines that die, hang and come back under a running node that is asked all the while.

What is held: every question is answered with 200 inside its own deadline, the trace says why each engine
did not answer, ``/health`` turns and turns back, recovery needs no restart, and nothing that was accepted is
lost.
The engines are stand-ins on loopback and a scripted child process; a real Ollama where there is one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from node.answer.reasons import say
from node.app import engines as app_engines
from node.core.clock import Clock
from node.core.ports import Generator
from node.core.settings import Models
from node.models.generators.llama import LlamaGenerator
from tests.engines import Ollama as RealOllama
from tests.faults.node_kit import PATIENCE_S, Client, eventually, start
from tests.nowhere import NOBODY
from tests.simulators.llama import LlamaStandIn
from tests.simulators.llama_child import Script
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import CHAT_MODEL, OpenAiStandIn

ANSWER = (
    "A suspension bridge hangs its deck from cables. The cables run over tall towers and are anchored in the "
    "ground at both ends, so that the load goes through them into the towers and the anchors."
)
REQUEST_S = 6
"""Deadline of every question here."""
ENGINE_S = 1.0
"""What one engine may take of it."""
LIMITS: dict[str, Any] = {"server": {"request_timeout_s": REQUEST_S}}
PACE_S = 0.05
"""Between two questions of one person: the load is on the engines, not on this machine."""
FLIP_S = 5.0
"""Within this ``/health`` has to show what became of an engine."""
SOON_S = 20.0
"""A hang, not a speed: an engine that is back is used again long before."""


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """The OpenAI package takes seconds to load, which the small time limits here have not."""
    import_module("openai.resources.chat.completions")
    import_module("openai.resources.embeddings")


_number = iter(range(10**9))


def question() -> str:
    """One that nobody asked before."""
    return f"Explain how suspension bridge number {next(_number)} carries its load"


def generated(reply: dict[str, Any]) -> list[tuple[str, str]]:
    """What became of each engine that was to answer, in order."""
    return [(step["outcome"], step["reason"]) for step in reply["trace"] if step["stage"] == "generate"]


def engine_of(reply: dict[str, Any]) -> str:
    """Who answered: an engine's name, or the kind of source."""
    source = reply["source"]
    return str(source["id"].split("/")[0] if source["kind"] == "llm" else source["kind"])


def in_time(reply: dict[str, Any], request_s: float = REQUEST_S) -> None:
    """By the node's own account no station was slower than the question's deadline."""
    assert all(step["ms"] <= request_s * 1_000 for step in reply["trace"]), reply["trace"]


async def turns(node: Client, name: str, wanted: str, *, within_s: float = FLIP_S) -> str:
    """Ask ``/health`` until the check has the status wanted; what it says then."""
    check = await eventually(lambda: node.check(name), lambda it: it["status"] == wanted, within_s)
    return str(check.get("output", ""))


@dataclass
class Load:
    """Questions asked all the while, by several people at once."""

    node: Client
    people: int = 4
    request_s: float = REQUEST_S
    replies: list[dict[str, Any]] = field(default_factory=list)

    async def __aenter__(self) -> Load:
        self._tasks = [asyncio.create_task(self._ask()) for _ in range(self.people)]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        failures = [one for one in ended if isinstance(one, Exception)]
        assert not failures, failures

    async def _ask(self) -> None:
        while True:
            reply = await self.node.ask(question())
            in_time(reply, self.request_s)
            assert reply["answer"]
            self.replies.append(reply)
            await asyncio.sleep(PACE_S)

    async def until(
        self, ready: Callable[[dict[str, Any]], bool], *, within_s: float = SOON_S
    ) -> dict[str, Any]:
        """Wait for a reply, from now on, that is ``ready``."""
        seen = len(self.replies)
        async with asyncio.timeout(within_s):
            while True:
                for reply in self.replies[seen:]:
                    if ready(reply):
                        return reply
                seen = len(self.replies)
                await asyncio.sleep(0.01)
                for task in self._tasks:
                    if task.done():
                        task.result()


def by(engine: str) -> Callable[[dict[str, Any]], bool]:
    return lambda reply: engine_of(reply) == engine


WAYS: dict[str, dict[str, dict[str, Any]]] = {
    "ollama": {
        "dies": {},
        "hangs": {"hang": True},
        "hangs whole": {"hang": True, "hang_tags": True},
        "stalls": {"stall_after": 3},
        "500": {"status": 500},
        "garbage": {"malformed": True},
        "cuts": {"cut_connection": True, "answer": "A suspension"},
        "drips": {"endless": True},
    },
    "openai": {
        "dies": {},
        "hangs": {"hang": True},
        "500": {"status": 500},
        "drips": {"endless": True, "answer": ""},
    },
}
"""By engine, and what is set on its stand-in; the first in the chain is Ollama, the last OpenAI's."""
OUTCOMES = {
    "dies": {"unavailable", "skipped"},
    "hangs": {"timeout", "busy", "unavailable"},  # the rest: its queue was full
    "hangs whole": {"timeout", "busy", "unavailable"},
    "stalls": {"timeout", "busy", "unavailable"},
    "500": {"unavailable", "skipped"},
    "garbage": {"rejected", "unavailable", "skipped"},
    "cuts": {"unavailable", "rejected", "skipped"},
    "drips": {"timeout", "rejected", "unavailable", "skipped", "busy"},
}
SHOWS = {"dies", "hangs", "hangs whole", "stalls", "500"}
"""What health can know of. An engine that talks nonsense is alive: its answers are refused one by one."""


class Engine:
    """A stand-in that fails, and comes back at its address."""

    def __init__(self, name: str, stack: AsyncExitStack) -> None:
        self.name = name
        self.port = 0
        self._stack = stack

    async def begin(self) -> None:
        self._life = AsyncExitStack()
        self.server: OllamaStandIn | OpenAiStandIn
        if self.name == "ollama":
            self.server = await self._life.enter_async_context(OllamaStandIn(answer=ANSWER, port=self.port))
        else:
            self.server = await self._life.enter_async_context(OpenAiStandIn(answer=ANSWER, port=self.port))
        self.port = self.server.port
        self._stack.push_async_callback(self._life.aclose)

    @property
    def models(self) -> dict[str, Any]:
        """Its section of the settings."""
        if self.name == "ollama":
            return {"ollama_url": self.server.url}
        return {"openai_base_url": self.server.url, "openai_model": CHAT_MODEL}

    async def fail(self, how: str) -> None:
        if how == "dies":
            await self._life.aclose()
        for name, value in WAYS[self.name][how].items():
            setattr(self.server, name, value)

    async def revive(self) -> None:
        await self._life.aclose()
        await self.begin()


@asynccontextmanager
async def engines(*names: str) -> AsyncIterator[list[Engine]]:
    async with AsyncExitStack() as stack:
        made = [Engine(name, stack) for name in names]
        for one in made:
            await one.begin()
        yield made


@pytest.mark.parametrize(("name", "how"), [(name, how) for name, ways in WAYS.items() for how in ways])
async def test_an_engine_that_fails_under_load_and_comes_back(tmp_path: Path, name: str, how: str) -> None:
    async with engines(name) as [engine]:
        models = {"timeout_s": ENGINE_S, **engine.models}
        async with start(tmp_path, models=models, **LIMITS) as node:
            await turns(node, f"model:{name}", "pass")
            async with Load(node) as load:
                await load.until(by(name))
                await engine.fail(how)
                reply = await load.until(lambda one: engine_of(one) != name)
                assert engine_of(reply) == "fallback"
                assert not reply["stored"]
                assert "could not find that out" in reply["answer"]
                [(outcome, reason)] = generated(reply)
                assert outcome in OUTCOMES[how], reply["trace"]
                assert reason.startswith(f"{name}: ")
                assert "4" in (await node.ask("What is 2+2?"))["answer"]
                if how in SHOWS:
                    assert "no text is generated" in await turns(node, f"model:{name}", "warn")
                if how in ("dies", "hangs whole"):
                    assert "make model" in (await node.check("model"))["output"]
                await engine.revive()
                back = await load.until(by(name))
                assert back["answer"].startswith("A suspension bridge")
                await turns(node, f"model:{name}", "pass")


async def test_the_engines_behind_take_over_and_the_first_takes_back(tmp_path: Path) -> None:
    async with engines("ollama", "openai") as [first, last]:
        models = {"timeout_s": ENGINE_S, **first.models, **last.models}
        async with start(tmp_path, models=models, **LIMITS) as node, Load(node) as load:
            await load.until(by("ollama"))
            await first.fail("hangs")
            taken = await load.until(by("openai"))
            assert generated(taken)[0][1].startswith("ollama: ")
            skipped = await load.until(lambda one: generated(one)[0][0] in ("skipped", "busy"))
            assert "failed" in generated(skipped)[0][1]
            assert "s ago: " in generated(skipped)[0][1]
            await turns(node, "model:ollama", "warn")
            assert (await node.check("model:openai"))["status"] == "pass"
            _, page = await node.get("/health")
            assert "model" not in page["checks"], "one model can be used"
            await first.revive()
            await load.until(by("ollama"))
            await turns(node, "model:ollama", "pass")
            await last.fail("dies")
            await turns(node, "model:openai", "warn")
            await load.until(by("ollama"))


@asynccontextmanager
async def scripted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script, **more: Any
) -> AsyncIterator[tuple[Client, LlamaStandIn]]:
    """A node whose GGUF is held by the scripted child: a program cannot be named in the settings, and should
    not be, so the one line that builds the driver is exchanged."""
    async with LlamaStandIn(script=script) as llama:

        def build(weights: Path, models: Models, clock: Clock) -> Generator:
            return LlamaGenerator(weights, clock, queue_max=models.queue_max, program=llama.program)

        monkeypatch.setattr(app_engines, "_llama", build)
        models = {"gguf_path": str(llama.path), "timeout_s": 4, **more.pop("models", {})}
        async with start(tmp_path, models=models, **LIMITS, **more) as node:
            yield node, llama


def pids(llama: LlamaStandIn) -> list[int]:
    return [int(event["pid"]) for event in llama.told("started")]


async def test_a_killed_child_costs_one_answer_and_another_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted(tmp_path, monkeypatch, Script(answer=ANSWER)) as (node, llama):
        async with Load(node) as load:
            await load.until(by("llama_cpp"))
            llama.script = Script(answer=ANSWER, after=5, then="stall")
            os.kill(pids(llama)[-1], signal.SIGKILL)
            await llama.seen("stalled")  # the second child is in the middle of an answer
            llama.script = Script(answer=ANSWER)
            os.kill(pids(llama)[-1], signal.SIGKILL)
            gone = await load.until(lambda one: any(outcome != "ok" for outcome, _ in generated(one)))
            outcome, reason = generated(gone)[0]
            assert outcome in ("unavailable", "skipped"), gone["trace"]
            assert reason.startswith("llama_cpp: ")
            back = await load.until(by("llama_cpp"))
            assert back["answer"].startswith("A suspension bridge")
            await turns(node, "model:llama_cpp", "pass")
        assert len(pids(llama)) >= 3


async def test_three_engines_die_one_after_the_other_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engines("ollama", "openai") as [first, last]:
        models = {**first.models, **last.models}
        async with (
            scripted(tmp_path, monkeypatch, Script(answer=ANSWER), models=models) as (node, llama),
            Load(node, people=2) as load,
        ):
            await load.until(by("ollama"))
            await first.fail("dies")
            await load.until(by("llama_cpp"))
            llama.script = Script(loading="crash")
            os.kill(pids(llama)[-1], signal.SIGKILL)
            taken = await load.until(by("openai"))
            assert [reason.split(":")[0] for _, reason in generated(taken)[:2]] == ["ollama", "llama_cpp"]
            await last.fail("dies")
            honest = await load.until(by("fallback"))
            assert len(generated(honest)) == 3
            assert "ollama pull" in await turns(node, "model", "warn")
            await last.revive()
            await load.until(by("openai"))
            await first.revive()
            await load.until(by("ollama"))
            await turns(node, "model:ollama", "pass")


async def test_a_stop_in_the_middle_of_generations_answers_everybody_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with OllamaStandIn(answer=ANSWER, hang=True) as model, AsyncExitStack() as stack:
        models = {"timeout_s": ENGINE_S}
        node = await stack.enter_async_context(start(tmp_path, ollama=model.url, models=models, **LIMITS))
        asking = [asyncio.create_task(node.ask(question())) for _ in range(12)]
        await model.arrived.wait()
        kept = {
            f"What is town {number}?": await node.store(f"What is town {number}?", "Ulm.")
            for number in range(5)
        }
        late = asyncio.create_task(node.store("What is the last town?", "Ulm."))
        # The stop closes the clients' session too, so the node is stopped by its own door first.
        assert node.node is not None
        stopping = asyncio.create_task(_leave_when(stack, [*asking, late]))
        replies = await asyncio.gather(*asking)
        kept["What is the last town?"] = await late
        await stopping
        for reply in replies:
            in_time(reply)
            assert reply["answer"]
            assert engine_of(reply) == "fallback"
        model.release()
    async with start(tmp_path) as node:
        for query, cid in kept.items():
            assert (await node.search(query))["cid"] == cid


async def _leave_when(stack: AsyncExitStack, waiting: list[asyncio.Task[Any]]) -> None:
    await asyncio.wait(waiting)
    await stack.aclose()


async def test_every_engine_is_listed_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(tmp_path / "none") as node:
        for name in ("ollama", "llama_cpp", "openai"):
            check = await node.check(f"model:{name}")
            assert (check["status"], "not configured; " in check["output"]) == ("pass", True)
        check = await node.check("model")
        assert check["status"] == "warn"
        for word in ("no language model is configured", "ollama pull llama3.2", "make model"):
            assert word in check["output"]
    gguf = tmp_path / "weights.gguf"
    gguf.write_bytes(b"GGUF\x03\x00\x00\x00")
    for module in (
        "node.models.generators.openai_compatible",
        "node.models.generators.llama",
        "node.models.generators.ollama",
    ):
        monkeypatch.setitem(sys.modules, module, None)  # as if its package were not installed
    models = {"gguf_path": str(gguf), "openai_base_url": f"{NOBODY}/v1", "openai_model": "m"}
    async with start(tmp_path / "missing", ollama=NOBODY, models=models) as node:
        for name in ("ollama", "llama_cpp", "openai"):
            check = await node.check(f"model:{name}")
            assert (check["status"], "type: " in check["output"]) == ("warn", True)
        assert "no language model can be used" in (await node.check("model"))["output"]
        reply = await node.ask(question())
        assert engine_of(reply) == "fallback"
        assert [outcome for outcome, _ in generated(reply)] == ["unavailable"] * 3
        assert reply["answer"] == say("no_model")


async def test_a_bad_engine_setting_is_a_fact_and_not_a_crash(tmp_path: Path) -> None:
    models = {"openai_base_url": NOBODY, "openai_api_key": "not a key", "openai_model": "m"}
    async with OllamaStandIn(answer=ANSWER) as model:
        async with start(tmp_path, ollama=model.url, models=models) as node:
            assert engine_of(await node.ask(question())) == "ollama"
            assert (await node.check("model:openai"))["status"] == "warn"


async def test_nothing_blocks_the_loop_while_a_model_generates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hits, answers from sources and generations through all three drivers, with every blocking call an
    error."""
    async with engines("ollama", "openai") as [first, last]:
        models = {**first.models, **last.models}
        async with scripted(tmp_path, monkeypatch, Script(answer=ANSWER), models=models) as (node, llama):
            await node.store("What is a heap?", "A tree-shaped store.")
            await first.fail("dies")
            await answered_by(node, "llama_cpp")  # loads what is loaded at the first question
            assert llama.told("started")
            with blockbuster_ctx():
                for _ in range(3):
                    asked = [node.ask(question()), node.ask("What is a heap?"), node.ask("What is 7*6?")]
                    generated_one, hit, computed = await asyncio.gather(*asked)
                    assert engine_of(generated_one) == "llama_cpp"
                    assert hit["source"]["kind"] == "cache"
                    assert "42" in computed["answer"]
                await first.revive()
                await answered_by(node, "ollama")
                await node.check("model:ollama")


async def answered_by(node: Client, engine: str) -> None:
    await eventually(lambda: node.ask(question()), by(engine), SOON_S)


@pytest.mark.engine("ollama")
@pytest.mark.timeout(300)
async def test_a_real_ollama_killed_and_revived_under_load(tmp_path: Path, real_ollama: RealOllama) -> None:
    async with OpenAiStandIn(answer=ANSWER) as vendor:
        models = {
            "ollama_model": real_ollama.model,
            "openai_base_url": vendor.url,
            "openai_model": CHAT_MODEL,
            "tokens_max": 40,
        }
        wait: Callable[[Callable[[], None]], Awaitable[None]] = asyncio.to_thread
        limits = {"request_timeout_s": PATIENCE_S - 3}
        async with start(tmp_path, ollama=real_ollama.url, models=models, server=limits) as node:
            async with Load(node, people=2, request_s=PATIENCE_S - 3) as load:
                await load.until(by("ollama"), within_s=90)
                await wait(real_ollama.kill)
                taken = await load.until(by("openai"), within_s=60)
                assert generated(taken)[0][1].startswith("ollama: ")
                await turns(node, "model:ollama", "warn")
                await wait(real_ollama.restart)
                await turns(node, "model:ollama", "pass", within_s=60)
                await load.until(by("ollama"), within_s=120)


async def test_fifty_questions_for_one_hanging_engine_are_all_answered(tmp_path: Path) -> None:
    async with OllamaStandIn(answer=ANSWER, hang=True) as model:
        models = {"timeout_s": ENGINE_S, "queue_max": 3}
        async with start(tmp_path, ollama=model.url, models=models, **LIMITS) as node:
            replies = await asyncio.gather(*(node.ask(question()) for _ in range(50)))
            for reply in replies:
                in_time(reply)
                assert engine_of(reply) == "fallback"
            outcomes = [generated(reply)[0][0] for reply in replies]
            assert outcomes.count("timeout") == len(model.chats) == 1
            assert outcomes.count("busy") >= 25, "the queue was full"
            model.release()


async def test_an_engine_that_asks_for_a_wait_gets_it(tmp_path: Path) -> None:
    async with OpenAiStandIn(answer=ANSWER, status=429, headers={"Retry-After": "2"}, failures=1) as vendor:
        models = {"openai_base_url": vendor.url, "openai_model": CHAT_MODEL, "timeout_s": 5}
        async with start(tmp_path, models=models, **LIMITS) as node:
            first = await node.ask(question())
            assert generated(first)[0][0] == "rate_limited", first["trace"]
            again = await node.ask(question())
            assert generated(again)[0][0] == "skipped"
            assert len(vendor.chats) == 1
            assert (await node.check("model:openai"))["status"] == "warn"
            async with asyncio.timeout(SOON_S):
                while engine_of(await node.ask(question())) != "openai":
                    await asyncio.sleep(0.2)
            assert (await node.check("model:openai"))["status"] == "pass"
