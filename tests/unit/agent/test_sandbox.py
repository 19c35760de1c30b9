"""Code of a model in its own process: what it may do, what it cannot, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from node.agent.sandbox import run as sandbox
from node.agent.sandbox.ran import Limits, Ran, Runner
from node.agent.sandbox.run import Sandbox, run
from node.core.agent_settings import Agent
from node.core.errors import Unavailable
from tests.unit.agent.test_sandbox_rules import ESCAPES, WALK

SECRET = "canary-7f3a9c"
AT_ONCE = 3
SLACK_S = 1.0
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls are Linux's")


@pytest.fixture(params=["monty", "python"])
def runner(request: pytest.FixtureRequest) -> Runner:
    """Each runner whose packages are here."""
    for package in ("pydantic_monty",) if request.param == "monty" else ("pyseccomp", "pandas"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    found: Runner = request.param
    return found


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process of every run from now on; each is the first of its session."""
    begin, seen = sandbox._begin, list[int]()

    async def noted(limits: Limits) -> Process:
        child = await begin(limits)
        seen.append(child.pid)
        return child

    monkeypatch.setattr(sandbox, "_begin", noted)
    return seen


def left(sessions: list[int]) -> list[str]:
    """The processes of these sessions that there still are, zombies too."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text("utf-8").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) in sessions:
            found.append(f"{entry.name} {fields[0]}")
    return found


async def gone(sessions: list[int], within_s: float) -> bool:
    """No process of these is left, or not after so long."""
    end = time.perf_counter() + within_s
    while left(sessions):
        if time.perf_counter() > end:
            return False
        await asyncio.sleep(0.01)
    return True


# --- what it may ---------------------------------------------------------------------------------


async def test_code_prints_computes_and_gives_its_last_value(runner: Runner) -> None:
    code = """
import math, statistics, itertools, datetime, re, json
from collections import Counter, defaultdict
print(Counter("aab").most_common(1), statistics.mean([1, 2, 3, 4]), statistics.stdev([1, 2]))
print(list(itertools.combinations([1, 2, 3], 2)), re.findall(r"\\d+", "1 a 22"), json.dumps({"a": 1}))
day = datetime.date(2026, 1, 31) + datetime.timedelta(days=1)
print(day.strftime("%A"), datetime.datetime.strptime("2026-01-02", "%Y-%m-%d").month)
math.comb(5, 2), "é"
"""
    found = await run(code, Limits(runner=runner))
    assert found.ended == "done", found
    assert found.value == "(10, 'é')"
    assert found.output == (
        "[('a', 2)] 2.5 0.7071067811865476\n[(1, 2), (1, 3), (2, 3)] ['1', '22'] {\"a\": 1}\nSunday 1\n"
    )
    assert 0 <= found.seconds < 30
    assert found.start_s > 0


async def test_an_error_is_told_with_its_line(runner: Runner) -> None:
    found = await run("def f(x):\n    return 1 / x\n\nprint('é')\nf(0)", Limits(runner=runner))
    assert (found.ended, found.error, found.line) == ("error", "ZeroDivisionError: division by zero", 2)
    assert found.output == "é\n"
    found = await run("x = 1\ny = (", Limits(runner=runner))
    assert (found.ended, found.line) == ("syntax", 2)
    found = await run("raise TimeoutError('mine')", Limits(runner=runner))
    assert (found.ended, found.error, found.line) == ("error", "TimeoutError: mine", 1)
    found = await run("raise ValueError('\\ud800' * 9999)", Limits(runner=runner))
    assert found.ended == "error"
    assert len(found.error) <= 500


async def test_code_hands_out_files(runner: Runner) -> None:
    code = "save('t.csv', [['a', 'b'], [1, 'x,y']])\nsave('note.txt', 'é')"
    found = await run(code, Limits(runner=runner))
    assert [(one.name, one.media, one.data) for one in found.files] == [
        ("t.csv", "text/csv", b'a,b\r\n1,"x,y"\r\n'),
        ("note.txt", "text/plain", "é".encode()),
    ]
    found = await run("save('../t.csv', 'x')", Limits(runner=runner))
    assert (found.ended, found.files) == ("error", ())
    assert "a file's name" in found.error


async def test_tables_of_pandas_in_the_other_runner() -> None:
    if find_spec("pandas") is None or find_spec("pyseccomp") is None:
        pytest.skip("pandas or pyseccomp is not installed")
    code = """
