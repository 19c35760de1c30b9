"""Where a peer is polled, in one spelling: an http(s) origin, or an IPNS name in base 36. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from node.errors import Rejected
from node.ipfs.ipns import IpnsName

ADDRESS_CHARS_MAX = 256


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
