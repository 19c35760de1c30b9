"""Reading questions about the proposals of a Snapshot space.

Rules of this file:
- A space must be named: by a known community's name, as an ENS name (``ens.eth``), or "on snapshot" (then the
  space is asked back). Without one, "proposal 12" is a question about this node's own records.
- Slots are those of every governance question, ``proposal, metric, topic, when``, and ``space``. A number is
  text as in the records ("123", "5.4"), with its series where one is said ("ep-5.4", "aip-42").
- ``when`` is "last" for the latest, "upcoming", or a time as said; a key holds the resolved dates instead.
- ``strength`` is certain only when every word is accounted for and the text does not just tell.
- A topic that may not leave the node (see ``adapters.outgoing``) makes no question here.
- Asking how or why governance works, writing proposals, and prices of tokens are not this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from adapters.grammar import when as times
from adapters.outgoing import may_leave
from adapters.snapshot.spaces import BY_ID, BY_NAME, Space
from node.core.model import Slots, SlotValue
from node.language import numbers
from node.language.reading import Reading, read, word_list

WORDS_MAX = 60
TOPIC_WORDS = 8

LAST = "last"
UPCOMING = "upcoming"
METRICS = frozenset(
    ("quorum", "author", "result", "votes", "amount", "date", "status", "summary", "list", "count")
)

SPACE_ID = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,60}[a-z0-9])?\.eth\Z")
NUMBER = re.compile(r"(?:[a-z]{2,5}-)?(?:0|[1-9]\d{0,5})(?:\.\d{1,3}){0,2}\Z")
TOPIC = re.compile(r"[a-z0-9][a-z0-9.'-]*(?: [a-z0-9][a-z0-9.'-]*){0,7}\Z")

NOUN = frozenset(
    word_list(
        "proposal proposals prop props proposition propositions motion motions referendum referenda"
        " propuesta propuestas vorschlag vorschlage vorschlags antrag antrage proposta propostas proposte"
    )
)
_VOTE = frozenset(
    word_list(
        "vote votes voting voted ballot ballots poll polls votacion votaciones abstimmung abstimmungen"
        " scrutin scrutins votazione votazioni votacao votacoes"
    )
)
_PLURAL = frozenset(
    word_list(
        "proposals props propositions motions referenda propuestas vorschlage antrage propostas proposte"
        " votes ballots polls votaciones abstimmungen scrutins votazioni votacoes"
    )
)
_ON_SNAPSHOT = frozenset((word, "snapshot") for word in ("on", "en", "auf", "sur", "su", "no"))
_GOVERNS = frozenset(word_list("quorum governance snapshot"))
_BESIDE = frozenset(
    word_list("dao governance snapshot finance protocol community foundation space network collective")
)

_LATEST = frozenset(
    word_list(
        "latest last newest recent ultima ultimo ultimas ultimos letzte letzten letzter neueste"
        " neuesten derniere dernier dernieres derniers"
    )
)
_ACTIVE = frozenset(
    word_list(
        "active open live ongoing current currently running activas activa activos offene offenen aktive"
        " aktiven laufende laufenden actives active ouvertes ouverts attive aperte ativas"
    )
)
_UPCOMING = frozenset(word_list("pending upcoming queued scheduled pendientes"))

NUMBER_SIGN = frozenset(word_list("number no nr num id numero nummer #"))
_DIGITS = re.compile(r"\d{1,6}(?:\.\d{1,3}){0,2}\Z")
_NTH = re.compile(r"(\d{1,6})(?:st|nd|rd|th)\Z")
SERIES = r"(?:[a-z]{1,3}ip|ep|ip|gcp|sep|sccp|stp|scp|agp|bgp|tgp|ugp|obra)"
_SERIES_WORD = re.compile(SERIES + r"\Z")
_SERIES_NUMBER = re.compile("(" + SERIES + r")-?(\d{1,6}(?:\.\d{1,3}){0,2})\Z")
_UNITS = numbers.below(20, "en", start=1)
_TENS = numbers.below(100, "en", start=20)
_NTH_WORDS = {
    word: value
    for value, word in enumerate(
        word_list(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
            " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
        ),
        start=1,
    )
}

_METRIC_ROWS: tuple[tuple[str, str], ...] = (
    (
        "quorum",
        r"\b(?:(?:reach|reached|meet|met|hit|make|made|have|has|get|got) )?(?:the |its |a )?"
        r"(?:quorum|turnout|participation|quorate|beteiligung)(?: (?:reached|met|hit))?\b|кворум|定足数",
    ),
    (
        "author",
        r"\b(?:who (?:proposed|wrote|authored|submitted|sponsored|made|created|introduced|drafted"
        r"|is behind|was behind|put (?:up|forward))|authors?|proposers?|submitted by|proposed by|written by"
        r"|autor|auteur|autore|quien (?:propuso|presento)|wer hat (?:\w+ ){0,3}(?:eingereicht|vorgeschlagen)"
        r"|qui a (?:propose|soumis))\b|автор|提案者",
    ),
    ("date", r"\b(?:how long|(?:until )?when (?:did|does|do|will|was|is|were))\b"),
    ("result", r"\b(?:results?|outcomes?|verdict|what (?:has )?happened)\b"),
    (
        "votes",
        r"\b(?:how many (?:people |wallets |addresses |members |holders )?(?:voted|votes?)|votes? count"
        r"|votes?|voted|voters|tally|votos|stimmen|voix|voti)\b|голос|得票|票数",
    ),
    (
        "amount",
        r"\b(?:how much(?: money| funding)?|amount|budget|costs?|funding|requested|asked? for|cuanto|combien"
        r"|wie ?viel|importe|betrag|montant)\b",
    ),
    (
        "date",
        r"\b(?:when (?:did|does|do|will|was|is|were)|when|dates?|deadline|what day|which day|how long|cuando"
        r"|wann|quand|quando)(?: .{0,40}\b(?:ends?|closes?|starts?|opens?|ended|closed|started|opened|over"
        r"|due|begins?|began))?\b|когда|いつ|什么时候",
    ),
    (
        "status",
        r"\b(?:status|state|active|open|pending|still open|closed|ongoing|live|estado|stand|statut|stato"
        r"|up for (?:a )?vot(?:e|ing)|running|executed|how (?:is|are) .{1,60}\b(?:going|doing))\b"
        r"|статус|状態|状态",
    ),
    (
        "result",
        r"\b(?:pass|passed|passes|fail|failed|fails|approved?|accept|accepted|reject|rejected|succeed"
        r"|succeeded|win|won|lose|lost|go through|gone through|went through|carried|defeated|decided|decide"
        r"|decision|ratified|adopted|turn(?:ed)? out|how did .{1,60}\b(?:end|go|do)|resultado|ergebnis"
        r"|resultat|risultato|esito|aprobada|aprobo|aprobado|angenommen|abgelehnt|adoptee?|approvata"
        r"|aprovada|rechazada|rejetee|paso|passee?)\b|результат|принят|отклон|прошло|結果|可決|否決|结果|通过",
    ),
    (
        "summary",
        r"\b(?:summary|summari[sz]e|explain|about$|details?|describe|overview|contents?|say|said|says|text"
        r"|tl dr|tldr|recap|resumen|resume|zusammenfassung|worum|riassunto|resumo|de que trata|geht es um"
        r"|propose|proposes|suggest|suggests)\b|概要|内容|суть",
    ),
)
_METRIC = tuple((name, re.compile(pattern)) for name, pattern in _METRIC_ROWS)

# Words that carry no condition of their own once space, number, metric and time are read.
_FRAME = frozenset(
    word_list(
        "what was is are were the a an of for on in at from by with about tell me us show give get please"
        " can could you would like do did does know i want need to it its they them their there has have had"
        " been be being which any all list name find look up so far yet now right hey hi hello ok okay and"
        " some idea if whether that this one ones who how many much most votes vote voting voted proposal"
        " proposals dao governance snapshot space community page result check see status end ended closes"
        " close closed finish finished start started out currently just still really actually everything"
        " why happened happening with doing going new ask asks asking anything something gov people"
        " percentage"
        " percent share d'"
        " que fue es la el los las de del en un una cual cuales hay ha han se sobre dime y"
        " was ist war der die das den dem von bei im gibt es welche welcher sind wurde hat mir zeig und"
        " quoi quel quelle quels quelles est etait ce c' l' d' la le les des du sur dans une y"
        " a-t-il a-t-elle ete sont et"
        " qual quali sono il lo gli della di da o os as sao no na foi"
    )
)
KNOWN = _FRAME | NOUN | _VOTE | _BESIDE | _GOVERNS | NUMBER_SIGN
_ABOUT = frozenset(
    word_list("about on to for regarding concerning sobre uber fur zu zum zur pour circa proposing that")
)
TRAP = re.compile(
    r"\b(?:how (?:do|can|should|could|would|to|does) (?:i|you|we|one|people|someone|a|an|voting|governance|"
    r"proposals?|it|the)\b|how (?:does|do|is|are) (?:\S+ ){1,5}?(?:work|works|calculated|decided|made|"
    r"created|submitted)\b|how to|write|draft|create|compose|submit (?:a|an|my|our)|template|examples? of|"
    r"propose a|should (?:i|we|you|it)|i (?:am|was) going to|best|better|what is an? |difference|compare|"
    r"compared|versus|vs|marriage|business|wedding|research|poem|song|joke|story|essay|history of|"
    r"(?:my|our) propos\w+|invented|meaning|define|definition|delegate (?:my|to)|opinion|think (?:of"
    r"|about)|predict|will .{1,40} "
    r"(?:pass|fail|win))\b"
)
_WHY = re.compile(
    r"\b(?:why|how come|por que|warum|pourquoi|perche|reasons?|implications?|impact|effects?)\b"
)
_ASKS = re.compile(
    r"^(?:(?:hey|hi|hello|ok|so|and|please|pls) )*(?:what|which|who|when|where|how|did|does|do|is|are|was"
    r"|were|has|have|had|can|could|would|will|show|list|tell|give|find|get|look|any|status|results?"
    r"|outcome|votes?"
    r"|check|que|cual|cuales|quien|cuando|hay|fue|se|was|wer|wann|welche|welcher|ist|hat|wurde|gibt|qui|quel"
    r"|quelle|quelles|est|quand|combien|y|chi|quali|quale|qual|quais|quem)\b"
)
_TELLS = re.compile(
    r"\b(?:passed|failed|was|is|were|got|won|lost|closed|ended|approved|rejected|reached|has|have|had|did|i"
    r"|we|they|he|she|like|love|hate|voted|went)\b"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a space's proposals. ``space`` None: none was named, though Snapshot was.
    ``other`` is a second proposal that the first is compared with, "last" for the last two (see
    ``pairs``)."""

    space: str | None
    proposal: str | None
    metric: str | None
    topic: str | None
    when: str | None
    other: str | None = None

    @property
    def slots(self) -> Slots:
        slots: dict[str, SlotValue] = {
            "proposal": self.proposal,
            "metric": self.metric,
            "topic": self.topic,
            "when": self.when,
            "space": self.space,
        }
        return slots if self.other is None else {**slots, "other": self.other}

    def key(self, today: date) -> str | None:
        """Equal keys, equal answers; None without a space."""
        if self.space is None:
            return None
        what = ["+".join(sorted(one for one in (self.proposal, self.other) if one))]
        if self.when is not None:
            days = span(self.when, today)
            what.append(self.when if days is None else f"{days[0]}..{days[1]}")
        if self.topic is not None:
            what.append(f"about {self.topic}")
        if self.metric is not None and self.metric != "summary":
            what.append(self.metric)
        return ":".join(("proposal", self.space, *(part for part in what if part)))


