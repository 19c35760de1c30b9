"""Command line: give the entries of ``knowledge-index.json`` the embeddings that they lack.

Arguments in, a report out; ``node.app.transfer.embed_index`` does the work.
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
from typing import Any

from node.app.transfer.embed_index import BATCH_MAX, EmbedReport, Progress, embed_index, next_step
from node.core import settings
from node.core.clock import Clock, SystemClock
from node.core.errors import NodeError

_BAR_CHARS = 30
_DESCRIPTION = """\
Embed index entries without embeddings. Safe to interrupt, to kill and to repeat: what was embedded is kept,
and a second run on a finished file changes nothing.

An entry with a vector of another model than the one that is used now gets a new one, for vectors of two
models cannot be compared; so after a change of engine or model run this again. With --only-missing vectors of
other models stay. Entries that cannot be used are named and left as they are. The engine is that of the
settings (embed.engine, embed.model) unless named here; addresses, keys and files come from the settings."""


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog, description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--index", type=Path, help="the index file (default: the setting index_file)")
    add("--engine", choices=("local", "ollama", "llama_cpp", "openai"), help="the embedding engine")
    add("--model", help="the engine's name for its model; for llama_cpp the path of a GGUF file")
    add("--batch", type=_batch, default=16, help="texts given to the engine at once (default 16)")
    add("--limit", type=_positive, help="embed at most this many entries")
    add("--only-missing", action="store_true", help="leave vectors of other models as they are")
    add("--dry-run", action="store_true", help="report what is missing and change nothing")
    add("--json", action="store_true", help="print the report as JSON")
    add("--config", help="settings file (default: neuroswarm.toml here, if there is one)")
    add("--data-dir", help="the node's data directory (default: data)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _batch(text: str) -> int:
    number = _positive(text)
    if number > BATCH_MAX:
        raise argparse.ArgumentTypeError(f"must be at most {BATCH_MAX}")
    return number


def _settings(args: argparse.Namespace) -> settings.Settings:
    """Defaults, file, environment, flags: in this order."""
    file = Path(args.config) if args.config else None
    if file is None and Path("neuroswarm.toml").is_file():
        file = Path("neuroswarm.toml")
    embed: dict[str, Any] = {}
    if args.engine:
        # A model belongs to its engine: the one of the settings means nothing to another.
        embed = {"engine": args.engine}
        if settings.load(os.environ, file=file).embed.engine != args.engine:
            embed["model"] = ""
    flags: dict[str, Any] = {"embed": embed}
    if args.data_dir:
        flags["data_dir"] = args.data_dir
    chosen = settings.load(os.environ, file=file, flags=flags)
    if args.model:
        name = "gguf_path" if chosen.embed.engine == "llama_cpp" else "model"
        flags["embed"] = {**embed, name: args.model}
        chosen = settings.load(os.environ, file=file, flags=flags)
    return chosen


class _Bar:
    """Progress on a terminal: how many, how fast, how long still."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._first: int | None = None
        self._is_open = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock.monotonic()
        if self._first is None:
            self._first = max(0, done - 1)  # what an earlier run left costs no time now
        seconds = now - self._started
        rate = (done - self._first) / seconds if seconds > 0 else 0.0
        filled = _BAR_CHARS * done // max(1, total)
        line = f"[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {done}/{total}"
        if rate > 0:
            line += f"  {rate:.1f}/s"
            if done < total:
                line += f"  {_span((total - done) / rate)} left"
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        self._is_open = True

    def end(self) -> None:
        if self._is_open:
            print(file=sys.stderr)
            self._is_open = False


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{rest:02}"


async def _run(
    args: argparse.Namespace, chosen: settings.Settings, index: Path, progress: Progress | None
) -> EmbedReport:
    # Imported here, so that --help and a wrong argument need no engine.
    from node.models.embedders import factory

    clock = SystemClock()
    embedder = await factory.load(chosen, clock)
    try:
        return await embed_index(
            index,
            embedder,
            batch=args.batch,
            limit=args.limit,
            dry_run=args.dry_run,
            only_missing=args.only_missing,
            progress=progress,
            clock=clock,
        )
    finally:
        await embedder.close()


def _show(report: EmbedReport, index: Path, *, dry_run: bool, only_missing: bool) -> None:
    rate = f", {report.embedded / report.seconds:.0f}/s" if report.embedded and report.seconds > 0 else ""
    print(f"{index}: {report.total} entries, {report.already} already embedded by {report.model}")
    if report.others:
        fate = "left as they are" if only_missing else "to be replaced" if dry_run else "replaced first"
        print(f"{report.others} had a vector of another model: {fate}")
    if dry_run:
        print(f"{report.pending} would be embedded; nothing was changed")
    else:
        resumed = f", {report.resumed} of them kept from an interrupted run" if report.resumed else ""
        print(f"{report.embedded} embedded in {report.seconds:.1f} s{rate}{resumed}")
        if report.pending:
            print(f"{report.pending} are still without an embedding of this model: run again without --limit")
    if report.too_long:
        print(f"{report.too_long} are longer than the embedder's window: found by exact match only")
    if report.failed:
        print(f"{report.failed} the engine could not embed: found by exact match only, tried again next time")
    if report.without_text:
        print(f"{report.without_text} have a hash but no query text: found by exact match only")
    if report.rejected:
        print(f"{report.rejected} cannot be used and were left as they are:")
    for problem in report.problems:
        print(f"  {problem}")


def main(argv: Sequence[str] | None = None, *, prog: str = "batch_embed.py") -> int:
    """Exit codes: 0 done, 1 something failed (said on standard error), 2 wrong arguments, 130 interrupted."""
    args = _parser(prog).parse_args(argv)
    bar = _Bar(SystemClock()) if sys.stderr.isatty() else None
    try:
        chosen = _settings(args)
        index = args.index or Path(chosen.index_file)
        report = asyncio.run(_run(args, chosen, index, bar))
    except NodeError as exc:
        if bar is not None:
            bar.end()
        print(f"{prog}: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if bar is not None:
            bar.end()
        print(f"{prog}: interrupted; run again to go on from here", file=sys.stderr)
        return 130
    if bar is not None:
        bar.end()
    advice = next_step(index, chosen) if report.embedded else ""
    if args.json:
        print(json.dumps({"index": str(index), **asdict(report), "next": advice}, ensure_ascii=False))
        return 0
    _show(report, index, dry_run=args.dry_run, only_missing=args.only_missing)
    if advice:
        print(advice)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
