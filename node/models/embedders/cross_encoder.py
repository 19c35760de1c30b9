"""Whether a note holds the answer to a question: a cross-encoder on the packaged embedding model.

The question and one note go through the network together, so that every word of one is seen beside every
word of the other (Nogueira and Cho, "Passage Re-ranking with BERT", arXiv:1901.04085); how near two separate
vectors are does not tell an answer from a neighbour. The weights are those of all-MiniLM-L6-v2 with a
low-rank change (Hu et al., "LoRA", arXiv:2106.09685), fitted by ``python -m bench.train_reader`` and kept in
``cross_encoder.npz``: it belongs to the one file of weights whose digest it names, and is written into a copy
of it in memory.

``CrossEncoder`` is the engine (blocking, one thread at a time); ``Reader`` is the ``NoteReader`` port around
it. It must not know where notes come from, or what becomes of them.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.resources
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from node.core.errors import Unavailable
from node.models.embedders.local import (
    ONNX_SHA256,
    ModelFiles,
    installed_files,
    open_tokenizer,
    pinned,
)
from node.models.embedders.network import Network

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "cross_encoder.npz"
QUESTION_TOKENS_MAX = 64
PAIR_TOKENS_MAX = 256
"""What is longer is cut: the question first to its share, the note to what is left."""
CHARS_MAX = 4_000
_CLS, _SEP = 101, 102
_LEVELS = 127


class CrossEncoder:
    """See the module."""

    def __init__(self, network: Network, tokenizer: Tokenizer, head: np.ndarray) -> None:
        self._network = network
        self._tokenizer = tokenizer
        self._head = head

    @classmethod
    def open(cls, files: ModelFiles, *, threads: int, adapter: bytes | None = None) -> CrossEncoder:
        """Load it. Raises ``Unavailable``: a file is missing, damaged or not the pinned one, or the engine
        is not there."""
        weights = pinned(files.onnx, ONNX_SHA256)
        parts = parts_of(adapter or _packaged())
        try:
            head, file = parts["head"].astype(np.float32), changed(weights, parts)
        except (ValueError, KeyError) as exc:
            raise Unavailable(f"{FILE} is damaged: {exc}") from exc
        return cls(Network(file, threads, files.onnx), open_tokenizer(files.tokenizer), head)

    def score(self, question: str, notes: Sequence[str]) -> list[float]:
        """The log odds that each note holds the answer, in their order. Raises ``Unavailable``."""
        if not notes:
            return []
        asked = self._ids(question)[:QUESTION_TOKENS_MAX]
        room = PAIR_TOKENS_MAX - 3 - len(asked)
        rows = [[_CLS, *asked, _SEP, *self._ids(note)[:room], _SEP] for note in notes]
        try:
            hidden, mask = self._network.hidden(rows, len(asked) + 2)
        except self._network.errors as exc:
            raise Unavailable(f"the cross-encoder failed: {exc}") from exc
        seen = mask[..., None].astype(np.float32)
        mean = (hidden * seen).sum(axis=1) / seen.sum(axis=1)
        features = np.concatenate([hidden[:, 0], mean], axis=1)
        return [float(value) for value in features @ self._head[:-1] + self._head[-1]]

    def _ids(self, text: str) -> list[int]:
        clean = text[:CHARS_MAX].encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids


def _packaged() -> bytes:
    try:
        return importlib.resources.files("node.models.embedders").joinpath(FILE).read_bytes()
    except OSError as exc:
        raise Unavailable(f"cannot read {FILE}: {exc}") from exc


def parts_of(raw: bytes) -> dict[str, np.ndarray]:
    """The change that the file holds. Raises ``Unavailable``: it is damaged, or belongs to other weights."""
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as held:
            parts = {name: held[name] for name in held.files}
        belongs_to = str(parts["weights"])
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as exc:
        raise Unavailable(f"{FILE} is damaged: {exc}") from exc
    if belongs_to != ONNX_SHA256:
        raise Unavailable("the cross-encoder belongs to other weights than the packaged embedder's")
    return parts


def changed(weights: bytes, parts: dict[str, np.ndarray]) -> bytearray:
    """A copy of the pinned file with the low-rank change added to each of its matrices (W + A B, quantised
    again to 8 bits a column) and the small vectors (biases, norms) replaced, each at its place."""
    file = bytearray(weights)
    for name in (key[:-2] for key in parts if key.endswith("/A")):
        at, scale_at = (int(place) for place in parts[f"{name}/at"])
        low, high = parts[f"{name}/A"].astype(np.float32), parts[f"{name}/B"].astype(np.float32)
        rows, columns = low.shape[0], high.shape[1]
        base = np.frombuffer(weights, np.int8, rows * columns, at).reshape(rows, columns)
        scale = np.frombuffer(weights, np.float32, columns, scale_at)
        whole = base.astype(np.float32) * scale + low @ high
        scale = np.maximum(np.abs(whole).max(axis=0), 1e-12).astype(np.float32) / _LEVELS
        file[at : at + rows * columns] = np.rint(whole / scale).astype(np.int8).tobytes()
        file[scale_at : scale_at + 4 * columns] = scale.tobytes()
    for name in (key[:-2] for key in parts if key.endswith("/v")):
        at, vector = int(parts[f"{name}/at"][0]), parts[f"{name}/v"].astype(np.float32)
        file[at : at + vector.nbytes] = vector.tobytes()
    return file


class Reader:
    """The ``NoteReader`` port over ``CrossEncoder`` in one worker thread, which loads it when the first notes
    come (0.3 s): a node that has no notes, or answers them all from the cache, does without its memory."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self._open = functools.cache(lambda: CrossEncoder.open(files, threads=threads))
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")

    @classmethod
    async def load(cls, *, threads: int) -> Reader:
        """Raises ``Unavailable``, ``ImportError``: a package is missing."""
        for package in ("onnxruntime", "tokenizers"):
            importlib.import_module(package)
        await asyncio.to_thread(lambda: parts_of(_packaged()))  # a damaged file is told of at the start
        return cls(await asyncio.to_thread(installed_files), threads)

    async def score(self, question: str, notes: Sequence[str]) -> list[float]:
        def scored() -> list[float]:
            return self._open().score(question, notes) if notes else []

        return await asyncio.get_running_loop().run_in_executor(self._executor, scored)

    async def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
