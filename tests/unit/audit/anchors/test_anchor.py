"""The states of an anchor, and the null that is used where no service is configured."""

from __future__ import annotations

from collections.abc import Awaitable

import aiohttp
import pytest

from node.audit.anchors.anchor import (
    ATTESTED,
    OFF,
    PENDING,
    QUEUED,
    STATES,
    SUBMITTED,
    VERIFIED,
    Anchor,
    NoAnchor,
    Unanswered,
)
from node.audit.anchors.opentimestamps import OpenTimestamps
from node.core.errors import Unavailable
from tests.manual_clock import ManualClock


def test_the_states_are_ordered_and_off_is_none_of_them() -> None:
    assert STATES == (QUEUED, SUBMITTED, PENDING, ATTESTED, VERIFIED)
    assert OFF not in STATES


async def test_the_null_does_nothing_and_says_off() -> None:
    null: Anchor = NoAnchor()
    calls: list[Awaitable[object]] = [
        null.submit(bytes(32)),
        null.upgrade(bytes(32), b""),
        null.read(bytes(32), b""),
        null.verify(bytes(32), b""),
    ]
    for call in calls:
        with pytest.raises(Unavailable, match="off") as caught:
            await call
        assert not isinstance(caught.value, Unanswered)
    assert (null.name, null.is_off, null.verifies) == (OFF, True, False)
    health = null.health()
    assert (health.status, health.observed) == ("pass", OFF)
    assert "log.anchor_calendars" in health.output
    assert not any(state in health.output for state in STATES)


async def test_opentimestamps_fits_the_interface_without_asking_anybody() -> None:
    async with aiohttp.ClientSession() as http:
        service: Anchor = OpenTimestamps(("http://127.0.0.1:9",), http, ManualClock())
        assert (service.name, service.is_off, service.verifies) == ("opentimestamps", False, False)
        assert service.health().status == "pass"
