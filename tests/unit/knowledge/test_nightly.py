"""Answers graded again at night: which are taken, when, by whom, and what is said of the grades."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from node.core.caller import Caller
from node.core.errors import TimedOut, Unavailable
from node.core.model import Answer, Citation, Confidence, Draft, Freshness, Kind, Query, Route, SourceRef
from node.core.ports import Generator, Prompt
from node.knowledge.evaluation.nightly import ROLLING, SAMPLES_MAX, Judging, Nightly
from node.models.deadline import GaveWay
from node.models.generators.openai_compatible import OpenAiGenerator
from tests.manual_clock import ManualClock
from tests.simulators.openai_compatible import OpenAiStandIn
from tests.unit.answer.material import ScriptedGenerator

EVENING = datetime(2026, 11, 29, 18, tzinfo=UTC)


class Meta:
    """What outlives a restart."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def get_meta(self, key: str) -> str | None:
        return self.texts.get(key)

    async def set_meta(self, key: str, value: str) -> None:
        self.texts[key] = value


class World:
    """``judges`` may be exchanged."""

    def __init__(self, *judges: Generator, share: float = 0.05) -> None:
        self.clock, self.meta = ManualClock(EVENING), Meta()
        self.judges: list[Generator] = list(judges)
        self.outcomes: Counter[str] = Counter()
        self.means: list[float] = []
        self.passages: Sequence[str] | Unavailable = ("A guest may stay for 14 nights.",)
        self.share, self.timeout_s = share, 5.0

    async def _ask(self, prompt: Prompt) -> Draft:
        return await self.judges[0].generate(prompt, timeout_s=self.timeout_s)

    async def open(self) -> Nightly:
        async def passages(question: str, scopes: Sequence[str]) -> Sequence[str]:
            if isinstance(self.passages, Unavailable):
                raise self.passages
            return self.passages

        def count(outcome: str) -> None:
            self.outcomes[outcome] += 1

        judging = Judging(
            None if not self.judges else self._ask,
            passages,
            count,
            self.means.append,
            self.share,
            2,
            UTC,
        )
        return await Nightly.open(judging, self.meta, self.clock)


def answer(number: int, clock: ManualClock, *, kind: str = "documents", **query: object) -> Answer:
    asked = Query(f"r{number}", f"Q{number}?", f"Q{number}?", Caller(), clock.now(), 0.0)
    return Answer(
        replace(asked, **query),
        f"A{number}.",
        Route(Kind.GENERATIVE, (), 0.7, "x"),
        SourceRef(kind, "house.md"),
        Confidence(0.9, {}),
        Freshness.GENERAL,
        (Citation("house.md", snippet="14 nights in a row"),),
    )


def grades(world: World) -> list[int]:
    return list(json.loads(world.meta.texts["judged_answers"])[1])


def judge(*grades: int) -> ScriptedGenerator:
    given = iter(grades)
    return ScriptedGenerator(lambda _: f'<think>2</think>{{"grade": {next(given)}}}')


async def test_one_answer_of_twenty_is_graded_in_the_night_after() -> None:
    grader = judge(*[3] * 5)
    world = World(grader)
    nightly = await world.open()
    for number in range(100):
        nightly.hear(answer(number, world.clock))
    await nightly.tick()
    world.clock.advance(7 * 3_600)  # one in the morning: too early
    await nightly.tick()
    assert grader.prompts == []
    world.clock.advance(2 * 3_600)
    await nightly.tick()
    assert (world.outcomes, world.means[1:]) == ({"graded": 5}, [3.0])
    asked = grader.prompts[0]
    assert "Q10?" in asked.user
    assert "A10." in asked.user
    assert "A guest may stay for 14 nights." in asked.user
    await nightly.tick()
    assert len(grader.prompts) == 5
    assert nightly.health().status == "pass"


