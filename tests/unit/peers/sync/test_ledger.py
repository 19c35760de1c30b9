"""What the operator, the settings and this node decide about peers, in the decision log."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from node.app.peers import open_store
from node.audit.decisions.explain import explain_leaf
from node.audit.decisions.memory import MemoryLog
from node.audit.tlog.leaf import COMMITMENTS, read_leaf
from node.core.errors import Rejected, Unavailable
from node.core.identity import Identity
from node.core.metrics import Metrics, Unlogged
from node.core.model import Json
from node.core.ports import Appended
from node.core.settings import load
from node.peers.rules.values import Contact, Level, Standing
from node.peers.store.sqlite import Limits
from node.peers.sync.ledger import NODE, OPERATOR, SETTINGS
from node.store.state import StateStore
from tests.admit_kit import Door, Issuer
from tests.desk_kit import A, B, Far, Kit, kit, ledger_over
from tests.manual_clock import ManualClock
from tests.references.peer_store import MemoryPeerStore


def entries(log: MemoryLog) -> list[Mapping[str, Any]]:
    """Every leaf is read as strictly as a stranger would."""
    return [read_leaf(data).entry for data in log.leaves()]


def said(log: MemoryLog) -> list[tuple[str, Any]]:
    return [(one["event"], one["peer"]) for one in entries(log)]


def change(before: str | None, then: str | None) -> dict[str, str | None]:
    return {"from": before, "to": then}


async def test_each_change_of_a_standing_is_entered_with_what_it_was(k: Kit, other: Identity) -> None:
    done = await k.desk.trust(other.root, group="friends")
    assert done["decision"] == {"log": k.decisions.origin, "index": 0}
    await k.desk.trust(other.root, "known", "")
    assert (await k.desk.trust(other.root, "known"))["decision"] is None, "nothing changed"
    peer = {"by": OPERATOR, "root": other.root}
    raised = {"level": change("unknown", "trusted"), "group": change(None, "friends")}
    lowered = {"level": change("trusted", "known"), "group": change("friends", None)}
    assert said(k.decisions) == [
        ("peer_standing", {**peer, **raised}),
        ("peer_standing", {**peer, **lowered}),
    ]
    assert {one["kind"] for one in entries(k.decisions)} == {"policy"}


async def test_an_address_that_is_polled_or_no_more_is_a_commitment(k: Kit, other: Identity) -> None:
    k.far[A] = Far.of(A, other)
    assert (await k.desk.add(A))["decision"]["index"] == 0
    assert (await k.desk.add(A))["decision"] is None, "it was polled already"
    await k.desk.add(B)
    assert (await k.desk.remove(A))["decision"]["index"] == 2
    peer = {"by": OPERATOR, "root": other.root, "level": None, "group": None}
    assert said(k.decisions) == [
        ("peer_followed", peer),
        ("peer_followed", {**peer, "root": None}),
        ("peer_unfollowed", peer),
    ]
    for leaf in k.decisions.leaves():
        assert b"127.0.0.1" not in leaf
        assert list(orjson.loads(leaf)["entry"][COMMITMENTS]) == ["address"]
    assert await k.decisions.forget(2), "the key of the commitment can be destroyed"


async def test_an_address_for_which_there_is_no_room_is_entered_as_no_more(tmp_path: Path) -> None:
    k = kit(tmp_path / "own", MemoryPeerStore(Limits(contacts=1)))
    await k.desk.add(A)
    with pytest.raises(Rejected, match="1 peers are polled already"):
        await k.desk.add(B)
    assert [event for event, _ in said(k.decisions)] == ["peer_followed", "peer_followed", "peer_unfollowed"]
    with pytest.raises(Rejected, match="1 peers are polled already"):
        await k.desk.add(B)


class Refuses(MemoryLog):
    """A disk that is full."""

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        raise Unavailable("the disk is full")


def without_a_log(folder: Path, unlogged: Unlogged, *, refuse: bool) -> Kit:
    log = Refuses("decisions", ManualClock())
    return kit(folder, ledger=ledger_over(log, refuses=refuse, unlogged=unlogged))


async def test_what_cannot_be_entered_is_not_done_where_that_is_set(tmp_path: Path, other: Identity) -> None:
    unlogged = Metrics().unlogged
    k = without_a_log(tmp_path / "own", unlogged, refuse=True)
    await k.store.put_contact(Contact(B, "operator"))
    for change in (k.desk.trust(other.root), k.desk.add(A), k.desk.remove(B)):
        with pytest.raises(Unavailable, match="was not done: the disk is full"):
            await change
    assert await k.store.standings() == {}
    assert k.judged.seen == []
    assert [one.address for one in await k.store.contacts()] == [B]
    assert (unlogged.total, unlogged.is_outage) == (0, True)


async def test_elsewhere_it_is_done_and_counted(tmp_path: Path, other: Identity) -> None:
    unlogged = Metrics().unlogged
    k = without_a_log(tmp_path / "own", unlogged, refuse=False)
    assert (await k.desk.trust(other.root))["decision"] is None
    await k.desk.add(A)
    await k.desk.remove(A)
    assert (await k.store.standing(other.root)).level is Level.TRUSTED
    assert unlogged.total == 3


async def test_what_changes_while_the_log_is_written_is_kept(tmp_path: Path, other: Identity) -> None:
    store = MemoryPeerStore()

    class Slow(MemoryLog):
        async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
            was = await store.standing(other.root)
            await store.set_standing(replace(was, dropped="equivocation", refuted=3))
            return await super().append(entry, private_texts=private_texts)

    k = kit(tmp_path / "own", store, ledger_over(Slow("decisions", ManualClock())))
    done = await k.desk.trust(other.root, "known", "friends")
    assert done["dropped"] == "equivocation"
    assert await k.store.standing(other.root) == Standing(
        other.root, Level.KNOWN, "friends", "equivocation", refuted=3
    )


async def test_a_root_that_is_dropped_is_entered_once(door: Door, friend: Issuer) -> None:
    await door.stand(friend, Level.TRUSTED, "friends")
    await door.admitter.drop(friend.did, "equivocation")
    await door.admitter.drop(friend.did, "equivocation")
    found = [one for one in entries(door.log) if one["kind"] == "policy"]
    assert [(one["event"], one["reason"], one["peer"]) for one in found] == [
        ("peer_dropped", "equivocation", {"by": NODE, "root": friend.did, "level": None, "group": None})
    ]


async def test_a_log_that_fails_keeps_nobody_from_being_dropped(door: Door, friend: Issuer) -> None:
    door.log = Refuses("decisions", door.clock)
    door.admitter = door.opened()
    await door.admitter.drop(friend.did, "equivocation")
    assert (await door.store.standing(friend.did)).dropped == "equivocation"


async def test_what_the_settings_change_at_a_start_is_entered(tmp_path: Path, other: Identity) -> None:
    clock = ManualClock()
    state, log = await StateStore.open(tmp_path / "state.sqlite"), MemoryLog("decisions", clock)
    ledger = ledger_over(log)

    async def start(peers: Mapping[str, Any]) -> None:
        async with AsyncExitStack() as stack:
            await open_store(load({}, flags={"peers": peers}), tmp_path, state, clock, stack, ledger)

    for _ in range(2):
        await start({"urls": [A], "trusted": [other.root]})
    await start({})
    await state.close()
    peer = {"by": SETTINGS, "root": None, "level": None, "group": None}
    standing = {"root": other.root, "level": change("unknown", "trusted"), "group": change(None, None)}
    assert said(log) == [
        ("peer_followed", peer),
        ("peer_standing", {**peer, **standing}),
        ("peer_unfollowed", peer),
    ]


async def test_each_is_told_in_plain_words(k: Kit, other: Identity) -> None:
    k.far[A] = Far.of(A, other)
    await k.desk.add(A)
    await k.desk.trust(A, "known", "friends")
    ledger = ledger_over(k.decisions)
    await ledger.dropped(await k.store.standing(other.root), "equivocation")
    told = ["\n".join(explain_leaf(orjson.loads(leaf))) for leaf in k.decisions.leaves()]
    for text, wanted in zip(
        told,
        (
            ("is polled from here on", "Decided by: the operator of this node.", "commitments", "address"),
            ("Its level: known; before: unknown.", "Its group: friends; before: none.", other.root),
            ("is not listened to any more", "two histories", "Decided by: this node, by its rules."),
        ),
        strict=True,
    ):
        for words in wanted:
            assert words in text
        assert "127.0.0.1" not in text
