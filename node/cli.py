"""The commands of ``neuroswarm``: arguments in, text out, no rule of their own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from node import __version__, cli_cache, cli_explain, cli_ingest, cli_keys, cli_log, cli_peers
from node.cli_call import NOBODY, base, call
from node.errors import NodeError
from node.settings import Settings, load

_MARK = {"pass": "ok  ", "warn": "warn", "fail": "FAIL"}


def _settings(args: argparse.Namespace) -> Settings:
    """Defaults, file, environment, flags: in this order."""
    file = Path(args.config) if args.config else None
    if file is None and Path("neuroswarm.toml").is_file():
        file = Path("neuroswarm.toml")
    flags: dict[str, Any] = {}
    if getattr(args, "data_dir", None):
        flags["data_dir"] = args.data_dir
    listen = {name: value for name in ("host", "port") if (value := getattr(args, name, None)) is not None}
    if listen:
        flags["server"] = listen
    return load(os.environ, file=file, flags=flags)


# --- commands -------------------------------------------------------------------------------------


def _serve(args: argparse.Namespace) -> int:
    settings = _settings(args)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(asctime)s level=%(levelname)s logger=%(name)s %(message)s",
        stream=sys.stderr,
    )
    for noisy in ("apscheduler", "httpx", "urllib3", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)

    async def serve() -> None:
        from node.app import running

        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        starting = asyncio.current_task()

        def told() -> None:
            if starting is not None and not stop.is_set():
                starting.cancel()  # a start may take minutes, importing a large index
            stop.set()

        for name in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(name, told)
        async with running(settings) as node:
            starting = None
            for check in node.checks:
                if check.status != "pass":
                    print(f"{_MARK[check.status]} {check.name}: {check.output}", file=sys.stderr)
            print(f"listening on {node.url}", flush=True)
            await stop.wait()
            print("stopping: finishing what is under way", file=sys.stderr, flush=True)

    try:
        asyncio.run(serve())
    except asyncio.CancelledError:
        print("stopped before it was ready", file=sys.stderr)
    return 0


def _ask(args: argparse.Namespace) -> int:
    settings = _settings(args)
    body: dict[str, Any] = {"query": " ".join(args.question), "verbose": args.verbose}
    if args.session:
        body["session_id"] = args.session
    if args.no_cache:
        body["no_cache"] = True
    address = base(args, settings)
    try:
        status, reply = call(f"{address}/chat", body, settings.server.request_timeout_s + 5)
    except NOBODY as exc:
        print(f"no node answers at {address} ({exc}); start one with: neuroswarm serve", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(reply, indent=2, ensure_ascii=False))
        return 0 if status == 200 else 1
    if status != 200:
        print(f"{reply.get('title')}: {reply.get('detail')}", file=sys.stderr)
        return 1
    if not {"answer", "source", "confidence", "hit", "cid", "decision"} <= reply.keys():
        print(f"what answers at {address} is no node; start one with: neuroswarm serve", file=sys.stderr)
        return 2
    print(reply["answer"])
    source = reply["source"]
    print(f"  source      {source['kind']}: {source['id']}")
    print(f"  confidence  {reply['confidence']:.2f}")
    if reply["hit"]:
        hit = reply["hit"]
        print(f"  from cache  {hit['kind']}, {hit['age_s']} s old: {hit['reason']}")
    if reply["cid"]:
        print(f"  record      {reply['cid']}")
    if reply["decision"]:
        print(f"  decision    #{reply['decision']['index']}")
    for step in reply.get("trace", []):
        print(f"  {step['stage']:<24} {step['outcome']:<10} {step['ms']:>9.1f} ms  {step['reason']}")
    return 0


async def _examine(settings: Settings) -> list[tuple[str, str, str]]:
    """Look at each engine without a running node."""
    from node.app import examine

    return [(check.status, check.name, check.output) for check in await examine(settings)]


async def _daemon(settings: Settings) -> list[tuple[str, str, str]]:
    """What works with the IPFS daemon."""
    from node.app import examine_daemon

    return [(check.status, check.name, check.output) for check in await examine_daemon(settings)]


def _health(address: str) -> list[tuple[str, str, str]]:
    """What a running node says. Raises ``NOBODY`` and whatever an answer of another shape leads to."""
    _, health = call(f"{address}/health", None, 5)
    rows = [("pass", "running", f"a node answers at {address}")]
    for name, (check, *_) in health["checks"].items():
        observed = check.get("observedValue")
        text = check["output"] + ("" if observed is None else f" ({observed})")
        rows.append((str(check["status"]), name, text))
    return rows


def _doctor(args: argparse.Namespace) -> int:
    settings = _settings(args)
    address = base(args, settings)
    rows: list[tuple[str, str, str]] = [
        ("pass", "python", sys.version.split()[0]),
        ("pass", "node", __version__),
    ]
    try:
        rows += _health(address)
        if settings.ipfs.kubo_url:
            told = {row[1] for row in rows}
            rows += [row for row in asyncio.run(_daemon(settings)) if row[1] not in told]
    except (*NOBODY, LookupError, TypeError, AttributeError):
        said = f"no node answers at {address}; start one with: make run (or neuroswarm serve)"
        rows.append(("warn", "running", said))
        rows += asyncio.run(_examine(settings))
    worst = "fail" if any(row[0] == "fail" for row in rows) else "pass"
    if args.json:
        print(
            json.dumps([dict(zip(("status", "check", "output"), row, strict=True)) for row in rows], indent=2)
        )
    else:
        for status, name, text in rows:
            print(f"{_MARK.get(status, status)}  {name:<22} {text}")
    return 1 if worst == "fail" else 0


def _embed(args: argparse.Namespace) -> int:
    import batch_embed

    return batch_embed.main(args.rest, prog="neuroswarm embed")


def _model(args: argparse.Namespace) -> int:
    from node.clock import SystemClock
    from node.jobs import fetch_model

    settings = _settings(args)
    folder = Path(args.dir) if args.dir else fetch_model.folder_for(Path(settings.data_dir))
    wanted = fetch_model.find(args.name)
    for word, text in fetch_model.describe(wanted, folder):
        print(f"{word:<8} {text}")
    if not args.yes:
        if sys.stdin is None or not sys.stdin.isatty():
            print("nothing was fetched: there is no terminal to ask at; add --yes to agree", file=sys.stderr)
            return 1
        print("Fetch it? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("nothing was fetched")
            return 1
    clock = SystemClock()
    options = ["--no-index", "--find-links", args.find_links] if args.find_links else []
    start, end = ("\r", "") if sys.stderr.isatty() else ("", "\n")
    shown = -1

    def show(progress: fetch_model.Progress) -> None:
        nonlocal shown
        percent = 100 * progress.done // progress.total
        if end and percent // 10 == shown:
            return  # in a log a line each tenth is enough
        shown = percent // 10
        print(f"{start}{progress.bar():<100}", end=end, file=sys.stderr, flush=True)

    try:
        path = fetch_model.fetch(wanted, folder, clock, os.environ, show=show, pip_options=options)
    except KeyboardInterrupt:
        print("\ninterrupted; run again to go on from here", file=sys.stderr)
        return 130
    print(f"\n{path} is here and is the pinned file")
    if not fetch_model.has_llama_cpp() and not args.no_build:

        def tick(seconds: float) -> None:
            print(f"{start}compiling llama-cpp-python: {seconds:.0f} s", end="", file=sys.stderr, flush=True)

        fetch_model.install_llama_cpp(folder, clock, os.environ, tick=tick if start else lambda _: None)
        print("\nllama-cpp-python is installed")
    if args.dir:
        print(f"tell the node: NEUROSWARM_MODELS__GGUF_PATH={path.absolute()} (or models.gguf_path)")
    else:
        print("the node takes it when models.gguf_path is empty; start it with: make run")
    return 0


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", help="settings file (default: neuroswarm.toml here, if there is one)")
    common.add_argument("--data-dir", help="where records, keys and state live (default: data)")
    teller = argparse.ArgumentParser(add_help=False, parents=[common])
    teller.add_argument("--json", action="store_true", help="machine-readable output")
    caller = argparse.ArgumentParser(add_help=False)
    caller.add_argument("--url", help="address of the node (default: from the settings)")

    parser = argparse.ArgumentParser(prog="neuroswarm", description="A decentralized semantic cache node.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)

    serve = commands.add_parser("serve", parents=[common], help="start the node")
    serve.add_argument("--host")
    serve.add_argument("--port", type=int)
    serve.add_argument("--verbose", action="store_true", help="debug log")
    serve.set_defaults(run=_serve)

    ask = commands.add_parser("ask", parents=[teller, caller], help="ask a running node")
    ask.add_argument("question", nargs="+")
    ask.add_argument("--session", help="session id, for follow-ups")
    ask.add_argument("--no-cache", action="store_true", help="compute afresh")
    ask.add_argument("--verbose", action="store_true", help="show every station")
    ask.set_defaults(run=_ask)

    doctor = commands.add_parser("doctor", parents=[teller, caller], help="what runs, what is missing")
    doctor.set_defaults(run=_doctor)

    cli_keys.register(commands, [teller], _settings)

    model = commands.add_parser(
        "model", parents=[common], help="get a language model; shown and confirmed first"
    )
    model.add_argument("--name", default="qwen2.5-coder-1.5b", help="or gemma-3-270m (default: %(default)s)")
    model.add_argument("--dir", help="where to put it (default: models in the data directory)")
    model.add_argument("--yes", action="store_true", help="agree without being asked")
    model.add_argument("--no-build", action="store_true", help="do not compile llama-cpp-python")
    model.add_argument("--find-links", help=argparse.SUPPRESS)
    model.set_defaults(run=_model)

    cli_ingest.register(commands, [teller], _settings)
    cli_cache.register(commands, [teller], _settings)
    cli_log.register(commands, [teller], _settings)
    cli_peers.register(commands, [teller], _settings)
    cli_explain.register(commands, [teller], _settings)

    embed = commands.add_parser(
        "embed", add_help=False, help="embed entries of a knowledge index (batch_embed.py)"
    )
    embed.add_argument("rest", nargs=argparse.REMAINDER)
    embed.set_defaults(run=_embed)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if words[:1] == ["embed"]:
        args = argparse.Namespace(run=_embed, rest=words[1:])
    else:
        args = parser.parse_args(words)
    try:
        return int(args.run(args))
    except NodeError as exc:
        print(f"neuroswarm: {exc}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 1
