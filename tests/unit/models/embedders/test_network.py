"""The 8-bit graph against the packaged network, which multiplies in 32 bits; and files that do not belong."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from node.core.errors import Unavailable
from node.models.embedders import network
from node.models.embedders.local import ONNX_SHA256, MiniLm, installed_files, open_tokenizer, pinned
from node.models.embedders.network import Network
from tests.unit.models.embedders.minilm import minilm

TEXTS = [
    "How do I reset the password of my account?",
    "Wie hoch ist der Mont Blanc?",
    "x",
    "The ferry sails at 7:45 from the north pier, and on Sundays in winter not before 10. " * 6,
    "0x1f4 != 500, they said; 12 % of 40 €?",
]


def test_multiplies_like_the_packaged_network() -> None:
    files = installed_files()
    tokenizer = open_tokenizer(files.tokenizer)
    session = onnxruntime.InferenceSession(files.onnx.read_bytes(), providers=["CPUExecutionProvider"])
    for text, vector in zip(TEXTS, minilm().embed(TEXTS), strict=True):
        ids = np.array([tokenizer.encode(text).ids])
        ones = np.ones_like(ids)
        inputs = {"input_ids": ids, "attention_mask": ones, "token_type_ids": 0 * ones}
        whole = session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        assert vector is not None
        assert float(vector @ whole) / np.linalg.norm(whole) > 0.99


def test_a_text_has_one_vector_whatever_its_company() -> None:
    for text, vector in zip(TEXTS, minilm().embed(TEXTS), strict=True):
        assert vector is not None
        assert vector.tolist() == pytest.approx(minilm().embed([text])[0])


def test_where_company_would_change_a_vector_each_text_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = Network.hidden
    batches: list[int] = []

    def by_size(self: Network, rows: list[list[int]], second: int = 0) -> object:
        batches.append(len(rows))
        found, mask = hidden(self, rows, second)
        return found * np.linspace(1, len(rows), found.shape[-1], dtype=np.float32), mask

    monkeypatch.setattr(Network, "hidden", by_size)
    files = installed_files()
    engine = MiniLm(Network(pinned(files.onnx, ONNX_SHA256), 1), open_tokenizer(files.tokenizer))
    engine.check()
    batches.clear()
    assert all(vector is not None for vector in engine.embed(TEXTS))
    assert batches == [1] * len(TEXTS)


@pytest.mark.parametrize("name", ["network.onnx", "network.json"])
def test_another_graph_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data = network._data
    monkeypatch.setattr(network, "_data", lambda one: data(one) + b" " if one == name else data(one))
    with pytest.raises(Unavailable, match=r"network\.onnx or network\.json"):
        Network(pinned(installed_files().onnx, ONNX_SHA256), 1)


def test_a_short_file_is_refused() -> None:
    with pytest.raises(Unavailable, match="does not load"):
        Network(pinned(installed_files().onnx, ONNX_SHA256)[:1_000_000], 1)
