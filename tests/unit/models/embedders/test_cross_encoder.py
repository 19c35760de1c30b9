"""The packaged note reader, real weights: it sees whether a note holds the answer, not whether it is near."""

from __future__ import annotations

import importlib.resources
import io

import numpy as np
import pytest

from node.core.errors import Unavailable
from node.models.embedders.cross_encoder import CHARS_MAX, FILE, CrossEncoder, Reader, changed
from node.models.embedders.local import installed_files

HOURS = "When is the harbour office open? The harbour office is open from 8 to 17 on weekdays."
PHONE = "What is the phone number of the harbour office? You reach the harbour office on 0155 420 871."


@pytest.fixture(scope="module")
def reader() -> CrossEncoder:
    return CrossEncoder.open(installed_files(), threads=1)


@pytest.mark.parametrize(
    ("question", "holding", "beside"),
    [
        ("who do i ring if i want to talk to the harbour people", PHONE, HOURS),
        ("can i drop by the harbour office at nine", HOURS, PHONE),
    ],
)
def test_the_note_that_holds_the_answer_is_told_from_its_neighbour(
    reader: CrossEncoder, question: str, holding: str, beside: str
) -> None:
    held, other = reader.score(question, [holding, beside])
    assert held > other


def test_company_and_order_do_not_change_a_score(reader: CrossEncoder) -> None:
    asked, long = "when does the office close", f"{HOURS} {PHONE} " * 3
    together = reader.score(asked, [HOURS, long, PHONE])
    alone = [reader.score(asked, [note])[0] for note in (HOURS, long, PHONE)]
    assert together == pytest.approx(alone, abs=1e-3)


def test_any_text_has_a_score(reader: CrossEncoder) -> None:
    assert reader.score("anything", []) == []
    texts = ["", " ", "[SEP] [CLS] [MASK]", "\ud800", "\0", "x" * (2 * CHARS_MAX), "größe 東京 🎈"]
    for question in texts:
        assert np.isfinite(reader.score(question, texts)).all()


def test_a_change_for_other_weights_is_refused() -> None:
    file = io.BytesIO()
    np.savez(file, weights=np.array("0" * 64), head=np.zeros(769, np.float32))
    with pytest.raises(Unavailable, match="other weights"):
        CrossEncoder.open(installed_files(), threads=1, adapter=file.getvalue())


@pytest.mark.parametrize("cut", [1, 100, 50_000, -1])
def test_a_damaged_change_is_refused_and_not_a_broken_start(cut: int) -> None:
    whole = importlib.resources.files("node.models.embedders").joinpath(FILE).read_bytes()
    with pytest.raises(Unavailable, match="damaged"):
        CrossEncoder.open(installed_files(), threads=1, adapter=whole[:cut])


def test_a_change_stands_at_its_place_and_leaves_all_else() -> None:
    before = bytes(range(64))
    values = np.frombuffer(before, np.int8, 4, 8).reshape(2, 2).astype(np.float32)
    parts = {
        "m/A": np.ones((2, 1), np.float16),
        "m/B": np.array([[1.0, 0.0]], np.float16),
        "m/at": np.array([8, 16]),
        "n/v": np.array([1.5, -2.5], np.float16),
        "n/at": np.array([32]),
    }
    scales = np.array([0.5, 2.0], np.float32)
    file = before[:16] + scales.tobytes() + before[24:]
    after = changed(file, parts)
    assert len(after) == len(file)
    for kept in (slice(8), slice(12, 16), slice(24, 32), slice(40, None)):
        assert after[kept] == file[kept]
    scale = np.frombuffer(after, np.float32, 2, 16)
    whole = np.frombuffer(after, np.int8, 4, 8).reshape(2, 2) * scale
    assert whole == pytest.approx(values * scales + np.array([[1.0, 0.0]] * 2), abs=float(scale.max()))
    assert list(np.frombuffer(after, np.float32, 2, 32)) == [1.5, -2.5]


async def test_the_port_answers_as_the_engine_does(reader: CrossEncoder) -> None:
    port = await Reader.load(threads=1)
    try:
        asked = ("when is it open", [HOURS, PHONE])
        assert await port.score(*asked) == reader.score(*asked)
    finally:
        await port.close()
