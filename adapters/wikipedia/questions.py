"""Reading questions that an encyclopedia's article can answer or help to answer.

Rules of this file:
- One slot, ``title``: the subject as written, without its article, the first letter large, as the site
  writes titles. The key folds it, so that case and accents do not matter.
- Certain only where Wikipedia is named as the place to look; any other question about a clear subject gets a
  weak claim: the article is context for a model, never the answer.
- Never: what may not leave the node (see ``adapters.outgoing``), opinions, private matters ("who is my
  ..."), what other sources answer (prices, weather, scores, news, time, sums), this node's own things, and
  subjects that are clauses rather than names.
- Patterns read the text as written, not folded: a title needs its case and its accents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from adapters.outgoing import may_leave
from node.language.reading import fold, word_list

TEXT_CHARS = 300
TITLE_CHARS = 90
TITLE_WORDS = 7

LIKELY = 0.8
"""Wikipedia is named, but in words that may tell as well as ask ("a fine article on wikipedia")."""
NAMED = 0.45
PLAIN = 0.35

_PUNCTUATION = " \t\n.,;:!?¿¡？。\"'“”‘’()"
_LEAD = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|and|please|pls|well|hm+|um+|quick question|just curious|btw|by the way"
    r"|(?:can|could|would|will) you(?: please)?(?: tell me)?|do you know|any idea|i(?: would|'d)?"
    r" (?:like|want) to"
    r" know|i(?:'m| am) wondering|i wonder|tell me|let me know)\b[\s,:-]*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[\s,]+(?:please|pls|thanks|thank you|exactly|actually|again|anyway|in (?:simple|plain|short)"
    r" ?(?:terms|words"
    r"|english)?|in short|briefly|by the way))+$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|a|an|la|le|les|el|los|las|der|die|das|il|lo|o|os)\s+(?=\S)", re.IGNORECASE)

_W = r"wikip[eé]dia"
_NAMED_SITE: tuple[str, ...] = (
    rf"^(?:according to|as per|per|laut|selon|seg[uú]n|secondo|segundo)(?: the)?(?: english)? {_W}[\s,:-]+"
    r"(?:(?:who|what|wer|was|qui|qu['’]|quien|quién|qu[eé]|chi|quem|o que)\s*"
    r"(?:is|are|was|were|ist|war|est|es|era|fue|è|é|'s|’s)\s+)(.+)$",
    rf"^(?:(?:show|get|give|open|find|read|fetch)(?: me)? )?(?:the |a )?{_W}(?:'s|’s)? (?:article|page|entry"
    r"|summary|intro|introduction)(?: (?:on|about|for|of|called|titled))?[\s:]+(.+)$",
    r"^(?:(?:show|get|give|open|find|read|fetch|summari[sz]e)(?: me)? )?(.+?)(?:'s|’s)?"
    rf" {_W} (?:article|page|entry|summary)$",
    rf"^{_W}\s*:\s*(.+)$",
    r"^(?:look up|look|search(?: for)?|find|check|show(?: me)?|get(?: me)?|open|read|summari[sz]e|google)\s+"
    rf"(.+?)(?:\s+up)?\s+(?:on|in|at|from|via|using) {_W}$",
    rf"^(?:search|check|ask|use|consult) {_W} (?:for|about|on|to look up)\s+(.+)$",
    rf"^what (?:does|did) {_W} (?:say|tell|write|have)(?: us| me)? (?:about|on)\s+(.+)$",
    rf"^what is there on {_W} (?:about|on)\s+(.+)$",
    rf"^was (?:sagt|steht (?:in|bei|auf)|schreibt)(?: der)? {_W} (?:über|uber|zu|zum|zur)\s+(.+)$",
    rf"^qu[eé] dice(?: la)? {_W} (?:de|del|sobre|acerca de)\s+(.+)$",
    rf"^que dit {_W} (?:de|sur|du|à propos de)\s+(.+)$",
)
"""Wordings in which whatever is left is a title."""
_NAMED_AFTER: tuple[str, ...] = (
    rf"^(?:who|what)(?:'s|’s|\s+(?:is|are|was|were))\s+(.+?)[\s,]+(?:according to|as per|per|on|in) {_W}$",
    rf"^(.+?)\s+(?:on|in|en|auf|sur) {_W}$",
)
"""Wordings in which it may be anything said about the site too, so that it must look like a subject."""
_OF_WIKIPEDIA = tuple(
    (
        re.compile(pattern, re.IGNORECASE),
        pattern in _NAMED_SITE,
        LIKELY if pattern == _NAMED_AFTER[-1] else 1.0,
    )
    for pattern in (*_NAMED_SITE, *_NAMED_AFTER)
)

_DONE = (
    r"born|founded|built|invented|established|released|published|discovered|created|formed|signed"
    r"|assassinated|killed"
    r"|constructed|completed|launched|introduced|written|painted|composed|opened|fought|crowned|elected"
    r"|buried|raised"
    r"|started|abolished"
)
_DID = r"die|begin|start|end|happen|take place|open|close|fall|erupt|sink|live|rule|reign|become independent"


@dataclass(frozen=True, slots=True)
class _Form:
    """A way of asking. ``again`` asks the same of another subject, with ``{}``; empty where a bare name after
    it could mean too much. ``strict``: the subject must be written as a name."""

    pattern: re.Pattern[str]
    again: str = ""
    strict: bool = False


def _form(pattern: str, again: str = "", *, strict: bool = False) -> _Form:
    return _Form(re.compile(pattern, re.IGNORECASE), again, strict)


_FORMS: tuple[_Form, ...] = (
    _form(r"^who(?:'s|’s|s| is| are)\s+(.+)$", "who is {}"),
    _form(r"^who (?:was|were)\s+(.+)$", "who was {}"),
    _form(r"^who\s+(.+?)\s+(?:is|was|were)$", "who was {}"),
    _form(r"^what\s+(.+?)\s+(?:is|are|was|were|means?)$", "what is {}"),
    _form(r"^(?:what|wat) (?:does|do)\s+(.+?)\s+(?:mean|stand for)$", "what is {}"),
    _form(r"^(?:what|wat)(?:'s|’s|s| is| are)\s+(?:the (?:meaning|definition) of\s+)?(.+)$", "what is {}"),
    _form(r"^what (?:was|were)\s+(.+)$", "what was {}"),
    _form(r"^(?:define|definition of|meaning of|the definition of)\s*:?\s+(.+)$", "define {}"),
    _form(
        r"^(?:something |more |a (?:bit|little) )?(?:about|teach me about|give me (?:an overview"
        r"|information|info)"
        r" (?:of|on|about)|(?:an )?overview of|info(?:rmation)? (?:on|about))\s+(.+)$",
        "tell me about {}",
    ),
    _form(
        rf"^(?:when|where|in (?:what|which) (?:year|city|country|town)) (?:was|were)\s+(.+?)\s+(?:first"
        rf" |originally )?"
        rf"(?:{_DONE})$"
    ),
    _form(rf"^(?:when|where|how|in (?:what|which) year) did\s+(.+?)\s+(?:{_DID})$", strict=True),
    _form(
        r"^where (?:is|are|was|were)\s+(.+?)(?:\s+(?:located|situated|from|found))?$",
        "where is {}",
        strict=True,
    ),
    _form(r"^how (?:old|tall|big|large|long|high|deep|wide|heavy) (?:is|are|was|were)\s+(.+)$", strict=True),
    _form(
        r"^who (?:invented|founded|wrote|discovered|painted|built|designed|created|composed|directed"
        r"|developed)\s+(.+)$"
    ),
    _form(
        r"^(?:qui[eé]n (?:es|fue|era)|wer (?:ist|war)|qui (?:est|était|etait|fut)|chi (?:è|e|era|fu)"
        r"|quem (?:é|e|foi|era))\s+(.+)$",
        strict=True,
    ),
)

# What others answer, what is asked of a person, what holds only today, and what is no subject.
_OTHERS = re.compile(
    r"\b(?:prices?|costs?|worth|trading at|market cap|stock|shares?|exchange rate|convert|conversion|weather"
    r"|temperature|forecast|rain(?:ing)?|snow(?:ing)?|sunny|sunrise|sunset|umbrella|scores?|standings|playing"
    r"|winning|won|lost|games?|match(?:es)?|news|headlines?|latest|today|tonight|tomorrow|yesterday|now"
    r"|current(?:ly)?"
    r"|this (?:week|month|year)|last (?:week|month|year|night)|next (?:week|month|year)|time|date|day"
    r"|clock|o'clock"
    r"|percent|plus|minus|times|divided|squared|root|sum|average|proposals?|quorum|votes?|voting|voted"
    r"|governance"
    r"|treasury|council|node|neuroswarm|cid|cache|meeting|minutes|handbook|policy|document|documents"
    r"|best|worst"
    r"|better|should|favou?rite|cheapest|opinion|think|recommend\w*|advice|difference|compare|versus|vs"
    r"|why|how"
    r"|between|way|ways|tips?|steps?|pros|cons|joke|poem|story|recipe|lyrics|up|wrong|going|happening"
    r"|matter|point"
    r"|new|next|left|available|status|result|results|outcome|answer|plan|name|password|code|error)\b",
    re.IGNORECASE,
)
_PERSONAL = frozenset(
    word_list(
        "i me my mine we us our ours you your yours he him his she her hers they them their theirs it"
        " its this"
        " that these those there here one ones someone somebody anyone everyone everybody nobody myself"
        " yourself"
        " who whom whose which what when where mi mein meine mon ma mio meu tu dein ton tuo seu su"
    )
)
_CLAUSE = frozenset(
    word_list(
        "is are was were am be been do does did has have had can could will would shall may might must"
        " if because"
        " that who which when where while than then so not or but about to get got go goes make makes"
        " want need used edit"
        " like likes say says said called known"
    )
)
_FORBIDDEN = re.compile(r"[\[\]{}|#<>=+*/\\^%$€£@~_\x00-\x1f\x7f]")
_SUPERLATIVE = re.compile(
    r"\b(?:most|least|tallest|largest|biggest|smallest|highest|longest|oldest|fastest|richest|deepest|hottest"
    r"|coldest|youngest|shortest|greatest|strongest|nearest|closest|heaviest)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about. ``again`` is the form for a follow-up; ``strength`` as in ``Recognition``."""

    title: str
    strength: float
    again: str = ""

    @property
    def key(self) -> str:
        return f"wikipedia:{folded(self.title)}"


