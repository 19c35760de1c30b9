"""Blocks in a form that people and browsers read: DAG-JSON, and a page without script.

Promises: what a record says is text on the page, and links lead to web pages or to blocks here. The page
says whose word it is, and that the signature was checked; what is no record is shown as plain values.
Bounded: ``BYTES_MAX`` of a block, ``_CHARS_SHOWN`` of its values, ``_LINKS_SHOWN`` of its links. What an
address itself holds (an identity CID) is not shown: anybody could write a page of ours that way.
Must not know: requests, stores, who may see what.

Source: DAG-JSON specification; path gateway specification (IPIP-328). A path that ends at a value inside of a
block gives that value, which the specification leaves open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from aiohttp import web

from node.api import page
from node.api.negotiate import PAGE
from node.core.errors import Rejected
from node.core.ipld import dagcbor, dagjson
from node.core.ipld.cid import DAG_CBOR, DAG_JSON, Cid
from node.core.model import PPM
from node.core.record import (
    AnswerRecord,
    KeyRecord,
    Record,
    RecordSource,
    TombstoneRecord,
    ValidationRecord,
    as_map,
    decode,
    format_time,
)
from node.ipfs.gateway.dag import Place

BYTES_MAX = dagcbor.BLOCK_BYTES_MAX
"""As large as a record can be."""
_CHARS_SHOWN = 8_000
_LINKS_SHOWN = 256
_DECODERS = {DAG_CBOR: dagcbor.decode_foreign, DAG_JSON: dagjson.decode}

Rows = list[tuple[str, str]]
"""A name and its HTML."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A body and what is told with it. ``keeps``: until it changes; otherwise it is asked for again each
    time."""

    body: bytes
    etag: str
    keeps: bool
    headers: Mapping[str, str]


def shown(place: Place, form: str, ours: str, now: datetime) -> Shown:
    """The end of a path as ``form`` (of ``negotiate.READABLE``, or ``PAGE``). ``ours``: this node's root.

    Raises HTTP 406 for what has no such form.
    """
    if place.cid.is_identity:
        raise _no_form("what an address itself holds is not shown")
    if form == PAGE:
        body = _page(place, ours, now).encode()
        digest = hashlib.sha256(body).hexdigest()[:32]
        return Shown(body, f'"{digest}.html"', False, _page_headers())
    try:
        body = dagjson.encode(_value(place))
    except Rejected as exc:
        raise _no_form(f"the block cannot be shown as DAG-JSON: {exc}") from exc
    inner = hashlib.sha256(repr(place.inner).encode()).hexdigest()[:16] if place.inner else ""
    return Shown(body, f'"{place.cid}{inner and "."}{inner}.{form}"', True, {})


def _no_form(text: str) -> web.HTTPNotAcceptable:
    return web.HTTPNotAcceptable(reason=f"{' '.join(text.split())}; ask for ?format=raw or ?format=car")


def _value(place: Place) -> Any:
    """What stands at the end of the path. Raises ``Rejected``."""
    decoder = _DECODERS.get(place.cid.codec)
    if decoder is None:
        raise Rejected("it is neither DAG-CBOR nor DAG-JSON")
    if len(place.data) > BYTES_MAX:
        raise Rejected(f"it has {len(place.data)} bytes, and the limit is {BYTES_MAX}")
    value = decoder(place.data)[0]
    for part in place.inner:  # the path was followed once already
        value = value[int(part) if isinstance(value, list) else part]
    return value


# --- the page -------------------------------------------------------------------------------------


@cache
def _template() -> Template:
    return Template((files("node.api") / "record.html").read_text("utf-8"))


@cache
def _page_headers() -> Mapping[str, str]:
    return {
        "Content-Security-Policy": page.policy(_template().template, "form-action 'none'; sandbox"),
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
    }


def _page(place: Place, ours: str, now: datetime) -> str:
    title, marks, body, rows = _block(place, ours, now)
    address = "/ipfs/" + escape(str(place.cid))
    names = ["raw", "car", *(["dag-json"] if place.cid.codec in _DECODERS else [])]
    forms = " · ".join(f'<a href="{address}?format={name}">{name}</a>' for name in names)
    rows = [*rows, ("Block", _linked(str(place.cid))), ("Other forms", forms)]
    return _template().substitute(
        title=escape(title),
        marks="".join(f'<p class="mark">{escape(mark)}</p>' for mark in marks),
        body=body,
        rows="".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows if said),
    )


def _block(place: Place, ours: str, now: datetime) -> tuple[str, list[str], str, Rows]:
    """Title, marks, body and rows."""
    if place.cid.codec == DAG_CBOR and not place.inner:
        try:
            record = decode(place.data)
        except Rejected:
            pass  # a block of another kind, or one that only looks like a record
        else:
            return _record(record, ours, now)
    try:
        value = _value(place)
        text = json.dumps(json.loads(dagjson.encode(value)), ensure_ascii=False, indent=1)
    except Rejected as exc:
        return "A block", [f"It is not shown: {exc}."], "", [("Size", f"{len(place.data)} bytes")]
    entries = list(value.items() if isinstance(value, dict) else enumerate(value) if _is_list(value) else ())
    found = [(str(name), one) for name, one in entries if isinstance(one, Cid)][:_LINKS_SHOWN]
    links = "".join(f"<li>{escape(name)}: {_linked(str(cid))}</li>" for name, cid in found)
    cut = "\n…" if len(text) > _CHARS_SHOWN else ""
    return (
        "A block",
        ["This is no record of an answer, or not one that holds; these are its values."],
        f"<pre>{escape(text[:_CHARS_SHOWN])}{cut}</pre>",
        [("Links", f"<ul>{links}</ul>" if links else ""), ("Size", f"{len(place.data)} bytes")],
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _record(record: Record, ours: str, now: datetime) -> tuple[str, list[str], str, Rows]:
    marks = []
    if record.expires is not None and record.expires <= now:
        marks.append(f"Expired on {format_time(record.expires)}: no longer served as an answer.")
    title, body, rows = "A record", "", Rows()
    if isinstance(record, AnswerRecord):
        title = record.query
        body = f'<div class="answer" dir="auto">{escape(record.answer)}</div>'
        rows = _answer(record)
        if record.is_unverified:
            marks.append("Unverified: a language model said this, and no source supports it.")
    elif isinstance(record, ValidationRecord):
        title = "A verdict on a record"
        rows = [("Record", _linked(record.target)), ("Verdict", record.verdict)]
        rows.append(("Note", escape(record.note or "")))
    elif isinstance(record, TombstoneRecord):
        title = "The withdrawal of a record"
        rows = [("Record", _linked(record.target)), ("Reason", escape(record.reason))]
    elif isinstance(record, KeyRecord):
        title = "The certificate of a key"
        times = f"{format_time(record.not_before)} to {format_time(record.not_after)}"
        rows = [("Key", escape(record.subject)), ("For", escape(record.use)), ("Valid", times)]
    return title, marks, body, [*rows, *_signed(record, ours)]


def _answer(record: AnswerRecord) -> Rows:
    source = record.source
    told = as_map(source)
    empty = {"locator": "", "snippet": "", "url": None, "time": None}
    cited = [{**empty, **one} for one in as_map(record.citations)]
    more = [part for part in (page.link(source.url, source.url or ""), told.get("time", "")) if part]
    parts = ", ".join(f"{escape(name)} {part / PPM:.2f}" for name, part in record.confidence_parts.items())
    return [
        ("Whose word", escape(_word(source, record))),
        (
            "Source",
            ", ".join([escape(f"{source.kind}: {source.id}"), *more]) if source.client is None else "",
        ),
        ("Citations", page.citations(cited)),
        ("Confidence", f"{record.confidence / PPM:.0%}" + (f" ({parts})" if parts else "")),
        ("Replaces", _linked(record.supersedes) if record.supersedes else ""),
    ]


def _word(source: RecordSource, record: AnswerRecord) -> str:
    client = source.client
    if client is not None:
        claim = "" if client.claim is None else f"; it claims the source {client.claim}, which nobody checked"
        return f"a client of the node, who stored it ({client.by}){claim}"
    words: Mapping[str, str] = {
        "adapter": "an outside source, as the node looked it up",
        "documents": "documents that were given to the node",
        "extractive": "sentences quoted from the citations",
        "llm": "a language model" + (f" ({record.llm.id})" if record.llm else ""),
    }
    return words.get(source.kind, source.kind)


def _signed(record: Record, ours: str) -> Rows:
    """Only what was decoded comes here, and that its signature verifies is part of decoding."""
    issuer = f"{record.issuer} (this node)" if record.issuer == ours else f"{record.issuer} (not this node)"
    by = "" if record.key == record.issuer else f" by the key {record.key}"
    doubt = "" if record.issuer == ours else " Whether its issuer vouches for that key was not looked up."
    return [
        ("Issuer", escape(issuer)),
        ("Signature", escape(f"Checked for this page: it is good{by}.{doubt}")),
        ("Made", format_time(record.timestamp)),
        ("Valid until", format_time(record.expires) if record.expires else "withdrawn or replaced"),
    ]


def _linked(text: str) -> str:
    """A CID as a link to its block; what is none as text."""
    cid = Cid.find(text, any_hash=True)
    is_cid = cid is not None and str(cid) == text
    return f'<a href="/ipfs/{escape(text)}">{escape(text)}</a>' if is_cid else escape(text)
