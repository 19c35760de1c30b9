"""The Snapshot spaces of well-known communities, by the names that people use (``spaces.toml``). Pure.

A space's id is an ENS name; a renamed space answers with nothing rather than with an error, so what is listed
there is checked again whenever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from node.language.tables import read_table, words


@dataclass(frozen=True, slots=True)
class Space:
    """``names`` are folded words as people write them, the first one in the way that answers call it
    (``label``). ``common``: the name is an everyday word too, so it counts only in a telling place."""

    id: str
    label: str
    names: tuple[str, ...]
    common: bool


_DATA = read_table(__package__, "spaces.toml")
_EVERYDAY = words(_DATA["everyday"]["spaces"])
SPACES = tuple(
    Space(ident, label, tuple(names), ident in _EVERYDAY)
    for ident, (label, *names) in _DATA["spaces"].items()
)
BY_ID = {space.id: space for space in SPACES}
BY_NAME = {tuple(name.split()): space for space in SPACES for name in space.names}
