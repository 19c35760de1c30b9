"""No operator's words in what a person is told: names of settings, variables, errors, paths, options, ports.

The fixed replies are swept where they stand: data files, and the clauses that adapters write out."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = re.compile(
    r"NEUROSWARM_|\b\w+_\w+|"  # environment variables, settings, JSON members
    r"\b(?:server|models|ipfs|sharing|adapters|log|cache|store)\.[a-z]+|"
    r"(?<!\w)--?[a-z]|"  # options
    r"\b\w*(?:Error|Exception)\b|Traceback|errno|"
    r"(?<![\w.])~?/[a-z]\w*|\.(?:toml|json|sqlite|py|env|yaml)\b|"  # paths and files
    r"localhost|\b\d+\.\d+\.\d+\.\d+|\bport \d|:\d{2,5}\b|"
    r"\bHTTP\b|\bPOST\b|\bGET\b|\bJSON\b|\bpip\b"
)
ASKED_FOR = {
    "talk.teach": "asks how facts are put in, which is a command or a program's request",
    "talk.data": "asks where data is kept and what lets it out: the folder and the setting are the answer",
    "talk.erase": "asks how an answer is erased, which is a command",
}
"""Replies that may hold such words, and why."""


def replies() -> Iterator[tuple[str, str]]:
    for code, said in json.loads((ROOT / "node/answer/reasons.json").read_text("utf-8")).items():
        yield from ((f"asker.{code}.{key}", text) for key, text in said.items())
    for path in sorted((ROOT / "node/language/data").glob("??/conversation.json")):
        data = json.loads(path.read_text("utf-8"))
        said = {f"talk.{topic}": one["reply"] for topic, one in data["talk"].items()}
        for table in ("acknowledge", "order_replies"):
            said |= {f"{table}.{key}": text for key, text in data[table].items()}
        yield from ((f"{path.stem}.{key}", text) for key, text in said.items() if key not in ASKED_FOR)
    for code, said in tomllib.loads((ROOT / "node/pipeline/own_facts.toml").read_text("utf-8"))[
        "replies"
    ].items():
        yield from ((f"own_facts.{code}.{key}", text) for key, text in said.items())


def clauses() -> Iterator[tuple[str, str]]:
    """What the adapters say of themselves in ``Missed``, ``Unclear`` and ``NotFound``, without what they fill
    in."""
    for path in sorted((ROOT / "adapters").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            if node.func.id in ("Missed", "Unclear", "NotFound"):
                said = node.args[0]
                said = constants.get(said.id, said) if isinstance(said, ast.Name) else said
                if text := "".join(_texts(said)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        for part in node.values:
            yield from _texts(part)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield " "
        yield from _texts(node.orelse)


def test_no_operators_words_in_what_a_person_is_told() -> None:
    told = [*replies(), *clauses()]
    assert len(told) > 500
    found = {
        where: match.group()
        for where, text in told
        if (match := OPERATORS.search(re.sub(r"\{\w+\}", "…", text))) is not None
    }
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "set models.window_tokens", "set NEUROSWARM_PORT", "session_id is missing", "use --session NAME",
        "ValueError: x", "see /var/lib", "see settings.toml", "127.0.0.1 refused", "on port 8642",
        "host:8642",
    ],
)  # fmt: skip
def test_the_sweep_sees_them(text: str) -> None:
    assert OPERATORS.search(text) is not None
