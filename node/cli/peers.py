"""The commands ``neuroswarm peers …``: whom this node polls, whom it trusts, what came of it.

They go through the node that runs on the data directory, by its local socket; where none runs, they open the
directory themselves, under its lock.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from node.cli.cache import ReadSettings, Subparsers, desk
from node.core.settings import Settings
from node.peers.rules.values import Level

_FAILED = frozenset({"failed", "dropped", "blocked"})
_PPM = 1_000_000
_REFUSED_SHOWN = 6
"""Reasons in a line; ``--json`` has all of them."""


def register(commands: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    """Declare ``peers`` and its commands. Each sets ``run``: (arguments) -> exit status."""
    peers = commands.add_parser(
        "peers", help="nodes that share answers with this one, and how far to trust them"
    )
    what = peers.add_subparsers(dest="what", required=True)

    listing = what.add_parser(
        "list", parents=parents, help="who is polled, what they are, what is held of them"
    )
    listing.set_defaults(run=lambda args: _list(args, read_settings(args)))

    add = what.add_parser("add", parents=parents, help="poll an address, and see who is there; trusts nobody")
    add.add_argument("address", help="http://host:port, or an IPNS name (k51…)")
    add.set_defaults(run=lambda args: _add(args, read_settings(args)))

    trust = what.add_parser("trust", parents=parents, help="say what a peer is to this node")
    trust.add_argument("who", help="its root (did:key:…), or an address where it has answered")
    trust.add_argument(
        "--level",
        choices=[level.value for level in Level],
        help="trusted: served; known: counts for a quorum, in a group; unknown: kept aside; blocked: let go "
        "(default: trusted; with --group alone what you have called it before, if anything)",
    )
    trust.add_argument("--group", help="its trust group: who belongs together has one vote; '' for none")
    trust.set_defaults(run=lambda args: _trust(args, read_settings(args)))

    sync = what.add_parser("sync", parents=parents, help="read what peers have published, now")
    sync.add_argument("address", nargs="?", help="only this one")
    sync.set_defaults(run=lambda args: _sync(args, read_settings(args)))

    remove = what.add_parser("remove", parents=parents, help="poll an address no more")
    remove.add_argument("address")
    remove.set_defaults(run=lambda args: _remove(args, read_settings(args)))

    evidence = what.add_parser(
        "evidence", parents=parents, help="signed notes by which a peer contradicts itself, for whoever asks"
    )
    evidence.add_argument("root", nargs="?", help="only of this root")
    evidence.set_defaults(run=lambda args: _evidence(args, read_settings(args)))


def _ask(settings: Settings, command: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    with desk(settings) as do:
        return do(command, asked)


def _show(args: argparse.Namespace, reply: Mapping[str, Any], lines: Sequence[str]) -> None:
    print(json.dumps(reply, indent=2) if args.json else "\n".join(map(_printable, lines)))


def _printable(line: str) -> str:
    """What a stranger may have written, as a terminal may have it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns; the last column is as wide as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


# --- list -----------------------------------------------------------------------------------------


def _list(args: argparse.Namespace, settings: Settings) -> int:
    reply = _ask(settings, "peers_list", {})
    own = reply["own"]
    lines = [
        f"this node  {own['root']}",
        f"published  {own['publications']['size']} entries, {own['ipns_name']}",
        "",
    ]
    if reply["peers"]:
        heads = ("LEVEL", "GROUP", "LAST ROUND", "RECORDS", "SIZE", "QUOTA", "ADDRESS", "ROOT")
        lines += table([heads, *(_row(peer, reply["quota"]) for peer in reply["peers"])])
    else:
        lines.append("no peers; add one: neuroswarm peers add http://host:port")
    if reply["more"]:
        lines.append(f"… and {reply['more']} more")
    _show(args, reply, lines)
    return 0


def _row(peer: Mapping[str, Any], quota: Mapping[str, Any]) -> tuple[str, ...]:
    usage = peer["usage"] or {"records": 0, "bytes": 0, "validations": 0}
    share = max(usage["records"] / max(1, quota["records"]), usage["bytes"] / max(1, quota["bytes"]))
    return (
        f"dropped: {peer['dropped']}" if peer["dropped"] else peer["level"],
        peer["group"] or "-",
        "not yet" if peer["last"] is None else peer["last"]["outcome"],
        str(usage["records"]),
        _size(usage["bytes"]),
        f"{share:.0%}",
        peer["address"] or "-",
        peer["root"] or "nobody has answered yet",
    )


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


# --- add and trust --------------------------------------------------------------------------------


def _add(args: argparse.Namespace, settings: Settings) -> int:
    reply = _ask(settings, "peers_add", {"address": args.address})
    address, root = reply["address"], reply["root"]
    lines = [f"{address} is polled from now on"]
    if reply["trouble"]:
        lines.append(f"nobody was met there yet: {reply['trouble']}")
    if root is not None:
        lines += [
            f"  root      {root}",
            f"  standing  {_standing(reply)}",
            "  meaning   " + _MEANING[reply["level"]],
        ]
    if root is not None and reply["level"] != Level.TRUSTED:
        lines += [
            "",
            f"To trust it means: {_TRUSTING.format(share=_share(reply['trust_ppm_if_trusted']))}",
            "First compare the root with what its operator told you by another way. Then type:",
            f"  neuroswarm peers trust {root} [--group NAME]",
        ]
    lines += _decision(reply)
    _show(args, reply, lines)
    return 0


