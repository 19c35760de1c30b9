"""Keys that are changed: the old one signs on for its overlap, and a crash leaves one state or the other."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from node.core.errors import Misconfigured, Rejected
from node.core.identity import Identity
from node.core.key_ring import CERTIFICATE_DAYS, OLD_MAX, OVERLAP_DAYS, Rotation
from node.core.record import USES, did_key, verify_signature
from node.core.signed_note import ML_DSA_44, Checkpoint, Note, open_checkpoint

NOW = datetime(2026, 11, 21, 23, tzinfo=UTC)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def identity(keys: Path) -> Identity:
    return Identity.load_or_create(keys, NOW)


def rotated(identity: Identity, use: str, now: datetime = NOW, *, drop_old: bool = False) -> Rotation:
    rotation = identity.next_key(use, now, drop_old=drop_old)
    identity.present(rotation)
    identity.commit(rotation)
    identity.adopt(rotation)
    return rotation


def contents(keys: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in keys.iterdir()}


def signing(identity: Identity) -> list[str]:
    """The keys that sign the decisions log, newest first."""
    signers = identity.log_signers(identity.decisions_origin)
    return [did_key(one.verifier.public) for one in signers]


@pytest.mark.parametrize("use", USES)
def test_the_new_key_signs_first_and_the_old_one_for_its_overlap(
    identity: Identity, keys: Path, use: str
) -> None:
    before = {one.use: one.subject for one in identity.certificates()}
    rotation = rotated(identity, use, NOW)
    assert (rotation.old, rotation.old_until) == (before[use], NOW + timedelta(days=OVERLAP_DAYS))
    for moment in (NOW, NOW + timedelta(days=OVERLAP_DAYS - 1)):
        loaded = Identity.load_or_create(keys, moment)
        assert loaded.certificates() == identity.certificates()
        mine = [one.subject for one in loaded.certificates() if one.use == use]
        assert mine == [rotation.new, rotation.old]
        others = {one.use: one.subject for one in loaded.certificates() if one.use != use}
        assert others == {name: subject for name, subject in before.items() if name != use}
    later = Identity.load_or_create(keys, NOW + timedelta(days=OVERLAP_DAYS))
    assert [one.subject for one in later.certificates() if one.use == use] == [rotation.new]
    assert not list(keys.glob("*.old-*")), "the old key is deleted"


def test_the_root_s_word_on_both_keys(identity: Identity) -> None:
    new, old = rotated(identity, "decisions", NOW + timedelta(days=5)).certificates
    for one in (new, old):
        verify_signature(one)
        assert one.issuer == one.key == identity.root
        assert one.use == "decisions"
    assert new.not_after - new.not_before == timedelta(days=CERTIFICATE_DAYS)
    assert (old.not_before, old.not_after) == (NOW, NOW + timedelta(days=5 + OVERLAP_DAYS))


def test_whoever_knows_either_key_can_check_a_checkpoint(identity: Identity) -> None:
    origin = f"{identity.decisions_origin}/3"
    [old] = identity.log_signers(origin)
    rotated(identity, "decisions")
    text = Checkpoint(origin, 0, bytes(32)).text()
    signers = identity.log_signers(origin)
    note = Note(text, tuple(one.sign(text, 0) for one in signers)).encode()
    for verifier in (old.verifier, signers[0].verifier):
        assert open_checkpoint(note, [verifier]).signed_by == (verifier,)
    assert identity.log_vkey(origin) == signers[0].verifier.vkey != old.verifier.vkey
    assert identity.log_vkey(identity.decisions_origin) == identity.vkey("decisions")
    with pytest.raises(Rejected, match="no log of this node"):
        identity.log_signers("another/decisions")


def test_the_witness_key_cosigns_under_its_name(identity: Identity) -> None:
    rotated(identity, "witness")
    first, second = identity.witness_signers()
    assert first.verifier.vkey == identity.vkey("witness")
    assert first.verifier.name == second.verifier.name == identity.witness_name


def test_a_key_that_is_dropped_is_gone_at_once(identity: Identity, keys: Path) -> None:
    old = (keys / "node.pem").read_bytes()
    rotation = rotated(identity, "node", NOW + timedelta(days=1), drop_old=True)
    assert rotation.old_until == NOW + timedelta(days=1)
    assert identity.node == rotation.new
    assert old not in contents(keys).values()
    assert Identity.load_or_create(keys, NOW + timedelta(days=1)).node == rotation.new


def test_dropping_the_old_key_ends_those_in_their_overlap_too(identity: Identity, keys: Path) -> None:
    for hour in range(2):
        rotated(identity, "decisions", NOW + timedelta(hours=hour))
    gone = signing(identity)
    assert [key for key, _ in identity.overlap("decisions")] == gone[1:]
    ends = [NOW + timedelta(days=OVERLAP_DAYS, hours=hour) for hour in (1, 0)]
    assert [until for _, until in identity.overlap("decisions")] == ends
    private = [path.read_bytes() for path in keys.glob("decisions*.pem")]
    end = NOW + timedelta(days=1)
    rotation = rotated(identity, "decisions", end, drop_old=True)
    for one in (identity, Identity.load_or_create(keys, end)):
        assert signing(one) == [rotation.new]
        assert one.overlap("decisions") == []
    assert not set(private) & set(contents(keys).values())
    new, *ended = rotation.certificates
    assert new.not_after > end
    assert [(one.subject, one.not_after) for one in ended] == [(key, end) for key in gone]
    for certificate in rotation.certificates:
        verify_signature(certificate)


def test_the_new_key_signs_beside_the_old_one_until_it_is_adopted(identity: Identity, keys: Path) -> None:
    [before], saved = signing(identity), contents(keys)
    rotation = identity.next_key("decisions", NOW)
    assert signing(identity) == [before], "nothing has happened yet"
    identity.present(rotation)
    assert signing(identity) == [before, rotation.new]
    identity.withdraw(rotation)
    assert signing(identity) == [before]
    assert contents(keys) == saved


def test_many_rotations_keep_few_keys(identity: Identity, keys: Path) -> None:
    for hour in range(OLD_MAX + 3):
        rotated(identity, "decisions", NOW + timedelta(hours=hour))
    loaded = Identity.load_or_create(keys, NOW + timedelta(days=1))
    assert signing(loaded) == signing(identity)
    assert len(signing(loaded)) == 1 + OLD_MAX


def test_only_the_root_can_certify_a_new_key(keys: Path) -> None:
    Identity.load_or_create(keys, NOW)
    (keys / "root.pem").unlink()
    with pytest.raises(Misconfigured, match=r"put root\.pem into"):
        Identity.load_or_create(keys, NOW).next_key("decisions", NOW)


def test_a_rotation_cut_short_anywhere_leaves_one_state_or_the_other(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes nothing more from the n-th call on is what a crash at that call leaves."""
    seen: set[bool] = set()
    number = 0
    while True:
        number += 1
        folder = keys / str(number)
        identity = Identity.load_or_create(folder, NOW)
        [before] = signing(identity)
        rotation = identity.next_key("decisions", NOW)
        with monkeypatch.context() as patched:
            calls = fail_from(patched, number)
            try:
                identity.commit(rotation)
                is_whole = True
            except Misconfigured:
                is_whole = False
        for moment in (NOW, NOW):
            loaded = Identity.load_or_create(folder, moment)
            assert signing(loaded) in ([before], [rotation.new, before])
        seen.add(signing(loaded) == [before])
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        assert not {name for name in names if ".next." in name}
        again = rotated(loaded, "decisions", NOW + timedelta(hours=1))
        assert signing(Identity.load_or_create(folder, NOW + timedelta(hours=1)))[0] == again.new
        if is_whole:
            assert calls() < number
            break
    assert seen == {True, False}
    assert number > 10


def fail_from(patched: pytest.MonkeyPatch, number: int) -> Callable[[], int]:
    """From the n-th call that changes the disk on, all fail; says how many there were."""
    calls = 0

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **options)

        return call

    for name in ("open", "fsync", "link", "rename", "replace", "unlink"):
        patched.setattr(os, name, wrapped(getattr(os, name)))
    return lambda: calls


def test_the_witness_has_an_ml_dsa_key_of_its_own_and_keeps_it(keys: Path) -> None:
    made = [Identity.load_or_create(keys, NOW).witness_signers(is_ml_dsa=True)[1].verifier for _ in range(2)]
    assert made[0] == made[1]
    assert made[0].kind == ML_DSA_44
    other = Identity.load_or_create(keys.with_name("other"), NOW).witness_signers(is_ml_dsa=True)[1].verifier
    assert other.public != made[0].public
