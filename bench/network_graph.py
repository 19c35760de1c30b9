"""Writes the graph that the packaged embedder's weights are run in: ``node/models/embedders/network.onnx``.

    pip install onnx
    python -m bench.network_graph [--check]

The packaged file multiplies in float32: its 8-bit weights are unfolded when it is loaded. The graph written
here multiplies in 8 bits (``MatMulNBits`` of onnxruntime: activations are quantised in blocks of 64 while it
runs, each row for itself, so that a text's vector does not depend on its batch), with the attention, the
activation and the norms as single operations. It holds no weights: ``network.json`` says where in the pinned
file each of them lies, and ``node.models.embedders.network`` hands them over. ``--check`` writes nothing and
fails where what lies there is not what this program makes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.train_reader import LAYERS, base

OUT = Path(__file__).resolve().parents[1] / "node" / "models" / "embedders"
GRAPH, PLACES = OUT / "network.onnx", OUT / "network.json"
DIM, INNER, HEADS, BLOCK = 384, 1536, 12, 64
WORDS, POSITIONS = 30_522, 512
CONTRIB = "com.microsoft"
EPSILON = 1e-12


class Graph:
    """The nodes and initialisers so far, and where in the weights' file the latter lie."""

    def __init__(self, at: dict[str, list[int]]) -> None:
        self.at = at
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.places: dict[str, Any] = {"block": BLOCK, "arrays": {}, "matrices": {}}

    def held(self, name: str, kind: str, shape: Sequence[int]) -> str:
        """An initialiser whose values come from elsewhere."""
        from onnx import TensorProto

        types = {"float32": TensorProto.FLOAT, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8}
        one = TensorProto(name=name, data_type=types[kind], dims=shape)
        one.data_location = TensorProto.EXTERNAL
        one.external_data.add(key="location", value="weights")
        self.initializers.append(one)
        return name

    def array(self, name: str, shape: Sequence[int], *places: int, kind: str = "float32") -> str:
        """Values as they lie at ``places``, one after the other."""
        self.places["arrays"][name] = {"kind": kind, "shape": list(shape), "at": list(places)}
        return self.held(name, kind, shape)

    def add(self, operation: str, inputs: Sequence[str], out: str, domain: str = "", **more: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operation, list(inputs), [out], domain=domain, **more))
        return out

    def looked_up(self, name: str, rows: int, by: str) -> str:
        """Rows of a table in 8 bits, each with its scale."""
        values, scales = self.at[name]
        whole = self.add(
            "Gather", [self.array(f"{name}/q", [rows, DIM], values, kind="int8"), by], f"{name}.q"
        )
        scale = self.add("Gather", [self.array(f"{name}/s", [rows, 1], scales), by], f"{name}.s")
        return self.add("Mul", [self.add("Cast", [whole], f"{name}.f", to=1), scale], name)

    def times(self, source: str, rows: int, out: str, *keys: str) -> str:
        """``source`` times the matrices ``keys`` side by side, and their biases."""
        columns = [INNER if key.endswith(".i") else DIM for key in keys]
        wide = sum(columns)
        self.places["matrices"][out] = {
            "rows": rows,
            "columns": columns,
            "at": [self.at[key] for key in keys],
        }
        blocks = rows // BLOCK
        weights = [
            self.held(f"{out}/q", "uint8", [wide, blocks, BLOCK]),
            self.held(f"{out}/s", "float32", [wide * blocks]),
        ]
        bias = self.array(f"{out}/b", [wide], *(self.at[f"{key}_b"][0] for key in keys))
        size = {"K": rows, "N": wide, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return self.add("MatMulNBits", [source, *weights, "", "", bias], out, CONTRIB, **size)

    def norm(self, one: str, other: str, name: str) -> str:
        """The norm of a sum."""
        weight, bias = (self.array(f"{name}{end}", [DIM], self.at[f"{name}{end}"][0]) for end in "wb")
        inputs = [one, other, weight, bias]
        return self.add("SkipLayerNormalization", inputs, name, CONTRIB, epsilon=EPSILON)


def made() -> tuple[bytes, str]:
    """The two files."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = Graph(base().at)
    kinds = graph.add("Gather", [graph.array("type", [2, DIM], graph.at["type"][0]), "kinds"], "kind")
    words = graph.add("Add", [graph.looked_up("word", WORDS, "ids"), kinds], "words")
    placed = graph.looked_up("position", POSITIONS, "places")
    x = graph.norm(words, graph.add("Expand", [placed, graph.add("Shape", [words], "shape")], "placed"), "ln")
    thirds = numpy_helper.from_array(np.array([DIM] * 3, np.int64), "thirds")
    graph.initializers.append(thirds)
    for n in range(LAYERS):
        three = graph.times(x, DIM, f"{n}.qkv", f"{n}.q", f"{n}.k", f"{n}.v")
        parts = [f"{n}.{key}" for key in "qkv"]
        graph.nodes.append(helper.make_node("Split", [three, "thirds"], parts, axis=-1))
        seen = graph.add("MultiHeadAttention", [*parts, "", "mask"], f"{n}.seen", CONTRIB, num_heads=HEADS)
        x = graph.norm(x, graph.times(seen, DIM, f"{n}.out", f"{n}.o"), f"{n}.l1")
        inner = graph.add("Gelu", [graph.times(x, DIM, f"{n}.inner", f"{n}.i")], f"{n}.gelu", CONTRIB)
        x = graph.norm(x, graph.times(inner, INNER, f"{n}.outer", f"{n}.f"), f"{n}.l2")
    shape = ["texts", "tokens"]
    whole = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2 in 8 bits",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("ids", "kinds")]
        + [helper.make_tensor_value_info("places", TensorProto.INT64, ["tokens"])]
        + [helper.make_tensor_value_info("mask", TensorProto.INT32, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [*shape, DIM])],
        graph.initializers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(
        whole, opset_imports=versions, ir_version=10, producer_name="bench.network_graph"
    )
    places = json.dumps({"output": x, **graph.places}, indent=1) + "\n"
    return model.SerializeToString(deterministic=True), places


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.network_graph", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    graph, places = made()
    if options.check:
        same = GRAPH.read_bytes() == graph and PLACES.read_text(encoding="utf-8") == places
        print("as made" if same else "other than made")
        return 0 if same else 1
    GRAPH.write_bytes(graph)
    PLACES.write_text(places, encoding="utf-8")
    print(f"{GRAPH.name}: {len(graph)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
