"""One leaf of the decision log in plain words: what was decided, and why.

Promises: total over whatever JSON a leaf holds, for other people's logs are untrusted: members that are
missing, odd or enormous are passed over or shown as such, never raised on; control characters are escaped; at
most ``LINES_MAX`` lines of at most ``LINE_CHARS_MAX`` characters. Says nothing that the leaf does not.
Must not know where leaves are kept, nor whether a proof holds. Pure.

The members are those of ``entry``. The sentences stand in ``explain.toml``, which says how they are written;
codes without words there are shown with their underscores taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from node.language.tables import read_table

_T = TypeVar("_T")

LINES_MAX = 300
LINE_CHARS_MAX = 400

_TEXT_CHARS_MAX = 160
_ITEMS_MAX = 40
_PARTS_MAX = 10
_INTEGER_MAX = 2**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_WORDS = read_table(__package__, "explain.toml")
_LINES: Mapping[str, Sequence[str]] = _WORDS["lines"]
_STATION_OF: Mapping[str, str] = _WORDS["station_of"]
_STAGES: Mapping[str, str] = _WORDS["stages"]
_CODES: Mapping[str, str] = _WORDS["codes"]
_CONDITION = re.compile(r"\[([a-z0-9_.|]+)\]")
_FIELD = re.compile(r"\{([a-z0-9_.|]+)(?::([a-z_]+))?(?:\?([^}]*))?\}")


def explain_leaf(leaf: Mapping[str, object], closed: str = "") -> list[str]:
    """The leaf (``{"entry", "seq", "time_us", "v"}``) as lines for a person, indented by two spaces where
    they belong to the line above. ``closed``: the origin of the log that it is in, where that has ended."""
    entry = _map(leaf.get("entry"))
    kind = entry.get("kind")
    tell = (_TELLERS.get(kind) if isinstance(kind, str) else None) or _unknown
    lines = [f"Entry {_text(leaf.get('seq'))} of the decision log, {_moment_us(leaf.get('time_us'))}."]
    if closed:
        lines.append(f"  In an epoch of it that has ended: {_text(closed)}.")
    lines += tell(entry)
    lines += _commitments(entry)
    return [_cut(line) for line in _first(lines, LINES_MAX)]


def in_brief(entry: Mapping[str, object], reason: str) -> list[str]:
    """What decided an answer, without its steps, for whoever asked; ``reason`` is the route's, in words, of
    which the log keeps a code."""
    lines = [*_say("class", entry), f"Why: {_text(reason)}."]
    lines += _source(_map(entry.get("source")))
    lines += [line.strip() for line in _say("source_client", entry)]
    lines += [line for line in _hit(entry) if not line.startswith(" ")]
    lines += _confidence(entry)
    for number, part in enumerate(_maps(entry.get("parts"), _PARTS_MAX), start=1):
        lines += [f"Part {number}: {line}" for line in _source(_map(part.get("source")))]
    return [_cut(line) for line in lines]


# --- an answer ------------------------------------------------------------------------------------


def _answer(entry: Mapping[str, object]) -> Iterator[str]:
    decision = entry.get("decision")
    if isinstance(decision, str) and decision in _WORDS["decisions"]:
        yield _WORDS["decisions"][decision]
    else:
        yield f"The node decided: {_words(decision)}."
    yield from _say("request", entry)
    if entry.get("has_context") is True:
        yield "It came with instructions of its own, so only answers under the same ones could be used."
    yield from _walked(entry)
    yield from _storage(entry)
    yield from _engines(entry)
    for number, part in enumerate(_maps(entry.get("parts"), _PARTS_MAX), start=1):
        yield f"Part {number} of the question:"
        yield from (f"  {line}" for line in _walked(part))
    yield from _left_out(entry.get("parts_left_out"), "parts")


def _walked(entry: Mapping[str, object]) -> Iterator[str]:
    """What an answer and each part of one have in common."""
    yield from _say("class", entry)
    if entry.get("route_reason"):
        yield f"  Why: {_words(entry.get('route_reason'))}."
    yield from _sources(entry)
    yield from _source(_map(entry.get("source")))
    yield from _say("source_client", entry)
    yield from _hit(entry)
    if entry.get("stale") is True:
        yield "It was out of date and served marked as stale."
    yield from _confidence(entry)
    yield from _steps(entry)


def _source(source: Mapping[str, object]) -> Iterator[str]:
    kind, name = source.get("kind"), source.get("id")
    if isinstance(kind, str) and kind in _WORDS["no_source"]:
        yield _WORDS["no_source"][kind]
    elif source:
        called = f" {_text(name)}" if name is not None and name != kind else ""
        yield f"The answer came from: {_worded(kind, 'sources')}{called}."


def _sources(entry: Mapping[str, object]) -> Iterator[str]:
    """Each source of the route in its order: used, or why not."""
    names = [name for name in _items(entry.get("sources"), _ITEMS_MAX) if isinstance(name, str)]
    if not names:
        return
    used = _map(entry.get("source")).get("kind")
    station = _STATION_OF.get(used) if isinstance(used, str) else None
    if station == "cache" and entry.get("stale") is True and "stale" in names:
        station = "stale"
    steps = list(_maps(entry.get("steps"), _ITEMS_MAX))
    yield "Sources in the order of this kind, and what came of each:"
    for number, name in enumerate(names, start=1):
        yield f"  {number}. {_worded(name, 'stations')}: {_came_of(name, station, steps)}"
        if name == "adapter":
            yield from (f"     {line}" for line in _adapters(entry))


def _came_of(name: str, used: str | None, steps: Sequence[Mapping[str, object]]) -> str:
    own = [step for step in steps if _station_of(step.get("stage")) == name]
    if name == used:
        return "used" + ("" if not own else f" ({_outcome(own[-1])})")
    if own:
        return f"not used: {_outcome(own[-1])}"
    return "not reached: the answer was there already" if used is not None else "not reached"


def _station_of(stage: object) -> str | None:
    return _STAGES.get(stage.partition(":")[0]) if isinstance(stage, str) else None


def _outcome(step: Mapping[str, object]) -> str:
    outcome, reason = _words(step.get("outcome")), _words(step.get("reason"), "")
    return f"{outcome}, {reason}" if reason and reason != outcome else outcome


def _adapters(entry: Mapping[str, object]) -> Iterator[str]:
    for row in _maps(entry.get("adapters"), _ITEMS_MAX):
        slots = ", ".join(_text(slot) for slot in _items(row.get("slots"), _ITEMS_MAX))
        why = _words(row.get("why")) + (f" ({slots})" if slots else "")
        if row.get("asked") is True:
            came = f"asked, {_words(row.get('outcome'))}{_took(row.get('latency_us'))}"
        else:
            came = "not asked"
        yield f"{_text(row.get('name'))}: {came}; {why}"


def _hit(entry: Mapping[str, object]) -> Iterator[str]:
    hit = _map(entry.get("hit"))
    if hit:
        yield from _say("hit", {"hit": {"threshold_ppm": entry.get("floor_ppm"), **hit}})
        return
    recall = [s for s in _maps(entry.get("steps"), _ITEMS_MAX) if s.get("stage") == "recall"]
    if recall:
        yield f"No stored answer was used: {_outcome(recall[-1])}."


def _confidence(entry: Mapping[str, object]) -> Iterator[str]:
    value = _ppm(entry.get("confidence_ppm"))
    if value is None:
        return
    parts = [
        f"{_text(name).replace('_', ' ')} {shown}"
        for name, part in _first(sorted(_map(entry.get("confidence_parts_ppm")).items(), key=_by_name), 12)
        if (shown := _ppm(part)) is not None
    ]
    yield f"Confidence: {value}" + (f", from {', '.join(parts)}." if parts else ".")


def _steps(entry: Mapping[str, object]) -> Iterator[str]:
    steps = list(_maps(entry.get("steps"), _ITEMS_MAX))
    if not steps:
        return
    yield "Step by step:"
    for step in steps:
        yield f"  {_text(step.get('stage'))}: {_outcome(step)}{_took(step.get('latency_us'))}"
    yield from _left_out(entry.get("steps_left_out"), "steps")


def _storage(entry: Mapping[str, object]) -> Iterator[str]:
    storage = _map(entry.get("storage"))
    if storage.get("decision") == "will_store":
        yield from _say("kept", entry)
    elif storage:
        yield f"Not kept: {_words(storage.get('reason'))}."
    if storage.get("decision") != "will_store" and entry.get("cid") is not None:
        yield f"Its record is {_text(entry.get('cid'))}."


def _engines(entry: Mapping[str, object]) -> Iterator[str]:
    for name, member in (("Language model", "model"), ("Embedding model", "embedder")):
        engine = _map(entry.get(member))
        if engine:
            digest = engine.get("digest")
            yield f"{name}: {_text(engine.get('id'))}" + (f", digest {_text(digest)}." if digest else ".")
    tokens = _map(entry.get("tokens"))
    prompt, completion = _integer(tokens.get("prompt")), _integer(tokens.get("completion"))
    if prompt or completion:
        yield f"Tokens: {prompt or 0} read, {completion or 0} written."
    yield from _say("rules", entry)


# --- the other kinds ------------------------------------------------------------------------------


def _store(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"The answer of a request was {'' if entry.get('decision') == 'stored' else 'not '}stored."
    yield from _say("store", entry)
    yield from _confidence(entry)


def _key(entry: Mapping[str, object]) -> Iterator[str]:
    yield from _say("key", entry)
    for cid in _items(entry.get("certificates"), _ITEMS_MAX):
        yield f"  The root's word on it: {_text(cid)}."


def _policy(entry: Mapping[str, object]) -> Iterator[str]:
    if entry.get("event") == "epoch":
        yield from _say("epoch", entry)
        size, kept = _integer(_map(entry.get("previous")).get("size")), _integer(entry.get("kept_size"))
        if size is not None and kept is not None and kept < size:
            yield f"  Only {kept} of them were still there: {size - kept} are lost."
    else:
        yield _worded(entry.get("event"), "events")
    if _map(entry.get("peer")):
        yield from _say("peer", entry)
    yield from _say("policy", entry)


def _documents(entry: Mapping[str, object]) -> Iterator[str]:
    yield from _say("documents", entry)
    counts = _map(entry.get("counts"))
    for name, count in _first(sorted(counts.items(), key=_by_name), _ITEMS_MAX):
        yield f"  {_worded(name, 'documents')}: {_text(count)}"
    names = [name for name in _items(entry.get("documents"), _ITEMS_MAX) if isinstance(name, str)]
    yield from (f"  {_text(name)}" for name in names)


def _repair(entry: Mapping[str, object]) -> Iterator[str]:
    yield from _say("repair", entry)
    if _integer(entry.get("keys_without_entry")):
        yield from _say("orphan_keys", entry)


def _unknown(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"An entry of a kind that this program does not know: {_text(entry.get('kind'))}."
    for name, value in _first(sorted(entry.items(), key=_by_name), _ITEMS_MAX):
        shown = "…" if isinstance(value, Mapping | list) else _text(value)
        yield f"  {_text(name)}: {shown}"


# --- pieces ---------------------------------------------------------------------------------------


def _say(name: str, entry: Mapping[str, object]) -> Iterator[str]:
    """The lines of this name whose conditions hold, filled from the entry."""
    for line in _LINES[name]:
        condition = _CONDITION.match(line)
        if condition is not None and _member(entry, condition[1]) is None:
            continue
        text = line[condition.end() :] if condition is not None else line
        shown = [_shown(entry, *field.groups()) for field in _FIELD.finditer(text)]
        if None not in shown:
            between = _FIELD.split(text)[:: _FIELD.groups + 1]
            yield "".join(part or "" for pair in zip(between, [*shown, ""], strict=True) for part in pair)


_TELLERS: Mapping[str, Callable[[Mapping[str, object]], Iterator[str]]] = {
    "answer": _answer,
    "refuse": _answer,
    "store": _store,
    "key": _key,
    "policy": _policy,
    "repair": _repair,
    "documents": _documents,
    **{kind: partial(_say, kind) for kind in _WORDS["kinds"]},
}


def _member(entry: Mapping[str, object], path: str) -> object:
    """``old.vkey|old.key``: the first that says anything."""
    for one in path.split("|"):
        found: object = entry
        for name in one.split("."):
            found = _map(found).get(name)
        if found:
            break
    return found


def _shown(entry: Mapping[str, object], path: str, form: str | None, absent: str | None) -> str | None:
    """A field's value as its form says; None where it cannot be shown so."""
    value = _member(entry, path)
    if form is None:
        return _text(value) if absent is None else _text(value, absent)
    return _FORMS[form](value) if form in _FORMS else _worded(value, form)


