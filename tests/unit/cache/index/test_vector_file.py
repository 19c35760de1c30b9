"""The index on disk: round trip, each kind of damage, each kind of failing write."""

from __future__ import annotations

import hashlib
import resource
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.index.vector_file import Damaged, path_for, save
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from tests.index_files import Loaded, load

DIM = 6
DIGEST = hashlib.sha256(b"the model").hexdigest()
OTHER = hashlib.sha256(b"another model").hexdigest()
CONTEXT = hashlib.sha256(b"a context").hexdigest()
PLACES: list[tuple[str, str | None]] = [
    *(("shared", None), ("public", None), ("private:zoë", CONTEXT), ("shared", "")),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "i"


def _index(count: int = 5, dim: int = DIM) -> FlatIndex:
    index = FlatIndex(dim)
    raw = np.random.default_rng(3).standard_normal((count, dim))
    units = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    for number, vector in enumerate(units):
        scope, context = PLACES[number % len(PLACES)]
        codec = RAW if number % 3 == 2 else 0x71
        index.add(Cid.of(b"%d" % number, codec), vector, scope=scope, context=context)
    return index


def _content(index: FlatIndex) -> dict[Cid, tuple[str, str | None, bytes]]:
    return {
        cid: (rows.scope, rows.context, vector.tobytes())
        for rows in index.rows()
        for cid, vector in zip(rows.cids, rows.vectors, strict=True)
    }


def _save(path: Path, index: FlatIndex | None = None) -> None:
    save(path, _index() if index is None else index, model_digest=DIGEST, sequence=41, change=7)


def _load(path: Path) -> Loaded | Damaged:
    return load(path, model_digest=DIGEST, dim=DIM)


@pytest.mark.parametrize("count", [0, 1, 5, 2_500])
def test_round_trip_bit_for_bit(tmp_path: Path, count: int) -> None:
    index, path = _index(count), path_for(tmp_path / "index", DIGEST)
    _save(path, index)
    loaded = _load(path)
    assert isinstance(loaded, Loaded)
    assert (loaded.sequence, loaded.change) == (41, 7)
    assert _content(loaded.index) == _content(index)
    assert len(loaded.index) == count
    again = tmp_path / "again"
    save(again, loaded.index, model_digest=DIGEST, sequence=41, change=7)
    assert again.read_bytes() == path.read_bytes()


def test_the_layout_is_the_documented_one(path: Path) -> None:
    """Read by this test's own few lines, as a stranger would."""
    index = _index(1)
    _save(path, index)
    data = path.read_bytes()
    ((cid, (_, _, vector)),) = _content(index).items()
    head = b"NSWINDEX" + struct.pack("<II", 1, DIM) + bytes.fromhex(DIGEST) + struct.pack("<QQ", 41, 7)
    place = struct.pack("<I", 1) + struct.pack("<H", 6) + b"shared" + struct.pack("<H", 0xFFFF)
    body = head + place + bytes([len(bytes(cid))]) + bytes(cid) + vector + struct.pack("<IQ", 0, 1)
    assert data == body + hashlib.sha256(body).digest()


def test_every_flipped_bit_is_detected(path: Path) -> None:
    _save(path, _index(2))
    whole = path.read_bytes()
    for offset in range(len(whole)):
        for bit in range(8):
            bent = bytearray(whole)
            bent[offset] ^= 1 << bit
            path.write_bytes(bent)
            assert isinstance(_load(path), Damaged), (offset, bit)


def test_every_cut_and_every_tail_is_detected(path: Path) -> None:
    _save(path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert isinstance(_load(path), Damaged), length
    for tail in (b"\0", whole):
        path.write_bytes(whole + tail)
        assert isinstance(_load(path), Damaged)


def _sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def _header(*, magic: bytes = b"NSWINDEX", version: int = 1, dim: int = DIM) -> bytes:
    return magic + struct.pack("<II", version, dim) + bytes.fromhex(DIGEST) + struct.pack("<QQ", 1, 1)


def _rows(vectors: np.ndarray, names: list[bytes]) -> bytes:
    place = struct.pack("<IH", len(names), 6) + b"shared" + struct.pack("<H", 0xFFFF)
    return place + b"".join(bytes([len(name)]) + name for name in names) + vectors.astype("<f4").tobytes()


UNIT = np.eye(1, DIM)
NAME = bytes(Cid.of(b"x"))
END = struct.pack("<IQ", 0, 1)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (_header(magic=b"SOMEFILE") + END, "not an index file"),
        (_header(version=2) + END, "version 2"),
        (_header(dim=DIM + 1) + END, "dimensions"),
        (_header() + END, "row count"),
        (_header() + _rows(UNIT, [NAME]) + _rows(UNIT, [NAME]) + struct.pack("<IQ", 0, 2), "comes twice"),
        (_header() + _rows(UNIT * 2, [NAME]) + END, "length is not 1"),
        (_header() + _rows(UNIT * np.nan, [NAME]) + END, "not finite"),
        (_header() + _rows(UNIT, [NAME[:-1]]) + END, "cut off"),
        (_header() + _rows(UNIT, [b""]) + END, "wrong length"),
        (_header() + _rows(UNIT, [b"\x01" * 200]) + END, "wrong length"),
        (_header() + struct.pack("<I", 0xFFFFFFFF) + END, "claims"),
        (_header() + _rows(UNIT, [NAME]).replace(b"shared", b"\xff" * 6) + END, "UTF-8"),
    ],
)
def test_a_sealed_file_with_wrong_content_is_refused(path: Path, body: bytes, reason: str) -> None:
    path.write_bytes(_sealed(body))
    damaged = _load(path)
    assert isinstance(damaged, Damaged)
    assert reason in damaged.reason