def folded(title: str) -> str:
    """A title with case, accents and runs of blanks folded away."""
    return " ".join(fold(title).split())


def read_subject(text: str, *, hinted: bool = False) -> Subject | None:
    """The subject of ``text``; None when it is no question for an encyclopedia. Total and bounded."""
    if len(text) > TEXT_CHARS * 2:
        return None
    line = " ".join(text.split())
    if not 2 <= len(line) <= TEXT_CHARS:
        return None
    line = _trim(_LEAD.sub("", line.strip(_PUNCTUATION.replace("(", "").replace(")", ""))))
    for pattern, explicit, strength in _OF_WIKIPEDIA:
        if (match := pattern.match(line)) and (title := title_of(match[1], explicit=explicit)) is not None:
            return Subject(title, strength, "wikipedia article on {}")
    if re.search(_W, line, re.IGNORECASE) and not re.match(rf"^wh\w+ (?:is|was) {_W}$", line, re.IGNORECASE):
        line = _trim(re.sub(rf"[\s,]*\b(?:according to|on|per) {_W}[\s,]*", " ", line, flags=re.IGNORECASE))
        if re.search(_W, line, re.IGNORECASE):
            return None
    for form in _FORMS:
        match = form.pattern.match(line)
        if match is None:
            continue
        return _weak(match[1], form, line)
    if (about := re.match(r"^(?:tell me |something )?about (.+)$", line, re.IGNORECASE)) is not None:
        return _weak(about[1], _Form(form.pattern, "tell me about {}"), line)
    if hinted:
        title = title_of(line)
        return None if title is None or _OTHERS.search(line) else Subject(title, NAMED)
    return None


