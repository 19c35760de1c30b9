"""Frames with slots (``frames.tsv``): short texts made by program, in families, to fit ``personal``.

A family is one frame; its texts differ by the values in its slots. Whole families can be held out
(``made``'s ``fold``), so that what is measured is the frame's being new, not the value's. The frames of the
kind "none" are near misses: the same words and values with nobody's own among them. No value is a real
person's; the names of the famous stand in the near misses alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.privacylab.make import ip, phone

FRAMES = Path(__file__).with_name("frames.tsv")
NONE = "none"
FOLDS = 5
_FAMOUS = (
    "Marie Curie",
    "Albert Einstein",
    "Isaac Newton",
    "Frida Kahlo",
    "Virginia Woolf",
    "Johann Sebastian Bach",
    "Ada Lovelace",
    "Alan Turing",
    "Nelson Mandela",
    "Agatha Christie",
    "Pablo Picasso",
    "Victor Hugo",
    "Franz Kafka",
    "Jane Austen",
    "Miguel de Cervantes",
    "Dante Alighieri",
    "Fernando Pessoa",
    "Vincent van Gogh",
    "Rosa Parks",
    "Charles Darwin",
    "Emily Dickinson",
    "Ernest Hemingway",
    "Angela Merkel",
    "Barack Obama",
    "Serena Williams",
    "Lionel Messi",
    "Steven Spielberg",
    "Meryl Streep",
    "David Bowie",
    "Billie Holiday",
    "Niels Bohr",
    "Emmy Noether",
    "Sigmund Freud",
    "Hannah Arendt",
    "Simone de Beauvoir",
    "Umberto Eco",
    "Gabriel García Márquez",
    "Toni Morrison",
    "Leo Tolstoy",
    "Anton Chekhov",
    "Greta Thunberg",
    "Stephen Hawking",
    "Carl Sagan",
    "Neil Armstrong",
    "Amelia Earhart",
    "Napoleon Bonaparte",
    "Abraham Lincoln",
    "Mahatma Gandhi",
    "Winston Churchill",
    "Bob Dylan",
    "Freddie Mercury",
    "Akira Kurosawa",
    "Haruki Murakami",
    "Sofia Coppola",
    "Quentin Tarantino",
    "Hermann Hesse",
    "Thomas Mann",
    "Bertolt Brecht",
    "Clara Schumann",
    "Robert Koch",
    "Max Planck",
    "Otto von Bismarck",
    "Jeanne d'Arc",
    "Edith Piaf",
    "Claude Monet",
)
_CITIES = (
    "Berlin",
    "London",
    "Paris",
    "Madrid",
    "Lisbon",
    "Rome",
    "Oslo",
    "Dublin",
    "Leeds",
    "Boston",
    "Denver",
    "Austin",
    "Toronto",
    "Sydney",
    "Mumbai",
    "Nairobi",
    "Lima",
    "Bogotá",
    "Porto",
    "Lyon",
    "Köln",
    "Hamburg",
    "Graz",
    "Bern",
    "Utrecht",
    "Gent",
    "Sevilla",
    "Torino",
    "Swindon",
    "Ludlow",
    "Fresno",
    "Tampa",
    "Perth",
    "Galway",
    "Kilkenny",
    "Nice",
    "Bremen",
)
_ILLS = (
    "asthma",
    "diabetes",
    "epilepsy",
    "lupus",
    "MS",
    "crohn's",
    "depression",
    "bipolar disorder",
    "hepatitis C",
    "psoriasis",
    "endometriosis",
    "breast cancer",
    "ADHD",
    "arthritis",
    "migraine",
    "schizophrenia",
    "anorexia",
    "gout",
    "celiac disease",
    "parkinson's",
    "dementia",
    "HIV",
    "anxiety",
    "a heart murmur",
    "Epilepsie",
    "Krebs",
    "Depressionen",
    "l'asthme",
    "el asma",
    "il diabete",
    "COPD",
    "PTSD",
    "herpes",
    "kidney stones",
    "ulcerative colitis",
    "thyroid cancer",
    "sickle cell",
)
_DRUGS = (
    "sertraline",
    "metformin",
    "insulin",
    "lithium",
    "ibuprofen",
    "prednisone",
    "methotrexate",
    "fluoxetine",
    "ritalin",
    "warfarin",
    "humira",
    "levothyroxine",
    "lisinopril",
    "xanax",
    "oxycodone",
    "ozempic",
    "tamoxifen",
    "lamotrigine",
    "adderall",
    "citalopram",
)
_TREATED = (
    "a miscarriage",
    "surgery",
    "a hysterectomy",
    "a knee replacement",
    "chemo",
    "an abortion",
    "a bypass",
    "a stroke",
    "a c-section",
    "a vasectomy",
    "a kidney transplant",
)
_STREETS = (
    "Willow Street",
    "Badger Lane",
    "Glebe Cottages",
    "Ashgrove Rd",
    "Monterey Pass",
    "Cobblers Yard",
    "Orchard Drive",
    "High Street",
    "Mill Road",
    "Lindenweg",
    "Bahnhofstraße",
    "Kerkstraat",
    "Oak Avenue",
    "Church Close",
    "Station Approach",
    "Beech Grove",
    "Sunset Blvd",
    "Maple Court",
    "King's Parade",
    "Harbour View",
    "Fox Hollow",
    "Elm Mews",
    "Priory Gardens",
    "Castle Hill",
    "Rosenweg",
    "Am Anger",
    "Abbey Walk",
    "Old Mill Crescent",
    "Pinewood Terrace",
    "The Shambles",
)
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "aug",
    "sept",
    "oct",
    "nov",
    "dec",
    "Mai",
    "Juni",
    "mars",
    "juillet",
    "enero",
    "julio",
    "marzo",
    "luglio",
    "maio",
)
_SPOKEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "oh")
_PARTS = (
    "ka",
    "le",
    "mo",
    "ri",
    "ta",
    "ve",
    "no",
    "shi",
    "lu",
    "dra",
    "fen",
    "gor",
    "hal",
    "isk",
    "jor",
    "ben",
    "cas",
    "dor",
    "el",
    "far",
    "mar",
    "nel",
    "osk",
    "pri",
    "qua",
    "ros",
    "sten",
    "tho",
    "ul",
    "vik",
    "wen",
    "yar",
    "zab",
    "ando",
    "berg",
    "croft",
    "dale",
    "ensen",
    "field",
    "garth",
    "hurst",
    "ini",
    "kova",
    "land",
    "mann",
    "ner",
    "owski",
    "quist",
    "ridge",
    "sen",
    "ton",
    "vez",
    "worth",
)
_PHRASES = (
    "otter",
    "sunny",
    "zebra",
    "hunter",
    "kestrel",
    "trout",
    "falcon",
    "maple",
    "biscuit",
    "anchor",
    "violet",
    "thunder",
    "pickle",
)


def _name(rng: random.Random) -> str:
    return "".join(rng.choice(_PARTS) for _ in range(rng.choice((2, 2, 3)))).capitalize()


def _digits(rng: random.Random, count: int) -> str:
    return rng.choice("123456789") + "".join(rng.choice("0123456789") for _ in range(count - 1))


def _date(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1930, 2014)
    named = rng.choice(_MONTHS)
    return rng.choice(
        (
            f"{day}/{month}/{year}",
            f"{day:02}.{month:02}.{year}",
            f"{year}-{month:02}-{day:02}",
            f"{day} {named} {year}",
            f"{named} {day}, {year}",
            f"{day:02}/{month:02}/{year % 100:02}",
            f"{day}-{month}-{year}",
        )
    )


def _password(rng: random.Random) -> str:
    if rng.random() < 0.5:
        first, second = rng.choice(_PHRASES), rng.choice(_PHRASES)
        return (
            rng.choice((first, first.title()))
            + rng.choice("_!#-.")
            + second
            + _digits(rng, rng.randint(1, 4))
        )
    letters = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#$%"
    return "".join(rng.choice(letters) for _ in range(rng.randint(7, 12)))


def _code(rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(rng.randint(1, 3)))
    return letters + _digits(rng, rng.randint(2, 6)) + rng.choice(("", "X", "-" + _digits(rng, 3)))


def _quad_spoken(rng: random.Random) -> str:
    return " dot ".join(
        rng.choice(("eighty four", "twelve", "two hundred", "one", "ninety")) for _ in range(4)
    )


def _slots(rng: random.Random) -> dict[str, Callable[[], str]]:
    first, last = _name(rng), _name(rng)
    full = rng.choice(
        (f"{first} {last}", f"{first} {last}", f"{first} {last}-{_name(rng)}", f"Dr. {first} {last}")
    )
    month, year = rng.choice(_MONTHS), str(rng.randint(1930, 2014))
    of: dict[str, tuple[str, ...]] = {
        "pub": _FAMOUS,
        "city": _CITIES,
        "ill": _ILLS,
        "drug": _DRUGS,
        "op": _TREATED,
        "street": _STREETS,
        "op2": ("surgery", "operation", "c-section", "transplant", "biopsy"),
        "n2": ("two", "three", "six", "4", "8"),
        "ord": ("first", "2nd", "third", "5th", "ninth", "21st"),
        "ip4doc": ("192.0.2.1", "127.0.0.1", "0.0.0.0"),
    }
    out: dict[str, Callable[[], str]] = {name: partial(rng.choice, choices) for name, choices in of.items()}
    out |= {f"d{count}": partial(_digits, rng, count) for count in range(2, 8)}
    out |= {
        "n": lambda: full,
        "l": full.lower,
        "F": lambda: first,
        "f": first.lower,
        "L": lambda: last,
        "l2": last.lower,
        "mon": lambda: month,
        "year": lambda: year,
        "yw": lambda: (
            f"nineteen {rng.choice(('sixty', 'seventy', 'eighty', 'ninety'))} {rng.choice(_SPOKEN[1:])}"
        ),
        "num": lambda: str(rng.randint(1, 199)),
        "zip": lambda: rng.choice((_digits(rng, 5), "SN2 1LB", _digits(rng, 4), "LE1 4QQ")),
        "date": lambda: _date(rng),
        "priv": lambda: f"192.168.{rng.randint(0, 9)}.{rng.randint(1, 254)}",
        "pw": lambda: _password(rng),
        "nw": lambda: " ".join(rng.choice(_SPOKEN) for _ in range(rng.randint(3, 10))),
        "nd": lambda: _quad_spoken(rng),
        "mix": lambda: _code(rng),
        "ip": lambda: ip(rng),
        "ip6": lambda: f"2a02:8108:{rng.randint(1, 9999):x}:{rng.randint(1, 9999):x}::{rng.randint(1, 99):x}",
        "ph": lambda: phone(rng),
        "ver": lambda: ".".join(str(rng.randint(0, 20)) for _ in range(rng.choice((2, 3, 4)))),
        "hex": lambda: "".join(rng.choice("0123456789abcdef") for _ in range(rng.choice((8, 40)))),
    }
    return out


def made(
    seed: int, each: int, fold: int | None = None
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """``each`` texts with their kinds from every family: those outside ``fold`` and those in it."""
    rng = random.Random(seed)
    outside: list[tuple[str, str]] = []
    inside: list[tuple[str, str]] = []
    for place, line in enumerate(FRAMES.read_text(encoding="utf-8").splitlines()):
        kind, _, frame = line.partition("\t")
        rows = inside if fold is not None and place % FOLDS == fold else outside
        rows += [(_filled(frame, rng), kind) for _ in range(each)]
    return outside, inside


def _filled(frame: str, rng: random.Random) -> str:
    slots = _slots(rng)

    def value(of: re.Match[str]) -> str:
        return slots[of[1]]() if of[1] in slots else of[0]

    return re.sub(r"\{(\w+)\}", value, frame).replace("⏎", "\n")
