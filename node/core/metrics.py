"""Counters for operators, in Prometheus text. No tenant, query, CID or peer is ever a label."""

from __future__ import annotations

import logging
import tomllib
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.resources import files
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from node import __version__
from node.core.model import Answer, Budget

_TABLE = tomllib.loads(files(__package__).joinpath("metrics.toml").read_text(encoding="utf-8"))
UNLOGGED_KINDS = ("answer", "other")
OTHER = "other"
"""Stands for every reason that is not in a list: what a peer says is never a label."""
ADMISSION_RESULTS = frozenset({"admitted", "held", "refused", "withdrawn", "counted"})
SYNC_OUTCOMES = frozenset({"unchanged", "synced", "partial", "failed", "dropped", "blocked"})


UNTOLD_MAX = 1_000
"""Hits from memory that are counted together at most, of one answer; answers, of which some are."""

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


class _Seen(Histogram):
    """A histogram that takes many values at once."""

    def observe_all(self, values: Sequence[float]) -> None:
        self._sum.inc(sum(values))
        for bucket, count in Tally(bisect_left(self._upper_bounds, value) for value in values).items():
            self._buckets[bucket].inc(count)


class _Again:
    """Counts one kind of answer as finished, again and again; what is counted stands in the page after
    ``tell``."""

    def __init__(
        self, took: _Seen, counted: Sequence[tuple[Counter, float]], seen: Sequence[tuple[_Seen, float]]
    ) -> None:
        self.seconds: list[float] = []
        self._took, self._counted, self._seen = took, counted, seen

    def tell(self) -> None:
        seconds, self.seconds = self.seconds, []
        self._took.observe_all(seconds)
        for counter, by in self._counted:
            counter.inc(by * len(seconds))
        for histogram, value in self._seen:
            histogram.observe_all([value] * len(seconds))


