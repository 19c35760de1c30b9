"""Clock times, zones and differences around the world, computed here."""

from __future__ import annotations

from adapters.local_time.world_time import WorldTime

__all__ = ["WorldTime"]