def test_the_hand_made_file_is_otherwise_right(path: Path) -> None:
    path.write_bytes(_sealed(_header() + _rows(UNIT, [NAME]) + END))
    assert isinstance(_load(path), Loaded)


def test_another_model_dimension_or_size_is_refused(path: Path) -> None:
    _save(path)
    for damaged, reason in (
        (load(path, model_digest=OTHER, dim=DIM), "another embedding model"),
        (load(path, model_digest=DIGEST, dim=DIM + 1), "dimensions"),
        (load(path, model_digest=DIGEST, dim=DIM, rows_max=4), "full"),
    ):
        assert isinstance(damaged, Damaged)
        assert reason in damaged.reason


def test_absent_or_unreadable_is_a_reason_not_a_crash(tmp_path: Path) -> None:
    absent = _load(tmp_path / "none")
    assert isinstance(absent, Damaged)
    assert "no index file yet" in absent.reason
    assert isinstance(_load(tmp_path), Damaged)  # a directory
    (tmp_path / "empty").write_bytes(b"")
    assert isinstance(_load(tmp_path / "empty"), Damaged)


def test_one_file_per_model(tmp_path: Path) -> None:
    assert path_for(tmp_path, DIGEST) != path_for(tmp_path, OTHER)
    assert path_for(tmp_path, DIGEST).parent == tmp_path
    for digest in ("", "none", "../../x", "ab"):
        with pytest.raises(Rejected):
            path_for(tmp_path, digest)


def test_saving_replaces_whole_leaves_no_rest_and_is_private(tmp_path: Path, path: Path) -> None:
    (tmp_path / "i.tmp").write_bytes(b"left by a crash")
    _save(path, _index(5))
    _save(path, _index(3))
    loaded = _load(path)
    assert isinstance(loaded, Loaded)
    assert len(loaded.index) == 3
    assert [left.name for left in tmp_path.iterdir()] == ["i"]
    assert path.stat().st_mode & 0o077 == 0


def test_a_failed_save_leaves_the_old_file_and_no_rest(path: Path) -> None:
    _save(path)
    before = path.read_bytes()
    unsayable = _index(1)
    unsayable.add(Cid.of(b"y"), UNIT[0].astype(np.float32), scope="s" * 70_000, context=None)
    with pytest.raises(Rejected):
        _save(path, unsayable)
    assert path.read_bytes() == before
    assert [left.name for left in path.parent.iterdir()] == ["i"]


def test_what_the_disk_refuses_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unavailable, match="cannot be saved"):
        _save(tmp_path / "file" / "i")  # the directory is a file
    (tmp_path / "target").mkdir()
    with pytest.raises(Unavailable, match="cannot be saved"):
        _save(tmp_path / "target")
    assert not (tmp_path / "target.tmp").exists()


def test_a_write_that_the_system_cuts_off_leaves_the_old_file(path: Path) -> None:
    """As on a full disk: the file may not grow beyond a limit that the process sets itself."""
    _save(path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(Unavailable, match="cannot be saved"):
            _save(path, _index(1_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert [left.name for left in path.parent.iterdir()] == ["i"]


def test_saving_while_rows_come_and_go(path: Path) -> None:
    """What was there when saving began and was not removed is in the file."""
    index = _index(3_000)
    cids = sorted(_content(index))
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(_save, path, index)
        for cid in cids[:1_500]:
            index.remove(cid)
        saving.result(timeout=50)
    loaded = _load(path)
    assert isinstance(loaded, Loaded)
    assert set(cids[1_500:]) <= set(_content(loaded.index)) <= set(cids)
