"""Check the closed logs before the current one: each epoch's first leaf names the log that it follows.

Promises: goes from the newest epoch backwards, each closed log is checked completely (``tlog.verify``) and
must be what the log after it says of it: origin, size and root. The current log thereby vouches for every one
before, whatever has become of the keys that signed them. Shares nothing with the writer; reads only.
Numbers between a log and the one it follows are of logs in which nothing was signed: each is said to be
absent, and must be.

An epoch that is not there (moved to an archive) is said to be absent, which is no fault; nothing before it
can be checked then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import orjson

from node.audit.decisions.origin import epoch_of, origin_of
from node.audit.log.reader import VKEY, VKEY_BYTES_MAX, LogReader, Source
from node.audit.log.verify import Progress, check_leaf, verify_log
from node.core import merkle
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint, Verifier

FOLDER = "epochs"
_FIRST_LEAVES = 8
"""The leaf that names the log before is the first, or stands behind leaves about the opening itself."""
_GAP_MAX = 1_024
_HEX_64 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class EpochReport:
    """A closed log. ``ok``: it holds, and is what the log after it says; else ``where`` and ``reason``, as in
    ``verify.Report``. ``entries`` were checked; ``lost``: how many more had been signed and are gone (a log
    that was closed because of that). ``is_absent``: it is not there, and nothing was checked. ``is_trusted``:
    a key that the caller trusts has signed it; else only the log after it vouches for it."""

    number: int
    origin: str
    ok: bool
    entries: int = 0
    lost: int = 0
    is_absent: bool = False
    is_trusted: bool = False
    where: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Previous:
    origin: str
    size: int
    root: bytes
    kept_size: int
    reason: str


def keys_of(data: bytes) -> list[Verifier]:
    """The verifier keys in a ``vkey`` file, one a line. Raises ``Rejected``."""
    try:
        lines = data.decode("utf-8").split()
    except UnicodeDecodeError as exc:
        raise Rejected("a verifier key is text in UTF-8") from exc
    if not lines:
        raise Rejected("it holds no verifier key")
    return [Verifier.from_vkey(line) for line in lines]


async def verify_epochs(
    source: Source,
    newest: Checkpoint,
    verifiers: Sequence[Verifier],
    below: Callable[[str], Source],
    *,
    progress: Progress | None = None,
) -> list[EpochReport]:
    """Check the closed logs before the one behind ``source``, which has been checked up to ``newest``.

    ``below`` gives the source of a closed log by its path (``epochs/1``). The newest comes first; the first
    one that does not hold or is absent ends the list. Raises ``Unavailable``, also in the moment in which an
    epoch begins.
    """
    reports: list[EpochReport] = []
    base, number = epoch_of(newest.origin)
    if number > 1 and not newest.size:
        raise Unavailable(f"{newest.origin} begins just now and names no log before it yet; look again")
    while number > 1:
        try:
            previous = await _previous(source, newest)
            follows = _followed(previous.origin, base, number)
            if number - follows > _GAP_MAX:
                raise Rejected(f"it follows {previous.origin}, more than {_GAP_MAX} epochs before it")
        except (NotFound, Rejected) as exc:
            where = f"the first entry of {newest.origin}"
            report = EpochReport(number - 1, origin_of(base, number - 1), False, where=where, reason=str(exc))
            return [*reports, report]
        for one in range(number - 1, follows, -1):
            reports.append(await _skipped(below(f"{FOLDER}/{one}"), one, origin_of(base, one)))
            if not reports[-1].ok:
                return reports
        number = follows
        source = below(f"{FOLDER}/{number}")
        report, found = await _one(source, number, origin_of(base, number), previous, verifiers, progress)
        reports.append(report)
        if not report.ok or found is None:
            break
        newest = found
    return reports


def _followed(origin: str, base: str, number: int) -> int:
    """The number of the log that epoch ``number`` follows by its own words; the one before it where they name
    no earlier log of the same base, which ``_differs`` then tells."""
    named, found = epoch_of(origin)
    return found if named == base and found < number else number - 1


async def _skipped(source: Source, number: int, origin: str) -> EpochReport:
    """An epoch that the log after it passes over: it must never have held a signed entry. Raises
    ``Unavailable``."""
    reason = ""
    try:
        found = Checkpoint.of_note(await source.read("checkpoint", NOTE_BYTES_MAX))
        if found.size:
            reason = f"it has {found.size} entries, and the log after it passes over it"
    except NotFound:
        pass  # it never signed anything: nothing is missing
    except Rejected as exc:
        reason = str(exc)
    if reason:
        return EpochReport(number, origin, False, where=f"{FOLDER}/{number}", reason=reason)
    return EpochReport(number, origin, True, is_absent=True)


async def _one(
    source: Source,
    number: int,
    origin: str,
    previous: _Previous,
    verifiers: Sequence[Verifier],
    progress: Progress | None,
) -> tuple[EpochReport, Checkpoint | None]:
    blank = EpochReport(number, origin, False, where=f"{FOLDER}/{number}")
    trusted = [Verifier(previous.origin, one.kind, one.public) for one in verifiers]
    try:
        own = keys_of(await source.read(VKEY, VKEY_BYTES_MAX))
        found = await verify_log(source, [*trusted, *own], progress=progress)
    except NotFound:
        return replace(blank, ok=True, is_absent=True, where=""), None
    except Rejected as exc:
        return replace(blank, reason=str(exc)), None
    checkpoint = found.checkpoint
    if not found.ok or checkpoint is None:
        where = f"{FOLDER}/{number}: {found.where}"
        return replace(blank, entries=found.entries, where=where, reason=found.reason), None
    report = replace(
        blank,
        ok=True,
        where="",
        entries=found.entries,
        lost=previous.size - checkpoint.size,
        is_trusted=any(one in trusted for one in found.signed_by),
    )
    problem = _differs(checkpoint, previous, origin)
    if problem:
        return replace(report, ok=False, lost=0, where=f"{FOLDER}/{number}", reason=problem), None
    return report, checkpoint


def _differs(found: Checkpoint, previous: _Previous, origin: str) -> str:
    """How a closed log is not what the log after it says of it; empty where it is."""
    if (found.origin, previous.origin) != (origin, origin):
        return f"its origin is {found.origin}; the log after it follows {previous.origin}"
    if found.size == previous.size:
        return "" if found.root == previous.root else "the log after it states another root of the same size"
    if found.size == previous.kept_size < previous.size and previous.reason == "recover":
        return ""  # rolled back, which is why it was closed; the log after it says so
    return f"it has {found.size} entries; the log after it states {previous.size}"


async def _previous(source: Source, newest: Checkpoint) -> _Previous:
    """What a log's first leaves say of the one before. Raises ``NotFound``, ``Rejected``, ``Unavailable``."""
    reader = LogReader(source)
    for index in range(min(_FIRST_LEAVES, newest.size)):
        [data] = await reader.entries(index, 1, newest.size)  # read again, so held to the root again
        proof = await reader.inclusion(index, newest.size)
        merkle.check_inclusion(merkle.leaf_hash(data), index, newest.size, proof, newest.root)
        check_leaf(index, data)
        entry = orjson.loads(data)["entry"]
        if entry.get("kind") == "policy" and entry.get("event") == "epoch":
            return _read(entry)
    raise Rejected("it does not name the log before it")


def _read(entry: dict[str, object]) -> _Previous:
    """Raises ``Rejected``."""
    told, kept, reason = entry.get("previous"), entry.get("kept_size"), entry.get("reason")
    if not isinstance(told, dict):
        raise Rejected("it does not say which log it follows")
    origin, size, root = told.get("origin"), told.get("size"), told.get("root")
    if not isinstance(origin, str) or type(size) is not int or size < 0:
        raise Rejected("it does not say which log it follows")
    if size and not (isinstance(root, str) and _HEX_64.fullmatch(root)):
        raise Rejected("it does not state the root of the log before it")
    return _Previous(
        origin,
        size,
        bytes.fromhex(root) if isinstance(root, str) and _HEX_64.fullmatch(root) else b"",
        kept if type(kept) is int else size,
        reason if isinstance(reason, str) else "",
    )
