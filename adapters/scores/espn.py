"""Boards from ESPN's public site interface: one call per league and US Eastern day.

It promises: every nested object may be missing and nothing is guessed in its place; what the feed says in
two places must agree (state and status name, winner and score), otherwise the game has ``trouble`` instead of
figures; games of another day than the one asked for are kept apart. Without documented limits it
asks rarely and never twice at a time for one day. The interface is unofficial: no key, no promise of service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from adapters import outside
from adapters.fetch import Http, Reply, Source
from adapters.scores.days import EASTERN, eastern_day
from adapters.scores.provider import GAMES_MAX, SCORE_MAX, Board, Game, Side, State
from adapters.scores.teams import LEAGUES, from_feed
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import Budget
from node.core.settings import AdapterSettings
from node.language.reading import fold as folded

NAME: Final = "ESPN"
PUBLIC_URL: Final = "https://site.api.espn.com"
PER_MINUTE: Final = 30
"""The source states no limit; this is what a careful visitor would do."""
CONCURRENCY: Final = 3
BODY_BYTES_MAX: Final = 4 * 2**20
"""A full Saturday of college games is near 3 MB."""
STALE_FOR_S: Final = 3_600.0
TTL_LIVE_S: Final = 15.0
TTL_AHEAD_S: Final = 600.0
TTL_PAST_S: Final = 3_600.0
EARLY: Final = timedelta(minutes=30)
"""A game does not begin, and no score is made, longer than this before its announced start."""

PERIODS: Final[Mapping[str, int]] = {"basketball": 4, "football": 4, "hockey": 3, "baseball": 9, "soccer": 2}
"""Regular periods; beyond them is overtime."""
HALVES: Final[Mapping[str, int]] = {"basketball": 2, "football": 2, "soccer": 1}
"""Periods before half-time."""

LONG: Final = timedelta(days=1)

_PREFIX: Final = "/apis/site/v2/sports"
_OFF: Final[Mapping[str, str]] = {
    "STATUS_POSTPONED": "postponed",
    "STATUS_CANCELED": "canceled",
    "STATUS_CANCELLED": "canceled",
    "STATUS_SUSPENDED": "suspended",
    "STATUS_ABANDONED": "abandoned",
    "STATUS_FORFEIT": "forfeited",
    "STATUS_RAIN_DELAY": "",
    "STATUS_DELAYED": "",
}
"""Names that overrule the state; an empty note leaves it to the state."""
_STATES: Final[Mapping[str, State]] = {"pre": State.SCHEDULED, "in": State.LIVE, "post": State.FINAL}
_FINAL_NAMES: Final = re.compile(r"STATUS_(?:FINAL|FULL_TIME|FULL_PEN|FINAL_\w+|ENDED)\Z")
_LIVE_NAMES: Final = re.compile(
    r"STATUS_(?:IN_PROGRESS|HALFTIME|END_PERIOD|FIRST_HALF|SECOND_HALF|OVERTIME|EXTRA_TIME|SHOOTOUT|END_OF_\w+)\Z"
)
_PAUSES: Final[Mapping[str, str]] = {"STATUS_HALFTIME": "half-time", "STATUS_END_PERIOD": "end"}
_MOMENT: Final = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::\d{2}(?:\.\d{1,6})?)?(?:Z|\+00:00)\Z")
_CLOCK: Final = re.compile(r"\d{1,3}(?::\d{2})?(?:\.\d)?(?:'(?:\+\d{1,2}'?)?)?\Z")
_CODE: Final = re.compile(r"[A-Z0-9&]{1,6}\Z")


class Espn:
    """``Provider`` over ESPN."""

    name = NAME

    def __init__(self, settings: AdapterSettings, http: Http, clock: Clock) -> None:
        """``settings.base_url`` empty means the public address; with or without the interface's path."""
        self._clock = clock
        guard = Guard(
            NAME,
            clock,
            Limits(
                windows=(Window(settings.per_minute or PER_MINUTE, 60.0),),
                concurrency=CONCURRENCY,
                attempts=2,
                cache_entries=256,
                stale_for_s=STALE_FOR_S,
            ),
        )
        self._source = Source(
            base_of(settings.base_url or PUBLIC_URL, _PREFIX),
            http,
            clock,
            guard,
            timeout_s=settings.timeout_s,
            body_bytes_max=BODY_BYTES_MAX,
            explain=_explain,
        )

    def serves(self, league: str) -> bool:
        return LEAGUES[league].path is not None

    def page(self, league: str, day: date) -> str:
        path = LEAGUES[league].path or ""
        sport, _, ident = path.partition("/")
        where = f"soccer/scoreboard/_/league/{ident}" if sport == "soccer" else f"{ident}/scoreboard/_"
        return f"https://www.espn.com/{where}/date/{day:%Y%m%d}"

    async def board(
        self, league: str, day: date, *, deadline: float, max_age_s: float | None
    ) -> Guarded[Board]:
        today = eastern_day(self._clock.now())
        near = today - timedelta(days=1) <= day <= today + timedelta(days=1)
        return await self._source.get(
            f"/{LEAGUES[league].path}/scoreboard",
            {"dates": f"{day:%Y%m%d}"},
            key=f"{league}:{day}",
            read=self._reader(league, day),
            ttl_s=TTL_LIVE_S if near else TTL_PAST_S if day < today else TTL_AHEAD_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )

    def budgets(self) -> tuple[Budget, ...]:
        return self._source.budgets()

    def problems(self) -> list[str]:
        return self._source.problems()

    def _reader(self, league: str, day: date) -> Callable[[Reply], Board]:
        return lambda reply: read_board(reply.json(), league, day, self._clock.now())


