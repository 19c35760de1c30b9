"""Settings of the door: where the node listens, who may call, and the bounds of a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urlsplit

from node.core.errors import Misconfigured
from node.core.peer_address import is_own_host
from node.core.setting_fields import between

Network: TypeAlias = IPv4Network | IPv6Network

_TOKEN = re.compile(r"[A-Za-z0-9-]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9a-fA-F:.]{2,45}")
_TAKEN_HEADERS = frozenset(
    {"host", "origin", "authorization", "content-type", "content-length", "connection"}
)


@dataclass(frozen=True, slots=True)
class Server:
    """Where the node listens, who may call, and the bounds of a request.

    ``max_chat_bytes``: of requests in the form of a chat, which bring all that was said before.
    ``idle_timeout_s``: how long a connection may take to send the head of a request, from its beginning or
    its last reply on; longer than a proxy in front keeps connections (nginx: 60 s). ``allowed_hosts``: names
    under which clients call, beside loopback's and the address that they reach. ``cors_origins``: pages of
    these origins may call. ``tls_certificate`` and ``tls_key``: PEM files. ``trusted_proxies``: addresses and
    networks of proxies, whose forwarding headers are believed; ``tenant_header`` and ``user_header``: where
    such a proxy says whom it has authenticated. ``keyless``: who calls from this machine, and not through a
    proxy, needs no key. ``shared_pool``: keyed callers see, and may store, what everybody here sees.
    ``requests_per_minute``: of a key that has no limit of its own; 0: none."""

    host: str = "127.0.0.1"
    port: int = between(0, 8642, 65_535)
    max_body_bytes: int = between(1_024, 65_536, 64 * 2**20)
    max_chat_bytes: int = between(1_024, 2**20, 64 * 2**20)
    request_timeout_s: float = between(1, 60.0, 600)
    concurrent_requests_max: int = between(1, 1_024, 100_000)
    connections_max: int = between(128, 2_048, 100_000)
    idle_timeout_s: float = between(1, 75.0, 3_600)
    shutdown_timeout_s: float = between(1, 20.0, 600)
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    tls_certificate: str = ""
    tls_key: str = ""
    trusted_proxies: tuple[str, ...] = ()
    tenant_header: str = ""
    user_header: str = ""
    keyless: bool = True
    shared_pool: bool = False
    requests_per_minute: int = between(0, 600, 1_000_000)

    @property
    def is_tls(self) -> bool:
        return bool(self.tls_certificate)

    @property
    def needs_keys(self) -> bool:
        """Whether nobody could be told from anybody else without keys: it listens beyond this machine and no
        proxy says who calls."""
        return not is_own_host(self.host) and not self.tenant_header


@lru_cache(4_096)
def is_within(address: str, networks: tuple[str, ...]) -> bool:
    """Whether an address in numbers lies in one of these networks."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return any((mapped or found) in _network(one) for one in networks)


@lru_cache(256)
def _network(text: str) -> Network:
    return ip_network(text, strict=False)


def check_server(server: Server) -> None:
    """What no single field can say. Raises ``Misconfigured``."""
    for host in server.allowed_hosts:
        if not _HOST.fullmatch(host) or host != host.lower():
            raise Misconfigured(
                f"setting server.allowed_hosts takes names in lower case without a port, such as "
                f"node.example, not {host[:80]!r}"
            )
    for origin in server.cors_origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or f"{parts.scheme}://{parts.netloc}" != origin.lower():
            raise Misconfigured(
                f"setting server.cors_origins takes origins such as https://app.example, not {origin[:80]!r}"
            )
    for text in server.trusted_proxies:
        try:
            _network(text)
        except ValueError as exc:
            raise Misconfigured(
                f"setting server.trusted_proxies takes addresses and networks such as 10.0.0.2 or "
                f"10.0.0.0/8, not {text[:80]!r}"
            ) from exc
    for key in ("tenant_header", "user_header"):
        name = getattr(server, key)
        if name and (not _TOKEN.fullmatch(name) or name.lower() in _TAKEN_HEADERS):
            raise Misconfigured(
                f"setting server.{key} must be the name of a header of its own, such as X-Tenant, "
                f"not {name[:80]!r}"
            )
    if server.tenant_header and not server.trusted_proxies:
        raise Misconfigured(
            "setting server.tenant_header is believed from server.trusted_proxies only, and there are none"
        )
    if server.user_header and not server.tenant_header:
        raise Misconfigured("setting server.user_header needs server.tenant_header beside it")
    if bool(server.tls_certificate) != bool(server.tls_key):
        raise Misconfigured("settings server.tls_certificate and server.tls_key go together")
