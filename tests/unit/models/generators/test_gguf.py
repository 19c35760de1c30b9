"""Which program holds a GGUF, and several questions at once in one child."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.ports import Prompt
from node.models.generators.gguf import GgufGenerator
from node.models.generators.llama import LlamaGenerator
from node.models.llama import gguf_file
from node.models.llama.process import Program
from tests.simulators.llama import LlamaStandIn
from tests.simulators.llama_child import Script

PROMPT = Prompt("", "Why?", tokens_max=60)
ABSENT = Program(("false",), "no_such_package_xyz", "nosuch", "xllamacpp")


def over(stand_in: LlamaStandIn, program: Program, slots: int = 1) -> LlamaGenerator:
    return LlamaGenerator(stand_in.path, SystemClock(), program=program, slots=slots)


@pytest.mark.parametrize("how", ["crash", "fail", "absent"])
async def test_a_program_that_cannot_load_it_gives_way_to_the_next(how: str) -> None:
    async with LlamaStandIn(script=Script(loading=how)) as broken, LlamaStandIn() as good:
        first = ABSENT if how == "absent" else replace(broken.program, engine="xllamacpp")
        one = GgufGenerator([over(broken, first, 2), over(good, good.program)])
        assert (one.name, one.slots) == ("xllamacpp", 2)
        draft = await one.generate(PROMPT, timeout_s=30)
        assert draft.engine == one.name == "llama_cpp"
        assert one.slots == 1
        check = await one.probe()
        assert check.status == "pass"
        assert "xllamacpp cannot be used: " in check.output
        await one.close()
        with pytest.raises(Unavailable):
            await one.generate(PROMPT, timeout_s=1)


async def test_a_program_that_has_loaded_it_stays() -> None:
    async with LlamaStandIn() as first, LlamaStandIn() as second:
        other = replace(first.program, engine="xllamacpp")
        one = GgufGenerator([over(first, other), over(second, second.program)])
        await one.generate(PROMPT, timeout_s=30)
        first.script = Script(then="fail")
        await one.close()
        assert (await one.probe()).output == "closed"
        assert one.name == "xllamacpp"
        assert second.told("started") == []


async def test_without_another_the_reason_stays() -> None:
    async with LlamaStandIn(script=Script(loading="fail")) as broken:
        one = GgufGenerator([over(broken, broken.program)])
        with pytest.raises(Unavailable, match="does not load"):
            await one.generate(PROMPT, timeout_s=30)
        assert "does not load" in (await one.probe()).output
        await one.close()


async def test_two_at_once_in_one_child_and_one_that_leaves_does_not_disturb_the_other() -> None:
    async with LlamaStandIn(script=Script(after=3, then="stall")) as child:
        child.script = replace(child.script, threads=True)
        one = over(child, child.program, slots=2)
        first = asyncio.create_task(one.generate(PROMPT, timeout_s=60))
        second = asyncio.create_task(one.generate(PROMPT, timeout_s=60))
        await child.seen("stalled", 2)
        first.cancel()
        await asyncio.wait((first,))
        await child.seen("done", 1)
        assert not second.done()
        third = asyncio.create_task(one.generate(PROMPT, timeout_s=60))
        await child.seen("stalled", 3)
        for task in (second, third):
            task.cancel()
        await asyncio.wait((second, third))
        assert len(child.told("started")) == 1
        await one.close()


def test_the_text_fields_of_a_header(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    fields = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("llama.context_length") + struct.pack("<II", 4, 4_096),
        text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 1, 2),
        text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ messages }}"),
    ]
    path = tmp_path / "m.gguf"
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields))
    path.write_bytes(head + b"".join(fields))
    whole = {"general.architecture": "llama", "tokenizer.chat_template": "{{ messages }}"}
    assert gguf_file.metadata(path) == whole
    path.write_bytes((head + b"".join(fields))[:-4])
    assert gguf_file.metadata(path)["general.architecture"] == "llama"
    path.write_bytes(b"GGUF")
    assert gguf_file.metadata(path) == {}
    assert gguf_file.metadata(tmp_path / "none") == {}
