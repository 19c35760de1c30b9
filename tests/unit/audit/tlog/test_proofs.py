"""Receipts: their text, and the four steps of checking one."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from node.audit.tlog.policy import NoQuorum, WitnessPolicy
from node.audit.tlog.proofs import EXTRA_BYTES_MAX, RECEIPT_BYTES_MAX, Receipt, check_receipt
from node.core.errors import Rejected
from node.core.signed_note import BadTrustedSignature, MalformedNote, Note, NoTrustedSignature
from tests.each import each
from tests.tlog_memory import MemoryLog, leaf, log_signer, witness_signer

LOG = MemoryLog.of(11)
KEY = LOG.signer.verifier


def test_the_text_is_the_specifications() -> None:
    receipt = LOG.receipt(4)
    hashes = [base64.b64encode(one).decode() for one in receipt.proof]
    lines = ["c2sp.org/tlog-proof@v1", "index 4", *hashes, "", ""]
    assert receipt.encode() == "\n".join(lines).encode() + LOG.note()
    assert len(hashes) == 4
    with_extra = Receipt(4, receipt.proof, receipt.checkpoint, b"agent-1.0")
    lines.insert(1, "extra YWdlbnQtMS4w")
    assert with_extra.encode() == "\n".join(lines).encode() + LOG.note()
    for one in (receipt, with_extra):
        assert Receipt.parse(one.encode()) == one


def test_a_log_of_one_entry_has_an_empty_proof() -> None:
    log = MemoryLog.of(1)
    data = log.receipt(0).encode()
    assert data == b"c2sp.org/tlog-proof@v1\nindex 0\n\n" + log.note()
    check_receipt(Receipt.parse(data), leaf(0), [log.signer.verifier], None)


def test_receipts_of_all_entries_hold_and_of_no_other() -> None:
    for size in range(1, 12):
        for index in range(size):
            receipt = LOG.receipt(index, size)
            opened = check_receipt(receipt, leaf(index), [KEY], None)
            assert opened.checkpoint.size == size
            for other in set(range(11)) - {index}:
                with pytest.raises(Rejected):
                    check_receipt(receipt, leaf(other), [KEY], None)
                with pytest.raises(Rejected):
                    check_receipt(replace(receipt, index=other), leaf(index), [KEY], None)


GOOD = LOG.receipt(4).encode()
HEAD, NOTE = GOOD.split(b"\n\n", 1)
FIRST = HEAD.split(b"\n")[2]


WRONG_HEADS = (b"@v2\n", b"@v1 \n", b"@v1\r\n")
WRONG_EXTRAS = (b"", b" ", b" !", b" YQ", b" YR==", b" YQ==\nextra YQ==")
WRONG_INDEXES = (b"", b" ", b"  4", b" 04", b" +4", b" -4", b" %d" % 2**63, " ٤".encode(), b" 4\nindex 4")
WRONG_HASHES = (FIRST + b" ", FIRST[:-1], FIRST[:-4], base64.b64encode(bytes(33)), b"\n" + FIRST)


@each(
    "data",
    [
        *(b"", HEAD, HEAD + b"\n", HEAD + b"\n\n", HEAD + b"\n" + NOTE, b"\n" + GOOD, b" " + GOOD),
        GOOD + b"\n",
        *(GOOD.replace(b"@v1\n", head, 1) for head in WRONG_HEADS),
        *(GOOD.replace(b"@v1\n", b"@v1\nextra%s\n" % extra, 1) for extra in WRONG_EXTRAS),
        GOOD.replace(b"index 4\n", b"index 4\nextra YQ==\n", 1),
        GOOD.replace(b"index 4\n", b"", 1),
        GOOD.replace(b"index 4", b"Index 4", 1),
        *(GOOD.replace(b"index 4", b"index" + index, 1) for index in WRONG_INDEXES),
        *(GOOD.replace(FIRST, one, 1) for one in (*WRONG_HASHES, b"\n".join([FIRST] * 61))),
        GOOD.replace("—".encode(), b"-", 1),
        HEAD + b"\n\nnot a checkpoint\n\n" + NOTE.split(b"\n\n")[1],
    ],
)
def test_other_bytes_are_no_receipts(data: bytes) -> None:
    Receipt.parse(GOOD)
    with pytest.raises(Rejected):
        Receipt.parse(data)


def test_limits() -> None:
    receipt = LOG.receipt(4)
    largest = Receipt(4, (bytes(32),) * 63, receipt.checkpoint, bytes(EXTRA_BYTES_MAX))
    assert Receipt.parse(largest.encode()) == largest
    for index, proof, extra in (
        (-1, (), None),
        (2**63, (), None),
        (4, (bytes(32),) * 64, None),
        (4, (bytes(31),), None),
        (4, (), b""),
        (4, (), bytes(EXTRA_BYTES_MAX + 1)),
    ):
        with pytest.raises(Rejected):
            Receipt(index, proof, receipt.checkpoint, extra)
    with pytest.raises(MalformedNote):
        Receipt(4, (), b"no note")
    with pytest.raises(Rejected):
        Receipt.parse(GOOD + bytes(RECEIPT_BYTES_MAX))


def test_every_changed_byte_of_a_receipt_is_refused() -> None:
    for at, byte in enumerate(GOOD):
        for mask in (0x01, 0x20):
            changed = GOOD[:at] + bytes((byte ^ mask,)) + GOOD[at + 1 :]
            with pytest.raises(Rejected):
                check_receipt(Receipt.parse(changed), leaf(4), [KEY], None)
        with pytest.raises(Rejected):
            check_receipt(Receipt.parse(GOOD[:at] + GOOD[at + 1 :]), leaf(4), [KEY], None)


def cosigned_receipt(*witnesses: int) -> Receipt:
    note = Note.parse(LOG.note())
    signatures = [witness_signer(number).sign(note.text, 1_700_000_000) for number in witnesses]
    return Receipt(4, LOG.receipt(4).proof, note.with_signatures(signatures).encode())


def policy(quorum: str, *, logs: str = "") -> WitnessPolicy:
    lines = [f"witness w{number} {witness_signer(number).verifier.vkey}" for number in (1, 2)]
    return WitnessPolicy.parse(
        "\n".join([logs, *lines, "group two all w1 w2", f"quorum {quorum}", ""]).encode()
    )


def test_the_quorum_is_asked_for() -> None:
    opened = check_receipt(cosigned_receipt(1, 2), leaf(4), [KEY], policy("two"))
    assert opened.signed_by == (KEY, witness_signer(1).verifier, witness_signer(2).verifier)
    check_receipt(cosigned_receipt(1), leaf(4), [KEY], policy("w1"))
    check_receipt(cosigned_receipt(), leaf(4), [KEY], policy("none"))
    for receipt, quorum in (
        (cosigned_receipt(1), "two"),
        (cosigned_receipt(2), "w1"),
        (cosigned_receipt(3), "w1"),
    ):
        with pytest.raises(NoQuorum):
            check_receipt(receipt, leaf(4), [KEY], policy(quorum))


def test_a_false_cosignature_of_a_known_witness_refuses_the_receipt() -> None:
    note = Note.parse(LOG.note())
    false = witness_signer(2).sign(Note.parse(LOG.note(10)).text, 1_700_000_000)
    receipt = Receipt(4, LOG.receipt(4).proof, note.with_signatures([false]).encode())
    check_receipt(receipt, leaf(4), [KEY], None)
    with pytest.raises(BadTrustedSignature):
        check_receipt(receipt, leaf(4), [KEY], policy("none"))


def test_the_logs_of_the_policy_stand_for_keys_and_limit_them() -> None:
    ours, other = f"log {KEY.vkey}", f"log {log_signer(9).verifier.vkey}"
    receipt = cosigned_receipt(1)
    check_receipt(receipt, leaf(4), [], policy("w1", logs=ours))
    check_receipt(receipt, leaf(4), [KEY], policy("w1", logs=ours))
    for verifiers, logs in (([KEY], other), ([], other), ([log_signer(9).verifier], ours), ([], "")):
        with pytest.raises(NoTrustedSignature):
            check_receipt(receipt, leaf(4), verifiers, policy("w1", logs=logs))
    with pytest.raises(NoTrustedSignature):
        check_receipt(receipt, leaf(4), [], None)


def test_a_witness_with_the_logs_name_does_not_stand_for_the_log() -> None:
    note = Note.parse(LOG.note())
    impostor = type(witness_signer(1))(KEY.name, witness_signer(1).key)
    alone = Note(note.text, (impostor.sign(note.text, 5),)).encode()
    listed = WitnessPolicy.parse(f"witness i {impostor.verifier.vkey}\nquorum i\n".encode())
    for verifiers in ([], [KEY]):
        with pytest.raises(NoTrustedSignature):
            check_receipt(Receipt(4, LOG.receipt(4).proof, alone), leaf(4), verifiers, listed)
