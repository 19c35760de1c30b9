"""The command: what a newcomer types, against a running node and without one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from tests.journeys.conftest import Start
from tests.nowhere import nowhere_environment

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:9"


async def run(
    *words: str, folder: Path, cwd: Path = ROOT, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own."""
    own = {
        "NEUROSWARM_DATA_DIR": str(folder / "data"),
        "NEUROSWARM_GOVERNANCE_DIR": str(folder / "governance_logs"),
        "NEUROSWARM_MODELS__OLLAMA_URL": "",
        **nowhere_environment(),
        "PYTHONPATH": str(ROOT),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "node",
        *words,
        cwd=cwd,
        env={**os.environ, **own, **(environ or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())


async def test_ask_doctor_keys_and_log_of_a_running_node(start: Start) -> None:
    async with start() as node:
        url = ["--url", node.node.url]
        done = await run("ask", *url, "What is 2+2?", folder=node.folder)
        assert done.returncode == 0, done.stderr
        assert "2 + 2 = 4" in done.stdout
        assert "math-calculator" in done.stdout
        done = await run("ask", *url, "--json", "--verbose", "What is 2+2?", folder=node.folder)
        assert json.loads(done.stdout)["source"]["id"] == "math-calculator"
        done = await run("doctor", *url, folder=node.folder)
        assert done.returncode == 0, done.stdout
        assert "a node answers" in done.stdout
        assert "models.ollama_url" in done.stdout
        done = await run("keys", "show", "--json", folder=node.folder)
        keys = json.loads(done.stdout)
        assert keys["root"].startswith("did:key:z6Mk")
        assert keys["ipns_name"].startswith("k51")
        assert set(keys) == {
            "root",
            "node",
            "ipns_name",
            "decisions_vkey",
            "publications_vkey",
            "witness_vkey",
        }
        done = await run("log", "verify", folder=node.folder)
        assert done.returncode == 0, done.stdout
        assert done.stdout.startswith("ok: ")


async def test_without_a_node_the_command_says_what_to_type(tmp_path: Path) -> None:
    done = await run("ask", "--url", NOWHERE, "hello?", folder=tmp_path)
    assert done.returncode == 2
    assert "neuroswarm serve" in done.stderr
    done = await run("doctor", "--url", NOWHERE, "--json", folder=tmp_path)
    checks = {row["check"]: row for row in json.loads(done.stdout)}
    assert checks["running"]["status"] == "warn"
    assert checks["embedder"]["status"] == "pass"
    done = await run("keys", "show", folder=tmp_path)
    assert done.returncode == 1
    assert "first start" in done.stderr


async def test_a_wrong_setting_stops_the_start_with_one_sentence(tmp_path: Path) -> None:
    done = await run("serve", folder=tmp_path, environ={"NEUROSWARM_SERVER__PRT": "1"})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "server.prt" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_foreign_adapters_package_stops_the_start(tmp_path: Path) -> None:
    foreign = tmp_path / "elsewhere" / "adapters"
    foreign.mkdir(parents=True)
    (foreign / "__init__.py").write_text("raise SystemExit('the foreign package was imported')\n")
    environ = {"PYTHONPATH": f"{foreign.parent}{os.pathsep}{ROOT}"}
    done = await run("serve", folder=tmp_path, cwd=tmp_path, environ=environ)
    assert done.returncode == 1
    assert "shadows it" in done.stderr
    assert "was imported" not in done.stderr
