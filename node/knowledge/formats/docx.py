"""Word documents, by python-docx: paragraphs, headings and tables in their order."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

import docx
from docx.document import Document
from docx.opc.exceptions import OpcError
from docx.table import Table
from lxml.etree import LxmlError

from node.core.errors import Rejected
from node.knowledge.formats.extracted import TITLE_CHARS_MAX, Bounds, Extracted
from node.language.sentences import one_line, plain

_HEADING = re.compile(r"heading ([1-9])\Z", re.IGNORECASE)
_LEVELS = 6


def read(data: bytes, bounds: Bounds, path: str = "") -> Extracted:
    """Its words; headings marked by their styles. Raises ``Rejected`` for what is no such file, or unpacks to
    more than the bounds."""
    _check(data, bounds)
    try:
        document = docx.Document(io.BytesIO(data))
        title = one_line(document.core_properties.title or "", TITLE_CHARS_MAX)
        text = "\n\n".join(_paragraphs(document, bounds.chars))
    except (OpcError, LxmlError, KeyError, ValueError, zipfile.BadZipFile, OSError) as exc:
        raise Rejected(f"it is no Word document that can be read: {type(exc).__name__}") from exc
    return Extracted(text, is_marked=True, title=title)


def _check(data: bytes, bounds: Bounds) -> None:
    """By what the archive says of itself; its reader then gives no member more room than that."""
    try:
        members = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as exc:
        raise Rejected("it is no Word document: the archive cannot be opened") from exc
    if len(members) > bounds.archive_members:
        raise Rejected(f"the archive has more than {bounds.archive_members} members")
    if sum(one.file_size for one in members) > bounds.archive_bytes:
        raise Rejected(f"the archive unpacks to more than {bounds.archive_bytes} bytes")


def _paragraphs(document: Document, chars_max: int) -> Iterator[str]:
    left = chars_max
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            text = "\n".join(_row(row) for row in block.rows)
        else:
            text = plain(block.text).strip()
            style = block.style.name if block.style is not None else None
            if text and (level := _HEADING.match(style or "")) is not None:
                text = f"{'#' * min(_LEVELS, int(level.group(1)))} {' '.join(text.split())}"
            elif text and style is not None and style.startswith("List"):
                text = f"- {text}"
        if text:
            yield text
            left -= len(text)
            if left < 0:
                return


def _row(row: object) -> str:
    cells = dict.fromkeys(row.cells)  # type: ignore[attr-defined] # a merged cell stands there more than once
    return " | ".join(" ".join(plain(cell.text).split()) for cell in cells)
