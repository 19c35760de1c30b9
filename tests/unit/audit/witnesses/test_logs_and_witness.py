"""What strangers get over HTTP: the files of a log by the rules of tlog-tiles, receipts, and our witness."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.audit.tlog.tiles import ENTRIES, Tile, decode_bundle, tiles_between
from node.audit.witnesses.ours import Witness
from node.core.signed_note import CosignatureSigner, Verifier
from tests import log_folders
from tests.manual_clock import ManualClock
from tests.simulators import rfc6962
from tests.unit.api.door import Door, served
from tests.unit.audit.tables import rows

LOG = rfc6962.Key("log.example/one")
WITNESS = rfc6962.Key("witness.example/w", kind=4)


def tile_bytes(tile: Tile, entries: list[bytes]) -> bytes:
    return rfc6962.tile(tile.level, tile.index, tile.width, entries)


def bundle(data: bytes) -> list[bytes]:
    entries = []
    while data:
        length = int.from_bytes(data[:2], "big")
        entries.append(data[2 : 2 + length])
        data = data[2 + length :]
    return entries


# --- a log folder ---------------------------------------------------------------------------------


async def test_a_log_can_be_verified_from_what_is_served(tmp_path: Path) -> None:
    entries = log_folders.leaves(700)
    note = log_folders.write_log(tmp_path, entries, sizes=[3, 250, 600])
    async with served({"decisions": tmp_path}) as door:
        status, body, headers = await door.get("/logs/decisions/checkpoint")
        assert (status, body) == (200, note)
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["Cache-Control"] == "public, max-age=1"
        status, vkey, _ = await door.get("/logs/decisions/vkey")
        assert rfc6962.verify(vkey.decode().strip(), body) == 0
        found = []
        for path in ("tile/entries/000", "tile/entries/001", "tile/entries/002.p/188"):
            status, data, headers = await door.get(f"/logs/decisions/{path}")
            assert status == 200
            assert headers["Content-Type"] == "application/octet-stream"
            assert headers["Cache-Control"] == "public, max-age=60"
            found += bundle(data)
        assert found == entries
        assert rfc6962.tree_hash(found) == rfc6962.read_note(body)[2]


async def test_every_tile_of_every_published_size_stays_there_and_no_other(tmp_path: Path) -> None:
    """The publisher deletes partial tiles once the full one is there; they are cut from it then."""
    sizes = [1, 5, 255, 256, 257, 300, 513]
    entries = log_folders.leaves(520)
    log_folders.write_log(tmp_path, entries[:513])  # as if all older partial tiles were gone
    async with served({"decisions": tmp_path}) as door:
        for size in sizes:
            for tile in tiles_between(0, size):
                status, data, _ = await door.get(f"/logs/decisions/{tile.path}")
                assert (status, data) == (200, tile_bytes(tile, entries)), tile
        beyond = [Tile(0, 2, 2), Tile(ENTRIES, 2, 2), Tile(0, 2), Tile(0, 3, 1)]
        for tile in [*beyond, Tile(1, 0, 3), Tile(1, 0), Tile(2, 0, 1)]:
            assert (await door.get(f"/logs/decisions/{tile.path}"))[0] == 404, tile


async def test_nothing_is_served_that_no_checkpoint_covers(tmp_path: Path) -> None:
    """The publisher writes tiles first; until the checkpoint is there they are nobody's business."""
    entries = log_folders.leaves(300)
    log_folders.write_log(tmp_path, entries)
    note = log_folders.note_of(entries[:200], [log_folders.signer()])
    (tmp_path / "checkpoint").write_bytes(note)
    async with served({"decisions": tmp_path}) as door:
        whole = ("tile/0/000", "tile/entries/000", "tile/1/000.p/1")
        for path in (*whole, "tile/0/001.p/44", "tile/0/000.p/201"):
            assert (await door.get(f"/logs/decisions/{path}"))[0] == 404, path
        status, data, _ = await door.get("/logs/decisions/tile/entries/000.p/200")
        assert (status, bundle(data)) == (200, entries[:200])


