"""A folder taken in while the process is killed, again and again, and while the disk fills up: what is there
is whole, and the next run goes on."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.extraction_files import pdf_of
from node.knowledge.chunks import Text, chunks, profile
from node.knowledge.rows import words_of
from tests.documents_kit import World, words
from tests.faults.kill_kit import told_until_killed

FILES = 60


def fill(base: Path) -> dict[str, str]:
    texts = {
        f"d{n % 7}/f{n:02}.md": "\n\n".join(
            f"## Part {part} of {n}\n\n" + f"Line {part} of paper {n}. " * 60 for part in range(6)
        )
        for n in range(FILES)
    }
    world = World(base)
    for path, text in texts.items():
        world.write(path, text)
    return texts


def check_whole(base: Path, texts: dict[str, str]) -> int:
    """Every document that is there is there with all of its chunks, words, vectors and blocks."""
    connection = sqlite3.connect(base / "documents.sqlite")
    connection.row_factory = sqlite3.Row
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    connection.execute("INSERT INTO keyword (keyword) VALUES ('integrity-check')")
    documents = connection.execute("SELECT * FROM document").fetchall()
    for document in documents:
        text = texts[document["path"]]
        wanted = chunks(Text(text, is_marked=True), profile("section400"), words)
        rows = connection.execute(
            "SELECT * FROM chunk WHERE document = ? ORDER BY ordinal", (document["id"],)
        )
        found = rows.fetchall()
        assert [row["text"] for row in found] == [one.text for one in wanted]
        for row, one in zip(found, wanted, strict=True):
            vectors = connection.execute("SELECT count(*) FROM vector WHERE hash = ?", (row["hash"],))
            assert vectors.fetchone()[0] > 0
            term = f'"{words_of(one.heading[-1])}"'
            hits = connection.execute("SELECT rowid FROM keyword WHERE keyword MATCH ?", (term,)).fetchall()
            assert row["id"] in [hit[0] for hit in hits]
        look = "SELECT data FROM link JOIN block USING (multihash) WHERE document = ?"
        assert [row[0].decode() for row in connection.execute(look, (document["id"],))] == [text]
    orphans = "SELECT count(*) FROM chunk WHERE document NOT IN (SELECT id FROM document)"
    assert connection.execute(orphans).fetchone()[0] == 0
    count = connection.execute("SELECT count(*) FROM keyword").fetchone()[0]
    assert count == connection.execute("SELECT count(*) FROM chunk").fetchone()[0]
    connection.close()
    return len(documents)


@pytest.mark.slow
def test_a_run_that_is_killed_shows_nothing_half_and_goes_on(tmp_path: Path) -> None:
    texts = fill(tmp_path)
    there = 0
    for lines in (3, 9, 14, 20):
        said = told_until_killed("documents_child", "ingest", tmp_path, lines=lines)
        now = check_whole(tmp_path, texts)
        assert now >= there + len([line for line in said if line[0] == "stored"])
        there = now
    assert there < FILES
    *_, over = told_until_killed("documents_child", "ingest", tmp_path, lines=None)
    assert over == ["over", str(FILES - there), str(there), "0"]
    assert check_whole(tmp_path, texts) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("removals", [0, 1, 2, 3])
async def test_an_erasure_that_is_killed_is_ended_by_the_next_start(tmp_path: Path, removals: int) -> None:
    """Killed once the key is gone, once some rows are, and once all are: 150 documents, 64 at once."""
    world = await World(tmp_path).open()
    for number in range(150):
        world.write(f"{number}.md", f"# Canaryquux {number}\n\nThe canaryquux of {number} sings.\n")
    await world.ingest("private:ana")
    other = b"# Other\n\nThe other canary sings.\n"
    await world.ingestor.upload("other.md", other, "private:ben", datetime(2026, 1, 1, tzinfo=UTC))
    await world.close()
    assert told_until_killed("documents_child", "erase", tmp_path, removals, lines=None) == []
    await world.open()
    assert (await world.store.counts())["documents"] == 1
    assert len(world.said("canary", "private:ben")) == 1
    assert world.said("canaryquux", "private:ana") == []
    tables = ("document", "chunk", "vector", "block", "link", "scope_key")
    counts = [(await world.store.file.rows(f"SELECT count(*) FROM {name}"))[0][0] for name in tables]
    assert counts == [1] * len(tables)
    found = await world.store.file.rows("SELECT count(*) FROM keyword WHERE keyword MATCH 'a OR b'")
    assert found[0][0] == 0
    await world.store.file.run("INSERT INTO keyword (keyword) VALUES ('integrity-check')")
    assert (await world.ingest("private:ana")).left_out == 150, "what is in the folder stays away"
    await world.close()


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    texts = fill(tmp_path)
    refused, told, over = told_until_killed("documents_child", "fill", tmp_path, lines=None)
    assert refused[0] == "refused"
    assert "cannot_be_used_now" in refused[1]
    there = int(told[1])
    assert 0 < there < FILES
    assert over == ["over", str(FILES - there), str(there), "0"]
    assert check_whole(tmp_path, texts) == FILES


@pytest.mark.slow
async def test_a_pdf_of_5000_pages_is_bounded(tmp_path: Path) -> None:
    world = await World(tmp_path, pages_max=2_000).open()
    try:
        world.write("big.pdf", pdf_of([f"Page {n} of the long report." for n in range(1, 5_001)]))
        run = await world.ingest()
        assert dict(run.notes)["big.pdf"] == "only the first 2000 of 5000 pages were read"
        found = world.corpus.keyword("page 1999", ["shared"], 3)
        chunks_found = world.corpus.chunks([number for number, _ in found])
        assert any("Page 1999 " in one.text for one in chunks_found.values())
        assert world.said("2001") == []
    finally:
        await world.close()
