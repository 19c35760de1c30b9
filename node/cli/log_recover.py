"""The command ``neuroswarm log recover``: what an operator decides of a log after a restore or damage. No
node may run meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from pathlib import Path

from node import __version__
from node.audit.decisions import epochs
from node.audit.log.reader import CHECKPOINT
from node.cli.log import told
from node.core.errors import NotFound, Rejected
from node.core.record import DECISIONS, PUBLICATIONS
from node.core.settings import Settings


def recover(args: argparse.Namespace, settings: Settings) -> int:
    """Close the decision log as it is and begin a new one; or let the publications log go on."""
    from node.app.restored import let_go
    from node.app.storage import lock_data
    from node.audit.decisions.new_epoch import start_new_epoch
    from node.core.clock import SystemClock
    from node.core.identity import Identity
    from node.store.lock import identity_held

    directory, keys = Path(settings.governance_dir), Path(settings.data_dir) / "keys"
    if not keys.is_dir():  # the log's folder may be lost: the keys know what was signed
        raise NotFound(f"there is no {keys}: nothing to recover")
    with contextlib.ExitStack() as stack:
        lock_data(settings, stack)
        if args.publications:
            return _go_on(args, Path(settings.data_dir))
        clock = SystemClock()
        identity = Identity.load_or_create(keys, clock.now())
        stack.enter_context(identity_held(identity.root))
        begun = asyncio.run(
            start_new_epoch(
                directory,
                identity.decisions_origin,
                identity.log_signers,
                clock,
                keys=keys,
                policy=f"neuroswarm-{__version__}",
            )
        )
        let_go(Path(settings.data_dir), DECISIONS)
    previous = begun.previous
    lost = max(0, previous.size - begun.kept_size)
    shown = {
        "epoch": begun.number,
        "origin": begun.origin,
        "previous": {"origin": previous.origin, "size": previous.size, "root": previous.root},
        "kept_size": begun.kept_size,
        "lost": lost,
    }
    lines = [
        f"epoch {begun.number} has begun: {begun.origin}",
        f"  it follows {previous.origin}, last signed at {previous.size} entries",
    ]
    if lost:
        lines.append(f"  {lost} of them are not in the folder any more; the new log's first entry says so")
    return told(args, shown, lines)


def _go_on(args: argparse.Namespace, data_dir: Path) -> int:
    """The operator's word that nobody has seen more of the publications log than this folder holds. Raises
    ``Rejected`` where the keys know better."""
    from node.app.restored import held, let_go

    here = epochs.newest(data_dir / PUBLICATIONS / CHECKPOINT)
    signed = epochs.newest(data_dir / "keys" / f"{PUBLICATIONS}.signed")
    size = 0 if here is None else here.size
    if signed is not None and signed.size >= size and signed != here:
        raise Rejected(
            f"this node has signed {signed.size} publications, and {data_dir / PUBLICATIONS} holds {size}: "
            "peers drop a node that signs two histories; put the newer folder back"
        )
    was_held = PUBLICATIONS in held(data_dir)
    let_go(data_dir, PUBLICATIONS)
    line = "the publications log does not wait for anybody"
    if was_held:
        line = (
            f"the publications log goes on after its {size} entries, by your word that nobody has seen more"
        )
    return told(args, {"size": size, "was_held": was_held}, [line])
