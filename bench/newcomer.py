"""What a newcomer gets: questions of everyday, facts told and asked in other words, facts that are not
there, casual wordings of starter entries. The sets in ``bench/newcomerlab`` were written by a hand that had
not seen the code.

``python -m bench.newcomer --url http://127.0.0.1:8642 --out FILE.jsonl [--sets harbour,casual,everyday]``
asks a running node (facts are stored in it first) and appends each reply; what is in FILE already is not
asked again. At the end it counts what can be counted by program. Whether a reply to an everyday question is
right, wrong, honest or silly has to be read.

``python -m bench.newcomer --bare MODEL.gguf --out FILE.jsonl`` asks the model itself the questions of
everyday, with no node around it."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from node.core.clock import SystemClock
from node.core.ports import Prompt
from node.core.settings import Models
from node.models.generators.llama import LlamaGenerator
from node.models.llama.process import LLAMA_CPP, XLLAMACPP

LAB = Path(__file__).parent / "newcomerlab"
COMMUNITIES = ("harbour", "library", "company", "theatre", "cohousing", "vet", "makers")
"""Each with facts, questions in other words and questions that no fact answers."""
WAIT_S = 600
HONEST = re.compile(
    r"\b(?:don.t know|could not find|weiß ich nicht|konnte ich nicht|no lo sé|no he podido|ne sais pas"
    r"|n.ai pas pu)\b",
    re.IGNORECASE,
)
BARE = "You are a helpful assistant."
_KEPT = (
    "answer",
    "route",
    "source",
    "confidence",
    "found",
    "support",
    "stored",
    "store_reason",
    "hit",
    "citations",
)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LAB / f"{name}.jsonl").read_text().splitlines()]


def post(url: str, body: Mapping[str, object]) -> dict[str, Any]:
    """The reply, or the problem as one."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as reply:
            read: dict[str, Any] = json.load(reply)
            return read
    except urllib.error.HTTPError as exc:
        return {"answer": f"HTTP {exc.code}: {exc.read(500).decode('utf-8', 'replace')}"}


def communities(sets: str) -> list[str]:
    """Those named in ``sets``. Each wants a node of its own: "the office" is another one elsewhere."""
    return [name for name in COMMUNITIES if name in sets]


def wanted(sets: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for community in communities(sets):
        yield from (("ask", row) for row in rows(f"{community}_asks"))
        yield from (("absent", row) for row in rows(f"{community}_absent"))
    if "casual" in sets:
        yield from (("casual", row) for row in rows("casual_starter"))
    if "everyday" in sets:
        yield from (("everyday", row) for row in rows("everyday"))


def ask(url: str, sets: str, out: Path) -> None:
    """Ask what is not in ``out`` yet, one after the other, the turns of a conversation in one session."""
    done: set[str] = set()
    if out.exists():
        done = {json.loads(line)["item"]["id"] for line in out.read_text().splitlines()}
    for row in (row for name in communities(sets) if not done for row in rows(f"{name}_facts")):
        post(f"{url}/v1/cache/entries", {"query": row["q"], "answer": row["a"]})
    for name, row in wanted(sets):
        if row["id"] in done:
            continue
        turns = row.get("turns") or [row["q"]]
        more = {"session_id": f"newcomer-{row['id']}"} if len(turns) > 1 else {}
        replies = [post(f"{url}/chat", {"query": turn, **more}) for turn in turns]
        told = [{key: reply.get(key) for key in _KEPT} for reply in replies]
        with out.open("a") as file:
            file.write(json.dumps({"set": name, "item": row, "replies": told}, ensure_ascii=False) + "\n")


async def ask_bare(model: Path, out: Path) -> None:
    """The questions of everyday to the model alone: its own chat form, one plain sentence to instruct it."""
    program = XLLAMACPP if XLLAMACPP.is_installed else LLAMA_CPP
    engine = LlamaGenerator(model, SystemClock(), program=program)
    try:
        with out.open("w") as file:
            for row in rows("everyday"):
                turns: list[tuple[str, str]] = []
                for turn in row.get("turns") or [row["q"]]:
                    prompt = Prompt(BARE, turn, tokens_max=Models().tokens_max, turns=tuple(turns))
                    turns.append((turn, (await engine.generate(prompt, timeout_s=WAIT_S)).text))
                told = [
                    dict.fromkeys(_KEPT) | {"answer": answer, "source": {"kind": "llm"}}
                    for _, answer in turns
                ]
                line = {"set": "everyday", "item": row, "replies": told}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
    finally:
        await engine.close()


def count(out: Path) -> Counter[str]:
    """What can be counted by program: right by the words that a right answer has, honest by its own."""
    found: Counter[str] = Counter()
    for line in out.read_text().splitlines():
        row = json.loads(line)
        name, item, reply = row["set"], row["item"], row["replies"][-1]
        text = (reply["answer"] or "").lower()
        kind = (reply["source"] or {}).get("kind", "none")
        found[name] += 1
        found[f"{name}: stored"] += bool(reply["stored"])
        if name == "ask":
            right = any(must.lower() in text for must in item["must"])
            found["ask: right with citation"] += right and bool(reply["citations"])
            found["ask: stored and wrong"] += bool(reply["stored"]) and not right
        elif name == "absent":
            honest = HONEST.search(text) is not None
            found["absent: honest"] += honest
            found["absent: quoted beside"] += not honest and kind == "extractive"
        elif name == "casual":
            is_there = item["query_hash_or_query"] is not None
            found["casual: answered from the cache"] += kind == "cache" and is_there
            found["casual: hit where nothing answers"] += kind == "cache" and not is_there
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.newcomer")
    parser.add_argument("--url", default="http://127.0.0.1:8642")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default="harbour,casual,everyday")
    parser.add_argument("--bare", type=Path, help="a GGUF file, asked instead of a node")
    given = parser.parse_args()
    if given.bare:
        asyncio.run(ask_bare(given.bare, given.out))
    else:
        ask(given.url, given.sets, given.out)
    for name, number in sorted(count(given.out).items()):
        print(f"{name:36} {number}")


if __name__ == "__main__":
    main()
