"""Steps that many tests of rounds and doors take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord
from tests.admit_kit import Door
from tests.follow_kit import A, World, questions
from tests.simulators.peer import Publishing


async def read(world: World, peer: Publishing, count: int, start: int = 0) -> list[Cid]:
    """So many questions that ``peer`` publishes and ``world`` reads in a round."""
    cids = questions(peer, count, start)
    await world.sync.sync(A)
    return cids


def failing(error: Exception, at: str = "", of: str = "") -> Callable[[str, object], None]:
    """A link's hook that fails where ``at`` is asked for, of what begins with ``of``; else everywhere."""

    def hook(what: str, argument: object) -> None:
        if at in ("", what) and str(argument).startswith(of):
            raise error.with_traceback(None)

    return hook


async def kept(door: Door, record: AnswerRecord) -> Mapping[str, Any]:
    """What is kept beside a record that is served."""
    stored = await door.served(record)
    assert stored is not None
    assert stored.kept is not None
    return stored.kept
