"""What the operator says of peers: what it changes, what is refused, what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from node.core.errors import BadInput, Rejected, Unavailable
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.model import Json
from node.peers.rules.values import Contact, Level, Position, Standing, Summary, SyncReport
from node.peers.sync.desk import FULL_SHARE
from tests.desk_kit import A, B, Far, Kit, kit
from tests.references.peer_store import MemoryPeerStore


async def roots(k: Kit) -> list[str | None]:
    """Of those that are polled."""
    return [contact.root for contact in await k.store.contacts()]


@pytest.fixture
async def added(k: Kit, other: Identity) -> dict[str, Json]:
    """``other`` answers at A, and was added."""
    k.far[A] = Far.of(A, other)
    return await k.desk.add(A)


# --- add ------------------------------------------------------------------------------------------


async def test_adding_shows_who_answers_and_trusts_nobody(k: Kit, other: Identity) -> None:
    k.far[A] = Far.of(A, other)
    added = await k.desk.add(f"  {A.upper().replace('HTTP', 'http')}/ ")
    assert (added["address"], added["root"], added["trouble"]) == (A, other.root, "")
    assert added["keys"] == len(other.certificates())
    assert (added["level"], added["group"]) == ("unknown", None)
    assert 0 < added["trust_ppm_if_trusted"] <= 1_000_000
    assert await k.store.contacts() == [Contact(A, "operator", other.root, k.clock.now())]
    assert await k.store.standings() == {}


async def test_who_does_not_answer_is_polled_all_the_same_and_met_later(k: Kit, other: Identity) -> None:
    added = await k.desk.add(A)
    assert added["root"] is None
    assert A in added["trouble"]
    assert await roots(k) == [None]
    with pytest.raises(BadInput, match="nobody has answered"):
        await k.desk.trust(A)
    k.far[A] = Far.of(A, other)
    assert (await k.desk.add(A))["root"] == other.root
    assert await roots(k) == [other.root]


@pytest.mark.usefixtures("added")
async def test_another_root_at_a_known_address_is_refused(k: Kit, other: Identity, third: Identity) -> None:
    k.far[A] = Far.of(A, third)
    with pytest.raises(Rejected, match="peers remove"):
        await k.desk.add(A)
    assert await roots(k) == [other.root]
    await k.desk.remove(A)
    assert (await k.desk.add(A))["root"] == third.root


@pytest.mark.parametrize("claim", ["another's keys", "nonsense", "nothing", "no root"])
async def test_a_root_without_its_own_key_is_nobody(
    k: Kit, other: Identity, third: Identity, claim: str
) -> None:
    claims = {
        "another's keys": Far(A, other.root, Far.of(A, third).blocks_shown),
        "nonsense": Far(A, other.root, [b"", b"\xff" * 300]),
        "nothing": Far(A, other.root, []),
        "no root": Far(A, "did:key:zNobody", Far.of(A, other).blocks_shown),
    }
    k.far[A] = claims[claim]
    added = await k.desk.add(A)
    assert added["root"] is None
    assert added["trouble"]


async def test_this_node_is_no_peer_of_its_own(k: Kit) -> None:
    k.far[A] = Far.of(A, k.own)
    with pytest.raises(Rejected, match="this node itself"):
        await k.desk.add(A)
    assert await k.store.contacts() == []
    with pytest.raises(BadInput, match="this node itself"):
        await k.desk.trust(k.own.root)


@pytest.mark.parametrize(
    "address", ["", "ftp://x", "http://", "http://x/path", "http://u:p@x", "k51", "x" * 999]
)
async def test_what_is_no_address_is_named(k: Kit, address: str) -> None:
    for command in (k.desk.add, k.desk.remove, k.desk.sync):
        with pytest.raises(BadInput) as caught:
            await command(address)
        assert caught.value.field == "address"


# --- trust ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("added")
async def test_a_standing_is_on_record_before_what_is_held_is_judged(k: Kit, other: Identity) -> None:
    done = await k.desk.trust(A, group="friends")
    assert (done["level"], done["group"]) == ("trusted", "friends")
    assert done["before"]["level"] == "unknown"
    done = await k.desk.trust(other.root, "known", "")
    assert (done["level"], done["group"]) == ("known", None)
    done = await k.desk.trust(A, group="family")
    assert (done["level"], done["group"]) == ("known", "family")  # a group alone raises nobody further
    done = await k.desk.trust(A)
    assert (done["level"], done["group"]) == ("trusted", "family")
    await k.desk.trust(other.root, "blocked")
    levels = [Level.TRUSTED, Level.KNOWN, Level.KNOWN, Level.TRUSTED, Level.BLOCKED]
    assert [one.level for one in k.judged.seen] == levels
    assert await k.store.unfinished() == []


async def test_a_change_that_a_kill_cuts_off_is_remembered(k: Kit, other: Identity) -> None:
    async def killed(root: str) -> None:
        raise KeyboardInterrupt

    k.judged.retier = killed
    with pytest.raises(KeyboardInterrupt):
        await k.desk.trust(other.root)
    assert await k.store.unfinished() == [other.root]
    assert (await k.store.standing(other.root)).level is Level.TRUSTED


async def test_what_counts_of_a_root_stays_when_its_level_changes(k: Kit, other: Identity) -> None:
    was = Standing(other.root, dropped="equivocation", refuted=3, valid=2, invalid=1)
    await k.store.set_standing(was)
    done = await k.desk.trust(other.root, "trusted")
    assert done["dropped"] == "equivocation"  # no word of the operator takes it back
    assert await k.store.standing(other.root) == replace(was, level=Level.TRUSTED)


@pytest.mark.parametrize(
    ("who", "level", "group", "field"),
    [
        ("did:key:z6Mk", None, None, "root"),
        ("did:web:example.org", None, None, "address"),
        (A, None, None, "address"),
        (None, "best", None, "level"),
        (None, "TRUSTED", None, "level"),
        (None, None, "a b", "group"),
        (None, None, "x" * 65, "group"),
        (None, None, "a\nb", "group"),
    ],
)
async def test_bad_words_are_named_and_change_nothing(
    k: Kit, other: Identity, who: str | None, level: str | None, group: str | None, field: str
) -> None:
    with pytest.raises(BadInput) as caught:
        await k.desk.trust(who or other.root, level, group)
    assert caught.value.field == field
    assert await k.store.standings() == {}
    assert k.judged.seen == []


# --- list -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("added")
async def test_the_list_says_all_that_is_known_and_is_json(k: Kit, other: Identity, third: Identity) -> None:
    await k.desk.add(B)
    await k.desk.trust(A, "known", "friends")
    await k.desk.trust(third.root, "trusted")
    origin = other.publications_origin
    await k.store.set_position(Position(other.root, origin, 41))
    await k.store.count(other.root, "signature", 3)
    k.rounds.results[A] = SyncReport(A, other.root, "partial", size=90, entries=41, refused={"signature": 3})
    await k.desk.sync(A)
    listed = await k.desk.list()
    assert json.loads(json.dumps(listed)) == listed
    assert listed["own"]["root"] == k.own.root
    assert listed["own"]["publications"] == {"origin": k.own.publications_origin, "size": 7}
    assert (listed["quorum"], listed["quota"]["records"], listed["more"]) == (2, 10, 0)
    first, second, unpolled = listed["peers"]
    known = {"address": A, "root": other.root, "level": "known", "group": "friends"}
    usage = {"records": 0, "bytes": 0, "validations": 0}
    read = {"origin": origin, "size": 41}
    assert first.items() >= {**known, "read": read, "counts": {"signature": 3}, "usage": usage}.items()
    assert first["last"]["refused"] == {"signature": 3}
    assert second.items() >= {"address": B, "root": None, "last": None, "usage": None}.items()
    assert unpolled.items() >= {"address": None, "root": third.root, "level": "trusted"}.items()


async def test_the_identity_is_what_a_peer_can_check(k: Kit) -> None:
    shown = await k.desk.identity()
    assert shown["root"] == k.own.root
    assert len(shown["certificates"]) == len(k.own.certificates())
    assert shown["publications_vkey"].startswith(k.own.publications_origin)
    assert json.loads(json.dumps(shown)) == shown


# --- rounds ---------------------------------------------------------------------------------------


async def test_a_round_with_one_or_with_all(k: Kit) -> None:
    for address in (A, B):
        await k.desk.add(address)
        k.rounds.results[address] = SyncReport(address, None, "failed", reason="nobody answers")
    assert [one["address"] for one in (await k.desk.sync(A))["reports"]] == [A]
    everybody = await k.desk.sync()
    assert [one["address"] for one in everybody["reports"]] == [A, B]
    assert everybody["complete"] is True
    with pytest.raises(BadInput, match="not polled"):
        await k.desk.sync("http://127.0.0.1:1")


async def test_waiting_ends_and_tells_what_was_done_by_then(k: Kit) -> None:
    k.rounds.results = {A: SyncReport(A, None, "synced"), B: SyncReport(B, None, "synced")}
    k.rounds.reports[B] = SyncReport(B, None, "unchanged")  # of an earlier round
    k.rounds.endless.add(B)
    for _ in range(2):
        done = await k.desk.sync(wait_s=0.05)
        assert (done["complete"], [one["address"] for one in done["reports"]]) == (False, [A])


async def test_an_address_is_polled_no_more(k: Kit, other: Identity) -> None:
    await k.store.put_contact(Contact(A, "settings", other.root, k.clock.now()))
    removed = await k.desk.remove(A)
    assert removed.pop("decision") is not None
    assert removed == {"address": A, "root": other.root, "source": "settings"}
    assert await k.store.contacts() == []
    with pytest.raises(BadInput, match="not polled"):
        await k.desk.remove(A)


# --- evidence -------------------------------------------------------------------------------------


async def test_evidence_is_shown_by_root(k: Kit, other: Identity, third: Identity) -> None:
    assert await k.desk.evidence() == {"cases": [], "more": 0}
    for who, case in ((other, "5"), (third, "9")):
        note = f"{who.publications_origin}\n5\n{case}\n\n— x y\n".encode()
        notes = {"held": note, "shown": note + b"\xff"}
        assert k.evidence.keep("split", f"{who.root[-8:]}-{case}", notes)
    await k.store.set_standing(Standing(other.root, dropped="equivocation"))
    everything = await k.desk.evidence()
    assert {case["root"] for case in everything["cases"]} == {other.root, third.root}
    assert json.loads(json.dumps(everything)) == everything
    [shown] = (await k.desk.evidence(other.root))["cases"]
    assert (shown["kind"], shown["dropped"]) == ("split", "equivocation")
    assert set(shown["notes"]) == {"held", "shown"}
    assert shown["notes"]["held"].startswith(other.publications_origin + "\n5\n")
    with pytest.raises(BadInput):
        await k.desk.evidence("nobody")


# --- by name --------------------------------------------------------------------------------------

COMMANDS = ("list", "add", "trust", "sync", "remove", "evidence")


async def test_commands_do_what_the_desk_does(k: Kit, other: Identity) -> None:
    k.far[A] = Far.of(A, other)
    commands = k.desk.commands()
    assert set(commands) == {f"peers_{name}" for name in COMMANDS}
    await commands["peers_add"]({"address": A})
    await commands["peers_trust"]({"who": A, "level": "known", "group": None})
    k.rounds.results[A] = SyncReport(A, other.root, "unchanged")
    assert (await commands["peers_sync"]({"address": None}))["complete"]
    assert (await commands["peers_list"]({}))["peers"][0]["level"] == "known"
    assert (await commands["peers_evidence"]({}))["cases"] == []
    assert (await commands["peers_remove"]({"address": A}))["root"] == other.root


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("peers_list", {"x": 1}),
        ("peers_add", {}),
        ("peers_add", {"address": 5}),
        ("peers_add", {"address": ""}),
        ("peers_trust", {"who": "ROOT", "level": ["trusted"]}),
        ("peers_trust", {"who": "ROOT", "wait": "1"}),
        ("peers_sync", {"address": {}}),
        ("peers_remove", {"address": None}),
        ("peers_evidence", {"root": 1}),
    ],
)
async def test_commands_take_known_texts(k: Kit, other: Identity, name: str, asked: dict[str, Json]) -> None:
    given = {key: other.root if value == "ROOT" else value for key, value in asked.items()}
    with pytest.raises(BadInput):
        await k.desk.commands()[name](given)


# --- health and metrics ---------------------------------------------------------------------------


async def test_health_says_standing_and_quotas(k: Kit, other: Identity, third: Identity) -> None:
    check = await k.desk.probe()
    assert (check.name, check.status, check.observed) == ("peers", "pass", 0)
    assert "peers add" in check.output
    await k.desk.add(A)
    await k.desk.trust(other.root, "trusted", "friends")
    check = await k.desk.probe()
    assert (check.status, check.observed) == ("pass", 1)
    assert "1 trusted" in check.output
    assert "1 trust groups" in check.output
    await k.store.set_standing(Standing(third.root, dropped="equivocation"))
    check = await k.desk.probe()
    assert check.status == "warn"
    assert "peers evidence" in check.output


class Broken(MemoryPeerStore):
    """Its disk is gone."""

    async def summary(self, now: datetime) -> Summary:
        raise Unavailable("the disk is gone")


async def test_a_store_that_fails_is_a_warning(tmp_path: Path) -> None:
    check = await kit(tmp_path, Broken()).desk.probe()
    assert check.status == "warn"
    assert "the disk is gone" in check.output


async def test_a_quota_that_fills_up_is_a_warning(k: Kit, other: Identity) -> None:
    await k.store.set_standing(Standing(other.root, Level.KNOWN))
    target = Cid.of(b"a record")
    for number in range(5):
        assert (await k.desk.probe()).status == ("warn" if number / 5 >= FULL_SHARE else "pass")
        said = b"statement %d" % number
        at = k.clock.now()
        assert await k.store.add_statement(Cid.of(said), said, other.root, "key", target, "valid", at)
    check = await k.desk.probe()
    assert check.status == "warn"
    assert "100%" in check.output
