"""Our witness: cosigns the checkpoints of logs that it knows (C2SP tlog-witness, tlog-cosignature).

Promises: a checkpoint is cosigned only if it grows consistently out of the last one cosigned for its origin;
the new one is on disk before anybody has the cosignature; checking and keeping are one piece of work, on one
thread, so that no submission can roll another one back, whatever is cancelled or killed; the times of the
cosignatures of one origin never go backwards. Two checkpoints of a log that contradict each other are kept.
Must not know: HTTP, where logs are, what their entries mean.

State: ``<directory>/<sha256 of the origin, hex>.checkpoint``, the last cosigned note with the signatures of
the log and ours, as it is served; ``<directory>/evidence/``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from node.audit.decisions.origin import epoch_of
from node.audit.log.contradictions import Evidence
from node.core.clock import Clock
from node.core.errors import CorruptState, NotFound, Rejected, Unavailable
from node.core.files import DISK, Files
from node.core.merkle import EMPTY_ROOT, HASH_BYTES, PROOF_HASHES_MAX, SIZE_MAX, check_consistency
from node.core.model import Check
from node.core.signed_note import (
    NOTE_BYTES_MAX,
    Checkpoint,
    Note,
    Opened,
    Signature,
    Signer,
    Verifier,
    decode_base64,
    open_checkpoint,
)

_HASH_CHARS = 44
"""A hash in base64."""
BODY_BYTES_MAX = NOTE_BYTES_MAX + PROOF_HASHES_MAX * (_HASH_CHARS + 1) + 64
"""The longest submission: a note, all proof lines, the line of the old size."""

CONFLICT = "conflict"
"""Kind of evidence: two checkpoints of one size with different roots, both signed by the log."""
UNPROVEN = "unproven"
"""Kind of evidence: a signed checkpoint that came with a proof that does not hold. Whoever can read a log can
submit its checkpoint with a wrong proof, so this alone says nothing against the log."""

_HELD_MAX = 65_536
"""Beyond so many epochs, each of which leaves a file, none is taken that is not named itself."""
_OLD = re.compile(rb"old (0|[1-9][0-9]{0,18})")
_SUFFIX = ".checkpoint"

Signers = Callable[[], Sequence[Signer]]
"""Our keys of the moment: a new one signs from the next checkpoint on. Called from the witness's thread."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The body of ``add-checkpoint``: the size that the witness is thought to hold, the proof from there, the
    checkpoint as a signed note."""

    old: int
    proof: tuple[bytes, ...]
    note: bytes

    def encode(self) -> bytes:
        lines = [b"old %d\n" % self.old, *(base64.b64encode(one) + b"\n" for one in self.proof), b"\n"]
        return b"".join(lines) + self.note

    @classmethod
    def parse(cls, body: bytes) -> Submission:
        """An untrusted body; the note is not looked into. Raises ``Rejected``."""
        head, separator, note = body.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        old = _OLD.fullmatch(first)
        if not separator or old is None or int(old[1]) > SIZE_MAX:
            raise Rejected(
                "a submission begins with the line 'old <size>' and has an empty line before the checkpoint"
            )
        if len(lines) > PROOF_HASHES_MAX:
            raise Rejected(f"a submission holds at most {PROOF_HASHES_MAX} proof lines")
        return cls(int(old[1]), tuple(_hash(line) for line in lines), note)


def _hash(line: bytes) -> bytes:
    try:
        value = decode_base64(line.decode("ascii"))
    except UnicodeDecodeError as exc:
        raise Rejected("a proof line is not base64") from exc
    if len(value) != HASH_BYTES:
        raise Rejected(f"a proof line is not the base64 of {HASH_BYTES} bytes")
    return value


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a submission came to: the status of tlog-witness, the body that goes with 200 (cosignature lines)
    and 409 (the size that is held), and for the others the reason."""

    status: int
    body: bytes = b""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Held:
    """The last checkpoint cosigned for an origin; ``time_s`` of its newest cosignature."""

    checkpoint: Checkpoint
    note: bytes
    time_s: int


def origin_hash(origin: str) -> str:
    """How a witness names an origin in its URLs."""
    return hashlib.sha256(origin.encode()).hexdigest()


