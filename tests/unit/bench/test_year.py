"""The simulated year: epochs end and move, a run that was stopped goes on, everything verifies."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.log import Sample
from bench.year import Year
from node.audit.decisions import epochs

SAMPLES = [Sample({"kind": "answer", "n": n, "v": 1}, {"query": f"question {n}"}, 0) for n in range(5)]
ENTRIES = 6_000


@pytest.mark.slow
async def test_a_small_year_is_bounded_here_and_verifies_from_the_first_to_the_last(tmp_path: Path) -> None:
    year = Year(tmp_path, ENTRIES, seed=1, epoch_days=60)
    assert await year.write(SAMPLES, 0.0) == 0, "stopped at once"
    assert await year.write(SAMPLES, 10.0) == ENTRIES
    again = Year(tmp_path, ENTRIES, seed=1, epoch_days=60)
    assert await again.write(SAMPLES, 10.0) >= ENTRIES, "there is nothing left to do"
    number = epochs.current(year.log)
    here = [one for one in epochs.closed(year.log) if (epochs.folder_of(year.log, one) / "tile").is_dir()]
    assert number >= 6
    assert here == [number - 1]
    assert await again.verify() >= ENTRIES
    lost = next(path for path in (tmp_path / "archive").rglob("*") if path.name == "000.gz")
    lost.unlink()
    with pytest.raises(SystemExit):
        await again.verify()
