"""The commands ``neuroswarm memory show`` and ``neuroswarm memory forget``: what a running node remembers."""

from __future__ import annotations

import argparse
from urllib.parse import urlencode

from node.cli.http import NOBODY, NoNode, base, call
from node.cli.terminal import refused, tell
from node.core.settings import Settings

_TIMEOUT_S = 30.0


def show(args: argparse.Namespace, settings: Settings) -> int:
    """The lines, by file."""
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/v1/memory", None, _TIMEOUT_S)
    except NOBODY as exc:
        raise NoNode(address, exc) from exc
    if status != 200 and not args.json:
        return refused(reply)
    said = [f"{about}: {line}" for about, lines in reply.items() for line in lines] if status == 200 else []
    tell(args, reply, said or ["nothing is remembered"], is_ascii=False)
    return 0 if status == 200 else 1


def forget(args: argparse.Namespace, settings: Settings) -> int:
    """One line, a file, or all."""
    named = {name: text for name in ("about", "text") if (text := getattr(args, name)) is not None}
    address = base(args, settings)
    query = f"?{urlencode(named)}" if named else ""
    try:
        status, reply = call(f"{address}/v1/memory{query}", None, _TIMEOUT_S, method="DELETE")
    except NOBODY as exc:
        raise NoNode(address, exc) from exc
    if status != 200 and not args.json:
        return refused(reply)
    tell(args, reply, [f"{reply.get('forgotten')} lines forgotten"], is_ascii=False)
    return 0 if status == 200 and (reply["forgotten"] or not named.get("text")) else 1
