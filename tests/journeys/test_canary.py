"""Words that only their owner may read are searched for where they must not be: behind every door, in every
file, and after an erasure in every byte that the node keeps."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash
from node.store.record_keys import KEY_BYTES
from node.store.sqlite import SqliteStore
from tests.journeys.conftest import Client, Start
from tests.journeys.test_cli import run
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.slow

PARTS = ("query", "answer", "tag", "source", "note")
LEAVES = 40
"""More than a test of this file makes."""
KEY_HEADER_BYTES = 4 * KEY_BYTES

AT_REST = {
    "index": "the vectors of all records, which similarity needs; deleted with the record",
}
"""What of a private record lies in a file in another form than sealed, and why."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A stored answer and the words that it holds, one in each of its parts."""

    cid: str
    question: str
    words: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def traces(self) -> dict[str, bytes]:
        """What gives it away: its words, and the hash of its question, as text and as bytes."""
        digest = query_hash(normalise(self.question))
        return {
            **{part: word.encode() for part, word in self.words.items()},
            "hash": digest.encode(),
            "digest": bytes.fromhex(digest),
        }


async def plant(node: Client, name: str, scope: str) -> Planted:
    """Store, ask, look up, rate with a note and by request, and ask again in other words."""
    words = {part: f"{name}{part}quux" for part in PARTS}
    question = f"Where did the {words['query']} of my aunt begin?"
    answer = f"It began {words['answer']} at sea. " * 40
    more = {"tags": [words["tag"]], "source": words["source"], "scope": scope, "replace": True}
    cid = await node.store(question, answer, **more)
    asked = await node.ask(question)
    assert words["answer"] in asked["answer"], asked["trace"]
    assert (asked["cid"], asked["hit"]["kind"]) == (cid, "exact")
    notes = []
    for what in ({"cid": cid}, {"request_id": asked["request_id"]}):
        said = await node.judge("valid", note=f"My {words['note']} says so.", **what)
        notes.append(said["validation"])
    assert (await node.search(question))["cid"] == cid
    return Planted(cid, question, words, tuple(notes))


def found_in(data: bytes, planted: Planted) -> set[str]:
    low = data.lower()
    return {part for part, trace in planted.traces.items() if trace in low or trace in data}


def found_on_disk(folder: Path, planted: Planted, vector: bytes = b"") -> dict[str, set[str]]:
    """What gives the record away, by file; ``vector``: float32 bytes of its question's embedding."""
    seen: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            parts = found_in(data, planted) | ({"vector"} if vector and vector[:64] in data else set())
            if parts:
                seen[str(path.relative_to(folder))] = parts
    return seen


async def doors(node: Client, planted: Planted) -> dict[str, tuple[int, bytes]]:
    """What anybody may read of this node, in whatever way it is asked for: status and body."""
    paths = ["/metrics", "/health", "/livez", "/readyz", "/openapi.json", "/", "/logs/decisions/checkpoint"]
    paths += [f"/logs/decisions/tile/entries/000.p/{count}" for count in range(1, LEAVES)]
    paths += [f"/logs/decisions/proof/{index}" for index in range(LEAVES)]
    for cid in (planted.cid, *planted.notes):
        raw = Cid.parse(cid)
        for name in (cid, str(Cid(0x55, raw.digest))):
            for kind in ("raw", "car"):
                paths.append(f"/ipfs/{name}?format={kind}")
            paths += [f"/ipfs/{name}", f"/ipfs/{name}/answer?format=car", f"/routing/v1/providers/{name}"]
    return {path: (await node.raw(path))[:2] for path in paths}


@asynccontextmanager
async def canary_node(start: Start, daemon: KuboStandIn) -> AsyncIterator[Client]:
    async with start(
        sharing={"publish": "all"},
        ipfs={"kubo_url": daemon.url, "daemon_is_private": True},
        cache={"sweep_every_s": 1},
    ) as node:
        yield node


async def vector_of(node: Client, text: str) -> bytes:
    vector = await node.service.embed(normalise(text))
    assert vector is not None
    return vector.astype("<f4").tobytes()


