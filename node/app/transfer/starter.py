"""Where the knowledge index that a start imports lies: in the working folder, or in the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from node.core.settings import Settings

PACKAGED = "knowledge-index.json"
"""In ``node.app``: ``setup.py`` puts the repository's file into a wheel; a checkout has it at its root."""


def index_path(settings: Settings) -> Path:
    """The file of the settings. Where nobody named one and none lies here, the starter index of an installed
    wheel."""
    named = Path(settings.index_file)
    packaged = Path(str(files("node.app") / PACKAGED))
    is_default = settings.index_file == Settings().index_file
    return packaged if is_default and not named.exists() and packaged.is_file() else named
