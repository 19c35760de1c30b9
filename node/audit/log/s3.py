"""An S3-compatible store as the place for closed epochs, by ``obstore`` (the extra ``s3``).

Requests are signed (SigV4), bounded in time, and tried again a few times; what the store says is cut and
holds no secret. Nothing is deleted. Must not know what the files mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from node.core.errors import Misconfigured, NotFound, Rejected, Unavailable

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

SCHEME = "s3://"
_RETRIES = 3
_SAID_CHARS = 200
_LISTED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Access:
    """How the store is reached. ``endpoint`` empty: Amazon's."""

    endpoint: str
    region: str
    key_id: str
    secret: str = field(repr=False)
    timeout_s: float = 30.0


class S3Archive:
    """``address`` is ``s3://bucket/prefix``. Raises ``Misconfigured``: the extra is not installed, no bucket,
    or no key."""

    def __init__(self, address: str, access: Access) -> None:
        self._address = address
        self._store = _store(address, access)

    @property
    def address(self) -> str:
        return self._address

    async def get(self, path: str, bytes_max: int) -> bytes:
        import obstore

        with self._translated(path):
            found = await obstore.get_async(self._store, path)
            if found.meta["size"] > bytes_max:
                raise Rejected(f"{self._address}/{path} has more than {bytes_max} bytes")
            return bytes(await found.bytes_async())

    async def sizes(self, below: str) -> Mapping[str, int]:
        import obstore

        found: dict[str, int] = {}
        with self._translated(below):
            async for some in obstore.list(self._store, below, chunk_size=_LISTED_AT_ONCE):
                found.update({one["path"]: one["size"] for one in some})
        return found

    async def put(self, files: Mapping[str, bytes]) -> None:
        import obstore

        async def put(path: str, data: bytes) -> None:
            with self._translated(path):
                await obstore.put_async(self._store, path, data, use_multipart=False)

        outcomes = await asyncio.gather(
            *(put(path, data) for path, data in files.items()), return_exceptions=True
        )
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except FileNotFoundError as exc:
            raise NotFound(f"there is no {path} in {self._address}") from exc
        except (BaseError, OSError, ValueError) as exc:
            said = " ".join(str(exc).split())[:_SAID_CHARS]
            raise Unavailable(f"{self._address} cannot be used now: {said}") from exc


def _store(address: str, access: Access) -> S3Store:
    parts = urlsplit(address)
    if not address.startswith(SCHEME) or not parts.netloc or parts.query or parts.fragment:
        raise Misconfigured(f"archive.to must be a folder or s3://bucket/prefix, not {address[:80]!r}")
    if not (access.key_id and access.secret):
        raise Misconfigured("archive.to names an S3 store: set archive.key_id and archive.secret as well")
    try:
        from obstore.store import S3Store
    except ImportError as exc:
        raise Misconfigured(
            "archive.to names an S3 store, for which obstore is needed: pip install 'neuroswarm[s3]'"
        ) from exc
    timeout = timedelta(seconds=access.timeout_s)
    config: S3Config = {
        "region": access.region,
        "access_key_id": access.key_id,
        "secret_access_key": access.secret,
        "virtual_hosted_style_request": not access.endpoint,
    }
    if access.endpoint:
        config["endpoint"] = access.endpoint
    return S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        config=config,
        client_options={
            "allow_http": access.endpoint.startswith("http://"),
            "timeout": timeout,
            "connect_timeout": timeout,
        },
        retry_config={"max_retries": _RETRIES, "retry_timeout": 2 * timeout},
    )
