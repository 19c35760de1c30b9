"""The profiles of the search and the list of tags, read from ``profiles.toml`` and ``tags.toml``.

Pure but for reading the files of this package, once."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from node.core.errors import Misconfigured
from node.language.reading import fold
from node.language.tables import read_table

Kind = Literal["fused", "linear", "file", "maxsim", "jaccard"]
_WEIGHTS_SUM = 1e-6


@dataclass(frozen=True, slots=True)
class Floor:
    """Nothing is used where neither the best cosine nor the best coverage of the question's words reaches
    it, or where the best score stays below ``score``."""

    cosine: float
    coverage: float
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to search. ``keyword``, ``dense``: candidates by each, 0 for none. ``k``: of the rank fusion.
    ``penalties``: by status. The other fields stand in the file with what they mean."""

    name: str
    kind: Kind
    keyword: int
    dense: int
    k: int
    floor: Floor
    penalties: Mapping[str, float]
    weights: Mapping[str, float]
    passages: int
    joined_from: float
    same_topic: float
    per_document: int


def default_name(when: str = "default") -> str:
    """The profile that measures best; with ``when`` "fallback" without an embedder."""
    return str(read_table(__package__, "profiles.toml")[when])


def names() -> tuple[str, ...]:
    """All profiles, in the order of the file."""
    return tuple(read_table(__package__, "profiles.toml")["profiles"])


@functools.cache
def profile(name: str = "") -> Profile:
    """The profile of this name, without one the default. Raises ``Misconfigured``."""
    table = read_table(__package__, "profiles.toml")
    name = name or default_name()
    if name not in table["profiles"]:
        raise Misconfigured(f"there is no search profile {name!r}; there are {', '.join(names())}")
    return made(name, {**table["shared"], **table["profiles"][name]})


def made(name: str, row: Mapping[str, Any]) -> Profile:
    """A row as a profile. Raises ``Misconfigured``: an unknown kind, weights that do not sum to 1, or a field
    that is missing or unknown."""
    row = {"weights": {}, **row}
    if row.get("kind") not in get_args(Kind):
        raise Misconfigured(f"search profile {name}: kind is one of {', '.join(get_args(Kind))}")
    if (weights := row["weights"]) and abs(sum(weights.values()) - 1.0) > _WEIGHTS_SUM:
        raise Misconfigured(f"search profile {name}: weights sum to {sum(weights.values()):g}, not to 1")
    try:
        return Profile(name, **{**row, "floor": Floor(**row["floor"])})
    except (TypeError, KeyError) as exc:
        raise Misconfigured(f"search profile {name}: {exc}") from exc


class Taxonomy:
    """The tags there are, each with the words that say it. A question is tagged by whole words, so that a tag
    that is not in the list cannot come up."""

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._words = {
            tag: re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(fold(one)) for one in said)})(?!\w)")
            for tag, said in words.items()
        }

    def kept(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Those of ``tags`` that are in the list, in order, each once; the others are dropped."""
        return tuple(dict.fromkeys(tag for tag in tags if tag in self._words))

    def of(self, text: str) -> tuple[str, ...]:
        """The tags that a text says by their words or by name."""
        folded = fold(text)
        return tuple(tag for tag, pattern in self._words.items() if pattern.search(folded))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._words)


@functools.cache
def packaged_tags() -> Taxonomy:
    """The list that comes with the node."""
    return taxonomy(read_table(__package__, "tags.toml"))


def taxonomy(table: Mapping[str, Mapping[str, str]]) -> Taxonomy:
    """A list of tags from a parsed file: sections of tag = "words|that|say it"."""
    return Taxonomy({tag: said.split("|") for section in table.values() for tag, said in section.items()})
