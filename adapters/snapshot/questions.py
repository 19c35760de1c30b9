"""Reading questions about the proposals of a Snapshot space.

Rules of this file:
- A space must be named: by a known community's name, as an ENS name (``ens.eth``), or "on snapshot" (then the
  space is asked back). Without one, "proposal 12" is a question about this node's own records.
- ``strength`` is certain only when every word is accounted for and the text does not just tell.
- A topic that may not leave the node (see ``adapters.outgoing``) makes no question here.
- Asking how or why governance works, writing proposals, and prices of tokens are not this.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

from adapters.grammar import when as times
from adapters.outgoing import may_leave
from adapters.snapshot.numbers import is_hashed, is_series, plain_number, take_numbers
from adapters.snapshot.slots import LAST, SPACE_ID, TOPIC, UPCOMING, Question, Reader
from adapters.snapshot.spaces import BY_ID, BY_NAME
from adapters.snapshot.words import ASKS, KNOWN, METRICS, WORDS, finds
from node.language.reading import Reading, read

WORDS_MAX = 60
TOPIC_WORDS = 8


def read_question(text: str, today: date, *, hinted: bool = False) -> Reader | None:
    """Read ``text``, asked on the day ``today``; None when it does not ask about a space's proposals. Total
    and bounded."""
    reading = read(text)
    if not 1 <= len(reading.words) <= WORDS_MAX:
        return None
    if reading.script in ("japanese", "chinese", "cyrillic"):
        return _read_script(reading)
    named = take_space(list(reading.words))
    if named is None or finds("trap", reading.flat):
        return None
    space, spaceless = named
    return _read_about(space, spaceless, reading, today, hinted=hinted)


# --- spaces -------------------------------------------------------------------------------------------


_NAME_STARTS = frozenset(name[0] for name in BY_NAME)


def take_space(words: list[str]) -> tuple[str | None, list[str]] | None:
    """The one space and the words with a blank in its place; ``None`` as the space when only Snapshot is
    named. No answer when none or several are named."""
    found: dict[str, list[tuple[int, int]]] = {}
    at = 0
    while at < len(words):
        word = words[at]
        if SPACE_ID.match(word):
            found.setdefault(word, []).append((at, at + 1))
            at += 1
            continue
        for size in (3, 2, 1) if word in _NAME_STARTS else ():
            space = BY_NAME.get(tuple(words[at : at + size]))
            if space is not None and len(words[at : at + size]) == size:
                if not space.common or _tells(words, at, at + size):
                    found.setdefault(space.id, []).append((at, at + size))
                at += size - 1
                break
        at += 1
    if len(found) > 1:
        # "the aave proposal about gho on gnosis": an address, or the name right before the proposal, owns it.
        owning = [
            space for space, spans in found.items() if any(SPACE_ID.match(words[at]) for at, _ in spans)
        ]
        if not owning:
            owning = [space for space, spans in found.items() if any(_owns(words, end) for _, end in spans)]
        if len(owning) != 1:
            return None
        found = {owning[0]: found[owning[0]]}
    rest = list(words)
    if not found:
        if not any(one in WORDS["on_snapshot"] and two == "snapshot" for one, two in pairwise(words)):
            return None
        return None, rest
    ((space_id, spans),) = found.items()
    for start, end in spans:
        rest[start:end] = [""] * (end - start)
    return space_id, rest


def _owns(words: list[str], end: int) -> bool:
    after = [word for word in words[end : end + 2] if word not in WORDS["beside"]]
    return bool(after) and (after[0] in WORDS["noun"] or is_series(after[0]))


def _tells(words: list[str], start: int, end: int) -> bool:
    """Whether an everyday word stands where only a community's name does."""
    after = words[end] if end < len(words) else None
    before = words[start - 1] if start else None
    if after in WORDS["beside"] or after in WORDS["noun"] or (is_series(after)):
        return True
    if after in ("vote", "votes", "voting") and before != "to":
        return True
    two = words[start - 2] if start > 1 else None
    governs = any(
        word in WORDS["noun"] or word in WORDS["vote"] or word in WORDS["governs"] for word in words
    )
    if before in ("in", "of", "by", "on", "from", "en", "bei", "de", "chez", "von") or (
        before == "the" and two in ("in", "of", "by", "on", "from")
    ):
        return governs and (
            after is None or after in WORDS["frame"] or after in ("last", "latest") or after.isdigit()
        )
    return is_series(after, words[end + 1] if end + 1 < len(words) else "")


# --- everything else ----------------------------------------------------------------------------------


