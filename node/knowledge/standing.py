"""How a document stands among others, read out of its words: from when it says that it holds, and whether it
lays something down or tells of it. Words are data: ``standing.toml``. Pure."""

from __future__ import annotations

import functools
import re
from datetime import date

from node.knowledge.model import Document
from node.language.reading import fold
from node.language.tables import read_table

HEAD_CHARS = 1_500
"""Further down a text speaks of other things than itself."""
_NAMES_KEPT = 8_192


@functools.cache
def _patterns() -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...], dict[str, int]]:
    table = read_table(__package__, "standing.toml")
    months = {
        begin: number
        for number, begins in enumerate(table["effective"]["months"], 1)
        for begin in begins.split("|")
    }
    month = rf"(?P<name>(?:{'|'.join(sorted(months, key=len, reverse=True))})[a-z]*)\.?"
    day, year = r"(?P<{0}>\d{{1,2}})", r"(?P<{0}>(?:19|20)\d\d)"
    forms = (
        rf"{year.format('y1')}-(?P<m1>\d\d)-{day.format('d1')}",
        rf"{day.format('d2')}[./](?P<m2>\d{{1,2}})[./]{year.format('y2')}",
        rf"{day.format('d3')}(?:st|nd|rd|th|er|\.|º)? (?:of |de )?{month}(?: de|,)? {year.format('y3')}",
        rf"{month.replace('name', 'name4')} {day.format('d4')}(?:st|nd|rd|th)?,? {year.format('y4')}",
    )
    said = f"(?:{table['effective']['words']})"
    dated = re.compile(
        rf"(?<!\w){said}\b[^\w\n]{{0,4}}(?:(?:the|on|dem|den|le|el|du) )?(?:{'|'.join(forms)})(?!\d)"
    )
    told = tuple(
        re.compile(rf"(?<![^\W_])(?:{table['told'][name]})(?![^\W_])") for name in ("written", "said")
    )
    return dated, told, months


def effective_in(text: str) -> date | None:
    """The day from which a text says, near its beginning, that it holds: the first that it names."""
    dated, _, months = _patterns()
    for match in dated.finditer(" ".join(fold(text[:HEAD_CHARS]).replace("*", "").split(" "))):
        found = {key: value for key, value in match.groupdict().items() if value}
        name = found.pop("name", "") or found.pop("name4", "")
        number = next((months[name[:length]] for length in (4, 3) if name[:length] in months), 0)
        year, day = (next(found[key] for key in found if key[0] == part) for part in "yd")
        month = number or int(next(found[key] for key in found if key[0] == "m"))
        try:
            return date(int(year), month, int(day))
        except ValueError:
            continue
    return None


def told(document: Document) -> int:
    """0: it lays down, as a policy or a contract does; 1: it tells of something, as minutes do; 2: it holds
    what was said."""
    return _told(f"{document.path} {document.title}")


@functools.lru_cache(_NAMES_KEPT)
def _told(name: str) -> int:
    written, said = _patterns()[1]
    folded = fold(name)
    return 2 if said.search(folded) else int(written.search(folded) is not None)
