"""A folder and its store: what is new, what has changed, what is gone, who may see it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.extraction_files import pdf_of
from node.core.errors import BadInput, NotFound, Unavailable
from node.core.ipld import unixfs_file
from node.core.ipld.cid import RAW, Cid
from node.knowledge import ingest
from node.knowledge.retrieve import Search
from tests.documents_kit import Bags, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = await World(tmp_path, skip=("*lasagna*",)).open()
    yield made
    await made.close()


RENT = "# Rules\n\n## Rent\n\nThe rent is due on the fifth.\n\n## Quiet\n\nNobody drills after ten.\n"


async def test_a_folder_is_searched_by_words_and_by_vectors(world: World) -> None:
    world.write("rules.md", RENT)
    world.write("sub/minutes.txt", "Ana: we paint the hall\nBen: agreed on blue\n")
    run = await world.ingest()
    assert (run.total, run.new, run.chunks, run.failed, run.is_over) == (2, 2, 3, 0, True)
    assert world.said("when is the rent due?") == ["The rent is due on the fifth."]
    assert world.near("Rules > Rent\nThe rent is due on the fifth.")[0] == "The rent is due on the fifth."
    [(number, cosine)] = world.corpus.dense(
        world.bags.vector("Rules > Rent\nThe rent is due on the fifth."), ["shared"], 1
    )
    assert cosine == pytest.approx(1, abs=1e-3)
    chunk = world.corpus.chunks([number])[number]
    assert chunk.heading == ("Rules", "Rent")
    assert RENT[chunk.start : chunk.end] == chunk.text
    assert [one.ordinal for one in world.corpus.neighbours(chunk.document, 0, 5)] == [0, 1]
    [rules, minutes] = world.corpus.documents(["shared"])
    assert (rules.path, rules.title, rules.status, rules.language) == ("rules.md", "Rules", "current", "en")
    assert minutes.path == "sub/minutes.txt"
    assert rules.cid == Cid.of(RENT.encode(), RAW)
    assert [step.done for step in world.steps][-1] == 2
    assert run.samples[0] == ("rules.md", "Rules", "The rent is due on the fifth.")


async def test_only_what_has_changed_is_done_again(world: World) -> None:
    files = [world.write(f"f{n}.md", f"# Paper {n}\n\nIt says number {n}.") for n in range(34)]
    await world.ingest()
    before = {one.path: one for one in world.corpus.documents(["shared"])}
    world.bags.texts.clear()
    again = await world.ingest()
    assert (again.unchanged, again.new, again.changed, world.bags.texts) == (34, 0, 0, [])
    files[3].write_text("# Paper 3\n\nIt says another thing.")
    os.utime(files[5], (1, 1))
    third = await world.ingest()
    assert (third.unchanged, third.changed, world.bags.texts) == (33, 1, ["Paper 3\nIt says another thing."])
    after = {one.path: one for one in world.corpus.documents(["shared"])}
    assert {path for path in before if before[path].sha256 != after[path].sha256} == {"f3.md"}
    assert {one.id for one in before.values()} == {one.id for one in after.values()}
    assert world.said("another thing") == ["It says another thing."]
    assert world.said("number")
    assert "It says number 3." not in world.said("number")
    assert "It says number 3." not in world.near("It says number 3.")
    assert world.gone == [before["f3.md"].known_as]


async def test_documents_are_listed_anew_when_one_has_changed_and_not_for_each_question(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    search = Search(world.corpus, world.bags)
    before, shelf = world.corpus.documents(["shared"]), search.shelf(("shared",))
    assert search.shelf(("public",)).by_id == {}
    assert world.corpus.documents(["shared"]) is before
    assert search.shelf(("shared",)) is shelf
    await world.store.describe(before[0].id, before[0].sha256, "Rules of the house.", ["house"])
    assert world.corpus.documents(["shared"])[0].description == "Rules of the house."
    assert search.shelf(("shared",)) is not shelf


async def test_equal_files_are_embedded_once_and_go_one_by_one(world: World) -> None:
    one = world.write("a.md", RENT)
    world.write("b.md", RENT)
    await world.ingest()
    assert len(world.bags.texts) == 2
    assert world.near("rent fifth").count("The rent is due on the fifth.") == 2
    one.unlink()
    await world.ingest()
    assert world.near("rent fifth").count("The rent is due on the fifth.") == 1
    (world.folder / "b.md").unlink()
    await world.ingest()
    assert (world.near("rent fifth"), world.said("rent"), len(world.vectors)) == ([], [], 0)
    assert world.status() == {"a.md": "missing", "b.md": "missing"}
    assert all(one.cid is None for one in world.corpus.documents(["shared"]))
    [[vectors, blocks]] = await world.store.file.rows(
        "SELECT (SELECT count(*) FROM vector), (SELECT count(*) FROM block)"
    )
    assert (vectors, blocks) == (0, 0)


async def test_a_file_that_comes_back_is_there_again(world: World) -> None:
    file = world.write("a.md", RENT)
    await world.ingest()
    file.unlink()
    await world.ingest()
    world.write("a.md", RENT)
    run = await world.ingest()
    assert (run.new, world.status(), len(world.said("rent"))) == (1, {"a.md": "current"}, 1)


async def test_keywords_first_and_vectors_when_the_embedder_is_back(world: World) -> None:
    world.bags.is_there = False
    world.write("a.md", RENT)
    await world.ingest()
    assert (world.said("rent fifth"), world.near("rent")) == (["The rent is due on the fifth."], [])
    with pytest.raises(Unavailable):
        await world.vectors.catch_up()
    world.bags.is_there = True
    assert await world.vectors.catch_up() == 2
    await world.vectors.idle()
    assert world.near("Rules > Rent\nThe rent is due on the fifth.")[0] == "The rent is due on the fifth."
    assert await world.vectors.catch_up() == 0


async def test_a_large_document_is_found_by_keywords_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "LARGE_CHUNKS", 1)
    world.write("a.md", RENT)
    await world.ingest()
    assert (len(world.said("rent fifth")), world.near("rent")) == (1, [])
    assert await world.vectors.catch_up() == 2


async def test_another_model_embeds_again_and_old_vectors_are_not_compared(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    [paper] = world.corpus.documents(["shared"])
    await world.store.describe(paper.id, paper.sha256, "Rules of the house.", ["house"])
    world.bags.info = Bags("other").info
    assert await world.vectors.catch_up() == 3
    await world.vectors.idle()
    assert len(world.near("Rules > Rent\nThe rent is due on the fifth.")) == 2
    await world.ingest()
    [paper] = world.corpus.documents(["shared"])
    assert (paper.description, paper.tags) == ("Rules of the house.", ("house",))
    world.write("a.md", RENT + "\nMore.\n")
    await world.ingest()
    assert world.corpus.documents(["shared"])[0].description == ""


async def test_a_restart_has_everything(world: World, tmp_path: Path) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    await world.close()
    await world.open()
    assert len(world.vectors) == 2
    assert world.near("Rules > Rent\nThe rent is due on the fifth.")[0] == "The rent is due on the fifth."
    assert (tmp_path / "documents.sqlite").stat().st_mode & 0o777 == 0o600


async def test_scope_is_a_hard_filter(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest("private:ana")
    for scopes in (("shared", "public"), ("private:ben",), ()):
        assert world.corpus.keyword("rent", scopes, 5) == []
        assert world.corpus.dense(world.bags.vector("rent"), scopes, 5) == []
        assert world.corpus.documents(scopes) == []
    assert len(world.said("rent fifth", "private:ana")) == 1
    with pytest.raises(NotFound):
        await world.store.blocks.get(Cid.of(RENT.encode(), RAW))


async def test_public_blocks_are_served_until_the_document_goes(world: World) -> None:
    data = b"x" * 300_000 + RENT.encode()
    world.write("a.txt", data)
    await world.ingest("public")
    cids = [cid for cid, _ in unixfs_file.blocks(data)]
    assert len(cids) == 3
    for cid, block in unixfs_file.blocks(data):
        assert await world.store.blocks.get(cid) == block
    [paper] = world.corpus.documents(["public"])
    assert paper.cid == cids[-1]
    await world.remove()
    assert not any([await world.store.blocks.has(cid) for cid in cids])


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"# Rules\n\nCall +49 30 1234567.\n"),
        ("a.md", b"---\ntitle: +49 30\n---\nx\n"),
        ("a.pdf", pdf_of([""])),
    ],
)
async def test_what_may_not_be_public_is_kept_here_and_told(world: World, name: str, data: bytes) -> None:
    world.write(name, data)
    run = await world.ingest("public")
    assert world.status("public") == {}
    assert world.status("shared") == {name: "current"}
    assert "kept from the public" in run.notes[0][1]
    with pytest.raises(NotFound):
        await world.store.blocks.get(Cid.of(data, RAW))
    assert (await world.ingest("public")).unchanged == 1


MANIFEST = """file,status,supersedes,conflict_with,effective_date,last_modified
rent_v2.md,active,rent_v1.md,,2026-03-01,2026-02-20
rent_v1.md,active,,,2024-01-01,2024-01-01
ghost.md,active,,,,
old.md,Deprecated,,rent_v2.md,,
"""


async def test_manifests_tell_of_files_and_of_ghosts(world: World) -> None:
    world.write("catalog.csv", MANIFEST)
    for name in ("rent_v1.md", "rent_v2.md", "old.md", "unlisted.md"):
        world.write(name, f"# {name}\n\nText of {name}.")
    await world.ingest()
    assert world.status() == {
        "catalog.csv": "current",
        "ghost.md": "missing",
        "old.md": "legacy",
        "rent_v1.md": "superseded",
        "rent_v2.md": "current",
        "unlisted.md": "current",
    }
    papers = {one.path: one for one in world.corpus.documents(["shared"])}
    new = papers["rent_v2.md"]
    assert (new.supersedes, str(new.effective), new.last_modified.isoformat()) == (
        ("rent_v1.md",),
        "2026-03-01",
        "2026-02-20T00:00:00+00:00",
    )
    assert papers["old.md"].conflict_with == ("rent_v2.md",)
    assert [path for path, one in papers.items() if not one.in_manifest] == ["catalog.csv", "unlisted.md"]
    assert papers["catalog.csv"].media_type == "text/csv; profile=manifest"
    assert papers["ghost.md"].cid is None
    world.bags.texts.clear()
    world.gone.clear()
    world.write("catalog.csv", MANIFEST.replace("ghost.md,active,,,,\n", "").replace(",rent_v1.md,", ",,"))
    await world.ingest()
    assert world.status()["rent_v1.md"] == "current"
    assert "ghost.md" not in world.status()
    assert {papers[name].known_as for name in ("rent_v1.md", "rent_v2.md", "catalog.csv")} == set(world.gone)
    assert all(text.startswith("file") for text in world.bags.texts), "the papers are not embedded again"


async def test_a_head_says_more_than_a_manifest(world: World) -> None:
    world.write("catalog.csv", "file,status\na.md,draft\n")
    world.write("a.md", "---\nstatus: legacy\nsupersedes: b.md\n---\nText.\n")
    world.write("b.md", "Text too.\n")
    await world.ingest()
    assert world.status() == {"a.md": "legacy", "b.md": "superseded", "catalog.csv": "current"}


async def test_what_a_draft_wants_to_replace_holds_until_it_is_none(world: World) -> None:
    draft = "---\nstatus: draft\nsupersedes: b.md\n---\nText.\n"
    world.write("a.md", draft)
    world.write("b.md", "Text too.\n")
    await world.ingest()
    assert world.status() == {"a.md": "draft", "b.md": "current"}
    world.write("a.md", draft.replace("draft", "active"))
    await world.ingest()
    assert world.status() == {"a.md": "current", "b.md": "superseded"}


async def test_what_is_deleted_stays_away_until_it_changes_or_is_asked_for(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    await world.remove()
    assert (world.said("rent"), world.near("rent"), world.status()) == ([], [], {})
    assert b"drills" not in (world.base / "documents.sqlite").read_bytes()
    run = await world.ingest()
    assert (run.left_out, world.status()) == (1, {})
    await world.ingest(again=True)
    assert world.status() == {"a.md": "current"}


async def test_what_is_left_out_is_told(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("secret words")
    world.write("grandmas_lasagna_recipe.md", "cheese")
    world.write("a.exe", "x")
    world.write(".git/b.md", "hidden")
    (world.folder / "link.txt").symlink_to(secret / "key.txt")
    (world.folder / "linked").symlink_to(secret)
    os.mkfifo(world.folder / "pipe.txt")
    with (world.folder / "huge.txt").open("wb") as file:
        file.truncate(2 * 2**30)
    world.write("scan.pdf", pdf_of([""]))
    world.write("bad.pdf", b"no")
    run = await world.ingest()
    notes = dict(run.notes)
    assert (run.total, run.new, run.left_out) == (2, 2, 6)
    assert "link" in notes["link.txt"]
    assert "link" in notes["linked"]
    assert "skip list" in notes["grandmas_lasagna_recipe.md"]
    assert "documents.file_bytes_max" in notes["huge.txt"]
    assert "scan" in notes["scan.pdf"]
    assert "not read" in notes["bad.pdf"]
    assert world.said("secret") == []
    assert (await world.ingest()).unchanged == 2, "what could not be read is not tried again"


async def test_a_folder_that_is_exchanged_for_a_link_is_not_followed(world: World, tmp_path: Path) -> None:
    from node.core.errors import Rejected
    from node.knowledge import folder

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("secret")
    (world.folder / "sub").symlink_to(tmp_path / "out")
    with pytest.raises(Rejected):
        folder.read(world.folder, "sub/a.txt", 100)


async def test_bounds_of_a_folder(tmp_path: Path) -> None:
    world = await World(tmp_path, files_max=2, bytes_max=100).open()
    try:
        world.write("a.txt", "a" * 80)
        world.write("b.txt", "b" * 80)
        run = await world.ingest()
        assert (run.new, run.failed) == (1, 1)
        assert "documents.bytes_max" in run.notes[0][1]
        world.write("c.txt", "c")
        with pytest.raises(BadInput, match="more than 2 files"):
            await world.ingest()
        with pytest.raises(BadInput, match="no folder"):
            await world.ingestor.folder(str(tmp_path / "none"), "shared", world.steps.append)
    finally:
        await world.close()


async def test_uploads(world: World) -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 1, 1, tzinfo=UTC)
    row = await world.ingestor.upload("house/rules.md", RENT.encode(), "private:ana", now)
    assert (row["title"], row["status"], row["scope"]) == ("Rules", "current", "private:ana")
    again = await world.ingestor.upload("house/rules.md", b"# New\n\nOther.", "private:ana", now)
    assert again["id"] == row["id"]
    other = await world.ingestor.upload("house/rules.md", RENT.encode(), "private:ben", now)
    assert other["id"] != row["id"]
    for bad in ("../a.md", "/a.md", "a//b.md", "", "a.exe", "a\0.md"):
        with pytest.raises(BadInput):
            await world.ingestor.upload(bad, b"x", "shared", now)


@pytest.mark.parametrize(
    "query",
    ["", "?!", '"', "NEAR(", "a AND", "rent*", "col:rent", "'; DROP TABLE chunk", "-rent", "x" * 5_000],
)
async def test_any_question_may_be_asked(world: World, query: str) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    world.said(query)
    assert len(world.said("rent fifth")) == 1


async def test_writing_without_blanks_is_found_by_its_characters(world: World) -> None:
    world.write("a.txt", "家賃は毎月五日までに払う。")
    await world.ingest()
    assert len(world.said("家賃")) == 1


async def test_the_keyword_index_is_sound_after_changes(world: World) -> None:
    for n in range(5):
        world.write("a.md", f"{RENT}\nround {n}")
        await world.ingest()
    connection = sqlite3.connect(world.base / "documents.sqlite")
    connection.execute("INSERT INTO keyword (keyword) VALUES ('integrity-check')")
    assert connection.execute("SELECT count(*) FROM keyword WHERE keyword MATCH 'round'").fetchone() == (1,)
    connection.close()


async def test_a_folder_may_be_made_public_later_and_private_again(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest("shared")
    run = await world.ingest("public")
    assert (run.changed, world.status("public"), world.status("shared")) == (1, {"a.md": "current"}, {})
    assert len(world.near("rent fifth", "public")) == 2
    assert world.near("rent fifth", "shared") == []
    await world.ingest("private:ana")
    assert world.status("public") == {}
    assert not await world.store.blocks.has(Cid.of(RENT.encode(), RAW))


async def test_what_cannot_be_looked_at_is_not_taken_as_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("sub/a.md", RENT)
    world.write("b.md", "Other words.")
    await world.ingest()
    real = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith(("/sub", "/papers")[: 1 + is_all]):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    is_all = 0
    run = await world.ingest()
    assert ("sub", "cannot be read: Permission denied") in run.notes
    assert (run.missing, len(world.said("rent fifth"))) == (0, 1)
    is_all = 1
    with pytest.raises(Unavailable, match="cannot be read"):
        await world.ingest()
    assert len(world.said("rent fifth")) == 1


async def test_vectors_that_come_while_the_index_is_made_are_found(world: World) -> None:
    world.write("a.md", RENT)
    await world.ingest()
    world.bags.info = Bags("other").info
    making = asyncio.create_task(world.vectors.catch_up())
    world.write("b.md", "# Garden\n\nThe hoses lie in the shed.\n")
    await asyncio.gather(making, world.ingest())
    await world.vectors.catch_up()
    await world.vectors.idle()
    assert len(world.vectors) == 3
    assert world.near("Garden\nThe hoses lie in the shed.")[0] == "The hoses lie in the shed."
