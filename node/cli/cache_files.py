"""The commands ``neuroswarm cache export`` and ``import``: stored answers as files, and files as answers."""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from node.cli.desk import Do, desk
from node.cli.files import read_from, write_to
from node.cli.terminal import Progress, complain, tell
from node.core.errors import BadInput
from node.core.settings import Settings

_SAID_MAX = 20
"""Bad lines that are shown one by one; all are counted, and ``--json`` has the first thousand."""
_KEPT_MAX = 1_000
_BATCH_BYTES = 4 * 2**20
_CAR_START_BYTES = 16
_CODES = {"known": "known already", "merged": "merged into what is stored"}


def take_in(args: argparse.Namespace, settings: Settings) -> int:
    """Store the answers of a JSONL file."""
    from node.app.transfer.cache_file import BATCH_LINES_MAX, LINE_BYTES_MAX

    counts: Counter[str] = Counter()
    problems: list[dict[str, Any]] = []
    with read_from(args.file) as (file, total), desk(settings) as do:
        _refuse_car(args.file, file)
        progress = Progress("importing", total)
        try:
            for batch, read in _batches(file, LINE_BYTES_MAX, BATCH_LINES_MAX):
                lines = [[number, base64.b64encode(line).decode()] for number, line in batch]
                for outcome in do("import", {"lines": lines})["outcomes"]:
                    counts[outcome["code"]] += 1
                    if outcome["reason"] and len(problems) < _KEPT_MAX:
                        problems.append({name: value for name, value in outcome.items() if name != "cid"})
                progress.show(read, f"{counts.total()} lines")
        finally:
            progress.end()
    bad = counts["bad"] + counts["refused"] + counts["failed"]
    for problem in [] if args.json else problems[:_SAID_MAX]:
        where = f" ({problem['field']}, limit {problem['limit']})" if problem["limit"] else ""
        complain(f"line {problem['line']}: {problem['reason']}{where}")
    if bad > _SAID_MAX and not args.json:
        complain(f"… and {bad - _SAID_MAX} lines more; --json lists them")
    said = ", ".join(f"{count} {_CODES.get(code, code)}" for code, count in sorted(counts.items()))
    reply = {"lines": counts.total(), "counts": dict(counts), "problems": problems}
    tell(args, reply, [f"{counts.total()} lines: {said or 'nothing to import'}"])
    return 1 if bad else 0


def _batches(file: BinaryIO, line_max: int, lines_max: int) -> Iterator[tuple[list[tuple[int, bytes]], int]]:
    """(numbered lines, bytes read so far), a bounded number of bounded lines at once. Of a line over the
    limit only as much is kept as shows that it is; empty lines are passed over."""
    batch: list[tuple[int, bytes]] = []
    size = read = number = 0
    while line := file.readline(line_max + 2):
        number += 1
        read += len(line)
        while not line.endswith(b"\n") and len(line) > line_max and (more := file.readline(2**16)):
            read += len(more)
            if more.endswith(b"\n"):
                break
        line = line.rstrip(b"\r\n")
        if line.strip():
            batch.append((number, line))
            size += len(line)
        if len(batch) >= lines_max or size >= _BATCH_BYTES:
            yield batch, read
            batch, size = [], 0
    if batch:
        yield batch, read


def _refuse_car(name: str, file: BufferedReader) -> None:
    """Raises ``BadInput`` and ``Rejected`` for what somebody may take for lines, and is none."""
    from node.core.ipld.car import refuse_gzip

    start = file.peek(_CAR_START_BYTES)[:_CAR_START_BYTES]
    refuse_gzip(start, name)
    if b"\xa2eroots" in start or start.startswith(b"\x0a\xa1gversion\x02"):
        raise BadInput(
            f"{name} is a CAR, and import takes lines of JSON; to take its blocks in as public ones type: "
            f"neuroswarm ingest --car {name}",
            field="file",
        )


def export(args: argparse.Namespace, settings: Settings) -> int:
    """Write the live answers as JSONL, or as a CAR."""
    if (args.file is None) == (args.car is None):
        raise BadInput("name one file: cache export FILE.jsonl, or cache export --car FILE.car", field="file")
    if args.car is not None:
        return _export_car(args, settings)
    written = 0
    with desk(settings) as do, write_to(args.file) as file:
        for line in _pages(do, "export", args.scope, "lines"):
            file.write(line.encode() + b"\n")
            written += 1
    out = sys.stderr if args.file == "-" else sys.stdout
    print(json.dumps({"lines": written, "file": args.file}) if args.json else f"{written} lines", file=out)
    return 0


def _export_car(args: argparse.Namespace, settings: Settings) -> int:
    """The blocks wait in a nameless file beside the target: the root, which lists them, comes first."""
    from node.app.transfer.car_file import SCOPES, listing
    from node.core.clock import SystemClock
    from node.core.ipld import car
    from node.core.ipld.cid import Cid

    scope = args.scope or SCOPES[0]
    if scope not in SCOPES:
        raise BadInput(
            f"a CAR holds public answers, or with --scope shared those; never {scope}", field="scope"
        )
    cids: list[Cid] = []
    beside = None if args.car == "-" else Path(args.car).parent
    with desk(settings) as do, write_to(args.car) as file, tempfile.TemporaryFile(dir=beside) as waiting:
        for name, data in _pages(do, "export_car", scope, "blocks", "records"):
            cids.append(Cid.parse(name))
            waiting.write(car.section(cids[-1], base64.b64decode(data)))
        blocks = listing(cids, scope=scope, time=SystemClock().now())
        root = blocks[0][0]
        file.write(car.header([root]))
        for cid, block in blocks:
            file.write(car.section(cid, block))
        waiting.seek(0)
        shutil.copyfileobj(waiting, file)
    out = sys.stderr if args.car == "-" else sys.stdout
    said = {"records": len(cids), "root": str(root), "scope": scope, "file": args.car}
    print(json.dumps(said) if args.json else f"{len(cids)} records, root {root}", file=out)
    if scope != SCOPES[0]:
        print("these are not public: whoever gets the file can read them", file=sys.stderr)
    return 0


def _pages(do: Do, command: str, scope: str | None, member: str, said: str = "lines") -> Iterator[Any]:
    """What the pages of an export hold, one by one."""
    progress = Progress("exporting")
    after: int | None = 0
    done = 0
    try:
        while after is not None:
            page = do(command, {"after": after, "scope": scope})
            yield from page[member]
            done, after = done + len(page[member]), page["after"]
            progress.show(done, f"{done} {said}")
    finally:
        progress.end()
