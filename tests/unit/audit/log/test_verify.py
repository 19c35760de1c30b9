"""A whole log checked as a stranger would: what holds is said to hold, and every damage is found and
named."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from node.audit.log.reader import FolderSource
from node.audit.log.verify import Report, check_leaf, verify_log
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.tiles import Tile, encode_bundle
from node.core import merkle
from node.core.clock import SystemClock
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.signed_note import Checkpoint, Note, Verifier
from tests.each import each
from tests.log_folders import ORIGIN, MemorySource, leaf, leaves, log_files, note_of, signer, write_log
from tests.unit.audit.tables import NO_LEAVES

TRUSTED = [signer().verifier]


async def verified(
    files: dict[str, bytes], *, trusted: Sequence[Verifier] = TRUSTED, since: bytes | None = None
) -> Report:
    return await verify_log(MemorySource(files), trusted, since=since)


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 511, 512, 513, 600])
async def test_a_right_log_holds(size: int, tmp_path: Path) -> None:
    entries = leaves(size)
    write_log(tmp_path, entries, sizes=[size // 3, size // 2])
    seen: list[tuple[int, int]] = []
    report = await verify_log(
        FolderSource(tmp_path),
        TRUSTED,
        since=note_of(entries[: size // 2], [signer()]),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert (report.ok, report.where, report.reason) == (True, "", "")
    assert report.entries == size
    assert report.checkpoint is not None
    assert report.checkpoint.root == merkle.root_of([merkle.leaf_hash(one) for one in entries])
    assert report.signed_by == tuple(TRUSTED)
    assert report.since is not None
    assert (report.since.size, report.since_is_signed) == (size // 2, True)
    assert len(seen) == -(-size // 256)


@pytest.mark.slow
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
async def test_a_log_with_a_third_row_of_tiles_holds(size: int) -> None:
    files = log_files(leaves(size))
    report = await verified(files)
    assert (report.ok, report.where, report.entries) == (True, "", size)
    top = Tile(2, 0, 1).path
    if size < 65_536:
        assert top not in files
        return
    files[top] = bytes(32)
    assert (await verified(files)).where == top


# --- damage ---------------------------------------------------------------------------------------


OF_3 = ("tile/0/000.p/3", "tile/entries/000.p/3")


def flipped(data: bytes, at: int, bit: int = 0x01) -> bytes:
    changed = bytearray(data)
    changed[at] ^= bit
    return bytes(changed)


async def test_each_single_byte_change_is_refused() -> None:
    files = log_files(leaves(3))
    checked = 0
    for path, bit in (*(("checkpoint", bit) for bit in (0x01, 0x20)), *((one, 0x01) for one in OF_3)):
        for at in range(len(files[path])):
            report = await verified({**files, path: flipped(files[path], at, bit)})
            assert not report.ok, (path, at, bit)
            assert report.where, (path, at, bit)
            checked += 1
    assert checked > 600


async def test_a_byte_changed_anywhere_in_a_larger_log_is_refused() -> None:
    files = log_files(leaves(600))
    for path in sorted(files):
        for at in range(0, len(files[path]) if path != "vkey" else 0, 1_009):
            assert not (await verified({**files, path: flipped(files[path], at, 0x04)})).ok, (path, at)


async def test_the_first_thing_that_does_not_hold_is_named() -> None:
    files = log_files(leaves(600))
    bundle = "tile/entries/001"
    text = files[bundle].replace(b'"main"', b'"mine"', 1)
    assert (await verified({**files, bundle: text})).where == "entry 256"
    report = await verified({**files, "tile/0/001": flipped(files["tile/0/001"], 5 * 32)})
    assert (report.where, report.entries) == ("entry 261", 256)
    report = await verified({**files, "tile/1/000.p/2": bytes(64)})
    assert report.where == "tile/1/000.p/2"
    assert "root of tile 0 of level 0" in report.reason


OF_600 = ["tile/0/000", "tile/0/002.p/88", "tile/1/000.p/2", "tile/entries/000", "tile/entries/001"]


@pytest.mark.parametrize("path", [*OF_600, "tile/entries/002.p/88"])
async def test_missing_truncated_and_lengthened_files_are_named(path: str) -> None:
    files = log_files(leaves(600))
    gone = {name: data for name, data in files.items() if name != path}
    report = await verified(gone)
    assert (report.ok, report.where, report.reason) == (False, path, f"{path} is missing")
    for damaged in (files[path][:-1], files[path] + b"\0", b""):
        report = await verified({**files, path: damaged})
        assert (report.ok, report.where) == (False, path)


async def test_exchanged_tiles_and_bundles_are_refused() -> None:
    files = log_files(leaves(512))
    pairs = (("tile/0/000", "tile/0/001"), ("tile/entries/000", "tile/entries/001"))
    hashes, bundles = ({one: files[other], other: files[one]} for one, other in pairs)
    for exchanged in (hashes, bundles):
        report = await verified({**files, **exchanged})
        assert (report.ok, report.where) == (False, "entry 0")
    report = await verified({**files, **hashes, **bundles})
    assert report.where == "entry 0", "a leaf says where it belongs"


async def test_what_earlier_sizes_left_in_a_folder_is_checked_too(tmp_path: Path) -> None:
    write_log(tmp_path, leaves(300), sizes=[3, 7])
    assert (await verify_log(FolderSource(tmp_path), TRUSTED)).ok
    for path in ("tile/0/000.p/3", "tile/0/000.p/7", "tile/entries/000.p/3", "tile/entries/000.p/7"):
        file = tmp_path / path
        right = file.read_bytes()
        for at in (0, len(right) - 1):
            file.write_bytes(flipped(right, at))
            report = await verify_log(FolderSource(tmp_path), TRUSTED)
            assert (report.ok, report.where) == (False, path)
        file.write_bytes(right)
    beyond = tmp_path / "tile/0/001.p/99"
    beyond.write_bytes(b"a crash came before the checkpoint over this")
    assert (await verify_log(FolderSource(tmp_path), TRUSTED)).ok


async def test_a_tile_that_has_grown_stands_in_for_the_narrower_one(tmp_path: Path) -> None:
    entries = leaves(700)
    older = note_of(entries[:300], [signer()])
    for size in (350, 700):  # 001.p/44 is in neither; one has 001.p/94, the other 001
        folder = tmp_path / str(size)
        write_log(folder, entries[:size])
        (folder / "checkpoint").write_bytes(older)
        (folder / "tile/1/000.p/1").unlink(missing_ok=True)
        # Wider than the 1 of size 300.
        (folder / "tile/1/000.p/2").write_bytes(log_files(entries[:512])["tile/1/000.p/2"])
        report = await verify_log(FolderSource(folder), TRUSTED)
        assert (report.ok, report.where, report.entries) == (True, "", 300)


# --- the checkpoint -------------------------------------------------------------------------------


async def test_a_checkpoint_that_nobody_trusted_has_signed_is_refused() -> None:
    entries = leaves(5)
    for signers in ([signer(seed="somebody else")], [signer("other.neuroswarm/decisions")]):
        report = await verified({**log_files(entries), "checkpoint": note_of(entries, signers)})
        assert (report.ok, report.where, report.checkpoint) == (False, "checkpoint", None)
    report = await verified(log_files(entries), trusted=[])
    assert (report.ok, report.where) == (False, "checkpoint")


async def test_a_second_key_during_a_rotation_is_fine() -> None:
    old, new = signer(seed="old"), signer(seed="new")
    files = log_files(leaves(9), signers=[new, old])
    for trusted in ([old.verifier], [new.verifier], [old.verifier, new.verifier]):
        assert (await verified(files, trusted=trusted)).ok


async def test_a_root_that_the_entries_do_not_have_is_refused() -> None:
    files = log_files(leaves(5))
    for size, root in ((5, bytes(32)), (0, bytes(32)), (4, merkle.EMPTY_ROOT)):
        text = Checkpoint(ORIGIN, size, root).text()
        forged = Note(text, (signer().sign(text, 0),)).encode()
        report = await verified({**files, **log_files(leaves(size)), "checkpoint": forged})
        assert (report.ok, report.where) == (False, "checkpoint"), size


async def test_an_absurd_size_ends_at_a_missing_tile() -> None:
    text = Checkpoint(ORIGIN, 2**62, bytes(32)).text()
    source = MemorySource({"checkpoint": Note(text, (signer().sign(text, 0),)).encode()})
    report = await verify_log(source, TRUSTED)
    assert (report.ok, report.where) == (False, "tile/entries/000")
    assert len(source.reads) < 5


async def test_no_log_is_not_a_verdict(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await verify_log(FolderSource(tmp_path), TRUSTED)
    (tmp_path / "checkpoint").write_bytes(b"x" * 200_000)
    assert (await verify_log(FolderSource(tmp_path), TRUSTED)).where == "checkpoint"


async def test_a_file_that_cannot_be_read_is_not_a_verdict() -> None:
    class Broken(MemorySource):
        async def read(self, path: str, bytes_max: int) -> bytes:
            if path.startswith("tile/0"):
                raise Unavailable("the disk says no")
            return await super().read(path, bytes_max)

    with pytest.raises(Unavailable):
        await verify_log(Broken(log_files(leaves(3))), TRUSTED)


# --- older checkpoints ----------------------------------------------------------------------------


async def test_a_fork_a_roll_back_and_another_log_are_refused() -> None:
    main, branch = leaves(500), leaves(200) + leaves(500, "branch")[200:]
    files = log_files(main)
    for since, reason in (
        (note_of(branch[:201], [signer()]), "does not continue"),
        (note_of(branch, [signer()]), "does not continue"),
        (note_of(leaves(501), [signer()]), "rolled back"),
        (note_of(main[:100], [signer("other.neuroswarm/x")], "other.neuroswarm/x"), "of the log"),
        (b"not a note", ""),
    ):
        report = await verified(files, since=since)
        assert (report.ok, report.where) == (False, "the older checkpoint")
        assert reason in report.reason
    assert (await verified(files, since=note_of(branch[:200], [signer()]))).ok, "it forked later"


async def test_an_older_checkpoint_counts_as_the_callers_word_unless_a_known_key_denies_it() -> None:
    entries = leaves(30)
    files = log_files(entries)
    report = await verified(files, since=note_of(entries[:9], [signer(seed="before the rotation")]))
    assert (report.ok, report.since_is_signed) == (True, False)
    note = Note.parse(note_of(entries[:9], [signer()]))
    bad = Note(Checkpoint(ORIGIN, 8, bytes(32)).text(), note.signatures).encode()
    report = await verified(files, since=bad)
    assert (report.ok, report.where) == (False, "the older checkpoint")


async def test_the_witnessed_checkpoint_has_to_be_a_start_of_the_log() -> None:
    entries = leaves(40)
    files = log_files(entries)
    report = await verified({**files, "checkpoint.witnessed": note_of(entries[:30], [signer()])})
    assert report.ok
    assert report.witnessed is not None
    assert report.witnessed.size == 30
    later = note_of(leaves(41), [signer()])
    assert (await verified({**files, "checkpoint.witnessed": later})).ok, "written since"
    for wrong in (note_of(leaves(30, "branch"), [signer()]), b"", note_of(entries, [signer("o")], "o")):
        report = await verified({**files, "checkpoint.witnessed": wrong})
        assert (report.ok, report.where) == (False, "checkpoint.witnessed")


# --- one leaf -------------------------------------------------------------------------------------

RIGHT = leaf(7, {"kind": "repair", "list": [1, {"a": None, "b": [True, "1.5e3", -3]}], "v": 1})


def test_a_right_leaf_is_taken() -> None:
    check_leaf(7, RIGHT)
    check_leaf(0, leaf(0, {}))
    check_leaf(10**15, leaf(10**15))
    check_leaf(7, leaf(7, {"quote": 'a ",\\"seq\\":9" in a text', "seq": 9, "control": "\u0001\n"}))


DEEP = b'{"entry":{' + b'"a":{' * 2_000 + b"}" * 2_000 + b'},"seq":7,"time_us":1,"v":2}'


@each("data", [*NO_LEAVES, RIGHT.replace(b'"seq":7', b'"seq":8'), DEEP])
async def test_a_leaf_in_another_form_is_refused_and_named(data: bytes) -> None:
    with pytest.raises(Rejected):
        check_leaf(7, data)
    entries = [*leaves(7), data]
    report = await verified(log_files(entries))
    assert (report.ok, report.where, report.entries) == (False, "entry 7", 0)


async def test_the_form_of_entries_is_the_callers_when_it_says_so() -> None:
    entries = [b"anything", b"", hashlib.sha256(b"x").digest()]
    report = await verify_log(MemorySource(log_files(entries)), TRUSTED, check_entry=lambda index, data: None)
    assert (report.ok, report.entries) == (True, 3)


async def test_a_source_that_answers_with_too_much_is_refused() -> None:
    files = log_files(leaves(2))
    for path in ("checkpoint", "tile/0/000.p/2", "tile/entries/000.p/2"):
        report = await verified({**files, path: bytes(300_000)})
        assert (report.ok, report.where) == (False, path)


async def test_a_bundle_of_the_largest_entries_is_read() -> None:
    fill = 65_535 - len(leaf(0, {"text": ""}))
    entries = [leaf(n, {"text": "x" * fill}) for n in range(3)]
    assert len(encode_bundle(entries)) == 3 * 65_537
    report = await verified(log_files(entries))
    assert (report.ok, report.entries) == (True, 3)
    assert orjson.loads(entries[2])["seq"] == 2


# --- while it is written --------------------------------------------------------------------------


async def test_a_log_that_is_being_written_holds_at_whatever_size_it_has(tmp_path: Path) -> None:
    mark, pace = tmp_path / "mark", Pace(every_s=0.01)
    log = await TileLog.open(tmp_path / "log", ORIGIN, [signer()], SystemClock(), high_water=mark, pace=pace)
    source, sizes = FolderSource(tmp_path / "log"), []

    async def write() -> None:
        for _ in range(30):
            await asyncio.gather(*(log.append(lambda index, _: leaf(index, {"v": 1})) for _ in range(11)))
            await log.publish()

    try:
        await log.publish()
        writing = asyncio.create_task(write())
        older = await source.read("checkpoint", 10_000)
        while not writing.done():
            report = await verify_log(source, TRUSTED, since=older)
            assert (report.ok, report.where, report.reason) == (True, "", "")
            older = report.note
            sizes.append(report.entries)
        await writing
    finally:
        await log.close()
    assert (await verify_log(source, TRUSTED, since=older)).entries == 330
    assert len(set(sizes)) > 1, "or nothing was seen of the growth"
