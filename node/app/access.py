"""Who may call a node: its keys, opened and kept; what the operator does with them; TLS from files."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from node.app.storage import Ground
from node.core.errors import BadInput, Misconfigured, NodeError
from node.core.record import format_time
from node.core.server_settings import Server
from node.store.api_keys import READ, WRITE, ApiKey, ApiKeys, Used, Wanted

log = logging.getLogger("neuroswarm.access")

FLUSH_EVERY_S = 10
_WANTED: Mapping[str, type] = {
    "tenant": str,
    "scopes": list,
    "name": str,
    "expires_in_s": int,
    "requests_per_day": int,
    "model_calls_per_day": int,
    "per_minute": int,
}


async def open_keys(ground: Ground) -> ApiKeys:
    """The keys of a data directory; what they used is kept at the end. Raises ``CorruptState``,
    ``Unavailable``."""
    keys = await asyncio.to_thread(ApiKeys.open, ground.data_dir, ground.clock)

    async def close() -> None:
        try:
            await keys.flush()
        except NodeError as exc:
            log.warning("event=use_of_keys_not_kept reason=%s", exc)

    ground.stack.push_async_callback(close)
    return keys


def may_listen(server: Server, keys: ApiKeys) -> None:
    """Raises ``Misconfigured`` where strangers could call and nobody would be asked for a key that exists."""
    if server.needs_keys and not keys.has_usable():
        raise Misconfigured(
            f"setting server.host is {server.host!r}: beyond loopback a node listens only where there are "
            "API keys; make one with: neuroswarm apikeys create --tenant NAME"
        )


def tls_of(server: Server) -> ssl.SSLContext | None:
    """From the files that the settings name; None without. Blocking. Raises ``Misconfigured``."""
    if not server.is_tls:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(server.tls_certificate, server.tls_key, password=_no_password)
    except (OSError, ValueError) as exc:  # an SSLError is an OSError
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        raise Misconfigured(
            f"settings server.tls_certificate and server.tls_key name no certificate and its key: {why}"
        ) from exc
    return context


def _no_password() -> str:
    raise ValueError("the key must not be encrypted: nobody is there to type its password")


@dataclass(frozen=True, slots=True)
class KeyDesk:
    """What the operator does with keys, as JSON."""

    keys: ApiKeys

    def commands(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]]:
        return {
            "apikeys_create": self.create,
            "apikeys_list": self.listed,
            "apikeys_revoke": self.revoke,
        }

    async def create(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"tenant", "scopes"?, "name"?, "expires_in_s"?, "requests_per_day"?, "model_calls_per_day"?,
        "per_minute"?}`` -> the key as listed, and ``"key"``, its text, this once. Raises ``BadInput``,
        ``Unavailable``."""
        given: dict[str, Any] = {}
        for name, value in asked.items():
            kind = _WANTED.get(name)
            if kind is None:
                known = ", ".join(_WANTED)
                raise BadInput(f"unknown field {name[:64]!r}; known are {known}", field=name[:64])
            if value is None:
                continue
            if type(value) is not kind:
                said = {int: "a whole number", str: "text", list: "a list"}[kind]
                raise BadInput(f"{name} must be {said}", field=name)
            given[name] = value
        lifetime_s = given.pop("expires_in_s", None)
        wanted = Wanted(
            **{"tenant": "", **given, "scopes": given.get("scopes", (READ, WRITE))}, lifetime_s=lifetime_s
        )
        text, key = await self.keys.create(wanted)
        log.info("event=key_made id=%s tenant=%s scopes=%s", key.id, key.tenant, ",".join(key.scopes))
        return {**_told(key, Used()), "key": text}

    async def listed(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{}`` -> ``{"keys": [{…}]}``, without secrets."""
        if asked:
            raise BadInput("apikeys_list takes nothing", field="apikeys_list")
        return {"keys": [_told(key, used) for key, used in self.keys.listed()]}

    async def revoke(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """``{"id"}`` -> the key as listed. Raises ``BadInput``, ``NotFound``, ``Unavailable``."""
        name = asked.get("id")
        if not isinstance(name, str) or asked.keys() - {"id"}:
            raise BadInput("apikeys_revoke takes id, a text", field="id")
        key = await self.keys.revoke(name)
        log.info("event=key_revoked id=%s tenant=%s", key.id, key.tenant)
        return _told(key, Used())


def _told(key: ApiKey, used: Used) -> dict[str, Any]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "scopes": list(key.scopes),
        "created": format_time(key.created),
        "expires": None if key.expires is None else format_time(key.expires),
        "revoked": None if key.revoked is None else format_time(key.revoked),
        "requests_per_day": key.requests_per_day,
        "model_calls_per_day": key.model_calls_per_day,
        "per_minute": key.per_minute,
        "requests_today": used.requests,
        "model_calls_today": used.model_calls,
    }
