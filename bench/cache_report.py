"""The report of ``bench.cache``: tables, marks and the picture's curves. It counts, and decides nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.cache_plot import Panel
from bench.cache_replay import WRONG_MAX, Course, Look, Point, Tally, tally
from bench.cache_streams import MARKED

OURS = "ours"
NEAR_MISS_MAX = 0.02
RECALL_MARKS = (0.36, 0.45, 0.65)
FOUR = ("t2s", "qqp", "bank", "trap")
"""The streams over which the issue's mean recall runs; without ``trap`` the families stand in."""
REASONS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of look-ups that are no exact repeats: as the client saw them, and less the embedding."""

    whole: Sequence[float]
    alone: Sequence[float]


@dataclass(frozen=True, slots=True)
class Result:
    """One source: the look-ups of each cache by its name, ``ours`` first, and what was drawn from them."""

    course: Course
    looks: dict[str, list[Look]]
    curves: Mapping[str, Sequence[Point]]
    ceilings: Mapping[str, Point]
    times: dict[str, Times]
    embed_ms: Sequence[float]
    not_stored: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A claim of the issue and whether this run held it."""

    text: str
    held: bool


def four(names: Sequence[str]) -> list[str]:
    """Those of the four streams that are there."""
    wanted = FOUR if "trap" in names else (*FOUR[:3], "families")
    return [name for name in wanted if name in names]


def judge(results: Sequence[Result]) -> list[Mark]:
    """The issue's marks for our own cache."""
    counted = {result.course.stream.name: tally(result.looks[OURS]) for result in results}
    marks = []
    for name, one in counted.items():
        share = f"{name}: wrong {one.wrong} of {one.look_ups} = {_percent(one.wrong_share)} of look-ups"
        marks.append(Mark(f"{share}, at most {_percent(WRONG_MAX)}", one.wrong_share <= WRONG_MAX))
    mean_of = four(list(counted))
    if mean_of:
        mean = float(np.mean([counted[name].recall for name in mean_of]))
        levels = " / ".join(f"{level:.2f}" for level in RECALL_MARKS)
        text = f"mean recall over {', '.join(mean_of)}: {mean:.3f}, marks {levels}"
        marks.append(Mark(text, mean >= RECALL_MARKS[0]))
    met, served = near_misses(results, OURS)
    for kind in MARKED:
        if met[kind]:
            part = served[kind] / met[kind]
            text = f"near-misses by {kind}: served {served[kind]} of {met[kind]} = {_percent(part)}"
            marks.append(Mark(f"{text}, at most {_percent(NEAR_MISS_MAX)}", part <= NEAR_MISS_MAX))
    return marks


def near_misses(results: Sequence[Result], cache: str) -> tuple[Counter[str], Counter[str]]:
    """Look-ups that brought a near-miss of a kind up, and those that served it, over the sources whose making
    tells the kind."""
    met: Counter[str] = Counter()
    served: Counter[str] = Counter()
    for result in results:
        stream = result.course.stream
        if cache in result.looks and (stream.families or stream.kinds):
            counted = tally(result.looks[cache])
            met += counted.met
            served += counted.kinds
    return met, served


def panels(results: Sequence[Result]) -> list[Panel]:
    """What the picture shows."""
    out = []
    for result in results:
        counted = {name: tally(looks) for name, looks in result.looks.items()}
        points = {
            ("ours, as shipped" if name == OURS else name): (one.wrong_share, one.hits / max(1, one.look_ups))
            for name, one in counted.items()
            if not name.startswith("cosine")
        }
        most = counted[OURS].repeats / max(1, counted[OURS].look_ups)
        curves = {
            name: [(point.wrong, point.coverage) for point in curve] for name, curve in result.curves.items()
        }
        out.append(Panel(result.course.stream.name, curves, points, most))
    return out


def markdown(
    results: Sequence[Result], notes: Mapping[str, str], facts: Sequence[str], marks: Sequence[Mark]
) -> str:
    """The whole report."""
    met, _ = near_misses(results, OURS)
    parts = [
        "# Caches on streams of questions\n",
        "`python -m bench.cache` (its method stands in the module). Each source through the running node and "
        "through other caches, same order, same vectors; exact repeats counted apart; nothing fitted here.\n",
        *(f"- {fact}" for fact in facts),
        "\n## Sources\n",
        *(
            f"- **{result.course.stream.name}**: {len(result.course)} questions; {result.course.stream.note}"
            + (f"; the node refused to store {result.not_stored}" if result.not_stored else "")
            for result in results
        ),
        "\n## Marks\n",
        *(f"- {'held' if mark.held else '**MISSED**'}: {mark.text}" for mark in marks),
        *(f"- not judged: no near-miss by {kind} was brought up" for kind in MARKED if not met[kind]),
        "\n## By source\n",
        "Wrong: of all look-ups, with the one-sided 95 % upper limit. *Afterwards*: the cut-off that finds "
        "most at no more than 1 % wrong, picked on the stream itself; a ceiling, no cache.\n",
        *(_by_source(result) for result in results),
        _means(results),
        "\n![coverage against wrong share](cache.svg)\n",
        "\n## Our tiers\n",
        _tiers(results),
        "\n## Near-misses served, by kind\n",
        "Of the look-ups that brought such a near-miss up (cosine .7 or more, of the five nearest stored), "
        "over the sources whose making tells the kind.\n",
        _kinds(results),
        "\n## Times\n",
        "Milliseconds a look-up, p50 / p95, exact repeats left out; ours over HTTP, decision log included; "
        "peers in their own process with the vector handed in, two at a time, so theirs are rough.\n",
        _times(results),
        "\n## Why repeats were not served\n",
        _reasons(results),
        "\n## Peers\n",
        "- vCache: written anew from arXiv 2502.03771, with a judge that is always right and asks nothing",
        *(f"- {name}: {note}" for name, note in notes.items()),
    ]
    return "\n".join(parts) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _by_source(result: Result) -> str:
    rows = [_row(name, tally(looks)) for name, looks in result.looks.items()]
    for name, point in result.ceilings.items():
        cells = ["–", _percent(point.wrong), "–", "–", f"{point.recall:.3f}"]
        rows.append([f"*{name}, afterwards*", *cells])
    one = tally(result.looks[OURS])
    counts = f"{one.look_ups} look-ups, {one.repeats} repeats; besides {one.again} exact repeats"
    head = f"\n**{result.course.stream.name}**: {counts}\n"
    return f"{head}\n{_table(('cache', 'hits', 'wrong', '≤', 'of hits', 'recall'), rows)}"


