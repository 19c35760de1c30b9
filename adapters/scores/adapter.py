"""Games of the NBA, and of other leagues that the same source serves: scores, winners, schedules.

It promises: a figure in an answer is one that the source stated, consistently, for that game on that US
Eastern day; a game that the source contradicts itself about is a failure, never a figure. Scheduled, live
and final games are told apart; a look for the next or last game is bounded to ``LOOK_DAYS``, each day
fetched once for all who ask. Where a source has no game of the day and gives those of another, they are told
with their own date, as such and with less confidence. Questions are read by ``questions``, sentences made by
``say``, the wire is the providers': ESPN first, balldontlie (with a key) for the NBA when ESPN
fails, gives another day or is switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from adapters.fetch import Http
from adapters.outcomes import failed
from adapters.remote import Look, Remote, max_age_s
from adapters.scores import say
from adapters.scores.balldontlie import Balldontlie
from adapters.scores.days import Days, eastern_day
from adapters.scores.espn import Espn, fold
from adapters.scores.follow import follow_up
from adapters.scores.provider import Board, Game, Provider, Side, State
from adapters.scores.questions import read_question
from adapters.scores.slots import Asked, asked_of, days_of, key_of
from adapters.scores.teams import LEAGUES, Team, team_of
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected
from node.core.model import (
    CLAIM,
    Citation,
    Evidence,
    Found,
    Freshness,
    Json,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.settings import AdapterSettings

NAME = "nba-scores"
CONFIDENCE = 0.95
CONFIDENCE_OLD = 0.75
CONFIDENCE_OTHER_DAY = 0.6
"""Of games that the source gave in the place of those asked for."""
ELSEWHEN_MAX = 5
"""Games of another day that one answer tells."""
LOOK_DAYS = 8
"""Days looked at for the next or the last game, today included, and the longest stretch that is answered."""
CALLS_TIME = 2.5
"""A question may take this many times the source's timeout, for it may need several days."""

_NO_LEAGUE = (
    "Which league or team do you mean? For example: NBA scores today, or: did the Lakers win last night?"
)
_NO_DAY = "Which day do you mean? For example: yesterday, last Friday, or 2026-05-17."
_ONE_GAME = "Which game do you mean? Please ask about one at a time."


@dataclass(slots=True, kw_only=True)
class _Look(Look):
    """What was seen on the way: ``unreadable`` entries, and ``elsewhen`` games of days that nobody asked for,
    by id."""

    provider: Provider
    unreadable: int = 0
    elsewhen: dict[str, Game] = field(default_factory=dict)

    async def board(self, league: str, day: date) -> Board:
        board = self.take(
            await self.provider.board(league, day, deadline=self.deadline, max_age_s=self.max_age_s)
        )
        self.unreadable += board.unreadable
        self.elsewhen |= {game.id: game for game in board.elsewhen}
        return board


@dataclass(frozen=True, slots=True)
class _Answer:
    """``text`` without source and full stop; ``games`` it speaks of; ``settled``: nothing can change;
    ``other_day``: none of the games is of a day that was asked for."""

    text: str
    games: tuple[Game, ...]
    settled: bool
    other_day: bool = False


