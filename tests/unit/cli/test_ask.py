"""``neuroswarm ask``: what stands below the answer."""

from __future__ import annotations

from typing import Any

import pytest

from node.cli import ask, main

REPLY: dict[str, Any] = {
    "request_id": "r1",
    "answer": "A fin below the hull.",
    "source": {"kind": "llm", "id": "ollama/tiny"},
    "confidence": 0.5,
    **dict.fromkeys(("found", "support", "hit", "cid", "decision", "store_reason")),
    **dict.fromkeys(("unverified", "draft"), False),
}


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, ""),
        ({"found": 0.934, "support": 0.88}, "evidence    found 0.93, supported 0.88"),
        ({"found": 0.0}, "evidence    found 0.00"),
        ({"unverified": True}, "unverified  a model said it, and nothing that is known here supports it"),
        ({"draft": True}, "draft       the model said the same a while ago; --no-cache asks it again"),
        ({"store_reason": "confidence too low"}, "not stored  confidence too low (request r1)"),
    ],
)
def test_what_is_said_below_an_answer(
    more: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ask, "call", lambda *_: (200, {**REPLY, **more}))
    assert main.main(["ask", "What is a keel?"]) == 0
    below = ["source      llm: ollama/tiny", "confidence  0.50", *filter(None, [line])]
    assert capsys.readouterr().out.splitlines() == ["A fin below the hull.", *(f"  {one}" for one in below)]
