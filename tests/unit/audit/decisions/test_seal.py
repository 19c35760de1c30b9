"""An entry that is entered again has the bytes that sealing it anew would give."""

from __future__ import annotations

from typing import Any

import pytest

from node.audit.decisions import seal
from node.audit.decisions.entry_fields import request_of
from node.audit.decisions.seal import Form, sealed
from node.audit.tlog import leaf
from node.core.errors import Rejected

ENTRY: dict[str, Any] = {
    "kind": "answer",
    "cid": None,
    "adapters": [],
    "request": "aaaaaaaaaaaaaaaa",
    "hit": {"kind": "exact", "age_s": 7, "reason": "same_question"},
    "steps": [{"stage": "recall", "latency_us": 0}],
    "v": 2,
}
PRIVATE = {"query": "Größe?", "answer": "\ud800 one", "tenant": "local", "cid": "bafyone"}


@pytest.mark.parametrize("request_id", ["bbbbbbbbbbbbbbbb", "no id at all", "@request", '"'])
@pytest.mark.parametrize("age_s", [0, 12, 10**9, -5])
def test_the_bytes_are_those_of_an_entry_made_anew(
    monkeypatch: pytest.MonkeyPatch, request_id: str, age_s: int
) -> None:
    monkeypatch.setattr(seal, "fresh_bytes", lambda: b"k" * leaf.KEY_BYTES)
    texts = dict(PRIVATE)
    made = {
        **ENTRY,
        "request": request_of(request_id, texts),
        "hit": {**ENTRY["hit"], "age_s": max(0, age_s)},
    }
    form = Form(ENTRY, PRIVATE | {"request": "of another"})
    assert form.sealed(request_id, age_s) == sealed(made, texts)
    assert leaf.read_leaf(leaf.compose(form.sealed(request_id, age_s).entry, 3, 4)).entry["v"] == 2


def test_each_has_a_key_of_its_own() -> None:
    form = Form(ENTRY, PRIVATE)
    one, other = form.sealed("a" * 16, 1), form.sealed("a" * 16, 1)
    assert one.key != other.key
    assert one.entry != other.entry
    assert one.about == other.about == ("bafyone",)


@pytest.mark.parametrize("change", [{"hit": None}, {"kind": "@request"}, {"v": 0.5}])
def test_what_cannot_be_entered_again_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        Form(ENTRY | change, PRIVATE)