class Metrics:
    """What this process has done since it started. ``metrics.toml`` lists what is counted."""

    def __init__(
        self, admission_reasons: Collection[str] = frozenset(), peer_tiers: Collection[str] = ()
    ) -> None:
        """``admission_reasons``: why something of a peer was admitted or refused; any other word counts as
        other. ``peer_tiers``: those in which peers' records are counted."""
        self._admission_reasons, self._peer_tiers = admission_reasons, peer_tiers
        self._registry = CollectorRegistry()
        self._of: dict[str, Any] = {
            name: _family(kind, f"neuroswarm_{name}", text, labels.split(), self._registry)
            for kind, name, labels, text in _TABLE["families"]
        }
        self._series: dict[tuple[str, ...], Any] = {}
        self._untold: list[_Again] = []
        self.unlogged = Unlogged(self._of["unlogged_total"])
        self._of["build_info"].labels(__version__).set(1)

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Count something by the name of its family, without ``_total``. The labels are words of ours."""
        self._one(f"{name}_total", *labels).inc(by)

    def _one(self, *names: str) -> Any:
        """The series of a family with these labels; kept, for the library looks it up slowly."""
        found = self._series.get(names)
        if found is None:
            family = self._of[names[0]]
            found = self._series[names] = family.labels(*names[1:]) if len(names) > 1 else family
        return found

    def observe(self, answer: Answer, seconds: float) -> None:
        """Count one finished answer and what it took."""
        one = self._again(answer)
        one.seconds.append(seconds)
        one.tell()

    def observer(self, answer: Answer) -> Callable[[float], None]:
        """What counts an answer as finished once more, after so many seconds: told when the page is asked
        for, or ``UNTOLD_MAX`` wait."""
        one, untold = self._again(answer), self._untold

        def observe(seconds: float) -> None:
            waiting = one.seconds
            waiting.append(seconds)
            if len(waiting) == 1:
                untold.append(one)
                if len(untold) >= UNTOLD_MAX:
                    self._tell()
            elif len(waiting) >= UNTOLD_MAX:
                one.tell()
                untold.remove(one)

        return observe

    def _tell(self) -> None:
        """Count what waits for it."""
        for one in self._untold:
            one.tell()
        self._untold.clear()

    def _again(self, answer: Answer) -> _Again:
        kind, source, hit = str(answer.route.kind), answer.source.kind, answer.hit
        counted: list[tuple[Counter, float]] = []
        seen: list[tuple[_Seen, float]] = []

        def count(name: str, *labels: str, by: int = 1) -> None:
            counted.append((self._one(f"{name}_total", *labels), by))

        count("requests", kind, source)
        took = self._one("request_duration_seconds", source)
        seen.append((self._one("confidence", kind), answer.confidence.value))
        for part, value in answer.confidence.parts.items():
            seen.append((self._one("confidence_part", part), value))
        if answer.stale:
            served = [step.code for step in answer.trace if step.stage == "stale"]
            count("stale_served", served[-1] if served else "by_source")
        if hit is not None and hit.similarity is not None and hit.kind == "semantic":
            seen.append((self._of["similarity"], hit.similarity))
        for step in answer.trace:
            if step.stage == "recall":
                count("lookups", kind, hit.kind if hit is not None else step.outcome)
            elif step.stage.startswith("adapter:"):
                count("adapter_requests", step.stage.removeprefix("adapter:"), step.outcome)
            elif step.stage == "passages" and step.outcome != "orders":
                count("document_searches", step.outcome)
            elif step.stage == "negative":
                count("negative_hits", step.outcome)
            elif step.stage == "embed":
                seen.append((self._of["embedding_duration_seconds"], step.ms / 1_000))
        if answer.usage.prompt_tokens:
            count("llm_tokens", "prompt", by=answer.usage.prompt_tokens)
        if answer.usage.completion_tokens:
            count("llm_tokens", "completion", by=answer.usage.completion_tokens)
        return _Again(took, counted, seen)

    def admission(self, result: str, reason: str) -> None:
        """Count what became of something that a peer published; words that are in no list count as other."""
        self.count(
            "admissions",
            result if result in ADMISSION_RESULTS else OTHER,
            reason if reason in self._admission_reasons else OTHER,
        )

    def synced(self, outcome: str) -> None:
        """Count a round with a peer."""
        self.count("peer_syncs", outcome if outcome in SYNC_OUTCOMES else OTHER)

    def peer_records(self, counts: Mapping[Any, int]) -> None:
        """Peers' records that are held, by tier."""
        for tier in self._peer_tiers:
            self._of["peer_records"].labels(tier).set(counts.get(tier, 0))

    @property
    def evictions(self) -> int:
        """Records that made room for others since the start."""
        return int(self._registry.get_sample_value("neuroswarm_evicted_records_total") or 0)

    def checked(
        self, shares: Mapping[tuple[str, str], Mapping[str, float]], labels: Mapping[tuple[str, str], int]
    ) -> None:
        """Shares of wrong hits by (kind, tier), each with its values by name; labels by (source, verdict)."""
        self._of["wrong_hit_share"].clear()  # a route whose labels have gone has no share any more
        for (kind, tier), values in shares.items():
            for name, value in values.items():
                self._of["wrong_hit_share"].labels(kind, tier, name).set(value)
        for (source, verdict), count in labels.items():
            self._of["hit_labels"].labels(source, verdict).set(count)

    def budgets(self, budgets: Sequence[tuple[str, Budget]]) -> None:
        """What is left of each limit, by adapter."""
        for adapter, budget in budgets:
            labels = (adapter, budget.source, f"{budget.window_s:g}")
            self._of["adapter_budget_remaining"].labels(*labels).set(budget.remaining)
            self._of["adapter_budget_limit"].labels(*labels).set(budget.limit)

    def disk(self, kind: str, used: int, bound: int) -> None:
        """What a kind of data takes on the disk, and what it may take."""
        self._of["disk_bytes"].labels(kind).set(used)
        self._of["disk_limit_bytes"].labels(kind).set(bound)

    def set(self, **values: float) -> None:
        """Set gauges by name."""
        for name, value in values.items():
            self._of[name].set(value)

    def text(self) -> bytes:
        """The page for a scraper."""
        self._tell()
        return generate_latest(self._registry)


def _family(kind: str, name: str, text: str, labels: Sequence[str], registry: CollectorRegistry) -> Any:
    if kind == "counter":
        return Counter(name, text, labels, registry=registry)
    if kind == "gauge":
        return Gauge(name, text, labels, registry=registry)
    return _Seen(name, text, labels, buckets=_TABLE[kind], registry=registry)
