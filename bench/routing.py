"""Routes, adapters, slots and exact sums on labelled questions.

``python -m bench.routing [--part train|test|both] [--show train|test] [--without-head] [--data FILE]``

Questions: ``bench/routing_questions.jsonl`` (format: ``bench.routing_cases``), written before the rules and
the adapters were read; misses of the part ``train`` may lead to better rules, misses of ``test`` may not.
Method: ``Understanding`` over the real adapters' patterns at a fixed instant, with the local embedder; no
network, no model, no cache.

Measures, each with its rule:
- route: macro-F1 over the labelled routes, of single and completed questions. A text that was parted
  although it is one question counts as missed. Hostile texts whose route does not matter are left out.
- traps: share of the questions that only look like a tool's whose route is right.
- adapter: of the questions labelled with an adapter and routed rightly, the share given to that adapter.
- slots: every slot of the label. Equal forms are one: a missing amount of coins is 1, 12.50 is 12.5,
  "tomorrow" is its date; accents and case of names do not count. A space is named by its beginning ("aave" is
  "aave.eth").
- sums: answer and unit of every calculation. An answer that decimals can write must be equal, any other
  right to 12 figures; "km" and "kilometers" are one unit.
- several: as many parts as labelled (a greeting beside them does not count), each right in route, adapter
  and slots.
- hostile: no answer where there is none to give. Time is that of rules and head; the embedder's is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import aiohttp
import pint

from adapters import registry
from adapters.math_calculator.units import find as find_unit
from bench.routing_cases import ENGLISH, QUESTIONS, Case, Wanted, read_cases
from node.core.clock import SystemClock
from node.core.model import CLAIM, Check, Kind, Route
from node.core.ports import Embedder, EmbedderInfo, Vector
from node.core.settings import Adapters, Embed
from node.models.embedders.local import LocalEmbedder
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.semantic import SemanticHead
from node.pipeline.understanding.understand import Part, Understanding
from tests.manual_clock import ManualClock
from tests.simulators.semantics import OneModel

NOW = datetime(2026, 11, 22, tzinfo=UTC)
FIGURES = 12
MATH, PRICES, SNAPSHOT, CURRENCY = "math-calculator", "coingecko", "snapshot", "fx-rates"
SEVERAL = "several"
"""What is said of a text that was parted."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was understood, and in how many seconds beside the embedder's."""

    case: Case
    parts: tuple[Part, ...]
    took_s: float

    @property
    def route(self) -> Route:
        return self.parts[0].route

    @property
    def said(self) -> str:
        """The route for counting: a fair other one counts as the labelled."""
        if len(self.parts) > 1:
            return SEVERAL
        kind = self.route.kind.value
        return self.case.kind if kind in self.case.wanted.also else kind

    @property
    def routed(self) -> bool:
        return self.case.any_route or self.said == self.case.kind

    @property
    def adapter(self) -> str | None:
        """The adapter that is asked for the answer; one that only adds context is none."""
        return self.route.adapter if self.route.strength >= CLAIM else None

    @property
    def adapted(self) -> bool:
        return self.adapter == self.case.adapter


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
    """The ISO date of a day that is told from today ("tomorrow", "today-7d"); anything else as it is."""
    named = {"today": 0, "yesterday": -1, "tomorrow": 1}
    if isinstance(day, str) and day in named:
        return (NOW.date() + timedelta(days=named[day])).isoformat()
    if isinstance(day, str) and (match := re.fullmatch(r"today([+-]\d{1,5})d", day)):
        return (NOW.date() + timedelta(days=int(match[1]))).isoformat()
    return day


def folded(value: object) -> object:
    """Case and accents of a name do not count; lists are compared without order."""
    if isinstance(value, str):
        plain = unicodedata.normalize("NFKD", value.casefold())
        return "".join(char for char in plain if not unicodedata.combining(char))
    if isinstance(value, (list, tuple)):
        return sorted(str(folded(one)) for one in value)
    return None if value is None else str(value)


def number(value: object) -> object:
    """One form of 12.50 and 12.5."""
    try:
        return None if value is None else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return value


def canonical(adapter: str | None, name: str, value: object) -> object:
    """A slot's value in one form, whichever of the equal forms was written."""
    if name in ("when", "date") and isinstance(value, str):
        return canonical_day(value)
    if name == "date" and isinstance(value, date):
        return value.isoformat()
    if name in ("amount", "limit"):
        return number("1" if value is None and name == "amount" and adapter == PRICES else value)
    return folded(value if value != "" else None)


