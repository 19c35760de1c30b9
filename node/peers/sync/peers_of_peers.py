"""Peers of peers, for operators who want them: addresses that a peer names become contacts of ours.

Promises: few of each peer, none twice, none that leads into this machine or its network by its own numbers
(``told_address``), but that a peer which the operator has found on this machine may name others on it; who
answers there begins as a stranger. What a name resolves to is judged at each connection
(``node.peers.sync.client``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from node.core.clock import Clock
from node.core.errors import NodeError, Rejected
from node.core.peer_address import told_address
from node.peers.rules.values import Contact
from node.peers.store.sqlite import PeerStore
from node.peers.sync.round import Round

NAMED_MAX = 16
"""Contacts that are taken of one peer, in all."""
_ROOT = "did:key:"


async def take_names(
    now: Round, root: str, store: PeerStore, clock: Clock, but: Collection[str] = ()
) -> None:
    """Add whom the peer names, ``but`` for these addresses. A peer that names nobody, or is not able to, is
    no failure of the round."""
    known = await store.contacts()
    room = NAMED_MAX - sum(contact.source == root for contact in known)
    if room <= 0:
        return
    addresses = {contact.address for contact in known} | set(but)
    named: list[str] = []
    with contextlib.suppress(NodeError):
        named = await now.link.peers()
    by = "" if is_told(now.contact) else now.contact.address
    for text in named:
        address = told_address(text, by)
        if address is None or address in addresses:
            continue
        try:
            await store.put_contact(Contact(address, root, None, clock.now()))
        except Rejected:
            return  # no room for more contacts
        addresses.add(address)
        room -= 1
        if not room:
            return


def is_told(contact: Contact) -> bool:
    """Whether a peer has named this address, and the operator has not."""
    return contact.source.startswith(_ROOT)
