"""What the house is counted by."""

from __future__ import annotations

from pathlib import PurePosixPath

from bench.size import figures

BIG = "def long():\n" + "    pass\n" * 80


def test_lines_statements_limits_and_data_are_counted() -> None:
    found = figures(
        {
            PurePosixPath("node/__init__.py"): b"",
            PurePosixPath("node/core/a.py"): b"x = 1\nclass A:\n    def f(self): pass\n",
            PurePosixPath("adapters/b.py"): BIG.encode(),
            PurePosixPath("adapters/words.toml"): b"abc",
            PurePosixPath("tests/test_a.py"): b"assert True\n",
            PurePosixPath("README.md"): b"three words here",
        }
    )
    assert found["node and adapters: lines"] == 3 + 81
    assert found["node and adapters: statements"] == 4 + 81
    assert found["tests: lines"] == 1
    assert (found["longest function"], found["functions over 80 lines"]) == (81, 1)
    assert found["rooms below node"] == 1
    assert found["Python files beside the rooms"] == 1
    assert found["data of node and adapters, .toml: bytes"] == 3
    assert found["README: words"] == 3