def _weak(said: str, form: _Form, line: str) -> Subject | None:
    if _OTHERS.search(line[: len(line) - len(said)]) and not re.match(r"^(?:how|why)\b", line, re.IGNORECASE):
        return None
    title = title_of(said)
    if title is None or _OTHERS.search(title):
        return None
    named = is_name(_ARTICLE.sub("", said.strip()))
    if form.strict and not named:
        return None
    return Subject(title, NAMED if named else PLAIN, form.again)


def _trim(line: str) -> str:
    for _ in range(3):
        line = _TAIL.sub("", line.strip(".,;:!?¿¡？。 "))
    return line


def title_of(said: str, *, explicit: bool = False) -> str | None:
    """A subject as a title, or None when it is none. ``explicit``: the asker named the place to look, so only
    what cannot be a title is refused."""
    title = said.strip(_PUNCTUATION) if not said.endswith(")") else said.strip(_PUNCTUATION[:-2])
    title = " ".join(_ARTICLE.sub("", title).replace("“", '"').replace("”", '"').split())
    words = fold(title).split()
    if not title or len(title) > TITLE_CHARS or len(words) > TITLE_WORDS * (2 if explicit else 1):
        return None
    if _FORBIDDEN.search(title) or _LETTER.search(title) is None or title[0] in ":.,;-":
        return None
    # "My Fair Lady" and "Formula one" are titles where the place to look is named; "my notes" is not.
    where = words[:1] if explicit else words
    personal = any(word.strip(_PUNCTUATION) in _PERSONAL for word in where)
    if personal and not (explicit and is_name(title)):
        return None
    if not explicit and any(word.strip(_PUNCTUATION) in _CLAUSE for word in words):
        return None
    if not explicit and _SUPERLATIVE.search(title):
        return None
    if not may_leave(title):
        return None
    return title[0].upper() + title[1:]


