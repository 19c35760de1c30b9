"""The wheel by itself, without the checkout: all that a node needs lies in it, and it says what it was made
from. Its dependencies are those of this environment."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from node.core import build
from tests.faults.node_kit import Child, environ_of, typed

ROOT = Path(__file__).resolve().parents[2]
PIP = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is installed of the wheel: built from a copy of what git knows, so that nothing else gets in."""
    tree, made = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if not name.startswith(("tests/", "bench/", "docs/")) and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    told = {**environ_of(made), "SOURCE_COMMIT": "0123456789ab"}
    subprocess.run([*PIP, "-w", made, tree], env=told, check=True, timeout=300)
    [wheel] = made.glob("neuroswarm-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(made / "site")
    assert not list((made / "site").glob("tests*")), "tests stay at home"
    return made / "site"


@pytest.mark.slow
async def test_the_wheel_is_a_whole_node(unpacked: Path, tmp_path: Path) -> None:
    environ = {**environ_of(tmp_path), "PYTHONPATH": str(unpacked)}
    (tmp_path / "empty").mkdir()
    said = await typed(environ, "--version", cwd=tmp_path / "empty")
    assert said.stdout.strip() == "neuroswarm 0.1.0 (commit 0123456789ab)"
    settings = {"PYTHONPATH": str(unpacked), "NEUROSWARM_INDEX_FILE": "knowledge-index.json"}
    node = await Child.spawn(tmp_path, settings=settings, cwd=tmp_path / "empty")
    try:
        await node.listen()
        asked = await typed(environ, "ask", "What is IPFS?", "--json", *_at(node), cwd=tmp_path / "empty")
        answer = json.loads(asked.stdout)
        assert (answer["source"]["id"], answer["hit"]["kind"]) == ("starter", "exact")
    finally:
        assert await node.end() == 0


def _at(node: Child) -> tuple[str, ...]:
    return ("--url", node.url)


def test_a_checkout_names_its_commit() -> None:
    known = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert known.stdout.startswith(build.commit_of(ROOT).removesuffix("-dirty"))


def test_a_folder_in_a_checkout_is_none(tmp_path: Path) -> None:
    assert build.commit_of(ROOT / "node") == build.UNKNOWN
    assert build.commit_of(tmp_path) == build.UNKNOWN


async def test_the_command_says_version_and_commit(tmp_path: Path) -> None:
    said = await asyncio.wait_for(typed(environ_of(tmp_path), "--version"), 60)
    assert re.fullmatch(r"neuroswarm \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}(-dirty)?|unknown)\)\n", said.stdout)
