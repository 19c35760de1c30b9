"""The page's pieces: what is shown, and that nothing from outside is markup."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from node.api import page
from node.core.errors import Unavailable

EVIL = "\"><script>alert(1)</script><img src=x onerror='x'>&amp;"
_ALLOWED = (
    "html head meta title style body main h1 h2 p form label input details summary textarea button footer a "
    "section div dl dt dd ul ol li"
)
ALLOWED = frozenset(_ALLOWED.split())


def reply(**more: Any) -> dict[str, Any]:
    return {
        "answer": "A CID.",
        "source": {"kind": "adapter", "id": "wikipedia"},
        "citations": [],
        "confidence": 0.94,
        "cid": None,
        "stored": False,
        "hit": None,
        "stale": False,
        "trace": [],
        **more,
    }


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def shown(**more: Any) -> str:
    text = page.respond(**more).text
    assert text is not None
    return text


def test_whatever_comes_from_outside_is_text() -> None:
    citation = {"source": EVIL, "locator": EVIL, "snippet": EVIL, "url": "javascript:alert(1)", "time": EVIL}
    hit = {"kind": EVIL, "age_s": 7, "reason": EVIL}
    step = {"stage": EVIL, "outcome": EVIL, "reason": EVIL}
    urls = ('https://example.org/"><script>', "http://[::1", "//[")
    citations = [citation, *({**citation, "url": url} for url in urls)]
    source = {"kind": "llm", "id": EVIL}
    evil = reply(answer=EVIL, source=source, citations=citations, cid=EVIL, hit=hit, trace=[step])
    read = Tags(shown(question=EVIL, text=EVIL, session=EVIL, reply=evil))
    assert {tag for tag, _ in read.tags} <= ALLOWED
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert all(not (attributes.get("href") or "").startswith("javascript") for _, attributes in read.tags)
    assert EVIL in read.said
    assert Tags(shown(error=Unavailable(EVIL))).said.count(EVIL) == 1


def test_where_an_answer_comes_from_and_what_became_of_it() -> None:
    hit = {"kind": "exact", "age_s": 7, "reason": "same question"}
    html = shown(reply=reply(cid="bafy", stored=True, hit=hit, stale=True))
    hit_line, entry = "yes (exact, 7 s old): same question", "/v1/cache/entries/bafy"
    for word in ("adapter: wikipedia", "94%", hit_line, entry):
        assert word in html
    assert "Out of date" in html
    assert "Unverified" not in html
    assert "Unverified" in shown(reply=reply(source={"kind": "llm", "id": "ollama/tiny"}))
    assert "Confidence" not in shown(reply=reply(source={"kind": "fallback", "id": "none"}))


@pytest.mark.parametrize(
    ("sure", "said"),
    [
        ({"found": 0.934, "support": 0.88}, "<dt>Evidence</dt><dd>found 0.93, supported 0.88</dd>"),
        ({"found": 0.0, "support": None}, "<dt>Evidence</dt><dd>found 0.00</dd>"),
    ],
)
def test_how_sure_the_evidence_is_stands_apart_from_what_it_supports(sure: dict[str, Any], said: str) -> None:
    assert said in shown(reply=reply(**sure))
    assert "Evidence" not in shown(reply=reply(found=None, support=None))


@pytest.mark.parametrize("unverified", [False, True])
@pytest.mark.parametrize("draft", [False, True])
def test_what_is_unverified_or_a_draft_is_marked_so(unverified: bool, draft: bool) -> None:
    html = shown(reply=reply(source={"kind": "llm", "id": "ollama/tiny"}, unverified=unverified, draft=draft))
    assert ('<p class="mark">Unverified: ' in html, '<p class="mark">Draft: ' in html) == (unverified, draft)


def test_lines_of_an_answer_are_kept() -> None:
    assert "for x in a:\n    print(a[0])" in shown(reply=reply(answer="for x in a:\n    print(a[0])"))


def test_the_policy_allows_this_style_and_nothing_else() -> None:
    answer = page.respond()
    assert answer.text is not None
    style = re.search(r"<style>(.*)</style>", answer.text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{digest}'" in policy
    for rule in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy
    assert answer.headers["Referrer-Policy"] != "no-referrer"  # browsers then send "Origin: null"


def test_the_form_can_be_used_without_a_mouse_and_on_a_telephone() -> None:
    read = Tags(shown())
    labelled = {attributes.get("for") for tag, attributes in read.tags if tag == "label"}
    boxes = [box for tag, box in read.tags if tag in ("input", "textarea") and box.get("id")]
    assert {box["id"] for box in boxes} == labelled
    assert read.tags[0] == ("html", {"lang": "en"})
    assert any(attributes.get("name") == "viewport" for _, attributes in read.tags)
    assert "prefers-color-scheme:dark" in shown()
    assert not [attributes for _, attributes in read.tags if "tabindex" in attributes]


@pytest.mark.parametrize("size", [10, 10_000])
def test_a_long_question_does_not_make_a_long_page(size: int) -> None:
    assert len(shown(question="x" * size)) < len(shown()) + page.QUESTION_CHARS_MAX + 100
