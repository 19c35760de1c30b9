"""Our log taken to witnesses of others over loopback: quorum, bad witnesses, what they know better."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.policy import WitnessPolicy
from node.audit.witnesses.client import BREAKER_FAILURES, BREAKER_OPEN_S
from node.audit.witnesses.cosigning import LOOK_AGAIN_S, ROUND_AGAIN_S, Witnesses, load_policy
from node.core.errors import Misconfigured, Unavailable
from node.core.signed_note import Ed25519Signer
from tests.manual_clock import ManualClock
from tests.simulators import rfc6962
from tests.simulators.witness import TIME_S
from tests.simulators.witness import WitnessStandIn as Stand

ORIGIN = "z6MkTest.neuroswarm/decisions"
LOG = rfc6962.Key(ORIGIN)
KEY = Ed25519PrivateKey.from_private_bytes(rfc6962.sha256(ORIGIN.encode()))
SIGNER = Ed25519Signer(ORIGIN, KEY)
TIMEOUT_S = 10.0


def witness(number: int, **more: Any) -> Stand:
    return Stand(f"witness.example/w{number}", [LOG.vkey], **more)


def policy_of(witnesses: Sequence[Stand], quorum: int | None = None) -> WitnessPolicy:
    """``quorum`` of all of them; None: all."""
    lines = [f"witness w{n} {one.vkey} {one.url}" for n, one in enumerate(witnesses)]
    names = " ".join(f"w{n}" for n in range(len(witnesses)))
    lines += [f"group enough {quorum or 'all'} {names}", "quorum enough"]
    return WitnessPolicy.parse("\n".join(lines).encode())


@dataclass
class Bench:
    """A log with its witnesses."""

    log: TileLog
    witnesses: Witnesses
    clock: ManualClock
    folder: Path
    evidence: Path
    counts: Counter[str]

    async def grow(self, count: int = 1) -> None:
        """Append, and publish what is there."""
        for _ in range(count):
            await self.log.append(lambda index, _: b"entry %d" % index)
        await self.log.publish()

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait for something that the round under way brings about."""
        while not done():
            await asyncio.sleep(0.002)

    async def until_looked(self, done: Callable[[], bool]) -> None:
        """Wait for what another look brings about: time goes on, as the look may not be waiting yet."""
        while not done():
            self.clock.advance(LOOK_AGAIN_S)
            await asyncio.sleep(0.002)

    async def health(self, *, status: str, says: str) -> None:
        await self.until(lambda: says in self.witnesses.health().output)
        assert self.witnesses.health().status == status

    def note(self, name: str = "checkpoint") -> bytes:
        return (self.folder / name).read_bytes()

    def times(self, stands: Sequence[Stand], name: str = "checkpoint") -> list[int | None]:
        return [rfc6962.verify(one.vkey, self.note(name)) for one in stands]


@asynccontextmanager
async def bench(
    tmp_path: Path,
    policy: WitnessPolicy,
    *,
    is_held: bool = False,
    name: str = "log",
    origin: str = ORIGIN,
) -> AsyncIterator[Bench]:
    signer = Ed25519Signer(origin, KEY)
    clock, folder, mark = ManualClock(), tmp_path / name, tmp_path / f"{name}.high-water"
    pace = Pace(every_s=3_600, is_held=is_held)  # never by time: the tests say when to publish
    log = await TileLog.open(folder, origin, [signer], clock, high_water=mark, pace=pace)
    counts: Counter[str] = Counter()
    async with aiohttp.ClientSession(trust_env=False, auto_decompress=False) as http:
        witnesses = Witnesses(
            policy,
            lambda: log,
            lambda _: [signer.verifier],
            http,
            clock,
            timeout_s=TIMEOUT_S,
            evidence=tmp_path / "evidence",
            count=lambda what: counts.update([what]),
        )
        log.on_published(witnesses.published)
        witnesses.start()
        try:
            yield Bench(log, witnesses, clock, folder, tmp_path / "evidence", counts)
        finally:
            await witnesses.close()
            await log.close()