def _commitments(entry: Mapping[str, object]) -> Iterator[str]:
    names = sorted(_text(name) for name in _first(_map(entry.get("commitments")), _ITEMS_MAX))
    if names:
        yield f"Only as commitments, whose key can be destroyed: {', '.join(names)}."


def _left_out(value: object, what: str) -> Iterator[str]:
    if count := _integer(value):
        yield f"  … and {count} {what} more that the entry left out."


def _worded(value: object, table: str) -> str:
    """The words of a table for a code, else the code itself."""
    return (_WORDS[table].get(value) if isinstance(value, str) else None) or _words(value)


def _words(value: object, absent: str = "not said") -> str:
    """A code in words."""
    if value is None or value == "":
        return absent
    if isinstance(value, str) and value in _CODES:
        return _CODES[value]
    if isinstance(value, str) and value.startswith("veto_"):
        return f"the two questions differ: {_text(value.removeprefix('veto_')).replace('_', ' ')}"
    return _text(value).replace("_", " ")


def _took(value: object) -> str:
    latency_us = _integer(value)
    return "" if latency_us is None else f", {latency_us / 1_000:.1f} ms"


def _ppm(value: object) -> str | None:
    millionths = _integer(value)
    return None if millionths is None else f"{millionths / 1_000_000:.3f}"


