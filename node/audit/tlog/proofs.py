"""Receipts: that one entry is in a log, checkable offline (C2SP tlog-proof).

Promises: the text form of ``c2sp.org/tlog-proof@v1``, parsed strictly and bounded; ``check_receipt`` follows
the specification's four steps. Only ``Rejected`` is raised.
Must not know: what entries mean, where keys come from. ``extra`` is authenticated by nothing: never trust it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from node.audit.tlog.policy import NoQuorum, WitnessPolicy
from node.core.errors import Rejected
from node.core.merkle import HASH_BYTES, PROOF_HASHES_MAX, SIZE_MAX, check_inclusion, leaf_hash
from node.core.signed_note import (
    NOTE_BYTES_MAX,
    Checkpoint,
    NoTrustedSignature,
    Opened,
    Verifier,
    decode_base64,
    encode_base64,
    open_checkpoint,
    parse_decimal,
)

HEADER = "c2sp.org/tlog-proof@v1"
EXTRA_BYTES_MAX = 64 * 1024
RECEIPT_BYTES_MAX = NOTE_BYTES_MAX + EXTRA_BYTES_MAX * 4 // 3 + PROOF_HASHES_MAX * 45 + 128
"""The note, extra data in base64, each hash in base64 with its LF, and the short lines."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """An entry's index, its inclusion proof (leaf's sibling first) and the checkpoint's bytes, unchecked."""

    index: int
    proof: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "proof", tuple(self.proof))
        if not 0 <= self.index <= SIZE_MAX:
            raise Rejected("a receipt's index goes from 0 to 2^63 - 1")
        if len(self.proof) > PROOF_HASHES_MAX or any(len(one) != HASH_BYTES for one in self.proof):
            raise Rejected(f"a receipt has at most {PROOF_HASHES_MAX} hashes of {HASH_BYTES} bytes")
        if self.extra is not None and not 1 <= len(self.extra) <= EXTRA_BYTES_MAX:
            raise Rejected(f"a receipt's extra data has 1 to {EXTRA_BYTES_MAX} bytes, or is left out")
        Checkpoint.of_note(self.checkpoint)

    def encode(self) -> bytes:
        """The receipt's text, the checkpoint verbatim at its end."""
        extra = [] if self.extra is None else [f"extra {encode_base64(self.extra)}"]
        return "\n".join([HEADER, *extra, ""]).encode() + self.encode_spicy()

    def encode_spicy(self) -> bytes:
        """The same proof in the form that tlog-proof grew out of, without its first line and without the
        extra data: what the checker ``spicy`` takes as FILE.spicy beside the entry in FILE."""
        lines = [f"index {self.index}", *map(encode_base64, self.proof), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> Receipt:
        """An untrusted receipt. Raises ``Rejected``."""
        head, separator, checkpoint = data.partition(b"\n\n")
        if len(data) > RECEIPT_BYTES_MAX or not separator or not head.isascii():
            raise Rejected("a receipt is ASCII lines, an empty line and a checkpoint")
        lines = head.decode("ascii").split("\n")[::-1]
        if lines.pop() != HEADER:
            raise Rejected(f"a receipt begins with the line {HEADER}")
        extra = None
        if lines and lines[-1].startswith("extra "):
            extra = decode_base64(lines.pop().removeprefix("extra "))
        if not lines or not lines[-1].startswith("index "):
            raise Rejected("a receipt has an index line after its header and extra data")
        index = parse_decimal(lines.pop().removeprefix("index "))
        if len(lines) > PROOF_HASHES_MAX:
            raise Rejected(f"a receipt has at most {PROOF_HASHES_MAX} hashes")
        return cls(index, tuple(decode_base64(line) for line in reversed(lines)), checkpoint, extra)


def check_receipt(
    receipt: Receipt, entry: bytes, verifiers: Sequence[Verifier], policy: WitnessPolicy | None
) -> Opened:
    """Check that ``entry`` (the leaf's bytes) is in the log, by the log's keys and the policy.

    The log's keys are ``verifiers``; where the policy lists logs, one of those must have signed too, and
    where no ``verifiers`` are given they stand for them. Raises ``Rejected`` (``NoTrustedSignature``,
    ``BadTrustedSignature``, ``NoQuorum`` among others).
    """
    # Steps as in tlog-proof, "Verifying a tlog proof".
    # 1. The leaf's hash.
    leaf = leaf_hash(entry)
    # 2 and 3. The checkpoint is signed by a key for its origin; all known cosignatures hold.
    listed = [] if policy is None else [line.verifier for line in policy.logs]
    witnesses = [] if policy is None else [line.verifier for line in policy.witnesses]
    opened = open_checkpoint(receipt.checkpoint, [*verifiers, *listed, *witnesses])
    for keys in (verifiers, listed):
        if keys and not any(one in keys and one.name == opened.checkpoint.origin for one in opened.signed_by):
            raise NoTrustedSignature(
                f"no trusted key of {opened.checkpoint.origin} has signed the checkpoint"
            )
    if not verifiers and not listed:
        raise NoTrustedSignature("no key of a log was given to check the receipt with")
    if policy is not None and not policy.satisfied(opened.signed_by):
        raise NoQuorum("the checkpoint does not have the cosignatures that the witness policy asks for")
    # 4. The entry is under the checkpoint's root.
    check_inclusion(leaf, receipt.index, opened.checkpoint.size, receipt.proof, opened.checkpoint.root)
    return opened