@pytest.fixture
async def one() -> AsyncIterator[Stand]:
    async with witness(1) as made:
        yield made


@pytest.fixture
async def two() -> AsyncIterator[Stand]:
    async with witness(2) as made:
        yield made


@pytest.fixture
async def node(tmp_path: Path, one: Stand) -> AsyncIterator[Bench]:
    """A log whose only witness is ``one``."""
    async with bench(tmp_path, policy_of([one])) as made:
        yield made


# --- a quorum -------------------------------------------------------------------------------------


async def test_each_checkpoint_is_cosigned_by_all(tmp_path: Path, one: Stand, two: Stand) -> None:
    async with witness(3) as three:
        stands = [one, two, three]
        async with bench(tmp_path, policy_of(stands, 2)) as node:
            for size in (1, 2, 5, 260, 300):
                await node.grow(size - node.log.size())
                await node.health(status="pass", says=f"cosigned by 3 of 3, quorum held at size {size}")
                assert [stand.size(ORIGIN) for stand in stands] == [size] * 3
                assert node.times(stands) == node.times(stands, "checkpoint.witnessed") == [TIME_S] * 3
                assert rfc6962.verify(LOG.vkey, node.note()) == 0
            assert node.counts == {"cosigned": 15}
        assert len(one.asked) == 5  # what it holds is remembered


async def test_a_checkpoint_that_is_told_twice_goes_round_once(node: Bench) -> None:
    await node.grow()
    await node.health(status="pass", says="quorum held at size 1")
    published = node.log.published
    assert published is not None
    node.witnesses.published(published)
    await node.grow()
    await node.health(status="pass", says="quorum held at size 2")
    assert node.counts == {"cosigned": 2}


MOODS = ("hang", "cut", "lying", "silent", "timeless", "nonsense", "huge", "redirect", "failing", "refuse")


@pytest.mark.parametrize("mood", MOODS)
async def test_a_quorum_does_without_a_bad_witness(tmp_path: Path, one: Stand, two: Stand, mood: str) -> None:
    async with witness(3, mood=mood) as bad:
        bad.redirect_to = f"{one.url}/add-checkpoint"
        async with bench(tmp_path, policy_of([one, two, bad], 2)) as node:
            await node.grow()
            await node.until((node.folder / "checkpoint.witnessed").exists)
            assert node.times([one, two, bad], "checkpoint.witnessed") == [TIME_S, TIME_S, None]
            if mood == "hang":
                await bad.wait_asked(1)
                node.clock.advance(TIMEOUT_S)
            await node.health(status="pass", says="cosigned by 2 of 3, quorum held at size 1")
            assert node.times([one, two, bad]) == [TIME_S, TIME_S, None]
            assert node.counts["cosigned"] == 2
            assert node.counts["failed"] + node.counts["refused"] == 1, node.counts
            bad.release()


async def test_without_a_quorum_nothing_is_called_witnessed(tmp_path: Path, one: Stand, two: Stand) -> None:
    two.mood = "refuse"
    async with bench(tmp_path, policy_of([one, two])) as node:
        await node.grow()
        says = "no quorum yet: size 1 is cosigned by 1 of 2 (w1 knows another key"
        await node.health(status="warn", says=says)
        assert not (node.folder / "checkpoint.witnessed").exists()
        assert node.times([one, two]) == [TIME_S, None]  # what there is is shown
        two.mood = "right"
        await node.grow()
        await node.health(status="pass", says="quorum held at size 2")
        two.mood = "failing"
        await node.grow()
        await node.health(status="warn", says="no quorum since size 2: size 3")
        assert rfc6962.read_note(node.note("checkpoint.witnessed"))[1] == 2


