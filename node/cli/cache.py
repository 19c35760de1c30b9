"""The commands ``neuroswarm cache …``: what an operator does with the cache as a whole.

Each command is two functions here: ``_add_<name>`` declares its arguments, ``_<name>`` runs it. To add one,
write both and name the first in ``_COMMANDS``.

Commands that write go through the node that runs on the data directory, by its local socket; where none runs,
they open the directory themselves, under its lock.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import select
import shutil
import socket
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

from node.cli.http import NOBODY, base, call
from node.core.errors import BadInput, Misconfigured, Rejected, Unavailable
from node.core.settings import Settings

if TYPE_CHECKING:
    from node.app.operator_desk import OperatorDesk

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
ReadSettings: TypeAlias = Callable[[argparse.Namespace], Settings]
Add: TypeAlias = Callable[[Subparsers, Any, ReadSettings], None]
"""(subparsers of ``cache``, parent parsers with --config, --data-dir and --json, reads the settings)."""


# --- stats ----------------------------------------------------------------------------------------


def _add_stats(commands: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    stats = commands.add_parser("stats", parents=parents, help="the cache of a running node in figures")
    stats.add_argument("--url", help="address of the node (default: from the settings)")
    stats.set_defaults(run=lambda args: _stats(args, read_settings(args)))


def _stats(args: argparse.Namespace, settings: Settings) -> int:
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/v1/cache/stats", None, 10)
        text = json.dumps(reply, indent=2) if args.json else _stats_text(reply) if status == 200 else ""
    except (*NOBODY, LookupError, TypeError, AttributeError) as exc:
        print(f"no node answers at {address} ({exc}); start one with: neuroswarm serve", file=sys.stderr)
        return 2
    if status != 200 and not args.json:
        print(f"{reply.get('title')}: {reply.get('detail')}", file=sys.stderr)
        return 1
    print(text)
    return 0 if status == 200 else 1


def _stats_text(reply: dict[str, Any]) -> str:
    gate, audits, answers = reply["gate"], reply["audits"], reply["answers"]
    rows = [
        ("entries", f"{reply['entries']} live, {reply['vectors']} with a vector, {reply['bytes']} bytes"),
        ("evicted", f"{reply['evicted']} since the start"),
        ("answers", f"{answers['from_cache']} from the cache, {answers['made']} made since the start"),
        ("saved", "not known yet" if reply["saved_s"] is None else f"about {reply['saved_s']:.1f} s"),
    ]
    rows += [(f"hits, {one['tier']}", f"{one['count']} {one['kind']}") for one in reply["hits"]]
    rows.append(("gate", f"let {gate['let_through']} of {gate['lookups']} look-ups through"))
    if reply["shadow"]:
        rows.append(("shadow mode", f"{gate['would_be_hits']} hits kept back"))
    rows.append(("wrong hits", _share_text(reply["wrong_hits"])))
    rows += [(f"  {one['kind']}, {one['tier']}", _share_text(one)) for one in reply["wrong_hits_by_route"]]
    rows.append(("feedback", f"{reply['feedback']['right']} valid, {reply['feedback']['wrong']} invalid"))
    rows.append(
        (
            "audits",
            f"{audits['done']} done, {audits['undecided']} of them undecided, "
            f"{audits['skipped']} passed over, {audits['left_this_hour']} left this hour",
        )
    )
    labels = ", ".join(f"{one['count']} {one['source']} {one['verdict']}" for one in reply["labels"])
    rows.append(("labels", labels or "none"))
    rows.append(("tightened", f"{reply['records_tightened']} records"))
    return "\n".join(f"{name:<24} {text}" for name, text in rows)


def _share_text(one: dict[str, Any]) -> str:
    if one["wrong_share"] is None:
        return f"none checked and decided ({one['undecided']} undecided)"
    return (
        f"{one['wrong_share']:.2%} ({one['low']:.2%} to {one['high']:.2%}, at most {one['upper']:.2%}) of "
        f"{one['right'] + one['wrong']} checked, {one['undecided']} undecided"
    )


# --- replay ---------------------------------------------------------------------------------------


def _add_replay(commands: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    replay = commands.add_parser(
        "replay",
        parents=parents,
        help="what the cache would have saved and got wrong on your own traffic; nothing is kept or sent",
    )
    replay.add_argument("file", help='JSONL: {"query", "answer"?, "class"? or "id"?, "time"?} on each line')
    replay.add_argument("--limit", type=int, default=20_000, help="lines at most (default: %(default)s)")
    replay.set_defaults(run=lambda args: _replay(args, read_settings(args)))


def _replay(args: argparse.Namespace, settings: Settings) -> int:
    from node.app.node import throwaway
    from node.pipeline.replay import LIMIT_MAX, Replay, ReplayClock, Report, as_json, as_text

    if not 1 <= args.limit <= LIMIT_MAX:
        raise BadInput(f"--limit must lie between 1 and {LIMIT_MAX}", field="limit")
    path = Path(args.file)
    if not path.is_file():
        raise BadInput(f"there is no file {path}", field="file")

    def show(done: int) -> None:
        print(f"\r{done} questions", end="", file=sys.stderr, flush=True)

    async def run() -> Report:
        clock = ReplayClock()
        async with throwaway(settings, clock) as node:
            if sys.stderr.isatty():
                return await Replay(node.service, clock).run(path, limit=args.limit, show=show)
            return await Replay(node.service, clock).run(path, limit=args.limit)

    report = asyncio.run(run())
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(json.dumps(as_json(report), indent=2, ensure_ascii=False) if args.json else as_text(report))
    return 0 if report.ours.lookups else 1


# --- export, import, invalidate -------------------------------------------------------------------


class Do(Protocol):
    """The operator's desk, wherever it is. Raises errors of ``node.core.errors``."""

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """One command and what it is asked -> the reply."""
        ...

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        """One command that takes the bytes of a file, however many -> the reply."""
        ...


