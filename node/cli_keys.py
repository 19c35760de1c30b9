"""The commands ``neuroswarm keys …``: who this node is, and a new key for one of its uses."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from node.cli_cache import ReadSettings, Subparsers, desk
from node.settings import Settings

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
        "--drop-old", action="store_true", help="delete the old key now: somebody else may have it"
    )
    rotate.set_defaults(run=lambda args: _rotate(args, read_settings(args)))


def _show(args: argparse.Namespace, settings: Settings) -> int:
    from node.clock import SystemClock
    from node.governance import epochs
    from node.identity import Identity

    directory = Path(settings.data_dir) / "keys"
    if not directory.is_dir():
        print(f"no keys in {directory} yet; they are made at the first start", file=sys.stderr)
        return 1
    identity = Identity.load_or_create(directory, SystemClock().now())
    epoch = epochs.current(Path(settings.governance_dir))
    shown = {
        "root": identity.root,
        "node": identity.node,
        "ipns_name": identity.ipns_name,
        "decisions_vkey": identity.log_vkey(epochs.origin_of(identity.decisions_origin, epoch)),
        "publications_vkey": identity.publications_vkey,
        "witness_vkey": identity.witness_vkey,
    }
    print(json.dumps(shown, indent=2) if args.json else "\n".join(f"{k:<18} {v}" for k, v in shown.items()))
    return 0


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
