"""Operate: health, readiness, missing engines, the doctor, orderly stop."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from node.app.examine import examine
from node.core.errors import CorruptState, Misconfigured
from node.core.settings import Embed, Models, Settings
from tests.faults.node_kit import child
from tests.journeys.conftest import STARTER, Start
from tests.log_kit import verified
from tests.nowhere import NOBODY
from tests.simulators.openai_compatible import EMBED_MODEL, OpenAiStandIn


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
        check = await node.check("semantic")
        assert (check["status"], "disabled" in check["output"]) == ("warn", True)


async def test_openapi_describes_exactly_what_is_served(start: Start) -> None:
    from node.api.server import ROUTES

    async with start() as node:
        _, document = await node.get("/openapi.json")
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert described == {(method, path) for method, path, _ in ROUTES}


async def test_a_second_node_on_the_same_data_is_refused(start: Start) -> None:
    async with start():
        with pytest.raises(Misconfigured, match="in use"):
            async with start():
                pass


async def test_a_damaged_log_is_mended_or_stops_the_start(start: Start) -> None:
    async with start() as node:
        for _ in range(3):
            await node.ask("What is 2+2?")
        folder = node.folder
    log = folder / "governance_logs"

    async def damage(level: str) -> None:
        path = max((log / "tile" / level / "000.p").iterdir(), key=lambda tile: int(tile.name))
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 1
        path.write_bytes(bytes(data))
        report = await verified(log)
        assert not report.ok
        assert report.where

    await damage("0")
    async with start():
        pass
    assert (await verified(log)).ok
    await damage("entries")
    shutil.rmtree(log / "journal")
    for path in sorted((log / "tile/entries/000.p").iterdir(), key=lambda tile: int(tile.name))[:-1]:
        path.unlink()  # else these have what is damaged
    with pytest.raises(CorruptState, match="Restore the folder from a copy"):
        async with start():
            pass


async def test_the_command_serves_and_stops_in_order(tmp_path: Path) -> None:
    async with child(tmp_path) as (process, node):
        assert "4" in (await node.ask("What is 2+2?"))["answer"]
        assert await process.end() == 0
    assert (tmp_path / "data" / "knowledge-index.json").is_file()


async def test_the_node_starts_without_the_packages_for_embeddings_and_models(tmp_path: Path) -> None:
    """S2-78: imports that fail switch semantic look-up off; everything else goes on."""
    script = (
        "import sys\n"
        "for name in ('numpy', 'onnxruntime', 'tokenizers', 'ollama'):\n"
        "    sys.modules[name] = None\n"
        "from node.__main__ import main\n"
        "sys.exit(main())\n"
    )
    settings = {
        "NEUROSWARM_EMBED__ENGINE": "local",
        "NEUROSWARM_INDEX_FILE": str(STARTER),
        "NEUROSWARM_MODELS__OLLAMA_URL": NOBODY,
    }
    async with child(tmp_path, command=("-c", script), **settings) as (process, node):
        assert "4" in (await node.ask("What is 2+2?"))["answer"]
        assert "InterPlanetary" in (await node.ask("What is IPFS?"))["answer"]
        assert (await node.check("semantic"))["status"] == "warn"
        assert await process.end() == 0