class Scores(Remote):
    """``node.core.ports.Adapter`` for games. Safe to call concurrently from one event loop."""

    name = NAME
    disables = "No fresh scores"

    def __init__(self, espn: AdapterSettings, balldontlie: AdapterSettings, http: Http, clock: Clock) -> None:
        """balldontlie takes part where it is enabled and has a key; ``per_minute`` > 0 of either replaces its
        default limit."""
        self._clock = clock
        providers: list[Provider] = []
        timeouts: list[float] = []
        if espn.enabled:
            providers.append(Espn(espn, http, clock))
            timeouts.append(espn.timeout_s)
        if balldontlie.enabled and balldontlie.api_key:
            providers.append(Balldontlie(balldontlie, http, clock))
            timeouts.append(balldontlie.timeout_s)
        self._providers = tuple(providers)
        super().__init__(*self._providers)
        self._timeout_s = CALLS_TIME * max(timeouts, default=1.0)

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``; ``key`` is None while neither league nor team is named, or what
        ``Found.lacking`` says is not known."""
        found = read_question(text, now, hinted=hinted)
        if found is None:
            return None
        key = None if found.lacking else key_of(found.asked, now)
        return Recognition(
            adapter=NAME,
            slots=found.asked.slots(),
            key=key,
            local=False,
            reason=found.reason,
            strength=found.strength,
            unresolved=(found.lacking,) if found.lacking else () if key is not None else ("league",),
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return follow_up(fragment, earlier, now)

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the games, ``Unclear`` without league and team, ``Missed`` for what no source here
        knows, else ``Failed``."""
        asked = asked_of(recognition.slots)
        if asked is None:
            return Missed("this is not a question about games")
        if asked.league is None:
            return Unclear(_NO_LEAGUE, "neither a league nor a team is named")
        if "date" in recognition.unresolved:
            return Unclear(_NO_DAY, "the day that is named could not be read")
        if "game" in recognition.unresolved:
            return Unclear(_ONE_GAME, "several games are asked about")
        if "count" in recognition.unresolved:
            return Missed("only single games and whole days are told here, not a number of games")
        label = LEAGUES[asked.league].label
        providers = [one for one in self._providers if one.serves(asked.league)]
        if not providers:
            return Missed(f"no source here gives scores of {label}")
        if asked.metric == "standings":
            return Missed(f"no source here gives standings of the {label}")
        days = days_of(asked, query.local)
        if days is None:
            return Missed("the time that was named could not be read")
        if (days.last - days.first).days >= LOOK_DAYS:
            return Missed(f"games are looked up for at most {LOOK_DAYS} days at a time")
        deadline = min(query.deadline, self._clock.monotonic() + self._timeout_s)
        first: NodeError | None = None
        other: Evidence | None = None
        for provider in providers:
            look = _Look(provider=provider, deadline=deadline, max_age_s=max_age_s(query))
            try:
                answer = await self._find(look, asked, days)
            except NodeError as exc:
                first = first or exc
                continue
            evidence = self._evidence(recognition, asked, days, query, look, answer)
            if not answer.other_day:
                return Found(evidence)
            # The next source may have the day itself.
            other = other or evidence
        if other is not None:
            return Found(other)
        assert first is not None
        return Missed(str(first)) if isinstance(first, NotFound) else failed(first)

    # --- looking ----------------------------------------------------------------------------------

    async def _find(self, look: _Look, asked: Asked, days: Days) -> _Answer:
        """Raises ``node.core.errors``."""
        team = team_of(asked.league, asked.team)
        opponent = team_of(asked.league, asked.opponent)
        league = asked.league or ""
        if days.open_to:
            return await self._nearest(look, asked, team, opponent, days)
        games: list[Game] = []
        for day in _each(days):
            games += (await look.board(league, day)).games
        if not games and look.elsewhen:
            return self._elsewhen(look, league, team, opponent, days)
        if team is None:
            return _whole(look, league, games, days)
        mine = [game for game in games if _side_of(game, team) and (not opponent or _side_of(game, opponent))]
        if not mine:
            _check_readable(look)
            return _without(league, games, team, opponent, days, self._clock.now())
        return _told(mine, league, team, asked.metric)

    async def _nearest(
        self, look: _Look, asked: Asked, team: Team | None, opponent: Team | None, days: Days
    ) -> _Answer:
        """The latest game that has begun, or the first that has not, after one that is on."""
        league, metric = asked.league or "", asked.metric
        back = days.open_to == "past"
        wanted = (State.LIVE, State.FINAL) if back else (State.SCHEDULED, State.LIVE)
        ahead: list[Game] = []
        running: list[Game] = []
        for count in range(LOOK_DAYS):
            step = timedelta(days=-count if back else count)
            day = (days.last if back else days.first) + step
            ignored = bool(look.elsewhen)
            try:
                board = await look.board(league, day)
            except NodeError:
                if not running:
                    raise
                break
            if ignored and board.elsewhen and not board.games:
                break  # whatever day is asked for, others are given
            mine = [
                game
                for game in board.games
                if (not team or _side_of(game, team)) and (not opponent or _side_of(game, opponent))
            ]
            hits = [game for game in mine if game.state in wanted or game.trouble]
            if not hits:
                if back and count == 0:
                    ahead = [game for game in mine if game.state in (State.SCHEDULED, State.OFF)]
                if not mine:
                    _check_readable(look)
                continue
            if team is None:
                listed = mine if back else hits
                return replace(_whole(look, league, listed, Days(day, day)), settled=False)
            if not back and hits[0].state is State.LIVE and not (running or opponent):
                running = hits[:1]
                hits = hits[1:]
                if not hits:
                    continue
            answer = _told([*running, *(hits[-1:] if back else hits[:1])], league, team, metric)
            if ahead and not opponent:
                more = "; ".join(say.game(game, league, asked=_side_of(game, team)) for game in ahead[:2])
                answer = replace(answer, text=f"{answer.text}; {more}", games=(*answer.games, *ahead[:2]))
            return replace(answer, settled=False)
        if (ahead or running) and team is not None:
            return replace(_told((running or ahead)[:1], league, team, metric), settled=False)
        if look.elsewhen:
            return self._elsewhen(look, league, team, opponent, days)
        return _Answer(_none_near(league, team, opponent, days, back), (), False)

    def _elsewhen(
        self, look: _Look, league: str, team: Team | None, opponent: Team | None, days: Days
    ) -> _Answer:
        """The day asked for has no game, and the source gave others: told with their own dates. Raises
        ``Rejected`` where an entry that cannot be read may be the one."""
        _check_readable(look)
        middle = days.last if days.open_to == "past" else days.first
        games = sorted(look.elsewhen.values(), key=lambda game: (abs((game.day - middle).days), game.id))
        mine = [
            game
            for game in games
            if (not team or _side_of(game, team)) and (not opponent or _side_of(game, opponent))
        ]
        label = LEAGUES[league].label
        of = f"game of {team.said}" if team else f"{label} games"
        if team and opponent:
            of = f"game between {team.said} and {opponent.said}"
        text = f"{look.provider.name} lists no {of} {_about(days)} (US Eastern)"
        nearest = games[0].day
        if not mine:
            return _Answer(
                f"{text}; the {label} games that it gives instead are of {nearest}", (), False, True
            )
        told = mine[:1] if team else [game for game in mine if game.day == nearest][:ELSEWHEN_MAX]
        today = eastern_day(self._clock.now())
        clauses = "; ".join(
            say.elsewhen(game, league, today, asked=_side_of(game, team) if team else None) for game in told
        )
        more = len(mine) - len(told) if team is None else 0
        tail = f"; and {more} more" if more else ""
        return _Answer(f"{text}; the nearest it gives: {clauses}{tail}", tuple(told), False, True)

    # --- the answer -------------------------------------------------------------------------------

    def _evidence(
        self, recognition: Recognition, asked: Asked, days: Days, query: Query, look: _Look, answer: _Answer
    ) -> Evidence:
        provider = look.provider
        fetched = self._clock.now() - timedelta(seconds=look.age_s)
        settled = answer.settled and not look.unreadable and not look.stale
        source = provider.name if settled else f"{provider.name} at {say.clock_time(fetched)}"
        text = f"{say.capital(answer.text)}, according to {source}."
        if answer.other_day:
            text = f"{say.capital(answer.text)}, as of {say.clock_time(fetched)}."
        text += look.note(provider.name)
        confidence = CONFIDENCE_OLD if look.stale else CONFIDENCE
        freshness = Freshness.FINAL_SCORE if settled else Freshness.LIVE_SCORE
        if answer.other_day:
            confidence, freshness = min(confidence, CONFIDENCE_OTHER_DAY), Freshness.TIME_SENSITIVE
        day = answer.games[0].day if answer.games else days.first
        url = provider.page(asked.league or "", day)
        return Evidence(
            text=text,
            source=SourceRef("adapter", NAME, url, fetched),
            confidence=confidence,
            freshness=freshness,
            partial=recognition.strength < CLAIM,
            data={
                "games": [_data(game) for game in answer.games],
                "stale": look.stale,
                "other_day": answer.other_day,
            },
            slots=asked.slots(),
            key=recognition.key or key_of(asked, query.local),
            citations=(Citation(provider.name, url=url, time=fetched),),
            figures=_figures(answer.games) if settled else {},
        )


