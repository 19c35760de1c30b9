"""``neuroswarm peers …`` through the socket of a running node: what is shown, and the exit status."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from node.api import local
from node.cli import main
from node.core.errors import BadInput
from node.core.identity import Identity
from node.peers.rules.values import Contact, Level, Standing, SyncReport
from tests.desk_kit import A, B, Far, Kit, identity, kit
from tests.manual_clock import ManualClock

Say = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def k(tmp_path: Path) -> Kit:
    return kit(tmp_path / "own")


@pytest.fixture
def other(tmp_path: Path) -> Identity:
    return identity(tmp_path / "other", ManualClock())


@pytest.fixture
async def say(k: Kit, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Say]:
    """Run a command beside the node whose desk this is: (exit status, output, errors)."""
    data = tmp_path / "data"
    data.mkdir()

    async def do(what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return await k.desk.commands()[what](asked)

    async def stream(what: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
        raise BadInput("no command here takes a file")

    async def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = await asyncio.to_thread(main.main, ["peers", *words, "--data-dir", str(data)])
        out, err = capsys.readouterr()
        return status, out, err

    async with local.listening(data, do, stream) as is_listening:
        assert is_listening
        yield run


async def test_adding_says_who_answered_and_what_trusting_would_mean(
    k: Kit, say: Say, other: Identity
) -> None:
    k.far[A] = Far.of(A, other)
    status, out, err = await say("add", A)
    assert (status, err) == (0, "")
    assert other.root in out
    assert "not served" in out
    assert "98%" in out
    assert "No question of yours is ever sent to it" in out
    assert f"neuroswarm peers trust {other.root}" in out
    status, out, _ = await say("add", A, "--json")
    assert (status, json.loads(out)["root"]) == (0, other.root)


async def test_adding_who_does_not_answer_is_said_and_done(k: Kit, say: Say) -> None:
    status, out, _ = await say("add", A)
    assert status == 0
    assert "nobody was met" in out
    assert [contact.address for contact in await k.store.contacts()] == [A]
    status, _, err = await say("trust", A)
    assert status == 1
    assert "nobody has answered" in err


async def test_the_list_is_a_table(k: Kit, say: Say, other: Identity) -> None:
    status, out, _ = await say("list")
    assert status == 0
    assert k.own.root in out
    assert "peers add" in out
    k.far[A] = Far.of(A, other)
    await say("add", A)
    await say("trust", A, "--level", "known", "--group", "friends")
    await k.store.put_contact(Contact(B, "settings", None, k.clock.now()))
    await say("sync", "http://127.0.0.1:1")
    _, out, _ = await say("list")
    heads, first, second = out.splitlines()[3:]
    assert heads.split() == ["LEVEL", "GROUP", "LAST", "ROUND", "RECORDS", "SIZE", "QUOTA", "ADDRESS", "ROOT"]
    assert first[heads.index("GROUP") :].startswith("friends")
    assert first[heads.index("ROOT") :] == other.root
    assert second[heads.index("ADDRESS") :].startswith(B)
    assert second.endswith("nobody has answered yet")
    _, out, _ = await say("list", "--json")
    assert [peer["address"] for peer in json.loads(out)["peers"]] == [A, B]


async def test_trust_says_what_it_means_now(k: Kit, say: Say, other: Identity) -> None:
    status, out, _ = await say("trust", other.root)
    assert status == 0
    assert "trusted, no group (before: unknown, no group)" in out
    _, out, _ = await say("trust", other.root, "--level", "known")
    assert "name one with --group" in out
    _, out, _ = await say("trust", other.root, "--group", "friends")
    assert "known, group friends" in out
    _, out, _ = await say("trust", other.root, "--group", "")
    assert "known, no group" in out
    await k.store.set_standing(Standing(other.root, dropped="equivocation"))
    _, out, _ = await say("trust", other.root)
    assert "stays dropped" in out
    assert (await k.store.standing(other.root)).level is Level.TRUSTED


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("synced", 0), ("unchanged", 0), ("partial", 0), ("failed", 1), ("dropped", 1), ("blocked", 1)],
)
async def test_a_round_that_failed_is_a_failure(k: Kit, say: Say, outcome: str, status: int) -> None:
    await say("add", A)
    counts = {"entries": 9, "bytes": 2**21, "admitted": 4, "held": 2}
    reason = "said\x1b[31m so"
    k.rounds.results[A] = SyncReport(A, None, outcome, reason=reason, refused={"size": 3}, **counts)
    got, out, _ = await say("sync", A)
    assert got == status
    assert outcome in out
    assert "9 entries, 2.0 MiB: 4 served, 2 kept aside" in out
    assert "refused: 3 size" in out
    assert "\x1b" not in out  # a stranger's words do not reach the terminal as they are
    got, out, _ = await say("sync", "--json")
    assert (got, json.loads(out)["reports"][0]["refused"]) == (status, {"size": 3})


async def test_nobody_to_read_is_no_failure(say: Say) -> None:
    status, out, _ = await say("sync")
    assert status == 0
    assert "no peers" in out


async def test_removing_says_what_stays(k: Kit, say: Say, other: Identity) -> None:
    await k.store.put_contact(Contact(A, "settings", other.root, k.clock.now()))
    status, out, _ = await say("remove", A)
    assert status == 0
    assert "--level blocked" in out
    assert "peers.urls" in out
    status, _, err = await say("remove", A)
    assert status == 1
    assert "not polled" in err


async def test_evidence_is_shown_as_it_was_signed(k: Kit, say: Say, other: Identity) -> None:
    _, out, _ = await say("evidence")
    assert "no evidence" in out
    notes = {role: f"{other.publications_origin}\n5\n{role}\n\n".encode() for role in ("held", "shown")}
    assert k.evidence.keep("split", f"{other.root[-8:]}-5", notes)
    status, out, _ = await say("evidence", other.root)
    assert status == 0
    assert other.root in out
    for note in notes.values():
        assert note.decode().strip() in out
    _, out, _ = await say("evidence", other.root, "--json")
    assert {role: note.encode() for role, note in json.loads(out)["cases"][0]["notes"].items()} == notes


async def test_bad_words_are_refused(say: Say) -> None:
    for words in (("add", "ftp://x"), ("remove", "nowhere"), ("trust", "did:key:x"), ("evidence", "x")):
        status, out, err = await say(*words)
        assert (status, out) == (1, "")
        assert err.startswith("neuroswarm: ")
    with pytest.raises(SystemExit) as caught:
        await say("trust", "did:key:x", "--level", "best")
    assert caught.value.code == 2
