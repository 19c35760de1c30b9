"""Models at work behind replies: some answers are graded at night, documents are described; and what is
learnt of answers that are asked for again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from node.answer.compose import Composer
from node.app.documents import Library
from node.app.storage import Ground
from node.cache.quality.audits import Auditor
from node.core.model import Answer
from node.core.ports import Embedded, Generator
from node.knowledge.describe import Describer
from node.knowledge.evaluation.nightly import Judging, Nightly
from node.knowledge.retrieve import retrieve
from node.pipeline.asked_again import AskedAgain


async def open_nightly(
    ground: Ground, composer: Composer, library: Library, busy: Callable[[], bool]
) -> Nightly:
    """The job that grades some of a day's answers, with what it learnt before. Raises ``Unavailable``."""
    settings, metrics = ground.settings.judge, ground.metrics
    named = _named_judge(ground)

    async def passages(question: str, scopes: Sequence[str]) -> Sequence[str]:
        return [one.text for one in await retrieve(question, scopes, library.search)]

    judging = Judging(
        lambda: named or _own(composer),
        passages,
        busy,
        partial(metrics.count, "judged_answers"),
        lambda mean: metrics.set(judge_score=mean),
        settings.timeout_s,
        settings.share,
        settings.hour,
        ground.zone,
    )
    return await Nightly.open(judging, ground.state, ground.clock)


def _own(composer: Composer) -> Sequence[Generator]:
    """The node's own models that can be had."""
    return [engine for engine in composer.engines if engine.missing is None]


def _named_judge(ground: Ground) -> Sequence[Generator]:
    settings = ground.settings.judge
    if not settings.url:
        return ()
    from node.models.generators.openai_compatible import OpenAiGenerator

    judge = OpenAiGenerator(settings.url, settings.api_key, settings.model, ground.clock)
    ground.stack.push_async_callback(judge.close)
    return (judge,)


def describer_of(
    ground: Ground, composer: Composer, library: Library, busy: Callable[[], bool]
) -> Describer | None:
    """What describes documents, where the settings want it."""
    settings, count = ground.settings.documents, partial(ground.metrics.count, "described_documents")
    if not settings.describe:
        return None
    per_day, timeout_s = settings.describe_per_day, ground.settings.judge.timeout_s
    return Describer(library.store, _own(composer), busy, count, ground.clock, per_day, timeout_s)


def hearing(ground: Ground, auditor: Auditor, nightly: Nightly) -> Callable[[Answer, Embedded | None], None]:
    """What is told every answer that was walked for."""

    def doubted(answer: Answer) -> None:
        ground.metrics.count("asked_again")
        auditor.doubted(answer)

    again = AskedAgain(ground.clock, doubted)

    def hear(answer: Answer, vector: Embedded | None) -> None:
        nightly.hear(answer)
        again.hear(answer, vector)

    return hear
