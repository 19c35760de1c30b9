from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from node.core.identity import Identity
from node.core.key_ring import OVERLAP_DAYS
from node.core.merkle import EMPTY_ROOT
from node.core.record import KeyRecord, block_of, decode, did_key
from node.core.signed_note import ED25519, Checkpoint, Note, open_checkpoint
from node.peers.rules.keys import AHEAD_MAX, KEYS_MAX, PLACES_MAX, KeyRing
from tests.record_builders import START, Author

ROOT, NODE, OTHER = Author(1), Author(2), Author(3)
HOUR = timedelta(hours=1)
YEAR = timedelta(days=365)


def certificate(subject: str = NODE.did, **changes: object) -> KeyRecord:
    return ROOT.key_record(subject, **changes)


def revocation(subject: str = NODE.did, at: datetime = START + HOUR) -> KeyRecord:
    return certificate(subject, timestamp=at, not_before=START, not_after=at)


def ring(*records: KeyRecord) -> KeyRing:
    made = KeyRing(ROOT.did)
    for record in records:
        made.add(record)
    return made


def subjects(count: int, start: int = 0) -> list[str]:
    return [did_key((start + number).to_bytes(32, "big")) for number in range(count)]


def test_a_key_counts_within_its_time_for_its_use() -> None:
    keys = ring(certificate(not_before=START, not_after=START + HOUR))
    second = timedelta(seconds=1)
    assert keys.good(NODE.did, "node", START - second) == "key_not_yet"
    assert keys.good(NODE.did, "node", START) == ""
    assert keys.good(NODE.did, "node", START + HOUR - second) == ""
    assert keys.good(NODE.did, "node", START + HOUR) == "key_ended"
    assert keys.good(NODE.did, "publications", START) == "unknown_key"
    assert keys.good(OTHER.did, "node", START) == "unknown_key"


def test_only_the_root_speaks_and_it_is_no_key_unless_it_says_so() -> None:
    keys = KeyRing(ROOT.did)
    assert not keys.add(OTHER.key_record(NODE.did))
    assert not keys.add(OTHER.key_record(NODE.did, issuer=ROOT.did))
    assert not keys.add(ROOT.key_record(NODE.did, issuer=OTHER.did))
    assert keys.good(NODE.did, "node", START) == keys.good(ROOT.did, "node", START) == "unknown_key"
    assert keys.add(certificate(ROOT.did))
    assert keys.good(ROOT.did, "node", START) == ""


SHORT = certificate(not_after=START + HOUR)
SHORTER = certificate(not_before=START + HOUR / 2, not_after=START + HOUR)
SHORTENED = certificate(timestamp=START + HOUR, not_after=START + 2 * HOUR)
BACKWARDS = certificate(not_before=START + 2 * HOUR, not_after=START + HOUR)
AFTER = [certificate(timestamp=START + late * HOUR, not_after=START + YEAR) for late in (1, 2)]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([certificate(), SHORTENED], {3 * HOUR: "key_ended"}),
        ([certificate(), SHORT, SHORTER], {0 * HOUR: "key_not_yet", HOUR: "key_ended"}),
        (
            [BACKWARDS],
            {0 * HOUR: "key_not_yet", HOUR: "key_not_yet", 2 * HOUR: "key_ended", YEAR: "key_ended"},
        ),
        # Also over a word of the same second, and one that is dated later: a stolen key dates as it likes.
        (
            [certificate(), revocation(), *AFTER],
            dict.fromkeys((-YEAR, 0 * HOUR, HOUR, 3 * HOUR), "key_revoked"),
        ),
    ],
    ids=["the newest word", "of one second the shorter life", "an end before the beginning", "a revocation"],
)
def test_what_counts_in_whatever_order_it_comes(
    told: list[KeyRecord], expected: dict[timedelta, str]
) -> None:
    for order in itertools.permutations(told):
        keys = ring(*order)
        assert {after: keys.good(NODE.did, "node", START + after) for after in expected} == expected
        is_revoked = "key_revoked" in expected.values()
        assert keys.revoked == ({NODE.did} if is_revoked else frozenset())
        assert keys.subjects("node") == ([] if is_revoked else [NODE.did])


def test_a_key_that_is_revoked_before_it_is_known_stays_so() -> None:
    keys = ring(revocation())
    assert not keys.add(certificate(timestamp=START + 2 * HOUR))
    assert keys.good(NODE.did, "node", START) == "key_revoked"


