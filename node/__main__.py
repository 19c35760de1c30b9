"""The command ``neuroswarm`` (= ``python -m node``): checks where it stands, then runs ``node.cli.main``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path


def _start_guard() -> None:
    """``node`` and ``adapters`` are also names of other people's packages: stop, before anything else is
    imported, when the ``adapters`` that Python would import is not the one beside this file."""
    here = Path(__file__).resolve().parent.parent
    spec = importlib.util.find_spec("adapters")
    origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
    if origin is None or origin.parent.parent != here:
        where = "nowhere" if origin is None else str(origin.parent)
        sys.exit(
            f"neuroswarm: Python finds the package 'adapters' at {where}, not beside 'node' at {here}. "
            "Another project's package shadows it: run this node in an environment of its own (make setup)."
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    _start_guard()
    from node.cli.main import main as run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
