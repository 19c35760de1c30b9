"""What tests of the drivers for servers share: a driver before the stand-in that is the test's ``server``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import pytest

from node.core.clock import Clock, SystemClock
from node.core.ports import Prompt
from node.models.generators.ollama import OllamaGenerator
from node.models.generators.openai_compatible import OpenAiGenerator
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import OpenAiStandIn

PROMPT = Prompt("Be brief.", "QUESTION: What is the capital of France?\n\nANSWER:", 50, ("\n\nQUESTION:",))
PARIS = "Paris is the capital of France."
KEY = "sk-very-secret-0123456789"
Server: TypeAlias = OllamaStandIn | OpenAiStandIn
Driver: TypeAlias = OllamaGenerator | OpenAiGenerator
Build: TypeAlias = Callable[..., Driver]


@pytest.fixture
async def build(server: Server) -> AsyncIterator[Build]:
    made: list[Driver] = []

    def make(clock: Clock | None = None, *, model: str = "", key: str = KEY, **options: Any) -> Driver:
        engine: Driver
        if isinstance(server, OllamaStandIn):
            engine = OllamaGenerator(server.url, model, clock or SystemClock(), **options)
        else:
            engine = OpenAiGenerator(server.url, key, model, clock or SystemClock(), **options)
        made.append(engine)
        return engine

    yield make
    server.release()
    for engine in made:
        await engine.close()