def base_of(url: str, prefix: str) -> str:
    """``url`` with the interface's ``prefix`` once, however much of it the setting already holds."""
    base = url.rstrip("/")
    path = urlsplit(base).path.rstrip("/")
    at = path.find(prefix)
    if at >= 0:
        return base[: len(base) - len(path)] + path[: at + len(prefix)]
    parts = prefix.strip("/").split("/")
    for count in range(len(parts) - 1, 0, -1):
        held = "/" + "/".join(parts[:count])
        if path.endswith(held):
            return base + prefix[len(held) :]
    return base + prefix


def _explain(reply: Reply) -> NodeError | None:
    """ESPN's 400 says only that it could not find events: a day or league that it does not serve."""
    if reply.status == 400:
        return Rejected(f"{NAME} does not serve that day or league")
    if reply.status == 404:
        return NotFound(f"{NAME} does not know that league")
    return None


# --- reading --------------------------------------------------------------------------------------


ELSEWHEN_DAYS: Final = 370
"""No schedule reaches farther ahead: a later date is a mistake. Past games may be old out of season, and are
told with their date."""


def read_board(body: object, league: str, day: date, now: datetime) -> Board:
    """The board in an answer. Out of season the feed may give its latest game day instead of the one asked
    for: such games stand in ``elsewhen``. Raises ``Rejected`` for what is no board and where no game can be
    told."""
    top = outside.mapping(body, NAME, "scoreboard")
    events = outside.listing(top.get("events"), NAME, "list of games", most=GAMES_MAX)
    stated = _get(top, "day", "date")
    # Where there are events their own dates tell; an empty list has only this to be known by.
    if not events and isinstance(stated, str) and _is_other_day(stated, day):
        raise Rejected(f"{NAME} answered for another day than the one asked for")
    games: dict[str, Game] = {}
    unreadable = 0
    for at, event in enumerate(events):
        game = _game(event, league, day, now, at)
        if game is None:
            unreadable += 1
        elif game.id in games and games[game.id] != game:
            games[game.id] = _troubled(game, f"{NAME} states it twice, and differently")
        else:
            games[game.id] = game
    if events and not games:
        raise Rejected(f"{NAME} gave no game that can be read")
    of_day = tuple(game for game in games.values() if game.day == day)
    near = [game for game in games.values() if (game.day - day).days <= ELSEWHEN_DAYS]
    elsewhen = () if of_day else tuple(game for game in near if not game.trouble)
    if games and not of_day and not elsewhen:
        raise Rejected(f"{NAME} answered for another day than the one asked for")
    return Board(league, day, of_day, unreadable, elsewhen)


def _is_other_day(stated: str, day: date) -> bool:
    try:
        return date.fromisoformat(stated[:10]) != day
    except ValueError:
        return False


