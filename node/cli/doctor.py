"""``neuroswarm doctor``: what runs, what is missing, what to type next. Ten lines, worst first; ``--all`` and
``--json`` show every check."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from node import __version__
from node.cli.desk import desk
from node.cli.http import NOBODY, base, call
from node.cli.terminal import tell
from node.core import build
from node.core.settings import Settings

MARK = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}
LINES_MAX = 10
LINE_CHARS_MAX = 220
_NAMED_MAX = 4
_WORST_FIRST = ("fail", "warn", "pass")


class Row(NamedTuple):
    """One check. ``observed`` is what was measured, empty where nothing was."""

    status: str
    name: str
    output: str
    observed: str = ""

    @property
    def text(self) -> str:
        return f"{self.output} ({self.observed})" if self.observed else self.output


# --- what there is to say -------------------------------------------------------------------------


def _by_name(rows: Sequence[Row], name: str) -> Row | None:
    return next((row for row in rows if row.name == name), None)


def _model(rows: Sequence[Row]) -> str:
    said = [row.output for row in rows if row.name != "model" and "not configured" not in row.output]
    return f"answers ({said[0]})" if said else "answers"


def _sources(rows: Sequence[Row]) -> str:
    return f"all {len(rows)} can be asked: " + ", ".join(row.name.partition(":")[2] for row in rows)


def _first(rows: Sequence[Row]) -> str:
    return next((row.output for row in rows if row.output), "works")


def _stored(rows: Sequence[Row]) -> str:
    entries, embedder = _by_name(rows, "entries"), _by_name(rows, "embedder")
    if entries is not None and entries.output:
        return entries.output
    count = f"{entries.observed} answers, " if entries is not None else ""
    return f"{count}found by their meaning ({embedder.output if embedder is not None else 'all'})"


def _sharing(rows: Sequence[Row]) -> str:
    peers = _by_name(rows, "peers")
    return peers.text if peers is not None else _first(rows)


_GROUPS: tuple[tuple[str, tuple[str, ...], Callable[[Sequence[Row]], str]], ...] = (
    ("node", ("running",), _first),
    ("language model", ("model",), _model),
    (
        "stored answers",
        ("entries", "embedder", "reader", "semantic", "reembedding", "gate", "ipfs:blocks", "cache"),
        _stored,
    ),
    ("sources", ("adapter",), _sources),
    ("decision log", ("log", "witness"), lambda _: "every decision is entered"),
    ("sharing", ("peers", "ipns", "ipfs"), _sharing),
)
"""Lines of the short form: title, checks by the beginning of their name, what to say when all is well."""


def short(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """(status, title, text), at most ``LINES_MAX`` less one, worst first. A line's text is that of its worst
    check and says what it means and what to type; what else is wrong there is counted."""
    left = [row for row in rows if row.name not in ("python", "node")]
    lines: list[tuple[str, str, str]] = []
    for title, beginnings, well in _GROUPS:
        own = [
            row
            for row in left
            if any(row.name == one or row.name.startswith(f"{one}:") for one in beginnings)
        ]
        left = [row for row in left if row not in own]
        if own:
            lines.append(_line(title, own, well))
    lines += [(row.status, row.name, row.text) for row in left if row.status != "pass"]
    lines.sort(key=lambda line: _WORST_FIRST.index(line[0]) if line[0] in _WORST_FIRST else 0)
    return lines[: LINES_MAX - 1]


def _line(title: str, own: Sequence[Row], well: Callable[[Sequence[Row]], str]) -> tuple[str, str, str]:
    status = next((one for one in _WORST_FIRST if any(row.status == one for row in own)), "warn")
    if title == "language model" and _by_name(own, "model") is None:
        status = "pass"  # one engine answers: what the others lack changes nothing for who asks
    if status == "pass":
        return status, title, well([row for row in own if row.status == "pass"] or own)
    bad = [row for row in own if row.status == status]
    chief = _by_name(bad, "model") or bad[0]
    if title == "sources":
        names = [row.name.partition(":")[2] for row in bad]
        more = "" if len(names) <= _NAMED_MAX else f" and {len(names) - _NAMED_MAX} more"
        return status, title, f"{', '.join(names[:_NAMED_MAX])}{more}: {chief.output}"
    others = len(bad) - 1 if chief.name != "model" else 0
    return status, title, chief.output + (f" (and {others} more: --all)" if others else "")


# --- looking --------------------------------------------------------------------------------------


async def _examine(settings: Settings) -> list[Row]:
    """Look at each engine without a running node."""
    from node.app.examine import examine

    return [Row(check.status, check.name, check.output) for check in await examine(settings)]


async def _daemon(settings: Settings) -> list[Row]:
    """What works with the IPFS daemon."""
    from node.app.examine import examine_daemon

    return [Row(check.status, check.name, check.output) for check in await examine_daemon(settings)]


def _health(address: str) -> list[Row]:
    """What a running node says. Raises ``NOBODY`` and whatever an answer of another shape leads to."""
    _, health = call(f"{address}/health", None, 5)
    rows = [Row("pass", "running", f'a node answers at {address}; type: neuroswarm ask "what is IPFS?"')]
    for name, (check, *_) in health["checks"].items():
        observed = check.get("observedValue")
        rows.append(
            Row(str(check["status"]), name, check["output"], "" if observed is None else str(observed))
        )
    return rows


def _look(settings: Settings, address: str) -> list[Row]:
    rows = [
        Row("pass", "python", sys.version.split()[0]),
        Row("pass", "node", f"{__version__}, commit {build.commit()}"),
    ]
    try:
        rows += _health(address)
        if settings.ipfs.kubo_url:
            told = {row.name for row in rows}
            rows += [row for row in asyncio.run(_daemon(settings)) if row.name not in told]
    except (*NOBODY, LookupError, TypeError, AttributeError):
        said = f"no node answers at {address}; start one with: make run (or neuroswarm serve)"
        rows.append(Row("warn", "running", said))
        rows += asyncio.run(_examine(settings))
    return rows


def _fix(args: argparse.Namespace, settings: Settings) -> int:
    """Mend the data directory, which no node may use meanwhile; 1 where something is lost."""
    from node.app.fix import fix
    from node.store.salvage.files import DAMAGED

    fixed = asyncio.run(fix(settings, [Path(one) for one in args.sources or ()]))
    lines = [f"{outcome:<12}  {what:<20} {text}" for what, outcome, text in fixed.done]
    lines += [f"{'lost':<12}  {cid}" for cid in fixed.lost]
    if fixed.unnamed != 0:
        many = "an unknown number of" if fixed.unnamed is None else str(fixed.unnamed)
        lines.append(f"{'lost':<12}  {many} answers whose CIDs nobody knows")
    is_lost = bool(fixed.lost) or fixed.unnamed != 0
    if is_lost:
        lines.append(
            "the node answers without these, and its health is fail until they are back or you type: "
            "neuroswarm doctor --accept-loss"
        )
    aside = Path(settings.data_dir) / DAMAGED
    if aside.exists():
        lines.append(
            f"copies of damaged files lie in {aside}, with all that was in them: delete them in the end"
        )
    rows = [{"what": what, "outcome": outcome, "output": text} for what, outcome, text in fixed.done]
    tell(args, {"done": rows, "lost": fixed.lost, "unnamed": fixed.unnamed}, lines)
    return 1 if is_lost else 0


def _accept_loss(args: argparse.Namespace, settings: Settings) -> int:
    """Give up what is noted as lost."""
    with desk(settings) as do:
        done = do("accept_loss", {})
    said = f"given up: {done['why']}" if done["why"] else "nothing is noted as lost"
    tell(args, done, [*done["cids"], said])
    return 0


def _accept_clock(args: argparse.Namespace, settings: Settings) -> int:
    """The operator's word that the wall clock is right."""
    with desk(settings) as do:
        done = do("accept_clock", {})
    against = f"although {done['against']}" if done["against"] else "which nothing speaks against"
    tell(args, done, [f"the clock of this machine is believed, {against}; by it, it is {done['time']}"])
    return 0


def doctor(args: argparse.Namespace, settings: Settings) -> int:
    """Look, and tell; or mend, or take the operator's word."""
    if args.fix or args.sources:
        return _fix(args, settings)
    if args.accept_loss:
        return _accept_loss(args, settings)
    if args.accept_clock:
        return _accept_clock(args, settings)
    rows = _look(settings, base(args, settings))
    if args.all:
        lines = [f"{MARK.get(row.status, row.status)}  {row.name:<22} {row.text}" for row in rows]
    else:
        lines = [
            f"{MARK.get(status, status)}  {title:<18} "
            + (text if len(text) <= LINE_CHARS_MAX else f"{text[: LINE_CHARS_MAX - 1]}…")
            for status, title, text in short(rows)
        ]
        lines.append(f"{len(rows)} checks in all; type: neuroswarm doctor --all")
    shown = [{"status": row.status, "check": row.name, "output": row.text} for row in rows]
    tell(args, shown, lines)
    return 1 if any(row.status == "fail" for row in rows) else 0
