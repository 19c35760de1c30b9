"""Passages as windows: what can be quoted as an answer, one to three neighbouring sentences of a chunk.

A row of a table stands with its header, an item of a list with the line that leads to it, what somebody says
in a chat or a meeting with who says it. In front of each, for a reader, stand the document's title and the
last headings. Pure; linear in the length of the text but for the choice of the best.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.knowledge.model import Chunk, Document, Passage
from node.language.sentences import content_words, plain, sentences
from node.language.tables import read_table
from node.peers.rules.injection import screen

SIZES = (1, 2, 3)
CHARS_MAX = 700
UNITS_MAX = 80
"""So many sentences of one chunk are looked at."""
_HEADINGS = 2
_ENTRY = re.compile(r"\[[^\]\n]{4,40}\] |[^:;|\n]{1,60}: [^;\n]*;")
"""A line that stands by itself: a message with its time, a row as ``name: value; name: value``."""
_SPEAKER = re.compile(r"(?:\[[^\]\n]{4,40}\] (?:#\S+ )?)?[^\W\d_][\w .’'-]{0,40}: (?=\S)|\[[^\]\n]{4,40}\] ")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_ROW, _RULE = re.compile(r"\s*\|.*\|\s*\Z"), re.compile(r"[\s|:-]+\Z")
_HEADING = re.compile(r"#{1,6} ")
_ENTRY_CHARS_MAX = 400


@dataclass(frozen=True, slots=True)
class Window:
    """``text``: to be quoted. ``passage``: the place of its passage, from 0. ``first``, ``size``: its units
    in the chunk. ``overlap``: the share of the question's words that it, its title and headings have;
    ``own``: that it has itself."""

    passage: int
    document: Document
    chunk: Chunk
    first: int
    size: int
    text: str
    overlap: float = 0.0
    own: float = 0.0

    @property
    def above(self) -> str:
        """The title of the document and the last headings."""
        title = self.document.title or self.document.path.rpartition("/")[2].rpartition(".")[0]
        return " ".join(dict.fromkeys((title, *self.chunk.heading[-_HEADINGS:])))

    @property
    def read(self) -> str:
        """What a reader is shown."""
        return f"{self.above} - {self.text}"


@dataclass(frozen=True, slots=True)
class _Unit:
    """``together``: so many of its kind may stand in one window; rows say each something else."""

    text: str
    lead: str = ""
    together: int = SIZES[-1]


def windows(question: str, passages: Sequence[Passage], most: int) -> list[Window]:
    """The ``most`` windows that have most of the question's words, passages in front first; without
    sentences that give orders to their reader."""
    asked = set(content_words(question))
    found: dict[str, tuple[float, Window]] = {}
    for place, passage in enumerate(passages):
        if "profile=manifest" in passage.document.media_type:
            continue  # what it says of documents stands in their metadata
        for chunk in passage.chunks:
            for one in _of_chunk(place, passage.document, chunk):
                said = set(content_words(one.text))
                above = set(content_words(one.above))
                overlap = len(asked & (said | above)) / len(asked) if asked else 0.0
                own = len(asked & said) / len(asked) if asked else 0.0
                value = overlap + 0.5 * own - 0.06 * place - 0.02 * one.size
                made = Window(place, one.document, chunk, one.first, one.size, one.text, overlap, own)
                if one.text not in found:
                    found[one.text] = value, made
    best = sorted(found.values(), key=lambda pair: -pair[0])
    return [one for _, one in best[:most]]


def orders(passages: Sequence[Passage]) -> list[Document]:
    """The documents whose passages hold sentences that give orders to their reader."""
    found = {
        one.document.id: one.document
        for one in passages
        if any(speaks_to_machines(part) for part in sentences(plain(one.text)))
    }
    return list(found.values())


@functools.cache
def _machines() -> re.Pattern[str]:
    table = read_table(__package__, "machines.toml")
    return re.compile(rf"(?:{table['named']})[^\n]{{0,100}}?(?:{table['told']})", re.IGNORECASE)


def speaks_to_machines(sentence: str) -> bool:
    """Whether a sentence of a document is written for the model that may read it: a net with holes, as
    ``node.peers.rules.injection``, of which what only loads something is no order."""
    return _machines().search(sentence) is not None or screen(sentence) in ("orders", "chat_token")


def _of_chunk(place: int, document: Document, chunk: Chunk) -> Iterator[Window]:
    units = [one for one in _units(plain(chunk.text)) if not speaks_to_machines(one.text)][:UNITS_MAX]
    for size in SIZES:
        for first in range(len(units) - size + 1):
            part = units[first : first + size]
            if size > min(one.together for one in part):
                continue
            said = " ".join(one.text for one in part)
            if part[0].lead and not said.startswith(part[0].lead):
                said = f"{part[0].lead} {said}"
            if len(said) <= CHARS_MAX:
                yield Window(place, document, chunk, first, size, said)


def _units(text: str) -> list[_Unit]:
    """The sentences, rows, items and messages of a text."""
    units: list[_Unit] = []
    prose: list[str] = []
    header: list[str] = []
    lead = ""

    def close() -> None:
        nonlocal lead
        said = sentences("\n".join(prose))
        prose.clear()
        if said:
            units.extend(_Unit(" ".join(one.split())) for one in said)
            lead = units[-1].text if units[-1].text.endswith(":") else ""

    for line in text.split("\n"):
        bare = line.strip()
        if not _ROW.match(line):
            header = []
        if not bare or _HEADING.match(bare):
            close()
        elif _ROW.match(line):
            close()
            cells = [one.strip() for one in bare.strip("|").split("|")]
            if _RULE.match(bare):
                continue
            if not header:
                header = cells
                continue
            named = [(name, cell) for name, cell in zip(header, cells, strict=False) if cell]
            said = "; ".join(f"{name}: {cell}" if name else cell for name, cell in named)
            units.append(_Unit(said, together=1))
        elif _ITEM.match(line):
            close()
            units.append(_Unit(bare, lead))
        elif _ENTRY.match(bare) or (
            (speaker := _SPEAKER.match(bare)) is not None and speaker.end() < len(bare)
        ):
            close()
            lead = ""
            units.extend(_spoken(bare))
        else:
            prose.append(line)
    close()
    return units


def _spoken(line: str) -> list[_Unit]:
    """A line that stands by itself; a long one by its sentences, each with who says it."""
    if len(line) <= _ENTRY_CHARS_MAX:
        together = 2 if line.startswith("[") else 1 if _ENTRY.match(line) else SIZES[-1]
        return [_Unit(line, together=together)]
    match = _SPEAKER.match(line)
    who = "" if match is None else match.group().strip()
    said = sentences(line if match is None else line[match.end() :])
    return [_Unit(one, who) for one in said]
