"""``schemathesis``, all its checks, against ``/openapi.json`` of a running node: nothing is answered that the
description does not name, and nothing with a fault of ours. Seeded and bounded."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from aiohttp import web

from tests.faults.node_kit import ROOT, Client, start
from tests.keys_kit import key_of
from tests.openai_kit import front
from tests.simulators.ollama import Seen
from tests.simulators.openai_compatible import OpenAiStandIn

pytestmark = pytest.mark.slow

WITHIN_S = 280
OPENAI = "^/v1/(chat|responses|embeddings|models)"
CONFIG = """
# No schema can say what a CID, a time zone or a message of other protocols is: what fits the schema may be
# refused by name (400, 415, 422), and what a route does not do (501) it does not do for anybody.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 400, 401, 403, 404, 406, 409, 412, 413, 415, 416, 422, 429, 501]

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 416, 422, 429, 501]
"""


async def checked(node: Client, folder: Path, *options: str) -> str:
    """What schemathesis says, all well."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG)
    words = ["--checks", "all", "--seed", "21", "--phases", "examples,coverage,fuzzing", "--no-color"]
    words += ["--max-examples", "8", "--max-time", "45", "--no-shrink", "--continue-on-failure"]
    words += ["--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", f"{node.url}/openapi.json", *words, *options),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.faults.schemathesis_hooks"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(WITHIN_S):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    said = out.decode()
    failed = re.search(r"^=+ (ERRORS|FAILURES) =+$.*", said, re.MULTILINE | re.DOTALL)
    assert process.returncode == 0, failed[0][:20_000] if failed else said[-5_000:]
    made = re.search(r"(\d+) generated", said)
    assert made is not None, said[-2_000:]
    assert int(made[1]) > 100, said[-2_000:]
    return said


class Upstream(OpenAiStandIn):
    """Refuses what it cannot read, as a server does."""

    async def _answer(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        try:
            return await super()._answer(request, seen)
        except (KeyError, TypeError, ValueError, AttributeError):
            said = {"message": "messages cannot be read", "type": "invalid_request_error"}
            return web.json_response({"error": said}, status=400)


async def test_whoever_asks_from_this_machine(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        await node.store("What is a stored thing?", "A thing.")
        await checked(node, tmp_path, "--exclude-path-regex", OPENAI)


async def test_whoever_shows_a_key(tmp_path: Path) -> None:
    async with start(tmp_path) as node:
        key = await key_of(node, "acme", scopes=["admin"], per_minute=1_000_000)
        header = ("--header", f"Authorization: Bearer {key}")
        await checked(node, tmp_path, "--exclude-path-regex", OPENAI, *header)


async def test_clients_of_openais_api(tmp_path: Path) -> None:
    async with Upstream() as server, front(tmp_path, server, embed={}) as node:
        await checked(node, tmp_path, "--include-path-regex", OPENAI)