def test_a_word_from_the_future_freezes_nothing() -> None:
    keys = KeyRing(ROOT.did)
    ahead = certificate(timestamp=START + AHEAD_MAX + timedelta(seconds=1), not_after=START + HOUR)
    assert not keys.add(ahead, START)
    assert keys.add(certificate(), START)
    assert keys.good(NODE.did, "node", START + 2 * HOUR) == ""
    assert keys.add(ahead, START + timedelta(seconds=1))
    assert keys.good(NODE.did, "node", START + 2 * HOUR) == "key_ended"


def test_a_root_has_a_bounded_number_of_keys_and_can_always_revoke_them() -> None:
    keys = KeyRing(ROOT.did)
    names = subjects(KEYS_MAX)
    assert all(keys.add(certificate(name)) for name in names)
    assert not keys.add(certificate(NODE.did))
    assert keys.add(certificate(names[0], timestamp=START + HOUR))
    assert keys.add(revocation(names[0]))
    assert keys.add(certificate(NODE.did)), "a revoked key makes room"
    for name in subjects(1_000, start=1_000):
        keys.add(revocation(name))
    assert len(keys.revoked) == PLACES_MAX - KEYS_MAX
    assert all(keys.add(revocation(name)) for name in names[1:])
    assert keys.good(names[5], "node", START) == "key_revoked"
    assert keys.good(NODE.did, "node", START) == ""


def test_adding_the_same_twice_changes_nothing() -> None:
    keys = KeyRing(ROOT.did)
    assert keys.add(certificate())
    assert not keys.add(certificate())
    assert keys.add(revocation())
    assert not keys.add(revocation())


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return Identity.load_or_create(tmp_path / "keys", START)


def taken(identity: Identity) -> KeyRing:
    made = KeyRing(identity.root)
    for one in identity.certificates():
        record = decode(block_of(one)[1])
        assert isinstance(record, KeyRecord)
        assert made.add(record, START)
    return made


def test_a_node_s_own_certificates_and_a_rotation_with_overlap(identity: Identity) -> None:
    keys = taken(identity)
    old = identity.node
    assert keys.good(old, "node", START) == ""
    later = START + 10 * HOUR
    rotation = identity.next_key("node", later)
    assert sum(keys.add(one, later) for one in rotation.certificates) == 2
    assert keys.good(rotation.new, "node", later) == ""
    assert keys.good(rotation.new, "node", START) == "key_not_yet"
    assert keys.good(old, "node", START) == ""
    assert keys.good(old, "node", later + timedelta(days=OVERLAP_DAYS - 1)) == ""
    assert keys.good(old, "node", later + timedelta(days=OVERLAP_DAYS)) == "key_ended"
    assert keys.revoked == frozenset()


@pytest.mark.parametrize("after", [timedelta(0), 10 * HOUR])
def test_a_dropped_key_is_revoked_also_in_its_first_second(identity: Identity, after: timedelta) -> None:
    keys, old = taken(identity), identity.node
    rotation = identity.next_key("node", START + after, drop_old=True)
    for one in rotation.certificates:
        keys.add(one, START + after)
    assert keys.good(rotation.new, "node", START + after) == ""
    assert keys.good(old, "node", START) == "key_revoked"
    assert keys.revoked == {old}


def test_checkpoints_are_verified_by_the_keys_of_the_log_s_use(identity: Identity) -> None:
    keys, origin = taken(identity), identity.publications_origin
    verifiers = keys.log_verifiers(origin)
    assert [(one.name, one.kind) for one in verifiers] == [(origin, ED25519)]
    text = Checkpoint(origin, 0, EMPTY_ROOT).text()
    note = Note(text, tuple(one.sign(text, 0) for one in identity.log_signers(origin)))
    assert open_checkpoint(note.encode(), verifiers).checkpoint.origin == origin
    assert [one.public for one in keys.log_verifiers(identity.decisions_origin)] != [verifiers[0].public]
    for foreign in (
        "z6MkOther.neuroswarm/publications",
        f"{origin}x",
        origin.replace("publications", "node"),
    ):
        assert keys.log_verifiers(foreign) == []
    for one in identity.next_key("publications", START, drop_old=True).certificates:
        keys.add(one, START)
    assert [one.public for one in keys.log_verifiers(origin)] != [verifiers[0].public]
    assert len(keys.log_verifiers(origin)) == 1
