"""Which code this is: the version, and the commit that it was made from.

The commit stands in the file ``commit`` beside this one, which ``setup.py`` writes into a wheel, or is asked
of git where the code runs in its checkout. Only the standard library, so that ``setup.py`` may run this file
by its path.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

FILE = "commit"
UNKNOWN = "unknown"
_GIT = ("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
"""``-dirty`` behind it: files that git knows were changed since."""
_TIMEOUT_S = 10


def commit_of(checkout: Path) -> str:
    """The commit that is checked out in this very folder, not in one around it; else ``UNKNOWN``."""
    if not (checkout / ".git").exists():
        return UNKNOWN
    try:
        done = subprocess.run(  # noqa: S603 - a command of constants
            _GIT, cwd=checkout, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return done.stdout.strip() or UNKNOWN


def commit() -> str:
    """Of the code that runs."""
    try:
        return (Path(__file__).with_name(FILE)).read_text("utf-8").strip() or UNKNOWN
    except OSError:
        return commit_of(Path(__file__).resolve().parents[2])
