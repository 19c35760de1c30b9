# ruff: noqa: INP001 - a script, no package
"""Whether llama-cpp-python works in this Python on this processor: ``python try_llama.py [EMBEDDER.gguf]``.

Without the file, loading the library has to be enough.
"""

from __future__ import annotations

import sys
from pathlib import Path

import llama_cpp

llama_cpp.llama_backend_init()
if Path(sys.argv[1]).is_file():
    engine = llama_cpp.Llama(sys.argv[1], embedding=True, n_ctx=64, n_threads=1, verbose=False)
    vector = engine.embed("hello")
    engine.close()
    if len(vector) != 384 or not any(vector):
        raise SystemExit("the embedding is empty")