async def test_a_quorum_is_looked_for_again_where_nothing_is_published(tmp_path: Path, one: Stand) -> None:
    one.mood = "refuse"
    async with bench(tmp_path, policy_of([one])) as node:
        await node.grow()
        await node.health(status="warn", says="no quorum yet: size 1")
        one.mood = "right"
        while node.witnesses.health().status == "warn":
            node.clock.advance(ROUND_AGAIN_S)
            await asyncio.sleep(0.002)
        await node.health(status="pass", says="quorum held at size 1")
    one.held.clear()
    async with bench(tmp_path, policy_of([one])) as node:  # and at the next start
        await node.health(status="pass", says="quorum held at size 1")


async def test_one_address_with_two_keys_is_asked_once(tmp_path: Path, one: Stand) -> None:
    second = f"witness b {rfc6962.Key('x', 4).vkey} {one.url}/"
    policy = WitnessPolicy.parse(f"witness a {one.vkey} {one.url}\n{second}\nquorum a\n".encode())
    async with bench(tmp_path, policy) as node:
        await node.grow()
        await node.health(status="pass", says="cosigned by 1 of 2")


async def test_a_dead_witness_is_left_alone_for_a_while(tmp_path: Path, one: Stand, two: Stand) -> None:
    two.mood = "failing"
    async with bench(tmp_path, policy_of([one, two], 1)) as node:
        for size in range(1, BREAKER_FAILURES + 4):
            await node.grow()
            await node.health(status="pass", says=f"size {size}")
        assert len(two.asked) == BREAKER_FAILURES
        two.mood = "right"
        node.clock.advance(BREAKER_OPEN_S)
        await node.grow()
        await node.health(status="pass", says="cosigned by 2 of 2")


async def test_a_witness_that_asks_to_wait_is_left_to(tmp_path: Path, one: Stand, two: Stand) -> None:
    two.mood = "busy"
    async with bench(tmp_path, policy_of([one, two], 1)) as node:
        for size in (1, 2, 3):
            await node.grow()
            await node.health(status="pass", says=f"size {size}")
        assert len(two.asked) == 1


async def test_the_newest_checkpoint_wins_while_a_round_is_under_way(one: Stand, node: Bench) -> None:
    one.mood = "hang"
    await node.grow()
    await one.wait_asked(1)
    for _ in range(5):
        await node.grow()
    one.mood = "right"
    one.release()
    await node.health(status="pass", says="size 6")
    sizes = [rfc6962.read_note(body.partition(b"\n\n")[2])[1] for _, body in one.asked]
    assert sizes[0] == 1
    assert set(sizes[1:]) == {6}


async def test_somebody_else_may_bring_our_checkpoints_to_a_witness(one: Stand, node: Bench) -> None:
    await node.grow(3)
    await node.health(status="pass", says="size 3")
    # A monitor submits size 5 before our own client does.
    one.mood = "failing"
    await node.grow(2)
    await node.health(status="warn", says="no quorum")
    one.mood = "right"
    entries = [b"entry %d" % n for n in range(5)]
    text = rfc6962.checkpoint(ORIGIN, entries)
    one.held[ORIGIN] = rfc6962.note(text, LOG.line(text), one.key.line(text, TIME_S))
    await node.grow(2)
    await node.health(status="pass", says="size 7")
    assert node.log.suspended == ""


# --- what witnesses know of us --------------------------------------------------------------------


def copy(tmp_path: Path, name: str, old: str = "log") -> None:
    """A backup of a log with its high-water mark, as a whole machine is copied."""
    shutil.copytree(tmp_path / old, tmp_path / name)
    shutil.copy(tmp_path / f"{old}.high-water", tmp_path / f"{name}.high-water")


def fork_to(stand: Stand, size: int) -> None:
    """The witness has cosigned another tree that our key signed."""
    text = rfc6962.checkpoint(ORIGIN, [b"other %d" % n for n in range(size)])
    stand.held[ORIGIN] = rfc6962.note(text, LOG.line(text), stand.key.line(text, TIME_S))


