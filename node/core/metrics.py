"""Counters for operators, in Prometheus text. No tenant, query, CID or peer is ever a label."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from node import __version__
from node.core.model import Answer, Budget

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)

UNLOGGED_KINDS = ("answer", "other")
OTHER = "other"
"""Stands for every reason that is not in a list: what a peer says is never a label."""
ADMISSION_RESULTS = frozenset({"admitted", "held", "refused", "withdrawn", "counted"})
SYNC_OUTCOMES = frozenset({"unchanged", "synced", "partial", "failed", "dropped", "blocked"})


log = logging.getLogger("neuroswarm.metrics")


class Unlogged:
    """Decisions that stand and are not in the decision log, since the start. An outage of the log is told
    once when it begins and once when it is over, however many decisions it costs."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._counts = dict.fromkeys(UNLOGGED_KINDS, 0)
        self._lost: int | None = None
        for kind in UNLOGGED_KINDS:
            counter.labels(kind)

    @property
    def total(self) -> int:
        return sum(self._counts.values())

    @property
    def is_outage(self) -> bool:
        """Whether the last decision could not be logged."""
        return self._lost is not None

    def failed(self, kind: str, why: object, *, stands: bool) -> None:
        """A decision (one of ``UNLOGGED_KINDS``) could not be logged. ``stands``: it was not refused."""
        if self._lost is None:
            self._lost = 0
            log.warning("event=log_outage decisions cannot be logged: %s", why)
        if stands:
            self._lost += 1
            self._counts[kind] += 1
            self._counter.labels(kind).inc()

    def logged(self) -> None:
        """A decision was logged."""
        if self._lost is not None:
            log.warning("event=log_outage_over decisions are logged again; not in the log: %d", self._lost)
            self._lost = None


