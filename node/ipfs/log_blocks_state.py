"""How far the blocks of a log have come, on disk."""

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

OLDER_MAX = 32
"""More than ``KEPT_S / HASTENED_EVERY_S``: only frequent restarts can drop a head sooner."""
GIVEN_OLDER_MAX = 2 * OLDER_MAX
_STATE_VERSION = 3
_STATE_BYTES_MAX = 16 * 2**10
_CIDS = ("page", "head", "given")
_LISTS = ("older", "given_older")
_log = logging.getLogger("neuroswarm.log_blocks")


@dataclass(frozen=True, slots=True)
class State:
    """``page``: what the next head follows; ``pages``: how many pages of this origin lead up to it.
    ``head`` is the newest, ``older`` are those that it replaced and whose blocks are still here, newest
    first. ``given`` is the last one that the daemon has whole, ``given_older`` those that it still has.
    ``is_lean``: no block is stored that the folder makes."""

    origin: str = ""
    pages: int = 0
    page: Cid | None = None
    head: Cid | None = None
    older: tuple[Cid, ...] = ()
    given: Cid | None = None
    given_older: tuple[Cid, ...] = ()
    is_lean: bool = True

    @property
    def held(self) -> set[Cid]:
        """The heads whose blocks must not be deleted."""
        named = (self.head, *self.older, self.given, *self.given_older)
        return {cid for cid in named if cid is not None}

    def anew(self) -> State:
        """A list that is made from its beginning; what there was is only replaced."""
        return State(
            older=first(OLDER_MAX, self.head, *self.older),
            given_older=first(GIVEN_OLDER_MAX, self.given, *self.given_older),
            is_lean=self.is_lean,
        )


def first(most: int, *cids: Cid | None) -> tuple[Cid, ...]:
    """At most so many of them, each once, in order."""
    return tuple(dict.fromkeys(cid for cid in cids if cid is not None))[:most]


def save(path: Path, state: State) -> None:
    """Raises ``Unavailable``."""
    cids = {name: None if (cid := getattr(state, name)) is None else str(cid) for name in _CIDS}
    lists = {name: [str(cid) for cid in getattr(state, name)] for name in _LISTS}
    fields = {"origin": state.origin, "pages": state.pages, "is_lean": state.is_lean, **cids, **lists}
    put(path, orjson.dumps({"v": _STATE_VERSION, **fields}))


def read(path: Path) -> State:
    """What ``save`` wrote, also as version 2 did, which stored all blocks, and version 1, which knew one
    older head and took the daemon's back at once. Anything else is no state: everything is then done again.
    Raises ``Unavailable``."""
    try:
        return state_file.read_json(path, _STATE_BYTES_MAX, _parsed) or State()
    except Rejected as exc:
        _log.warning("event=log_blocks_again reason=%s", exc)
        return State()


def _parsed(fields: Any) -> State:
    version = fields["v"]
    if version == 1:
        fields |= {"older": [text for text in [fields["before"]] if text is not None], "given_older": []}
    elif version not in (2, _STATE_VERSION):
        raise Rejected("of another version")
    cids = {name: None if (text := fields[name]) is None else Cid.parse(text) for name in _CIDS}
    older = first(OLDER_MAX, *(Cid.parse(text) for text in fields["older"]))
    given_older = first(GIVEN_OLDER_MAX, *(Cid.parse(text) for text in fields["given_older"]))
    origin, pages = str(fields["origin"]), int(fields["pages"])
    is_lean = version == _STATE_VERSION and bool(fields["is_lean"])
    return State(origin=origin, pages=pages, older=older, given_older=given_older, is_lean=is_lean, **cids)
