"""What may not become public, and to whom an answer belongs."""

from __future__ import annotations

import pytest

from node.core.model import SourceRef
from node.privacy import private_reason
from node.store.remember import scope_for


@pytest.mark.parametrize(
    "text",
    [
        "mail jane.doe@example.org about it",
        "call +49 30 1234 567 890",
        "my name is Ada",
        "I live at 14 Lake Road, what is the price of btc",
        "our wifi password is Fritz!Box7590",
        "is AKIA1234567890ABCDEFGHIJ valid",
        "open https://user:secret@host/x",
        "-----BEGIN RSA PRIVATE KEY-----",
    ],
)
def test_private_texts_are_held_back(text: str) -> None:
    assert private_reason("price of btc", text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "price of btc",
        "What is 2+2",
        "What was proposal 123",
        "what is our password policy",
        "my price of btc",
        "Bitcoin is at $76,975.00 at 2026-05-18 08:17 UTC",
    ],
)
def test_ordinary_texts_may_be_public(text: str) -> None:
    assert private_reason(text) is None


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
