"""The null that is used where no anchoring is configured."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from node.audit.anchors.anchor import OFF, STATES, Anchor, NoAnchor, Unanswered
from node.core.errors import Unavailable


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
