"""Receipts: their text, and the four steps of checking one."""

from __future__ import annotations

import base64

import pytest

from node.audit.tlog.policy import NoQuorum, WitnessPolicy
from node.audit.tlog.proofs import EXTRA_BYTES_MAX, RECEIPT_BYTES_MAX, Receipt, check_receipt
from node.core.errors import Rejected
from node.core.signed_note import BadTrustedSignature, MalformedNote, Note, NoTrustedSignature
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
            for other in range(11):
                if other != index:
                    with pytest.raises(Rejected):
                        check_receipt(receipt, leaf(other), [KEY], None)
                    with pytest.raises(Rejected):
                        check_receipt(
                            Receipt(other, receipt.proof, receipt.checkpoint), leaf(index), [KEY], None
                        )


GOOD = LOG.receipt(4).encode()
HEAD, NOTE = GOOD.split(b"\n\n", 1)
FIRST = HEAD.split(b"\n")[2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEAD,
        HEAD + b"\n",
        HEAD + b"\n\n",
        HEAD + b"\n" + NOTE,
        b"\n" + GOOD,
        b" " + GOOD,
        GOOD + b"\n",
        GOOD.replace(b"@v1", b"@v2", 1),
        GOOD.replace(b"@v1\n", b"@v1 \n", 1),
        GOOD.replace(b"@v1\n", b"@v1\r\n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra\n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra \n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra !\n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra YQ\n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra YR==\n", 1),
        GOOD.replace(b"@v1\n", b"@v1\nextra YQ==\nextra YQ==\n", 1),
        GOOD.replace(b"@v1\nindex 4\n", b"@v1\nindex 4\nextra YQ==\n", 1),
        GOOD.replace(b"index 4\n", b"", 1),
        GOOD.replace(b"index 4\n", b"index 4\nindex 4\n", 1),
        GOOD.replace(b"index 4", b"index", 1),
        GOOD.replace(b"index 4", b"index ", 1),
        GOOD.replace(b"index 4", b"index  4", 1),
        GOOD.replace(b"index 4", b"index 04", 1),
        GOOD.replace(b"index 4", b"index +4", 1),
        GOOD.replace(b"index 4", b"index -4", 1),
        GOOD.replace(b"index 4", b"Index 4", 1),
        GOOD.replace(b"index 4", b"index %d" % 2**63, 1),
        GOOD.replace(b"index 4", "index ٤".encode(), 1),
        GOOD.replace(FIRST, FIRST + b" ", 1),
        GOOD.replace(FIRST, FIRST[:-1], 1),
        GOOD.replace(FIRST, FIRST[:-4], 1),
        GOOD.replace(FIRST, base64.b64encode(bytes(33)), 1),
        GOOD.replace(FIRST, b"\n" + FIRST, 1),
        GOOD.replace(FIRST, b"\n".join([FIRST] * 61), 1),
        GOOD.replace("—".encode(), b"-", 1),
        HEAD + b"\n\n" + b"not a checkpoint\n\n" + NOTE.split(b"\n\n")[1],
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


# --- whose signatures count -----------------------------------------------------------------------


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
