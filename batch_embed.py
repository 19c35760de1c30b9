"""Command line: give the entries of ``knowledge-index.json`` the embeddings that they lack.

Arguments in, a report out; ``node.jobs.embed`` does the work.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from node import settings
from node.clock import SystemClock
from node.errors import NodeError
from node.jobs.embed import EmbedReport, Progress, embed_index

_BAR_CHARS = 30


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="batch_embed.py",
        description="Embed index entries without embeddings. Safe to interrupt and to repeat.",
    )
    parser.add_argument("--index", type=Path, default=Path("knowledge-index.json"), help="the index file")
    parser.add_argument("--limit", type=_positive, help="embed at most this many entries")
    parser.add_argument("--dry-run", action="store_true", help="report what is missing and change nothing")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _bar(done: int, total: int) -> None:
    filled = _BAR_CHARS * done // total
    line = f"\r[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {done}/{total}"
    print(line, end="\n" if done == total else "", file=sys.stderr, flush=True)


async def _run(index: Path, limit: int | None, dry_run: bool, progress: Progress | None) -> EmbedReport:
    # Imported here, so that --help and a wrong argument need no engine.
    from node.embed.local import LocalEmbedder

    clock = SystemClock()
    embedder = await LocalEmbedder.load(settings.load(os.environ).embed, clock)
    try:
        return await embed_index(
            index, embedder, limit=limit, dry_run=dry_run, progress=progress, clock=clock
        )
    finally:
        await embedder.close()


def _show(report: EmbedReport, index: Path, *, dry_run: bool) -> None:
    rate = f", {report.embedded / report.seconds:.0f}/s" if report.embedded and report.seconds > 0 else ""
    print(f"{index}: {report.total} entries, {report.already} already embedded")
    if dry_run:
        print(f"{report.pending} would be embedded; nothing was changed")
    else:
        resumed = f", {report.resumed} of them kept from an interrupted run" if report.resumed else ""
        print(f"{report.embedded} embedded in {report.seconds:.1f} s{rate}{resumed}")
        if report.pending:
            print(f"{report.pending} are still without an embedding: run again without --limit")
    if report.too_long:
        print(f"{report.too_long} are longer than the embedder's window: found by exact match only")
    if report.without_text:
        print(f"{report.without_text} have a hash but no query text: found by exact match only")
    if report.rejected:
        print(f"{report.rejected} cannot be used and were left as they are:")
    for problem in report.problems:
        print(f"  {problem}")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 something failed (said on standard error), 2 wrong arguments, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    progress = _bar if sys.stderr.isatty() else None
    try:
        report = asyncio.run(_run(arguments.index, arguments.limit, arguments.dry_run, progress))
    except NodeError as exc:
        print(f"batch_embed.py: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("batch_embed.py: interrupted; run again to go on from here", file=sys.stderr)
        return 130
    if arguments.json:
        print(json.dumps(asdict(report), ensure_ascii=False))
    else:
        _show(report, arguments.index, dry_run=arguments.dry_run)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
