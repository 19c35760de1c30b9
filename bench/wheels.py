"""Which locked dependencies have a wheel for a machine, and which are built there from source.

``python -m bench.wheels [--lock run|dev]`` asks the registry for each platform and Python version, installs
nothing, and prints a table. It needs ``uv`` (``make lock`` puts it into ``.venv/lock``).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UV = Path(sys.prefix) / "lock" / "bin" / "uv"
PLATFORMS = {
    "Linux x86-64": "x86_64-unknown-linux-gnu",
    "Linux arm64": "aarch64-unknown-linux-gnu",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_NOTHING = re.compile(r"Because (\S+) has no source distribution")
_NO_WHEEL = re.compile(r"Because (?:only )?(?:the following versions of )?([a-z0-9-]+)==\S+ has no ")


def from_source(lock: Path, platform: str, python: str) -> list[str] | str:
    """The packages without a wheel there; a line in words where the registry's answer is another."""
    built: list[str] = []
    while True:
        allowed = [word for name in built for word in ("--no-binary", name)]
        with tempfile.TemporaryDirectory() as target:
            asked = ["--only-binary", ":all:", *allowed, "--target", target, "-r", str(lock)]
            asked += ["--python-platform", platform, "--python-version", python]
            done = subprocess.run(
                [str(UV), "pip", "install", "--quiet", "--dry-run", "--no-deps", *asked],
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode == 0:
            return built
        if nothing := _NOTHING.search(done.stderr):
            return f"not to be had: no wheel and no source of {nothing[1]}"
        found = _NO_WHEEL.search(done.stderr)
        if found is None or found[1] in built:
            return " ".join(done.stderr.split())[:200]
        built.append(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--lock", default="run", choices=("run", "dev"))
    lock = ROOT / "requirements" / f"{parser.parse_args().lock}.txt"
    packages = len(re.findall(r"^[\w.-]+==", lock.read_text(), re.MULTILINE))
    print(f"{packages} packages; built from source:\n")
    print("| platform | " + " | ".join(f"Python {one}" for one in PYTHONS) + " |")
    print("| --- " * (1 + len(PYTHONS)) + "|")
    for name, platform in PLATFORMS.items():
        cells = []
        for python in PYTHONS:
            found = from_source(lock, platform, python)
            cells.append(found if isinstance(found, str) else ", ".join(found) or "none")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
