"""Patterns that wait until they are asked: they behave as compiled ones, and every one of them compiles."""

from __future__ import annotations

import gc
import re

from adapters import registry
from node.language.tables import _Later, later


def test_a_pattern_is_put_together_when_it_is_first_used() -> None:
    asked: list[str] = []

    def text() -> str:
        asked.append("once")
        return r"(?P<word>a+)b"

    waiting, compiled = later(text, re.IGNORECASE), re.compile(r"(?P<word>a+)b", re.IGNORECASE)
    assert not asked
    assert waiting.pattern == compiled.pattern
    assert waiting.sub(r"\1", "xAAb") == compiled.sub(r"\1", "xAAb") == "xAA"
    assert (waiting.flags, waiting.groups, waiting.groupindex) == (compiled.flags, 1, compiled.groupindex)
    assert asked == ["once"]


def test_every_pattern_of_the_tables_compiles() -> None:
    assert registry
    waiting = [one for one in gc.get_objects() if type(one) is _Later]
    assert len(waiting) > 500
    for one in waiting:
        assert one.search is not None, one.pattern