def is_name(said: str) -> bool:
    """Whether a subject is written as a name: a large letter at every word that is not a small one."""
    words = [word for word in re.findall(r"[^\W_][^\s]*", said) if fold(word) not in _SMALL]
    return bool(words) and all(word[0].isupper() or word[0].isdigit() for word in words)


_SMALL = frozenset(
    word_list("of the and in de la le du des von van der den da di del el y e al bin ibn on at for")
)
_NOT_ALONE = frozenset(
    word_list(
        "why how so then now today tomorrow yesterday tonight more again also yes no ok okay thanks"
        " please really"
        " else later before after monday tuesday wednesday thursday friday saturday sunday continue stop go"
    )
)
_AND = re.compile(r"^(?:(?:and|what about|how about|ok|so|also|or|y|und|et|e)\b[\s,]*)+", re.IGNORECASE)


def follow_up(fragment: str, earlier: str) -> str | None:
    """The earlier question asked of the subject that ``fragment`` names; None beyond doubt only."""
    if len(fragment) > 120:
        return None
    before = read_subject(earlier)
    if before is None or not before.again:
        return None
    stripped = " ".join(fragment.split()).strip(".,;:!?¿¡？。 ")
    said = _AND.sub("", stripped)
    if not said or len(said.split()) > 5:
        return None
    opened = said != stripped
    words = fold(said).split()
    if any(word in _NOT_ALONE or word in _PERSONAL or word in _CLAUSE for word in words) or _OTHERS.search(
        said
    ):
        return None
    # A bare lower-case word may be anything; a name, or "and ..." after "what is", is the next subject.
    people = before.again.startswith(("who", "where"))
    if not is_name(_ARTICLE.sub("", said)) and (people or not opened):
        return None
    title = title_of(said)
    if title is None or folded(title) == folded(before.title):
        return None
    asked = before.again.format(said)
    again = read_subject(asked)
    return asked if again is not None and folded(again.title) == folded(title) else None
