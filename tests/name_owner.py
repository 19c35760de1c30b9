"""Somebody with a key and an IPNS name, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.record import Sign
from node.ipfs.head import NameKey

HOUR = timedelta(hours=1)


class Owner:
    """The same seed is the same owner."""

    def __init__(self, seed: int = 1) -> None:
        self.private = Ed25519PrivateKey.from_private_bytes(seed.to_bytes(32, "big"))
        self.name = IpnsName.of(self.private.public_key().public_bytes_raw())
        self.sign: Sign = self.private.sign

    @property
    def key(self) -> NameKey:
        return NameKey(self.name, self.sign)

    def record(
        self,
        now: datetime,
        *,
        sequence: int = 1,
        value: str = "",
        ttl_s: int = 60,
        valid: timedelta = 48 * HOUR,
    ) -> bytes:
        """A record that points to something, made at ``now``."""
        value = value or f"/ipfs/{Cid.of(bytes([sequence % 256]))}"
        return ipns.encode(IpnsRecord(value, sequence, now + valid, ttl_s * 10**9), self.private.sign)