async def test_a_tile_is_found_while_the_publisher_goes_on(tmp_path: Path) -> None:
    """Readers ask for tiles of the checkpoint that they saw; a publisher replaces and deletes meanwhile."""
    entries = log_folders.leaves(300)
    log_folders.write_log(tmp_path, entries[:1])
    key = log_folders.signer()

    def put(name: str, data: bytes) -> None:
        """Whole or not at all, as our publisher writes."""
        path, aside = tmp_path / name, tmp_path / "aside"
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(data)
        aside.replace(path)

    def publish(old: int, new: int) -> None:
        for tile in tiles_between(old, new):
            put(tile.path, tile_bytes(tile, entries))
        put("checkpoint", log_folders.note_of(entries[:new], [key]))
        needed = set(tiles_between(0, new))
        for tile in tiles_between(0, old):
            if tile not in needed:  # harsher than ours, which keeps them for a while
                (tmp_path / tile.path).unlink(missing_ok=True)

    async with served({"decisions": tmp_path}) as door:
        is_over = asyncio.Event()
        seen = 0

        async def read() -> None:
            nonlocal seen
            while not is_over.is_set():
                _, note, _ = await door.get("/logs/decisions/checkpoint")
                size = rfc6962.read_note(note)[1]
                for tile in tiles_between(0, size):
                    status, data, _ = await door.get(f"/logs/decisions/{tile.path}")
                    assert (status, data) == (200, tile_bytes(tile, entries)), (size, tile)
                    seen += 1

        readers = [asyncio.create_task(read()) for _ in range(4)]
        size = 1
        while size < 300:
            new = min(300, size + 7)
            await asyncio.to_thread(publish, size, new)
            size = new
        is_over.set()
        await asyncio.gather(*readers)
        assert seen


async def test_only_the_paths_of_a_log_are_served(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    log_folders.write_log(folder, log_folders.leaves(3), origin="new.neuroswarm/decisions/2")
    log_folders.write_log(folder / "epochs" / "1", log_folders.leaves(5), origin="old")
    (folder / "journal").mkdir()
    secrets = ["journal/000", ".lock", "checkpoint.new", "tile/secret", "epochs/secret", "epochs/1/.lock"]
    for name in secrets:
        (folder / name).write_bytes(b"secret")
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "tile" / "0" / "000.p" / "9").symlink_to(tmp_path / "secret")
    async with served({"decisions": folder}) as door:
        for name in [*secrets, *rows(__file__, "not_served.jsonl")]:
            answer = await door.raw(f"/logs/decisions/{name}")
            is_refused = answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400", b"HTTP/1.1 301"))
            assert is_refused or name.endswith("x/../.."), (name, answer)
            assert b"\r\n\r\nsecret" not in answer, name
            assert str(tmp_path).encode() not in answer, name
        for name in ("publications", "nothing", "..", "%2e%2e"):
            assert (await door.raw(f"/logs/{name}/checkpoint")).startswith(b"HTTP/1.1 404")
        for method in ("POST", "PUT", "DELETE"):
            assert (await door.get("/logs/decisions/checkpoint", method, json={}))[0] == 405
        status, note, _ = await door.get("/logs/decisions/epochs/1/checkpoint")
        assert (status, rfc6962.read_note(note)[:2]) == (200, ("old", 5))
        assert (await door.get("/logs/decisions/epochs/1/tile/0/000.p/5"))[0] == 200
        assert (await door.get("/logs/decisions/epochs/1/proof/4"))[0] == 200


async def test_conditional_and_head_requests(tmp_path: Path) -> None:
    log_folders.write_log(tmp_path, log_folders.leaves(9))
    async with served({"decisions": tmp_path}) as door:
        for name in ("checkpoint", "vkey", "tile/0/000.p/9", "tile/entries/000.p/9", "proof/3"):
            status, body, headers = await door.get(f"/logs/decisions/{name}")
            etag = headers["ETag"]
            assert status == 200
            head_status, nothing, head = await door.get(f"/logs/decisions/{name}", "HEAD")
            assert (head_status, nothing) == (200, b"")
            assert (head["ETag"], head["Content-Length"]) == (etag, str(len(body)))
            for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
                status, nothing, headers = await door.get(
                    f"/logs/decisions/{name}", headers={"If-None-Match": known}
                )
                assert (status, nothing, headers["ETag"]) == (304, b"", etag)
            assert (await door.get(f"/logs/decisions/{name}", headers={"If-None-Match": '"x"'}))[0] == 200
        before = (await door.get("/logs/decisions/checkpoint"))[2]["ETag"]
        log_folders.write_log(tmp_path, log_folders.leaves(10))
        status, _, headers = await door.get("/logs/decisions/checkpoint", headers={"If-None-Match": before})
        assert status == 200
        assert headers["ETag"] != before


