"""The report of the four suites: what each case expected and got, by which engine, in how many milliseconds.

The second seed asks for five things after each suite: pass or fail, response times, error logs, unexpected
behaviour, recommendations. They are collected while the tests run, in whatever process, written to
``build/suites.md`` and printed behind the tests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import pytest

SUITES = {
    1: "Deterministic queries",
    2: "IPFS cache",
    3: "Synthesis by a language model",
    4: "Fallback chain",
}
PATH = Path(__file__).resolve().parents[2] / "build" / "suites.md"
LOG_LINES_MAX = 20
CELL_CHARS_MAX = 160


@dataclass
class Case:
    """One row. ``got`` is set by the test; ``notes`` are things that nobody expected and nothing forbids."""

    suite: int
    test: str
    expected: str
    engine: str
    got: str = ""
    passed: bool = False
    ms: float | None = None
    notes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What this block takes is the case's response time."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.ms = (time.perf_counter() - began) * 1_000


class _Kept(logging.Handler):
    """The node's warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")


class Report:
    """All cases of a test session."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    @contextmanager
    def case(self, suite: int, test: str, expected: str, engine: str) -> Iterator[Case]:
        """A case passes when its block does."""
        case = Case(suite, test, expected, engine)
        self.cases.append(case)
        kept = _Kept()
        logging.getLogger().addHandler(kept)
        began = time.perf_counter()
        try:
            yield case
            case.passed = True
        except Exception as exc:
            case.got = case.got or f"{type(exc).__name__}: {exc}"
            raise
        finally:
            logging.getLogger().removeHandler(kept)
            case.log = kept.lines
            if case.ms is None:
                case.ms = (time.perf_counter() - began) * 1_000

    def markdown(self) -> str:
        """The whole report."""
        parts = ["# The four suites"]
        for number, name in SUITES.items():
            cases = sorted((one for one in self.cases if one.suite == number), key=lambda one: one.test)
            if cases:
                parts.append(_suite(number, name, cases))
        return "\n\n".join(parts) + "\n"

    def write(self, path: Path) -> None:
        """Leave the report as a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.markdown(), encoding="utf-8")


def _suite(number: int, name: str, cases: list[Case]) -> str:
    rows = [
        f"| {_cell(one.test)} | {_cell(one.expected)} | {_cell(one.got)} | {_cell(one.engine)} "
        f"| {one.ms or 0:.0f} | {'pass' if one.passed else 'FAIL'} |"
        for one in cases
    ]
    times = sorted(one.ms or 0.0 for one in cases)
    spread = f"median {median(times):.0f} ms, fastest {times[0]:.0f} ms, slowest {times[-1]:.0f} ms."
    advice = [f"mend what fails: {one.test} ({one.engine})" for one in cases if not one.passed]
    if all("stand-in" in one.engine for one in cases):
        advice.append(
            "only stand-ins ran: build the real engines with bash .ci/engines and run make test-all"
        )
    advice += [note for one in cases for note in one.advice]
    parts = {
        "Pass or fail": [f"{sum(one.passed for one in cases)} of {len(cases)} passed."],
        "Response times": [spread],
        "Error logs": _listed(dict.fromkeys(line for one in cases for line in one.log)),
        "Unexpected behaviour": _listed([f"{one.test}: {note}" for one in cases for note in one.notes]),
        "Recommendations": _listed(dict.fromkeys(advice)),
    }
    head = ["| test | expected | got | engine | ms | result |", "| --- | --- | --- | --- | --- | --- |"]
    lines = [f"## Suite {number}: {name}", "", *head, *rows]
    for title, said in parts.items():
        lines += ["", f"### {title}", *said]
    return "\n".join(lines)


def _listed(said: Iterable[str]) -> list[str]:
    shown = [f"- {_cell(line)}" for line in said]
    left = len(shown) - LOG_LINES_MAX
    return [*shown[:LOG_LINES_MAX], *([f"- and {left} more"] if left > 0 else [])] or ["none"]


def _cell(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= CELL_CHARS_MAX else f"{line[: CELL_CHARS_MAX - 1]}…"


REPORT = Report()
"""One for each process; ``SuiteReport`` brings them together."""
_PROPERTY = "suite case"


class SuiteReport:
    """A pytest plugin: the cases of a test travel in its report to the process that writes them down."""

    def __init__(self, path: Path) -> None:
        self.whole = Report()
        self.path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        report.user_properties.extend((_PROPERTY, asdict(case)) for case in REPORT.cases)
        REPORT.cases.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.whole.cases += [Case(**value) for name, value in report.user_properties if name == _PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.whole.cases:
            self.whole.write(self.path)
            terminalreporter.write("\n" + self.whole.markdown() + "\n")
