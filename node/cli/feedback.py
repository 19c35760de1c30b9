"""The command ``neuroswarm feedback``: say that an answer was right, or wrong and what is right."""

from __future__ import annotations

import argparse
from typing import Any

from node.cli.http import NOBODY, NoNode, base, call
from node.cli.terminal import refused, tell
from node.core.ipld.cid import Cid
from node.core.settings import Settings


def feedback(args: argparse.Namespace, settings: Settings) -> int:
    """Tell a running node."""
    body: dict[str, Any] = {_kind(args.what): args.what, "verdict": args.verdict}
    body |= {name: text for name in ("correction", "note") if (text := getattr(args, name)) is not None}
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/feedback", body, settings.server.request_timeout_s + 5)
    except NOBODY as exc:
        raise NoNode(address, exc) from exc
    if status != 200 and not args.json:
        return refused(reply)
    said = "noted" if reply.get("served") else "noted; it is not served again"
    if reply.get("correction"):
        said = f"noted; served from now on: {reply['correction']}"
    tell(args, reply, [said], is_ascii=False)
    return 0 if status == 200 else 1


def _kind(what: str) -> str:
    return "request_id" if Cid.find(what) is None else "cid"
