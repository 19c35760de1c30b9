"""The parent's side of the child process: starting, stopping, dying, garbage, waiting, one at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from node.core.clock import Clock, SystemClock
from node.core.errors import NodeError, Rejected, TimedOut, Unavailable
from node.models.llama import gguf_file
from node.models.llama.process import LOAD_S, STOP_S, LlamaProcess, Program
from tests.manual_clock import ManualClock
from tests.simulators.llama import GGUF_HEAD, LlamaStandIn
from tests.simulators.llama_child import Script

ROOT = Path(__file__).resolve().parents[4]
QUESTION: dict[str, Any] = {
    "op": "generate", "system": "Be brief.", "user": "QUESTION: what is a tide?", "continuation": "",
    "stop": [], "continuation_stop": ["\n"], "tokens_max": 200,
}  # fmt: skip


def over(
    llama: LlamaStandIn, clock: Clock, path: Path | None = None, program: Program | None = None
) -> LlamaProcess:
    options = {"purpose": "generate", "threads": 1, "program": program or llama.program}
    return LlamaProcess(path or llama.path, clock, **options)


@pytest.fixture
async def process(llama: LlamaStandIn, clock: ManualClock) -> AsyncIterator[LlamaProcess]:
    made = over(llama, clock)
    yield made
    await made.close()


async def say(process: LlamaProcess) -> str:
    """The whole answer to ``QUESTION``."""
    pieces: list[str] = []

    def listen(piece: str | bytes | None) -> bool:
        assert isinstance(piece, str)
        pieces.append(piece)
        return True

    await process.ask(QUESTION, listen)
    return "".join(pieces)


async def leave(asked: asyncio.Task[Any]) -> None:
    """The caller does not wait for it any more."""
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def running(pid: int) -> bool:
    """Alive and no zombie: an orphan is reaped by whoever adopts it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_loads_at_the_first_call_and_answers(llama: LlamaStandIn, process: LlamaProcess) -> None:
    assert (await process.state()).word == "idle"
    assert llama.events == []
    assert "short explanation" in await say(process)
    assert (await process.state()).word == "running"
    loaded = await process.load()
    assert loaded.digest == sha256(llama.path.read_bytes()).hexdigest()
    assert loaded.window == llama.script.window
    await say(process)
    assert len(llama.told("started")) == 1


async def test_the_child_is_polite_and_knows_nothing_of_our_environment(
    llama: LlamaStandIn, process: LlamaProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEUROSWARM_MODELS__OPENAI_API_KEY", "secret")
    await say(process)
    (started,) = llama.told("started")
    assert started["nice"] >= 10
    assert set(started["environ"]) <= {"PYTHONPATH", "LANG", "LC_CTYPE"}
    assert started["options"]["--threads"] == "1"
    assert started["options"]["--parent"] == str(os.getpid())


async def test_what_the_library_prints_is_no_protocol(llama: LlamaStandIn, process: LlamaProcess) -> None:
    llama.script = Script(noise=True)
    assert "short explanation" in await say(process)


async def test_a_file_is_hashed_once_however_often_it_is_loaded(
    llama: LlamaStandIn, process: LlamaProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Path] = []

    def noted(path: Path, given_up: threading.Event) -> str:
        hashed.append(path)
        return sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(gguf_file, "sha256", noted)
    llama.script = Script(after=2, then="crash")
    with pytest.raises(Unavailable):
        await say(process)
    llama.script = Script()
    await say(process)
    assert len(llama.told("started")) == 2
    assert hashed == [llama.path]


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("crash", "status 134: GGML_ASSERT: out of luck"),
        ("killed", "SIGKILL, perhaps for want of memory"),
        ("garbage", "not its protocol"),
        ("long_line", "not its protocol"),
        ("stranger", "not its protocol"),
        ("no_text", "not its protocol"),
    ],
)
async def test_a_child_that_fails_is_unavailable_and_replaced(
    llama: LlamaStandIn, process: LlamaProcess, then: str, reason: str
) -> None:
    llama.script = Script(after=2, then=then)
    with pytest.raises(Unavailable, match=reason):
        await say(process)
    llama.script = Script()
    assert "short explanation" in await say(process)
    first, second = llama.told("started")
    assert not alive(first["pid"])
    assert process.pid == second["pid"]


