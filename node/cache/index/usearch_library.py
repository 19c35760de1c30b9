"""The one import of usearch.

usearch 2.26 loads a library of its own with global symbols; an onnxruntime that is loaded after it dies with
a segmentation fault, one that was loaded before does not. So onnxruntime comes first, where it is installed.
"""

from __future__ import annotations

import contextlib
import importlib

with contextlib.suppress(ImportError):
    importlib.import_module("onnxruntime")

from usearch.compiled import MetricKind, ScalarKind
from usearch.index import Index

__all__ = ["Index", "MetricKind", "ScalarKind"]
