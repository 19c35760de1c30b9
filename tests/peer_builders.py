"""A node that publishes, for tests: a root, its certified keys, and records signed by them."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, KeyRecord, RecordSource, block_of, did_key, sign
from node.peers.rules.admission import ClassLimit
from node.peers.rules.entry import Publish
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Held, Tier
from tests.record_builders import START, Author

DAY = timedelta(days=1)
WEEK = ClassLimit("general", 7 * 86_400, False)


def seeded(name: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


class Publisher:
    """The same name is the same node."""

    def __init__(self, name: str = "a") -> None:
        self.name = name
        self.root_key, self.node_key = seeded(f"{name} root"), seeded(f"{name} node")
        self.root = did_key(self.root_key.public_key().public_bytes_raw())
        self.node = did_key(self.node_key.public_key().public_bytes_raw())

    def certificate(self, subject: str | None = None, use: str = "node", **changes: Any) -> KeyRecord:
        fields: dict[str, Any] = {
            "issuer": self.root, "key": self.root, "scope": "public", "timestamp": START - DAY,
            "expires": None, "subject": subject or self.node, "use": use,
            "not_before": START - DAY, "not_after": START + 700 * DAY,
        }  # fmt: skip
        return sign(KeyRecord(**(fields | changes)), self.root_key.sign)

    def ring(self) -> KeyRing:
        ring = KeyRing(self.root)
        assert ring.add(self.certificate())
        return ring

    def answer(self, query: str = "What is IPFS?", **changes: Any) -> AnswerRecord:
        own = {
            "issuer": self.root,
            "key": self.node,
            "scope": "public",
            "expires": START + 5 * DAY,
            "sig": b"",
            "source": RecordSource("documents", "chronicle.md"),
        }
        record = Author().answer(query, **(own | changes))
        return sign(record, self.node_key.sign)

    def block(self, query: str = "What is IPFS?", **changes: Any) -> tuple[Cid, bytes]:
        return block_of(self.answer(query, **changes))


def entry_of(record: AnswerRecord) -> Publish:
    """What an honest log says of the record."""
    return Publish(block_of(record)[0], "general", record.query_hash, record.expires)


def held(issuer: str, agreed: str = "yes", **changes: Any) -> Held:
    """A record that is held, as far as voting looks at it."""
    fields: dict[str, Any] = {
        "cid": Cid.of(f"{issuer} {agreed}".encode()), "data": b"", "issuer": issuer, "key": "key",
        "tier": Tier.UNTRUSTED, "query_hash": "0" * 64, "slot_key": None, "agreed": agreed,
        "received": START, "until": None, "trust_ppm": 0, "log_index": 0,
    }  # fmt: skip
    return Held(**(fields | changes))


def held_of(record: AnswerRecord, root: str, data: bytes, index: int) -> Held:
    """An answer record as it is kept aside."""
    return held(
        root, "aa", cid=Cid.of(data), data=data, key=record.key, query_hash=record.query_hash, log_index=index
    )