class Witness:
    """One witness. All work is done by one thread of its own, in the order in which it came; how much waits
    is bounded by whoever lets callers in (the HTTP door)."""

    def __init__(
        self,
        directory: Path,
        signers: Signers,
        clock: Clock,
        *,
        count: Callable[[str], None] = lambda _: None,
        files: Files | None = None,
    ) -> None:
        """``count`` is told the status of each verdict; ``files`` does the file work."""
        self._directory = directory
        self._signers = signers
        self._clock = clock
        self._count = count
        self._logs: dict[str, tuple[Verifier, ...]] = {}
        self._held: dict[str, _Held] = {}
        self._damaged: dict[str, str] = {}
        self._files = files or DISK
        self._evidence = Evidence(directory / "evidence", self._files)
        self._cases: Counter[str] = Counter()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="witness")

    @classmethod
    async def open(
        cls,
        directory: Path,
        signers: Signers,
        logs: Iterable[Verifier],
        clock: Clock,
        *,
        count: Callable[[str], None] = lambda _: None,
        files: Files | None = None,
    ) -> Witness:
        """Read the state in ``directory``; ``logs`` are the keys whose checkpoints are cosigned. A damaged
        file stops the cosigning of its origin and nothing else. Raises ``Unavailable`` (folder unreadable).
        """
        witness = cls(directory, signers, clock, count=count, files=files)
        for verifier in logs:
            witness.add_log(verifier)
        await asyncio.to_thread(witness._load)
        return witness

    def add_log(self, verifier: Verifier) -> None:
        """Cosign for one more key of the log with the origin ``verifier.name``."""
        known = self._logs.get(verifier.name, ())
        if verifier not in known:
            self._logs[verifier.name] = (*known, verifier)

    async def add_checkpoint(self, body: bytes) -> Verdict:
        """Judge one submission of at most ``BODY_BYTES_MAX``. Raises ``Unavailable`` where the checkpoint
        could not be made durable (nothing is cosigned then), ``CorruptState`` where the origin's file is
        damaged."""
        loop = asyncio.get_running_loop()
        verdict = await loop.run_in_executor(self._thread, self._judge, body)
        self._count(str(verdict.status))
        return verdict

    def newest(self, origin: str) -> bytes:
        """The last note cosigned for the origin with this hash (hex). Raises ``NotFound``."""
        held = self._held.get(origin)
        if held is None:
            raise NotFound("this witness has cosigned no checkpoint of such a log")
        return held.note

    def health(self) -> Check:
        """How many logs are cosigned; a log caught in a contradiction is a warning."""
        if self._damaged:
            return Check("witness", "fail", "; ".join(self._damaged.values()))
        if self._cases[CONFLICT]:
            output = (
                f"{self._cases[CONFLICT]} times a log showed two different trees of one size: the signed "
                f"checkpoints are in {self._directory / 'evidence'}"
            )
            return Check("witness", "warn", output, observed=len(self._held), unit="logs cosigned")
        output = "" if self._logs else "no log is known to it; the log lines of log.witness_policy name them"
        if self._cases[UNPROVEN]:
            output = (
                f"{self._cases[UNPROVEN]} signed checkpoints came with proofs that do not hold; they are kept"
            )
        return Check("witness", "pass", output, observed=len(self._held), unit="logs cosigned")

    async def close(self) -> None:
        """End the thread, after what it has begun."""
        await asyncio.to_thread(self._thread.shutdown)

    # --- on the one thread ------------------------------------------------------------------------

    def _judge(self, body: bytes) -> Verdict:
        """The checks of tlog-witness in their order."""
        try:
            submission = Submission.parse(body)
            checkpoint = _checkpoint_of(submission.note)
        except Rejected as exc:
            return Verdict(400, reason=str(exc))
        verifiers = self._keys_of(checkpoint.origin)
        if not verifiers:
            return Verdict(404, reason="this witness does not know the log of this checkpoint")
        try:
            opened = open_checkpoint(submission.note, verifiers)
        except Rejected as exc:
            return Verdict(403, reason=str(exc))
        origin = origin_hash(checkpoint.origin)
        if origin in self._damaged:
            raise CorruptState(self._damaged[origin])
        if submission.old > checkpoint.size:
            return Verdict(
                400, reason=f"the old size {submission.old} is above the checkpoint's {checkpoint.size}"
            )
        held = self._held.get(origin)
        size = 0 if held is None else held.checkpoint.size
        if held is not None and checkpoint.size == size and checkpoint.root != held.checkpoint.root:
            self._keep(CONFLICT, checkpoint, {"held": held.note, "shown": submission.note})
        if submission.old != size:
            return Verdict(409, body=b"%d\n" % size)
        try:
            _check_growth(submission, checkpoint, held)
        except Rejected as exc:
            if held is not None and checkpoint.size > size:
                self._keep(UNPROVEN, checkpoint, {"held": held.note, "shown": submission.note})
            return Verdict(422, reason=str(exc))
        return self._cosign(origin, opened, held)

    def _keys_of(self, origin: str) -> tuple[Verifier, ...]:
        """The keys that are known for this log. A log that goes on in epochs keeps its key, whose name is
        that of the epoch that it signs: who knows the first epoch knows the later ones."""
        known = self._logs.get(origin, ())
        base, number = epoch_of(origin)
        if known or number == 1 or len(self._held) >= _HELD_MAX:
            return known
        return tuple(Verifier(origin, one.kind, one.public) for one in self._logs.get(base, ()))

    def _cosign(self, origin: str, opened: Opened, held: _Held | None) -> Verdict:
        """Sign, make durable, and only then answer."""
        if self._clock.doubt is not None:
            raise Unavailable("this witness's clock is in doubt, so nothing is cosigned; try again later")
        now_s = int(self._clock.now().timestamp())
        time_s = now_s if held is None else max(now_s, held.time_s)
        ours = self._signatures(opened.note.text, time_s)
        by_log = [one for one in opened.note.signatures if any(by.made(one) for by in opened.signed_by)]
        note = Note(opened.note.text, ()).with_signatures([*by_log, *ours]).encode()
        try:
            self._files.make_directories(self._directory, 0o700)
            self._files.replace(self._directory / f"{origin}{_SUFFIX}", note, 0o600)
        except OSError as exc:
            raise Unavailable(
                f"the checkpoint cannot be kept ({exc.strerror}), so it is not cosigned"
            ) from exc
        self._held[origin] = _Held(opened.checkpoint, note, time_s)
        if self._cases[UNPROVEN]:
            self._evidence.drop(UNPROVEN, _case(opened.checkpoint))
            self._recount()
        return Verdict(200, body=b"".join(one.line() for one in ours))

    def _signatures(self, text: bytes, time_s: int) -> list[Signature]:
        """Of each of our keys that can sign it: ML-DSA-44 takes no origin above 255 bytes, Ed25519 any."""
        made = []
        for signer in self._signers():
            with contextlib.suppress(Rejected):
                made.append(signer.sign(text, time_s))
        return made

    def _keep(self, kind: str, checkpoint: Checkpoint, notes: Mapping[str, bytes]) -> None:
        if self._evidence.keep(kind, _case(checkpoint), notes):
            self._recount()

    def _recount(self) -> None:
        self._cases = Counter({kind: len(self._evidence.cases(kind)) for kind in (CONFLICT, UNPROVEN)})

    def _load(self) -> None:
        try:
            for path in self._directory.glob(f"*{_SUFFIX}"):
                origin = path.name.removesuffix(_SUFFIX)
                try:
                    data = self._files.read(path, NOTE_BYTES_MAX)
                    self._held[origin] = self._read(origin, data)
                except Rejected as exc:
                    self._damaged[origin] = (
                        f"{path} is damaged ({exc}): nothing is cosigned for its log; put the newest "
                        "checkpoint with our cosignature in its place, from a backup or from the log itself"
                    )
            self._recount()
        except OSError as exc:
            raise Unavailable(
                f"the witness's folder {self._directory} cannot be read: {exc.strerror}"
            ) from exc

    def _read(self, origin: str, data: bytes) -> _Held:
        """A note that we kept. Our own keys may have changed since; where not, our word is checked."""
        note = Note.parse(data)
        checkpoint = Checkpoint.parse(note.text)
        if origin_hash(checkpoint.origin) != origin:
            raise Rejected("it is of another log")
        own = [signer.verifier for signer in self._signers()]
        times = [0]
        for signature in note.signatures:
            for verifier in own:
                if verifier.made(signature):
                    verifier.check(note.text, signature)
            if signature.name in {verifier.name for verifier in own}:
                times.append(int.from_bytes(signature.blob[:8], "big"))
        return _Held(checkpoint, data, max(times))


# --- rules ----------------------------------------------------------------------------------------


def _checkpoint_of(note: bytes) -> Checkpoint:
    """What a submitted note claims, its signatures not looked at. One without any signature line is taken
    apart too: what it lacks is a trusted signature. Raises ``Rejected``."""
    if note.endswith(b"\n\n"):
        return Checkpoint.parse(note[:-1])
    return Checkpoint.of_note(note)


def _check_growth(submission: Submission, new: Checkpoint, held: _Held | None) -> None:
    """Raise ``Rejected`` unless the checkpoint grows out of the one that is held."""
    if new.size == 0 and new.root != EMPTY_ROOT:
        raise Rejected("a checkpoint of size 0 has another root than the empty tree")
    root = EMPTY_ROOT if held is None else held.checkpoint.root
    check_consistency(submission.old, root, new.size, new.root, submission.proof)


def _case(checkpoint: Checkpoint) -> str:
    return f"{origin_hash(checkpoint.origin)[:16]}-{checkpoint.size}-{checkpoint.root.hex()[:16]}"
