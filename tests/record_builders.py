"""Signed records for tests: an author with a fixed key makes any kind, with sensible defaults."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.ipld.cid import Cid
from node.core.normalise import normalise
from node.core.record import (
    AnswerRecord,
    KeyRecord,
    RecordSource,
    TombstoneRecord,
    ValidationRecord,
    did_key,
    sign,
)

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCOPES = ("public", "shared", "private:local")


_MODEL = ("llm", "test-model")
_PUBLIC = ("adapter", "test-adapter")


class Author:
    """Issuer and signing key in one; the same seed is the same author."""

    def __init__(self, seed: int = 1) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.did = did_key(self.private.public_key().public_bytes_raw())

    def _common(self, scope: str = "shared") -> dict[str, Any]:
        who = {"issuer": self.did, "key": self.did}
        return {**who, "scope": scope, "timestamp": START, "expires": None}

    def answer(self, query: str = "What is IPFS?", **changes: Any) -> AnswerRecord:
        fields: dict[str, Any] = self._common() | {
            "query": normalise(query),
            "answer": f"An answer to: {query}",
            "route": "generative",
            # what a model says on no evidence is never public
            "source": RecordSource(*_PUBLIC if changes.get("scope") == "public" else _MODEL),
            "confidence": 870_000,
            "confidence_parts": {"source": 900_000, "completeness": 800_000},
        }
        return sign(AnswerRecord(**(fields | changes)), self.private.sign)

    def validation(self, target: Cid, verdict: str = "invalid", **changes: Any) -> ValidationRecord:
        fields = self._common() | {"target": str(target), "verdict": verdict, "statement": "0" * 32}
        return sign(ValidationRecord(**(fields | changes)), self.private.sign)

    def tombstone(self, target: Cid, **changes: Any) -> TombstoneRecord:
        fields = self._common() | {"target": str(target), "reason": "erased"}
        return sign(TombstoneRecord(**(fields | changes)), self.private.sign)

    def key_record(self, subject: str, **changes: Any) -> KeyRecord:
        times = {"not_before": START, "not_after": START.replace(year=2028)}
        fields = self._common("public") | {"subject": subject, "use": "node", **times}
        return sign(KeyRecord(**(fields | changes)), self.private.sign)
