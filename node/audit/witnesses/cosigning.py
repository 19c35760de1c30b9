"""Others' witnesses: has each of our checkpoints cosigned, and learns from them what we have signed.

Promises:
1. At most one round is under way; the newest checkpoint is the one that is taken to all witnesses of the
   policy, and nobody's answer waits for that.
2. A quorum is what the policy says (C2SP tlog-policy); the newest checkpoint that has one lies as
   ``checkpoint.witnessed`` in the log's folder.
3. A log that was opened held is released once enough witnesses have said what they hold, and not before.
4. A witness that holds more than this log has, or another tree, stops our signing: what it showed is kept as
   evidence and ``health`` fails. Nothing but the operator's new epoch ends that.

``client`` speaks with one witness. Nothing here knows what leaves say.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from node.audit.decisions.origin import epoch_of
from node.audit.log.contradictions import Evidence
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.writer import Published, TileLog
from node.audit.tlog.policy import POLICY_BYTES_MAX, WitnessLine, WitnessPolicy
from node.audit.witnesses.client import Cosigned, Holds, WitnessClient
from node.audit.witnesses.ours import Submission
from node.core.clock import Clock
from node.core.errors import Misconfigured, NodeError, Rejected, Unavailable
from node.core.files import DISK, translated
from node.core.http import Http
from node.core.merkle import HASH_BYTES
from node.core.model import Check
from node.core.signed_note import Checkpoint, Note, Opened, Signature, Verifier

log = logging.getLogger("neuroswarm.witnesses")

_T = TypeVar("_T")

CHECK = "log:witnesses"
OWN = "own"
"""Kind of evidence: about our own log."""
LOOK_AGAIN_S = 5.0
"""Between two times of asking witnesses what they hold, while too few have said so."""
ROUND_AGAIN_S = 30.0
"""After a round without a quorum, where no newer checkpoint comes."""
SUBMISSIONS = 3
"""How often a witness is told a checkpoint in one round: its size may be unknown, and move once."""
_PROBLEMS_SHOWN = 4
_UNSHOWN = bytes(HASH_BYTES)
"""The root of a checkpoint that a witness says it holds and does not show: no tree has it, so it agrees with
nothing."""

Keys = Callable[[str], Sequence[Verifier]]
"""(origin) -> the keys that sign or have signed that log of ours."""


def load_policy(path: Path) -> WitnessPolicy:
    """The file of the setting ``log.witness_policy``. Blocking. Raises ``Misconfigured``."""
    what = f"log.witness_policy: {path}"
    try:
        with translated(f"{what} cannot be read", Misconfigured):
            policy = WitnessPolicy.parse(DISK.read(path, POLICY_BYTES_MAX))
    except Rejected as exc:
        raise Misconfigured(f"{what}: {exc}") from exc
    for line in policy.witnesses:
        if line.url is not None and not _is_address(line.url):
            raise Misconfigured(f"{what}: the address of {line.name} is not of the form http://host/prefix")
    return policy


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)


class _Contradiction(Rejected):
    """What a witness holds of our log is more than we have published, or something else."""


class _Overtaken(Rejected):
    """The witness has a newer checkpoint of ours already: somebody else brought it there."""


@dataclass(frozen=True, slots=True)
class _Ours:
    """A checkpoint of ours on its way, the log that it is of, and its tiles."""

    log: TileLog
    reader: LogReader
    checkpoint: Checkpoint
    note: Note


@dataclass(frozen=True, slots=True)
class _Round:
    """What became of the newest checkpoint that was taken around."""

    size: int
    cosigned_by: int
    has_quorum: bool


class Witnesses:
    """The witnesses of a log and of those that follow it. Event loop only.

    ``current`` gives the log that is written now; ``keys`` our own verifiers, past and present, by origin;
    ``http`` belongs to whoever built it; ``count`` is told what came of each submission: cosigned, failed,
    refused, overtaken or contradiction.
    """

    def __init__(
        self,
        policy: WitnessPolicy,
        current: Callable[[], TileLog],
        keys: Keys,
        http: Http,
        clock: Clock,
        *,
        timeout_s: float,
        evidence: Path,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._policy = policy
        self._current = current
        self._keys = keys
        self._clock = clock
        self._evidence = Evidence(evidence, DISK)
        self._count = count
        self._witnesses = tuple(
            WitnessClient(lines, url, http, clock, timeout_s=timeout_s)
            for url, lines in _by_url(policy).items()
        )
        self._known = tuple(line.verifier for line in policy.witnesses)
        self._reader: tuple[str, LogReader] | None = None
        self._newest: Published | None = None
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._is_released = False
        self._answered: set[WitnessClient] = set()
        self._problems: dict[WitnessClient, str] = {}
        self._contradiction = ""
        self._last: _Round | None = None
        self._quorum_size: int | None = None

    def start(self) -> None:
        """Begin: first what the witnesses hold, then a round for each publication."""
        self._task = asyncio.create_task(self._work(), name="witnesses")
        self._task.add_done_callback(self._ended)

    def published(self, published: Published) -> None:
        """A checkpoint to be cosigned; one that still waits is passed over for it. Told twice, as may happen
        at the start, it goes round once."""
        if published == self._newest:
            return
        self._newest = published
        self._wake.set()

    async def close(self) -> None:
        """End the round that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """The task goes on until it is cancelled: anything else is a fault of this program, and is said."""
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("asking witnesses has ended", exc_info=fault)
            self._contradiction = f"asking witnesses has ended by a fault of this program: {fault!r}"

    def health(self) -> Check:
        """Whether the newest checkpoint has its quorum; a contradiction fails."""
        if self._contradiction:
            return Check(CHECK, "fail", self._contradiction)
        if not self._is_released:
            said = "no checkpoint is signed until enough witnesses have said what they hold of this log"
            count = f"{len(self._answered)} of {len(self._witnesses)} have answered"
            return Check(CHECK, "warn", f"{said}: {count}{self._said()}")
        if self._last is None:
            return Check(CHECK, "pass", "no checkpoint was taken to them since the start")
        share = f"cosigned by {self._last.cosigned_by} of {len(self._known)}"
        size = self._last.size
        if self._last.has_quorum:
            return Check(CHECK, "pass", f"{share}, quorum held at size {size}", observed=size, unit="entries")
        since = "yet" if self._quorum_size is None else f"since size {self._quorum_size}"
        said = f"no quorum {since}: size {size} is {share}{self._said()}"
        return Check(CHECK, "warn", said, observed=self._quorum_size, unit="entries")

    def _said(self) -> str:
        problems = list(self._problems.values())[:_PROBLEMS_SHOWN]
        return f" ({'; '.join(problems)})" if problems else ""

    # --- the one task -----------------------------------------------------------------------------

    async def _work(self) -> None:
        await self._look()
        if self._newest is None and (before := self._current().published) is not None:
            self.published(before)  # what an earlier run left without cosignatures, perhaps
        while True:
            await self._due()
            self._wake.clear()
            published = self._newest
            if published is None or not published.size or self._contradiction:
                continue
            try:
                await self._round(published)
            except NodeError as exc:
                log.warning("the cosignatures of size %d were not kept: %s", published.size, exc)

    async def _due(self) -> None:
        """Wait for the next checkpoint, or where the last one has no quorum for a while only."""
        waits: set[asyncio.Task[Any]] = {asyncio.create_task(self._wake.wait())}
        if self._last is not None and not self._last.has_quorum and not self._contradiction:
            waits.add(asyncio.create_task(self._clock.sleep(ROUND_AGAIN_S)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _look(self) -> None:
        """Ask until enough witnesses have said what they hold, then let the log sign."""
        shown: list[Opened] = []
        while True:
            waiting = [one for one in self._witnesses if one not in self._answered]
            answers = await asyncio.gather(*(self._ask(one, self._held_by) for one in waiting))
            for one, held in zip(waiting, answers, strict=True):
                if held is not None:
                    self._answered.add(one)
                    shown += held
            answered = {key for one in self._answered for key in one.verifiers}
            if self._policy.satisfied(answered) or len(self._answered) == len(self._witnesses):
                break
            await self._clock.sleep(LOOK_AGAIN_S)
        await self._release(shown)

    async def _release(self, shown: Sequence[Opened]) -> None:
        tile_log = self._current()
        while not self._is_released:
            try:
                await tile_log.release([one.checkpoint for one in shown])
            except NodeError as exc:
                log.warning("the log is not ready to be compared with what witnesses hold: %s", exc)
            self._is_released = not tile_log.is_held or bool(tile_log.suspended)
            if not self._is_released:
                await self._clock.sleep(LOOK_AGAIN_S)
        if tile_log.suspended:
            for one in shown:
                await self._keep_evidence(tile_log, one)
            self._stop(tile_log.suspended)

    async def _round(self, published: Published) -> None:
        """Take one checkpoint to all witnesses. Raises ``NodeError`` where what they gave cannot be kept."""
        ours = self._ours(Note.parse(published.note))
        if ours is None:
            return
        cosigners: dict[Verifier, Signature] = {}
        has_quorum = self._policy.satisfied(())

        async def submit(witness: WitnessClient) -> Cosigned:
            return await self._submit(witness, ours)

        tasks = {asyncio.create_task(self._ask(one, submit)) for one in self._witnesses}
        try:
            while tasks:
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (cosigned := task.result()) is not None:
                        cosigners.update(cosigned.signatures)
                if not has_quorum and self._policy.satisfied(cosigners):
                    has_quorum = True  # those who are slower add theirs at the end of the round
                    await self._keep(ours, cosigners, has_quorum=True)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if cosigners:
            await self._keep(ours, cosigners, has_quorum=has_quorum)
        if has_quorum:
            self._quorum_size = ours.checkpoint.size
        self._last = _Round(ours.checkpoint.size, len(cosigners), has_quorum)

    def _ours(self, note: Note) -> _Ours | None:
        """None where the log has been closed since and another one follows."""
        tile_log, checkpoint = self._current(), Checkpoint.parse(note.text)
        if tile_log.origin != checkpoint.origin:
            return None
        if self._reader is None or self._reader[0] != checkpoint.origin:
            self._reader = (checkpoint.origin, LogReader(FolderSource(tile_log.directory)))
        return _Ours(tile_log, self._reader[1], checkpoint, note)

    async def _keep(self, ours: _Ours, cosigners: dict[Verifier, Signature], *, has_quorum: bool) -> None:
        note = ours.note.with_signatures(cosigners.values()).encode()
        await ours.log.add_cosignatures(note, is_enough=has_quorum)

    # --- one witness ------------------------------------------------------------------------------

    async def _ask(self, witness: WitnessClient, work: Callable[[WitnessClient], Awaitable[_T]]) -> _T | None:
        """What came of it, or None with the reason noted: others may do."""
        try:
            answer = await work(witness)
        except _Overtaken:
            self._count("overtaken")
            return None
        except _Contradiction as exc:
            self._count("contradiction")
            self._stop(str(exc))
            return None
        except NodeError as exc:
            self._count("refused" if isinstance(exc, Rejected) else "failed")
            if witness not in self._problems:
                log.warning("no cosignature: %s", exc)
            self._problems[witness] = str(exc)
            return None
        self._problems.pop(witness, None)
        return answer

    async def _held_by(self, witness: WitnessClient) -> list[Opened]:
        """The checkpoint that it holds of our log, or none. Where it does not show one, our newest checkpoint
        is submitted to it: every witness must judge that. Raises ``Unavailable``."""
        tile_log = self._current()
        shown = await witness.newest(tile_log.origin, self._keys(tile_log.origin))
        if shown is not None:
            witness.sizes[tile_log.origin] = shown.checkpoint.size
            return [shown]
        published = tile_log.published
        ours = None if published is None else self._ours(Note.parse(published.note))
        if ours is not None and ours.checkpoint.size:
            try:
                await self._submit(witness, ours)
            except Rejected as exc:
                log.warning("%s holds nothing of this log: %s", witness.name, exc)
        return []

    async def _submit(self, witness: WitnessClient, ours: _Ours) -> Cosigned:
        """Have one checkpoint cosigned. Raises ``Unavailable``, ``Rejected`` (it will not), ``_Overtaken``,
        ``_Contradiction``."""
        origin, size = ours.checkpoint.origin, ours.checkpoint.size
        for _ in range(SUBMISSIONS):
            old = witness.sizes.get(origin, 0)
            if old > size:
                await self._judge(witness, ours, old, f"holds {old} entries")
            proof = await ours.reader.consistency(old, size)
            answer = await witness.add_checkpoint(
                Submission(old, tuple(proof), ours.note.encode()), self._known
            )
            if isinstance(answer, Cosigned):
                witness.sizes[origin] = size
                self._count("cosigned")
                return answer
            if isinstance(answer, Holds):
                witness.sizes[origin] = answer.size
            elif answer.status == 422:
                await self._judge(witness, ours, old, f"holds another tree of {old} entries")
            else:
                keys = self._keys(origin)
                raise Rejected(_refusal(witness, answer.status, origin, keys[0].vkey if keys else ""))
        raise Unavailable(f"the size that {witness.name} holds changes from answer to answer")

    async def _judge(self, witness: WitnessClient, ours: _Ours, size: int, claim: str) -> None:
        """A witness says that our log contradicts itself. Look at what it shows, have the log compare that,
        and always raise: ``_Overtaken``, ``_Contradiction``, ``Unavailable`` (the witness is wrong)."""
        tile_log, origin = ours.log, ours.checkpoint.origin
        shown = await witness.newest(origin, self._keys(origin))
        if not self._is_released:
            raise Unavailable(f"{witness.name} {claim}, and has not shown them")
        if shown is None and ours.checkpoint.size < size <= tile_log.size():
            raise _Overtaken(f"{witness.name} has size {size} already")
        held = Checkpoint(origin, size, _UNSHOWN) if shown is None else shown.checkpoint
        await tile_log.release([held])
        if not tile_log.suspended:
            witness.sizes[origin] = held.size
            if held.size > ours.checkpoint.size:
                raise _Overtaken(f"{witness.name} has size {held.size} already")
            raise Unavailable(
                f"{witness.name} refuses a proof that holds against the checkpoint that it shows"
            )
        if shown is not None:
            await self._keep_evidence(tile_log, shown)
        raise _Contradiction(f"{witness.name} {claim}: {tile_log.suspended}")

    async def _keep_evidence(self, tile_log: TileLog, shown: Opened) -> None:
        case = f"{shown.checkpoint.size}-{shown.checkpoint.root.hex()[:16]}"
        notes = {"held": shown.note.encode()}
        if tile_log.published is not None:
            notes["ours"] = tile_log.published.note
        await asyncio.to_thread(self._evidence.keep, OWN, case, notes)

    def _stop(self, reason: str) -> None:
        """The log signs nothing any more."""
        self._contradiction = self._contradiction or reason
        log.error("%s", reason)


def _by_url(policy: WitnessPolicy) -> dict[str, list[WitnessLine]]:
    """The policy's lines with an address: a witness may have keys of two kinds behind one."""
    lines: dict[str, list[WitnessLine]] = {}
    for line in policy.witnesses:
        if line.url is not None:
            lines.setdefault(line.url.rstrip("/"), []).append(line)
    return lines


def _refusal(witness: WitnessClient, status: int, origin: str, vkey: str) -> str:
    give = f"give its operator the vkey {vkey}" if vkey else "give its operator the vkey"
    base, number = epoch_of(origin)
    unknown = f"does not know this log: {give}"
    if number > 1:
        unknown = (
            f"does not know epoch {number} of {base}, being no witness that follows a log from epoch to "
            f"epoch: {give}, or let no epoch end by itself (log.epoch_days = 0, log.epoch_bytes = 0)"
        )
    reasons = {
        403: f"knows another key for this log: {give}",
        404: unknown,
        400: "finds our submission malformed",
    }
    said = reasons.get(status, "answered as no witness does: is this the address of one?")
    return f"{witness.name} {said} (status {status}, {origin})"
