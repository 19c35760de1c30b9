"""The other process of the tests with a failing disk: a whole node whose jobs come every second, not every
minute, and whose epochs end soon."""

from __future__ import annotations

import sys

import node.app.disk
import node.app.node
import node.audit.decisions.keeper
import node.store.scan
from node.__main__ import main

TICK_S = 1
ENTRIES = 24
"""Of an epoch, at least."""


def hurry() -> None:
    for name in ("TICK_S", "EXPORT_EVERY_S", "INDEX_SAVE_EVERY_S", "SCRUB_EVERY_S"):
        setattr(node.app.node, name, TICK_S)
    node.app.node.MARK_EVERY_S = TICK_S
    node.app.node.FLUSH_USES_EVERY_S = TICK_S
    node.app.disk.TICK_S = TICK_S
    node.store.scan.EVERY_S = float(TICK_S)
    node.audit.decisions.keeper.ends_for = lambda epoch, _: "bytes" if epoch.entries >= ENTRIES else ""


if __name__ == "__main__":
    hurry()
    sys.exit(main())
