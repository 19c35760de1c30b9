"""The command ``neuroswarm teach``: answers that a person knows, given to a running node over HTTP.

One question and answer, or a file of them: CSV (columns ``question`` and ``answer``, or just two columns) or
JSON (a list of ``{"question", "answer"}`` or ``[question, answer]``, or an object of answers by question).
Good rows are stored one after the other; each bad one is named with its line and field, the rest goes on.
Where another answer stands, a row is not stored without ``--replace``; a file that contradicts itself, never.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from node.cli.http import NOBODY, base, call
from node.cli.terminal import complain, tell
from node.core.errors import BadInput, Unavailable
from node.core.model import Client
from node.core.normalise import normalise
from node.core.settings import Settings

FILE_BYTES_MAX = 16 * 2**20
ROWS_MAX = 10_000
TEXT_CHARS_MAX = 32_768
KEPT_S = 10 * 365 * 86_400
"""What a person says of his own stays until he says otherwise; the longest that a node takes."""
_CALL_TIMEOUT_S = 30.0
_SAID_MAX = 50
_SHOWN_CHARS = 120
CONFLICT = 409
_NAMES = {"question": "question", "query": "question", "q": "question", "answer": "answer", "a": "answer"}
_SUFFIXES = (".csv", ".tsv", ".txt", ".json")


@dataclass(frozen=True, slots=True)
class Row:
    """One question with its answer, from line ``line`` of a file (0: from the command line)."""

    line: int
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that was not stored: ``field`` is question, answer or row. ``standing``: the CID of another
    answer that stands there."""

    line: int
    field: str
    reason: str
    standing: str | None = None


def teach(args: argparse.Namespace, settings: Settings) -> int:
    """Store the rows, one after the other."""
    if args.file is not None and args.question is None:
        rows = read(Path(args.file))
    elif args.file is None and args.answer is not None:
        rows = iter([_checked(0, args.question, args.answer)])
    else:
        raise BadInput('type: neuroswarm teach "question" "answer", or: neuroswarm teach --file facts.csv')
    address = base(args, settings)
    stored: list[dict[str, Any]] = []
    bad: list[Bad] = []
    lines: dict[str, Row] = {}
    for row in rows:
        done = row if isinstance(row, Bad) else _twice(row, lines) or _store(address, row, args.replace)
        if isinstance(done, Bad):
            bad.append(done)
            if not args.json and len(bad) <= _SAID_MAX:
                complain(f"{f'line {done.line}: ' if done.line else ''}{done.field}: {done.reason}")
        else:
            stored.append(done)
    said = f"{len(stored)} answers from {args.file} are stored{f', {len(bad)} were not' if bad else ''}"
    if args.file is None and stored:
        said = f"I will remember that. record {stored[0]['cid']}"
    if args.json or args.file is not None or stored:
        tell(args, {"stored": stored, "bad": [_told(one) for one in bad]}, [said], is_ascii=False)
    return 1 if bad or not stored else 0


def _told(bad: Bad) -> dict[str, Any]:
    return {name: value for name, value in asdict(bad).items() if value is not None}


def _twice(row: Row, before: dict[str, Row]) -> Bad | None:
    """A row that contradicts an earlier one of the same file, which no ``--replace`` is meant for."""
    first = before.setdefault(normalise(row.question), row)
    if normalise(first.answer) == normalise(row.answer):
        return None
    return Bad(row.line, "answer", f"line {first.line} of this file gives another answer to this question")


def _store(address: str, row: Row, replace: bool) -> dict[str, Any] | Bad:
    """Raises ``Unavailable`` where no node answers: then no further row can be stored."""
    body = {"query": row.question, "answer": row.answer, "ttl_s": KEPT_S} | (
        {"replace": True} if replace else {}
    )
    try:
        status, reply = call(f"{address}/v1/cache/entries", body, _CALL_TIMEOUT_S)
    except NOBODY as exc:
        raise Unavailable(f"no node answers at {address}; start one with: neuroswarm serve") from exc
    if status == 201:
        return {"line": row.line, "question": row.question, "cid": reply.get("cid")}
    if status == CONFLICT and isinstance(there := reply.get("standing"), dict):
        return Bad(row.line, "answer", _stands(row, there), str(there.get("cid")))
    field = _NAMES.get(str(reply.get("field", "")), "row")
    return Bad(row.line, field, str(reply.get("detail") or reply.get("title") or f"status {status}"))


