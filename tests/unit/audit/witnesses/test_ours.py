"""Our witness against the rules of tlog-witness, by a client that shares nothing with it."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from node.audit.log.contradictions import CASES_OF_ONE, Evidence
from node.audit.witnesses.ours import BODY_BYTES_MAX, Submission, Verdict, Witness
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.files import Files
from node.core.signed_note import CosignatureSigner, MlDsaCosigner, Note, Signer, Verifier
from tests.manual_clock import ManualClock
from tests.simulators import rfc6962
from tests.simulators.rfc6962 import Key, checkpoint, consistency, note, submission, text_of, tree_hash

LOG = Key("log.example/one")
ID = hashlib.sha256(LOG.name.encode()).hexdigest()
STRANGER = Key("log.example/unknown")
WITNESS = Key("witness.example/w", kind=4)
ENTRIES = [b"entry %d" % n for n in range(40)]
FORK = [*ENTRIES[:5], *(b"other %d" % n for n in range(5, 40))]


def signers() -> list[Signer]:
    return [CosignatureSigner(WITNESS.name, WITNESS.private)]


@asynccontextmanager
async def opened(
    folder: Path, clock: ManualClock, *logs: Key, files: Files | None = None, keys: list[Signer] | None = None
) -> AsyncIterator[Witness]:
    verifiers = [Verifier.from_vkey(one.vkey) for one in logs or (LOG,)]
    witness = await Witness.open(folder, lambda: keys or signers(), verifiers, clock, files=files)
    try:
        yield witness
    finally:
        await witness.close()


def signed(entries: list[bytes], *keys: Key, origin: str = LOG.name) -> bytes:
    text = checkpoint(origin, entries)
    return note(text, *(key.line(text) for key in keys or (LOG,)))


def grown(old: int, new: int, entries: list[bytes] = ENTRIES, *keys: Key) -> bytes:
    """A right submission from one size to the next."""
    return submission(old, consistency(old, entries[:new]), signed(entries[:new], *keys))


def held(witness: Witness) -> int:
    try:
        return rfc6962.read_note(witness.newest(ID))[1]
    except NotFound:
        return 0


# --- the table of rules, before and after a restart -----------------------------------------------

AT = 20
"""What the witness holds when the table is asked."""
PROOF = consistency(AT, ENTRIES[:30])
GOOD = signed(ENTRIES[:30])
TEXT = checkpoint(LOG.name, ENTRIES[:30])

TABLE: dict[str, tuple[bytes, int]] = {
    "nothing": (b"", 400),
    "no empty line": (b"old 20\n" + GOOD.split(b"\n\n")[0], 400),
    "no old line": (b"\n" + GOOD, 400),
    "old without a number": (b"old \n\n" + GOOD, 400),
    "old with a leading zero": (b"old 020\n\n" + GOOD, 400),
    "old with a sign": (b"old +20\n\n" + GOOD, 400),
    "old with two spaces": (b"old  20\n\n" + GOOD, 400),
    "old with a return": (b"old 20\r\n\n" + GOOD, 400),
    "old beyond 63 bits": (b"old 9223372036854775808\n\n" + GOOD, 400),
    "proof not base64": (b"old 20\n!!!!\n\n" + GOOD, 400),
    "proof of 31 bytes": (submission(20, [b"x" * 31], GOOD), 400),
    "proof with stray bits": (b"old 20\n" + b"A" * 42 + b"B=\n\n" + GOOD, 400),
    "64 proof lines": (submission(20, [b"x" * 32] * 64, GOOD), 400),
    "a checkpoint that is none": (submission(20, PROOF, b"hello\n\n" + LOG.line(b"hello\n")), 400),
    "a size with a leading zero": (
        submission(20, PROOF, note(TEXT.replace(b"\n30\n", b"\n030\n"), LOG.line(TEXT))),
        400,
    ),
    "a broken signature line": (submission(20, PROOF, note(TEXT, b"-- x\n")), 400),
    "an unknown log": (submission(20, PROOF, signed(ENTRIES[:30], STRANGER, origin=STRANGER.name)), 404),
    "an unknown log with our log's signature": (
        submission(20, PROOF, note(text_of(STRANGER.name, 30, b"r" * 32), LOG.line(TEXT))),
        404,
    ),
    "no signature at all": (submission(20, PROOF, note(TEXT)), 403),
    "an unknown log, no signature": (submission(20, PROOF, note(text_of("x", 30, b"r" * 32))), 404),
    "another key under the log's name": (
        submission(20, PROOF, note(TEXT, Key(LOG.name, seed="another").line(TEXT))),
        403,
    ),
    "only a stranger's signature": (submission(20, PROOF, note(TEXT, STRANGER.line(TEXT))), 403),
    "a signature over something else": (submission(20, PROOF, note(TEXT, LOG.line(TEXT + b"x\n"))), 403),
    "a right and a wrong signature of the log": (
        submission(20, PROOF, note(TEXT, LOG.line(TEXT), LOG.line(TEXT + b"x\n"))),
        403,
    ),
    "a bad signature goes before a wrong old size": (
        submission(7, [], note(TEXT, LOG.line(TEXT + b"x\n"))),
        403,
    ),
    "old above the checkpoint": (submission(31, [], GOOD), 400),
    "old above the checkpoint, and not ours": (submission(20, [], signed(ENTRIES[:10])), 400),
    "old below ours": (submission(10, consistency(10, ENTRIES[:30]), GOOD), 409),
    "old zero": (submission(0, [], GOOD), 409),
    "old above ours": (submission(25, consistency(25, ENTRIES[:30]), GOOD), 409),
    "a smaller checkpoint with a proof": (submission(10, [], signed(ENTRIES[:10])), 409),
    "no proof": (submission(20, [], GOOD), 422),
    "a proof too short": (submission(20, PROOF[:-1], GOOD), 422),
    "a proof too long": (submission(20, [*PROOF, b"x" * 32], GOOD), 422),
    "63 lines of proof": (submission(20, [b"x" * 32] * 63, GOOD), 422),
    "a proof in another order": (submission(20, PROOF[::-1], GOOD), 422),
    "a changed proof": (submission(20, [bytes(32), *PROOF[1:]], GOOD), 422),
    "another tree": (submission(20, consistency(20, FORK[:30]), signed(FORK[:30])), 422),
    "the same size, another root": (submission(20, [], signed(FORK[:20])), 422),
    "the same size with a proof": (submission(20, [b"x" * 32], signed(ENTRIES[:20])), 422),
}
"""Name → (body, status) at a witness that holds 20 entries."""


async def ask_table(witness: Witness) -> None:
    before = witness.newest(ID)
    for name, (body, status) in TABLE.items():
        verdict = await witness.add_checkpoint(body)
        assert verdict.status == status, (name, verdict)
        assert verdict.body == (b"20\n" if status == 409 else b""), name
        assert bool(verdict.reason) == (status != 409), name
    assert witness.newest(ID) == before


async def test_each_rule_before_and_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    async with opened(tmp_path, clock) as witness:
        assert (await witness.add_checkpoint(grown(0, 20))).status == 200
        await ask_table(witness)
    async with opened(tmp_path, clock) as witness:
        await ask_table(witness)
        assert (await witness.add_checkpoint(submission(20, PROOF, GOOD))).status == 200
        assert held(witness) == 30


async def test_the_rules_of_a_log_never_seen(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        assert held(witness) == 0
        said = await witness.add_checkpoint(grown(3, 8))
        assert (said.status, said.body) == (409, b"0\n")
        assert (await witness.add_checkpoint(submission(0, [b"x" * 32], signed(ENTRIES[:8])))).status == 422
        empty = text_of(LOG.name, 0, b"x" * 32)
        assert (await witness.add_checkpoint(submission(0, [], note(empty, LOG.line(empty))))).status == 422
        assert held(witness) == 0
        # The empty tree may be cosigned, and anything grows out of it.
        assert (await witness.add_checkpoint(grown(0, 0))).status == 200
        assert (await witness.add_checkpoint(grown(0, 8))).status == 200
        assert held(witness) == 8


# --- the cosignature ------------------------------------------------------------------------------


async def test_the_answer_is_a_cosignature_over_the_submitted_text(tmp_path: Path) -> None:
    clock = ManualClock()
    async with opened(tmp_path, clock) as witness:
        body = signed(ENTRIES[:9], LOG, STRANGER)
        said = await witness.add_checkpoint(submission(0, [], body))
        assert said.status == 200
        assert rfc6962.verify(WITNESS.vkey, body + said.body) == int(clock.now().timestamp())
        kept = witness.newest(ID)
        # With the log's signature and ours; a stranger's is not passed on.
        assert kept == signed(ENTRIES[:9], LOG) + said.body


async def test_extension_lines_are_cosigned_as_they_stand(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        text = checkpoint(LOG.name, ENTRIES[:3]) + b"some extension\n"
        body = note(text, LOG.line(text))
        said = await witness.add_checkpoint(submission(0, [], body))
        assert said.status == 200
        assert rfc6962.verify(WITNESS.vkey, body + said.body)


async def test_the_same_checkpoint_again_is_cosigned_again(tmp_path: Path) -> None:
    clock = ManualClock()
    async with opened(tmp_path, clock) as witness:
        body = signed(ENTRIES[:9])
        first = await witness.add_checkpoint(submission(0, [], body))
        clock.advance(60)
        again = await witness.add_checkpoint(submission(9, [], body))
        assert again.status == 200
        times = [rfc6962.verify(WITNESS.vkey, body + one.body) for one in (first, again)]
        assert times[0] is not None
        assert times[1] == times[0] + 60


async def test_time_never_goes_backwards_for_a_log(tmp_path: Path) -> None:
    clock = ManualClock()
    start = clock.now()
    seen = []
    for size, jump in enumerate((0, 3_600, -86_400, 10, -10), start=1):
        clock.set_wall(clock.now() + timedelta(seconds=jump))
        async with opened(tmp_path, clock) as witness:  # the time is kept over restarts
            said = await witness.add_checkpoint(grown(size - 1, size))
            seen.append(rfc6962.verify(WITNESS.vkey, signed(ENTRIES[:size]) + said.body))
    first = int(start.timestamp())
    assert seen == [first, *[first + 3_600] * 4]


async def test_several_keys_of_a_log_and_of_the_witness(tmp_path: Path) -> None:
    """Key rotation: either key speaks for the log; the witness signs with Ed25519 and ML-DSA."""
    new = Key(LOG.name, seed="new")
    ml_dsa = MlDsaCosigner.from_seed(WITNESS.name, bytes(32))
    async with opened(tmp_path, ManualClock(), LOG, new, keys=[*signers(), ml_dsa]) as witness:
        assert (await witness.add_checkpoint(grown(0, 5, ENTRIES, LOG))).status == 200
        assert (await witness.add_checkpoint(grown(5, 6, ENTRIES, new, LOG))).status == 200
        said = await witness.add_checkpoint(grown(6, 7, ENTRIES, new))
        assert said.status == 200
        assert said.body.count(b"\n") == 2
        signatures = Note.parse(signed(ENTRIES[:7], new) + said.body).signatures
        assert ml_dsa.verifier.check(checkpoint(LOG.name, ENTRIES[:7]), signatures[-1])


async def test_a_rotated_key_of_the_witness_signs_with_the_next_checkpoint(tmp_path: Path) -> None:
    clock = ManualClock()
    new = Key(WITNESS.name, kind=4, seed="new")
    keys = signers()
    async with opened(tmp_path, clock, keys=keys) as witness:
        assert (await witness.add_checkpoint(grown(0, 5))).status == 200
        keys[:] = [CosignatureSigner(new.name, new.private)]
        said = await witness.add_checkpoint(grown(5, 6))
        assert rfc6962.verify(new.vkey, signed(ENTRIES[:6]) + said.body)
    async with opened(tmp_path, clock, keys=signers()) as witness:  # what the other key signed is held too
        assert held(witness) == 6


async def test_logs_can_be_added_while_it_runs(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        text = checkpoint(STRANGER.name, ENTRIES[:2])
        body = submission(0, [], note(text, STRANGER.line(text)))
        assert (await witness.add_checkpoint(body)).status == 404
        witness.add_log(Verifier.from_vkey(STRANGER.vkey))
        assert (await witness.add_checkpoint(body)).status == 200


# --- durability and races -------------------------------------------------------------------------


class Watched(Files):
    """The real disk, with a list of what was done and one failure to come."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fail_at = ""

    def _step(self, name: str) -> None:
        if name == self.fail_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.done.append(name)

    def write(self, fd: int, data: bytes, offset: int) -> None:
        self._step("write")
        super().write(fd, data, offset)

    def sync(self, fd: int) -> None:
        self._step("sync")
        super().sync(fd)

    def rename(self, old: Path, new: Path) -> None:
        self._step("rename")
        super().rename(old, new)

    def sync_directory(self, path: Path) -> None:
        self._step("sync_directory")
        super().sync_directory(path)


