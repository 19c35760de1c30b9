"""The adapters of this node, in the order in which equally strong claims win.

To add an adapter (docs/adding-an-adapter.md): write a package ``adapters/<topic>/`` with a class that keeps
the contract of ``node.core.ports.Adapter``, give it a field in ``node.core.settings.Adapters`` if it has an
address, a key or limits, add a line to ``build`` below, and a case to ``tests/contracts``. No router file
changes: ``recognise`` brings the patterns along. One that lives in another package needs no change here at
all: name it in the setting ``adapters.plugins``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any

from adapters.coins import Coinbase, CoinGecko
from adapters.currency import FxRates
from adapters.fetch import Http
from adapters.local_time import WorldTime
from adapters.math_calculator import MathCalculator
from adapters.news import News
from adapters.scores import Scores
from adapters.snapshot import Snapshot
from adapters.switched_off import SwitchedOff
from adapters.weather import Weather
from adapters.wikipedia import Wikipedia
from node.core.clock import Clock
from node.core.errors import Misconfigured
from node.core.ports import Adapter
from node.core.settings import Adapters
from node.language import retell


def build(settings: Adapters, clock: Clock, http: Http) -> tuple[Adapter, ...]:
    """All adapters, local ones first; those switched off know their questions and answer none. No I/O; the
    caller closes each, and ``http`` after them. Raises ``Misconfigured`` for a plugin that cannot be
    loaded."""
    s = settings
    scores = s.espn.enabled or (s.balldontlie.enabled and bool(s.balldontlie.api_key))
    weather = Weather(s.open_meteo, s.open_meteo_archive, s.open_meteo_geocoding, http, clock)
    adapters: list[Adapter] = [
        MathCalculator(clock),
        WorldTime(clock),
        _switched(CoinGecko(s.coingecko, clock), s.coingecko.enabled),
        _switched(Coinbase(s.coinbase, http, clock), s.coinbase.enabled),
        _switched(weather, s.open_meteo.enabled),
        _switched(Scores(s.espn, s.balldontlie, http, clock), scores),
        _switched(News(s.news, s.hn, http, clock), s.news.enabled),
        _switched(FxRates(s.frankfurter, http, clock), s.frankfurter.enabled),
        _switched(Snapshot(s.snapshot, http, clock), s.snapshot.enabled),
        _switched(Wikipedia(s.wikipedia, http, clock), s.wikipedia.enabled),
    ]
    adapters += [_plugin(name, clock, http) for name in s.plugins]
    return tuple(adapters)


def sayings(adapters: Iterable[Adapter]) -> Mapping[str, retell.Tables]:
    """What each says in other languages than English, by its name: the folder ``says`` of its package."""
    packages = {one.name: import_module(type(one).__module__).__package__ for one in adapters}
    return {name: retell.load(package, __package__) for name, package in packages.items() if package}


def tools(adapters: Iterable[Adapter]) -> Iterator[tuple[Mapping[str, Any], tuple[Adapter, ...]]]:
    """What a model may ask each for: the tables of ``tool.toml`` in its package, with all the adapters of
    that package in their order. Those switched off have none."""
    packages: dict[str, list[Adapter]] = {}
    for one in adapters:
        if not isinstance(one, SwitchedOff) and (package := import_module(type(one).__module__).__package__):
            packages.setdefault(package, []).append(one)
    for package, some in packages.items():
        described = files(package) / "tool.toml"
        if described.is_file():
            for tool in tomllib.loads(described.read_text("utf-8"))["tool"]:
                yield tool, tuple(some)


def _switched(adapter: Adapter, enabled: bool) -> Adapter:
    return adapter if enabled else SwitchedOff(adapter)


def _plugin(name: str, clock: Clock, http: Http) -> Adapter:
    """The adapter that ``module:factory`` makes of the clock and the session."""
    module, _, factory = name.partition(":")
    try:
        made: Adapter = getattr(import_module(module), factory)(clock, http)
    except (ImportError, AttributeError, TypeError, ValueError) as exc:
        raise Misconfigured(f"setting adapters.plugins: {name!r} cannot be loaded: {exc}") from exc
    return made
