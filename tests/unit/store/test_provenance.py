"""The rules of whose word an entry is: no store, no clock, callers as values."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.caller import Caller, private_scope
from node.core.ipld.cid import Cid
from node.core.model import Client
from node.core.record import AnswerRecord, RecordSource
from node.store import provenance
from tests.record_builders import START, Author

US = Author(7)
LOCAL, ADMIN = Caller(), Caller("ops", key="k-ops", is_admin=True)
ANN, BOB = (Caller(name, private_scope(name), key=f"k-{name}") for name in ("ann", "bob"))


def entry(by: str | None, *, ends_s: int | None = None, scope: str = "shared") -> AnswerRecord:
    expires = None if ends_s is None else START + timedelta(seconds=ends_s)
    source = RecordSource("client", "wikipedia", by=by)
    return US.answer("When?", answer="At ten.", source=source, expires=expires, scope=scope)


@pytest.mark.parametrize(
    ("caller", "by", "replace", "may"),
    [
        (ANN, "k-ann", False, True),
        (ANN, "k-bob", True, False),
        (ANN, "local", True, False),
        (ADMIN, "k-ann", False, False),
        (ADMIN, "k-ann", True, True),
        (LOCAL, "local", False, False),  # nobody can tell that it is the same person
        (LOCAL, "local", True, True),
        (LOCAL, None, True, True),
        (LOCAL, "k-ann", True, True),
    ],
)
def test_who_may_replace_what_stands(caller: Caller, by: str | None, replace: bool, may: bool) -> None:
    assert provenance.may_replace(caller, entry(by), replace=replace, now=START) is may


def test_what_has_ended_is_replaced_by_the_same_only() -> None:
    ended = entry("local", ends_s=0)
    assert provenance.may_replace(LOCAL, ended, replace=False, now=START)
    assert not provenance.may_replace(ANN, ended, replace=False, now=START)


@pytest.mark.parametrize(
    ("caller", "record", "may"),
    [
        (LOCAL, entry("k-ann"), True),
        (ADMIN, entry("local"), True),
        (ANN, entry("k-ann"), True),
        (ANN, entry("k-bob", scope="private:ann"), True),
        (ANN, entry("k-bob"), False),
        (ANN, entry("local"), False),
    ],
)
def test_who_may_take_a_record_from_everybody(caller: Caller, record: AnswerRecord, may: bool) -> None:
    assert provenance.may_take_from_all(caller, record) is may


def test_a_record_from_before_names_were_written_is_local_and_its_id_a_claim() -> None:
    assert entry(None).source.client == Client("local", "wikipedia")
    assert RecordSource("client", "local").client == Client("local", None)
    assert RecordSource("adapter", "wikipedia").client is None


def test_tenants_that_agree_are_counted_without_the_operator() -> None:
    cid = Cid.of(b"x")
    voices = {"": ("invalid", cid), "ann": ("invalid", cid), "bob": ("valid", cid), "cyd": ("invalid", cid)}
    assert provenance.agreed(voices) == 2
