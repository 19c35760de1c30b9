"""The page at ``/``: what this is, and a form to ask. No script; whatever comes from outside is escaped.

A form that another site sends is refused, and a link (``/?q=…``) only fills the form in: no page elsewhere
can make this node ask, answer or store anything."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

from node.api import bodies, views
from node.api.received import BODY
from node.api.replies import Routes
from node.api.request import CALLER, ID, SERVICE
from node.api.stream import while_there
from node.core.clock import new_id
from node.core.errors import BadInput, NodeError, Unavailable
from node.pipeline.requests import Ask

FORM = "application/x-www-form-urlencoded"
QUESTION_CHARS_MAX = 4_000
_FIELDS_MAX = 8
_CITATIONS_SHOWN = 8
_STEPS_SHOWN = 60


@cache
def _template() -> Template:
    return Template((files("node.api") / "page.html").read_text("utf-8"))


def policy(page: str, more: str) -> str:
    """Content-Security-Policy of a page without scripts that has one style."""
    style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; {more}; base-uri 'none'; frame-ancestors 'none'"


@cache
def _headers() -> Mapping[str, str]:
    return {
        "Content-Security-Policy": policy(_template().template, "form-action 'self'"),
        "Referrer-Policy": "same-origin",  # with none a browser would hide the origin of the form, too
        "X-Frame-Options": "DENY",
        "Cache-Control": "private, no-store",
        "Vary": "Accept",
    }


def is_wanted(request: web.Request) -> bool:
    """Whether a page is asked for, and not JSON only."""
    accept = request.headers.get("Accept", "*/*").lower()
    return "text/html" in accept or "json" not in accept


def read_form(request: web.Request, body: bytes) -> dict[str, str]:
    """The fields of the form that are not blank. Raises ``BadInput``."""
    if request.content_type.lower() != FORM:
        raise BadInput(f"the body must be sent as {FORM}", field="Content-Type")
    try:
        pairs = parse_qsl(body.decode("utf-8"), max_num_fields=_FIELDS_MAX, errors="strict", encoding="utf-8")
    except ValueError as exc:
        raise BadInput("the form cannot be read", field="body") from exc
    return {name: value for name, value in pairs if value.strip()}


def respond(
    *,
    question: str = "",
    text: str = "",
    session: str | None = None,
    reply: Mapping[str, Any] | None = None,
    error: NodeError | None = None,
) -> web.Response:
    """The page. ``reply`` is that of ``POST /chat`` with ``verbose``."""
    result, title, status = "", "NeuroSwarm", 200
    if error is not None:
        result, title = _failure(str(error)), "Not answered · NeuroSwarm"
        status = 400 if isinstance(error, BadInput) else 503
    elif reply is not None:
        result, title = _answer(reply), f"{question[:60]} · NeuroSwarm"
    page = _template().substitute(
        title=escape(title),
        question=escape(question[:QUESTION_CHARS_MAX]),
        text=escape(text),
        open=" open" if text else "",
        focus="" if result else " autofocus",
        session=escape(session or new_id()),
        result=result,
    )
    return web.Response(
        text=page, status=status, content_type="text/html", charset="utf-8", headers=_headers()
    )


# --- pieces ---------------------------------------------------------------------------------------


def _failure(said: str) -> str:
    return f'<section id="answer" role="alert"><h2>Not answered</h2><p>{escape(said)}</p></section>'


def _answer(reply: Mapping[str, Any]) -> str:
    marks = "".join(f'<p class="mark">{escape(mark)}</p>' for mark in _marks(reply))
    rows = "".join(f"<dt>{name}</dt><dd>{shown}</dd>" for name, shown in _facts(reply) if shown)
    return (
        f'<section id="answer" aria-labelledby="said"><h2 id="said">Answer</h2>'
        f'<div class="answer" dir="auto">{escape(str(reply["answer"]))}</div>{marks}<dl>{rows}</dl>'
        f"{_steps(reply)}</section>"
    )


def _marks(reply: Mapping[str, Any]) -> list[str]:
    """What the reader must know before believing it."""
    found = []
    alone = reply["source"]["kind"] == "llm" and not reply["citations"]
    if reply.get("unverified", alone):
        found.append("Unverified: a language model said this, and no source here supports it.")
    if reply.get("draft"):
        found.append(
            "Draft: the model said the same a while ago, and was not sure enough for it to be stored."
        )
    if reply["stale"]:
        found.append("Out of date: a newer value could not be had yet.")
    return found


def _facts(reply: Mapping[str, Any]) -> list[tuple[str, str]]:
    hit, cid, source = reply["hit"], reply["cid"], reply["source"]
    if source["kind"] in ("fallback", "statement"):
        return []
    stored = "no"
    if cid is not None:
        link = f'<a href="/v1/cache/entries/{escape(cid)}">{escape(cid)}</a>'
        stored = f"yes, as {link}" if reply["stored"] else f"waiting, as {link}"
    cached = "no"
    if hit is not None:
        cached = escape(f"yes ({hit['kind']}, {hit['age_s']} s old): {hit['reason']}")
    return [
        ("Source", escape(_source(source))),
        ("Confidence", f"{reply['confidence']:.0%}"),
        ("Evidence", _evidence(reply)),
        ("Citations", citations(reply["citations"])),
        ("From the cache", cached),
        ("Stored", stored),
    ]


def _source(source: Mapping[str, Any]) -> str:
    """Of what a client stored, who that was; what it names as its source is a claim."""
    client = source.get("client")
    if client is None:
        return f"{source['kind']}: {source['id']}"
    claim = "" if client["claim"] is None else f"; it claims the source {client['claim']}"
    return f"{source['kind']}: a client stored it ({client['by']}){claim}"


def _evidence(reply: Mapping[str, Any]) -> str:
    """How sure it is that the right evidence was found, and how far that supports the answer."""
    sure = (("found", reply.get("found")), ("supported", reply.get("support")))
    return ", ".join(f"{word} {share:.2f}" for word, share in sure if share is not None)


def citations(rows: Sequence[Mapping[str, Any]]) -> str:
    """A list of those that are shown, or nothing."""
    shown = "".join(f"<li>{_citation(row)}</li>" for row in rows[:_CITATIONS_SHOWN])
    return f"<ul>{shown}</ul>" if shown else ""


def link(url: str | None, name: str) -> str:
    """``name`` as a link to a page elsewhere, where ``url`` is one."""
    try:
        is_page = urlsplit(url or "").scheme in ("http", "https")
    except ValueError:
        is_page = False
    if not is_page:
        return escape(name)
    return f'<a href="{escape(url or "")}" rel="noreferrer noopener nofollow">{escape(name)}</a>'


def _citation(row: Mapping[str, Any]) -> str:
    name = link(row["url"], " ".join(part for part in (row["source"], row["locator"], row["time"]) if part))
    snippet = f": {escape(row['snippet'])}" if row["snippet"] else ""
    return name + snippet


def _steps(reply: Mapping[str, Any]) -> str:
    steps = "".join(
        f"<li>{escape(step['stage'])}: {escape(step['outcome'])}"
        + (f" ({escape(step['reason'])})" if step["reason"] else "")
        + "</li>"
        for step in reply.get("trace", [])[:_STEPS_SHOWN]
    )
    return f'<details><summary>How it was found</summary><ol class="soft">{steps}</ol></details>'


async def _show(request: web.Request) -> web.Response:
    """The form, filled in with what a link names; nothing is asked by a link."""
    if not is_wanted(request):
        raise web.HTTPNotFound
    return respond(question=request.query.get("q", ""))


async def _ask(request: web.Request) -> web.Response:
    sent = read_form(request, request[BODY])
    question, text = sent.get("q", ""), sent.get("text", "")
    try:
        form = bodies.read(sent, bodies.Form)
        asked = "\n\n".join(filter(None, (form.q, form.text)))
        ask = Ask(text=asked, caller=request[CALLER], session=form.session)
        answer = await while_there(request, request.app[SERVICE].answer(ask, request[ID]))
    except (BadInput, Unavailable) as exc:
        return respond(question=question, text=text, error=exc)
    return respond(question=question, session=form.session, reply=views.answer(answer, verbose=True))


ROUTES: Routes = (("GET", "/", _show), ("POST", "/", _ask))
