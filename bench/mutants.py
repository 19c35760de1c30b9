"""Whether the tests see a rule that was changed.

``python -m bench.mutants [--seed 18] [--count 30]`` draws rules of ``node/`` and ``adapters/`` by a seeded
random choice, changes one at a time in a copy of this checkout (a comparison, an ``and``, a ``not``, a
number, a truth value) and runs tests until one fails that passes without the change. The fast suite runs
once before, and notes which tests evaluate which of the drawn rules: only their files run for a change, those
of its room first. It prints which test failed, and what no test saw. A change that means the same as before
cannot be seen: a person reads what is left. DeMillo, Lipton, Sayward, "Hints on Test Data Selection", 1978.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUN_LIMIT_S = 900
_FAST = "not engine and not slow"
_ALL = ("tests", "--ignore", "tests/architecture", "--ignore", "tests/unit/docker")
_NOTER = "noter_of_mutants"
_NOTING = """
import os

_noted = set()


def note(key, value):
    line = key + " " + os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if line not in _noted and not line.endswith(" "):
        _noted.add(line)
        with open({!r}, "a") as file:
            file.write(line + "\\n")
    return value
"""
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """The ``number``-th expression of ``path`` that can be changed."""

    path: str
    number: int
    line: int
    function: str


def _is_rule(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[one]):
            return type(one) in _OPPOSITE
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Constant(value=bool() | int() | float()):
            return True
    return False


def _expressions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """What stands in the body of a function, beside the function's name; annotations are none."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                        break
                    if _is_rule(node):
                        yield function.name, node


def rules(root: Path) -> list[Rule]:
    found = []
    for path in sorted([*root.glob("node/**/*.py"), *root.glob("adapters/**/*.py")]):
        name = str(path.relative_to(root))
        nodes = list(_expressions(ast.parse(path.read_text("utf-8"))))
        found += [
            Rule(name, number, getattr(node, "lineno", 0), function)
            for number, (function, node) in enumerate(nodes)
        ]
    return found


def change(source: str, number: int) -> tuple[str, str, str]:
    """The source with that expression changed, the expression before, and after."""
    tree = ast.parse(source)
    node = list(_expressions(tree))[number][1]
    before = ast.unparse(node)
    match node:
        case ast.Compare():
            node.ops = [_OPPOSITE[type(node.ops[0])]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.Constant(value=float() as value):
            node.value = value * 1.25 + 0.01
    return ast.unparse(tree), before, ast.unparse(node)


def _copy(root: Path, to: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)


def marked(source: str, numbers: Sequence[int], key: str) -> str:
    """The source in which those expressions note that they were evaluated; not those of a pattern, which no
    call can stand for."""
    tree = ast.parse(source)
    nodes = list(_expressions(tree))
    wanted = {id(nodes[number][1]): number for number in numbers}

    class Marker(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            number = wanted.get(id(node))
            if not isinstance(node, ast.MatchValue):
                self.generic_visit(node)
            if number is None:
                return node
            call = ast.parse(f"__import__({_NOTER!r}).note({f'{key}:{number}'!r}, None)", mode="eval").body
            assert isinstance(call, ast.Call)
            assert isinstance(node, ast.expr)
            call.args[1] = node
            return call

    return ast.unparse(Marker().visit(tree))


def reached(copy: Path, drawn: Sequence[Rule]) -> dict[Rule, list[str]]:
    """The test files that evaluate each rule, those of its room first; none where nothing is known."""
    sources = {rule.path: (copy / rule.path).read_text("utf-8") for rule in drawn}
    notes = copy / "reached.txt"
    (copy / f"{_NOTER}.py").write_text(_NOTING.format(str(notes)), "utf-8")
    for path, source in sources.items():
        changed = marked(source, [rule.number for rule in drawn if rule.path == path], path)
        (copy / path).write_text(changed, "utf-8")
    _run(copy, "-n", "2", "-m", _FAST, *_ALL, limit_s=RUN_LIMIT_S * 2)
    for path, source in sources.items():
        (copy / path).write_text(source, "utf-8")
    seen: dict[str, dict[str, None]] = {}
    for line in notes.read_text("utf-8").splitlines() if notes.exists() else ():
        key, _, test = line.partition(" ")
        seen.setdefault(key, {})[test.partition("::")[0]] = None
    return {rule: sorted(seen.get(f"{rule.path}:{rule.number}", ()), key=_nearness(rule)) for rule in drawn}


def _nearness(rule: Rule) -> Callable[[str], tuple[int, str]]:
    parts = set(Path(rule.path).with_suffix("").parts)
    return lambda test: (-len(parts & set(Path(test.replace("test_", "")).with_suffix("").parts)), test)


def _run(copy: Path, *words: str, limit_s: int = RUN_LIMIT_S) -> subprocess.CompletedProcess[str] | None:
    """pytest in the copy; None where it did not end in time."""
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    env = {**os.environ, "PYTHONPATH": str(copy)}
    try:
        return subprocess.run(
            line, cwd=copy, env=env, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return None


def seen_by(copy: Path, rule: Rule, source: str, changed: str, files: Sequence[str]) -> str:
    """The first test that fails with the change, alone too, and passes without it; or nothing."""
    path = copy / rule.path
    beside: list[str] = []  # tests that fail by chance, or only beside others
    while True:
        left_out = [word for test in beside for word in ("--deselect", test)]
        path.write_text(changed, "utf-8")
        ran = _run(copy, "-x", "-p", "no:randomly", "-m", _FAST, *left_out, *(files or _ALL))
        if ran is None:
            return f"the tests hang ({RUN_LIMIT_S} s)"
        if ran.returncode == 0:
            return ""
        # without its parameters, which may hold spaces
        failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", ran.stdout, re.MULTILINE)
        if failed is None:
            return f"pytest ended with {ran.returncode}"
        again = _run(copy, failed[1])
        path.write_text(source, "utf-8")
        before = _run(copy, failed[1])
        if again is None or (again.returncode and before is not None and not before.returncode):
            return failed[1]
        beside.append(failed[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutants")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--skip", type=int, default=0, help="how many of the drawn ones were measured before")
    given = parser.parse_args()
    drawn = random.Random(given.seed).sample(rules(ROOT), given.count)[given.skip :]
    unseen = 0
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copy = Path(folder)
        _copy(ROOT, copy)
        files = reached(copy, drawn)
        for rule in drawn:
            path = copy / rule.path
            source = path.read_text("utf-8")
            changed, before, after = change(source, rule.number)
            try:
                test = seen_by(copy, rule, source, changed, files[rule])
            finally:
                path.write_text(source, "utf-8")
            unseen += not test
            print(f"{rule.path}:{rule.line} {rule.function}: {before}  ->  {after}", flush=True)
            unseen_by = f"NO TEST FAILED in {len(files[rule])} files" if files[rule] else "NO TEST RUNS IT"
            print(f"    {test or unseen_by}", flush=True)
    print(f"{len(drawn) - unseen} of {len(drawn)} changed rules were seen by a test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
