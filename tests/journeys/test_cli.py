"""The command: what a newcomer types, against a running node and without one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from node.cli.main import main
from tests.faults.node_kit import ROOT, Child, Done, environ_of, typed
from tests.journeys.conftest import Start

NOWHERE = "http://127.0.0.1:9"


async def run(
    *words: str, folder: Path, cwd: Path = ROOT, environ: dict[str, str] | None = None, given: bytes = b""
) -> Done:
    """One command beside a node of the journeys."""
    own = {**environ_of(folder), **(environ or {})}
    return await typed(own, *words, cwd=cwd, given=given)


async def ran(*words: str, folder: Path, **more: Any) -> str:
    """What a command prints that goes well."""
    done = await run(*words, folder=folder, **more)
    assert done.returncode == 0, done
    return done.stdout


async def refused(*words: str, folder: Path, **more: Any) -> str:
    """What a command says that does not go well."""
    done = await run(*words, folder=folder, **more)
    assert done.returncode == 1, done
    return done.stderr


async def test_ask_doctor_keys_and_log_of_a_running_node(start: Start) -> None:
    async with start() as node:
        url = ["--url", node.url]
        said = await ran("ask", *url, "What is 2+2?", folder=node.folder)
        assert "2 + 2 = 4" in said
        assert "math-calculator" in said
        done = await run("ask", *url, "--json", "--verbose", "What is 2+2?", folder=node.folder)
        assert json.loads(done.stdout)["source"]["id"] == "math-calculator"
        said = await ran("doctor", *url, folder=node.folder)
        assert "a node answers" in said
        assert len(said.splitlines()) <= 10
        assert "language model" in said
        done = await run("doctor", "--all", *url, folder=node.folder)
        assert "models.ollama_url" in done.stdout
        done = await run("keys", "show", "--json", folder=node.folder)
        keys = json.loads(done.stdout)
        assert keys["root"].startswith("did:key:z6Mk")
        assert keys["ipns_name"].startswith("k51")
        vkeys = {"decisions_vkey", "publications_vkey", "witness_vkey"}
        assert set(keys) == {"root", "node", "ipns_name", *vkeys, "overlap"}
        assert keys["overlap"] == []
        await ran("keys", "rotate", "decisions", folder=node.folder)
        [old] = json.loads((await run("keys", "show", "--json", folder=node.folder)).stdout)["overlap"]
        assert (old["use"], old["vkey"]) == ("decisions", keys["decisions_vkey"])
        shown = (await run("keys", "show", folder=node.folder)).stdout
        assert f"decisions {old['vkey']} until {old['until']}\n" in shown
        said = await ran("log", "verify", folder=node.folder)
        assert said.startswith("ok: ")


@pytest.mark.parametrize(
    "said",
    [
        *(b"[]", b'{"a": 1}', b'{"checks": {"a": []}}', b'{"checks": {"a": [{"output": 1}]}}', b"<html>"),
        pytest.param(b"[" * 200_000, id="without bottom"),
        pytest.param(None, id="another protocol"),
    ],
)
async def test_whatever_else_answers_there_is_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: bytes | None
) -> None:
    """The commands run in this process: to start one takes a second each."""
    for name, value in environ_of(tmp_path).items():
        monkeypatch.setenv(name, value)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if said is None:
            writer.write(b"SSH-2.0-x\r\n")
        else:
            await reader.readuntil(b"\r\n\r\n")
            # One byte short of what is promised where it is HTML: the connection breaks off.
            length = len(said) + (said == b"<html>")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + said)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert await asyncio.to_thread(main, ["ask", "--url", url, "hello?"]) == 2
        assert "neuroswarm serve" in capsys.readouterr().err
        await asyncio.to_thread(main, ["doctor", "--url", url, "--json"])
        looked = capsys.readouterr().out
    said_of = [row["output"] for row in json.loads(looked) if row["check"] == "running"]
    assert len(said_of) == 1
    assert said_of[0].startswith("no node answers")


@pytest.mark.slow
async def test_a_stop_during_a_long_import_is_soon_and_the_next_start_goes_on(tmp_path: Path) -> None:
    entries = [{"query": f"Which river is number {n}?", "answer": f"River {n}."} for n in range(20_000)]
    index = tmp_path / "index.json"
    index.write_text(json.dumps(entries))
    child = await Child.spawn(tmp_path, settings={"NEUROSWARM_INDEX_FILE": str(index)})
    try:
        state = tmp_path / "data" / "state.sqlite"
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(imported, state):
                await asyncio.sleep(0.05)
        child.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            _, said = await child.process.communicate()
    finally:
        if child.process.returncode is None:
            child.process.kill()
            await child.process.communicate()
    assert child.process.returncode == 0, said
    assert 0 < imported(state) < len(entries)


def imported(state: Path) -> int:
    """How many entries a start has noted as imported."""
    if not state.exists():
        return 0
    with (
        contextlib.closing(sqlite3.connect(state)) as database,
        contextlib.suppress(sqlite3.OperationalError),
    ):
        words = "SELECT count(*) FROM meta WHERE key LIKE 'knowledge-index-entry %'"
        return int(database.execute(words).fetchone()[0])
    return 0


async def test_an_address_that_is_no_web_address(tmp_path: Path) -> None:
    (tmp_path / "chat").write_text("{}")
    done = await run("ask", "--url", tmp_path.as_uri(), "hello?", folder=tmp_path)
    assert done.returncode == 2
    assert "not an http address" in done.stderr


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


async def test_a_port_in_use_is_said_plainly(tmp_path: Path) -> None:
    """It ends with one sentence that says so and what to type."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = await run("serve", "--host", "127.0.0.1", "--port", str(port), folder=tmp_path)
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken by " in done.stderr
    assert "for another port type: neuroswarm serve --port " in done.stderr
    assert done.stderr.count("\n") == 1
    assert "listening" not in done.stdout
    assert not (tmp_path / "data").exists(), "nothing is made before the port is there"
