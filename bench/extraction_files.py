"""What libraries get out of files: text, headings and pages kept, what is no text left out, and the cost.

    python -m bench.extraction_files [--with kreuzberg selectolax …] [FILE …]

Method: one file of each kind is made here (a page with menu, script, list and table; minutes with headings
and a table; a PDF of 40 pages), further files are named by whoever runs it. Each library reads each file in
a process of its own. ``facts``: sentences of the made files that are found again; ``noise``: menu, script,
style that came along; ``headings``: those that are marked as such; ``pages``: found on the right page.
Milliseconds are of processor time, the second read of a file; memory is the process's peak above its start.
A library that is not installed is left out, and that is said.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from node.knowledge.formats.extracted import Bounds

FACTS = ("Payments above 500 EUR need two signatures.", "Rent is exempt", "Treasurer", "900 EUR", "Short.")
NOISE = ("Cookie policy", "var secret", "color:red", "Contact us")
HEADINGS = ("Treasury rules", "Exceptions")
PAGES = 40

HTML = """<html><head><title>Rules</title><style>.a{color:red}</style><script>var secret=1</script></head>
<body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/c">Contact us</a></li></ul></nav><main>
<h1>Treasury rules</h1><p>Payments above 500 EUR need <b>two</b> signatures.</p><h2>Exceptions</h2>
<ul><li>Rent is exempt</li><li>Insurance</li></ul>
<table><tr><th>Role</th><th>Limit</th></tr>
<tr><td>Treasurer</td><td>900 EUR</td></tr></table><p>Short.</p></main>
<footer>Cookie policy</footer></body></html>"""


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF with one line of text on each page; an empty one makes a page without text."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        drawn = f"BT /F1 11 Tf 40 700 Td ({text}) Tj ET".encode("latin-1") if text else b"0 0 m 9 9 l S"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn))
    out, places = bytearray(b"%PDF-1.4\n"), []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (n, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def docx() -> bytes:
    """The same words as ``HTML``, by python-docx."""
    made = importlib.import_module("docx").Document()
    made.add_heading(HEADINGS[0], 1)
    made.add_paragraph(FACTS[0])
    made.add_heading(HEADINGS[1], 2)
    made.add_paragraph(FACTS[1], style="List Bullet")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = FACTS[2], FACTS[3]
    made.add_paragraph(FACTS[4])
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


# --- the libraries: bytes -> text, or text by page --------------------------------------------------


def _pypdfium2(data: bytes) -> list[str]:
    opened = importlib.import_module("pypdfium2").PdfDocument(data)
    return [page.get_textpage().get_text_range() for page in opened]


def _kreuzberg(kind: str) -> Callable[[bytes], list[str]]:
    def read(data: bytes) -> list[str]:
        lib = importlib.import_module("kreuzberg")
        config = lib.ExtractionConfig(output_format="markdown", pages=lib.PageConfig(extract_pages=True))
        found = lib.extract_bytes_sync(data, kind, config=config)
        return [page["content"] for page in found.pages] if found.pages else [found.content]

    return read


def _ours(kind: str) -> Callable[[bytes], list[str]]:
    def read(data: bytes) -> list[str]:
        found = importlib.import_module(f"node.knowledge.formats.{kind}").read(data, Bounds(pages=5_000))
        edges = [*found.pages[1:], len(found.text)] if found.pages else [len(found.text)]
        return [found.text[a:b] for a, b in zip([0, *edges], edges, strict=False)]

    return read


def _selectolax(data: bytes) -> list[str]:
    tree = importlib.import_module("selectolax.lexbor").LexborHTMLParser(data)
    tree.strip_tags(["script", "style", "nav", "footer"])
    return [tree.body.text(separator="\n")]


def _trafilatura(data: bytes) -> list[str]:
    lib = importlib.import_module("trafilatura")
    return [lib.extract(data.decode(), output_format="markdown") or ""]


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
READERS: dict[str, dict[str, Callable[[bytes], list[str]]]] = {
    "html": {
        "resiliparse": _ours("html"),
        "kreuzberg": _kreuzberg("text/html"),
        "selectolax": _selectolax,
        "trafilatura": _trafilatura,
    },
    "pdf": {"pypdfium2": _pypdfium2, "kreuzberg": _kreuzberg("application/pdf")},
    "docx": {"python-docx": _ours("docx"), "kreuzberg": _kreuzberg(_DOCX)},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One library and one file."""

    file: str
    library: str
    facts: str
    noise: int
    headings: str
    pages: str
    chars: int
    cpu_ms: float
    peak_mb: float


def _flat(text: str) -> str:
    return " ".join(text.replace("*", "").replace("\\", "").split())


def measure(name: str, library: str, data: bytes, is_made: bool) -> Row:
    read = READERS[name.rpartition(".")[2]][library]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    read(data)
    begun = time.process_time()
    pages = read(data)
    took = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    text = "\n".join(pages)
    flat, lines = _flat(text), [line.strip() for line in text.splitlines()]
    is_pdf = name.endswith("pdf")
    facts = sum(fact in flat for fact in FACTS) if is_made and not is_pdf else 0
    marked = sum(f"{'#' * n} {one}" in lines for n, one in enumerate(HEADINGS, 1))
    right = sum(f"number {n} " in page for n, page in enumerate(pages, 1)) if is_made and is_pdf else 0
    return Row(
        name,
        library,
        f"{facts}/{len(FACTS)}" if is_made and not is_pdf else "-",
        sum(one in flat for one in NOISE),
        f"{marked}/{len(HEADINGS)}" if is_made and not is_pdf else "-",
        f"{right}/{PAGES}" if is_made and is_pdf else str(len(pages)) if is_pdf else "-",
        len(text),
        round(1000 * took, 1),
        round(peak / 1024, 1),
    )


def _in_child(pipe: Any, *args: Any) -> None:
    try:
        pipe.send(asdict(measure(*args)))
    except Exception as exc:  # noqa: BLE001 - whatever a library raises is its row
        pipe.send({"file": args[0], "library": args[1], "failed": f"{type(exc).__name__}: {exc}"[:120]})


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="paths", nargs="*", default=[], help="folders of further libraries")
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    sys.path[:0] = args.paths
    pages = [f"Rule number {n} says that page {n} is kept." for n in range(1, PAGES + 1)]
    made = {"made.html": HTML.encode(), "made.pdf": pdf_of(pages), "made.docx": docx()}
    found = made | {path.name: path.read_bytes() for path in args.files}
    print("| " + " | ".join(Row.__dataclass_fields__) + " |\n|" + " --- |" * len(Row.__dataclass_fields__))
    context = multiprocessing.get_context("fork")
    for name, data in found.items():
        for library in READERS[name.rpartition(".")[2]]:
            here, there = context.Pipe()
            child = context.Process(target=_in_child, args=(there, name, library, data, name in made))
            child.start()
            row = here.recv() if here.poll(120) else {"failed": "no answer within 120 s"}
            child.kill()
            child.join()
            if "failed" in row:
                print(json.dumps(row))
            else:
                print("| " + " | ".join(str(value) for value in row.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
