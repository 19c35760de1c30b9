"""What is silenced says why: a linter, the type checker, a caught exception, a test left out. That linters
are silenced by code and with cause, and that nothing is marked unfinished, ruff checks (PGH, RUF100, FIX)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [path for name in ("node", "adapters", "bench", "tests") for path in (ROOT / name).rglob("*.py")]

UNEXPLAINED = re.compile(
    r"""
      \#\ noqa (?! :\ [A-Z0-9,\ ]+\ -\ \S)
    | \#\ type:\ ignore (?! \[[a-z,\ -]+\]\ \#\ \S)
    | \#\ pragma:\ no\ cover (?! \ -\ \S)
    | except\b[^\n]*:\n\s+pass\n          # a reason would stand behind it
    | raise\ NotImplementedError          # an abstract method says so itself
    | mark\.xfail\b
    | skipif\( (?! (?:[^()]|\([^()]*\))* reason= )
    | pytest\.skip\(\)
    """,
    re.VERBOSE,
)


def test_each_silenced_place_says_why() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in FILES
        if path != Path(__file__)
        for match in UNEXPLAINED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_types_of_tests_are_read_by_nobody_and_not_silenced() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in FILES if (ROOT / "tests") in path.parents}
    assert [path for path, text in texts.items() if "# type: ignore" in text and path != Path(__file__)] == []


@pytest.mark.parametrize(
    ("without", "explained"),
    [
        ("import os  # noqa: F401", "import os  # noqa: F401 - for its effect"),
        ("x = f()  # type: ignore[misc]", "x = f()  # type: ignore[misc] # it is not typed"),
        ("x = f()  # pragma: no cover", "x = f()  # pragma: no cover - another system's"),
        ("except OSError:\n    pass\n", "except OSError:\n    pass  # it is gone\n"),
        ("raise NotImplementedError", "@abstractmethod"),
        ("@pytest.mark.skipif(not f())", "@pytest.mark.skipif(not f(), reason='not here')"),
        ("pytest.skip()", "pytest.skip('not here')"),
        ("@pytest.mark.xfail(reason='it fails')", "@pytest.mark.slow"),
    ],
)
def test_the_rule_tells_them_apart(without: str, explained: str) -> None:
    assert UNEXPLAINED.search(without)
    assert not UNEXPLAINED.search(explained)
