"""What works with the configured IPFS daemon, and what to type where something does not: for ``doctor``.

Promises: harmless. One block of a few bytes is put, pinned, read and taken away again; of everything else
only whether the daemon knows the call is asked, by leaving out what the call requires. Each call ends within
``TIMEOUT_S``. Nothing is raised: a daemon that is away is a fact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from node.core import http
from node.core.clock import Clock
from node.core.errors import NodeError, Unavailable
from node.core.http import Http
from node.core.ipld.cid import RAW, Cid
from node.core.model import Check
from node.ipfs import kubo
from node.ipfs.kubo import KuboBlockStore
from node.ipfs.kubo_client import Version

TIMEOUT_S = 5.0
_SAID_BYTES_MAX = 4 * 2**10
_PROBE = b"neuroswarm doctor was here\n"
_UNKNOWN, _FORBIDDEN = 404, 403


async def examine(url: str, session: Http, clock: Clock) -> list[Check]:
    """``ipfs:daemon``, and where one answers a check each for block, pin, dag, name, routing and pubsub."""
    first = await kubo.probe(url, clock)
    if not url or first.status != "pass":
        return [first]
    store = KuboBlockStore(url, session, clock, timeout_s=TIMEOUT_S)
    try:
        version = await store.connect()
    except NodeError as exc:
        return [first, Check("ipfs:block", "warn", str(exc))]
    calls = _Calls(store)
    rest = await asyncio.gather(*_known(calls, version), _pubsub(calls, version))
    return [first, *await _blocks(store, version), *rest]


async def _blocks(store: KuboBlockStore, version: Version) -> list[Check]:
    cid = Cid.of(_PROBE, RAW)
    dialect = "format and version" if version.wants_format else "cid-codec"
    try:
        await store.put(cid, _PROBE)
        if await store.get(cid) != _PROBE:
            raise Unavailable("the daemon gave other bytes for a block that it had just been given")
        block = Check("ipfs:block", "pass", f"put, read and deleted (block/put with {dialect})")
        try:
            await store.client.pin([cid])
            if not await store.client.pinned([cid]):
                raise Unavailable("the daemon does not show a pin that it had just been asked for")
            pin = Check("ipfs:pin", "pass", "pinned and unpinned")
        except NodeError as exc:
            pin = Check("ipfs:pin", "warn", f"blocks are not kept there: {exc}")
        await store.remove(cid)
    except NodeError as exc:
        with suppress(NodeError):
            await store.remove(cid)
        return [Check("ipfs:block", "warn", f"no copies are kept in the daemon: {exc}")]
    return [block, pin]


def _known(calls: _Calls, version: Version) -> list[Awaitable[Check]]:
    """What the daemon knows of the calls that are told by leaving out what they require."""
    names = (
        "publishes the head under this node's own name"
        if version.takes_records
        else "publishes the head under a key of the daemon; this node's own name is served by this node "
        "(Kubo 0.24 and later publish that too)"
    )
    providers = "finds and announces providers"
    no_providers = "neither finds nor announces providers; clients find this node by its address"
    return [
        calls.known("ipfs:dag", ["dag/import"], "takes CARs whole", "takes no CARs; blocks go one by one"),
        calls.known("ipfs:name", ["name/publish"], names, "publishes no names; this node serves its own"),
        calls.known("ipfs:routing", ["routing/findprovs", "dht/findprovs"], providers, no_providers),
    ]


async def _pubsub(calls: _Calls, version: Version) -> Check:
    status, said = await calls.ask("pubsub/ls")
    name = "ipfs:pubsub"
    if status == 200:
        return Check(name, "pass", "is on")
    if status == _UNKNOWN:
        return Check(name, "pass", "this daemon has none; it is not needed")
    if status in (0, _FORBIDDEN):
        return Check(name, "warn", said)
    remedy = (
        "" if version.is_js else "; to switch it on: ipfs config --json Pubsub.Enabled true, and restart it"
    )
    return Check(name, "pass", f"is off and not needed ({said}){remedy}")


class _Calls:
    """Asks a daemon which calls it knows."""

    def __init__(self, store: KuboBlockStore) -> None:
        self._store = store

    async def known(self, name: str, calls: Sequence[str], here: str, missing: str) -> Check:
        """Whether it knows one of ``calls``, each of which requires an argument that is left out."""
        for call in calls:
            status, said = await self.ask(call)
            if status in (0, _FORBIDDEN):
                return Check(name, "warn", said)
            if status != _UNKNOWN:
                return Check(name, "pass", f"{here} ({call})")
        return Check(name, "warn", missing)

    async def ask(self, call: str) -> tuple[int, str]:
        """The status of a call without arguments, and what the daemon said; 0 where it gave no answer."""
        try:
            with http.translated("the daemon"):
                async with asyncio.timeout(TIMEOUT_S):
                    status, said = await self._store.post(call, {}, _SAID_BYTES_MAX)
        except Unavailable as exc:
            return 0, f"{call} gave no answer ({exc}); run doctor again"
        if status == _FORBIDDEN:
            return status, (
                f"the daemon forbids {call}: see API.Authorizations and API.HTTPHeaders in its configuration"
            )
        return status, kubo.message_in(said)
