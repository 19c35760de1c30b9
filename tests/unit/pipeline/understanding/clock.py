"""The instant at which the classifier's tests ask."""

from __future__ import annotations

from datetime import UTC, datetime

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
