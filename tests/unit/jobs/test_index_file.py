"""knowledge-index.json: tolerant reading, faithful writing."""

from __future__ import annotations

import base64
import errno
import json
import os
import struct
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.errors import CorruptState, NotFound, Rejected, Unavailable
from node.ipfs.cid import Cid
from node.jobs import index_file
from node.jobs.index_file import EntryVector, IndexEntry, decode_vector, encode_vector, read, write
from node.normalise import normalise, query_hash

CID = str(Cid.of(b"x"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge-index.json"


def entry(query: str = "What is IPFS?", **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": "A protocol.", "source": "starter", "confidence": 0.9, **more}


def saved(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_mixed_file(path: Path) -> None:
    whole = entry(
        "Two?",
        cid=CID,
        query_hash=query_hash("Two"),
        timestamp="2026-11-21T00:00:00Z",
        expires="2027-01-01T00:00:00+01:00",
        embedding=[0.6, 0.8],
    )
    file = read(saved(path, {"version": 1, "model": "m@1", "entries": [entry(), whole]}))
    first, second = file.entries
    assert first.query_hash == first.key == query_hash(normalise("What is IPFS?"))
    assert first.embedding is None
    assert first.timestamp is None
    assert second.timestamp == datetime(2026, 11, 21, tzinfo=UTC)
    assert second.expires == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert second.embedding is not None
    assert second.embedding.model == "m@1"
    assert second.embedding.array().tolist() == pytest.approx([0.6, 0.8])
    assert (file.model, file.rejected, file.notes) == ("m@1", (), ())


@pytest.mark.parametrize(
    ("value", "queries"),
    [
        ([entry("A"), entry("B")], ["A", "B"]),
        ({"entries": [entry("A")]}, ["A"]),
        ({query_hash("A"): entry("A")}, ["A"]),
        ({"A": {"answer": "b"}}, ["A"]),
        ({}, []),
        ([], []),
    ],
)
def test_older_shapes(path: Path, value: Any, queries: list[str]) -> None:
    file = read(saved(path, value))
    assert [one.query for one in file.entries] == queries
    assert not file.rejected


def test_a_legacy_entry_with_nothing_but_a_hash(path: Path) -> None:
    """The oldest form has no question, only its hash; it stays findable by it."""
    old = {"query_hash": "AB" * 32, "answer": "x", "source": "llm_model", "timestamp": 1_700_000_000.5}
    [one] = read(saved(path, [old])).entries
    assert one.query is None
    assert one.key == "ab" * 32
    assert one.confidence == 0.0
    assert one.timestamp == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)


def test_milliseconds_and_structured_sources(path: Path) -> None:
    [one] = read(
        saved(path, [entry(timestamp=1_700_000_000_000, source={"kind": "adapter", "id": "coingecko"})])
    ).entries
    assert one.timestamp == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert one.source == "adapter:coingecko"


BAD: list[Any] = [
    7,
    None,
    [],
    {},
    {"query": "a"},
    {"answer": "a"},
    entry(""),
    entry(" ? "),
    entry(answer="  "),
    entry(answer=7),
    entry("x" * 65_537),
    entry(cid="not a cid"),
    entry(query_hash="zz"),
    entry(confidence=1.5),
    entry(confidence=True),
    entry(confidence="0.9"),
    entry(source=7),
    entry(expires="soon"),
    entry(expires=[1]),
    entry(expires=1e300),
    entry(note="x" * 262_144),
]


def test_bad_entries_are_reported_with_their_position_and_kept(path: Path) -> None:
    items = [entry("First"), *BAD, entry("Last")]
    file = read(saved(path, {"version": 1, "model": None, "entries": items}))
    assert [one.query for one in file.entries] == ["First", "Last"]
    assert [bad.position for bad in file.rejected] == list(range(1, len(BAD) + 1))
    assert all(bad.reason for bad in file.rejected)
    write(path, file.entries, file.model, rejected=file.rejected, extra=file.extra)
    assert loaded(path)["entries"] == items


@pytest.mark.parametrize(
    "embedding",
    ["%%%", "AAAA", "AAAAAA==", [0.0, 0.0], ["a"], [True], [1e300], {"a": 1}, 7, [0.1] * 5_000, "A" * 30_000],
)
def test_an_unusable_embedding_does_not_cost_the_entry(path: Path, embedding: Any) -> None:
    original = entry(embedding=embedding)
    file = read(saved(path, {"version": 1, "model": "m", "entries": [original]}))
    assert len(file.entries) == 1
    assert file.entries[0].embedding is None
    assert len(file.notes) == 1
    assert file.notes[0].startswith("entry 0: the embedding")
    write(path, file.entries, file.model)
    assert loaded(path)["entries"] == [original]


@pytest.mark.parametrize("embedding", [None, [], ""])
def test_no_embedding_is_no_problem(path: Path, embedding: Any) -> None:
    file = read(saved(path, [entry(embedding=embedding)]))
    assert file.entries[0].embedding is None
    assert not file.notes


def test_unknown_keys_order_and_values_survive(path: Path) -> None:
    items = [
        {"zeta": [1, {"a": None}], **entry("B", timestamp="21 Nov 2026", query_hash="AB" * 32), "alpha": "ü"},
        entry("A", embedding=[1, 0], embedding_model="other"),
    ]
    top = {"version": 1, "model": "m", "made_by": {"x": 1}, "entries": items}
    file = read(saved(path, top))
    write(path, file.entries, file.model, rejected=file.rejected, extra=file.extra)
    assert loaded(path) == top
    assert list(loaded(path)["entries"][0]) == list(items[0])
    assert file.entries[0].extra == {"zeta": [1, {"a": None}], "alpha": "ü"}


def test_only_what_changed_is_rewritten(path: Path) -> None:
    original = entry("B", timestamp=1_700_000_000, zeta=1)
    file = read(saved(path, [original]))
    changed = replace(
        file.entries[0], confidence=0.5, embedding=EntryVector(struct.pack("<2f", 0, 1), "m"), extra={"y": 2}
    )
    write(path, [changed], "m")
    [now] = loaded(path)["entries"]
    assert now.pop("embedding") == base64.b64encode(struct.pack("<2f", 0, 1)).decode()
    del original["zeta"]
    assert now == {**original, "confidence": 0.5, "y": 2}
    assert loaded(path)["model"] == "m"


def test_vectors_of_another_model_say_so(path: Path) -> None:
    vector = struct.pack("<2f", 0, 1)
    entries = [
        IndexEntry("A", query_hash("A"), "a", embedding=EntryVector(vector, "old")),
        IndexEntry("B", query_hash("B"), "b", embedding=EntryVector(vector, "new")),
        IndexEntry("C", query_hash("C"), "c", embedding=EntryVector(vector, None)),
    ]
    write(path, entries, "new")
    assert [one.get("embedding_model", "-") for one in loaded(path)["entries"]] == ["old", "-", None]
    assert [one.embedding and one.embedding.model for one in read(path).entries] == ["old", "new", None]


def test_a_made_entry_reads_back(path: Path) -> None:
    made = IndexEntry(
        "What is 10² mW?",
        query_hash("What is 10² mW"),
        "0.1 W",
        CID,
        "math-calculator",
        0.95,
        datetime(2026, 11, 21, tzinfo=UTC),
        datetime(2027, 11, 21, tzinfo=UTC),
        EntryVector(struct.pack("<3f", 1, 2, 3), "m"),
        {"route": "deterministic"},
    )
    write(path, [made], "m")
    assert read(path).entries == (made,)


FLOATS = st.floats(-1e6, 1e6, width=32).filter(lambda number: abs(number) > 1e-6)


@given(st.lists(FLOATS, min_size=1, max_size=40))
def test_vectors_in_both_forms_are_the_same_bytes(numbers: list[float]) -> None:
    vector = np.asarray(numbers, dtype=np.float32)
    expected = struct.pack(f"<{len(numbers)}f", *numbers)
    assert decode_vector(encode_vector(vector)) == expected
    assert decode_vector([float(number) for number in vector]) == expected


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=8), st.lists))
def test_any_embedding_value_is_taken_or_refused(value: Any) -> None:
    try:
        data = decode_vector(value)
    except Rejected:
        return
    assert data
    assert len(data) % 4 == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[1,]",
        b"7",
        b'"x"',
        b'{"entries": 7}',
        b'{"a": 7}',
        b'{"version": 2, "entries": []}',
        b"\xff\xfe",
        b'{"version": 1, "model": 7, "entries": []}',
        b"[" * 100_000,
        b'[{"a": NaN}]',
    ],
)
def test_what_is_no_index_is_said_and_not_touched(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(CorruptState, match=r"knowledge-index\.json"):
        read(path)
    assert path.read_bytes() == data


def test_missing_unreadable_and_oversized(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound):
        read(path)
    with pytest.raises(Unavailable):
        read(path.parent)
    saved(path, [entry()])
    monkeypatch.setattr(index_file, "FILE_BYTES_MAX", 20)
    with pytest.raises(CorruptState, match="larger"):
        read(path)
    before = path.read_bytes()
    with pytest.raises(Rejected, match="larger"):
        write(path, [IndexEntry("A", query_hash("A"), "a")], None)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_byte_order_mark_is_passed_over(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([entry()]).encode())
    assert len(read(path).entries) == 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    saved(path, [entry()])
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(*((os, "fsync", fail) if call == "fsync" else (Path, "replace", fail)))
    with pytest.raises(Unavailable, match="No space"):
        write(path, [], None)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_a_killed_writer_left_is_cleared(path: Path) -> None:
    leftover = path.with_name(f".{path.name}.0123.tmp")
    leftover.write_bytes(b"half")
    other = path.with_name("notes.tmp")
    other.write_bytes(b"mine")
    write(path, [], None)
    assert not leftover.exists()
    assert other.exists()
