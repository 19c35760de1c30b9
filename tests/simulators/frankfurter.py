"""A stand-in for Frankfurter: its version 2 answers on loopback.

The wire format follows the published description; the rates are the tests' own, in units per euro. As the
service does, it carries the last rate forward over days without one, and has none before its first day.

By hand: ``python -m tests.simulators.frankfurter --port 0``.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from tests.simulators.vendor import Answered, Seen, VendorStandIn, by_hand

LATEST = date(2026, 5, 15)
"""The latest day with rates: a Friday."""
PER_EURO = {
    "EUR": Decimal(1),
    "USD": Decimal("1.08283704"),
    "GBP": Decimal("0.85"),
    "JPY": Decimal("170.5"),
    "CHF": Decimal("0.94"),
    "CAD": Decimal("1.5"),
    "INR": Decimal("92.4"),
    "TRY": Decimal("44.1"),
    "RUB": Decimal("95.2"),
}


class FrankfurterStandIn(VendorStandIn):
    """``latest`` and ``rates`` may be changed while it runs."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.latest = LATEST
        self.rates = dict(PER_EURO)

    def answer(self, asked: Seen) -> Answered:
        if asked.path != "/v2/rates":
            return Answered({"message": "not found"}, 404)
        base, quotes = asked.query.get("base", "EUR"), asked.query.get("quotes", "")
        wanted = quotes.split(",") if quotes else [code for code in self.rates if code != base]
        if base not in self.rates or any(code not in self.rates for code in wanted):
            return Answered({"message": f"invalid currency: {base},{quotes}"}, 422)
        day = date.fromisoformat(asked.query.get("date", self.latest.isoformat()))
        day = min(day, self.latest)
        if day < date(1999, 1, 4):
            return Answered([])
        while day.weekday() >= 5:
            day -= timedelta(days=1)
        # Rates of earlier days differ a little, so that a test sees which day it got.
        drift = Decimal((self.latest - day).days) / 1000
        rows = [
            {
                "date": day.isoformat(),
                "base": base,
                "quote": code,
                "rate": float(round(self.rates[code] / self.rates[base] + drift, 5)),
            }
            for code in wanted
        ]
        return Answered(rows)


if __name__ == "__main__":
    by_hand(FrankfurterStandIn)
