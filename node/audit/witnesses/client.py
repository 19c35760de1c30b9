"""One witness of others, at the address that the policy names (client side of C2SP tlog-witness).

Promises: only that address is asked, no redirect is followed, no compressed body is read; bodies are bounded,
a call ends within its time, one call at a time; a witness that keeps failing is left alone for a while (the
guard). A cosignature leaves only if it holds under a key of the policy over exactly what was submitted, and
bears a time. It does not know what answers mean for our log.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from urllib.parse import urlsplit

from node.audit.tlog.policy import WitnessLine
from node.audit.witnesses.ours import Submission, origin_hash
from node.core import http
from node.core.clock import Clock
from node.core.errors import Rejected, Unavailable
from node.core.guard import Guard
from node.core.http import Http
from node.core.limits import Limits
from node.core.merkle import SIZE_MAX
from node.core.signed_note import Note, Opened, Signature, Verifier, open_checkpoint

_T = TypeVar("_T")

ANSWER_BYTES_MAX = 128 * 2**10
BREAKER_FAILURES = 3
BREAKER_OPEN_S = 30.0

_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


@dataclass(frozen=True, slots=True)
class Cosigned:
    """The witness has it now: its cosignatures, by the policy's keys."""

    signatures: Mapping[Verifier, Signature]


@dataclass(frozen=True, slots=True)
class Holds:
    """It holds another size than the submission said (409)."""

    size: int


@dataclass(frozen=True, slots=True)
class Refused:
    """It will not cosign: 400, 403, 404, 422 or a status that the specification does not know."""

    status: int


Answer: TypeAlias = Cosigned | Holds | Refused


class WitnessClient:
    """A witness by its address; ``lines`` are the policy's lines with that address: there may be keys of two
    kinds behind it. Event loop only."""

    def __init__(
        self, lines: Sequence[WitnessLine], url: str, session: Http, clock: Clock, *, timeout_s: float
    ) -> None:
        self.name = " and ".join(line.name for line in lines)
        self.verifiers = tuple(line.verifier for line in lines)
        self.sizes: dict[str, int] = {}
        """What it holds, by origin, as far as it has told us."""
        self._url = url.rstrip("/")
        self._http = session
        self._clock = clock
        self._timeout_s = timeout_s
        self._guard = Guard(
            f"the witness {self.name}",
            clock,
            Limits(
                concurrency=1,
                attempts=1,  # the next checkpoint is the next attempt
                breaker_failures=BREAKER_FAILURES,
                breaker_open_s=BREAKER_OPEN_S,
            ),
        )

    async def add_checkpoint(self, submission: Submission, known: Sequence[Verifier]) -> Answer:
        """Submit a checkpoint of ours; cosignatures by any of the ``known`` keys are taken. Raises
        ``Unavailable``: it did not answer, or with what does not hold."""
        body = submission.encode()

        async def attempt(timeout_s: float) -> Answer:
            status, answer = await self._exchange("POST", "/add-checkpoint", body, timeout_s)
            if status == 200:
                return Cosigned(self._cosignatures(Note.parse(submission.note), answer, known))
            if status == 409:
                size = _SIZE.fullmatch(answer)
                if size is None or int(size[1]) > SIZE_MAX or int(size[1]) == submission.old:
                    raise Unavailable(f"{self.name} refuses the old size without naming another")
                return Holds(int(size[1]))
            return Refused(status)

        return await self._guarded(attempt)

    async def newest(self, origin: str, keys: Sequence[Verifier]) -> Opened | None:
        """The checkpoint that it shows for our log, signed by one of our ``keys`` and by the witness; None
        where it shows none there. Raises ``Unavailable``: it did not answer, or with what does not hold."""

        async def attempt(timeout_s: float) -> Opened | None:
            path = f"/{origin_hash(origin)}/checkpoint"
            status, answer = await self._exchange("GET", path, None, timeout_s)
            if status != 200:
                return None
            try:
                opened = open_checkpoint(answer, [*keys, *self.verifiers])
            except Rejected as exc:
                raise Unavailable(f"{self.name} shows a checkpoint that does not hold: {exc}") from exc
            if opened.checkpoint.origin != origin or not set(self.verifiers) & set(opened.signed_by):
                raise Unavailable(
                    f"{self.name} shows a checkpoint that it has not cosigned, or of another log"
                )
            return opened

        return await self._guarded(attempt)

    # --- the wire ---------------------------------------------------------------------------------

    async def _guarded(self, attempt: Callable[[float], Awaitable[_T]]) -> _T:
        answered = await self._guard.call(
            attempt,
            deadline=self._clock.monotonic() + self._timeout_s,
            attempt_timeout_s=self._timeout_s,
        )
        return answered.value

    def _cosignatures(
        self, note: Note, lines: bytes, known: Sequence[Verifier]
    ) -> Mapping[Verifier, Signature]:
        """What the answer adds to the checkpoint; one known key's line that does not hold spoils it all."""
        try:
            signatures = Note.parse(note.text + b"\n" + lines).signatures
            found: dict[Verifier, Signature] = {}
            for signature in signatures:
                for verifier in known:
                    if verifier.made(signature):
                        if not verifier.check(note.text, signature):
                            raise Rejected("a cosignature bears no time")
                        found[verifier] = signature
        except Rejected as exc:
            raise Unavailable(f"{self.name} gave a cosignature that does not hold: {exc}") from exc
        if not set(self.verifiers) & set(found):
            raise Unavailable(f"{self.name} answered without a cosignature by its key of the policy")
        return found

    async def _exchange(
        self, method: str, path: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, bytes]:
        """One request: the status below 500, and the body where it matters."""
        headers = {} if body is None else {"Content-Type": "text/plain; charset=utf-8"}
        with http.translated(f"{self.name} at {self._where}"):
            async with await http.request(
                self._http, method, self._url + path, data=body, headers=headers
            ) as response:
                status = response.status
                if status == 429 or (status >= 500 and status != 501):
                    raise http.failure(self.name, status, None, self._clock)
                if status not in (200, 409):
                    return status, b""
                return status, await http.body(self.name, response, ANSWER_BYTES_MAX, refuse=Unavailable)

    @property
    def _where(self) -> str:
        return urlsplit(self._url).netloc.rpartition("@")[2]
