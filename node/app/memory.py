"""What a node remembers with: records and their vectors, evidence, what was found wrong, and the look-up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from node.answer.evidence.entries import StoredEvidence
from node.app.backup import Backups
from node.app.engines import embedder_choice, embedders_of
from node.app.peers import forget_held
from node.app.storage import EXPORT, VERSION, Ground
from node.app.transfer import predecessors
from node.audit.decisions.answer_entry import store_entry
from node.audit.recorder import Recorder
from node.cache.index.embedders import Pace, SwitchingSemantics
from node.cache.keys import keyword_key, same_question
from node.cache.matching import gate_model
from node.cache.quality.labelling import Labels
from node.cache.quality.refuted_answers import RefutedAnswers
from node.cache.recall import Limits, Recaller
from node.core.ports import Semantics
from node.models.embedders.reference import ReferenceEmbedder
from node.peers.store.sqlite import PeerStore
from node.store.imported_blocks import ForeignStore, WithForeign
from node.store.remember import Questions, Remembered, Rememberer, Report
from node.store.retention.erase import Eraser, Scrub
from node.store.retention.volatility import volatility
from node.store.write_back import WriteBack


@dataclass(frozen=True, slots=True)
class Kept:
    """Stored answers and what was found out about them: written, judged and erased together."""

    rememberer: Rememberer
    queue: WriteBack
    labels: Labels
    refuted: RefutedAnswers
    backups: Backups

    def eraser(self, ground: Ground, foreign: ForeignStore, peers: PeerStore, *copies: Scrub) -> Eraser:
        """What erases a record wherever it lies; ``copies`` are made anew or dropped."""
        store, labels, refuted = ground.store, self.labels, self.refuted
        return Eraser(
            store.records,
            WithForeign(store.blocks, foreign.blocks),
            self.rememberer,
            ground.decisions,
            (store.scrub, foreign.scrub, labels.scrub, peers.scrub, refuted.scrub),
            (
                self.backups.note_erased,  # first, so that none brings back what is forgotten next
                labels.forget,
                refuted.forget,
                partial(predecessors.forget, ground.data_dir / EXPORT),
                partial(forget_held, peers),
            ),
            copies=copies,
        )


async def open_kept(ground: Ground, semantics: Semantics, vectors: Semantics | None) -> Kept:
    """Open it. ``vectors`` find what was refuted by its meaning, where they can be had. The queue is drained
    by whoever starts the jobs: what they write has to wait for it."""
    labels = await Labels.open(ground.data_dir / "labels.sqlite", ground.clock, ground.store.mark)
    ground.stack.push_async_callback(labels.close)
    queue = WriteBack(ground.settings.cache.write_queue_max)
    rememberer = Rememberer(
        ground.store.records,
        semantics,
        ground.identity,
        ground.clock,
        queue,
        Questions(keyword_key, same_question, lambda query: volatility(query).personal),
        _into_log(ground),
    )
    refuted = await RefutedAnswers.open(
        ground.data_dir / "refuted.sqlite", ground.store.records, vectors, ground.clock
    )
    ground.stack.push_async_callback(refuted.close)
    backups = Backups(ground)
    ground.stack.push_async_callback(backups.close)
    return Kept(rememberer, queue, labels, refuted, backups)


def _into_log(ground: Ground) -> Report:
    """Each write-back leaves its own entry in the decision log."""
    recorder = Recorder(ground.decisions, ground.metrics.unlogged, refuses=False)

    async def report(outcome: Remembered) -> None:
        memory, stored = outcome.memory, outcome.stored
        ground.metrics.count("merged_records", by=outcome.merged)
        entry, private = store_entry(
            request=memory.request_id,
            outcome="stored" if outcome.is_durable else "skipped" if outcome.code == "conflict" else "failed",
            reason=outcome.code,
            scope=memory.scope,
            policy=VERSION,
            cid=outcome.cid,
            expires=None if stored is None or not outcome.is_durable else stored.record.expires,
            client=memory.source.client,
            confidence=memory.confidence.value,
        )
        await recorder.enter(entry, private)

    return report


@dataclass(frozen=True, slots=True)
class Memory:
    """Everything between a question's text and the records that it may be answered from."""

    kept: Kept
    semantics: SwitchingSemantics
    evidence: StoredEvidence
    reference: ReferenceEmbedder
    recaller: Recaller


async def open_memory(ground: Ground) -> Memory:
    """Open it. Raises ``Misconfigured``, ``CorruptState``."""
    settings, clock, records = ground.settings, ground.clock, ground.store.records
    cache, index = settings.cache, ground.data_dir / "index"
    semantics = await SwitchingSemantics.open(
        index,
        embedder_choice(settings),
        embedders_of(settings, clock),
        records,
        ground.state,
        clock,
        Pace(hnsw_above=cache.hnsw_above),
    )
    ground.stack.push_async_callback(semantics.close)
    kept = await open_kept(ground, semantics, semantics)
    evidence = StoredEvidence(records, semantics, clock, index / "answers")
    ground.stack.push_async_callback(evidence.close)
    reference = ReferenceEmbedder(settings, clock, wanted=gate_model.packaged().embedder)
    ground.stack.push_async_callback(reference.close)
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
        u_floor=kept.labels.tightening.u_floor,
        reference=reference.vectors,
        refuted=kept.refuted,
        changes=ground.store.changes,
    )
    return Memory(kept, semantics, evidence, reference, recaller)
