"""Ten thousand distinct questions made by program, and other wordings of each.

A family is a frame with two slots; every filling is one question, and neighbours in a family ask different
things in nearly the same words, as the questions of a busy cache do. ``again`` holds frames that differ from
the stored one in politeness or word form, ``turned`` frames in another word order. Which tier answers them is
the node's decision; the measurement counts what it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One frame with its other wordings and the fillings of its slots."""

    name: str
    stored: str
    again: tuple[str, ...]
    turned: tuple[str, ...]
    xs: tuple[str, ...]
    ys: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``number`` is its place in the list; answers carry it, so that a wrong one is seen."""

    number: int
    family: Family
    x: str
    y: str

    @property
    def text(self) -> str:
        return self.family.stored.format(x=self.x, y=self.y)

    def again(self, which: int) -> str:
        frames = self.family.again
        return frames[which % len(frames)].format(x=self.x, y=self.y)

    def turned(self, which: int) -> str:
        frames = self.family.turned
        return frames[which % len(frames)].format(x=self.x, y=self.y)

    @property
    def mark(self) -> str:
        return f"entry {self.number:05d}"

    @property
    def answer(self) -> str:
        """About as long as a stored explanation is."""
        about = f"{self.x} and {self.y}" if self.y else self.x
        return (
            f"This is {self.mark}, the stored answer about {about}. It stands for an explanation of a few "
            "sentences, as a model or a document gives it: what the matter is, on what it depends, what is "
            "known about it and what is not. Whoever asks the same in other words is meant to get exactly "
            "this text, and whoever asks something else is not."
        )


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_COUNTRIES = _list(
    """Norway, Kenya, Peru, Japan, Portugal, Vietnam, Canada, Morocco, Chile, Finland, Ghana, Nepal, Greece,
    Brazil, Iceland, Egypt, Mexico, Poland, Thailand, Uganda, Bolivia, Croatia, Estonia, Indonesia, Jamaica,
    Latvia, Mongolia, Namibia, Oman, Paraguay, Romania, Senegal, Tunisia, Ukraine, Uruguay, Zambia, Austria,
    Belgium, Cambodia, Denmark, Ethiopia, Georgia, Hungary, Ireland, Jordan, Kuwait, Laos, Malaysia, Panama,
    Rwanda"""
)
_LANGUAGES = _list(
    """Python, Rust, Go, Java, Kotlin, Swift, Ruby, Perl, PHP, Scala, Haskell, Erlang, Elixir, Julia, Lua,
    Dart, Fortran, Cobol, Pascal, Prolog, Clojure, OCaml, TypeScript, JavaScript, Zig, Nim, Ada, Lisp, Scheme,
    MATLAB"""
)
_TASKS = _list(
    """sort a list, parse a date, read a file, open a socket, write a unit test, reverse a string,
    flatten a nested array, merge two dictionaries, start a thread, catch an exception, format a number,
    compress a folder, hash a password, draw a histogram, query a database, decode an image,
    validate an email address, measure memory usage, cancel a timer, generate a random key,
    walk a directory tree, escape a regular expression, compute a checksum, spawn a process,
    serialize an object, draw a graph, translate a message, resize a window, profile a loop, schedule a job,
    split a sentence, load a plugin, mock a service, watch a folder, encode a video, trim whitespace,
    round a fraction, count the words, transpose a matrix, log a warning"""
)
_MATERIALS = _list(
    """copper, bamboo, wool, graphite, lithium, silk, concrete, helium, zinc, rubber, quartz, cork, nickel,
    cotton, salt, sulfur, titanium, clay, resin, cobalt, leather, glass, silver, iodine, wax, tin, marble,
    hemp, neon, silicon, starch, tungsten, linen, ammonia, chalk, platinum, jute, boron, amber, gypsum"""
)
_FIELDS = _list(
    """medicine, agriculture, aviation, cooking, architecture, astronomy, painting, shipbuilding, music,
    dentistry, brewing, photography, jewelry, fishing, printing, welding, sailing, surgery, beekeeping,
    gardening, mining, plumbing, fashion, robotics, archaeology, carpentry, forestry, geology, pottery,
    perfumery, toy design, watchmaking, road construction, water treatment, veterinary care, cheese making,
    bookbinding, film production, railway engineering, sports equipment"""
)
_PROJECTS = _list(
    """solar panels, high speed trains, community gardens, electric buses, tidal turbines, free libraries,
    vertical farms, bicycle lanes, school meals, desalination plants, universal pensions, digital archives,
    mobile clinics, carbon taxes, night markets, river ferries, seed banks, fiber networks, wind farms,
    co-operative housing, mountain huts, drone deliveries, rooftop apiaries, compost programs,
    coral nurseries, language schools, micro loans, music academies, rain barrels, hybrid seeds,
    ride sharing, heat pumps, land reforms, green roofs, sign languages, paper ballots, village radio,
    flood dams, street theatre, tree planting"""
)
_CRAFTS = _list(
    """weaving, puppet theatre, wrestling, banking, beer brewing, falconry, shadow boxing, glass blowing,
    journalism, chess, tea drinking, choral singing, whaling, cartography, ice skating, opera, wood carving,
    horse racing, coin minting, ballet, typography, rowing, bell founding, cycling, sheep farming, comic art,
    cinema, stamp collecting, swimming, folk dancing, tailoring, gliding, fencing, pipe making, quilting,
    surfing, archery, knitting, mountaineering, poetry"""
)
_CAUSES = _list(
    """drought, inflation, tourism, migration, automation, deforestation, urbanization, corruption, frost,
    smuggling, erosion, litigation, nostalgia, noise, rationing"""
)
_SECTORS = _list(
    """coffee farming, textile mills, hospital staffing, hotel building, rice terraces, university research,
    fish markets, steel production, radio stations, dairy farms, railway traffic, wine growing,
    theatre attendance, road safety, honey harvests"""
)
_PROPOSALS = tuple(str(number) for number in range(101, 2_101))

FAMILIES = (
    Family(
        "proposals",
        "What was proposal {x}?",
        ("tell me about proposal #{x}", "What was proposal number {x} about?", "explain proposal {x}"),
        (),
        _PROPOSALS,
    ),
    Family(
        "code",
        "How do I {x} in {y}?",
        ("What is the best way to {x} in {y}?", "how to {x} in {y}, please"),
        ("In {y}, how do I {x}?", "In {y}, how can I {x}?"),
        _TASKS,
        _LANGUAGES,
    ),
    Family(
        "materials",
        "What role does {x} play in {y}?",
        ("Could you tell me what role {x} plays in {y}?", "what role does {x} play in {y}, please"),
        ("In {y}, what role does {x} play?", "In {y}, which role does {x} play?"),
        _MATERIALS,
        _FIELDS,
    ),
    Family(
        "projects",
        "What are the advantages of {x} in {y}?",
        ("list the advantages of {x} in {y}", "Tell me what the advantages of {x} in {y} are"),
        ("In {y}, what are the advantages of {x}?", "In {y}, which are the advantages of {x}?"),
        _PROJECTS,
        _COUNTRIES,
    ),
    Family(
        "crafts",
        "How did {x} develop in {y}?",
        ("Please, how did {x} develop in {y}?", "how did the {x} develop in {y}"),
        ("In {y}, how did {x} develop?", "I would like to know how {x} developed in {y}"),
        _CRAFTS,
        _COUNTRIES,
    ),
    Family(
        "causes",
        "How does {x} affect {y}?",
        ("can you explain how {x} affects {y}?", "How is {y} affected by {x}?"),
        ("{y}: how does {x} affect it?",),
        _CAUSES,
        tuple(f"{sector} in {country}" for sector, country in itertools.product(_SECTORS, _COUNTRIES[:14])),
    ),
)

_BEGINNERS = _list(
    """bats, glaciers, volcanoes, sourdough, tides, fireflies, geysers, owls, mushrooms, comets, deserts,
    pearls, lighthouses, otters, caves, rainbows, spiders, islands, canyons, whales"""
)
_MOODS = _list("frighten sailors, fascinate children, puzzle scholars, inspire painters, annoy neighbours")


def questions() -> list[Question]:
    """All questions, families taking turns in proportion to their size, so that any beginning of the list is
    a fair mixture."""
    keyed: list[tuple[float, Family, str, str]] = []
    for family in FAMILIES:
        fillings = list(itertools.product(family.xs, family.ys))
        # A stride that shares no factor with the number of fillings visits all, far ones first.
        stride = next(step for step in range(7_919, 8_000) if len(fillings) % _factor(step))
        for turn in range(len(fillings)):
            x, y = fillings[turn * stride % len(fillings)]
            keyed.append((turn / len(fillings), family, x, y))
    keyed.sort(key=lambda row: row[0])
    return [Question(number, family, x, y) for number, (_, family, x, y) in enumerate(keyed)]


def _factor(number: int) -> int:
    return next((small for small in range(2, int(number**0.5) + 1) if number % small == 0), number)


def far_questions() -> Iterator[str]:
    """Questions of a family that is never stored."""
    for thing, effect in itertools.product(_BEGINNERS, _MOODS):
        yield f"Why do {thing} {effect}?"
