"""What tests of rounds, doors and desks begin with: a node that follows a peer, issuers, a desk."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.core.identity import Identity
from node.peers.rules.values import Level
from tests.admit_kit import Door, Issuer
from tests.desk_kit import Kit, identity, kit
from tests.follow_kit import A, World
from tests.manual_clock import ManualClock
from tests.simulators.peer import MemoryLink, Publishing


@pytest.fixture
def peer() -> Publishing:
    return Publishing(1)


@pytest.fixture
async def world(peer: Publishing) -> World:
    """One node that follows ``peer``, at the address A."""
    made = World()
    await made.meet(peer)
    return made


@pytest.fixture
def link(world: World) -> MemoryLink:
    """The way from ``world`` to ``peer``."""
    found = world.links[A]
    assert isinstance(found, MemoryLink)
    return found


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.fixture
def a() -> Issuer:
    return Issuer(1)


@pytest.fixture
def b() -> Issuer:
    return Issuer(2)


@pytest.fixture
def c() -> Issuer:
    return Issuer(3)


@pytest.fixture
async def friend(door: Door, a: Issuer) -> Issuer:
    """``a``, whom the operator trusts."""
    await door.stand(a)
    return a


@pytest.fixture
async def groups(door: Door, a: Issuer, b: Issuer) -> None:
    """``a`` and ``b`` are known, each of a group of its own."""
    await door.stand(a, Level.KNOWN, "north")
    await door.stand(b, Level.KNOWN, "south")


@pytest.fixture
def k(tmp_path: Path) -> Kit:
    return kit(tmp_path / "own")


@pytest.fixture
def other(tmp_path: Path) -> Identity:
    return identity(tmp_path / "other", ManualClock())


@pytest.fixture
def third(tmp_path: Path) -> Identity:
    return identity(tmp_path / "third", ManualClock())
