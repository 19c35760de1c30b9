"""Who may be told what another asker was told a moment ago: failures, drafts, what sources said."""

from __future__ import annotations

from dataclasses import replace

from node.core.caller import Caller, private_scope
from node.core.clock import SystemClock
from node.core.model import Query
from node.pipeline.under_way import asker_key


def test_only_askers_who_see_the_same() -> None:
    clock = SystemClock()
    acme = Caller("acme", private_scope("acme"), key="a", sees_shared=False)
    query = Query("r", "why?", "why", acme, clock.now(), clock.monotonic() + 30)

    def key(caller: Caller) -> object:
        return asker_key(replace(query, caller=caller), None)

    assert key(acme) == key(replace(acme, key="another of the same tenant"))
    # The operator's key of a tenant reads what is shared; the tenant's others must not get it from there.
    assert key(acme) != key(replace(acme, sees_shared=True))
    assert key(acme) != key(Caller("beta", private_scope("beta"), key="a", sees_shared=False))