def _get(value: object, *path: str) -> object:
    """What lies at ``path``, None where anything on the way is missing."""
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _game(event: object, league: str, day: date, now: datetime, at: int) -> Game | None:
    """None for an entry whose teams cannot be read."""
    competition = _first(_get(event, "competitions"))
    competitors = _get(competition, "competitors")
    if not isinstance(competitors, list) or len(competitors) != 2:
        return None
    sides = {_get(one, "homeAway"): one for one in competitors}
    if set(sides) != {"home", "away"}:
        return None
    home, away = _side(sides["home"], league), _side(sides["away"], league)
    if home is None or away is None or home.code == away.code or home.names & away.names:
        return None
    start = moment_of(_get(event, "date")) or moment_of(_get(competition, "date"))
    ident = outside.text(_get(event, "id"), most=40) or f"{home.code}-{away.code}-{at}"
    status = _get(event, "status") if isinstance(_get(event, "status"), dict) else _get(competition, "status")
    # Games of that day are on at most a few hours after midnight, Eastern time.
    on = day if start is None else _day_of(start, day)
    game = Game(ident, on, start, home, away, State.SCHEDULED)
    if _get(competition, "timeValid") is False:
        game = replace(game, start=None)
    return _judged(game, status, sides, league, now)


def _day_of(start: datetime, day: date) -> date:
    """The Eastern date, or for a start in the small hours also the date before if that was asked for."""
    there = start.astimezone(EASTERN).date()
    return day if eastern_day(start) == day and there - day <= timedelta(days=1) else there


def moment_of(value: object) -> datetime | None:
    """A time in UTC, to the minute; None for anything else."""
    match = _MOMENT.match(value) if isinstance(value, str) else None
    try:
        return None if match is None else datetime.fromisoformat(f"{match[1]}+00:00").astimezone(UTC)
    except ValueError:
        return None


def _side(competitor: object, league: str) -> Side | None:
    team = _get(competitor, "team")
    code = _get(team, "abbreviation")
    names = [
        outside.text(_get(team, name), most=60)
        for name in ("displayName", "shortDisplayName", "name", "location")
    ]
    full = names[0] or names[1] or names[2]
    known = from_feed(league, code) if isinstance(code, str) and _CODE.match(code) else None
    if known is not None and full and not _same(known.full, known.short, names):
        known = None
    if known is None and not full:
        return None
    folded = frozenset(fold(name) for name in names[:3] if name)
    if known is not None:
        return Side(known, known.code, known.said, folded | {fold(known.full), fold(known.short)})
    own = code if isinstance(code, str) and _CODE.match(code) else fold(full)[:12].upper()
    article = "" if LEAGUES[league].sport == "soccer" else "the "
    return Side(None, own, f"{article}{names[1] or full}" if article else full, folded)


def _same(full: str, short: str, names: list[str]) -> bool:
    """Whether the names beside a code are those of the team that bears it; one word in common is enough, for
    feeds shorten and decorate names."""
    ours = set(fold(f"{full} {short}").split())
    return any(ours & set(fold(name).split()) for name in names if name)


def fold(name: str) -> str:
    """Lower case without accents and punctuation, to compare names by."""
    return " ".join(re.findall(r"\w+", folded(name)))


def _judged(game: Game, status: object, sides: Mapping[object, object], league: str, now: datetime) -> Game:
    name = _get(status, "type", "name")
    name = name if isinstance(name, str) else ""
    state = _STATES.get(str(_get(status, "type", "state")))
    completed = _get(status, "type", "completed")
    off = _OFF.get(name, "")
    if off:
        return replace(game, state=State.OFF, note=off)
    named = State.FINAL if _FINAL_NAMES.match(name) else State.LIVE if _LIVE_NAMES.match(name) else None
    if name == "STATUS_SCHEDULED":
        named = State.SCHEDULED
    if state is None:
        state = named
    if state is None:
        return _troubled(game, f"{NAME} does not say whether it has begun")
    if named is not None and named is not state:
        return _troubled(game, f"{NAME} calls it {named} and {state} at once")
    if isinstance(completed, bool) and completed is not (state is State.FINAL):
        return _troubled(game, f"{NAME} does not agree with itself whether it is over")
    if state is State.SCHEDULED:
        return game
    if game.start is not None and game.start - now > EARLY:
        return _troubled(game, f"{NAME} gives a score before the game has begun")
    if state is State.LIVE and game.start is not None and now - game.start > LONG:
        return _troubled(game, f"{NAME} calls it running more than a day after its start")
    return _scored(replace(game, state=state), status, name, sides, league)


