"""The commands ``neuroswarm keys …``: who this node is, and a new key for one of its uses."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from node.cli.cache import ReadSettings, Subparsers, desk
from node.core.settings import Settings

if TYPE_CHECKING:
    from node.core.identity import Identity

USES = ("decisions", "publications", "witness", "node")


def register(
    commands: Subparsers, parents: list[argparse.ArgumentParser], read_settings: ReadSettings
) -> None:
    """Declare ``keys`` and its commands. Each sets ``run``: (arguments) -> exit status."""
    what = commands.add_parser("keys", help="this node's identity").add_subparsers(dest="what", required=True)
    show = what.add_parser("show", parents=parents, help="public keys and names")
    show.set_defaults(run=lambda args: _show(args, read_settings(args)))
    rotate = what.add_parser(
        "rotate", parents=parents, help="a new key for one use; the old one signs on for 30 days"
    )
    rotate.add_argument("use", choices=USES)
    rotate.add_argument(
        "--drop-old",
        action="store_true",
        help="delete the old key and those in overlap now: somebody else may have them",
    )
    rotate.set_defaults(run=lambda args: _rotate(args, read_settings(args)))


def _show(args: argparse.Namespace, settings: Settings) -> int:
    from node.audit.decisions import epochs
    from node.audit.decisions.origin import origin_of
    from node.core.clock import SystemClock
    from node.core.identity import Identity

    directory = Path(settings.data_dir) / "keys"
    if not directory.is_dir():
        print(f"no keys in {directory} yet; they are made at the first start", file=sys.stderr)
        return 1
    identity = Identity.load_or_create(directory, SystemClock().now())
    epoch = epochs.current(Path(settings.governance_dir))
    origin = origin_of(identity.decisions_origin, epoch)
    shown = {
        "root": identity.root,
        "node": identity.node,
        "ipns_name": identity.ipns_name,
        "decisions_vkey": identity.log_vkey(origin),
        "publications_vkey": identity.vkey("publications"),
        "witness_vkey": identity.vkey("witness"),
    }
    if settings.log.witness_ml_dsa:
        both = identity.witness_signers(is_ml_dsa=True)
        shown["witness_ml_dsa_vkey"] = both[len(both) // 2].verifier.vkey
    overlap = _overlap(identity, origin)
    if args.json:
        print(json.dumps({**shown, "overlap": overlap}, indent=2))
        return 0
    for name, value in shown.items():
        print(f"{name:<18} {value}")
    for one in overlap:
        print(f"overlap            {one['use']} {one['vkey'] or one['key']} until {one['until']}")
    return 0


def _overlap(identity: Identity, origin: str) -> list[dict[str, str]]:
    """The keys that were rotated and still count, by use; ``vkey`` is empty for the node key, which signs no
    notes."""
    from node.core.record import format_time

    signers = {
        "decisions": identity.log_signers(origin),
        "publications": identity.log_signers(identity.publications_origin),
        "witness": identity.witness_signers(),
    }
    return [
        {
            "use": use,
            "key": key,
            "vkey": signers[use][number].verifier.vkey if use in signers else "",
            "until": format_time(until),
        }
        for use in USES
        for number, (key, until) in enumerate(identity.overlap(use), start=1)
    ]


def _rotate(args: argparse.Namespace, settings: Settings) -> int:
    with desk(settings) as do:
        done = do("rotate", {"use": args.use, "drop_old": args.drop_old})
    if args.json:
        print(json.dumps(done, indent=2))
        return 0
    print(f"the {done['use']} key is now {done['new']}")
    if done["new_vkey"]:
        print(f"  verifier key  {done['new_vkey']}")
    print(f"  the old key   {done['old']} holds until {done['old_until']}")
    if done["decision"] is None:
        print("  this could not be entered in the decision log; see: neuroswarm doctor", file=sys.stderr)
    else:
        print(f"  decision      #{done['decision']['index']}")
    return 0
