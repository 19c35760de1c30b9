"""Blocks in a form to read: what a page says of a record, that nothing in it is markup, what has no form."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from aiohttp import web

from node.api import page, readable
from node.core.ipld import dagcbor
from node.core.ipld.cid import DAG_CBOR, DAG_JSON, DAG_PB, RAW, Cid
from node.core.record import ModelRef, Record, RecordCitation, RecordSource, block_of
from node.ipfs.gateway.dag import Place
from tests.record_builders import START, Author
from tests.unit.api.test_page import ALLOWED, EVIL, Tags
from tests.unit.ipfs.gateway.dags import identity, link

US, OTHER = Author(1), Author(2)
LATER = START + timedelta(days=400)


def place_of(record: Record) -> Place:
    return Place(*block_of(record))


def page_of(place: Place, now: datetime = START) -> str:
    return readable.shown(place, "html", US.did, now).body.decode()


def facts_of(html: str) -> dict[str, str]:
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html, re.DOTALL))


def refused(place: Place, form: str = "dag-json") -> str:
    with pytest.raises(web.HTTPNotAcceptable) as caught:
        readable.shown(place, form, US.did, START)
    return caught.value.reason


# --- what a page says -----------------------------------------------------------------------------


def test_an_answer_whose_word_it_is_and_how_far_it_holds() -> None:
    source = RecordSource("adapter", "wikipedia", "https://example.org/a?b=1&c=2", START)
    cited = (RecordCitation("wikipedia", "IPFS", "A protocol.", "https://example.org/IPFS"),)
    expires = START + timedelta(days=1)
    record = US.answer(scope="public", source=source, citations=cited, expires=expires)
    html = page_of(place_of(record))
    said = facts_of(html)
    assert "An answer to: What is IPFS?" in html
    assert "What is IPFS · NeuroSwarm" in html
    assert said["Whose word"] == "an outside source, as the node looked it up"
    assert 'href="https://example.org/a?b=1&amp;c=2"' in said["Source"]
    assert said["Source"].endswith("2026-01-01T12:00:00Z")
    assert said["Citations"] == (
        '<ul><li><a href="https://example.org/IPFS" rel="noreferrer noopener nofollow">wikipedia IPFS</a>: '
        "A protocol.</li></ul>"
    )
    assert said["Confidence"] == "87% (source 0.90, completeness 0.80)"
    assert said["Issuer"] == f"{US.did} (this node)"
    assert said["Signature"] == "Checked for this page: it is good."
    assert (said["Made"], said["Valid until"]) == ("2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z")
    assert 'class="mark"' not in html
    for now, is_over in ((expires - timedelta(seconds=1), False), (expires, True)):
        assert ("Expired on 2026-01-02T12:00:00Z" in page_of(place_of(record), now)) == is_over


def test_an_answer_of_somebody_else_says_so() -> None:
    said = facts_of(page_of(place_of(OTHER.answer(scope="public"))))
    assert said["Issuer"] == f"{OTHER.did} (not this node)"
    assert said["Signature"].endswith("Whether its issuer vouches for that key was not looked up.")


def test_what_a_client_or_a_model_said_is_not_shown_as_known() -> None:
    client = RecordSource("client", "https://example.org", by="key-1")
    said = facts_of(page_of(place_of(US.answer(source=client))))
    assert said["Whose word"] == (
        "a client of the node, who stored it (key-1); it claims the source https://example.org, which nobody "
        "checked"
    )
    assert "Source" not in said
    html = page_of(place_of(US.answer(llm=ModelRef("tiny"))))
    assert facts_of(html)["Whose word"] == "a language model (tiny)"
    assert "Unverified: " in html


def test_the_other_kinds_of_record() -> None:
    target = Cid.of(b"a record")
    linked = f'<a href="/ipfs/{target}">{target}</a>'
    said = facts_of(page_of(place_of(US.validation(target, note="wrong <b>year</b>"))))
    assert (said["Record"], said["Verdict"], said["Note"]) == (
        linked,
        "invalid",
        "wrong &lt;b&gt;year&lt;/b&gt;",
    )
    said = facts_of(page_of(place_of(US.tombstone(target))))
    assert (said["Record"], said["Reason"]) == (linked, "erased")
    said = facts_of(page_of(place_of(US.key_record(OTHER.did))))
    assert (said["Key"], said["For"]) == (OTHER.did, "node")


# --- what cannot be made of it --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["adapter", "client", "llm", EVIL])
def test_whatever_a_record_says_is_text(kind: str) -> None:
    urls = ("javascript:alert(1)", 'https://example.org/"><script>', "http://[::1", "data:text/html,x")
    record = US.answer(
        EVIL + "?",
        answer=EVIL,
        source=RecordSource(kind, EVIL, urls[0], START, by=EVIL if kind == "client" else None),
        citations=tuple(RecordCitation(EVIL, EVIL, EVIL, url) for url in urls),
        llm=ModelRef(EVIL),
        supersedes=EVIL,
        confidence_parts={EVIL: 1},
    )
    read = Tags(page_of(place_of(record)))
    assert {tag for tag, _ in read.tags} <= ALLOWED | {"pre"}
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    hrefs = [attributes["href"] for tag, attributes in read.tags if tag == "a"]
    assert all(href and href.startswith(("https://example.org/", "/ipfs/bafy")) for href in hrefs)
    assert read.said.count(EVIL) >= 2


@pytest.mark.parametrize("value", [{EVIL: EVIL}, [EVIL, {EVIL: None}], EVIL])
def test_whatever_another_block_says_is_text(value: object) -> None:
    data = dagcbor.encode(value)
    read = Tags(page_of(Place(Cid.of(data), data)))
    assert {tag for tag, _ in read.tags} <= ALLOWED | {"pre"}
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    found = readable.shown(place_of(US.answer()), "html", US.did, START)
    policy = found.headers["Content-Security-Policy"]
    assert policy == page.policy(found.body.decode(), "form-action 'none'; sandbox")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "script-src" not in policy


def test_a_forged_record_is_shown_as_no_record() -> None:
    """One bit of the answer, the signature as it was."""
    _, data = block_of(US.answer())
    forged = data.replace(b"An answer to", b"An ansver to")
    assert forged != data
    html = page_of(Place(Cid.of(forged), forged))
    assert "no record of an answer, or not one that holds" in html
    assert "Signature" not in facts_of(html)


def test_nobody_writes_a_page_of_ours_into_an_address() -> None:
    """A record whose bytes are the address: signed well, by a key of whoever made the link."""
    _, data = block_of(OTHER.tombstone(Cid.of(b"x")))
    for form in ("html", "dag-json", "json"):
        assert "address" in refused(Place(identity(data, DAG_CBOR), data), form)


# --- other blocks ---------------------------------------------------------------------------------


def test_links_of_a_block_can_be_followed() -> None:
    here, there = Cid.of(b"here", RAW), Cid.of(b"there")
    for value in ({"a <b>": link(here), "c": [link(there)]}, [link(here), 2]):
        data = dagcbor.encode(value)
        links = facts_of(page_of(Place(Cid.of(data), data)))["Links"]
        assert f'<a href="/ipfs/{here}">' in links
        assert str(there) not in links  # of the first level alone
        assert "<b>" not in links


def test_a_value_inside_of_a_block_alone() -> None:
    data = dagcbor.encode({"list": [1, {"x": "y"}]})
    place = Place(Cid.of(data), data, inner=("list", "1"))
    found = [readable.shown(place, form, US.did, START) for form in ("dag-json", "json")]
    whole = readable.shown(Place(Cid.of(data), data), "dag-json", US.did, START)
    assert [one.body for one in found] == [b'{"x":"y"}'] * 2
    assert len({one.etag for one in (*found, whole)}) == 3
    assert "list" not in page_of(place)


def test_what_is_neither_dag_cbor_nor_dag_json_has_no_such_form() -> None:
    for codec in (RAW, DAG_PB, 0x0200):
        place = Place(Cid.of(b"{}", codec), b"{}")
        assert "neither" in refused(place)
        html = page_of(place)
        assert "2 bytes" in html
        assert "dag-json" not in html


@pytest.mark.parametrize("form", ["dag-json", "html"])
def test_blocks_are_bounded_and_have_to_decode(form: str) -> None:
    large = dagcbor.encode([b"x" * 65_000] * 4)
    too_large = b"\x81\x5a" + (readable.BYTES_MAX).to_bytes(4, "big") + bytes(readable.BYTES_MAX)
    deep = b"\x81" * 300 + b"\x80"
    cases = {
        "limit": (DAG_CBOR, too_large),
        "canonical": (DAG_CBOR, b"\xa2\x61b\x01\x61a\x01"),
        "deeper": (DAG_CBOR, deep),
        "reserved": (DAG_CBOR, dagcbor.encode({"/": "x"})),
        "not DAG-JSON": (DAG_JSON, b'{"a":'),
    }
    for said, (codec, data) in cases.items():
        place = Place(Cid.of(data, codec), data)
        shown = refused(place) if form == "dag-json" else page_of(place)
        assert said in shown, shown
    place = Place(Cid.of(large), large)
    assert len(readable.shown(place, form, US.did, START).body) < 2 * len(large)


def test_a_page_of_values_is_cut() -> None:
    data = dagcbor.encode(["x" * 60_000])
    html = page_of(Place(Cid.of(data), data))
    assert len(html) < 20_000
    assert "\n…</pre>" in html
