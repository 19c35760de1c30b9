"""What a model's code may say, before anything of it runs."""

from __future__ import annotations

import ast
import builtins
import tomllib
from pathlib import Path

import pytest

from node.agent.sandbox.child import judged
from node.agent.sandbox.ran import End, Job, Limits
from node.agent.sandbox.rules import allowed_builtins, listed, modules, refusal, with_value
from node.agent.sandbox.saved import file_of, saver
from tests.each import each

ESCAPES = tomllib.loads((Path(__file__).parent / "escapes.toml").read_text("utf-8"))["escape"]
WALK = (
    "k = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
    "os = k[0].close.__globals__"
)
REFUSED = [one for one in ESCAPES if one.get("syntax", True)]


def said(code: str, runner: str = "python") -> str:
    found = refusal(
        ast.parse(code.replace("@WALK@", WALK).replace("@PORT@", "1").replace("@PARENT@", "1")),
        modules(runner),
    )
    return "" if found is None else found.reason


def test_there_are_forty_escapes_for_the_first_wall_and_sixty_in_all() -> None:
    assert len({one["code"] for one in REFUSED}) >= 40
    assert len({one["code"] for one in ESCAPES}) >= 60


@each("escape", REFUSED)
def test_an_escape_is_refused_before_it_runs(escape: dict[str, str]) -> None:
    assert said(escape["code"])
    assert said(escape["code"], "monty")


@each("name", sorted(listed("names", "never")))
def test_these_names_are_refused_however_they_stand(name: str) -> None:
    for code in (f"{name}", f"{name}('x')", f"f = {name}", f"{name} = 1", f"def {name}(): pass\n{name}()"):
        assert said(code) in (f"{name} is not allowed", f"the name {name} is not allowed"), code


@each(
    "name",
    sorted(set(vars(builtins)) - allowed_builtins() - listed("names", "special") - {"False", "None", "True"}),
)
def test_a_builtin_beyond_the_list_is_refused(name: str) -> None:
    assert name in said(f"{name}")


@each(
    "module", ["os", "sys", "subprocess", "socket", "ctypes", "importlib", "builtins", "io", "math.os", "_io"]
)
def test_a_module_beyond_the_list_is_refused(module: str) -> None:
    assert "is not allowed; allowed are" in said(f"import {module}")
    assert "is not allowed; allowed are" in said(f"def f():\n    from {module} import x")


def test_a_refusal_names_the_line_and_the_modules() -> None:
    found = refusal(ast.parse("import math\n\n\nimport requests"), modules("monty"))
    assert found is not None
    assert found.line == 4
    assert "statistics" in found.reason
    assert "numpy" not in found.reason


ORDINARY = [
    "import math, statistics, collections, itertools, datetime, re, json\nmath.sqrt(2)",
    "from datetime import date, timedelta\n(date(2026, 3, 1) - date(2026, 2, 1)).days",
    "from collections import Counter, namedtuple\nP = namedtuple('P', 'x')\nP(1)._replace(x=2)",
    "class A:\n    def __init__(self, x): self._x = x\n    def __repr__(self): return f'A({self._x})'\nA(1)",
    "class B(Exception):\n    def __init__(self, m): super().__init__(m)\ntry: raise B(1)\nexcept B as e: e",
    "input = [1, 2]\nsum(input)",
    "def f(dir, vars_=None): return dir\nf(1)",
    "print('{:>5.2f} {a}'.format(3.1, a=1), f'{1:,}', '%d' % 2)",
    "if __name__ == '__main__':\n    print(type(1).__name__)",
    "x = '__class__ of { text }'\nx",
    "def g():\n    yield 1\nlist(g())",
    "async def f(): return 1",
    "import re\np = re.compile('a')\np.match('a').start()",
    "match (1, 2):\n    case (a, b) if a < b: r = a",
]


@each("code", ORDINARY)
def test_ordinary_code_passes(code: str) -> None:
    assert said(code, "monty") == ""


def test_code_that_cannot_be_read_is_told_with_its_line() -> None:
    for code, line in (("x = 1\ndef f(:\n  pass", 2), ("\0", 0), ("(" * 300, 1), ("-" * 60_000 + "1", 0)):
        found = judged(Job(code, Limits()))
        assert isinstance(found, End), code[:20]
        assert found.ended == "syntax"
        assert found.error
        assert found.line == line or code[0] == "-"


@each(
    ("code", "kept"),
    [
        ("1 + 1", "_value = (1 + 1)"),
        ("x = 1", "x = 1"),
        ("é = 'ü'; é  # says é", "é = 'ü'; _value = (é)  # says é"),
        ("(1,\n 2)\n", "_value = ((1,\n 2))\n"),
        ("for i in []:\n  i", "for i in []:\n  i"),
        ("", ""),
        ("'''a\nb'''", "_value = ('''a\nb''')"),
    ],
)
def test_the_last_expression_is_kept_and_no_line_moves(code: str, kept: str) -> None:
    assert with_value(code, ast.parse(code)) == kept
    ast.parse(kept)


@each(
    "name",
    ["../a.csv", "a", "a.py", "a.html", "a.svg", "", ".csv", "a/b.csv", "a\n.csv", "x" * 99 + ".csv", 3],
)
def test_a_saved_file_has_a_plain_name(name: object) -> None:
    with pytest.raises(ValueError, match="a file's name is"):
        file_of(name, "x")


def test_saved_files_are_bounded() -> None:
    kept: list[object] = []
    save = saver(kept.append, Limits(file_bytes=10))
    wrong = ("a.csv", "x" * 11), ("a.png", b"\x89PNG"), ("a.csv", b"\x89PNG\r\n\x1a\n"), ("a.csv", 5)
    for name, data in wrong:
        with pytest.raises(ValueError, match=r"a file may have|picture|save takes"):
            save(name, data)
    for at in range(4):
        save(f"a{at}.csv", [[1, "a"]])
    with pytest.raises(ValueError, match="no more than 4 files"):
        save("b.csv", "x")
    assert len(kept) == 4
