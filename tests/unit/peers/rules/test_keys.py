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


def test_the_newest_word_counts_whatever_comes_last() -> None:
    long, short = certificate(), certificate(timestamp=START + HOUR, not_after=START + 2 * HOUR)
    for order in itertools.permutations((long, short)):
        assert ring(*order).good(NODE.did, "node", START + 3 * HOUR) == "key_ended"


def test_of_one_second_the_shorter_life_counts() -> None:
    told = [
        certificate(),
        certificate(not_after=START + HOUR),
        certificate(not_before=START + timedelta(minutes=30), not_after=START + HOUR),
    ]
    for order in itertools.permutations(told):
        keys = ring(*order)
        assert keys.good(NODE.did, "node", START) == "key_not_yet"
        assert keys.good(NODE.did, "node", START + HOUR) == "key_ended"


def test_a_revocation_counts_for_all_times_and_wins_over_all_other_words() -> None:
    """Also over one of the same second, and one that is dated later: a stolen key dates as it likes."""
    told = [
        certificate(),
        revocation(),
        certificate(timestamp=START + HOUR, not_after=START + YEAR),
        certificate(timestamp=START + 2 * HOUR, not_after=START + YEAR),
    ]
    for order in itertools.permutations(told):
        keys = ring(*order)
        for at in (START - YEAR, START, START + HOUR, START + 3 * HOUR):
            assert keys.good(NODE.did, "node", at) == "key_revoked"
        assert keys.revoked == {NODE.did}
        assert keys.subjects("node") == []


def test_a_key_that_is_revoked_before_it_is_known_stays_so() -> None:
    keys = ring(revocation())
    assert not keys.add(certificate(timestamp=START + 2 * HOUR))
    assert keys.good(NODE.did, "node", START) == "key_revoked"


def test_a_life_that_ends_before_it_begins_never_counts() -> None:
    keys = ring(certificate(not_before=START + 2 * HOUR, not_after=START + HOUR))
    for at in (START, START + HOUR, START + 2 * HOUR, START + YEAR):
        assert keys.good(NODE.did, "node", at) in ("key_not_yet", "key_ended")
    assert keys.revoked == frozenset()


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


# --- with the certificates that a node writes -----------------------------------------------------


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
def test_dropping_the_old_key_revokes_it_also_in_the_second_of_its_making(
    identity: Identity, after: timedelta
) -> None:
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
