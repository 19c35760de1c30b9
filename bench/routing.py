"""Routes, adapters, slots and exact sums on labelled questions.

``python -m bench.routing [--part train|test|both] [--show train|test] [--data FILE]``

Questions: ``bench/routing_questions.jsonl``, written before the rules were read, half of it (by the hash of
the text) in the part ``train``, whose misses may lead to better rules, and half in ``test``, whose misses
may not. Method: the Router with the real recognisers at a fixed instant; no network, no model, no cache.

Measures, each with its rule:
- route: macro-F1 over the labelled routes. Hostile texts whose route does not matter are left out.
- traps: share of the questions that only look like a tool's whose route is right.
- adapter: of the questions labelled with an adapter and routed rightly, the share given to that adapter.
- slots: prices all of ids, vs, metric, amount, date and limit, proposals the number. A missing amount is
  1; "yesterday" and "today-7d" equal their dates.
- sums: answer and unit of every calculation. An answer that decimals can write must be equal, any other
  right to 12 figures; "km" and "kilometers" are one unit.
- hostile: no answer where there is none to give; time is the worst of all texts.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pint

from adapters.coingecko import CoinGecko
from adapters.math_calculator import MathCalculator
from adapters.math_calculator.units import find as find_unit
from node.classify.route import Floors, Router
from node.clock import ManualClock, SystemClock
from node.model import Kind, Route
from node.settings import AdapterSettings

QUESTIONS = Path(__file__).resolve().parent / "routing_questions.jsonl"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
FIGURES = 12
MATH, PRICES = "math-calculator", "coingecko"
METRICS = {"volume": "volume_24h", "change": "change_24h"}
"""What the labels call a metric, where the adapter's word is another."""

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled question. ``slots`` None: not judged; ``free`` names slots with more than one fair
    value."""

    text: str
    group: str
    part: str
    kind: str
    adapter: str | None
    slots: Fields | None
    trap: bool
    refused: bool
    any_route: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True)
class Result:
    """What the router said, and in how many seconds."""

    case: Case
    route: Route
    took_s: float

    @property
    def routed(self) -> bool:
        return self.case.any_route or self.route.kind.value == self.case.kind

    @property
    def adapted(self) -> bool:
        return self.route.adapter == self.case.adapter


# --- questions ----------------------------------------------------------------------------------------


def read_cases(file: Path) -> list[Case]:
    """The labelled questions; a ``build`` field says how a long hostile text is put together."""
    cases = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text = row["text"]
        if build := row.get("build"):
            text = build["prefix"] + build["repeat"] * build["times"] + build["suffix"]
        free = frozenset(
            name.removesuffix("_any") for name, on in row.items() if on and name.endswith("_any")
        )
        cases.append(
            Case(
                text=text,
                group=row["group"],
                part=row["part"],
                kind=row["route"],
                adapter=row["adapter"],
                slots=row["slots"],
                trap=bool(row.get("trap")),
                refused=bool(row.get("refused")),
                any_route=bool(row.get("any_route")),
                free=free,
            )
        )
    return cases


# --- comparing ----------------------------------------------------------------------------------------


def same_number(expected: str, answer: str) -> bool:
    """Equal; or, where the expected number has no short decimal form, equal to ``FIGURES`` figures."""
    try:
        wanted, got = Fraction(expected), Fraction(answer)
    except (ValueError, ZeroDivisionError):
        return expected.casefold() == answer.casefold()
    if wanted == got:
        return True
    is_rounded = "/" in expected or len(re.sub(r"\D", "", expected.partition(".")[2])) >= FIGURES
    return is_rounded and abs(wanted - got) * 10**FIGURES <= abs(wanted)


class Units:
    """Whether two names mean one unit."""

    def __init__(self) -> None:
        self._registry: pint.UnitRegistry[float] = pint.UnitRegistry()

    def same(self, expected: str | None, got: str | None) -> bool:
        if expected is None or got is None or expected == got or "%" in (expected, got):
            return expected == got
        try:
            one, other = (self._registry.parse_units(_pint_name(unit)) for unit in (expected, got))
        except (pint.UndefinedUnitError, pint.DefinitionSyntaxError):
            return False
        return bool(one == other)


def _pint_name(unit: str) -> str:
    """The adapter's names for people ("US gallons") are read by its own table, labels by pint."""
    known = find_unit(unit)
    return known.pint if known is not None and known.factor == 1 else unit


