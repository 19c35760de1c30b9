"""PDF, by pypdfium2: the text of each page."""

from __future__ import annotations

import pypdfium2

from node.core.errors import Rejected
from node.knowledge.formats.extracted import TITLE_CHARS_MAX, Bounds, Extracted
from node.language.sentences import one_line, plain

_SOFT_HYPHEN = "\ufffe"
"""What the library gives for a hyphen at the end of a line that the word does not have."""
_BETWEEN = "\n\n"


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """The first ``bounds.pages`` pages, up to ``bounds.chars``. A PDF without text (a scan) is noted, not
    refused. Raises ``Rejected`` for one that is damaged or locked."""
    try:
        document = pypdfium2.PdfDocument(data)
        count = len(document)
        title = one_line(document.get_metadata_dict().get("Title") or "", TITLE_CHARS_MAX)
    except pypdfium2.PdfiumError as exc:
        raise Rejected(f"the PDF cannot be opened: {exc}") from exc
    parts: list[str] = []
    pages: list[int] = []
    length = unread = 0
    for number in range(min(count, bounds.pages)):
        try:
            text = _page(document, number)
        except pypdfium2.PdfiumError:
            text, unread = "", unread + 1
        pages.append(length)
        parts.append(text)
        length += len(text) + len(_BETWEEN)
        if length > bounds.chars:
            break
    return Extracted(_BETWEEN.join(parts), pages=pages, title=title, note=_note(parts, count, unread))


def _page(document: pypdfium2.PdfDocument, number: int) -> str:
    page = document[number]
    try:
        words = page.get_textpage()
        try:
            return plain(words.get_text_range().replace(_SOFT_HYPHEN, "")).strip()
        finally:
            words.close()
    finally:
        page.close()


def _note(parts: list[str], count: int, unread: int) -> str:
    notes: list[str] = []
    if not any(parts):
        notes.append("no page has text: it is a scan, or made of pictures")
    if len(parts) < count:
        notes.append(f"only the first {len(parts)} of {count} pages were read")
    if unread:
        notes.append(f"{unread} damaged pages were left out")
    return "; ".join(notes)
