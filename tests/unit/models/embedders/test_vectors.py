from __future__ import annotations

import numpy as np
import pytest

from node.models.embedders.vectors import unit, why_degenerate

SOUND = unit(np.arange(1, 9, dtype=np.float32))


def test_a_sound_vector_has_no_fault() -> None:
    assert why_degenerate(SOUND, 8) is None


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (SOUND[:7], "shape"),
        (SOUND[np.newaxis], "shape"),
        (SOUND.astype(np.float64), "type"),
        (np.full(8, np.nan, np.float32), "finite"),
        (np.array([np.inf] * 8, np.float32), "finite"),
        (np.zeros(8, np.float32), "length"),
        (SOUND * np.float32(1.01), "length"),
        (np.full(8, 8**-0.5, np.float32), "same"),
    ],
)
def test_each_fault_is_named(vector: np.ndarray, words: str) -> None:
    reason = why_degenerate(vector, 8)
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize("raw", [np.zeros(8), np.full(8, 1e-9), np.full(8, np.nan), np.full(8, np.inf)])
def test_what_has_no_direction_becomes_zeros(raw: np.ndarray) -> None:
    assert not unit(raw.astype(np.float32)).any()


def test_large_numbers_do_not_overflow() -> None:
    raw = np.array([3e30, 4e30, 0, 0], np.float32)
    np.testing.assert_allclose(unit(raw), [0.6, 0.8, 0, 0], atol=1e-6)
