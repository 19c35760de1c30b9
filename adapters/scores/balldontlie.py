"""Boards of the NBA from balldontlie: one call per page and US Eastern day, with a key.

It promises what ``provider`` says. Differences of the wire: official team codes, scores as numbers (0
before the start), one status text that is "Final", a quarter, or the time at which it begins; pages by
cursor, of which at most ``PAGES_MAX`` are read. The free plan allows about five calls a minute.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from adapters import outside
from adapters.fetch import Http, Reply, Source
from adapters.scores.days import eastern_day
from adapters.scores.espn import EARLY, base_of, ending, fold, moment_of
from adapters.scores.provider import GAMES_MAX, SCORE_MAX, Board, Game, Side, State
from adapters.scores.teams import from_feed
from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import Budget
from node.core.settings import AdapterSettings

NAME: Final = "balldontlie"
PUBLIC_URL: Final = "https://api.balldontlie.io"
PER_MINUTE: Final = 5
"""The free plan, as reported; paid ones are set by ``per_minute``."""
PAGES_MAX: Final = 3
PER_PAGE: Final = 100
BODY_BYTES_MAX: Final = 2**20
STALE_FOR_S: Final = 3_600.0
TTL_LIVE_S: Final = 30.0
TTL_AHEAD_S: Final = 600.0
TTL_PAST_S: Final = 3_600.0

_PREFIX: Final = "/v1"
_FINAL: Final = re.compile(r"final(?:\s*/\s*(?:\d?ot))?\Z", re.IGNORECASE)
_QUARTER: Final = re.compile(r"(?:q([1-4])|([1-4])(?:st|nd|rd|th) qtr)\b", re.IGNORECASE)
_OVERTIME: Final = re.compile(r"(\d?)\s?ot\b", re.IGNORECASE)
_HALFTIME: Final = re.compile(r"half\s?time\Z", re.IGNORECASE)
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}\S*\Z|\d{1,2}:\d{2} ?[ap]m(?: ET)?\Z|scheduled\Z", re.IGNORECASE
)
_OFF: Final = re.compile(r"(postponed|cancell?ed|suspended)\Z", re.IGNORECASE)
_CLOCK: Final = re.compile(r"\b(\d{1,2}:\d{2}|\d{1,2}\.\d)\b")


@dataclass(frozen=True, slots=True)
class _Page:
    games: tuple[Game, ...]
    unreadable: int
    following: int | None


class Balldontlie:
    """``Provider`` over balldontlie; the NBA only."""

    name = NAME

    def __init__(self, settings: AdapterSettings, http: Http, clock: Clock) -> None:
        """``settings.base_url`` empty means the public address; ``api_key`` goes into a header."""
        self._clock = clock
        guard = Guard(
            NAME,
            clock,
            Limits(
                windows=(Window(settings.per_minute or PER_MINUTE, 60.0),),
                concurrency=1,
                attempts=2,
                cache_entries=128,
                stale_for_s=STALE_FOR_S,
            ),
        )
        self._source = Source(
            base_of(settings.base_url or PUBLIC_URL, _PREFIX),
            http,
            clock,
            guard,
            timeout_s=settings.timeout_s,
            headers={"Authorization": settings.api_key},
            body_bytes_max=BODY_BYTES_MAX,
        )

    def serves(self, league: str) -> bool:
        return league == "nba"

    def page(self, league: str, day: date) -> str:
        return "https://www.balldontlie.io/"

    async def board(
        self, league: str, day: date, *, deadline: float, max_age_s: float | None
    ) -> Guarded[Board]:
        games: dict[str, Game] = {}
        unreadable = 0
        cursor: int | None = None
        oldest: Guarded[_Page] | None = None
        for _ in range(PAGES_MAX):
            got = await self._page(day, cursor, deadline, max_age_s)
            games |= {game.id: game for game in got.value.games}
            unreadable += got.value.unreadable
            if oldest is None or got.age_s > oldest.age_s:
                oldest = got
            if got.value.following is None or got.value.following == cursor:
                break
            cursor = got.value.following
        else:
            raise Rejected(f"{NAME} gave more pages for one day than there can be games")
        board = Board(league, day, tuple(games.values())[:GAMES_MAX], unreadable)
        return Guarded(board, stale=oldest.stale, age_s=oldest.age_s, from_cache=oldest.from_cache)

    async def _page(
        self, day: date, cursor: int | None, deadline: float, max_age_s: float | None
    ) -> Guarded[_Page]:
        today = eastern_day(self._clock.now())
        near = today - timedelta(days=1) <= day <= today + timedelta(days=1)
        params = {"dates[]": day.isoformat(), "per_page": str(PER_PAGE)}
        if cursor is not None:
            params["cursor"] = str(cursor)
        return await self._source.get(
            "/games",
            params,
            key=f"{day}:{cursor or 0}",
            read=lambda reply: _read(reply, day, self._clock.now()),
            ttl_s=TTL_LIVE_S if near else TTL_PAST_S if day < today else TTL_AHEAD_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )

    def budgets(self) -> tuple[Budget, ...]:
        return self._source.budgets()

    def problems(self) -> list[str]:
        return self._source.problems()


# --- reading --------------------------------------------------------------------------------------


def _read(reply: Reply, day: date, now: datetime) -> _Page:
    top = outside.mapping(reply.json(), NAME, "games")
    rows = outside.listing(top.get("data"), NAME, "list of games", most=GAMES_MAX)
    meta = top.get("meta")
    following = meta.get("next_cursor") if isinstance(meta, dict) else None
    if following is not None and (
        isinstance(following, bool) or not isinstance(following, int) or following < 0
    ):
        raise Rejected(f"{NAME} gave no usable cursor")
    games: list[Game] = []
    unreadable = elsewhen = 0
    for row in rows:
        game = _game(row, day, now)
        if game is None:
            unreadable += 1
        elif game.day != day:
            elsewhen += 1
        else:
            games.append(game)
    if rows and not games:
        wrong = (
            "answered for another day than the one asked for" if elsewhen else "gave no game that can be read"
        )
        raise Rejected(f"{NAME} {wrong}")
    return _Page(tuple(games), unreadable, following)


def _game(row: object, day: date, now: datetime) -> Game | None:
    if not isinstance(row, dict):
        return None
    home, away = _side(row.get("home_team")), _side(row.get("visitor_team"))
    if home is None or away is None or home.code == away.code:
        return None
    stated = row.get("date")
    try:
        on = date.fromisoformat(stated[:10]) if isinstance(stated, str) else day
    except ValueError:
        return None
    status = row.get("status")
    status = status.strip() if isinstance(status, str) else ""
    start = moment_of(row.get("datetime")) or moment_of(status)
    ident = row.get("id")
    key = str(ident) if isinstance(ident, int) else f"{home.code}-{away.code}-{on}"
    return _judged(Game(key, on, start, home, away, State.SCHEDULED), row, status, now)


def _judged(game: Game, row: dict[str, object], status: str, now: datetime) -> Game:
    if off := _OFF.match(status):
        return replace(game, state=State.OFF, note=off[1].lower().replace("cancelled", "canceled"))
    if _TIME.match(status):
        return game
    clock = row.get("time")
    clock = clock if isinstance(clock, str) else ""
    period = row.get("period")
    period = period if isinstance(period, int) and not isinstance(period, bool) and 0 <= period <= 20 else 0
    if _FINAL.match(status):
        game = replace(game, state=State.FINAL, note=ending("nba", period))
    elif (quarter := _QUARTER.match(status)) or _OVERTIME.match(status) or _HALFTIME.match(status):
        number = int(quarter[1] or quarter[2]) if quarter else period
        pause = _HALFTIME.match(status) is not None
        left = _CLOCK.search(clock)
        game = replace(
            game,
            state=State.LIVE,
            period=max(number, 2 if pause else 1),
            clock=left[1] if left else "",
            note="half-time" if pause else "",
            pause=pause,
        )
    else:
        return replace(game, trouble=f"{NAME} does not say whether it has begun")
    if game.start is not None and game.start - now > EARLY:
        return replace(game, trouble=f"{NAME} gives a score before the game has begun")
    try:
        home = outside.whole(row.get("home_team_score"), NAME, "score", most=SCORE_MAX)
        away = outside.whole(row.get("visitor_team_score"), NAME, "score", most=SCORE_MAX)
    except Rejected:
        return replace(game, trouble=f"{NAME} gives no usable score for it")
    if game.state is State.FINAL and home == away:
        return replace(game, trouble=f"{NAME} gives a tie, which there is not in this sport")
    return replace(game, home=replace(game.home, score=home), away=replace(game.away, score=away))


def _side(team: object) -> Side | None:
    if not isinstance(team, dict):
        return None
    code = team.get("abbreviation")
    known = from_feed("nba", code) if isinstance(code, str) else None
    if known is None:
        full = outside.text(team.get("full_name"), most=60)
        if not full or not isinstance(code, str) or not re.fullmatch(r"[A-Z]{2,5}", code):
            return None
        return Side(None, code, f"the {full}", frozenset((fold(full),)))
    return Side(known, known.code, known.said, frozenset((fold(known.full), fold(known.short))))
