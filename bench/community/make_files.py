"""Make the PDF and DOCX files of the fictitious community from the texts in ``sources``.

    python bench/community/make_files.py [FOLDER]

The same texts and the same library versions give the same bytes. ``built.json`` records both, so that a test
sees a changed text or a changed file also where the libraries (fpdf2, python-docx, pillow) are not installed.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docx import Document
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).parent
MADE_AT = datetime(2025, 10, 1, 12, 0, tzinfo=UTC)
LIBRARIES = ("fpdf2", "python-docx", "pillow", "lxml", "fonttools")
PARTS = {
    "policies/treasury-policy-v2.pdf": "treasury-policy-v2.txt",
    "handbooks/fire-safety-handbook.pdf": "fire-safety-handbook.txt",
    "contracts/insurance-summary.pdf": "insurance-summary.txt",
    "handbooks/onboarding-guide.docx": "onboarding-guide.txt",
    "contracts/lift-maintenance-contract.docx": "lift-maintenance-contract.txt",
    "scans/boathouse-annex-scan.pdf": "scan-annex.txt",
}
"""Made file below ``files``: its text below ``sources``."""


def pdf_of(text: str) -> bytes:
    """A PDF with selectable text. A heading of level two that comes low on a page starts a new page."""
    pdf = FPDF(format="A4")
    pdf.set_creation_date(MADE_AT)
    pdf.set_title(text.splitlines()[0].lstrip("# "))
    pdf.set_margin(25)
    pdf.set_auto_page_break(auto=True, margin=30)
    pdf.add_page()
    for line in text.splitlines():
        level = len(line) - len(line.lstrip("#"))
        if level == 2 and pdf.get_y() > 160:
            pdf.add_page()
        pdf.set_font("Helvetica", style="B" if level else "", size=(13, 20, 15)[level])
        if line:
            pdf.multi_cell(0, (8.4, 12, 10)[level], line.lstrip("# "), new_x="LMARGIN", new_y="NEXT")
        else:
            pdf.ln(4)
    return bytes(pdf.output())


def docx_of(text: str) -> bytes:
    """A DOCX with heading styles and lists; the times inside the archive are fixed."""
    document = Document()
    properties = document.core_properties
    properties.author, properties.title = "Marlweir Commons", text.splitlines()[0].lstrip("# ")
    properties.created = properties.modified = MADE_AT
    for line in text.splitlines():
        level = len(line) - len(line.lstrip("#"))
        if level:
            document.add_heading(line.lstrip("# "), level - 1)
        elif line.startswith("- "):
            document.add_paragraph(line[2:], style="List Bullet")
        elif line:
            document.add_paragraph(line)
    packed, fixed = io.BytesIO(), io.BytesIO()
    document.save(packed)
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(fixed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    return fixed.getvalue()


def scan_of(text: str) -> bytes:
    """A PDF of one page that holds only a picture of the text, a little askew, as a scanner leaves it."""
    page = Image.new("L", (1240, 1754), 247)
    draw = ImageDraw.Draw(page)
    for row, line in enumerate(text.splitlines()):
        draw.text((160, 220 + 70 * row), line, fill=40, font=ImageFont.load_default(size=44))
    for x in range(0, 1240, 31):
        draw.point((x, (x * 37) % 1754), fill=120)
    pdf = FPDF(format="A4")
    pdf.set_creation_date(MADE_AT)
    pdf.add_page()
    pdf.image(page.rotate(0.8, fillcolor=247), x=0, y=0, w=210)
    return bytes(pdf.output())


def main(folder: Path) -> None:
    built: dict[str, dict[str, Any]] = {"libraries": {name: version(name) for name in LIBRARIES}, "files": {}}
    for path, source in PARTS.items():
        raw = (HERE / "sources" / source).read_bytes()
        make = scan_of if "scan" in path else docx_of if path.endswith(".docx") else pdf_of
        data = make(raw.decode("utf-8"))
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        hashes = {"source": hashlib.sha256(raw).hexdigest(), "made": hashlib.sha256(data).hexdigest()}
        built["files"][path] = {"from": source, **hashes}
    if folder == HERE / "files":
        (HERE / "built.json").write_text(json.dumps(built, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "files")
