"""The route table, recognisers, follow-ups, several questions, and promises that hold for any text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import CERTAIN, CLAIM, Kind, Recognition, Source
from node.language.reading import read
from node.pipeline.understanding import rules
from node.pipeline.understanding.route import ROUTE_TABLE, Floors, Router
from tests.each import each
from tests.unit.pipeline.tables import sections
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS

TEXTS_OF = sections(__file__, "route.txt")
FLOORS = Floors()
PLAIN = Router([], FLOORS)
WHOLE = Router(RECOGNISERS, FLOORS)


@dataclass(frozen=True)
class Known:
    """A recogniser made of a function."""

    name: str
    find: Callable[[str, datetime], Recognition | None]

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        return self.find("btc price" if hinted else text, now)

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return f"{earlier} {fragment}"


def always(name: str, key: str | None, strength: float, **more: Any) -> Known:
    """Recognises any text so."""
    found = Recognition(name, {}, key, False, name, strength, **more)
    return Known(name, lambda text, now: found)


def sums(text: str, now: datetime) -> Recognition | None:
    if "2+2" not in text:
        return None
    return Recognition("sums", {"expr": "2+2", "answer": "4"}, "math:2+2", True, "a sum")


def coins(text: str, now: datetime) -> Recognition | None:
    words = text.lower().replace("?", "").split()
    if "btc" not in words and "eth" not in words:
        return None
    strength = 0.9 if {"price", "value", "worth"} & set(words) or len(words) <= 2 else 0.3
    return Recognition("coins", {"ids": ("bitcoin",)}, "price:bitcoin:usd", False, "names a coin", strength)


ROUTER = Router([Known("sums", sums), Known("coins", coins)], FLOORS)
LIVE = (Source.CACHE, Source.ADAPTER, Source.STALE, Source.MODEL)
TOLD = (Source.CACHE, Source.DOCUMENTS, Source.MODEL)

# --- the table ------------------------------------------------------------------------------------


def test_the_table_says_the_orders_of_the_design() -> None:
    assert [(row.name, row.kind, row.sources, row.floor) for row in ROUTE_TABLE] == [
        ("statement", Kind.STATEMENT, (Source.ACKNOWLEDGE,), None),
        ("deterministic, computable here", Kind.DETERMINISTIC, (Source.ADAPTER, Source.MODEL), None),
        ("deterministic, live", Kind.DETERMINISTIC, LIVE, "deterministic"),
        ("historical", Kind.HISTORICAL, TOLD, "historical"),
        ("generative", Kind.GENERATIVE, TOLD, "generative"),
        ("unclassified", Kind.UNCLASSIFIED, TOLD, "default"),
        ("about a text that came with it", Kind.GENERATIVE, (Source.CACHE, Source.MODEL), None),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "floor"),
    [
        ("I like turtles", Kind.STATEMENT, None),
        ("What is 2+2?", Kind.DETERMINISTIC, None),
        ("Price of BTC", Kind.DETERMINISTIC, 0.90),
        ("Will it rain tomorrow?", Kind.DETERMINISTIC, 0.90),
        ("NBA scores today", Kind.DETERMINISTIC, 0.90),
        ("Latest news", Kind.DETERMINISTIC, 0.90),
        ("What was proposal 123?", Kind.HISTORICAL, 0.80),
        ("Explain the impact of inflation", Kind.GENERATIVE, 0.70),
        ("How are you?", Kind.UNCLASSIFIED, 0.80),
    ],
)
def test_kinds_and_floors_of_the_requirements(text: str, kind: Kind, floor: float | None) -> None:
    route = WHOLE.route(text, now=NOW)
    assert (route.kind, route.floor) == (kind, floor)


def test_floors_are_what_the_caller_sets() -> None:
    router = Router(RECOGNISERS, Floors(deterministic=0.95, historical=0.85, generative=0.75, default=0.83))
    texts = ("weather in Paris", "proposal 1", "what is ipfs", "how are you?")
    assert [router.route(text, now=NOW).floor for text in texts] == [0.95, 0.85, 0.75, 0.83]


def test_a_topic_without_its_adapter_is_live_and_names_none() -> None:
    route = PLAIN.route("price of gold today", now=NOW)
    assert route.sources == LIVE
    assert (route.adapter, route.key, dict(route.slots)) == (None, None, {})
    assert route.reason == "asks for a price on a market"


# --- recognisers ----------------------------------------------------------------------------------


def test_a_local_recognition_is_computed_and_a_remote_one_looked_up() -> None:
    local = ROUTER.route("What is 2+2?", now=NOW)
    assert local.sources == (Source.ADAPTER, Source.MODEL)
    assert (local.adapter, local.key, local.reason) == ("sums", "math:2+2", "a sum")
    live = ROUTER.route("price of btc", now=NOW)
    assert live.sources == LIVE
    assert (live.adapter, live.key, live.floor) == ("coins", "price:bitcoin:usd", 0.90)


def test_a_weak_recognition_offers_context_and_claims_nothing() -> None:
    route = ROUTER.route("what is the ROI of btc since its launch?", now=NOW)
    assert route.kind is Kind.GENERATIVE
    assert route.sources == (Source.CACHE, Source.ADAPTER, Source.DOCUMENTS, Source.MODEL)
    assert (route.adapter, route.key) == ("coins", None)
    assert "coins" in route.reason


def test_a_weak_recognition_does_not_make_a_statement_a_question() -> None:
    assert ROUTER.route("BTC is at 50k today", now=NOW).kind is Kind.STATEMENT


@pytest.mark.parametrize(
    ("strength", "text", "adapter"),
    [
        (CERTAIN, "I like turtles", "turtles"),
        (CERTAIN - 0.01, "I like turtles", None),
        (CLAIM, "any turtles near?", "turtles"),
    ],
)
def test_only_a_certain_claim_beats_the_statement_gate(
    strength: float, text: str, adapter: str | None
) -> None:
    assert Router([always("turtles", None, strength)], FLOORS).route(text, now=NOW).adapter == adapter


def test_a_historical_claim_takes_the_historical_row_with_its_adapter() -> None:
    router = Router([always("spaces", "p:12", 0.8, kind=Kind.HISTORICAL)], FLOORS)
    route = router.route("What was proposal 12 in aave?", now=NOW)
    assert (route.kind, route.adapter, route.floor) == (Kind.HISTORICAL, "spaces", 0.80)
    assert route.sources == (Source.CACHE, Source.ADAPTER, Source.DOCUMENTS, Source.MODEL)


@pytest.mark.parametrize(
    ("strengths", "chosen"), [((0.6, 0.9, 0.7), "b"), ((0.8, 0.8), "a")], ids=["strongest", "first of equals"]
)
def test_the_strongest_recognition_wins_and_ties_go_to_the_first(
    strengths: tuple[float, ...], chosen: str
) -> None:
    adapters = [always(name, name, strength) for name, strength in zip("abc", strengths, strict=False)]
    assert Router(adapters, FLOORS).route("what about anything?", now=NOW).adapter == chosen


def test_others_are_those_of_the_same_key() -> None:
    adapters = [
        always(*one) for one in (("a", "k", 0.9), ("b", "k", 0.8), ("c", "other", 0.8), ("d", None, 0.8))
    ]
    route = Router(adapters, FLOORS).route("what is it worth?", now=NOW)
    assert (route.adapter, [one.adapter for one in route.others]) == ("a", ["b"])


def test_reconsidering_takes_the_slots_of_the_adapter_or_leaves_the_route() -> None:
    route = ROUTER.route("what does the orange coin fetch?", now=NOW)
    assert not route.sure
    again = ROUTER.reconsider("what does the orange coin fetch?", route, "coins", "reads like it", now=NOW)
    assert (again.kind, again.adapter, again.sure) == (Kind.DETERMINISTIC, "coins", True)
    assert again.reason.endswith("reads like it")
    assert ROUTER.reconsider("what?", route, "no such adapter", "", now=NOW) == route
    assert ROUTER.reconsider("what?", route, "sums", "", now=NOW) == route
    assert ROUTER.reconsider("what?", route, "historical", "", now=NOW).kind is Kind.HISTORICAL


def test_one_instant_in_two_zones_is_two_days() -> None:
    instant = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
    zones = ("Pacific/Honolulu", "UTC")
    there = [instant.astimezone(ZoneInfo(zone)) for zone in zones]
    assert len({WHOLE.route("weather in Paris tomorrow", now=now).key for now in there}) == 2


def test_a_fragment_goes_to_the_adapter_of_the_earlier_question() -> None:
    assert ROUTER.follow("ETH", "btc price", NOW) == "btc price ETH"
    assert ROUTER.follow("ETH", "who wrote Hamlet?", NOW) is None


def test_recognisers_get_the_text_and_the_clock() -> None:
    seen: list[tuple[str, datetime]] = []

    def spy(text: str, now: datetime) -> Recognition | None:
        seen.append((text, now))
        return None

    Router([Known("spy", spy)], FLOORS).route("¿Qué hora es?", now=NOW)
    assert seen == [("¿Qué hora es?", NOW)]


def test_what_is_unresolved_is_passed_on() -> None:
    place = always("place", None, 1.0, unresolved=("place",))
    route = Router([place], FLOORS).route("weather in Springfield", now=NOW)
    assert (route.unresolved, route.key) == (("place",), None)


# --- wording that hurries -------------------------------------------------------------------------


@each(
    ("hurried", "text"),
    [(name == "hurried", text) for name in ("hurried", "not hurried") for text in TEXTS_OF[name]],
)
def test_time_sensitive_wording(hurried: bool, text: str) -> None:
    assert PLAIN.route(text, now=NOW).time_sensitive is hurried


# --- follow-ups -----------------------------------------------------------------------------------


@each("text", TEXTS_OF["follow-up"])
def test_a_follow_up_without_earlier_turns_lacks_its_subject(text: str) -> None:
    alone = PLAIN.route(text, now=NOW)
    assert not alone.needs_history
    assert alone.kind is not Kind.HISTORICAL
    assert rules.follow_up(read(text).flat) is not None


@each("text", TEXTS_OF["alone"])
def test_what_stands_alone_is_no_follow_up(text: str) -> None:
    assert rules.follow_up(read(text).flat) is None


def test_what_leans_on_earlier_turns_is_neither_looked_up_nor_sure() -> None:
    route = PLAIN.leaning("and the second one?", "goes on from what was said")
    assert (route.kind, route.needs_history) == (Kind.GENERATIVE, True)
    assert (route.adapter, route.key) == (None, None)


# --- any text -------------------------------------------------------------------------------------

SOME_WORDS = """
what who is the of btc price weather in paris i like do does proposal 123 2+2 and it why ? ! . , hello thanks
was qué wie est-ce が か 什么 что not can you explain news lakers usd eur 🙂 ' " ¿ - /
"""
WORDS = st.sampled_from([*SOME_WORDS.split(), "\n", "\t"])
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join))


@given(TEXTS)
def test_any_text_gets_a_route_of_the_table(text: str) -> None:
    route = ROUTER.route(text, now=NOW)
    rows = {(row.kind, sources) for row in ROUTE_TABLE for sources in (row.sources, row.sources_with_partial)}
    assert (route.kind, route.sources) in rows
    assert route.reason
    assert (route.floor is None) == (Source.CACHE not in route.sources)
    assert not route.needs_history


@given(TEXTS)
def test_surrounding_blanks_change_nothing(text: str) -> None:
    assert PLAIN.route(f" \n{text}\t ", now=NOW) == PLAIN.route(text, now=NOW)


@given(TEXTS)
def test_a_trailing_question_mark_never_silences_a_question(text: str) -> None:
    if PLAIN.route(text, now=NOW).kind is not Kind.STATEMENT:
        assert PLAIN.route(text + "?", now=NOW).kind is not Kind.STATEMENT


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=120))
def test_case_changes_no_kind(text: str) -> None:
    assert PLAIN.route(text.upper(), now=NOW).kind is PLAIN.route(text.lower(), now=NOW).kind


HOSTILE = [
    "a" * 65_536, "a " * 32_768, "? " * 32_768, "what is " * 8_192, "and " * 16_384, "proposal " * 7_000,
    "1+" * 32_768, "(" * 65_536, "is it " * 10_000, "in in in, " * 6_000, "\n" * 65_536, " " * 65_536,
    "l'" * 32_768, "a-" * 32_768, "'s" * 32_768, "か" * 21_000, "the lakers " * 6_000, "100 usd in " * 6_000,
    "will it it it " * 4_600, "price of " * 7_200, "é" * 32_768, "i would like to " * 4_000, "x, " * 21_000,
    "\u0301" * 32_768,
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:8]) for text in HOSTILE])
def test_long_hostile_texts_are_bounded(text: str) -> None:
    # The timeout is the check: a rule that backtracks takes minutes on these.
    for variant in (text, "x" + text, text + "?"):
        WHOLE.route(variant, now=NOW)
        WHOLE.follow(variant, "price of btc", NOW)
        WHOLE.follow("and eth?", variant, NOW)


def test_an_instruction_at_the_end_of_a_long_paste_is_read() -> None:
    paste = "The cat sat on the mat. " * 1_000
    assert PLAIN.route(paste, now=NOW).kind is Kind.STATEMENT
    assert PLAIN.route(paste + "Summarise this text.", now=NOW).kind is Kind.GENERATIVE
