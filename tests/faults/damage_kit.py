"""A node with something in it, and damage to its files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.faults.node_kit import Client, start

COUNT = 40
PAGE_BYTES = 16_384
QUESTIONS = [f"Name the colour of boat number {number}" for number in range(COUNT)]


def answer(number: int) -> str:
    return f"Boat {number} is painted in shade {number}. " + f"It was built in yard {number}. " * 80


async def filled(folder: Path) -> dict[str, str]:
    """A node that was stopped, with an answer to each question; their CIDs."""
    async with start(folder) as node:
        return {text: await node.store(text, answer(number)) for number, text in enumerate(QUESTIONS)}


async def asked(node: Client, cids: dict[str, str]) -> Counter[str]:
    """What a node says to each question that it knew: right, none (a miss or an honest refusal) or wrong."""
    said: Counter[str] = Counter()
    for number, text in enumerate(QUESTIONS):
        status, reply = await node.post("/v1/cache/search", {"query": text})
        if status != 200 or reply["hit"] is None:
            said["none"] += 1
            said |= {"error": said["error"] + 1} if status >= 500 else {}
        else:
            said["right" if reply["answer"] == answer(number) else "wrong"] += 1
    return said


def flip(path: Path, text: str, *, width: int = 24) -> None:
    """Change bytes of the block in which a text lies."""
    data = bytearray(path.read_bytes())
    at = data.find(text.encode()) + len(text) + 200
    assert at > len(text) + 200
    data[at : at + width] = bytes(byte ^ 0xA5 for byte in data[at : at + width])
    with path.open("r+b") as file:
        file.write(data)


def ruin_page(path: Path, text: str) -> int:
    """Make the page in which a text lies no page any more; how many blocks lay on it at most."""
    data = bytearray(path.read_bytes())
    start = data.find(text.encode()) // PAGE_BYTES * PAGE_BYTES
    assert start >= 0
    data[start : start + 8] = b"\xee" * 8
    with path.open("r+b") as file:
        file.write(data)
    return data.count(b"Name the colour of", start, start + PAGE_BYTES)