async def test_a_failed_request_leaves_the_child_alone(llama: LlamaStandIn, process: LlamaProcess) -> None:
    llama.script = Script(then="fail")
    for _ in range(2):
        with pytest.raises(Unavailable, match="llama_decode returned -1"):
            await say(process)
    assert len(llama.told("started")) == 1


@pytest.mark.parametrize(
    ("loading", "reason"),
    [
        ("fail", "the model does not load: bad magic"),
        ("crash", "status 3: GGML_ASSERT: out of luck"),
        ("garbage", "not its protocol"),
        ("endless", "not its protocol"),
        ("huge", "not its protocol"),
    ],
)
async def test_what_does_not_load(
    llama: LlamaStandIn, process: LlamaProcess, loading: str, reason: str
) -> None:
    llama.script = Script(loading=loading)
    with pytest.raises(Unavailable, match=reason):
        await say(process)
    state = await process.state()
    assert state.word == "failed"
    assert reason in state.detail
    assert not alive(llama.told("started")[0]["pid"])


async def test_waits_longer_after_each_failure_and_recovers(
    llama: LlamaStandIn, clock: ManualClock, process: LlamaProcess
) -> None:
    llama.script = Script(loading="fail")
    for starts, wait in ((2, 1.0), (3, 2.0), (4, 4.0)):
        with suppress(Unavailable):
            await say(process)  # the first time twice at once
        with suppress(Unavailable):
            await say(process)
        with pytest.raises(Unavailable, match="bad magic; it is started again in"):
            await say(process)
        assert len(llama.told("started")) == starts
        clock.advance(wait)
    clock.advance(100)
    llama.script = Script()
    assert "short explanation" in await say(process)
    assert (await process.state()).word == "running"


async def test_a_hanging_load_is_given_up(
    llama: LlamaStandIn, clock: ManualClock, process: LlamaProcess
) -> None:
    llama.script = Script(loading="hang")
    asked = asyncio.create_task(say(process))
    await llama.seen("hanging")
    assert (await process.state()).word == "loading"
    clock.advance(LOAD_S)
    with pytest.raises(TimedOut, match="did not load the model in time"):
        await asked
    assert not alive(llama.told("started")[0]["pid"])


async def test_loading_goes_on_when_the_caller_leaves(llama: LlamaStandIn, process: LlamaProcess) -> None:
    asked = asyncio.create_task(process.load())
    await asyncio.sleep(0)
    await leave(asked)
    await process.load()
    assert len(llama.told("started")) == 1


async def test_leaving_stops_the_child_and_keeps_it(llama: LlamaStandIn, process: LlamaProcess) -> None:
    llama.script = Script(after=2, then="stall")
    asked = asyncio.create_task(say(process))
    await llama.seen("stalled")
    await leave(asked)
    await llama.seen("done")
    assert llama.told("done")[0]["reason"] == "stopped"
    again = asyncio.create_task(say(process))
    await llama.seen("stalled", 2)
    await leave(again)
    assert len(llama.told("started")) == 1


async def test_a_child_that_does_not_stop_is_killed_and_started_anew(
    llama: LlamaStandIn, clock: ManualClock, process: LlamaProcess
) -> None:
    llama.script = Script(after=2, then="deaf")
    asked = asyncio.create_task(say(process))
    await llama.seen("stalled")
    await leave(asked)
    llama.script = Script()
    again = asyncio.create_task(say(process))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not again.done()
    clock.advance(STOP_S)
    assert "short explanation" in await again
    assert not alive(llama.told("started")[0]["pid"])


async def test_enough_heard_stops_the_child(llama: LlamaStandIn, process: LlamaProcess) -> None:
    llama.script = Script(then="endless")
    heard: list[object] = []

    def listen(piece: object) -> bool:
        heard.append(piece)
        return len(heard) < 5

    done = await process.ask(QUESTION, listen)
    assert done.reason == "stopped"
    assert len(heard) == 5
    await llama.seen("done")


async def test_one_at_a_time(llama: LlamaStandIn, process: LlamaProcess) -> None:
    answers = await asyncio.gather(*(say(process) for _ in range(4)))
    assert len(set(answers)) == 1
    whats = [event["what"] for event in llama.events if event["what"] in ("request", "done")]
    # Its last note may be written after its last answer has been read.
    assert whats[:7] == (["request", "done"] * 4)[:7]


