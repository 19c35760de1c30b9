"""How much of a block of others is read. What is over a limit is refused before memory is taken for it."""

from __future__ import annotations

from node.core.errors import Rejected

BLOCK_BYTES_MAX = 2 * 1024 * 1024
"""The largest block that bitswap and trustless gateways carry."""

LINKS_MAX = 65_536
"""Of one block. With digests of 32 bytes 2 MiB hold at most 55,188; more only when they inline next to
nothing."""

ITEMS_MAX = 256 * 1024
"""Map keys, map values and list items of one block: as many as the bytes of a record could hold. More fit
into 2 MiB; as values they would take a hundred megabytes and a second."""


def check_bytes(data: bytes) -> None:
    """Raises ``Rejected`` for a block over ``BLOCK_BYTES_MAX``."""
    if len(data) > BLOCK_BYTES_MAX:
        raise Rejected(f"a block of {len(data)} bytes is over the limit of {BLOCK_BYTES_MAX}")


def check_links(count: int) -> None:
    """Raises ``Rejected`` for more links than ``LINKS_MAX``."""
    if count > LINKS_MAX:
        raise Rejected(f"a block has more than {LINKS_MAX} links")