import numpy as np
import pandas as pd
df = pd.DataFrame({"a": [1, 2, 2], "b": ["x", "y", "y"], "d": pd.to_datetime(["2026-01-01"] * 3)})
print(df.describe().shape, df.groupby("b").a.sum().to_dict(), df.pivot_table(index="b", values="a").shape)
print(df.merge(df, on="a").shape, df.set_index("d").resample("ME").a.sum().iloc[0], len(df.to_string()) > 10)
print(np.linalg.inv(np.eye(2)).tolist(), np.random.default_rng(1).random(2).shape, np.fft.fft([1.0]).shape)
save("t.csv", df[["a", "b"]])
"""
    found = await run(code, Limits(runner="python"))
    assert found.ended == "done", found
    assert found.output.splitlines() == [
        "(8, 2) {'x': 1, 'y': 4} (2, 1)",
        "(5, 5) 5 True",
        "[[1.0, 0.0], [0.0, 1.0]] (2,) (1,)",
    ]
    assert found.files[0].data == b",a,b\n0,1,x\n1,2,y\n2,2,y\n"


# --- one run sees nothing of another --------------------------------------------------------------


async def test_nothing_of_one_run_is_seen_by_the_next(runner: Runner) -> None:
    left_behind = "import math, json\nmath.pi = 3\nseen = 'first'\nsave('a.txt', 'x')"
    first = await run(left_behind, Limits(runner=runner))
    assert first.ended in ("done", "error")
    second = await run("import math\nprint(math.pi)\nseen", Limits(runner=runner))
    assert second.output == "3.141592653589793\n"
    assert (second.ended, second.files) == ("error", ())
    assert "seen" in second.error


# --- limits ---------------------------------------------------------------------------------------


@linux
async def test_time_is_limited_and_the_processor_freed(runner: Runner, children: list[int]) -> None:
    for code in ("while True: pass", "x = 3\nwhile True: x = x * x"):
        found = await run(code, Limits(runner=runner, time_s=0.5))
        assert (found.ended, found.error) == ("time", "it ran longer than 0.5 s")
        assert found.seconds <= 0.5 + SLACK_S
        assert await gone(children, 1.0), left(children)


@linux
async def test_a_caller_who_leaves_ends_the_run(runner: Runner, children: list[int]) -> None:
    task = asyncio.create_task(run("print('begun')\nwhile True: pass", Limits(runner=runner)))
    async with asyncio.timeout(60):
        while not (children and busy(children)):
            await asyncio.sleep(0.02)
    begun = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(children, 1.0 - min(0.9, time.perf_counter() - begun)), left(children)


def busy(sessions: list[int]) -> bool:
    """The interpreter of the run has used a tenth of a second, and its walls stand: it opens no files."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text("utf-8").rsplit(")", 1)[1].split()
            limits = (entry / "limits").read_text("utf-8")
        except OSError:
            continue
        opened = next(line.split()[3] for line in limits.splitlines() if line.startswith("Max open files"))
        if int(fields[3]) in sessions and opened == "0" and int(fields[11]) >= 10:
            return True
    return False


