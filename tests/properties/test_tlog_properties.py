"""Transparency logs: every parser takes any bytes and raises ``Rejected`` only, what is read has one form,
no changed proof holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.audit.tlog.policy import WitnessPolicy
from node.audit.tlog.proofs import Receipt, check_receipt
from node.audit.tlog.tiles import (
    Tile,
    decode_bundle,
    encode_bundle,
    hash_in,
    tile_of,
    tiles_at,
    tiles_between,
)
from node.core.errors import Rejected
from node.core.merkle import (
    EMPTY_ROOT,
    SIZE_MAX,
    Frontier,
    check_consistency,
    check_inclusion,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root_of,
    subtrees,
)
from node.core.signed_note import Checkpoint, Note, Signature, Verifier, cosigned, open_checkpoint
from tests.simulators.rfc6962 import Oracle
from tests.tlog_memory import MemoryLog, leaf, log_signer, witness_signer

LOG = MemoryLog.of(300)
KEY = LOG.signer.verifier
WITNESS = witness_signer(1)
PLAIN = Note.parse(LOG.note())
NOTE = PLAIN.with_signatures([WITNESS.sign(PLAIN.text, 1_700_000_000)]).encode()
RECEIPT = LOG.receipt(123).encode()
POLICY = (
    f"log {KEY.vkey}\nwitness w {WITNESS.verifier.vkey} https://w.example/\ngroup g 1 w\nquorum g\n".encode()
)
LINE, TILE_PATH = WITNESS.sign(b"x\n", 5).line()[:-1], b"tile/entries/x001/234.p/56"
BUNDLE = encode_bundle(LOG.entries[:5])

sizes = st.integers(0, 300)
anything = st.integers(-2, 2**64) | st.integers(-2, 310)
hashes = st.binary(min_size=32, max_size=32)
names = st.text(min_size=1, max_size=12).filter(
    lambda name: "+" not in name and not any(one.isspace() or one < " " for one in name)
)


def mutations(valid: bytes) -> st.SearchStrategy[bytes]:
    """Bytes near valid ones: some replaced, cut out or put in."""
    cuts = st.tuples(st.integers(0, len(valid)), st.integers(0, 6), st.binary(max_size=6))
    fragments = st.sampled_from(
        [b"\n", b"\n\n", b" ", b"=", b"0", b"\xe2\x80\x94 ", b"+", b"\x00", b"\xff", b"\r\n"]
    )
    return st.lists(
        cuts | cuts.flatmap(lambda cut: fragments.map(lambda one: (cut[0], cut[1], one))), max_size=3
    ).map(lambda edits: _edited(valid, edits))


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for at, length, new in edits:
        data = data[:at] + new + data[at + length :]
    return data


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


PARSERS: dict[str, tuple[bytes, Callable[[bytes], Any], Callable[[Any], bytes] | None]] = {
    "checkpoint": (Note.parse(NOTE).text, Checkpoint.parse, None),
    "note": (NOTE, Note.parse, lambda one: one.encode()),
    "signed checkpoint": (NOTE, lambda data: open_checkpoint(data, [KEY, WITNESS.verifier]), None),
    "cosignatures": (NOTE, lambda data: cosigned(Note.parse(data), [WITNESS.verifier]), None),
    "signature line": (LINE, lambda data: Signature.parse(text_of(data)), lambda one: one.line()[:-1]),
    "vkey": (
        KEY.vkey.encode(),
        lambda data: Verifier.from_vkey(text_of(data)),
        lambda one: one.vkey.encode(),
    ),
    "receipt": (RECEIPT, Receipt.parse, lambda one: one.encode()),
    "policy": (POLICY, WitnessPolicy.parse, None),
    "bundle": (BUNDLE, lambda data: decode_bundle(data, 5), encode_bundle),
    "tile path": (TILE_PATH, lambda data: Tile.parse(text_of(data)), lambda one: one.path.encode()),
}


@pytest.mark.parametrize("name", sorted(PARSERS))
@given(st.data())
@settings(max_examples=60)
def test_parsers_take_any_bytes(name: str, data: st.DataObject) -> None:
    """Only ``Rejected`` escapes, and what is taken has this one spelling."""
    valid, parse, write = PARSERS[name]
    raw = data.draw(mutations(valid) | st.binary(max_size=200))
    try:
        found = parse(raw)
    except Rejected:
        return
    if write is not None:
        assert write(found) == raw


def test_the_valid_bytes_are_taken() -> None:
    for valid, parse, write in PARSERS.values():
        found = parse(valid)
        assert write is None or write(found) == valid


@given(mutations(NOTE))
@settings(max_examples=80)
def test_no_changed_note_says_something_else(raw: bytes) -> None:
    """Whatever happens to a note, what opens it is the text that the log has signed."""
    try:
        opened = open_checkpoint(raw, [KEY, WITNESS.verifier])
    except Rejected:
        return
    assert opened.note.text == Note.parse(NOTE).text


@given(mutations(RECEIPT))
@settings(max_examples=80)
def test_no_changed_receipt_proves_something_else(raw: bytes) -> None:
    try:
        receipt = Receipt.parse(raw)
        check_receipt(receipt, leaf(123), [KEY], None)
    except Rejected:
        return
    assert (receipt.index, receipt.proof) == (123, LOG.receipt(123).proof)


@given(
    names, st.integers(0, SIZE_MAX), hashes, st.lists(names, max_size=4, unique=True), st.binary(min_size=1)
)
@settings(max_examples=80)
def test_notes_round_trip(origin: str, size: int, root: bytes, signers: list[str], blob: bytes) -> None:
    checkpoint = Checkpoint(origin, size, root)
    assert Checkpoint.parse(checkpoint.text()) == checkpoint
    signer = log_signer(3, name=origin)
    note = Note(checkpoint.text(), (signer.sign(checkpoint.text(), 0),)).with_signatures(
        Signature(name, b"\x00\x01\x02\x03", blob) for name in signers
    )
    assert Note.parse(note.encode()) == note
    assert open_checkpoint(note.encode(), [signer.verifier]).checkpoint == checkpoint
    assert Verifier.from_vkey(signer.verifier.vkey) == signer.verifier


# --- trees ----------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=8), max_size=70), st.data())
@settings(max_examples=60)
def test_any_tree_agrees_with_the_oracle(entries: list[bytes], data: st.DataObject) -> None:
    log, oracle = MemoryLog(entries), Oracle(entries)
    size = len(entries)
    assert log.root() == root_of([leaf_hash(one) for one in entries]) == oracle.root(0, size)
    old = data.draw(st.integers(0, size))
    proof = consistency_proof(log.read, old, size)
    assert proof == (oracle.consistency(old, size) if old else [])
    check_consistency(old, oracle.root(0, old), size, oracle.root(0, size), proof)
    if size:
        index = data.draw(st.integers(0, size - 1))
        path = inclusion_proof(log.read, index, size)
        assert path == oracle.inclusion(index, 0, size)
        check_inclusion(leaf_hash(entries[index]), index, size, path, oracle.root(0, size))
    grown = Frontier.at(log.read, old)
    for entry in entries[old:]:
        grown.append(leaf_hash(entry))
    assert grown.root() == oracle.root(0, size)


@given(anything, anything, st.lists(hashes | st.binary(max_size=40), max_size=70), hashes)
@settings(max_examples=80)
def test_checks_are_total_and_nothing_made_holds(
    first: int, second: int, proof: list[bytes], root: bytes
) -> None:
    with pytest.raises(Rejected):
        check_inclusion(leaf_hash(b"made up"), first, second, proof, EMPTY_ROOT)
    with pytest.raises(Rejected):
        check_consistency(first, root, second, leaf_hash(root), proof)


@given(anything, anything, anything)
@settings(max_examples=80)
def test_what_is_asked_of_tiles_has_an_answer_or_is_refused(first: int, second: int, third: int) -> None:
    for call in (
        lambda: tile_of(first, second, third),
        lambda: tiles_at(first),
        lambda: list(tiles_between(first, second)) if second < 5_000 else (),
        lambda: Tile(first, second, third),
        lambda: subtrees(first, second),
        lambda: hash_in(Tile(0, 0), bytes(8192), first, second),
    ):
        try:
            call()
        except Rejected:
            continue


@given(sizes, sizes, sizes)
@settings(max_examples=80)
def test_growing_in_steps_writes_what_growing_at_once_does(first: int, second: int, third: int) -> None:
    small, middle, large = sorted((first, second, third))
    steps = {tile.path for tile in [*tiles_between(small, middle), *tiles_between(middle, large)]}
    assert {tile.path for tile in tiles_between(small, large)} <= steps
    for tile in tiles_between(0, large):
        assert Tile.parse(tile.path) == tile


@given(st.lists(st.binary(max_size=300), max_size=256))
@settings(max_examples=50)
def test_bundles_round_trip(entries: list[bytes]) -> None:
    data = encode_bundle(entries)
    assert decode_bundle(data, len(entries)) == entries
