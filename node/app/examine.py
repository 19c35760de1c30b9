"""What ``doctor`` looks at where no node runs: each engine, without starting anything."""

from __future__ import annotations

import asyncio

from adapters import registry
from node.app.engines import embedder_of, generators_of, not_configured, weights_of
from node.app.storage import http_session
from node.core.clock import SystemClock
from node.core.errors import Misconfigured
from node.core.model import Check
from node.core.ports import Adapter, Embedder
from node.core.settings import Settings
from node.ipfs import kubo_doctor
from node.models.embedders.none import NoEmbedder
from node.pipeline.health import adapter_check, model_checks

EXAMINE_WAIT_S = 15.0
"""How long a person waits at most to hear that an embedder does not answer; a large model loads meanwhile."""


async def examine(settings: Settings, *, wait_s: float = EXAMINE_WAIT_S) -> list[Check]:
    """Look at each engine without starting a node: what ``doctor`` shows when none runs. ``wait_s``: for the
    embedder."""
    clock = SystemClock()
    embedder: Embedder = NoEmbedder("")
    try:
        embedder = await embedder_of(settings, clock, wait_s)
        check = embedder.health()
    except Misconfigured as exc:
        check = Check("embedder", "fail", f"the node does not start: {exc}")
    generators = generators_of(settings, await asyncio.to_thread(weights_of, settings), clock)
    http = http_session(settings)
    adapters: tuple[Adapter, ...] = ()
    try:
        adapters = registry.build(settings.adapters, clock, http)
        checks = [check, *map(adapter_check, adapters)]
        checks += await model_checks(generators)
        checks += [await probe() for probe in not_configured(generators)]
        checks += await kubo_doctor.examine(settings.ipfs.kubo_url, http, clock)
    finally:
        await embedder.close()
        for generator in generators:
            await generator.close()
        for adapter in adapters:
            await adapter.close()
        await http.close()
    return checks


async def examine_daemon(settings: Settings) -> list[Check]:
    """What works with the IPFS daemon of the settings; harmless for it."""
    http = http_session(settings)
    try:
        return await kubo_doctor.examine(settings.ipfs.kubo_url, http, SystemClock())
    finally:
        await http.close()
