"""Peers of peers, for operators who want them: addresses that a peer names become contacts of ours.

Promises: few of each peer, none that leads into this machine or its network by its own numbers, none twice;
who answers there begins as a stranger. A name that resolves to an address inside is for the session's
connector to refuse.
"""

from __future__ import annotations

import contextlib
import ipaddress
from urllib.parse import urlsplit

from node.clock import Clock
from node.errors import NodeError, Rejected
from node.jobs.peer_round import Round
from node.peers.address import address_of
from node.peers.ports import PeerStore
from node.peers.values import Contact

NAMED_MAX = 16
"""Contacts that are taken of one peer, in all."""
_LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


async def take_names(now: Round, root: str, store: PeerStore, clock: Clock) -> None:
    """Add whom the peer names. A peer that names nobody, or is not able to, is no failure of the round."""
    known = await store.contacts()
    room = NAMED_MAX - sum(contact.source == root for contact in known)
    if room <= 0:
        return
    addresses = {contact.address for contact in known}
    named: list[str] = []
    with contextlib.suppress(NodeError):
        named = await now.link.peers()
    for text in named:
        address = _usable(text)
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


def _usable(text: str) -> str | None:
    """An address that a stranger may send us to."""
    try:
        address = address_of(text)
    except Rejected:
        return None
    host = urlsplit(address).hostname if "://" in address else None
    if host is None:
        return address
    try:
        return address if ipaddress.ip_address(host).is_global else None
    except ValueError:
        is_inside = "." not in host or host.endswith(_LOCAL_NAMES) or host.rsplit(".", 1)[1].isdecimal()
        return None if is_inside else address
