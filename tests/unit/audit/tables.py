"""Tables of what is asked and what is to come of it, one JSON value a line, in a file beside their test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def rows(test: str, name: str) -> list[Any]:
    """The lines of ``name``, beside the file ``test``."""
    return [json.loads(line) for line in Path(test).with_name(name).read_text("utf-8").splitlines()]


NO_LEAVES = [line.encode("latin-1") for line in rows(__file__, "no_leaves.jsonl")]
"""What is refused where leaf 7 of a log should stand, by each of the two programs that read leaves."""