async def rolled_back(tmp_path: Path, policy: WitnessPolicy) -> None:
    """Publish 3, back that up, go on to 5; ``backup`` is then the machine restored."""
    async with bench(tmp_path, policy) as node:
        await node.grow(3)
        await node.health(status="pass", says="size 3")
    await asyncio.to_thread(copy, tmp_path, "backup")
    async with bench(tmp_path, policy) as node:
        await node.grow(2)
        await node.health(status="pass", says="size 5")


@pytest.mark.parametrize("shows", [True, False])
async def test_a_restored_log_signs_nothing(tmp_path: Path, shows: bool, one: Stand) -> None:
    policy = policy_of([one])
    await rolled_back(tmp_path, policy)
    one.shows = shows
    async with bench(tmp_path, policy, is_held=True, name="backup") as node:
        if shows:
            await node.health(status="fail", says="rolled back")
            assert node.log.suspended
            assert sorted(path.name.split(".")[1] for path in node.evidence.iterdir()) == ["held", "ours"]
        else:  # it says the size only: that is enough for not signing
            await node.health(status="warn", says="holds 5 entries")
            assert node.log.is_held
        with pytest.raises(Unavailable):
            await node.grow(4)
        assert rfc6962.read_note(node.note())[1] == 3


async def test_a_restored_log_that_goes_on_unheld_is_stopped(tmp_path: Path, one: Stand) -> None:
    """The worst case: it signs at once, and the witness finds out."""
    policy = policy_of([one])
    await rolled_back(tmp_path, policy)
    async with bench(tmp_path, policy, name="backup") as node:
        await node.health(status="fail", says="rolled back")
        with pytest.raises(Unavailable, match="rolled back"):
            await node.grow()


@pytest.mark.parametrize("shows", [True, False])
async def test_a_copy_that_signs_elsewhere_is_found_out(tmp_path: Path, shows: bool) -> None:
    """Split view: a second machine with our keys publishes too, and reaches the witness first."""
    async with witness(1, shows=shows) as one:
        policy = policy_of([one])
        async with bench(tmp_path, policy, is_held=True) as node:
            await node.until(lambda: not node.log.is_held)
            await node.grow(3)
            await node.health(status="pass", says="size 3")
            fork_to(one, 4)
            await node.grow(2)
            await node.health(status="fail", says="holds another tree of 4 entries")
            assert "exchanged" in node.witnesses.health().output
            assert node.log.suspended
            assert node.evidence.exists() == shows
            assert node.counts["contradiction"] == 1
            with pytest.raises(Unavailable):
                await node.grow()


@pytest.mark.parametrize("shows", [True, False])
async def test_a_copy_that_is_ahead_is_found_out(one: Stand, node: Bench, shows: bool) -> None:
    """Also where the witness shows nothing, as one whose monitoring prefix lies elsewhere."""
    one.shows = shows
    await node.grow(3)
    await node.health(status="pass", says="size 3")
    if shows:
        fork_to(one, 9)
    else:
        one.ahead = 9
    await node.grow(2)
    await node.health(status="fail", says="holds 9 entries")
    assert "rolled back" in node.log.suspended
    assert node.evidence.exists() == shows
    for path in node.evidence.glob("*.held.*"):
        assert path.read_bytes() == one.held[ORIGIN]


async def test_a_witness_that_is_wrong_itself_stops_nothing(tmp_path: Path, one: Stand, two: Stand) -> None:
    async with bench(tmp_path, policy_of([one, two], 1)) as node:
        await node.grow(3)
        await node.health(status="pass", says="cosigned by 2 of 2")
        two.is_stubborn = True
        await node.grow()
        await node.health(status="pass", says="cosigned by 1 of 2, quorum held at size 4")
        assert node.log.suspended == ""
        assert node.counts["contradiction"] == 0


