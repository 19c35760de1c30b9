"""The decision log of a running node, checked by a stranger with nothing but its URL; our witness."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from urllib.parse import urlencode

from tests.journeys.conftest import Client, Start
from tests.journeys.proof import leaves, read_receipt
from tests.simulators import rfc6962
from tests.simulators.witness import TIME_S, WitnessStandIn

OTHER = rfc6962.Key("other.example/log")


async def checkpoint(node: Client) -> tuple[int, bytes]:
    """(size, root), the signature checked with the key beside it."""
    _, note, _ = await node.raw("/logs/decisions/checkpoint")
    _, vkey, _ = await node.raw("/logs/decisions/vkey")
    origin, size, root, *_ = rfc6962.read_note(note)
    for line in vkey.decode().split():
        assert line.split("+")[0] == origin
        assert rfc6962.verify(line, note) == 0
    return size, root


async def covering(node: Client, index: int) -> tuple[int, bytes]:
    """The first checkpoint that covers an entry: there is one within about a second."""
    while True:
        found = await checkpoint(node)
        if found[0] > index:
            return found
        await asyncio.sleep(0.05)


async def test_a_stranger_checks_the_decisions(start: Start) -> None:
    async with start() as node:
        replies = [await node.ask(question) for question in ("What is 2+2?", "What is 3*7?", "What is IPFS?")]
        last = max(reply["decision"]["index"] for reply in replies)
        size, root = await covering(node, last)
        entries = await leaves(node, "decisions", size)
        assert rfc6962.tree_hash(entries) == root
        for level, count in ((0, size), (1, size // 256)):
            if width := count % 256:
                status, tile, _ = await node.raw(f"/logs/decisions/tile/{level}/{count // 256:03}.p/{width}")
                assert (status, tile) == (200, rfc6962.tile(level, count // 256, width, entries))
        for index, entry in enumerate(entries):
            assert json.loads(entry)["seq"] == index
        for reply in replies:
            index = reply["decision"]["index"]
            query = urlencode({"log": reply["decision"]["log"]})
            status, proof, headers = await node.raw(f"/logs/decisions/proof/{index}?{query}")
            assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
            of, entry, its_note, path = read_receipt(proof)
            assert (of, entry) == (index, entries[index])
            _, its_size, its_root, *_ = rfc6962.read_note(its_note)
            assert rfc6962.is_included(rfc6962.sha256(b"\x00" + entry), index, its_size, its_root, path)
            assert (await node.raw(f"/logs/decisions/proof/{index}?{query}/2"))[0] == 404
        for name, is_for_ever in (("vkey", False), (f"tile/0/000.p/{len(replies)}", True)):
            running = await node.raw(f"/logs/decisions/epochs/1/{name}")
            assert running[:2] == (200, (await node.raw(f"/logs/decisions/{name}"))[1])
            assert ("immutable" in running[2]["Cache-Control"]) == is_for_ever
        assert (await node.raw("/logs/decisions/epochs/1/checkpoint"))[0] == 200
        everything = b"".join(entries)
        assert b"2+2" not in everything
        assert b"IPFS?" not in everything


async def test_a_verbose_reply_carries_the_receipt_of_its_decision(start: Start) -> None:
    async with start() as node:
        for _ in range(20):  # on a busy machine the first checkpoint may come after the reply
            reply = await node.ask("What is 2+2?", verbose=True)
            if receipt := reply["decision"].get("receipt"):
                break
        of, entry, _, _ = read_receipt(receipt.encode())
        assert (of, json.loads(entry)["seq"]) == (reply["decision"]["index"], of)


async def test_our_witness_cosigns_a_log_of_the_policy(start: Start, tmp_path: Path) -> None:
    policy = tmp_path / "policy.txt"
    await asyncio.to_thread(policy.write_text, f"log {OTHER.vkey}\nquorum none\n")
    entries = [b"%d" % n for n in range(9)]
    shown = f"/witness/{hashlib.sha256(OTHER.name.encode()).hexdigest()}/checkpoint"

    async def submit(node: Client, old: int, size: int) -> tuple[int, bytes]:
        text = rfc6962.checkpoint(OTHER.name, entries[:size])
        signed = rfc6962.note(text, OTHER.line(text))
        body = rfc6962.submission(old, rfc6962.consistency(old, entries[:size]), signed)
        async with node.http.post(f"{node.url}/witness/add-checkpoint", data=body) as response:
            answer = await response.read()
        return response.status, signed + answer if response.status == 200 else answer

    async with start(log={"witness_policy": str(policy)}) as node:
        status, note = await submit(node, 0, 5)
        assert status == 200
        assert (await node.raw(shown))[:2] == (200, note)
        [name] = {name for name, *_ in rfc6962.read_note(note)[3]} - {OTHER.name}
        assert name.endswith(".neuroswarm/witness")
    async with start(log={"witness_policy": str(policy)}) as node:
        assert (await node.raw(shown))[:2] == (200, note)
        assert await submit(node, 0, 6) == (409, b"5\n")
        assert (await submit(node, 5, 9))[0] == 200
        assert (await node.check("witness"))["status"] == "pass"


async def test_others_cosign_our_checkpoints(start: Start, tmp_path: Path) -> None:
    """The first start tells our key; the witness is then given it, as two operators would do."""
    policy = tmp_path / "policy.txt"
    async with start() as node:
        await node.ask("What is 2+2?")
        _, vkey, _ = await node.raw("/logs/decisions/vkey")
    async with WitnessStandIn("witness.example/w", [vkey.decode().strip()]) as witness:
        line = f"witness w {witness.vkey} {witness.url}\nquorum w\n"
        await asyncio.to_thread(policy.write_text, line)
        async with start(log={"witness_policy": str(policy)}) as node:
            reply = await node.ask("What is 3*7?")
            while True:
                status, note, _ = await node.raw("/logs/decisions/checkpoint.witnessed")
                if status == 200 and rfc6962.read_note(note)[1] > reply["decision"]["index"]:
                    break
                await asyncio.sleep(0.05)
            assert rfc6962.verify(witness.vkey, note) == TIME_S
            assert (await node.check("log:witnesses"))["status"] == "pass"
