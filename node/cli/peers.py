"""The commands ``neuroswarm peers …``: whom this node polls, whom it trusts, what came of it.

They go through the node that runs on the data directory, by its local socket; where none runs, they open the
directory themselves, under its lock.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from node.cli.desk import desk
from node.cli.terminal import size, tell
from node.core.settings import Settings
from node.peers.rules.values import Level

_FAILED = frozenset({"failed", "dropped", "blocked"})
_PPM = 1_000_000
_REFUSED_SHOWN = 6
"""Reasons in a line; ``--json`` has all of them."""


def _ask(settings: Settings, command: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    with desk(settings) as do:
        return do(command, asked)


def _printable(lines: Sequence[str]) -> list[str]:
    """What a stranger may have written, as a terminal may have it."""
    return [
        "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
        for line in lines
    ]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns; the last column is as wide as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


# --- list -----------------------------------------------------------------------------------------


def listed(args: argparse.Namespace, settings: Settings) -> int:
    """Who is polled, what they are, what is held of them."""
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
    tell(args, reply, _printable(lines))
    return 0


def _row(peer: Mapping[str, Any], quota: Mapping[str, Any]) -> tuple[str, ...]:
    usage = peer["usage"] or {"records": 0, "bytes": 0, "validations": 0}
    share = max(usage["records"] / max(1, quota["records"]), usage["bytes"] / max(1, quota["bytes"]))
    return (
        f"dropped: {peer['dropped']}" if peer["dropped"] else peer["level"],
        peer["group"] or "-",
        "not yet" if peer["last"] is None else peer["last"]["outcome"],
        str(usage["records"]),
        size(usage["bytes"]),
        f"{share:.0%}",
        peer["address"] or "-",
        peer["root"] or "nobody has answered yet",
    )


# --- add and trust --------------------------------------------------------------------------------


def add(args: argparse.Namespace, settings: Settings) -> int:
    """Poll an address, and see who is there."""
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
    tell(args, reply, _printable(lines))
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


def trust(args: argparse.Namespace, settings: Settings) -> int:
    """Say what a peer is to this node."""
    asked = {"who": args.who, "level": args.level, "group": args.group}
    reply = _ask(settings, "peers_trust", asked)
    lines = [
        f"{reply['root']}",
        f"  standing  {_standing(reply)} (before: {_standing(reply['before'])})",
        "  meaning   " + _MEANING[reply["level"]],
        f"  records   {reply['usage']['records']} held, {size(reply['usage']['bytes'])}",
        *_decision(reply),
    ]
    if reply["dropped"]:
        lines.append(
            "It stays dropped: it signed two histories, and one of them is a lie. Its operator has to begin "
            "anew with another root. The proof: neuroswarm peers evidence"
        )
    elif reply["level"] == Level.KNOWN and not reply["group"]:
        lines.append("In no group it counts for nothing: name one with --group")
    tell(args, reply, _printable(lines))
    return 0


def _decision(reply: Mapping[str, Any]) -> list[str]:
    """Where it stands in the decision log."""
    place = reply["decision"]
    return [] if place is None else [f"  decision  #{place['index']}"]


# --- sync, remove, evidence -----------------------------------------------------------------------


def sync(args: argparse.Namespace, settings: Settings) -> int:
    """Read what peers have published, now."""
    reply = _ask(settings, "peers_sync", {"address": args.address})
    reports = reply["reports"]
    lines = [_report(report) for report in reports] or [
        "no peers; add one: neuroswarm peers add http://host:port"
    ]
    if not reply["complete"]:
        lines.append("not all was read in time; what was read stays, and the next round goes on from there")
    tell(args, reply, _printable(lines))
    return 1 if not reply["complete"] or any(report["outcome"] in _FAILED for report in reports) else 0


def _report(report: Mapping[str, Any]) -> str:
    said = f"{report['address']}: {report['outcome']}"
    if report["reason"]:
        said += f", {report['reason']}"
    if report["entries"]:
        said += (
            f"; {report['entries']} entries, {size(report['bytes'])}: {report['admitted']} served, "
            f"{report['held']} kept aside, {report['retracted']} withdrawn"
        )
    refused = sorted(report["refused"].items(), key=lambda one: -one[1])
    if refused:
        listed = ", ".join(f"{count} {reason}" for reason, count in refused[:_REFUSED_SHOWN])
        said += f", refused: {listed}"
    return said


def remove(args: argparse.Namespace, settings: Settings) -> int:
    """Poll an address no more."""
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
    tell(args, reply, _printable(lines))
    return 0


def evidence(args: argparse.Namespace, settings: Settings) -> int:
    """Notes by which peers contradict themselves."""
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
    tell(args, reply, _printable(lines or ["no evidence against anybody"]))
    return 0
