"""Counters for operators, in Prometheus text. No tenant, query, CID or peer is ever a label."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from node import __version__
from node.model import Answer

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


class Metrics:
    """What this process has done since it started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def named(kind: type, name: str, text: str, labels: tuple[str, ...] = (), **more: object):  # type: ignore[no-untyped-def]
            return kind(f"neuroswarm_{name}", text, labels, registry=self._registry, **more)

        self._requests: Counter = named(Counter, "requests_total", "Questions answered", ("kind", "source"))
        self._seconds: Histogram = named(
            Histogram, "request_duration_seconds", "Time to answer", ("source",), buckets=_SECONDS
        )
        self._lookups: Counter = named(Counter, "lookups_total", "Cache look-ups", ("kind", "result"))
        self._similarity: Histogram = named(
            Histogram, "similarity", "Cosine of semantic hits", buckets=_SHARES
        )
        self._confidence: Histogram = named(
            Histogram, "confidence", "Confidence of answers", ("kind",), buckets=_SHARES
        )
        self._parts: Histogram = named(
            Histogram, "confidence_part", "Parts of the confidence", ("part",), buckets=_SHARES
        )
        self._stale: Counter = named(Counter, "stale_served_total", "Answers served marked as stale")
        self._adapters: Counter = named(
            Counter, "adapter_requests_total", "Adapters asked", ("adapter", "outcome")
        )
        self._tokens: Counter = named(Counter, "llm_tokens_total", "Tokens of language models", ("kind",))
        self._gauges: dict[str, Gauge] = {
            name: named(Gauge, name, text)
            for name, text in (
                ("records", "Live records"),
                ("blocks", "Stored blocks"),
                ("log_size", "Entries of the decision log"),
                ("index_vectors", "Vectors in the index"),
                ("embedding_dimensions", "Length of a vector"),
            )
        }
        self._embedding: Histogram = named(
            Histogram, "embedding_duration_seconds", "Time to embed", buckets=_SECONDS
        )
        info: Gauge = named(Gauge, "build_info", "Version of this node", ("version",))
        info.labels(__version__).set(1)

    def observe(self, answer: Answer, seconds: float) -> None:
        """Count one finished answer and what it took."""
        kind, source = str(answer.route.kind), answer.source.kind
        self._requests.labels(kind, source).inc()
        self._seconds.labels(source).observe(seconds)
        self._confidence.labels(kind).observe(answer.confidence.value)
        for part, value in answer.confidence.parts.items():
            self._parts.labels(part).observe(value)
        if answer.stale:
            self._stale.inc()
        if answer.hit is not None and answer.hit.similarity is not None and answer.hit.kind == "semantic":
            self._similarity.observe(answer.hit.similarity)
        for step in answer.trace:
            if step.stage == "recall":
                result = answer.hit.kind if answer.hit is not None else step.outcome
                self._lookups.labels(kind, result).inc()
            elif step.stage.startswith("adapter:"):
                self._adapters.labels(step.stage.removeprefix("adapter:"), step.outcome).inc()
            elif step.stage == "embed":
                self._embedding.observe(step.ms / 1_000)
        if answer.usage.prompt_tokens:
            self._tokens.labels("prompt").inc(answer.usage.prompt_tokens)
        if answer.usage.completion_tokens:
            self._tokens.labels("completion").inc(answer.usage.completion_tokens)

    def set(self, **values: float) -> None:
        """Set gauges by name."""
        for name, value in values.items():
            self._gauges[name].set(value)

    def text(self) -> bytes:
        """The page for a scraper."""
        return generate_latest(self._registry)
