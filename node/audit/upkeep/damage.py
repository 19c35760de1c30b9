"""What is known to be damaged in one log's folder and could not be mended, in words for its operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from node.audit.log.checked import entries_of
from node.audit.tlog.tiles import Tile
from node.audit.upkeep.salvage import ranges

KEPT_MAX = 100_000
_SHOWN_MAX = 3


@dataclass(frozen=True, slots=True)
class Damage:
    """One tile, or with None a file beside them. ``lost``: the entries that nobody has, where that is known;
    ``since`` and ``again_at``: between these moments of the monotonic clock nobody tries to mend it again."""

    origin: str
    tile: Tile | None
    why: str
    lost: tuple[int, ...]
    since: float
    again_at: float


class Damages:
    """By epoch and tile. At most ``KEPT_MAX`` are kept; more of them say nothing more."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Tile | None], Damage] = {}

    def __len__(self) -> int:
        return len(self._known)

    def put(self, epoch: int, damage: Damage) -> bool:
        """Whether it is news."""
        key = (epoch, damage.tile)
        is_news = key not in self._known
        if len(self._known) < KEPT_MAX or not is_news:
            self._known[key] = damage
        return is_news

    def drop(self, epoch: int, tile: Tile | None) -> None:
        self._known.pop((epoch, tile), None)

    def keep_only(self, epochs: Iterable[int]) -> None:
        """The others were moved away by their operator."""
        there = set(epochs)
        self._known = {key: one for key, one in self._known.items() if key[0] in there}

    def get(self, epoch: int, tile: Tile | None) -> Damage | None:
        return self._known.get((epoch, tile))

    def of(self, epoch: int) -> list[Damage]:
        return [one for (number, _), one in self._known.items() if number == epoch]

    def __str__(self) -> str:
        """For people; empty where nothing is damaged."""
        said = []
        by_origin: dict[str, list[Damage]] = {}
        for one in self._known.values():
            by_origin.setdefault(one.origin, []).append(one)
        for origin, some in list(by_origin.items())[:_SHOWN_MAX]:
            said.append(f"{origin}: {_of_one(some)}")
        if len(by_origin) > _SHOWN_MAX:
            said.append(f"and {len(by_origin) - _SHOWN_MAX} more logs")
        return "; ".join(said)


def _of_one(damages: Iterable[Damage]) -> str:
    lost: set[int] = set()
    refused: set[int] = set()
    others = []
    for one in damages:
        lost.update(one.lost)
        if one.tile is None:
            others.append(one.why)
        elif one.tile.is_bundle:
            first, last = entries_of(one.tile)
            refused.update(range(first, last + 1))
        else:
            others.append(f"{one.tile.path} ({one.why})")
    said = []
    if lost:
        said.append(f"entries {ranges(lost)} are lost here")
    if refused:
        said.append(f"entries {ranges(refused)} lie in damaged files and are not served")
    if others:
        said.append(f"{len(others)} other files are damaged: {others[0]}")
    return ", ".join(said)