def _read_about(
    space: str | None, words: list[str], reading: Reading, today: date, *, hinted: bool
) -> Reader | None:
    plain, flat = reading.plain, reading.flat
    taken = take_numbers(words, plain)
    if len(taken) > 1:
        return None
    number = taken[0] if taken else None
    nouns = [word for word in words if word in WORDS["noun"]]
    votes = [word for word in words if word in WORDS["vote"]]
    series = number is not None and "-" in number
    if not (nouns or votes or series or hinted or "quorum" in words or is_hashed(plain, number)):
        return None
    time, left = times.find(tuple(word for word in words if word), today, past=True)
    said = None if time is None or time.said == "now" else time.said
    tokens = list(left)
    rest = " ".join(tokens)
    plural = any(word in WORDS["plural"] for word in (nouns or votes))
    is_count = re.search(
        r"\b(?:how many|number of) (?:\w+ )?(?:proposals|votes)\b(?! did| has| have| were| for| on)", rest
    )
    when: str | None = said
    state: str | None = None
    if number is None:
        latest = [word for word in tokens if word in WORDS["latest"]]
        if latest and said is None:
            when = LAST
        elif any(word in WORDS["upcoming"] for word in tokens):
            state, when = "status", UPCOMING
        elif any(word in WORDS["active"] for word in tokens) or re.search(
            r"\b(?:up for (?:a )?vot(?:e|ing)|voting on|voted on right now|(?:can|to) vote on)\b", rest
        ):
            state = "status"
    metric, used = metric_of(tokens, bool(nouns), number is not None)
    if number is None:
        if is_count and not votes and when is None and state is None:
            metric, used = "count", used
        elif state is not None:
            metric = state
        elif metric is None and plural and said is None:
            metric = "list"
    topic, loose = _topic_of(tokens, used)
    if topic is not None and ("@" in plain or not may_leave(topic)):
        return None  # its words would go to the hub as they are; cut into words, an address has no @ any more
    if topic is not None and number is None and metric == "list":
        metric = None
    if number is None and when is None and topic is None and metric not in ("status", "list", "count"):
        when = LAST
    question = Question(space, number, metric, topic, when)
    strength = 1.0
    if loose:
        strength = 0.7
    elif is_told(reading):
        strength = 0.8
    if space is None:
        strength = min(strength, 0.8)
    if finds("why", flat):
        strength = 0.45
    label = "a Snapshot space" if space is None else (BY_ID[space].label if space in BY_ID else space)
    what = f"proposal {number}" if number else "proposals"
    return Reader(question, strength, f"{metric or 'what is known'} of {what} of {label} on Snapshot")


def is_told(reading: Reading) -> bool:
    """Whether it reads as a statement."""
    flat = reading.flat
    return "?" not in reading.plain and not ASKS.match(flat) and finds("tells", flat) is not None


def metric_of(tokens: list[str], has_noun: bool, numbered: bool) -> tuple[str | None, frozenset[str]]:
    """The metric and the words that say it. "vote" is the thing itself where no proposal is named."""
    flat = " ".join(tokens)
    for name, pattern in METRICS:
        match = pattern.search(flat)
        if match is None:
            continue
        if name == "votes" and not has_noun and not numbered and "how many" not in flat:
            continue
        if name == "status" and not numbered and match.group() in ("open", "live", "active", "running"):
            continue
        used = {
            word
            for row, other in METRICS
            for hit in other.finditer(flat)
            for word in hit.group().split()
            if row == name or hit.start() < match.end()
        }
        return name, frozenset(used)
    return None, frozenset()


def _topic_of(tokens: list[str], used: frozenset[str]) -> tuple[str | None, bool]:
    """The words that say what the proposal is about, and whether any stand there unexplained."""
    known = KNOWN | used | WORDS["latest"] | WORDS["active"] | WORDS["upcoming"]
    topic: list[str] = []
    loose = False
    about = False
    beside = after = False
    for word in tokens:
        if word in WORDS["noun"] or word in WORDS["vote"]:
            beside = after = True
            continue
        # "the proposal to ...", but in "what did the proposal do to ..." no more than a word.
        if (beside and word in WORDS["about"]) or (after and word in ("about", "regarding", "concerning")):
            about, beside = True, False
            continue
        beside = beside and word in ("in", "of", "from", "at", "by", "on", "the")
        if word in known or not re.match(r"[a-z0-9]", word):
            continue
        topic.append(word)
        loose = loose or not about
    text = " ".join(topic[:TOPIC_WORDS])
    if not text or not TOPIC.match(text):
        return None, bool(topic)
    return text, loose or len(topic) > TOPIC_WORDS


# --- scripts without blanks ---------------------------------------------------------------------------

_SCRIPT_NUMBER = re.compile(
    r"(?:提案|议案|議案|предложени[а-я]*)\s*(?:第|№|#|номер)?\s*(\d{1,6})|第\s*(\d{1,6})"
)
_LATIN_RUN = re.compile(r"[a-z0-9][a-z0-9.-]*(?: [a-z0-9][a-z0-9.-]*){0,2}")


def _read_script(reading: Reading) -> Reader | None:
    plain = reading.plain[:600]
    if finds("script_noun", plain) is None:
        return None
    spaces: set[str] = set()
    for match in _LATIN_RUN.finditer(plain):
        run = match.group().split()
        for size in range(len(run), 0, -1):
            name = tuple(run[:size])
            if size == 1 and SPACE_ID.match(run[0]):
                spaces.add(run[0])
            elif name in BY_NAME:
                spaces.add(BY_NAME[name].id)
                break
    if len(spaces) != 1:
        return None
    numbers = {match[1] or match[2] for match in _SCRIPT_NUMBER.finditer(plain)}
    if len(numbers) > 1:
        return None
    number = plain_number(numbers.pop()) if numbers else None
    metric = next((name for name, pattern in METRICS if pattern.search(plain)), None)
    when = None
    if number is None:
        if finds("script_active", plain):
            metric = "status"
        elif finds("script_last", plain):
            when = LAST
        else:
            metric = metric or "list"
    question = Question(spaces.pop(), number, metric, None, when)
    return Reader(question, 0.8, "asks about the proposals of a Snapshot space")
