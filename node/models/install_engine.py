"""Puts what runs a model into this environment: xllamacpp, which comes prebuilt, where a wheel fits and works
here; else llama-cpp-python, which has no wheels and is compiled from its source package.

Everything here blocks."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from node.core.errors import Unavailable
from node.models.pip import Pip, Tick

LLAMA_CPP = "llama-cpp-python==0.3.36"
XLLAMACPP = "xllamacpp==2026.10.11549"
_TRY_S = 60.0
_BUILD_S_MAX = 2 * 3_600.0


def has_module(name: str) -> bool:
    """Whether it is installed here, without loading it."""
    importlib.invalidate_caches()
    return importlib.util.find_spec(name) is not None


def installed_engine() -> str | None:
    """The name of what can run a model here, the first choice first; None where nothing can."""
    engines = (("xllamacpp", "xllamacpp"), ("llama_cpp", "llama-cpp-python"))
    return next((name for module, name in engines if has_module(module)), None)


def describe_engines() -> list[tuple[str, str]]:
    """What a person should know of them before agreeing: (word, text) lines."""
    if engine := installed_engine():
        return [("engine", f"{engine} is installed")]
    compiled = f"{LLAMA_CPP} is compiled from its source package: 10 to 25 minutes on 2 cores"
    if (reason := why_not_compile()) is not None:
        compiled = f"{LLAMA_CPP} has to be compiled, and cannot be: {reason}"
    return [
        ("engine", f"{XLLAMACPP}, prebuilt: about 50 MB; if it does not fit or work here, the next line"),
        ("else", compiled),
    ]


def why_not_compile() -> str | None:
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        return "there is no C++ compiler (Debian: apt-get install g++)"
    return None


def install_xllamacpp(folder: Path, pip: Pip, tick: Tick) -> None:
    """Install the prebuilt xllamacpp and try whether it can be loaded; one that cannot is taken out again.
    Raises ``Unavailable``."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = folder / "xllamacpp.log"
    words = ["install", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off"]
    pip.run([*words, *pip.options, XLLAMACPP], log, f"{XLLAMACPP} cannot be installed", tick)
    importlib.invalidate_caches()
    # Another process: a library that was built for another processor ends whoever loads it.
    tried = subprocess.run(
        [sys.executable, "-c", "import xllamacpp"],
        env=dict(pip.environ),
        capture_output=True,
        timeout=_TRY_S,
        check=False,
    )
    if tried.returncode != 0:
        pip.run(["uninstall", "--yes", "xllamacpp"], log, "it cannot be removed", tick)
        raise Unavailable(f"{XLLAMACPP} does not run here (status {tried.returncode})")


def install_llama_cpp(folder: Path, pip: Pip, tick: Tick) -> None:
    """Compile and install llama-cpp-python; the builder's words go to a log in ``folder``. Raises
    ``Unavailable``."""
    if (reason := why_not_compile()) is not None:
        raise Unavailable(f"llama-cpp-python cannot be compiled: {reason}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = ["-DLLAVA_BUILD=OFF", "-DGGML_NATIVE=ON"]
    if platform.machine() in ("x86_64", "AMD64"):
        # A virtual machine may show AMX tiles without being able to use them: SIGILL at the first question.
        no_amx = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
        settings += [f"-DCMAKE_C_FLAGS={no_amx}", f"-DCMAKE_CXX_FLAGS={no_amx}"]
    log = folder / "llama-cpp-python.log"
    # Without --verbose pip keeps to itself what the builder says.
    words = ["install", "--verbose", "--no-cache-dir", "--progress-bar", "off", *pip.options]
    words += ["--config-settings", f"cmake.args={';'.join(settings)}", LLAMA_CPP]
    pip.run(words, log, f"{LLAMA_CPP} cannot be built (all of it: {log})", tick, limit_s=_BUILD_S_MAX)
    if not has_module("llama_cpp"):
        raise Unavailable(f"pip says that it installed {LLAMA_CPP}, but it cannot be imported")