@dataclass(frozen=True, slots=True)
class Reader:
    """A question and how sure its reading is, in (0, 1]."""

    question: Question
    strength: float
    reason: str


def question_of(slots: Mapping[str, object]) -> Question | None:
    """The question of slots that ``read_question`` could have made; None for any others."""
    names = ("space", "proposal", "metric", "topic", "when")
    if any(name not in slots for name in names):
        return None
    values = [*(slots[name] for name in names), slots.get("other")]
    if not all(value is None or isinstance(value, str) for value in values):
        return None
    space, proposal, metric, topic, when, other = (None if value is None else str(value) for value in values)
    well_formed = (
        (space is None or SPACE_ID.match(space) is not None)
        and (proposal is None or NUMBER.match(proposal) is not None)
        and (
            other is None
            or other == when == LAST
            or (proposal is not None and NUMBER.match(other) is not None)
        )
        and (metric is None or metric in METRICS)
        and (topic is None or (len(topic) <= 200 and TOPIC.match(topic) is not None and may_leave(topic)))
        and (when is None or when in (LAST, UPCOMING) or span(when, date(2026, 1, 1)) is not None)
    )
    return Question(space, proposal, metric, topic, when, other) if well_formed else None


def span(said: str, today: date) -> tuple[date, date] | None:
    """First and last day of a time as said; None for "last", "upcoming" and anything malformed."""
    found = times.resolve(said, today, span=True, past=True)
    return None if found is None else (found.first, found.last)


