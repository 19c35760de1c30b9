"""What the head remembers on disk."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from node.core import state_file
from node.core.errors import Rejected
from node.core.files import put
from node.core.ipld.cid import Cid

_STATE_VERSION = 1
_STATE_BYTES_MAX = 16 * 2**10
OLDER_MAX = 32
_log = logging.getLogger("neuroswarm.head")


@dataclass(frozen=True, slots=True)
class State:
    """``head``: the newest one; ``older``: those that it replaced and whose blocks are still here, newest
    first; ``given``: what the daemon has whole. ``sequence`` and ``change``: how far the head has followed
    the record store."""

    head: Cid | None = None
    older: tuple[Cid, ...] = ()
    given: Cid | None = None
    sequence: int = 0
    change: int = 0

    @property
    def held(self) -> set[Cid]:
        return {cid for cid in (self.head, *self.older, self.given) if cid is not None}


def save(path: Path, state: State) -> None:
    """Raises ``Unavailable``."""
    fields = {
        "v": _STATE_VERSION,
        "head": _text(state.head),
        "older": [str(cid) for cid in state.older],
        "given": _text(state.given),
        "sequence": state.sequence,
        "change": state.change,
    }
    put(path, orjson.dumps(fields))


def read(path: Path) -> State:
    """What ``save`` wrote. Anything else is no state: a new head is made. Raises ``Unavailable``."""
    try:
        return state_file.read_json(path, _STATE_BYTES_MAX, _parsed) or State()
    except Rejected as exc:
        _log.warning("event=head_again reason=%s", exc)
        return State()


def _parsed(fields: Any) -> State:
    if fields["v"] != _STATE_VERSION:
        raise Rejected("of another version")
    return State(
        head=_cid(fields["head"]),
        older=tuple(Cid.parse(text) for text in fields["older"][:OLDER_MAX]),
        given=_cid(fields["given"]),
        sequence=int(fields["sequence"]),
        change=int(fields["change"]),
    )


def _text(cid: Cid | None) -> str | None:
    return None if cid is None else str(cid)


def _cid(text: str | None) -> Cid | None:
    return None if text is None else Cid.parse(text)