def _scored(game: Game, status: object, name: str, sides: Mapping[object, object], league: str) -> Game:
    try:
        home = outside.whole(_get(sides["home"], "score"), NAME, "score", most=SCORE_MAX)
        away = outside.whole(_get(sides["away"], "score"), NAME, "score", most=SCORE_MAX)
    except Rejected:
        return _troubled(game, f"{NAME} gives no usable score for it")
    sport = LEAGUES[league].sport
    period = _get(status, "period")
    period = period if isinstance(period, int) and not isinstance(period, bool) and 0 <= period <= 50 else 0
    clock = _get(status, "displayClock")
    clock = clock if isinstance(clock, str) and _CLOCK.match(clock) else ""
    shootouts = [_get(sides[where], "shootoutScore") for where in ("home", "away")]
    kicks = [one if isinstance(one, int) and 0 <= one <= 50 else None for one in shootouts]
    is_past_half = game.state is State.FINAL or name == "STATUS_HALFTIME" or period > HALVES.get(sport, 50)
    halves: list[int | None] = [None, None]
    if is_past_half:
        halves = [_half(sides["home"], league, home), _half(sides["away"], league, away)]
    game = replace(
        game,
        home=replace(game.home, score=home, shootout=kicks[0], half=halves[0]),
        away=replace(game.away, score=away, shootout=kicks[1], half=halves[1]),
        period=period,
        clock=clock,
        pause=name in _PAUSES,
    )
    if game.state is not State.FINAL:
        detail = outside.text(_get(status, "type", "shortDetail"), most=30) if sport == "baseball" else ""
        return replace(game, note="half-time" if name == "STATUS_HALFTIME" else detail)
    flags = {where: _get(sides[where], "winner") for where in ("home", "away")}
    ahead = {"home": home > away, "away": away > home}
    # In soccer the flag may mean the tie over two legs.
    if sport != "soccer" and any(
        flags[where] in (True, False) and flags[where] is not ahead[where] for where in ahead
    ):
        return _troubled(game, f"{NAME} names a winner that its scores contradict")
    if home == away and sport in ("basketball", "baseball"):
        return _troubled(game, f"{NAME} gives a tie, which there is not in this sport")
    return replace(game, note=ending(league, period, name, flags))


def _half(competitor: object, league: str, score: int) -> int | None:
    """The points of the periods before half-time; None where they are not all there, or are too many."""
    count = 1 if league == "ncaam" else HALVES.get(LEAGUES[league].sport, 0)
    lines = _get(competitor, "linescores")
    if not count or not isinstance(lines, list) or len(lines) < count:
        return None
    try:
        half = sum(
            outside.whole(_get(line, "value"), NAME, "score", most=SCORE_MAX) for line in lines[:count]
        )
    except Rejected:
        return None
    return half if half <= score else None


def ending(league: str, period: int, name: str = "", flags: Mapping[str, object] | None = None) -> str:
    """How a game ended, where that is not in regular time."""
    sport = LEAGUES[league].sport
    if sport == "soccer":
        if "PEN" in name:
            won = [where for where in ("home", "away") if (flags or {}).get(where) is True]
            return f"penalties:{won[0]}" if len(won) == 1 else "penalties"
        return "after extra time" if name in ("STATUS_FINAL_AET",) or period > 2 else ""
    regular = 2 if league == "ncaam" else PERIODS.get(sport, 50)
    if period <= regular:
        return ""
    if sport == "baseball":
        return f"{period} innings"
    if sport == "hockey" and period > 4:
        return "overtime or shootout"
    extra = period - regular
    return "overtime" if extra == 1 else f"{extra} overtimes"


def _troubled(game: Game, trouble: str) -> Game:
    """The game without any figure."""
    home, away = (replace(side, score=None, shootout=None, half=None) for side in (game.home, game.away))
    return replace(game, home=home, away=away, trouble=trouble)