async def test_the_checkpoint_is_durable_before_the_answer(tmp_path: Path) -> None:
    files = Watched()
    async with opened(tmp_path, ManualClock(), files=files) as witness:
        files.done.clear()
        assert (await witness.add_checkpoint(grown(0, 5))).status == 200
        assert files.done[-4:] == ["write", "sync", "rename", "sync_directory"]


@pytest.mark.parametrize("step", ["write", "sync", "rename", "sync_directory"])
async def test_a_disk_that_fails_gets_no_cosignature_and_heals(tmp_path: Path, step: str) -> None:
    files = Watched()
    async with opened(tmp_path, ManualClock(), files=files) as witness:
        assert (await witness.add_checkpoint(grown(0, 5))).status == 200
        files.fail_at = step
        with pytest.raises(Unavailable, match="not cosigned"):
            await witness.add_checkpoint(grown(5, 9))
        assert held(witness) == 5
        files.fail_at = ""
        assert (await witness.add_checkpoint(grown(5, 12))).status == 200


async def test_200_submissions_at_once_never_roll_back(tmp_path: Path) -> None:
    order = random.Random(7)
    async with opened(tmp_path, ManualClock()) as witness:
        sizes: list[int] = []

        async def climb(number: int) -> Counter[int]:
            """A client that learns the witness's size by 409 and goes on from there."""
            got: Counter[int] = Counter()
            old, target = order.randrange(3), order.randrange(1, 41)
            for _ in range(3):
                if old > target:
                    break
                said = await witness.add_checkpoint(grown(old, target))
                sizes.append(held(witness))
                got[said.status] += 1
                if said.status != 409:
                    break
                old = int(said.body)
            return got

        counts = sum(await asyncio.gather(*map(climb, range(200))), Counter())
        assert set(counts) <= {200, 409}
        assert counts[200] >= 1
        assert sizes == sorted(sizes)
        last = held(witness)
    async with opened(tmp_path, ManualClock()) as witness:
        assert held(witness) == last


