"""A stand-in for a Snapshot hub: its GraphQL answers on loopback, for the queries that the adapter makes.

The wire format and the rules (order, skip, title search, states by the clock, an unknown space that is null
beside an empty list) follow the hub's published source; spaces, proposals and figures are the tests' own.

By hand: ``python -m tests.simulators.snapshot --port 0``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
"""The moment that the stand-in lives in."""
DAY = 86_400


@dataclass(slots=True)
class StandInProposal:
    """``ends`` and ``starts`` are days from ``NOW``."""

    title: str
    starts: float
    ends: float
    scores: list[float] = field(default_factory=lambda: [75.0, 20.0, 5.0])
    choices: list[str] = field(default_factory=lambda: ["For", "Against", "Abstain"])
    votes: int = 41_203
    quorum: float = 0.0
    kind: str = "basic"
    scores_state: str = "final"
    body: str = "## Summary\n\nThis proposal changes the thing. It costs nothing.\n"
    quorum_kind: str = "default"


@dataclass(slots=True)
class StandInSpace:
    """Proposals in the order of their making."""

    id: str
    name: str
    proposals: list[StandInProposal]


def _spaces() -> list[StandInSpace]:
    early = [
        StandInProposal(f"Grants round {at}", -900 + at, -890 + at, [at + 10.0, 3.0, 1.0], votes=100 + at)
        for at in range(1, 13)
    ]
    one = StandInProposal
    uniswap = [
        *early,
        one("Swap 123 ETH for stablecoins", -400, -395),
        one("[Temperature Check] #123 Deploy on Sonne", -300, -295, [78.2e6, 21.8e6, 0.0], quorum=4e7),
        one("Fee switch pilot", -3, 4, [6e6, 4e6, 0.0], votes=812, quorum=4e7, scores_state=""),
    ]
    names, shares = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"], [10.0, 40.0, 30.0, 15.0, 5.0]
    ens = [
        one("[EP5.4] [Social] Fund the stewards", -700, -693, [1.5e6, 9e5, 1e5], votes=320),
        one("[EP 6.1] Which name?", -60, -53, shares, names, votes=51, kind="single-choice"),
        one("[EP 6.2] Small turnout", -30, -23, [900.0, 100.0, 0.0], quorum=1e6, votes=12),
    ]
    lido = [
        one("Old lido vote", -20, -6, [10.0, 30.0, 0.0], votes=77),
        one("Open one", -2, 5, [5.0, 1.0, 0.0], votes=9, scores_state="pending"),
        one("Hidden one", -1, 6, [], votes=40, scores_state="pending"),
        one("Coming one", 2, 9, [0.0, 0.0, 0.0], votes=0, scores_state=""),
    ]
    aave = [
        one("[TEMP CHECK] Launch GHO on Gnosis Chain", -100, -96, [3.0, 1.0, 0.0], votes=5),
        one("[ARFC] Launch GHO on Gnosis Chain", -90, -86, [9.0, 1.0, 0.0], votes=15),
        one("AIP-12 Add a market", -80, -76, [1.0, 9.0, 0.0], votes=25),
        one("Not yet counted", -4, -1, [4.0, 1.0, 0.0], votes=3, scores_state="pending"),
    ]
    return [
        StandInSpace("uniswapgovernance.eth", "Uniswap", uniswap),
        StandInSpace("ens.eth", "ENS", ens),
        StandInSpace("lido-snapshot.eth", "Lido", lido),
        StandInSpace("aavedao.eth", "Aave DAO", aave),
    ]


class SnapshotStandIn(VendorStandIn):
    """The hub. ``spaces`` may be changed by a test."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.spaces = {space.id: space for space in _spaces()}

    def rows(self, space_id: str) -> list[dict[str, Any]]:
        """The proposals of a space as the hub gives them, in the order of their making."""
        space = self.spaces.get(space_id)
        return [] if space is None else [_row(space, at) for at in range(len(space.proposals))]

    def answer(self, asked: Seen) -> Answered:
        if asked.path != "/graphql":
            return Answered({"error": "not found"}, 404)
        sent = json.loads(asked.body)
        query, given = sent["query"], sent["variables"]
        if query.startswith("query One("):
            every = [row for space_id in self.spaces for row in self.rows(space_id)]
            return Answered({"data": {"proposal": next((r for r in every if r["id"] == given["id"]), None)}})
        space = self.spaces.get(given["space"])
        rows = self.rows(given["space"])
        data: dict[str, Any] = {
            "space": None
            if space is None
            else {"id": space.id, "name": space.name, "proposalsCount": len(space.proposals)}
        }
        newest = sorted(rows, key=lambda row: -row["created"])
        if given["first"] > 1_000 or given.get("skip", 0) > 5_000:
            return Answered({"errors": [{"message": "The `first` argument must not be greater than 1000"}]})
        if "text" in given:
            matching = [row for row in newest if given["text"].lower() in row["title"].lower()]
            data["titled"] = matching[: given["first"]]
        if "skip" in given:
            data["nth"] = rows[given["skip"] : given["skip"] + 1]
        if "where" in given:
            matching = [row for row in newest if _meets(row, given["where"])]
            data["listed"] = matching[: given["first"]]
        return Answered({"data": data})


def _meets(row: dict[str, Any], where: dict[str, Any]) -> bool:
    for name, value in where.items():
        key, _, operator = name.partition("_")
        held = row["space"]["id"] if key == "space" else row[key]
        if not {
            "": held == value,
            "gte": key != "space" and key != "state" and held >= value,
            "lt": key != "space" and key != "state" and held < value,
        }[operator]:
            return False
    return True


def _row(space: StandInSpace, at: int) -> dict[str, Any]:
    proposal = space.proposals[at]
    start = int(NOW.timestamp() + proposal.starts * DAY)
    end = int(NOW.timestamp() + proposal.ends * DAY)
    now = NOW.timestamp()
    proposal_id = f"0x{space.id.encode().hex()[:20]}{at:044x}"
    return {
        "id": proposal_id, "ipfs": f"bafkreistandin{at:045d}", "title": proposal.title,
        "body": proposal.body, "author": "0x" + "ab" * 20, "created": min(start, int(now)) - DAY,
        "start": start, "end": end, "type": proposal.kind, "choices": proposal.choices,
        "scores": proposal.scores, "scores_state": proposal.scores_state,
        "scores_total": sum(proposal.scores), "quorum": proposal.quorum, "quorumType": proposal.quorum_kind,
        "votes": proposal.votes,
        "state": "pending" if now <= start else "active" if now <= end else "closed",
        "space": {"id": space.id},
    }  # fmt: skip


if __name__ == "__main__":
    by_hand(SnapshotStandIn)