_SAID_MAX = 20
"""Bad lines that are shown one by one; all are counted, and ``--json`` has the first thousand."""
_KEPT_MAX = 1_000
_BATCH_BYTES = 4 * 2**20
_NODE_TIMEOUT_S = 600.0
_REPLY_BYTES_MAX = 256 * 2**20
_CAR_START_BYTES = 16
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


class _OverSocket:
    """The desk of a running node. One connection for each call: a restart in between is survived."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def answers(self) -> bool:
        from node.api import local

        connection = local.connect(self._data_dir, _NODE_TIMEOUT_S)
        if connection is None:
            return False
        connection.close()
        return True

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self._call(
            lambda http: http.request(
                "POST", f"/{what}", json.dumps(asked), {"Content-Type": "application/json"}
            )
        )

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        def send(http: HTTPConnection) -> None:
            # What is refused is answered before its end: the node then reads no more of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                http.request("POST", f"/stream/{what}", _until_answered(http.sock, chunks))

        return self._call(send)

    def _call(self, send: Callable[[HTTPConnection], None]) -> dict[str, Any]:
        from node.api import local

        connection = local.connect(self._data_dir, _NODE_TIMEOUT_S)
        if connection is None:
            raise Unavailable("the node that ran on this data directory has gone; run the command again")
        http = HTTPConnection("localhost", timeout=_NODE_TIMEOUT_S)
        http.sock = connection
        try:
            send(http)
            with http.getresponse() as response:
                reply = json.loads(response.read(_REPLY_BYTES_MAX))
                if response.status != 200:
                    raise Rejected(str(reply.get("detail", "the node refused")))
        except (OSError, HTTPException, ValueError, AttributeError) as exc:
            raise Unavailable(f"the node that runs on this data directory did not answer: {exc}") from exc
        finally:
            http.close()
        if not isinstance(reply, dict):
            raise Unavailable("what listens in this data directory is no node")
        return reply


def _until_answered(connection: socket.socket, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if select.select([connection], [], [], 0)[0]:
            return
        yield chunk


class _Here:
    """The desk in this process, for as long as it holds the data directory."""

    def __init__(self, runner: asyncio.Runner, desk: OperatorDesk) -> None:
        self._runner = runner
        self._desk = desk

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self._runner.run(self._desk.do(what, asked))

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        async def read() -> AsyncIterator[bytes]:
            while chunk := await asyncio.to_thread(next, chunks, b""):
                yield chunk

        return self._runner.run(self._desk.stream(what, read()))


@contextmanager
def desk(settings: Settings) -> Iterator[Do]:
    """Whoever holds the data directory: the node that runs on it, else this process for as long as the
    context lasts. Raises ``Misconfigured`` where a node holds it that cannot be reached."""
    over_socket = _OverSocket(Path(settings.data_dir))
    trouble = ""
    try:
        is_running = over_socket.answers()
    except Unavailable as exc:
        is_running, trouble = False, f"; {exc}"
    if is_running:
        yield over_socket
        return
    from node.app.operator import opened

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            its = runner.run(stack.enter_async_context(opened(settings)))
        except Misconfigured as exc:
            raise Misconfigured(f"{exc}{trouble}") from exc
        try:
            yield _Here(runner, its)
        finally:
            runner.run(stack.aclose())


class Progress:
    """One line on a terminal that is written over; nothing elsewhere."""

    def __init__(self, verb: str, total: int | None) -> None:
        self._verb, self._total = verb, total
        self._is_shown = sys.stderr.isatty()

    def show(self, done: int, said: str) -> None:
        if not self._is_shown:
            return
        bar = ""
        if self._total:
            filled = min(30, 30 * done // self._total)
            bar = f"[{'#' * filled}{'.' * (30 - filled)}] {min(100, 100 * done // self._total):3} % "
        print(f"\r{self._verb} {bar}{said:<40}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_shown:
            print(file=sys.stderr)


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


def _add_import(what: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    parser = what.add_parser("import", parents=parents, help="store the answers of a JSONL file")
    parser.add_argument("file", help="one JSON object a line; - for standard input")
    parser.set_defaults(run=lambda args: _import(args, read_settings(args)))


def _import(args: argparse.Namespace, settings: Settings) -> int:
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
    if args.json:
        print(json.dumps({"lines": counts.total(), "counts": dict(counts), "problems": problems}, indent=2))
        return 1 if bad else 0
    for problem in problems[:_SAID_MAX]:
        where = f" ({problem['field']}, limit {problem['limit']})" if problem["limit"] else ""
        print(f"line {problem['line']}: {problem['reason']}{where}", file=sys.stderr)
    if bad > _SAID_MAX:
        print(f"… and {bad - _SAID_MAX} lines more; --json lists them", file=sys.stderr)
    said = ", ".join(f"{count} {_CODES.get(code, code)}" for code, count in sorted(counts.items()))
    print(f"{counts.total()} lines: {said or 'nothing to import'}")
    return 1 if bad else 0


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


_CODES = {
    "stored": "stored",
    "known": "known already",
    "merged": "merged into what is stored",
    "expired": "expired",
    "bad": "bad",
    "refused": "refused",
    "failed": "failed",
}


@contextmanager
def read_from(name: str) -> Iterator[tuple[BufferedReader, int | None]]:
    """A file to read, or standard input for ``-``, and its length where it has one. Raises ``BadInput``."""
    if name == "-":
        assert isinstance(sys.stdin.buffer, BufferedReader)
        yield sys.stdin.buffer, None
        return
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as exc:
        raise BadInput(f"cannot read {name}: {exc.strerror}") from exc
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"cannot read {name}: it is a directory", field="file")
    with os.fdopen(descriptor, "rb") as file:
        yield file, os.fstat(descriptor).st_size or None


def _add_export(what: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    parser = what.add_parser("export", parents=parents, help="write the live answers as JSONL, or as a CAR")
    parser.add_argument("file", nargs="?", help="where to, as JSONL; - for standard output")
    parser.add_argument(
        "--car",
        metavar="FILE",
        help="instead: the signed records themselves, as a CAR for any IPFS client (default: public ones)",
    )
    parser.add_argument(
        "--scope",
        help="shared, public, private:<tenant>, all (default: what is not private); with --car public or "
        "shared",
    )
    parser.set_defaults(run=lambda args: _export(args, read_settings(args)))


def _export(args: argparse.Namespace, settings: Settings) -> int:
    if (args.file is None) == (args.car is None):
        raise BadInput("name one file: cache export FILE.jsonl, or cache export --car FILE.car", field="file")
    if args.car is not None:
        return _export_car(args, settings)
    written = 0
    with desk(settings) as do, write_to(args.file) as file:
        progress = Progress("exporting", None)
        after: int | None = 0
        try:
            while after is not None:
                page = do("export", {"after": after, "scope": args.scope})
                for line in page["lines"]:
                    file.write(line.encode() + b"\n")
                    written += 1
                after = page["after"]
                progress.show(written, f"{written} lines")
        finally:
            progress.end()
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
        progress = Progress("exporting", None)
        after: int | None = 0
        try:
            while after is not None:
                page = do("export_car", {"after": after, "scope": scope})
                for name, data in page["blocks"]:
                    cids.append(Cid.parse(name))
                    waiting.write(car.section(cids[-1], base64.b64decode(data)))
                after = page["after"]
                progress.show(len(cids), f"{len(cids)} records")
        finally:
            progress.end()
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


@contextmanager
def write_to(name: str) -> Iterator[BinaryIO]:
    """The file appears whole or not at all, readable by its owner only: answers may be confidential."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    if not target.name or target.is_dir():
        raise BadInput(f"cannot write {name!r}: it is a directory", field="file")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise Unavailable(f"cannot write {name}: {exc.strerror}") from exc


