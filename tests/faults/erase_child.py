"""The other process of ``test_erase_kill.py``: the real command, which kills itself in an erasure.

    erase_child.py MOMENT COMMAND ...

``MOMENT`` is one of ``MOMENTS``; what happens before the erasure begins is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from node import __main__
from node.audit.decisions.log import DecisionLog
from node.core.files import DISK
from node.store import record_keys
from node.store.imported_blocks import WithForeign
from node.store.record_keys import RecordKeys
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.sqlite import SqliteRecords
from tests.faults.kill_kit import die

MOMENTS = (
    "decided",
    "first key overwritten",
    "keys overwritten",
    "keys synced",
    "keys withdrawn",
    "tombstone stored",
    "told one that keeps more",
    "log keys destroyed",
    "index about to be saved",
    "copies made anew",
    "verdict deleted",
    "second verdict deleted",
    "record about to be deleted",
    "record deleted",
    "file scrubbed",
    "all scrubbed",
)
"""In their order. At the first one the record is whole, and whoever wants it erased asks again; from the
second one on nobody can read it."""
_begun = False


def dying(owner: type, name: str, times: int = 1, *, is_before: bool = False) -> None:
    """Once the erasure has begun, the ``times``-th call is the last thing that is done, or is not done."""
    real: Callable[..., Awaitable[Any]] = getattr(owner, name)
    left = times

    async def call(*args: Any, **more: Any) -> Any:
        nonlocal left
        left -= _begun
        is_last = left == 0
        if is_last and is_before:
            die()
        value = await real(*args, **more)
        if is_last:
            die()
        return value

    setattr(owner, name, call)


def dying_in_keys(moment: str) -> None:
    """In the middle of what destroys the keys, before the store knows of it."""
    real, write = RecordKeys.destroy, DISK.write

    def destroy(self: RecordKeys, slots: Sequence[int]) -> None:
        if not _begun or not slots:
            real(self, slots)
            return
        if moment == "keys synced":
            real(self, slots)
            die()
        for slot in slots:
            write(self._fd, bytes(record_keys.KEY_BYTES), record_keys._offset(slot))
            if moment == "first key overwritten":
                break
        die()

    setattr(RecordKeys, "destroy", destroy)  # noqa: B010 - a method is replaced


def dying_among(moment: str) -> None:
    """Between those whom the eraser tells, what copies it has made anew, and what it has scrubbed."""
    real = Eraser.__init__

    async def end(*_: object) -> None:
        if _begun:
            die()

    def init(self: Eraser, *args: Any, **more: Any) -> None:
        real(self, *args, **more)
        match moment:
            case "told one that keeps more":
                self._forgets = (self._forgets[0], end, *self._forgets[1:])
            case "index about to be saved":
                self._copies = (end, *self._copies)
            case "copies made anew":
                self._copies = (*self._copies, end)
            case "file scrubbed":
                self._scrubs = (self._scrubs[0], end, *self._scrubs[1:])
            case "all scrubbed":
                self._scrubs = (*self._scrubs, end)

    setattr(Eraser, "__init__", init)  # noqa: B010 - as above


def arm(moment: str) -> None:
    """Have this process die there."""
    real = Eraser._erase

    async def erase(self: Eraser, *args: Any) -> Any:
        global _begun
        _begun = True
        if moment == "decided":
            die()
        return await real(self, *args)

    setattr(Eraser, "_erase", erase)  # noqa: B010 - as above
    match moment:
        case "decided":
            pass
        case "first key overwritten" | "keys overwritten" | "keys synced":
            dying_in_keys(moment)
        case "keys withdrawn":
            dying(SqliteRecords, "shred")
        case "tombstone stored":
            dying(Rememberer, "bury_at")
        case "log keys destroyed":
            dying(DecisionLog, "forget_record")
        case "verdict deleted":
            dying(WithForeign, "delete")
        case "second verdict deleted":
            dying(WithForeign, "delete", 2)
        case "record about to be deleted":
            dying(WithForeign, "delete", 3, is_before=True)
        case "record deleted":
            dying(WithForeign, "delete", 3)
        case _:
            dying_among(moment)


if __name__ == "__main__":
    moment, *sys.argv[1:] = sys.argv[1:]
    arm(moment)
    __main__.main()
