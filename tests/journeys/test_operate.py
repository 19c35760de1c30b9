"""Operate: health, readiness, metrics, missing engines, orderly stop, kill at any moment."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from node.app.examine import examine
from node.core.errors import CorruptState
from node.core.settings import Embed, Models, Settings
from tests.journeys.conftest import Start
from tests.log_kit import verified
from tests.nowhere import nowhere_environment
from tests.simulators.openai_compatible import EMBED_MODEL, OpenAiStandIn

ROOT = Path(__file__).resolve().parents[2]


async def test_health_names_every_engine_and_what_is_missing(start: Start) -> None:
    async with start() as node:
        status, health = await node.get("/health")
        assert status == 200
        assert health["status"] == "warn"
        assert health["checks"]["semantic"][0]["status"] == "pass"
        assert health["checks"]["ipfs:blocks"][0]["status"] == "pass"
        assert (await node.get("/livez"))[0] == 200
        assert (await node.get("/readyz"))[0] == 200


async def test_the_doctor_does_not_wait_for_an_embedder_that_hangs(tmp_path: Path) -> None:
    async with OpenAiStandIn(hang=True) as server:
        models = Models(ollama_url="", openai_base_url=server.url)
        embed = Embed(engine="openai", model=EMBED_MODEL)
        settings = Settings(data_dir=str(tmp_path), embed=embed, models=models)
        checks = {check.name: check for check in await examine(settings, wait_s=0.5)}
    assert "the openai embedder gave no answer within 0.5 s" in checks["embedder"].output


async def test_the_doctor_goes_on_after_an_embedder_that_stops_the_start(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), embed=Embed(engine="openai"), models=Models(ollama_url=""))
    checks = {check.name: check for check in await examine(settings)}
    assert checks["embedder"].status == "fail"
    assert "the node does not start: setting embed.model is empty" in checks["embedder"].output
    assert checks["model:ollama"].status == "pass"


async def test_without_embeddings_exact_and_keyword_lookup_go_on(start: Start) -> None:
    async with start(embed={"engine": "none"}) as node:
        await node.store("What is a CID?", "A content identifier.")
        for words in ("What is a CID?", "what's a cid"):
            reply = await node.ask(words)
            assert reply["answer"] == "A content identifier.", reply["trace"]
        _, health = await node.get("/health")
        assert health["checks"]["semantic"][0]["status"] == "warn"
        assert "disabled" in health["checks"]["semantic"][0]["output"]


async def test_openapi_describes_exactly_what_is_served(start: Start) -> None:
    from node.api.server import ROUTES

    async with start() as node:
        _, document = await node.get("/openapi.json")
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert described == {(method, path) for method, path, _ in ROUTES}


async def test_a_damaged_log_stops_the_start(start: Start) -> None:
    async with start() as node:
        for _ in range(3):
            await node.ask("What is 2+2?")
        folder = node.folder
    tiles = (folder / "governance_logs" / "tile" / "0" / "000.p").iterdir()
    path = max(tiles, key=lambda tile: int(tile.name))
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(bytes(data))
    report = await verified(folder / "governance_logs")
    assert not report.ok
    assert report.where
    with pytest.raises(CorruptState):
        async with start():
            pass


def _environ(folder: Path) -> dict[str, str]:
    own = {
        "NEUROSWARM_DATA_DIR": str(folder / "data"),
        "NEUROSWARM_GOVERNANCE_DIR": str(folder / "logs"),
        "NEUROSWARM_INDEX_FILE": str(ROOT / "knowledge-index.json"),
        "NEUROSWARM_MODELS__OLLAMA_URL": "",
        **nowhere_environment(),
    }
    return {**os.environ, **own}


async def _serve(folder: Path) -> tuple[asyncio.subprocess.Process, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "node",
        "serve",
        "--port",
        "0",
        cwd=ROOT,
        env=_environ(folder),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    assert line.startswith("listening on http://127.0.0.1:"), line
    return process, line.removeprefix("listening on ")


async def _stop(process: asyncio.subprocess.Process, how: signal.Signals) -> int:
    process.send_signal(how)
    await process.communicate()
    assert process.returncode is not None
    return process.returncode


async def test_the_command_serves_and_stops_in_order(tmp_path: Path) -> None:
    process, url = await _serve(tmp_path)
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{url}/chat", json={"query": "What is 2+2?"}) as response:
            assert "4" in (await response.json())["answer"]
    assert await _stop(process, signal.SIGTERM) == 0
    assert (tmp_path / "data" / "knowledge-index.json").is_file()


async def test_the_node_starts_without_the_packages_for_embeddings_and_models(tmp_path: Path) -> None:
    """S2-78: imports that fail switch semantic look-up off; everything else goes on."""
    script = (
        "import sys\n"
        "for name in ('numpy', 'onnxruntime', 'tokenizers', 'ollama'):\n"
        "    sys.modules[name] = None\n"
        "from node.__main__ import main\n"
        "sys.exit(main(['serve', '--port', '0']))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        cwd=ROOT,
        env={**_environ(tmp_path), "NEUROSWARM_MODELS__OLLAMA_URL": "http://127.0.0.1:9"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip().removeprefix("listening on ")
    assert url.startswith("http://127.0.0.1:"), url
    async with aiohttp.ClientSession() as http:
        for query, part in (("What is 2+2?", "4"), ("What is IPFS?", "InterPlanetary")):
            async with http.post(f"{url}/chat", json={"query": query}) as response:
                assert part in (await response.json())["answer"]
        async with http.get(f"{url}/health") as response:
            health = await response.json()
    assert await _stop(process, signal.SIGTERM) == 0
    assert health["checks"]["semantic"][0]["status"] == "warn"