def canonical_day(day: object) -> object:
    """The ISO date of ``yesterday`` and ``today-7d``; anything else as it is."""
    if day == "yesterday":
        day = "today-1d"
    if isinstance(day, str) and (match := re.fullmatch(r"today-(\d+)d", day)):
        return (NOW.date() - timedelta(days=int(match[1]))).isoformat()
    return date.fromisoformat(day).isoformat() if isinstance(day, str) else day


def price_slots(slots: Fields) -> dict[str, object]:
    """The six slots in one form, whichever of the equal forms was written."""
    ids = slots.get("ids") or ()
    metric = slots.get("metric") or "price"
    amount, limit = slots.get("amount"), slots.get("limit")
    return {
        "ids": sorted(str(one) for one in ids) if isinstance(ids, (list, tuple)) else [str(ids)],
        "vs": slots.get("vs"),
        "metric": METRICS.get(str(metric), metric),
        "amount": "1" if amount is None else str(amount),
        "date": canonical_day(slots.get("date")),
        "limit": None if limit is None else str(limit),
    }


def slots_right(case: Case, route: Route, units: Units) -> bool | None:
    """Whether all judged slots are right; None where there are none to judge."""
    if case.slots is None:
        return None
    if case.adapter == MATH:
        answer = route.slots.get("answer")
        if not isinstance(answer, str) or not same_number(str(case.slots["answer"]), answer):
            return False
        wanted, got = case.slots.get("unit"), route.slots.get("unit")
        if "unit" in case.free:
            return True
        return units.same(None if wanted is None else str(wanted), None if got is None else str(got))
    if case.adapter == PRICES:
        expected, found = price_slots(case.slots), price_slots(route.slots)
        return route.adapter == PRICES and all(
            expected[name] == found[name] for name in expected if name not in case.free
        )
    return case.slots.get("proposal") == route.slots.get("proposal")


# --- measuring ----------------------------------------------------------------------------------------


def ask_all(cases: Sequence[Case]) -> list[Result]:
    """Route every text once, after the tables are loaded."""
    clock = SystemClock()
    calculator = MathCalculator(ManualClock(NOW))
    calculator.warm()
    coins = CoinGecko(AdapterSettings(base_url="http://127.0.0.1:9"), ManualClock(NOW))
    router = Router([calculator.recognise, coins.recognise], Floors())
    for text in ("what is 5 miles in km", "price of btc", "was wurde beschlossen", "天気"):
        router.route(text, now=NOW)
    results = []
    for case in cases:
        started = clock.monotonic()
        route = router.route(case.text, now=NOW)
        results.append(Result(case, route, clock.monotonic() - started))
    return results


def f1_by_route(results: Sequence[Result]) -> dict[str, float]:
    """F1 of each labelled route."""
    judged = [result for result in results if not result.case.any_route]
    scores = {}
    for kind in sorted({result.case.kind for result in judged}):
        hits = sum(r.case.kind == kind == r.route.kind.value for r in judged)
        total = sum(r.case.kind == kind for r in judged) + sum(r.route.kind.value == kind for r in judged)
        scores[kind] = 2 * hits / total
    return scores


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags)}/{len(flags)} = {sum(flags) / len(flags):.3f}" if flags else "none"


