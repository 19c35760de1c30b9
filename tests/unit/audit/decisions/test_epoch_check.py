"""The chain of epochs: each closed log is what the log after it says of it, or the check says where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from node.audit.decisions.entry import Closed, policy_entry
from node.audit.decisions.epoch_check import EpochReport, keys_of, verify_epochs
from node.audit.decisions.origin import epoch_of
from node.core import merkle
from node.core.errors import Rejected
from node.core.signed_note import Checkpoint
from tests.log_folders import ORIGIN, MemorySource, leaf, leaves, log_files, signer


def names(previous: Closed | None, *, kept_size: int | None = None, reason: str = "size") -> dict[str, Any]:
    """The entry in which a log names the one before."""
    entry, _ = policy_entry(event="epoch", policy="p", reason=reason, previous=previous, kept_size=kept_size)
    return dict(entry)


def closed(number: int, entries: Sequence[bytes]) -> Closed:
    root = merkle.root_of([merkle.leaf_hash(one) for one in entries])
    return Closed(origin(number), len(entries), root.hex())


def origin(number: int) -> str:
    return ORIGIN if number == 1 else f"{ORIGIN}/{number}"


class History:
    """Three epochs: the first two closed, each of a few leaves."""

    def __init__(self) -> None:
        self.first = leaves(5)
        self.second = [leaf(0, names(closed(1, self.first), kept_size=5)), *leaves(4)[1:]]
        self.third = [
            leaf(0, {"kind": "repair", "v": 1}),
            leaf(1, names(closed(2, self.second), kept_size=4)),
        ]

    async def check(self, **changes: MemorySource) -> list[EpochReport]:
        places = {
            f"epochs/{number}": MemorySource(log_files(entries, origin=origin(number), signers=[key]))
            for number, entries, key in (
                (1, self.first, signer(origin(1), "an older key")),
                (2, self.second, signer(origin(2), "the key")),
            )
        }
        top = MemorySource(log_files(self.third, origin=origin(3), signers=[signer(origin(3), "the key")]))
        root = merkle.root_of([merkle.leaf_hash(one) for one in self.third])
        newest = Checkpoint(origin(3), len(self.third), root)
        places |= {name.replace("_", "/"): source for name, source in changes.items()}
        return await verify_epochs(top, newest, [signer(origin(3), "the key").verifier], places.__getitem__)


async def test_closed_logs_hold_and_the_log_after_vouches_for_an_older_key() -> None:
    second, first = await History().check()
    assert (second.ok, second.number, second.origin, second.entries, second.is_trusted) == (
        True,
        2,
        origin(2),
        4,
        True,
    )
    assert (first.ok, first.number, first.entries, first.is_trusted, first.lost) == (True, 1, 5, False, 0)


async def test_a_log_that_follows_none_has_no_epochs_to_check() -> None:
    entries = leaves(3)
    root = merkle.root_of([merkle.leaf_hash(one) for one in entries])
    found = await verify_epochs(
        MemorySource(log_files(entries)), Checkpoint(ORIGIN, 3, root), [], lambda path: MemorySource({})
    )
    assert found == []


async def test_an_archived_epoch_is_absent_and_ends_the_check() -> None:
    [second] = await History().check(epochs_2=MemorySource({}))
    assert (second.ok, second.is_absent) == (True, True)


async def test_an_epoch_that_is_passed_over_must_have_held_nothing() -> None:
    history = History()
    history.third = [leaf(0, names(closed(1, history.first), kept_size=5, reason="recover"))]
    empty = MemorySource(log_files([], origin=origin(2), signers=[signer(origin(2), "the key")]))
    for nothing in (MemorySource({}), empty):
        second, first = await history.check(epochs_2=nothing)
        assert (second.ok, second.is_absent, second.number) == (True, True, 2)
        assert (first.ok, first.is_absent, first.number) == (True, False, 1)
    [second] = await history.check()
    assert (second.ok, second.where) == (False, "epochs/2")
    assert "passes over it" in second.reason
    [second] = await history.check(epochs_2=MemorySource({"checkpoint": b"no note"}))
    assert not second.ok
    far = Checkpoint(f"{ORIGIN}/9999", 1, merkle.root_of([merkle.leaf_hash(history.third[0])]))
    top = MemorySource(log_files(history.third, origin=far.origin, signers=[signer(far.origin, "k")]))
    [report] = await verify_epochs(top, far, [], lambda path: MemorySource({}))
    assert (report.ok, report.number) == (False, 9_998)


async def test_a_closed_log_that_was_exchanged_or_damaged_is_named() -> None:
    def other(entries: Sequence[bytes], number: int = 2) -> MemorySource:
        files = log_files(entries, origin=origin(number), signers=[signer(origin(number), "the key")])
        return MemorySource(files)

    history = History()
    forged = [*history.second[:3], leaf(3, {"kind": "repair", "forged": 1})]
    for source, reason in (
        (other(forged), "another root"),
        (other(history.second[:3]), "it has 3 entries"),
        (other([*history.second, leaf(4)]), "it has 5 entries"),
        (other(history.second, 7), ""),
    ):
        [second] = await history.check(epochs_2=source)
        assert (second.ok, second.lost) == (False, 0)
        assert second.where.startswith("epochs/2")
        assert reason in second.reason
    damaged = other(history.second)
    damaged.files["tile/0/000.p/4"] = bytes(128)
    [second] = await history.check(epochs_2=damaged)
    assert (second.ok, second.where) == (False, "epochs/2: entry 0")
    without_key = other(history.second)
    without_key.files["vkey"] = b"nothing"
    [second] = await history.check(epochs_2=without_key)
    assert not second.ok


@pytest.mark.parametrize(
    "first",
    [
        {"kind": "repair", "v": 1},
        names(None),
        {**names(closed(2, [])), "previous": {"origin": 3, "size": 1, "root": None}},
        {**names(closed(2, [])), "previous": {"origin": origin(2), "size": 4, "root": "no"}},
        {**names(closed(2, [])), "previous": {"origin": origin(2), "size": True, "root": None}},
    ],
)
async def test_a_log_that_does_not_name_the_one_before_is_refused(first: dict[str, Any]) -> None:
    history = History()
    history.third = [leaf(0, first)]
    [second] = await history.check()
    assert (second.ok, second.where) == (False, f"the first entry of {origin(3)}")


async def test_what_a_roll_back_lost_is_counted() -> None:
    history = History()
    signed = closed(2, [*history.second, *leaves(9)[4:]])
    history.third = [leaf(0, names(signed, kept_size=4, reason="recover"))]
    second, first = await history.check()
    assert (second.ok, second.entries, second.lost, first.ok) == (True, 4, 5, True)
    history.third = [leaf(0, names(signed, kept_size=3, reason="recover"))]
    [second] = await history.check()
    assert (second.ok, second.lost) == (False, 0)
    history.third = [leaf(0, names(replace(signed, origin=origin(1)), kept_size=4, reason="recover"))]
    [second] = await history.check()
    assert not second.ok


@pytest.mark.parametrize(
    ("given", "base", "number"),
    [
        ("z6Mk.neuroswarm/decisions", "z6Mk.neuroswarm/decisions", 1),
        ("z6Mk.neuroswarm/decisions/2", "z6Mk.neuroswarm/decisions", 2),
        ("z6Mk.neuroswarm/publications/12", "z6Mk.neuroswarm/publications", 12),
        ("z6Mk.neuroswarm/decisions/1", "z6Mk.neuroswarm/decisions/1", 1),
        ("z6Mk.neuroswarm/decisions/02", "z6Mk.neuroswarm/decisions/02", 1),
        ("example.com/log/3", "example.com/log/3", 1),
        ("", "", 1),
    ],
)
def test_the_epoch_is_read_from_the_origin(given: str, base: str, number: int) -> None:
    assert epoch_of(given) == (base, number)


def test_a_key_file_is_read_strictly() -> None:
    one, other = signer().verifier, signer("other").verifier
    assert keys_of(f"{one.vkey}\n{other.vkey}\n".encode()) == [one, other]
    for wrong in (b"", b" \n", b"\xff", b"no key", f"{one.vkey}\nx\n".encode()):
        with pytest.raises(Rejected):
            keys_of(wrong)
