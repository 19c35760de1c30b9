"""A stand-in for the balldontlie interface: NBA games of a day by pages, in the vendor's shape, on loopback.

No recording of the vendor was at hand: the shape is that of its documentation. Games and figures are the
tests' own; a wrong or missing key is answered with 401.

    async with BalldontlieStandIn() as source:
        source.game(date(2026, 5, 17), "BOS", "LAL", status="Final", scores=(105, 112))
        ...  # ask at source.url with the key BalldontlieStandIn.KEY
"""

from __future__ import annotations

from datetime import date
from typing import Any

from adapters.scores.teams import TEAMS
from tests.simulators.vendor import Answered, Seen, VendorStandIn


class BalldontlieStandIn(VendorStandIn):
    """``page_size`` cuts the answer into pages, whatever ``per_page`` asks."""

    KEY = "key-of-the-tests"

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.games: dict[str, list[dict[str, Any]]] = {}
        self.page_size = 100

    def answer(self, asked: Seen) -> Answered:
        if asked.path != "/v1/games":
            return Answered({"error": "Not found"}, 404)
        if asked.headers.get("Authorization") != self.KEY:
            return Answered({"error": "Unauthorized"}, 401)
        rows = self.games.get(asked.query.get("dates[]", ""), [])
        at = int(asked.query.get("cursor", "0"))
        meta: dict[str, Any] = {"per_page": self.page_size}
        if at + self.page_size < len(rows):
            meta["next_cursor"] = at + self.page_size
        return Answered({"data": rows[at : at + self.page_size], "meta": meta})

    def game(
        self,
        day: date,
        home: str,
        away: str,
        *,
        status: str,
        scores: tuple[int, int] = (0, 0),
        period: int = 0,
        time: str | None = None,
        start: str | None = None,
    ) -> dict[str, Any]:
        """Add a game; ``start`` is UTC in ISO form. Returns the row, to be bent."""
        row: dict[str, Any] = {
            "id": 1_000 + sum(len(rows) for rows in self.games.values()), "date": day.isoformat(),
            "status": status, "period": period, "time": time, "datetime": start,
            "home_team_score": scores[0], "visitor_team_score": scores[1], "home_team": _team(home),
            "visitor_team": _team(away),
        }  # fmt: skip
        self.games.setdefault(day.isoformat(), []).append(row)
        return row


def _team(code: str) -> dict[str, Any]:
    team = TEAMS["nba", code]
    return {"abbreviation": code, "name": team.short, "full_name": team.full}
