"""A real model behind the Composer: context wins over what it learnt (S2-58), and it keeps to the point."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from node.answer.compose import Composer
from node.core.clock import SystemClock
from node.core.model import Kind
from node.models.embedders.local import MiniLm, installed_files
from node.models.generators.llama import LlamaGenerator
from node.models.llama.process import LLAMA_CPP, XLLAMACPP
from tests.unit.answer.material import document

PROBES = (
    (
        "What is the capital of France?",
        "Since the reform the capital of France is Larkmoor.",
        "Larkmoor",
        "Paris",
    ),
    ("Who wrote Hamlet?", "Hamlet was written by Odalys Brandt.", "Brandt", "Shakespeare"),
    ("At what temperature does water boil?", "In this plant water boils at 61 degrees Celsius.", "61", "100"),
    ("How many days does a week have?", "In this calendar a week has nine days.", "nine", "seven"),
    ("What colour is the sky?", "On this planet the sky is green.", "green", "blue"),
)
RIGHT_MIN = 4
RIGHT_MIN_BASE = 2
"""What a base model of 270 million parameters manages, which was never taught to follow a context."""
ON_TOPIC_MIN = 0.5
"""Cosine of an answer to its own question; to those of other subjects it stays below .3."""


@dataclass(frozen=True, slots=True)
class Model:
    """An engine with weights, and of how many probes it must follow the context."""

    generator: LlamaGenerator
    right_min: int


def _setup(weights: str, engine: str) -> ParameterSet:
    marks = [pytest.mark.engine(engine), *([pytest.mark.engine("qwen")] if weights == "qwen" else [])]
    return pytest.param((weights, engine), marks=marks, id=f"{weights}-{engine}")


@pytest.fixture(
    params=[_setup("gemma", "llama_cpp"), _setup("qwen", "llama_cpp"), _setup("qwen", "xllamacpp")]
)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    weights, engine = request.param
    request.getfixturevalue(engine)
    gguf: Path = request.getfixturevalue(f"{weights}_gguf")
    program = LLAMA_CPP if engine == "llama_cpp" else XLLAMACPP
    generator = LlamaGenerator(gguf, SystemClock(), threads=1, program=program)
    yield Model(generator, RIGHT_MIN if weights == "qwen" else RIGHT_MIN_BASE)
    await generator.close()


pytestmark = pytest.mark.timeout(1_200)


async def test_contradicting_context_wins(model: Model) -> None:
    clock = SystemClock()
    composer = Composer([model.generator], clock, 1_500, 40)
    said = []
    for question, fact, wanted, learnt in PROBES:
        deadline, notes = clock.monotonic() + 200, [document(fact, name="notes")]
        composed = await composer.compose(
            question, notes, route_kind=Kind.GENERATIVE, deadline=deadline, tag="t4g"
        )
        is_right = composed.source.kind == "llm" and wanted in composed.text and learnt not in composed.text
        said.append((is_right, composed.source.kind, composed.text))
    assert sum(is_right for is_right, _, _ in said) >= model.right_min, said


async def test_an_explanation_is_whole_and_on_its_topic(model: Model) -> None:
    """S2-59: the judge is the embedder, which knows nothing of what was generated."""
    clock = SystemClock()
    question = "Explain quantum computing"
    composed = await Composer([model.generator], clock, 1_500, 120).compose(
        question, [], route_kind=Kind.GENERATIVE, deadline=clock.monotonic() + 200, tag="t4g"
    )
    assert composed.source.kind == "llm", composed.tried
    assert not composed.abstained
    assert len(composed.text.split()) >= 10
    own, other, answer = MiniLm.open(installed_files(), threads=1).embed(
        [question, "Explain how bread is baked", composed.text[:800]]
    )
    assert own is not None
    assert other is not None
    assert answer is not None
    near, far = float(own @ answer), float(other @ answer)
    assert near >= ON_TOPIC_MIN > far, (near, far, composed.text)
