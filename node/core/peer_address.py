"""Where a peer is polled, in one spelling: an http(s) origin, or an IPNS name in base 36; and where somebody
else may send this node. Pure.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from node.core.errors import Rejected
from node.core.ipld.ipns import IpnsName

ADDRESS_CHARS_MAX = 256
_LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home.arpa")
_NAT64 = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as a network without IPv4 names them (RFC 6052)."""


def address_of(text: str) -> str:
    """``text`` as the address of a peer: ``https://peer.example:8642`` or ``k51…``. Raises ``Rejected``."""
    text = text.strip()
    if len(text) > ADDRESS_CHARS_MAX:
        raise Rejected(f"a peer's address has at most {ADDRESS_CHARS_MAX} characters")
    if "://" not in text:
        try:
            return IpnsName.parse(text.removeprefix("/ipns/")).text
        except Rejected as exc:
            raise Rejected(
                f"{text[:80]!r} is neither an http address (http://host:port) nor an IPNS name (k51…)"
            ) from exc
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as exc:
        raise Rejected(f"{text[:80]!r} is not an address") from exc
    host = (parts.hostname or "").lower()
    if parts.scheme not in ("http", "https") or not host or port == 0 or not text.isascii():
        raise Rejected(f"{text[:80]!r} is not an http or https address")
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise Rejected("a peer's address is scheme, host and port only, such as http://127.0.0.1:8642")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port is None else f":{port}")


def host_of(address: str) -> str:
    """The host of an address that ``address_of`` has spelled; empty for an IPNS name."""
    return urlsplit(address).hostname or "" if "://" in address else ""


def told_address(text: str, by: str = "") -> str | None:
    """``text`` as the address of a peer, where somebody else may send this node there; None where not.

    Nobody leads it into this machine or its network, by numbers or by names that mean nothing outside; what
    other names resolve to is for ``is_public`` to judge at each connection. ``by``: where the operator has
    found whoever tells; who is on this machine may name others there, by their numbers.
    """
    try:
        address = address_of(text)
    except Rejected:
        return None
    host = host_of(address)
    if not host or is_public(host) or (is_loopback(host) and is_loopback(host_of(by))):
        return address
    host = host.rstrip(".")
    is_inside = "." not in host or ":" in host or host.endswith(_LOCAL_NAMES)
    return None if is_inside or host.rpartition(".")[2].isdecimal() else address


def is_public(host: str) -> bool:
    """Whether this is an address in numbers of a single machine on the public internet. One that carries an
    IPv4 address for a translator is judged by that; one for a tunnel may come out anywhere and is not."""
    address = _in_numbers(host)
    if isinstance(address, IPv6Address):
        carried = address.ipv4_mapped
        if address in _NAT64:
            carried = IPv4Address(int(address) % 2**32)
        if address.sixtofour is not None or address.teredo is not None or address.is_site_local:
            return False
        address = carried or address
    return address is not None and address.is_global and not (address.is_multicast or address.is_reserved)


def is_name(host: str) -> bool:
    """Whether a host is written in other than numbers, and has to be looked up."""
    return _in_numbers(host) is None


def is_own_host(host: str) -> bool:
    """Whether ``host``, a name or an address in numbers, names this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether this is an address in numbers of this machine alone."""
    address = _in_numbers(host)
    return address is not None and address.is_loopback


def _in_numbers(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return None if "%" in host else ip_address(host)
    except ValueError:
        return None
