"""How large the house is: ``python -m bench.size [COMMIT …]``, a column a commit (default: HEAD).

Lines and statements (nodes of the syntax tree that are statements) of Python by room, what is over the
limits (functions over 80 lines, classes over 400, files over 500), bytes of data by kind, words of README.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("node", "adapters")
PARTS = (*PRODUCT, "bench", "tests")
FUNCTION_MAX, CLASS_MAX, FILE_MAX = 80, 400, 500
CODE = ".py"


def tree(commit: str) -> dict[PurePosixPath, bytes]:
    """The files of a commit."""
    done = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    files = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)) is not None:
                files[PurePosixPath(member.name)] = file.read()
    return files


def _length(one: ast.AST) -> int:
    return one.end_lineno - one.lineno + 1 if isinstance(one, ast.stmt) and one.end_lineno else 0


def figures(files: Mapping[PurePosixPath, bytes]) -> dict[str, int]:
    """Name → figure, in the order of the table."""
    found: Counter[str] = Counter()
    code = {path: data for path, data in files.items() if path.suffix == CODE}
    rows = {part: {path: data for path, data in code.items() if path.parts[0] == part} for part in PARTS}
    product = {**rows["node"], **rows["adapters"]}
    for name, some in {"node and adapters": product, "bench": rows["bench"], "tests": rows["tests"]}.items():
        found[f"{name}: files"] = len(some)
        found[f"{name}: lines"] = sum(data.count(b"\n") for data in some.values())
        trees = [ast.parse(data) for data in some.values()]
        found[f"{name}: statements"] = sum(
            isinstance(one, ast.stmt) for each in trees for one in ast.walk(each)
        )
    nodes = [one for data in product.values() for one in ast.walk(ast.parse(data))]
    functions = [_length(one) for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [_length(one) for one in nodes if isinstance(one, ast.ClassDef)]
    found["longest function"], found["longest class"] = max(functions), max(classes)
    found[f"functions over {FUNCTION_MAX} lines"] = sum(one > FUNCTION_MAX for one in functions)
    found[f"classes over {CLASS_MAX} lines"] = sum(one > CLASS_MAX for one in classes)
    found[f"files over {FILE_MAX} lines"] = sum(data.count(b"\n") > FILE_MAX for data in product.values())
    found["rooms below node"] = len({path.parts[1] for path in rows["node"] if len(path.parts) > 2})
    found["Python files beside the rooms"] = sum(len(path.parts) == 2 for path in rows["node"])
    for path, data in files.items():
        if path.parts[0] in PRODUCT and path.suffix != CODE:
            found[f"data of node and adapters, {path.suffix or 'other'}: bytes"] += len(data)
    found["bench: bytes of data"] = sum(
        len(data) for path, data in files.items() if path.parts[0] == "bench" and path.suffix != CODE
    )
    found["README: words"] = len(files.get(PurePosixPath("README.md"), b"").split())
    return dict(found)


def main(arguments: Sequence[str] | None = None) -> int:
    commits = list(sys.argv[1:] if arguments is None else arguments) or ["HEAD"]
    columns = [figures(tree(commit)) for commit in commits]
    print("| what | " + " | ".join(commits) + " |\n|---|" + "---|" * len(commits))
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"| {name} | " + " | ".join(f"{column.get(name, 0):,}" for column in columns) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
