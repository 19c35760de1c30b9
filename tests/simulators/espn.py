"""A stand-in for ESPN's site interface: boards of one league and day, in the vendor's shape, on loopback.

Shapes follow the recorded answers; games and figures are the tests' own. As the vendor does since September
2026 it answers a range of dates with 400; a day without games has an empty list.

    async with EspnStandIn() as espn:
        espn.game("nba", date(2026, 5, 17), "BOS", "LAL", scores=(105, 112))
        ...  # ask at espn.url

By hand: ``python -m tests.simulators.espn --port 0`` (games around the day of the adapter contract).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from adapters.scores.teams import LEAGUES, TEAMS
from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

PREFIX = "/apis/site/v2/sports/"
_EASTERN = ZoneInfo("America/New_York")
_STATUS = {
    "pre": ("STATUS_SCHEDULED", False),
    "in": ("STATUS_IN_PROGRESS", False),
    "post": ("STATUS_FINAL", True),
}


class EspnStandIn(VendorStandIn):
    """``game`` adds one; ``events`` are by (path of the league, day as YYYYMMDD) and may be edited. With
    ``latest`` a day without games is answered with the games of that day, as the vendor may out of season."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.latest: date | None = None
        self.events: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._count = 401_000_000

    def answer(self, asked: Seen) -> Answered:
        match = re.fullmatch(PREFIX + r"(\w+/[\w.-]+)/scoreboard", asked.path)
        known = {league.path for league in LEAGUES.values()}
        if match is None or match[1] not in known:
            return Answered({"code": 404, "message": "Not Found"}, 404)
        day = asked.query.get("dates", "")
        if not re.fullmatch(r"\d{8}", day):
            return Answered({"code": 400, "message": "Failed to get events endpoint."}, 400)
        if self.latest is not None and (match[1], day) not in self.events:
            day = f"{self.latest:%Y%m%d}"
        return Answered(
            {
                "leagues": [{"slug": match[1].rpartition("/")[2]}],
                "day": {"date": f"{day[:4]}-{day[4:6]}-{day[6:]}"},
                "events": self.events.get((match[1], day), []),
            }
        )

    def game(
        self,
        league: str,
        day: date,
        home: str,
        away: str,
        *,
        state: str = "post",
        scores: tuple[int, int] = (0, 0),
        at: str = "19:30",
        period: int = 4,
        clock: str = "0.0",
        name: str | None = None,
    ) -> dict[str, Any]:
        """Add a game that begins at ``at`` Eastern time; ``home`` and ``away`` are canonical codes,
        ``scores`` in that order. Returns the event, to be bent."""
        start = datetime.fromisoformat(f"{day}T{at}").replace(tzinfo=_EASTERN).astimezone(UTC)
        usual, completed = _STATUS[state]
        self._count += 1
        status = {
            "clock": 0, "displayClock": clock if state == "in" else "0.0",
            "period": 0 if state == "pre" else period,
            "type": {
                "name": name or usual, "state": state, "completed": completed,
                "shortDetail": "Final" if completed else clock,
            },
        }  # fmt: skip
        won = (scores[0] > scores[1], scores[1] > scores[0])
        sides = zip(("home", "away"), (home, away), scores, won, strict=True)
        event = {
            "id": str(self._count),
            "date": f"{start:%Y-%m-%dT%H:%MZ}",
            "name": f"{away} at {home}",
            "competitions": [
                {
                    "id": str(self._count),
                    "date": f"{start:%Y-%m-%dT%H:%MZ}",
                    "timeValid": True,
                    "competitors": [
                        _competitor(league, where, code, state, score, has_won)
                        for where, code, score, has_won in sides
                    ],
                    "status": status,
                }
            ],
            "status": status,
        }
        path = LEAGUES[league].path or ""
        self.events.setdefault((path, f"{day:%Y%m%d}"), []).append(event)
        return event


def _competitor(league: str, where: str, code: str, state: str, score: int, won: bool) -> dict[str, Any]:
    team = TEAMS[league, code]
    row: dict[str, Any] = {
        "homeAway": where,
        "team": {
            "abbreviation": team.feed, "displayName": team.full, "shortDisplayName": team.short,
            "name": team.short, "location": team.full.removesuffix(f" {team.short}"),
        },
        "score": str(score),
    }  # fmt: skip
    if state != "pre":
        row["linescores"] = [{"value": score}]
    if state == "post":
        row["winner"] = won
    return row


class RecordedEspn(VendorStandIn):
    """Serves recorded bodies by day, and an empty day otherwise."""

    def __init__(self, folder: Path, days: Sequence[tuple[date, str]]) -> None:
        super().__init__()
        self._bodies = {f"{day:%Y%m%d}": (folder / name).read_bytes() for day, name in days}
        self._empty = (folder / "nba_scoreboard_empty.json").read_bytes()
        self._range = json.loads((folder / "error_400_date_range.json").read_bytes())

    def answer(self, asked: Seen) -> Answered:
        day = asked.query.get("dates", "")
        if not re.fullmatch(r"\d{8}", day):
            return Answered(self._range["body"], self._range["http_status"])
        return Answered(self._bodies.get(day, self._empty))


def fill(espn: EspnStandIn, today: date) -> None:
    """Yesterday's results, today's games in every state, and what comes."""
    day = timedelta(days=1)
    espn.game("nba", today - day, "BOS", "LAL", scores=(105, 112))
    espn.game("nba", today - day, "GSW", "UTA", scores=(121, 118), period=5, at="22:00")
    espn.game("nba", today, "NYK", "MIA", state="post", scores=(99, 97), at="01:00")
    espn.game("nba", today, "CHI", "DET", state="in", scores=(84, 88), at="03:00", clock="3:21")
    espn.game("nba", today, "SAS", "NOP", state="pre", at="20:00")
    espn.game("nba", today + day, "LAL", "PHX", state="pre", at="22:30")
    espn.game("epl", today - day, "ARS", "CHE", scores=(2, 2), at="11:00", period=2, name="STATUS_FULL_TIME")
    espn.game("nfl", today - day, "KC", "BUF", scores=(24, 27), at="13:00")


def _filled(port: int) -> EspnStandIn:
    stand_in = EspnStandIn(port)
    fill(stand_in, date(2026, 5, 18))
    return stand_in


if __name__ == "__main__":
    by_hand(_filled)
