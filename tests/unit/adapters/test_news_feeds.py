"""Documents of feeds: what is read of honest ones, and what dishonest ones cannot do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.news import feeds
from adapters.news.feeds import Parsed, parse, prepared
from adapters.outside import plain
from node.core.errors import Rejected
from tests.contracts.adapter_case import FIXTURES, NO_FIXTURES
from tests.simulators.feeds import NOW, Story, atom, rdf, rss

URL = "https://wire.example/news/technology.xml"
recorded = pytest.mark.skipif(NO_FIXTURES is not None, reason=NO_FIXTURES or "")


def read(document: bytes, content_type: str = "text/xml", now: datetime = NOW) -> Parsed:
    return parse(prepared(document, content_type, "the wire"), content_type, URL, "wire.example", now)


def item(inside: str, before: str = "") -> bytes:
    return (
        f'{before}<rss version="2.0"><channel><title>W</title><item>{inside}</item></channel></rss>'.encode()
    )


@pytest.mark.parametrize("made", [rss, atom, rdf])
def test_the_three_formats(made: Callable[[str, list[Story]], bytes]) -> None:
    parsed = read(made("Wire & One", [Story("Rates <held> & all", 5), Story("Rivers rise", None)]))
    assert parsed.title == "Wire & One"
    first, second = parsed.entries
    assert (first.title, second.title) == ("Rates & all", "Rivers rise")
    assert first.url is not None
    assert first.url.startswith("https://wire.example/")
    assert first.time == (None if made is rdf else NOW - timedelta(minutes=5))
    assert second.time is None
    assert first.id != second.id


@recorded
@pytest.mark.parametrize(
    ("name", "count", "word"),
    [
        ("encoding_WINDOWS-1251.xml", 50, "Цитата"),
        ("no_encoding_ISO-8859-1.xml", 9, "très"),
        ("rdf_UTF8.xml", 60, "übernimmt"),
        ("small_atom.xml", 20, "podcast"),
        ("urdu_UTF8.xml", 26, "امداد"),
    ],
)
def test_recorded_feeds(name: str, count: int, word: str) -> None:
    parsed = read((Path(FIXTURES) / "rss" / name).read_bytes())
    assert len(parsed.entries) == count
    assert any(word in entry.title for entry in parsed.entries)
    assert all(entry.url is not None for entry in parsed.entries)


def test_a_parse_error_is_a_warning_when_entries_are_there() -> None:
    (entry,) = read(b'<rss version="2.0"><channel><item><title>A & B</title><bad></item></channel>').entries
    assert entry.title == "A & B"


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE rss [<! entity % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>',
    ],
)
def test_an_entity_bomb_and_outside_entities_are_refused(doctype: str) -> None:
    with pytest.raises(Rejected, match=r"entities|no feed"):
        read(item("<title>&b;&x;</title>", before=doctype))


def test_a_declared_document_type_alone_is_harmless() -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Some//DTD" "http://127.0.0.1:9/rss.dtd">'
    (entry,) = read(item("<title>Caf&eacute;</title>", before=doctype)).entries
    assert entry.title == "Café"


@pytest.mark.parametrize("document", [b"http://127.0.0.1:9/rss.xml", b"/etc/passwd", b"file:///etc/passwd"])
def test_an_address_as_the_document_is_not_opened(document: bytes) -> None:
    with pytest.raises(Rejected, match="no feed"):
        read(document)


HIDDEN = item("<title>x</title>")


@pytest.mark.parametrize(
    ("document", "content_type"),
    [
        (HIDDEN.decode().encode("utf-16"), "text/xml"),
        (b'<?xml version="1.0" encoding="utf-7"?>' + HIDDEN, "text/xml"),
        (b"<?xml version='1.0' encoding='unicode_escape'?>" + HIDDEN, "text/xml"),
        (HIDDEN, "text/xml; charset=utf-7"),
    ],
    ids=["utf-16", "utf-7", "unicode_escape", "utf-7 in the header"],
)
def test_encodings_that_hide_markup_are_refused(document: bytes, content_type: str) -> None:
    with pytest.raises(Rejected, match="encoding"):
        read(document, content_type)


MEGABYTE = 2**20 - 4_000


@pytest.mark.parametrize(
    "document",
    [
        b"<rss><channel>" + b"<a>" * (MEGABYTE // 3),
        b"<rss><channel>" + b"<a/>" * (MEGABYTE // 4),
        b"<rss><channel>" + b"<" * MEGABYTE,
        item("<title>" + "&" * MEGABYTE + "</title>"),
        b"<rss " + b"".join(b'a%d="b" ' % n for n in range(90_000)) + b"><channel>",
        item("<title>" + "<![CDATA[" * (MEGABYTE // 9)),
        item("<title>" + "<!--" * (MEGABYTE // 4)),
        item("<title><![CDATA[" + "]]" * (MEGABYTE // 2) + "]]></title>"),
        b"<html><body>One moment please</body></html>",
        b"",
        b"{}",
        b"\xff\xd8\xff\xe0",
    ],
    ids=range(12),
)
def test_shapes_that_no_feed_has_are_refused_before_parsing(document: bytes) -> None:
    with pytest.raises(Rejected):
        prepared(document, "text/xml", "the wire")


def test_only_the_first_entries_are_parsed() -> None:
    document = rss("Wire", [Story(f"Story {number}") for number in range(3_000)])
    cut = prepared(document, "text/xml", "the wire")
    assert len(cut) < len(document) / 20
    parsed = read(document)
    assert [entry.title for entry in parsed.entries] == [f"Story {n}" for n in range(feeds.ENTRIES_MAX)]


def test_long_texts_are_cut_at_a_word() -> None:
    (entry,) = read(item(f"<title>{'word ' * 10_000}</title>")).entries
    assert len(entry.title) <= feeds.TITLE_CHARS_MAX
    assert entry.title.endswith("word…")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("Mon, 18 May 2026 10:30:00 +0200", datetime(2026, 5, 18, 8, 30, tzinfo=UTC)),
        ("Mon, 18 May 2026 20:00:00 GMT", datetime(2026, 5, 18, 20, 0, tzinfo=UTC)),
        ("Thu, 21 May 2026 08:30:00 GMT", None),  # further ahead than a wrong zone explains
        ("Mon, 18 May 9999 08:30:00 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("yesterday or so", None),
        ("99999999999999999999", None),
    ],
)
def test_dates(date: str, expected: datetime | None) -> None:
    (entry,) = read(item(f"<title>t</title><pubDate>{date}</pubDate>")).entries
    assert entry.time == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("https://a.example/x?utm_source=rss&amp;id=7#top", "https://a.example/x?id=7"),
        ("/story/7", "https://wire.example/story/7"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("https://user:pass@a.example/", None),
        ("https://a.example/" + "x" * 3_000, None),
        ("https://a.example:99999/", None),
        ("http://[broken/", None),
        ("", None),
    ],
)
def test_links(link: str, expected: str | None) -> None:
    (entry,) = read(item(f"<title>t</title><link>{link}</link>")).entries
    assert entry.url == expected


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<b>Bold</b> &amp; <i>fine</i>", "Bold & fine"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;Rates", "Rates"),
        ("&amp;lt;script&amp;gt;alert(1)&amp;lt;/script&amp;gt;Rates", "Rates"),
        ("2 &lt; 3 and 5 &gt; 4", "2 ‹ 3 and 5 › 4"),
        ("[click](javascript:alert(1))", "click"),
        ("a\u202eb\u0000c\nd", "a b c d"),
        (7, ""),
        (None, ""),
    ],
)
def test_outside_text_has_no_markup(html: object, text: str) -> None:
    assert plain(html, most=100) == text


@given(st.text(alphabet="<>&;ltgamp!-[]scrip/ \"'x#60", max_size=300))
def test_no_text_keeps_angle_brackets(text: str) -> None:
    clean = plain(text, most=100)
    assert "<" not in clean
    assert ">" not in clean
    assert len(clean) <= 100


@given(st.binary(max_size=400))
def test_any_document_is_read_or_refused(document: bytes) -> None:
    try:
        parsed = read(b"<rss version='2.0'><channel>" + document)
    except Rejected:
        return
    assert len(parsed.entries) <= feeds.ENTRIES_MAX
