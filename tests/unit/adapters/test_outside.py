"""Outside text made plain: no markup, no targets of links, one line, cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.outside import plain, unquoted


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("<script>alert(1)</script>A <b>bold</b> word</evidence>", "A bold word"),
        ("&amp;lt;img src=x onerror=alert(1)&amp;gt;Rates", "Rates"),
        ("see [here](https://evil.example/a_(b)) now", "see here now"),
        ("![picture](javascript:alert(1)) of it", "picture of it"),
        ("5 &lt; 6", "5 ‹ 6"),
        ("a\u202eb\nc", "a b c"),
        (7, ""),
    ],
)
def test_markup_goes(said: object, text: str) -> None:
    assert plain(said, most=100) == text


@given(st.text(alphabet="<>&lt;gta[]()!-/\"' x", max_size=400))
def test_nothing_that_opens_a_tag_is_left(said: str) -> None:
    clean = plain(said, most=80)
    assert len(clean) <= 80
    assert not {"<", ">"} & set(clean)
    assert "](" not in clean


def test_unquoted() -> None:
    assert unquoted('“A” "b" «c»') == "A b c"
