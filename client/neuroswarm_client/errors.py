"""What can go wrong, by what the caller can do about it: problem documents (RFC 9457) as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NeuroSwarmError(Exception):
    """Base of all. ``status`` is the HTTP status, None where there was no reply; ``field`` and ``limit`` name
    what was wrong with the request; ``request_id`` is for the node's operator."""

    def __init__(
        self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.problem: Mapping[str, Any] = problem or {}
        self.field: str | None = self.problem.get("field")
        self.limit: str | None = self.problem.get("limit")
        self.request_id: str | None = self.problem.get("request_id")


class NotReached(NeuroSwarmError):
    """No node answers there, or not in time, or what answers is no node."""


class BadInput(NeuroSwarmError):
    """The request cannot be taken: ``field`` and ``limit`` say why."""


class NotAllowed(NeuroSwarmError):
    """The key is missing, unknown or revoked, or may not do this."""


class NotFound(NeuroSwarmError):
    """It is not there, or not for this caller."""


class Conflict(NeuroSwarmError):
    """Another answer stands there: ``standing`` describes it."""

    @property
    def standing(self) -> Mapping[str, Any]:
        found = self.problem.get("standing")
        return found if isinstance(found, Mapping) else {}


class Rejected(NeuroSwarmError):
    """It cannot be stored: a limit of the record format, or it is known to be invalid."""


class Unavailable(NeuroSwarmError):
    """The node cannot serve this now, or takes no more of it from this caller. ``retry_after_s``: when it is
    worth another try."""

    retry_after_s: float = 1.0


_KINDS: Mapping[int, type[NeuroSwarmError]] = {
    **dict.fromkeys((400, 405, 406, 408, 411, 413, 415, 421), BadInput),
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    422: Rejected,
    **dict.fromkeys((429, 503, 504), Unavailable),
}


def of_problem(status: int, problem: Mapping[str, Any], retry_after: str = "") -> NeuroSwarmError:
    """The exception for a reply that is not what was asked for."""
    said = str(problem.get("detail") or problem.get("title") or f"the node answered with status {status}")
    error = _KINDS.get(status, NeuroSwarmError)(said, status, problem)
    if isinstance(error, Unavailable) and retry_after.isdecimal():
        error.retry_after_s = float(retry_after)
    return error
