"""The command ``neuroswarm feedback``: say that an answer was right, or wrong and what is right."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from node.cli.http import NOBODY, base, call
from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.settings import Settings


def register(
    commands: Any,
    parents: list[argparse.ArgumentParser],
    read_settings: Callable[[argparse.Namespace], Settings],
) -> None:
    """Declare ``feedback``. Sets ``run``: (arguments) -> exit status."""
    feedback = commands.add_parser(
        "feedback", parents=parents, help="say whether an answer was right, and what is right"
    )
    feedback.add_argument("what", metavar="CID|REQUEST_ID", help="as ask prints it")
    feedback.add_argument("verdict", choices=("valid", "invalid"))
    feedback.add_argument("--correction", help="what is right: it is stored as yours and served from now on")
    feedback.add_argument("--note", help="why; it stays on this node")
    feedback.set_defaults(run=lambda args: _feedback(args, read_settings(args)))


def _feedback(args: argparse.Namespace, settings: Settings) -> int:
    body: dict[str, Any] = {_kind(args.what): args.what, "verdict": args.verdict}
    body |= {name: text for name in ("correction", "note") if (text := getattr(args, name)) is not None}
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/feedback", body, settings.server.request_timeout_s + 5)
    except NOBODY as exc:
        print(f"no node answers at {address} ({exc}); start one with: neuroswarm serve", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(reply, indent=2, ensure_ascii=False))
    elif status != 200:
        print(f"{reply.get('title')}: {reply.get('detail')}", file=sys.stderr)
    elif reply.get("correction"):
        print(f"noted; served from now on: {reply['correction']}")
    else:
        print("noted" if reply.get("served") else "noted; it is not served again")
    return 0 if status == 200 else 1


def _kind(what: str) -> str:
    try:
        Cid.parse(what)
    except Rejected:
        return "request_id"
    return "cid"