def read_question(text: str, today: date, *, hinted: bool = False) -> Reader | None:
    """Read ``text``, asked on the day ``today``; None when it does not ask about a space's proposals. Total
    and bounded."""
    reading = read(text)
    if not 1 <= len(reading.words) <= WORDS_MAX:
        return None
    if reading.script in ("japanese", "chinese", "cyrillic"):
        return _read_script(reading)
    flat = reading.flat
    if TRAP.search(flat):
        return None
    words = list(reading.words)
    named = take_space(words)
    if named is None:
        return None
    space, spaceless = named
    return _read_about(space, spaceless, reading, today, hinted=hinted)


# --- spaces -------------------------------------------------------------------------------------------


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
        for size in (3, 2, 1):
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
        if not any(pair in _ON_SNAPSHOT for pair in pairwise(words)):
            return None
        return None, rest
    ((space_id, spans),) = found.items()
    for start, end in spans:
        rest[start:end] = [""] * (end - start)
    return space_id, rest


def _owns(words: list[str], end: int) -> bool:
    after = [word for word in words[end : end + 2] if word not in _BESIDE]
    return bool(after) and (after[0] in NOUN or _SERIES_NUMBER.match(after[0]) is not None)


def _tells(words: list[str], start: int, end: int) -> bool:
    """Whether an everyday word stands where only a community's name does."""
    after = words[end] if end < len(words) else None
    before = words[start - 1] if start else None
    if after in _BESIDE or after in NOUN or (after is not None and _SERIES_NUMBER.match(after)):
        return True
    if after in ("vote", "votes", "voting") and before != "to":
        return True
    two = words[start - 2] if start > 1 else None
    governs = any(word in NOUN or word in _VOTE or word in _GOVERNS for word in words)
    if before in ("in", "of", "by", "on", "from", "en", "bei", "de", "chez", "von") or (
        before == "the" and two in ("in", "of", "by", "on", "from")
    ):
        return governs and (
            after is None or after in _FRAME or after in ("last", "latest") or after.isdigit()
        )
    series = after is not None and _SERIES_WORD.match(after) is not None
    return series and end + 1 < len(words) and _DIGITS.match(words[end + 1]) is not None