class Metrics:
    """What this process has done since it started."""

    def __init__(
        self, admission_reasons: Collection[str] = frozenset(), peer_tiers: Collection[str] = ()
    ) -> None:
        """``admission_reasons``: why something of a peer was admitted or refused; any other word counts as
        other. ``peer_tiers``: those in which peers' records are counted."""
        self._admission_reasons, self._peer_tiers = admission_reasons, peer_tiers
        self._registry = registry = CollectorRegistry()

        self._requests = Counter(
            "neuroswarm_requests_total", "Questions answered", ("kind", "source"), registry=registry
        )
        self._seconds = Histogram(
            "neuroswarm_request_duration_seconds",
            "Time to answer",
            ("source",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._lookups = Counter(
            "neuroswarm_lookups_total", "Cache look-ups", ("kind", "result"), registry=registry
        )
        self._similarity = Histogram(
            "neuroswarm_similarity", "Cosine of semantic hits", buckets=_SHARES, registry=registry
        )
        self._confidence = Histogram(
            "neuroswarm_confidence", "Confidence of answers", ("kind",), buckets=_SHARES, registry=registry
        )
        self._parts = Histogram(
            "neuroswarm_confidence_part",
            "Parts of the confidence",
            ("part",),
            buckets=_SHARES,
            registry=registry,
        )
        self._stale = Counter(
            "neuroswarm_stale_served_total",
            "Answers served marked as stale: while_revalidating, if_error, or by_source (its own old copy)",
            ("reason",),
            registry=registry,
        )
        self._refreshes = Counter(
            "neuroswarm_refreshes_total",
            "Refreshes behind stale answers: done, failed, shared, paused, full",
            ("outcome",),
            registry=registry,
        )
        self._negative = Counter(
            "neuroswarm_negative_hits_total",
            "Failures said again instead of asking: of an adapter, or of a whole answer",
            ("what",),
            registry=registry,
        )
        self._count_work(registry)
        self._count_state(registry)
        self._count_peers(registry)
        self.unlogged = Unlogged(
            Counter(
                "neuroswarm_unlogged_total",
                "Decisions that stand and could not be entered in the decision log: answer, other",
                ("kind",),
                registry=registry,
            )
        )
        self._embedding = Histogram(
            "neuroswarm_embedding_duration_seconds", "Time to embed", buckets=_SECONDS, registry=registry
        )
        info = Gauge("neuroswarm_build_info", "Version of this node", ("version",), registry=registry)
        info.labels(__version__).set(1)

    def _count_work(self, registry: CollectorRegistry) -> None:
        self._adapters = Counter(
            "neuroswarm_adapter_requests_total", "Adapters asked", ("adapter", "outcome"), registry=registry
        )
        self._budget_left = Gauge(
            "neuroswarm_adapter_budget_remaining",
            "Calls left of a limit of an outside source",
            ("adapter", "source", "window_s"),
            registry=registry,
        )
        self._budget_limit = Gauge(
            "neuroswarm_adapter_budget_limit",
            "Calls allowed in a window by a limit of an outside source",
            ("adapter", "source", "window_s"),
            registry=registry,
        )
        self._tokens = Counter(
            "neuroswarm_llm_tokens_total", "Tokens of language models", ("kind",), registry=registry
        )
        self._mirrored = Counter(
            "neuroswarm_mirrored_blocks_total", "Blocks put and pinned in the IPFS daemon", registry=registry
        )
        self._mirror_failures = Counter(
            "neuroswarm_mirror_failures_total", "Rounds of mirroring that failed", registry=registry
        )
        self._evicted = Counter(
            "neuroswarm_evicted_records_total", "Records deleted to make room", registry=registry
        )
        self._merged = Counter(
            "neuroswarm_merged_records_total",
            "Records merged into one with the same answer to the same question",
            registry=registry,
        )

    def _count_state(self, registry: CollectorRegistry) -> None:
        self._wrong_share = Gauge(
            "neuroswarm_wrong_hit_share",
            "Of the checked hits, the share that was wrong: estimate, two-sided 95 % interval (low, high), "
            "one-sided 95 % upper limit (upper); kind and tier all: over all of them",
            ("kind", "tier", "value"),
            registry=registry,
        )
        self._labels = Gauge(
            "neuroswarm_hit_labels",
            "Hits found right, wrong or undecided, as kept",
            ("source", "verdict"),
            registry=registry,
        )
        self._gauges: dict[str, Gauge] = {
            name: Gauge(f"neuroswarm_{name}", text, registry=registry)
            for name, text in (
                ("records", "Live records"),
                ("blocks", "Stored blocks"),
                ("log_size", "Entries of the decision log"),
                ("log_epoch", "Number of the decision log that is written now, from 1"),
                ("index_vectors", "Vectors in the index"),
                ("embedding_dimensions", "Length of a vector"),
                ("reembedding_done", "Stored questions embedded anew since the start"),
                ("reembedding_total", "Stored questions found to need that since the start"),
                ("mirror_waiting", "Changes of blocks that wait for the IPFS daemon"),
                ("gated_lookups", "Look-ups that the gate decided since the start"),
                ("gated_hits", "Of them, those that it let through"),
                ("would_be_hits", "Hits that shadow mode kept back since the start"),
                ("audits_done", "Hits checked against a fresh answer since the start"),
                ("audits_undecided", "Of them, those that could not be decided"),
                ("audits_skipped", "Samples passed over: no budget, no room, or the node was busy"),
                ("audits_left", "Audits that this hour's budget still has"),
                ("records_tightened", "Records with a wrong label against them or beside them"),
                ("cache_saved_seconds", "What answers from the cache would have taken to make"),
                ("anchor_queue", "Checkpoints that no block holds yet"),
                ("anchor_attested_size", "Entries of the decision log under an attested checkpoint"),
                ("anchor_verified_size", "Entries of the decision log under a verified checkpoint"),
                ("peers", "Addresses of peers that are polled"),
                ("peers_dropped", "Peers that contradicted themselves and are not listened to any more"),
                ("peer_bytes", "Bytes of peers' records that are held, in whatever tier"),
                ("publications_size", "Entries of the publications log"),
            )
        }

    def _count_peers(self, registry: CollectorRegistry) -> None:
        self._admissions = Counter(
            "neuroswarm_admissions_total",
            "Peers' records and statements: admitted, held aside, refused, withdrawn, counted (statements); "
            "the reason is a tier or a code of admission",
            ("result", "reason"),
            registry=registry,
        )
        self._syncs = Counter(
            "neuroswarm_peer_syncs_total",
            "Rounds with a peer: unchanged, synced, partial, failed, dropped, blocked",
            ("outcome",),
            registry=registry,
        )
        self._peer_records = Gauge(
            "neuroswarm_peer_records", "Peers' records that are held", ("tier",), registry=registry
        )
        self._witnessed = Counter(
            "neuroswarm_witness_requests_total",
            "Checkpoints of others submitted to this node's witness, by status",
            ("status",),
            registry=registry,
        )
        self._cosigned = Counter(
            "neuroswarm_cosignatures_total",
            "Checkpoints of ours submitted to witnesses: cosigned, failed, refused, overtaken, contradiction",
            ("outcome",),
            registry=registry,
        )

    def observe(self, answer: Answer, seconds: float) -> None:
        """Count one finished answer and what it took."""
        kind, source = str(answer.route.kind), answer.source.kind
        self._requests.labels(kind, source).inc()
        self._seconds.labels(source).observe(seconds)
        self._confidence.labels(kind).observe(answer.confidence.value)
        for part, value in answer.confidence.parts.items():
            self._parts.labels(part).observe(value)
        if answer.stale:
            served = [step.code for step in answer.trace if step.stage == "stale"]
            self._stale.labels(served[-1] if served else "by_source").inc()
        if answer.hit is not None and answer.hit.similarity is not None and answer.hit.kind == "semantic":
            self._similarity.observe(answer.hit.similarity)
        for step in answer.trace:
            if step.stage == "recall":
                result = answer.hit.kind if answer.hit is not None else step.outcome
                self._lookups.labels(kind, result).inc()
            elif step.stage.startswith("adapter:"):
                self._adapters.labels(step.stage.removeprefix("adapter:"), step.outcome).inc()
            elif step.stage == "negative":
                self._negative.labels(step.outcome).inc()
            elif step.stage == "embed":
                self._embedding.observe(step.ms / 1_000)
        if answer.usage.prompt_tokens:
            self._tokens.labels("prompt").inc(answer.usage.prompt_tokens)
        if answer.usage.completion_tokens:
            self._tokens.labels("completion").inc(answer.usage.completion_tokens)

    def refreshed(self, outcome: str) -> None:
        """Count what became of a refresh behind a stale answer."""
        self._refreshes.labels(outcome).inc()

    def mirrored(self, blocks: int) -> None:
        """Count blocks that the daemon now holds."""
        self._mirrored.inc(blocks)

    def evicted(self, records: int) -> None:
        """Count records that made room for others."""
        self._evicted.inc(records)

    def merged(self, records: int) -> None:
        """Count near-duplicates that became aliases."""
        self._merged.inc(records)

    def witnessed(self, status: str) -> None:
        """Count a verdict of our witness."""
        self._witnessed.labels(status).inc()

    def cosigned(self, outcome: str) -> None:
        """Count what became of a submission to a witness of others."""
        self._cosigned.labels(outcome).inc()

    def admission(self, result: str, reason: str) -> None:
        """Count what became of something that a peer published; words that are in no list count as other."""
        self._admissions.labels(
            result if result in ADMISSION_RESULTS else OTHER,
            reason if reason in self._admission_reasons else OTHER,
        ).inc()

    def synced(self, outcome: str) -> None:
        """Count a round with a peer."""
        self._syncs.labels(outcome if outcome in SYNC_OUTCOMES else OTHER).inc()

    def peer_records(self, counts: Mapping[Any, int]) -> None:
        """Peers' records that are held, by tier."""
        for tier in self._peer_tiers:
            self._peer_records.labels(tier).set(counts.get(tier, 0))

    def mirror_failed(self) -> None:
        """Count a round that ended in an error."""
        self._mirror_failures.inc()

    @property
    def evictions(self) -> int:
        """Records that made room for others since the start."""
        return int(self._registry.get_sample_value("neuroswarm_evicted_records_total") or 0)

    def checked(
        self, shares: Mapping[tuple[str, str], Mapping[str, float]], labels: Mapping[tuple[str, str], int]
    ) -> None:
        """Shares of wrong hits by (kind, tier), each with its values by name; labels by (source, verdict)."""
        self._wrong_share.clear()  # a route whose labels have gone has no share any more
        for (kind, tier), values in shares.items():
            for name, value in values.items():
                self._wrong_share.labels(kind, tier, name).set(value)
        for (source, verdict), count in labels.items():
            self._labels.labels(source, verdict).set(count)

    def budgets(self, budgets: Sequence[tuple[str, Budget]]) -> None:
        """What is left of each limit, by adapter."""
        for adapter, budget in budgets:
            labels = (adapter, budget.source, f"{budget.window_s:g}")
            self._budget_left.labels(*labels).set(budget.remaining)
            self._budget_limit.labels(*labels).set(budget.limit)

    def set(self, **values: float) -> None:
        """Set gauges by name."""
        for name, value in values.items():
            self._gauges[name].set(value)

    def text(self) -> bytes:
        """The page for a scraper."""
        return generate_latest(self._registry)