_MEANING = {
    Level.TRUSTED: "its answers are served, within the limits of admission",
    Level.KNOWN: "its answers are served where enough trust groups say the same, or where they were "
    "recomputed here",
    Level.UNKNOWN: "its answers are kept aside and not served, but for those that were recomputed here",
    Level.BLOCKED: "nothing of it is fetched or held",
}
_TRUSTING = (
    "this node serves your users what it published, named as its own, at {share} of the confidence that it "
    "claims, never longer than this node's own answers of that class live, within the quota of one peer. "
    "What it withdraws goes at once. No question of yours is ever sent to it."
)


def _share(ppm: int) -> str:
    return f"{ppm / _PPM:.0%}"


def _standing(reply: Mapping[str, Any]) -> str:
    group = f"group {reply['group']}" if reply["group"] else "no group"
    dropped = f", dropped for good: {reply['dropped']}" if reply["dropped"] else ""
    return f"{reply['level']}, {group}{dropped}"


def _trust(args: argparse.Namespace, settings: Settings) -> int:
    asked = {"who": args.who, "level": args.level, "group": args.group}
    reply = _ask(settings, "peers_trust", asked)
    lines = [
        f"{reply['root']}",
        f"  standing  {_standing(reply)} (before: {_standing(reply['before'])})",
        "  meaning   " + _MEANING[reply["level"]],
        f"  records   {reply['usage']['records']} held, {_size(reply['usage']['bytes'])}",
        *_decision(reply),
    ]
    if reply["dropped"]:
        lines.append(
            "It stays dropped: it signed two histories, and one of them is a lie. Its operator has to begin "
            "anew with another root. The proof: neuroswarm peers evidence"
        )
    elif reply["level"] == Level.KNOWN and not reply["group"]:
        lines.append("In no group it counts for nothing: name one with --group")
    _show(args, reply, lines)
    return 0


def _decision(reply: Mapping[str, Any]) -> list[str]:
    """Where it stands in the decision log."""
    place = reply["decision"]
    return [] if place is None else [f"  decision  #{place['index']}"]


# --- sync, remove, evidence -----------------------------------------------------------------------


def _sync(args: argparse.Namespace, settings: Settings) -> int:
    reply = _ask(settings, "peers_sync", {"address": args.address})
    reports = reply["reports"]
    lines = [_report(report) for report in reports] or [
        "no peers; add one: neuroswarm peers add http://host:port"
    ]
    if not reply["complete"]:
        lines.append("not all was read in time; what was read stays, and the next round goes on from there")
    _show(args, reply, lines)
    return 1 if not reply["complete"] or any(report["outcome"] in _FAILED for report in reports) else 0


def _report(report: Mapping[str, Any]) -> str:
    said = f"{report['address']}: {report['outcome']}"
    if report["reason"]:
        said += f", {report['reason']}"
    if report["entries"]:
        said += (
            f"; {report['entries']} entries, {_size(report['bytes'])}: {report['admitted']} served, "
            f"{report['held']} kept aside, {report['retracted']} withdrawn"
        )
    refused = sorted(report["refused"].items(), key=lambda one: -one[1])
    if refused:
        listed = ", ".join(f"{count} {reason}" for reason, count in refused[:_REFUSED_SHOWN])
        said += f", refused: {listed}"
    return said


def _remove(args: argparse.Namespace, settings: Settings) -> int:
    reply = _ask(settings, "peers_remove", {"address": args.address})
    lines = [f"{reply['address']} is polled no more", *_decision(reply)]
    if reply["root"] is not None:
        lines.append(
            "what is held of its root stays until it ends; to let go of it: neuroswarm peers trust "
            f"{reply['root']} --level blocked"
        )
    if reply["source"] == "settings":
        lines.append(
            "it stands in the setting peers.urls: take it out there, or the next start adds it again"
        )
    _show(args, reply, lines)
    return 0


def _evidence(args: argparse.Namespace, settings: Settings) -> int:
    reply = _ask(settings, "peers_evidence", {"root": args.root})
    lines: list[str] = []
    for case in reply["cases"]:
        dropped = f" (dropped: {case['dropped']})" if case["dropped"] else ""
        lines.append(f"{case['kind']} {case['case']}: {case['root'] or 'a log of nobody known'}{dropped}")
        for role, note in sorted(case["notes"].items()):
            lines += [f"--- {role}", *note.splitlines()]
        lines.append("")
    if reply["more"]:
        lines.append(f"… and {reply['more']} cases more")
    _show(args, reply, lines or ["no evidence against anybody"])
    return 0
