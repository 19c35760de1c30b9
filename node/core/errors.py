"""What can fail, whether waiting helps, and nothing else.

Drivers translate foreign exceptions into this tree at once; ``api.errors`` is the one place that
turns it into HTTP. Expected outcomes of asking a source (nothing found, source failed) are values
in ``model``, not exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping


class NodeError(Exception):
    """Base of every error that this program raises on purpose. The message is for a person."""


class BadInput(NodeError):
    """The caller sent something unusable; names the field and, where there is one, the limit."""

    def __init__(self, message: str, *, field: str | None = None, limit: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.limit = limit


class NotFound(NodeError):
    """The thing named is not here (or not for this caller, which must look the same)."""


class Unauthenticated(NodeError):
    """Nobody knows who calls: no key, or one that does not hold."""


class Forbidden(NodeError):
    """The caller may not do this."""


class Conflict(NodeError):
    """Something else stands where the caller wanted to put something; ``standing`` describes it, in JSON."""

    def __init__(self, message: str, *, field: str, standing: Mapping[str, object]) -> None:
        super().__init__(message)
        self.field = field
        self.standing = standing


class Rejected(NodeError):
    """Integrity or policy says no: a hash, a signature, a schema or a limit does not hold."""


class Withdrawn(Rejected):
    """A record with these very bytes was withdrawn and deleted here, and stays so."""


class Unavailable(NodeError):
    """An engine, source or queue cannot serve now."""


class TimedOut(Unavailable):
    """The deadline of the call or of the whole request passed."""


class BrokeOff(Unavailable):
    """An engine ended or hung up in the middle of a request: asked again, it may well answer."""


class RateLimited(Unavailable):
    """A limit of ours or of the other side forbids the call before ``retry_after_s`` seconds."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BudgetSpent(RateLimited):
    """A key has used up what it may have in a day."""


class CorruptState(NodeError):
    """Something on disk is not what this program wrote; it says which file and what to do."""


class Damaged(CorruptState):
    """The bytes of a whole file are not those that were written: what is whole in it can be brought back."""


class DamagedLog(CorruptState):
    """A part of a transparency log is not what its signed checkpoint vouches for, and is not given out. The
    message names entries by their numbers and no path of this machine: it may be shown to everybody."""


class Misconfigured(NodeError):
    """A setting is unknown, malformed or contradicts another; the message is one sentence."""


class Refused(Unavailable):
    """Somebody whom a request was handed on to refused it or failed: the HTTP ``status`` and the error object
    (``message, type, param, code``) in which that is told to whoever asked."""

    def __init__(
        self, status: int, said: Mapping[str, object], *, retry_after_s: float | None = None
    ) -> None:
        super().__init__(str(said.get("message") or "the upstream failed"))
        self.status = status
        self.said = dict(said)
        self.retry_after_s = retry_after_s
