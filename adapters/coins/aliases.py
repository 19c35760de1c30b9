"""Names and tickers of the best known coins, and of currencies (``coins.toml``, ``languages``). Pure data.

``COINS`` maps what people write to the ids that CoinGecko uses. It holds only the well known; for others the
source's own search decides. ``EVERYDAY`` are aliases that are ordinary words (or tickers of other things) as
well: they name a coin only with further evidence, which the reader of questions asks for.

Ids were written from general knowledge of the service: a wrong or retired id makes an answer fail clearly
("lists no such coin"), it cannot produce another coin's figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from node.language.tables import lexicon, read_table

_DATA = read_table(__package__, "coins.toml")
_TABLES = lexicon(__package__).tables


@dataclass(frozen=True, slots=True)
class Coin:
    """``names`` are lower case, the official one first; ``symbols`` are lower-case tickers."""

    id: str
    title: str
    symbols: tuple[str, ...]
    names: tuple[str, ...]


COINS: tuple[Coin, ...] = tuple(
    Coin(ident, title, tuple(symbols.split()), (title.lower(), *others))
    for ident, (title, symbols, *others) in _DATA["coins"].items()
)
BY_ID: Mapping[str, Coin] = {coin.id: coin for coin in COINS}


def _kind(name: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in _DATA["kinds"][name].split())


EVERYDAY, FAMILIAR, UNPRICED, SPOKEN = map(_kind, ("everyday", "familiar", "unpriced", "spoken"))
OTHER_THINGS, NO_TICKERS = map(_kind, ("other_things", "no_tickers"))
COIN_CURRENCIES: Mapping[str, str] = _DATA["quoted"]
PEGS: Mapping[str, str] = _DATA["pegs"]
ON_COINBASE: Mapping[str, str] = _DATA["coinbase"]
ASKED_AS: Mapping[str, str] = _DATA["asked"]
"""English words for each figure of a coin."""
TYPED: Mapping[str, list[str]] = {word: meant.split() for word, meant in _DATA["typed"].items()}

MISSPELLABLE: tuple[str, ...] = tuple(
    sorted(
        name
        for coin in COINS
        for name in coin.names
        if len(name) >= 6 and name.isalpha() and name not in EVERYDAY and name not in {"celestia", "cronos"}
    )
)
"""What may be misspelt; short names and those one letter away from another word are left out."""
CURRENCIES: Mapping[str, list[str]] = {
    code: [name.replace("_", " ") for name in names] for code, names in _TABLES["currencies"].items()
}
"""Currency code of the source to what people write. "TRY" is read in capitals only, by the reader."""
SCRIPT_NAMES: Mapping[str, str] = {name: coin for coin, names in _TABLES["names"].items() for name in names}
"""Coins by names in other scripts; Russian ones take endings."""
SCRIPT_CURRENCIES: Mapping[str, str] = {
    name: code for code, names in _TABLES["script_currencies"].items() for name in names
}
"""Currencies by stems in other scripts; the longest that is found counts."""
