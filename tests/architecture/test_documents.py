"""Documents say what is true: every setting, route and command in the code stands in them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from node.api.server import ROUTES
from node.core.settings import describe

ROOT = Path(__file__).resolve().parents[2]


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([a-z_.]+)` \|", text, re.MULTILINE))
    assert {key for key, _, _ in describe()} <= documented
    for key, _, default in describe():
        if default not in ("", "()"):
            assert f"| `{key}` | `{default}` |" in text, key


def test_every_route_is_documented() -> None:
    text = (ROOT / "docs" / "http-api.md").read_text(encoding="utf-8")
    for method, path, _ in ROUTES:
        assert f"| `{method} {path}` |" in text, (method, path)


def test_scripts_import_only_through_the_front() -> None:
    """A script is not seen by the import rules, so it is held to them here."""
    tree = ast.parse((ROOT / "batch_embed.py").read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = [f"node.{alias}" if name == "node" else name for name in names for alias in ("settings",)]
    own = [name for name in names if name.split(".")[0] in ("node", "adapters")]
    front = ("node.app.transfer", "node.models.embedders", "node.core")
    assert all(name.startswith(front) for name in own), own


def test_no_file_is_dead() -> None:
    """Every module under node/ and adapters/ is imported by another one, or run as a program, by name."""
    files = [*ROOT.glob("node/**/*.py"), *ROOT.glob("adapters/**/*.py")]
    sources = {path: path.read_text(encoding="utf-8") for path in [*files, ROOT / "batch_embed.py"]}
    for path in files:
        name = path.stem
        if name in ("__init__", "__main__"):
            continue
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        parent = dotted.rsplit(".", 1)[0]
        named = re.compile(
            rf"(from {re.escape(dotted)} import|import {re.escape(dotted)}\b|"
            rf"from {re.escape(parent)} import [^\n]*\b{name}\b|"
            rf"from {re.escape(parent)} import \([^)]*\b{name}\b|"
            rf"\"{re.escape(dotted)}\")"
        )
        others = (text for other, text in sources.items() if other != path and name in text)
        assert any(map(named.search, others)), dotted