async def test_a_private_canary_leaves_by_no_door_and_lies_nowhere_in_the_clear(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "node"
    async with KuboStandIn() as daemon:
        async with canary_node(start, daemon) as node:
            private = await plant(node, "zanzibar", "private")
            shared = await plant(node, "trinidad", "shared")
            vector = await vector_of(node, private.question)
            await daemon.until(lambda: Cid.parse(shared.cid) in daemon.pinned())

            behind = await doors(node, private)
            for path, (_, body) in behind.items():
                assert found_in(body, private) == set(), path
                assert found_in(body, shared) == set(), path
            open_ones = {path.split("/")[1] for path, (status, _) in behind.items() if status == 200}
            assert {"metrics", "openapi.json", "logs"} <= open_ones
            assert any(status == 200 for path, (status, _) in behind.items() if "tile/entries" in path)
            for cid in (private.cid, *private.notes):
                for form in ("raw", "car"):
                    status, _, _ = await node.raw(f"/ipfs/{cid}?format={form}")
                    assert status == 404
                assert Cid.parse(cid).multihash not in daemon.given
            held = b"".join(daemon.blocks.values())
            assert found_in(held, private) == set()
            assert "answer" in found_in(held, shared), "the test can see what it looks for"
            assert not [call for call in daemon.calls if found_in(repr(call).encode(), private)]

            exported = await run("cache", "export", "-", folder=folder)
            assert found_in(exported.stdout.encode(), private) == set()
            assert "answer" in found_in(exported.stdout.encode(), shared)

            at_rest = found_on_disk(folder, private, vector)
            for name, parts in at_rest.items():
                assert parts <= {"hash", "vector"}, (name, parts)
                assert any(listed in name for listed in AT_REST), name
            assert "answer" in set().union(*found_on_disk(folder, shared).values())
        index = (folder / "data" / "knowledge-index.json").read_bytes()
        assert found_in(index, private) == set()
        assert "answer" in found_in(index, shared)
        at_rest = found_on_disk(folder, private, vector)
        for name, parts in at_rest.items():
            assert parts <= {"hash", "vector"}, (name, parts)
            assert any(listed in name for listed in AT_REST), name
        assert "vector" in set().union(*at_rest.values()), "the test can see what it looks for"
    assert found_in(caplog.text.encode(), private) == set()
    assert found_in(caplog.text.encode(), shared) == set()


@pytest.mark.parametrize(
    ("scope", "way"), [("private", "DELETE"), ("shared", "DELETE"), ("private", "invalidate")]
)
async def test_after_an_erasure_the_canary_is_in_no_byte(
    start: Start, tmp_path: Path, scope: str, way: str
) -> None:
    folder = tmp_path / "node"
    async with KuboStandIn() as daemon:
        async with canary_node(start, daemon) as node:
            planted = await plant(node, "zanzibar", scope)
            other = await plant(node, "trinidad", scope)
            vector = await vector_of(node, planted.question)
            if scope == "shared":
                await daemon.until(lambda: Cid.parse(planted.cid) in daemon.pinned())
                assert found_on_disk(folder, planted) != {}, "the test can see what it looks for"
            keys_before = keys_in(folder)
            if way == "DELETE":
                assert await node.delete(planted.cid) == 200
            else:
                status, done = await node.post(
                    "/v1/cache/invalidate", {"tag": planted.words["tag"], "scope": "private"}
                )
                assert (status, done["withdrawn"]) == (200, 1)
            assert found_on_disk(folder, planted, vector) == {}, "while it runs"
            assert len(keys_before - keys_in(folder)) == (3 if scope == "private" else 0), (
                "two verdicts' as well"
            )
            status, gone = await node.get(f"/v1/cache/entries/{planted.cid}")
            assert status == 404, gone
            if scope == "shared":
                await daemon.until(lambda: not daemon.holds(Cid.parse(planted.cid)))
            assert other.words["answer"] in (await node.ask(other.question))["answer"]
        assert found_on_disk(folder, planted, vector) == {}, "after the stop"
    async with start() as node:
        assert planted.words["answer"] not in (await node.ask(planted.question))["answer"]
        assert other.words["answer"] in (await node.ask(other.question))["answer"]


async def test_an_unfinished_erasure_that_fails_again_does_not_stop_the_start(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "node"
    async with start() as node:
        planted = await plant(node, "zanzibar", "private")
    path, multihash = folder / "data" / "blocks.sqlite", Cid.parse(planted.cid).multihash
    store = await SqliteStore.open(path, own_issuer="did:key:z6Mk")
    await store.records.shred([Cid.parse(planted.cid)])
    await store.close()
    with closing(sqlite3.connect(path)) as beside:
        beside.execute(
            f"CREATE TRIGGER no BEFORE DELETE ON block WHEN OLD.multihash = x'{multihash.hex()}'"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        is_here = "SELECT count(*) FROM block WHERE multihash = ?"
        async with start(cache={"sweep_every_s": 1}) as node:
            assert beside.execute(is_here, (multihash,)).fetchone() == (1,)
            beside.execute("DROP TRIGGER no")
            async with asyncio.timeout(30):
                while beside.execute(is_here, (multihash,)).fetchone() != (0,):
                    await node.get("/livez")


def keys_in(folder: Path) -> set[bytes]:
    """The keys in the key file now."""
    path = folder / "data" / "keys" / "record_keys"
    data = path.read_bytes()[KEY_HEADER_BYTES:] if path.exists() else b""
    slots = [data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)]
    return {slot for slot in slots if any(slot)}


@pytest.mark.parametrize("scope", ["private", "shared"])
async def test_after_an_erasure_without_a_node_the_canary_is_in_no_byte(
    start: Start, tmp_path: Path, scope: str
) -> None:
    folder = tmp_path / "node"
    async with start() as node:
        planted = await plant(node, "zanzibar", scope)
        other = await plant(node, "trinidad", scope)
        vector, others_vector = [await vector_of(node, one.question) for one in (planted, other)]
    assert "vector" in set().union(*found_on_disk(folder, planted, vector).values())
    done = await run("cache", "erase", planted.cid, folder=folder)
    assert done.returncode == 0, done.stderr
    assert found_on_disk(folder, planted, vector) == {}
    assert not [path for path in (folder / "data" / "index").rglob("*") if path.is_file()], (
        "vectors of answers"
    )
    async with start() as node:
        assert other.words["answer"] in (await node.ask(other.question))["answer"]
        assert planted.words["answer"] not in (await node.ask(planted.question))["answer"]
    assert found_on_disk(folder, planted, vector) == {}
    assert "vector" in set().union(*found_on_disk(folder, other, others_vector).values()), "made anew"
