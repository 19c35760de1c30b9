"""GPTCache on one stream, in an environment that holds it and not us: ``gptcache_child.py FOLDER``.

Its public functions and its defaults; only the embedding is handed in.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from gptcache import cache
from gptcache.adapter.api import get, put
from gptcache.manager import manager_factory
from gptcache.processor.pre import get_prompt
from gptcache.similarity_evaluation import SearchDistanceEvaluation


def main(folder: Path) -> None:
    """Replay ``stream.json`` and write ``served.json``."""
    rows = json.loads((folder / "stream.json").read_text())
    vectors = np.load(folder / "vectors.npy")
    by_text = {row["text"]: vector for row, vector in zip(rows, vectors, strict=True)}

    def embed(text: str, **_: Any) -> Any:
        return by_text[text]

    manager = manager_factory(
        "sqlite,faiss", data_dir=str(folder), vector_params={"dimension": int(vectors.shape[1])}
    )
    cache.init(
        pre_embedding_func=get_prompt,
        embedding_func=embed,
        data_manager=manager,
        similarity_evaluation=SearchDistanceEvaluation(),
    )
    out = []
    for row in rows:
        begun = time.perf_counter()
        served = get(row["text"])
        ms = (time.perf_counter() - begun) * 1_000
        if served is None:
            put(row["text"], row["answer"])
        out.append({"served": served, "ms": ms})
    (folder / "served.json").write_text(json.dumps(out))


main(Path(sys.argv[1]))
