"""Pages of HTML, by resiliparse: menus, scripts and styles left out, headings marked."""

from __future__ import annotations

import codecs
from contextlib import suppress

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from resiliparse.parse.html import HTMLTree

from node.core.errors import Rejected
from node.knowledge.formats.extracted import TITLE_CHARS_MAX, Bounds, Extracted, decoded, table
from node.language.sentences import one_line, plain

_LEVELS = 6
_NODES_MAX = 500_000


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """The page's words. Which part is the main one is not guessed: that guess drops lists and short
    paragraphs. Raises ``Rejected``."""
    tree = HTMLTree.parse(_text(data))
    body = tree.body
    if body is None:
        raise Rejected("it has no body")
    for node in body.query_selector_all(table()["html"]["left_out"]):
        node.decompose()
    for level in range(1, _LEVELS + 1):
        for number, heading in enumerate(body.query_selector_all(f"h{level}")):
            if number > _NODES_MAX:
                raise Rejected(f"it has more than {_NODES_MAX} headings")
            heading.text = f"{'#' * level} {' '.join((heading.text or '').split())}"
    text = extract_plain_text(tree, main_content=False, alt_texts=False, list_bullets=True)
    title = one_line(tree.title or "", TITLE_CHARS_MAX)
    return Extracted(plain(text), is_marked=True, title=title)


def _text(data: bytes) -> str:
    """The library's guess only where the bytes are no UTF-8."""
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8-sig")
    try:
        return data.decode(codecs.lookup(detect_encoding(data) or "").name, "replace")
    except LookupError:
        return decoded(data)
