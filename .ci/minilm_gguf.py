# ruff: noqa: INP001 - a script, no package
"""Write all-MiniLM-L6-v2 (safetensors) as an f16 GGUF file that llama.cpp and Ollama load as an embedder.

``python minilm_gguf.py FOLDER OUT.gguf``: the folder holds config.json, vocab.txt and model.safetensors.
Needs the packages ``gguf`` and ``numpy`` and nothing else. The same input gives the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import numpy

ROOT = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}
LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
WIDE = {"position_embd.weight", "token_types.weight"}
"""llama.cpp adds these to 32-bit values: they stay 32 bits wide, as do vectors."""

WORD_START = "\u2581"


def tensors(path: Path) -> dict[str, numpy.ndarray]:
    """The weights of a safetensors file of 32-bit floats."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    found = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            data = numpy.frombuffer(raw, "<f4", (end - begin) // 4, start + begin)
            found[name] = data.reshape(entry["shape"])
    return found


def renamed(name: str) -> str | None:
    """The GGUF name of a BERT tensor; None for the pooling head, which mean pooling leaves out."""
    stem, _, kind = name.rpartition(".")
    if stem in ROOT:
        return f"{ROOT[stem]}.{kind}"
    parts = stem.split(".", 3)
    if parts[:2] != ["encoder", "layer"]:
        return None
    return f"blk.{parts[2]}.{LAYER[parts[3]]}.{kind}"


def token(word: str) -> str:
    """A word piece as llama.cpp wants it: a word's start is marked, its continuation is bare."""
    if word.startswith("[") and word.endswith("]"):
        return word
    return word[2:] if word.startswith("##") else WORD_START + word


def convert(folder: Path, out: Path) -> None:
    """Write the GGUF file."""
    config = json.loads((folder / "config.json").read_text())
    words = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    special = {word: words.index(word) for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}

    writer = gguf.GGUFWriter(str(out), "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("jina-v2-en")
    writer.add_token_list([token(word) for word in words])
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if word in special else normal for word in words])
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_bos_token_id(special["[CLS]"])
    writer.add_eos_token_id(special["[SEP]"])
    writer.add_sep_token_id(special["[SEP]"])
    writer.add_pad_token_id(special["[PAD]"])
    writer.add_unk_token_id(special["[UNK]"])
    writer.add_mask_token_id(special["[MASK]"])
    for name, values in sorted(tensors(folder / "model.safetensors").items()):
        short = renamed(name)
        if short is not None:
            wide = values.ndim == 1 or short in WIDE
            writer.add_tensor(short, values if wide else values.astype(numpy.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
