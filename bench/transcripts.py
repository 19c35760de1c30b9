"""Asks a model the labelled questions as the node would, and keeps what it said.

    python -m bench.transcripts (--base-url URL | --gguf FILE) --out FILE [--set general|worlds|curves]
        [--model NAME] [--limit N] [--at-once N] [--once]

The question passes the node's own ``Composer`` and prompt and its driver of OpenAI-compatible
servers, or of xllamacpp. What
is kept is the draft as the driver handed it over (with the log-probabilities of its tokens, where the driver
gives them), a second one at temperature 0.7 (not with ``--once``), and the notes that the model was given.
With ``--set worlds`` or ``curves`` the facts of the question's community are searched for notes, which the
packaged reader and the model read first, as in the node.

Appends to FILE and leaves out what is there, so that a run can be broken off and taken up again;
``python -m bench.calibrate --take FILE --name NAME`` takes it in.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.answerlab import data
from node.answer.compose import Composer
from node.answer.evidence.keywords import Keywords
from node.answer.evidence.relevance import packaged
from node.answer.notes import BOUND, NOTES_MAX
from node.core.clock import SystemClock
from node.core.ipld.cid import RAW, Cid
from node.core.model import Check, Draft, Evidence, Freshness, Kind, SourceRef
from node.core.normalise import normalise
from node.core.ports import Generator, OnText, Prompt
from node.core.settings import Models
from node.models.embedders.cross_encoder import Reader
from node.models.embedders.local import DIGEST, MiniLm, installed_files
from node.models.generators.llama import LlamaGenerator
from node.models.generators.openai_compatible import OpenAiGenerator
from node.models.llama.process import XLLAMACPP

TIMEOUT_S = 900.0
TEMPERATURE, SEED = 0.7, 11
OFFERED = 3
_SEEN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Note:
    """``about``: the question it was stored for."""

    id: str
    about: str
    text: str
    relevance: float = BOUND


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with the notes that are offered for it."""

    id: str
    text: str
    notes: tuple[Note, ...] = ()


class Recorder:
    """``node.core.ports.Generator`` that keeps the last prompt; ``warm`` asks for a sample instead of the
    best, where an answer is wanted and not one word."""

    def __init__(self, inner: Generator) -> None:
        self._inner = inner
        self.warm = False
        self.prompt: Prompt | None = None
        self.model = ""

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def slots(self) -> int:
        return self._inner.slots

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        if self.warm and not prompt.alternatives:
            prompt = replace(prompt, temperature=TEMPERATURE, seed=SEED)
        self.prompt = prompt
        draft = await self._inner.generate(prompt, timeout_s=timeout_s, on_text=on_text)
        self.model = draft.model
        return draft

    async def probe(self) -> Check:
        return await self._inner.probe()

    async def close(self) -> None:
        await self._inner.close()


def asks(which: str) -> Iterator[Ask]:
    if which == "general":
        for item, text in data.questions():
            yield Ask(item, text)
        return
    engine = MiniLm.open(installed_files(), threads=1)
    for world in data.worlds() if which == "worlds" else data.curves():
        search = Search(world, engine)
        for item, text, _ in world.asks:
            notes = search.find(text, NOTES_MAX)
            yield Ask(
                item, text, notes if which == "curves" else tuple(_near(one) for one in notes[:OFFERED])
            )


def _near(note: Note) -> Note:
    return replace(note, relevance=BOUND)


class Search:
    """Finds a community's facts for a question, as the node's own retrieval does: the nearer of the vectors
    of question and answer, and keywords, by their relevance; however far, some are found."""

    def __init__(self, world: data.World, engine: MiniLm) -> None:
        self._engine = engine
        self._notes = [Note(item, *world.facts[item]) for item in world.facts]
        self._vectors = (
            self._embed([one.about for one in self._notes]),
            self._embed([one.text for one in self._notes]),
        )
        self._cids = [Cid.of(one.id.encode(), RAW) for one in self._notes]
        self._keywords = Keywords()
        for cid, one in zip(self._cids, self._notes, strict=True):
            self._keywords.add(cid, f"{one.about} {one.text}", scope="shared", context=None)

    def _embed(self, texts: Sequence[str]) -> Any:
        found = self._engine.embed([normalise(text) for text in texts])
        return np.stack([one if one is not None else np.zeros(384, np.float32) for one in found])

    def find(self, question: str, top: int) -> tuple[Note, ...]:
        vector = self._embed([question])[0]
        near = np.maximum(self._vectors[0] @ vector, self._vectors[1] @ vector)
        covered = self._keywords.coverage(self._keywords.weights(question, [("shared", None)]), self._cids)
        scored = [
            packaged().score(float(cosine), covered[cid], DIGEST) or 0.0
            for cosine, cid in zip(near, self._cids, strict=True)
        ]
        best = np.argsort(-np.array(scored), kind="stable")[:top]
        return tuple(replace(self._notes[place], relevance=scored[place]) for place in best)


