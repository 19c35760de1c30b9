"""Files to text: every kind, the odd ones, and those made to do harm."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import zipfile
from collections.abc import AsyncIterator

import orjson
import pytest

from bench.extraction_files import FACTS, HTML, NOISE, docx, pdf_of
from node.core.errors import Rejected
from node.knowledge.formats import child, process
from node.knowledge.formats.extracted import Bounds, Extracted, kind_of
from node.knowledge.formats.process import FileReader


def read(name: str, data: bytes | str, **bounds: int) -> Extracted:
    kind = kind_of(name)
    assert kind is not None
    return child.read(kind[0], data.encode() if isinstance(data, str) else data, Bounds(**bounds), name)


@pytest.fixture
async def reader() -> AsyncIterator[FileReader]:
    made = FileReader(Bounds(), timeout_s=60, memory_bytes=2**30)
    yield made
    await made.close()


# --- each kind ---


def test_a_page_keeps_its_words_and_headings_and_leaves_the_rest() -> None:
    found = read("a.HTML", HTML)
    flat = " ".join(found.text.split())
    assert all(fact in flat for fact in FACTS)
    assert not any(noise in flat for noise in NOISE)
    assert [line for line in found.text.splitlines() if line.startswith("#")] == [
        "# Treasury rules",
        "## Exceptions",
    ]
    assert (found.title, found.is_marked) == ("Rules", True)


def test_a_pdf_has_its_pages() -> None:
    found = read("a.pdf", pdf_of(["One.", "", "Three."]))
    assert [found.text[at:].strip()[:6] for at in found.pages] == ["One.\n\n", "Three.", "Three."]
    assert len(found.pages) == 3
    assert found.note == ""


def test_a_scan_is_noted() -> None:
    found = read("a.pdf", pdf_of(["", ""]))
    assert not found.text.strip()
    assert "scan" in found.note


def test_a_pdf_of_many_pages_is_read_as_far_as_the_bound() -> None:
    found = read("a.pdf", pdf_of([f"Page {n}." for n in range(1, 31)]), pages=20)
    assert len(found.pages) == 20
    assert "Page 20." in found.text
    assert "Page 21." not in found.text
    assert found.note == "only the first 20 of 30 pages were read"


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\nnonsense", pdf_of(["One."])[:200]])
def test_a_damaged_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(Rejected, match="PDF"):
        read("a.pdf", data)


def test_a_word_document_keeps_headings_lists_and_tables() -> None:
    found = read("a.docx", docx())
    assert found.text.split("\n\n") == [
        "# Treasury rules",
        FACTS[0],
        "## Exceptions",
        f"- {FACTS[1]}",
        "Treasurer | 900 EUR",
        "Short.",
    ]


HEAD = """---
Title: ignored case
status: Draft
supersedes: [old.md, older.md]
effective_date: 2026-03-01
other: {a: 1}
---