def _moment_us(value: object) -> str:
    micros = _integer(value)
    return "at a time not said" if micros is None else _moment(timedelta(microseconds=micros))


def _moment_s(value: object) -> str:
    seconds = _integer(value)
    if seconds is None:
        return "at a time not said"
    return _moment(timedelta(seconds=seconds)) if abs(seconds) < 10**12 else "at an impossible time"


def _moment(since: timedelta) -> str:
    try:
        return f"{_EPOCH + since:%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return "at an impossible time"


def _integer(value: object) -> int | None:
    if type(value) is not int or abs(value) >= _INTEGER_MAX:
        return None
    return value


def _text(value: object, absent: str = "not said") -> str:
    """Any JSON value on one line, without control characters."""
    if value is None:
        return absent
    if isinstance(value, str):
        cut = value[:_TEXT_CHARS_MAX] + ("…" if len(value) > _TEXT_CHARS_MAX else "")
        return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
    if isinstance(value, bool):
        return "yes" if value else "no"
    number = _integer(value)
    return f"({type(value).__name__})" if number is None else str(number)


def _whole(value: object) -> str | None:
    number = _integer(value)
    return None if number is None else str(number)


_FORMS: Mapping[str, Callable[[object], str | None]] = {
    "words": _words,
    "ppm": _ppm,
    "moment": _moment_s,
    "whole": _whole,
}


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARS_MAX else f"{line[: LINE_CHARS_MAX - 1]}…"


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object, most: int) -> list[object]:
    return value[:most] if isinstance(value, list) else []


def _maps(value: object, most: int) -> Iterator[Mapping[str, object]]:
    return (one for one in _items(value, most) if isinstance(one, Mapping))


def _by_name(item: tuple[object, object]) -> str:
    return str(item[0])


def _first(items: Iterable[_T], most: int) -> Iterator[_T]:
    for _, one in zip(range(most), items, strict=False):
        yield one
