"""The language models that the settings name: what of the settings reaches each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.app.engines import generators_of
from node.core.settings import load
from tests.manual_clock import ManualClock


@pytest.mark.parametrize(
    ("engine", "slots"),
    [("xllamacpp", [3, 5]), ("llama_cpp", [3, 1])],  # llama-cpp-python does one at a time
)
async def test_so_many_at_once_as_the_settings_say_of_each_engine(
    tmp_path: Path, engine: str, slots: list[int]
) -> None:
    weights = tmp_path / "tiny.gguf"
    models = {
        "ollama_url": "http://127.0.0.1:1",
        "ollama_parallel": 3,
        "gguf_engine": engine,
        "gguf_path": str(weights),
        "gguf_parallel": 5,
    }
    made = generators_of(load({}, flags={"models": models}), weights, ManualClock())
    assert [one.name for one in made] == ["ollama", engine]
    assert [one.slots for one in made] == slots
    for one in made:
        await one.close()