@linux
async def test_a_run_ends_with_the_node(runner: Runner, tmp_path: Path) -> None:
    """The parent is killed in the middle: neither the child nor its interpreter goes on."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio\nfrom node.agent.sandbox.ran import Limits\nfrom node.agent.sandbox.run import run\n"
        f"asyncio.run(run('while True: pass', Limits(runner={runner!r})))\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, str(script), env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    try:
        async with asyncio.timeout(60):
            while not (born := sessions_below(parent.pid)) or not busy(born):
                await asyncio.sleep(0.02)
    finally:
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
    assert await gone(born, 2.0), left(born)


def sessions_below(parent: int) -> list[int]:
    try:
        told = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii")
    except OSError:
        return []
    return [int(one) for one in told.split()]


async def test_what_is_printed_is_cut(runner: Runner) -> None:
    code = "for _ in range(100): print('x' * 10**6)"
    found = await run(code, Limits(runner=runner, output_chars=5_000))
    assert (found.ended, found.output) == ("output", "x" * 5_000)
    found = await run("'x' * 10**6", Limits(runner=runner, output_chars=5_000))
    assert (found.ended, len(found.value)) == ("done", 5_000)


async def test_memory_and_depth_are_limited(runner: Runner) -> None:
    found = await run("a = []\nwhile True: a.append('x' * 10**5 + str(len(a)))", Limits(runner=runner))
    assert (found.ended, found.error) == ("memory", "it needs more than 268435456 bytes")
    found = await run("def f(n):\n    return f(n + 1)\nf(0)", Limits(runner=runner))
    assert (found.ended, found.line) == ("error", 2)
    assert found.error.startswith("RecursionError")


async def test_what_no_process_is_started_for() -> None:
    assert (await run("x" * 20_001, Limits())).ended == "refused"
    assert (await run("'\ud800'", Limits())).ended == "refused"


async def test_so_many_runs_at_once_and_a_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Sandbox.of(Agent(code_at_once=2, code_time_s=3.0))
    assert box is not None
    assert Sandbox.of(Agent(code_runner="none")) is None
    here, most, free = 0, 0, asyncio.Event()

    async def held(_code: str, limits: Limits) -> Ran:
        nonlocal here, most
        assert limits.time_s == 3.0
        here, most = here + 1, max(most, here + 1)
        await free.wait()
        here -= 1
        return Ran("done")

    monkeypatch.setattr(sandbox, "run", held)
    waiting = [asyncio.create_task(box.run("1")) for _ in range(10)]
    while here < 2:
        await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="too many runs"):
        await box.run("1")
    free.set()
    assert {one.ended for one in await asyncio.gather(*waiting)} == {"done"}
    assert most == 2
    assert (await box.run("1")).ended == "done"


async def test_a_runner_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_CHILD", "tests.unit.agent.no_such_child")
    with pytest.raises(Unavailable, match="did not start: is what monty needs installed"):
        await run("1", Limits())


# --- escapes --------------------------------------------------------------------------------------


class Canaries:
    """What an escape would touch: a file, a variable, an address, and a file that is not there."""

    def __init__(self, folder: Path, port: int, heard: list[Any]) -> None:
        self.file, self.made, self.port, self.heard = folder / "canary.txt", folder / "made", port, heard
        self.file.write_text(SECRET)

    def code(self, text: str) -> str:
        named = {
            "@WALK@": WALK,
            "@FILE@": self.file,
            "@MADE@": self.made,
            "@PORT@": self.port,
            "@PARENT@": os.getpid(),
        }
        for name, value in named.items():
            text = text.replace(name, str(value))
        return text

    def check(self, found: Ran) -> None:
        told = f"{found.output}{found.value}{found.error}{found.files}"
        assert SECRET not in told
        assert "HOME=" not in told  # of the parent's own environment
        assert not self.made.exists()
        assert self.file.read_text() == SECRET
        assert self.heard == []


@pytest.fixture
async def canaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Canaries]:
    heard: list[Any] = []
    server = await asyncio.start_server(lambda *pair: heard.append(pair), "127.0.0.1", 0)
    monkeypatch.setenv("CANARY", SECRET)
    yield Canaries(tmp_path, server.sockets[0].getsockname()[1], heard)
    server.close()
    await server.wait_closed()


async def tried(escape: dict[str, Any], limits: Limits, canaries: Canaries) -> Ran:
    """Run one escape; it reaches nothing and ends within its limits."""
    found = await run(canaries.code(escape["code"]), limits)
    canaries.check(found)
    assert found.seconds <= limits.time_s + SLACK_S, found
    assert len(found.output) <= limits.output_chars
    assert len(found.value) <= limits.output_chars
    return found


async def all_tried(limits: Limits, canaries: Canaries, children: list[int]) -> dict[str, Ran]:
    room, found, failed = asyncio.Semaphore(AT_ONCE), dict[str, Ran](), list[Exception]()

    async def one(escape: dict[str, Any]) -> None:
        async with room:
            try:
                found[escape["name"]] = await tried(escape, limits, canaries)
            except (Exception, AssertionError) as exc:
                exc.add_note(escape["name"])
                failed.append(exc)

    await asyncio.gather(*map(one, ESCAPES))
    assert await gone(children, 1.0), left(children)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(ESCAPES)} escapes", failed)
    assert len(children) == len(ESCAPES)
    return found


FORGED = {
    "a file elsewhere": ('{"type":"file","name":"../x.csv","media":"text/csv","data":""}', 1),
    "another medium": ('{"type":"file","name":"x.csv","media":"text/html","data":""}', 1),
    "five files": ('{"type":"file","name":"x.csv","media":"text/csv","data":""}', 5),
    "a start that never ends": ('{"type":"started"}', 10**9),
    "nothing without end": ('{"type":"out","text":""}', 10**9),
    "no JSON": ("x", 1),
    "a line of 16 MB": ("x" * 2**10, 2**14),
}


@linux
@pytest.mark.parametrize("forged", FORGED)
async def test_a_captured_child_is_not_believed(forged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that has its process in hand writes to the one pipe what it likes."""
    if find_spec("pyseccomp") is None:
        pytest.skip("pyseccomp is not installed")
    monkeypatch.setattr(sandbox, "_CHILD", "tests.unit.agent.unjudged")
    line, times = FORGED[forged]
    end = "" if times == 2**14 else "\n"
    code = f"""
{WALK}
for _ in range({times}):
    for fd in range(3, 20):
        try:
            os['write'](fd, {line + end!r}.encode())
        except OSError:
            continue
while True: pass
"""
    found = await run(code, Limits(runner="python", time_s=20.0))
    assert found.ended == "crashed", found
    assert len(found.files) <= 4
    assert found.seconds < 20


