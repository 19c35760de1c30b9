"""Memory behind replies, with a scripted model and real files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.agent.memory import book
from node.agent.memory.books import Books
from node.agent.memory.facts import About, Fact
from node.agent.memory.keeper import LINES_GIVEN_MAX, Keeper, Means
from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.errors import Misconfigured, Unavailable
from node.core.ports import Prompt

ANNA, BEN = Caller("acme", key="k1"), Caller("acme", key="k2")
OTHER = Caller("other", key="k1")


class Now:
    """Does at once, and by hand, what waits behind replies."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[float], Awaitable[None]]] = []

    def submit(self, key: Hashable, work: Callable[[float], Awaitable[None]]) -> bool:
        self.waiting.append(work)
        return True

    async def work(self) -> None:
        while self.waiting:
            await self.waiting.pop()(0.0)


class World:
    def __init__(self, folder: Path) -> None:
        self.later = Now()
        self.asked: list[Prompt] = []
        self.reply: str | Exception = '{"facts": []}'
        self.entered: list[tuple[str, str]] = []
        self.books = Books(folder / "memory")
        self.means = Means(self.generate, self.worth, self.alike, self.record, self.later, SystemClock())
        self.keeper = Keeper(self.books, self.means)

    async def generate(self, prompt: Prompt, deadline: float) -> str:
        self.asked.append(prompt)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    async def worth(self, texts: Sequence[str]) -> list[float]:
        return [0.0 if "weather" in text else 0.9 for text in texts]

    async def alike(self, text: str, lines: Sequence[str]) -> tuple[float, ...]:
        return ()

    async def record(self, caller: Caller, against: str, fact: Fact | None) -> None:
        self.entered.append((against, fact.text if fact else ""))

    async def keeper_closed(self) -> None:
        await self.keeper.close()

    async def turn(self, caller: Caller, said: str, *found: tuple[str, str]) -> None:
        rows = [{"about": about, "text": text, "confidence": 0.9} for about, text in found]
        self.reply = json.dumps({"facts": rows})
        self.keeper.note(caller, said, f"t{len(self.asked)}")
        await self.later.work()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_turn_is_remembered_in_the_right_file(world: World, tmp_path: Path) -> None:
    said = "I prefer weekly summaries on Mondays. Asset Management interfaces with Project Finance."
    await world.turn(
        ANNA,
        said,
        ("user", "Prefers weekly summaries on Mondays"),
        ("company", "Asset Management interfaces with Project Finance"),
        ("user", "Is the queen"),
    )
    folder = tmp_path / "memory" / "acme"
    assert (folder / "k1" / "USER_MEMORY.md").read_text() == "- Prefers weekly summaries on Mondays\n"
    shared = folder / "COMPANY_MEMORY.md"
    assert shared.read_text() == "- Asset Management interfaces with Project Finance\n"
    assert ("not said", "") in world.entered
    assert shared.stat().st_mode & 0o077 == 0


async def test_what_tells_nothing_asks_no_model(world: World) -> None:
    for said in ("What is IPFS?", "", "how is the weather", "```\ncode\n```"):
        await world.turn(ANNA, said)
    await world.turn(Caller("acme", key="k3", may_write=False), "I use Rust.")
    assert world.asked == []


async def test_nobody_sees_another_one_s_lines(world: World) -> None:
    await world.turn(ANNA, "I use Rust.", ("user", "Uses Rust"))
    await world.turn(ANNA, "We use Slack for chat.", ("company", "Uses Slack for chat"))
    assert (await world.keeper.lines(BEN)) == {About.USER: (), About.COMPANY: ("Uses Slack for chat",)}
    assert not any((await world.keeper.lines(OTHER)).values())
    assert not any((await world.keeper.lines(Caller())).values())
    assert await world.keeper.forget(BEN, About.USER) == 0
    assert [line.place for line in await world.keeper.relevant(ANNA, "Rust?")] == [
        "USER_MEMORY.md, line 1",
        "COMPANY_MEMORY.md, line 1",
    ]


