"""A real node for a measurement: ``python -m node serve`` in a process of its own, in a folder of its own.

Another process, so that the client's work and the node's do not share one interpreter. Everything is as
shipped but for what is passed in; settings of the caller's environment and settings files do not reach it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from node.core.clock import SystemClock
from node.core.settings import ENV_PREFIX

OUTSIDE = (
    *("COINGECKO", "COINBASE", "OPEN_METEO", "ESPN", "BALLDONTLIE", "NEWS", "FRANKFURTER"),
    *("SNAPSHOT", "WIKIPEDIA"),
)
"""Sources outside this machine: off, unless a measurement names a stand-in."""
START_TIMEOUT_S = 900.0
STOP_TIMEOUT_S = 90.0
REST_S = 0.1
"""A node that works no longer than that in a second is at rest."""
QUIET_S = 4
REST_S_MAX = 600
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ROOT = Path(__file__).resolve().parents[1]
_LISTENING = "listening on "
_SHOWN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class FreshNode:
    """A node that listens at ``url``; ``start_s``: seconds from the command to that."""

    url: str
    pid: int
    start_s: float

    def resident_mib(self) -> float:
        """Memory of the process now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 2**20


def _environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
    own = {
        "DATA_DIR": str(folder / "data"),
        "GOVERNANCE_DIR": str(folder / "governance_logs"),
        "INDEX_FILE": str(folder / "none.json"),
        "SERVER__PORT": "0",
        "MODELS__OLLAMA_URL": "",
        **{f"ADAPTERS__{name}__ENABLED": "false" for name in OUTSIDE},
        **more,
    }
    return kept | {"PYTHONPATH": str(_ROOT)} | {ENV_PREFIX + name: value for name, value in own.items()}


@asynccontextmanager
async def fresh_node(
    folder: Path, more: Mapping[str, str], *, descriptors: int | None = None, module: str = "node"
) -> AsyncIterator[FreshNode]:
    """Start a node on ``folder`` (again: the same node restarted) and stop it at the end. ``more``: settings
    by their names in the environment, without the prefix; ``descriptors``: how many files it may open;
    ``module``: what runs it. Raises ``RuntimeError`` if it does not start."""
    clock = SystemClock()
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    log = folder / "node.log"
    limited = () if descriptors is None else ("sh", "-c", f'ulimit -n {descriptors} && exec "$0" "$@"')
    started = clock.monotonic()
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(*limited, sys.executable, "-m", module, "serve"),
            cwd=folder,
            env=_environment(folder, more),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_TIMEOUT_S):
            line = (await process.stdout.readline()).decode()
        if not line.startswith(_LISTENING):
            raise RuntimeError(f"the node did not start: {log.read_text()[-_SHOWN_CHARS:]}")
        yield FreshNode(line.removeprefix(_LISTENING).strip(), process.pid, clock.monotonic() - started)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def processor_s(pid: int) -> float:
    """Seconds that all threads of this process have worked so far, ended ones too."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def at_rest(pid: int) -> float:
    """Wait until a node has done what follows its start and its first answers (answers of stored entries are
    embedded in the background): ``QUIET_S`` seconds with little work. The seconds of processor that took."""
    before = was = processor_s(pid)
    quiet = 0
    for _ in range(REST_S_MAX):
        await asyncio.sleep(1.0)
        now = processor_s(pid)
        quiet = quiet + 1 if now - was < REST_S else 0
        if quiet == QUIET_S:
            break
        was = now
    return now - before


def spread(values_ms: list[float]) -> str:
    """``min / p50 / p95`` of milliseconds, as it stands in the tables; a dash where nothing was measured."""
    if not values_ms:
        return "–"
    figures = (min(values_ms), *np.percentile(values_ms, [50, 95]))
    return " / ".join(f"{figure:.1f}" if figure < 1_000 else f"{figure:,.0f}" for figure in figures)


def load_average() -> str:
    """How busy the machine is, the measurement included."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
