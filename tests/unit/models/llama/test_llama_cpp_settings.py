"""What llama-cpp-python is told, spied on a stand-in for the library (S0-11, S0-13). It is not llama.cpp."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.answer.compose import Composer
from node.answer.context import estimate, pack
from node.core.model import Evidence, Freshness, Kind, SourceRef
from node.core.ports import Prompt
from node.core.settings import Models
from node.models.llama.child import serve
from node.models.llama.llama_cpp_child import Model
from tests.manual_clock import ManualClock
from tests.unit.answer.material import ScriptedGenerator, document

END = 99
REQUEST = {
    "op": "generate", "id": 1, "system": "", "user": "Why?", "continuation": "", "stop": [],
    "continuation_stop": [], "tokens_max": 200,
}  # fmt: skip


@dataclass
class Library:
    """Records what it is asked; ``bad_resets`` of its resets fail."""

    bad_resets: int = 0
    said: list[str] = field(default_factory=list)
    loaded: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def llama(self, **options: Any) -> Any:
        self.loaded.append(options)
        self.said.append("load")
        return SimpleNamespace(
            ctx=object(), model=object(), metadata={}, n_ctx=lambda: options["n_ctx"], n_embd=lambda: 8,
            tokenize=lambda text, **_: [1, 2, 3], reset=self.reset, generate=self.generate,
            set_seed=lambda _: None, close=lambda: self.said.append("drop"),
            eval=lambda tokens: self.said.append(f"read {len(tokens)}"),
        )  # fmt: skip

    def reset(self) -> None:
        self.said.append("reset")
        if self.bad_resets:
            self.bad_resets -= 1
            raise RuntimeError("llama_kv_cache_clear failed")

    def cut(self, _: object, __: int, start: int, end: int) -> bool:
        self.said.append(f"cut {start} {end}")
        return True

    def generate(self, tokens: list[int], **options: Any) -> Iterator[int]:
        self.said.append("generate")
        self.asked.append(options)
        yield from (*[7] * 250, END)

    def module(self) -> Any:
        def piece(_: object, token: int, buffer: Any, *__: object) -> int:
            buffer.value = b" so"
            return 3

        return SimpleNamespace(
            Llama=self.llama, ggml_abort_callback=lambda one: one,
            llama_set_abort_callback=lambda *_: None, llama_model_get_vocab=lambda _: object(),
            llama_vocab_n_tokens=lambda _: END + 1,
            llama_get_logits_ith=lambda *_: (ctypes.c_float * (END + 1))(),
            llama_vocab_bos=lambda _: -1, llama_vocab_eos=lambda _: END, llama_vocab_sep=lambda _: -1,
            llama_vocab_get_add_bos=lambda _: False, llama_model_n_ctx_train=lambda _: 32_768,
            llama_get_memory=lambda _: object(), llama_memory_seq_rm=self.cut,
            llama_memory_clear=lambda *_: self.said.append("clear"),
            llama_vocab_is_eog=lambda _, token: token == END, llama_token_to_piece=piece,
        )  # fmt: skip


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    spy = Library()
    formats = SimpleNamespace(jinja2=SimpleNamespace(TemplateError=KeyError), Jinja2ChatFormatter=None)
    monkeypatch.setitem(sys.modules, "llama_cpp", spy.module())
    monkeypatch.setitem(sys.modules, "llama_cpp.llama_chat_format", formats)
    return spy


def served(model: Model, **request: str) -> tuple[str, dict[str, Any]]:
    told: list[dict[str, Any]] = []
    serve(model, {**REQUEST, **request}, told.append, lambda: False)
    return "".join(event.get("text", "") for event in told), told[-1]


def test_settings_of_generation(library: Library) -> None:
    """S0-11: temperature 0, a window of 2048, at most 200 tokens."""
    models = Models()
    model = Model(Path("m.gguf"), purpose="generate", threads=1, window=models.window_tokens)
    _, last = served(model)
    assert [one["n_ctx"] for one in library.loaded] == [2_048]
    assert [one["temp"] for one in library.asked] == [0.0]
    assert (last["event"], last["reason"], last["completion_tokens"]) == ("done", "length", 200)
    assert (models.tokens_max, models.context_chars_max) == (200, 1_500)


async def test_at_most_1500_characters_of_context_reach_the_model() -> None:
    models, clock, engine = Models(), ManualClock(), ScriptedGenerator("A quorum is ten percent [1].")
    text = " ".join(f"The quorum of committee {n} is {n} percent of all members." for n in range(99))
    evidence = [document(text, name="a"), Evidence(text, SourceRef("adapter", "b"), 0.9, Freshness.GENERAL)]
    composer = Composer([engine], clock, models.context_chars_max, models.tokens_max)
    await composer.compose(
        "What is the quorum?",
        evidence,
        route_kind=Kind.GENERATIVE,
        deadline=clock.monotonic() + 30,
        tag="t4g",
    )
    [prompt] = engine.prompts
    assert isinstance(prompt, Prompt)
    assert prompt.tokens_max == 200
    start, end = prompt.user.index("<<<DATA"), prompt.user.rindex("<<<END")
    assert 0 < end - start <= 1_500 + 100  # the marks around it
    assert pack(evidence, 1_500, 900, estimate).chars_used <= 1_500


def test_the_state_is_reset_before_each_generation(library: Library) -> None:
    """S0-13."""
    model = Model(Path("m.gguf"), purpose="generate", threads=1, window=2_048)
    for _ in range(2):
        assert served(model)[1]["event"] == "done"
    assert library.said == ["load", *["clear", "reset", "generate"] * 2]


def test_a_reset_that_fails_reloads_once_and_the_answer_is_given(library: Library) -> None:
    """S0-13."""
    model = Model(Path("m.gguf"), purpose="generate", threads=1, window=2_048)
    library.bad_resets = 1
    text, last = served(model)
    assert text.startswith(" so so")
    assert last["event"] == "done"
    assert library.said == ["load", "clear", "reset", "drop", "load", "generate"]
    assert served(model)[1]["event"] == "done"
    assert library.said[6:] == ["clear", "reset", "generate"]


def test_a_system_message_is_read_once_as_long_as_it_is_the_same(library: Library) -> None:
    model = Model(Path("tiny-instruct.gguf"), purpose="generate", threads=1, window=2_048)
    for _ in range(2):
        served(model, system="Be brief.")
    served(model)
    served(model, system="Be brief.")
    assert library.said == [
        "load",
        *["clear", "reset", "read 6", "generate"],
        *["cut 6 -1", "reset", "generate"],
        *["clear", "reset", "generate"],
        *["clear", "reset", "read 6", "generate"],
    ]
