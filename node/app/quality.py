"""Models at work behind replies: some answers are graded at night, documents are described; and what is
learnt of answers that are asked for again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from node.answer.compose import Composer
from node.app.documents import Library
from node.app.storage import Ground
from node.cache.quality.audits import Auditor
from node.core.clock import Clock
from node.core.errors import NodeError, Unavailable
from node.core.model import Answer, Draft
from node.core.ports import Embedded, Generator, Prompt
from node.knowledge.describe import Describer
from node.knowledge.evaluation.nightly import Judging, Nightly
from node.knowledge.retrieve import retrieve
from node.models.deadline import GaveWay, giving_way
from node.pipeline.asked_again import AskedAgain

OWN = "own"
"""The judge's name that means the node's own models: only by request, for a small one is no fair judge."""


async def open_nightly(
    ground: Ground, composer: Composer, library: Library, busy: Callable[[], bool]
) -> Nightly:
    """The job that grades some of a day's answers, with what it learnt before. Raises ``Unavailable``."""
    settings, metrics = ground.settings.judge, ground.metrics
    named: list[Generator] = []
    if settings.url:
        from node.models.generators.openai_compatible import OpenAiGenerator

        named.append(OpenAiGenerator(settings.url, settings.api_key, settings.model, ground.clock))
        ground.stack.push_async_callback(named[0].close)

    async def passages(question: str, scopes: Sequence[str]) -> Sequence[str]:
        return [one.text for one in await retrieve(question, scopes, library.search)]

    engines = named or (_own(composer) if settings.model == OWN else ())
    judging = Judging(
        _asking(engines, ground.clock, settings.timeout_s, busy) if engines else None,
        passages,
        partial(metrics.count, "judged_answers"),
        lambda mean: metrics.set(judge_score=mean),
        settings.share,
        settings.hour,
        ground.zone,
    )
    return await Nightly.open(judging, ground.state, ground.clock)


def _own(composer: Composer) -> Sequence[Generator]:
    """The node's own models that can be had."""
    return [engine for engine in composer.engines if engine.missing is None]


def _asking(
    engines: Sequence[Generator], clock: Clock, timeout_s: float, busy: Callable[[], bool]
) -> Callable[[Prompt], Awaitable[Draft]]:
    """The first of some engines that answers. Raises ``NodeError``."""

    async def ask(prompt: Prompt) -> Draft:
        failure: NodeError = Unavailable("no language model is here")
        for engine in engines:
            try:
                return await giving_way(clock, engine.generate(prompt, timeout_s=timeout_s), busy)
            except GaveWay:
                raise
            except NodeError as exc:
                failure = exc
        raise failure

    return ask


def describer_of(
    ground: Ground, composer: Composer, library: Library, busy: Callable[[], bool]
) -> Describer | None:
    """What describes documents, where the settings want it and a model can be had."""
    settings, engines = ground.settings.documents, _own(composer)
    if not (settings.describe and engines):
        return None
    ask = _asking(engines, ground.clock, ground.settings.judge.timeout_s, busy)
    count = partial(ground.metrics.count, "described_documents")
    return Describer(library.store, ask, count, ground.clock, settings.describe_per_day)


def hearing(ground: Ground, auditor: Auditor, nightly: Nightly) -> Callable[[Answer, Embedded | None], None]:
    """What is told every answer that was walked for."""
    again = AskedAgain(ground.clock, (lambda _: ground.metrics.count("asked_again"), auditor.doubted))

    def hear(answer: Answer, vector: Embedded | None) -> None:
        nightly.hear(answer)
        again.hear(answer, vector)

    return hear
