"""The network of all-MiniLM-L6-v2 in 8 bits: weights of a file, multiplied by the graph in ``network.onnx``.

The packaged file unfolds its weights to 32 bits when it is loaded; here they stay as they are. The graph has
no weights of its own; ``network.json`` says where in the file each of them lies, and both are written by
``python -m bench.network_graph``. It must not know what is read by it.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.core.errors import Unavailable

GRAPH_SHA256 = "3ec83d240bf387b9d8816dc8d6f91985325dafeec7f5c5ed667b4743d116f829"
_WORDS = "word/q"
_ZERO = 128
"""What stands for 0 in the weights as ``MatMulNBits`` takes them."""


def arrays(weights: bytes | bytearray, places: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """What the graph asks for, by name. Raises ``ValueError`` for a file that is too short."""

    def at(place: int, kind: Any, count: int) -> NDArray[Any]:
        return np.frombuffer(weights, kind, count, place)

    found: dict[str, NDArray[Any]] = {}
    for name, one in places["arrays"].items():
        parts, count = one["at"], int(np.prod(one["shape"]))
        sides = [at(place, one["kind"], count // len(parts)) for place in parts]
        found[name] = (np.concatenate(sides) if parts[1:] else sides[0]).reshape(one["shape"])
    block = places["block"]
    for name, one in places["matrices"].items():
        rows, spans = one["rows"], list(zip(one["at"], one["columns"], strict=True))
        values = [at(place[0], np.int8, rows * wide).reshape(rows, wide) for place, wide in spans]
        scales = np.concatenate([at(place[1], np.float32, wide) for place, wide in spans])
        turned = np.ascontiguousarray(np.concatenate(values, axis=1).T).astype(np.int16) + _ZERO
        found[f"{name}/q"] = turned.astype(np.uint8).reshape(len(scales), rows // block, block)
        found[f"{name}/s"] = np.repeat(scales, rows // block)
    return found


class WordTable:
    """The vectors of the vocabulary, half of the weights, where they lie in the file: its networks share the
    operating system's copy, and only the words that are read take memory."""

    def __init__(self, file: Path, held: NDArray[Any], place: int) -> None:
        """Raises ``ValueError`` where the file does not have what is ``held`` at that place, ``OSError``."""
        with file.open("rb") as opened:
            self._bytes = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        self.values = np.frombuffer(self._bytes, held.dtype, held.size, place).reshape(held.shape)
        if not np.array_equal(self.values, held):
            raise ValueError("the word table changed while it was read")

    def release(self) -> None:
        """Give up the pages that were read so far; they come back when they are read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._bytes.madvise(mmap.MADV_DONTNEED)


class Network:
    """The network of a file of weights, ready to run. ``errors`` are what its engine may raise."""

    def __init__(self, weights: bytes | bytearray, threads: int, file: Path | None = None) -> None:
        """``file``: where the word table of ``weights`` lies as it is in them, to be read there. Raises
        ``Unavailable``."""
        try:
            import onnxruntime
            from onnxruntime.capi import onnxruntime_pybind11_state as state
        except ImportError as exc:
            raise Unavailable(f"the local embedder needs onnxruntime: {exc}") from exc
        named = (
            "EngineError", "EPFail", "Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf",
            "NotImplemented", "RuntimeException",
        )  # fmt: skip
        self.errors: tuple[type[Exception], ...] = (
            OSError, ValueError, RuntimeError, *(getattr(state, name) for name in named)
        )  # fmt: skip
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # A spinning thread takes a core from the rest of the node for nothing.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        # The arena keeps the peak of the longest batch for ever (60 MB here) and saves no time.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        graph, places = (_data(name) for name in ("network.onnx", "network.json"))
        if hashlib.sha256(graph + places).hexdigest() != GRAPH_SHA256:
            raise Unavailable("network.onnx or network.json is not the file that belongs to this version")
        try:
            told = json.loads(places)
            held = arrays(weights, told)
            if file is not None:
                self._words = WordTable(file, held[_WORDS], told["arrays"][_WORDS]["at"][0])
                held[_WORDS] = self._words.values
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(one) for one in held.values()]
            options.add_external_initializers(list(held), values)
            if file is not None:  # used where it is; the others are copied
                self._shared = values[list(held).index(_WORDS)]
                options.add_initializer(_WORDS, self._shared)
            onnxruntime.disable_telemetry_events()
            self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except self.errors as exc:
            raise Unavailable(f"the local embedding model does not load: {exc}") from exc
        if file is not None:
            self._words.release()
        self._output = told["output"]

    def hidden(
        self, rows: Sequence[Sequence[int]], second: int = 0
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """What the last layer makes of rows of tokens, padded to the longest, and the mask of what is no
        padding. ``second``: where in each row a second text begins. Raises ``errors``."""
        shape = (len(rows), max(map(len, rows)))
        tokens, kinds, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int32)
        for row, ids in enumerate(rows):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
            if second:
                kinds[row, second : len(ids)] = 1
        inputs = {"ids": tokens, "kinds": kinds, "places": np.arange(shape[1]), "mask": mask}
        return self._session.run([self._output], inputs)[0], mask


def _data(name: str) -> bytes:
    try:
        return importlib.resources.files("node.models.embedders").joinpath(name).read_bytes()
    except OSError as exc:
        raise Unavailable(f"cannot read {name}: {exc.strerror}") from exc
