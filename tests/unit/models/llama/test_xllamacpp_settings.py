"""What xllamacpp is told, spied on a stand-in for the library (S0-11, S0-13). It is not llama.cpp."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.core.settings import Models
from node.models.llama import xllamacpp_child
from node.models.llama.child import SEED, never, serve
from node.models.llama.xllamacpp_child import Model

REQUEST = {
    "op": "generate", "id": 1, "system": "Be brief.", "user": "Why?", "continuation": "", "stop": ["\nQ:"],
    "continuation_stop": [], "tokens_max": 200,
}  # fmt: skip


@dataclass
class Library:
    """Records how it is loaded and what it is asked."""

    loaded: list[Any] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def params(self) -> Any:
        names = ("model", "cpuparams", "cpuparams_batch")
        return SimpleNamespace(**{name: SimpleNamespace() for name in names})

    def server(self, params: Any) -> Any:
        self.loaded.append(params)
        return SimpleNamespace(handle_chat_completions=self.answer, handle_completions=self.answer)

    def answer(self, body: str, hear: Callable[[str], bool]) -> None:
        self.asked.append(json.loads(body))
        said = {"delta": {"content": " so"}, "finish_reason": "length"}
        hear(json.dumps({"choices": [said]}))
        hear(json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 200}}))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    spy = Library()
    module = SimpleNamespace(CommonParams=spy.params, Server=spy.server)
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    monkeypatch.setattr(xllamacpp_child, "metadata", lambda _: {"tokenizer.chat_template": "{{ messages }}"})
    return spy


def served(model: Model, **more: Any) -> dict[str, Any]:
    told: list[dict[str, Any]] = []
    serve(model, {**REQUEST, **more}, told.append, never)
    return told[-1]


def loaded(slots: int = 1) -> Model:
    return Model(Path("m.gguf"), threads=1, window=Models().window_tokens, slots=slots)


def test_settings_of_generation_reach_the_default_engine(library: Library) -> None:
    """S0-11: temperature 0, a window of 2048 for each slot, at most 200 tokens."""
    last = served(loaded(slots=2))
    [params], [asked] = library.loaded, library.asked
    assert (params.n_ctx, params.n_parallel) == (2 * 2_048, 2)
    assert (asked["temperature"], asked["max_tokens"], asked["stop"]) == (0.0, 200, ["\nQ:"])
    assert (last["event"], last["reason"], last["completion_tokens"]) == ("done", "length", 200)


def test_each_request_brings_its_own_settings(library: Library) -> None:
    model = loaded()
    served(model, temperature=0.7, seed=5, tokens_max=9)
    served(model)
    first, second = library.asked
    assert (first["temperature"], first["seed"], first["max_tokens"]) == (0.7, 5, 9)
    assert (second["temperature"], second["seed"], second["max_tokens"]) == (0.0, SEED, 200)


def test_of_a_request_only_the_state_of_its_prompt_is_kept(library: Library) -> None:
    """S0-13: each request says the whole of what it is about, and no turn of another one is in it. What the
    library may reuse is the state of an equal beginning in the slot; it keeps no other prompts."""
    model = loaded()
    served(model, user="Who was Ann?", turns=[["Hello", "Hi"]])
    served(model)
    [params], (_, asked) = library.loaded, library.asked
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
    ]
    assert asked["cache_prompt"]
    assert params.cache_ram_mib == 0
