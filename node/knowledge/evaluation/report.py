"""The report of an evaluation, and what two of them differ in. Pure but for loading ``ir_measures``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from node.core.errors import BadInput, Unavailable
from node.knowledge.evaluation.outcome import HIGHER_IS_BETTER, LOWER_IS_BETTER, Measured, Outcome, outcome

VERSION = 1
GOOD = 2
"""An answer of this quality is good."""
_TOLERANCE = 1e-9


def with_ranks(measured: Sequence[Measured]) -> None:
    """Recall at 10 and the reciprocal rank of each question whose retrieval was measured, by ``ir_measures``.
    Raises ``Unavailable``: it is not installed."""
    try:
        import ir_measures
        from ir_measures import RR, R
    except ImportError as exc:
        raise Unavailable(f"an evaluation needs ir-measures: pip install 'neuroswarm[eval]' ({exc})") from exc
    asked = [one for one in measured if one.ranked is not None and one.question.is_answerable]
    gold = [ir_measures.Qrel(one.question.id, path, 1) for one in asked for path in one.question.gold]
    run = [
        ir_measures.ScoredDoc(one.question.id, path, float(-place))
        for one in asked
        for place, path in enumerate(one.ranked or ())
    ]
    scores: dict[str, dict[str, float]] = {}
    names = {R @ 10: "recall_at_10", RR: "reciprocal_rank"}
    for value in ir_measures.iter_calc(list(names), gold, run):
        scores.setdefault(value.query_id, {})[names[value.measure]] = float(value.value)
    for one in asked:
        one.scores = scores.get(one.question.id, dict.fromkeys(names.values(), 0.0))


def report(measured: Sequence[Measured], about: Mapping[str, Any]) -> dict[str, Any]:
    """The report. ``about``: the questions, the profile, the node, the judge. Raises ``Unavailable``."""
    with_ranks(measured)
    rows = [outcome(one) for one in measured]
    return {
        "version": VERSION,
        **about,
        "all": summary(rows),
        "by_category": _by(rows, lambda row: row.category),
        "by_language": _by(rows, lambda row: row.language),
        "rows": [msgspec.json.decode(msgspec.json.encode(row)) for row in rows],
    }


def _by(rows: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, Any]:
    groups: dict[str, list[Outcome]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: summary(group) for name, group in groups.items()}


def summary(rows: Sequence[Outcome]) -> dict[str, Any]:
    """Means over the rows that have a value; what no row has is left out."""
    made: dict[str, Any] = {"questions": len(rows), "errors": sum(bool(row.error) for row in rows)}
    for name in HIGHER_IS_BETTER:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        if values:
            made[name] = round(statistics.fmean(values), 4)
    if qualities := [row.quality for row in rows if row.quality is not None]:
        made["good_share"] = round(sum(value >= GOOD for value in qualities) / len(qualities), 4)
    for name in ("ms", "retrieval_ms"):
        if times := sorted(value for row in rows if (value := getattr(row, name)) is not None):
            made[f"{name}_p50"], made[f"{name}_p95"] = (_quantile(times, share) for share in (0.5, 0.95))
    for name in ("tokens_read", "tokens_written"):
        if counts := [value for row in rows if (value := getattr(row, name)) is not None]:
            made[name] = sum(counts)
    return made


def _quantile(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)


def table(made: Mapping[str, Any]) -> list[str]:
    """The summaries as lines for people."""
    groups = {"all": made["all"], **made["by_category"], **made["by_language"]}
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    width = max(len(name) for name in names)
    lines = [" " * width + "".join(f"{name[:13]:>14}" for name in groups)]
    for name in names:
        cells = (group.get(name) for group in groups.values())
        lines.append(f"{name:<{width}}" + "".join(f"{_cell(cell):>14}" for cell in cells))
    return lines


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Ids that improved and that regressed, each with what changed as [measure, before, after]; an id may be
    in both. ``only``: ids that one of the two reports has. Raises ``BadInput``: not two reports."""
    old, new = (_rows(one) for one in (before, after))
    made: dict[str, Any] = {"improved": {}, "regressed": {}}
    for name in old.keys() & new.keys():
        for measure in HIGHER_IS_BETTER:
            was, now = old[name].get(measure), new[name].get(measure)
            if was is None or now is None or abs(now - was) < _TOLERANCE:
                continue
            is_better = (now > was) != (measure in LOWER_IS_BETTER)
            side = made["improved" if is_better else "regressed"]
            side.setdefault(name, []).append([measure, was, now])
    made = {side: dict(sorted(ids.items())) for side, ids in made.items()}
    return made | {"only": {"before": _only(old, new), "after": _only(new, old)}}


def _only(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return sorted(set(one) - set(other))


def _rows(made: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    if made.get("version") != VERSION or not isinstance(made.get("rows"), list):
        raise BadInput(f"this is no report of version {VERSION} of an evaluation", field="report")
    return {str(row["id"]): row for row in made["rows"]}
