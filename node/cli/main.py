"""The commands of ``neuroswarm``: arguments in, text out, no rule of their own."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from node.cli import (
    apikeys,
    backup,
    cache,
    cache_files,
    evaluate,
    explain,
    keys,
    log,
    log_recover,
    log_repair,
    memory,
    parser,
    peers,
)
from node.cli.ask import ask
from node.cli.doctor import doctor
from node.cli.feedback import feedback
from node.cli.http import NoNode
from node.cli.ingest import ingest
from node.cli.mcp import mcp
from node.cli.model import model
from node.cli.serve import serve
from node.cli.teach import teach
from node.cli.terminal import complain
from node.core.errors import NodeError, Rejected
from node.core.settings import Settings, load

Command: TypeAlias = Callable[[argparse.Namespace, Settings], int]
"""(what the parser read, the settings) -> exit status. Raises ``NodeError``, ``NoNode``."""

COMMANDS: Mapping[str, Command] = {
    "serve": serve,
    "ask": ask,
    "doctor": doctor,
    "keys show": keys.show,
    "keys rotate": keys.rotate,
    "apikeys create": apikeys.create,
    "apikeys list": apikeys.listed,
    "apikeys revoke": apikeys.revoke,
    "model": model,
    "teach": teach,
    "feedback": feedback,
    "ingest": ingest,
    "cache export": cache_files.export,
    "cache import": cache_files.take_in,
    "cache invalidate": cache.invalidate,
    "cache erase": cache.erase,
    "cache stats": cache.stats,
    "cache replay": cache.replay,
    "log checkpoint": log.checkpoint,
    "log verify": log.verify,
    "log prove": log.prove,
    "log verify-receipt": log.verify_receipt,
    "log anchor status": log.anchor_status,
    "log repair": log_repair.repair,
    "log recover": log_recover.recover,
    "peers list": peers.listed,
    "peers add": peers.add,
    "peers trust": peers.trust,
    "peers sync": peers.sync,
    "peers remove": peers.remove,
    "peers evidence": peers.evidence,
    "backup": backup.backup,
    "restore": backup.restore,
    "explain": explain.explain,
    "mcp": mcp,
    "memory show": memory.show,
    "memory forget": memory.forget,
    "eval run": evaluate.run,
    "eval diff": evaluate.diff,
    "eval nightly": evaluate.nightly,
}
"""What runs each command of ``commands.toml``."""


def _settings(args: argparse.Namespace) -> Settings:
    """Defaults, file, environment, flags: in this order."""
    file = Path(args.config) if args.config else None
    if file is None and Path("neuroswarm.toml").is_file():
        file = Path("neuroswarm.toml")
    flags: dict[str, Any] = {}
    if args.data_dir:
        flags["data_dir"] = args.data_dir
    listen = {name: value for name in ("host", "port") if (value := getattr(args, name, None)) is not None}
    if listen:
        flags["server"] = listen
    return load(os.environ, file=file, flags=flags)


def _run(args: argparse.Namespace) -> int:
    try:
        return COMMANDS[args.run](args, _settings(args))
    except NodeError as exc:
        if args.has_statuses:
            return log.failed(args, exc, log.FAILS if isinstance(exc, Rejected) else log.UNSEEN)
        complain(f"neuroswarm: {exc}")
        return 1
    except NoNode as exc:
        complain(str(exc))
        return 2
    except BrokenPipeError:
        raise
    except OSError as exc:  # a disk that fails where nobody expected it is no fault of the program
        complain(f"neuroswarm: {args.run} cannot go on, the system says: {exc}")
        return 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words[:1] == ["embed"]:
            import batch_embed

            return batch_embed.main(words[1:], prog="neuroswarm embed")
        return _run(parser.made().parse_args(words))
    except NodeError as exc:
        complain(f"neuroswarm: {exc}")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 1
