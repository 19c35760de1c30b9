"""A few lines that take pip's words for ``download`` and copy a wheel out of a folder: real pip takes a
second to start, and is called in earnest by two tests.

    python tests/simulators/pip.py … download … --dest DIR … --find-links DIR NAME==VERSION"""

from __future__ import annotations

import shutil
import sys
from itertools import pairwise
from pathlib import Path


def main(words: list[str]) -> int:
    options = dict(pairwise(words))
    name, _, version = words[-1].partition("==")
    for found in Path(options["--find-links"]).glob(f"{name.replace('-', '_')}-{version}-*.whl"):
        shutil.copy(found, options["--dest"])
        return 0
    print(f"ERROR: No matching distribution found for {words[-1]}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
