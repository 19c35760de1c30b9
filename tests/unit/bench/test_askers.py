"""Twenty askers of one model: how the figures are read off, on a stand-in for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import askers
from bench.askers import FREED_S, Left, Served, freed_in_time, leave, long_question, overtaken
from node.core.clock import SystemClock
from tests.faults.node_kit import start
from tests.simulators.ollama import OllamaStandIn

SECOND = "Explain how a lighthouse works"


class Moments(SystemClock):
    """Its sleeps end when something has come about, one after the other."""

    def __init__(self, *moments: Callable[[], bool]) -> None:
        self._moments = iter(moments)

    async def sleep(self, seconds: float) -> None:
        come_about = next(self._moments)
        while not come_about():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("while_writing", [True, False])
async def test_who_leaves_leaves_while_the_model_writes_or_reads(tmp_path: Path, while_writing: bool) -> None:
    async with OllamaStandIn(hang=not while_writing, stall_after=20 if while_writing else None) as model:
        async with start(tmp_path, ollama=model.url) as node:
            assert node.node is not None
            queue = node.node.service._p.pipeline._stations.generation.composer.engines[0].queue

            def is_with_the_model() -> bool:
                return (model.stalled if while_writing else model.arrived).is_set()

            def is_waited_for() -> bool:
                model.hang, model.stall_after = False, None
                return queue.waiting == 1

            clock = Moments(is_with_the_model, is_waited_for)
            left = await leave(node.url, long_question("bridges"), SECOND, clock)
    assert left.while_writing == while_writing
    assert len(model.chats) == 2


def test_a_slot_that_is_freed_late_is_a_miss(capsys: pytest.CaptureFixture[str]) -> None:
    well = [Left(True, 0.03), Left(False, 0.1)]
    assert freed_in_time(well)
    assert not freed_in_time([*well, Left(False, FREED_S + 0.05)])
    assert "1 of 2 later than 200 ms" in capsys.readouterr().out
    assert not freed_in_time(well[:1]), "nobody left while the model read"


def test_who_is_answered_after_somebody_who_came_later_was_overtaken() -> None:
    served = [Served(n, answered, "llm", ()) for n, answered in enumerate([5.0, 1.0, 2.0, 3.0])]
    assert overtaken(served, 2) == 1
    assert overtaken(served, 3) == 0


def test_no_two_long_questions_begin_alike() -> None:
    texts = [long_question(one).partition("\n\n")[2] for one in askers._THINGS]
    assert len({text[:5] for text in texts}) == len(texts)
    assert all(len(text) == askers.LONG_CHARS for text in texts)


def test_without_a_model_file_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bench.askers"])
    assert askers.main() == 0
    assert "left out" in capsys.readouterr().out