# --- choosing games -------------------------------------------------------------------------------


def _each(days: Days) -> Sequence[date]:
    return [days.first + timedelta(days=count) for count in range((days.last - days.first).days + 1)]


def _side_of(game: Game, team: Team) -> Side | None:
    """The side of ``team`` in a game: by the table where the feed's code is known there, else by name."""
    names = {fold(team.full), fold(team.short)}
    for side in (game.home, game.away):
        if side.team == team or (side.team is None and names & side.names):
            return side
    return None


def _check_readable(look: _Look) -> None:
    """That a team has no game may be said only of a day that could be read whole."""
    if look.unreadable:
        raise Rejected(f"{look.provider.name} gave games that cannot be read, and this may be one of them")


def _told(games: Sequence[Game], league: str, team: Team, metric: str) -> _Answer:
    """The games of a team, usually one. Raises ``Rejected`` when none of them has usable figures."""
    good = [game for game in games if not game.trouble]
    if not good:
        raise Rejected(f"the game cannot be told: {games[0].trouble}")
    clauses = [
        say.game(game, league, asked=_side_of(game, team), metric=metric) for game in games[: say.LISTED_MAX]
    ]
    settled = all(game.state is State.FINAL for game in games) and len(good) == len(games)
    return _Answer("; ".join(clauses), tuple(good), settled)


