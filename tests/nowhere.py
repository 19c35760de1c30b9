"""Addresses where nothing listens, for every outside source: no test reaches out of this machine."""

from __future__ import annotations

from typing import Any

from node.core.settings import ENV_PREFIX

NOBODY = "http://127.0.0.1:9"
"""The discard port of this machine."""

_SOURCES = (
    *("coingecko", "coinbase", "open_meteo", "open_meteo_archive", "open_meteo_geocoding", "espn"),
    *("balldontlie", "hn", "frankfurter", "snapshot", "wikipedia"),
)


def nowhere() -> dict[str, Any]:
    """The section ``adapters`` of the settings."""
    return {**{name: {"base_url": NOBODY} for name in _SOURCES}, "news": {"feeds": ["none"]}}


def nowhere_environment() -> dict[str, str]:
    """The same for a process of its own."""
    names = {f"{ENV_PREFIX}ADAPTERS__{name.upper()}__BASE_URL": NOBODY for name in _SOURCES}
    return {**names, f"{ENV_PREFIX}ADAPTERS__NEWS__FEEDS": "none"}
