"""``neuroswarm ingest FOLDER``: what a community has written, taken in, looked at, removed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from node.cli.desk import Do
from node.cli.terminal import Progress, say
from node.core.errors import Rejected

_WAIT_S = 1.0
_NOTES_SHOWN = 20


def folder(path: str, args: argparse.Namespace, do: Do) -> dict[str, Any]:
    """One folder to its end; the report. Raises ``NodeError``."""
    asked: dict[str, Any] = {"do": "ingest", "folder": str(Path(path).absolute()), "again": args.again}
    if args.scope is not None:
        asked["scope"] = args.scope
    name = do("documents", asked)["folder"]
    progress = Progress("reading", None)
    try:
        while True:
            runs = do("documents", {"do": "status", "folder": name, "wait_s": _WAIT_S})["runs"]
            if not runs:
                raise Rejected(f"{name}: the node was started anew; run the command again, it goes on there")
            [run] = runs
            progress.total = run["total"]
            progress.show(run["done"], f"{run['done']} of {run['total']}, {run['chunks']} chunks")
            if run["is_over"]:
                break
    finally:
        progress.end()
    if run["error"]:
        raise Rejected(f"{path}: {run['error']}")
    return dict(run)


def tell(run: Mapping[str, Any]) -> None:
    """The report for people."""
    counts = ("new", "changed", "unchanged", "missing", "failed", "left_out")
    said = ", ".join(f"{run[name]} {name.replace('_', ' ')}" for name in counts if run[name])
    say(f"{run['folder']}: {said or 'nothing there'}; {run['chunks']} chunks, scope {run['scope']}")
    for path, why in run["notes"][:_NOTES_SHOWN]:
        say(f"  {path}: {why}")
    if len(run["notes"]) > _NOTES_SHOWN:
        say(f"  … and {len(run['notes']) - _NOTES_SHOWN} more (--json shows them)")
    if run["samples"]:
        say("some of what is there now, for you to look at:")
    for path, title, words in run["samples"]:
        say(f"  {path} ({title}): {words}")
