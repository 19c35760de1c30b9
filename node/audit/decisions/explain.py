"""One leaf of the decision log in plain words: what was decided, and why.

Promises: total over whatever JSON a leaf holds, for other people's logs are untrusted: members that are
missing, odd or enormous are passed over or shown as such, never raised on; control characters are escaped; at
most ``LINES_MAX`` lines of at most ``LINE_CHARS_MAX`` characters. Says nothing that the leaf does not.
Must not know where leaves are kept, nor whether a proof holds. Pure.

The members are those of ``entry``; codes without a sentence here are shown with their underscores taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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
_CLASSES: Mapping[str, str] = _WORDS["classes"]
_STATIONS: Mapping[str, str] = _WORDS["stations"]
_SOURCES: Mapping[str, str] = _WORDS["sources"]
_NO_SOURCE: Mapping[str, str] = _WORDS["no_source"]
_STATION_OF: Mapping[str, str] = _WORDS["station_of"]
_STAGES: Mapping[str, str] = _WORDS["stages"]
_MATCHES: Mapping[str, str] = _WORDS["matches"]
_CODES: Mapping[str, str] = _WORDS["codes"]
_EVENTS: Mapping[str, str] = _WORDS["events"]
_DECIDERS: Mapping[str, str] = _WORDS["deciders"]
_COMMITTED = "named only as a commitment"
_VERDICTS: Mapping[str, str] = _WORDS["verdicts"]


def explain_leaf(leaf: Mapping[str, object], closed: str = "") -> list[str]:
    """The leaf (``{"entry", "seq", "time_us", "v"}``) as lines for a person, indented by two spaces where
    they belong to the line above. ``closed``: the origin of the log that it is in, where that has ended."""
    entry = _map(leaf.get("entry"))
    kind = entry.get("kind")
    tell = _TELLERS.get(kind) if isinstance(kind, str) else None
    lines = [f"Entry {_text(leaf.get('seq'))} of the decision log, {_moment_us(leaf.get('time_us'))}."]
    if closed:
        lines.append(f"  In an epoch of it that has ended: {_text(closed)}.")
    lines += _unknown(entry) if tell is None else tell(entry)
    lines += _commitments(entry)
    return [_cut(line) for line in _first(lines, LINES_MAX)]


def in_brief(entry: Mapping[str, object], reason: str) -> list[str]:
    """What decided an answer, without its steps, for whoever asked; ``reason`` is the route's, in words, of
    which the log keeps a code."""
    kind = entry.get("class")
    said = _CLASSES.get(kind) if isinstance(kind, str) else None
    lines = [f"Kind of question: {said or _words(kind)}.", f"Why: {_text(reason)}."]
    lines += _source(_map(entry.get("source")))
    lines += [line for line in _hit(entry) if not line.startswith(" ")]
    lines += _confidence(entry)
    for number, part in enumerate(_maps(entry.get("parts"), _PARTS_MAX), start=1):
        lines += [f"Part {number}: {line}" for line in _source(_map(part.get("source")))]
    return [_cut(line) for line in lines]


# --- an answer ------------------------------------------------------------------------------------


def _answer(entry: Mapping[str, object]) -> Iterator[str]:
    decision = entry.get("decision")
    yield {
        "refused": "The node could not find out, and said so.",
        "acknowledged": "The node acknowledged a statement; nothing had been asked.",
        "served": "The node answered a question.",
    }.get(decision if isinstance(decision, str) else "", f"The node decided: {_words(decision)}.")
    yield f"Request: {_text(entry.get('request'), _COMMITTED)}; seen by: {_text(entry.get('scope'))}."
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
    kind = entry.get("class")
    said = _CLASSES.get(kind) if isinstance(kind, str) else None
    yield f"Kind of question: {said or _words(kind)}."
    if entry.get("route_reason"):
        yield f"  Why: {_words(entry.get('route_reason'))}."
    yield from _sources(entry)
    yield from _source(_map(entry.get("source")))
    yield from _hit(entry)
    if entry.get("stale") is True:
        yield "It was out of date and served marked as stale."
    yield from _confidence(entry)
    yield from _steps(entry)


def _source(source: Mapping[str, object]) -> Iterator[str]:
    kind, name = source.get("kind"), source.get("id")
    if isinstance(kind, str) and kind in _NO_SOURCE:
        yield _NO_SOURCE[kind]
    elif source:
        called = f" {_text(name)}" if name is not None and name != kind else ""
        yield f"The answer came from: {_worded(kind, _SOURCES)}{called}."


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
        yield f"  {number}. {_worded(name, _STATIONS)}: {_came_of(name, station, steps)}"
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
    if not hit:
        recall = [s for s in _maps(entry.get("steps"), _ITEMS_MAX) if s.get("stage") == "recall"]
        if recall:
            yield f"No stored answer was used: {_outcome(recall[-1])}."
        return
    yield f"The stored answer was found by {_worded(hit.get('kind'), _MATCHES)}."
    floor = entry.get("floor_ppm")
    figures = [
        ("similarity", hit.get("similarity_ppm")),
        ("least similarity for this kind", hit.get("threshold_ppm", floor)),
        ("confidence of the record", hit.get("confidence_ppm")),
        ("score (similarity x confidence)", hit.get("score_ppm")),
        ("estimated probability of being right", hit.get("p_correct_ppm")),
        ("upper limit of being wrong (u)", hit.get("u_ppm")),
    ]
    for name, value in figures:
        if (shown := _ppm(value)) is not None:
            yield f"  {name}: {shown}"
    yield f"  gate: {_words(hit.get('reason'))}"
    if (age := _integer(hit.get("age_s"))) is not None:
        yield f"  it was {age} s old"
    if hit.get("origin") is not None:
        yield f"  first made by: {_text(hit.get('origin'))}"


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
        yield f"Kept: as a record{_record(entry)} ({_words(storage.get('reason'))})."
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
    yield f"Rules in force: {_text(entry.get('policy'))}."


# --- the other kinds ------------------------------------------------------------------------------


def _store(entry: Mapping[str, object]) -> Iterator[str]:
    done = entry.get("decision") == "stored"
    yield f"The answer of a request was {'' if done else 'not '}stored."
    yield f"  Request: {_text(entry.get('request'), _COMMITTED)}."
    yield f"  Outcome: {_words(entry.get('outcome'))}; reason: {_words(entry.get('reason'))}."
    yield f"  Record:{_record(entry)}; seen by: {_text(entry.get('scope'))}."
    if entry.get("expires_s") is not None:
        yield f"  It expires {_moment_s(entry.get('expires_s'))}."
    yield from _confidence(entry)


def _validation(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"Somebody judged a record {_worded(entry.get('verdict'), _VERDICTS)}."
    yield from _about(entry)


def _tombstone(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"A record was withdrawn for good: {_words(entry.get('reason'))}."
    yield from _about(entry)


def _quarantine(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"A record was taken out of service: {_words(entry.get('reason'))}."
    yield from _about(entry)


def _audit(entry: Mapping[str, object]) -> Iterator[str]:
    yield (
        "A stored answer that had been served was compared with a fresh one "
        f"({_words(entry.get('compared_with'))}): {_words(entry.get('verdict'))}."
    )
    yield f"  Decided by: {_words(entry.get('reason'))}; class {_words(entry.get('class'))}."
    for name, member in (("similarity", "similarity_ppm"), ("upper limit of being wrong (u)", "u_ppm")):
        if (shown := _ppm(entry.get(member))) is not None:
            yield f"  {name}: {shown}"
    yield from _about(entry)


def _key(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"A key of this node was {_words(entry.get('event'))}: the one for {_words(entry.get('use'))}."
    old, new = _map(entry.get("old")), _map(entry.get("new"))
    yield f"  Old: {_text(old.get('vkey') or old.get('key'))}, good until {_moment_s(old.get('until_s'))}."
    yield f"  New: {_text(new.get('vkey') or new.get('key'))}."
    for cid in _items(entry.get("certificates"), _ITEMS_MAX):
        yield f"  The root's word on it: {_text(cid)}."


def _policy(entry: Mapping[str, object]) -> Iterator[str]:
    event = entry.get("event")
    if event == "epoch":
        yield from _epoch(entry)
    else:
        yield _worded(event, _EVENTS)
    yield from _peer(entry)
    if entry.get("next_origin") is not None:
        yield f"  Next log: {_text(entry.get('next_origin'))}."
    file = _map(entry.get("file"))
    if file:
        yield f"  File of {_text(file.get('bytes'))} bytes, SHA-256 {_text(file.get('sha256'))}."
    for name, member in (("Software", "software"), ("Digest of the settings", "settings_digest")):
        if entry.get(member) is not None:
            yield f"  {name}: {_text(entry.get(member))}."
    yield f"  Rules: {_text(entry.get('policy'))}."


def _peer(entry: Mapping[str, object]) -> Iterator[str]:
    peer = _map(entry.get("peer"))
    if not peer:
        return
    yield f"  Root: {_text(peer.get('root'), 'nobody had answered there yet')}."
    for name, absent in (("level", "not said"), ("group", "none")):
        change = _map(peer.get(name))
        if change:
            before, after = (_text(change.get(end), absent) for end in ("from", "to"))
            yield f"  Its {name}: {after}; before: {before}."
    if entry.get("reason") is not None:
        yield f"  Why: {_words(entry.get('reason'))}."
    yield f"  Decided by: {_worded(peer.get('by'), _DECIDERS)}."


def _epoch(entry: Mapping[str, object]) -> Iterator[str]:
    previous = _map(entry.get("previous"))
    why = {
        "size": "the one before it was full",
        "recover": "what the one before it had signed and what it held did not agree any more",
    }
    yield f"A new log begins: {_worded(entry.get('reason'), why)}."
    yield f"  It follows {_text(previous.get('origin'))},"
    yield f"  last signed at {_text(previous.get('size'))} entries, root {_text(previous.get('root'))}."
    size, kept = _integer(previous.get("size")), _integer(entry.get("kept_size"))
    if size is not None and kept is not None and kept < size:
        yield f"  Only {kept} of them were still there: {size - kept} are lost."


def _anchor(entry: Mapping[str, object]) -> Iterator[str]:
    yield (
        f"The checkpoint of {_text(entry.get('log'))} at {_text(entry.get('size'))} entries was handed to "
        f"{_text(entry.get('calendar'))}; state: {_words(entry.get('state'))}."
    )
    yield f"  Digest of the note: {_text(entry.get('digest'))}."
    if entry.get("block_height") is not None:
        yield f"  Block height: {_text(entry.get('block_height'))}."


def _repair(entry: Mapping[str, object]) -> Iterator[str]:
    yield "The log was mended when it was opened after a crash."
    yield f"  Bytes of a half-written end that were cut off: {_text(entry.get('bytes_cut'))}."
    if entry.get("entries_replayed") is not None:
        yield f"  Entries found in the journal and put into the tree: {_text(entry.get('entries_replayed'))}."
    if _integer(entry.get("keys_without_entry")):
        keys = _text(entry.get("keys_without_entry"))
        yield f"  Keys without an entry: {keys}; the folder may be older than the keys."


def _unknown(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"An entry of a kind that this program does not know: {_text(entry.get('kind'))}."
    for name, value in _first(sorted(entry.items(), key=_by_name), _ITEMS_MAX):
        shown = "…" if isinstance(value, Mapping | list) else _text(value)
        yield f"  {_text(name)}: {shown}"


_TELLERS: Mapping[str, Callable[[Mapping[str, object]], Iterator[str]]] = {
    "answer": _answer,
    "refuse": _answer,
    "store": _store,
    "validation": _validation,
    "tombstone": _tombstone,
    "quarantine": _quarantine,
    "audit": _audit,
    "key": _key,
    "policy": _policy,
    "anchor": _anchor,
    "repair": _repair,
}


# --- pieces ---------------------------------------------------------------------------------------


def _about(entry: Mapping[str, object]) -> Iterator[str]:
    yield f"  Record: {_text(entry.get('target'), _COMMITTED)}; seen by: {_text(entry.get('scope'))}."
    if entry.get("cid") is not None:
        yield f"  Signed as {_text(entry.get('cid'))}."


def _record(entry: Mapping[str, object]) -> str:
    return f" {_text(entry.get('cid'), _COMMITTED)}"


def _commitments(entry: Mapping[str, object]) -> Iterator[str]:
    names = sorted(_text(name) for name in _first(_map(entry.get("commitments")), _ITEMS_MAX))
    if names:
        yield f"Only as commitments, whose key can be destroyed: {', '.join(names)}."


def _left_out(value: object, what: str) -> Iterator[str]:
    if count := _integer(value):
        yield f"  … and {count} {what} more that the entry left out."


def _worded(value: object, table: Mapping[str, str]) -> str:
    """The table's words for a code, else the code itself."""
    return (table.get(value) if isinstance(value, str) else None) or _words(value)


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
