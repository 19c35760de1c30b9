"""The other process of ``test_erase_kill.py``: the real command, which kills itself in an erasure.

    erase_child.py MOMENT COMMAND ...

``MOMENT`` is one of ``MOMENTS``; what happens before the erasure begins is left alone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from node import __main__
from node.audit.decisions.log import DecisionLog
from node.store import record_keys
from node.store.imported_blocks import WithForeign
from node.store.record_keys import RecordKeys
from node.store.remember import Rememberer
from node.store.retention.erase import Eraser
from node.store.sqlite import SqliteRecords

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


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def dying_after(owner: type, name: str, times: int = 1) -> None:
    """Once the erasure has begun, the ``times``-th call is the last thing that is done."""
    real: Callable[..., Awaitable[Any]] = getattr(owner, name)
    left = times

    async def call(*args: Any, **more: Any) -> Any:
        nonlocal left
        value = await real(*args, **more)
        left -= _begun
        if left == 0:
            die()
        return value

    setattr(owner, name, call)


def dying_in_keys(moment: str) -> None:
    """In the middle of what destroys the keys, before the store knows of it."""
    real, write = RecordKeys.destroy, record_keys.DISK.write

    def destroy(self: RecordKeys, slots: Sequence[int]) -> None:
        if not _begun or not slots:
            return real(self, slots)
        if moment == "keys synced":
            real(self, slots)
            die()
        for slot in slots:
            write(self._fd, bytes(record_keys.KEY_BYTES), record_keys._offset(slot))
            if moment == "first key overwritten":
                break
        die()

    setattr(RecordKeys, "destroy", destroy)  # noqa: B010 - a method is replaced, which mypy would refuse


def dying_between_scrubs(moment: str) -> None:
    """Copies are made anew before the blocks go, and files are scrubbed behind them."""
    real = Eraser.__init__

    def init(self: Eraser, *args: Any, **more: Any) -> None:
        real(self, *args, **more)

        async def end() -> None:
            if _begun:
                die()

        copies, (first, *others) = self._copies, self._scrubs
        if moment == "index about to be saved":
            self._copies = (end, *copies)
        elif moment == "copies made anew":
            self._copies = (*copies, end)
        elif moment == "file scrubbed":
            self._scrubs = (first, end, *others)
        else:
            self._scrubs = (first, *others, end)

    setattr(Eraser, "__init__", init)  # noqa: B010


def dying_before_the_record_goes() -> None:
    """The verdicts are gone, the record is next."""
    real = WithForeign.delete
    deleted = 0

    async def delete(self: WithForeign, cid: Any) -> None:
        nonlocal deleted
        if _begun and deleted == 2:
            die()
        deleted += _begun
        await real(self, cid)

    setattr(WithForeign, "delete", delete)  # noqa: B010


def dying_when_told() -> None:
    real = Eraser.__init__

    def init(self: Eraser, *args: Any, **more: Any) -> None:
        real(self, *args, **more)
        first, *others = self._forgets

        async def forget(cids: Sequence[str]) -> None:
            await first(cids)
            if _begun:
                die()

        self._forgets = (forget, *others)

    setattr(Eraser, "__init__", init)  # noqa: B010


def arm(moment: str) -> None:
    """Have this process die there. Raises ``KeyError`` for an unknown moment."""
    real = Eraser._erase

    async def erase(self: Eraser, *args: Any) -> Any:
        global _begun
        _begun = True
        if moment == "decided":
            die()
        return await real(self, *args)

    setattr(Eraser, "_erase", erase)  # noqa: B010
    ways: dict[str, Callable[[], None]] = {
        "decided": lambda: None,
        "keys withdrawn": lambda: dying_after(SqliteRecords, "shred"),
        "tombstone stored": lambda: dying_after(Rememberer, "bury_at"),
        "told one that keeps more": dying_when_told,
        "log keys destroyed": lambda: dying_after(DecisionLog, "forget_record"),
        "verdict deleted": lambda: dying_after(WithForeign, "delete"),
        "second verdict deleted": lambda: dying_after(WithForeign, "delete", 2),
        "record about to be deleted": dying_before_the_record_goes,
        "record deleted": lambda: dying_after(WithForeign, "delete", 3),
    }
    for one in ("first key overwritten", "keys overwritten", "keys synced"):
        ways[one] = partial(dying_in_keys, one)
    for one in ("index about to be saved", "copies made anew", "file scrubbed", "all scrubbed"):
        ways[one] = partial(dying_between_scrubs, one)
    ways[moment]()


if __name__ == "__main__":
    moment, *sys.argv[1:] = sys.argv[1:]
    arm(moment)
    __main__.main()
