"""The way to one peer. Errors are ``node.core.errors``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from node.core.ipld.cid import Cid


class PeerLink(Protocol):
    """One peer, at one address. Every call is bounded in time and bytes. What comes is untrusted. Raises
    ``Unavailable``, ``TimedOut``, ``NotFound``, ``Rejected`` (bytes that are not what was asked for)."""

    address: str

    async def certificates(self) -> tuple[str, list[bytes]]:
        """The root that the peer says it has, and blocks of key records (64 at most)."""
        ...

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        """The newest note of its publications log and its ETag; (None, etag) where it has not changed."""
        ...

    async def read(self, path: str, bytes_max: int) -> bytes:
        """A file of the publications log: this makes a link a ``tlog.reader.Source``."""
        ...

    def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        """Some of these blocks, each of which matches its CID, in any order; what the peer has not is left
        out. Many at once come as one CAR."""
        ...

    async def reconcile(self, message: bytes) -> bytes:
        """One exchange of range reconciliation."""
        ...

    async def peers(self) -> list[str]:
        """The addresses that it lists (64 at most)."""
        ...