def _add_invalidate(what: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    parser = what.add_parser(
        "invalidate",
        parents=parents,
        help="withdraw answers for good: those that fit every option given",
    )
    parser.add_argument("--cid", help="the record itself")
    parser.add_argument("--query", help="its question, exactly")
    parser.add_argument("--like", action="store_true", help="with --query: other wordings of it too")
    parser.add_argument("--source", help="kind of source (adapter, llm, client …) or its id (coingecko …)")
    parser.add_argument("--older-than", type=_duration, metavar="TIME", help="e.g. 90m, 12h, 30d")
    parser.add_argument("--tag")
    parser.add_argument("--scope", help="shared, public or private:<tenant>")
    parser.add_argument("--dry-run", action="store_true", help="count and show, change nothing")
    parser.set_defaults(run=lambda args: _invalidate(args, read_settings(args)))


def _duration(text: str) -> int:
    """Seconds of ``90m``, ``12h``, ``30d``, ``2w``, ``45s`` or a plain number."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90m, 12h or 30d")
    return int(number) * _UNITS[unit]


def _invalidate(args: argparse.Namespace, settings: Settings) -> int:
    asked = {
        "cid": args.cid,
        "query": args.query,
        "like": args.like,
        "source": args.source,
        "older_than_s": args.older_than,
        "tag": args.tag,
        "scope": args.scope,
        "dry_run": args.dry_run,
    }
    withdrawn, matched = 0, 0
    cids: list[str] = []
    with desk(settings) as do:
        progress: Progress | None = None
        while True:
            done = do("invalidate", asked)
            if progress is None:
                matched, cids = done["matched"], done["cids"]
                progress = Progress("invalidating", matched)
            withdrawn += done["withdrawn"]
            progress.show(withdrawn, f"{withdrawn} of {matched}")
            if args.dry_run or not done["withdrawn"] or done["withdrawn"] == done["matched"]:
                break
        progress.end()
    if args.json:
        print(json.dumps({"matched": matched, "withdrawn": withdrawn, "cids": cids}, indent=2))
    elif args.dry_run:
        print("\n".join((*cids, f"{matched} answers fit; nothing was changed")))
    else:
        print(f"{withdrawn} answers withdrawn for good")
    return 0


# --- erase ----------------------------------------------------------------------------------------


def _add_erase(what: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    parser = what.add_parser(
        "erase", parents=parents, help="destroy an answer: its blocks, keys and what the log committed to"
    )
    parser.add_argument("cid", nargs="?", help="the record, or an imported block")
    parser.add_argument("--query", help="instead: every answer to this question, in whatever scope")
    parser.add_argument("--dry-run", action="store_true", help="show what would be erased, change nothing")
    parser.set_defaults(run=lambda args: _erase(args, read_settings(args)))


def _erase(args: argparse.Namespace, settings: Settings) -> int:
    named = {"cid": args.cid, "query": args.query}
    asked = {name: value for name, value in named.items() if value is not None}
    if len(asked) != 1:
        raise BadInput("name one: cache erase CID, or cache erase --query TEXT", field="cid")
    asked["dry_run"] = args.dry_run
    erased: list[dict[str, Any]] = []
    with desk(settings) as do:
        progress = Progress("erasing", None)
        try:
            while True:
                done = do("erase", asked)
                erased += done["erased"]
                progress.show(len(erased), f"{len(erased)} erased")
                if args.dry_run or not done["more"]:
                    break
        finally:
            progress.end()
    out_of_reach = _out_of_reach(erased, settings)
    if args.json:
        report = {"erased": erased, "dry_run": args.dry_run, "more": done["more"]}
        print(json.dumps({**report, "out_of_reach": out_of_reach}, indent=2))
    elif args.dry_run:
        more = " and more" if done["more"] else ""
        print("\n".join((*(one["cid"] for one in erased), f"{len(erased)}{more} fit; nothing was changed")))
    elif not erased:
        print("no answer to that question is here")
    else:
        print("\n".join((*map(_erased_text, erased), *out_of_reach)))
    return 0 if erased else 1


def _erased_text(one: dict[str, Any]) -> str:
    if not one["scope"]:
        return f"erased {one['cid']}: an imported block"
    place = one["decision"]
    logged = "not logged; see: neuroswarm doctor" if place is None else f"decision #{place['index']}"
    return f"erased {one['cid']} ({one['scope']}): tombstone {one['tombstone']}, {logged}"


def _out_of_reach(erased: list[dict[str, Any]], settings: Settings) -> list[str]:
    """What erasing here does not reach, in words."""
    scopes = {one["scope"] for one in erased}
    if not scopes:
        return []
    said: list[str] = []
    if scopes - {""}:
        said.append(
            "gone here: blocks, earlier versions, merged wordings, verdicts and the log's commitment keys; "
            "the log's leaves stay and say nothing of it"
        )
    if "" in scopes:
        said.append("not recalled: an imported block that others have, and can import again")
    if "public" in scopes:
        said.append(
            "not recalled: copies that were fetched while it was public; whoever has one learns of its end "
            "by the tombstone"
        )
    if settings.ipfs.kubo_url:
        said.append("the IPFS daemon is told to drop its copy as soon as node and daemon run")
    said.append("not reached: backups, exported files, snapshots of the file system")
    return said


_COMMANDS: tuple[Add, ...] = (
    _add_export,
    _add_import,
    _add_invalidate,
    _add_erase,
    _add_stats,
    _add_replay,
)


def register(commands: Subparsers, parents: Any, read_settings: ReadSettings) -> None:
    """Declare ``cache`` and its commands. Each sets ``run``: (arguments) -> exit status."""
    cache = commands.add_parser(
        "cache", help="export, import, invalidate, erase, look at the cache as a whole"
    )
    what = cache.add_subparsers(dest="what", required=True)
    for add in _COMMANDS:
        add(what, parents, read_settings)
