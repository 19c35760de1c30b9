"""Imported by the server that ``cut_kit`` forks from: the program, and the patterns that a repair reads with,
compiled once."""

from __future__ import annotations

from datetime import UTC, datetime

from node.pipeline.understanding.route import Floors, Router

Router((), Floors(0.9, 0.8, 0.7, 0.8)).route("Name the colour of boat number 3", now=datetime.now(UTC))