def _stands(row: Row, there: Mapping[str, Any]) -> str:
    """What is said of a row where another answer stands."""
    who = Client(str(there.get("by")), there.get("claim")).told
    asked = there.get("query")
    other = "" if asked == normalise(row.question) else f" to {_short(asked)}"
    said = f"another answer stands{other}: {_short(there.get('answer'))}, stored by {who}"
    return f"{said} at {there.get('timestamp')}; --replace puts yours in its place"


def _short(text: object) -> str:
    line = " ".join(str(text).split())
    return f'"{line}"' if len(line) <= _SHOWN_CHARS else f'"{line[:_SHOWN_CHARS]}…"'


# --- files ----------------------------------------------------------------------------------------


def read(path: Path) -> Iterator[Row | Bad]:
    """The rows of a file in order, at most ``ROWS_MAX``. Raises ``BadInput`` for a file that is none."""
    if path.suffix.lower() not in _SUFFIXES:
        raise BadInput(f"{path} is neither a .csv nor a .json file", field="file")
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as exc:
        raise BadInput(f"{path} cannot be read: {exc.strerror or exc}", field="file") from exc
    if len(data) > FILE_BYTES_MAX:
        raise BadInput(f"{path} is larger than {FILE_BYTES_MAX // 2**20} MiB", field="file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadInput(f"{path} is not UTF-8 (line {line}): save it as UTF-8", field="file") from exc
    return _bounded(_json(text) if path.suffix.lower() == ".json" else _csv(text))


def _bounded(rows: Iterator[Row | Bad]) -> Iterator[Row | Bad]:
    for count, row in enumerate(rows):
        if count == ROWS_MAX:
            yield Bad(row.line, "row", f"a file may hold {ROWS_MAX} rows; what follows was not read")
            return
        yield row


def _csv(text: str) -> Iterator[Row | Bad]:
    first = text.partition("\n")[0]
    mark = max("\t;,", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)
    places: dict[str, int] | None = None
    line = 1
    try:
        for cells in rows:
            start, line = line, rows.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if places is None:
                names = [_NAMES.get(cell.strip().lower()) for cell in cells]
                is_header = "question" in names and "answer" in names
                places = (
                    {name: names.index(name) for name in ("question", "answer")}
                    if is_header
                    else {"question": 0, "answer": 1}
                )
                if is_header:
                    continue
                if len(cells) != 2:
                    raise BadInput("the first line must name the columns: question,answer", field="file")
            yield _checked(start, *(_cell(cells, places[name]) for name in ("question", "answer")))
    except csv.Error as exc:
        yield Bad(line, "row", f"it cannot be read ({exc}); what follows was not read")


def _cell(cells: list[str], place: int) -> str | None:
    return cells[place] if place < len(cells) else None


def _json(text: str) -> Iterator[Row | Bad]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as exc:
        line = getattr(exc, "lineno", 0)
        raise BadInput(f"the file is not JSON: line {line}: {exc}", field="file") from exc
    if isinstance(whole, dict):
        whole = list(whole.items())
    if not isinstance(whole, list):
        raise BadInput("the file holds no list of questions and answers", field="file")
    lines = _lines(text) if text.lstrip().startswith("[") else iter(())
    for number, item in enumerate(whole, start=1):
        line = next(lines, number)
        if isinstance(item, dict):
            named = {_NAMES.get(str(name).lower(), ""): value for name, value in item.items()}
            yield _checked(line, named.get("question"), named.get("answer"))
        elif isinstance(item, list | tuple) and len(item) == 2:
            yield _checked(line, *item)
        else:
            yield Bad(line, "row", "it is neither {question, answer} nor [question, answer]")


def _lines(text: str) -> Iterator[int]:
    """The lines on which the items of a list begin; the text is known to be JSON."""
    decoder = json.JSONDecoder()
    at, line, counted = text.index("[") + 1, 1, 0
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        line += text.count("\n", counted, at)
        counted = at
        yield line
        _, at = decoder.raw_decode(text, at)


def _checked(line: int, question: object, answer: object) -> Row | Bad:
    for field, value in (("question", question), ("answer", answer)):
        if not isinstance(value, str) or not value.strip():
            return Bad(line, field, "it is missing" if value in (None, "") else "it is no text")
        if len(value) > TEXT_CHARS_MAX:
            return Bad(line, field, f"it is longer than {TEXT_CHARS_MAX} characters")
    return Row(line, str(question).strip(), str(answer).strip())
