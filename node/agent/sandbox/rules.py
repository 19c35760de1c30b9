"""What a model's code may say: its syntax is read and judged before anything of it runs.

Pure. These rules are the first wall and not the only one: what slips through meets an interpreter without a
host (``in_monty``) or a process that the kernel holds (``in_python``).
"""

from __future__ import annotations

import ast
import builtins
import string
from collections.abc import Iterator
from typing import NamedTuple

from node.language.tables import read_table

_PACKAGE = "node.agent.sandbox"
VALUE = "_value"
"""The name under which the code's last expression is kept."""


def listed(table: str, *keys: str) -> frozenset[str]:
    """The words of these lists of ``rules.toml``."""
    found = read_table(_PACKAGE, "rules.toml")[table]
    return frozenset(word for key in keys for word in found[key].split())


def modules(runner: str) -> frozenset[str]:
    """What code may import under ``runner``."""
    return listed("modules", "both", "python") if runner == "python" else listed("modules", "both")


def allowed_builtins() -> frozenset[str]:
    """Those of the list, and the exceptions."""
    errors = (
        name
        for name, one in vars(builtins).items()
        if isinstance(one, type) and issubclass(one, BaseException)
    )
    return listed("names", "builtins") | frozenset(errors) | {"NotImplemented", "Ellipsis"}


class Refusal(NamedTuple):
    """``line``: from 1, 0 where there is none."""

    line: int
    reason: str


def refusal(tree: ast.Module, allowed: frozenset[str]) -> Refusal | None:
    """The first thing that the code may not say; ``allowed``: the modules."""
    special, inner = listed("names", "special"), listed("names", "inner")
    never, known = listed("names", "never"), frozenset(vars(builtins)) - allowed_builtins() - special
    own = frozenset(_bound(tree))
    line = 0
    for node in ast.walk(tree):
        line = getattr(node, "lineno", line)
        for word in _words(node):
            if word.startswith("__") and word not in special:
                return Refusal(line, f"the name {word[:80]} is not allowed")
            if word in inner:
                return Refusal(line, f"{word} is not allowed")
        if isinstance(node, ast.Name) and (node.id in never or (node.id in known and node.id not in own)):
            return Refusal(line, f"{node.id} is not allowed")
        said = _import(node, allowed) or _format(node)
        if said:
            return Refusal(line, said)
    return None


def with_value(code: str, tree: ast.Module) -> str:
    """The code, its last expression kept under ``VALUE``, each line where it was; lines end with \\n."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or last.end_lineno is None or last.end_col_offset is None:
        return code
    lines = code.encode().split(b"\n")  # columns of the tree count bytes
    end, begin = last.end_lineno - 1, last.lineno - 1
    lines[end] = lines[end][: last.end_col_offset] + b")" + lines[end][last.end_col_offset :]
    head = f"{VALUE} = (".encode()
    lines[begin] = lines[begin][: last.col_offset] + head + lines[begin][last.col_offset :]
    return b"\n".join(lines).decode()


def _words(node: ast.AST) -> Iterator[str]:
    """Every identifier that a node of any kind holds; texts are no identifiers."""
    if isinstance(node, ast.Constant):
        return
    for name, value in ast.iter_fields(node):
        if name == "type_comment":
            continue
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, str):
                yield from one.split(".")


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def _import(node: ast.AST, allowed: frozenset[str]) -> str:
    if isinstance(node, ast.Import):
        names = [one.name for one in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = ["." * node.level + (node.module or "")]
    else:
        return ""
    wrong = [name for name in names if name not in allowed]
    return (
        f"the module {wrong[0][:80]} is not allowed; allowed are {', '.join(sorted(allowed))}"
        if wrong
        else ""
    )


def _format(node: ast.AST) -> str:
    """``str.format`` reads attributes by names in the text, so the text has to stand there and name none."""
    if not isinstance(node, ast.Attribute) or node.attr != "format":
        return ""
    text = node.value.value if isinstance(node.value, ast.Constant) else None
    if not isinstance(text, str):
        return "format is allowed on a text that stands in the code; write an f-string"
    return "" if _plain(text, 2) else "a field of format may not name attributes or items; write an f-string"


def _plain(text: str, depth: int) -> bool:
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return True  # it raises when it runs
    return (
        all(not set(name) & set(".[") and _plain(spec or "", depth - 1) for name, spec in fields)
        and depth > 0
    )