async def test_a_held_log_waits_for_enough_witnesses(tmp_path: Path) -> None:
    stands = [witness(number, mood="failing") for number in (1, 2, 3)]
    async with stands[0], stands[1], stands[2]:
        policy = policy_of(stands, 2)
        async with bench(tmp_path, policy) as node:
            await node.grow(3)
        for stand in stands:
            stand.shows = False
        async with bench(tmp_path, policy, is_held=True) as node:
            await node.health(status="warn", says="0 of 3 have answered")
            assert await node.log.append(lambda index, _: b"entry %d" % index) == 3  # answers go on
            stands[0].mood = "right"
            await node.until_looked(lambda: "1 of 3 have answered" in node.witnesses.health().output)
            await node.health(status="warn", says="1 of 3 have answered")
            assert node.log.is_held
            stands[2].mood = "right"
            await node.until_looked(lambda: not node.log.is_held)
            await node.health(status="pass", says="cosigned by 2 of 3, quorum held at size 4")


async def test_a_new_log_is_released_by_who_does_not_know_it(tmp_path: Path, one: Stand, two: Stand) -> None:
    async with bench(tmp_path, policy_of([one, two]), is_held=True) as node:
        await node.until(lambda: not node.log.is_held)
        await node.grow()
        await node.health(status="pass", says="cosigned by 2 of 2")


async def test_what_is_shown_must_be_signed_by_both(tmp_path: Path, one: Stand) -> None:
    """A checkpoint without the witness's cosignature, or with another log's key, is no answer."""
    entries = [b"entry %d" % n for n in range(3)]
    text = rfc6962.checkpoint(ORIGIN, entries)
    stranger = rfc6962.Key(ORIGIN, seed="stranger")
    shown = [
        rfc6962.note(text, LOG.line(text)),
        rfc6962.note(text, stranger.line(text), one.key.line(text, TIME_S)),
        rfc6962.note(text, LOG.line(text), one.key.line(text + b"x", TIME_S)),
        b"nonsense",
    ]
    policy = policy_of([one])
    for number, data in enumerate(shown):
        one.held[ORIGIN] = data
        async with bench(tmp_path, policy, is_held=True, name=f"log{number}") as node:
            await node.health(status="warn", says="0 of 1 have answered (w0 shows a checkpoint that")
            assert node.log.is_held


# --- the policy file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("nonsense", "line 1"),
        ("quorum none\nquorum none\n", "line 2"),
        ("witness w {vkey} ftp://example.com/\nquorum w\n", "address of w"),
        ("witness w {vkey} http://\nquorum w\n", "address of w"),
        ("witness w {vkey} http://[\nquorum w\n", "address of w"),
        ("witness w {vkey} http://example.com/?x\nquorum w\n", "address of w"),
    ],
)
def test_a_bad_policy_is_one_sentence(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "policy.txt"
    if text is not None:
        path.write_text(text.replace("{vkey}", rfc6962.Key("w", 4).vkey), encoding="utf-8")
    with pytest.raises(Misconfigured, match=says):
        load_policy(path)


def test_a_good_policy_is_read(tmp_path: Path) -> None:
    path = tmp_path / "policy.txt"
    path.write_text(f"witness w {rfc6962.Key('w', 4).vkey} https://w.example/x\nquorum w\n", encoding="utf-8")
    assert load_policy(path).requires_any


async def test_a_witness_that_knows_no_epochs_is_named_with_the_key_that_it_lacks(tmp_path: Path) -> None:
    """It answers 404 to the next epoch: its operator needs the key under that name."""
    async with witness(0) as old:
        async with bench(tmp_path, policy_of([old]), origin=f"{ORIGIN}/2") as node:
            await node.grow()
            key = Ed25519Signer(f"{ORIGIN}/2", KEY).verifier.vkey
            await node.health(status="warn", says=f"does not know epoch 2 of {ORIGIN}")
            assert f"give its operator the vkey {key}, or let no epoch end" in node.witnesses.health().output
