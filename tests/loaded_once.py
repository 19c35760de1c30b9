"""The packaged models are loaded once in a test process, not once for each node: it takes .7 s of processor
time, and what is loaded keeps nothing of what it is asked."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from node.models.embedders import cross_encoder, local


@contextmanager
def loaded_once() -> Iterator[None]:
    """While it lasts, opening the same files again gives the same engine; other files are opened anew."""
    with pytest.MonkeyPatch.context() as patch:
        for engine in (local.MiniLm, cross_encoder.CrossEncoder):
            patch.setattr(engine, "open", staticmethod(_once(engine.open)))
        yield


def _once(load: Any) -> Any:
    kept = functools.cache(load)

    def open_(files: local.ModelFiles, **how: Any) -> Any:
        return (
            kept(files, **how) if files == local.installed_files() and len(how) == 1 else load(files, **how)
        )

    return open_
