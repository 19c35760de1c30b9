"""The composition root's part for what IPFS clients see: head, names, imported blocks, and the one reader
that decides what is public. Built in order, left in reverse order by the caller's stack; no answer waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from node.api.routing import Router
from node.app.data_files import renewed
from node.app.storage import Ground
from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.key_ring import Rotation
from node.core.model import Check
from node.core.ports import BlockStore
from node.core.record import NODE
from node.ipfs.head import Content, Head, HeadBlocks, HeadFiles, NameKey, Signing
from node.ipfs.kubo import KuboBlockStore
from node.store.imported_blocks import ForeignStore
from node.store.ipns_records import Names
from node.store.public_blocks import PublicReader
from node.store.sqlite import SqliteStore
from node.store.writer import SqliteFile

LAST_HEAD_TIMEOUT_S = 1.0
"""How long the stop waits for the last head; what is missing then is made after the next start."""

LogHead = Callable[[], Cid | None]


@dataclass(slots=True)
class Ipfs:
    """``log_heads`` is filled in once the logs are open; the head names what it finds there."""

    names: Names
    head: Head
    head_blocks: BlockStore
    foreign: ForeignStore
    files: tuple[SqliteFile, ...]
    log_heads: dict[str, LogHead] = field(default_factory=dict)

    def start(self, log_heads: Mapping[str, LogHead]) -> None:
        """Begin to publish."""
        self.log_heads.update(log_heads)
        self.head.start()

    @asynccontextmanager
    async def leave_name(self, rotation: Rotation) -> AsyncIterator[None]:
        """Around a rotation of the node key: what was published under the old key's name leads to the new one
        before the old key may be gone. Raises ``NodeError``."""
        if rotation.use != NODE:
            yield
            return
        old, new = rotation.before[0], rotation.keys[0]
        try:
            await self.head.lead_over(
                NameKey(IpnsName.of(old.public), old.private.sign), IpnsName.of(new.public)
            )
            yield
        finally:
            self.head.settle()

    async def probe_foreign(self) -> Check:
        """How much was imported, for ``/health``."""
        try:
            counts = await self.foreign.counts()
        except NodeError as exc:
            return Check("ipfs:foreign", "warn", f"imported blocks cannot be counted: {exc}")
        text = f"imported: {counts['bytes']} bytes, of {counts['bytes_max']} (ipfs.foreign_max_bytes)"
        return Check("ipfs:foreign", "pass", text, observed=counts["blocks"], unit="blocks")

    def reader(
        self, store: SqliteStore, log_blocks: BlockStore | None, documents: BlockStore
    ) -> PublicReader:
        """What anybody may have."""
        others = [] if log_blocks is None else [log_blocks]
        return PublicReader(store, [*others, self.head_blocks, documents], self.foreign.blocks)


async def open_ipfs(ground: Ground, daemon: KuboBlockStore | None) -> Ipfs:
    """What outlives the logs at the stop. Raises ``CorruptState``, ``Unavailable``."""
    data_dir, identity, clock, stack = ground.data_dir, ground.identity, ground.clock, ground.stack
    foreign_max = ground.settings.ipfs.foreign_max_bytes
    foreign = await ForeignStore.open(data_dir / "foreign.sqlite", bytes_max=foreign_max)
    stack.push_async_callback(foreign.close)
    # Apart from the cache's blocks: the index of a large cache must not drive answers out of them.
    path = data_dir / "head_blocks.sqlite"
    keys_of = data_dir / "keys" / "head_block_keys"  # never made: no records, nothing private
    blocks, _ = await renewed(
        path, clock, lambda: SqliteStore.open(path, own_issuer=identity.root, keys=keys_of)
    )
    stack.push_async_callback(blocks.close)
    own = IpnsName.parse(identity.ipns_name)
    named = data_dir / "names.sqlite"
    names, _ = await renewed(named, clock, lambda: Names.open(named, clock, own=own))
    stack.push_async_callback(names.close)
    log_heads: dict[str, LogHead] = {}

    def newest(log: str) -> LogHead:
        return lambda: log_heads[log]() if log in log_heads else None

    def keys() -> list[NameKey]:
        return [NameKey(IpnsName.of(public), sign) for public, sign in identity.node_keys()]

    head = Head(
        Content(ground.store.records, newest("publications"), newest("decisions")),
        HeadBlocks(blocks.blocks, blocks.stored),
        names,
        clock,
        files=HeadFiles(data_dir / "head.json", data_dir / "keys" / "ipns-record"),
        signing=Signing(identity.root, keys),
        daemon=daemon,
    )
    stack.push_async_callback(head.close, LAST_HEAD_TIMEOUT_S)
    files = (foreign.file, blocks.file, names.file)
    return Ipfs(names, head, blocks.blocks, foreign, files, log_heads)


def multiaddrs(url: str, announced: Sequence[str]) -> tuple[str, ...]:
    """Where clients of our router find this node: what the operator announces, else where it listens; nothing
    when it listens on every address, because none of them is known to lead here."""
    if announced:
        return tuple(announced)
    parts = urlsplit(url)
    host, kind = parts.hostname or "", "tls/http" if parts.scheme == "https" else "http"
    try:
        address = ip_address(host)
    except ValueError:
        return (f"/dns/{host}/tcp/{parts.port}/{kind}",)
    if address.is_unspecified:
        return ()
    return (f"/ip{address.version}/{host}/tcp/{parts.port}/{kind}",)


def routing(ground: Ground, ipfs: Ipfs, blocks: PublicReader, url: str) -> Router:
    """Who answers that this node has a block."""
    addresses = multiaddrs(url, ground.settings.ipfs.announce)
    return Router(blocks, ipfs.names, lambda: IpnsName.parse(ground.identity.ipns_name), addresses)
