"""How a failure of a source becomes a value that the walk can go on with. Pure."""

from __future__ import annotations

from node.core.breaker import BreakerOpen
from node.core.errors import Forbidden, NodeError, RateLimited, Rejected, TimedOut
from node.core.model import Failed


def failed(exc: NodeError) -> Failed:
    """The outcome for an error of a guarded call; its code is a stable word for the log."""
    if isinstance(exc, RateLimited):
        return Failed("rate_limited", str(exc), exc.retry_after_s)
    if isinstance(exc, BreakerOpen):
        return Failed("breaker_open", str(exc), exc.retry_after_s)
    if isinstance(exc, TimedOut):
        return Failed("timeout", str(exc))
    if isinstance(exc, Forbidden):
        return Failed("refused", str(exc))
    if isinstance(exc, Rejected):
        return Failed("bad_answer", str(exc))
    return Failed("unreachable", str(exc))