def differing(wanted: Wanted, route: Route, units: Units) -> list[str] | None:
    """The names of the judged slots that are wrong; None where there are none to judge."""
    if wanted.slots is None:
        return None
    if wanted.adapter is not None and route.adapter != wanted.adapter:
        return ["adapter"]
    if wanted.adapter == MATH:
        answer = route.slots.get("answer")
        if not isinstance(answer, str) or not same_number(str(wanted.slots["answer"]), answer):
            return ["answer"]
        unit, got = wanted.slots.get("unit"), route.slots.get("unit")
        same = units.same(None if unit is None else str(unit), None if got is None else str(got))
        return [] if same or "unit" in wanted.free else ["unit"]
    wrong = []
    for name, value in wanted.slots.items():
        expected = canonical(wanted.adapter, name, value)
        found = canonical(wanted.adapter, name, route.slots.get(name))
        if name == "space" and isinstance(expected, str) and isinstance(found, str):
            found = expected if found.startswith(expected) else found
        if expected != found and name not in wanted.free:
            wrong.append(name)
    return wrong


def slots_right(wanted: Wanted, route: Route, units: Units) -> bool | None:
    """Whether all judged slots are right; None where there are none to judge."""
    wrong = differing(wanted, route, units)
    return None if wrong is None else not wrong


def all_right(wanted: Wanted, route: Route, units: Units) -> bool:
    """Route, adapter and slots of one question."""
    return (
        route.kind.value in {wanted.kind, *wanted.also}
        and (wanted.adapter is None or wanted.adapter == route.adapter)
        and slots_right(wanted, route, units) is not False
    )


# --- measuring ----------------------------------------------------------------------------------------


class TimedEmbedder:
    """The local embedder with a stopwatch, so that its time is not taken for the classifier's."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._clock = SystemClock()
        self.took_s = 0.0

    @property
    def info(self) -> EmbedderInfo:
        return self._inner.info

    @property
    def sample(self) -> Vector | None:
        return self._inner.sample

    async def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        started = self._clock.monotonic()
        try:
            return await self._inner.embed(texts)
        finally:
            self.took_s += self._clock.monotonic() - started

    def health(self) -> Check:
        return self._inner.health()

    async def close(self) -> None:
        await self._inner.close()


async def ask_all(cases: Sequence[Case], *, with_head: bool) -> list[Result]:
    """Understand every text once, after the tables are loaded."""
    clock = SystemClock()
    results = []
    async with aiohttp.ClientSession() as http:
        adapters = registry.build(Adapters(), ManualClock(NOW), http)
        for adapter in adapters:
            adapter.warm()
        embedder = TimedEmbedder(await LocalEmbedder.load(Embed(), clock))
        head = SemanticHead.load() if with_head else None
        understanding = Understanding(Router(adapters, Floors()), OneModel(embedder), head)
        try:
            for text in ("what is 5 miles in km", "price of btc", "was wurde beschlossen", "天気"):
                await understanding.understand(text, now=NOW)
            for case in cases:
                started, embedded = clock.monotonic(), embedder.took_s
                parts = await understanding.understand(case.text, now=NOW, turns=case.history)
                took_s = clock.monotonic() - started - (embedder.took_s - embedded)
                results.append(Result(case, _asking(parts), took_s))
        finally:
            await embedder.close()
            for adapter in adapters:
                await adapter.close()
    return results


def _asking(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts without the greetings beside them."""
    asking = tuple(part for part in parts if part.route.kind is not Kind.STATEMENT)
    return asking or tuple(parts[:1])


def f1_by_route(results: Sequence[Result]) -> dict[str, float]:
    """F1 of each labelled route."""
    judged = [result for result in results if not result.case.any_route and not result.case.parts]
    scores = {}
    for kind in sorted({result.case.kind for result in judged}):
        hits = sum(r.case.kind == kind == r.said for r in judged)
        total = sum(r.case.kind == kind for r in judged) + sum(r.said == kind for r in judged)
        scores[kind] = 2 * hits / total
    return scores


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags)}/{len(flags)} = {sum(flags) / len(flags):.3f}" if flags else "none"


