"""Vectors of answers are derived: they are in the index only, never in a record or an export."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from node.cache.index import vector_file
from node.cache.index.flat_index import FlatIndex
from node.core.ipld import dagcbor
from node.core.ipld.car import CarReader
from node.core.normalise import normalise
from node.core.record import AnswerRecord, decode
from tests.journeys.conftest import Client, Start
from tests.journeys.test_cli import ran
from tests.unit.models.embedders.minilm import local_embedder

QUESTION = "What keeps a sailing boat upright?"
ANSWER = "A keel, which is a heavy fin below the hull."
SLICE = 32
"""Bytes of a vector that are looked for: eight floats, as many as no other vector has by chance."""


def holds(data: bytes, vector: bytes) -> bool:
    """Whether any part of the vector stands there, as it is or as base64 at whatever place."""
    parts = [vector[at : at + SLICE] for at in range(0, len(vector), SLICE)]
    text = base64.b64encode(vector)
    return any(
        part in data for part in [*parts, *(text[at : at + SLICE] for at in range(0, len(text), SLICE))]
    )


def values(data: Any) -> Iterator[bytes | list[Any]]:
    """Whatever in a document may be a vector: byte strings, long base64, lists of numbers."""
    if isinstance(data, dict):
        for value in data.values():
            yield from values(value)
    elif isinstance(data, list | tuple):
        if data and all(isinstance(one, float) for one in data):
            yield list(data)
        for value in data:
            yield from values(value)
    elif isinstance(data, bytes) and len(data) > 64:  # a signature has 64
        yield data
    elif isinstance(data, str) and len(data) > 256:
        yield base64.b64decode(data)


async def in_index(folder: Path) -> tuple[Path, bytes]:
    """The file of answers' vectors, once it is there, and its only vector."""
    async with asyncio.timeout(30):
        while not (files := await asyncio.to_thread(lambda: list(folder.rglob("*.nswindex")))):
            await asyncio.sleep(0.05)
    [path] = files
    index = FlatIndex(384)
    digest = local_embedder().info.digest
    loaded = vector_file.load_into(index, path, model_digest=digest)
    assert not isinstance(loaded, vector_file.Damaged)
    [rows] = index.rows()
    [vector] = rows.vectors
    return path, vector.astype("<f4").tobytes()


async def export(node: Client, *words: str) -> bytes:
    await ran("cache", "export", *words, folder=node.folder)
    return await asyncio.to_thread(Path(words[-1]).read_bytes)


async def test_vectors_of_answers_are_in_the_index_only(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.app.node.INDEX_SAVE_EVERY_S", 0.2)
    embedder = local_embedder()
    question, answer = await embedder.embed([normalise(QUESTION), ANSWER])
    await embedder.close()
    assert question is not None
    assert answer is not None
    async with start(sharing={"publish": "all"}) as node:
        cid = await node.store(QUESTION, ANSWER, scope="public")
        path, vector = await in_index(node.folder / "data" / "index" / "answers")
        assert np.frombuffer(vector, "<f4") @ answer > 0.999, "the answer is embedded"

        _, block, _ = await node.raw(f"/ipfs/{cid}?format=raw")
        _, shown, _ = await node.raw(f"/v1/cache/entries/{cid}")
        lines = await export(node, str(tmp_path / "out.jsonl"))
        car = await export(node, "--car", str(tmp_path / "out.car"))

    record = decode(block)
    assert isinstance(record, AnswerRecord)
    assert record.answer == ANSWER
    assert record.embedding is not None
    assert holds(block, record.embedding.vector), "a vector would be found"
    assert holds(car, record.embedding.vector), "a vector would be found"
    for data in (block, shown, lines, car):
        assert ANSWER.encode() in data
        assert not holds(data, vector)
    blocks = CarReader().feed(car)
    assert block in [data for _, data in blocks]
    documents = [dagcbor.decode(data) for _, data in blocks]
    documents += [json.loads(shown), *(json.loads(line) for line in lines.splitlines())]
    vectors = [np.frombuffer(one, "<f4") if isinstance(one, bytes) else one for one in values(documents)]
    [only] = vectors  # that of the question, in the CAR's record; the lines have none
    assert np.asarray(only) @ question > 0.999
    assert np.asarray(only) @ answer < 0.95

    everything = [one for one in (tmp_path / "node").rglob("*") if one.is_file()]
    assert [one for one in everything if holds(one.read_bytes(), vector)] == [path]
    assert len([one for one in everything if holds(one.read_bytes(), record.embedding.vector)]) > 1
