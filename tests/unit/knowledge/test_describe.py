"""Descriptions by a model: what is asked, what its reply means, when it works, and what they find."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.core.errors import Unavailable
from node.core.model import Draft
from node.core.ports import Generator, Prompt
from node.knowledge.corpus import StoredCorpus
from node.knowledge.describe import TEXT_CHARS_MAX, WORDS_MAX, Describer, read
from node.knowledge.model import Corpus
from node.knowledge.profiles import packaged_tags, profile
from node.knowledge.retrieve import Search, retrieve
from node.models.deadline import GaveWay
from node.models.generators.openai_compatible import OpenAiGenerator
from tests.documents_kit import Bags, World
from tests.manual_clock import ManualClock
from tests.simulators.openai_compatible import OpenAiStandIn
from tests.unit.answer.material import ScriptedGenerator

TAGS = packaged_tags()
KNOWN = TAGS.names[0]
SAID = "Ships must not be changed in December; people also call it a code freeze."


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = await World(tmp_path).open()
    yield world
    await world.close()


def reply(description: str = SAID, *tags: str) -> str:
    return json.dumps({"description": description, "tags": list(tags)})


class Describing:
    def __init__(self, world: World, engine: Generator, per_day: int = 100) -> None:
        self.clock, self.outcomes, self.is_busy = ManualClock(), Counter[str](), False
        self.engine, self.timeout_s = engine, 5.0
        self.work = Describer(world.store, self._ask, self._count, self.clock, per_day).work

    async def _ask(self, prompt: Prompt) -> Draft:
        if self.is_busy:
            raise GaveWay("somebody waits")
        return await self.engine.generate(prompt, timeout_s=self.timeout_s)

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1


def about(world: World) -> Corpus:
    return StoredCorpus(world.store, world.vectors, about=True)


async def test_each_document_is_described_once_apart_from_its_text(world: World) -> None:
    world.write("deploy.md", "# Deploys\n\nNothing is deployed in the last month.")
    world.write("boats.md", "# Boats\n\nThe boats lie at the jetty.")
    await world.ingest()
    engine = ScriptedGenerator(reply(SAID, KNOWN, "no such tag"))
    describing = Describing(world, engine)
    assert await describing.work() == 2
    assert await describing.work() == 0
    assert (len(engine.prompts), describing.outcomes) == (2, {"described": 2})
    for paper in world.corpus.documents(["shared"]):
        assert (paper.description, paper.tags) == (SAID, (KNOWN,))
    assert world.said("code freeze") == []
    assert world.near(SAID) != []
    assert SAID not in world.near(SAID)
    assert (await world.store.counts())["chunks"] == 2
    assert "Nothing is deployed" in "".join(prompt.user for prompt in engine.prompts)
    assert KNOWN in engine.prompts[0].system
    run = await world.ingest()  # S4-52
    assert {words for _, _, words in run.samples} == {SAID}


async def test_the_file_profile_finds_by_descriptions_and_by_chunks_where_there_is_none(world: World) -> None:
    """S4-10, S4-19: words that only the description has; another embedder asks no model."""
    world.write("deploy.md", "# Deploys\n\nNothing is deployed in the last month.")
    await world.ingest()
    engine = ScriptedGenerator(reply())
    await Describing(world, engine).work()
    world.write("boats.md", "# Boats\n\nThe boats lie at the jetty.")
    await world.ingest()
    await world.vectors.catch_up()
    await world.vectors.idle()

    async def first(question: str) -> str:
        search = Search(world.corpus, _Embedder(world.bags), profile("file"), descriptions=about(world))
        found = await retrieve(question, ("shared",), search)
        return found[0].document.path if found else ""

    assert await first("code freeze in December") == "deploy.md"
    assert await first("Where do the boats lie?") == "boats.md"
    world.bags.info = Bags("other").info
    assert await world.vectors.catch_up() == 3
    await world.vectors.idle()
    assert await first("code freeze in December") == "deploy.md"
    assert len(engine.prompts) == 1
    assert about(world).dense(world.bags.vector("code freeze"), ["public"], 5) == []


async def test_it_goes_with_the_bytes_and_stays_with_them(world: World) -> None:
    file = world.write("deploy.md", "# Deploys\n\nNothing is deployed in the last month.")
    await world.ingest()
    await Describing(world, ScriptedGenerator(reply())).work()
    await world.ingest(again=True)
    assert len(about(world).keyword("code freeze", ["shared"], 5)) == 1
    file.write_text("# Deploys\n\nDeploy whenever you like.")
    await world.ingest()
    assert about(world).keyword("code freeze", ["shared"], 5) == []
    assert world.corpus.documents(["shared"])[0].description == ""
    await Describing(world, ScriptedGenerator(reply())).work()
    file.unlink()
    await world.ingest()
    assert about(world).keyword("code freeze", ["shared"], 5) == []
    [[vectors]] = await world.store.file.rows("SELECT count(*) FROM vector")
    assert vectors == 0


async def test_a_manifest_is_asked_about_in_words_of_its_own_and_a_scan_not_at_all(world: World) -> None:
    """S4-03, S4-04."""
    world.write("manifest.csv", "path,title,status\nboats.md,Boats,active\n")
    world.write("empty.md", "")
    await world.ingest()
    engine = ScriptedGenerator(reply())
    await Describing(world, engine).work()
    assert len(engine.prompts) == 1
    assert engine.prompts[0].user.startswith("This is a catalogue file")


async def test_a_day_has_its_measure_and_who_asks_comes_first(world: World) -> None:
    for number in range(5):
        world.write(f"f{number}.md", f"# Paper {number}\n\nIt says number {number}.")
    await world.ingest()
    describing = Describing(world, ScriptedGenerator(reply()), per_day=2)
    describing.is_busy = True
    assert await describing.work() == 0
    describing.is_busy = False
    assert [await describing.work(), await describing.work()] == [2, 0]
    describing.clock.advance(86_400)
    assert await describing.work() == 2
    assert await Describing(world, ScriptedGenerator(reply())).work() == 1  # a restart goes on
    world.write("more.md", "# More\n\nIt says more.")
    await world.ingest()
    with pytest.raises(Unavailable):
        await Describing(world, ScriptedGenerator(Unavailable("away"))).work()


async def test_what_cannot_be_read_waits_for_tomorrow(world: World) -> None:
    world.write("a.md", "# A\n\nIt says a.")
    await world.ingest()
    engine = ScriptedGenerator("I do not know.")
    describing = Describing(world, engine)
    assert [await describing.work(), await describing.work()] == [0, 0]
    assert (len(engine.prompts), describing.outcomes) == (1, {"unreadable": 1})


@pytest.mark.parametrize(
    ("said", "description", "tags", "is_json"),
    [
        (reply("One. Two.", KNOWN, "made up"), "One. Two.", (KNOWN,), True),
        ('Sure: {"description": "One \\"two\\".", "tags": ["' + KNOWN + '"', 'One "two".', (KNOWN,), False),
        (reply("word " * 200), " ".join(["word"] * WORDS_MAX), (), True),
        (reply("First one. " + "word " * 200), "First one.", (), True),
        ("", "", (), False),
        ('{"description": 3}', "", (), False),
    ],
)
def test_replies_are_read(said: str, description: str, tags: tuple[str, ...], is_json: bool) -> None:
    """S4-07, S4-08, S4-29."""
    assert read(said, TAGS) == (description, tags, is_json)


async def test_over_the_wire_a_long_text_is_cut(world: World) -> None:
    world.write("long.md", "# Long\n\n" + "It says number one thing here. " * 400)
    await world.ingest()
    async with OpenAiStandIn(answer=reply()) as server:
        engine = OpenAiGenerator(server.url, "", "stand-in-chat", ManualClock())
        assert await Describing(world, engine).work() == 1
        assert len(str(server.prompts[0])) < TEXT_CHARS_MAX + 4_000
        await engine.close()


@pytest.mark.engine("xllamacpp")
@pytest.mark.timeout(600)
async def test_a_real_model_describes(world: World, xllamacpp: None, qwen_gguf: Path) -> None:
    from node.core.clock import SystemClock
    from node.models.generators.llama import LlamaGenerator
    from node.models.llama.process import XLLAMACPP

    world.write(
        "laundry.md", "# Laundry room\n\nA wash costs 2.50 euros. The dryer costs 1.50 euros. Book by Sunday."
    )
    await world.ingest()
    engine = LlamaGenerator(qwen_gguf, SystemClock(), queue_max=4, slots=1, window=2_048, program=XLLAMACPP)
    describing = Describing(world, engine)
    describing.timeout_s = 500.0
    try:
        assert await describing.work() == 1
    finally:
        await engine.close()
    [paper] = world.corpus.documents(["shared"])
    assert "laundry" in paper.description.lower() or "wash" in paper.description.lower()
    assert 0 < len(paper.description.split()) <= WORDS_MAX
    assert set(paper.tags) <= set(TAGS.names)


class _Embedder:
    """``Bags`` as the search sees it."""

    sample = None

    def __init__(self, bags: Bags) -> None:
        self._bags = bags

    @property
    def info(self) -> object:
        return self._bags.info

    async def embed(self, texts: list[str]) -> list[object]:
        return [self._bags.vector(text) for text in texts]
