"""Text with places in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.template import Template

TEXTS = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]))


@given(TEXTS, TEXTS, TEXTS, st.text(st.characters(exclude_categories=["Cs"])), st.integers())
def test_only_the_places_differ(first: str, second: str, third: str, one: str, other: int) -> None:
    template = Template(f"{first}<a>{second}<b>{third}", ("<a>", "<b>"))
    assert template.filled(one, other) == f"{first}{one}{second}{other}{third}".encode()


@pytest.mark.parametrize("text", ["<a>", "<a><b><a>", "<b><a>", ""])
def test_each_place_stands_once_and_in_order(text: str) -> None:
    with pytest.raises(Rejected):
        Template(text, ("<a>", "<b>"))