async def test_a_death_while_idle_is_noticed_and_mended(llama: LlamaStandIn, process: LlamaProcess) -> None:
    await say(process)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while process.pid is not None:
        await asyncio.sleep(0.001)
    # Nothing is known to be wrong: health does not keep an accident for ever.
    assert (await process.state()).word == "idle"
    assert "short explanation" in await say(process)


async def test_what_is_no_file_is_not_waited_for(process: LlamaProcess) -> None:
    process.path.unlink()
    os.mkfifo(process.path)
    assert "is not a file" in (await process.state()).detail
    with pytest.raises(Unavailable, match="is not a file"):
        await process.load()


async def test_missing_things_are_named_and_looked_for_again(
    llama: LlamaStandIn, clock: ManualClock, tmp_path: Path
) -> None:
    path = tmp_path / "absent.gguf"
    process = over(llama, clock, path)
    with pytest.raises(Unavailable, match=r"there is no file .*make model"):
        await say(process)
    assert (await process.state()).word == "missing"
    path.write_bytes(b"<!DOCTYPE html>")
    with pytest.raises(Unavailable, match="is not a GGUF file"):
        await say(process)
    path.write_bytes(GGUF_HEAD + b"weights")
    assert await say(process)
    await process.close()
    process = over(llama, clock, path, replace(llama.program, package="no_such_package_anywhere"))
    with pytest.raises(Unavailable, match="llama-cpp-python is not installed; type: make model"):
        await process.load()
    assert (await process.state()).word == "missing"
    await process.close()


async def test_a_program_that_cannot_be_started(llama: LlamaStandIn, clock: ManualClock) -> None:
    process = over(llama, clock, program=Program(("/nowhere/python",)))
    with pytest.raises(Unavailable, match="cannot be started: No such file"):
        await process.load()
    await process.close()


async def test_a_request_longer_than_a_line_is_refused(llama: LlamaStandIn, process: LlamaProcess) -> None:
    with pytest.raises(Rejected, match="longer than the model's window"):
        await process.ask({**QUESTION, "user": "x" * 2**20}, lambda _: True)
    assert await say(process)
    assert len(llama.requests) == 1


async def test_close_ends_everything(llama: LlamaStandIn, clock: ManualClock) -> None:
    llama.script = Script(after=2, then="deaf")
    process = over(llama, clock)
    first, second = (asyncio.create_task(say(process)) for _ in range(2))
    await llama.seen("stalled")
    await process.close()
    for task in (first, second):
        with pytest.raises(Unavailable, match="switched off"):
            await task
    assert not alive(llama.told("started")[0]["pid"])
    await process.close()
    with pytest.raises(NodeError, match="switched off"):
        await process.load()


async def test_close_while_loading(llama: LlamaStandIn, clock: ManualClock) -> None:
    llama.script = Script(loading="hang")
    process = over(llama, clock)
    asked = asyncio.create_task(say(process))
    await llama.seen("hanging")
    await process.close()
    with pytest.raises(Unavailable, match="switched off"):
        await asked
    assert not alive(llama.told("started")[0]["pid"])


PARENT = """
import asyncio, sys
from pathlib import Path
from node.core.clock import Clock, SystemClock
from node.models.llama.process import LlamaProcess, Program

async def main() -> None:
    process = LlamaProcess(
        Path(sys.argv[1]), SystemClock(), purpose="generate", threads=1,
        program=Program(tuple(sys.argv[2:])),
    )
    await process.load()
    print(process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_child_dies_with_its_parent(llama: LlamaStandIn) -> None:
    command = (sys.executable, "-c", PARENT, str(llama.path), *llama.program.command)
    parent = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert alive(pid)
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    async with asyncio.timeout(10):
        while running(pid):
            await asyncio.sleep(0.01)


def test_the_model_of_make_model_is_found(tmp_path: Path) -> None:
    assert gguf_file.installed_model(tmp_path) is None
    folder = tmp_path / gguf_file.FOLDER
    folder.mkdir()
    assert gguf_file.installed_model(tmp_path) is None
    for name, at in (("a.gguf", 2_000), ("b.gguf", 1_000), ("c.part", 3_000)):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (at, at))
    assert gguf_file.installed_model(tmp_path) == folder / "a.gguf"


async def test_on_the_real_clock(llama: LlamaStandIn) -> None:
    process = over(llama, SystemClock())
    assert await say(process)
    await process.close()