async def test_the_newer_fact_holds_and_the_older_is_history(world: World, tmp_path: Path) -> None:
    await world.turn(ANNA, "I want summaries on Mondays.", ("user", "Wants summaries on Mondays"))
    await world.turn(ANNA, "I want summaries on Mondays!", ("user", "Wants summaries on Mondays"))
    await world.turn(ANNA, "I want summaries on Fridays.", ("user", "Wants summaries on Fridays"))
    folder = tmp_path / "memory" / "acme" / "k1"
    assert (folder / "USER_MEMORY.md").read_text() == "- Wants summaries on Fridays\n"
    history = (folder / "USER_MEMORY.history.md").read_text()
    assert history.startswith("- until ")
    assert history.endswith(": Wants summaries on Mondays\n")
    assert [against for against, _ in world.entered] == ["", "known", ""]
    assert await world.keeper.forget(ANNA, About.USER, "Wants summaries on Mondays") == 0
    assert not (folder / "USER_MEMORY.history.md").exists()
    assert await world.keeper.forget(ANNA) == 1
    assert not (folder / "USER_MEMORY.md").exists()


async def test_erasing_leaves_nothing(world: World, tmp_path: Path) -> None:
    await world.turn(ANNA, "I use Rust.", ("user", "Uses Rust"))
    await world.turn(BEN, "I use Python.", ("user", "Uses Python"))
    await world.turn(OTHER, "I use Go.", ("user", "Uses Go"))
    assert await world.keeper.erase("acme", "k1")
    assert (await world.keeper.lines(BEN))[About.USER] == ("Uses Python",)
    assert await world.keeper.erase("acme")
    assert not await world.keeper.erase("acme")
    files = [path for path in (tmp_path / "memory").rglob("*") if path.is_file()]
    assert [path.read_text() for path in files] == ["- Uses Go\n"]


async def test_a_model_that_fails_and_a_damaged_file_end_nothing(world: World, tmp_path: Path) -> None:
    world.reply = Unavailable("away")
    world.keeper.note(ANNA, "I use Rust.", "t")
    await world.later.work()
    path = tmp_path / "memory" / "acme" / "k1" / "USER_MEMORY.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"- caf\xe9 in the morning\n")
    assert (await world.keeper.lines(ANNA))[About.USER] == ("caf\ufffd in the morning",)
    path.write_bytes(b"- x\n" * book.FILE_BYTES_MAX)
    with pytest.raises(Misconfigured, match=f"more than {book.FILE_BYTES_MAX} bytes"):
        await world.keeper.lines(ANNA)
    assert await world.keeper.relevant(ANNA, "Rust?") == []
    await world.turn(ANNA, "I use Rust.", ("user", "Uses Rust"))


async def test_names_of_tenants_are_no_paths(world: World, tmp_path: Path) -> None:
    for tenant in ("../../up", "", "a/b", "x" * 300, "é", ".."):
        await world.turn(Caller(tenant, key="../k"), "I use Rust.", ("user", "Uses Rust"))
    files = await asyncio.to_thread(lambda: list(tmp_path.rglob("*.md")))
    assert len(files) == 6
    assert all(path.is_relative_to(tmp_path / "memory") for path in files)
    assert len({path.parent.parent for path in files}) == 6


async def test_so_many_lines_are_told_at_most(world: World, tmp_path: Path) -> None:
    path = tmp_path / "memory" / "acme" / "k1" / "USER_MEMORY.md"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"- Knows the rule {n}\n" for n in range(50)) + "- Drives a red tractor\n" * 1)
    path.write_text("- Drives a red tractor\n" + path.read_text())
    told = await world.keeper.relevant(ANNA, "what colour is the tractor I drive")
    assert len(told) == LINES_GIVEN_MAX
    assert (told[0].place, told[0].text) == ("USER_MEMORY.md, line 1", "Drives a red tractor")


async def test_nothing_is_written_after_a_forgetting_that_was_proposed_before(
    world: World,
) -> None:
    said, rows = "I use Rust.", {"facts": [{"about": "user", "text": "Uses Rust", "confidence": 0.9}]}

    async def during(end: Callable[[], Awaitable[object]]) -> None:
        entered = asyncio.Event()
        go_on = asyncio.Event()

        async def slow(text: str, lines: Sequence[str]) -> tuple[float, ...]:
            entered.set()
            await go_on.wait()
            return ()

        world.keeper = Keeper(world.books, replace(world.means, alike=slow))
        world.reply = json.dumps(rows)
        world.keeper.note(ANNA, said, "t")
        working = asyncio.create_task(world.later.work())
        await entered.wait()
        ending = asyncio.ensure_future(end())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(working, ending)
        assert (await world.keeper.lines(ANNA))[About.USER] == ()

    await during(lambda: world.keeper.forget(ANNA))
    await during(world.keeper_closed)
    await during(lambda: world.keeper.erase("acme"))
