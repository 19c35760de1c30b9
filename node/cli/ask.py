"""The command ``neuroswarm ask``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from node.cli.http import NOBODY, NoNode, base, call, call_stream
from node.cli.streaming import LiveAnswer
from node.cli.terminal import complain, refused, tell
from node.core.settings import Settings


def ask(args: argparse.Namespace, settings: Settings) -> int:
    """Ask, and show what comes back."""
    body: dict[str, Any] = {"query": " ".join(args.question), "verbose": args.verbose}
    if args.session:
        body["session_id"] = args.session
    if args.no_cache:
        body["no_cache"] = True
    address = base(args, settings)
    # Piece by piece for somebody who watches; whole for a pipe or a program.
    live = LiveAnswer() if sys.stdout.isatty() and not args.json else None
    wait_s = settings.server.request_timeout_s + 5
    try:
        if live is not None:
            status, reply = call_stream(f"{address}/chat", body, wait_s, live.hear)
        else:
            status, reply = call(f"{address}/chat", body, wait_s)
    except NOBODY as exc:
        raise NoNode(address, exc) from exc
    if args.json:
        tell(args, reply, [], is_ascii=False)
        return 0 if status == 200 else 1
    if status != 200:
        if live is not None:
            live.hear("reset", {})
        return refused(reply)
    if not {"answer", "source", "confidence", "hit", "cid", "decision"} <= reply.keys():
        complain(f"what answers at {address} is no node; start one with: neuroswarm serve")
        return 2
    if live is not None:
        live.end(reply["answer"])
    else:
        print(reply["answer"])
    for word, text in _facts(reply):
        print(f"  {word:<11} {text}")
    for step in reply.get("trace", []):
        print(f"  {step['stage']:<24} {step['outcome']:<10} {step['ms']:>9.1f} ms  {step['reason']}")
    return 0


def source_lines(source: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where an answer comes from. Of what a client stored, who that was; what it names as its source is a
    claim."""
    client = source.get("client")
    if client is None:
        yield "source", f"{source['kind']}: {source['id']}"
        return
    yield "source", f"{source['kind']}: a client stored it ({client['by']})"
    if client["claim"] is not None:
        yield "it claims", f"source {client['claim']} (nobody has checked that)"


def _facts(reply: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What stands below an answer."""
    if reply.get("retry_after_s"):
        yield "ask again", f"in {reply['retry_after_s']} s: no language model had time"
    source = reply["source"]
    yield from source_lines(source)
    yield "confidence", f"{reply['confidence']:.2f}"
    sure = [(word, reply.get(name)) for word, name in (("found", "found"), ("supported", "support"))]
    if evidence := ", ".join(f"{word} {share:.2f}" for word, share in sure if share is not None):
        yield "evidence", evidence
    if hit := reply["hit"]:
        yield "from cache", f"{hit['kind']}, {hit['age_s']} s old: {hit['reason']}"
    if reply.get("unverified"):
        yield "unverified", "a model said it, and nothing that is known here supports it"
    if reply.get("draft"):
        yield "draft", "the model said the same a while ago; --no-cache asks it again"
    if reply.get("store_reason") and source["kind"] in ("llm", "extractive"):
        yield "not stored", f"{reply['store_reason']} (request {reply['request_id']})"
    if reply["cid"]:
        yield "record", reply["cid"]
    if reply["decision"]:
        yield "decision", f"#{reply['decision']['index']}"