# Rules
"""


def test_the_head_of_a_markdown_file_is_read_and_left_out() -> None:
    found = read("a.md", HEAD)
    assert found.text == "# Rules\n"
    assert found.fields == {
        "title": ["ignored case"],
        "status": ["Draft"],
        "supersedes": ["old.md", "older.md"],
        "effective": ["2026-03-01"],
    }


@pytest.mark.parametrize(
    "head",
    [
        "a: &a [x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b]",
        "!!python/object/apply:os.system ['true']",
        "a: [" + "[" * 3_000,
        "a: : :",
    ],
)
def test_a_head_that_cannot_be_read_stays_in_the_text(head: str) -> None:
    found = read("a.md", f"---\n{head}\n---\n# Rules\n")
    assert found.text.endswith("# Rules\n")
    assert head in found.text
    assert "head" in found.note


CHATS = {
    "slack": (
        [{"user": "ana", "text": "hi\nthere", "timestamp": "2026-01-02T03:04"}],
        "2026-01-02T03:04",
        "general",
    ),
    "slack_raw": (
        [{"user": "U1", "user_profile": {"real_name": "ana"}, "text": "hi there", "ts": "1767323040.0002"}],
        "2026-01-02T03:04:00Z",
        "general",
    ),
    "discord": (
        {
            "channel": {"name": "ops"},
            "messages": [{"author": {"name": "ana"}, "content": "hi there", "timestamp": "2026-01-02"}],
        },
        "2026-01-02",
        "ops",
    ),
    "telegram": (
        {
            "name": "ops",
            "messages": [
                {"from": "ana", "text": ["hi ", {"type": "b", "text": "there"}], "date": "2026-01-02"}
            ],
        },
        "2026-01-02",
        "ops",
    ),
    "teams": (
        {
            "value": [
                {
                    "from": {"user": {"displayName": "ana"}},
                    "body": {"content": "hi there"},
                    "createdDateTime": "2026-01-02",
                }
            ]
        },
        "2026-01-02",
        "general",
    ),
    "matrix": (
        {
            "room_name": "ops",
            "messages": [
                {"sender": "ana", "content": {"body": "hi there"}, "origin_server_ts": 1767323040000}
            ],
        },
        "2026-01-02T03:04:00Z",
        "ops",
    ),
}


@pytest.mark.parametrize("shape", CHATS)
def test_chats_become_lines(shape: str) -> None:
    value, time, channel = CHATS[shape]
    found = read("exports/general.json", orjson.dumps(value))
    assert found.text == f"[{time}] #{channel} ana: hi there"
    assert found.title == f"#{channel}"


def test_a_proposal_of_snapshot() -> None:
    proposal = {
        "id": "0xabc",
        "title": "Raise the limit",
        "body": "# Why\nRents rose.",
        "choices": ["For", "Against"],
        "scores": [12.5, 3],
        "state": "closed",
        "space": {"id": "ens.eth", "name": "ENS"},
        "start": 1767323040,
        "end": 1767409440,
    }
    for value in (
        proposal,
        [proposal],
        {"data": {"proposals": [proposal]}},
        {"data": {"proposal": proposal}},
    ):
        found = read("p.json", orjson.dumps(value))
        assert found.text.startswith("# Raise the limit\n\nProposal: 0xabc\nSpace: ENS\nState: closed")
        assert "## Why\nRents rose." in found.text
        assert "## Result\n- For: 12.5\n- Against: 3" in found.text
        assert found.fields == {"last_modified": ["2026-01-03T03:04:00Z"]}


def test_other_json_is_read_as_fields() -> None:
    assert (
        read("p.json", b'{"rules": {"limit": 5, "who": ["a", "b"]}}').text
        == "rules.limit: 5\nrules.who: a\nrules.who: b"
    )
    with pytest.raises(Rejected, match="JSON"):
        read("p.json", b"{")


def test_a_manifest_is_a_table_and_more() -> None:
    text = 'Filename;Status;supersedes;Note\nnew.md;active;"old.md, older.md";x\nghost.md;;;\n;draft;;\n'
    found = read("m.csv", text)
    assert found.rows == [
        {"path": ["new.md"], "status": ["active"], "supersedes": ["old.md", "older.md"]},
        {"path": ["ghost.md"]},
    ]
    assert (
        found.text.splitlines()[0]
        == "Filename: new.md; Status: active; supersedes: old.md, older.md; Note: x"
    )
    assert read("t.csv", "name,limit\nrent,900\n").rows == []


def test_subtitles_of_a_meeting() -> None:
    text = "WEBVTT\n\n1\n00:00:05.000 --> 00:00:07.000\n<v Ana>We pay\nthe rent.</v>\n\nNOTE x\n"
    assert read("m.vtt", text).text == "[00:00:05] Ana: We pay the rent."
    with pytest.raises(Rejected, match="subtitle"):
        read("m.srt", "no")


def test_texts_in_other_encodings() -> None:
    assert read("a.txt", "Grüße".encode("utf-16")).text == "Grüße"
    assert read("a.txt", "Grüße".encode("cp1252")).text == "Grüße"
    assert read("a.txt", b"\xef\xbb\xbfa\r\nb").text == "a\nb"
    with pytest.raises(Rejected, match="no text"):
        read("a.txt", b"a\0b")


def test_a_long_text_is_cut_and_noted() -> None:
    found = read("a.txt", "x" * 50, chars=20)
    assert (len(found.text), found.note) == (20, "only the first 20 characters were kept")


# --- made to do harm ---


def bomb(members: dict[str, int]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in members.items():
            with archive.open(name, "w", force_zip64=True) as file:
                for _ in range(size // 2**20):
                    file.write(bytes(2**20))
    return out.getvalue()


def test_an_archive_that_unpacks_to_too_much_is_refused_unread() -> None:
    with pytest.raises(Rejected, match="unpacks to more than"):
        read("a.docx", bomb({"word/document.xml": 300 * 2**20}))
    with pytest.raises(Rejected, match="more than 10 members"):
        read("a.docx", bomb({f"{n}": 0 for n in range(20)}), archive_members=10)


def with_xml(xml: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(docx())) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, xml if name == "word/document.xml" else old.read(name))
    return out.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def body(text: str) -> str:
    return f"<w:document {W}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"


LAUGHS = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
HOSTILE = {
    "laughs": f'<!DOCTYPE d [<!ENTITY l0 "lol">{LAUGHS}]>' + body("&l9;"),
    "outside": '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + body("&x;"),
    "deep": f"<w:document {W}><w:body>" + "<w:p>" * 50_000 + "</w:p>" * 50_000 + "</w:body></w:document>",
}


@pytest.mark.parametrize("which", HOSTILE)
async def test_xml_made_to_do_harm(which: str, reader: FileReader) -> None:
    try:
        found = await reader.read("docx", with_xml(HOSTILE[which].encode()), "a.docx")
    except Rejected:
        return
    assert len(found.text) < 1_000
    assert "root" not in found.text


async def test_pages_nested_deep_harm_only_themselves(reader: FileReader) -> None:
    with contextlib.suppress(Rejected):
        await reader.read("html", b"<div>" * 300_000 + b"x", "a.html")
    assert (await reader.read("text", b"fine", "b.txt")).text == "fine"


async def test_a_reader_that_hangs_is_ended_and_the_next_file_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = FileReader(Bounds(), timeout_s=0.3, memory_bytes=2**30)
    child_process = await reader._started()
    os.kill(child_process.pid, signal.SIGSTOP)
    with pytest.raises(Rejected, match=r"longer than 0\.3 s"):
        await reader.read("text", b"x", "a.txt")
    assert child_process.returncode is not None
    reader = FileReader(Bounds(), timeout_s=60, memory_bytes=2**30)
    assert (await reader.read("text", b"fine", "b.txt")).text == "fine"
    await reader.close()


async def test_a_reader_that_dies_is_told_from_a_bad_file(reader: FileReader) -> None:
    assert (await reader.read("text", b"fine", "a.txt")).text == "fine"
    running = await reader._started()
    running.kill()
    asked = reader.read("text", b"x", "b.txt")
    await asyncio.gather(asked, return_exceptions=True)
    assert (await reader.read("text", b"fine", "c.txt")).text == "fine"


async def test_memory_is_bounded() -> None:
    reader = FileReader(Bounds(), timeout_s=60, memory_bytes=400 * 2**20)
    try:
        with pytest.raises(Rejected, match="memory"):
            await reader.read("json", b"[" + b"[1,2],{}," * 8_000_000 + b"0]", "a.json")
        assert (await reader.read("text", b"fine", "b.txt")).text == "fine"
    finally:
        await reader.close()


async def test_a_child_is_exchanged_after_many_files(
    monkeypatch: pytest.MonkeyPatch, reader: FileReader
) -> None:
    monkeypatch.setattr(process, "_FILES_MAX", 2)
    seen = set()
    for _ in range(4):
        await reader.read("text", b"x", "a.txt")
        assert reader._child is not None
        seen.add(reader._child.pid)
    assert len(seen) == 2
