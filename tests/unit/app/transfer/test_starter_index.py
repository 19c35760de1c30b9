"""The shipped knowledge-index.json: whole, unique, checkable."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from node.app.transfer import index_file
from node.core.ipld.cid import RAW, Cid
from node.core.normalise import normalise, query_hash

FILE = Path(__file__).parents[4] / "knowledge-index.json"


def test_every_entry_can_be_used() -> None:
    file = index_file.read(FILE)
    assert len({entry.answer for entry in file.entries}) >= 120
    assert len(file.entries) >= 200, "the same answer to other wordings too"
    assert file.problems == ()
    with index_file.OpenIndex.open(FILE) as index:
        assert index.layout.embed


def test_hashes_and_identifiers_are_those_of_the_texts() -> None:
    for entry in index_file.read(FILE).entries:
        assert entry.query is not None
        assert entry.answer is not None
        assert entry.query_hash == query_hash(normalise(entry.query)), entry.query
        assert entry.cid == str(Cid.of(entry.answer.encode(), RAW)), entry.query


def test_questions_and_answers_are_unique_and_of_a_fitting_length() -> None:
    entries = index_file.read(FILE).entries
    assert len({entry.key for entry in entries}) == len(entries)
    assert len({(entry.query or "").casefold() for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.query is not None
        assert entry.answer is not None
        assert entry.query.endswith("?"), entry.query
        assert 5 <= len(entry.query) <= 120
        assert 100 <= len(entry.answer) <= 700, entry.query
        sentences = re.findall(r"[.!?](?=\s+[A-Z]|$)", entry.answer)
        assert 2 <= len(sentences) <= 5, entry.query
        assert entry.answer.isprintable()
        assert entry.answer == entry.answer.strip()


def test_all_are_legacy_entries_without_embedding() -> None:
    file = index_file.read(FILE)
    assert file.model is None
    for entry in file.entries:
        assert entry.embedding is None
        assert entry.source == "starter"
        assert entry.confidence == 0.9
        assert entry.timestamp == datetime(2026, 11, 21, tzinfo=UTC)
        assert entry.expires is None


def test_the_topics_are_there() -> None:
    questions = " ".join(entry.query or "" for entry in index_file.read(FILE).entries)
    for word in (
        "CID",
        "pinning",
        "IPNS",
        "quorum",
        "Merkle",
        "embedding",
        "cache",
        "NeuroSwarm",
        "feedback",
    ):
        assert word in questions