def _row(name: str, one: Tally) -> list[str]:
    return [
        name,
        str(one.hits),
        f"{one.wrong} = {_percent(one.wrong_share)}",
        _percent(one.wrong_upper),
        f"{one.wrong_of_hits:.3f}",
        f"{one.recall:.3f}",
    ]


def _means(results: Sequence[Result]) -> str:
    """Mean recall and worst wrong share of each cache."""
    by_name = {result.course.stream.name: result for result in results}
    chosen = four(list(by_name))
    rows = []
    for cache in dict.fromkeys(name for result in results for name in result.looks):
        every = [tally(result.looks[cache]) for result in results if cache in result.looks]
        some = [tally(by_name[name].looks[cache]) for name in chosen if cache in by_name[name].looks]
        rows.append(
            [
                cache,
                f"{np.mean([one.recall for one in some]):.3f}" if some else "–",
                _percent(max(one.wrong_share for one in some)) if some else "–",
                f"{np.mean([one.recall for one in every]):.3f}",
                _percent(max(one.wrong_share for one in every)),
            ]
        )
    for cut in results[0].ceilings if results else ():
        some_points = [by_name[name].ceilings[cut].recall for name in chosen]
        every_point = [result.ceilings[cut].recall for result in results]
        first = f"{np.mean(some_points):.3f}" if some_points else "–"
        rows.append([f"*{cut}, afterwards*", first, "–", f"{np.mean(every_point):.3f}", "–"])
    head = (
        "cache",
        f"mean recall, {', '.join(chosen)}",
        "worst wrong",
        "mean recall, all",
        "worst wrong, all",
    )
    return f"\n**All sources**\n\n{_table(head, rows)}"


def _tiers(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        one = tally(result.looks[OURS])
        cells = [f"{one.tiers[tier, True]} / {one.tiers[tier, False]}" for tier in ("slot", "semantic")]
        again = f"{one.again_hits - one.again_wrong} / {one.again_wrong} of {one.again}"
        rows.append([result.course.stream.name, again, *cells])
    return _table(
        ("source", "exact repeats: right / wrong", "slot: right / wrong", "semantic: right / wrong"), rows
    )


def _kinds(results: Sequence[Result]) -> str:
    caches = list(dict.fromkeys(name for result in results for name in result.looks))
    counted = {name: near_misses(results, name) for name in caches}
    met = sum((one[0] for one in counted.values()), Counter[str]())
    if not met:
        return "No source here tells the kind."
    kinds = [kind for kind in MARKED if met[kind]] + [
        kind for kind, _ in met.most_common() if kind not in MARKED
    ]
    rows = []
    for kind in kinds:
        cells = [f"{served[kind]} / {seen[kind]}" if seen[kind] else "–" for seen, served in counted.values()]
        rows.append([f"**{kind}**" if kind in MARKED else kind, *cells])
    return _table(("kind", *caches), rows)


def _times(results: Sequence[Result]) -> str:
    rows = []
    for cache in dict.fromkeys(name for result in results for name in result.times):
        whole = [ms for result in results if cache in result.times for ms in result.times[cache].whole]
        alone = [ms for result in results if cache in result.times for ms in result.times[cache].alone]
        rows.append([cache, _spread(whole), _spread(alone)])
    rows.append(["the embedding alone", _spread([ms for result in results for ms in result.embed_ms]), "–"])
    return _table(("cache", "with embedding", "without embedding"), rows)


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, high = np.percentile(np.array(values), (50, 95))
    return f"{low:.1f} / {high:.1f}"


def _reasons(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        missed = [
            look
            for look in result.looks[OURS]
            if look.repeat and not look.again and look.reply.served is None
        ]
        reasons = Counter(_plain(look.reply.reason) for look in missed)
        shown = "; ".join(f"{reason} {count}" for reason, count in reasons.most_common(REASONS_SHOWN))
        rows.append([result.course.stream.name, str(len(missed)), shown])
    return _table(("source", "missed", "the node's reasons for the best candidate"), rows)


def _plain(reason: str) -> str:
    """A reason without the words and figures of the questions."""
    return re.sub(r"-?\d+(?:\.\d+)?", "…", reason.partition(":")[0]).replace("|", "/")[:60]
