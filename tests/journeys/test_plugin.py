"""The adapter of docs/adding-an-adapter.md, loaded from that page into a running node."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.journeys.conftest import Start

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-an-adapter.md"


async def test_the_documented_adapter_answers_without_a_change_to_any_file(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "airports_of_the_docs.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    environ = {"NEUROSWARM_ADAPTERS__PLUGINS": "airports_of_the_docs:build"}
    try:
        async with start(environ=environ) as node:
            reply = await node.ask("Which airport is LHR?", session_id="s")
            assert reply["answer"] == "LHR is London Heathrow."
            assert reply["source"] == {"kind": "adapter", "id": "airports"}
            assert reply["slots"] == {"code": "lhr"}
            again = await node.ask("and JFK?", session_id="s")
            assert again["answer"] == "JFK is John F. Kennedy in New York."
            assert (await node.check("adapter:airports"))["status"] == "pass"
    finally:
        sys.modules.pop("airports_of_the_docs", None)


async def test_a_plugin_that_cannot_be_loaded_stops_the_start_with_its_name(start: Start) -> None:
    from node.core.errors import Misconfigured

    with pytest.raises(Misconfigured, match=r"adapters\.plugins.*no_such_module:build"):
        async with start(environ={"NEUROSWARM_ADAPTERS__PLUGINS": "no_such_module:build"}):
            pass
