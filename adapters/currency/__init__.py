"""Exchange rates: one reader of questions, one source of rates."""

from __future__ import annotations

from adapters.currency.rates import FxRates

__all__ = ["FxRates"]