def report(name: str, results: Sequence[Result], units: Units) -> None:
    """Print every measure of one part."""
    single = [result for result in results if not result.case.parts]
    judged = [result for result in single if not result.case.any_route]
    print(f"\n{name}: {len(results)} texts")
    print(f"  route right        {_share([result.routed for result in judged])}")
    for title, chosen in (
        ("all", single),
        ("English", [r for r in single if r.case.lang == ENGLISH]),
        ("other languages", [r for r in single if r.case.lang != ENGLISH]),
    ):
        scores = f1_by_route(chosen)
        if scores:
            by_route = ", ".join(f"{kind} {score:.3f}" for kind, score in scores.items())
            print(f"  macro-F1 {title:<16} {statistics.fmean(scores.values()):.3f} ({by_route})")
    for lang in sorted({r.case.lang for r in judged}):
        print(f"    route right, {lang:<4} {_share([r.routed for r in judged if r.case.lang == lang])}")
    print(f"  traps right        {_share([r.routed for r in single if r.case.trap])}")
    print(f"  adapter right      {_share([r.adapted for r in judged if r.case.adapter and r.routed])}")
    print(f"    none counted too {_share([r.adapted for r in judged if r.routed])}")
    flags = [slots_right(r.case.wanted, r.route, units) for r in judged if r.routed and r.adapted]
    print(f"  slots given route  {_share([flag for flag in flags if flag is not None])}")
    for adapter in sorted({r.case.adapter or "" for r in judged}):
        mine = [r for r in judged if (r.case.adapter or "") == adapter and r.case.wanted.slots is not None]
        wrong = [differing(r.case.wanted, r.route, units) or [] for r in mine]
        names = Counter(name for each in wrong for name in each)
        print(
            f"    slots {adapter or '(proposals)':<17} {_share([not each for each in wrong])}"
            + (
                f"  wrong: {', '.join(f'{name} {count}' for name, count in names.most_common())}"
                if names
                else ""
            )
        )
    print(
        f"  several, as many   {_share([len(r.parts) == len(r.case.parts) for r in results if r.case.parts])}"
    )
    print(f"  several, all right {_share([is_right(r, units) for r in results if r.case.parts])}")
    print(f"  follow-ups right   {_share([is_right(r, units) for r in results if r.case.history])}")
    refused = [not r.route.slots.get("answer") for r in results if r.case.refused]
    print(f"  hostile refused    {_share(refused)}")
    times = sorted(result.took_s for result in results)
    print(
        f"  time per text      {statistics.median(times) * 1e3:.2f} ms median, {times[-1] * 1e3:.1f} ms worst"
    )
    kinds = [*(kind.value for kind in Kind), SEVERAL]
    table("routes", kinds, [(r.case.kind, r.said) for r in judged])
    known = sorted({r.case.adapter or "-" for r in judged} | {r.adapter or "-" for r in judged})
    table("adapters", known, [(r.case.adapter or "-", r.adapter or "-") for r in judged])
    for group in dict.fromkeys(r.case.group for r in results):
        print(
            f"    {group:<14} right {_share([is_right(r, units) for r in results if r.case.group == group])}"
        )


def table(name: str, names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> None:
    """Print a confusion table."""
    print(f"  confusion of {name} (rows: labelled, columns: said)")
    counts = Counter(pairs)
    print("    " + " " * 15 + "".join(f"{one[:13]:>14}" for one in names))
    for one in names:
        if any(counts[one, other] for other in names):
            print(f"    {one:<15}" + "".join(f"{counts[one, other] or '.':>14}" for other in names))


def is_right(result: Result, units: Units) -> bool:
    """Everything that is judged about the text is right."""
    case = result.case
    if case.refused and result.route.slots.get("answer"):
        return False
    if case.any_route:
        return True
    if case.parts:
        return len(case.parts) == len(result.parts) and all(
            all_right(wanted, part.route, units)
            for wanted, part in zip(case.parts, result.parts, strict=True)
        )
    return len(result.parts) == 1 and all_right(case.wanted, result.route, units)


def show_misses(results: Sequence[Result], units: Units) -> None:
    """Print the texts that went wrong, what was wanted and what was said."""
    for result in results:
        if not is_right(result, units):
            case = result.case
            print(f"\n  [{case.group} {case.lang}] {' / '.join((*case.history, case.text))[:160]}")
            for wanted in case.parts or (case.wanted,):
                print(f"    wanted {wanted.kind} {wanted.adapter or '-'} {dict(wanted.slots or {})}")
            for part in result.parts:
                route = part.route
                wrong = differing(case.wanted, route, units) if not case.parts else None
                print(
                    f"    said   {route.kind.value} {route.adapter or '-'} {dict(route.slots)}"
                    f" ({route.reason})" + (f" WRONG: {', '.join(wrong)}" if wrong else "")
                )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if a hostile text took a second or got an answer that there is not."""
    parser = argparse.ArgumentParser(prog="bench.routing", description="routing on labelled questions")
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="file of labelled questions")
    parser.add_argument("--part", choices=("train", "test", "both"), default="both")
    parser.add_argument("--show", choices=("train", "test"), help="print the misses of this part")
    parser.add_argument("--without-head", action="store_true", help="rules only, no semantic classifier")
    options = parser.parse_args(arguments)
    units = Units()
    results = asyncio.run(ask_all(read_cases(options.data), with_head=not options.without_head))
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
