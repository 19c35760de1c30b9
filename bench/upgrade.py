"""A data directory of an older version under this one, and under the older one again.

``python -m bench.upgrade --from 520c0b1 --from 3a83ac1`` runs, for each commit of this repository, its own
node: people store, ask, overrule and erase over HTTP, some thousand exact hits make the log long, and
receipts are given out. It is stopped, and this version opens the directory. Looked at are: every live entry
under its CID in its words; that nothing erased is answered or lies in a file; both logs from their first
entry, what was signed before, and the receipts, by a checker in another language (``tests/independent``); the
export; health; a backup made by the clock. Then the way back: the older version on a copy of that directory,
and this one on what it leaves. ``--keep FILE`` packs the directory of the first commit for a test.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from node.store.backup.folder import BackupFolder
from tests.faults.node_kit import ROOT, Child, eventually
from tests.old_world import (
    Version,
    World,
    answered,
    exported,
    fill,
    healthy,
    left,
    stopped,
    verified,
)

OURS = Version()
SHARING = {"NEUROSWARM_SHARING__PUBLISH": "all"}
PACKED = ("data", "governance_logs", "receipts", "signed", "exported.json", "world.json")
UNPACK = "find governance_logs data/publications -path '*tile/entries*' -name '*.gz' -exec gunzip {} +"
"""What docs/operations.md tells who goes back to a version before c1f31a6."""
LEFT_OUT = ("lock", "node.sock", "index", "log_blocks.sqlite", "head_blocks.sqlite")
"""Of a packed directory: what the next start makes again."""


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Version]:
    """A commit of this repository, with what it needs to run beyond what runs us."""
    tree = folder / "tree"
    git = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
    try:
        yield Version(tree, _python(tree, folder / "venv"))
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _python(tree: Path, place: Path) -> str:
    """A Python with the packages that the tree names; ours where that has them all."""
    wanted = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = [re.split(r"[^A-Za-z0-9_.-]", one)[0] for one in wanted]
    missing = [line for line, name in zip(wanted, names, strict=True) if not _is_installed(name)]
    if not missing:
        return sys.executable
    venv.create(place, symlinks=True)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages))
    pinned = tree / "constraints.txt"
    subprocess.run([*pip, *(["-c", str(pinned)] if pinned.exists() else []), *missing], check=True)
    return str(place / "bin" / "python")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


async def written(old: Version, folder: Path, hits: int) -> World:
    """The directory, written by the older version and stopped."""
    async with old.serving(folder, **SHARING) as node:
        world = await fill(node, old, hits=hits)
    stopped(world, folder)
    return world


async def opened(folder: Path, world: World) -> list[str]:
    """This version on that directory: what does not hold."""
    backups = folder / "backups"
    settings = {**SHARING, "NEUROSWARM_BACKUP__FOLDER": str(backups)}
    async with OURS.serving(folder, **settings) as node:
        faults = await answered(node, world)
        faults += await healthy(node)
        await eventually(lambda: node.check("backup"), lambda one: "newest is of" in one["output"], 150)
        faults += await answered(node, world)
    kept = BackupFolder.at(backups)
    kept.check(kept.read(kept.names()[-1]))
    faults += (
        exported(folder, world) + left(folder / "data") + left(folder / "governance_logs") + left(backups)
    )
    faults += await verified(folder, world)
    done = await OURS.type(folder, "log", "verify")
    return faults + ([] if done.returncode == 0 else [f"log verify: {done.stdout} {done.stderr}"])


async def gone_back(old: Version, folder: Path, world: World) -> tuple[str, list[str]]:
    """The older version on a directory that ours wrote: what it says, and what does not hold then, also
    when ours opens it once more."""
    await asyncio.to_thread(subprocess.run, ["sh", "-c", UNPACK], cwd=folder, check=True)
    refused = await refusal(old, folder)
    faults: list[str] = []
    if not refused:
        async with old.serving(folder, **SHARING) as node:
            faults += [f"gone back: {one}" for one in await answered(node, world) + await healthy(node)]
            question = "Which boat was painted after the way back?"
            new = await node.store(question, "The Alder.", scope="shared")
        faults += [f"gone back: {one}" for one in left(folder / "data") + await verified(folder, world)]
        done = await old.type(folder, "log", "verify")
        faults += [] if done.returncode == 0 else [f"gone back: log verify: {done.stdout} {done.stderr}"]
    async with OURS.serving(folder, **SHARING) as node:
        faults += [f"and again: {one}" for one in await answered(node, world) + await healthy(node)]
        if not refused and (await node.ask(question))["cid"] != new:
            faults.append("and again: what was stored after the way back is not found")
    return refused or "opens it", faults + [f"and again: {one}" for one in await verified(folder, world)]


async def refusal(version: Version, folder: Path) -> str:
    """What a version says where it does not start; empty where it does."""
    one = await Child.spawn(
        folder,
        settings={"PYTHONPATH": str(version.tree), **SHARING},
        cwd=version.tree,
        python=version.python,
    )
    try:
        await one.listen()
    except AssertionError:
        return (await one.said()).strip() or "it ended without a word"
    finally:
        await one.end()
    return ""


def pack(folder: Path, target: Path) -> None:
    """The directory as one archive, without what a start makes again."""

    def kept(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        return None if info.name.split("/")[-1].removesuffix("-wal") in LEFT_OUT else info

    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name in PACKED:
            archive.add(folder / name, name, filter=kept)


async def one(commit: str, hits: int, keep: Path | None) -> tuple[list[str], list[str]]:
    """The row of the table for one commit, and what does not hold."""
    with tempfile.TemporaryDirectory(prefix="upgrade-") as name:
        place = Path(name)
        with checked_out(commit, place) as old:
            folder = place / "node"
            folder.mkdir()
            world = await written(old, folder, hits)
            before = left(folder)
            if keep is not None:
                pack(folder, keep)
            faults = await opened(folder, world)
            back = place / "back"
            shutil.copytree(folder, back, ignore=shutil.ignore_patterns("node.sock"))
            said, more = await gone_back(old, back, world)
    row = [
        commit,
        str(world.size),
        str(len(world.live)),
        str(len(faults)),
        said,
        str(len(more)),
    ]
    return row, [*(f"before: {one}" for one in before), *faults, *more]


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign; the exit status is 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="bench.upgrade", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--from", dest="commits", action="append", required=True, metavar="COMMIT")
    parser.add_argument("--hits", type=int, default=3_000, help="exact hits by the older version")
    parser.add_argument("--keep", type=Path, help="where to write the first directory, packed")
    args = parser.parse_args(words)
    print("| written by | log entries | live entries | faults | the way back | faults |")
    print("| --- | --- | --- | --- | --- | --- |")
    all_faults: list[str] = []
    for number, commit in enumerate(args.commits):
        row, faults = asyncio.run(one(commit, args.hits, args.keep if number == 0 else None))
        print("| " + " | ".join(row) + " |", flush=True)
        all_faults += [f"{commit}: {one}" for one in faults]
    for line in all_faults:
        print(line, file=sys.stderr)
    return 1 if all_faults else 0


if __name__ == "__main__":
    sys.exit(main())