def _whole(look: _Look, league: str, games: Sequence[Game], days: Days) -> _Answer:
    """All games of some days. Raises ``Rejected`` when none can be told."""
    label = LEAGUES[league].label
    good = [game for game in games if not game.trouble]
    lost = len(games) - len(good) + look.unreadable
    if not good:
        if lost:
            raise Rejected(f"{look.provider.name} gave no game that can be told")
        return _Answer(f"there are no {label} games {say.span(days)} (US Eastern)", (), False)
    settled = not lost and all(game.state is State.FINAL for game in good)
    return _Answer(say.listing(good, league, days, lost), tuple(good), settled)


def _without(
    league: str, games: Sequence[Game], team: Team, opponent: Team | None, days: Days, now: datetime
) -> _Answer:
    """The team, or the pair, has no game on those days."""
    when = f"{say.span(days)} (US Eastern)"
    have = "had" if days.last < eastern_day(now) else "have"
    if opponent is None:
        return _Answer(f"{team.said} {have} no game {when}", (), False)
    others = [
        (game, side)
        for one in (team, opponent)
        for game in games
        if not game.trouble and (side := _side_of(game, one)) is not None
    ]
    text = f"{team.said} and {opponent.said} {have} no game against each other {when}"
    if others:
        clauses = [say.game(game, league, asked=side) for game, side in others[:4]]
        text += f"; {'; '.join(clauses)}"
    return _Answer(text, tuple(game for game, _ in others[:4]), False)


def _about(days: Days) -> str:
    """The days that were asked for, in words; an open look may have ended early."""
    if days.open_to:
        return f"on {days.last} or just {'before' if days.open_to == 'past' else 'after'} it"
    return say.span(days)


def _none_near(league: str, team: Team | None, opponent: Team | None, days: Days, back: bool) -> str:
    stretch = f"in the {LOOK_DAYS} days {'up to' if back else 'from'} {days.last if back else days.first}"
    have = "had" if back else "have"
    if team is None:
        return f"there {'were' if back else 'are'} no {LEAGUES[league].label} games {stretch} (US Eastern)"
    if opponent is not None:
        return f"{team.said} and {opponent.said} {have} no game against each other {stretch} (US Eastern)"
    return f"{team.said} {have} no game {stretch} (US Eastern)"


def _data(game: Game) -> Json:
    return {
        "date": game.day.isoformat(),
        "start": game.start.isoformat() if game.start else None,
        "state": str(game.state),
        "period": game.period,
        "clock": game.clock,
        "note": game.note,
        "home": {"team": game.home.code, "score": game.home.score},
        "away": {"team": game.away.code, "score": game.away.score},
    }


def _figures(games: Sequence[Game]) -> dict[str, str]:
    """Final scores by team, where one game was told."""
    if len(games) != 1:
        return {}
    return {side.code: str(side.score) for side in (games[0].home, games[0].away) if side.score is not None}
