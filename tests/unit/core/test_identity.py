"""Keys on disk, certificates, names: created once, refused when unsafe, checkable by others' rules."""

from __future__ import annotations

import base64
import hashlib
import os
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from node.core.errors import CorruptState, Misconfigured
from node.core.identity import Identity
from node.core.key_ring import CERTIFICATE_DAYS
from node.core.record import USES, public_key_of, verify_signature

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own imports warn
    from multiformats import CID, multibase, multihash

NOW = datetime(2026, 11, 21, 23, 0, 0, 123_456, tzinfo=UTC)
FILES = {"root.pem", "root.did"} | {f"{use}.{kind}" for use in USES for kind in ("pem", "cert")}


def load(keys: Path, now: datetime = NOW) -> Identity:
    return Identity.load_or_create(keys, now)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """The keys of an identity that was made now."""
    load(tmp_path / "data" / "keys")
    return tmp_path / "data" / "keys"


def contents(keys: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in keys.iterdir()}


def test_first_start_makes_everything_and_the_second_changes_nothing(tmp_path: Path) -> None:
    keys = tmp_path / "data" / "keys"
    first = load(keys)
    made = contents(keys)
    assert set(made) == FILES
    assert keys.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in keys.iterdir()} == {0o600}
    second = load(keys, NOW + timedelta(days=30))
    assert contents(keys) == made
    for name in ("root", "node", "ipns_name"):
        assert getattr(second, name) == getattr(first, name)
    assert [second.vkey(use) for use in USES] == [first.vkey(use) for use in USES]
    assert second.certificates() == first.certificates()
    assert first.root != first.node


def test_two_nodes_are_two(tmp_path: Path) -> None:
    one, two = (load(tmp_path / name) for name in "ab")
    assert one.root != two.root
    assert one.node != two.node


def test_the_node_key_signs(keys: Path) -> None:
    identity = load(keys)
    public = Ed25519PublicKey.from_public_bytes(public_key_of(identity.node))
    public.verify(identity.sign(b"data"), b"data")
    with pytest.raises(InvalidSignature):
        public.verify(identity.log_signers(identity.decisions_origin)[0].key.sign(b"data"), b"data")


def test_the_root_certifies_each_key_for_two_years(keys: Path) -> None:
    identity = load(keys)
    certificates = identity.certificates()
    assert [one.use for one in certificates] == list(USES)
    assert len({one.subject for one in certificates}) == len(USES)
    assert certificates[0].subject == identity.node
    for one in certificates:
        verify_signature(one)
        assert one.key == one.issuer == identity.root
        assert one.not_before == NOW.replace(microsecond=0)
        assert one.not_after - one.not_before == timedelta(days=CERTIFICATE_DAYS)


def test_the_ipns_name_is_what_libp2p_says(keys: Path) -> None:
    identity = load(keys)
    assert identity.ipns_name.startswith("k51")
    raw = public_key_of(identity.node)
    cid = CID.decode(identity.ipns_name)
    assert (cid.version, cid.codec.name, cid.hashfun.name) == (1, "libp2p-key", "identity")
    assert multihash.unwrap(cid.digest) == b"\x08\x01\x12\x20" + raw
    assert multibase.encode(bytes(cid), "base36") == identity.ipns_name


def test_verifier_keys_are_signed_notes(keys: Path) -> None:
    """Against golang.org/x/mod/sumdb/note's rule: id = SHA-256(name LF type key)[:4]."""
    identity = load(keys)
    root_id = identity.root.removeprefix("did:key:")
    by_use = {one.use: public_key_of(one.subject) for one in identity.certificates()}
    for use, kind in (("decisions", 1), ("publications", 1), ("witness", 4)):
        vkey = identity.vkey(use)
        name, key_id, encoded = vkey.split("+", 2)
        assert name == f"{root_id}.neuroswarm/{use}"
        typed = base64.b64decode(encoded, validate=True)
        assert typed == bytes([kind]) + by_use[use]
        assert key_id == hashlib.sha256(name.encode() + b"\n" + typed).hexdigest()[:8]
    assert identity.vkey("decisions").startswith(identity.decisions_origin + "+")


def test_secrets_do_not_show(keys: Path) -> None:
    identity = load(keys)
    shown = f"{identity!r} {identity} {vars(identity)!r}"
    assert identity.root in shown
    for path in keys.glob("*.pem"):
        for line in path.read_text().splitlines()[1:-1]:
            assert line not in shown
            seed = base64.b64decode(line)[-32:]
            assert seed.hex() not in shown
            assert repr(seed) not in shown


# --- the root kept elsewhere ----------------------------------------------------------------------


def test_the_root_key_may_be_away(keys: Path) -> None:
    first = load(keys)
    assert first.has_root_key
    (keys / "root.pem").unlink()
    second = load(keys, NOW + timedelta(days=CERTIFICATE_DAYS - 1))
    assert (second.root, second.node, second.has_root_key) == (first.root, first.node, False)
    assert second.certificates() == first.certificates()


