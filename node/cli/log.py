"""The commands ``neuroswarm log …``: look at a transparency log, check it, prove one entry.

They only read, and work beside a running node. Exit statuses, for scripts: 0 what was asked
for holds, 1 it does not hold, 2 it could not be looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from node.audit.decisions.epoch_check import FOLDER as EPOCHS
from node.audit.decisions.epoch_check import EpochReport, verify_epochs
from node.audit.log.reader import WITNESSED, LogReader
from node.audit.log.verify import Report, verify_log
from node.audit.tlog.policy import WitnessPolicy
from node.audit.tlog.proofs import RECEIPT_BYTES_MAX, Receipt, check_receipt
from node.audit.tlog.tiles import ENTRY_BYTES_MAX
from node.cli.log_location import (
    Place,
    Trust,
    file_bytes,
    names_of,
    newest,
    place_of,
    policy_of,
    trust_of,
    trust_without_place,
    with_epochs,
)
from node.cli.terminal import Progress, say
from node.core.errors import BadInput, NodeError, NotFound, Rejected
from node.core.settings import Settings
from node.core.signed_note import (
    NOTE_BYTES_MAX,
    Checkpoint,
    Note,
    NoTrustedSignature,
    Verifier,
    cosigned,
    open_checkpoint,
)

HOLDS, FAILS, UNSEEN = 0, 1, 2


def failed(args: argparse.Namespace, exc: NodeError, status: int) -> int:
    """Say that a command about a log came to nothing; the exit status."""
    if args.json:
        print(json.dumps({"ok": False, "status": status, "reason": str(exc)}, indent=2))
    say(f"neuroswarm: {exc}", is_error=True)
    return status


def told(args: argparse.Namespace, shown: Mapping[str, Any], lines: Sequence[str], *, ok: bool = True) -> int:
    """Tell what was found, for programs or for people; the exit status."""
    if args.json:
        print(json.dumps({"ok": ok, **shown}, indent=2))
    else:
        for line in lines:
            say(line)
    return HOLDS if ok else FAILS


# --- checkpoint -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """A checkpoint's witnesses by the policy: who of how many, and whether that is enough (None: no
    policy)."""

    cosigned: Mapping[str, int]
    known: int
    is_enough: bool | None

    def line(self) -> str:
        """For people."""
        if self.is_enough is None:
            return "no witness policy is set: nobody else is known to have seen this log"
        who = ", ".join(f"{name} ({_time(at)})" for name, at in sorted(self.cosigned.items())) or "none"
        enough = "enough" if self.is_enough else "NO QUORUM: the policy asks for more"
        return f"{len(self.cosigned)} of {self.known} witnesses: {who}; {enough}"


_NO_POLICY = Standing({}, 0, None)


def standing_of(note: bytes, policy: WitnessPolicy | None) -> Standing:
    """Who of the policy's witnesses has cosigned. Raises ``Rejected`` where a known witness's cosignature
    does not hold."""
    if policy is None:
        return _NO_POLICY
    parsed = Note.parse(note)
    named, present = {}, []
    for line in policy.witnesses:
        if times := cosigned(parsed, [line.verifier]):
            named[line.name] = max(times.values())
            present.append(line.verifier)
    return Standing(named, len(policy.witnesses), policy.satisfied(present))


def checkpoint(args: argparse.Namespace, settings: Settings) -> int:
    """The newest checkpoint."""
    policy = policy_of(args, settings)

    async def look(place: Place) -> tuple[bytes, Trust, bytes | None]:
        note = await newest(place)
        trust = await trust_of(args, settings, place, note)
        try:
            return note, trust, await place.source.read(WITNESSED, NOTE_BYTES_MAX)
        except NotFound:
            return note, trust, None

    with place_of(args, settings) as place:
        note, trust, witnessed = asyncio.run(look(place))
    if args.note:
        sys.stdout.buffer.write(note)
        sys.stdout.buffer.flush()
    opened = open_checkpoint(note, trust.keys)
    show_remark(trust)
    if args.note:
        return HOLDS
    checkpoint, standing = opened.checkpoint, standing_of(note, policy)
    older = None
    if witnessed is not None:
        with contextlib.suppress(NoTrustedSignature):  # from before a rotation
            older = open_checkpoint(witnessed, trust.keys).checkpoint
    shown = {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": base64.b64encode(checkpoint.root).decode(),
        "signed_by": names_of(opened.signed_by),
        "trust": trust.whose,
        "witnesses": dict(standing.cosigned),
        "quorum": standing.is_enough,
        "witnessed_size": None if older is None else older.size,
    }
    lines = [f"{name:<12} {shown[name]}" for name in ("origin", "size", "root")]
    lines.append(f"signed by    {', '.join(names_of(opened.signed_by))}")
    lines.append(f"witnesses    {standing.line()}")
    if older is not None and older.size != checkpoint.size:
        lines.append(f"witnessed    the newest checkpoint with quorum covers {older.size} entries")
    return told(args, shown, lines)


# --- verify ---------------------------------------------------------------------------------------


def verify(args: argparse.Namespace, settings: Settings) -> int:
    """Check a whole log."""
    since = None if args.since is None else file_bytes(args.since, NOTE_BYTES_MAX)
    policy = policy_of(args, settings)
    line = Progress("checking")

    async def check(place: Place) -> tuple[Report, Trust, list[EpochReport]]:
        note = await newest(place)
        trust = await trust_of(args, settings, place, note)
        report = await verify_log(place.source, trust.keys, since=since, progress=line.entries)
        epochs: list[EpochReport] = []
        if report.ok and report.checkpoint is not None:
            epochs = await verify_epochs(
                place.source, report.checkpoint, trust.keys, place.below, progress=line.entries
            )
        return report, trust, epochs

    try:
        with place_of(args, settings) as place:
            report, trust, epochs = asyncio.run(check(place))
    finally:
        line.end()
    show_remark(trust)
    looked_at: list[Report | EpochReport] = [report, *epochs]
    wrong = next((one for one in looked_at if not one.ok), None)
    standing = standing_of(report.note, policy) if wrong is None else _NO_POLICY
    where, reason = ("", "") if wrong is None else (wrong.where, wrong.reason)
    shown = _report_json(report, trust, epochs) | {
        "where": where,
        "reason": reason,
        "quorum": standing.is_enough,
    }
    lines = _report_lines(report, standing, epochs) if wrong is None else [f"NOT ok: {where}: {reason}"]
    return told(args, shown, lines, ok=wrong is None)


def _report_json(report: Report, trust: Trust, epochs: Sequence[EpochReport]) -> dict[str, Any]:
    known = report.checkpoint
    return {
        "origin": known and known.origin,
        "size": known and known.size,
        "root": known and base64.b64encode(known.root).decode(),
        "entries": report.entries,
        "signed_by": names_of(report.signed_by),
        "trust": trust.whose,
        "witnessed_size": None if report.witnessed is None else report.witnessed.size,
        "since": report.since and {"size": report.since.size, "is_signed": report.since_is_signed},
        "epochs": [asdict(epoch) for epoch in epochs],
    }


def _report_lines(report: Report, standing: Standing, epochs: Sequence[EpochReport]) -> list[str]:
    checkpoint = report.checkpoint
    if checkpoint is None:
        return []
    root = base64.b64encode(checkpoint.root).decode()
    lines = [
        f"ok: {checkpoint.size} entries, root {root}",
        f"  log        {checkpoint.origin}",
        f"  signed by  {', '.join(names_of(report.signed_by))}",
        f"  witnesses  {standing.line()}",
    ]
    if report.since is not None:
        unsigned = "" if report.since_is_signed else " (taken at its word: no trusted key has signed it)"
        lines.append(f"  continues  the older checkpoint of {report.since.size} entries{unsigned}")
    for epoch in epochs:
        said = f"ok: {epoch.entries} entries"
        if epoch.is_absent:
            said = "not here, so neither it nor what came before it was checked"
        elif epoch.lost:
            said += f"; {epoch.lost} more had been signed and are lost, as the log after it says"
        elif not epoch.is_trusted:
            said += "; vouched for by the log after it"
        lines.append(f"  epoch {epoch.number:<4} {said}")
    return lines


# --- prove, verify-receipt ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proven:
    """An entry, its receipt and the checkpoint that this is under, checked as a stranger would."""

    entry: bytes
    receipt: Receipt
    checkpoint: Checkpoint
    signed_by: tuple[Verifier, ...]
    trust: Trust


async def proven(
    args: argparse.Namespace, settings: Settings, place: Place, index: int, policy: WitnessPolicy | None
) -> Proven:
    """The entry ``index`` under the newest checkpoint, or under the newest with enough cosignatures where the
    policy asks for them. Raises ``Rejected`` (also: no such entry), ``NotFound``, ``Unavailable``,
    ``BadInput``."""
    note = await newest(place)
    trust = await trust_of(args, settings, place, note)
    size = open_checkpoint(note, trust.keys).checkpoint.size
    if index >= size:
        raise Rejected(f"the log has no entry {index} under its newest checkpoint ({size} entries)")
    if policy is not None and policy.requires_any and not standing_of(note, policy).is_enough:
        note = await _witnessed_over(place, index) or note
    receipt = await LogReader(place.source).receipt(index, note)
    entry = receipt.extra or b""
    opened = check_receipt(receipt, entry, trust.keys, None)
    return Proven(entry, receipt, opened.checkpoint, opened.signed_by, trust)


async def _witnessed_over(place: Place, index: int) -> bytes | None:
    """The checkpoint with quorum, if there is one that covers the entry."""
    try:
        note = await place.source.read(WITNESSED, NOTE_BYTES_MAX)
    except NotFound:
        return None
    return note if index < Checkpoint.of_note(note).size else None


def prove(args: argparse.Namespace, settings: Settings) -> int:
    """A receipt that an entry is in the log."""
    policy = policy_of(args, settings)
    with place_of(args, settings) as place:
        if args.epoch is not None:
            path = f"{EPOCHS}/{args.epoch}"
            place = Place(f"{place.name}/{path}", place.below(path), place.below)
        found = asyncio.run(proven(args, settings, place, args.index, policy))
    receipt, checkpoint = found.receipt, found.checkpoint
    show_remark(found.trust)
    data = receipt.encode()
    if args.out:
        _write(args.out, data)
    if args.leaf_out:
        _write(args.leaf_out, found.entry)
    if args.spicy:
        _write(args.spicy, found.entry)
        _write(f"{args.spicy}.spicy", receipt.encode_spicy())
    standing = standing_of(receipt.checkpoint, policy)
    if standing.is_enough is False:
        say(f"note: {standing.line()}", is_error=True)
    if not args.json and not args.out and not args.spicy:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return HOLDS
    shown = {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "index": receipt.index,
        "quorum": standing.is_enough,
        "leaf": leaf_json(found.entry),
        "receipt": data.decode("utf-8"),
    }
    where = args.out or f"{args.spicy}.spicy"
    said = f"ok: entry {receipt.index} of {checkpoint.origin} under {checkpoint.size} entries: {where}"
    return told(args, shown, [said])


def verify_receipt(args: argparse.Namespace, settings: Settings) -> int:
    """Check a receipt offline."""
    receipt = Receipt.parse(file_bytes(args.file, RECEIPT_BYTES_MAX))
    policy = policy_of(args, settings)
    if policy is not None:
        policy = with_epochs(policy, receipt.checkpoint)
    entry = receipt.extra if args.leaf is None else file_bytes(args.leaf, ENTRY_BYTES_MAX)
    if entry is None:
        raise BadInput("the receipt does not bring the entry; give its bytes with --leaf FILE", field="leaf")
    trust = trust_without_place(args, settings, receipt.checkpoint)
    if trust is None and (policy is None or not policy.logs):
        raise BadInput("this is not a log of this node: give the log's key with --vkey", field="vkey")
    opened = check_receipt(receipt, entry, () if trust is None else trust.keys, policy)
    standing = standing_of(receipt.checkpoint, policy)
    checkpoint = opened.checkpoint
    shown = {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "index": receipt.index,
        "signed_by": names_of(opened.signed_by),
        "trust": "policy" if trust is None else trust.whose,
        "witnesses": dict(standing.cosigned),
        "quorum": standing.is_enough,
        "leaf": leaf_json(entry),
    }
    lines = [
        f"ok: entry {receipt.index} is in {checkpoint.origin} (checkpoint of {checkpoint.size} entries)",
        f"  signed by  {', '.join(names_of(opened.signed_by))}",
        f"  witnesses  {standing.line()}",
    ]
    return told(args, shown, lines)


def leaf_json(entry: bytes) -> Any:
    """The entry as JSON where it is that, else its bytes in base64."""
    try:
        return json.loads(entry)
    except (ValueError, RecursionError):
        return {"base64": base64.b64encode(entry).decode()}


# --- anchor, recover ------------------------------------------------------------------------------


def anchor_status(args: argparse.Namespace, settings: Settings) -> int:
    """Each anchor and how far it has come."""
    from node.audit.anchors.files import AnchorFiles

    files = AnchorFiles(Path(settings.data_dir) / "anchors")
    found = files.load()
    is_on = bool(settings.log.anchor_calendars)
    rows = [
        {
            "state": one.state,
            "service": one.service,
            "origin": one.origin,
            "size": one.size,
            "digest": one.digest,
            "since": one.since.isoformat(),
            "queued_at": one.queued_at.isoformat(),
            "tries": one.tries,
            "next_at": one.next_at.isoformat(),
            "block_height": one.height,
            "block_hash": one.block_hash or None,
            "block_time": None if one.block_time is None else one.block_time.isoformat(),
            "error": one.error or None,
        }
        for one in found
    ]
    lines = [] if is_on else ["off: no calendar is named in log.anchor_calendars"]
    if is_on and not found:
        lines.append("nothing has been queued yet")
    for one in found:
        block = "" if one.height is None else f", block {one.height}"
        held = f": {one.error}" if one.error else ""
        lines.append(
            f"{one.state:<10} {one.size} entries of {one.origin}, {one.service}, "
            f"since {one.since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC{block}{held}"
        )
    lines += [f"{'damaged':<10} {files.directory / name}" for name in files.damaged]
    shown = {"is_on": is_on, "anchors": rows, "damaged": list(files.damaged)}
    return told(args, shown, lines, ok=not files.damaged)


# --- pieces ---------------------------------------------------------------------------------------


def show_remark(trust: Trust) -> None:
    """On standard error: what is unusual about the keys."""
    if trust.remark:
        say(f"note: {trust.remark}", is_error=True)


def _time(posix_s: int) -> str:
    try:
        return f"{datetime.fromtimestamp(posix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"second {posix_s}"


def _write(name: str, data: bytes) -> None:
    try:
        Path(name).write_bytes(data)
    except OSError as exc:
        raise BadInput(f"cannot write {name}: {exc.strerror or exc}", field="file") from exc