# --- everything else ----------------------------------------------------------------------------------


def _read_about(
    space: str | None, words: list[str], reading: Reading, today: date, *, hinted: bool
) -> Reader | None:
    plain, flat = reading.plain, reading.flat
    numbers = _take_numbers(words, plain)
    if len(numbers) > 1:
        return None
    number = numbers[0] if numbers else None
    nouns = [word for word in words if word in NOUN]
    votes = [word for word in words if word in _VOTE]
    series = number is not None and "-" in number
    if not (nouns or votes or series or hinted or "quorum" in words or _hash(plain, number)):
        return None
    time, left = times.find(tuple(word for word in words if word), today, past=True)
    said = None if time is None or time.said == "now" else time.said
    tokens = list(left)
    rest = " ".join(tokens)
    plural = any(word in _PLURAL for word in (nouns or votes))
    is_count = re.search(
        r"\b(?:how many|number of) (?:\w+ )?(?:proposals|votes)\b(?! did| has| have| were| for| on)", rest
    )
    when: str | None = said
    state: str | None = None
    if number is None:
        latest = [word for word in tokens if word in _LATEST]
        if latest and said is None:
            when = LAST
        elif any(word in _UPCOMING for word in tokens):
            state, when = "status", UPCOMING
        elif any(word in _ACTIVE for word in tokens) or re.search(
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
    if _WHY.search(flat):
        strength = 0.45
    label = "a Snapshot space" if space is None else (BY_ID[space].label if space in BY_ID else space)
    what = f"proposal {number}" if number else "proposals"
    return Reader(question, strength, f"{metric or 'what is known'} of {what} of {label} on Snapshot")


def is_told(reading: Reading) -> bool:
    """Whether it reads as a statement."""
    flat = reading.flat
    return "?" not in reading.plain and not _ASKS.match(flat) and _TELLS.search(flat) is not None


def numbered(series: str | None, digits: str) -> str:
    """A number as the slots hold it: "123", "ep-5.4"."""
    return f"{series}-{_plain_number(digits)}" if series else _plain_number(digits)


def _hash(plain: str, number: str | None) -> bool:
    return number is not None and re.search(r"#\s?" + re.escape(number) + r"(?!\d)", plain) is not None


def _take_numbers(words: list[str], plain: str) -> list[str]:
    """The proposal numbers of a question; their words are blanked."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if match := _SERIES_NUMBER.match(word):
            found.append(numbered(match[1], match[2]))
            words[at] = ""
        elif _SERIES_WORD.match(word) and _DIGITS.match(following):
            found.append(numbered(word, following))
            words[at : at + 2] = ["", ""]
        elif (nth := _nth(word)) is not None and _next_word(words, at) in NOUN | _VOTE:
            found.append(nth)
            words[at] = ""
        elif word in NOUN or word in ("vote", "snapshot"):
            end = at + 1
            while end < len(words) and (words[end] in NUMBER_SIGN or words[end] == "") and end - at < 5:
                end += 1
            taken = _number_at(words, end)
            if taken is not None and not _is_share(plain, taken[0]):
                found.append(taken[0])
                words[at + 1 : end + taken[1]] = [""] * (end + taken[1] - at - 1)
        elif _DIGITS.match(word) and (
            re.search(r"#\s?" + re.escape(word) + r"(?!\d)", plain) or (at and words[at - 1] in NUMBER_SIGN)
        ):
            found.append(_plain_number(word))
            words[at] = ""
        at += 1
    joined = " ".join(words)
    also = re.search(r"\bproposals?\s+(?:and|or|to|vs)?\s*\d", joined) if found else None
    if also or (found and re.search(r"(?:^| )(?:and|or) \d{1,6}(?: |$)", joined)):
        found.append("several")
    return list(dict.fromkeys(found))


def _next_word(words: list[str], at: int) -> str:
    """The first word after ``at`` that is still there, among the next three."""
    return next((word for word in words[at + 1 : at + 4] if word), "")


def _number_at(words: list[str], at: int) -> tuple[str, int] | None:
    """The number that starts at ``at`` and how many words it takes."""
    if at >= len(words):
        return None
    word = words[at]
    if _DIGITS.match(word):
        return _plain_number(word), 1
    head, _, tail = word.partition("-")
    if head in _TENS:
        if tail in _UNITS and _UNITS[tail] < 10:
            return str(_TENS[head] + _UNITS[tail]), 1
        following = words[at + 1] if at + 1 < len(words) else ""
        if _UNITS.get(following, 10) < 10:
            return str(_TENS[head] + _UNITS[following]), 2
        return str(_TENS[head]), 1
    return (str(_UNITS[word]), 1) if word in _UNITS and word != "one" else None


def _nth(word: str) -> str | None:
    if match := _NTH.match(word):
        return _plain_number(match[1])
    return str(_NTH_WORDS[word]) if word in _NTH_WORDS else None


def _plain_number(digits: str) -> str:
    head, dot, tail = digits.partition(".")
    return (head.lstrip("0") or "0") + dot + tail


def _is_share(plain: str, number: str) -> bool:
    return re.search(r"(?<![\d.])" + re.escape(number) + r"\s?(?:%|percent)", plain) is not None


def metric_of(tokens: list[str], has_noun: bool, numbered: bool) -> tuple[str | None, frozenset[str]]:
    """The metric and the words that say it. "vote" is the thing itself where no proposal is named."""
    flat = " ".join(tokens)
    for name, pattern in _METRIC:
        match = pattern.search(flat)
        if match is None:
            continue
        if name == "votes" and not has_noun and not numbered and "how many" not in flat:
            continue
        if name == "status" and not numbered and match.group() in ("open", "live", "active", "running"):
            continue
        used = {
            word
            for row, other in _METRIC
            for hit in other.finditer(flat)
            for word in hit.group().split()
            if row == name or hit.start() < match.end()
        }
        return name, frozenset(used)
    return None, frozenset()


def _topic_of(tokens: list[str], used: frozenset[str]) -> tuple[str | None, bool]:
    """The words that say what the proposal is about, and whether any stand there unexplained."""
    known = KNOWN | used | _LATEST | _ACTIVE | _UPCOMING
    topic: list[str] = []
    loose = False
    about = False
    beside = after = False
    for word in tokens:
        if word in NOUN or word in _VOTE:
            beside = after = True
            continue
        # "the proposal to ...", but in "what did the proposal do to ..." no more than a word.
        if (beside and word in _ABOUT) or (after and word in ("about", "regarding", "concerning")):
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

_SCRIPT_NOUN = re.compile(r"提案|议案|議案|投票|предложени|голосовани")
_SCRIPT_NUMBER = re.compile(
    r"(?:提案|议案|議案|предложени[а-я]*)\s*(?:第|№|#|номер)?\s*(\d{1,6})|第\s*(\d{1,6})"
)
_SCRIPT_LAST = re.compile(r"最新|最近|последн")
_SCRIPT_ACTIVE = re.compile(r"進行中|进行中|активн|открыт")
_LATIN_RUN = re.compile(r"[a-z0-9][a-z0-9.-]*(?: [a-z0-9][a-z0-9.-]*){0,2}")


def _read_script(reading: Reading) -> Reader | None:
    plain = reading.plain[:600]
    if _SCRIPT_NOUN.search(plain) is None:
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
    number = _plain_number(numbers.pop()) if numbers else None
    metric = next((name for name, pattern in _METRIC if pattern.search(plain)), None)
    when = None
    if number is None:
        if _SCRIPT_ACTIVE.search(plain):
            metric = "status"
        elif _SCRIPT_LAST.search(plain):
            when = LAST
        else:
            metric = metric or "list"
    question = Question(spaces.pop(), number, metric, None, when)
    return Reader(question, 0.8, "asks about the proposals of a Snapshot space")


# --- follow-ups ---------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"^(?:(?:and|what about|how about|ok|so|then|but|also|or|y|und|et|e|was ist mit|que tal|et pour) )+"
)
_FRAGMENT_FILL = re.compile(r"(?:in|for|on|of|at|the|what|about|is|was|were|did|it|its|how|en|bei|de|chez)\Z")
_METRIC_WORDS = {
    "quorum": "quorum",
    "turnout": "quorum",
    "result": "result",
    "results": "result",
    "outcome": "result",
    "pass": "result",
    "passed": "result",
    "votes": "votes",
    "voters": "votes",
    "author": "author",
    "proposer": "author",
    "status": "status",
    "when": "date",
    "deadline": "date",
    "date": "date",
    "dates": "date",
}
_METRIC_PHRASES = {
    None: "what is",
    "summary": "summary of",
    "quorum": "quorum of",
    "author": "author of",
    "result": "result of",
    "votes": "votes on",
    "amount": "amount of",
    "date": "date of",
    "status": "status of",
}


def phrase(question: Question, today: date) -> str | None:
    """English words that ``read_question`` reads back to the same question, with certainty; None where there
    are none."""
    if question.space is None:
        return None
    place = f"in {question.space}"
    about = "" if question.topic is None else f" about {question.topic}"
    when = ""
    if question.when is not None and question.when not in (LAST, UPCOMING):
        time = times.resolve(question.when, today, span=True, past=True)
        if time is None:
            return None
        when = f" {times.phrase(time)}"
    if question.proposal is not None:
        head = _METRIC_PHRASES.get(question.metric)
        words = f"{head} proposal {question.proposal} {place}{when}{about}"
    elif question.metric == "count":
        words = f"how many proposals {place}{when}"
    elif question.metric == "list":
        words = f"{'latest proposals' if question.when == LAST else 'list the proposals'} {place}{when}"
    elif question.when == UPCOMING:
        words = f"upcoming proposals {place}"
    elif question.metric == "status" and question.when is None and not about:
        words = f"active proposals {place}"
    else:
        head = _METRIC_PHRASES.get(question.metric)
        which = "the latest proposal" if question.when == LAST else "the proposal"
        words = f"{head} {which} {place}{when}{about}"
    back = read_question(words, today)
    return words if back is not None and back.question == question and back.strength >= 0.9 else None


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The question that ``fragment`` asks after ``earlier``; see the adapter."""
    if len(fragment) > 200:
        return None
    before = read_question(earlier, today)
    if before is None or before.question.space is None or before.strength < 0.5:
        return None
    reading = read(fragment)
    if reading.script != "latin" or not 1 <= len(reading.words) <= 8:
        return None
    flat = _LEAD.sub("", reading.flat)
    words = flat.split()
    old = before.question
    new = old
    named = take_space(list(words))
    if named is not None and named[0] is not None:
        new, words = replace(new, space=named[0]), [word for word in named[1] if word]
    elif (space := _bare_space(words)) is not None:
        new, words = replace(new, space=space.id), []
    if (number := _bare_number(words, reading.plain, old)) is not None:
        taken, words = number
        metric = None if new.metric in ("list", "count") else new.metric
        new = replace(new, proposal=taken, topic=None, when=None, metric=metric)
    elif any(word in _LATEST for word in words):
        words = [word for word in words if word not in _LATEST and word not in NOUN and word != "one"]
        metric = None if new.metric in ("list", "count") else new.metric
        new = replace(new, proposal=None, topic=None, when=LAST, metric=metric)
    metrics = {_METRIC_WORDS[word] for word in words if word in _METRIC_WORDS}
    if len(metrics) == 1 and (new.proposal is not None or new.when == LAST or new.topic is not None):
        new = replace(new, metric=metrics.pop())
        words = [word for word in words if word not in _METRIC_WORDS]
    left = [
        word for word in words if not _FRAGMENT_FILL.match(word) and word not in ("dao", "many", "proposal")
    ]
    if left or new == old:
        return None
    return phrase(new, today)


def _bare_space(words: list[str]) -> Space | None:
    """A community's name that is the whole fragment, everyday word or not."""
    rest = [word for word in words if not _FRAGMENT_FILL.match(word) and word not in _BESIDE]
    return BY_NAME.get(tuple(rest))


def _bare_number(words: list[str], plain: str, old: Question) -> tuple[str, list[str]] | None:
    """A number that replaces the earlier one, in the same series where it names none."""
    copied = list(words)
    numbers = _take_numbers(copied, plain)
    if len(numbers) == 1 and numbers[0] != "several":
        return numbers[0], [word for word in copied if word and word not in NOUN]
    digits = [word for word in words if _DIGITS.match(word)]
    if len(digits) != 1 or old.proposal is None:
        return None
    series = old.proposal.rpartition("-")[0]
    number = _plain_number(digits[0])
    rest = [word for word in words if word != digits[0] and word not in NUMBER_SIGN]
    return (f"{series}-{number}" if series else number), rest
