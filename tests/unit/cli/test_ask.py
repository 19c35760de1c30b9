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
    "found": None,
    "support": None,
    "hit": None,
    "cid": None,
    "decision": None,
    "store_reason": None,
    "unverified": False,
    "draft": False,
}


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        pytest.param({}, [], id="nothing more"),
        pytest.param(
            {"found": 0.934, "support": 0.88}, ["evidence    found 0.93, supported 0.88"], id="both"
        ),
        pytest.param({"found": 0.0}, ["evidence    found 0.00"], id="found only"),
        pytest.param(
            {"unverified": True},
            ["unverified  a model said it, and nothing that is known here supports it"],
            id="unverified",
        ),
        pytest.param(
            {"draft": True},
            ["draft       the model said the same a while ago; --no-cache asks it again"],
            id="draft",
        ),
        pytest.param(
            {"store_reason": "confidence too low"},
            ["not stored  confidence too low (request r1)"],
            id="not stored",
        ),
    ],
)
def test_what_is_said_below_an_answer(
    more: dict[str, Any],
    lines: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ask, "call", lambda *_: (200, {**REPLY, **more}))
    assert main.main(["ask", "What is a keel?"]) == 0
    always = ["source      llm: ollama/tiny", "confidence  0.50"]
    assert capsys.readouterr().out.splitlines() == [
        "A fin below the hull.",
        *(f"  {line}" for line in always + lines),
    ]