def as_evidence(offered: Sequence[Note]) -> list[Evidence]:
    """Notes as evidence that a person stored, near enough to be read."""
    return [
        Evidence(
            one.text,
            SourceRef("cache", "local", one.id),
            confidence=0.9,
            freshness=Freshness.GENERAL,
            partial=True,
            about=one.about,
            relevance=one.relevance,
        )
        for one in offered
    ]


async def said(
    ask: Ask, composer: Composer, recorder: Recorder, *, warm: bool
) -> tuple[dict[str, Any], list[dict[str, str]]] | None:
    """What the model said, and the notes that it was given; None where it was not asked: no note holds the
    answer for sure."""
    clock = SystemClock()
    recorder.warm, recorder.prompt = warm, None
    composed = await composer.compose(
        ask.text,
        as_evidence(ask.notes),
        route_kind=Kind.GENERATIVE,
        deadline=clock.monotonic() + TIMEOUT_S,
        tag="a1b2c3d4e5f6",
    )
    draft = composed.draft
    if draft is None or recorder.prompt is None:
        return None
    out: dict[str, Any] = {"text": draft.text, "complete": draft.complete}
    if not warm and draft.token_logprobs:
        out["logprobs"] = [round(one, 3) for one in draft.token_logprobs]
    if composed.found is not None:
        out["found"] = round(composed.found, 4)
    given = [
        {"id": one.id, "text": one.text}
        for one in ask.notes
        if one.text[:_SEEN_CHARS] in recorder.prompt.user
    ]
    return out, given


async def run(options: argparse.Namespace) -> int:
    have = {json.loads(line)["id"] for line in options.out.open()} if options.out.exists() else set()
    wanted = [ask for ask in asks(options.set) if ask.id not in have][: options.limit]
    print(f"{len(wanted)} questions to ask, {len(have)} are there", flush=True)
    left = iter(wanted)
    silent = sum(await asyncio.gather(*(lane(left, options) for _ in range(options.at_once))))
    print(f"{silent} questions left to their notes, or unanswered", flush=True)
    return 0


async def lane(left: Iterator[Ask], options: argparse.Namespace) -> int:
    """Ask one question after the other; how many brought no answer."""
    models, clock = Models(), SystemClock()
    recorder = Recorder(
        LlamaGenerator(options.gguf, clock, slots=models.gguf_parallel, program=XLLAMACPP)
        if options.gguf
        else OpenAiGenerator(options.base_url, options.api_key, options.model, clock)
    )
    reader = await Reader.load(threads=1)
    composer = Composer(
        [recorder],
        clock,
        context_chars_max=models.context_chars_max,
        tokens_max=models.tokens_max,
        reader=reader,
    )
    silent = 0
    for ask in left:
        first = await said(ask, composer, recorder, warm=False)
        row: dict[str, Any] = {"id": ask.id, "q": ask.text, "model": recorder.model}
        if first is None:
            silent += 1
        else:
            row |= {"first": first[0], "evidence": first[1]} if ask.notes else {"first": first[0]}
            second = None if options.once else await said(ask, composer, recorder, warm=True)
            if second is not None:
                row["second"] = second[0]
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    await recorder.close()
    await reader.close()
    return silent


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.transcripts", description=(__doc__ or "").split("\n")[0])
    engine = parser.add_mutually_exclusive_group(required=True)
    engine.add_argument("--base-url", help="such as http://127.0.0.1:8080/v1")
    engine.add_argument("--gguf", type=Path, help="a file of weights, run by xllamacpp")
    parser.add_argument("--api-key", default="")
    parser.add_argument("--model", default="", help="the first that the server lists, without it")
    parser.add_argument("--set", choices=("general", "worlds", "curves"), default="general")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="at most so many questions in this run")
    parser.add_argument("--once", action="store_true", help="no second sample")
    parser.add_argument("--at-once", type=int, default=1, help="how many questions; the server's slots")
    return asyncio.run(run(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