async def test_bundles_are_compressed_for_those_who_can(tmp_path: Path) -> None:
    entries = log_folders.leaves(256)
    log_folders.write_log(tmp_path, entries)
    async with served({"decisions": tmp_path}) as door:
        path = "/logs/decisions/tile/entries/000"
        for refused in ("identity", "", "br, gzip;q=0"):
            _, plain, headers = await door.get(path, headers={"Accept-Encoding": refused})
            assert "Content-Encoding" not in headers
        _, packed, zipped = await door.get(path, headers={"Accept-Encoding": "br;q=1.0, GZIP;q=0.5"})
        assert zipped["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed) == plain
        assert zipped["ETag"] == f"W/{headers['ETag']}"
        assert zipped["Vary"] == headers["Vary"] == "Accept-Encoding"
        hashes = await door.get("/logs/decisions/tile/0/000", headers={"Accept-Encoding": "gzip"})
        assert "Content-Encoding" not in hashes[2]
        # Packed in the folder, it is sent as it lies there, and is the same to whoever asks.
        [lies] = log_folders.pack_bundles(tmp_path)
        for named in (path, path.replace("decisions", "decisions/epochs/1")):
            assert (await door.get(named, headers={"Accept-Encoding": "identity"}))[1] == plain
            _, packed, again = await door.get(named, headers={"Accept-Encoding": "gzip"})
            assert packed == lies.read_bytes()
            assert gzip.decompress(packed) == plain
            same = ("Content-Encoding", "ETag", "Vary", "Content-Type")
            assert [again[name] for name in same] == [zipped[name] for name in same]
            assert (await door.get(named, headers={"If-None-Match": again["ETag"]}))[0] == 304
            _, nothing, head = await door.get(named, "HEAD", headers={"Accept-Encoding": "gzip"})
            assert (nothing, head["Content-Length"]) == (b"", str(len(packed)))
        narrow = await door.get("/logs/decisions/tile/entries/000.p/9", headers={"Accept-Encoding": "gzip"})
        assert decode_bundle(gzip.decompress(narrow[1]), 9) == entries[:9]
        assert (await door.get("/logs/decisions/tile/entries/000.gz"))[0] == 404
        lies.write_bytes(gzip.compress(bytes(2**25)))
        for accepted in ("gzip", "identity"):
            assert (await door.get(path, headers={"Accept-Encoding": accepted}))[0] == 500


async def test_a_receipt_proves_its_entry(tmp_path: Path) -> None:
    entries = log_folders.leaves(300)
    note = log_folders.write_log(tmp_path, entries)
    async with served({"decisions": tmp_path}) as door:
        for index in (0, 255, 256, 299):
            status, body, headers = await door.get(f"/logs/decisions/proof/{index}")
            assert status == 200
            assert headers["Content-Type"] == "text/plain; charset=utf-8"
            head, _, checkpoint = body.partition(b"\n\n")
            assert checkpoint == note
            first, extra, its_index, *hashes = head.decode().split("\n")
            assert (first, its_index) == ("c2sp.org/tlog-proof@v1", f"index {index}")
            assert base64.b64decode(extra.removeprefix("extra ")) == entries[index]
            leaf = rfc6962.sha256(b"\x00" + entries[index])
            proof = [base64.b64decode(one) for one in hashes]
            assert rfc6962.is_included(leaf, index, 300, rfc6962.read_note(note)[2], proof)
        status, body, headers = await door.get("/logs/decisions/proof/300")
        assert status == 404
        assert headers["Content-Type"] == "application/problem+json"
        assert b"not yet entry 300" in body


async def test_a_receipt_under_the_witnessed_checkpoint(tmp_path: Path) -> None:
    entries = log_folders.leaves(20)
    log_folders.write_log(tmp_path, entries, sizes=[12])
    witnessed = log_folders.note_of(entries[:12], [log_folders.signer(), log_folders.witness("w")])
    async with served({"decisions": tmp_path}) as door:
        assert (await door.get("/logs/decisions/checkpoint.witnessed"))[0] == 404
        assert (await door.get("/logs/decisions/proof/3?size=12"))[0] == 404
        (tmp_path / "checkpoint.witnessed").write_bytes(witnessed)
        assert (await door.get("/logs/decisions/checkpoint.witnessed"))[:2] == (200, witnessed)
        status, body, _ = await door.get("/logs/decisions/proof/3?size=12")
        assert status == 200
        assert body.endswith(b"\n\n" + witnessed)
        assert (await door.get("/logs/decisions/proof/3?size=20"))[0] == 200
        assert (await door.get("/logs/decisions/proof/15?size=12"))[0] == 404
        for size, status in (("13", 404), ("0", 404), ("012", 400), ("x", 400), ("", 400)):
            assert (await door.get(f"/logs/decisions/proof/3?size={size}"))[0] == status


async def test_an_empty_or_absent_folder_has_nothing(tmp_path: Path) -> None:
    async with served({"decisions": tmp_path / "none", "publications": tmp_path}) as door:
        for log in ("decisions", "publications"):
            for name in ("checkpoint", "vkey", "tile/0/000.p/1", "proof/0", "epochs/1/checkpoint"):
                status, body, _ = await door.get(f"/logs/{log}/{name}")
                assert status == 404, (log, name, body)


async def test_damage_is_said_and_no_path_with_it(tmp_path: Path) -> None:
    log_folders.write_log(tmp_path, log_folders.leaves(9))
    (tmp_path / "tile" / "0" / "000.p" / "9").write_bytes(b"x" * 287)
    async with served({"decisions": tmp_path}) as door:
        for name in ("tile/0/000.p/9", "tile/0/000.p/4", "proof/3"):
            status, body, _ = await door.get(f"/logs/decisions/{name}")
            assert status == 500
            assert str(tmp_path).encode() not in body
        (tmp_path / "checkpoint").write_bytes(b"nonsense")
        assert (await door.get("/logs/decisions/tile/0/000.p/9"))[0] == 500


# --- the witness ----------------------------------------------------------------------------------


@asynccontextmanager
async def witnessing(folder: Path) -> AsyncIterator[Door]:
    signer = CosignatureSigner(WITNESS.name, WITNESS.private)
    witness = await Witness.open(folder, lambda: [signer], [Verifier.from_vkey(LOG.vkey)], ManualClock())
    try:
        async with served({}, witness) as door:
            yield door
    finally:
        await witness.close()


def signed(size: int) -> bytes:
    text = rfc6962.checkpoint(LOG.name, [b"%d" % n for n in range(size)])
    return rfc6962.note(text, LOG.line(text))


def body_of(old: int, size: int) -> bytes:
    proof = rfc6962.consistency(old, [b"%d" % n for n in range(size)])
    return rfc6962.submission(old, proof, signed(size))


async def test_the_witness_speaks_the_protocol(tmp_path: Path) -> None:
    add = "/witness/add-checkpoint"
    shown = f"/witness/{hashlib.sha256(LOG.name.encode()).hexdigest()}/checkpoint"
    async with witnessing(tmp_path) as door:
        assert (await door.get(shown))[0] == 404
        status, lines, headers = await door.get(add, "POST", data=body_of(0, 5))
        assert status == 200
        assert rfc6962.verify(WITNESS.vkey, signed(5) + lines)
        status, note, headers = await door.get(shown)
        assert (status, note) == (200, signed(5) + lines)
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        status, body, headers = await door.get(add, "POST", data=body_of(3, 8))
        assert (status, body) == (409, b"5\n")
        assert headers["Content-Type"] == "text/x.tlog.size"
        unknown = rfc6962.text_of("other", 1, bytes(32))
        for data, expected in (
            (b"", 400),
            (rfc6962.submission(9, [], signed(5)), 400),
            (rfc6962.submission(5, [], rfc6962.note(rfc6962.checkpoint(LOG.name, [b"x"] * 8))), 403),
            (rfc6962.submission(0, [], rfc6962.note(unknown, LOG.line(unknown))), 404),
            (rfc6962.submission(5, [], signed(8)), 422),
        ):
            status, body, headers = await door.get(add, "POST", data=data)
            assert status == expected, (data, body)
            assert headers["Content-Type"] == "application/problem+json"
        for kind in ("text/plain", "application/octet-stream", "application/x-www-form-urlencoded"):
            status, _, _ = await door.get(add, "POST", data=body_of(5, 5), headers={"Content-Type": kind})
            assert status == 200
        assert (await door.get(add))[0] == 405


async def test_what_a_witness_is_sent_is_bounded(tmp_path: Path) -> None:
    async with witnessing(tmp_path) as door:
        status, _, _ = await door.get("/witness/add-checkpoint", "POST", data=b"x" * 200_000)
        assert status == 413
        packed = {"Content-Encoding": "gzip"}
        status, _, _ = await door.get("/witness/add-checkpoint", "POST", data=b"x", headers=packed)
        assert status == 400


@pytest.mark.parametrize("name", ["0" * 63, "0" * 65, "A" * 64, "0" * 64, "..", "evidence", "g" * 64])
async def test_only_origins_that_were_cosigned_are_shown(tmp_path: Path, name: str) -> None:
    async with witnessing(tmp_path) as door:
        assert (await door.get(f"/witness/{name}/checkpoint"))[0] == 404


async def test_a_node_without_a_witness_says_so() -> None:
    async with served({}) as door:
        assert (await door.get("/witness/add-checkpoint", "POST", data=b"x"))[0] == 404
        assert (await door.get(f"/witness/{'0' * 64}/checkpoint"))[0] == 404
