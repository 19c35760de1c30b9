"""To whom an answer belongs."""

from __future__ import annotations

import pytest

from node.core.model import SourceRef
from node.store.record_rules import scope_for

ADAPTER, MODEL, CLIENT = (SourceRef(kind, "x") for kind in ("adapter", "llm", "client"))


@pytest.mark.parametrize(
    ("scope", "publish", "source", "grounded", "wanted"),
    [
        ("shared", "none", ADAPTER, True, "shared"),
        ("shared", "sourced", ADAPTER, True, "public"),
        ("private:a", "sourced", ADAPTER, True, "private:a"),
        ("shared", "sourced", MODEL, True, "shared"),
        ("shared", "grounded", MODEL, True, "public"),
        ("shared", "all", MODEL, False, "shared"),
        ("shared", "all", CLIENT, False, "shared"),
        ("public", "all", CLIENT, False, "public"),
        ("public", "none", CLIENT, False, "shared"),
        ("public", "sourced", CLIENT, False, "shared"),
        ("private:a", "all", CLIENT, False, "private:a"),
    ],
)
def test_scope(scope: str, publish: str, source: SourceRef, grounded: bool, wanted: str) -> None:
    assert scope_for(scope, publish, source, grounded) == wanted
