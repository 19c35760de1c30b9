"""knowledge-index.json: tolerant reading as a stream, faithful rewriting."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.app.transfer import index_file
from node.app.transfer.index_entry import EntryVector, IndexEntry, decode_vector, encode_vector
from node.app.transfer.index_file import Edit, OpenIndex, digest_of, model_edit, read, with_embedding, write
from node.core.errors import CorruptState, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash

CID = str(Cid.of(b"x"))


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
    assert (file.model, file.problems) == ("m@1", ())


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
    assert not file.problems


def test_a_legacy_entry_with_nothing_but_a_hash(path: Path) -> None:
    """The oldest form has no question, only its hash; it stays findable by it."""
    old = {"query_hash": "AB" * 32, "answer": "x", "source": "llm_model", "timestamp": 1_700_000_000.5}
    [one] = read(saved(path, [old])).entries
    assert one.query is None
    assert one.key == "ab" * 32
    assert one.confidence == 0.0
    assert one.timestamp == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)


def test_milliseconds_and_structured_sources(path: Path) -> None:
    items = [entry(timestamp=1_700_000_000_000, source={"kind": "adapter", "id": "coingecko"})]
    [one] = read(saved(path, items)).entries
    assert one.timestamp == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert one.source == "adapter:coingecko"


BAD: list[Any] = [
    *(7, None, [], {}, {"query": "a"}, {"answer": "a"}, entry(""), entry(" ? "), entry("x" * 65_537)),
    *(entry(answer="  "), entry(answer=7), entry(cid="not a cid"), entry(query_hash="zz")),
    *(entry(confidence=1.5), entry(confidence=True), entry(confidence="0.9"), entry(source=7)),
    *(entry(expires="soon"), entry(expires=[1]), entry(expires=1e300), entry(note="x" * 262_144)),
]


def test_bad_entries_are_reported_with_their_position(path: Path) -> None:
    items = [entry("First"), *BAD, entry("Last")]
    with OpenIndex.open(saved(path, {"version": 1, "model": None, "entries": items})) as index:
        assert index.layout.count == len(items)
        places = list(index.places())
    assert [place.position for place in places] == list(range(len(items)))
    assert [place.entry.query for place in places if place.entry] == ["First", "Last"]
    assert all(place.problem for place in places if not place.entry)
    assert [json.loads(place.part.raw or b"null") for place in places] == items


def test_what_python_writes_and_json_has_not_is_a_bad_entry(path: Path) -> None:
    """NaN, half a surrogate pair, a number of any length: legal text to Python, nothing that can be used."""
    items = [entry("A"), entry(embedding=[float("nan")]), entry("\ud800"), entry(n=10**400), entry("B")]
    file = read(saved(path, items))
    assert [one.query for one in file.entries] == ["A", "B"]
    assert [problem.split(":")[0] for problem in file.problems] == ["entry 1", "entry 2", "entry 3"]


def test_an_entry_longer_than_what_is_held_is_passed_over(path: Path) -> None:
    big = entry(note="x" * (3 << 20))
    with OpenIndex.open(saved(path, [entry("A"), big, entry("B")])) as index:
        places = list(index.places())
    assert [place.part.raw is None for place in places] == [False, True, False]
    assert "larger" in places[1].problem
    assert places[1].leans


@pytest.mark.parametrize(
    "embedding",
    ["%%%", "AAAA", "AAAAAA==", [0.0, 0.0], ["a"], [True], [1e300], {"a": 1}, 7, [0.1] * 5_000, "A" * 30_000],
)
def test_an_unusable_embedding_does_not_cost_the_entry(path: Path, embedding: Any) -> None:
    original = entry(embedding=embedding)
    file = read(saved(path, {"version": 1, "model": "m", "entries": [original]}))
    [one], [problem] = file.entries, file.problems
    assert one.embedding is None
    assert problem.startswith("entry 0: the embedding")


@pytest.mark.parametrize("embedding", [None, [], ""])
def test_no_embedding_is_no_problem(path: Path, embedding: Any) -> None:
    file = read(saved(path, [entry(embedding=embedding)]))
    assert file.entries[0].embedding is None
    assert not file.problems


VECTOR = struct.pack("<2f", 0, 1)
CODED = base64.b64encode(VECTOR).decode()


def rewritten(path: Path, positions: Sequence[int], model: str = "m", *, state: bool = False) -> bytes:
    """The file after these entries got a vector."""
    with OpenIndex.open(path, lock=True) as index:
        index.rewrite(
            Edit(part.start, part.end, with_embedding(part.raw or b"", VECTOR, model, state=state))
            for position, part in ((place.position, place.part) for place in index.places())
            if position in positions
        )
    return path.read_bytes()


def test_unknown_keys_order_and_values_survive(path: Path) -> None:
    text = """\ufeff {
      "z": [1, {"b": null}], "model" : null,"entries":[
        {"zeta" : 1.50, "query":"A\\u00e9?", "answer": "x", "n": %s, "a": 1, "a": 2},
        not-this, "nor this",  {"query": "B", "answer": "y",
           "embedding" : [ 1, 2 ] , "note": "\\"}{"},
      {}
      ], "version": 1e0, "made_by":{"x" :1} }\r\n
    """ % ("9" * 4_000)  # fmt: skip
    path.write_bytes(text.replace("not-this", "null").encode())
    before = path.read_bytes()
    after = rewritten(path, [0, 3])
    coded = CODED.encode()
    expected = before.replace(b'"a": 2}', b'"a": 2, "embedding": "' + coded + b'"}').replace(
        b"[ 1, 2 ]", b'"' + coded + b'"'
    )
    assert after == expected
    assert rewritten(path, []) == expected


def test_new_keys_are_spaced_like_the_others(path: Path) -> None:
    path.write_text(json.dumps([entry("A")], indent=2))
    rewritten(path, [0], state=True)
    expected = [entry("A", embedding=CODED, embedding_model="m")]
    assert path.read_text() == json.dumps(expected, indent=2)
    path.write_text(json.dumps([entry("A")], separators=(",", ":")))
    rewritten(path, [0])
    assert path.read_text() == json.dumps([entry("A", embedding=CODED)], separators=(",", ":"))


def test_of_equal_keys_the_last_one_is_set() -> None:
    raw = b'{"embedding": 1, "embedding": 2, "embedding_model": "old"}'
    now = with_embedding(raw, VECTOR, "m", state=False)
    assert now == b'{"embedding": 1, "embedding": "%s", "embedding_model": "m"}' % CODED.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"model":null,"entries":[]}', '{"model":"m","entries":[]}'),
        ('{"entries":[],"model": "old" }', '{"entries":[],"model": "m" }'),
        (' { "entries":[]}', ' {"model":"m", "entries":[]}'),
        ('{"model":1,"entries":[],"model":"old"}', '{"model":1,"entries":[],"model":"m"}'),
        ('{"model":"m","entries":[]}', None),
        ("[]", None),
        ('{"A": {"answer": "b"}}', None),
    ],
)
def test_the_model_of_a_file_is_set_where_it_stands(path: Path, before: str, after: str | None) -> None:
    path.write_text(before)
    with OpenIndex.open(path) as index:
        edit = model_edit(index.layout, "m")
        assert (edit is None) == (after is None)
        if edit is not None:
            index.rewrite([edit])
            assert path.read_text() == after
            assert json.loads(path.read_text())["model"] == "m"


ENTRIES = st.dictionaries(
    st.sampled_from(["query", "embedding", "embedding_model", "x", "\u20ac", 'a"']),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    min_size=1,
)


@given(ENTRIES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_any_entry_keeps_all_else(value: dict[str, Any], is_ascii: bool, indent: Any, state: bool) -> None:
    raw = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    now = json.loads(with_embedding(raw, VECTOR, "m", state=state))
    expected = {**value, "embedding": CODED}
    if state or "embedding_model" in value:
        expected["embedding_model"] = "m"
    assert now == expected
    assert list(now) == list(expected)


def test_vectors_of_another_model_say_so(path: Path) -> None:
    entries = [
        IndexEntry(query, query_hash(query), "a", embedding=EntryVector(VECTOR, model))
        for query, model in (("A", "old"), ("B", "new"), ("C", None))
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
        b'[{"query": "a", "answer": "b"}',
        b'[{"query": "a", "answer": tru}]',
        b'[{"query": "a"}]]',
        b'{"entries": [], "entries": []}',
        b'{"entries": {}}',
        b'{"version": true, "entries": []}',
        b'{"version": "1", "entries": []}',
        b'{"entries": [{"query": "a"}], "model": 7}',
        '["ä"]'.encode("latin-1"),
        "[]".encode("utf-16"),
    ],
)
def test_what_is_no_index_is_said_and_not_touched(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(CorruptState, match=r"knowledge-index\.json"):
        read(path)
    assert path.read_bytes() == data


def test_where_a_file_is_not_json_is_told_by_byte_line_and_column(path: Path) -> None:
    path.write_text('[\n  {"query": "é"},\n  {"query": }\n]', encoding="utf-8")
    with pytest.raises(
        CorruptState, match=r"not JSON at byte 33 \(line 3, column 13\): .*nothing was changed"
    ):
        read(path)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(path), Path.mkdir])
def test_what_is_no_file(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    with pytest.raises(Unavailable, match="cannot be read"):
        read(path)


def test_missing_and_oversized(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound):
        read(path)
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
    with pytest.raises(Unavailable, match="No space"):
        rewritten(path, [0])
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_a_killed_writer_left_is_cleared(path: Path) -> None:
    odd = path.with_name("[a]*.json")
    leftover = path.with_name(f".{odd.name}.0123.tmp")
    leftover.write_bytes(b"half")
    others = [path.with_name("notes.tmp"), path.with_name(".aX.json.1.tmp")]
    for other in others:
        other.write_bytes(b"mine")
    write(odd, [], None)
    assert not leftover.exists()
    assert all(other.exists() for other in others)


def test_one_at_a_time_and_the_rewritten_file_too(path: Path) -> None:
    saved(path, [entry()])
    with OpenIndex.open(path, lock=True) as index:
        with pytest.raises(Unavailable, match="another run"):
            OpenIndex.open(path, lock=True)
        index.rewrite([])
        with pytest.raises(Unavailable, match="another run"):
            OpenIndex.open(path, lock=True)
        assert len(read(path).entries) == 1
    OpenIndex.open(path, lock=True).close()


def test_mode_and_link_stay(path: Path) -> None:
    real = path.with_name("real.json")
    saved(real, [entry()])
    real.chmod(0o640)
    path.symlink_to(real.name)
    rewritten(path, [0])
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert loaded(real)[0]["embedding"] == CODED


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b" ")


def _edit_in_place(path: Path) -> None:
    """As large as before, and as old."""
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(12)
        file.write(b"Z")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def _link(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


def _scramble(path: Path) -> None:
    """As large and as old as before, and no JSON any more."""
    found = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"query"', b'"qu\xffry"'))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize("change", [_append, _edit_in_place, _scramble, _replace, _link, Path.unlink])
def test_a_file_that_somebody_changed_is_not_overwritten(path: Path, change: Callable[[Path], None]) -> None:
    saved(path, [entry("A"), entry("B")])
    with OpenIndex.open(path, lock=True) as index:
        change(path)
        before = path.read_bytes() if path.exists() else None
        edits = (
            Edit(part.start, part.end, with_embedding(part.raw or b"", VECTOR, "m", state=False))
            for part in (place.part for place in index.places() if place.entry is not None)
        )
        with pytest.raises(Unavailable, match="changed"):
            index.rewrite(edits)
    assert (path.read_bytes() if path.exists() else None) == before
    assert not list(path.parent.glob(".*.tmp"))


def test_reading_can_be_ended(path: Path) -> None:
    saved(path, [entry()])
    seen: list[int] = []

    def stop(read_bytes: int) -> None:
        seen.append(read_bytes)
        raise KeyError

    with pytest.raises(KeyError):
        OpenIndex.open(path, watch=stop)
    assert seen == [path.stat().st_size]


def test_the_digest_is_that_of_the_file(path: Path) -> None:
    saved(path, [entry()])
    with OpenIndex.open(path) as index:
        assert index.layout.digest == hashlib.sha256(path.read_bytes()).hexdigest() == digest_of(path)
    with pytest.raises(NotFound):
        digest_of(path.with_name("none"))
