"""The commands ``neuroswarm keys …``: who this node is, and a new key for one of its uses."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from node.cli.desk import desk
from node.cli.terminal import complain, tell
from node.core.settings import Settings

if TYPE_CHECKING:
    from node.core.identity import Identity

USES = ("decisions", "publications", "witness", "node")


def show(args: argparse.Namespace, settings: Settings) -> int:
    """Public keys and names."""
    from node.audit.decisions import epochs
    from node.audit.decisions.origin import origin_of
    from node.core.clock import SystemClock
    from node.core.identity import Identity

    directory = Path(settings.data_dir) / "keys"
    if not directory.is_dir():
        complain(f"no keys in {directory} yet; they are made at the first start")
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
    lines = [f"{name:<18} {value}" for name, value in shown.items()]
    lines += [
        f"{'overlap':<18} {one['use']} {one['vkey'] or one['key']} until {one['until']}" for one in overlap
    ]
    tell(args, {**shown, "overlap": overlap}, lines)
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


def rotate(args: argparse.Namespace, settings: Settings) -> int:
    """A new key for one use."""
    with desk(settings) as do:
        done = do("rotate", {"use": args.use, "drop_old": args.drop_old})
    lines = [f"the {done['use']} key is now {done['new']}"]
    if done["new_vkey"]:
        lines.append(f"  verifier key  {done['new_vkey']}")
    lines.append(f"  the old key   {done['old']} holds until {done['old_until']}")
    if done["decision"] is not None:
        lines.append(f"  decision      #{done['decision']['index']}")
    tell(args, done, lines)
    if done["decision"] is None and not args.json:
        complain("  this could not be entered in the decision log; see: neuroswarm doctor")
    return 0