async def test_a_caller_that_goes_away_does_not_split_check_and_keep(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        tasks = [asyncio.create_task(witness.add_checkpoint(grown(0, size))) for size in range(1, 30)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        said = await asyncio.gather(*tasks, return_exceptions=True)
        good = [one for one in said if isinstance(one, Verdict) and one.status == 200]
        assert len(good) <= 1
        others = [one for one in said if isinstance(one, Verdict) and one not in good]
        assert all(one.body == b"%d\n" % held(witness) for one in others)


async def test_a_damaged_file_stops_its_log_only(tmp_path: Path) -> None:
    clock = ManualClock()
    other = Key("log.example/two")
    async with opened(tmp_path, clock, LOG, other) as witness:
        assert (await witness.add_checkpoint(grown(0, 5))).status == 200
    path = tmp_path / f"{ID}.checkpoint"
    good = path.read_bytes()
    for bad in (b"", good[:-9], good.replace(b"\n5\n", b"\n4\n"), good.replace(b"/one", b"/two")):
        path.write_bytes(bad)
        async with opened(tmp_path, clock, LOG, other) as witness:
            with pytest.raises(CorruptState, match="damaged"):
                await witness.add_checkpoint(grown(5, 9))
            assert witness.health().status == "fail"
            text = checkpoint(other.name, ENTRIES[:2])
            body = submission(0, [], note(text, other.line(text)))
            assert (await witness.add_checkpoint(body)).status == 200
        path.with_name(hashlib.sha256(other.name.encode()).hexdigest() + ".checkpoint").unlink()
    path.write_bytes(good)
    async with opened(tmp_path, clock) as witness:
        assert witness.health().status == "pass"
        assert (await witness.add_checkpoint(grown(5, 9))).status == 200


async def test_an_unreadable_folder_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "witness"
    folder.mkdir()
    (folder / f"{'0' * 64}.checkpoint").mkdir()
    with pytest.raises(Unavailable, match="cannot be read"):
        async with opened(folder, ManualClock()):
            pass


# --- evidence -------------------------------------------------------------------------------------


async def test_two_trees_of_one_size_are_kept_and_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        await witness.add_checkpoint(grown(0, 20))
        assert witness.health().status == "pass"
        forked = signed(FORK[:20])
        for old in (20, 20, 3):  # also where the old size is wrong, and once only
            await witness.add_checkpoint(submission(old, [], forked))
        kept = {path.name.split(".")[1]: path.read_bytes() for path in (tmp_path / "evidence").iterdir()}
        assert kept["shown"] == forked
        assert rfc6962.read_note(kept["held"])[1:3] == (20, tree_hash(ENTRIES[:20]))
        assert len(kept) == 2
        check = witness.health()
        assert check.status == "warn"
        assert "1 " in check.output
    async with opened(tmp_path, ManualClock()) as witness:
        assert witness.health().status == "warn"


async def test_a_proof_that_does_not_hold_is_kept_until_one_does(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        await witness.add_checkpoint(grown(0, 20))
        await witness.add_checkpoint(submission(20, [], GOOD))
        check = witness.health()
        assert check.status == "pass"
        assert "1 signed checkpoints" in check.output
        assert (await witness.add_checkpoint(grown(20, 30))).status == 200
        assert witness.health().output == ""


async def test_evidence_is_bounded(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        await witness.add_checkpoint(grown(0, 1))
        for number in range(CASES_OF_ONE + 5):
            text = text_of(LOG.name, 1, hashlib.sha256(b"%d" % number).digest())
            await witness.add_checkpoint(submission(1, [], note(text, LOG.line(text))))
        assert len(list((tmp_path / "evidence").iterdir())) == 2 * CASES_OF_ONE


def test_one_logs_evidence_keeps_out_no_others_and_half_a_case_is_completed(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, Files())
    notes = {"held": b"one", "shown": b"other"}
    assert all(evidence.keep("conflict", f"a-{number}", notes) for number in range(CASES_OF_ONE))
    assert not evidence.keep("conflict", "a-more", notes)
    (tmp_path / "conflict-b-1.held.note").write_bytes(b"")  # a kill came between the two
    assert evidence.keep("conflict", "b-1", notes)
    assert not evidence.keep("conflict", "b-1", notes)
    assert (tmp_path / "conflict-b-1.held.note").read_bytes() == b"one"
    assert (tmp_path / "conflict-b-1.shown.note").read_bytes() == b"other"


async def test_evidence_that_cannot_be_kept_changes_no_verdict(tmp_path: Path) -> None:
    files = Watched()
    async with opened(tmp_path, ManualClock(), files=files) as witness:
        await witness.add_checkpoint(grown(0, 20))
        files.fail_at = "write"
        assert (await witness.add_checkpoint(submission(20, [], signed(FORK[:20])))).status == 422


# --- the format -----------------------------------------------------------------------------------


def test_a_submission_is_encoded_as_an_independent_client_does() -> None:
    body = submission(20, PROOF, GOOD)
    assert Submission(20, tuple(PROOF), GOOD).encode() == body
    assert Submission.parse(body) == Submission(20, tuple(PROOF), GOOD)
    assert len(submission(2**63 - 1, [b"x" * 32] * 63, b"")) < BODY_BYTES_MAX


async def test_no_change_of_a_body_is_cosigned_or_breaks_it(tmp_path: Path) -> None:
    async with opened(tmp_path, ManualClock()) as witness:
        await witness.add_checkpoint(grown(0, 20))
        body = grown(20, 30)
        for at in range(0, len(body), 3):
            for changed in (body[:at], body[:at] + b"\xff" + body[at + 1 :], body[:at] + b"0" + body[at:]):
                assert (await witness.add_checkpoint(changed)).status in (400, 403, 404, 422), changed
        assert held(witness) == 20


async def test_who_knows_a_log_s_first_epoch_cosigns_the_later_ones(tmp_path: Path) -> None:
    first = Key("zOne.neuroswarm/decisions")
    second = Key(f"{first.name}/2", seed=first.name)
    forged = Key(f"{first.name}/2")
    async with opened(tmp_path, ManualClock(), first) as witness:

        async def told(origin: str, key: Key, old: int, new: int) -> int:
            entries = ENTRIES[:new]
            body = submission(old, consistency(old, entries), signed(entries, key, origin=origin))
            return (await witness.add_checkpoint(body)).status

        assert await told(first.name, first, 0, 5) == 200
        assert await told(second.name, second, 0, 3) == 200
        assert await told(second.name, second, 3, 9) == 200
        assert await told(second.name, forged, 9, 10) == 403
        assert await told("zTwo.neuroswarm/decisions/2", second, 0, 3) == 404