@pytest.mark.slow
@linux
async def test_no_escape_reaches_the_host(runner: Runner, canaries: Canaries, children: list[int]) -> None:
    limits = Limits(runner=runner, time_s=1.5)
    found = await all_tried(limits, canaries, children)
    for escape in ESCAPES:
        if escape.get("syntax", True):
            assert found[escape["name"]].ended == "refused", escape["name"]


@pytest.mark.slow
@linux
async def test_the_walls_behind_the_first_hold_alone(
    runner: Runner, canaries: Canaries, children: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_CHILD", "tests.unit.agent.unjudged")
    found = await all_tried(Limits(runner=runner, time_s=1.5), canaries, children)
    assert "refused" not in {one.ended for one in found.values()}


WAYS = {
    "file": "open({made!r}, 'w').close()",
    "secret": "print(open({file!r}).read())",
    "variable": "import os; print(os.environ['CANARY'])",
    "address": "import socket; socket.create_connection(('127.0.0.1', {port})).recv(1)",
}


@pytest.mark.parametrize("way", WAYS)
async def test_the_canaries_sing_where_there_are_no_walls(canaries: Canaries, way: str) -> None:
    code = WAYS[way].format(made=str(canaries.made), file=str(canaries.file), port=canaries.port)
    free = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    if way == "address":
        async with asyncio.timeout(60):
            while not canaries.heard:
                await asyncio.sleep(0.01)
        canaries.heard[0][1].close()
    told, _ = await free.communicate()
    with pytest.raises(AssertionError):
        canaries.check(Ran("done", output=told.decode()))
