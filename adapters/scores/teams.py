"""Leagues and teams as people, the official lists and the feeds write them (``teams.toml``). Pure look-ups.

Rules of this file:
- The NBA's official three-letter codes are canonical; the feed's own codes (GS, NY, SA, NO, UTAH, WSH) are
  mapped to them on the way in. For other leagues the feed's usual abbreviation is the code.
- A name has one of four classes, by how much it says on its own: ``name`` (lakers, real madrid) is always a
  team, ``nick`` (heat, magic) is an ordinary word too, ``city`` (boston) is a place first, ``code`` (lal)
  is an abbreviation. What each needs beside it is for ``questions`` to say.
- A name that several teams bear (rangers, cardinals) lists all of them; ``season`` orders the leagues by
  who plays in a month.
- Folded words throughout: lower case, no accents, as ``node.language.reading`` gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adapters.scores.words import TABLES, WORDS
from node.language.tables import read_table


@dataclass(frozen=True, slots=True)
class League:
    """``path`` is the feed's, None for one that is recognised but not served. ``sport``: basketball, football
    (American), baseball, hockey, soccer, other. ``label`` for people."""

    id: str
    path: str | None
    sport: str
    label: str


_DATA = read_table(__package__, "teams.toml")
LEAGUES: Final[Mapping[str, League]] = {
    ident: League(ident, path or None, sport, label)
    for ident, (path, sport, label, *_) in _DATA["leagues"].items()
}


def _words_of(*rows: str) -> dict[str, str]:
    """League by the words that name it, in some rows of the data."""
    return {words: ident for row in rows for ident, names in _DATA[row].items() for words in names}


CONFERENCES: Final[Mapping[str, str]] = _words_of("conferences")
SPORT_WORDS: Final[Mapping[str, str]] = _words_of("sports")
LEAGUE_WORDS: Final[Mapping[tuple[str, ...], str]] = {
    **{tuple(words.split()): ident for ident, row in _DATA["leagues"].items() for words in row[3:]},
    **{
        tuple(words.split()): ident
        for words, ident in _words_of("ends", "also", "conferences", "sports").items()
    },
}


@dataclass(frozen=True, slots=True)
class Team:
    """``code`` is canonical, ``feed`` the feed's; ``full`` and ``short`` are names for people."""

    league: str
    code: str
    feed: str
    full: str
    short: str

    @property
    def said(self) -> str:
        """How a sentence names it: "the Lakers", "Arsenal"; in full where teams share the nickname."""
        if LEAGUES[self.league].sport == "soccer":
            return self.short
        shared = len(NAMES[tuple(_fold(self.short).split())].teams) > 1
        return f"the {self.full if shared else self.short}"


_CLASS_ORDER: Final = ("name", "code", "nick", "city")


@dataclass(frozen=True, slots=True)
class Name:
    """What a run of words may name: a class, and the teams, the better known leagues first."""

    kind: str
    teams: tuple[Team, ...]


def _fold(text: str) -> str:
    table = str.maketrans("éáíóúãõçñü", "eaiouaocnu")
    return text.lower().translate(table).replace("& ", "").replace("-", " ")