@pytest.mark.parametrize(
    ("grades", "mean", "status", "word"),
    [((3, 2), 2.5, "pass", ""), ((3, 2, 2), 7 / 3, "warn", "low"), ((1, 2), 1.5, "warn", "critical")],
)
async def test_below_two_and_a_half_it_is_told(
    grades: tuple[int, ...], mean: float, status: str, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    """S4-38, S4-46."""
    world = World(judge(*grades), share=1.0)
    nightly = await world.open()
    for number in range(len(grades)):
        nightly.hear(answer(number, world.clock))
    with caplog.at_level(logging.INFO):
        told = await nightly.run()
    assert told["mean"] == pytest.approx(mean)
    assert told["judge"] == "tiny:latest"
    assert "favour" in told["bias"]
    check = nightly.health()
    assert (check.status, check.observed) == (status, round(mean, 3))
    assert word in check.output
    assert ("event=answer_quality_low" in caplog.text) is (status == "warn")


async def test_without_a_judge_that_is_said_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    world = World(share=1.0)
    nightly = await world.open()
    nightly.hear(answer(1, world.clock))
    told = await nightly.run()
    assert (told["outcomes"], told["mean"]) == ({"no_judge": 1}, None)
    assert world.outcomes == {"no_judge": 1}
    assert "no judge model (judge.url): answers were not graded" in nightly.health().output
    assert "no judge model" in caplog.text


async def test_a_judge_that_fails_is_asked_again_later_and_one_that_says_no_grade_is_not() -> None:
    world = World(ScriptedGenerator(TimedOut("it took too long")), share=1.0)
    nightly = await world.open()
    for number in range(3):
        nightly.hear(answer(number, world.clock))
    assert (await nightly.run())["outcomes"] == {"failed": 1}
    assert "took too long" in nightly.health().output
    world.judges = [ScriptedGenerator(GaveWay("somebody waits"))]
    assert (await nightly.run())["outcomes"] == {"busy": 1}
    world.judges = [judge(2, 2, 2)]
    world.passages = Unavailable("the file cannot be read")
    assert (await nightly.run())["outcomes"] == {"graded": 3}
    assert "14 nights in a row" in world.judges[0].prompts[0].user  # what it cited stands in
    assert "took too long" not in nightly.health().output
    nightly.hear(answer(4, world.clock))
    world.judges = [ScriptedGenerator("I like it.")]
    assert (await nightly.run())["outcomes"] == {"no_grade": 1}
    assert (await nightly.run())["answers"] == 0


async def test_what_is_not_to_be_kept_and_what_no_model_made_is_not_taken() -> None:
    world = World(share=1.0)
    nightly = await world.open()
    for left_out in ({"no_store": True}, {"context": "0" * 64}, {"kind": "adapter"}, {"kind": "fallback"}):
        nightly.hear(answer(1, world.clock, **left_out))
    assert (await nightly.run())["answers"] == 0


async def test_a_day_has_so_many_and_grades_outlive_a_restart() -> None:
    world = World(share=1.0)
    world.judges = [ScriptedGenerator('{"grade": 1}')]
    nightly = await world.open()
    for number in range(SAMPLES_MAX + 50):
        nightly.hear(answer(number, world.clock))
    assert (await nightly.run())["answers"] == SAMPLES_MAX
    assert world.outcomes["passed_over"] == 50
    again = await world.open()
    assert len(grades(world)) == ROLLING
    assert again.health().status == "warn"
    assert again.health().observed == 1.0


async def test_a_judge_over_the_wire() -> None:
    world = World(share=1.0)
    async with OpenAiStandIn(answer='{"grade": 2}') as server:
        grader = OpenAiGenerator(server.url, "", "stand-in-chat", world.clock)
        world.judges = [grader]
        nightly = await world.open()
        nightly.hear(answer(1, world.clock))
        told = await nightly.run()
        assert (told["outcomes"], told["judge"]) == ({"graded": 1}, "stand-in-chat")
        assert "Q1?" in str(server.prompts[0])
        await grader.close()


@pytest.mark.engine("xllamacpp")
@pytest.mark.timeout(600)
async def test_a_real_model_grades(xllamacpp: None, qwen_gguf: Path) -> None:
    from node.core.clock import SystemClock
    from node.models.generators.llama import LlamaGenerator
    from node.models.llama.process import XLLAMACPP

    grader = LlamaGenerator(qwen_gguf, SystemClock(), queue_max=4, slots=1, window=2_048, program=XLLAMACPP)
    try:
        world = World(grader, share=1.0)
        world.timeout_s = 200.0
        nightly = await world.open()
        world.passages = ("A wash in the laundry room costs 2.50 euros.",)
        asked = {"text": "What does a wash in the laundry room cost?"}
        nightly.hear(replace(answer(1, world.clock, **asked), text="A wash costs 2.50 euros [house.md]."))
        nightly.hear(replace(answer(2, world.clock, **asked), text="Penguins live in the south."))
        told = await nightly.run(300)
    finally:
        await grader.close()
    assert told["outcomes"] == {"graded": 2}, told
    right, wrong = grades(world)
    assert right > wrong
