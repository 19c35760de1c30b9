"""The systemd unit, read as data; ``systemd-analyze`` looks at it where it is installed."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from node.core.settings import Settings

UNIT = Path(__file__).resolve().parents[3] / "docker" / "neuroswarm.service"


def _service() -> configparser.SectionProxy:
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str  # names of systemd have capitals
    read.read(UNIT)
    return read["Service"]


def test_it_runs_without_rights_and_writes_in_one_place() -> None:
    service = _service()
    for name in ("DynamicUser", "NoNewPrivileges", "ProtectHome", "PrivateTmp"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    assert service["StateDirectoryMode"] == "0700"


def test_a_stop_has_time_to_end_its_writes() -> None:
    assert float(_service()["TimeoutStopSec"]) > Settings().server.shutdown_timeout_s


def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed here")
    command = tmp_path / "neuroswarm"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/neuroswarm/bin/neuroswarm", str(command)))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])
