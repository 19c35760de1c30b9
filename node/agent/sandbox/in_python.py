"""The other runner (extra ``sandbox``): CPython with numpy and pandas, in a process that the kernel holds.

No list of names can hold CPython with such libraries. The wall is the kernel's: after everything is loaded,
the process may ask for memory and the time and write to one pipe; files, sockets, processes and signals are
refused by seccomp, and by bounds of zero besides. The restricted builtins and modules only make errors early.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import io
import math
import os
import resource
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyseccomp

from node.agent.sandbox.child import Send, pieces, plain
from node.agent.sandbox.ran import End, Job, Limits, Out, Started
from node.agent.sandbox.rules import VALUE, allowed_builtins, listed, modules
from node.agent.sandbox.saved import saver
from node.models.llama.child import die_with

_PR_SET_NO_NEW_PRIVS = 38
_PROT_EXEC = 4
_FILE = "main.py"
_WHOLE = ("numpy", "pandas")
"""Libraries that code gets as they are: their inner modules are part of them."""


class _Printed(io.TextIOBase):
    def __init__(self, send: Send) -> None:
        self._send = send

    def write(self, text: str) -> int:
        for piece in pieces(text):
            self._send(Out(piece))
        return len(text)


def run(job: Job, tree: ast.Module, send: Send, out: int) -> None:
    """Run the code here, behind the walls, and tell what came of it."""
    die_with(job.parent)
    loaded = {name: _front(import_module(name)) for name in sorted(_wanted(tree))}
    for name in listed("python", *(f"ahead_{one}" for one in _WHOLE if one in loaded)):
        import_module(name)
    loaded.update((name, import_module(name)) for name in listed("python", "ahead"))
    os.environ.clear()
    sys.stdout = sys.stderr = _Printed(send)
    sys.setrecursionlimit(job.limits.recursion + 100)
    space = {"__builtins__": _builtins(loaded), "__name__": "__main__", "save": saver(send, job.limits)}
    _close(job.limits, out)
    send(Started())
    send(_done(tree, space, job.limits))


def _done(tree: ast.Module, space: dict[str, Any], limits: Limits) -> End:
    try:
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            kept = ast.Assign([ast.Name(VALUE, ast.Store())], last.value)
            tree.body[-1] = ast.fix_missing_locations(ast.copy_location(kept, last))
        exec(compile(tree, _FILE, "exec"), space)  # noqa: S102 - what this process is for
        value = space.get(VALUE)
        return End("done", value="" if value is None else plain(repr(value), limits.output_chars))
    except MemoryError:
        return End("memory", error=f"it needs more than {limits.memory_bytes} bytes")
    except BaseException as exc:  # noqa: BLE001 - the code may raise anything
        return End("error", error=plain(f"{type(exc).__name__}: {exc}"), line=_line(exc))


def _line(exc: BaseException) -> int:
    line, at = 0, exc.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == _FILE:
            line = at.tb_lineno
        at = at.tb_next
    return line


def _wanted(tree: ast.Module) -> frozenset[str]:
    """The modules that the code imports; the syntax was judged, so each is of the list."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return modules("python") & (found | {name.split(".")[0] for name in found})


def _front(module: ModuleType) -> ModuleType:
    """What a module offers, without the modules that it uses itself."""
    if module.__name__.split(".")[0] in _WHOLE:
        return module
    names: Iterable[str] = getattr(module, "__all__", None) or (n for n in dir(module) if n[0] != "_")
    front = ModuleType(module.__name__)
    shown = {name: getattr(module, name) for name in names}
    vars(front).update({name: one for name, one in shown.items() if not isinstance(one, ModuleType)})
    return front


def _builtins(loaded: Mapping[str, ModuleType]) -> dict[str, Any]:
    whole = [loaded[name] for name in _WHOLE if name in loaded]

    def bring(name: str, _globals: Any = None, _locals: Any = None, parts: Any = (), level: int = 0) -> Any:
        top = loaded.get(name.split(".")[0])
        if top in whole and name in sys.modules:  # C code of these libraries imports by the caller's builtins
            return sys.modules[name] if parts else top
        if level or top is None or name not in loaded:
            raise ImportError(f"the module {name} is not allowed")
        if "." in name:
            setattr(top, name.split(".")[1], loaded[name])
        return loaded[name] if parts else top

    found = {name: one for name, one in vars(builtins).items() if name in allowed_builtins()}
    return found | {"__import__": bring, "__build_class__": builtins.__build_class__}


def _close(limits: Limits, out: int) -> None:
    """Close the walls; there is no way back."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
    calls = pyseccomp.SyscallFilter(pyseccomp.ERRNO(1))
    for name in listed("python", "calls"):
        calls.add_rule(pyseccomp.ALLOW, name)
    calls.add_rule(pyseccomp.ALLOW, "write", pyseccomp.Arg(0, pyseccomp.EQ, out))
    for name in ("mmap", "mprotect"):
        calls.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(2, pyseccomp.MASKED_EQ, _PROT_EXEC, 0))
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    space = pages * resource.getpagesize() + limits.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    seconds = math.ceil(limits.time_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.close(0)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    calls.load()
