"""The names of a log's epochs: the first is ``<root id>.neuroswarm/<log>``, later ones add ``/<n>``.

Pure: the one place that writes and reads them. Must not know folders or keys.
"""

from __future__ import annotations

import re

_ORIGIN = re.compile(r"(.+\.neuroswarm/[a-z]+)(?:/([1-9][0-9]{0,5}))?")


def origin_of(base: str, number: int) -> str:
    """The origin of an epoch's log; ``base`` is that of the first."""
    return base if number == 1 else f"{base}/{number}"


def epoch_of(origin: str) -> tuple[str, int]:
    """(the first epoch's origin, the epoch's number) of a log's origin; another program's logs have one
    epoch."""
    match = _ORIGIN.fullmatch(origin)
    if match is None or match[2] == "1":
        return origin, 1
    return match[1], int(match[2] or 1)
