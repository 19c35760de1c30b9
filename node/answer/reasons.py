"""What an asker is told when something could not be found out: the one place that turns reasons into words.

The reasons of engines and sources (addresses, statuses, what to install) are the operator's: they stand in
the trace and in ``/health``, never in an answer. The sentences lie in ``reasons.json``, by language; a
language that is not there is answered in English."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from node.core.model import Failed, Missed, Step

_NAMES: Mapping[str, str] = {
    "coinbase": "Coinbase",
    "coingecko": "CoinGecko",
    "fx-rates": "Frankfurter",
    "nba-scores": "ESPN",
    "snapshot": "Snapshot",
    "weather": "Open-Meteo",
    "wikipedia": "Wikipedia",
}
"""What people call an adapter's source; any other is "the source"."""
_STORED_HERE = {"local": "own", "starter": "with_node", "the text you sent": "pasted"}
_NOTHING = ("no_model", "model_slow", "model_unusable", "late", "not_there")
_SLOW = frozenset({"timeout", "rate_limited", "busy"})
_SOON_S = 90.0
_MINUTES_MAX = 120


@cache
def _sentences() -> Mapping[str, Mapping[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((files("node.answer") / "reasons.json").read_text("utf-8"))
    return read


def say(key: str, language: str = "en", **values: object) -> str:
    """One sentence or clause of the file."""
    known = _sentences()
    return known.get(language, known["en"])[key].format(**values)


def found_nothing(text: str) -> bool:
    """Whether an earlier answer only said that it could not be found out."""
    return any(text == known[key] for known in _sentences().values() for key in _NOTHING)


def is_nearest(text: str) -> bool:
    """Whether an answer quotes documents as the nearest to the question, and says that it is no more."""
    return any(text.startswith(known["documents_unsure"]) for known in _sentences().values())


_FRAMES, _SOURCES = (
    ("near", "near_without", "unread", "according", "documents_unsure"),
    ("one_source", "more_sources"),
)


def bare(text: str) -> str:
    """An earlier answer without the lines with which this node introduces what it quotes."""
    frames, sources = (
        tuple(known[key].partition("{")[0] for known in _sentences().values() for key in keys)
        for keys in (_FRAMES, _SOURCES)
    )
    lines = text.splitlines()
    own = [one.startswith(sources) or (one.startswith(frames) and one.endswith(":")) for one in lines]
    kept = [one for one, is_own in zip(lines, own, strict=True) if not is_own]
    if len(kept) < len(lines):
        kept = [one.removeprefix("- ") for one in kept]
    return "\n".join(kept).strip() or text


def source_label(name: str, language: str = "en") -> str:
    """A source as people know it: what was stored or sent here goes by no name of theirs."""
    return say(_STORED_HERE[name], language) if name in _STORED_HERE else name


def heading(name: str, language: str = "en", about: str = "") -> str:
    """The line above a quote. ``about``: the question that it was stored for."""
    key = "according_on" if about else "according"
    return say(key, language, name=source_label(name, language), about=about)


def source_said(outcome: Missed | Failed, adapter: str, *, is_local: bool, language: str = "en") -> str:
    """Why a source gave nothing, as a clause. What it says when it works is meant for the asker, and so is
    what is computed here; what went wrong with it is told by its kind."""
    known = _sentences().get(language, _sentences()["en"])
    if isinstance(outcome, Missed) or is_local or outcome.code not in known:
        return outcome.reason
    minutes = math.ceil((outcome.retry_after_s or 0.0) / 60)
    soon = (outcome.retry_after_s or 0.0) < _SOON_S
    when = say("soon", language) if soon else say("minutes", language, n=min(minutes, _MINUTES_MAX))
    return say(outcome.code, language, source=_NAMES.get(adapter, known["source"]), when=when)


def could_not_look_up(why: str, language: str = "en") -> str:
    """The sentence before whatever else there is to say."""
    return say("look_up", language, why=why.rstrip("."))


def too_slow(tried: Iterable[Step], language: str = "en") -> str:
    """What to say where a language model is there and had no time; empty where that is not why."""
    outcomes = {step.outcome for step in tried if step.stage == "generate"}
    return say("late", language) if outcomes & _SLOW else ""


def no_answer(tried: Iterable[Step], language: str = "en") -> str:
    """What to say when nothing is stored and no language model answered. ``tried``: how asking them went."""
    outcomes = {step.outcome for step in tried if step.stage == "generate"}
    if outcomes & _SLOW:
        return say("model_slow", language)
    return say("model_unusable" if "rejected" in outcomes else "no_model", language)
