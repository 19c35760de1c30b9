"""What ``pyproject.toml`` cannot say of a build: the starter index and the commit go into the wheel.

Both are made at build time, so that the repository holds neither twice. ``SOURCE_COMMIT`` in the environment
names the commit where the build sees no checkout (an image).
"""

from __future__ import annotations

import os
import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
INDEX = "knowledge-index.json"
COMMIT = Path("node") / "core" / "commit"


def commit() -> str:
    """As told, as git says, or as an unpacked source distribution has it."""
    build: dict[str, Any] = runpy.run_path(str(ROOT / "node" / "core" / "build.py"))
    found = os.environ.get("SOURCE_COMMIT") or build["commit_of"](ROOT)
    if found == build["UNKNOWN"] and (ROOT / COMMIT).is_file():
        return (ROOT / COMMIT).read_text("utf-8").strip()
    return str(found)


def put_commit(folder: Path) -> None:
    (folder / COMMIT).write_text(commit() + "\n", "utf-8")


class Build(build_py):
    def run(self) -> None:
        if self.editable_mode:
            super().run()
            return
        built = Path(self.build_lib)
        shutil.rmtree(built, ignore_errors=True)  # what an earlier build left would get into this wheel
        super().run()
        shutil.copyfile(ROOT / INDEX, built / "node" / "app" / INDEX)
        put_commit(built)


class Source(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        shutil.copyfile(ROOT / INDEX, Path(base_dir) / INDEX)
        (Path(base_dir) / COMMIT).unlink(missing_ok=True)  # never write through a hard link
        put_commit(Path(base_dir))


setup(cmdclass={"build_py": Build, "sdist": Source})
