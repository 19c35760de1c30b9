"""What a node remembers with: records and their vectors, evidence, what was found wrong, and the look-up."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass

from node.answer.evidence.entries import StoredEvidence
from node.app.engines import embedder_choice, embedders_of
from node.app.storage import Ground, into_log, is_personal
from node.cache.index.embedders import Pace, SwitchingSemantics
from node.cache.keys import keyword_key, same_question
from node.cache.matching import gate_model
from node.cache.quality.labelling import Labels
from node.cache.quality.refuted_answers import RefutedAnswers
from node.cache.recall import Limits, Recaller
from node.core.clock import Clock
from node.core.metrics import Metrics
from node.core.settings import Settings
from node.models.embedders.reference import ReferenceEmbedder
from node.store.remember import Rememberer
from node.store.state import StateStore
from node.store.write_back import WriteBack


@dataclass(frozen=True, slots=True)
class Memory:
    """Everything between a question's text and the records that it may be answered from."""

    state: StateStore
    labels: Labels
    semantics: SwitchingSemantics
    queue: WriteBack
    rememberer: Rememberer
    evidence: StoredEvidence
    reference: ReferenceEmbedder
    refuted: RefutedAnswers
    recaller: Recaller


async def open_memory(
    settings: Settings,
    ground: Ground,
    state: StateStore,
    clock: Clock,
    metrics: Metrics,
    stack: AsyncExitStack,
) -> Memory:
    """Open it. The write-back queue is drained by whoever starts the jobs: what they write has to wait for
    it. Raises ``Misconfigured``, ``CorruptState``."""
    cache, records, index = settings.cache, ground.store.records, ground.data_dir / "index"
    labels = await Labels.open(ground.data_dir / "labels.sqlite", clock, ground.store.mark)
    stack.push_async_callback(labels.close)
    semantics = await SwitchingSemantics.open(
        index,
        embedder_choice(settings),
        embedders_of(settings, clock),
        records,
        state,
        clock,
        Pace(hnsw_above=cache.hnsw_above),
    )
    stack.push_async_callback(semantics.close)
    queue = WriteBack(cache.write_queue_max)
    rememberer = Rememberer(
        records,
        semantics,
        ground.identity,
        clock,
        queue,
        keyword_key=keyword_key,
        report=into_log(ground.decisions, metrics),
        same_question=same_question,
        is_personal=is_personal,
    )
    evidence = StoredEvidence(records, semantics, clock, index / "answers")
    stack.push_async_callback(evidence.close)
    reference = ReferenceEmbedder(settings, clock, wanted=gate_model.packaged().embedder)
    stack.push_async_callback(reference.close)
    refuted = await RefutedAnswers.open(ground.data_dir / "refuted.sqlite", records, semantics, clock)
    stack.push_async_callback(refuted.close)
    recaller = Recaller(
        records,
        semantics,
        clock,
        Limits(
            cache.confidence_min,
            cache.max_wrong_per_hit,
            cache.max_wrong_hit_rate,
            cache.neighbours,
            cache.expired_grace_s,
        ),
        u_floor=labels.tightening.u_floor,
        reference=reference.vectors,
        refuted=refuted,
    )
    return Memory(state, labels, semantics, queue, rememberer, evidence, reference, refuted, recaller)
