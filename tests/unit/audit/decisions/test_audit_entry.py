"""The entry of an audit: codes and scores, never a text, never a record that is not public."""

from __future__ import annotations

from typing import Any

import pytest

from node.audit.decisions.entry import audit_entry
from node.core.ipld.cid import Cid

CID = str(Cid.of(b"a record"))


def entry(**changes: Any) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {
        "target": CID,
        "verdict": "wrong",
        "reason": "other_figures",
        "question_class": "generative",
        "tier": "semantic",
        "similarity": 0.91,
        "u": 0.012,
        "compared_with": "llm",
        "scope": "public",
        "policy": "neuroswarm-1",
        **changes,
    }
    return audit_entry(**values)


def test_a_public_record_is_named() -> None:
    made, private = entry()
    assert made == {
        "v": 1,
        "kind": "audit",
        "policy": "neuroswarm-1",
        "decision": "audited",
        "verdict": "wrong",
        "reason": "other_figures",
        "class": "generative",
        "tier": "semantic",
        "similarity_ppm": 910_000,
        "u_ppm": 12_000,
        "compared_with": "llm",
        "scope": "public",
        "target": CID,
    }
    assert private == {}


@pytest.mark.parametrize("scope", ["shared", "private:acme"])
def test_any_other_record_is_committed_to(scope: str) -> None:
    made, private = entry(scope=scope, similarity=None, u=None)
    assert made["target"] is None
    assert made["scope"] in ("shared", "private")
    assert (made["similarity_ppm"], made["u_ppm"]) == (None, None)
    assert private == {"target": CID}


def test_no_word_of_a_question_gets_in() -> None:
    made, _ = entry(reason="zanzibar", compared_with="zanzibar spices", asked="where is zanzibar")
    assert made["reason"] == "other"
    assert made["compared_with"] == "other"
