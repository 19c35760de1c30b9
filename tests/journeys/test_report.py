"""The report of the four suites is written by the run itself, whole, also where several processes test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ["Pass or fail", "Response times", "Error logs", "Unexpected behaviour", "Recommendations"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_in_two_processes_leaves_each_suite_with_its_five_headings(tmp_path: Path) -> None:
    written = tmp_path / "suites.md"
    wanted = "suite_1 or suite_2 or suite_4_without_a_network"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    command += ["-m", "not engine", "-k", wanted, "tests/journeys/test_suites.py"]
    environ = os.environ | {"SUITES_REPORT": str(written)}
    ran = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    report = written.read_text(encoding="utf-8")
    assert report in ran.stdout, "it is printed too"
    suites = re.split(r"^## ", report, flags=re.MULTILINE)[1:]
    assert [suite[:7] for suite in suites] == ["Suite 1", "Suite 2", "Suite 4"]
    for suite in suites:
        assert re.findall(r"^### (.+)$", suite, flags=re.MULTILINE) == HEADINGS
        rows = re.findall(r"^\| .+ \| (\d+) \| (pass|FAIL) \|$", suite, flags=re.MULTILINE)
        assert rows
        assert f"{len(rows)} of {len(rows)} passed." in suite
        slowest = max(int(ms) for ms, _ in rows)
        assert f"slowest {slowest} ms" in suite