class _Names:
    """Teams and what they are called, as they are read from the data."""

    def __init__(self) -> None:
        self.teams: dict[tuple[str, str], Team] = {}
        self._kinds: dict[tuple[str, ...], dict[Team, str]] = {}
        for league, rows in _DATA["teams"].items():
            for code, row in rows.items():
                self._add_team(league, code, *row)
        for code, nick in _DATA["nba"]["nicks"].items():
            self._add(self.teams["nba", code], "nick", nick)
        for league, rows in _DATA["clubs"].items():
            for code, (full, kind, *more) in rows.items():
                team = self.teams[league, code] = Team(league, code, code, full, full)
                self._add(team, kind, full)
                self._add(team, "name", *more)
        self._add(self.teams["epl", "TOT"], "nick", "spurs")

    def _add_team(
        self, league: str, code: str, feed: str, city: str, nick: str, kind: str, *more: str
    ) -> None:
        team = self.teams[league, code] = Team(league, code, feed, f"{city} {nick}", nick)
        cities = [city, *(short for short, long in _DATA["cities"].items() if long == city)]
        self._add(team, kind, nick)
        self._add(team, "name", *(f"{one} {nick}" for one in cities), *more)
        # "la" is an article in three languages: part of full names only.
        self._add(team, "city", *(one for one in cities if one != "la"))
        if league == "nba":
            self._add(team, "code", code)

    def _add(self, team: Team, kind: str, *names: str) -> None:
        for name in names:
            rows = self._kinds.setdefault(tuple(_fold(name).split()), {})
            if team not in rows or _CLASS_ORDER.index(kind) < _CLASS_ORDER.index(rows[team]):
                rows[team] = kind

    def index(self) -> dict[tuple[str, ...], Name]:
        """What each run of words names."""
        order = list(LEAGUES)
        index: dict[tuple[str, ...], Name] = {}
        for words, rows in self._kinds.items():
            ranked = sorted(rows, key=lambda team: order.index(team.league))
            kinds = sorted(rows.values(), key=_CLASS_ORDER.index)
            # A name of the first league's team decides the class; one that is a word for anyone stays a word.
            index[words] = Name(kinds[0] if len(ranked) == 1 else _joint(kinds), tuple(ranked))
        # Beside the Warriors a team of another league plays there, but nobody calls a place so.
        index["golden", "state"] = Name("name", (self.teams["nba", "GSW"],))
        return index


def _joint(kinds: list[str]) -> str:
    return "name" if "name" in kinds and "city" not in kinds else kinds[0] if len(set(kinds)) == 1 else "nick"


_NAMES: Final = _Names()
TEAMS: Final[Mapping[tuple[str, str], Team]] = _NAMES.teams
NAMES: Final[Mapping[tuple[str, ...], Name]] = _NAMES.index()
"""Team by (league, code); what a run of folded words may name."""
LONGEST_NAME: Final = max(len(words) for words in NAMES)
UNSAFE_CODES: Final = frozenset(_DATA["nba"]["unsafe"].split())
"""NBA codes that are words, towns or other abbreviations in lower case."""
_FEED_NBA: Final[Mapping[str, Team]] = {
    **{team.feed: team for (league, _), team in TEAMS.items() if league == "nba"},
    **{code: team for (league, code), team in TEAMS.items() if league == "nba"},
    **{older: TEAMS["nba", code] for older, code in _DATA["nba"]["older"].items()},
}

CUPS: Final = frozenset(("ucl", "uel"))
"""Played by clubs of several leagues: a club keeps its code there."""


def team_of(league: str | None, code: str | None) -> Team | None:
    """The team with that canonical code."""
    if league in CUPS:
        return next((team for (of, one), team in TEAMS.items() if one == code and is_club(of)), None)
    return TEAMS.get((league or "", code or ""))


def is_club(league: str) -> bool:
    """Whether the league's teams are soccer clubs."""
    return LEAGUES[league].sport == "soccer"


def from_feed(league: str, code: str) -> Team | None:
    """The known team behind a feed's abbreviation, in either code system."""
    if league == "nba":
        return _FEED_NBA.get(code)
    for (of, _), team in TEAMS.items():
        if of == league and code in (team.feed, team.code):
            return team
    return None


def season(month: int) -> tuple[str, ...]:
    """Leagues in the order in which a shared name is meant in that month: who plays, and the NBA before
    others."""
    if 4 <= month <= 9:
        first = ("nba", "mlb", "nfl", "nhl") if month >= 6 else ("nba", "mlb", "nhl", "nfl")
    else:
        first = ("nba", "nfl", "nhl", "mlb")
    return (*first, *(one for one in LEAGUES if one not in first))


# --- names in other scripts -----------------------------------------------------------------------

SCRIPT_NAMES: Final[Mapping[str, Name]] = {
    word: Name(
        "nick" if word in WORDS["script_words"] else "city" if word in WORDS["script_cities"] else "name",
        (TEAMS[league, code],),
    )
    for league, rows in TABLES["names"].items()
    for code, words in rows.items()
    for word in words
}
SCRIPT_LEAGUES: Final[Mapping[str, str]] = {
    word: league for league, words in TABLES["leagues"].items() for word in words
}
"""Team names and leagues as they stand inside a Japanese, Chinese or Russian text."""