def report(name: str, results: Sequence[Result], units: Units) -> None:
    """Print every measure of one part."""
    judged = [result for result in results if not result.case.any_route]
    scores = f1_by_route(results)
    print(f"\n{name}: {len(results)} texts")
    print(f"  route right        {_share([result.routed for result in judged])}")
    by_route = ", ".join(f"{kind} {score:.3f}" for kind, score in scores.items())
    print(f"  macro-F1           {statistics.fmean(scores.values()):.3f} ({by_route})")
    for title, chosen in (
        ("English", [r for r in results if r.case.group not in ("language", "hostile")]),
        ("other languages", [r for r in results if r.case.group == "language"]),
    ):
        print(f"  macro-F1 {title:<16} {statistics.fmean(f1_by_route(chosen).values()):.3f}")
    print(f"  traps right        {_share([r.routed for r in results if r.case.trap])}")
    print(f"  adapter right      {_share([r.adapted for r in judged if r.case.adapter and r.routed])}")
    for title, adapter in (("sums right", MATH), ("price slots", PRICES), ("proposal slots", None)):
        flags = [slots_right(r.case, r.route, units) for r in results if r.case.adapter == adapter]
        print(f"  {title:<18} {_share([flag for flag in flags if flag is not None])}")
    flags = [slots_right(r.case, r.route, units) for r in judged if r.routed and r.adapted]
    print(f"  slots given route  {_share([flag for flag in flags if flag is not None])}")
    print(
        f"  hostile refused    {_share([not r.route.slots.get('answer') for r in results if r.case.refused])}"
    )
    times = sorted(result.took_s for result in results)
    print(
        f"  time per text      {statistics.median(times) * 1e3:.2f} ms median, {times[-1] * 1e3:.1f} ms worst"
    )
    print("  confusion (rows: labelled, columns: said)")
    kinds = [kind.value for kind in Kind]
    counts = Counter((r.case.kind, r.route.kind.value) for r in judged)
    print("    " + " " * 14 + "".join(f"{kind:>14}" for kind in kinds))
    for kind in kinds:
        if any(counts[kind, other] for other in kinds):
            print(f"    {kind:<14}" + "".join(f"{counts[kind, other]:>14}" for other in kinds))
    for group in dict.fromkeys(r.case.group for r in results):
        print(
            f"    {group:<14} right {_share([is_right(r, units) for r in results if r.case.group == group])}"
        )


def is_right(result: Result, units: Units) -> bool:
    """Everything that is judged about the text is right."""
    case = result.case
    if case.refused and result.route.slots.get("answer"):
        return False
    if case.any_route:
        return True
    return (
        result.routed
        and (case.adapter is None or result.adapted)
        and (slots_right(case, result.route, units) is not False)
    )


def show_misses(results: Sequence[Result], units: Units) -> None:
    """Print the texts that went wrong, what was wanted and what was said."""
    for result in results:
        if not is_right(result, units):
            case, route = result.case, result.route
            print(f"\n  [{case.group}] {case.text[:100]}")
            print(f"    wanted {case.kind} {case.adapter or '-'} {dict(case.slots) if case.slots else ''}")
            print(
                f"    said   {route.kind.value} {route.adapter or '-'} {dict(route.slots)} ({route.reason})"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if a hostile text took a second or got an answer that there is not."""
    parser = argparse.ArgumentParser(prog="bench.routing", description="routing on labelled questions")
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="file of labelled questions")
    parser.add_argument("--part", choices=("train", "test", "both"), default="both")
    parser.add_argument("--show", choices=("train", "test"), help="print the misses of this part")
    options = parser.parse_args(arguments)
    units = Units()
    results = ask_all(read_cases(options.data))
    for part in ("train", "test") if options.part == "both" else (options.part,):
        report(f"part {part}", [r for r in results if r.case.part == part], units)
    if options.show:
        show_misses([r for r in results if r.case.part == options.show], units)
    bad = [r for r in results if r.took_s >= 1.0 or (r.case.refused and r.route.slots.get("answer"))]
    for result in bad:
        print(f"slow or wrongly answered: {result.case.text[:60]!r}, {result.took_s:.2f} s", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