def test_without_the_root_an_ended_certificate_stops_the_start(keys: Path) -> None:
    (keys / "root.pem").unlink()
    with pytest.raises(Misconfigured, match=r"the node key .* ended on 2028-11-20 .* put root.pem back"):
        load(keys, NOW + timedelta(days=CERTIFICATE_DAYS))


def test_with_the_root_a_certificate_is_renewed_in_time(keys: Path) -> None:
    first = load(keys)
    later = NOW + timedelta(days=CERTIFICATE_DAYS - 60)
    second = load(keys, later)
    assert second.node == first.node
    for old, new in zip(first.certificates(), second.certificates(), strict=True):
        assert new.subject == old.subject
        assert new.not_after > old.not_after
    assert set(contents(keys)) == FILES
    assert load(keys, later).certificates() == second.certificates()


@pytest.mark.parametrize("name", ["node.pem", "node.cert"])
def test_without_the_root_what_is_missing_cannot_be_made(keys: Path, name: str) -> None:
    (keys / "root.pem").unlink()
    (keys / name).unlink()
    with pytest.raises((Misconfigured, CorruptState), match=r"node"):
        load(keys)


# --- interrupted and damaged ----------------------------------------------------------------------


def test_a_first_start_cut_short_anywhere_is_finished(keys: Path) -> None:
    """Every prefix of the order of creation is a state that a kill can leave."""
    whole = load(keys)
    order = ["root.pem", "root.did"] + [f"{use}.{kind}" for use in USES for kind in ("pem", "cert")]
    saved = contents(keys)
    for count in range(1, len(order)):
        for path in keys.iterdir():
            path.unlink()
        for name in order[:count]:
            (keys / name).write_bytes(saved[name])
            (keys / name).chmod(0o600)
        (keys / ".node.pem.0badc0ffee.new").write_bytes(b"half a k")
        again = load(keys)
        assert again.root == whole.root
        assert set(contents(keys)) >= FILES


@pytest.mark.parametrize("use", USES)
def test_a_lost_key_is_not_replaced_silently(keys: Path, use: str) -> None:
    (keys / f"{use}.pem").unlink()
    with pytest.raises(CorruptState, match=rf"{use}.pem is missing"):
        load(keys)


def test_a_lost_root_is_not_replaced_silently(keys: Path) -> None:
    (keys / "root.pem").unlink()
    (keys / "root.did").unlink()
    with pytest.raises(CorruptState, match=r"neither root.did nor root.pem"):
        load(keys)


def test_a_lost_root_did_is_written_again(keys: Path) -> None:
    first = load(keys)
    (keys / "root.did").unlink()
    assert load(keys).root == first.root
    assert (keys / "root.did").read_text().strip() == first.root


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("data", [b"", b"garbage", b"\xff" * 100, b"x" * 20_000])
def test_a_damaged_file_is_named(keys: Path, name: str, data: bytes) -> None:
    (keys / name).write_bytes(data)
    with pytest.raises(CorruptState, match=name):
        load(keys)


def test_files_of_another_identity_are_refused(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    load(ours)
    load(theirs)
    for name in sorted(FILES):
        original = (ours / name).read_bytes()
        (ours / name).write_bytes((theirs / name).read_bytes())
        with pytest.raises(CorruptState):
            load(ours)
        (ours / name).write_bytes(original)
    load(ours)


def test_a_certificate_for_another_use_is_refused(keys: Path) -> None:
    for kind in ("pem", "cert"):
        (keys / f"witness.{kind}").write_bytes((keys / f"node.{kind}").read_bytes())
    with pytest.raises(CorruptState, match="witness"):
        load(keys)


def test_a_key_of_another_kind_is_refused(keys: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    (keys / "node.pem").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(CorruptState, match="not an Ed25519 key"):
        load(keys)


# --- who may read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666])
def test_a_key_that_others_can_read_is_refused(keys: Path, mode: int) -> None:
    (keys / "node.pem").chmod(mode)
    said = rf"node.pem can be read by others \(mode {mode:04o}\): run chmod 600"
    with pytest.raises(Misconfigured, match=said):
        load(keys)


def test_a_directory_that_others_can_enter_is_refused(keys: Path) -> None:
    keys.chmod(0o755)
    with pytest.raises(Misconfigured, match="run chmod 700"):
        load(keys)


def test_links_and_special_files_are_not_followed(keys: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.pem"
    (keys / "node.pem").rename(moved)
    (keys / "node.pem").symlink_to(moved)
    with pytest.raises(Misconfigured, match="cannot be read"):
        load(keys)
    (keys / "node.pem").unlink()
    os.mkfifo(keys / "node.pem", 0o600)
    with pytest.raises(Misconfigured, match="not a regular file"):
        load(keys)


def test_an_unusable_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").touch()
    with pytest.raises(Misconfigured, match="keys cannot be used"):
        load(tmp_path / "keys")
