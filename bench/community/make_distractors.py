"""Compose files of other communities around the fictitious one, from the paragraphs in ``paragraphs``.

    python bench/community/make_distractors.py FOLDER [COUNT] [SEED]

The same seed gives the same files on every machine: choices come from SHA-256, not from a generator of random
numbers that may change with the Python version.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).parent
COUNT, SEED = 420, "marlweir"
NAMES = """
Agathe Brunel|Bo Tarrant|Cleo Vint|Dario Pell|Edda Kranz|Fenna Holt|Gil Montero|Hugo Lasalle|Imke Dorn
Jules Perrine|Kaja Storm|Lior Beck|Mina Castell|Noor Haddon|Otto Fahr|Pilar Ruda|Quinn Abbott|Rosa Venner
Sten Alder|Thea Morrow|Ugo Tassin|Vera Lunt|Wim Carrow|Xenia Roth|Yara Quill|Zeno Marsh
"""
DAYS = {
    "en": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday",
    "de": "Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag",
    "es": "lunes|martes|miércoles|jueves|viernes|sábado",
    "fr": "lundi|mardi|mercredi|jeudi|vendredi|samedi",
}
MONTHS = {
    "en": "January|March|April|May|June|September|October|November",
    "de": "Januar|März|April|Mai|Juni|September|Oktober|November",
    "es": "enero|marzo|abril|mayo|junio|septiembre|octubre|noviembre",
    "fr": "janvier|mars|avril|mai|juin|septembre|octobre|novembre",
}
DATES = {"en": "{} {} {}", "de": "{}. {} {}", "es": "{} de {} de {}", "fr": "{} {} {}"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Theme:
    name: str
    language: str
    orgs: list[str]
    titles: list[str]
    paragraphs: list[str]


class Choices:
    """A stream of choices that follows from a text alone."""

    def __init__(self, key: str) -> None:
        self._key, self._step = key, 0

    def below(self, bound: int) -> int:
        self._step += 1
        digest = hashlib.sha256(f"{self._key}:{self._step}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % bound

    def one(self, items: list[T]) -> T:
        return items[self.below(len(items))]

    def some(self, items: list[T], count: int) -> list[T]:
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def names() -> list[str]:
    return re.split(r"[|\n]", NAMES.strip())


def themes() -> list[Theme]:
    found = []
    for path in sorted((HERE / "paragraphs").glob("*.txt")):
        head, *paragraphs = path.read_text("utf-8").strip().split("\n\n")
        orgs, titles = (line.split(" ", 1)[1].split(" | ") for line in head.splitlines())
        found.append(Theme(path.stem, path.stem[:2], orgs, titles, paragraphs))
    return found


def filled(text: str, org: str, language: str, choices: Choices) -> str:
    """The paragraph with its slots filled; each slot of its own, but the community stays the same."""
    days, months = DAYS[language].split("|"), MONTHS[language].split("|")

    def value(match: re.Match[str]) -> str:
        year = 2018 + choices.below(8)
        return {
            "org": lambda: org,
            "name": lambda: choices.one(names()),
            "n": lambda: str(2 + choices.below(24)),
            "euro": lambda: str(5 * (3 + choices.below(150))),
            "pct": lambda: str(2 + choices.below(33)),
            "hour": lambda: f"{7 + choices.below(15):02d}:{15 * choices.below(4):02d}",
            "day": lambda: choices.one(days),
            "year": lambda: str(year),
            "date": lambda: DATES[language].format(1 + choices.below(28), choices.one(months), year),
        }[match[1]]()

    return re.sub(r"\{(\w+)\}", value, text)


def as_markdown(title: str, parts: list[str]) -> str:
    numbered = len(parts) > 4
    lines = [f"# {title}", ""]
    for row, part in enumerate(parts, start=1):
        lines += [f"## {row}", "", part, ""] if numbered else [part, ""]
    return "\n".join(lines)


def as_html(title: str, parts: list[str], language: str) -> str:
    body = "\n".join(f"<p>{html.escape(part, quote=False)}</p>" for part in parts)
    shown = html.escape(title, quote=False)
    head = f'<html lang="{language}"><head><meta charset="utf-8"><title>{shown}</title></head>'
    return f"<!doctype html>\n{head}\n<body>\n<h1>{shown}</h1>\n{body}\n</body></html>\n"


def as_chat(title: str, parts: list[str], choices: Choices) -> str:
    start = 1_580_000_000 + choices.below(170_000_000)
    sentences = [sentence for part in parts for sentence in re.split(r"(?<=[^0-9][.!?]) ", part)]
    users = [name.split()[0].lower() for name in choices.some(names(), 4)]
    messages = [
        {
            "user": choices.one(users),
            "ts": f"{start + 400 * row + choices.below(400)}.{row:06d}",
            "text": text,
        }
        for row, text in enumerate([title, *sentences])
    ]
    return json.dumps(messages, ensure_ascii=False, indent=1) + "\n"


def file_of(number: int, theme: Theme, choices: Choices) -> tuple[str, str]:
    org, head = choices.one(theme.orgs), choices.one(theme.titles)
    title = f"{org}: {head}"
    chosen = choices.some(theme.paragraphs, 2 + choices.below(6))
    parts = [filled(text, org, theme.language, choices) for text in chosen]
    name = f"{theme.name}-{number:03d}"
    match choices.below(20):
        case 0 | 1:
            return f"{name}.json", as_chat(title, parts, choices)
        case 2 | 3 | 4:
            return f"{name}.html", as_html(title, parts, theme.language)
        case 5 | 6 | 7 | 8:
            return f"{name}.txt", "\n\n".join([title.upper(), *parts]) + "\n"
        case _:
            return f"{name}.md", as_markdown(title, parts)


def make(folder: Path, count: int = COUNT, seed: str = SEED) -> list[Path]:
    """Write ``count`` files below ``folder`` and return their paths. Themes take turns, English ones twice as
    often: so a fifth of the files is in German, Spanish or French, as in ``files``."""
    known, written = themes(), []
    known += [theme for theme in known if theme.language == "en"]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        name, text = file_of(number, known[number % len(known)], Choices(f"{seed}:{number}"))
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    return written


if __name__ == "__main__":
    made = make(
        Path(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else COUNT,
        sys.argv[3] if len(sys.argv) > 3 else SEED,
    )
    print(f"{len(made)} files, {sum(path.stat().st_size for path in made)} bytes")
